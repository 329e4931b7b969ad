/* SPDX-License-Identifier: Apache-2.0 */
/* What is above the boxes of a chart: names, patterns, outlines, lanes, the ruler. */
import type { ChartView } from "./chart";
import { css, type Ink, ink } from "./colors";
import { threadName, weight } from "./format";
import { Measure } from "./measure";
import { BOX_WORDS, Chart, CUT, type Lane, OFF, Owner, SAME, UNKNOWN } from "./protocol";
import { ROW, RULER } from "./viewport";

const TEXT_LEAST = 22; /* minimum pixels of a box with text */
const LETTERS_LEAST = 4; /* minimum letters of a name; fewer are useless */
const FONT = '11.5px Inter, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, system-ui, sans-serif';
const ON_STRIP = "#14171b"; /* text on the colours of processes, in both themes */
const SHADE_LEAST = 8; /* minimum pixels of a box with a pattern */
const OUTLINE_LEAST = 8; /* minimum pixels of a box with an outline */

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
        pen.font = FONT;
        pen.textBaseline = "middle";
        const words = new Uint32Array(last.boxes);
        const sizes = new Float32Array(last.boxes);
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & (UNKNOWN | CUT | OFF) && (sizes[at + 1] as number) >= SHADE_LEAST)
                this.shade((words[at + 5] as number) >>> 16, sizes[at] as number, sizes[at + 1] as number,
                    this.chart.yOf(words[at + 2] as number, this.chart.drawn.scroll));
        pen.fillStyle = colors.waits;
        for (let at = 0; at < words.length && this.chart.options.kind !== Chart.Time; at += BOX_WORDS)
            if ((words[at + 5] as number) >>> 24 && (sizes[at + 1] as number) >= 3)
                this.showWaits((words[at + 5] as number) >>> 24, sizes[at] as number, sizes[at + 1] as number,
                    this.chart.yOf(words[at + 2] as number, this.chart.drawn.scroll));
        for (let at = 0; at < words.length; at += BOX_WORDS) {
            if ((sizes[at + 1] as number) < TEXT_LEAST)
                continue;
            const strip = (((words[at + 5] as number) >>> 8) & 255) === Owner.Process;
            pen.fillStyle = strip ? ON_STRIP : colors.text;
            this.write(words[at + 4] as number, sizes[at] as number, sizes[at + 1] as number,
                    this.chart.yOf(words[at + 2] as number, this.chart.drawn.scroll));
        }
        pen.lineWidth = 1.5;
        pen.strokeStyle = pen.fillStyle = colors.same;
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & SAME)
                this.markSame(sizes[at] as number, sizes[at + 1] as number, this.chart.yOf(words[at + 2] as number, this.chart.drawn.scroll));
        const { selected, selectedIn } = this.chart.app;
        if (selected && selectedIn === this.chart.options.kind) {
            pen.strokeStyle = colors.selected;
            pen.lineWidth = 2;
            const x = this.chart.xOf(selected.from);
            this.outline(x, this.chart.xOf(selected.to) - x, this.chart.yOf(selected.row, this.chart.drawn.scroll));
        }
        const { marked } = this.chart;
        if (marked) {
            pen.strokeStyle = pen.fillStyle = colors.selected;
            const x = this.chart.xOf(marked.from);
            this.markSame(x, this.chart.xOf(marked.to) - x, this.chart.yOf(marked.row, this.chart.drawn.scroll));
        }
        for (const lane of this.chart.info?.lanes ?? [])
            this.writeLane(lane, colors);
        if (this.chart.span) {
            pen.fillStyle = this.chart.app.appearance.dark ? "rgb(143 180 255 / 25%)" : "rgb(47 98 201 / 18%)";
            pen.fillRect(this.chart.xOf(this.chart.span[0]), 0, this.chart.xOf(this.chart.span[1]) - this.chart.xOf(this.chart.span[0]), this.chart.height);
        }
        if (this.chart.options.map)
            this.paintRuler(colors);
    }

    /* Unknown functions are dotted; waits, and frames that represent missing ones, are
     * hatched. */
    private shade(flags: number, x: number, width: number, y: number): void {
        const dotted = (flags & (CUT | OFF)) === 0;
        const left = Math.max(0, x);
        this.pen.fillStyle = this.pattern(dotted) ?? "transparent";
        this.pen.fillRect(left, y, Math.min(this.chart.width, x + width - 1) - left, ROW - 1);
    }

    /* A line along the lower edge, for the share of the box's time that waits. */
    private showWaits(part: number, x: number, width: number, y: number): void {
        const left = Math.max(0, x);
        const right = Math.min(this.chart.width, x + (width - 1) * (part / 255));
        if (right > left)
            this.pen.fillRect(left, y + ROW - 4, right - left, 3);
    }

    private pattern(dotted: boolean): CanvasPattern | null {
        const name = `${dotted} ${this.chart.app.appearance.dark}`;
        let found = this.patterns.get(name);
        if (found === undefined) {
            const tile = document.createElement("canvas");
            tile.width = tile.height = dotted ? 5 : 8;
            const pen = tile.getContext("2d") as CanvasRenderingContext2D;
            pen.fillStyle = pen.strokeStyle = ink(this.chart.app.appearance.dark).hatch;
            pen.lineWidth = 2;
            if (dotted)
                pen.fillRect(1, 1, 2, 2);
            for (const shift of dotted ? [] : [-8, 0, 8]) {
                pen.moveTo(shift - 1, 9);
                pen.lineTo(shift + 9, -1);
            }
            pen.stroke();
            found = this.pen.createPattern(tile, "repeat");
            this.patterns.set(name, found);
        }
        return found;
    }

    /* An outline would hide a narrow box, so it is underlined. */
    private markSame(x: number, width: number, y: number): void {
        if (width >= OUTLINE_LEAST)
            this.outline(x, width, y);
        else
            this.pen.fillRect(x, y + ROW - 4, Math.max(1, width - 1), 3);
    }

    private outline(x: number, width: number, y: number): void {
        const left = Math.max(-4, x);
        const right = Math.min(this.chart.width + 4, x + width);
        if (right > left)
            this.pen.strokeRect(left + 0.5, y + 0.5, Math.max(1, right - left - 2), ROW - 2);
    }

    private write(label: number, x: number, width: number, y: number): void {
        const name = this.chart.app.names.get(label);
        const left = Math.max(x, 0) + 4;
        const room = Math.min(x + width, this.chart.width) - 4 - left;
        if (name && room > 8)
            this.pen.fillText(this.fit(name, room), left, y + ROW / 2);
    }

    private fit(name: string, room: number): string {
        const cut = this.measure.fit(name, room);
        if (!cut)
            return name;
        return cut.head + name.length - cut.tail >= LETTERS_LEAST ? `${name.slice(0, cut.head)}\u2026${name.slice(cut.tail)}` : "";
    }

    private writeLane(lane: Lane, colors: Ink): void {
        const { pen } = this;
        const y = this.chart.yOf(lane.row, this.chart.drawn.scroll);
        if (y > this.chart.height || y + ROW < 0)
            return;
        pen.strokeStyle = colors.line;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(0, y + 0.5);
        pen.lineTo(this.chart.width, y + 0.5);
        pen.stroke();
        pen.fillStyle = colors.faint;
        const unit = this.chart.app.shown?.unit ?? "";
        const name = lane.name || lane.tid !== undefined || this.chart.app.filters.threadsBy === "all" ? threadName(lane) : "all threads";
        pen.fillText(`${name}  \u00b7  ${weight(lane.weight, unit)}`, 8, y + ROW / 2);
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
        const rough = (span / this.chart.width) * 110;
        const power = 10 ** Math.floor(Math.log10(rough));
        const step = power * ([1, 2, 5, 10].find((n) => n * power >= rough) ?? 10);
        const unit = this.chart.info?.timed ? "ns" : (this.chart.app.shown?.unit ?? "");
        pen.fillStyle = colors.faint;
        for (let at = Math.ceil(this.chart.from / step) * step; at <= this.chart.to; at += step) {
            const x = Math.round(this.chart.xOf(at)) + 0.5;
            pen.moveTo(x, RULER - 6);
            pen.lineTo(x, RULER);
            const text = weight(Number(at.toPrecision(12)), unit);
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
