/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { threadsFilter } from "../filters";
import { count, eventTitle, moduleName, share, shownName, threadName, time, weight, weightUnit } from "../format";
import type { ProfileInfo, SummaryInfo } from "../protocol";
import { AFTER, BEFORE } from "../sides";
import { labelFilter } from "./labels";
import { Figure } from "./rows";

/* Of a comparison: both recordings. */
function Recordings({ app }: { app: App }) {
    const [both, setBoth] = useState<ProfileInfo[]>([]);
    useEffect(() => {
        let stale = false;
        Promise.all([app.core.opened(1), app.core.opened(0)]).then((got) => { if (!stale) setBoth(got); }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    const { base_total = 0, total = 0, unit = "" } = app.shown ?? {};
    const rows: [string, (p: ProfileInfo, i: number) => string][] = [
        ["File", (_, i) => (i ? app.name : app.comparedWith)],
        ["Command", (p) => p.command],
        ["Host", (p) => p.host],
        ["Format", (p) => p.format],
        ["Duration", (p, i) => (p.duration ? time(Math.max(p.duration, app.tracks.sides?.[i ? AFTER : BEFORE]?.info.to ?? 0)) : "")], /* the last sample lasts, too */
        ["Rate", (p) => (p.rate ? `${count(Math.round(p.rate * 10) / 10)} per second and CPU` : "")],
        ["Samples", (p) => count(p.samples)],
        ["Threads", (p) => (p.threads ? count(p.threads) : "")],
        ["Shown", (_, i) => weightUnit(i ? total : base_total, unit)],
    ];
    const shown = rows.map(([what, of]) => ({ what, values: both.map(of) })).filter(({ values }) => values.some(Boolean));
    return (
        <table class="recordings">
            <thead><tr><td /><th scope="col">Before</th><th scope="col">After</th></tr></thead>
            <tbody>{shown.map(({ what, values }) => <tr key={what}><th scope="row">{what}</th>{values.map((value, i) => <td key={i} title={shownName(value)}>{shownName(value) || "\u2013"}</td>)}</tr>)}</tbody>
        </table>
    );
}

/* From the first sample to the end of the last one; of the live page, the span that is shown. */
function durationOf(app: App, p: ProfileInfo): number {
    if (app.live) {
        const [from, to] = app.live.shownSpan ?? [0, 0];
        return (to - from) * 1e9;
    }
    return p.duration && Math.max(p.duration, app.tracks.isWhole ? app.tracks.info?.to ?? 0 : 0);
}

function Facts({ app, info }: { app: App; info: SummaryInfo }) {
    const p = info.profile, side = app.comparedWith ? ", after" : "";
    const alone: [string, string][] = [
        ["Format", p.format],
        ["Host", p.host],
        ["Command", p.command],
        ["Duration", durationOf(app, p) ? time(durationOf(app, p)) : ""],
        ["Samples", p.cycles ? "" : count(p.samples)],
        ["Rate", p.rate ? `${count(Math.round(p.rate * 10) / 10)} per second and CPU` : ""],
        ["Sampled", p.sample_bytes ? `one allocation per ${weight(p.sample_bytes, "bytes")} on average` : ""],
        [app.shown?.unit === "ns" ? eventTitle({ name: app.shown.event_name, unit: "ns" }) : p.cycles ? "Cycles" : "Weight", weightUnit(info.weight, app.shown?.unit ?? "")],
        ["Idle", app.shown?.idle ? `${weightUnit(app.shown.idle, app.shown.unit)} of it${app.shown.idle_left ? ", not shown" : ""}` : ""],
        ["Threads", count(p.threads)],
    ];
    const facts: [string, string][] = [
        ...(app.comparedWith ? [] : alone),
        ["Processes", info.processes ? count(info.processes) : ""],
        [`Functions${side}`, count(info.functions)],
        [`Stacks${side}`, count(info.stacks)],
        [`Deepest stack${side}`, `${count(info.deepest)} frames`],
    ];
    return (
        <dl class="facts">
            {facts.filter(([, value]) => value).map(([what, value]) => (
                <div key={what} class={what === "Command" ? "long" : ""} title={what === "Command" ? value : ""}>
                    <dt>{what}</dt>
                    <dd>
                        {shownName(value)}
                        {what === "Format" && app.latest && <> <button type="button" class="link" title="If it was detected incorrectly" onClick={() => app.openDialog("format")}>Read as another format{"\u2026"}</button></>}
                    </dd>
                </div>
            ))}
        </dl>
    );
}

const UNNAMED_MOST = 0.2; /* of the total: a larger share is the first problem to fix */
const LISTED = 100; /* threads, labels and modules */

function sentence(text: string): string {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/* What makes the figures less than they seem. */
function Careful({ app, info }: { app: App; info: SummaryInfo }) {
    const p = info.profile;
    const unit = app.shown?.unit ?? "";
    const said: string[] = [];
    const [lost, truncated, gaps] = p.loss_lines.map(sentence);
    if (lost)
        said.push(`${lost}: ${share(p.lost, p.lost + p.samples)} of all.`);
    if (truncated)
        said.push(`${truncated}: outermost callers are missing.`);
    if (gaps)
        said.push(`${gaps}.`);
    if (info.unknown_leaf)
        said.push(`${weight(info.unknown_leaf, unit)} (${share(info.unknown_leaf, info.weight)}) ends in functions without a name.`);
    else if (info.unknown_any)
        said.push(`${weight(info.unknown_any, unit)} (${share(info.unknown_any, info.weight)}) has functions without a name among its callers.`);
    if (info.unknown_leaf > info.weight * UNNAMED_MOST && p.format === "perf-data")
        said.push("The recording has addresses; the symbols are on the machine where it was made. There, \u201cstoke view FILE\u201d " +
            "shows it with names, \u201cstoke convert FILE -o report.html\u201d makes a page with names, and \u201cstoke record --bundle\u201d records them. " +
            "Names that are missing there too are not in the program: install its debug symbols (-dbgsym, -debuginfo), or set DEBUGINFOD_URLS, and record again.");
    const samples = app.shown?.samples ?? 0;
    if (samples < 1000 && !p.counted)
        said.push(`There are ${count(samples)} samples: small shares are not significant.`);
    if (!said.length && !p.warnings.length)
        return null;
    return (
        <section>
            <h2>Be careful</h2>
            <ul>
                {said.map((text) => <li key={text}>{text}</li>)}
                {p.warnings.map((w) => (
                    <li key={w.what}>
                        {count(w.count)} {"\u00d7"} {w.what}
                        {w.line ? `, first in line ${w.line}` : ""}
                        {w.text && <code> {w.text}</code>}
                    </li>
                ))}
            </ul>
        </section>
    );
}

function Parts({ app, info }: { app: App; info: SummaryInfo }) {
    const unit = app.shown?.unit ?? "";
    return (
        <div class="parts">
            {info.threads.length > 0 && <section>
                <h2>Threads{app.comparedWith && <span class="faint"> after</span>}</h2>
                {info.threads.map((t, i) => (
                    <button type="button" key={i} class="part" title="Show only this thread" onClick={() => void app.filters.add(threadsFilter([t]))}>
                        <Figure alone value={t.weight} total={info.weight} unit={unit} />
                        <span>{threadName(t, app.tracks.isAlike(t))}</span>
                    </button>
                ))}
                {info.thread_count > info.threads.length && <p class="faint">and {count(info.thread_count - info.threads.length)} more</p>}
            </section>}
            {info.labels && (
                <section>
                    <h2>Labels</h2>
                    {info.labels.map((label) => (
                        <button type="button" key={`${label.key}=${label.value}`} class="part" title="Show only samples with this label" onClick={() => void app.filters.add(labelFilter([label]))}>
                            <Figure alone value={label.weight} total={info.weight} unit={unit} />
                            <span>{shownName(`${label.key}=${label.value}`)}</span>
                        </button>
                    ))}
                    {(info.label_count ?? 0) > info.labels.length && <p class="faint">and {count((info.label_count ?? 0) - info.labels.length)} more</p>}
                </section>
            )}
            {info.modules.length > 0 && <section>
                <h2>Modules{app.comparedWith && <span class="faint"> after</span>}</h2>
                {info.modules.slice(0, LISTED).map((m, i) => (
                    <div key={i} class="part" title={m.build ? `${m.name}\nbuild ${m.build}` : m.name}>
                        <Figure alone value={m.weight} total={info.weight} unit={unit} />
                        <span>{moduleName(m.name) || "(unknown)"}</span>
                    </div>
                ))}
            </section>}
        </div>
    );
}

export function Summary({ app }: { app: App }) {
    const [info, setInfo] = useState<SummaryInfo | null>(null);
    useLayoutEffect(() => { /* not after the next frame */
        let stale = false;
        app.core.summary(LISTED).then((got) => { if (!stale) setInfo(got); }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    if (!info)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    const events = info.profile.events;
    return (
        <div class="summary">
            <h1>{app.comparedWith ? `${shownName(app.comparedWith)} \u2192 ${shownName(app.name)}` : shownName(app.name)}</h1>
            {app.comparedWith && <Recordings app={app} />}
            <Facts app={app} info={info} />
            <Careful app={app} info={info} />
            {events.length > 1 && !app.comparedWith && (
                <section>
                    <h2>Events</h2>
                    {events.map((e, i) => (
                        <button type="button" class="part" key={i} onClick={() => void app.setEvent(i + 1, app.state.count)}>
                            <span class="figure"><b>{weight(info.tallies[i]?.weight ?? 0, e.unit)}</b></span>
                            <span>{eventTitle(e)}{eventTitle(e) !== shownName(e.name) && <span class="faint"> {shownName(e.name)}</span>}, {count(info.tallies[i]?.samples ?? 0)} samples</span>
                        </button>
                    ))}
                </section>
            )}
            <Parts app={app} info={info} />
        </div>
    );
}
