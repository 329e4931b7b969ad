/* SPDX-License-Identifier: Apache-2.0 */
import { useLayoutEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { count, share } from "../format";
import type { FunctionInfo, NeighboursInfo } from "../protocol";
import { Ends } from "./name";

const NEAR_MOST = 6; /* callers and callees in the side panel */
const NEAR_STACKS = 200000; /* larger profiles do not list them: each selection would take long */

interface Near {
    of: number;
    callers: NeighboursInfo;
    callees: NeighboursInfo;
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
            if (stale || app.chosen?.label !== of.label)
                return; /* another one was selected */
            const [callers, callees] = await app.core.neighbours(NEAR_MOST);
            if (!stale)
                setNear({ of: of.label, callers, callees });
        }).catch((error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version, of.label]);
    const list = (title: string, { count: all, rows }: NeighboursInfo) => all > 0 && (
        <div class="near">
            <h3>{title} <span>{count(all)}</span></h3>
            {rows.map((row) => (
                <button type="button" key={row.function.label} onClick={() => void app.choose(row.function.label)}>
                    <i style={{ width: `${Math.min(100, (row.total / (of.total || 1)) * 100)}%` }} />
                    <Ends text={row.function.name} /><em>{share(row.total, of.total)}</em>
                </button>
            ))}
        </div>
    );
    return near && near.of === of.label ? <>{list("Called by", near.callers)}{callees && list("Calls", near.callees)}</> : null;
}
