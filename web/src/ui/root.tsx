/* SPDX-License-Identifier: Apache-2.0 */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { spanText } from "../axis";
import { chooseFile } from "../commands";
import { count, eventName, eventTitle, functionName, heapText, share, shortCount, shownName, time, weight, weightUnit } from "../format";
import { Chart, type Shown, type Warning } from "../protocol";
import { plainName } from "../names";
import { isPhone } from "../phone";
import { INVERTS, keyOf, type Pane, PANES, severalProcesses, type View, viewsOf } from "../state";
import { hasListings } from "../texts";
import { ChartPane } from "./chart";
import { DropZones } from "./drop";
import { Details, sideView } from "./details";
import { FormatChoice } from "./formats";
import { Dialogs } from "./dialogs";
import { Changes, ComparedChoice } from "./changes";
import { CallGraph } from "./graph";
import { HeatMap } from "./heat";
import { LiveRoot } from "./live";
import { HomeView } from "./home";
import { Sandwich } from "./sandwich";
import { Sizes } from "./sizes";
import { Source } from "./source";
import { hasSheet, Sheet } from "./sheet";
import { Summary } from "./summary";
import { Bar, ColorChoice, ColorLegend, ColorTools, Tools } from "./toolbar";
import { TrackPane } from "./tracks";
import { TreeTable } from "./tree";
import { Marks, Waits } from "./waits";
import { Welcome } from "./welcome";

/* A comparison sums the samples of both recordings. */
function NoOrder({ app }: { app: App }) {
    return (
        <div class="nothing lack">
            <p>A comparison has no order in time: it compares sums. The tracks above show when both ran, and a span of them limits what is compared.</p>
            <p><button type="button" class="link" onClick={() => void app.endComparison()}>Show {shownName(app.name)} alone</button></p>
        </div>
    );
}

const OF_WEIGHT: readonly View[] = ["left", "sandwich", "tree", "graph", "source"]; /* views of what has a weight */

function NoWeight({ app }: { app: App }) {
    const { event_name: name = "", unit = "" } = app.shown ?? {};
    const where = app.state.filters.length ? "what is shown" : "this recording";
    return <div class="nothing lack"><p>Nothing of {eventTitle({ name, unit })} is in {where}.</p></div>;
}

export function Content({ app }: { app: App }) {
    const { view, flame, up } = app.state;
    if (OF_WEIGHT.includes(view) && app.shown?.total === 0 && !app.comparedWith && !app.live)
        return <NoWeight app={app} />;
    switch (view) {
        case "time":
            if (app.comparedWith)
                return <NoOrder app={app} />;
            return <ChartPane key="time" app={app} kind={Chart.Time} flame={false} map zoomInAddress />;
        case "left":
            return <ChartPane key={`left ${up}`} app={app} kind={up ? Chart.Up : Chart.Down} flame={flame} map zoomInAddress />;
        case "sandwich":
            return <Sandwich app={app} />;
        case "tree":
            return <TreeTable key={`tree ${up}`} app={app} kind={up ? Chart.Up : Chart.Down} />;
        case "graph":
            return <CallGraph app={app} />;
        case "source":
            return <Source app={app} />;
        case "waits":
            return <Waits app={app} />;
        case "marks":
            return <Marks app={app} />;
        case "heat":
            return <HeatMap app={app} />;
        case "summary":
            return <Summary app={app} />;
        case "sizes":
            return <Sizes app={app} />;
        case "changes":
            return <Changes app={app} />;
    }
}

const UNNAMED_MOST = 0.2; /* share of functions without a name that is reported */

/* Damage of the file is more than a line that could not be read. */
function warningsText(warnings: Warning[]): string {
    const damage = warnings.find((w) => /^the (packed|decompressed) data|^reading the decompressed|^the JSON text is (truncated|damaged)|^the (file|recording) is truncated/.test(w.what));
    const all = warnings.reduce((n, w) => n + w.count, 0);
    const counted = `${count(all)} ${all === 1 ? "warning" : "warnings"} from reading`;
    return damage ? [damage.what, ...(all > damage.count ? [counted] : [])].join(" \u00b7 ") : counted;
}

/* Cautions that are visible in every view. */
function Cautions({ app }: { app: App }) {
    const p = app.profile;
    if (!p || !app.shown)
        return null;
    const said: string[] = [];
    if (app.shown.unnamed > app.shown.total * UNNAMED_MOST)
        said.push(`${share(app.shown.unnamed, app.shown.total)} without names: what to do`);
    said.push(...p.loss_lines.filter(Boolean));
    if (app.shown.samples < 100 && !p.counted)
        said.push(`only ${count(app.shown.samples)} ${app.shown.samples === 1 ? "sample" : "samples"}: shares are inaccurate`);
    if (p.warnings.length)
        said.push(warningsText(p.warnings));
    const short = said.length > 1 ? `${said.length} cautions` : "1 caution";
    return said.length ? (
        <button type="button" class="caution" onClick={() => app.setView("summary")} title="More in the summary">
            {isPhone() ? short : said.join(" \u00b7 ")}
        </button>
    ) : null;
}

/* For a file that is read in part. */
function Part({ app }: { app: App }) {
    const { part, loading } = app;
    if (!part)
        return null;
    const percent = (share: number): string => `${Math.floor(share * 100)} %`;
    if (!part.going || !loading)
        return <span class="unread">a part: the first {percent(part.read)} of the file</span>;
    return (
        <span class="unread">
            the first {percent(part.read)} of the file; {percent(loading.done / (loading.of || 1))} read{" "}
            <progress value={loading.done} max={loading.of} />{" "}
            <button type="button" class="quiet" onClick={() => void app.core.cancel(true)}>Stop</button>
        </span>
    );
}

const UNEQUAL = 0.2; /* of the total before: a larger difference is visible in weights only */

/* With the name of the event, if the unit does not say it. */
function totalText(app: App, { unit, event_name }: Shown, total: number): string {
    const named = unit !== "samples" && event_name && event_name !== unit && !app.comparedWith;
    const ofHeap = app.memory.info && !app.comparedWith ? heapText(event_name, total, unit) : null;
    return ofHeap ?? `${weightUnit(total, unit)}${named ? ` of ${eventTitle({ name: event_name, unit })}` : ""}`;
}

function Status({ app }: { app: App }) {
    const { shown, found, state, chosen } = app;
    if (!shown)
        return null;
    const { preview } = state;
    const idle = shown.idle + (app.comparedWith ? shown.base_idle : 0);
    if (app.empty && preview)
        return <div class="status" role="status"><span>Selected {time(preview[1] - preview[0])}, without samples</span><span class="grow" /><Cautions app={app} /></div>;
    return (
        <div class="status" role="status">
            <span>
                {preview && `Selected ${time(preview[1] - preview[0])} \u00b7 `}
                {totalText(app, shown, shown.total - (shown.idle_left || app.comparedWith ? 0 : idle))}
                {app.comparedWith && `, ${weightUnit(shown.base_total, shown.unit)} before`}
                {idle > 0 && <>, {weightUnit(idle, shown.unit)} idle <button type="button" class="link" onClick={() => void app.setIdle(shown.idle_left)}>{shown.idle_left ? "show" : "hide"}</button></>}
                {app.samplesText && ` \u00b7 ${app.samplesText}`}
            </span>
            {app.comparedWith && state.shares && Math.abs(shown.total - shown.base_total) > shown.base_total * UNEQUAL && (
                <span class="differ" title="Shares of the totals are compared, and the totals differ">The totals differ: <button type="button" class="link" onClick={() => void app.setShares(false)}>compare weights</button></span>
            )}
            {state.view === "source" && chosen && (
                <span class="found" title={functionName(chosen.name)}>{plainName(functionName(chosen.name))}: {weightUnit(chosen.self, shown.unit)} self, {weightUnit(chosen.total, shown.unit)} total</span>
            )}
            {found && (
                <span class="found">
                    {count(found.functions)} {found.functions === 1 ? "function matches" : "functions match"} {"\u201c"}{state.search}{"\u201d"}: {weightUnit(found.total, shown.unit)},{" "}
                    {share(found.total, shown.total || 1)}
                </span>
            )}
            <Part app={app} />
            <span class="grow" />
            {COLORED.includes(state.view) && state.view !== "changes" && !isPhone() && <ColorLegend app={app} />}
            <Cautions app={app} />
        </div>
    );
}

/* A view without data has only advice. */
function isIdle(app: App, view: View): boolean {
    return (view === "waits" && !app.waits) || (view === "marks" && !app.tracks.info?.marks.length);
}

/* What a tab has to show, if that is known before it is opened. */
function countOf(app: App, view: View): number {
    return view === "marks" ? app.tracks.info?.marks.length ?? 0 : view === "changes" ? app.comparison?.found ?? 0 : 0;
}

/* In a narrow window the tabs scroll: the selected one is in the middle. */
export function useTabInView(host: RefObject<HTMLElement | null>, selected: string): void {
    useLayoutEffect(() => {
        const at = host.current, tab = at?.querySelector("[aria-selected=true]");
        if (at && tab) {
            const all = at.getBoundingClientRect(), one = tab.getBoundingClientRect();
            at.scrollLeft += one.left + one.width / 2 - all.left - all.width / 2;
        }
    }, [host, selected]);
}

function Tabs({ app }: { app: App }) {
    const host = useRef<HTMLDivElement>(null);
    useTabInView(host, app.state.view);
    return (
        <div class="tabs" ref={host} role="tablist" aria-label="Views" onKeyDown={(event) => {
            const views = viewsOf(app);
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            const at = views.findIndex(([view]) => view === app.state.view);
            const next = views[(at + (step ?? 0) + views.length) % views.length];
            if (!step || !next)
                return;
            event.preventDefault();
            event.stopPropagation();
            app.setView(next[0]);
            (event.currentTarget.children[views.indexOf(next)] as HTMLElement).focus();
        }}>
            {viewsOf(app).map(([view, title]) => (
                <button key={view} type="button" role="tab" class={isIdle(app, view) ? "idle" : undefined} aria-selected={app.state.view === view} tabIndex={app.state.view === view ? 0 : -1} title={keyOf(view) ? `${title} (${keyOf(view)})` : title}
                    onClick={() => app.setView(view)}>
                    {title}{countOf(app, view) ? <small>{count(countOf(app, view))}</small> : null}
                </button>
            ))}
        </div>
    );
}

function Switch({ title, about, on, set }: { title: string; about: string; on: boolean; set(on: boolean): void }) {
    return <button type="button" role="switch" class="switch" aria-checked={on} title={about} onClick={() => set(!on)}>{title}<i /></button>;
}

const COLORED: readonly string[] = ["left", "time", "sandwich", "tree", "graph", "changes"]; /* views with colours by function */

const GROUPS = [["function", "By function"], ["file", "File"], ["module", "Module"]] as const;

function Grouping({ app }: { app: App }) {
    return (
        <div class="segments" role="group" aria-label="Rows">
            {GROUPS.map(([by, title]) => (
                <button key={by} type="button" aria-pressed={app.filters.groupedBy === by} onClick={() => void app.filters.groupBy(by)}>{title}</button>
            ))}
        </div>
    );
}

const PANE_TITLES: Record<Pane, string> = { source: "Source", assembly: "Assembly", both: "Both" };

/* On a telephone, one of both has room. */
function Panes({ app }: { app: App }) {
    const panes = isPhone() ? PANES.filter((pane) => pane !== "both") : PANES;
    const now = isPhone() && app.state.pane === "both" ? "source" : app.state.pane;
    return (
        <div class="segments" role="group" aria-label="Source or assembly">
            {panes.map((pane) => <button key={pane} type="button" aria-pressed={now === pane} onClick={() => app.setPane(pane)}>{PANE_TITLES[pane]}</button>)}
        </div>
    );
}

/* Settings of the view. */
export function ViewTools({ app }: { app: App }) {
    const { view, up, processes } = app.state;
    return (
        <div class="view-tools">
            {["left", "tree", "sandwich"].includes(view) && severalProcesses(app) && (
                <Switch key="Processes" title="Processes" about="Begin with processes and threads (P)" on={processes} set={(on) => void app.setProcesses(on)} />
            )}
            {view === "changes" && <ComparedChoice app={app} />}
            {app.comparedWith && ["changes", "left", "sandwich", "tree"].includes(view) && (
                <Switch key="Per share" title="Per share" about="Compare shares of the total; otherwise weights: a longer recording has more of everything" on={app.state.shares} set={(on) => void app.setShares(on)} />
            )}
            {view === "source" && hasListings(app) && <Panes app={app} />}
            {view === "sandwich" && !app.live && <Grouping app={app} />}
            {view === "sandwich" && <Switch key="Peek" title="Peek" about="List the functions that match the search, each with its direct callers and callees (p)" on={app.state.peek} set={(on) => app.setPeek(on)} />}
            {COLORED.includes(view) && !isPhone() && (app.live ? <ColorTools app={app} /> : <ColorChoice app={app} />) /* their legend is in the status line */}
            {INVERTS.includes(view) && <Switch key="Inverted" title="Inverted" about="Begin with the leaves, callers below them (v)" on={up} set={(on) => app.setInverted(on)} />}
        </div>
    );
}

/* What was recorded, next to the name. */
function Facts({ app }: { app: App }) {
    const p = app.profile;
    const { info } = app.tracks;
    if (!p)
        return null;
    const facts = [
        p.duration > 0 && time(Math.max(p.duration, info?.to ?? 0)), /* as the axis: the last sample lasts, too */
        info && !app.comparedWith && info.cpus.length > 1 && `${count(info.cpus.length)} CPUs`,
        p.threads > 1 && `${count(p.threads)} threads`,
        p.rate > 0 && `${count(Math.round(p.rate))} Hz`,
        p.sample_bytes > 0 && `sampled, one per ${weight(p.sample_bytes, "bytes")}`,
        info?.memory?.allocations && `${shortCount(info.memory.allocations)} allocations`,
        p.host && shownName(p.host),
    ].filter(Boolean);
    return <span class="facts-line">{facts.join(" \u00b7 ")}</span>;
}

const OF_COMMANDS = /(^| )--[a-z]|stoke (info|help) /; /* a hint that is only useful there */

export function Fault({ app }: { app: App }) {
    const { fault } = app;
    if (!fault)
        return null;
    const line = fault.line ? `line ${fault.line}${fault.column ? `, column ${fault.column}` : ""}: `
        : fault.offset !== undefined ? `byte ${fault.offset}: ` : "";
    return (
        <div class="fault" role="alert">
            <p>
                <b>{fault.about ? `${shownName(fault.about)}: ` : ""}{line}{fault.message}.</b>
                {fault.hint && !OF_COMMANDS.test(fault.hint) && <span> {fault.hint}</span>}
            </p>
            {fault.text && <pre>{fault.text}</pre>}
            {fault.about && !fault.own && app.latest && (
                <span class="format">Read as <FormatChoice app={app} value={app.latest.format} none="detect" onChoice={(name) => app.opening.openAs(name)} /></span>
            )}
            <button type="button" class="icon" aria-label="Close" onClick={() => { app.fault = null; app.changed(); }}>{"\u2715"}</button>
        </div>
    );
}

function Loading({ app }: { app: App }) {
    const { loading } = app;
    if (!loading || app.part?.going) /* the status line reports a part */
        return null;
    const part = loading.of ? loading.done / loading.of : 0;
    return (
        <div class="veil">
            <div class="loading" role="status">
                <p>Reading {loading.name}</p>
                <progress value={part} max={1} />
                <p class="faint">{(loading.done / 1e6).toFixed(0)} of {(loading.of / 1e6).toFixed(0)} MB</p>
                <button type="button" onClick={() => void app.core.cancel(true)}>Cancel</button>
            </div>
        </div>
    );
}

/* For a previewed span without samples. */
function Nothing({ app, span }: { app: App; span: [number, number] }) {
    const waits = app.waits && app.state.view !== "waits";
    return (
        <div class="nothing lack">
            <p>No samples of {eventName({ name: app.shown?.event_name ?? "", unit: app.shown?.unit ?? "" })} in {spanText(...span)}.</p>
            {waits && <p><button type="button" class="link" onClick={() => void app.setEvent(app.state.event || 1, false, true)}>Show waits too</button></p>}
        </div>
    );
}

/* The time order has the axis of the tracks above it: the details are then below the labels. */
function alignedToTracks(app: App): boolean {
    return app.state.view === "time" && app.tracks.info !== null && !app.comparedWith && !isPhone();
}

export function Root({ app, version }: { app: App; version: string }) {
    if (app.live)
        return <LiveRoot app={app} live={app.live} />;
    return (
        <div class={`page ${hasSheet(app) ? "sheeted" : ""}`}>
            {app.shown ? (
                <>
                    <header>
                        {app.home ? <a class="brand" href="/home" title="Home: record, recent recordings">stoke</a>
                            : <button type="button" class="brand" title="Open another file (Ctrl+O)" onClick={() => chooseFile(app, false)}>stoke</button>}
                        <h1 class="file">{app.comparedWith ? `${shownName(app.comparedWith)} \u2192 ${shownName(app.name)}` : shownName(app.name)}</h1>
                        <Facts app={app} />
                        <span class="grow" />
                        <Tools app={app} />
                    </header>
                    <Bar app={app} />
                    <Fault app={app} />
                    <TrackPane app={app} />
                    <section class="tab-bar" aria-label="View">
                        <Tabs app={app} />
                        <ViewTools app={app} />
                    </section>
                    <div class={`panel ${sideView(app) && app.appearance.side ? "sided" : ""} ${alignedToTracks(app) ? "aligned" : ""}`}>
                        <main tabIndex={-1}>
                            {app.empty && app.state.preview ? <Nothing app={app} span={app.state.preview} /> : <Content app={app} />}
                        </main>
                        {sideView(app) && app.appearance.side && !isPhone() && <Details app={app} />}
                    </div>
                    {hasSheet(app) ? <Sheet app={app} /> : <Status app={app} />}
                </>
            ) : (
                <>
                    <Fault app={app} />
                    {app.inlined && !app.fault ? null : app.home ? <HomeView app={app} home={app.home} version={version} /> : <Welcome app={app} version={version} />}
                </>
            )}
            <DropZones app={app} />
            <Loading app={app} />
            <Dialogs app={app} />
            {app.notice && <div class="notice" role="status">{app.notice}</div>}
        </div>
    );
}
