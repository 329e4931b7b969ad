/* SPDX-License-Identifier: Apache-2.0 */
/* Who waited for what, and the marks on the time line: tables whose rows select a thread
 * and a span of the tracks. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { spanText } from "../axis";
import { openFunction } from "../commands";
import { count, markText, share, shownName, time } from "../format";
import { type WaitRow, WaitSort, type WaitsInfo } from "../protocol";
import { type MarkRow, markRows } from "../marks";
import { Ends } from "./name";
import { Rows } from "./rows";

const REASONS: Record<WaitRow["reason"], string> = { lock: "lock", disk: "disk", network: "network, pipe", cpu: "a CPU", sleep: "sleep, idle" };
const MARK_LENGTH = 0.005; /* of the recording: the span that is selected around a mark */

const PIECE = 200; /* rows of a reply, as in web/core/waits.h */

const COLUMNS: [WaitSort, string][] = [[WaitSort.Total, "Waited"], [WaitSort.Longest, "Longest"], [WaitSort.Times, "Times"], [WaitSort.Thread, "Thread"], [WaitSort.Reason, "For"],
    [WaitSort.Function, "In"], [WaitSort.Waker, "Woken by"]];
const FIGURES: readonly WaitSort[] = [WaitSort.Total, WaitSort.Longest, WaitSort.Times];

interface Listed extends Omit<WaitsInfo, "rows"> {
    key: string; /* of the profile and the order */
    rows: ReadonlyMap<number, WaitRow>; /* those that were needed */
}

function numbered({ rows }: WaitsInfo, from: number): [number, WaitRow][] {
    return rows.map((row, i) => [from + i, row]);
}

/* The waits in the order of a column. Until its first rows are there, the list is the one before. */
function useWaits(app: App, by: WaitSort) {
    const [list, setList] = useState<Listed | null>(null);
    const key = `${app.version} ${by}`;
    const fail = (error: unknown): void => app.fail(error);
    useEffect(() => {
        let stale = false;
        app.core.waits(by, 0).then((info) => { if (!stale) setList({ ...info, key, rows: new Map(numbered(info, 0)) }); }, fail);
        return () => { stale = true; };
    }, [key]);
    const fetch = async (at: number): Promise<[number, WaitRow][]> => {
        const from = at - (at % PIECE);
        return numbered(await app.core.waits(by, from), from);
    };
    const add = (more: [number, WaitRow][]): void => {
        if (more.length)
            setList((known) => (known?.key === key ? { ...known, rows: new Map([...known.rows, ...more]) } : known));
    };
    const need = (from: number, to: number): void => {
        for (let at = from - (from % PIECE); list?.key === key && at < Math.min(to, list.count); at += PIECE)
            if (!list.rows.has(at))
                fetch(at).then(add, fail);
    };
    /* Keys may go to a row that was not needed yet. */
    const use = (at: number, act: (row: WaitRow) => void): void => {
        const known = list?.rows.get(at);
        if (known)
            act(known);
        else
            fetch(at).then((rows) => rows.filter(([i]) => i === at).forEach(([, row]) => { act(row); })).catch(fail);
    };
    return { list, need, use };
}

/* The samples of a comparison are those of one event, of both recordings. */
function Compared({ app }: { app: App }) {
    const event = (app.profile?.events.findIndex((one) => one.kind === "waiting") ?? -1) + 1;
    return (
        <div class="nothing lack">
            <p>{event ? "The waits of threads for each other are not compared. The waits are, as an event:" : "These recordings have no waits to compare."}</p>
            {event > 0 && <p><button type="button" class="link" onClick={() => void app.setEvent(event, false).then(() => app.setView("changes"))}>compare the waits</button></p>}
        </div>
    );
}

export function Waits({ app }: { app: App }) {
    const [by, setBy] = useState(WaitSort.Usual);
    const [at, setAt] = useState(0);
    const last = useRef(0); /* the row that was chosen last: of one before, the answer may come later */
    const { list, need, use } = useWaits(app, by);
    useEffect(() => setAt(0), [app.version]);
    if (!list)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    if (!list.count && app.comparedWith)
        return <Compared app={app} />;
    if (!list.count)
        return (
            <div class="nothing lack">
                <p>{app.waits ? "No thread waited in what is shown." : "This profile has no waits."}</p>
                {!app.waits && <p><code>stoke record --off-cpu</code> records them; with <code>--wakers</code> also who ended each wait, with <code>--locks</code> also the lock, with <code>--io</code> the file.</p>}
            </div>
        );
    /* Selects the longest of the waits in the tracks. */
    const choose = (i: number): void => {
        setAt(i);
        last.current = i;
        use(i, (row) => {
            if (last.current !== i)
                return;
            app.tracks.reveal(row.tid, row.name);
            app.tracks.select([row.begin, row.begin + row.longest], false);
        });
    };
    const only = (i: number): void =>
        use(i, (row) => void app.filters.selectThreads(row.tid === undefined ? { verb: "comm", text: row.name } : { verb: "tid", text: String(row.tid) }));
    const { woken, most } = list;
    const columns = COLUMNS.filter(([column]) => woken || column !== WaitSort.Waker);
    return (
        <div class={`table waits-table ${woken ? "woken" : ""}`} role="table" aria-label="Waits">
            <div class="heads" role="row">
                {columns.map(([column, title]) => (
                    <div key={column} role="columnheader" aria-sort={by === column ? (FIGURES.includes(column) ? "descending" : "ascending") : "none"}>
                        <button type="button" onClick={() => setBy(by === column ? WaitSort.Usual : column)}>{title}{by === column ? " \u2193" : ""}</button>
                    </div>
                ))}
            </div>
            <Rows count={list.count} onRange={need} label="Waits" role="rowgroup" showing={at} keys={{ go: choose, enter: () => only(at), toggle: () => only(at) }} row={(i) => {
                const wait = list.rows.get(i);
                if (!wait)
                    return <div key={i} class="row" />;
                return (
                    <div key={i} class={`row ${i === at ? "at chosen" : ""}`} role="row" title="A double click: only this thread" onClick={() => choose(i)} onDblClick={() => only(i)}>
                        <span class="figure" role="cell"><i style={{ width: `${(wait.total / most) * 100}%` }} /><b>{time(wait.total)}</b><em>{share(wait.total, app.tracks.info?.to ?? 0)}</em></span>
                        <span class="cell" role="cell">{time(wait.longest)}</span>
                        <span class="cell" role="cell">{count(wait.count)}</span>
                        <span class="name" role="cell"><Ends text={`${shownName(wait.name) || "(no name)"} ${wait.tid ?? ""}`} /></span>
                        <span class="name" role="cell"><i class="wait" style={{ "--stroke": `var(--wait-${wait.reason})`, "--ground": `var(--wait-${wait.reason}-bg)` }} /><Ends text={`${wait.lock_kind ?? REASONS[wait.reason]} ${shownName(wait.lock ?? wait.file ?? "")}`.trim()} /></span>
                        <span class="name" role="cell"><button type="button" class="link" tabIndex={-1} title={shownName(wait.function)}
                            onClick={(event) => { event.stopPropagation(); void openFunction(app, wait.label); }}>{shownName(wait.function) || "(unknown)"}</button></span>
                        {woken && <span class="name" role="cell"><Ends text={[shownName(wait.waker ?? "").replace(" (waker)", ""), wait.waker_tid].filter(Boolean).join(" ")} /></span>}
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
    const near = (info?.to ?? 0) * MARK_LENGTH;
    const rows = markRows((info?.marks ?? []).filter((mark) => mark.at >= from && mark.at <= to), near);
    if (!rows.length)
        return <div class="nothing lack"><p>{info?.marks.length ? "There are no marks in the selected span." : "This profile has no marks: no samples were lost, and there are no tracepoints."}</p></div>;
    const choose = (i: number): void => {
        const row = rows[i];
        setAt(i);
        if (row?.first.thread !== undefined)
            app.tracks.reveal(row.first.tid, row.first.thread);
        if (row)
            app.tracks.select([Math.max(from, row.first.at - near / 2), Math.min(to, row.to + near / 2)], false);
    };
    return (
        <div class="table marks-table" role="table" aria-label="Marks">
            <div class="heads" role="row"><span role="columnheader">Time</span><span role="columnheader">Mark</span><span role="columnheader">Thread</span></div>
            <Rows count={rows.length} label="Marks" role="rowgroup" showing={at} keys={{ go: choose, enter: () => app.tracks.commit() }} row={(i) => {
                const row = rows[i] as MarkRow;
                return (
                    <div key={i} class={`row ${i === at ? "at chosen" : ""}`} role="row" onClick={() => choose(i)} onDblClick={() => app.tracks.commit()}>
                        <span class="cell" role="cell">{row.times > 1 ? spanText(row.first.at, row.to) : time(row.first.at)}</span>
                        <span class="name" role="cell">{markText({ ...row.first, lost: row.lost })}{row.times > 1 && <em class="faint">, {count(row.times)} times</em>}</span>
                        <span class="name" role="cell">{shownName(row.first.thread ?? "")} {row.first.tid}</span>
                    </div>
                );
            }} />
        </div>
    );
}
