/* SPDX-License-Identifier: Apache-2.0 */
/* What the page and the worker say to each other. */

export interface Fault {
    message: string;
    hint: string;
    line: number;
    column: number;
    offset?: number;
    text: string;
    about?: string; /* the file that was to be opened */
    own?: boolean; /* of the page: no format would help */
}

export interface EventInfo {
    name: string;
    unit: string;
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
    rate: number;
    duration: number;
    differential: boolean;
    threads: number;
    frames: number;
    stacks: number;
    events: EventInfo[];
    warnings: Warning[];
}

export interface Shown {
    total: number;
    base_total: number;
    unnamed: number; /* of the total: ends in functions without a name */
    event: number;
    unit: string;
    event_name: string;
    samples: number;
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
    lanes: Lane[];
    losses: { at: number; count: number }[]; /* of samples, by time */
}

export interface FunctionInfo {
    label: number;
    name: string;
    module: string;
    file: string;
    line: number;
    kind: string;
    self: number;
    total: number;
    base_self?: number;
    base_total?: number;
}

export interface BoxInfo {
    box: number;
    row: number;
    from: number;
    to: number;
    self?: number;
    total?: number;
    base_total?: number;
    waiting?: number; /* how much of the total waits, where some does */
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
    threads: { name: string; pid?: number; tid?: number; samples: number; weight: number }[];
    modules: { name: string; build: string; samples: number; weight: number }[];
}

export interface Call {
    caller: number; /* a label */
    callee: number;
    total: number;
    base_total: number;
}

/* Who calls whom, the heaviest first. */
export interface GraphInfo {
    functions: { match: boolean; function: FunctionInfo }[];
    calls: Call[];
    functions_left: number; /* out, as they weigh too little */
    calls_left: number;
}

export interface FileInfo {
    name: string;
    self: number;
    total: number;
}

export interface LineInfo {
    line: number;
    label: number; /* of a function that it is in */
    self: number;
    total: number;
}

export interface HeatInfo {
    columns: number;
    rows: number;
    column: number;
    span: number;
    cells: number[];
}

export interface Found {
    functions: number;
    total: number;
}

/* What is drawn, as the core lays it out: 24 bytes a box. */
export interface Drawing {
    boxes: ArrayBuffer;
    count: number;
    names: [number, string][]; /* labels that the page has not met */
    micros: number; /* what it took in the core */
}

export const BOX_WORDS = 6;
export const MATCH = 1;
export const MANY = 2;
export const SAME = 4;
export const UNKNOWN = 8; /* nobody knows what function it is */
export const CUT = 16; /* stands for callers that are missing */
export const OFF = 32; /* off the CPU */
export const NONE = 0xffffffff;

/* Numbers as the core knows them. */
export const enum Chart {
    Down = 0,
    Up = 1,
    Callers = 2,
    Callees = 3,
    Time = 4,
}

export const enum Tone {
    Name = 0,
    Module = 1,
    Kind = 2,
    Self = 3,
    Change = 4,
}

export const enum Sort {
    Self = 0,
    Total = 1,
    Name = 2,
    Module = 3,
    Change = 4,
}

export type Argument = number | string | Uint32Array;

export type Request =
    | { id: number; do: "start"; core: ArrayBuffer }
    | { id: number; do: "open"; file: Blob; name: string; format: string }
    | { id: number; do: "cancel"; keep: boolean } /* keep: what was read is a part of it */
    | { id: number; do: "number"; call: string; with: Argument[] }
    | { id: number; do: "json"; call: string; with: Argument[] }
    | { id: number; do: "bytes"; call: string; with: Argument[] }
    | { id: number; do: "draw"; with: number[] };

export interface Progress {
    done: number;
    of: number;
    fresh: boolean; /* it is time to look at what was read so far (core_partial) */
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
