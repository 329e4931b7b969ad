/* SPDX-License-Identifier: Apache-2.0 */
/* How the bytes that one function never released grew over time. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { time, weight } from "../format";
import type { FunctionInfo, GrowthInfo } from "../protocol";
import { tokens } from "../tokens";

const COLUMNS = 200;
const HIGH = 40; /* pixels */

/* The colour of its layer in the track of memory, if it has one. */
function colorOfLayer(app: App, name: string): string {
    const { strips } = tokens();
    const at = app.memory.info?.layers.findIndex((_, i) => app.memory.layerName(i) === name) ?? -1;
    return strips[Math.max(0, at)] as string;
}

/* A leak that goes on differs from one at the start by what it adds late. */
function paceOf({ bytes, to }: GrowthInfo): string {
    const half = Math.floor(bytes.length / 2);
    const added = (bytes[bytes.length - 1] ?? 0) - (bytes[half - 1] ?? 0);
    const rate = added / (to / 2e9);
    return added > 0 ? `+${weight(rate, "bytes")}/s in the second half` : "no growth in the second half";
}

function area({ bytes }: GrowthInfo): string {
    const most = Math.max(...bytes, 1);
    const y = (value: number): string => (HIGH - (Math.max(0, value) / most) * (HIGH - 2)).toFixed(1);
    return `M0 ${HIGH}${bytes.map((value, i) => `V${y(value)}H${i + 1}`).join("")}V${HIGH}Z`;
}

export function Growth({ app, of }: { app: App; of: FunctionInfo }) {
    const [got, setGot] = useState<{ of: number; growth: GrowthInfo | null } | null>(null);
    useEffect(() => {
        let stale = false;
        app.core.growth(of.label, COLUMNS).then(
            (growth) => { if (!stale) setGot({ of: of.label, growth }); }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version, of.label]);
    const growth = got?.of === of.label ? got.growth : null;
    if (!growth)
        return null;
    const says = `first at ${time(growth.first)}, ${paceOf(growth)}`;
    return (
        <figure class="growth">
            <figcaption>{growth.event === "leaked" ? "Growth" : "Live bytes"}<span>{says}</span></figcaption>
            <svg viewBox={`0 0 ${COLUMNS} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={`Growth: ${says}`}>
                <path d={area(growth)} fill={colorOfLayer(app, of.name)} />
            </svg>
        </figure>
    );
}
