/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that match the search, each with its direct callers above and its direct
 * callees below: pprof's peek. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { count, moduleName } from "../format";
import { type FunctionInfo, type PeekCall, type PeekInfo, Sort } from "../protocol";
import { Dot, Ends, LabelDot } from "./name";
import { Figure, Rows } from "./rows";

const FUNCTIONS_MOST = 300;
const CALLS_MOST = 25; /* callers and callees of each */

type Row =
    | { role: "function"; of: FunctionInfo }
    | { role: "caller" | "callee"; of: FunctionInfo; call: PeekCall }
    | { role: "more"; text: string };

interface Listed {
    rows: Row[];
    begins: Set<number>; /* rows where a function's callers begin, or the function without callers */
    left: number; /* functions that are not listed */
}

function listed(found: PeekInfo[], left: number): Listed {
    const rows: Row[] = [];
    const begins = new Set<number>();
    for (const { function: of, callers, callees, caller_count, callee_count } of found) {
        begins.add(rows.length);
        rows.push(...callers.map((call): Row => ({ role: "caller", call, of })));
        if (caller_count > callers.length)
            rows.push({ role: "more", text: `${count(caller_count - callers.length)} more callers` });
        rows.push({ role: "function", of }, ...callees.map((call): Row => ({ role: "callee", call, of })));
        if (callee_count > callees.length)
            rows.push({ role: "more", text: `${count(callee_count - callees.length)} more callees` });
    }
    return { rows, begins, left };
}

export function Peek({ app }: { app: App }) {
    const [list, setList] = useState<Listed | null>(null);
    const searched = app.found !== null;
    useEffect(() => {
        let stale = false;
        void app.inTurn(async () => {
            const [n, found] = await Promise.all([app.core.functions(Sort.Self, false, searched), app.core.peek(FUNCTIONS_MOST, CALLS_MOST)]);
            if (!stale)
                setList(listed(found, n - found.length));
        }).catch((error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version, app.state.search, app.state.pattern, app.found]);
    if (!list)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const samples = app.estimated;
    const open = (label: number): void => {
        void app.choose(label).then(() => app.setPeek(false));
    };
    const line = (row: Row) => {
        switch (row.role) {
            case "function":
                return (
                    <>
                        <Figure value={row.of.self} total={total} unit={unit} samples={samples} />
                        <Figure value={row.of.total} total={total} unit={unit} samples={samples} />
                        <span class="role" role="cell" />
                        <span class="name" role="cell"><Dot app={app} of={row.of} /><Ends text={row.of.name} /></span>
                        <span class="module" role="cell" title={row.of.module}>{moduleName(row.of.module)}</span>
                    </>
                );
            case "more":
                return <><span role="cell" /><span role="cell" /><span role="cell" /><span class="name" role="cell">{row.text}</span><span role="cell" /></>;
            default:
                return (
                    <>
                        <span role="cell" />
                        <Figure value={row.call.total} total={row.of.total} unit={unit} samples={total > 0 ? (samples * row.of.total) / total : 0} />
                        <span class="role" role="cell">{row.role}</span>
                        <span class="name" role="cell"><LabelDot app={app} label={row.call.label} /><Ends text={row.call.name} /></span>
                        <span role="cell" />
                    </>
                );
        }
    };
    return (
        <div class="table peek" role="table" aria-label="Functions with callers and callees">
            <div class="heads" role="row">
                <span role="columnheader">Self</span>
                <span role="columnheader" title="Shares of callers and callees are of the function's total">Total</span>
                <span role="columnheader">Role</span>
                <span role="columnheader">Function</span>
                <span role="columnheader">Module</span>
            </div>
            <Rows count={list.rows.length} label="Functions with callers and callees" role="rowgroup" row={(at) => {
                const row = list.rows[at];
                if (!row)
                    return null;
                const label = row.role === "more" ? 0 : row.role === "function" ? row.of.label : row.call.label;
                return (
                    <div key={at} role="row" class={`row ${row.role === "function" ? "of" : "call"} ${list.begins.has(at) ? "begins" : ""} ${row.role === "function" && label === app.chosen?.label ? "chosen" : ""}`}
                        onClick={() => { if (label) void app.choose(label); }} onDblClick={() => { if (label) open(label); }}
                        onContextMenu={(event) => {
                            if (row.role !== "function")
                                return;
                            event.preventDefault();
                            void app.choose(label);
                            app.menu = { x: event.clientX, y: event.clientY, function: row.of, stack: null };
                            app.changed();
                        }}>
                        {line(row)}
                    </div>
                );
            }} />
            {list.left > 0 && <p class="faint left">and {count(list.left)} more functions: search to list others</p>}
            {list.rows.length === 0 && <p class="nothing">No function matches.</p>}
        </div>
    );
}
