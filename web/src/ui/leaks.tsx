/* SPDX-License-Identifier: Apache-2.0 */
/* Beside the flame graph of what was never freed: the functions that allocated it. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { openSource } from "../commands";
import { baseName, count, share, shownName, weight } from "../format";
import { type FunctionInfo, Sort } from "../protocol";

const SHOWN = 12; /* functions */
const COUNTED = 1000;

export function showsLeaks(app: App): boolean {
    return app.memory.info !== null && app.shown?.event_name === "leaked";
}

export function Leaks({ app }: { app: App }) {
    const [rows, setRows] = useState<FunctionInfo[]>([]);
    useEffect(() => {
        let stale = false;
        void app.inTurn(async () => {
            const [, found] = await Promise.all([app.core.functions(Sort.Self, false, false), app.core.functionRows(0, COUNTED)]);
            if (!stale)
                setRows(found.filter((one) => one.self > 0));
        }).catch((error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const rest = rows.slice(SHOWN).reduce((sum, one) => sum + one.self, 0);
    return (
        <aside class="details leaks" aria-label="Details">
            <h2>Leaks <span class="faint">never freed at exit</span><b>{weight(total, unit)} in {rows.length === COUNTED ? "more than " : ""}{count(rows.length)} {rows.length === 1 ? "function" : "functions"}</b></h2>
            <table>
                <thead><tr><th>Bytes</th><th>Share</th><th>Allocated by</th></tr></thead>
                <tbody>
                    {rows.slice(0, SHOWN).map((one) => (
                        <tr key={one.label}>
                            <td>{weight(one.self, unit)}</td>
                            <td>{share(one.self, total)}</td>
                            <td>
                                <button type="button" class="link" onClick={() => void app.choose(one.label)}>{shownName(one.name)}</button>
                                {one.file ? <button type="button" class="link" title={shownName(one.file)} onClick={() => openSource(app, one.file)}>{shownName(baseName(one.file))}{one.line ? `:${one.line}` : ""}</button>
                                    : <span class="faint">{shownName(baseName(one.module))}</span>}
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {rest > 0 && <p class="faint">{count(rows.length - SHOWN)} more, {weight(rest, unit)}</p>}
        </aside>
    );
}
