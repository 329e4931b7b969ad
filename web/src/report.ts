/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a page that was saved with a profile: extracts the profile. */
import { unpack } from "./embedded";
import { type ViewState, readState } from "./state";

const HEAD = 64;
export const PACKED = "application/gzip"; /* the type of a profile that comes from a page */

/* What a page has of the code of its profile, packed; empty: nothing. */
export interface Beside {
    sources: string;
    assembly: string;
}

export const NOTHING: Beside = { sources: "", assembly: "" };

export function besideIn(page: Document): Beside {
    const packed = (id: string): string => page.getElementById(id)?.textContent ?? "";
    return { sources: packed("sources"), assembly: packed("assembly") };
}

export interface Report {
    file: Blob;
    beside: Beside;
    name: string;
    state: ViewState | undefined; /* the page has none: what is shown first */
    before: { file: Blob; name: string } | null; /* of a comparison */
}

/* Null for all other files, which the core reads. */
export async function reportIn(file: Blob): Promise<Report | null> {
    if (file.type === PACKED || !/^\s*<!doctype html>/i.test(await file.slice(0, HEAD).text()))
        return null;
    const page = new DOMParser().parseFromString(await file.text(), "text/html"); /* does not run scripts */
    const data = page.getElementById("profile");
    if (!data?.textContent)
        return null;
    try {
        const { dataset } = data;
        const state = dataset["state"] ?? dataset["place"] ?? ""; /* the second: in pages of earlier versions */
        const earlier = page.getElementById("profile-before");
        const before = earlier?.textContent ? { file: new Blob([await unpack(earlier.textContent)]), name: earlier.dataset["name"] || "before" } : null;
        return { file: new Blob([await unpack(data.textContent)]), beside: besideIn(page), name: dataset["name"] || "profile", state: state ? readState(state) : undefined, before };
    } catch {
        return null;
    }
}
