/* SPDX-License-Identifier: Apache-2.0 */
/* The worker that lays out call graphs: it gets a graph in Graphviz's language and
 * returns Graphviz's plain text. Terminating the worker cancels a layout. */
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { bytesOf } from "./embedded";
import { unpackXz } from "./xz";

/* web/build.py replaces the text: the package's WebAssembly module, xz in base64. The package
 * then takes its module from graphvizModule instead of its own text, which is a third longer. */
const PACKED = "{{GRAPHVIZ}}";

const page = self as unknown as {
    graphvizModule: Uint8Array;
    postMessage(reply: { id: number; plain?: string; why?: string }): void;
    onmessage: ((event: MessageEvent<{ id: number; dot: string }>) => void) | null;
};

async function load(): Promise<Graphviz> {
    const pieces: BlobPart[] = [];
    for await (const piece of unpackXz(new Blob([bytesOf(PACKED)]), () => new TransformStream()))
        pieces.push(piece as BlobPart);
    page.graphvizModule = new Uint8Array(await new Blob(pieces).arrayBuffer());
    return Graphviz.load();
}

const loading = load();

page.onmessage = ({ data: { id, dot } }) => {
    loading.then((graphviz) => graphviz.layout(dot, "plain", "dot")).then(
        (plain) => page.postMessage({ id, plain }),
        (error: unknown) => page.postMessage({ id, why: String(error) }));
};
