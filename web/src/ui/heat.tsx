/* When samples came: a column a second (or another round time), its parts from bottom to
 * top. A span that is dragged over filters every view. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { css, mix, oklch } from "../colors";
import { time, weightUnit } from "../format";
import type { HeatInfo } from "../protocol";

const ROWS = 50;
const STEPS = [1e6, 1e7, 1e8, 1e9, 1e10, 6e10, 6e11, 3.6e12];

/* A column's time: a second, unless there would be very few columns or very many, or far
 * more cells than samples. */
function columnTime(span: number, samples: number): number {
    if (span / 1e9 >= 20 && span / 1e9 <= 1200)
        return 1e9;
    const most = Math.max(24, Math.min(span < 20e9 ? 240 : 1200, samples / ROWS));
    return STEPS.find((step) => span / step <= most) ?? span / 1000;
}

interface Shape {
    column: number; /* pixels */
    row: number;
}

function shapeOf(canvas: HTMLCanvasElement, heat: HeatInfo): Shape {
    const width = canvas.clientWidth;
    return { column: Math.max(1, Math.min(40, width / heat.columns)), row: canvas.clientHeight / heat.rows };
}

function paint(canvas: HTMLCanvasElement, heat: HeatInfo, dark: boolean, span: [number, number] | null): void {
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(canvas.clientHeight * scale);
    const pen = canvas.getContext("2d");
    if (!pen)
        return;
    pen.scale(scale, scale);
    const { column, row } = shapeOf(canvas, heat);
    const most = heat.cells.reduce((a, b) => Math.max(a, b), 0) || 1;
    const low = dark ? oklch(0.28, 0.02, 260) : oklch(0.96, 0.01, 70);
    const high = dark ? oklch(0.78, 0.16, 60) : oklch(0.55, 0.2, 30);
    for (let i = 0; i < heat.cells.length; i++) {
        const value = heat.cells[i] as number;
        const x = Math.floor(i / heat.rows) * column;
        const y = (heat.rows - 1 - (i % heat.rows)) * row;
        pen.fillStyle = css(value > 0 ? mix(low, high, 0.12 + 0.88 * Math.sqrt(value / most)) : low);
        pen.fillRect(x, y, column > 3 ? column - 1 : column, row > 3 ? row - 1 : row);
    }
    if (span) {
        const from = span[0] / heat.column;
        const to = span[1] / heat.column;
        pen.fillStyle = dark ? "rgb(143 180 255 / 35%)" : "rgb(47 98 201 / 28%)";
        for (let at = Math.floor(from); at < to; at++) {
            const bottom = Math.max(0, from - at) * canvas.clientHeight;
            const top = Math.min(1, to - at) * canvas.clientHeight;
            pen.fillRect(at * column, canvas.clientHeight - top, column, top - bottom);
        }
    }
}

export function HeatMap({ app }: { app: App }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const [heat, setHeat] = useState<HeatInfo | null>(null);
    const [why, setWhy] = useState("");
    const [from, setFrom] = useState<number | null>(null);
    const [at, setAt] = useState<{ ns: number; value: number } | null>(null);
    useEffect(() => {
        let stale = false;
        const span = app.profile?.duration ?? 0;
        app.core.heat(columnTime(span, app.shown?.samples ?? 0), ROWS).then(
            (info) => { if (!stale) { setHeat(info); setWhy(""); } },
            (error: Error) => { if (!stale) { setHeat(null); setWhy(error.message); } });
        return () => { stale = true; };
    }, [app.version]);
    const span: [number, number] | null = from !== null && at && heat
        ? [Math.min(from, at.ns), Math.max(from, at.ns) + heat.column / heat.rows] : null;
    useEffect(() => {
        const now = canvas.current;
        if (!now || !heat)
            return undefined;
        const watcher = new ResizeObserver(() => paint(now, heat, app.dark, span));
        watcher.observe(now);
        return () => watcher.disconnect();
    });
    if (!heat)
        return <p class="nothing">{why || "Counting samples\u2026"}</p>;
    const find = (event: PointerEvent): { ns: number; value: number } => {
        const target = event.currentTarget as HTMLCanvasElement;
        const { column, row } = shapeOf(target, heat);
        const x = Math.max(0, Math.min(heat.columns - 1, Math.floor(event.offsetX / column)));
        const y = Math.max(0, Math.min(heat.rows - 1, heat.rows - 1 - Math.floor(event.offsetY / row)));
        return { ns: (x + y / heat.rows) * heat.column, value: heat.cells[x * heat.rows + y] ?? 0 };
    };
    return (
        <div class="heat">
            <p class="faint">
                A column is {time(heat.column)}, from its begin below to its end above; a cell is {time(heat.column / heat.rows)}.
                Drag over a span to look at it alone.
                {at && <b> {time(at.ns)}: {weightUnit(at.value, app.shown?.unit ?? "")}</b>}
            </p>
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
                        void app.addFilter({ verb: "time", text: "", from: span[0], to: span[1] });
                }} />
        </div>
    );
}
