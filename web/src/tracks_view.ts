/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the visible tracks: one call of the core for all of them, then rectangles. */
import type { App, Early } from "./app";
import { ticks } from "./axis";
import { mix, type Packed, packed } from "./colors";
import { element, resize, resizeTo } from "./elements";
import { rateText, weight } from "./format";
import { groupMarks, type MarkGroup } from "./marks";
import { Pixels } from "./pixels";
import { MACHINE_LAYERS, MEMORY_LAYERS } from "./protocol";
import { contour, type Tokens, tokens } from "./tokens";
import { AFTER, categoryOf, positioned, type Side } from "./sides";
import type { Track } from "./tracks";

export const AXIS = 22;
const EDGE = 4; /* pixels right of the last text */
const COARSE = 3; /* pixels of a step in stacked tracks */
const ACTIVITIES = 6;
const SLEEP = 5;
const CPUS_MOST = 64; /* of all CPUs in one track */
const KINDS = { machine: 0, process: 1, thread: 2, cpu: 3, memory: 4, allocations: 5 } as const;
const INDEX_BITS = 28;
const MEMORY_TOP = 4; /* pixels above the stacked memory */
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
const SAMPLES_A_STEP = 4, WIDEST = 12; /* of the allocation rate; pixels */
const MARK_LATER = 150; /* ms */
const MARK_TEXT = 5; /* pixels right of a mark */
const HATCH = 6; /* pixels between two lines */

/* A drawn track: the times in ns (of memory, the most bytes; of allocations, their number and that of the samples), and the layers with a value per pixel. */
export interface Strip {
    running: number;
    waiting: number;
    layers: Float32Array[];
}

/* The strips of a window, also of tracks that are not visible any more: to scroll back costs
 * nothing. */
interface Picture {
    key: string; /* the window, and the tracks' version */
    strips: Map<string, Strip>;
}

type Entry = [string, keyof typeof KINDS, number];

const STRIPS_MOST = 400; /* of a picture */

function layersOf(kind: keyof typeof KINDS): number {
    return kind === "machine" ? MACHINE_LAYERS : kind === "allocations" ? 1 : kind === "cpu" ? 2 : kind === "memory" ? MEMORY_LAYERS + 1 : ACTIVITIES;
}

/* A round number of bytes that is not smaller. */
export function roundBytes(bytes: number): number {
    let unit = 1;
    while (bytes > unit * 1000)
        unit *= 1024;
    const digits = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, bytes / unit))));
    return unit * digits * (ROUND.find((one) => one * digits * unit >= bytes) ?? 10);
}

/* Values of steps that are wider than a pixel. */
function coarser(values: Float32Array, step: number): Float32Array {
    const out = new Float32Array(Math.ceil(values.length / step));
    for (let i = 0; i < out.length; i++) {
        let sum = 0;
        const stop = Math.min(values.length, (i + 1) * step);
        for (let at = i * step; at < stop; at++)
            sum += values[at] as number;
        out[i] = sum / (stop - i * step);
    }
    return out;
}

/* What the whole recording used in each part of its time: CPU time, or memory. */
export async function wholeCurve(app: App, columns: number): Promise<Float32Array> {
    const { info, sides } = app.tracks;
    const kind = sides?.[AFTER]?.kind ?? (info?.processes.length ? "machine" : "memory");
    const values = await app.core.tracksDraw(Uint32Array.of(KINDS[kind] * 2 ** INDEX_BITS), 0, info?.to ?? 1, columns, AFTER);
    const out = new Float32Array(columns);
    const layers = kind === "memory" ? MEMORY_LAYERS : MACHINE_LAYERS;
    for (let i = 0; i < layers * columns; i++)
        out[i % columns] = (out[i % columns] ?? 0) + (values[2 + i] ?? 0);
    return out;
}

export class TracksView {
    private readonly canvas: HTMLCanvasElement;
    private readonly axis: HTMLCanvasElement;
    private readonly pen: CanvasRenderingContext2D;
    private readonly watcher: ResizeObserver;
    private readonly pixels = new Pixels(); /* areas of one colour */
    private above: (() => void)[] = []; /* what is drawn above them: hatching, text */
    private readonly patterns = new Map<string, CanvasPattern | null>();
    from = 0;
    to = 1;
    width = 0;
    private height = 0;
    private scale = 0; /* device pixels of a CSS pixel */
    private scroll = 0;
    private committed = "";
    private picture: Picture | null = null;
    private marks: { key: string; rows: Map<string, Float32Array> } | null = null; /* where the selected function ran */
    private markTimer = 0;
    private requested = false;
    private again = false;
    private disposed = false;

    constructor(private readonly app: App, private readonly host: HTMLElement, axis: HTMLElement, private readonly drawn: () => void) {
        this.canvas = element("canvas", "layer", host);
        this.axis = element("canvas", "layer", axis);
        this.pen = this.canvas.getContext("2d") as CanvasRenderingContext2D;
        this.watcher = new ResizeObserver(() => this.resize());
        this.watcher.observe(host);
    }

    dispose(): void {
        this.disposed = true;
        clearTimeout(this.markTimer);
        this.watcher.disconnect();
    }

    /* The canvases get the size of their area, and may lose their picture if it has changed. Returns whether
     * it has. */
    private measure(): boolean {
        const { clientWidth: width, clientHeight: height } = this.host, scale = devicePixelRatio;
        if (this.width === width && this.height === height && this.scale === scale)
            return false;
        if (this.width !== width || this.scale !== scale)
            resize(this.axis, width, AXIS);
        resizeTo(this.canvas, width, height);
        [this.width, this.height, this.scale] = [width, height, scale];
        return true;
    }

    private resize(): void {
        const { width } = this;
        if (!this.measure())
            return;
        if (this.width === width)
            this.paint(); /* what is known of the rows */
        this.draw();
    }

    setScroll(scroll: number): void {
        if (scroll !== this.scroll) {
            this.scroll = scroll;
            this.draw();
        }
    }

    /* The state of the page changed. */
    update(): void {
        const committed = this.app.tracks.committed.join();
        if (committed !== this.committed) {
            this.committed = committed;
            [this.from, this.to] = this.app.tracks.committed;
        }
        this.draw();
    }

    /* Whether the tracks show where the selected function ran. */
    get marked(): boolean {
        return this.marks !== null && this.marks.rows.size > 0 && this.marks.key === this.markKey();
    }

    get scrolled(): number {
        return this.scroll;
    }

    get part(): [number, number] | null {
        const [from, to] = this.app.tracks.committed;
        return this.from > from || this.to < to ? [this.from, this.to] : null;
    }

    xOf(ns: number): number {
        return ((ns - this.from) / (this.to - this.from)) * this.width;
    }

    at(x: number): number {
        return this.from + (x / Math.max(1, this.width)) * (this.to - this.from);
    }

    /* Zooms and pans within the committed span. */
    setWindow(from: number, to: number): void {
        const [first, last] = this.app.tracks.committed;
        const span = Math.min(Math.max(to - from, 100), last - first);
        this.from = Math.min(Math.max(first, from), last - span);
        this.to = this.from + span;
        this.draw();
    }

    zoom(factor: number, at = (this.from + this.to) / 2): void {
        this.setWindow(at - (at - this.from) * factor, at + (this.to - at) * factor);
        this.app.changed();
    }

    /* By a part of the visible time. */
    pan(part: number): void {
        const shift = (this.to - this.from) * part;
        this.setWindow(this.from + shift, this.to + shift);
        this.app.changed();
    }

    stripOf(track: Track): Strip | undefined {
        return this.picture?.strips.get(`${track.kind} ${track.index}`);
    }

    /* --- Requests ------------------------------------------------------------------------- */

    private visible(): Track[] {
        return this.app.tracks.between(this.scroll, this.scroll + this.height).map(({ row }) => row);
    }

    draw(): void {
        if (this.requested || this.disposed || this.width < 2) {
            this.again = this.requested;
            return;
        }
        this.requested = true;
        requestAnimationFrame(() => void this.drawNow());
    }

    /* The tracks that the core draws. */
    private entries(): Entry[] {
        const { info } = this.app.tracks;
        const entries: Entry[] = [];
        for (const row of this.visible())
            if (row.kind === "cpus")
                entries.push(["machine 0", "machine", 0], ...(info?.cpus ?? []).slice(0, CPUS_MOST).map((_, i): Entry => [`cpu ${i}`, "cpu", i]));
            else if (row.kind !== "marks" && row.kind !== "before" && row.kind !== "after")
                entries.push([`${row.kind} ${row.index}`, row.kind, row.index]);
        return [...new Map(entries.map((entry) => [entry[0], entry])).values()];
    }

    /* Of a comparison: one track of each profile, with its slot. */
    private sideEntries(): [number, Entry][] {
        const entries: [number, Entry][] = [];
        for (const { kind, index } of this.visible()) {
            const side = this.app.tracks.sides?.[index];
            if (side && (kind === "before" || kind === "after"))
                entries.push([index, [`${kind} ${index}`, side.kind, 0]]);
        }
        return entries;
    }

    /* Of the committed span, if that is another one. */
    async ahead(): Promise<Early> {
        const { tracks } = this.app, { loads } = tracks, [from, to] = tracks.committed, { width } = this;
        if (tracks.committed.join() === this.committed || width < 2 || this.sideEntries().length)
            return null;
        const strips = await this.request(this.entries(), from, to, width, AFTER).catch(() => null);
        return strips && (() => { this.picture = { key: `${loads} ${from} ${to} ${width}`, strips }; });
    }

    /* Requests the visible tracks that are not in the picture. */
    private async drawNow(): Promise<void> {
        this.measure();
        const { from, to, width: columns } = this;
        const { tracks } = this.app;
        const { version } = tracks;
        const { loads } = tracks;
        const key = `${loads} ${from} ${to} ${columns}`;
        const known = this.picture?.key === key ? this.picture.strips : new Map<string, Strip>();
        const missing = this.entries().filter(([name]) => !known.has(name));
        const sides = this.sideEntries().filter(([, [name]]) => !known.has(name));
        try {
            if (tracks.info && to > from && missing.length + sides.length) {
                const read = await this.request(missing, from, to, columns, AFTER);
                for (const [slot, entry] of sides)
                    read.set(entry[0], await this.requestSide(entry, from, to, columns, slot));
                if (!this.disposed && loads === tracks.loads)
                    this.picture = { key, strips: this.joined(known, read) };
            } else if (!tracks.info) {
                this.picture = null;
            }
        } catch (error) {
            this.app.fail(error);
        }
        this.requested = false;
        if (this.disposed)
            return;
        this.paint();
        this.drawn();
        this.markSoon();
        if (this.again || version !== tracks.version) {
            this.again = false;
            this.draw();
        }
    }

    /* --- The selected function ------------------------------------------------------------- */

    private markKey(): string {
        const { chosen, version, tracks } = this.app;
        return chosen ? `${chosen.label} ${version} ${tracks.loads} ${tracks.version} ${this.scroll} ${this.from} ${this.to} ${this.width}` : "";
    }

    /* When nothing has moved for a while: frames and clicks do not wait for it. */
    private markSoon(): void {
        clearTimeout(this.markTimer);
        if (this.app.comparedWith || this.markKey() === (this.marks?.key ?? ""))
            return;
        if (!this.app.chosen) {
            this.marks = null;
            this.draw();
            return;
        }
        this.markTimer = window.setTimeout(() => void this.mark(), MARK_LATER);
    }

    private async mark(): Promise<void> {
        const key = this.markKey(), { chosen } = this.app;
        const entries = this.entries().filter(([, kind]) => kind === "process" || kind === "thread");
        if (!chosen || !entries.length || this.disposed)
            return;
        const ids = Uint32Array.from(entries, ([, kind, index]) => KINDS[kind] * 2 ** INDEX_BITS + index);
        const columns = this.width;
        const values = await this.app.core.marked(chosen.label, ids, this.from, this.to, columns).catch(() => new Float32Array(0));
        if (this.disposed || key !== this.markKey())
            return;
        this.marks = { key, rows: new Map(values.length ? entries.map(([name], i) => [name, values.subarray(i * columns, (i + 1) * columns)]) : []) };
        this.draw();
    }

    /* Of the time that a process runs. The strips are paler while the selected function's time is marked in
     * them, also while new marks are on their way. */
    private runningColor(process: number, colors: Tokens): string {
        const category = this.app.tracks.category(process);
        if (!this.app.chosen || !this.marks?.rows.size)
            return this.colorOf(process, colors);
        return category < 0 ? colors.line : (colors.boxes[category] as string);
    }

    /* In a stronger tone of the strip's colour. */
    private paintMarked(row: string, step: number, unit: number, base: number, color: string, colors: Tokens): void {
        const values = this.marks?.key === this.markKey() ? this.marks.rows.get(row) : undefined;
        if (!values)
            return;
        const strong = mix(packed(color), packed(colors.text), 0.55);
        const steps = coarser(values, step);
        this.stack(steps, new Float32Array(steps.length), step, unit, base, (x, y, width, height) => this.pixels.fill(x, y, width, height, strong));
    }

    /* The latest strips of both. */
    private joined(known: Map<string, Strip>, read: Map<string, Strip>): Map<string, Strip> {
        const visible = new Set([...this.entries(), ...this.sideEntries().map(([, entry]) => entry)].map(([name]) => name));
        const all = [...known, ...read];
        return new Map(all.filter(([name], i) => i >= all.length - STRIPS_MOST || visible.has(name)));
    }

    private async request(entries: Entry[], from: number, to: number, columns: number, slot: number): Promise<Map<string, Strip>> {
        if (!entries.length)
            return new Map();
        const ids = Uint32Array.from(entries, ([, kind, index]) => KINDS[kind] * 2 ** INDEX_BITS + index);
        const values = await this.app.core.tracksDraw(ids, from, to, columns, slot);
        const strips = new Map<string, Strip>();
        let at = 0;
        for (const [key, kind] of entries) {
            const layers = Array.from({ length: layersOf(kind) }, (_, i) => values.subarray(at + 2 + i * columns, at + 2 + (i + 1) * columns));
            strips.set(key, { running: values[at] ?? 0, waiting: values[at + 1] ?? 0, layers });
            at += 2 + layers.length * columns;
        }
        return strips;
    }

    /* Of a side, which may begin later on the axis. */
    private async requestSide(entry: Entry, from: number, to: number, columns: number, slot: number): Promise<Strip> {
        const position = this.app.tracks.alignment?.positions[slot as 0 | 1] ?? { offset: 0, scale: 1 };
        const [begin, end] = positioned(position, from, to);
        const first = begin < 0 ? Math.min(columns, Math.ceil((-begin / (end - begin)) * columns)) : 0;
        const late = begin + ((end - begin) * first) / columns;
        const read = first < columns ? (await this.request([entry], Math.max(0, late), end, columns - first, slot)).get(entry[0]) : undefined;
        const layers = Array.from({ length: layersOf(entry[1]) }, (_, i) => {
            const all = new Float32Array(columns);
            all.set(read?.layers[i] ?? [], first);
            return all;
        });
        return { running: read?.running ?? 0, waiting: read?.waiting ?? 0, layers };
    }

    /* --- Painting -------------------------------------------------------------------------- */

    private paint(): void {
        const { pen, picture } = this;
        const colors = tokens();
        const scale = this.canvas.width / this.width;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.clearRect(0, 0, this.width, this.height);
        this.paintAxis(colors);
        if (!picture)
            return;
        const lines = ticks(this.from, this.to, this.width).map((tick) => Math.round(this.xOf(tick.at)));
        this.pixels.begin(this.width, this.height);
        this.above = [];
        for (const row of this.visible()) {
            pen.fillStyle = colors.line2;
            for (const x of lines) /* not behind a label above the strip */
                pen.fillRect(x, row.top + row.label - this.scroll, 1, row.height - row.label);
            pen.fillRect(0, row.top - this.scroll + row.height - 1, this.width, 1);
            this.paintTrack({ ...row, height: row.height - row.label }, row.top + row.label - this.scroll, colors);
        }
        this.pixels.paint(pen);
        for (const draw of this.above)
            draw();
        const { moment } = this.app.memory;
        if (moment !== null && moment >= this.from && moment <= this.to) {
            pen.fillStyle = colors.text;
            pen.fillRect(Math.round(this.xOf(moment)), 0, 1, this.height);
        }
    }

    private paintAxis(colors: Tokens): void {
        const pen = this.axis.getContext("2d") as CanvasRenderingContext2D;
        const scale = this.axis.width / this.width;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.clearRect(0, 0, this.width, AXIS);
        pen.font = "11px Inter, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";
        pen.textBaseline = "middle";
        for (const { at, text } of ticks(this.from, this.to, this.width)) {
            const x = Math.round(this.xOf(at));
            pen.fillStyle = colors.line;
            pen.fillRect(x, AXIS - 5, 1, 5);
            pen.fillStyle = colors.third;
            if (x + 4 + pen.measureText(text).width <= this.width - EDGE)
                pen.fillText(text, x + 4, AXIS / 2);
        }
    }

    private paintTrack(row: Track, y: number, colors: Tokens): void {
        const strip = this.stripOf(row);
        const { info } = this.app.tracks;
        if (row.kind === "marks")
            this.paintMarks(y, colors);
        else if (row.kind === "cpus")
            this.paintCpus(row, y, colors);
        else if (!strip || !info)
            return;
        else if (row.kind === "before" || row.kind === "after")
            this.paintSide(strip, row, y, colors);
        else if (row.kind === "machine")
            this.paintMachine(strip, y, row.height, colors);
        else if (row.kind === "memory")
            this.paintMemory(strip, y, row.height, colors);
        else if (row.kind === "allocations")
            this.paintAllocations(strip, y, row.height, colors);
        else if (row.kind === "cpu")
            this.paintCpu(strip, y + 3, row.height - 7, colors);
        else if (row.kind === "process")
            this.paintProcess(strip, row.index, y, row.height, colors);
        else
            this.paintThread(strip, row.index, y + 2, row.height - 5, colors);
    }

    private colorOf(process: number, colors: Tokens): string {
        const category = this.app.tracks.category(process);
        return category < 0 ? colors.other : (colors.strips[category] as string);
    }

    /* Steps from `base` up, on top of `below`; `below` is raised. */
    private stack(values: Float32Array, below: Float32Array, step: number, unit: number, base: number, fill: (x: number, y: number, width: number, height: number) => void): void {
        for (let i = 0; i < values.length;) {
            const low = Math.round((below[i] as number) * unit);
            const high = Math.round(((below[i] as number) + (values[i] as number)) * unit);
            let end = i + 1;
            while (end < values.length && Math.round((below[end] as number) * unit) === low
                && Math.round(((below[end] as number) + (values[end] as number)) * unit) === high)
                end++;
            if (high > low)
                fill(i * step, base - high, (end - i) * step, high - low);
            i = end;
        }
        for (let i = 0; i < values.length; i++)
            below[i] = (below[i] as number) + (values[i] as number);
    }

    /* Steps of one colour, with a contour. */
    private stackSolid(values: Float32Array, below: Float32Array, step: number, unit: number, base: number, color: string): void {
        const ground = packed(color), edge = packed(contour(color));
        this.stack(values, below, step, unit, base, (x, y, width, height) => {
            this.pixels.fill(x, y, width, height, ground);
            this.pixels.fill(x, y, width, 1, edge);
        });
    }

    private stackHatched(values: Float32Array, below: Float32Array, step: number, unit: number, base: number, fill: string | CanvasPattern): void {
        const areas: [number, number, number, number][] = [];
        this.stack(values, below, step, unit, base, (...area) => areas.push(area));
        if (areas.length)
            this.above.push(() => {
                this.pen.fillStyle = fill;
                for (const area of areas)
                    this.pen.fillRect(...area);
            });
    }

    private paintMachine(strip: Strip, y: number, height: number, colors: Tokens): void {
        const steps = strip.layers.map((layer) => coarser(layer, COARSE));
        const below = new Float32Array(steps[0]?.length ?? 0);
        const cpus = Math.max(1, this.app.tracks.info?.cpus.length ?? 1);
        const unit = (height - 6) / Math.max(cpus, ...this.sums(steps));
        for (const [i, values] of steps.entries()) {
            const color = i < MACHINE_LAYERS - 1 ? (colors.strips[i] as string) : colors.other;
            this.stackSolid(values, below, COARSE, unit, y + height - 1, color);
        }
        if (cpus > 1)
            this.above.push(() => this.note(`${cpus} CPUs`, y + 9, colors));
    }

    /* Both sides have the scale of the larger one. */
    private paintSide(strip: Strip, row: Track, y: number, colors: Tokens): void {
        const { sides } = this.app.tracks;
        const side = sides?.[row.index];
        if (!sides || !side)
            return;
        const step = side.kind === "memory" ? 1 : COARSE;
        const stepsOf = (one: Strip): Float32Array[] => one.layers.slice(0, side.layers.length).map((layer) => coarser(layer, step));
        const drawn = this.app.tracks.rows.map((one) => (one.kind === "before" || one.kind === "after" ? this.stripOf(one) : undefined));
        const sums = drawn.flatMap((one) => (one ? [this.sums(stepsOf(one))] : []));
        const most = Math.max(...drawn.flatMap((one) => (one ? [this.topOf(side, one, this.sums(stepsOf(one)))] : [])));
        const scale = sums.reduce((top, values) => values.reduce((a, b) => Math.max(a, b), top), most);
        const steps = stepsOf(strip), below = new Float32Array(steps[0]?.length ?? 0);
        for (const [i, values] of steps.entries()) {
            const category = categoryOf(sides, row.index, i);
            const color = category < 0 ? colors.other : (colors.strips[category] as string);
            this.stackSolid(values, below, step, (row.height - 6) / scale, y + row.height - 1, color);
        }
        const top = side.kind === "memory" ? weight(most, "bytes") : `${most} ${most > 1 ? "CPUs" : "CPU"}`;
        this.above.push(() => this.note(top, y + 9, colors));
    }

    /* What the height of a side stands for. No more CPUs can be busy than there are. */
    private topOf(side: Side, strip: Strip, sums: Float32Array): number {
        const drawn = sums.reduce((most, value) => Math.max(most, value), 0);
        return side.kind === "memory" ? roundBytes(Math.max(1, drawn, strip.running)) : Math.max(1, Math.min(Math.ceil(drawn), side.info.cpus.length || Number.POSITIVE_INFINITY));
    }

    /* The bytes at the top of the track: a round number above all that is drawn. */
    scaleOf(strip: Strip): number {
        const resident = strip.layers[MEMORY_LAYERS] as Float32Array;
        return roundBytes(resident.reduce((most, value) => Math.max(most, value), strip.running));
    }

    private paintMemory(strip: Strip, y: number, height: number, colors: Tokens): void {
        const below = new Float32Array(this.width);
        const most = this.scaleOf(strip), unit = (height - MEMORY_TOP) / most, base = y + height - 1;
        for (const [i, values] of strip.layers.slice(0, MEMORY_LAYERS).entries()) {
            const color = i < (this.app.memory.info?.layers.length ?? 0) ? (colors.strips[i] as string) : colors.other;
            this.stackSolid(values, below, 1, unit, base, color);
        }
        if (this.app.memory.info?.resident)
            this.above.push(() => this.paintResident(strip.layers[MEMORY_LAYERS] as Float32Array, base, unit, colors));
        const peak = this.xOf(this.app.memory.info?.peakAt ?? 0); /* its tag is not covered */
        this.above.push(() => this.note(weight(most, "bytes"), y + 9, colors, peak > this.width / 2));
    }

    /* In steps that are wide enough for some samples each: few are shown as what they are, an average. */
    private paintAllocations(strip: Strip, y: number, height: number, colors: Tokens): void {
        const step = Math.min(WIDEST, Math.max(COARSE, Math.ceil((SAMPLES_A_STEP * this.width) / Math.max(1, strip.waiting))));
        const values = coarser(strip.layers[0] as Float32Array, step);
        const most = values.reduce((a, b) => Math.max(a, b), 0);
        if (most > 0)
            this.stackSolid(values, new Float32Array(values.length), step, (height - 4) / most, y + height - 1, colors.other);
        this.above.push(() => this.note(rateText(most), y + 9, colors));
    }

    private paintResident(values: Float32Array, base: number, unit: number, colors: Tokens): void {
        const { pen } = this;
        pen.save();
        pen.beginPath();
        let drawn = false;
        for (const [x, value] of values.entries()) {
            const y = base - Math.round(value * unit) + 0.5;
            if (value > 0 && !drawn)
                pen.moveTo(x, y);
            else if (value > 0)
                pen.lineTo(x, y);
            drawn = value > 0;
        }
        pen.strokeStyle = colors.text;
        pen.lineWidth = 1.5;
        pen.setLineDash([4, 3]);
        pen.stroke();
        pen.restore();
    }

    private note(text: string, y: number, colors: Tokens, left = false): void {
        const { pen } = this;
        pen.font = "11px Inter, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";
        pen.textBaseline = "middle";
        const wide = pen.measureText(text).width;
        pen.fillStyle = colors.page;
        pen.fillRect(left ? 0 : this.width - wide - 10, y - 7, wide + 10, 14);
        pen.fillStyle = colors.third;
        pen.fillText(text, left ? 4 : this.width - wide - 6, y);
    }

    private sums(layers: Float32Array[]): Float32Array {
        const out = new Float32Array(layers[0]?.length ?? 0);
        for (const layer of layers)
            for (let i = 0; i < out.length; i++)
                out[i] = (out[i] as number) + (layer[i] as number);
        return out;
    }

    /* Running from the base, waits above it; sleep is not drawn. */
    private paintProcess(strip: Strip, process: number, y: number, height: number, colors: Tokens): void {
        const steps = strip.layers.slice(0, SLEEP).map((layer) => coarser(layer, COARSE));
        const below = new Float32Array(steps[0]?.length ?? 0);
        const unit = (height - 4) / Math.max(1, ...this.sums(steps));
        const color = this.colorOf(process, colors);
        this.stackSolid(steps[0] as Float32Array, below, COARSE, unit, y + height - 1, this.runningColor(process, colors));
        for (let k = 1; k < SLEEP; k++)
            this.stackHatched(steps[k] as Float32Array, below, COARSE, unit, y + height - 1, this.hatch(k - 1, colors));
        this.paintMarked(`process ${process}`, COARSE, unit, y + height - 1, color, colors);
    }

    private paintThread(strip: Strip, thread: number, y: number, height: number, colors: Tokens): void {
        const process = this.app.tracks.info?.threads[thread]?.process ?? 0;
        const below = new Float32Array(strip.layers[0]?.length ?? 0);
        const color = this.colorOf(process, colors);
        this.stackSolid(strip.layers[0] as Float32Array, below, 1, height, y + height, this.runningColor(process, colors));
        for (let k = 1; k <= SLEEP; k++)
            this.stackHatched(strip.layers[k] as Float32Array, below, 1, height, y + height, this.hatch(k - 1, colors));
        this.paintMarked(`thread ${thread}`, 1, height, y + height, color, colors);
    }

    /* The process that ran; narrow times of it are as high as their share. */
    private paintCpu(strip: Strip, y: number, height: number, colors: Tokens): void {
        const [share, process] = strip.layers as [Float32Array, Float32Array];
        const shades = new Map<number, Packed>();
        for (let x = 0; x < share.length;) {
            const high = Math.ceil((share[x] as number) * height - 0.01);
            const of = process[x] as number;
            let end = x + 1;
            while (end < share.length && process[end] === of && Math.ceil((share[end] as number) * height - 0.01) === high)
                end++;
            if (high > 0) {
                const shade = shades.get(of) ?? packed(this.colorOf(of, colors));
                shades.set(of, shade);
                this.pixels.fill(x, y + height - high, end - x, high, shade);
            }
            x = end;
        }
    }

    private paintCpus(row: Track, y: number, colors: Tokens): void {
        const lanes = this.app.tracks.info?.cpus.length ?? 0;
        const pitch = Math.max(1, Math.floor((row.height - 4) / Math.max(1, Math.min(lanes, 64))));
        for (let i = 0; i < lanes && (i + 1) * pitch <= row.height - 3; i++) {
            const strip = this.picture?.strips.get(`cpu ${i}`);
            if (strip)
                this.paintCpu(strip, y + 2 + i * pitch, Math.max(1, pitch - 1), colors);
        }
    }

    /* The groups of the visible marks. */
    markGroups(): MarkGroup[] {
        const { pen } = this;
        pen.font = "11px Inter, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";
        const marks = (this.app.tracks.info?.marks ?? []).filter((m) => m.at >= this.from && m.at <= this.to);
        return groupMarks(marks, (ns) => Math.round(this.xOf(ns)), this.width, (text) => pen.measureText(text).width);
    }

    /* A line for each time, in a tint if they are near each other, and one text to their right. */
    private paintMarks(y: number, colors: Tokens): void {
        const { pen } = this;
        pen.textBaseline = "middle";
        for (const { from, to, marks, text } of this.markGroups()) {
            const color = marks.every((mark) => mark.name === undefined) ? colors.bad : colors.accent;
            pen.fillStyle = color;
            pen.globalAlpha = 0.2;
            pen.fillRect(from, y + 3, to - from, 13);
            pen.globalAlpha = 1;
            let drawn = -1;
            for (const mark of marks) {
                const x = Math.min(Math.round(this.xOf(mark.at)), this.width - 2);
                if (x > drawn)
                    pen.fillRect(x, y + 3, 2, 13);
                drawn = x;
            }
            pen.fillStyle = colors.text;
            pen.fillText(text, to + MARK_TEXT, y + 10);
        }
    }

    /* A wait: lines at 45 degrees, never solid. */
    private hatch(wait: number, colors: Tokens): CanvasPattern | string {
        const [stroke, ground] = colors.waits[wait] as [string, string];
        let found = this.patterns.get(stroke + ground);
        if (found === undefined) {
            const scale = devicePixelRatio || 1;
            const tile = document.createElement("canvas");
            tile.width = tile.height = Math.round(HATCH * scale);
            const pen = tile.getContext("2d") as CanvasRenderingContext2D;
            pen.scale(tile.width / HATCH, tile.height / HATCH);
            pen.fillStyle = ground;
            pen.fillRect(0, 0, HATCH, HATCH);
            pen.strokeStyle = stroke;
            pen.lineWidth = wait === SLEEP - 1 ? 0.8 : 1.8;
            for (const shift of [-HATCH, 0, HATCH]) {
                pen.moveTo(shift - 1, HATCH + 1);
                pen.lineTo(shift + HATCH + 1, -1);
            }
            pen.stroke();
            found = this.pen.createPattern(tile, "repeat");
            found?.setTransform(new DOMMatrix().scale(1 / scale));
            this.patterns.set(stroke + ground, found);
        }
        return found ?? stroke;
    }
}
