/* SPDX-License-Identifier: Apache-2.0 */
/* What is above the boxes of a chart: names, patterns, outlines, lanes, the ruler. */
import { processText } from "./boxes";
import type { ChartView } from "./chart";
import { css, type Ink, ink } from "./colors";
import { tokens } from "./tokens";
import { STEP_LEAST } from "./axis";
import { axisText, threadName, weight } from "./format";
import { Measure } from "./measure";
import { BOX_WORDS, Chart, CUT, type Lane, MATCH, OFF, Owner, SAME, Tone, UNKNOWN } from "./protocol";
import { heights } from "./density";
import { RULER } from "./viewport";

const TEXT_LEAST = 22; /* minimum pixels of a box with text */
const FAMILY = 'Inter, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, system-ui, sans-serif';
const JIT = 3; /* enum frame_kind: FRAME_JIT */
const HATCH = 6; /* pixels between two lines */
const SHADE_LEAST = 3; /* minimum pixels of a box with a pattern */
const OUTLINE_LEAST = 8; /* minimum pixels of a box with an outline */

/* The next step of 1, 2 or 5 times a power of ten; of KiB, MiB and so on for bytes. */
function stepOf(least: number, unit: string): number {
    const size = unit === "bytes" ? 1024 ** Math.max(0, Math.floor(Math.log2(least) / 10)) : 1;
    if (unit === "bytes" && least > 500 * size) /* 1 MiB, not 1000 KiB */
        return 1024 * size;
    const power = size * 10 ** Math.floor(Math.log10(least / size));
    return power * ([1, 2, 5, 10].find((n) => n * power >= least) ?? 10);
}

export class Overlay {
    private readonly pen: CanvasRenderingContext2D;
    private readonly patterns = new Map<string, CanvasPattern | null>();
    private readonly measure = new Measure((text) => this.pen.measureText(text).width);

    constructor(private readonly chart: ChartView, private readonly canvas: HTMLCanvasElement) {
        this.pen = canvas.getContext("2d") as CanvasRenderingContext2D;
    }

    paint(colors: Ink): void {
        const { pen } = this;
        const { last } = this.chart;
        if (!last)
            return;
        const scale = this.canvas.width / this.chart.width;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.clearRect(0, 0, this.chart.width, this.chart.height);
        pen.font = `${11.5 + heights.text}px ${FAMILY}`;
        pen.textBaseline = "middle";
        const words = new Uint32Array(last.boxes);
        const sizes = new Float32Array(last.boxes);
        const top = (at: number): number => this.chart.yOf(words[at + 2] as number, this.chart.drawn.scroll);
        const wide = (at: number): boolean => (sizes[at + 1] as number) >= SHADE_LEAST;
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (wide(at))
                this.shade(words[at + 5] as number, sizes[at] as number, sizes[at + 1] as number, top(at));
        pen.fillStyle = colors.waits;
        for (let at = 0; at < words.length && this.chart.options.kind !== Chart.Time; at += BOX_WORDS)
            if ((words[at + 5] as number) >>> 24 && wide(at))
                this.showWaits((words[at + 5] as number) >>> 24, sizes[at] as number, sizes[at + 1] as number, top(at));
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if ((sizes[at + 1] as number) >= TEXT_LEAST)
                this.write(words[at + 4] as number, words[at + 5] as number, sizes[at] as number, sizes[at + 1] as number, top(at), colors);
        pen.fillStyle = css(colors.accent);
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & MATCH && wide(at))
                pen.fillRect(sizes[at] as number, top(at) + heights.box - 4, Math.max(1, (sizes[at + 1] as number) - 1), 3);
        pen.lineWidth = 1.5;
        pen.strokeStyle = pen.fillStyle = colors.same;
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & SAME)
                this.markSame(sizes[at] as number, sizes[at + 1] as number, this.chart.yOf(words[at + 2] as number, this.chart.drawn.scroll));
        const { selected, selectedIn } = this.chart.app;
        if (selected && selectedIn === this.chart.options.kind) {
            const x = this.chart.xOf(selected.from);
            const y = this.chart.yOf(selected.row, this.chart.drawn.scroll);
            pen.lineWidth = 4;
            pen.strokeStyle = css(colors.page);
            this.outline(x, this.chart.xOf(selected.to) - x, y);
            pen.lineWidth = 2;
            pen.strokeStyle = colors.selected;
            this.outline(x, this.chart.xOf(selected.to) - x, y);
        }
        const { marked } = this.chart;
        if (marked) {
            pen.strokeStyle = pen.fillStyle = colors.selected;
            const x = this.chart.xOf(marked.from);
            this.markSame(x, this.chart.xOf(marked.to) - x, this.chart.yOf(marked.row, this.chart.drawn.scroll));
        }
        for (const lane of last.lanes)
            this.writeLane(lane, colors);
        if (this.chart.span) {
            pen.fillStyle = this.chart.app.appearance.dark ? "rgb(143 180 255 / 25%)" : "rgb(47 98 201 / 18%)";
            pen.fillRect(this.chart.xOf(this.chart.span[0]), 0, this.chart.xOf(this.chart.span[1]) - this.chart.xOf(this.chart.span[0]), this.chart.height);
        }
        if (this.chart.options.map)
            this.paintRuler(colors);
    }

    /* Unknown functions are dotted; waits, and frames that represent missing ones, are
     * hatched; JIT code has a dotted lower edge. */
    private shade(look: number, x: number, width: number, y: number): void {
        const flags = look >>> 16;
        const left = Math.max(0, x);
        const right = Math.min(this.chart.width, x + width - 1);
        const dark = this.chart.app.appearance.dark;
        const name = flags & OFF ? `wait ${(look & 255) % 5}` : flags & CUT ? "cut" : flags & UNKNOWN ? "dots" : "";
        if (name) {
            this.pen.fillStyle = this.pattern(name, dark) ?? "transparent";
            this.pen.fillRect(left, y, right - left, heights.box - 1);
        } else if (((look >>> 8) & 255) === JIT) {
            this.pen.fillStyle = ink(dark).faint;
            for (let at = Math.ceil(left / 4) * 4; at < right; at += 4)
                this.pen.fillRect(at, y + heights.box - 3, 2, 2);
        }
    }

    /* A line along the lower edge, for the share of the box's time that waits. */
    private showWaits(part: number, x: number, width: number, y: number): void {
        const left = Math.max(0, x);
        const right = Math.min(this.chart.width, x + (width - 1) * (part / 255));
        if (right > left)
            this.pen.fillRect(left, y + heights.box - 4, right - left, 3);
    }

    private pattern(name: string, dark: boolean): CanvasPattern | null {
        const key = `${name} ${dark} ${devicePixelRatio}`;
        let found = this.patterns.get(key);
        if (found === undefined) {
            const scale = devicePixelRatio || 1;
            const tile = document.createElement("canvas");
            tile.width = tile.height = Math.round(HATCH * scale);
            const pen = tile.getContext("2d") as CanvasRenderingContext2D;
            pen.scale(tile.width / HATCH, tile.height / HATCH);
            this.drawTile(pen, name, dark);
            found = this.pen.createPattern(tile, "repeat");
            found?.setTransform(new DOMMatrix().scale(1 / scale));
            this.patterns.set(key, found);
        }
        return found;
    }

    private drawTile(pen: CanvasRenderingContext2D, name: string, dark: boolean): void {
        const { dots } = ink(dark);
        const wait = name.startsWith("wait") ? Number(name.slice(5)) : -1;
        pen.fillStyle = dots;
        pen.strokeStyle = tokens().waits[wait]?.[0] ?? dots;
        pen.lineWidth = wait < 0 || wait === 4 ? 1 : 1.6;
        if (name === "dots")
            pen.fillRect(1, 1, 2, 2);
        for (const shift of name === "dots" ? [] : [-HATCH, 0, HATCH]) {
            pen.moveTo(shift - 1, HATCH + 1);
            pen.lineTo(shift + HATCH + 1, -1);
        }
        pen.stroke();
    }

    /* An outline would hide a narrow box, so it is underlined. */
    private markSame(x: number, width: number, y: number): void {
        if (width >= OUTLINE_LEAST)
            this.outline(x, width, y);
        else
            this.pen.fillRect(x, y + heights.box - 4, Math.max(1, width - 1), 3);
    }

    private outline(x: number, width: number, y: number): void {
        const left = Math.max(-4, x);
        const right = Math.min(this.chart.width + 4, x + width);
        if (right > left)
            this.pen.strokeRect(left + 0.5, y + 0.5, Math.max(1, right - left - 2), heights.box - 2);
    }

    /* The name; on a wait it has a plate. */
    private write(label: number, look: number, x: number, width: number, y: number, colors: Ink): void {
        const { pen } = this;
        const left = Math.max(x, 0) + 4;
        const room = Math.min(x + width, this.chart.width) - 4 - left;
        const name = room > 8 ? this.measure.fit(this.chart.app.core.labels.get(label) ?? "", room) : "";
        if (!name)
            return;
        if ((look >>> 16) & (OFF | CUT)) {
            pen.fillStyle = css(colors.page);
            pen.fillRect(left - 2, y + 2, this.measure.width(name, room) + 4, heights.box - 5);
        }
        pen.fillStyle = ((look >>> 8) & 255) === Owner.Process && this.chart.app.state.color !== Tone.Change ? processText(this.chart.app, look & 255, label, colors.text) : colors.text;
        pen.fillText(name, left, y + heights.box / 2);
    }

    private writeLane(lane: Lane, colors: Ink): void {
        const { pen } = this;
        const y = this.chart.yOf(lane.row, this.chart.drawn.scroll);
        if (y > this.chart.height || y + heights.box < 0)
            return;
        pen.strokeStyle = colors.line;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(0, y + 0.5);
        pen.lineTo(this.chart.width, y + 0.5);
        pen.stroke();
        pen.fillStyle = colors.faint;
        const unit = this.chart.app.shown?.unit ?? "";
        const name = lane.name || lane.tid !== undefined || this.chart.app.filters.threadsBy === "all" ? threadName(lane, this.chart.app.tracks.isAlike(lane)) : "all threads";
        pen.fillText(`${name}  \u00b7  ${weight(lane.weight, unit)}`, 8, y + heights.box / 2);
    }

    private get timed(): boolean {
        return this.chart.info?.timed ?? false;
    }

    private paintRuler(colors: Ink): void {
        const { pen } = this;
        pen.fillStyle = css(colors.page);
        pen.fillRect(0, 0, this.chart.width, RULER);
        pen.strokeStyle = colors.line;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(0, RULER - 0.5);
        pen.lineTo(this.chart.width, RULER - 0.5);
        const span = this.chart.to - this.chart.from;
        const unit = this.chart.info?.timed ? "clock" : (this.chart.app.shown?.unit ?? "");
        const { timed } = this;
        /* Without times, the axis has shares: seconds would look like those of the tracks above. */
        const whole = this.chart.full || 1;
        const step = timed ? stepOf((span / this.chart.width) * STEP_LEAST, unit) : stepOf((span / whole / this.chart.width) * 11000, "") * whole / 100;
        const decimals = Math.max(0, Math.ceil(-Math.log10(step / whole * 100) - 1e-9));
        const textOf = axisText(step, this.chart.to, unit);
        const label = timed ? textOf : (value: number): string => `${(value / whole * 100).toFixed(decimals)} %`;
        pen.fillStyle = colors.faint;
        const first = Math.ceil(this.chart.from / step - 1e-9);
        for (let i = first; i * step <= this.chart.to; i++) {
            const at = i * step;
            const x = Math.round(this.chart.xOf(at)) + 0.5;
            pen.moveTo(x, RULER - 6);
            pen.lineTo(x, RULER);
            const text = label(at);
            if (x + 4 + pen.measureText(text).width < this.chart.width)
                pen.fillText(text, x + 4, RULER / 2);
        }
        pen.stroke();
        pen.fillStyle = colors.loss;
        for (const { at } of this.chart.info?.losses ?? []) {
            const x = this.chart.xOf(at);
            pen.fillRect(x - 0.5, RULER, 1, this.chart.height);
            pen.beginPath();
            pen.moveTo(x - 5, RULER - 9);
            pen.lineTo(x + 5, RULER - 9);
            pen.lineTo(x, RULER);
            pen.fill();
        }
    }
}
