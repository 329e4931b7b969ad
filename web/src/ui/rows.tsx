/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of any length: only the visible rows are in the document. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { heights } from "../density";
import { differenceText, intervalText, sideText, verdictText } from "../difference";
import { interval, share, shares, weight } from "../format";
import { type List, useFocus, useList } from "../lists";
import { type Difference, Verdict } from "../protocol";

interface Props {
    count: number;
    row(at: number): ComponentChildren;
    onRange?(from: number, to: number): void;
    label: string;
    role: "rowgroup";
    keys?: Omit<List, "length" | "at">; /* what keys do */
    showing?: number; /* a row to scroll to; keys begin at it */
    beside?: boolean; /* another table has the focus first */
    wide?: number; /* minimum pixels of rows: a table that is narrower scrolls */
}

export function Rows({ count, row, onRange, label, role, keys, showing, beside = false, wide = 0 }: Props) {
    const host = useRef<HTMLDivElement>(null);
    const [range, setRange] = useState<[number, number]>([0, 60]);
    const look = (): void => {
        const at = host.current;
        if (!at)
            return;
        const from = Math.max(0, Math.floor(at.scrollTop / heights.row) - 10);
        const to = Math.min(count, from + Math.ceil(at.clientHeight / heights.row) + 20);
        if (from !== range[0] || to !== range[1])
            setRange([from, to]);
        onRange?.(from, to);
    };
    useLayoutEffect(look);
    useLayoutEffect(() => {
        const at = host.current;
        if (!at || showing === undefined || showing < 0)
            return;
        const y = showing * heights.row;
        if (y < at.scrollTop)
            at.scrollTop = y;
        else if (y + heights.row > at.scrollTop + at.clientHeight)
            at.scrollTop = y + heights.row - at.clientHeight;
    }, [showing]);
    useFocus(host, !beside);
    useList(host, keys && { length: count, at: showing ?? -1, ...keys });
    const rows: ComponentChildren[] = [];
    for (let i = range[0]; i < Math.min(range[1], count); i++)
        rows.push(row(i));
    return (
        <div class={beside ? "rows beside" : "rows"} ref={host} onScroll={look} {...{ role, "aria-label": label }} tabIndex={0}>
            <div class="room" style={{ height: `${count * heights.row}px`, minWidth: `${wide}px` }}>
                <div style={{ transform: `translateY(${range[0] * heights.row}px)` }}>{rows}</div>
            </div>
        </div>
    );
}

const FEW = 10; /* samples: a share of fewer is not significant */

/* A number with its share as a bar; the title has the number, as some views show only the share. Of few
 * samples it is faint, and the confidence interval of the share is its title. `samples` are those of the total. `alone`: not in a table. */
export function Figure({ value, total, unit, samples = 0, alone = false }: { value: number; total: number; unit: string; samples?: number; alone?: boolean }) {
    const part = total > 0 ? Math.max(0, Math.min(1, value / total)) : 0;
    const own = part * samples;
    const few = own > 0 && own < FEW - 1e-6;
    const [low, high] = few ? interval(value, total, samples) : [0, 0];
    return (
        <span class={`figure ${few ? "few" : ""} ${value === 0 ? "none" : ""}`} role={alone ? undefined : "cell"}
            title={few ? `about ${own.toFixed(0)} ${own.toFixed(0) === "1" ? "sample" : "samples"}, too few: the 95 % confidence interval of the share is ${shares(low, high)}` : weight(value, unit)}>
            <i style={{ width: `${part * 100}%` }} />
            <b>{weight(value, unit)}</b>
            <em>{share(value, total)}</em>
        </span>
    );
}

/* The class of a change: its colour. */
export function changeClass(change: Difference): string {
    return change.verdict === Verdict.More ? "rise" : change.verdict === Verdict.Less ? "fall" : "noise";
}

/* The change of a share, in points, or of a weight; grey within noise. */
export function Change({ app, change }: { app: App; change: Difference | undefined }) {
    if (!change)
        return <span class="change" role="cell" />;
    const verdict = verdictText(change);
    const title = `before ${sideText(app, change.before)}, after ${sideText(app, change.after)}; 95 % interval of the change ${intervalText(app, change)}${app.state.shares ? " points" : ""}${verdict ? `; ${verdict}` : ""}`;
    return <span class={`change ${changeClass(change)}`} role="cell" title={title}>{differenceText(app, change.after - change.before)}</span>;
}
