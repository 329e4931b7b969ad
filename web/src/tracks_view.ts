/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the visible tracks: one call of the core for all of them, then rectangles. */
import type { App } from "./app";
import { ticks } from "./axis";
import { type Packed, packed } from "./colors";
import { element, resize } from "./elements";
import { count, shownName, weight } from "./format";
import { Pixels } from "./pixels";
import { MACHINE_LAYERS, MEMORY_LAYERS } from "./protocol";
import { contour, type Tokens, tokens } from "./tokens";
import { AFTER, categoryOf, type Side } from "./sides";
import type { Track } from "./tracks";

export const AXIS = 22;
const COARSE = 3; /* pixels of a step in stacked tracks */
const ACTIVITIES = 6;
const SLEEP = 5;
const CPUS_MOST = 64; /* of all CPUs in one track */
const KINDS = { machine: 0, process: 1, thread: 2, cpu: 3, memory: 4 } as const;
const INDEX_BITS = 28;
const MEMORY_TOP = 4; /* pixels above the stacked memory */
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
const HATCH = 6; /* pixels between two lines */

/* A drawn track: the times in ns (of memory, the most bytes), and the layers with a value per pixel. */
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
    return kind === "machine" ? MACHINE_LAYERS : kind === "cpu" ? 2 : kind === "memory" ? MEMORY_LAYERS + 1 : ACTIVITIES;
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
    private scroll = 0;
    private committed = "";
    private picture: Picture | null = null;
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
        this.watcher.disconnect();
    }

    private resize(): void {
        this.width = this.host.clientWidth;
        this.height = this.host.clientHeight;
        resize(this.canvas, this.width, this.height);
        resize(this.axis, this.width, AXIS);
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
                entries.push(...(info?.cpus ?? []).slice(0, CPUS_MOST).map((_, i): Entry => [`cpu ${i}`, "cpu", i]));
            else if (row.kind !== "marks" && row.kind !== "before" && row.kind !== "after")
                entries.push([`${row.kind} ${row.index}`, row.kind, row.index]);
        return entries;
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

    /* Requests the visible tracks that are not in the picture. */
    private async drawNow(): Promise<void> {
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
                    for (const [name, strip] of await this.request([entry], from, to, columns, slot))
                        read.set(name, strip);
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
        if (this.again || version !== tracks.version) {
            this.again = false;
            this.draw();
        }
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
            if (x + 4 + pen.measureText(text).width < this.width)
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
        else if (row.kind === "cpu")
            this.paintCpu(strip, y + 3, row.height - 7, colors);
        else if (row.kind === "process")
            this.paintProcess(strip, row.index, y, row.height, colors);
        else
            this.paintThread(strip, info.threads[row.index]?.process ?? 0, y + 2, row.height - 5, colors);
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
        const most = Math.max(...drawn.flatMap((one) => (one ? [this.topOf(side, one, this.sums(stepsOf(one)))] : [])));
        const steps = stepsOf(strip), below = new Float32Array(steps[0]?.length ?? 0);
        for (const [i, values] of steps.entries()) {
            const category = categoryOf(sides, row.index, i);
            const color = category < 0 ? colors.other : (colors.strips[category] as string);
            this.stackSolid(values, below, step, (row.height - 6) / most, y + row.height - 1, color);
        }
        const top = side.kind === "memory" ? weight(most, "bytes") : `${most} ${most > 1 ? "CPUs" : "CPU"}`;
        this.above.push(() => this.note(top, y + 9, colors));
    }

    /* What the height of a side stands for. */
    private topOf(side: Side, strip: Strip, sums: Float32Array): number {
        const drawn = sums.reduce((most, value) => Math.max(most, value), 0);
        return side.kind === "memory" ? roundBytes(Math.max(1, drawn, strip.running)) : Math.max(1, Math.ceil(drawn));
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
        this.stackSolid(steps[0] as Float32Array, below, COARSE, unit, y + height - 1, color);
        for (let k = 1; k < SLEEP; k++)
            this.stackHatched(steps[k] as Float32Array, below, COARSE, unit, y + height - 1, this.hatch(k - 1, colors));
    }

    private paintThread(strip: Strip, process: number, y: number, height: number, colors: Tokens): void {
        const below = new Float32Array(strip.layers[0]?.length ?? 0);
        const color = this.colorOf(process, colors);
        this.stackSolid(strip.layers[0] as Float32Array, below, 1, height, y + height, color);
        for (let k = 1; k <= SLEEP; k++)
            this.stackHatched(strip.layers[k] as Float32Array, below, 1, height, y + height, this.hatch(k - 1, colors));
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

    /* A line for the time, text to its right; texts that would overlap become a number. */
    private paintMarks(y: number, colors: Tokens): void {
        const { pen } = this;
        pen.font = "11px Inter, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";
        pen.textBaseline = "middle";
        const marks = (this.app.tracks.info?.marks ?? []).filter((m) => m.at >= this.from && m.at <= this.to);
        let free = -1;
        let left = 0;
        for (const [i, mark] of marks.entries()) {
            const x = Math.round(this.xOf(mark.at));
            const next = marks[i + 1];
            const text = mark.name === undefined ? `lost ${count(mark.lost ?? 0)}` : shownName(mark.name);
            const room = (next ? this.xOf(next.at) : this.width) - x - 8;
            pen.fillStyle = mark.name === undefined ? colors.bad : colors.accent;
            pen.fillRect(Math.min(x, this.width - 2), y + 3, 2, 13);
            pen.fillStyle = colors.text;
            if (x > free && pen.measureText(text).width < room) {
                pen.fillText(text, x + 5, y + 10);
                free = x + pen.measureText(text).width + 8;
                left = 0;
            } else if (!next || room > 24) {
                pen.fillText(`+${left + 1}`, x + 5, y + 10);
                left = 0;
            } else {
                left++;
            }
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
