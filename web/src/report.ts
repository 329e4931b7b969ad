/* SPDX-License-Identifier: Apache-2.0 */
/* A page that was saved with a profile in it, opened as a file: what it was made of. */
import { unpack } from "./core";
import { type Place, readPlace } from "./state";

const HEAD = 64;

export interface Report {
    file: Blob;
    name: string;
    place: Place;
}

/* Null for all other files, which are left to the core. */
export async function reportIn(file: Blob): Promise<Report | null> {
    if (!/^\s*<!doctype html>/i.test(await file.slice(0, HEAD).text()))
        return null;
    const page = new DOMParser().parseFromString(await file.text(), "text/html"); /* runs nothing */
    const data = page.getElementById("profile");
    if (!data?.textContent)
        return null;
    try {
        return { file: new Blob([await unpack(data.textContent)]), name: data.dataset["name"] || "profile", place: readPlace(data.dataset["place"] ?? "") };
    } catch {
        return null;
    }
}
