/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles compared: what changed by more than noise, beside the flame graphs. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { openFunction } from "../commands";
import type { ChartView } from "../chart";
import { baseName, count, eventName, points, shownName, signed, time, weight, weightUnit } from "../format";
import { Chart, type ComparisonInfo, type FunctionInfo, NONE, Sort, Tone } from "../protocol";
import { ChartPane } from "./chart";
import { Dot, Ends } from "./name";
import { changeClass, intervalText, Rows } from "./rows";
import { CompareTools } from "./toolbar";

const PIECE = 200; /* rows per request */

function methodOf(info: ComparisonInfo): string {
    const [before, after] = info.sides;
    if (before?.timed && after?.timed)
        return `variance over blocks of ${[...new Set([time(before.block), time(after.block)])].join(" \u2192 ")}`;
    const texts = info.sides.map((side) => (side.timed ? `variance over blocks of ${time(side.block)}` : "binomial variance times 4, at best: it has no times"));
    return texts[0] === texts[1] ? texts[0] as string : `before: ${texts[0]}; after: ${texts[1]}`;
}

function Figures({ app, info }: { app: App; info: ComparisonInfo }) {
    const { total, base_total, unit } = app.shown ?? { total: 0, base_total: 0, unit: "" };
    const [before, after] = info.sides;
    const sign = total < base_total ? "\u2212" : "+";
    const ratio = base_total > 0 ? `, ${sign}${Math.abs((total / base_total - 1) * 100).toFixed(0)} %` : "";
    return (
        <dl class="sums">
            <div><dt>{eventName({ name: after?.event ?? "", unit })}</dt><dd><b>{signed(total - base_total, unit)}</b> {weight(base_total, unit)} {"\u2192"} {weightUnit(total, unit)}{ratio}</dd></div>
            <div><dt>Samples</dt><dd>{count(Math.round(before?.samples ?? 0))} {"\u2192"} {count(Math.round(after?.samples ?? 0))}</dd></div>
            <div><dt>Changed by more than noise</dt><dd>{count(info.found)} {info.found === 1 ? "function" : "functions"}, {(info.explained * 100).toFixed(0)} % of all changes</dd></div>
            <div><dt>Method</dt><dd>{methodOf(info)}</dd></div>
            {before?.event !== after?.event && <div><dt>Caution</dt><dd>{shownName(before?.event ?? "")} before, {shownName(after?.event ?? "")} after</dd></div>}
        </dl>
    );
}

function Mode({ app }: { app: App }) {
    const button = (title: string, sides: boolean) => (
        <button type="button" aria-pressed={app.state.sides === sides} onClick={() => app.setSides(sides)}>{title}</button>
    );
    return <div class="modes" role="group" aria-label="Flame graphs">{button("Difference", false)}{button("Side by side", true)}</div>;
}

/* The heading above the functions whose change is within the noise. */
function NoiseHeading({ of, sum, unit }: { of: number; sum: number | null; unit: string }) {
    return (
        <div class="row noise-heading" role="row">
            <span role="cell">Within noise</span>
            <span role="cell">{count(of)} {of === 1 ? "function" : "functions"}{sum !== null && `, sum ${signed(sum, unit)}`}</span>
        </div>
    );
}

/* Functions by the change of their self share: first those beyond the noise, then a heading and the
 * others. */
function Table({ app, info }: { app: App; info: ComparisonInfo }) {
    const [rows, setRows] = useState(new Map<number, FunctionInfo>());
    const [length, setLength] = useState(0);
    const key = `${app.version} ${app.state.search} ${app.state.pattern} ${app.found !== null}`;
    const sort = (): Promise<number> => app.core.functions(Sort.Found, false, app.found !== null);
    const piece = async (from: number): Promise<[number, FunctionInfo][]> =>
        (await app.core.functionRows(from, from + PIECE)).map((row, i) => [from + i, row]);
    useEffect(() => {
        let stale = false;
        void app.inTurn(async () => {
            const [n, first] = await Promise.all([sort(), piece(0)]);
            if (stale)
                return;
            setRows(new Map(first));
            setLength(n);
        }).catch((error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [key]);
    const need = (from: number, to: number): void => {
        for (let at = Math.floor(from / PIECE) * PIECE; at < Math.min(to, length); at += PIECE)
            if (!rows.has(at))
                void piece(at).then((more) => setRows((known) => new Map([...known, ...more])));
    };
    const { unit } = app.shown ?? { unit: "" };
    const largest = Math.max(0.001, ...[...rows.values()].map((f) => Math.abs((f.self_change?.after ?? 0) - (f.self_change?.before ?? 0))));
    const searched = app.found !== null;
    const ofSearch = [...rows].filter(([, row]) => row.self_change && changeClass(row.self_change) === "noise").map(([at]) => at);
    const noise = searched ? Math.min(...ofSearch, length) : info.found; /* the row that has the heading */
    const lines = noise < length ? length + 1 : length;
    const chosenRow = [...rows].find(([, row]) => row.label === app.chosen?.label)?.[0] ?? -1;
    const now = chosenRow < noise ? chosenRow : chosenRow + 1;
    const rowOf = (line: number): number => (line > noise ? line - 1 : line);
    const go = async (line: number): Promise<void> => {
        const down = now < line; /* keys pass the heading */
        const to = line === noise && line < length && !down ? line - 1 : rowOf(line);
        const row = rows.get(to) ?? new Map(await piece(to)).get(to);
        if (row)
            void app.choose(row.label);
    };
    const enter = (): void => {
        if (app.chosen)
            void openFunction(app, app.chosen.label);
    };
    return (
        <div class="table changed" role="table" aria-label="Functions that changed">
            <div class="heads" role="row">
                <span role="columnheader" title="Change of the self share, in percentage points">Change %</span>
                <span role="columnheader" title="The 95 % confidence interval of the change">Interval</span>
                <span role="columnheader">Before</span>
                <span role="columnheader">After</span>
                <span role="columnheader">{info.found ? "What explains the change" : "All within noise"}</span>
            </div>
            <Rows count={lines} onRange={(from, to) => need(rowOf(from), rowOf(to))} label="Functions that changed" role="rowgroup" keys={{ go: (to) => void go(to), enter }} showing={now} row={(line) => {
                if (line === noise && noise < length)
                    return <NoiseHeading key="noise" of={length - noise} sum={searched ? null : info.noise} unit={unit} />;
                const at = rowOf(line);
                const f = rows.get(at);
                const change = f?.self_change;
                if (!f || !change)
                    return <div key={at} class="row" />;
                const delta = change.after - change.before;
                return (
                    <div key={at} class={`row ${changeClass(change)} ${f.label === app.chosen?.label ? "chosen" : ""}`} role="row"
                        onClick={() => void app.choose(f.label)} onDblClick={() => void openFunction(app, f.label)}>
                        <span class="delta" role="cell"><i style={{ width: `${(Math.abs(delta) / largest) * 42}%` }} />{points(delta)}</span>
                        <span class="bounds" role="cell">{intervalText(change)}</span>
                        <span role="cell">{weight(f.base_self ?? 0, unit)}</span>
                        <span role="cell">{weight(f.self, unit)}</span>
                        <span class="name" role="cell"><Dot app={app} of={f} /><Ends text={f.name} /><em class="faint">{shownName(baseName(f.module))}</em></span>
                    </div>
                );
            }} />
        </div>
    );
}

/* The flame graphs before and after, with the same box marked, and zoomed to the same box. */
function Sides({ app }: { app: App }) {
    const views = useRef<[ChartView | null, ChartView | null]>([null, null]);
    const set = (at: 0 | 1) => (view: ChartView | null): void => {
        const [before, after] = views.current;
        for (const known of [before, after])
            known?.mark(NONE);
        views.current[at] = view;
        const [a, b] = views.current;
        if (a)
            a.linked = b;
        if (b)
            b.linked = a;
    };
    const setBefore = useRef(set(0)).current;
    const setAfter = useRef(set(1)).current;
    return (
        <div class="sides">
            <div><h2>Before <span class="faint">{shownName(app.comparedWith)}</span></h2><ChartPane app={app} kind={Chart.Before} flame={app.state.flame} onView={setBefore} /></div>
            <div><h2>After <span class="faint">{shownName(app.name)}</span></h2><ChartPane app={app} kind={Chart.Down} flame={app.state.flame} onView={setAfter} /></div>
        </div>
    );
}

/* All boxes are grey then. */
function NoChange({ app }: { app: App }) {
    return (
        <p class="no-change">
            <span>No change is larger than the noise, so every box is grey. The table has the measured differences;</span>
            <button type="button" class="link" onClick={() => app.setSides(true)}>before and after side by side</button>
            <button type="button" class="link" onClick={() => void app.setColor(Tone.Name)}>colours by function</button>
        </p>
    );
}

export function Changes({ app }: { app: App }) {
    const { comparison, state } = app;
    if (!comparison)
        return <p class="nothing">Nothing is compared.</p>;
    return (
        <div class="changes">
            <div class="strip"><Figures app={app} info={comparison} /><Mode app={app} /><span class="narrow"><CompareTools app={app} /></span></div>
            <div class={`panes ${state.sides ? "both" : ""}`}>
                <Table app={app} info={comparison} />
                {state.sides ? <Sides app={app} /> : (
                    <div class="difference">
                        {comparison.found === 0 && state.color === Tone.Change && <NoChange app={app} />}
                        <ChartPane key="difference" app={app} kind={Chart.Down} flame={state.flame} map zoomInAddress />
                    </div>
                )}
            </div>
        </div>
    );
}
