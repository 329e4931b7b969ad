/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the shown profile: texts of source files and listings of instructions. They are in the
 * page beside the profile, or in the opened .stoke; the user can choose more texts. */
import type { App } from "./app";
import { unpack } from "./embedded";
import type { Listings, ProfileInfo } from "./protocol";

export type Texts = ReadonlyMap<string, string>;

interface Code {
    profile: ProfileInfo | null;
    texts: Promise<[string, string][]>;
    listings: Promise<Listings>;
    listed: Listings | null; /* when they are known */
}

const chosen = new Map<string, string>();
let code: Code | null = null;

async function read<T>(packed: string): Promise<T | null> {
    return packed ? JSON.parse(new TextDecoder().decode(await unpack(packed))) as T : null;
}

function codeOf(app: App): Code {
    if (code?.profile === app.profile)
        return code;
    const { sources, assembly } = app.opening.beside;
    const both = Promise.all([read<[string, string][]>(sources), app.core.texts()]);
    const now: Code = {
        profile: app.profile, listed: null,
        texts: both.then(([beside, within]) => [...beside ?? [], ...within]),
        listings: read<Listings>(assembly).then((beside) => beside?.functions.length ? beside : app.core.listings()),
    };
    now.listings.then((listed) => {
        now.listed = listed;
        if (listed.functions.length)
            app.changed(); /* the view can show them */
    }, () => undefined);
    code = now;
    return now;
}

/* By name. Of one name, what was chosen is first. */
export async function textsOf(app: App): Promise<Texts> {
    return new Map([...await codeOf(app).texts, ...chosen]);
}

/* Those in a page have the text of instructions, those in a .stoke have the addresses with samples. */
export function listingsOf(app: App): Promise<Listings> {
    return codeOf(app).listings;
}

/* Whether there are any, as far as they are known. */
export function hasListings(app: App): boolean {
    return code?.profile === app.profile && Boolean(code?.listed?.functions.length);
}

export function chooseText(name: string, text: string): void {
    chosen.set(name, text);
}
