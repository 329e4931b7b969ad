/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of source files: those in the page, those in the opened .stoke, and those that the user
 * has chosen. */
import type { App } from "./app";
import { unpack } from "./embedded";
import type { ProfileInfo } from "./protocol";

export type Texts = ReadonlyMap<string, string>;

let inPage: Promise<Texts> | null = null;
const chosen = new Map<string, string>();
let ofFile: { profile: ProfileInfo | null; texts: Promise<[string, string][]> } | null = null;

async function readPage(): Promise<Texts> {
    const packed = document.getElementById("sources")?.textContent;
    return new Map(packed ? JSON.parse(new TextDecoder().decode(await unpack(packed))) as [string, string][] : []);
}

/* By name. Of one name, what was chosen is first, then what the opened file has. */
export async function textsOf(app: App): Promise<Texts> {
    inPage ??= readPage();
    if (ofFile?.profile !== app.profile)
        ofFile = { profile: app.profile, texts: app.core.texts() };
    return new Map([...await inPage, ...await ofFile.texts, ...chosen]);
}

export function chooseText(name: string, text: string): void {
    chosen.set(name, text);
}
