/* SPDX-License-Identifier: Apache-2.0 */
/* A chart on the page: a window on what the core laid out. The core is asked for what is
 * visible, and that is painted: rectangles below, text above. */
import type { App, Steered } from "./app";
import { colorTable, css, type Ink, ink, mix } from "./colors";
import { count, share, shownName, threadName, time, weight } from "./format";
import { Measure } from "./measure";
import { type Boxes, type Painter, painterFor, roomFor } from "./painter";
import { BOX_WORDS, Chart, type ChartInfo, type Drawing, type Lane, CUT, MATCH, NONE, OFF, SAME, Tone, UNKNOWN } from "./protocol";

export const ROW = 20;
const RULER = 22;
const MAP = 52;
const MARK_ROWS = 1000; /* that are looked at for marks in the map */
const TEXT_LEAST = 22; /* pixels of a box that has room for text */
const LETTERS_LEAST = 4; /* of a name: fewer tell nothing */
const FONT = '12px system-ui, -apple-system, "Segoe UI", "Noto Sans", Cantarell, sans-serif';
const DRAG_LEAST = 4;
const SHADE_LEAST = 8; /* pixels of a box: in a narrower one no pattern is seen */
const OUTLINE_LEAST = 8; /* pixels of a box */

export interface ChartOptions {
    kind: Chart;
    flame: boolean; /* row 0 at the bottom */
    map: boolean; /* with a minimap and a ruler */
    place: boolean; /* its zoom stands in the address */
}

interface Pointer {
    x: number;
    y: number;
    from: number;
    to: number;
    scroll: number;
    moved: boolean;
    span: boolean; /* a span is chosen, with shift */
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, name: string, into: HTMLElement): HTMLElementTagNameMap[K] {
    const made = document.createElement(tag);
    made.className = name;
    into.append(made);
    return made;
}

export class ChartView implements Steered {
    private readonly canvas: HTMLCanvasElement;
    private readonly over: HTMLCanvasElement;
    private readonly pen: CanvasRenderingContext2D;
    private readonly painter: Painter | null;
    private readonly mapCanvas: HTMLCanvasElement | null = null;
    private readonly mapOver: HTMLCanvasElement | null = null;
    private readonly mapPainter: Painter | null = null;
    private readonly tip: HTMLElement;
    private readonly patterns = new Map<string, CanvasPattern | null>();
    private readonly measure = new Measure((text) => this.pen.measureText(text).width);
    private readonly watcher: ResizeObserver;
    private readonly gone = new AbortController();

    private info: ChartInfo | null = null;
    private boxes: Boxes = roomFor(256);
    private last: Drawing | null = null;
    private drawn = { from: 0, to: 1, scroll: 0 };
    private from = 0;
    private to = 1;
    private scroll = 0; /* pixels */
    private width = 0;
    private height = 0;
    private asked = false; /* the core is at it */
    private again = false;
    private version = -1;
    private looks = -1;
    private marks: Uint8Array | null = null; /* by pixel of the map: something matches */
    private hover = NONE;
    private pointer: Pointer | null = null;
    private touches = new Map<number, PointerEvent>();
    private span: [number, number] | null = null; /* chosen by dragging */
    private disposed = false;
    onTheWay: Promise<void> = Promise.resolve(); /* the last step by a key */
    private moving = 0; /* the animation that is under way */

    constructor(readonly app: App, readonly host: HTMLElement, private options: ChartOptions) {
        if (options.map) {
            const map = element("div", "map", host);
            this.mapCanvas = element("canvas", "layer", map);
            this.mapOver = element("canvas", "layer", map);
            this.mapPainter = painterFor(this.mapCanvas);
            this.listenMap(this.mapOver);
        }
        const area = element("div", "area", host);
        this.canvas = element("canvas", "layer", area);
        this.over = element("canvas", "layer", area);
        this.pen = this.over.getContext("2d") as CanvasRenderingContext2D;
        this.painter = painterFor(this.canvas);
        this.tip = element("div", "tip", document.body);
        this.tip.hidden = true;
        this.watcher = new ResizeObserver(() => this.resize());
        this.watcher.observe(area);
        this.listen(this.over);
        if (options.place && app.place.zoom)
            [this.from, this.to] = app.place.zoom;
    }

    dispose(): void {
        this.disposed = true;
        this.gone.abort();
        this.watcher.disconnect();
        this.tip.remove();
        this.host.replaceChildren();
    }

    /* Something may have changed: asks anew for what did. */
    update(options: ChartOptions): void {
        const { app } = this;
        this.options = options;
        if (this.version !== app.version) {
            this.version = app.version;
            this.looks = app.looks;
            void this.load();
        } else if (this.looks !== app.looks) {
            this.looks = app.looks;
            this.drawMap();
            this.invalidate();
        }
    }

    /* After the function whose callers are shown changed. */
    async load(): Promise<void> {
        const info = await this.app.core.chart(this.options.kind, this.app.place.order).catch((error: unknown) => {
            this.app.fail(error);
            return null;
        });
        if (!info || this.disposed)
            return;
        const first = this.info === null;
        const keeps = this.options.place && this.app.place.zoom;
        this.info = info;
        this.hover = NONE;
        if (keeps) {
            this.setWindow(...keeps);
        } else {
            this.from = 0;
            this.to = info.to || 1;
        }
        if (first || !keeps)
            this.scroll = 0;
        this.drawMap();
        this.invalidate();
    }

    /* --- Geometry ------------------------------------------------------------------------------ */

    private resize(): void {
        const area = this.over.parentElement as HTMLElement;
        const scale = devicePixelRatio || 1;
        this.width = area.clientWidth;
        this.height = area.clientHeight;
        for (const canvas of [this.canvas, this.over]) {
            canvas.width = Math.max(1, Math.round(this.width * scale));
            canvas.height = Math.max(1, Math.round(this.height * scale));
        }
        for (const canvas of [this.mapCanvas, this.mapOver])
            if (canvas) {
                canvas.width = Math.max(1, Math.round(this.width * scale));
                canvas.height = Math.round(MAP * scale);
            }
        this.drawMap();
        this.invalidate();
    }

    private get ruler(): number {
        return this.options.map ? RULER : 0;
    }

    private get full(): number {
        return this.info?.to || 1;
    }

    private get rows(): number {
        return this.info?.rows ?? 0;
    }

    private get most(): number {
        return Math.max(0, this.rows * ROW - (this.height - this.ruler));
    }

    /* y of the upper edge of a row. */
    private yOf(row: number, scroll = this.scroll): number {
        return this.options.flame ? this.height - (row + 1) * ROW + scroll : this.ruler + row * ROW - scroll;
    }

    private rowAt(y: number): number {
        return Math.floor(this.options.flame ? (this.height + this.scroll - y) / ROW : (y - this.ruler + this.scroll) / ROW);
    }

    private xOf(value: number): number {
        return ((value - this.from) / (this.to - this.from)) * this.width;
    }

    private valueAt(x: number): number {
        return this.from + (x / this.width) * (this.to - this.from);
    }

    private setWindow(from: number, to: number): void {
        const least = this.full * 1e-12;
        let span = Math.min(Math.max(to - from, least), this.full);
        if (!(span > 0))
            span = 1;
        this.from = Math.min(Math.max(0, from), this.full - span);
        this.to = this.from + span;
        if (this.options.place)
            this.app.setZoom(span >= this.full ? null : [this.from, this.to]);
        this.invalidate();
    }

    private setScroll(scroll: number): void {
        this.scroll = Math.min(Math.max(0, scroll), this.most);
        this.invalidate();
    }

    /* Goes there in a moment, so that the eye can follow. */
    private glide(from: number, to: number): void {
        cancelAnimationFrame(this.moving);
        const start = { from: this.from, to: this.to, at: performance.now() };
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        const move = (): void => {
            const part = calm ? 1 : Math.min(1, (performance.now() - start.at) / 160);
            const eased = 1 - (1 - part) ** 3;
            this.setWindow(start.from + (from - start.from) * eased, start.to + (to - start.to) * eased);
            if (part < 1 && !this.disposed)
                this.moving = requestAnimationFrame(move);
        };
        move();
    }

    /* --- Steering -------------------------------------------------------------------------------- */

    zoom(factor: number, x = this.width / 2): void {
        const at = this.valueAt(x);
        this.setWindow(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    pan(x: number, y: number): void {
        const shift = (x / this.width) * (this.to - this.from);
        if (x)
            this.setWindow(this.from + shift, this.to + shift);
        if (y)
            this.setScroll(this.scroll + (this.options.flame ? -y : y));
    }

    reset(): void {
        this.glide(0, this.full);
    }

    /* Steps follow each other, however fast the keys are: each begins where the last ended. */
    private go(find: (from: number) => Promise<number>): void {
        const { app, options } = this;
        this.onTheWay = this.onTheWay.then(async () => {
            const found = await find(app.selected && app.selectedIn === options.kind ? app.selected.box : NONE);
            if (found === NONE)
                return;
            await app.select(options.kind, found);
            this.reveal();
        }).catch((error: unknown) => app.fail(error));
    }

    step(way: number): void {
        const turned = this.options.flame && way < 2 ? 1 - way : way;
        this.go((from) => this.app.core.step(this.options.kind, from, turned));
    }

    enter(): void {
        void this.onTheWay.then(() => {
            const { selected } = this.app;
            if (selected && this.app.selectedIn === this.options.kind)
                this.glide(selected.from, selected.to);
        });
    }

    match(back: boolean): void {
        this.go((from) => this.app.core.nextMatch(this.options.kind, from, back));
    }

    /* Brings the selected box into view. */
    private reveal(): void {
        const box = this.app.selected;
        if (!box)
            return;
        const span = this.to - this.from;
        if (box.to - box.from < span / 200 || box.to - box.from > span)
            this.glide(box.from - (box.to - box.from) * 2, box.to + (box.to - box.from) * 2);
        else if (box.from < this.from || box.to > this.to)
            this.glide(box.from - span / 4, box.from + (span * 3) / 4);
        const y = box.row * ROW;
        const room = this.height - this.ruler;
        if (y < this.scroll)
            this.setScroll(y - ROW);
        else if (y + ROW > this.scroll + room)
            this.setScroll(y + 2 * ROW - room);
    }

    picture(): HTMLCanvasElement | null {
        const out = document.createElement("canvas");
        out.width = this.canvas.width;
        out.height = this.canvas.height;
        const pen = out.getContext("2d");
        pen?.drawImage(this.canvas, 0, 0);
        pen?.drawImage(this.over, 0, 0);
        return out;
    }

    /* --- Drawing ---------------------------------------------------------------------------------- */

    /* Draws soon; one request at a time is with the core. */
    invalidate(): void {
        if (this.disposed || !this.info || this.width === 0)
            return;
        if (this.asked) {
            this.again = true;
            return;
        }
        this.asked = true;
        requestAnimationFrame(() => void this.draw());
    }

    private async draw(): Promise<void> {
        const { core } = this.app;
        this.scroll = Math.min(this.scroll, this.most);
        const window = { from: this.from, to: this.to, scroll: this.scroll };
        const rows = Math.ceil((this.height - this.ruler) / ROW) + 1;
        const first = Math.floor(this.scroll / ROW);
        const version = this.app.version;
        try {
            const drawing = await core.draw(this.options.kind, window.from, window.to, this.width, first, first + rows);
            if (!this.disposed && version === this.app.version) {
                const before = performance.now();
                this.last = drawing;
                this.drawn = window;
                this.take(drawing, this.boxes);
                this.paint();
                this.app.micros.push(drawing.micros + (performance.now() - before) * 1000);
                if (this.app.micros.length > 4096)
                    this.app.micros.splice(0, 2048);
            }
        } catch (error) {
            this.app.fail(error);
        }
        this.asked = false;
        if (this.again) {
            this.again = false;
            this.invalidate();
        }
    }

    /* From the core's boxes to the painter's, with colours. */
    private take(drawing: Drawing, boxes: Boxes): Boxes {
        const words = new Uint32Array(drawing.boxes);
        const sizes = new Float32Array(drawing.boxes);
        const { dark, palette, place, found } = this.app;
        const colors = ink(dark);
        const table = colorTable(place.color, palette, dark);
        const plain = found ? table.map((color) => mix(color, colors.page, 0.62)) : table;
        const faded = (color: number): number => (found ? mix(color, colors.page, 0.62) : color);
        const idle = faded(colors.idle);
        const off = faded(colors.off);
        const unknown = faded(colors.unknown);
        const mixes = this.options.kind === Chart.Time; /* by time, what mostly waits looks like it */
        const named = place.color !== Tone.Self && place.color !== Tone.Change;
        const into = boxes.x.length < drawing.count ? roomFor(drawing.count * 2) : boxes;
        if (boxes === this.boxes)
            this.boxes = into;
        for (const [label, name] of drawing.names)
            this.app.names.set(label, shownName(name));
        for (let i = 0, at = 0; i < drawing.count; i++, at += BOX_WORDS) {
            const look = words[at + 5] as number;
            const kind = (look >>> 8) & 255;
            const flags = look >>> 16;
            let color = flags & OFF ? off
                : flags & (UNKNOWN | CUT) && named ? unknown
                : kind === 5 ? idle : (plain[look & 255] as number);
            if (mixes && look >>> 24)
                color = mix(color, off, (look >>> 24) / 510);
            if (flags & MATCH)
                color = colors.match;
            into.x[i] = sizes[at] as number;
            into.width[i] = sizes[at + 1] as number;
            into.row[i] = words[at + 2] as number;
            into.color[i] = color;
        }
        into.count = drawing.count;
        return into;
    }

    private paint(): void {
        const colors = ink(this.app.dark);
        const { flame } = this.options;
        this.painter?.paint(this.boxes, {
            width: this.width,
            height: this.height,
            rowHeight: ROW,
            top: this.yOf(0, this.drawn.scroll),
            direction: flame ? -1 : 1,
            page: colors.page,
        });
        this.paintOver(colors);
    }

    private paintOver(colors: Ink): void {
        const { pen, last } = this;
        if (!last)
            return;
        const scale = this.over.width / this.width;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.clearRect(0, 0, this.width, this.height);
        pen.font = FONT;
        pen.textBaseline = "middle";
        const words = new Uint32Array(last.boxes);
        const sizes = new Float32Array(last.boxes);
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & (UNKNOWN | CUT | OFF) && (sizes[at + 1] as number) >= SHADE_LEAST)
                this.shade((words[at + 5] as number) >>> 16, sizes[at] as number, sizes[at + 1] as number,
                    this.yOf(words[at + 2] as number, this.drawn.scroll));
        pen.fillStyle = colors.waits;
        for (let at = 0; at < words.length && this.options.kind !== Chart.Time; at += BOX_WORDS)
            if ((words[at + 5] as number) >>> 24 && (sizes[at + 1] as number) >= 3)
                this.showWaits((words[at + 5] as number) >>> 24, sizes[at] as number, sizes[at + 1] as number,
                    this.yOf(words[at + 2] as number, this.drawn.scroll));
        pen.fillStyle = colors.text;
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if ((sizes[at + 1] as number) >= TEXT_LEAST)
                this.write(words[at + 4] as number, sizes[at] as number, sizes[at + 1] as number,
                    this.yOf(words[at + 2] as number, this.drawn.scroll));
        pen.lineWidth = 1.5;
        pen.strokeStyle = pen.fillStyle = colors.same;
        for (let at = 0; at < words.length; at += BOX_WORDS)
            if (((words[at + 5] as number) >>> 16) & SAME)
                this.markSame(sizes[at] as number, sizes[at + 1] as number, this.yOf(words[at + 2] as number, this.drawn.scroll));
        const { selected, selectedIn } = this.app;
        if (selected && selectedIn === this.options.kind) {
            pen.strokeStyle = colors.selected;
            pen.lineWidth = 2;
            const x = this.xOf(selected.from);
            this.outline(x, this.xOf(selected.to) - x, this.yOf(selected.row, this.drawn.scroll));
        }
        for (const lane of this.info?.lanes ?? [])
            this.writeLane(lane, colors);
        if (this.span) {
            pen.fillStyle = this.app.dark ? "rgb(143 180 255 / 25%)" : "rgb(47 98 201 / 18%)";
            pen.fillRect(this.xOf(this.span[0]), 0, this.xOf(this.span[1]) - this.xOf(this.span[0]), this.height);
        }
        if (this.options.map)
            this.paintRuler(colors);
        this.paintMapOver(colors);
    }

    /* What is not known is dotted; what waits, or stands for what is missing, is hatched. */
    private shade(flags: number, x: number, width: number, y: number): void {
        const dotted = (flags & (CUT | OFF)) === 0;
        const left = Math.max(0, x);
        this.pen.fillStyle = this.pattern(dotted) ?? "transparent";
        this.pen.fillRect(left, y, Math.min(this.width, x + width - 1) - left, ROW - 1);
    }

    /* Along the lower edge, as much of it as of the box's time waits. */
    private showWaits(part: number, x: number, width: number, y: number): void {
        const left = Math.max(0, x);
        const right = Math.min(this.width, x + (width - 1) * (part / 255));
        if (right > left)
            this.pen.fillRect(left, y + ROW - 4, right - left, 3);
    }

    private pattern(dotted: boolean): CanvasPattern | null {
        const name = `${dotted} ${this.app.dark}`;
        let found = this.patterns.get(name);
        if (found === undefined) {
            const tile = document.createElement("canvas");
            tile.width = tile.height = dotted ? 5 : 8;
            const pen = tile.getContext("2d") as CanvasRenderingContext2D;
            pen.fillStyle = pen.strokeStyle = ink(this.app.dark).hatch;
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

    /* Around narrow boxes there would be more outline than box: they are underlined. */
    private markSame(x: number, width: number, y: number): void {
        if (width >= OUTLINE_LEAST)
            this.outline(x, width, y);
        else
            this.pen.fillRect(x, y + ROW - 4, Math.max(1, width - 1), 3);
    }

    private outline(x: number, width: number, y: number): void {
        const left = Math.max(-4, x);
        const right = Math.min(this.width + 4, x + width);
        if (right > left)
            this.pen.strokeRect(left + 0.5, y + 0.5, Math.max(1, right - left - 2), ROW - 2);
    }

    private write(label: number, x: number, width: number, y: number): void {
        const name = this.app.names.get(label);
        const left = Math.max(x, 0) + 4;
        const room = Math.min(x + width, this.width) - 4 - left;
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
        const y = this.yOf(lane.row, this.drawn.scroll);
        if (y > this.height || y + ROW < 0)
            return;
        pen.strokeStyle = colors.line;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(0, y + 0.5);
        pen.lineTo(this.width, y + 0.5);
        pen.stroke();
        pen.fillStyle = colors.faint;
        const unit = this.app.shown?.unit ?? "";
        const name = lane.name || lane.tid !== undefined || this.app.threadsBy === "all" ? threadName(lane) : "all threads";
        pen.fillText(`${name}  \u00b7  ${weight(lane.weight, unit)}`, 8, y + ROW / 2);
    }

    private paintRuler(colors: Ink): void {
        const { pen } = this;
        pen.fillStyle = css(colors.page);
        pen.fillRect(0, 0, this.width, RULER);
        pen.strokeStyle = colors.line;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(0, RULER - 0.5);
        pen.lineTo(this.width, RULER - 0.5);
        const span = this.to - this.from;
        const rough = (span / this.width) * 110;
        const power = 10 ** Math.floor(Math.log10(rough));
        const step = power * ([1, 2, 5, 10].find((n) => n * power >= rough) ?? 10);
        const unit = this.info?.timed ? "ns" : (this.app.shown?.unit ?? "");
        pen.fillStyle = colors.faint;
        for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
            const x = Math.round(this.xOf(at)) + 0.5;
            pen.moveTo(x, RULER - 6);
            pen.lineTo(x, RULER);
            const text = weight(Number(at.toPrecision(12)), unit);
            if (x + 4 + pen.measureText(text).width < this.width)
                pen.fillText(text, x + 4, RULER / 2);
        }
        pen.stroke();
        pen.fillStyle = colors.loss;
        for (const { at } of this.info?.losses ?? []) {
            const x = this.xOf(at);
            pen.fillRect(x - 0.5, RULER, 1, this.height);
            pen.beginPath();
            pen.moveTo(x - 5, RULER - 9);
            pen.lineTo(x + 5, RULER - 9);
            pen.lineTo(x, RULER);
            pen.fill();
        }
    }

    /* --- The minimap --------------------------------------------------------------------------------- */

    private get mapRow(): number {
        return Math.max(0.5, Math.min(4, MAP / Math.max(1, this.rows)));
    }

    private drawMap(): void {
        if (!this.mapPainter || !this.info || this.width === 0)
            return;
        /* matches are marked however deep they are */
        const rows = Math.min(this.rows, this.app.found ? MARK_ROWS : Math.ceil(MAP / this.mapRow));
        const version = this.app.version;
        this.app.core.draw(this.options.kind, 0, this.full, this.width, 0, rows).then((drawing) => {
            if (this.disposed || version !== this.app.version)
                return;
            const colors = ink(this.app.dark);
            this.marks = this.app.found ? this.marksOf(drawing) : null;
            this.mapPainter?.paint(this.take(drawing, roomFor(drawing.count)), {
                width: this.width,
                height: MAP,
                rowHeight: this.mapRow,
                top: this.options.flame ? MAP - this.mapRow : 0,
                direction: this.options.flame ? -1 : 1,
                page: colors.page,
            });
            this.paintMapOver(colors);
        }, (error: unknown) => this.app.fail(error));
    }

    /* By pixel, whether something there matches the search. */
    private marksOf(drawing: Drawing): Uint8Array {
        const words = new Uint32Array(drawing.boxes);
        const sizes = new Float32Array(drawing.boxes);
        const marks = new Uint8Array(Math.ceil(this.width));
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
        pen.fillStyle = css(colors.match);
        for (let x = 0; x < marks.length;) {
            let end = x;
            while (end < marks.length && marks[end])
                end++;
            if (end > x)
                pen.fillRect(x, MAP - 5, Math.max(2, end - x), 5);
            x = end + 1;
        }
    }

    private paintMapOver(colors: Ink): void {
        const pen = this.mapOver?.getContext("2d");
        if (!pen || !this.mapOver)
            return;
        const scale = this.mapOver.width / this.width;
        const left = (this.from / this.full) * this.width;
        const right = (this.to / this.full) * this.width;
        pen.setTransform(scale, 0, 0, scale, 0, 0);
        pen.clearRect(0, 0, this.width, MAP);
        this.paintMarks(pen, colors);
        if (left <= 0.5 && right >= this.width - 0.5)
            return;
        pen.fillStyle = this.app.dark ? "rgb(10 12 16 / 62%)" : "rgb(240 242 246 / 72%)";
        pen.fillRect(0, 0, left, MAP);
        pen.fillRect(right, 0, this.width - right, MAP);
        pen.strokeStyle = colors.same;
        pen.lineWidth = 1.5;
        pen.strokeRect(left + 0.75, 0.75, Math.max(2, right - left - 1.5), MAP - 1.5);
    }

    private listenMap(over: HTMLCanvasElement): void {
        const { signal } = this.gone;
        let grip: { x: number; from: number; inside: boolean } | null = null;
        const value = (event: PointerEvent): number => (event.offsetX / this.width) * this.full;
        over.addEventListener("pointerdown", (event) => {
            const at = value(event);
            over.setPointerCapture(event.pointerId);
            const zoomed = this.to - this.from < this.full * 0.999;
            grip = { x: at, from: this.from, inside: zoomed && at >= this.from && at <= this.to };
        }, { signal });
        over.addEventListener("pointermove", (event) => {
            if (!grip)
                return;
            const at = value(event);
            const span = this.to - this.from;
            if (grip.inside)
                this.setWindow(grip.from + at - grip.x, grip.from + at - grip.x + span);
            else if (Math.abs(at - grip.x) / this.full * this.width > DRAG_LEAST)
                this.setWindow(Math.min(at, grip.x), Math.max(at, grip.x));
        }, { signal });
        over.addEventListener("pointerup", (event) => {
            const at = value(event);
            if (grip && !grip.inside && Math.abs(at - grip.x) / this.full * this.width <= DRAG_LEAST) {
                const span = this.to - this.from;
                this.setWindow(at - span / 2, at + span / 2);
            }
            grip = null;
        }, { signal });
        over.addEventListener("dblclick", () => this.reset(), { signal });
    }

    /* --- The pointer ----------------------------------------------------------------------------------- */

    private listen(over: HTMLCanvasElement): void {
        const { signal } = this.gone;
        over.addEventListener("wheel", (event) => this.onWheel(event), { signal, passive: false });
        over.addEventListener("pointerdown", (event) => this.onDown(event), { signal });
        over.addEventListener("pointermove", (event) => this.onMove(event), { signal });
        over.addEventListener("pointerup", (event) => this.onUp(event), { signal });
        over.addEventListener("pointercancel", () => this.forgetPointer(), { signal });
        over.addEventListener("pointerleave", () => this.hideTip(), { signal });
        over.addEventListener("dblclick", (event) => void this.zoomTo(event), { signal });
        over.addEventListener("contextmenu", (event) => {
            event.preventDefault();
            void this.openMenu(event);
        }, { signal });
    }

    private onWheel(event: WheelEvent): void {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        if (event.ctrlKey || event.metaKey || event.altKey) {
            this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.008), event.offsetX);
            return;
        }
        const sideways = event.shiftKey && !event.deltaX;
        this.pan((sideways ? event.deltaY : event.deltaX) * unit, (sideways ? 0 : event.deltaY) * unit);
    }

    private onDown(event: PointerEvent): void {
        this.over.setPointerCapture(event.pointerId);
        this.touches.set(event.pointerId, event);
        this.hideTip();
        cancelAnimationFrame(this.moving);
        if (event.button === 0)
            this.pointer = {
                x: event.offsetX, y: event.offsetY, from: this.from, to: this.to, scroll: this.scroll, moved: false,
                span: event.shiftKey && this.info?.timed === true,
            };
    }

    /* Two fingers: what was below them stays below them. */
    private pinch(event: PointerEvent): boolean {
        const before = [...this.touches.values()];
        if (before.length !== 2 || !this.touches.has(event.pointerId))
            return false;
        const other = before.find((touch) => touch.pointerId !== event.pointerId) as PointerEvent;
        const mine = this.touches.get(event.pointerId) as PointerEvent;
        const was = Math.max(8, Math.abs(mine.offsetX - other.offsetX));
        const is = Math.max(8, Math.abs(event.offsetX - other.offsetX));
        this.zoom(was / is, (event.offsetX + other.offsetX) / 2);
        this.touches.set(event.pointerId, event);
        this.pointer = null;
        return true;
    }

    private onMove(event: PointerEvent): void {
        const grip = this.pointer;
        if (this.pinch(event))
            return;
        if (!grip) {
            void this.showTip(event);
            return;
        }
        const x = event.offsetX - grip.x;
        const y = event.offsetY - grip.y;
        if (!grip.moved && Math.hypot(x, y) < DRAG_LEAST)
            return;
        grip.moved = true;
        if (grip.span) {
            const ends = [this.valueAt(grip.x), this.valueAt(event.offsetX)];
            this.span = [Math.max(0, Math.min(...ends)), Math.min(this.full, Math.max(...ends))];
            this.paintOver(ink(this.app.dark));
            return;
        }
        const shift = (-x / this.width) * (grip.to - grip.from);
        this.setWindow(grip.from + shift, grip.to + shift);
        this.setScroll(grip.scroll + (this.options.flame ? y : -y));
    }

    private forgetPointer(): void {
        this.pointer = null;
        this.touches.clear();
    }

    private onUp(event: PointerEvent): void {
        const grip = this.pointer;
        this.forgetPointer();
        if (!grip)
            return;
        if (this.span) {
            const [from, to] = this.span;
            this.span = null;
            void this.app.addFilter({ verb: "time", text: "", from, to });
            return;
        }
        if (!grip.moved)
            void this.at(event).then((box) => this.app.select(this.options.kind, box === NONE ? null : box));
    }

    private at(event: MouseEvent): Promise<number> {
        const row = this.rowAt(event.offsetY);
        if (row < 0 || row >= this.rows || event.offsetY < this.ruler)
            return Promise.resolve(NONE);
        return this.app.core.hit(this.options.kind, row, this.valueAt(event.offsetX));
    }

    private async zoomTo(event: MouseEvent): Promise<void> {
        const box = await this.at(event);
        if (box === NONE) {
            this.reset();
            return;
        }
        await this.app.select(this.options.kind, box);
        this.enter();
    }

    private async openMenu(event: MouseEvent): Promise<void> {
        const box = await this.at(event);
        if (box === NONE)
            return;
        await this.app.select(this.options.kind, box);
        const { selected } = this.app;
        if (selected)
            this.app.menu = { x: event.clientX, y: event.clientY, function: selected.function, stack: selected.stack };
        this.app.changed();
    }

    private hideTip(): void {
        this.hover = NONE;
        this.tip.hidden = true;
    }

    private async showTip(event: PointerEvent): Promise<void> {
        if (event.pointerType === "touch")
            return;
        if (event.offsetY < this.ruler && this.tellLoss(event))
            return;
        const box = await this.at(event);
        if (box === NONE || this.disposed || this.pointer) {
            this.hideTip();
            return;
        }
        if (box !== this.hover) {
            this.hover = box;
            const info = await this.app.core.box(this.options.kind, box);
            if (this.hover !== box || !this.app.shown)
                return;
            const { unit, total } = this.app.shown;
            const size = info.total ?? info.to - info.from;
            const of = info.total === undefined ? this.full : total;
            const figure = info.total === undefined && this.info?.timed ? time(size) : weight(size, unit);
            const figures = document.createElement("b");
            figures.textContent = `${figure} (${((size / (of || 1)) * 100).toFixed(2)}%)`;
            if (info.waiting && !info.off)
                figures.textContent += `, ${share(info.waiting, size)} of it waiting`;
            const name = document.createElement("span");
            name.textContent = shownName(info.function.name).slice(0, 300);
            this.tip.replaceChildren(figures, name);
            this.over.dataset["hover"] = info.function.name;
        }
        this.placeTip(event);
    }

    /* Of the ruler's marks, the one that is pointed at. */
    private tellLoss(event: PointerEvent): boolean {
        const loss = this.info?.losses.find(({ at }) => Math.abs(this.xOf(at) - event.offsetX) < 7);
        if (loss) {
            this.hover = NONE;
            this.tip.textContent = `${count(loss.count)} samples were lost here, at ${time(loss.at)}`;
            this.placeTip(event);
        }
        return loss !== undefined;
    }

    private placeTip(event: PointerEvent): void {
        this.tip.hidden = false;
        const left = Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
        const below = event.clientY + 18 + this.tip.offsetHeight < innerHeight;
        this.tip.style.transform =
            `translate(${Math.max(4, left)}px, ${below ? event.clientY + 18 : event.clientY - this.tip.offsetHeight - 10}px)`;
    }

    /* For those who do not see the canvas: what is drawn wide enough to matter. */
    visible(): { name: string; row: number; width: number; box: number }[] {
        const out: { name: string; row: number; width: number; box: number }[] = [];
        if (!this.last)
            return out;
        const words = new Uint32Array(this.last.boxes);
        const sizes = new Float32Array(this.last.boxes);
        for (let at = 0; at < words.length && out.length < 200; at += BOX_WORDS) {
            const width = (sizes[at + 1] as number) / this.width;
            if (width >= 0.02)
                out.push({ name: this.app.names.get(words[at + 4] as number) ?? "", row: words[at + 2] as number, width, box: words[at + 3] as number });
        }
        return out;
    }
}
