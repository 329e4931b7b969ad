/* SPDX-License-Identifier: Apache-2.0 */
/* Where the user is: all of it stands in the address, so that a link brings it back. */
import { Tone } from "./protocol";

export interface Filter {
    verb: string;
    text: string;
    exact?: boolean;
    from?: number;
    to?: number;
}

export const VIEWS = [
    ["time", "Time order"],
    ["left", "Left heavy"],
    ["sandwich", "Sandwich"],
    ["down", "Top down"],
    ["up", "Bottom up"],
    ["graph", "Call graph"],
    ["source", "Source"],
    ["heat", "Heat map"],
    ["summary", "Summary"],
] as const;
export type View = (typeof VIEWS)[number][0];

export interface Place {
    view: View;
    filters: Filter[];
    event: number; /* 0: the first */
    count: boolean; /* samples, in place of what they weigh */
    wall: boolean; /* time, running and waiting together */
    order: number; /* 0 by size, 1 by name */
    flame: boolean; /* callers at the bottom */
    color: Tone;
    search: string;
    pattern: boolean;
    chosen: string; /* the function that is looked at */
    file: string; /* whose source is looked at; empty: the heaviest */
    nodes: number; /* percent of the whole that a function has in the call graph, at least */
    edges: number; /* the same of calls */
    zoom: [number, number] | null;
}

export const START: Place = {
    view: "left",
    filters: [],
    event: 0,
    count: false,
    wall: false,
    order: 0,
    flame: false,
    color: Tone.Name,
    search: "",
    pattern: false,
    chosen: "",
    file: "",
    nodes: 0.5,
    edges: 0.1,
    zoom: null,
};

/* Only what is not as at the start. */
export function writePlace(place: Place): string {
    const differs = Object.entries(place).filter(
        ([key, value]) => JSON.stringify(value) !== JSON.stringify(START[key as keyof Place]));
    return differs.length ? `#${encodeURIComponent(JSON.stringify(Object.fromEntries(differs)))}` : "";
}

function isFilter(value: unknown): value is Filter {
    const filter = value as Filter;
    return typeof filter === "object" && filter !== null && typeof filter.verb === "string" && typeof filter.text === "string";
}

/* An address that others wrote is not trusted: what is not of the right kind is left out. */
export function readPlace(hash: string): Place {
    const place = { ...START };
    let given: Record<string, unknown>;
    try {
        given = JSON.parse(decodeURIComponent(hash.replace(/^#/, ""))) as Record<string, unknown>;
    } catch {
        return place;
    }
    if (typeof given !== "object" || given === null)
        return place;
    if (VIEWS.some(([view]) => view === given["view"]))
        place.view = given["view"] as View;
    if (Array.isArray(given["filters"]))
        place.filters = given["filters"].filter(isFilter).slice(0, 200);
    for (const [key, most] of [["event", 1e6], ["order", 1], ["color", Tone.Change]] as const)
        if (Number.isInteger(given[key]) && (given[key] as number) >= 0 && (given[key] as number) <= most)
            place[key] = given[key] as number;
    for (const key of ["count", "wall", "flame", "pattern"] as const)
        if (typeof given[key] === "boolean")
            place[key] = given[key];
    for (const key of ["search", "chosen", "file"] as const)
        if (typeof given[key] === "string")
            place[key] = given[key];
    for (const key of ["nodes", "edges"] as const)
        if (Number.isFinite(given[key]) && (given[key] as number) >= 0 && (given[key] as number) <= 100)
            place[key] = given[key] as number;
    const zoom = given["zoom"];
    if (Array.isArray(zoom) && zoom.length === 2 && zoom.every((x) => Number.isFinite(x)) && zoom[0] < zoom[1])
        place.zoom = [zoom[0], zoom[1]];
    return place;
}

/* What a chip says of a filter. */
export function filterText(f: Filter, time: (ns: number) => string): string {
    const said: Record<string, string> = {
        focus: f.exact ? "stacks with" : "stacks matching",
        ignore: f.exact ? "without stacks with" : "without stacks matching",
        hide: f.exact ? "merged into callers" : "frames hidden",
        show: "frames shown",
        "show-from": "from",
        "collapse-module": f.exact ? "as one frame" : "as one frame modules",
        comm: "thread",
        "drop-comm": "without thread",
        tid: "thread",
        pid: "process",
        cpu: "CPU",
    };
    switch (f.verb) {
        case "time":
            return `${time(f.from ?? 0)} \u2013 ${time(f.to ?? 0)}`;
        case "collapse":
            return f.text === "cycles" ? "recursion over others collapsed" : "recursion collapsed";
        case "by":
            return `by ${f.text}`;
        case "threads":
            return f.text === "thread" ? "threads apart" : `threads by ${f.text || "name"}`;
        case "reverse":
            return "reversed";
        case "strip":
            return "short names";
        default:
            return `${said[f.verb] ?? f.verb} ${f.text.replaceAll("\n", ", ")}`;
    }
}
