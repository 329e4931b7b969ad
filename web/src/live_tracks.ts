/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks of the live page: which metrics they show, and how they are drawn. */
import { count } from "./format";
import { clock } from "./live";
import type { Series } from "./live_series";
import { contour, type Tokens, tokens } from "./tokens";

const FONT = "11px Inter, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", Arial, system-ui, sans-serif";
const TICK_LEAST = 90; /* pixels between two labels of the axis */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000, 864000];

export interface Layer {
    title: string;
    metrics: string[]; /* whose sum it shows */
    less?: string; /* a metric that is subtracted: what is left is not below 0 */
    strip: number; /* 1 to 12 */
    pale?: boolean;
}

export interface LiveTrack {
    id: string;
    title: string;
    height: number;
    layers: Layer[];
    lines?: boolean; /* not stacked */
    relative?: boolean; /* the value in the label is a part of the full height */
    full(series: Series): number; /* the value of the full height; 0: the largest */
    most?: number; /* no value is more: measured ones may be, by little */
    text(value: number): string;
}

function digits(value: number): string {
    return value >= 99.5 ? value.toFixed(0) : value >= 9.95 ? value.toFixed(1) : value.toFixed(value >= 0.05 ? 1 : 0);
}

export function percent(part: number): string {
    return Number.isNaN(part) ? "" : `${digits(part * 100)} %`;
}

export function bytes(value: number): string {
    for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const)
        if (value >= size)
            return `${digits(value / size)} ${unit}`;
    return Number.isNaN(value) ? "" : `${Math.round(value)} B`;
}

export function rate(value: number): string {
    for (const [size, unit] of [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"]] as const)
        if (value >= size)
            return `${digits(value / size)} ${unit}`;
    return Number.isNaN(value) ? "" : `${Math.round(value)} B/s`;
}

export function perSecond(value: number): string {
    return Number.isNaN(value) ? "" : `${count(Math.round(value))}/s`;
}

function last(series: Series, name: string): number {
    const values = series.values(name);
    for (let i = values.length - 1; i >= 0; i--)
        if (!Number.isNaN(values[i]))
            return values[i] as number;
    return Number.NaN;
}

const cpuFull = (series: Series): number => (last(series, "cpu.count") || 1) * 1000;

const cpuLayers = (of: string): Layer[] => [
    { title: "user", metrics: [`${of}.user`, `${of}.nice`], strip: 1 },
    { title: "system", metrics: [`${of}.system`, `${of}.irq`, `${of}.softirq`], strip: 2 },
    { title: "steal", metrics: [`${of}.steal`], strip: 5 },
    { title: "iowait", metrics: [`${of}.iowait`], strip: 3 }];

const LIVE_TRACKS: LiveTrack[] = [
    { id: "cpu", title: "CPU", height: 54, full: cpuFull, relative: true, text: (v) => percent(v), layers: cpuLayers("cpu") },
    { id: "memory", title: "Memory", height: 46, full: (series) => last(series, "memory.total"), text: bytes, layers: [
        { title: "used", metrics: ["memory.used"], strip: 11 },
        { title: "cached", metrics: ["memory.cached", "memory.buffers", "memory.reclaimable"], strip: 11, pale: true }] },
    { id: "disk", title: "Disk", height: 46, full: () => 0, text: rate, layers: [
        { title: "read", metrics: ["disk.read"], strip: 9 },
        { title: "write", metrics: ["disk.write"], strip: 10 }] },
    { id: "net", title: "Network", height: 46, full: () => 0, text: rate, layers: [
        { title: "in", metrics: ["net.in"], strip: 4 },
        { title: "out", metrics: ["net.out"], strip: 2 }] },
    { id: "pressure", title: "Pressure", height: 46, lines: true, full: () => 0, most: 1e6, text: (v) => percent(v / 1e6), layers: [
        { title: "CPU", metrics: ["pressure.cpu.some"], strip: 1 },
        { title: "memory", metrics: ["pressure.memory.some"], strip: 2 },
        { title: "I/O", metrics: ["pressure.io.some"], strip: 3 }] },
];

const CORES_MOST = 64; /* tracks of single cores */

function threadsText(value: number): string {
    return Number.isNaN(value) ? "" : `${value < 99.5 ? digits(value) : count(Math.round(value))} ${digits(value) === "1.0" ? "thread" : "threads"}`;
}

/* Threads that could run but have no CPU, and those that wait for a disk. */
const WAITS: LiveTrack = { id: "waits", title: "Waits", height: 46, full: () => 0, text: threadsText, layers: [
    { title: "for a CPU", metrics: ["threads.running"], less: "cpu.count", strip: 10 },
    { title: "for a disk", metrics: ["threads.blocked"], strip: 9 }] };

const INTERRUPTS: LiveTrack = { id: "interrupts", title: "Interrupts", height: 46, lines: true, full: () => 0, text: perSecond, layers: [
    { title: "interrupts", metrics: ["kernel.interrupts"], strip: 1 },
    { title: "softirqs", metrics: ["kernel.softirqs"], strip: 2 },
    { title: "switches", metrics: ["kernel.context_switches"], strip: 9 }] };

function coreTracks(series: Series): LiveTrack[] {
    const cores = series.names.flatMap((name) => /^core\.(\d+)\.user$/.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
    return cores.slice(0, CORES_MOST).map((core) => ({ id: `core.${core}`, title: `Core ${core}`, height: 26, full: () => 1000, relative: true, text: percent, layers: cpuLayers(`core.${core}`) }));
}

/* `more`: also those of single cores, of waits and of interrupts. */
export function liveTracks(series: Series, more: boolean): LiveTrack[] {
    return more ? [...LIVE_TRACKS.slice(0, 1), ...coreTracks(series), WAITS, ...LIVE_TRACKS.slice(1), INTERRUPTS] : LIVE_TRACKS;
}

/* How many more there are, also before a value of a core is known. */
export function moreTracks(cpus: number): number {
    return Math.min(CORES_MOST, cpus) + 2;
}

export const AXIS = 22;

/* The mean of a layer in a span. */
export function meanOf(series: Series, layer: Layer, from: number, to: number): number {
    const sum = layer.metrics.reduce((all, name) => all + (series.mean(name, from, to) || 0), 0);
    return layer.less ? Math.max(0, sum - (series.mean(layer.less, from, to) || 0)) : sum;
}

/* The sum of the metrics of a layer, one value for each step of the series. */
function valuesOf(series: Series, layer: Layer): Float64Array {
    const out = new Float64Array(series.count).fill(Number.NaN);
    for (const name of layer.metrics) {
        const values = series.values(name);
        for (let i = 0; i < values.length; i++)
            if (!Number.isNaN(values[i]))
                out[i] = (Number.isNaN(out[i]) ? 0 : out[i] as number) + (values[i] as number);
    }
    for (const [i, less] of series.values(layer.less ?? "").entries())
        out[i] = Math.max(0, (out[i] as number) - less);
    return out;
}

/* The value in the label: of the whole span that is shown below. */
export function figure(track: LiveTrack, series: Series, from: number, to: number): string {
    let sum = 0;
    for (const layer of track.id === "memory" ? track.layers.slice(0, 1) : track.layers) {
        const mean = meanOf(series, layer, from, to);
        sum = track.lines ? Math.max(sum, mean) : sum + mean;
    }
    return track.text(track.relative ? sum / track.full(series) : sum);
}

export function color(layer: Layer): string {
    const all = tokens();
    return (layer.pale ? all.boxes : all.strips)[layer.strip - 1] as string;
}

/* A round number that is not less. */
function ceiling(value: number): number {
    if (!(value > 0))
        return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return power * ([1, 2, 3, 5, 10].find((n) => n * power >= value * 0.98) ?? 10);
}

export function axisStep(from: number, to: number, width: number): number {
    const least = ((to - from) / Math.max(1, width)) * TICK_LEAST;
    return STEPS.find((step) => step >= least) ?? 864000;
}

/* Times of day of the browser's time zone are round. */
export function axisTicks(from: number, to: number, width: number): { at: number; text: string }[] {
    const step = axisStep(from, to, width);
    const zone = new Date(to * 1000).getTimezoneOffset() * 60;
    const out: { at: number; text: string }[] = [];
    for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to && out.length < 200; at += step) {
        const day = new Date(at * 1000);
        const midnight = day.getHours() === 0 && day.getMinutes() === 0 && day.getSeconds() === 0;
        out.push({ at, text: step >= 86400 || (midnight && to - from > 43200) ? `${day.getDate()} ${day.toLocaleString("en", { month: "short" })}` : clock(at, step < 60) });
    }
    return out;
}

/* A canvas for all tracks: an area or lines each, below one another. */
export class TracksPainter {
    constructor(private readonly pen: CanvasRenderingContext2D, private readonly width: number, private readonly from: number, private readonly to: number) {}

    private x(seconds: number): number {
        return ((seconds - this.from) / (this.to - this.from)) * this.width;
    }

    axis(colors: Tokens): void {
        const { pen, width } = this;
        pen.font = FONT;
        pen.textBaseline = "middle";
        for (const { at, text } of axisTicks(this.from, this.to, width)) {
            const x = Math.round(this.x(at));
            pen.fillStyle = colors.line;
            pen.fillRect(x, 0, 1, AXIS);
            pen.fillStyle = colors.third;
            if (x >= 0 && x + 5 + pen.measureText(text).width < width)
                pen.fillText(text, x + 5, AXIS / 2);
        }
    }

    grid(height: number, colors: Tokens): void {
        this.pen.fillStyle = colors.line2;
        for (const { at } of axisTicks(this.from, this.to, this.width))
            this.pen.fillRect(Math.round(this.x(at)), 0, 1, height);
    }

    track(track: LiveTrack, series: Series, top: number, colors: Tokens): void {
        const layers = track.layers.map((layer) => valuesOf(series, layer));
        const full = track.full(series) || Math.min(track.most ?? Number.POSITIVE_INFINITY, ceiling(this.largest(layers, track.lines ?? false)));
        const unit = (track.height - 6) / full;
        const base = top + track.height - 1;
        if (track.lines)
            for (const [i, layer] of track.layers.entries())
                this.line(layers[i] as Float64Array, series, base, unit, color(layer));
        else
            this.areas(track, layers, series, base, unit);
        this.note(track.id === "cpu" ? `${Math.round(full / 1000)} ${full > 1000 ? "cores" : "core"}` : track.text(track.relative ? 1 : full), top + 10, colors);
        this.pen.fillStyle = colors.line2;
        this.pen.fillRect(0, top + track.height - 1, this.width, 1);
    }

    private largest(layers: Float64Array[], lines: boolean): number {
        let most = 0;
        for (let i = 0; i < (layers[0]?.length ?? 0); i++) {
            const all = layers.map((values) => values[i] as number).filter((v) => !Number.isNaN(v));
            most = Math.max(most, lines ? Math.max(0, ...all) : all.reduce((a, b) => a + b, 0));
        }
        return most;
    }

    /* Steps on top of one another, each with a contour. */
    private areas(track: LiveTrack, layers: Float64Array[], series: Series, base: number, unit: number): void {
        const below = new Float64Array(series.count);
        for (const [n, values] of layers.entries()) {
            const fill = color(track.layers[n] as Layer), edge = contour(fill);
            for (let i = 0; i < values.length; i++) {
                const value = values[i] as number;
                if (!(value > 0))
                    continue;
                const left = Math.round(this.x(series.start + i * series.step)), right = Math.round(this.x(series.start + (i + 1) * series.step));
                const low = Math.round((below[i] as number) * unit), high = Math.round(((below[i] as number) + value) * unit);
                below[i] = (below[i] as number) + value;
                if (high <= low || right <= 0)
                    continue;
                this.pen.fillStyle = fill;
                this.pen.fillRect(left, base - high, Math.max(1, right - left), high - low);
                this.pen.fillStyle = edge;
                this.pen.fillRect(left, base - high, Math.max(1, right - left), 1);
            }
        }
    }

    private line(values: Float64Array, series: Series, base: number, unit: number, stroke: string): void {
        const { pen } = this;
        pen.beginPath();
        let open = false;
        for (let i = 0; i < values.length; i++) {
            const value = values[i] as number;
            if (Number.isNaN(value)) {
                open = false;
                continue;
            }
            const x = this.x(series.start + (i + 0.5) * series.step), y = base - 0.5 - value * unit;
            if (open)
                pen.lineTo(x, y);
            else
                pen.moveTo(x, y);
            open = true;
        }
        pen.strokeStyle = stroke;
        pen.lineWidth = 1.6;
        pen.stroke();
    }

    /* The value of the full height, at the right. */
    private note(text: string, y: number, colors: Tokens): void {
        const { pen } = this;
        pen.font = FONT;
        pen.textBaseline = "middle";
        const wide = pen.measureText(text).width;
        pen.fillStyle = colors.page;
        pen.fillRect(this.width - wide - 8, y - 7, wide + 8, 14);
        pen.fillStyle = colors.third;
        pen.fillText(text, this.width - wide - 4, y);
    }
}
