/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks above the views: labels, strips, the selected span. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { count, functionName, hasIds, rateText, share, shortTime, shownName, time, weight } from "../format";
import { plainName } from "../names";
import { mostRows, roomOfRows } from "../room";
import { AFTER, categoryOf } from "../sides";
import { type List, useList } from "../lists";
import { isPhone } from "../phone";
import { tokens } from "../tokens";
import type { Track } from "../tracks";
import { TracksView, wholeCurve } from "../tracks_view";
import { DRAG_LEAST } from "../viewport";
import { memoryFigure, MemoryLayers, MemoryPeak, MemorySpanFigures, MemoryTools } from "./memory";
import { Splitter } from "./splitter";
import { TrackMenu, type TrackMenuAt } from "./track_menu";
import { TrackTip } from "./track_tip";

const EDGE = 5; /* pixels at the ends of the span that resize it */

function nameOf(app: App, row: Track): string {
    const { info } = app.tracks;
    switch (row.kind) {
        case "before":
            return "Before";
        case "after":
            return "After";
        case "memory":
            return "Memory";
        case "allocations":
            return "Allocation rate";
        case "machine":
            return (info?.processes.length ?? 0) > 1 ? "Machine" : app.profile?.cycles ? "Cycles" : "CPU time";
        case "marks":
            return "Marks";
        case "cpus":
            return "CPUs";
        case "cpu":
            return `CPU ${info?.cpus[row.index] ?? ""}`;
        case "process":
            return shownName(info?.processes[row.index]?.name ?? "") || "(no name)";
        case "thread":
            return shownName(info?.threads[row.index]?.name ?? "") || "(no name)";
    }
}

/* What follows the name, the most important first. */
function idsOf(app: App, row: Track): string[] {
    const { info } = app.tracks;
    const process = info?.processes[row.index];
    if (row.kind === "process" && process?.processes)
        return [`\u00d7${process.processes}`, process.ran === process.processes ? "" : `${process.ran} ran`].filter(Boolean);
    if (row.kind === "process")
        return [hasIds() ? String(process?.pid ?? "") : "", (process?.count ?? 0) > 1 ? `${process?.count} threads` : ""].filter(Boolean);
    if (row.kind === "thread" && (hasIds() || app.tracks.sharesName(row.index)))
        return [String(info?.threads[row.index]?.tid ?? "")].filter(Boolean);
    return row.kind === "cpus" ? [String(info?.cpus.length ?? "")] : [];
}

function idOf(app: App, row: Track): string {
    return idsOf(app, row).join(" \u00b7 ");
}

/* The profile of a side, and how much is known of it. */
function sideText(app: App, row: Track): string {
    const samples = app.comparison?.sides[row.kind === "before" ? 0 : 1]?.samples ?? 0;
    return `${shownName(row.kind === "before" ? app.comparedWith : app.name)}, ${count(samples)} samples`;
}

/* The value of the window: CPU time; for CPUs the share of use, which all CPUs have of the machine. */
function figureOf(app: App, view: TracksView, row: Track): string {
    const { info } = app.tracks;
    const span = view.to - view.from;
    if (row.kind === "marks")
        return String(info?.marks.length ?? 0);
    const strip = view.stripOf(row);
    if (row.kind === "cpus") {
        const machine = view.stripOf({ ...row, kind: "machine" });
        return machine ? share(machine.running, span * Math.max(1, info?.cpus.length ?? 0)) : "";
    }
    if (row.kind === "memory")
        return memoryFigure(app, view, row);
    if (!strip)
        return "";
    if (row.kind === "allocations")
        return rateText(strip.running / span);
    if (app.tracks.sides?.[row.index]?.kind === "memory")
        return weight(strip.running, "bytes");
    return row.kind === "cpu" ? share(strip.running, span) : strip.running > 0 ? shortTime(strip.running) : "0";
}

/* What is read after the name and the value. */
function spokenOf(view: TracksView, row: Track): string | undefined {
    const strip = view.stripOf(row);
    if (!strip || ["before", "after", "machine", "memory", "allocations"].includes(row.kind))
        return undefined;
    const span = view.to - view.from;
    const waits = strip.waiting > 0 ? `, waiting ${share(strip.waiting, span)}` : "";
    return `running ${share(strip.running, span)}${waits}`;
}

interface LabelProps {
    app: App;
    view: TracksView;
    row: Track;
    at: number;
    active: boolean;
    onActive(at: number): void;
    onPick(at: number, event: MouseEvent): void;
    onMenu(menu: TrackMenuAt): void;
}

/* A dragged process moves to the row below the pointer. */
function onDrag(app: App, row: Track, event: PointerEvent): void {
    const host = (event.currentTarget as HTMLElement).parentElement as HTMLElement;
    const y = event.clientY - host.getBoundingClientRect().top;
    const over = app.tracks.rows.find((one) => y >= one.top && y < one.top + one.height);
    if (over?.kind === "process")
        app.tracks.moveTo(row.index, over.index);
}

function Label({ app, view, row, at, active, onActive, onPick, onMenu }: LabelProps) {
    const grip = useRef<{ y: number; moved: boolean } | null>(null);
    const { tracks } = app;
    const process = row.kind === "process" ? row.index : -1;
    const category = process < 0 ? -1 : tracks.category(process);
    const ids = idsOf(app, row);
    const machine = row.kind === "machine" ? view.stripOf(row) : undefined;
    const cpus = tracks.info?.cpus.length ?? 0;
    return (
        <div id={`track-${at}`} role="option" aria-selected={tracks.isSelected(row)} aria-description={spokenOf(view, row)}
            class={`label ${row.kind} ${tracks.isSelected(row) ? "chosen" : ""} ${active ? "at" : ""}`}
            style={{ top: `${row.top}px`, height: `${row.label || row.height}px` }}
            onPointerDown={(event) => { grip.current = event.button === 0 && process >= 0 && event.pointerType !== "touch" ? { y: event.clientY, moved: false } : null; }}
            onPointerMove={(event) => {
                if (!grip.current || !event.buttons || (!grip.current.moved && Math.abs(event.clientY - grip.current.y) < DRAG_LEAST))
                    return;
                if (!grip.current.moved)
                    event.currentTarget.setPointerCapture(event.pointerId);
                grip.current.moved = true;
                onDrag(app, row, event);
            }}
            onContextMenu={(event) => { event.preventDefault(); onActive(at); onMenu({ x: event.clientX, y: event.clientY, row }); }}
            onClick={(event) => {
                const dragged = grip.current?.moved;
                grip.current = null;
                if (!dragged)
                    onPick(at, event);
            }}>
            {tracks.folds(row)
                ? <span class="twisty" aria-hidden="true" onClick={(event) => { event.stopPropagation(); onActive(at); tracks.fold(row); }}>{tracks.isOpen(row) ? "\u25be" : "\u25b8"}</span>
                : <span class="twisty" />}
            {category >= 0 && <i class="square" style={{ background: tokens().strips[category] as string }} />}
            <b title={nameOf(app, row)}>{nameOf(app, row)}</b>
            {tracks.isPinned(row) && <span class="pin" title="Pinned">{"\u25b4"}</span>}
            {ids.length > 0 && <em>{ids.map((id, i) => <span key={id}>{i > 0 && " \u00b7 "}{id}</span>)}</em>}
            <span class="value">{figureOf(app, view, row)}</span>
            {row.kind === "memory" && <MemoryLayers app={app} />}
            {(row.kind === "before" || row.kind === "after") && <small title={sideText(app, row)}>{sideText(app, row)}</small>}
            {machine && cpus > 1 && <small>{share(machine.running, (view.to - view.from) * cpus)} of {cpus} CPUs</small>}
        </div>
    );
}

/* What the pointer does: it makes a span, moves it, or moves one of its ends. */
interface Grip {
    x: number;
    moved: boolean;
    fixed: number | null; /* the end that stays; null: the whole span moves */
    span: [number, number] | null;
}

/* A finger in the strips scrolls: it selects in the axis. */
function listen(app: App, view: TracksView, over: HTMLElement, fingers: boolean): () => void {
    const gone = new AbortController();
    const { signal } = gone;
    const { tracks } = app;
    let grip: Grip | null = null;
    const xIn = (event: MouseEvent): number => event.clientX - over.getBoundingClientRect().left;
    const part = (event: PointerEvent): "from" | "to" | "in" | null => {
        if (!tracks.span)
            return null;
        const [left, right] = tracks.span.map((ns) => view.xOf(ns)) as [number, number];
        const x = xIn(event);
        return Math.abs(x - left) < EDGE ? "from" : Math.abs(x - right) < EDGE ? "to" : x > left && x < right ? "in" : null;
    };
    over.addEventListener("pointerdown", (event) => {
        if (event.button !== 0 || (event.pointerType === "touch" && !fingers) || (event.target as Element).closest("button"))
            return; /* the button of the span has its own click */
        over.setPointerCapture(event.pointerId);
        const x = xIn(event), grabbed = part(event), { span } = tracks;
        const fixed = grabbed === "from" ? span?.[1] : grabbed === "to" ? span?.[0] : view.at(x);
        grip = { x, moved: false, fixed: grabbed === "in" ? null : fixed ?? null, span };
    }, { signal });
    over.addEventListener("pointermove", (event) => {
        over.style.cursor = part(event) === "in" ? "grab" : part(event) ? "ew-resize" : "text";
        if (!grip)
            return;
        const x = xIn(event);
        if (!grip.moved && Math.abs(x - grip.x) < DRAG_LEAST)
            return;
        grip.moved = true;
        const at = Math.min(view.to, Math.max(view.from, view.at(x)));
        if (grip.fixed !== null) {
            tracks.select([Math.min(at, grip.fixed), Math.max(at, grip.fixed)]);
        } else if (grip.span) {
            const [from, to] = grip.span, [first, last] = tracks.committed;
            const shift = Math.min(last - to, Math.max(first - from, view.at(x) - view.at(grip.x)));
            tracks.select([from + shift, to + shift]);
        }
    }, { signal });
    over.addEventListener("pointerup", (event) => {
        if (grip && !grip.moved && part(event) === null) {
            const y = event.clientY - over.getBoundingClientRect().top + view.scrolled, x = Math.floor(xIn(event));
            const inMemory = !fingers && tracks.rows.some((row) => row.kind === "memory" && y >= row.top && y < row.top + row.height);
            if (inMemory && !tracks.span)
                void app.memory.showWithin(view.at(x), view.at(x + 1));
            tracks.select(null);
        }
        if (grip?.moved && event.shiftKey)
            tracks.commit();
        grip = null;
    }, { signal });
    over.addEventListener("pointercancel", () => { grip = null; }, { signal });
    over.addEventListener("dblclick", () => tracks.commit(), { signal });
    over.addEventListener("wheel", (event) => {
        const unit = event.deltaMode === 1 ? 16 : 1;
        if (event.ctrlKey || event.metaKey) {
            view.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.008), view.at(xIn(event)));
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            view.pan(((event.deltaX || event.deltaY) * unit) / Math.max(1, view.width));
        } else {
            return; /* scrolls vertically */
        }
        event.preventDefault();
    }, { signal, passive: false });
    return () => gone.abort();
}

/* The selected span: a tint with an edge on both sides, and its length. */
function Preview({ app, view }: { app: App; view: TracksView }) {
    const { span } = app.tracks;
    if (!span)
        return null;
    const left = Math.max(0, view.xOf(span[0])), right = Math.min(view.width, view.xOf(span[1]));
    return (
        <div class="preview" style={{ left: `${left}px`, width: `${Math.max(1, right - left)}px` }}>
            <button type="button" class="pill" title="Show only this span (Enter)" onClick={() => app.tracks.commit()}>
                {time(span[1] - span[0])}
                <svg width="12" height="12" viewBox="0 0 14 14" aria-hidden="true"><circle cx="6" cy="6" r="4.5" /><path d="M9.5 9.5 13 13M6 4v4M4 6h4" /></svg>
            </button>
        </div>
    );
}

/* As an area in steps. */
function stepsOf(values: Float32Array): string {
    const most = values.reduce((a, b) => Math.max(a, b), 0) || 1;
    return `M0 ${OVERVIEW_HIGH}${[...values].map((value, i) => `V${(OVERVIEW_HIGH * (1 - value / most)).toFixed(1)}H${i + 1}`).join("")}V${OVERVIEW_HIGH}Z`;
}

const OVERVIEW = 200, OVERVIEW_HIGH = 16; /* columns, pixels */

/* Where the committed span lies in the recording, before a curve of all of it. */
function Overview({ app }: { app: App }) {
    const { tracks } = app;
    const [curve, setCurve] = useState<{ of: number; path: string } | null>(null);
    useEffect(() => {
        let stale = false;
        if (!tracks.isWhole && curve?.of !== tracks.loads) /* once for each profile */
            wholeCurve(app, OVERVIEW).then((values) => { if (!stale) setCurve({ of: tracks.loads, path: stepsOf(values) }); }, () => undefined);
        return () => { stale = true; };
    }, [tracks.isWhole, tracks.loads]);
    if (tracks.isWhole)
        return null;
    const [from, to] = tracks.committed, all = tracks.info?.to ?? 1;
    return (
        <div class="overview">
            <span>Whole recording</span>
            <div>
                <svg viewBox={`0 0 ${OVERVIEW} ${OVERVIEW_HIGH}`} preserveAspectRatio="none" aria-hidden="true"><path d={curve?.path ?? ""} /></svg>
                <i style={{ left: `${(from / all) * 100}%`, width: `max(2px, ${((to - from) / all) * 100}%)` }} />
            </div>
        </div>
    );
}

const LEGEND = [["lock", "lock"], ["disk", "disk"], ["network", "network, pipe"], ["cpu", "wait for CPU"], ["sleep", "sleep, idle"]] as const;

/* The layers of before and after. One process needs no name. */
function SideLegend({ app }: { app: App }) {
    const { sides } = app.tracks;
    const main = sides?.[AFTER] ?? sides?.find(Boolean);
    const names = main?.layers.flatMap((name, i) => (name === null ? [] : [{ name, i }])) ?? [];
    if (!sides || !main || names.length < 2)
        return null;
    const colors = tokens();
    return (
        <span class="legend layers-legend">
            <span>stacked by {main.kind === "memory" ? main.info.memory?.by ?? "function" : "process"}</span>
            {names.map(({ name, i }) => <span key={i} title={shownName(name)}><i class="square" style={{ background: colors.strips[categoryOf(sides, sides.indexOf(main), i)] as string }} />{shownName(name) || "(no name)"}</span>)}
        </span>
    );
}

/* On a telephone the label has no room for the layers. */
function PhoneLayers({ app }: { app: App }) {
    return isPhone() && app.memory.info ? <div class="phone-layers"><MemoryLayers app={app} /></div> : null;
}

const ALIGNED = [["start", "start"], ["end", "end"], ["length", "length"]] as const;

/* Which moments of both correspond; also those at which the selected function first ran. */
function AlignChoice({ app }: { app: App }) {
    const { align } = app.state, { chosen } = app;
    return (
        <label class="choice" title="Which moments of both recordings correspond: a span that you drag is the same part of both">
            Align by
            <select aria-label="Align by" value={String(align)} onChange={(event) => {
                const to = event.currentTarget.value;
                if (to === "function" && chosen)
                    void app.alignBy(chosen.name);
                else
                    void app.setAlign(ALIGNED.find(([one]) => one === to)?.[0] ?? "start");
            }}>
                {ALIGNED.map(([one, title]) => <option key={one} value={one}>{title}</option>)}
                {typeof align === "number" && <option value={String(align)}>before {align < 0 ? "\u2212" : "+"}{time(Math.abs(align))}</option>}
                {chosen && <option value="function">first {plainName(functionName(chosen.name)).slice(0, 40)}</option>}
            </select>
        </label>
    );
}

function Foot({ app }: { app: App }) {
    const { info, moreCount } = app.tracks;
    return (
        <div class="more">
            {info !== null && info.processes.length > 0 && <button type="button" class="link" onClick={() => app.openDialog("tracks")}>{moreCount ? `${moreCount} more ${moreCount === 1 ? "track" : "tracks"}\u2026` : "Choose tracks\u2026"}</button>}
            <SideLegend app={app} />
            <span class="grow" />
            {app.chosen && app.tracksView?.marked && <span class="marked" title={functionName(app.chosen.name)}><span>Where</span> <b>{plainName(functionName(app.chosen.name))}</b> <span>ran is marked</span></span>}
            {app.tracks.sides?.every(Boolean) && <AlignChoice app={app} />}
            {app.waits && !app.tracks.sides && (
                <span class="legend waits">
                    <span><i class="running" />running</span>
                    {LEGEND.map(([name, title]) => <span key={name}><i style={{ "--stroke": `var(--wait-${name})`, "--ground": `var(--wait-${name}-bg)` }} />{title}</span>)}
                </span>
            )}
            {!app.waits && info !== null && info.threads.length > 0 && <span>{info.threads.length} {info.threads.length === 1 ? "thread" : "threads"}</span>}
            <MemoryTools app={app} />
        </div>
    );
}

/* What keys do with the track that has the focus. */
function listOf(app: App, at: number, go: (to: number) => void, openMenu: (row: Track) => void): List {
    const { tracks } = app;
    const row = tracks.rows[at];
    const { length } = tracks.rows;
    if (!row)
        return { length, at, go };
    return {
        length, at, go,
        enter: () => tracks.span ? tracks.commit() : row.kind === "memory" ? void app.memory.showMoment(app.memory.info?.peakAt ?? 0) : tracks.selectTrack(row),
        toggle: () => tracks.selectTrack(row),
        add: () => tracks.toggleTrack(row),
        fold: (open) => tracks.fold(row, open),
        hide: () => tracks.hide(row),
        menu: () => openMenu(row),
        move: (way) => {
            tracks.move(row, way);
            go(tracks.rows.findIndex((one) => one.kind === row.kind && one.index === row.index));
        },
    };
}

const MARGIN = 200; /* pixels above the visible rows in which there are labels */
/* Nothing for a profile without times. */
export function TrackPane({ app }: { app: App }) {
    const { tracks } = app;
    const strips = useRef<HTMLDivElement>(null), axis = useRef<HTMLDivElement>(null), scroller = useRef<HTMLDivElement>(null), over = useRef<HTMLDivElement>(null), labels = useRef<HTMLDivElement>(null);
    const [view, setView] = useState<TracksView | null>(null);
    const [at, setAt] = useState(0);
    const [menu, setMenu] = useState<TrackMenuAt | null>(null);
    const [, setDrawn] = useState(0);
    const present = tracks.info !== null;
    const room = roomOfRows(app);
    useLayoutEffect(() => tracks.fit(room), [tracks, room]);
    useEffect(() => {
        const again = (): void => setDrawn((n) => n + 1);
        addEventListener("resize", again);
        return () => removeEventListener("resize", again);
    }, []);
    useLayoutEffect(() => {
        if (!present)
            return;
        const made = new TracksView(app, strips.current as HTMLElement, axis.current as HTMLElement, () => setDrawn((n) => n + 1));
        const stop = listen(app, made, over.current as HTMLElement, false);
        const stopAxis = listen(app, made, axis.current as HTMLElement, true);
        setView(made);
        app.tracksView = made;
        return () => {
            app.tracksView = null;
            stop();
            stopAxis();
            made.dispose();
        };
    }, [app, present]);
    useLayoutEffect(() => { /* not after the next frame */
        view?.update();
    }, [view, tracks.version, tracks.committed.join(), app.looks, app.version]);
    const move = (to: number): void => {
        setAt(to);
        const row = tracks.rows[to], host = scroller.current;
        if (row && host)
            host.scrollTop = Math.min(row.top, Math.max(host.scrollTop, row.top + row.height - host.clientHeight));
    };
    /* With shift: from the row of the last click to this one. */
    const pick = (to: number, event: MouseEvent): void => {
        const row = tracks.rows[to];
        if (event.shiftKey) {
            tracks.selectRange(Math.min(at, tracks.rows.length - 1), to);
            return;
        }
        setAt(to);
        if (row && (event.ctrlKey || event.metaKey))
            tracks.toggleTrack(row);
        else if (row)
            tracks.selectTrack(row);
    };
    const openMenu = (row: Track): void => {
        const box = document.getElementById(`track-${tracks.rows.indexOf(row)}`)?.getBoundingClientRect();
        setMenu({ x: (box?.left ?? 0) + 40, y: box?.bottom ?? 100, row });
    };
    useList(labels, listOf(app, Math.min(at, tracks.rows.length - 1), move, openMenu));
    if (!present)
        return null;
    const seen = tracks.between((view?.scrolled ?? 0) - MARGIN, (view?.scrolled ?? 0) + innerHeight);
    return (
        <section class="tracks" aria-label="Tracks">
            <Overview app={app} />
            <div class="axis">
                <span class="head">{tracks.sides && app.state.align === "start" ? "Time from start" : "Time"} <span class="value">{view && shortTime(view.to - view.from)}</span></span>
                <div class="strips" ref={axis} />
            </div>
            <div class="scroller" ref={scroller} style={{ "--rows": `${tracks.height}px`, "--most": `${mostRows(app)}px` }} onScroll={(event) => view?.setScroll(event.currentTarget.scrollTop)}>
                <div class="room" style={{ height: `${tracks.height}px` }}>
                    <div class="labels" role="listbox" aria-multiselectable="true" tabIndex={0} aria-label="Tracks" ref={labels} aria-activedescendant={tracks.rows.length ? `track-${Math.min(at, tracks.rows.length - 1)}` : undefined}>
                        {view && seen.map(({ row, i }) => <Label key={`${row.kind} ${row.index}`} app={app} view={view} row={row} at={i} active={i === at} onActive={setAt} onPick={pick} onMenu={setMenu} />)}
                    </div>
                    <div class="strips lower" ref={over}>
                        <div class="surface" ref={strips} />
                        {view && <Preview app={app} view={view} />}
                        {view && <MemoryPeak app={app} view={view} />}
                        {view && <MemorySpanFigures app={app} view={view} />}
                        {view && over.current && <TrackTip app={app} view={view} host={over.current} nameOf={(row) => [nameOf(app, row), idOf(app, row)].filter(Boolean).join(" ")} />}
                    </div>
                </div>
            </div>
            <PhoneLayers app={app} />
            <Foot app={app} />
            <Splitter app={app} />
            {menu && <TrackMenu app={app} at={menu} close={() => setMenu(null)} />}
        </section>
    );
}
