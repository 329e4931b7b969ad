/* SPDX-License-Identifier: Apache-2.0 */
/* Saving files from the page. */
import type { App } from "./app";
import { shownName } from "./format";
import { writeState } from "./state";
import { listingsOf, textsOf } from "./texts";

/* The page as it was loaded, before anything was drawn: its head, and what its body contained. */
let head = "";
let body: ChildNode[] = [];

export function keepTemplate(): void {
    head = document.head.outerHTML;
    body = [...document.body.childNodes];
}

function textOfNode(node: ChildNode): string {
    if (node instanceof Comment)
        return `<!--${node.data}-->`;
    if (!(node instanceof HTMLElement))
        return node.textContent ?? "";
    return node.id === "app" ? "<div id=\"app\"></div>" : node.outerHTML;
}

/* The page without the shown profile. A saved page has no server, and connects to nothing. */
function template(): string {
    const served = body.some((node) => node instanceof Element && node.id === "home");
    const nodes = body.filter((node) => !(node instanceof Element && ["home", "profile", "profile-before", "sources", "assembly"].includes(node.id)));
    const top = served ? head.replace(" connect-src 'self';", "") : head; /* the first: in the policy */
    return `<!doctype html>\n<html lang="${document.documentElement.lang}">${top}<body>${nodes.map(textOfNode).join("")}</body></html>\n`;
}

function download(bytes: BlobPart, name: string, type: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/* The formats of the core: name, what it is for the reader, what is in it, and the suffix of the file. */
export const FORMATS: readonly { format: string; title: string; about: string; suffix: string }[] = [
    { format: "stoke", title: ".stoke", about: "the whole profile, for stoke", suffix: "stoke" },
    { format: "svg", title: "SVG", about: "an interactive flame graph", suffix: "svg" },
    { format: "folded", title: "Folded", about: "one line per stack", suffix: "folded" },
    { format: "speedscope", title: "speedscope", about: "its JSON", suffix: "speedscope.json" },
    { format: "firefox", title: "Firefox Profiler", about: "JSON for profiler.firefox.com", suffix: "firefox.json" },
    { format: "pprof", title: "pprof", about: "profile.proto, for go tool pprof", suffix: "pb" },
    { format: "callgrind", title: "callgrind", about: "for KCachegrind", suffix: "callgrind" },
    { format: "dot", title: "DOT", about: "the call graph, for Graphviz", suffix: "dot" },
    { format: "d3", title: "d3", about: "JSON for d3-flame-graph", suffix: "json" },
    { format: "csv", title: "CSV", about: "the functions with self and total", suffix: "csv" },
];

/* The name of the file to save, without characters that file systems do not allow. */
function stem(app: App): string {
    const name = app.name.replace(/\.(txt|data|json|gz|zst|xz|folded|out|pb|html|stoke|zip)$/gi, "");
    return shownName(name).replace(/[/\\:*?"<>|]/g, "_") || "profile";
}

export async function exportAs(app: App, format: string): Promise<void> {
    try {
        const bytes = await app.core.export(format);
        download(bytes as BlobPart, `${stem(app)}.${FORMATS.find((f) => f.format === format)?.suffix ?? format}`, "application/octet-stream");
    } catch (error) {
        app.fail(error);
    }
}

/* The chart that the keys move, or the heat map; null in views of text. */
function pictureOf(app: App): HTMLCanvasElement | null {
    return app.steered?.picture() ?? document.querySelector<HTMLCanvasElement>("main .heat canvas");
}

export function hasPicture(app: App): boolean {
    return app.steered !== null || app.state.view === "heat";
}

export function savePicture(app: App): void {
    pictureOf(app)?.toBlob((blob) => {
        if (blob)
            download(blob, `${stem(app)}.png`, "image/png");
    });
}

function attribute(text: string): string {
    return text.replace(/[&"<>]/g, (c) => `&#${c.charCodeAt(0)};`);
}

async function packed(bytes: Uint8Array): Promise<string> {
    const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new CompressionStream("gzip"));
    const gzip = new Uint8Array(await new Response(stream).arrayBuffer());
    let binary = "";
    for (let at = 0; at < gzip.length; at += 0x8000)
        binary += String.fromCharCode(...gzip.subarray(at, at + 0x8000));
    return btoa(binary);
}

async function besidePart(id: string, value: unknown): Promise<string> {
    return `<script type="application/octet-stream" id="${id}">${await packed(new TextEncoder().encode(JSON.stringify(value)))}</script>`;
}

/* Saves the shown profile and the view in a page; of a comparison both profiles, unfiltered. With
 * the texts of sources and the listings that are known. */
export async function savePage(app: App): Promise<void> {
    const both = app.comparedWith !== "";
    const state = writeState(both ? app.state : { ...app.state, filters: [], wall: false, preview: null });
    const part = async (id: string, name: string, format: string): Promise<string> =>
        `<script type="application/octet-stream" id="${id}" data-name="${attribute(name)}" ` +
        `data-state="${attribute(state)}">${await packed(await app.core.export(format))}</script>`;
    const data = both ? await part("profile", app.name, "page-after") + await part("profile-before", app.comparedWith, "page-before")
        : await part("profile", app.name, "page");
    const texts = [...await textsOf(app)];
    const listings = await listingsOf(app);
    const code = (texts.length ? await besidePart("sources", texts) : "") + (listings.functions.length ? await besidePart("assembly", listings) : "");
    download(template().replace("<!--stoke:data-->", () => `<!--stoke:data-->${data}${code}`), `${stem(app)}.html`, "text/html");
}
