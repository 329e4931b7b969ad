/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the view: all of it is in the address, so that a link restores it. */
import { microseconds } from "./format";
import type { Align } from "./sides";
import { type EventInfo, type ProfileInfo, Tone } from "./protocol";

export interface Filter {
    verb: string;
    text: string;
    exact?: boolean;
    from?: number;
    to?: number;
    before?: [number, number]; /* of a comparison, if they differ; only for the core */
}

export const VIEWS = [
    ["left", "Flame graph"],
    ["time", "Time order"],
    ["sandwich", "Functions"],
    ["tree", "Tree"],
    ["graph", "Call graph"],
    ["source", "Source"],
    ["waits", "Waits"],
    ["marks", "Marks"],
    ["heat", "Heat map"],
    ["summary", "Summary"],
    ["changes", "Changes"],
    ["sizes", "Sizes and lifetimes"],
] as const;
export const INVERTS: readonly string[] = ["left", "tree"]; /* views that can begin with the leaves */
const NOT_LIVE: readonly string[] = ["time", "waits", "marks", "heat", "sizes"]; /* views that the live page does not have */

/* A heap profile has no threads that run or wait. */
const NOT_HEAP: readonly string[] = ["time", "waits", "marks"];

interface Shows {
    comparedWith: string;
    live: unknown;
    profile: ProfileInfo | null;
}

/* All events are bytes, or count such allocations. */
function isHeap({ profile }: Shows): boolean {
    const events = profile?.events ?? [];
    const isMemory = ({ kind }: EventInfo): boolean => kind === "memory" || kind === "live";
    return events.some(isMemory) && events.every((event) => isMemory(event) || (event.kind === "other" && (event.unit === "samples" || event.unit === "events")));
}

/* The views of the shown profile: one is only for two. */
export function viewsOf(app: Shows): (typeof VIEWS)[number][] {
    const without = [...app.live ? NOT_LIVE : [], ...isHeap(app) ? NOT_HEAP : [], ...app.comparedWith ? [] : ["changes"],
        ...isHeap(app) && app.profile?.labelled && !app.comparedWith ? [] : ["sizes"]];
    const shown = VIEWS.filter(([view]) => !without.includes(view));
    return [...shown.filter(([view]) => view === "changes"), ...shown.filter(([view]) => view !== "changes")]; /* first what was compared for */
}

/* The key that opens a view; the last one has none. */
export function keyOf(view: View): string | null {
    const at = VIEWS.findIndex(([one]) => one === view);
    return at < 10 ? String((at + 1) % 10) : null;
}

export type View = (typeof VIEWS)[number][0];

/* What the flame graphs of two profiles show. */
export const COMPARED = ["difference", "sides", "before", "after"] as const;
export type Compared = (typeof COMPARED)[number];

/* What the source view shows. */
export const PANES = ["source", "assembly", "both"] as const;
export type Pane = (typeof PANES)[number];

export interface ViewState {
    view: View;
    filters: Filter[];
    event: number; /* 0: the first */
    count: boolean; /* samples instead of weights */
    processes: boolean; /* trees of several processes begin with process and thread */
    wall: boolean; /* time, both running and waiting */
    idle: boolean; /* the time of idle CPUs is shown, too */
    order: number; /* 0 by size, 1 by name */
    flame: boolean; /* callers at the bottom */
    up: boolean; /* flame graph and tree begin with the leaves: callees before callers */
    color: Tone;
    peek: boolean; /* functions with their direct callers and callees */
    compared: Compared; /* of two profiles: their flame graphs */
    align: Align; /* of two profiles: their times */
    shares: boolean; /* of two profiles: shares are compared, not weights */
    search: string;
    pattern: boolean;
    chosen: string; /* the selected function */
    pane: Pane;
    file: string; /* whose source is shown; empty: the heaviest */
    nodes: number; /* minimum share of a function in the call graph, in percent */
    edges: number; /* the same for calls */
    preview: [number, number] | null; /* a span that is selected, but not committed: in ns */
    zoom: [number, number] | null;
}

export const START: ViewState = {
    view: "left",
    filters: [],
    event: 0,
    count: false,
    processes: true,
    wall: false,
    idle: false,
    order: 0,
    flame: false,
    up: false,
    color: Tone.Auto,
    peek: false,
    compared: "difference",
    align: "start",
    shares: true,
    search: "",
    pattern: false,
    chosen: "",
    pane: "both",
    file: "",
    nodes: 0.5,
    edges: 0.1,
    preview: null,
    zoom: null,
};

/* Whether there are outermost levels to show or to hide. */
export function severalProcesses(app: { profile: ProfileInfo | null; comparedWith: string; state: ViewState }): boolean {
    return (app.profile?.several_processes ?? false) && !app.state.filters.some((f) => f.verb === "threads" || f.verb === "reverse");
}

/* Only what differs from the default; with a zoom also whether there are processes. */
export function writeState(state: ViewState): string {
    const differs = Object.entries(state).filter(([key, value]) => (key === "processes" && state.zoom)
        || JSON.stringify(value) !== JSON.stringify(START[key as keyof ViewState]));
    return differs.length ? `#${encodeURIComponent(JSON.stringify(Object.fromEntries(differs)))}` : "";
}

function isFilter(value: unknown): value is Filter {
    const filter = value as Filter;
    return typeof filter === "object" && filter !== null && typeof filter.verb === "string" && typeof filter.text === "string";
}

/* An address may come from anyone: invalid values are ignored. */
export function readState(hash: string): ViewState {
    const state = { ...START };
    let given: Record<string, unknown>;
    if (hash.length < 2) /* an exception would take longer than the rest */
        return state;
    try {
        given = JSON.parse(decodeURIComponent(hash.replace(/^#/, ""))) as Record<string, unknown>;
    } catch {
        return state;
    }
    if (typeof given !== "object" || given === null)
        return state;
    if (VIEWS.some(([view]) => view === given["view"]))
        state.view = given["view"] as View;
    if (given["view"] === "down" || given["view"] === "up") { /* of the first edition */
        state.view = "tree";
        state.up = given["view"] === "up";
    }
    if (Array.isArray(given["filters"]))
        state.filters = given["filters"].filter(isFilter).slice(0, 200);
    for (const [key, most] of [["event", 1e6], ["order", 1], ["color", Tone.Auto]] as const)
        if (Number.isInteger(given[key]) && (given[key] as number) >= 0 && (given[key] as number) <= most)
            state[key] = given[key] as number;
    if (Array.isArray(given["zoom"])) /* the first edition had no processes: a range of its flame graph */
        state.processes = false;
    for (const key of ["count", "processes", "wall", "idle", "flame", "up", "peek", "shares", "pattern"] as const)
        if (typeof given[key] === "boolean")
            state[key] = given[key];
    const { align } = given;
    if (align === "end" || align === "length" || (typeof align === "number" && Number.isFinite(align)))
        state.align = align;
    state.compared = COMPARED.find((one) => one === given["compared"]) ?? (given["sides"] === true ? "sides" : "difference"); /* the first edition had "sides" */
    state.pane = PANES.find((one) => one === given["pane"]) ?? "both";
    for (const key of ["search", "chosen", "file"] as const)
        if (typeof given[key] === "string")
            state[key] = given[key];
    for (const key of ["nodes", "edges"] as const)
        if (Number.isFinite(given[key]) && (given[key] as number) >= 0 && (given[key] as number) <= 100)
            state[key] = given[key] as number;
    for (const key of ["preview", "zoom"] as const) {
        const range = given[key];
        if (Array.isArray(range) && range.length === 2 && range.every((x) => Number.isFinite(x)) && range[0] < range[1])
            state[key] = [range[0], range[1]];
    }
    return state;
}

/* The text of a filter's chip. */
export function filterText(f: Filter, time: (ns: number) => string): string {
    const said: Record<string, string> = {
        focus: f.exact ? "stacks with" : "stacks matching",
        ignore: f.exact ? "without stacks with" : "without stacks matching",
        hide: f.exact ? "merged into callers" : "frames hidden",
        show: "frames shown",
        "show-from": "from",
        "show-module": f.exact ? "only module" : "only modules matching",
        "collapse-module": f.exact ? "as one frame" : "as one frame modules",
        comm: "thread",
        "drop-comm": "without thread",
        tid: "thread",
        thread: "thread",
        pid: "process",
        cpu: "CPU",
        label: "label",
        "drop-label": "without label",
        suppress: "suppressed",
    };
    switch (f.verb) {
        case "time":
            return `${time(f.from ?? 0)} \u2013 ${time(f.to ?? 0)}`;
        case "moment":
            return `at ${time((f.to ?? 1) - 1)}`;
        case "pid":
            return /,.*,/.test(f.text) ? `${f.text.split(",").length} processes` : `process ${f.text}`;
        case "tid":
        case "thread":
            return /,.*,/.test(f.text) ? `${f.text.split(",").length} threads` : `thread ${f.text}`;
        case "collapse":
            return f.text === "cycles" ? "recursion over others collapsed" : "recursion collapsed";
        case "by":
            return `by ${f.text}`;
        case "threads":
            return f.text === "both" ? "by process and thread" : f.text === "thread" ? "threads separate" : `threads by ${f.text || "name"}`;
        case "label":
        case "drop-label":
            return `${said[f.verb]} ${f.text.startsWith("lifetime=") ? microseconds(f.text) : f.text}`;
        case "reverse":
            return "reversed";
        case "strip":
            return "short names";
        default:
            return `${said[f.verb] ?? f.verb} ${f.text.replaceAll("\n", ", ")}`;
    }
}
