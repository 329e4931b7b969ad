/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph: a box per function, an arrow per call; those below the limits are
 * omitted. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App, Steered } from "../app";
import { css, ink } from "../colors";
import { count, functionName, moduleName, share } from "../format";
import { type Arrow, canLayOut, type Layout, Layouter, type Size } from "../layout";
import { shorten } from "../names";
import type { FunctionInfo, GraphInfo } from "../protocol";
import { START } from "../state";
import { colorOf } from "./name";

const MOST = 600; /* maximum functions in the layout, if the limits are lowered */
const FIRST = 80; /* otherwise: a readable number */
const NAME_MOST = 42; /* characters */
const FONT = '12px system-ui, -apple-system, "Segoe UI", "Noto Sans", Cantarell, sans-serif';
const BOLD = `600 ${FONT}`;
const LEAST_SCALE = 0.04;
const READABLE = 0.8;
const MOST_SCALE = 4;

interface Drawn {
    info: GraphInfo;
    layout: Layout;
}

function linesOf(f: FunctionInfo, total: number, baseTotal: number): string[] {
    const own = f.self > 0 ? `, self ${share(f.self, total)}` : "";
    const points = (f.total / (total || 1) - (f.base_total ?? 0) / (baseTotal || 1)) * 100;
    const change = f.base_total === undefined ? "" : `  ${points < 0 ? "\u2212" : "+"}${Math.abs(points).toFixed(2)}`;
    const module = moduleName(f.module);
    return [shorten(functionName(f.name), NAME_MOST, (text) => text.length, () => 1), ...(module ? [module.slice(0, NAME_MOST)] : []), `${share(f.total, total) || "0 %"}${own}${change}`];
}

function sizeOf(pen: CanvasRenderingContext2D, lines: string[]): Size {
    const widths = lines.map((line, i) => {
        pen.font = i === 0 ? BOLD : FONT;
        return pen.measureText(line).width;
    });
    return { width: Math.max(60, ...widths) + 22, height: lines.length * 16 + 12 };
}

function arrowsOf(info: GraphInfo, total: number): Arrow[] {
    const at = new Map(info.functions.map(({ function: f }, i) => [f.label, i]));
    return info.calls.map((c) => ({
        from: at.get(c.caller) ?? 0,
        to: at.get(c.callee) ?? 0,
        weight: 1 + (c.total / (total || 1)) * 99,
        label: share(c.total, total) || "0 %",
    }));
}


function fillOf(app: App, { function: f }: GraphInfo["functions"][number]): string {
    return css(colorOf(app, f));
}

const MARGIN = 20; /* pixels around the graph */

/* A window on the plane of the graph. */
class Window implements Steered {
    x = 0;
    y = 0;
    scale = 1;
    drawn: Drawn | null = null;

    constructor(readonly app: App, readonly host: SVGSVGElement, readonly moved: () => void) {}

    private get room(): Size {
        return { width: this.host.clientWidth || 1, height: this.host.clientHeight || 1 };
    }

    zoom(factor: number, x = this.room.width / 2, y = this.room.height / 2): void {
        const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, this.scale / factor));
        this.x = x - ((x - this.x) / this.scale) * scale;
        this.y = y - ((y - this.y) / this.scale) * scale;
        this.scale = scale;
        this.moved();
    }

    pan(x: number, y: number): void {
        this.x -= x;
        this.y -= y;
        this.moved();
    }

    reset(): void {
        this.fit(LEAST_SCALE);
    }

    /* Shows all of it or, if that would be smaller than `least`, the surroundings of
     * the heaviest function. */
    fit(least: number): void {
        const { width, height } = this.drawn?.layout ?? { width: 1, height: 1 };
        const room = this.room;
        const whole = Math.min((room.width - 40) / width, (room.height - 40) / height);
        const top = this.drawn?.layout.boxes[0];
        this.scale = Math.min(1, Math.max(least, whole));
        const wide = width * this.scale > room.width - 20;
        this.x = wide && top ? room.width / 2 - top.x * this.scale : (room.width - width * this.scale) / 2;
        this.y = Math.max(20, (room.height - height * this.scale) / 2);
        if (wide && top)
            this.y = Math.min(this.y, room.height / 5 - top.y * this.scale);
        /* no empty margin beside a graph that is larger than the window */
        const inside = (at: number, size: number, most: number): number => (size > most - 2 * MARGIN ? Math.min(MARGIN, Math.max(most - size - MARGIN, at)) : at);
        this.x = inside(this.x, width * this.scale, room.width);
        this.y = inside(this.y, height * this.scale, room.height);
        this.moved();
    }

    private get at(): number {
        return this.drawn?.info.functions.findIndex((f) => f.function.label === this.app.chosen?.label) ?? -1;
    }

    choose(i: number): void {
        const found = this.drawn?.info.functions[i];
        const box = this.drawn?.layout.boxes[i];
        if (!found || !box)
            return;
        void this.app.choose(found.function.label);
        const room = this.room;
        const x = this.x + box.x * this.scale;
        const y = this.y + box.y * this.scale;
        if (x < 60 || x > room.width - 60 || y < 30 || y > room.height - 30) {
            this.x += room.width / 2 - x;
            this.y += room.height / 2 - y;
            this.moved();
        }
    }

    /* Up to the heaviest caller, down to the heaviest callee, or to the nearest box at
     * a side. */
    step(way: number): void {
        const { drawn, at } = this;
        if (!drawn)
            return;
        if (at < 0) {
            this.choose(0);
            return;
        }
        const label = drawn.info.functions[at]?.function.label;
        const index = (wanted: number | undefined): number => drawn.info.functions.findIndex((f) => f.function.label === wanted);
        if (way < 2) {
            const call = drawn.info.calls.find((c) => c.caller !== c.callee && (way === 0 ? c.callee : c.caller) === label);
            this.choose(call ? index(way === 0 ? call.caller : call.callee) : -1);
            return;
        }
        const here = drawn.layout.boxes[at];
        if (!here)
            return;
        const beside = drawn.layout.boxes
            .map((box, i) => ({ i, x: (box.x - here.x) * (way === 2 ? -1 : 1), y: Math.abs(box.y - here.y) }))
            .filter((box) => box.x > 1 && box.y < here.height)
            .sort((a, b) => a.x - b.x);
        this.choose(beside[0]?.i ?? -1);
    }

    enter(): void {
        const box = this.drawn?.layout.boxes[this.at];
        if (!box)
            return;
        this.scale = 1;
        this.x = this.room.width / 2 - box.x;
        this.y = this.room.height / 2 - box.y;
        this.moved();
    }

    match(back: boolean): void {
        const functions = this.drawn?.info.functions ?? [];
        for (let step = 1; step <= functions.length; step++) {
            const i = (this.at + (back ? -step : step) + 2 * functions.length) % functions.length;
            if (functions[i]?.match) {
                this.choose(i);
                return;
            }
        }
    }

    /* All of the graph on a canvas, at most as large as browsers allow. */
    picture(): HTMLCanvasElement | null {
        const { drawn, app } = this;
        const canvas = document.createElement("canvas");
        const pen = canvas.getContext("2d");
        if (!drawn || !pen || !app.shown)
            return null;
        const { layout, info } = drawn;
        const scale = Math.min(2, 8000 / layout.width, 8000 / layout.height);
        const colors = ink(app.appearance.dark);
        canvas.width = Math.ceil((layout.width + 40) * scale);
        canvas.height = Math.ceil((layout.height + 40) * scale);
        pen.fillStyle = css(colors.page);
        pen.fillRect(0, 0, canvas.width, canvas.height);
        pen.setTransform(scale, 0, 0, scale, 20 * scale, 20 * scale);
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.font = FONT;
        for (const [i, arrow] of layout.arrows.entries()) {
            const [x, y, turn] = arrow.end;
            pen.strokeStyle = pen.fillStyle = colors.faint;
            pen.lineWidth = widthOf(info, i, app.shown.total);
            pen.stroke(new Path2D(arrow.path));
            pen.save();
            pen.translate(x, y);
            pen.rotate((turn * Math.PI) / 180);
            pen.fill(new Path2D(HEAD));
            pen.restore();
            pen.fillText(share(info.calls[i]?.total ?? 0, app.shown.total) || "0 %", ...arrow.label);
        }
        for (const [i, found] of info.functions.entries()) {
            const box = layout.boxes[i];
            if (!box)
                continue;
            const lines = linesOf(found.function, app.shown.total, app.shown.base_total);
            pen.fillStyle = fillOf(app, found);
            pen.fillRect(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height);
            pen.fillStyle = colors.text;
            for (const [n, line] of lines.entries()) {
                pen.font = n === 0 ? BOLD : FONT;
                pen.fillText(line, box.x, box.y + (n - (lines.length - 1) / 2) * 16);
            }
        }
        return canvas;
    }
}

const HEAD = "M-1 -4L7 0L-1 4Z"; /* of an arrow; its point is slightly inside of the box */

function widthOf(info: GraphInfo, call: number, total: number): number {
    return 0.8 + 4.2 * Math.sqrt(Math.max(0, (info.calls[call]?.total ?? 0) / (total || 1)));
}

function Lack() {
    return (
        <div class="nothing lack">
            <p>Call graphs are laid out by Graphviz, which this page was made without.</p>
            <p>It is part of the page that <code>stoke view FILE</code> serves, and of a report made
                with <code>stoke convert --with-callgraph FILE -o report.html</code>.</p>
            <p>For the dot program: <code>stoke convert FILE -o graph.dot</code>.</p>
        </div>
    );
}

function Limit({ title, value, set }: { title: string; value: number; set(to: number): void }) {
    return (
        <label>
            {title} from
            <input type="number" min={0} max={100} step="any" value={value} aria-label={`${title} at least, percent`}
                onChange={(event) => {
                    const to = Number(event.currentTarget.value);
                    if (to >= 0 && to <= 100)
                        set(to);
                }} />%
            <input type="range" min={-2} max={1.5} step={0.1} value={Math.log10(Math.max(0.01, value))} tabIndex={-1} aria-hidden="true"
                onChange={(event) => set(Number((10 ** Number(event.currentTarget.value)).toPrecision(2)))} />
        </label>
    );
}

function mostOf(app: App): number {
    const { nodes, edges } = app.state;
    return nodes < START.nodes || edges < START.edges ? MOST : FIRST;
}

function Limits({ app, info }: { app: App; info: GraphInfo | null }) {
    const left = info ? [[info.functions_left, "functions"], [info.calls_left, "calls"]] as const : [];
    const said = left.filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`).join(" and ");
    return (
        <div class="limits">
            <Limit title="Functions" value={app.state.nodes} set={(to) => app.setLimits(to, app.state.edges)} />
            <Limit title="Calls" value={app.state.edges} set={(to) => app.setLimits(app.state.nodes, to)} />
            <span class="faint">
                {info && `${count(info.functions.length)} functions`}
                {said && `; ${said} below the limits`}
                {info && info.functions.length === FIRST && FIRST === mostOf(app) && `; lower the limits to see up to ${MOST}`}
            </span>
        </div>
    );
}

/* The look changes more often than the layout: a new layout is made only for other
 * functions or calls. */
function useGraph(app: App): [Drawn | null, GraphInfo | null, string] {
    const [drawn, setDrawn] = useState<Drawn | null>(null);
    const [why, setWhy] = useState("");
    const [info, setInfo] = useState<GraphInfo | null>(null);
    const layouter = useMemo(() => new Layouter(), []);
    const placed = useRef("");
    useEffect(() => () => layouter.dispose(), []);
    useEffect(() => {
        let stale = false;
        const { nodes, edges } = app.state;
        const key = `${app.version} ${nodes} ${edges}`;
        const total = app.shown?.total ?? 0;
        const baseTotal = app.shown?.base_total ?? 0;
        const lay = async (): Promise<void> => {
            const got = await app.core.graph(nodes / 100, edges / 100, mostOf(app));
            if (stale)
                return;
            setInfo(got);
            if (placed.current === key) {
                setDrawn((before) => before && { ...before, info: got });
                return;
            }
            const pen = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
            const boxes = got.functions.map(({ function: f }) => sizeOf(pen, linesOf(f, total, baseTotal)));
            const layout = await layouter.layOut(boxes, arrowsOf(got, total));
            if (stale && !app.live) /* the live page changes while a layout runs: a late one is shown */
                return;
            placed.current = key;
            setWhy("");
            setDrawn({ info: got, layout });
        };
        lay().catch((error: Error) => {
            if (!stale) {
                setDrawn(null);
                setWhy(error.message);
            }
        });
        return () => { stale = true; };
    }, [app.version, app.looks, app.state.nodes, app.state.edges]);
    return [drawn, info, why];
}

function Picture({ app, drawn }: { app: App; drawn: Drawn }) {
    const { info, layout } = drawn;
    const total = app.shown?.total ?? 0;
    const label = app.chosen?.label ?? 0;
    const act = (i: number) => info.functions[i]?.function as FunctionInfo;
    return (
        <>
            {layout.arrows.map((arrow, i) => {
                const call = info.calls[i];
                const near = label !== 0 && (call?.caller === label || call?.callee === label);
                return (
                    <g key={`a${call?.caller} ${call?.callee}`} class={`call ${near ? "near" : ""}`}>
                        <path class="line" d={arrow.path} stroke-width={widthOf(info, i, total)} />
                        <path class="head" d={HEAD} transform={`translate(${arrow.end[0]} ${arrow.end[1]}) rotate(${arrow.end[2]})`} />
                        <text x={arrow.label[0]} y={arrow.label[1]}>{share(call?.total ?? 0, total) || "0 %"}</text>
                    </g>
                );
            })}
            {layout.boxes.map((box, i) => {
                const found = info.functions[i];
                if (!found)
                    return null;
                const lines = linesOf(found.function, total, app.shown?.base_total ?? 0);
                return (
                    <g key={found.function.label} class={`function ${found.function.label === label ? "chosen" : ""} ${found.match ? "match" : ""}`} role="treeitem" tabIndex={-1}
                        aria-selected={found.function.label === label} aria-description={lines.slice(1).join(", ")} data-label={found.function.label}
                        transform={`translate(${box.x} ${box.y})`}
                        onClick={() => void app.choose(found.function.label)}
                        onDblClick={() => void app.filters.add({ verb: "focus", text: act(i).name, exact: true })}
                        onContextMenu={(event) => {
                            event.preventDefault();
                            void app.choose(found.function.label);
                            app.menu = { x: event.clientX, y: event.clientY, function: act(i), stack: null };
                            app.changed();
                        }}>
                        <title>{functionName(found.function.name).slice(0, 4000)}</title>
                        <rect x={-box.width / 2} y={-box.height / 2} width={box.width} height={box.height} rx={4} fill={fillOf(app, found)} />
                        {lines.map((line, n) => <text key={n} class={n === 0 ? "first" : ""} y={(n - (lines.length - 1) / 2) * 16}>{line}</text>)}
                    </g>
                );
            })}
        </>
    );
}

export function CallGraph({ app }: { app: App }) {
    return canLayOut() ? <Graph app={app} /> : <Lack />;
}

function Graph({ app }: { app: App }) {
    const [drawn, info, why] = useGraph(app);
    const host = useRef<SVGSVGElement>(null);
    const plane = useRef<SVGGElement>(null);
    const window = useRef<Window | null>(null);
    const fingers = useRef(new Map<number, PointerEvent>());
    useEffect(() => {
        const svg = host.current as SVGSVGElement;
        const view = new Window(app, svg, () =>
            plane.current?.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`));
        window.current = app.steered = view;
        const wheel = (event: WheelEvent): void => {
            event.preventDefault();
            const unit = event.deltaMode === 1 ? 16 : 1;
            const at = svg.getBoundingClientRect();
            if (event.ctrlKey || event.metaKey || event.altKey)
                view.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.008), event.clientX - at.left, event.clientY - at.top);
            else
                view.pan(event.deltaX * unit, event.deltaY * unit);
        };
        svg.addEventListener("wheel", wheel, { passive: false });
        return () => {
            svg.removeEventListener("wheel", wheel);
            if (app.steered === view)
                app.steered = null;
        };
    }, [app]);
    useEffect(() => {
        const view = window.current;
        if (!view)
            return;
        view.drawn = drawn;
        view.fit(READABLE);
    }, [drawn?.layout]);
    useEffect(() => {
        if (window.current)
            window.current.drawn = drawn;
    }, [drawn]);
    /* One finger or the mouse pans, two zoom around the point between them. */
    const move = (event: PointerEvent): void => {
        const held = fingers.current;
        const last = held.get(event.pointerId);
        if (!last)
            return;
        const other = [...held.values()].find((finger) => finger.pointerId !== event.pointerId);
        if (other) {
            const at = (host.current as SVGSVGElement).getBoundingClientRect();
            const far = (a: PointerEvent): number => Math.max(8, Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY));
            window.current?.zoom(far(last) / far(event), (event.clientX + other.clientX) / 2 - at.left, (event.clientY + other.clientY) / 2 - at.top);
        } else {
            window.current?.pan(last.clientX - event.clientX, last.clientY - event.clientY);
        }
        held.set(event.pointerId, event);
    };
    const release = (event: PointerEvent): void => { fingers.current.delete(event.pointerId); };
    return (
        <div class="graph">
            <Limits app={app} info={info} />
            {why && <p class="nothing">{why}</p>}
            {!drawn && !why && <p class="nothing">Laying out{"\u2026"}</p>}
            <svg ref={host} role="tree" aria-label="Call graph: arrows go to callers and callees" tabIndex={0}
                onPointerDown={(event) => { if (event.button === 0) fingers.current.set(event.pointerId, event); }}
                onPointerMove={move} onPointerUp={release} onPointerCancel={release} onPointerLeave={release}>
                <g ref={plane}>{drawn && <Picture app={app} drawn={drawn} />}</g>
            </svg>
        </div>
    );
}
