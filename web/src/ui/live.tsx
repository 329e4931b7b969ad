/* SPDX-License-Identifier: Apache-2.0 */
/* The page of stoke daemon: the viewer, with the machine's metrics as its tracks, and the
 * samples of the last seconds. */
import { useRef } from "preact/hooks";
import type { App } from "../app";
import { count, shownName, time, weightUnit } from "../format";
import { clock, type Live, moment, PANELS, RANGES, type Status, spanName, WINDOW } from "../live";
import { bytes } from "../live_tracks";
import { isPhone } from "../phone";
import { viewsOf } from "../state";
import { Icon } from "./icons";
import { Details } from "./details";
import { Dialogs, WithoutIdle } from "./dialogs";
import { LivePanel, TopProcesses } from "./live_panels";
import { LiveTrackPane } from "./live_tracks";
import { NoteDialog } from "./notes";
import { Content, Fault, useTabInView, ViewTools } from "./root";
import { EventChoice, Search } from "./toolbar";

function since(seconds: number): string {
    const days = Math.floor(seconds / 86400);
    return days ? `${days} ${days === 1 ? "day" : "days"}` : time(seconds * 1e9);
}

function Facts({ live }: { live: Live }) {
    const s = live.status;
    const facts = s && [`${count(s.cpus)} ${s.cpus === 1 ? "CPU" : "CPUs"}`, s.memory > 0 && bytes(s.memory), `Linux ${shownName(s.kernel)}`, s.uptime !== undefined && `up ${since(s.uptime)}`];
    return <span class="facts-line">{facts?.filter(Boolean).join(" \u00b7 ")}</span>;
}

/* Whether the page follows the time. */
function State({ live }: { live: Live }) {
    if (live.lostSince !== null)
        return <span class="live-pill lost" role="status">no data since {clock(live.lostSince)}, retrying</span>;
    if (live.unready)
        return <span class="live-pill lost" role="status">the store is not ready, retrying</span>;
    return live.following
        ? <span class="live-pill" role="status"><i />Live</span>
        : <button type="button" class="live-pill held" onClick={() => live.follow()}>Live</button>;
}

function RecordingState({ live }: { live: Live }) {
    const { recording } = live;
    if (!recording || !live.records)
        return null;
    const { title, state, seconds = 0, duration = 0 } = recording;
    return (
        <span class="live-pill recording" role="status">
            <progress max={duration} value={Math.min(seconds, duration)} aria-label="Recording" />
            <span>Recording {shownName(title ?? "")}{state === "ending" ? ", ending" : `, ${Math.floor(Math.min(seconds, duration))} of ${duration} s`}</span>
            <button type="button" class="outlined" disabled={state === "ending"} onClick={() => live.stopRecording()}>Stop</button>
        </span>
    );
}

function Header({ app, live }: { app: App; live: Live }) {
    return (
        <header>
            <span class="brand">stoke</span>
            <h1 class="file">{shownName(live.status?.host ?? "") || "this machine"}</h1>
            <Facts live={live} />
            <span class="grow" />
            <RecordingState live={live} />
            <State live={live} />
            <div class="tools">
                <button type="button" class="outlined" title={live.following ? "Hold this span (space)" : "Follow the time (space)"} onClick={() => live.toggle()}>{live.following ? "Pause" : "Continue"}</button>
                <button type="button" aria-label="Step back" title={`Step back ${WINDOW} s`} onClick={() => live.step(-1)}>{"\u2039"}</button>
                <button type="button" aria-label="Step forward" title="Step forward" disabled={live.following} onClick={() => live.step(1)}>{"\u203a"}</button>
                <button type="button" aria-pressed={live.comparing} title="The next span that you drag is the one before" aria-label="Compare" onClick={() => live.compare()}><Icon name="compare" /><span class="wide">Compare</span></button>
                {isPhone() ? (
                    <button type="button" aria-label="Menu" onClick={() => app.openDialog("menu")}>
                        <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 4h12M2 8h12M2 12h12" /></svg>
                    </button>
                ) : (
                    <>
                        <button type="button" title="Copy a link to this span" aria-label="Share" onClick={() => live.share()}><Icon name="save" /><span class="wide">Share</span></button>
                        <button type="button" title="Light or dark" aria-label="Light or dark" onClick={() => app.appearance.setTheme(app.appearance.dark ? "light" : "dark")}><Icon name={app.appearance.dark ? "light" : "dark"} /></button>
                        <button type="button" title="Keys (?)" aria-label="Keys" onClick={() => app.openDialog("help")}>?</button>
                    </>
                )}
            </div>
        </header>
    );
}

function Bar({ app, live }: { app: App; live: Live }) {
    return (
        <section class="bar" aria-label="Shown data">
            <div class="chips" role="group" aria-label="Span and filters">
                {live.recorded && <span class="chip"><span>Recording of {shownName(live.recorded)}</span><button type="button" aria-label="Close the recording" onClick={() => live.closeRecorded()}>{"\u2715"}</button></span>}
                <b class={live.recorded ? "crumb" : "crumb now"}>{live.following ? `Last ${WINDOW} s` : spanName(live.span ?? live.requested)}</b>
                {live.comparing && <span class="faint">against the span that you drag next</span>}
                {live.before && (
                    <>
                        <span class="faint">against</span>
                        <span class="chip before"><span>before {spanName(live.before)}</span><button type="button" aria-label="End the comparison" onClick={() => live.endComparison()}>{"\u2715"}</button></span>
                    </>
                )}
                {live.labels.map((label) => (
                    <span class="chip" key={label}><span>{shownName(label.replace("=", " "))}</span><button type="button" aria-label={`Remove ${shownName(label)}`} onClick={() => live.removeLabel(label)}>{"\u2715"}</button></span>
                ))}
                {app.state.filters.map((filter, i) => (
                    <span class="chip" key={JSON.stringify(filter)}><span>{shownName(`${filter.verb} ${filter.text}`)}</span><button type="button" aria-label="Remove the filter" onClick={() => void app.filters.remove(i)}>{"\u2715"}</button></span>
                ))}
                <WithoutIdle app={app} />
                {app.shown && <button type="button" class="quiet" title="Add a filter (I)" onClick={() => app.openDialog("filter")}><Icon name="plus" />Filter</button>}
                {live.status?.can_note && <button type="button" class="quiet" title="Write a note on the time line" onClick={() => live.showNote(null)}>+ Note</button>}
            </div>
            <span class="segments" role="radiogroup" aria-label="Range of the axis">
                {RANGES.map(([seconds, title]) => <button key={seconds} type="button" role="radio" aria-checked={live.range === seconds} onClick={() => live.setRange(seconds)}>{title}</button>)}
            </span>
            <EventChoice app={app} />
            <Search app={app} />
        </section>
    );
}

function Tabs({ app, live }: { app: App; live: Live }) {
    const host = useRef<HTMLDivElement>(null);
    useTabInView(host, live.panel ?? app.state.view);
    const tab = (selected: boolean, title: string, open: () => void) => (
        <button key={title} type="button" role="tab" aria-selected={selected} tabIndex={selected ? 0 : -1} onClick={open}>{title}</button>
    );
    return (
        <div class="tabs" ref={host} role="tablist" aria-label="Views" onKeyDown={(event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            const all = [...event.currentTarget.children] as HTMLElement[];
            const next = all[(all.indexOf(document.activeElement as HTMLElement) + (step ?? 0) + all.length) % all.length];
            if (!step || !next)
                return;
            event.preventDefault();
            event.stopPropagation();
            next.click();
            next.focus();
        }}>
            {viewsOf(app).map(([view, title]) => tab(live.panel === null && app.state.view === view, title, () => { live.setPanel(null); app.setView(view); }))}
            {PANELS.map(([panel, title]) => tab(live.panel === panel, title, () => live.setPanel(panel)))}
        </div>
    );
}

/* A share of a core, from two readings. */
function cost(live: Live): string {
    const { status: now, lastStatus: before } = live;
    if (!now)
        return "";
    const share = before && now.time > before.time ? ((now.daemon.cpu_ns - before.daemon.cpu_ns) / (now.time - before.time) / 1e9) * 100 : Number.NaN;
    return `Daemon ${Number.isNaN(share) ? "" : `${share.toFixed(2)} % of a core, `}at most ${bytes(now.daemon.peak_bytes)}`;
}

function rateText({ rate, requested_rate }: Status): string {
    return `${count(rate)} Hz${rate < requested_rate ? `, not at ${count(requested_rate)}: the budget of the daemon` : ""}`;
}

function StatusBar({ app, live }: { app: App; live: Live }) {
    const { shown } = app;
    const { store } = live.status ?? {};
    return (
        <div class="status" role="status">
            <span>
                {live.recorded ? `Recording of ${shownName(live.recorded)}` : live.shownSpan && (live.following ? `Last ${WINDOW} s` : spanName(live.shownSpan))}
                {shown && ` \u00b7 ${weightUnit(shown.total, shown.unit)} of CPU time \u00b7 ${count(shown.samples)} samples${live.status && !live.recorded ? ` at ${rateText(live.status)}` : ""}`}
            </span>
            {live.following && live.held && <span class="faint">updates held</span>}
            <span class="grow" />
            <span>{cost(live)}</span>
            {store?.bytes !== undefined && <span>Store {bytes(store.bytes)}{store.first ? `, since ${moment(store.first, false)}` : ""}{store.dropped ? `, ${windows(store.dropped)} lost` : ""}</span>}
        </div>
    );
}

function windows(n: number): string {
    return `${count(n)} ${n === 1 ? "window" : "windows"}`;
}

function sentence(text: string): string {
    return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/* What happened to the store: as long as it fails, and what was fixed until it is closed. */
function StoreFaults({ live }: { live: Live }) {
    const { store } = live.status ?? {};
    const fixed = store?.done && store.done_at && store.done_at !== live.noted;
    return (
        <>
            {store?.failing && (
                <div class="fault" role="alert">
                    <p>
                        <b>The store cannot be written since {moment(store.since ?? 0)}: {shownName(store.error ?? "")}.</b>{" "}
                        {store.pending ? `${windows(store.pending)} ${store.pending === 1 ? "waits" : "wait"} in memory.` : ""}
                        {store.dropped ? ` ${windows(store.dropped)} ${store.dropped === 1 ? "is" : "are"} lost.` : ""}
                    </p>
                </div>
            )}
            {fixed && (
                <div class="store-note" role="status">
                    <p><b>{moment(store.done_at ?? 0)}</b> {sentence(shownName(store.done ?? ""))}.</p>
                    <button type="button" class="icon" aria-label="Close the note" onClick={() => live.closeNote()}>{"\u2715"}</button>
                </div>
            )}
        </>
    );
}

function Nothing({ live }: { live: Live }) {
    return <div class="nothing"><p>{live.empty || "Waiting for the first samples of the daemon."}</p></div>;
}

export function LiveRoot({ app, live }: { app: App; live: Live }) {
    const graph = live.panel === null;
    return (
        <div class="page live">
            <Header app={app} live={live} />
            <Bar app={app} live={live} />
            <Fault app={app} />
            <StoreFaults live={live} />
            <LiveTrackPane live={live} looks={app.looks} />
            <section class="tab-bar" aria-label="View">
                <Tabs app={app} live={live} />
                {graph && app.shown && <ViewTools app={app} />}
            </section>
            <div class="panel sided">
                <main tabIndex={-1}>
                    {!graph ? <LivePanel live={live} /> : app.shown && !live.empty ? <Content app={app} /> : <Nothing live={live} />}
                </main>
                {graph && app.appearance.side && (app.selected ? <Details app={app} /> : <aside class="details live-side" aria-label="Top processes"><TopProcesses live={live} most={20} /></aside>)}
            </div>
            <StatusBar app={app} live={live} />
            <Dialogs app={app} />
            {app.dialog === "note" && <NoteDialog live={live} />}
            {app.notice && <div class="notice" role="status">{app.notice}</div>}
        </div>
    );
}
