/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between the page and the worker. */

import type { Verdict } from "./numbers";

export interface Fault {
    message: string;
    hint: string;
    line: number;
    column: number;
    offset?: number;
    text: string;
    about?: string; /* the file that should have been opened */
    own?: boolean; /* an error of the page: choosing a format would not help */
}

export interface EventInfo {
    name: string;
    unit: string;
    kind: "other" | "cpu" | "waiting" | "memory" | "live"; /* what is measured: enum event_kind */
}

export interface Warning {
    what: string;
    count: number;
    line: number;
    text: string;
}

export interface ProfileInfo {
    format: string;
    host: string;
    command: string;
    samples: number;
    lost: number;
    truncated: number;
    loss_lines: [string, string, string]; /* lost, truncated, no unwind information; empty: none */
    rate: number;
    sample_bytes: number; /* of a heap: the mean bytes between two samples; 0: not sampled, or unknown */
    duration: number;
    cycles: boolean; /* times are in cycles */
    differential: boolean;
    counted: boolean; /* the weights count every event: they are no estimates by samples */
    threads: number;
    several_processes: boolean;
    labelled: boolean; /* samples have labels */
    frames: number;
    stacks: number;
    events: EventInfo[];
    warnings: Warning[];
}

export interface Shown {
    total: number;
    base_total: number;
    unnamed: number; /* of the total: in leaves without a name */
    idle: number; /* in idle functions, which are no work: of the total, or left out of it */
    base_idle: number; /* of a comparison: left out of the total before */
    idle_left: boolean;
    event: number;
    unit: string;
    event_name: string;
    samples: number;
    by_process: boolean; /* trees begin with processes and threads */
}

export interface Lane {
    name: string;
    pid?: number;
    tid?: number;
    row: number;
    rows: number;
    weight: number;
}

export interface ChartInfo {
    rows: number;
    boxes: number;
    to: number;
    timed: boolean;
    losses: { at: number; count: number }[]; /* of samples, by time */
}

/* The difference of two shares, from 0 to 1. */
export interface Difference {
    before: number;
    after: number;
    low: number; /* the 95% confidence interval of the difference */
    high: number;
    verdict: Verdict;
}

export interface ComparisonInfo {
    sides: { event: string; samples: number; timed: boolean; block: number }[]; /* before, after; block in ns */
    found: number; /* functions whose self share changed by more than noise */
    others: number;
    noise: number; /* the sum of the changes of all others: as these, from 0 to 1 */
    explained: number; /* the share of all changes that the found functions have */
}

export interface FunctionInfo {
    label: number;
    name: string;
    module: string;
    file: string;
    line: number;
    kind: string; /* "process" or "thread": not a function */
    ids?: string; /* of the process or thread: "12,13" */
    process_label?: string; /* of a process without an ID: its label "process" */
    self: number;
    total: number;
    base_self?: number;
    base_total?: number;
    change?: Difference; /* of the total */
    self_change?: Difference;
}

export interface BoxInfo {
    box: number;
    row: number;
    from: number;
    to: number;
    self?: number;
    total?: number;
    base_total?: number;
    change?: Difference;
    waiting?: number; /* the part of the total that waits, if some does */
    off?: boolean; /* by time: the thread waits */
    function: FunctionInfo;
    stack: string[];
    labels: number[]; /* of the stack */
}

export interface TreeRow {
    node: number;
    children: number;
    self: number;
    total: number;
    base_total?: number;
    change?: Difference;
    function: FunctionInfo;
}

export interface SummaryInfo {
    profile: ProfileInfo;
    weight: number;
    samples: number;
    event: string;
    processes: number;
    stacks: number;
    functions: number;
    deepest: number;
    unknown_leaf: number;
    unknown_any: number;
    tallies: { samples: number; weight: number }[];
    thread_count: number; /* of all, also those that are not listed */
    threads: { name: string; pid?: number; tid?: number; samples: number; weight: number }[];
    modules: { name: string; build: string; samples: number; weight: number }[];
    label_count?: number;
    labels?: { key: string; value: string; samples: number; weight: number }[];
}

export interface Call {
    caller: number; /* a label */
    callee: number;
    total: number;
    base_total: number;
}

/* The call graph, heaviest functions first. */
export interface GraphInfo {
    functions: { match: boolean; function: FunctionInfo }[];
    calls: Call[];
    functions_left: number; /* number of functions below the limits */
    calls_left: number;
}

/* A caller or callee of a function, with the weight of the calls. */
export interface PeekCall {
    label: number;
    name: string;
    total: number;
    base_total?: number;
}

/* A function with its heaviest callers and callees. */
export interface PeekInfo {
    function: FunctionInfo;
    callers: PeekCall[];
    callees: PeekCall[];
    caller_count: number;
    callee_count: number;
}

export interface FileInfo {
    name: string;
    self: number;
    total: number;
    change?: Difference; /* of the total, in a comparison */
}

export interface LineInfo {
    line: number;
    label: number; /* of a function that it is in */
    was?: number; /* its number before, if an edit moved its function */
    self: number;
    total: number;
    change?: Difference; /* of the total, in a comparison */
}

/* Some of the rows, in the order of a column. */
export interface WaitsInfo {
    count: number; /* of all rows */
    most: number; /* ns: the largest total */
    woken: boolean; /* a waker is known */
    rows: WaitRow[];
}

/* The waits of a thread with the same reason, function, waker, and lock or file; times in ns. */
export interface WaitRow {
    name: string;
    pid?: number;
    tid?: number;
    reason: "lock" | "disk" | "network" | "cpu" | "sleep";
    label: number;
    function: string;
    waker?: string;
    waker_tid?: number;
    lock?: string;
    lock_kind?: string; /* "mutex", "GIL" */
    file?: string; /* also a socket or a device */
    count: number;
    total: number;
    longest: number;
    begin: number; /* of the longest one */
}

export interface HeatInfo {
    columns: number;
    rows: number;
    column: number;
    span: number;
    cells: number[];
}

/* The samples with one value of a label. */
export interface ClassSum {
    value: string;
    samples: number;
    weight: number;
}

/* The tracks, processes and threads by activity; times are in ns. */
export interface TracksInfo {
    to: number; /* the axis begins at 0 */
    processes: { name: string; labelled: boolean; /* the name is a label */ pid?: number; processes?: number; ran?: number; /* had CPU time */ ids?: string; /* of several */ first: number; count: number; running: number; waiting: number }[];
    threads: { name: string; tid?: number; process: number; samples: number; running: number; waiting: number }[];
    cpus: number[];
    marks: Mark[];
    memory: MemoryInfo | null;
}

export const MEMORY_WAYS = ["function", "module", "thread"] as const; /* as in web/core/memory.h */
export type MemoryWay = (typeof MEMORY_WAYS)[number];

/* The live bytes over time, in layers: the first is the base. */
export interface MemoryInfo {
    by: MemoryWay;
    ways: MemoryWay[];
    layers: { name: string; tid?: number; nameless?: boolean /* of a module */ }[];
    others: boolean; /* one more layer */
    resident: boolean;
    event: number; /* the event of live bytes */
    peak: number;
    peakAt: number; /* ns */
    allocations?: number; /* all of them; only with their times */
}

/* Bytes of a span. */
export interface MemorySpan {
    change: number;
    live: number; /* at its end */
    allocated?: number;
    freed?: number;
    leaked?: number; /* allocated in it, and never freed */
}

/* What allocated the shown blocks of a heap: the functions with most of them. */
export interface SitesInfo {
    count: number; /* of all functions */
    error?: number; /* of a sum of samples: half of the 95 % interval */
    rows: { weight: number; error?: number; samples: number; beside: number /* all its allocations */; complete: boolean /* each is a sample */; function: FunctionInfo }[];
}

/* The direct callers or callees of a function. */
export interface NeighboursInfo {
    count: number;
    rows: { total: number; function: FunctionInfo }[];
}

/* How the bytes of a function grew, over the axis of the tracks. */
export interface GrowthInfo {
    event: string;
    first: number; /* ns: when it first had some */
    to: number; /* ns: the end of the axis, which begins at 0 */
    bytes: number[]; /* at the ends of the columns */
}

/* Lost samples, or a tracepoint. */
export interface Mark {
    at: number; /* ns */
    lost?: number;
    name?: string; /* of the tracepoint */
    thread?: string;
    tid?: number;
}

export const MACHINE_LAYERS = 7; /* see web/core/tracks.h */
export const MEMORY_LAYERS = 7; /* see web/core/memory.h */

export interface Found {
    functions: number;
    total: number;
}

/* The boxes, in the core's layout: 24 bytes each. */
export interface Drawing {
    boxes: ArrayBuffer;
    count: number;
    names: [number, string][]; /* labels that the page does not have yet */
    lanes: Lane[]; /* by time: those of the rows */
    micros: number; /* time in the core */
}

export const BOX_WORDS = 6;
export const NONE = 0xffffffff;

export * from "./numbers";

export type Argument = number | string | Uint8Array | Uint32Array;

/* A message to the worker has one request or several, which are answered in their order. */
export type Request =
    | { id: number; do: "start"; core: Uint8Array<ArrayBuffer> } /* the first; gzip */
    | { id: number; do: "open"; file: Blob; name: string; format: string }
    | { id: number; do: "cancel"; keep: boolean } /* keep: make a profile of what was read */
    | { id: number; do: "number"; call: string; with: Argument[] }
    | { id: number; do: "json"; call: string; with: Argument[] }
    | { id: number; do: "bytes"; call: string; with: Argument[] }
    | { id: number; do: "draw"; with: [kind: number, from: number, to: number, width: number, first: number, last: number] };

export interface Progress {
    done: number;
    of: number;
    fresh: boolean; /* the page should show the part read so far (core_partial) */
}

/* How much of a file was read when reading ended; core_finish makes a profile of it. */
export interface Read {
    done: number;
    of: number;
    stopped: boolean; /* before its end */
}

export type Reply =
    | { id: number; ok: true; value: unknown }
    | { id: number; ok: false; fault: Fault }
    | ({ id: number } & Progress);

/* How often the page asked the worker, and for how many calls. */
export interface Traffic {
    messages: number;
    calls: number;
}

export interface Instruction {
    address: number;
    weight: number;
    samples: number;
    file?: string;
    line?: number;
    inlined?: string;
    text?: string; /* only in a page that was made with it: "jne    1227 <main+0x27>" */
}

export interface Listing {
    name: string;
    module: string;
    weight: number;
    samples: number;
    instructions: Instruction[];
}

export interface Listings {
    unit: string;
    functions: Listing[]; /* the heaviest first */
}
