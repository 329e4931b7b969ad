/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks of the live page: metrics by time, and the spans that are shown and compared. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { resize } from "../elements";
import { count } from "../format";
import { clock, type Live, type Span, spanName } from "../live";
import type { Mark } from "../live_series";
import { AXIS, bytes, color, figure, type LiveTrack, liveTracks, meanOf, moreTracks, TracksPainter } from "../live_tracks";
import { tokens } from "../tokens";
import { DRAG_LEAST } from "../viewport";
import { NoteMarks } from "./notes";

/* Tints the span; its position follows the axis. */
function SpanMark({ live, span, kind }: { live: Live; span: Span; kind: string }) {
    const [from, to] = live.axis;
    const part = (at: number): number => Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));
    const [left, right] = [part(span[0]), part(span[1])];
    if (right <= 0 || left >= 100)
        return null;
    return <div class={`live-span ${kind}`} title={spanName(span)} style={{ left: `${left}%`, width: `max(2px, ${right - left}%)` }} />;
}

/* "I/O pressure 31 %", "CPU of nginx 150 %" */
function markName({ name, value, unit }: Mark): string {
    const [kind, ...parts] = name.split(".");
    const resource = (text: string): string => ({ cpu: "CPU", io: "I/O" })[text] ?? text;
    const what = kind === "process" ? `${resource(parts.pop() ?? "")} of ${parts.join(".")}`
        : kind === "pressure" ? `${resource(parts[0] ?? "")} pressure` : resource(name);
    return `${what} ${unit === "bytes" ? bytes(value) : `${value} ${unit}`}`;
}

/* What triggers recorded, on the axis: a click shows it. */
function Marks({ live }: { live: Live }) {
    const [from, to] = live.axis;
    return (
        <>
            {live.series.marks.filter((mark) => mark.to > from && mark.from < to).map((mark) => (
                <button type="button" key={`${mark.name} ${mark.from}`} class="live-mark" title={`${markName(mark)}: recorded in detail, ${spanName([mark.from, mark.to])}`}
                    aria-label={`${markName(mark)}, ${clock(mark.from)}`} style={{ left: `${Math.max(0, ((mark.from - from) / (to - from)) * 100)}%`, width: `${((mark.to - Math.max(from, mark.from)) / (to - from)) * 100}%` }}
                    onClick={() => live.select([mark.from, mark.to])} />
            ))}
        </>
    );
}

function useDrag(live: Live, host: { current: HTMLElement | null }, setDragged: (span: Span | null) => void): void {
    useEffect(() => {
        const over = host.current as HTMLElement;
        const gone = new AbortController();
        const { signal } = gone;
        let grip: { x: number; at: number; moved: boolean } | null = null;
        const at = (event: PointerEvent): number => {
            const box = over.getBoundingClientRect(), [from, to] = live.axis;
            return from + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (to - from);
        };
        over.addEventListener("pointerdown", (event) => {
            if (event.button !== 0)
                return;
            over.setPointerCapture(event.pointerId);
            grip = { x: event.clientX, at: at(event), moved: false };
        }, { signal });
        over.addEventListener("pointermove", (event) => {
            if (!grip || (!grip.moved && Math.abs(event.clientX - grip.x) < DRAG_LEAST))
                return;
            grip.moved = true;
            const now = at(event);
            setDragged([Math.min(now, grip.at), Math.max(now, grip.at)]);
        }, { signal });
        over.addEventListener("pointerup", (event) => {
            const held = grip;
            grip = null;
            setDragged(null);
            if (held?.moved) {
                const now = at(event);
                live.select([Math.min(now, held.at), Math.max(now, held.at)]);
            }
        }, { signal });
        over.addEventListener("pointercancel", () => {
            grip = null;
            setDragged(null);
        }, { signal });
        return () => gone.abort();
    }, [live]);
}

function trackAt(tracks: LiveTrack[], y: number): LiveTrack | undefined {
    let bottom = 0;
    for (const track of tracks) {
        bottom += track.height;
        if (y < bottom)
            return track;
    }
    return undefined;
}

/* The values of the second below the pointer. */
function Tip({ live, tracks, host }: { live: Live; tracks: LiveTrack[]; host: { current: HTMLElement | null } }) {
    const [at, setAt] = useState<{ x: number; y: number; seconds: number; top: number } | null>(null);
    useEffect(() => {
        const over = host.current as HTMLElement;
        const gone = new AbortController();
        over.addEventListener("pointermove", (event) => {
            const box = over.getBoundingClientRect(), [from, to] = live.axis;
            setAt(event.buttons ? null : { x: event.clientX, y: event.clientY, seconds: from + ((event.clientX - box.left) / box.width) * (to - from), top: event.clientY - box.top });
        }, { signal: gone.signal });
        over.addEventListener("pointerleave", () => setAt(null), { signal: gone.signal });
        return () => gone.abort();
    }, [live]);
    const track = at ? trackAt(tracks, at.top) : undefined;
    if (!at || !track)
        return null;
    const { series } = live;
    const second = series.start + series.indexOf(at.seconds) * series.step;
    const share = track.relative ? track.full(series) : 1;
    return (
        <div class="track-tip" style={{ left: `${Math.min(at.x + 14, innerWidth - 200)}px`, top: `${at.y + 16}px` }}>
            <b>{clock(second)}</b>
            {track.layers.map((layer) => <div key={layer.title}><i class="square" style={{ background: color(layer), display: "inline-block" }} /> {layer.title} {track.text(meanOf(series, layer, second, second + series.step) / share) || "0"}</div>)}
        </div>
    );
}

function Labels({ live, tracks }: { live: Live; tracks: LiveTrack[] }) {
    const [from, to] = live.shownSpan ?? live.requested;
    return (
        <div class="labels live-labels" role="list" aria-label="Metrics">
            {tracks.map((track) => (
                <div key={track.id} role="listitem" class={`live-label ${track.id.startsWith("core.") ? "core" : ""}`} style={{ height: `${track.height}px` }}>
                    <span><b>{track.title}</b><span class="value">{figure(track, live.series, from, to)}</span></span>
                    {!track.id.startsWith("core.") && <small>{track.layers.map((layer) => <span key={layer.title}><i class="square" style={{ background: color(layer) }} />{layer.title}</span>)}</small>}
                </div>
            ))}
        </div>
    );
}

/* What is known about the processes, and what the pointer does. */
function Foot({ live }: { live: Live }) {
    const kinds = (key: "service" | "container"): number => new Set(live.processes.map((p) => p[key]).filter(Boolean)).size;
    const services = kinds("service"), containers = kinds("container");
    const more = moreTracks(live.status?.cpus ?? 0);
    return (
        <div class="more live-foot">
            {live.status && <button type="button" class="link" aria-expanded={live.more} title="Of single cores, of waits and of interrupts" onClick={() => live.setMore(!live.more)}>{live.more ? "Fewer tracks" : `${more} more tracks\u2026`}</button>}
            <button type="button" class="link" onClick={() => live.setPanel("processes")}>{count(live.processCount)} processes{"\u2026"}</button>
            <span>{[services && `${services} ${services === 1 ? "service" : "services"}`, containers && `${containers} ${containers === 1 ? "container" : "containers"}`].filter(Boolean).join(", ")}</span>
            <span class="grow" />
            <span class="faint">{live.comparing ? "Drag the span to compare with" : live.following ? "The axis moves every second; drag to hold a span" : "Space or Live follows the time again"}</span>
        </div>
    );
}

export function LiveTrackPane({ live, looks }: { live: Live; looks: number }) {
    const strips = useRef<HTMLDivElement>(null), axis = useRef<HTMLCanvasElement>(null), canvas = useRef<HTMLCanvasElement>(null);
    const [dragged, setDragged] = useState<Span | null>(null);
    const [width, setWidth] = useState(0);
    const tracks = liveTracks(live.series, live.more);
    const full = tracks.reduce((sum, track) => sum + track.height, 0);
    useLayoutEffect(() => {
        const host = strips.current as HTMLElement;
        const watcher = new ResizeObserver(() => setWidth(host.clientWidth));
        watcher.observe(host);
        return () => watcher.disconnect();
    }, []);
    useDrag(live, strips, setDragged);
    useEffect(() => {
        if (width < 2 || !axis.current || !canvas.current)
            return;
        const [from, to] = live.axis;
        const colors = tokens();
        for (const [surface, height] of [[axis.current, AXIS], [canvas.current, full]] as const) {
            resize(surface, width, height);
            const pen = surface.getContext("2d") as CanvasRenderingContext2D;
            const scale = surface.width / width;
            pen.setTransform(scale, 0, 0, scale, 0, 0);
            const painter = new TracksPainter(pen, width, from, to);
            if (surface === axis.current) {
                painter.axis(colors);
                continue;
            }
            painter.grid(height, colors);
            let top = 0;
            for (const track of tracks) {
                painter.track(track, live.series, top, colors);
                top += track.height;
            }
        }
    }, [width, full, live.version, live.range, looks]);
    return (
        <section class="tracks live-tracks" aria-label="Metrics by time">
            <div class="axis">
                <span class="head"><span>Local time</span></span>
                <div class="strips"><canvas class="layer" ref={axis} style={{ height: `${AXIS}px` }} /><Marks live={live} /><NoteMarks live={live} /></div>
            </div>
            <div class={`live-rows ${live.more ? "scrolled" : ""}`} tabIndex={live.more ? 0 : undefined}>
                <Labels live={live} tracks={tracks} />
                <div class="strips live-strips" ref={strips} style={{ height: `${full}px` }}>
                    <canvas class="layer" ref={canvas} style={{ height: `${full}px` }} />
                    {live.before && <SpanMark live={live} span={live.before} kind="before" />}
                    <SpanMark live={live} span={live.span ?? live.requested} kind="" />
                    {dragged && <SpanMark live={live} span={dragged} kind={live.comparing ? "before" : ""} />}
                    <Tip live={live} tracks={tracks} host={strips} />
                </div>
            </div>
            <Foot live={live} />
        </section>
    );
}
