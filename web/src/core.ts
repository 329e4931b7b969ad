/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of the core for the page: every result is a promise. */
import type { Early } from "./early";
import { functionName } from "./format";
import type {
    Argument, BoxInfo, ChartInfo, ClassSum, ComparisonInfo, Drawing, Fault, FileInfo, Found, FunctionInfo, GraphInfo, HeatInfo, LineInfo, Listings, PeekInfo, ProfileInfo, Progress, Read, Reply,
    Request, Shown,
    GrowthInfo, MemoryInfo, MemorySpan, NeighboursInfo, SitesInfo, SummaryInfo, TracksInfo, Traffic, TreeRow, WaitSort, WaitsInfo,
} from "./protocol";

export class CoreError extends Error {
    constructor(readonly fault: Fault) {
        super(fault.message);
    }
}

interface Waiting {
    resolve(value: unknown): void;
    reject(error: Error): void;
    progress: ((progress: Progress) => void) | undefined;
}

type Without<T> = T extends unknown ? Omit<T, "id"> : never;

/* All results, or the error of the first call that failed: those after it may have failed because
 * of it. */
export async function allOf<T extends readonly unknown[] | []>(calls: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
    for (const one of await Promise.allSettled(calls))
        if (one.status === "rejected")
            throw one.reason;
    return Promise.all(calls);
}

export class Core {
    /* The names of labels that were drawn. The worker sends each once: they are stored here, also
     * if the drawing is not shown any more. */
    readonly labels = new Map<number, string>();
    private readonly worker: Worker;
    private readonly answers = new Map<string, Promise<unknown>>();
    private readonly waiting = new Map<number, Waiting>();
    private next = 1;
    private outbox: Request[] = []; /* what was asked since the last message */
    readonly traffic: Traffic = { messages: 0, calls: 0 };

    /* Other calls need not wait for this: the worker does. */
    readonly started: Promise<void>;

    constructor({ worker, started }: Early) {
        this.worker = worker;
        this.worker.onmessage = (event: MessageEvent<Reply[]>) => {
            for (const reply of event.data)
                this.take(reply);
        };
        this.started = started.then((reply) => {
            if ("fault" in reply)
                throw new CoreError(reply.fault);
        });
    }

    private take(reply: Reply): void {
        const waiting = this.waiting.get(reply.id);
        if (!waiting)
            return;
        if ("done" in reply) {
            waiting.progress?.(reply);
            return;
        }
        this.waiting.delete(reply.id);
        if (reply.ok)
            waiting.resolve(reply.value);
        else
            waiting.reject(new CoreError(reply.fault));
    }

    private ask(request: Without<Request>, progress?: (progress: Progress) => void): Promise<unknown> {
        const id = this.next++;
        return new Promise((resolve, reject) => {
            this.waiting.set(id, { resolve, reject, progress });
            if (this.outbox.push({ ...request, id }) === 1)
                queueMicrotask(() => this.send());
        });
    }

    /* What a view asks for at once is one message, and so are its answers. */
    private send(): void {
        this.traffic.messages++;
        this.traffic.calls += this.outbox.length;
        this.worker.postMessage(this.outbox);
        this.outbox = [];
    }

    private json<T>(call: string, ...args: Argument[]): Promise<T> {
        return this.ask({ do: "json", call, with: args }) as Promise<T>;
    }

    private number(call: string, ...args: Argument[]): Promise<number> {
        return this.ask({ do: "number", call, with: args }) as Promise<number>;
    }

    /* Reads the file with that format; "" detects it. finish() then makes it the
     * profile. */
    open(file: Blob, name: string, format: string, progress: (progress: Progress) => void): Promise<Read> {
        return this.ask({ do: "open", file, name, format }, progress) as Promise<Read>;
    }

    /* The same while the shown profile is the same: a view that opens again has its answer. */
    private shownJson<T>(call: string, ...args: Argument[]): Promise<T> {
        const key = JSON.stringify([call, ...args]);
        const known = this.answers.get(key) ?? this.json<T>(call, ...args);
        this.answers.set(key, known);
        known.catch(() => this.answers.delete(key));
        return known as Promise<T>;
    }

    partial = () => this.json<ProfileInfo>("core_partial");
    finish = (slot: number) => this.json<ProfileInfo>("core_finish", slot);

    cancel = (keep: boolean) => this.ask({ do: "cancel", keep });
    alone = () => this.json<ProfileInfo>("core_alone");
    opened = (side: 0 | 1) => this.shownJson<ProfileInfo>("core_opened", side); /* after, before */
    show = async (filters: string, event: number, count: boolean, byProcess: boolean, byWeight: boolean, withoutIdle: boolean): Promise<Shown> => {
        this.answers.clear();
        const shown = await this.json<Shown>("core_show", filters, event, count ? 1 : 0, byProcess ? 1 : 0, byWeight ? 1 : 0, withoutIdle ? 1 : 0);
        this.labels.clear();
        return shown;
    };
    prepare = (step: number) => this.json<boolean>("core_prepare", step); /* what follows is faster after it */
    color = (by: number) => this.json<null>("core_color", by);
    looks = () => this.ask({ do: "bytes", call: "core_looks", with: [] }) as Promise<Uint8Array>;
    comparison = () => this.json<ComparisonInfo | null>("core_comparison");
    choose = (label: number) => this.json<FunctionInfo>("core_choose", label);
    find = (name: string) => this.number("core_find", name);
    chooseNamed = (name: string) => this.json<FunctionInfo | null>("core_choose_named", name);
    chart = (kind: number, order: number) => this.json<ChartInfo>("core_chart", kind, order);
    draw = async (kind: number, from: number, to: number, width: number, first: number, last: number): Promise<Drawing> => {
        const drawing = await this.ask({ do: "draw", with: [kind, from, to, width, first, last] }) as Drawing;
        for (const [label, name] of drawing.names)
            this.labels.set(label, functionName(name));
        return drawing;
    };
    hit = (kind: number, row: number, x: number) => this.number("core_hit", kind, row, x);
    box = (kind: number, box: number) => this.json<BoxInfo>("core_box", kind, box);
    select = (kind: number, box: number) => this.json<BoxInfo>("core_select", kind, box); /* and its function */
    selectAt = (kind: number, row: number, x: number) => this.json<BoxInfo | null>("core_select_at", kind, row, x);
    step = (kind: number, box: number, way: number) => this.number("core_step", kind, box, way);
    nextMatch = (kind: number, box: number, back: boolean) =>
        this.number("core_next_match", kind, box, back ? 1 : 0);
    search = (text: string, pattern: boolean) => this.json<Found>("core_search", text, pattern ? 1 : 0);
    named = (text: string, most: number) => this.json<{ label: number; name: string }[]>("core_named", text, most);
    functions = (sort: number, up: boolean, searched: boolean) =>
        this.json<number>("core_functions", sort, up ? 1 : 0, searched ? 1 : 0);
    functionRows = (from: number, to: number) => this.json<FunctionInfo[]>("core_function_rows", from, to);
    peek = (functions: number, calls: number) => this.json<PeekInfo[]>("core_peek", functions, calls);
    children = (kind: number, node: number) => this.json<TreeRow[]>("core_children", kind, node);
    neighbours = (most: number) => this.json<[NeighboursInfo, NeighboursInfo]>("core_neighbours", most);
    heaviest = (kind: number, node: number) => this.json<TreeRow[][]>("core_heaviest", kind, node);
    way = (kind: number, label: number) => this.json<{ way: number[]; levels: TreeRow[][] }>("core_way", kind, label);
    summary = (most: number) => this.shownJson<SummaryInfo>("core_summary", most); /* threads and labels */
    waits = (sort: WaitSort, from: number) => this.shownJson<WaitsInfo>("core_waits", sort, from);
    heat = (column: number, rows: number) => this.shownJson<HeatInfo>("core_heat", column, rows);
    heatOfSide = (side: 0 | 1, filters: string, column: number, rows: number) => this.shownJson<HeatInfo>("core_heat_side", column, rows, side, filters);
    histogram = (event: number, key: string) => this.shownJson<ClassSum[]>("core_histogram", event, key);
    graph = (functionShare: number, callShare: number, most: number) =>
        this.json<GraphInfo>("core_graph", functionShare, callShare, most);
    tracks = (side: number) => this.json<TracksInfo | null>("core_tracks", side);
    tracksDraw = async (tracks: Uint32Array, from: number, to: number, columns: number, side: number): Promise<Float32Array> =>
        new Float32Array((await this.ask({ do: "bytes", call: "core_tracks_draw", with: [tracks, from, to, columns, side] }) as Uint8Array).buffer);
    memory = (way: number) => this.json<MemoryInfo>("core_memory", way);
    memorySpan = (from: number, to: number) => this.json<MemorySpan>("core_memory_span", from, to);
    memoryMost = (from: number, to: number) => this.json<number>("core_memory_most", from, to);
    sites = (most: number) => this.shownJson<SitesInfo>("core_sites", most);
    growth = (label: number, columns: number) => this.shownJson<GrowthInfo | null>("core_growth", label, columns);
    when = (label: number, from: number, to: number, columns: number) => this.shownJson<number[] | null>("core_when", label, from, to, columns);
    marked = async (label: number, tracks: Uint32Array, from: number, to: number, columns: number): Promise<Float32Array> =>
        new Float32Array((await this.ask({ do: "bytes", call: "core_marked", with: [label, tracks, from, to, columns] }) as Uint8Array).buffer);
    files = () => this.shownJson<FileInfo[]>("core_files");
    lines = (file: string) => this.json<LineInfo[]>("core_lines", file);
    texts = () => this.json<[string, string][]>("core_texts");
    listings = () => this.json<Listings>("core_listings");
    formats = () => this.json<{ name: string; summary: string }[]>("core_formats");
    names = (labels: Uint32Array) => this.json<string[]>("core_names", labels);
    export = (format: string) => this.ask({ do: "bytes", call: "core_export", with: [format] }) as Promise<Uint8Array>;
}
