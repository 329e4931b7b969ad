/* SPDX-License-Identifier: Apache-2.0 */
/* The minimap of a chart: the whole chart, the matches of the search, and the visible
 * range, which can be moved. */
import { coloredBoxes } from "./boxes";
import type { ChartView } from "./chart";
import { css, type Ink, ink } from "./colors";
import { element, resize } from "./elements";
import { type Painter, painterFor, roomFor } from "./painter";
import { BOX_WORDS, type Drawing, MATCH } from "./protocol";
import { DRAG_LEAST } from "./viewport";

export const MAP = 52;
const MARK_ROWS = 1000; /* rows searched for marks */
const ROWS_MOST = MAP / 0.5; /* visible rows */

export class Minimap {
    private readonly canvas: HTMLCanvasElement;
    private readonly over: HTMLCanvasElement;
    private readonly painter: Painter | null;
    private marks: Uint8Array | null = null; /* by pixel: something matches */

    constructor(private readonly chart: ChartView, host: HTMLElement) {
        const map = element("div", "map", host);
        this.canvas = element("canvas", "layer", map);
        this.over = element("canvas", "layer", map);
        this.painter = painterFor(this.canvas);
        this.listen(this.over);
    }

    resize(): void {
        for (const canvas of [this.canvas, this.over])
            resize(canvas, this.chart.width, MAP);
        this.draw();
    }

    private get rowHeight(): number {
        return Math.max(0.5, Math.min(4, MAP / Math.max(1, this.chart.rows)));
    }

    /* All of the chart, which need not be loaded yet. Matches are marked at any depth. */
    request(): Promise<Drawing> {
        const rows = this.chart.app.state.search ? MARK_ROWS : ROWS_MOST;
        return this.chart.app.core.draw(this.chart.options.kind, 0, Number.POSITIVE_INFINITY, this.chart.width, 0, rows);
    }

    /* Paints the map, or requests it before. */
    draw(known?: Drawing | null): void {
        if (!this.chart.info || this.chart.width === 0)
            return;
        const version = this.chart.app.version;
        (known ? Promise.resolve(known) : this.request()).then((drawing) => {
            if (this.chart.disposed || version !== this.chart.app.version)
                return;
            const colors = ink(this.chart.app.appearance.dark);
            this.marks = this.chart.app.found ? this.marksOf(drawing) : null;
            this.painter?.paint(coloredBoxes(this.chart.app, this.chart.options.kind, drawing, roomFor(drawing.count)), {
                width: this.chart.width,
                height: MAP,
                rowHeight: this.rowHeight,
                top: this.chart.options.flame ? MAP - this.rowHeight : 0,
                direction: this.chart.options.flame ? -1 : 1,
                page: colors.page,
            });
            this.paintOver(colors);
        }, (error: unknown) => this.chart.app.fail(error));
    }

    /* By pixel, whether something there matches the search. */
    private marksOf(drawing: Drawing): Uint8Array {
        const words = new Uint32Array(drawing.boxes);
        const sizes = new Float32Array(drawing.boxes);
        const marks = new Uint8Array(Math.ceil(this.chart.width));
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & MATCH) {
                const x = Math.max(0, sizes[at] as number);
                marks.fill(1, Math.floor(x), Math.max(Math.floor(x) + 1, Math.round((sizes[at] as number) + (sizes[at + 1] as number))));
            }
        return marks;
    }

    private paintMarks(pen: CanvasRenderingContext2D, colors: Ink): void {
        const { marks } = this;
        if (!marks)
            return;
        pen.fillStyle = css(colors.accent);
        for (let x = 0; x < marks.length;) {
            let end = x;
            while (end < marks.length && marks[end])
                end++;
            if (end > x)
                pen.fillRect(x, MAP - 5, Math.max(2, end - x), 5);
            x = end + 1;
        }
    }

    paintOver(colors: Ink): void {
        const pen = this.over.getContext("2d");
        if (!pen)
            return;
        const scale = this.over.width / this.chart.width;
        const left = (this.chart.from / this.chart.full) * this.chart.width;
        const right = (this.chart.to / this.chart.full) * this.chart.width;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.clearRect(0, 0, this.chart.width, MAP);
        this.paintMarks(pen, colors);
        if (left <= 0.5 && right >= this.chart.width - 0.5)
            return;
        pen.fillStyle = this.chart.app.appearance.dark ? "rgb(10 12 16 / 62%)" : "rgb(240 242 246 / 72%)";
        pen.fillRect(0, 0, left, MAP);
        pen.fillRect(right, 0, this.chart.width - right, MAP);
        pen.strokeStyle = colors.same;
        pen.lineWidth = 1.5;
        pen.strokeRect(left + 0.75, 0.75, Math.max(2, right - left - 1.5), MAP - 1.5);
    }

    private listen(over: HTMLCanvasElement): void {
        const { signal } = this.chart.gone;
        let grip: { x: number; from: number; inside: boolean } | null = null;
        const value = (event: PointerEvent): number => (event.offsetX / this.chart.width) * this.chart.full;
        over.addEventListener("pointerdown", (event) => {
            const at = value(event);
            over.setPointerCapture(event.pointerId);
            const zoomed = this.chart.to - this.chart.from < this.chart.full * 0.999;
            grip = { x: at, from: this.chart.from, inside: zoomed && at >= this.chart.from && at <= this.chart.to };
        }, { signal });
        over.addEventListener("pointermove", (event) => {
            if (!grip)
                return;
            const at = value(event);
            const span = this.chart.to - this.chart.from;
            if (grip.inside)
                this.chart.setWindow(grip.from + at - grip.x, grip.from + at - grip.x + span);
            else if (Math.abs(at - grip.x) / this.chart.full * this.chart.width > DRAG_LEAST)
                this.chart.setWindow(Math.min(at, grip.x), Math.max(at, grip.x));
        }, { signal });
        over.addEventListener("pointerup", (event) => {
            const at = value(event);
            if (grip && !grip.inside && Math.abs(at - grip.x) / this.chart.full * this.chart.width <= DRAG_LEAST) {
                const span = this.chart.to - this.chart.from;
                this.chart.setWindow(at - span / 2, at + span / 2);
            }
            grip = null;
        }, { signal });
        over.addEventListener("dblclick", () => this.chart.reset(), { signal });
    }
}
