/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { openFunction } from "../commands";
import { moduleName } from "../format";
import { isPhone } from "../phone";
import { Chart, type TreeRow } from "../protocol";
import { Dot, Ends } from "./name";
import { Change, Figure, Rows } from "./rows";

interface Line {
    row: TreeRow;
    depth: number;
    open: boolean;
}

/* The maximum steps of indentation, and their pixels: on a telephone, names need the width. */
const stepsShown = (): [number, number] => (isPhone() ? [8, 7] : [40, 14]);

/* The levels below a line: each but the last has its first line expanded. */
function unfolded(levels: TreeRow[][], depth: number): Line[] {
    const firsts: Line[] = [];
    let rests: Line[] = [];
    for (const [i, [first, ...rest]] of levels.entries()) {
        if (first)
            firsts.push({ row: first, depth: depth + i, open: i + 1 < levels.length });
        rests = [...rest.map((row) => ({ row, depth: depth + i, open: false })), ...rests];
    }
    return [...firsts, ...rests];
}

/* The levels along a way from the root: each but the last has its line of the way expanded. */
function unfoldedAlong(levels: TreeRow[][], way: number[]): Line[] {
    const parts = levels.map((rows, depth) => {
        const inner = depth + 1 < levels.length;
        const lines = rows.map((row): Line => ({ row, depth, open: inner && row.node === way[depth] }));
        const end = inner ? lines.findIndex((line) => line.open) + 1 : lines.length;
        return [lines.slice(0, end), lines.slice(end)] as const;
    });
    return [...parts.map(([above]) => above), ...parts.map(([, below]) => below).reverse()].flat();
}

/* The tree with the selected function; without one, or if it is in too deep a stack, with the
 * heaviest. */
async function opening(app: App, kind: Chart): Promise<[Line[], number]> {
    const selected = app.chosen?.label;
    const { way, levels } = selected ? await app.core.way(kind, selected) : { way: [], levels: [] };
    if (!way.length)
        return [unfolded(await app.core.heaviest(kind, 0), 0), 0];
    const lines = unfoldedAlong(levels, way);
    return [lines, lines.findIndex((line) => line.row.node === way.at(-1))];
}

/* Expands the line, and below it the lines with most of its weight. */
async function opened(app: App, kind: Chart, lines: Line[], at: number): Promise<Line[]> {
    const line = lines[at] as Line;
    if (line.open || line.row.children === 0)
        return lines;
    const below = unfolded(await app.core.heaviest(kind, line.row.node), line.depth + 1);
    return [...lines.slice(0, at), { ...line, open: true }, ...below, ...lines.slice(at + 1)];
}

function closed(lines: Line[], at: number): Line[] {
    const line = lines[at] as Line;
    let end = at + 1;
    while (end < lines.length && (lines[end] as Line).depth > line.depth)
        end++;
    return [...lines.slice(0, at), { ...line, open: false }, ...lines.slice(end)];
}

export function TreeTable({ app, kind }: { app: App; kind: Chart }) {
    const [lines, setLines] = useState<Line[]>([]);
    const [at, setAt] = useState(0);
    const key = `${app.version} ${kind}`;
    useEffect(() => {
        let stale = false;
        const order = app.live ? 0 : app.state.order; /* live, only boxes remain where they are */
        void Promise.all([app.core.chart(kind, order), opening(app, kind)]).then(([, [first, showing]]) => {
            if (!stale) {
                setLines(first);
                setAt(showing);
            }
        }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [key]);
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const samples = app.estimated;
    const compared = app.comparedWith !== "";
    const [deepest, indent] = stepsShown();
    const up = kind === Chart.Up; /* there a node's weight is the first function's self weight */
    const toggle = (i: number): void => {
        const line = lines[i];
        if (line?.open)
            setLines(closed(lines, i));
        else if (line)
            void opened(app, kind, lines, i).then(setLines);
    };
    const choose = (i: number): void => {
        const line = lines[i];
        if (!line)
            return;
        setAt(i);
        void app.choose(line.row.function.label);
    };
    /* What is folded already goes to the caller, what is unfolded to the first callee. */
    const fold = (open: boolean): void => {
        const line = lines[at];
        if (line && open !== line.open)
            toggle(at);
        else if (line)
            choose(open ? at + 1 : lines.findLastIndex((other, i) => i < at && other.depth < line.depth));
    };
    const enter = (i: number): void => {
        const line = lines[i];
        if (line)
            void openFunction(app, line.row.function.label);
    };
    return (
        <div class={`table calls ${up ? "up" : ""} ${compared ? "compared" : ""}`} role="treegrid" aria-label={up ? "Bottom up" : "Top down"}>
            <div class="heads" role="row">
                {up ? <span role="columnheader" title="For a function its self weight; for a caller below it, the part that came through it">Self</span>
                    : <><span role="columnheader">Total</span><span role="columnheader">Self</span></>}
                {compared && <span role="columnheader" title={app.state.shares ? "In percentage points" : "Of the total"}>{app.state.shares && !isPhone() ? "Change %" : "Change"}</span>}
                <span role="columnheader">{up ? "Function, and below it its callers" : "Function, and below it its callees"}</span>
                <span role="columnheader">Module</span>
            </div>
            <Rows count={lines.length} label={up ? "Bottom up" : "Top down"} role="rowgroup" keys={{ go: choose, toggle: () => toggle(at), fold, enter: () => enter(at) }} showing={at} row={(i) => {
                const { row, depth, open } = lines[i] as Line;
                const f = row.function;
                return (
                    <div key={i} class={`row ${i === at ? "at" : ""} ${f.label === app.chosen?.label ? "chosen" : ""}`} role="row"
                        aria-level={depth + 1} aria-expanded={row.children ? open : undefined} onClick={() => choose(i)} onDblClick={() => enter(i)}
                        onContextMenu={(event) => {
                            event.preventDefault();
                            choose(i);
                            app.menu = { x: event.clientX, y: event.clientY, function: f, stack: null };
                            app.changed();
                        }}>
                        <Figure value={row.total} total={total} unit={unit} samples={samples} />
                        {!up && <Figure value={row.self} total={total} unit={unit} samples={samples} />}
                        {compared && <Change app={app} change={row.change} />}
                        <span class="name" role="cell" style={{ paddingLeft: `${Math.min(depth, deepest) * indent}px` }}>
                            <button type="button" class="twist" tabIndex={-1} aria-label={open ? "Close" : "Open"} disabled={row.children === 0}
                                onClick={(event) => { event.stopPropagation(); toggle(i); }}>
                                {row.children === 0 ? "" : open ? "\u25be" : "\u25b8"}
                            </button>
                            {depth > deepest && <em>{depth}</em>}
                            <Dot app={app} of={f} />
                            <Ends text={f.name} />
                        </span>
                        <span class="module" role="cell" title={f.module}>{moduleName(f.module)}</span>
                    </div>
                );
            }} />
        </div>
    );
}
