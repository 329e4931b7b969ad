/* SPDX-License-Identifier: Apache-2.0 */
/* The live page: what it shows of the daemon's history, and its requests. Each client has
 * its own selection; the server only answers. */
import type { App } from "./app";
import { shownName } from "./format";
import { Changes, HALF, keyOf, LEAST, type Usage } from "./live_changes";
import { Series, type SeriesReply } from "./live_series";
import { fetchAgain } from "./requests";
import { readState } from "./state";

export const WINDOW = 30; /* s: the span that follows the time */
const SHORTER = [60, 120, 300, 600, 1800, 3600, 21600, 86400, 259200, 604800]; /* s: of a young store */
export const RANGES = [[600, "10 min"], [3600, "1 h"], [86400, "24 h"], [604800, "7 d"], [2592000, "30 d"]] as const;
export const PANELS = [["cpu", "CPU"], ["memory", "Memory"], ["io", "I/O"], ["processes", "Processes"]] as const;
export type Panel = (typeof PANELS)[number][0];
export type Grouping = "process" | "service" | "container";

const FOLLOWED = 3600; /* s: longer ranges are read again from time to time */
const LABELS_MOST = 20;
const RECORDED = { rate: 999, stacks: "dwarf", duration: 10 }; /* of a recording on demand */
const COMPARED_EVERY = 5; /* seconds between two updates of a comparison */

/* Seconds since 1970. */
export type Span = [number, number];

export interface Process {
    pid: number;
    name: string;
    user?: string;
    service?: string;
    container?: string;
    state: string;
    threads: number;
    cpu: number; /* ms per second */
    rss: number;
    pss?: number;
    read?: number;
    written?: number;
}

export interface Status {
    host: string;
    kernel: string;
    cpus: number;
    memory: number;
    uptime?: number;
    time: number;
    rate: number;
    requested_rate: number;
    can_note?: boolean; /* absent: there are no notes here */
    daemon: { cpu_ns: number; peak_bytes: number };
    store: StoreStatus;
}

export interface Note {
    number: number;
    time: number;
    text: string;
}

/* What the store holds, and what happened to it since the daemon started. */
export interface StoreStatus {
    bytes?: number;
    first?: number;
    lost?: number;
    failing?: boolean; /* it cannot be written now */
    error?: string;
    since?: number;
    pending?: number; /* windows in memory */
    dropped?: number; /* lost windows */
    done?: string; /* what the daemon fixed last */
    done_at?: number;
}

/* A recording on demand: one at a time, of any client. */
export interface Recording {
    state: "none" | "waiting" | "recording" | "ending" | "recorded" | "failed";
    number: number;
    title?: string;
    duration?: number; /* s */
    seconds?: number;
    error?: string;
}

/* What the kernel counts by kind. */
export interface Kernel {
    time: number; /* ns */
    page: number; /* bytes */
    interrupts: Counted[];
    softirqs: Counted[];
    buddy: { node: number; zone: string; free: number[] }[]; /* free blocks of 2^0, 2^1... pages */
    slab: { name: string; bytes: number; objects: number; active: number; object_size: number }[]; /* empty without root */
}

export interface Counted {
    name: string;
    description?: string;
    count: number; /* since boot */
}

/* The server refused, with its reason. */
class Refused extends Error {
    constructor(readonly status: number, text: string) {
        super(text);
    }
}

async function accepted(reply: Response): Promise<Response> {
    if (!reply.ok)
        throw new Refused(reply.status, (await reply.text()).trim().split("\n")[0] ?? "");
    return reply;
}

/* With a body: a POST. */
async function ask(path: string, body?: string): Promise<Response> {
    return accepted(await fetch(path, body === undefined ? { cache: "no-store" } : { method: "POST", body }));
}

function two(value: number): string {
    return String(value).padStart(2, "0");
}

/* Local time of day. */
export function clock(seconds: number, withSeconds = true): string {
    const d = new Date(seconds * 1000);
    return `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? `:${two(d.getSeconds())}` : ""}`;
}

/* With the day if it is not today. */
export function moment(seconds: number, withSeconds = true): string {
    const day = new Date(seconds * 1000);
    const today = day.toDateString() === new Date().toDateString();
    return `${today ? "" : `${day.toLocaleDateString()} `}${clock(seconds, withSeconds)}`;
}

export function spanName([from, to]: Span): string {
    return `${moment(from)}\u2013${clock(to)}`;
}

function readSpan(text: string | null): Span | null {
    const parts = /^(\d{9,11})\.\.(\d{9,11})$/.exec(text ?? "");
    const [from, to] = [Number(parts?.[1]), Number(parts?.[2])];
    return parts && from < to ? [from, to] : null;
}

export class Live {
    readonly series = new Series();
    range: number = RANGES[0][0];
    span: Span | null = null; /* held; null: the last seconds */
    before: Span | null = null; /* compared with */
    comparing = false; /* the next selected span is the one before */
    labels: string[] = []; /* KEY=VALUE: only these samples */
    panel: Panel | null = null; /* instead of a view of the profile */
    more = false; /* tracks of single cores, of waits and of interrupts */
    grouping: Grouping = "process";
    notes: Note[] = [];
    note: Note | null = null; /* in the dialog; null: a new one */
    processes: Process[] = [];
    processCount = 0;
    readonly changes = new Changes();
    latest = new Map<string, number>(); /* values of single CPUs, disks and interfaces, for a panel */
    status: Status | null = null;
    lastStatus: Status | null = null; /* the one before, for rates */
    shownSpan: Span | null = null; /* of the profile */
    empty = ""; /* why no profile is shown */
    recording: Recording | null = null; /* that this page requested */
    recorded = ""; /* the title of the recording that is shown instead of a span */
    noted = 0; /* time of the fix of the store that the user has closed */
    lostSince: number | null = null; /* no connection since that time */
    heard = 0; /* time of the last metrics */
    unready = false; /* the server cannot answer yet, and is asked again */
    version = 0; /* increases with new metrics */

    private begun = false;
    private busy = false;
    private again = false;
    kernel: Kernel | null = null;
    private kernelBefore: Kernel | null = null;
    private compared = 0; /* time of the last comparison */
    private stream: EventSource | null = null;

    constructor(readonly app: App) {
        this.readAddress();
    }

    start(): void {
        this.connect();
        void this.readStatus();
        if (!this.following)
            this.refresh();
        window.setInterval(() => void this.readStatus(), 10000);
        window.setInterval(() => {
            if (this.range > FOLLOWED && !this.lostSince)
                void this.readSeries();
        }, 60000);
        addEventListener("popstate", () => {
            this.readAddress();
            this.refresh();
        });
    }

    get following(): boolean {
        return this.span === null;
    }

    /* The row of the table that a process is in: its colour. */
    rowOf(name: string): string {
        const found = this.grouping === "process" ? undefined : this.processes.find((p) => p.name === name);
        return found ? keyOf(found, this.grouping) : name;
    }

    /* The span of the axis. It is shorter than the range if most of that would be empty: the daemon
     * has not run for so long. */
    get axis(): Span {
        const end = this.series.count ? this.series.end : Math.floor(Date.now() / 1000);
        const first = Math.min(this.series.first, this.span?.[0] ?? end, this.before?.[0] ?? end);
        const least = SHORTER.find((seconds) => end - first <= seconds) ?? this.range;
        return [end - (this.series.count ? Math.min(this.range, least) : this.range), end];
    }

    get requested(): Span {
        const end = this.heard || Math.floor(Date.now() / 1000);
        return this.span ?? [end - WINDOW, end];
    }

    /* The pointer is on the graph, or something is selected in it: it stays still. */
    get held(): boolean {
        return this.app.selected !== null || document.querySelector(".chart:hover, .tip:not([hidden])") !== null;
    }

    /* --- The address ----------------------------------------------------------------------- */

    private readAddress(): void {
        const query = new URLSearchParams(location.search);
        this.span = readSpan(query.get("span"));
        this.before = readSpan(query.get("before"));
        this.labels = query.getAll("label").filter((label) => label.includes("=")).slice(0, LABELS_MOST);
        const range = Number(query.get("range"));
        this.range = RANGES.find(([seconds]) => seconds === range)?.[0] ?? RANGES[0][0];
        this.more = query.has("more");
        this.panel = PANELS.find(([panel]) => panel === query.get("panel"))?.[0] ?? null;
    }

    /* A link to a time that moves means nothing later: the span is part of it. */
    address(fixed: boolean): string {
        const query = new URLSearchParams();
        const span = this.span ?? (fixed ? this.shownSpan : null);
        if (span)
            query.set("span", span.join(".."));
        if (this.before)
            query.set("before", this.before.join(".."));
        for (const label of this.labels)
            query.append("label", label);
        if (this.range !== RANGES[0][0])
            query.set("range", String(this.range));
        if (this.panel)
            query.set("panel", this.panel);
        if (this.more)
            query.set("more", "1");
        const text = query.toString();
        return `${location.pathname}${text ? `?${text}` : ""}${location.hash}`;
    }

    private remember(): void {
        history.pushState(null, "", this.address(false));
    }

    /* --- The connection ---------------------------------------------------------------------- */

    private connect(): void {
        this.stream = new EventSource("/api/live");
        this.stream.onopen = () => {
            this.lostSince = null;
            void this.readSeries();
            void this.readStatus();
        };
        this.stream.onerror = () => {
            this.lostSince ??= this.heard || Math.floor(Date.now() / 1000);
            this.app.changed();
            if (this.stream?.readyState === EventSource.CLOSED)
                window.setTimeout(() => this.connect(), 2000);
        };
        this.stream.addEventListener("metrics", (event) => {
            this.lostSince = null;
            this.take(JSON.parse((event as MessageEvent<string>).data) as SeriesReply);
        });
    }

    /* Adds newer seconds to the tracks, up to the last one with a value. Its end, or 0 without a value. */
    private append(reply: SeriesReply): number {
        const last = Math.max(-1, ...reply.metrics.map((m) => m.values.findLastIndex((v) => v !== null)));
        if (last >= 0 && this.series.step === 1 && this.series.count) {
            this.series.append({ ...reply, count: last + 1, metrics: reply.metrics.map((m) => ({ ...m, values: m.values.slice(0, last + 1) })) });
            this.version++;
        }
        return last < 0 ? 0 : reply.start + (last + 1) * reply.step;
    }

    private take(reply: SeriesReply): void {
        const heard = this.append(reply);
        if (!heard)
            return;
        this.heard = heard;
        if (document.hidden)
            return; /* a hidden page requests no data */
        if (this.more || (this.panel && this.panel !== "processes"))
            void this.readLatest();
        if (this.panel === "cpu" || this.panel === "memory")
            void this.readKernel();
        void this.readProcesses();
        if (this.following && !this.held)
            this.refresh();
        this.app.changed();
    }

    private async readSeries(): Promise<void> {
        try {
            const reply = await this.askAgain(`/api/metrics?from=-${this.range}s&to=now`);
            this.series.replace(await reply.json() as SeriesReply);
            this.version++;
        } catch (error) {
            this.complain(error);
        }
        this.app.changed();
    }

    private async readProcesses(): Promise<void> {
        try {
            const reply = await ask("/api/processes");
            const all = await reply.json() as { count: number; processes: Process[] };
            this.processes = all.processes;
            this.changes.note(all.processes, Date.now() / 1000);
            this.processCount = all.count;
            this.app.changed();
        } catch { /* the next second asks again */ }
    }

    /* The last value of each metric: the stream has none of single CPUs. */
    private async readLatest(): Promise<void> {
        try {
            const reply = await (await ask("/api/metrics?from=-4s&to=now")).json() as SeriesReply;
            this.latest = new Map(reply.metrics.map(({ name, values }) => [name, values.findLast((v) => v !== null) ?? Number.NaN]));
            if (this.more)
                this.append(reply);
            this.app.changed();
        } catch { /* the next second asks again */ }
    }

    private async readKernel(): Promise<void> {
        try {
            const now = await (await ask("/api/kernel")).json() as Kernel;
            if (now.time !== this.kernel?.time)
                [this.kernelBefore, this.kernel] = [this.kernel, now];
            this.app.changed();
        } catch { /* an older daemon, or the next second asks again */ }
    }

    /* Per second, of what had more than before; the most first. */
    kernelRates(of: "interrupts" | "softirqs"): (Counted & { rate: number })[] {
        const { kernel: now, kernelBefore: before } = this;
        if (!now || !before)
            return [];
        const known = new Map(before[of].map(({ name, count }) => [name, count]));
        return now[of].map((row) => ({ ...row, rate: ((row.count - (known.get(row.name) ?? row.count)) / (now.time - before.time)) * 1e9 }))
            .filter(({ rate }) => rate > 0).sort((a, b) => b.rate - a.rate);
    }

    /* --- Notes ---------------------------------------------------------------------------- */

    private async readNotes(): Promise<void> {
        if (this.status?.can_note === undefined)
            return;
        try {
            const reply = await ask(`/api/notes?from=${Math.floor(this.axis[0])}&to=now`);
            this.notes = (await reply.json() as { notes: Note[] }).notes;
            this.app.changed();
        } catch { /* asked again with the status */ }
    }

    /* Of a new note: the start of the held span, or now. */
    get noteTime(): number {
        return this.span ? Math.floor(this.span[0]) : this.heard || Math.floor(Date.now() / 1000);
    }

    /* Opens the dialog for a note, or for a new one. */
    showNote(note: Note | null): void {
        this.note = note;
        this.app.openDialog("note");
    }

    async addNote(text: string): Promise<void> {
        await ask("/api/note", JSON.stringify({ time: this.noteTime, text }));
        await this.readNotes();
    }

    async removeNote({ number }: Note): Promise<void> {
        await ask("/api/note/remove", JSON.stringify({ number }));
        await this.readNotes();
    }

    private async readStatus(): Promise<void> {
        try {
            const status = await (await ask("/api/status")).json() as Status;
            this.lastStatus = this.status;
            this.status = status;
            document.title = `${shownName(status.host)} \u2013 live`;
            this.app.changed();
            void this.readNotes();
            if (!this.lastStatus)
                await this.readPast(status);
        } catch { /* asked again */ }
    }

    /* What processes used before the page was opened, as far back as the history goes. */
    private async readPast({ time, store }: Status): Promise<void> {
        const half = Math.min(HALF, Math.floor((time - (store?.first ?? time)) / 2));
        if (half < LEAST)
            return;
        const of = async (from: number, to: number): Promise<Usage> => await (await ask(`/api/usage?from=${from}&to=${to}`)).json() as Usage;
        const [before, after] = await Promise.all([of(time - 2 * half, time - half), of(time - half, time)]);
        this.changes.seed(before, after, half, Date.now() / 1000);
        this.app.changed();
    }

    /* For what no later request replaces. */
    private async askAgain(path: string): Promise<Response> {
        const reply = await fetchAgain(path, { cache: "no-store" }, () => this.setUnready(true));
        this.setUnready(false);
        return accepted(reply);
    }

    private setUnready(unready: boolean): void {
        if (unready !== this.unready) {
            this.unready = unready;
            this.app.changed();
        }
    }

    private complain(error: unknown): void {
        if (error instanceof Refused)
            this.app.fail(new Error(error.message));
        /* otherwise there is no connection: the stream reports it */
    }

    /* --- The profile -------------------------------------------------------------------------- */

    /* Reads the requested span; if it is being read, once more afterwards. */
    refresh(): void {
        if (this.recorded)
            return;
        if (this.busy) {
            this.again = true;
            return;
        }
        this.busy = true;
        void this.read().catch((error: unknown) => this.complain(error)).finally(() => {
            this.busy = false;
            if (this.again) {
                this.again = false;
                this.refresh();
            }
            this.app.changed();
        });
    }

    private async fetchProfile([from, to]: Span): Promise<Blob | null> {
        const query = new URLSearchParams({ format: "stoke", from: String(from), to: String(to) });
        for (const label of this.labels)
            query.append("label", label);
        try {
            return await (await this.askAgain(`/api/profile?${query}`)).blob();
        } catch (error) {
            if (!(error instanceof Refused) || error.status !== 400)
                throw error;
            return null; /* no sample has such a label */
        }
    }

    private async read(): Promise<void> {
        const { requested, before, following } = this;
        if (before && following && this.heard - this.compared < COMPARED_EVERY && this.begun)
            return;
        const blob = await this.fetchProfile(requested);
        const earlier = before ? await this.fetchProfile(before) : null;
        const name = following ? `Last ${WINDOW} s` : spanName(requested);
        await this.app.inTurn(async () => {
            if (this.recorded)
                return;
            if (!blob || !(await this.open(blob, name, 0))) {
                this.empty = `No samples in ${spanName(requested)}${this.labels.length ? " with these labels" : ""}.`;
                return;
            }
            this.empty = "";
            if (earlier && before) {
                this.compared = this.heard;
                await this.open(earlier, spanName(before), 1);
            }
        });
        this.shownSpan = requested;
    }

    /* False if the profile has no samples. */
    private async open(blob: Blob, name: string, slot: number): Promise<boolean> {
        const { app } = this;
        await app.core.open(blob, name, "stoke", () => undefined);
        const info = await app.core.finish(slot);
        if (!info.samples && slot === 0 && !this.begun)
            return false;
        const state = this.begun ? { ...app.state } : { ...readState(location.hash), order: 1 };
        if (slot === 1 && !app.comparedWith)
            state.view = "changes";
        const zoomed = app.state.zoom;
        if (slot === 0 && !this.begun)
            app.state = state;
        app.name = slot === 0 ? name : app.name;
        const shown = await app.become(info, name, slot, this.begun, state);
        if (this.begun && zoomed && !app.state.zoom)
            app.state = { ...app.state, zoom: zoomed };
        this.begun = true;
        return shown && info.samples > 0;
    }

    /* --- Actions ------------------------------------------------------------------------------ */

    pause(): void {
        if (this.following)
            this.select(this.shownSpan ?? this.requested);
    }

    follow(): void {
        this.span = null;
        this.app.selected = null;
        this.changedSpan();
    }

    toggle(): void {
        if (this.following)
            this.pause();
        else
            this.follow();
    }

    /* By one window; from the newest one on, the page is live again. */
    step(by: number): void {
        const [from, to] = this.requested;
        const length = to - from;
        if (by > 0 && to + length > this.heard)
            this.follow();
        else
            this.select([from + by * length, to + by * length]);
    }

    select(span: Span): void {
        const whole: Span = [Math.floor(span[0]), Math.max(Math.floor(span[0]) + 1, Math.ceil(span[1]))];
        if (this.comparing) {
            this.comparing = false;
            this.before = whole;
        } else {
            this.span = whole;
        }
        this.changedSpan();
    }

    private changedSpan(): void {
        this.recorded = "";
        this.compared = 0;
        this.remember();
        this.refresh();
        this.app.changed();
    }

    compare(): void {
        this.comparing = !this.comparing;
        this.app.changed();
    }

    endComparison(): void {
        this.before = null;
        this.comparing = false;
        void this.app.endComparison().then(() => this.changedSpan());
    }

    addLabel(label: string): void {
        if (!this.labels.includes(label) && this.labels.length < LABELS_MOST)
            this.labels = [...this.labels, label];
        this.changedSpan();
    }

    removeLabel(label: string): void {
        this.labels = this.labels.filter((one) => one !== label);
        this.changedSpan();
    }

    setRange(range: number): void {
        this.range = range;
        this.remember();
        void this.readSeries();
        void this.readNotes();
    }

    setMore(more: boolean): void {
        this.more = more;
        this.remember();
        if (more)
            void this.readSeries();
        this.app.changed();
    }

    setPanel(panel: Panel | null): void {
        this.panel = panel;
        this.remember();
        if (panel && panel !== "processes")
            void this.readLatest();
        if (panel === "cpu" || panel === "memory")
            void this.readKernel();
        this.app.changed();
    }

    /* --- Recordings --------------------------------------------------------------------------- */

    get records(): boolean {
        return ["waiting", "recording", "ending"].includes(this.recording?.state ?? "");
    }

    /* Records processes in detail, and shows the result. */
    async record(pids: number[]): Promise<void> {
        try {
            this.recording = await (await ask("/api/record", JSON.stringify({ target: "pids", pids, ...RECORDED }))).json() as Recording;
            await this.awaitRecording(this.recording.number);
        } catch (error) {
            this.recording = null;
            this.complain(error);
        }
        this.app.changed();
    }

    stopRecording(): void {
        void ask("/api/record/stop", "").catch((error: unknown) => this.complain(error));
    }

    private async awaitRecording(number: number): Promise<void> {
        while (this.records) {
            this.app.changed();
            await new Promise((done) => { window.setTimeout(done, 500); });
            try {
                this.recording = await (await ask("/api/recording")).json() as Recording;
            } catch (error) {
                if (error instanceof Refused)
                    throw error;
                continue; /* the connection is lost: asked again */
            }
            if (this.recording.number !== number)
                throw new Refused(404, "The daemon was started again, and the recording is lost");
        }
        if (this.recording?.state === "failed")
            throw new Refused(500, `The recording failed: ${this.recording.error}`);
        await this.openRecorded(this.recording?.title ?? "");
    }

    private async openRecorded(title: string): Promise<void> {
        const blob = await (await this.askAgain("/api/recorded")).blob();
        if (this.before)
            await this.app.endComparison();
        this.before = null;
        this.comparing = false;
        this.recorded = title || "a process";
        const shown = await this.app.inTurn(() => this.open(blob, `Recording of ${this.recorded}`, 0));
        if (!shown) {
            this.changedSpan();
            throw new Refused(404, `The recording has no samples: ${title} did not run`);
        }
        this.empty = "";
        this.setPanel(null);
    }

    closeRecorded(): void {
        this.changedSpan();
    }

    closeNote(): void {
        this.noted = this.status?.store.done_at ?? 0;
        this.app.changed();
    }

    setGrouping(grouping: Grouping): void {
        this.grouping = grouping;
        this.app.looks++; /* boxes have the colours of the rows */
        this.app.shades++;
        this.app.changed();
    }

    share(): void {
        void this.app.copy(location.origin + this.address(true), "the link");
    }
}
