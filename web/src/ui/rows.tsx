/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of any length: only the visible rows are in the document. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { interval, share, weight } from "../format";

export const ROW_HEIGHT = 20;

interface Props {
    count: number;
    row(at: number): ComponentChildren;
    onRange?(from: number, to: number): void;
    label: string;
    role: "rowgroup" | "tree";
    onKeyDown?(event: KeyboardEvent): void;
    showing?: number; /* a row to scroll to */
    wide?: number; /* minimum pixels of rows: a table that is narrower scrolls */
}

export function Rows({ count, row, onRange, label, role, onKeyDown, showing, wide = 0 }: Props) {
    const host = useRef<HTMLDivElement>(null);
    const [range, setRange] = useState<[number, number]>([0, 60]);
    const look = (): void => {
        const at = host.current;
        if (!at)
            return;
        const from = Math.max(0, Math.floor(at.scrollTop / ROW_HEIGHT) - 10);
        const to = Math.min(count, from + Math.ceil(at.clientHeight / ROW_HEIGHT) + 20);
        if (from !== range[0] || to !== range[1])
            setRange([from, to]);
        onRange?.(from, to);
    };
    useLayoutEffect(look);
    useLayoutEffect(() => {
        const at = host.current;
        if (!at || showing === undefined || showing < 0)
            return;
        const y = showing * ROW_HEIGHT;
        if (y < at.scrollTop)
            at.scrollTop = y;
        else if (y + ROW_HEIGHT > at.scrollTop + at.clientHeight)
            at.scrollTop = y + ROW_HEIGHT - at.clientHeight;
    }, [showing]);
    const rows: ComponentChildren[] = [];
    for (let i = range[0]; i < Math.min(range[1], count); i++)
        rows.push(row(i));
    return (
        <div class="rows" ref={host} onScroll={look} {...{ role, "aria-label": label }} tabIndex={0} onKeyDown={onKeyDown ?? (() => undefined)}>
            <div class="room" style={{ height: `${count * ROW_HEIGHT}px`, minWidth: `${wide}px` }}>
                <div style={{ transform: `translateY(${range[0] * ROW_HEIGHT}px)` }}>{rows}</div>
            </div>
        </div>
    );
}

const FEW = 10; /* samples: a share of fewer is not significant */

/* A number with its share as a bar; of few samples, with the confidence interval of
 * the share. `samples` are those of the total. */
export function Figure({ value, total, unit, samples = 0 }: { value: number; total: number; unit: string; samples?: number }) {
    const part = total > 0 ? Math.max(0, Math.min(1, value / total)) : 0;
    const own = part * samples;
    const few = own > 0 && own < FEW - 1e-6;
    const [low, high] = few ? interval(value, total, samples) : [0, 0];
    const digits = high < 0.1 ? 1 : 0; /* the interval is wide and needs no more digits */
    return (
        <span class={`figure ${few ? "few" : ""} ${value === 0 ? "none" : ""}`} role="cell"
            title={few ? `about ${own.toFixed(0)} samples: the 95 % confidence interval of the share is ${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)}%` : ""}>
            <i style={{ width: `${part * 100}%` }} />
            <b>{weight(value, unit)}</b>
            <em>{few ? `${(low * 100).toFixed(digits)}\u2013${(high * 100).toFixed(digits)}%` : share(value, total)}</em>
        </span>
    );
}

/* The change of a share. */
export function Change({ before, after, totals }: { before: number; after: number; totals: [number, number] }) {
    const change = (after / (totals[1] || 1) - before / (totals[0] || 1)) * 100;
    const text = Math.abs(change) < 0.005 ? "\u2013" : `${change > 0 ? "+" : "\u2212"}${Math.abs(change).toFixed(2)}`;
    return <span class={`change ${change > 0 ? "more" : "less"}`} role="cell">{text}</span>;
}
