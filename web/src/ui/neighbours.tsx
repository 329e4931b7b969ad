/* SPDX-License-Identifier: Apache-2.0 */
import { useLayoutEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { count, share } from "../format";
import { Chart, type FunctionInfo, type TreeRow } from "../protocol";
import { Ends } from "./name";

const TOP = 1; /* the node of the function itself, in the trees of its callers and callees */
const NEAR_MOST = 6; /* callers and callees in the side panel */
const NEAR_STACKS = 200000; /* larger profiles do not list them: each selection would take long */

interface Near {
    of: number;
    callers: TreeRow[];
    callees: TreeRow[];
}

/* The heaviest callers and callees of the function. */
export function Neighbours({ app, of, callees = true }: { app: App; of: FunctionInfo; callees?: boolean }) {
    const [near, setNear] = useState<Near | null>(null);
    const few = (app.profile?.stacks ?? 0) < NEAR_STACKS;
    useLayoutEffect(() => {
        if (!few)
            return;
        let stale = false;
        void app.inTurn(async () => {
            const [top, callers, callees] = await Promise.all([app.core.children(Chart.Callers, 0), app.core.children(Chart.Callers, TOP), app.core.children(Chart.Callees, TOP)]);
            const same = top[0]?.function.label === of.label; /* otherwise another one was selected */
            if (!stale)
                setNear({ of: of.label, callers: same ? callers : [], callees: same ? callees : [] });
        }).catch((error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version, of.label]);
    const list = (title: string, rows: TreeRow[]) => rows.length > 0 && (
        <div class="near">
            <h3>{title} <span>{count(rows.length)}</span></h3>
            {rows.slice(0, NEAR_MOST).map((row) => (
                <button type="button" key={row.node} onClick={() => void app.choose(row.function.label)}>
                    <i style={{ width: `${Math.min(100, (row.total / (of.total || 1)) * 100)}%` }} />
                    <Ends text={row.function.name} /><em>{share(row.total, of.total)}</em>
                </button>
            ))}
        </div>
    );
    return near && near.of === of.label ? <>{list("Called by", near.callers)}{callees && list("Calls", near.callees)}</> : null;
}
