/* SPDX-License-Identifier: Apache-2.0 */
/* The menu of a track: opened by a right click or by the menu key. */
import { useEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import type { Track } from "../tracks";

export interface TrackMenuAt {
    x: number;
    y: number;
    row: Track;
}

export function TrackMenu({ app, at, close }: { app: App; at: TrackMenuAt; close(): void }) {
    const { tracks } = app;
    const { row } = at;
    const host = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const before = document.activeElement as HTMLElement | null;
        (host.current?.querySelector("button") as HTMLElement | null)?.focus();
        addEventListener("pointerdown", close);
        return () => {
            removeEventListener("pointerdown", close);
            before?.focus();
        };
    }, []);
    const filter = tracks.filterOf(row);
    const items: [string, () => void][] = [];
    if (filter)
        items.push([tracks.isSelected(row) ? "End the selection" : `Only this ${row.kind === "cpu" ? "CPU" : row.kind}`, () => tracks.selectTrack(row)]);
    if (row.kind === "process" || row.kind === "thread")
        items.push(["Hide the track", () => tracks.hide(row)], ["Show no other tracks", () => tracks.isolate(row)]);
    if (row.kind === "process")
        items.push([tracks.isPinned(row) ? "Unpin" : "Pin to the top", () => tracks.pin(row)],
            ["Move up (Alt \u2191)", () => tracks.move(row, -1)], ["Move down (Alt \u2193)", () => tracks.move(row, 1)]);
    if (tracks.folds(row))
        items.push([tracks.isOpen(row) ? "Close" : "Open", () => tracks.fold(row)]);
    if (row.kind === "before" || row.kind === "after")
        items.push(["Swap before and after", () => void app.opening.swap()], ["End the comparison", () => void app.endComparison()]);
    const { memory } = app;
    if (row.kind === "memory") {
        items.push(["The heap at its peak", () => void memory.showMoment(memory.info?.peakAt ?? 0)]);
        for (const way of memory.info?.ways ?? [])
            if (way !== memory.info?.by)
                items.push([`Stack by ${way}`, () => void memory.stackBy(way)]);
    }
    if (tracks.info?.processes.length)
        items.push(["Sort by activity", () => tracks.sort()], ["Choose tracks\u2026", () => app.openDialog("tracks")]);
    const onKey = (event: KeyboardEvent): void => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const all = [...(host.current?.querySelectorAll("button") ?? [])];
        const now = all.indexOf(document.activeElement as HTMLButtonElement);
        event.stopPropagation();
        if (event.key === "Escape" || event.key === "Tab")
            close();
        else if (step !== undefined)
            all[(now + step + all.length) % all.length]?.focus();
        else
            return;
        event.preventDefault();
    };
    const style = { left: `${Math.min(at.x, innerWidth - 220)}px`, top: `${Math.min(at.y, innerHeight - items.length * 32 - 20)}px` };
    return (
        <div class="menu" role="menu" aria-label="Track" ref={host} style={style} onKeyDown={onKey} onPointerDown={(event) => event.stopPropagation()}>
            {items.map(([title, run]) => <button type="button" role="menuitem" key={title} onClick={() => { close(); run(); }}>{title}</button>)}
        </div>
    );
}
