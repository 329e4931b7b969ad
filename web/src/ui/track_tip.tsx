/* SPDX-License-Identifier: Apache-2.0 */
/* What the tracks say at the pointer: who ran or waited at that time. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { markText, rateText, share, shownName, time, weight } from "../format";
import { groupText } from "../marks";
import { MACHINE_LAYERS, type Mark, MEMORY_LAYERS } from "../protocol";
import type { Track } from "../tracks";
import type { TracksView } from "../tracks_view";

const DELAY = 120; /* ms before the first tooltip; then it follows immediately */
const FACTS_MOST = 4;
const MARK_REACH = 6; /* pixels */
const ACTIVITIES = ["running", "waiting for a lock", "waiting for the disk", "waiting for the network or a pipe", "waiting for a CPU", "sleeping"];

interface Tip {
    x: number;
    y: number;
    row: Track;
    at: number; /* ns */
}

/* Names and numbers, largest first, without those that round to nothing. */
function largest(facts: [string, number][], text: (value: number) => string): string[] {
    return facts.filter(([, value]) => value >= 0.005).sort((a, b) => b[1] - a[1]).slice(0, FACTS_MOST).map(([name, value]) => `${name} ${text(value)}`);
}

export function trackFacts(app: App, view: TracksView, row: Track, x: number): string[] {
    const { info } = app.tracks;
    const strip = view.stripOf(row);
    const values = strip?.layers.map((layer) => layer[x] ?? 0) ?? [];
    const processName = (i: number): string => shownName(info?.processes[i]?.name ?? "") || "(no name)";
    switch (row.kind) {
        case "before":
        case "after": {
            const side = app.tracks.sides?.[row.index];
            const named = side?.layers.map((name, i): [string, number] => [name === null ? "others" : shownName(name) || "(no name)", values[i] ?? 0]) ?? [];
            return largest(named, side?.kind === "memory" ? (value) => weight(value, "bytes") : (cpus) => `${cpus.toFixed(2)} CPUs`);
        }
        case "machine":
            return largest(values.map((value, i) => [i < MACHINE_LAYERS - 1 ? processName(i) : "others", value]), (cpus) => `${cpus.toFixed(2)} CPUs`);
        case "memory": {
            const layers = values.slice(0, MEMORY_LAYERS), live = layers.reduce((a, b) => a + b, 0), resident = values[MEMORY_LAYERS] ?? 0;
            const bytes = (value: number): string => weight(value, "bytes");
            return [`${bytes(live)} live`, ...largest(layers.map((value, i) => [app.memory.layerName(i), value]), bytes), ...(resident > 0 ? [`RSS ${bytes(resident)}`] : [])];
        }
        case "allocations":
            return [`${rateText(values[0] ?? 0)} of allocations`];
        case "process":
            return largest(values.map((value, i) => [ACTIVITIES[i] ?? "", value]),
                (info?.processes[row.index]?.count ?? 0) > 1 ? (threads) => `${threads.toFixed(threads < 10 ? 1 : 0)} threads` : (part) => share(part, 1));
        case "thread":
            return largest(values.map((value, i) => [ACTIVITIES[i] ?? "", value]), (part) => share(part, 1));
        case "cpu":
            return values[0] ? [`${processName(values[1] ?? 0)} ${share(values[0], 1)}`] : ["idle"];
        case "cpus":
            return info?.cpus.slice(0, 64).flatMap((cpu, i) => {
                const [used, process] = view.stripOf({ ...row, kind: "cpu", index: i })?.layers ?? [];
                return used?.[x] ? [`CPU ${cpu}: ${processName(process?.[x] ?? 0)} ${share(used[x] ?? 0, 1)}`] : [];
            }).slice(0, FACTS_MOST) ?? [];
        case "marks": {
            const group = view.markGroups().find(({ from, to }) => x >= from - MARK_REACH && x < to + MARK_REACH)?.marks ?? [];
            if (group.length <= FACTS_MOST)
                return group.map((mark) => `${markText(mark)} at ${time(mark.at)}`);
            const first = group[0] as Mark, last = group[group.length - 1] as Mark;
            return [`${group.length} marks: ${groupText(group)}`, `from ${time(first.at)} to ${time(last.at)}`];
        }
    }
}

/* Follows the pointer over the strips; keys, scrolling and leaving close it. */
export function TrackTip({ app, view, host, nameOf }: { app: App; view: TracksView; host: HTMLElement; nameOf(row: Track): string }) {
    const [tip, setTip] = useState<Tip | null>(null);
    useEffect(() => {
        const gone = new AbortController();
        const { signal } = gone;
        let timer = 0, shown = false;
        const close = (): void => {
            clearTimeout(timer);
            shown = false;
            setTip(null);
        };
        host.addEventListener("pointermove", (event) => {
            clearTimeout(timer);
            const { left, top } = host.getBoundingClientRect();
            const x = event.clientX - left, y = event.clientY - top + view.scrolled;
            const row = app.tracks.rows.find((one) => y >= one.top && y < one.top + one.height);
            if (event.buttons || event.pointerType === "touch" || !row || (event.target as Element).closest("button")) {
                close();
                return;
            }
            const show = (): void => {
                shown = true;
                setTip({ x: event.clientX, y: event.clientY, row, at: view.at(x) });
            };
            if (shown)
                show();
            else
                timer = window.setTimeout(show, DELAY);
        }, { signal });
        for (const kind of ["pointerleave", "pointerdown"])
            host.addEventListener(kind, close, { signal });
        for (const kind of ["keydown", "blur", "wheel"])
            addEventListener(kind, close, { signal, capture: true, passive: true });
        return () => {
            gone.abort();
            clearTimeout(timer);
        };
    }, [host, view]);
    if (!tip)
        return null;
    const facts = trackFacts(app, view, tip.row, Math.max(0, Math.floor(view.xOf(tip.at))));
    const style = { left: `${Math.min(tip.x + 14, innerWidth - 300)}px`, top: `${Math.min(tip.y + 18, innerHeight - 40 - 16 * facts.length)}px` };
    return (
        <div class="track-tip" role="tooltip" style={style}>
            <p><b>{nameOf(tip.row)}</b> <span class="faint">at {time(tip.at)}</span></p>
            {facts.map((fact) => <p key={fact}>{fact}</p>)}
            {!facts.length && tip.row.kind !== "marks" && <p class="faint">{tip.row.kind === "thread" || tip.row.kind === "process" ? "no sample and no wait" : "idle"}</p>}
        </div>
    );
}
