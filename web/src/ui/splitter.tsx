/* SPDX-License-Identifier: Apache-2.0 */
/* The line between the tracks and the panel below: dragged, or moved by keys. */
import { useRef } from "preact/hooks";
import type { App } from "../app";

const LEAST = 40; /* pixels of the tracks */
const PANEL_LEAST = 340; /* pixels of everything else */
const STEP = 20;

export function Splitter({ app }: { app: App }) {
    const { appearance, tracks } = app;
    const grip = useRef<{ y: number; height: number } | null>(null);
    if (!tracks.info)
        return null;
    const most = Math.max(LEAST, innerHeight - PANEL_LEAST);
    const now = (): number => document.querySelector(".scroller")?.clientHeight ?? LEAST;
    const set = (height: number | null): void => appearance.setTracks(height === null ? null : Math.round(Math.min(most, Math.max(LEAST, height))));
    const onKey = (event: KeyboardEvent): void => {
        const step = { ArrowUp: -STEP, ArrowDown: STEP, PageUp: -5 * STEP, PageDown: 5 * STEP }[event.key];
        if (step !== undefined)
            set(now() + step);
        else if (event.key === "Home" || event.key === "End")
            set(event.key === "Home" ? LEAST : most);
        else if (event.key === "Enter")
            set(null);
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="splitter" role="separator" aria-orientation="horizontal" aria-label="Height of the tracks" tabIndex={0}
            aria-valuemin={LEAST} aria-valuemax={most} aria-valuenow={appearance.tracks ?? Math.min(most, tracks.height)}
            title="Drag, or arrow keys; Enter or a double click: the default" onKeyDown={onKey} onDblClick={() => set(null)}
            onPointerDown={(event) => {
                event.currentTarget.setPointerCapture(event.pointerId);
                grip.current = { y: event.clientY, height: now() };
            }}
            onPointerMove={(event) => { if (grip.current) set(grip.current.height + event.clientY - grip.current.y); }}
            onPointerUp={() => { grip.current = null; }} onPointerCancel={() => { grip.current = null; }} />
    );
}
