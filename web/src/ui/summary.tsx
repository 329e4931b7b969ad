/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { baseName, count, share, shownName, threadName, time, weight, weightUnit } from "../format";
import type { SummaryInfo } from "../protocol";
import { labelFilter } from "./labels";
import { Figure } from "./rows";

function Facts({ app, info }: { app: App; info: SummaryInfo }) {
    const p = info.profile;
    const facts: [string, string][] = [
        ["Format", p.format],
        ["Host", p.host],
        ["Command", p.command],
        ["Duration", p.duration ? time(p.duration) : ""],
        ["Samples", count(app.comparedWith ? info.samples : p.samples)],
        ["Rate", p.rate ? `${count(Math.round(p.rate * 10) / 10)} per second and CPU` : ""],
        ["Weight", weightUnit(info.weight, app.shown?.unit ?? "")],
        ["Threads", count(p.threads)],
        ["Processes", info.processes ? count(info.processes) : ""],
        ["Functions", count(info.functions)],
        ["Stacks", count(info.stacks)],
        ["Deepest stack", `${count(info.deepest)} frames`],
    ];
    return (
        <dl class="facts">
            {facts.filter(([, value]) => value).map(([what, value]) => (
                <div key={what} class={what === "Command" ? "long" : ""} title={what === "Command" ? value : ""}>
                    <dt>{what}</dt>
                    <dd>
                        {shownName(value)}
                        {what === "Format" && app.latest && <> <button type="button" class="link" title="If it was detected incorrectly" onClick={() => app.openDialog("format")}>Read as another</button></>}
                    </dd>
                </div>
            ))}
        </dl>
    );
}

const UNNAMED_MOST = 0.2; /* of the total: a larger share is the first problem to fix */

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
            "shows it with names, \u201cstoke convert FILE -o report.html\u201d makes a page with names, and \u201cstoke record --bundle\u201d records them.");
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
            <section>
                <h2>Threads</h2>
                {info.threads.slice(0, 100).map((t, i) => (
                    <button type="button" key={i} class="part" title="Show only this thread" onClick={() => void app.filters.add(
                        t.tid === undefined ? { verb: "comm", text: t.name } : { verb: "tid", text: String(t.tid) })}>
                        <Figure alone value={t.weight} total={info.weight} unit={unit} />
                        <span>{threadName(t)}</span>
                    </button>
                ))}
                {info.threads.length > 100 && <p class="faint">and {count(info.threads.length - 100)} more</p>}
            </section>
            {info.labels && (
                <section>
                    <h2>Labels</h2>
                    {info.labels.slice(0, 100).map((label) => (
                        <button type="button" key={`${label.key}=${label.value}`} class="part" title="Show only samples with this label" onClick={() => void app.filters.add(labelFilter([label]))}>
                            <Figure alone value={label.weight} total={info.weight} unit={unit} />
                            <span>{shownName(`${label.key}=${label.value}`)}</span>
                        </button>
                    ))}
                    {info.labels.length > 100 && <p class="faint">and {count(info.labels.length - 100)} more</p>}
                </section>
            )}
            <section>
                <h2>Modules</h2>
                {info.modules.slice(0, 100).map((m, i) => (
                    <div key={i} class="part" title={m.build ? `${m.name}\nbuild ${m.build}` : m.name}>
                        <Figure alone value={m.weight} total={info.weight} unit={unit} />
                        <span>{shownName(baseName(m.name)) || "(unknown)"}</span>
                    </div>
                ))}
            </section>
        </div>
    );
}

export function Summary({ app }: { app: App }) {
    const [info, setInfo] = useState<SummaryInfo | null>(null);
    useEffect(() => {
        let stale = false;
        app.core.summary().then((got) => { if (!stale) setInfo(got); }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    if (!info)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    const events = info.profile.events;
    return (
        <div class="summary">
            <h1>{app.comparedWith ? `${shownName(app.comparedWith)} \u2192 ${shownName(app.name)}` : shownName(app.name)}</h1>
            <Facts app={app} info={info} />
            <Careful app={app} info={info} />
            {events.length > 1 && (
                <section>
                    <h2>Events</h2>
                    {events.map((e, i) => (
                        <button type="button" class="part" key={i} onClick={() => void app.setEvent(i + 1, app.state.count)}>
                            <span class="figure"><b>{weight(info.tallies[i]?.weight ?? 0, e.unit)}</b></span>
                            <span>{shownName(e.name)}: {count(info.tallies[i]?.samples ?? 0)} samples</span>
                        </button>
                    ))}
                </section>
            )}
            <Parts app={app} info={info} />
        </div>
    );
}
