/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiles compared: what changed by more than noise, beside the flame graphs. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { openFunction } from "../commands";
import type { ChartView } from "../chart";
import { differenceText, intervalText } from "../difference";
import { count, eventName, moduleName, share, shownName, signed, time, weight, weightUnit } from "../format";
import { Chart, type ComparisonInfo, type FunctionInfo, NONE, Sort, Tone } from "../protocol";
import { ChartPane } from "./chart";
import { Dot, Ends } from "./name";
import { changeClass, Rows } from "./rows";
import { COMPARED, type Compared } from "../state";
import { isPhone } from "../phone";
import { ColorLegend } from "./toolbar";

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
            <div class="event"><dt>{eventName({ name: after?.event ?? "", unit })}</dt><dd><b>{signed(total - base_total, unit)}</b> <span>{weight(base_total, unit)} {"\u2192"} {weightUnit(total, unit)}{ratio}</span></dd></div>
            <div><dt>Samples</dt><dd>{count(Math.round(before?.samples ?? 0))} {"\u2192"} {count(Math.round(after?.samples ?? 0))}</dd></div>
            <div class="rather"><dt>Changed by more than noise</dt><dd>{count(info.found)} {info.found === 1 ? "function" : "functions"}, {(info.explained * 100).toFixed(0)} % of all changes</dd></div>
            <div class="method rather" title={methodOf(info)}><dt>Method</dt><dd>{methodOf(info)}</dd></div>
            {before?.event !== after?.event && <div><dt>Caution</dt><dd>{shownName(before?.event ?? "")} before, {shownName(after?.event ?? "")} after</dd></div>}
        </dl>
    );
}

const TITLES: Record<Compared, string> = { difference: "Difference", sides: "Side by side", before: "Before", after: "After" };

/* Which flame graphs are shown. */
export function ComparedChoice({ app }: { app: App }) {
    return (
        <div class="segments" role="group" aria-label="Flame graphs">
            {COMPARED.map((one) => <button key={one} type="button" aria-pressed={app.state.compared === one} onClick={() => void app.setCompared(one)}>{TITLES[one]}</button>)}
        </div>
    );
}

const NOISE = "Many functions are tested at once: some of their intervals leave out zero by chance. What remains as a change is expected to have at most 5 % such errors.";

/* The heading above the functions whose change is within the noise. */
function NoiseHeading({ app, of, sum }: { app: App; of: number; sum: number | null }) {
    return (
        <div class="row noise-heading" role="row" title={NOISE}>
            <span role="cell">Within noise</span>
            <span role="cell">{count(of)} {of === 1 ? "function" : "functions"}{sum !== null && `, sum ${differenceText(app, sum)}${app.state.shares ? " points" : ""}`}</span>
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
            const [, largest] = first[0] ?? [];
            if (!app.chosen && largest && info.found > 0)
                void app.choose(largest.label);
        }).catch((error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [key]);
    const need = (from: number, to: number): void => {
        for (let at = Math.floor(from / PIECE) * PIECE; at < Math.min(to, length); at += PIECE)
            if (!rows.has(at))
                void piece(at).then((more) => setRows((known) => new Map([...known, ...more])));
    };
    const { unit, total, base_total } = app.shown ?? { unit: "", total: 0, base_total: 0 };
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
                {app.state.shares ? <span role="columnheader" title="Change of the self share, in percentage points">Change %</span> : <span role="columnheader" title="Change of the self weight">Change</span>}
                <span role="columnheader" title="The 95 % confidence interval of the change">Interval</span>
                <span role="columnheader">Before</span>
                <span role="columnheader">After</span>
                <span role="columnheader">{info.found ? "What explains the change" : "All within noise"}</span>
            </div>
            <Rows count={lines} onRange={(from, to) => need(rowOf(from), rowOf(to))} label="Functions that changed" role="rowgroup" keys={{ go: (to) => void go(to), enter }} showing={now} row={(line) => {
                if (line === noise && noise < length)
                    return <NoiseHeading key="noise" app={app} of={length - noise} sum={searched ? null : info.noise} />;
                const at = rowOf(line);
                const f = rows.get(at);
                const change = f?.self_change;
                if (!f || !change)
                    return <div key={at} class="row" />;
                const delta = change.after - change.before;
                return (
                    <div key={at} class={`row ${changeClass(change)} ${f.label === app.chosen?.label ? "chosen" : ""}`} role="row"
                        onClick={() => void app.choose(f.label)} onDblClick={() => void openFunction(app, f.label)}>
                        <span class="delta" role="cell"><i style={{ width: `${(Math.abs(delta) / largest) * 42}%` }} />{differenceText(app, delta)}</span>
                        <span class="bounds" role="cell">{intervalText(app, change)}</span>
                        {([[f.base_self ?? 0, base_total], [f.self, total]] as const).map(([value, of], i) => {
                            const [amount, part] = [weight(value, unit), share(value, of) || "0 %"];
                            return <span key={i} role="cell" title={app.state.shares ? amount : part}>{app.state.shares ? part : amount}</span>;
                        })}
                        <span class="name" role="cell">{app.state.color !== Tone.Change && <Dot app={app} of={f} />}<Ends text={f.name} /><em class="faint">{moduleName(f.module)}</em></span>
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
            <button type="button" class="link" onClick={() => void app.setCompared("sides")}>before and after side by side</button>
            <button type="button" class="link" onClick={() => void app.setColor(Tone.Name)}>colours by function</button>
        </p>
    );
}

/* Of both profiles, or of one. */
function ComparedCharts({ app }: { app: App }) {
    const { compared, color, flame } = app.state;
    if (compared === "sides")
        return <Sides app={app} />;
    const kind = compared === "before" ? Chart.Before : Chart.Down;
    return (
        <div class="difference">
            {compared === "difference" && app.comparison?.found === 0 && color === Tone.Change && <NoChange app={app} />}
            <ChartPane key={kind} app={app} kind={kind} flame={flame} map zoomInAddress />
        </div>
    );
}

export function Changes({ app }: { app: App }) {
    const { comparison, state } = app;
    if (!comparison)
        return <p class="nothing">Nothing is compared.</p>;
    return (
        <div class="changes">
            <div class="strip"><Figures app={app} info={comparison} />{!isPhone() && <span class="colors"><ColorLegend app={app} wide /></span>}</div>
            <div class={`panes ${state.compared === "sides" ? "both" : ""}`}>
                <Table app={app} info={comparison} />
                <ComparedCharts app={app} />
            </div>
        </div>
    );
}
