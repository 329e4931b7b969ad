/* SPDX-License-Identifier: Apache-2.0 */
/* The worker that lays out call graphs: it gets a graph in Graphviz's language and
 * returns Graphviz's plain text. Terminating the worker cancels a layout. */
import { Graphviz } from "@hpcc-js/wasm-graphviz";

const page = self as unknown as {
    postMessage(reply: { id: number; plain?: string; why?: string }): void;
    onmessage: ((event: MessageEvent<{ id: number; dot: string }>) => void) | null;
};
const loading = Graphviz.load();

page.onmessage = ({ data: { id, dot } }) => {
    loading.then((graphviz) => graphviz.layout(dot, "plain", "dot")).then(
        (plain) => page.postMessage({ id, plain }),
        (error: unknown) => page.postMessage({ id, why: String(error) }));
};
