/* SPDX-License-Identifier: Apache-2.0 */
/* A chart on the page: a window on the core's layout. It requests the visible boxes and
 * draws them: rectangles below, the overlay above. */
import type { App, Early, Steered } from "./app";
import { coloredBoxes } from "./boxes";
import { type Ink, ink } from "./colors";
import { allOf } from "./core";
import { element, resizeTo } from "./elements";
import { MAP, Minimap } from "./minimap";
import { Overlay } from "./overlay";
import { type Boxes, type Painter, painterFor, roomFor } from "./painter";
import { Pointer } from "./pointer";
import { BOX_WORDS, type BoxInfo, Chart, type ChartInfo, type Drawing, NONE } from "./protocol";
import { Tip } from "./tip";
import { heights } from "./density";
import { RULER, Viewport } from "./viewport";

export interface ChartOptions {
    kind: Chart;
    flame: boolean; /* row 0 is at the bottom */
    map: boolean; /* with a minimap and a ruler */
    zoomInAddress: boolean; /* its zoom is part of the address */
}

const FRAME = 17; /* ms */
const SPARE = 3; /* rows requested below the visible ones: a filter's line moves the chart by less */

/* A visible part of a chart; `to` is infinite for the end of the axis. */
interface Window {
    from: number;
    to: number;
    scroll: number;
}

/* The chart, its picture and that of the minimap. */
type Answers = [ChartInfo, Drawing | null, Drawing | null];

/* What was asked for, with the answers. */
interface Loaded {
    kind: Chart;
    order: number;
    guess: Window | null; /* of the pictures */
    rows: number;
    keeps: [number, number] | null | false; /* the zoom, if it does not end */
    answers: Answers;
}

export class ChartView extends Viewport implements Steered {
    readonly over: HTMLCanvasElement;
    private readonly canvas: HTMLCanvasElement;
    private readonly painter: Painter | null;
    private readonly overlay: Overlay;
    private readonly minimap: Minimap | null;
    private readonly tip: Tip;
    private readonly pointer: Pointer;
    private readonly watcher: ResizeObserver;
    readonly gone = new AbortController();

    info: ChartInfo | null = null;
    private boxes: Boxes = roomFor(256);
    last: Drawing | null = null;
    drawn = { from: 0, to: 1, scroll: 0 };
    private drawnRows = 0; /* rows below this number are in the last picture */
    private requested = false; /* a request is pending */
    private asked = 0; /* when the last picture was requested */
    private loads = 0; /* the last call of load() */
    private early: { version: number; loaded: Loaded } | null = null; /* for load() of that version */
    private again = false;
    private version = -1;
    private looks = -1;
    private shades = -1;
    span: [number, number] | null = null; /* selected by dragging */
    linked: ChartView | null = null; /* the same boxes, of the other profile */
    marked: BoxInfo | null = null; /* the box below the pointer in that one */
    private marks = NONE;
    private scale = 0; /* device pixels of a CSS pixel */
    private anchor: [number, number] | null = null; /* the range that is the same box in both; null: all */
    disposed = false;
    onTheWay: Promise<void> = Promise.resolve(); /* the last step by a key */
    private moving = 0; /* the current animation */

    constructor(readonly app: App, readonly host: HTMLElement, public options: ChartOptions) {
        super();
        this.arrange();
        this.minimap = options.map ? new Minimap(this, host) : null;
        const area = element("div", "area", host);
        this.canvas = element("canvas", "layer", area);
        this.over = element("canvas", "layer", area);
        this.painter = painterFor(this.canvas);
        this.overlay = new Overlay(this, this.over);
        this.tip = new Tip(this);
        this.pointer = new Pointer(this, this.tip);
        this.watcher = new ResizeObserver(() => this.resize());
        this.watcher.observe(area);
        if (options.zoomInAddress && app.state.zoom)
            [this.from, this.to] = app.state.zoom;
        this.resize();
    }

    dispose(): void {
        this.disposed = true;
        this.gone.abort();
        this.watcher.disconnect();
        this.tip.dispose();
        this.host.replaceChildren();
    }

    private arrange(): void {
        this.flame = this.options.flame;
        this.ruler = this.options.map ? RULER : 0;
    }

    get dragging(): boolean {
        return this.pointer.dragging;
    }

    /* Applies changed options, and requests what depends on them. */
    update(options: ChartOptions): void {
        const { app } = this;
        this.options = options;
        this.arrange();
        if (this.version !== app.version) {
            this.version = app.version;
            this.looks = app.looks;
            this.shades = app.shades;
            void this.load();
        } else if (this.looks !== app.looks) {
            this.looks = app.looks;
            if (this.shades !== app.shades)
                this.minimap?.draw();
            this.shades = app.shades;
            this.invalidate();
        }
    }

    /* Called after the function whose callers are shown has changed. The chart and its picture are
     * one message to the core. */
    async load(): Promise<void> {
        const number = ++this.loads, { version } = this.app, { early } = this;
        this.early = null;
        if (early?.version === version && early.loaded.kind === this.options.kind && early.loaded.order === this.app.state.order) {
            this.takeAll(early.loaded, true);
            return;
        }
        try {
            const loaded = await this.ask();
            if (!this.disposed && number === this.loads)
                this.takeAll(loaded, version === this.app.version);
        } catch (error) {
            this.app.fail(error);
        }
    }

    ahead(): Promise<Early> {
        return this.ask().then((loaded) => (version) => { this.early = { version, loaded }; }, () => null);
    }

    private async ask(): Promise<Loaded> {
        const { kind } = this.options, { order, zoom } = this.app.state;
        const guess = this.guess(), rows = guess ? this.rowsIn(guess) + SPARE : 0;
        const answers = await allOf([
            this.app.core.chart(kind, order),
            guess && this.request(guess),
            guess && (this.minimap?.request() ?? null),
        ]);
        return { kind, order, guess, rows, keeps: this.options.zoomInAddress && zoom, answers };
    }

    /* The pictures are of the shown version, or of an earlier one. */
    private takeAll({ guess, rows, keeps, answers: [info, drawing, map] }: Loaded, current: boolean): void {
        const { width } = this;
        this.take(info, keeps);
        this.measure();
        if (this.width !== width)
            this.minimap?.resize();
        if (drawing && guess && current && this.width === width && this.isAt(guess)) {
            this.show(drawing, this.window, rows);
            this.minimap?.draw(map);
            if (this.rowsIn(this.drawn) > rows)
                this.invalidate();
        } else {
            this.minimap?.draw();
            this.invalidate();
        }
    }

    /* What will be visible of a chart that is not loaded yet; null: that is not known before. */
    private guess(): Window | null {
        const { tracks, state } = this.app;
        if (this.width === 0 || (this.info !== null && this.scroll !== 0))
            return null;
        if (this.options.zoomInAddress && state.zoom)
            return { from: state.zoom[0], to: state.zoom[1], scroll: 0 };
        return this.options.kind === Chart.Time && (state.preview || !tracks.isWhole) ? null : { from: 0, to: Number.POSITIVE_INFINITY, scroll: 0 };
    }

    private get window(): Window {
        return { from: this.from, to: this.to, scroll: this.scroll };
    }

    private isAt(guess: Window): boolean {
        return this.from === guess.from && this.to === Math.min(guess.to, this.full) && this.scroll === guess.scroll;
    }

    private take(info: ChartInfo, keeps: [number, number] | null | false): void {
        const first = this.info === null;
        this.info = info;
        this.full = info.to || 1;
        this.rows = info.rows;
        const needed = info.rows * heights.box + this.ruler + (this.options.map ? MAP : 0);
        if (this.options.zoomInAddress && this.app.state.view !== "changes")
            queueMicrotask(() => this.app.setNeeded(needed)); /* not while the page is drawn */
        this.tip.forget();
        if (keeps) {
            this.setWindow(...keeps);
        } else {
            [this.from, this.to] = this.whole;
        }
        if (first || !keeps)
            this.scroll = 0;
    }

    /* All of the axis; by time, only the selected or committed span. */
    private get whole(): [number, number] {
        const { tracks, state } = this.app;
        if (!this.info?.timed || !tracks.info || (tracks.isWhole && !state.preview))
            return [0, this.full];
        const [from, to] = state.preview ?? tracks.committed;
        return to > from && from < this.full ? [from, Math.min(to, this.full)] : [0, this.full];
    }

    get part(): [number, number] | null {
        const [from, to] = this.whole;
        return this.from > from || this.to < to ? [this.from, this.to] : null;
    }

    /* --- Geometry ------------------------------------------------------------------------------ */

    /* The canvases get the size of their area, and may lose their picture if it has changed. Returns whether
     * it has. */
    private measure(): boolean {
        const area = this.over.parentElement as HTMLElement;
        if (this.width === area.clientWidth && this.height === area.clientHeight && this.scale === devicePixelRatio)
            return false;
        this.width = area.clientWidth;
        this.height = area.clientHeight;
        this.scale = devicePixelRatio;
        for (const canvas of [this.canvas, this.over])
            resizeTo(canvas, this.width, this.height);
        return true;
    }

    private resize(): void {
        const { width, scale } = this;
        if (!this.measure())
            return;
        const heightOnly = this.width === width && this.scale === scale;
        if (!heightOnly)
            this.minimap?.resize();
        if (heightOnly && this.last && this.scroll <= this.most && this.rowsIn(this.drawn) <= this.drawnRows)
            this.paint();
        else
            this.invalidate();
    }

    /* The number of the last row, plus one, that a window shows a part of. */
    private rowsIn(window: Window): number {
        return Math.floor(window.scroll / heights.box) + Math.ceil((this.height - this.ruler) / heights.box) + 1;
    }

    setWindow(from: number, to: number): void {
        this.setRange(from, to);
        this.linked?.follow(this);
        if (this.options.zoomInAddress)
            this.app.setZoom(this.to - this.from >= this.full ? null : [this.from, this.to]);
        this.invalidate();
    }

    setScroll(scroll: number): void {
        this.scroll = Math.min(Math.max(0, scroll), this.most);
        if (this.linked && this.linked.scroll !== this.scroll) {
            this.linked.scroll = this.scroll;
            this.linked.invalidate();
        }
        this.invalidate();
    }

    /* --- Linked charts ---------------------------------------------------------------------- */

    /* Outlines the box that is below the pointer in the linked chart. */
    mark(box: number): void {
        if (box === this.marks)
            return;
        this.marks = box;
        this.marked = null;
        this.paintOver(ink(this.app.appearance.dark));
        if (box === NONE)
            return;
        void this.app.core.box(this.options.kind, box).then((info) => {
            if (this.marks !== box || this.disposed)
                return;
            this.marked = info;
            this.paintOver(ink(this.app.appearance.dark));
        }, () => undefined);
    }

    /* Shows the same part of the box that both have as their anchor. */
    private follow(leader: ChartView): void {
        const [from, to] = leader.anchor ?? leader.whole;
        const [mine, end] = this.anchor ?? this.whole;
        const scale = (end - mine) / (to - from || 1);
        this.setRange(mine + (leader.from - from) * scale, mine + (leader.to - from) * scale);
        this.invalidate();
    }

    /* The box becomes the anchor; null: all. A box that the other profile does not have leaves
     * both without a common one. */
    private async anchorAt(box: BoxInfo | null): Promise<void> {
        const { linked } = this;
        if (!linked)
            return;
        const other = box ? await this.app.core.box(linked.options.kind, box.box) : null;
        const both = box && other && other.to > other.from && box.to > box.from;
        this.anchor = both ? [box.from, box.to] : null;
        linked.anchor = both ? [other.from, other.to] : null;
    }

    /* Scrolls there with a short animation. */
    private glide(from: number, to: number): void {
        this.stopGlide();
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

    stopGlide(): void {
        cancelAnimationFrame(this.moving);
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
        void this.anchorAt(null).then(() => this.glide(...this.whole));
    }

    /* Steps run one after the other, however fast the keys are: each begins at the
     * result of the last. */
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
                void this.anchorAt(selected).then(() => this.glide(selected.from, selected.to));
        });
    }

    match(back: boolean): void {
        this.go((from) => this.app.core.nextMatch(this.options.kind, from, back));
    }

    /* Scrolls the selected box into view. */
    private reveal(): void {
        const box = this.app.selected;
        if (!box)
            return;
        const span = this.to - this.from;
        if (box.to - box.from < span / 200 || box.to - box.from > span)
            this.glide(box.from - (box.to - box.from) * 2, box.to + (box.to - box.from) * 2);
        else if (box.from < this.from || box.to > this.to)
            this.glide(box.from - span / 4, box.from + (span * 3) / 4);
        const y = box.row * heights.box;
        const room = this.height - this.ruler;
        if (y < this.scroll)
            this.setScroll(y - heights.box);
        else if (y + heights.box > this.scroll + room)
            this.setScroll(y + 2 * heights.box - room);
    }

    picture(): HTMLCanvasElement | null {
        const out = document.createElement("canvas");
        out.width = this.canvas.width;
        out.height = Math.round(this.height * this.scale);
        const pen = out.getContext("2d");
        pen?.drawImage(this.canvas, 0, 0);
        pen?.drawImage(this.over, 0, 0);
        return out;
    }

    /* --- Drawing ---------------------------------------------------------------------------------- */

    /* Draws soon; one request at a time is sent to the core. */
    invalidate(): void {
        if (this.disposed || !this.info || this.width === 0)
            return;
        if (this.requested) {
            this.again = true;
            return;
        }
        this.requested = true;
        const draw = (): void => void this.draw();
        if (performance.now() - this.asked > FRAME)
            queueMicrotask(draw); /* a click need not wait for the next frame */
        else
            requestAnimationFrame(draw);
    }

    private request(window: Window): Promise<Drawing> {
        const first = Math.floor(window.scroll / heights.box);
        return this.app.core.draw(this.options.kind, window.from, window.to, this.width, first, this.rowsIn(window) + SPARE);
    }

    private show(drawing: Drawing, window: Window, rows: number): void {
        const before = performance.now();
        this.last = drawing;
        this.drawn = window;
        this.drawnRows = rows;
        this.boxes = coloredBoxes(this.app, this.options.kind, drawing, this.boxes);
        this.paint();
        this.app.micros.push(drawing.micros + (performance.now() - before) * 1000);
        if (this.app.micros.length > 4096)
            this.app.micros.splice(0, 2048);
    }

    private async draw(): Promise<void> {
        this.scroll = Math.min(this.scroll, this.most);
        const { window } = this;
        const version = this.app.version;
        this.asked = performance.now();
        try {
            const rows = this.rowsIn(window) + SPARE;
            const drawing = await this.request(window);
            if (!this.disposed && version === this.app.version)
                this.show(drawing, window, rows);
            if (window.from !== this.from || window.to !== this.to || window.scroll !== this.scroll)
                this.again = true; /* such as of another chart, which was loaded meanwhile */
        } catch (error) {
            this.app.fail(error);
        }
        this.requested = false;
        if (this.again) {
            this.again = false;
            this.invalidate();
        }
    }

    private paint(): void {
        const colors = ink(this.app.appearance.dark);
        const { flame } = this.options;
        this.painter?.paint(this.boxes, {
            width: this.width,
            height: this.height,
            rowHeight: heights.box,
            top: this.yOf(0, this.drawn.scroll),
            direction: flame ? -1 : 1,
            page: colors.page,
        });
        this.paintOver(colors);
    }

    paintOver(colors: Ink): void {
        this.overlay.paint(colors);
        this.minimap?.paintOver(colors);
    }

    /* --- Reading the chart ------------------------------------------------------------------------ */

    /* The row and the value below the pointer; null: there is no box. */
    private positionAt(event: MouseEvent): [number, number] | null {
        const row = this.rowAt(event.offsetY);
        return row < 0 || row >= this.rows || event.offsetY < this.ruler ? null : [row, this.valueAt(event.offsetX)];
    }

    /* The box below the pointer, or NONE. */
    boxAt(event: MouseEvent): Promise<number> {
        const at = this.positionAt(event);
        return at ? this.app.core.hit(this.options.kind, ...at) : Promise.resolve(NONE);
    }

    /* Selects the box below the pointer, with one request to the core. */
    selectAt(event: MouseEvent): void {
        void this.app.selectAt(this.options.kind, this.positionAt(event));
    }

    /* For users who do not see the canvas: the boxes that are wide enough to matter. */
    visible(): { name: string; row: number; width: number; box: number }[] {
        const out: { name: string; row: number; width: number; box: number }[] = [];
        if (!this.last)
            return out;
        const words = new Uint32Array(this.last.boxes);
        const sizes = new Float32Array(this.last.boxes);
        for (let at = 0; at < words.length && out.length < 200; at += BOX_WORDS) {
            const width = (sizes[at + 1] as number) / this.width;
            if (width >= 0.02)
                out.push({ name: this.app.core.labels.get(words[at + 4] as number) ?? "", row: words[at + 2] as number, width, box: words[at + 3] as number });
        }
        return out;
    }
}
