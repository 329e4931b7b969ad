/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { ChartView } from "../chart";
import type { Chart } from "../protocol";

interface Props {
    app: App;
    kind: Chart;
    flame: boolean;
    map?: boolean;
    zoomInAddress?: boolean;
    onView?(view: ChartView | null): void;
    follows?: number; /* reloads when it changes */
}

/* A description of the canvas for screen readers, updated shortly after drawing. */
function Spoken({ app, view, kind }: { app: App; view: ChartView | null; kind: Chart }) {
    const [rows, setRows] = useState<ReturnType<ChartView["visible"]>>([]);
    useEffect(() => {
        const timer = setTimeout(() => setRows(view?.visible() ?? []), 400);
        return () => clearTimeout(timer);
    });
    return (
        <ul class="spoken" role="tree" aria-label="Visible frames">
            {rows.map((row) => (
                <li key={row.box} role="treeitem" aria-level={row.row + 1} aria-selected={app.selected?.box === row.box}>
                    <button type="button" tabIndex={-1} onClick={() => void app.select(kind, row.box)}>
                        {row.name}, {(row.width * 100).toFixed(0)} % of the view
                    </button>
                </li>
            ))}
        </ul>
    );
}

export function ChartPane({ app, kind, flame, map = false, zoomInAddress = false, follows = 0, onView }: Props) {
    const host = useRef<HTMLDivElement>(null);
    const [view, setView] = useState<ChartView | null>(null);
    useLayoutEffect(() => {
        const made = new ChartView(app, host.current as HTMLElement, { kind, flame, map, zoomInAddress });
        setView(made);
        onView?.(made);
        if (map)
            app.steered = made;
        return () => {
            if (app.steered === made)
                app.steered = null;
            onView?.(null);
            made.dispose();
        };
    }, [app, kind]);
    useLayoutEffect(() => { /* not after the next frame */
        view?.update({ kind, flame, map, zoomInAddress });
    });
    useLayoutEffect(() => {
        if (view && follows)
            void view.load();
    }, [view, follows]);
    return (
        <section class="chart" data-kind={kind}>
            <div class="canvas" ref={host} tabIndex={0} role="application" aria-label="Flame graph: arrows select, Enter zooms"
                onFocus={() => { if (view) app.steered = view; }} onPointerDown={() => { if (view) app.steered = view; }} />
            <Spoken app={app} view={view} kind={kind} />
        </section>
    );
}
