/* SPDX-License-Identifier: Apache-2.0 */
/* Samples over time: one column per second (or another round time), its parts from
 * bottom to top. Dragging selects a time range, which filters every view. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { css, ink, mix, oklch, type Packed } from "../colors";
import { axisText, eventTitle, shownName, time, weightUnit } from "../format";
import { useFocus } from "../lists";
import type { HeatInfo, ProfileInfo } from "../protocol";

const STEPS = [1, 2, 5].flatMap((n) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10].map((power) => n * power)).concat(6e10, 6e11, 3.6e12)
    .sort((a, b) => a - b);
const LEFT = 52; /* for the labels of the axes */
const BOTTOM = 22;

const PARTS = [50, 40, 25, 20, 10, 8, 5, 4, 2, 1];
const COLUMNS_LEAST = 20; /* of a short recording with few samples */

/* The duration of a column and its parts: a second in fifty parts, unless there would
 * be very few or very many columns. A part has at least two sample periods: otherwise parts between
 * two samples would look like pauses. */
function gridOf({ duration: span, rate, samples }: ProfileInfo): [number, number] {
    const period = 1e9 / (rate || (samples * 1e9) / span);
    const short = span < 20e9, most = short ? 80 : 1200;
    const column = !short && span <= 1200e9 ? 1e9
        : STEPS.find((step) => span / step <= most && (!short || step >= 16 * period || span / step <= COLUMNS_LEAST)) ?? span / 1000;
    return [column, PARTS.find((parts) => parts <= (short ? 20 : 50) && column / parts >= 2 * period) ?? 1];
}

interface Shape {
    column: number; /* pixels */
    row: number;
    width: number; /* of the cells */
    height: number;
}

function shapeOf(canvas: HTMLCanvasElement, heat: HeatInfo): Shape {
    const column = Math.max(1, (canvas.clientWidth - LEFT) / heat.columns);
    const height = canvas.clientHeight - BOTTOM;
    return { column, row: height / heat.rows, width: column * heat.columns, height };
}

const WEAKEST = 0.12; /* of the strongest colour: for more than nothing */

function heatOf(dark: boolean, part: number): Packed {
    const low = dark ? oklch(0.28, 0.02, 260) : oklch(0.96, 0.01, 70);
    const high = dark ? oklch(0.78, 0.16, 60) : oklch(0.55, 0.2, 30);
    return mix(low, high, part);
}

/* The weights of the weakest and the strongest colour. */
interface Scale {
    least: number;
    most: number;
    even: boolean; /* weights are not spread out: equal steps of the weight are equal steps of the colour */
}

const NOTHING: Scale = { least: 0, most: 1, even: false };
const LOW = 0.01; /* the part of the cells that are below the least */
const ALIKE = 0.1; /* of the most: a smaller difference is not shown */
const WIDE = 0.25; /* of the most: below it is the median of weights that are spread out */

/* On a busy machine all cells are nearly full: the colours then begin at the low ones. The last cell is
 * left out if the recording ends in it. */
function scaleOf({ cells: all, span, column, rows }: HeatInfo): Scale {
    const cells = all.slice(0, Math.max(1, Math.floor((span / column) * rows))).sort((a, b) => a - b);
    const at = (part: number): number => cells[Math.floor(part * cells.length)] ?? 0;
    const least = at(LOW), most = all.reduce((a, b) => Math.max(a, b), 0) || 1;
    return { least: most - least > ALIKE * most ? least : 0, most, even: at(0.5) >= WIDE * most };
}

/* The strength of the colour of a weight: 0 is nothing. */
function strengthOf(value: number, { least, most, even }: Scale): number {
    const part = Math.max(0, Math.min(1, (value - least) / (most - least || 1)));
    return value > 0 ? WEAKEST + (1 - WEAKEST) * (even ? part : Math.sqrt(part)) : 0;
}

function paintCells(pen: CanvasRenderingContext2D, heat: HeatInfo, { column, row }: Shape, scale: Scale, dark: boolean): void {
    const cell = heat.column / heat.rows;
    for (let i = 0; i < heat.cells.length && i * cell <= heat.span; i++) {
        const x = LEFT + Math.floor(i / heat.rows) * column;
        const y = (heat.rows - 1 - (i % heat.rows)) * row;
        pen.fillStyle = css(heatOf(dark, strengthOf(heat.cells[i] as number, scale)));
        pen.fillRect(x, y, column > 3 ? column - 1 : column, row > 3 ? row - 1 : row);
    }
}

/* Below, the start of each column; at the left, the time within it. */
function paintAxes(pen: CanvasRenderingContext2D, heat: HeatInfo, { column, height }: Shape, dark: boolean): void {
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    pen.fillStyle = pen.strokeStyle = ink(dark).faint;
    pen.textBaseline = "middle";
    const every = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600].find((n) => n * column >= 70) ?? 1200;
    const text = axisText(every * heat.column, heat.columns * heat.column, "clock");
    for (let at = 0; at < heat.columns; at += every) {
        pen.fillRect(LEFT + at * column, height + 1, 1, 5);
        const label = text(at * heat.column), x = LEFT + at * column + 4;
        if (x + pen.measureText(label).width <= pen.canvas.clientWidth)
            pen.fillText(label, x, height + 13);
    }
    pen.textAlign = "right";
    const within = axisText(heat.column / 4, heat.column, "clock");
    for (const part of [0.25, 0.5, 0.75]) {
        pen.fillRect(LEFT - 5, height * (1 - part), 4, 1);
        pen.fillText(within(part * heat.column), LEFT - 8, height * (1 - part));
    }
}

function paint(canvas: HTMLCanvasElement, heat: HeatInfo, of: Scale, dark: boolean, span: [number, number] | null): void {
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(canvas.clientHeight * scale);
    const pen = canvas.getContext("2d");
    if (!pen)
        return;
    pen.scale(scale, scale);
    const shape = shapeOf(canvas, heat);
    paintCells(pen, heat, shape, of, dark);
    paintAxes(pen, heat, shape, dark);
    if (!span)
        return;
    const from = span[0] / heat.column;
    const to = span[1] / heat.column;
    pen.fillStyle = dark ? "rgb(143 180 255 / 35%)" : "rgb(47 98 201 / 28%)";
    for (let at = Math.floor(from); at < to; at++) {
        const bottom = Math.max(0, from - at) * shape.height;
        const top = Math.min(1, to - at) * shape.height;
        pen.fillRect(LEFT + at * shape.column, shape.height - top, shape.column, top - bottom);
    }
}

/* Of a comparison both maps, one above the other, with the same colours and columns. */
export function HeatMap({ app }: { app: App }) {
    const [extents, setExtents] = useState<Extent[]>([]);
    if (!app.comparedWith)
        return <OneMap app={app} />;
    const measured = (side: 0 | 1) => (one: Extent): void => setExtents((known) => side ? [known[0] ?? one, one] : [one, known[1] ?? one]);
    const of = extents.length ? { least: Math.min(...extents.map((one) => one.least)), most: Math.max(...extents.map((one) => one.most)),
        even: extents.some((one) => one.even), columns: Math.max(...extents.map((one) => one.columns)) } : undefined;
    return (
        <div class="heats">
            <section aria-label="Before"><h2>Before <span class="faint">{shownName(app.comparedWith)}</span></h2><OneMap app={app} side={0} of={of} onExtent={measured(0)} /></section>
            <section aria-label="After"><h2>After <span class="faint">{shownName(app.name)}</span></h2><OneMap app={app} side={1} of={of} onExtent={measured(1)} /></section>
        </div>
    );
}

interface Extent extends Scale {
    columns: number;
}

interface MapProps {
    app: App;
    side?: 0 | 1; /* of a comparison: before, after */
    of?: Extent | undefined; /* of both maps */
    onExtent?(extent: Extent): void; /* of this map alone */
}

/* In place of a map with one cell. */
function OneMoment({ app, at }: { app: App; at: number }) {
    return <p class="nothing">{eventTitle({ name: app.shown?.event_name ?? "", unit: app.shown?.unit ?? "" })}: all of it belongs to one moment, {time(at)}. A heat map needs samples at several times.</p>;
}

function OneMap({ app, side, of, onExtent }: MapProps) {
    const canvas = useRef<HTMLCanvasElement>(null), cells = useRef<HTMLDivElement>(null);
    const [got, setGot] = useState<HeatInfo | null>(null);
    const [why, setWhy] = useState("");
    const [from, setFrom] = useState<number | null>(null);
    const [at, setAt] = useState<{ ns: number; value: number } | null>(null);
    useEffect(() => {
        let stale = false;
        if (!app.profile)
            return undefined;
        const grid = gridOf({ ...app.profile, duration: app.profile.duration || app.tracks.info?.to || 1e9 });
        const asked = side === undefined ? app.core.heat(...grid) : app.core.heatOfSide(side, JSON.stringify(app.shownFilters()), ...grid);
        asked.then(
            (info) => { if (!stale) { setGot(info); setWhy(""); onExtent?.({ ...scaleOf(info), columns: info.columns }); } },
            (error: Error) => { if (!stale) { setGot(null); setWhy(error.message); } });
        return () => { stale = true; };
    }, [app.version]);
    const heat = got && { ...got, columns: Math.max(got.columns, of?.columns ?? 0) };
    useFocus(cells, got !== null);
    const scale = useMemo(() => of ?? (got ? scaleOf(got) : NOTHING), [got, of?.least, of?.most, of?.even]);
    const span: [number, number] | null = from !== null && at && heat
        ? [Math.min(from, at.ns), Math.max(from, at.ns) + heat.column / heat.rows] : null;
    useEffect(() => {
        const now = canvas.current;
        if (!now || !heat)
            return undefined;
        const watcher = new ResizeObserver(() => paint(now, heat, scale, app.appearance.dark, span));
        watcher.observe(now);
        return () => watcher.disconnect();
    });
    if (!heat)
        return <p class="nothing">{why || "Counting samples\u2026"}</p>;
    const only = side === undefined && heat.cells.filter((cell) => cell > 0).length === 1 ? heat.cells.findIndex((cell) => cell > 0) : -1;
    if (only >= 0)
        return <OneMoment app={app} at={(only * heat.column) / heat.rows} />;
    const unit = app.shown?.unit ?? "";
    const find = (event: PointerEvent): { ns: number; value: number } => {
        const { column, row } = shapeOf(event.currentTarget as HTMLCanvasElement, heat);
        const x = Math.max(0, Math.min(heat.columns - 1, Math.floor((event.offsetX - LEFT) / column)));
        const y = Math.max(0, Math.min(heat.rows - 1, heat.rows - 1 - Math.floor(event.offsetY / row)));
        return { ns: (x + y / heat.rows) * heat.column, value: heat.cells[x * heat.rows + y] ?? 0 };
    };
    /* Arrows move from cell to cell; Shift selects a range, and Enter shows only that. */
    const step = heat.column / heat.rows;
    const key = (event: KeyboardEvent): void => {
        const way = ({ ArrowUp: 1, ArrowDown: -1, ArrowRight: heat.rows, ArrowLeft: -heat.rows } as Record<string, number>)[event.key];
        if (way !== undefined) {
            const cell = Math.max(0, Math.min(Math.floor(heat.span / step), Math.round((at?.ns ?? -way * step) / step) + way));
            setFrom(event.shiftKey ? (from ?? at?.ns ?? 0) : null);
            setAt({ ns: cell * step, value: heat.cells[cell] ?? 0 });
        } else if (event.key === "Enter" && span) {
            setFrom(null);
            void app.filters.add({ verb: "time", text: "", from: span[0], to: span[1] });
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="heat">
            <p class="faint">
                <span>
                    Columns of {time(heat.column)}, upwards; cells of {time(heat.column / heat.rows)}.<span class="help"> Drag over a span (or Shift and arrows, Enter) to look at it alone.</span>
                </span>
                {at && <b>{time(at.ns)}: {weightUnit(at.value, unit)}</b>}
                <span class="grow" />
                <span class="legend">
                    <span>
                        {scale.least > 0 ? `${weightUnit(scale.least, unit)} or less` : "0"}
                        <i class="scale" style={{ background: `linear-gradient(to right, ${[0, 0.05, 0.2, 0.5, 1].map((part) =>
                            `${css(heatOf(app.appearance.dark, strengthOf(scale.least + part * (scale.most - scale.least), scale)))} ${part * 100}%`).join(", ")})` }} />
                        {weightUnit(scale.most, unit)} a cell
                    </span>
                </span>
            </p>
            <div class="cells" ref={cells} role="application" aria-label="Heat map: arrows go from cell to cell" tabIndex={0} onKeyDown={key}>
                <canvas ref={canvas} aria-label="Heat map of samples over time" role="img"
                    onPointerDown={(event) => {
                        (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
                        setFrom(find(event).ns);
                        setAt(find(event));
                    }}
                    onPointerMove={(event) => setAt(find(event))}
                    onPointerLeave={() => { if (from === null) setAt(null); }}
                    onPointerUp={() => {
                        setFrom(null);
                        if (span)
                            void app.filters.add({ verb: "time", text: "", from: span[0], to: span[1] });
                    }} />
            </div>
        </div>
    );
}
