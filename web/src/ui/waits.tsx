/* SPDX-License-Identifier: Apache-2.0 */
/* Who waited for what, and the marks on the time line: tables whose rows select a thread
 * and a span of the tracks. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { openFunction } from "../commands";
import { count, markText, share, shownName, time } from "../format";
import type { Mark, WaitRow } from "../protocol";
import { Ends } from "./name";
import { Rows } from "./rows";

const REASONS: Record<WaitRow["reason"], string> = { lock: "lock", disk: "disk", network: "network, pipe", cpu: "a CPU", sleep: "sleep, idle" };
const MARK_LENGTH = 0.005; /* of the recording: the span that is selected around a mark */

type Column = "name" | "reason" | "function" | "waker" | "count" | "total" | "longest";
const COLUMNS: [Column, string][] = [["total", "Waited"], ["longest", "Longest"], ["count", "Times"], ["name", "Thread"], ["reason", "For"], ["function", "In"], ["waker", "Woken by"]];

function sorted(rows: WaitRow[], by: Column | null): WaitRow[] {
    if (!by)
        return rows;
    return [...rows].sort((a, b) => {
        const x = a[by] ?? "", y = b[by] ?? "";
        return typeof x === "number" && typeof y === "number" ? y - x : String(x).localeCompare(String(y));
    });
}

export function Waits({ app }: { app: App }) {
    const [rows, setRows] = useState<WaitRow[] | null>(null);
    const [by, setBy] = useState<Column | null>(null);
    const [at, setAt] = useState(0);
    useEffect(() => {
        let stale = false;
        app.core.waits().then((got) => { if (!stale) { setRows(got); setAt(0); } }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    if (!rows)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    if (!rows.length)
        return (
            <div class="nothing lack">
                <p>{app.waits ? "No thread waited in what is shown." : "This profile has no waits."}</p>
                {!app.waits && <p><code>stoke record --off-cpu</code> records them; with <code>--wakers</code> also who ended each wait, with <code>--locks</code> also the lock.</p>}
            </div>
        );
    const list = sorted(rows, by);
    const most = Math.max(...rows.map((row) => row.total));
    /* Selects the longest of the waits in the tracks. */
    const choose = (i: number): void => {
        const row = list[i];
        setAt(i);
        if (row) {
            app.tracks.reveal(row.tid, row.name);
            app.tracks.select([row.begin, row.begin + row.longest], false);
        }
    };
    const only = (i: number): void => {
        const row = list[i];
        if (row)
            void app.filters.selectThreads(row.tid === undefined ? { verb: "comm", text: row.name } : { verb: "tid", text: String(row.tid) });
    };
    const woken = rows.some((row) => row.waker);
    const columns = COLUMNS.filter(([column]) => woken || column !== "waker");
    return (
        <div class={`table waits-table ${woken ? "woken" : ""}`} role="table" aria-label="Waits">
            <div class="heads" role="row">
                {columns.map(([column, title]) => (
                    <div key={column} role="columnheader" aria-sort={by === column ? (["total", "longest", "count"].includes(column) ? "descending" : "ascending") : "none"}>
                        <button type="button" onClick={() => setBy(by === column ? null : column)}>{title}{by === column ? " \u2193" : ""}</button>
                    </div>
                ))}
            </div>
            <Rows count={list.length} label="Waits" role="rowgroup" showing={at} keys={{ go: choose, enter: () => only(at), toggle: () => only(at) }} row={(i) => {
                const row = list[i] as WaitRow;
                return (
                    <div key={i} class={`row ${i === at ? "at chosen" : ""}`} role="row" title="A double click: only this thread" onClick={() => choose(i)} onDblClick={() => only(i)}>
                        <span class="figure" role="cell"><i style={{ width: `${(row.total / most) * 100}%` }} /><b>{time(row.total)}</b><em>{share(row.total, app.tracks.info?.to ?? 0)}</em></span>
                        <span class="cell" role="cell">{time(row.longest)}</span>
                        <span class="cell" role="cell">{count(row.count)}</span>
                        <span class="name" role="cell"><Ends text={`${shownName(row.name) || "(no name)"} ${row.tid ?? ""}`} /></span>
                        <span class="name" role="cell"><i class="wait" style={{ "--stroke": `var(--wait-${row.reason})`, "--ground": `var(--wait-${row.reason}-bg)` }} /><Ends text={row.lock ? `${REASONS[row.reason]} ${shownName(row.lock)}` : REASONS[row.reason]} /></span>
                        <span class="name" role="cell"><button type="button" class="link" tabIndex={-1} title={shownName(row.function)}
                            onClick={(event) => { event.stopPropagation(); void openFunction(app, row.label); }}>{shownName(row.function) || "(unknown)"}</button></span>
                        {woken && <span class="name" role="cell"><Ends text={[shownName(row.waker ?? "").replace(" (waker)", ""), row.waker_tid].filter(Boolean).join(" ")} /></span>}
                    </div>
                );
            }} />
        </div>
    );
}

export function Marks({ app }: { app: App }) {
    const [at, setAt] = useState(0);
    const { info } = app.tracks;
    const [from, to] = app.tracks.committed;
    const marks = (info?.marks ?? []).filter((mark) => mark.at >= from && mark.at <= to);
    if (!marks.length)
        return <div class="nothing lack"><p>{info?.marks.length ? "There are no marks in the selected span." : "This profile has no marks: no samples were lost, and there are no tracepoints."}</p></div>;
    const choose = (i: number): void => {
        const mark = marks[i];
        const half = ((info?.to ?? 0) * MARK_LENGTH) / 2;
        setAt(i);
        if (mark?.thread !== undefined)
            app.tracks.reveal(mark.tid, mark.thread);
        if (mark)
            app.tracks.select([Math.max(from, mark.at - half), Math.min(to, mark.at + half)], false);
    };
    return (
        <div class="table marks-table" role="table" aria-label="Marks">
            <div class="heads" role="row"><span role="columnheader">Time</span><span role="columnheader">Mark</span><span role="columnheader">Thread</span></div>
            <Rows count={marks.length} label="Marks" role="rowgroup" showing={at} keys={{ go: choose, enter: () => app.tracks.commit() }} row={(i) => {
                const mark = marks[i] as Mark;
                return (
                    <div key={i} class={`row ${i === at ? "at chosen" : ""}`} role="row" onClick={() => choose(i)} onDblClick={() => app.tracks.commit()}>
                        <span class="cell" role="cell">{time(mark.at)}</span>
                        <span class="name" role="cell">{markText(mark)}</span>
                        <span class="name" role="cell">{shownName(mark.thread ?? "")} {mark.tid}</span>
                    </div>
                );
            }} />
        </div>
    );
}
