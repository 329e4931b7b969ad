/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { count, moduleName, share } from "../format";
import { isPhone } from "../phone";
import { Chart, type FunctionInfo, Sort } from "../protocol";
import { ChartPane } from "./chart";
import { Details } from "./details";
import { Dot, Ends } from "./name";
import { Peek } from "./peek";
import { Change, Figure, Rows } from "./rows";

const PIECE = 200; /* rows per request */

const TITLES: Record<string, string> = { file: "File", module: "Name of the module" };

function Heading({ title, about = "", sort, now, set }: { title: string; about?: string; sort: Sort; now: [Sort, boolean]; set(to: [Sort, boolean]): void }) {
    const is = now[0] === sort;
    const text = sort === Sort.Name || sort === Sort.Module;
    return (
        <div role="columnheader" aria-sort={is ? (now[1] ? "ascending" : "descending") : "none"}>
            <button type="button" onClick={() => set([sort, is ? !now[1] : text])}>
                {title}{is ? (now[1] ? " \u2191" : " \u2193") : ""}{about && <small>{about}</small>}
            </button>
        </div>
    );
}

/* The sorted functions that match the search. */
function Functions({ app }: { app: App }) {
    const [sort, setSort] = useState<[Sort, boolean]>([Sort.Self, false]);
    const [length, setLength] = useState(0);
    const [rows, setRows] = useState(new Map<number, FunctionInfo>());
    const compared = app.comparedWith !== "";
    const searched = app.found !== null;
    const key = `${app.version} ${app.state.search} ${app.state.pattern} ${searched} ${sort[0]} ${sort[1]}`;
    useEffect(() => {
        let stale = false;
        void Promise.all([app.core.functions(sort[0], sort[1], searched), app.core.functionRows(0, PIECE)]).then(([n, first]) => {
            if (stale)
                return;
            const hottest = first.find((row) => row.kind !== "idle") ?? first[0];
            if (!app.chosen && hottest)
                void app.choose(hottest.label);
            setRows(new Map(first.map((row, i) => [i, row])));
            setLength(n);
        });
        return () => { stale = true; };
    }, [key]);
    const need = (from: number, to: number): void => {
        for (let at = Math.floor(from / PIECE) * PIECE; at < Math.min(to, length); at += PIECE)
            if (!rows.has(at))
                void app.core.functionRows(at, at + PIECE).then((more) => {
                    const next = new Map(rows);
                    for (const [i, row] of more.entries())
                        next.set(at + i, row);
                    setRows(next);
                });
    };
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const samples = app.estimated;
    const now = [...rows].find(([, row]) => row.label === app.chosen?.label)?.[0] ?? -1;
    const go = async (to: number): Promise<void> => {
        const row = rows.get(to) ?? (await app.core.functionRows(to, to + 1))[0];
        if (row)
            void app.choose(row.label);
    };
    const enter = (): void => (document.querySelector(".slices .canvas") as HTMLElement | null)?.focus();
    return (
        <div class={`table functions ${compared ? "compared" : ""}`} role="table" aria-label="Functions">
            <div class="heads" role="row">
                <Heading title="Self" sort={Sort.Self} now={sort} set={setSort} />
                <Heading title="Total" sort={Sort.Total} now={sort} set={setSort} />
                {compared && <Heading title={app.state.shares && !isPhone() ? "Change %" : "Change"} sort={Sort.Change} now={sort} set={setSort} />}
                <Heading title={TITLES[app.filters.groupedBy] ?? "Function"} about={count(length)} sort={Sort.Name} now={sort} set={setSort} />
                <Heading title="Module" sort={Sort.Module} now={sort} set={setSort} />
            </div>
            <Rows count={length} onRange={need} label="Functions" role="rowgroup" keys={{ go: (to) => void go(to), enter }} showing={now} row={(at) => {
                const f = rows.get(at);
                if (!f)
                    return <div key={at} class="row" />;
                return (
                    <div key={at} class={`row ${f.label === app.chosen?.label ? "chosen" : ""}`} role="row"
                        onClick={() => void app.choose(f.label)}
                        onContextMenu={(event) => {
                            event.preventDefault();
                            void app.choose(f.label);
                            app.menu = { x: event.clientX, y: event.clientY, function: f, stack: null };
                            app.changed();
                        }}>
                        <Figure value={f.self} total={total} unit={unit} samples={samples} />
                        <Figure value={f.total} total={total} unit={unit} samples={samples} />
                        {compared && <Change app={app} change={f.change} />}
                        <span class="name" role="cell"><Dot app={app} of={f} /><Ends text={f.name} /></span>
                        <span class="module" role="cell" title={f.module}>{moduleName(f.module)}</span>
                    </div>
                );
            }} />
            {length === 0 && <p class="nothing">No function matches.</p>}
        </div>
    );
}

/* How the total of the function is divided. */
function Split({ app }: { app: App }) {
    const { chosen } = app;
    if (!chosen?.total || chosen.change)
        return null;
    return <span>self {share(chosen.self, chosen.total)}, callees {share(chosen.total - chosen.self, chosen.total)}</span>;
}

export function Sandwich({ app }: { app: App }) {
    const label = app.chosen?.label ?? 0;
    if (app.state.peek)
        return <Peek app={app} />;
    return (
        <div class="sandwich">
            <Functions app={app} />
            {label && !app.chosen?.total && !app.chosen?.base_total ? (
                <p class="nothing">Nothing of {app.shown?.event_name} is in this function.</p>
            ) : label ? (
                <div class="slices">
                    <Details app={app} head />
                    <h2>Callers</h2>
                    <ChartPane key="callers" app={app} kind={Chart.Callers} flame follows={label} />
                    <h2>Callees <Split app={app} /></h2>
                    <ChartPane key="callees" app={app} kind={Chart.Callees} flame={false} follows={label} />
                </div>
            ) : (
                <p class="nothing">Choose a function to see its callers above and its callees below.</p>
            )}
        </div>
    );
}
