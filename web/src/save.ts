/* SPDX-License-Identifier: Apache-2.0 */
/* Saving files from the page. */
import type { App } from "./app";
import { shownName } from "./format";
import { writeState } from "./state";

/* The page as it was loaded, before anything was drawn. */
let template = "";

export function keepTemplate(): void {
    template = `<!doctype html>\n${document.documentElement.outerHTML}\n`;
}

function download(bytes: BlobPart, name: string, type: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

const SUFFIX: Record<string, string> = {
    svg: "svg", folded: "folded", speedscope: "speedscope.json", pprof: "pb", csv: "csv", d3: "json", stoke: "stoke",
};

/* The name of the file to save, without characters that file systems do not allow. */
function stem(app: App): string {
    const name = app.name.replace(/\.(txt|data|json|gz|zst|xz|folded|out|pb|html|stoke|zip)$/gi, "");
    return shownName(name).replace(/[/\\:*?"<>|]/g, "_") || "profile";
}

export async function exportAs(app: App, format: string): Promise<void> {
    try {
        const bytes = await app.core.export(format);
        download(bytes as BlobPart, `${stem(app)}.${SUFFIX[format] ?? format}`, "application/octet-stream");
    } catch (error) {
        app.fail(error);
    }
}

export function savePicture(app: App): void {
    app.steered?.picture()?.toBlob((blob) => {
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

/* Saves the shown profile and the view in a page; of a comparison both profiles, unfiltered. */
export async function savePage(app: App): Promise<void> {
    const both = app.comparedWith !== "";
    const state = writeState(both ? app.state : { ...app.state, filters: [], wall: false });
    const part = async (id: string, name: string, format: string): Promise<string> =>
        `<script type="application/octet-stream" id="${id}" data-name="${attribute(name)}" ` +
        `data-state="${attribute(state)}">${await packed(await app.core.export(format))}</script>`;
    const data = both ? await part("profile", app.name, "page-after") + await part("profile-before", app.comparedWith, "page-before")
        : await part("profile", app.name, "page");
    const bare = template.replace(/<script type="application\/octet-stream" id="profile(-before)?"[^>]*>[^<]*<\/script>/g, "");
    download(bare.replace("<!--stoke:data-->", () => `<!--stoke:data-->${data}`), `${stem(app)}.html`, "text/html");
}
