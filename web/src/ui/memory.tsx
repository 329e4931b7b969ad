/* SPDX-License-Identifier: Apache-2.0 */
/* The track of memory: what its layers are, its peak, and the figures of the selected span. */
import type { App } from "../app";
import { time, weight } from "../format";
import { formsOf } from "../names";
import { isPhone } from "../phone";
import { MEMORY_LAYERS, type MemoryWay } from "../protocol";
import { tokens } from "../tokens";
import type { Track } from "../tracks";
import type { TracksView } from "../tracks_view";
import { Ends } from "./name";

const bytes = (value: number): string => weight(value, "bytes");

/* Centred on x in the middle, and never outside of the tracks. */
const within = (view: TracksView, x: number): Record<string, string> => ({ left: `${x}px`, transform: `translateX(-${(x / Math.max(1, view.width)) * 100}%)` });

/* The live bytes at the moment, otherwise the most in view. */
export function memoryFigure(app: App, view: TracksView, row: Track): string {
    const strip = view.stripOf(row);
    const { moment } = app.memory;
    if (!strip)
        return "";
    const x = moment === null ? -1 : Math.floor(view.xOf(moment));
    const at = strip.layers.slice(0, MEMORY_LAYERS).reduce((sum, layer) => sum + (layer[x] ?? 0), 0);
    return bytes(x >= 0 && x < view.width ? at : strip.running);
}

/* As they are stacked: the topmost first. */
export function MemoryLayers({ app }: { app: App }) {
    const { info, moment } = app.memory;
    if (!info)
        return null;
    const colors = tokens();
    const layers = info.layers.map((_, i) => ({ name: app.memory.layerName(i), color: colors.strips[i] as string }));
    if (info.others)
        layers.push({ name: "others", color: colors.other });
    return (
        <div class="layers">
            <small>{moment === null ? "most in view" : `live at ${time(moment)}`}, by {info.by}</small>
            {layers.reverse().map(({ name, color }, i) => <small key={i}><i class="square" style={{ background: color }} />{isPhone() ? <span title={name}>{formsOf(name).at(-1)}</span> : <Ends text={name} />}</small>)}
        </div>
    );
}

/* A click shows the heap at the peak. */
export function MemoryPeak({ app, view }: { app: App; view: TracksView }) {
    const { info } = app.memory;
    const row = app.tracks.rows.find((one) => one.kind === "memory");
    if (!info || !row || info.peakAt < view.from || info.peakAt > view.to)
        return null;
    const x = view.xOf(info.peakAt), strip = view.stripOf(row);
    if (!strip)
        return null;
    const y = row.top + row.height - 1 - (info.peak / view.scaleOf(strip)) * (row.height - row.label - 4) - view.scrolled;
    return (
        <>
            <i class="peak-dot" style={{ left: `${Math.min(x, view.width - 2)}px`, top: `${y}px` }} />
            {!app.tracks.span && <button type="button" class="peak" title="Show the heap at its peak" style={{ ...within(view, x), top: `${Math.max(row.top + row.label + 2 - view.scrolled, y - 24)}px` }}
                onClick={() => void app.memory.showMoment(info.peakAt)}>Peak {bytes(info.peak)}</button>}
        </>
    );
}

/* What happened in the selected span; buttons show where. */
export function MemorySpanFigures({ app, view }: { app: App; view: TracksView }) {
    const { figures, info } = app.memory;
    const { span } = app.tracks;
    if (!figures || !info || !span)
        return null;
    const x = Math.max(0, Math.min(view.width, (view.xOf(span[0]) + view.xOf(span[1])) / 2));
    const show = (event: string) => () => void app.memory.showSpan(app.memory.eventNamed(event));
    return (
        <span class="span-memory" style={within(view, x)}>
            {figures.allocated !== undefined && <button type="button" title="Show what was allocated in this span" onClick={show("allocated")}>{bytes(figures.allocated)} allocated</button>}
            {figures.freed !== undefined && <span>{bytes(figures.freed)} freed</span>}
            <button type="button" title="Show what is live at the end of this span" onClick={show("live")}>{figures.change < 0 ? "\u2212" : "+"}{bytes(Math.abs(figures.change))} live</button>
            {figures.leaked !== undefined && <button type="button" title="Show what was allocated in this span and never freed" onClick={show("leaked")}>{bytes(figures.leaked)} never freed</button>}
        </span>
    );
}

export function MemoryTools({ app }: { app: App }) {
    const { info } = app.memory;
    if (!info)
        return null;
    return (
        <>
            {info.resident && <span class="rss"><i />RSS</span>}
            {info.ways.length > 1 && (
                <label>Stack: <select aria-label="Stack the memory by" value={info.by} onChange={(event) => void app.memory.stackBy(event.currentTarget.value as MemoryWay)}>
                    {info.ways.map((way) => <option key={way} value={way}>{way}</option>)}
                </select></label>
            )}
        </>
    );
}
