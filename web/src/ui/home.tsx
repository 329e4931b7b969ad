/* SPDX-License-Identifier: Apache-2.0 */
/* The home: record now, recent recordings, a file, an example. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { App } from "../app";
import { clock } from "../live";
import { chooseFile } from "../commands";
import { example } from "../example";
import { baseName, count, eventTitle, shownName, time, weight } from "../format";
import type { About, Group, Home, Recent, Recording, Settings } from "../home";
import { Icon } from "./icons";
import { FormatChoice, Formats } from "./formats";
import { useHeld } from "./held";
import { Licences } from "./licences";

const ROWS = 11; /* processes that are shown without a search */
const FOUND = 60; /* with a search */
const RECENT = 8;

const EVENTS: readonly (readonly [string, string])[] = [
    ["", "CPU time"], ["cycles", "CPU cycles"], ["instructions", "Instructions"], ["cache-misses", "Cache misses"], ["branch-misses", "Branch misses"],
    ["page-faults", "Page faults"], ["context-switches", "Context switches"],
];
const RATES = [[99, "99"], [499, "499"], [999, "999 Hz"]] as const;
const STACKS = [["auto", "Automatic"], ["fp", "Frame ptr"], ["dwarf", "DWARF"]] as const;
const DURATIONS = [[10, "10 s"], [60, "1 min"], [0, "Until stop"]] as const;
const TARGETS = [["command", "Command"], ["pids", "Running process"], ["machine", "Whole machine"]] as const;

/* The text is what the user typed until the field is left: the page is drawn again meanwhile. */
function Seconds({ value, onChange }: { value: number; onChange: (value: number) => void }) {
    const [text, setText] = useState<string | null>(null);
    const type = (typed: string): void => {
        setText(typed);
        onChange(Math.min(86400, Math.max(0, Number(typed) || 0)));
    };
    return (
        <label class="faint">
            <input type="number" class="seconds" min="0" max="86400" step="any" aria-label="Seconds; 0: until it is stopped" value={text ?? value}
                onInput={(event) => type(event.currentTarget.value)} onBlur={() => setText(null)} /> s
        </label>
    );
}

function Choice<T extends string | number>({ label, name, choices, value, onChoice, disabled = false }:
    { label: string; name: string; choices: readonly (readonly [T, string])[]; value: T; onChoice: (value: T) => void; disabled?: boolean }) {
    return (
        <div class="seg" role="radiogroup" aria-label={label}>
            {choices.map(([one, title]) => (
                <label key={one}><input type="radio" name={name} checked={one === value} disabled={disabled} onChange={() => onChoice(one)} /><span>{title}</span></label>
            ))}
        </div>
    );
}

function Field({ label, children }: { label: string; children: ComponentChildren }) {
    return <div class="field"><span>{label}</span>{children}</div>;
}

function Toggle({ label, on, onToggle, about, disabled = false }: { label: string; on: boolean; onToggle: (on: boolean) => void; about?: string; disabled?: boolean }) {
    return <button type="button" class="switch" role="switch" aria-checked={on} title={about} disabled={disabled} onClick={() => onToggle(!on)}><i />{label}</button>;
}

/* CPU time of the last readings, relative to all CPUs. */
function Past({ past }: { past: number[] }) {
    const most = Math.max(100, ...past);
    return (
        <svg class="past" width="72" height="16" aria-hidden="true">
            {past.map((cpu, i) => {
                const height = cpu > 0 ? Math.max(1, 16 * Math.sqrt(Math.min(1, cpu / most))) : 0;
                return <rect key={i} x={72 - 3 * (past.length - i)} y={16 - height} width="2" height={height} />;
            })}
        </svg>
    );
}

const percent = (cpu: number | null): string => cpu === null ? "\u2013" : `${cpu < 10 && cpu > 0 ? cpu.toFixed(1) : cpu.toFixed(0)} %`;

function ProcessRow({ home, group }: { home: Home; group: Group }) {
    const on = group.pids.some((pid) => home.settings.pids.includes(pid));
    const name = shownName(group.name);
    const some = on && !group.pids.every((pid) => home.settings.pids.includes(pid));
    const toggle = (): void => home.choose(group.pids, !on);
    return (
        <tr class={on ? "on" : ""} onClick={toggle}>
            <td><input type="checkbox" checked={on} indeterminate={some} aria-label={`${name}, ${group.pids.length === 1 ? `process ${group.pids[0]}` : `${group.pids.length} processes`}`}
                onClick={(event) => event.stopPropagation()} onChange={toggle} /></td>
            <td class="wide-cell"><span class="process">{name}</span> {group.pids.length > 1 && <span class="faint">{"\u00d7"}{group.pids.length}</span>}</td>
            <td class="faint">{group.pids[0]}</td>
            <td class="faint service">{shownName(group.service)}</td>
            <td class="past-cell"><Past past={group.past} /></td>
            <td>{percent(group.cpu)}</td>
            <td>{weight(group.memory, "bytes")}</td>
        </tr>
    );
}

function Processes({ app, home }: { app: App; home: Home }) {
    const held = useHeld(home.groups(), ({ name, service }) => `${name}\n${service}`);
    const groups = held.rows;
    const most = home.search ? FOUND : ROWS;
    const shown = groups.filter((group, i) => i < most || group.pids.some((pid) => home.settings.pids.includes(pid)));
    const rest = groups.length - shown.length;
    const sort = (byMemory: boolean): void => {
        held.release();
        home.byMemory = byMemory;
        app.changed();
    };
    return (
        <>
            <div class="list" {...held.events}>
                <table>
                    <thead><tr>
                        <th><span class="spoken">Chosen</span></th><th>Process</th><th>pid</th><th class="service">Service</th><th class="past-cell"><span class="spoken">CPU time of the last readings</span></th>
                        <th aria-sort={home.byMemory ? "none" : "descending"}><button type="button" onClick={() => sort(false)}>CPU{home.byMemory ? "" : " \u2193"}</button></th>
                        <th aria-sort={home.byMemory ? "descending" : "none"}><button type="button" onClick={() => sort(true)}>Memory{home.byMemory ? " \u2193" : ""}</button></th>
                    </tr></thead>
                    <tbody>{shown.map((group) => <ProcessRow key={`${group.name}\n${group.service}`} home={home} group={group} />)}</tbody>
                </table>
            </div>
            <p class="below">
                {shown.length === 0 && home.search ? `No process matches \u201c${home.search}\u201d. ` : null}
                {rest > 0 ? `${count(rest)} more${home.search ? "" : home.byMemory ? ", with less memory" : ", with less CPU time"}: search for them. ` : null}
                {home.machine && !home.machine.root && <>Processes of other users need root or <code>CAP_PERFMON</code>.</>}
            </p>
        </>
    );
}

function Targets({ app, home }: { app: App; home: Home }) {
    const { settings } = home;
    return (
        <section class="card" aria-label="What to record">
            <div class="card-head">
                <Choice label="What to record" name="target" choices={TARGETS} value={settings.target} onChoice={(target) => home.set({ target })} />
                <span class="grow" />
                {settings.target === "pids" && (
                    <input id="search" type="search" placeholder="Name, pid or service" aria-label="Search processes" spellcheck={false} value={home.search}
                        onInput={(event) => { home.search = event.currentTarget.value; app.changed(); }} />
                )}
            </div>
            {settings.target === "pids" && <Processes app={app} home={home} />}
            {settings.target === "command" && (
                <div class="card-body">
                    <label class="command">Command line
                        <input type="text" spellcheck={false} autocomplete="off" placeholder="make -j8" value={settings.command} onInput={(event) => home.set({ command: event.currentTarget.value })} />
                    </label>
                    <p class="faint">It runs in {shownName(home.machine?.folder ?? "")}, without a shell: quotes and backslashes work, pipes and variables do not.</p>
                </div>
            )}
            {settings.target === "machine" && <p class="card-body">All processes on {count(home.machine?.cpus ?? 1)} CPUs, with the kernel. {home.machine && !home.machine.root && <>This needs root or <code>CAP_PERFMON</code>.</>}</p>}
        </section>
    );
}

function title(home: Home): string {
    const { target, pids } = home.settings;
    if (target === "machine")
        return "The whole machine";
    if (target === "command")
        return home.plan?.title ? shownName(home.plan.title) : "A command";
    const names = new Set(home.processes.filter((p) => pids.includes(p.pid)).map((p) => shownName(p.name)));
    if (pids.length === 0)
        return "No process chosen";
    return `${[...names].slice(0, 3).join(", ") || "process"}${names.size > 3 ? "\u2026" : ""}, ${pids.length === 1 ? `process ${pids[0]}` : `${count(pids.length)} processes`}`;
}

/* The error of stoke record, without the notes before it. */
function reason(messages: string): string {
    const mark = "stoke: error: ";
    const at = messages.lastIndexOf(mark);
    return at < 0 ? messages : messages.slice(at + mark.length);
}

/* While a recording is made. */
function Progress({ home, recording }: { home: Home; recording: Recording }) {
    const seconds = recording.seconds ?? 0, duration = recording.duration ?? 0;
    const ending = recording.state === "ending" || (duration > 0 && seconds > duration);
    return (
        <div class="recording" role="status">
            <b>{ending ? "Reading names" : "Recording"} {shownName(recording.title ?? "")}</b>
            <span>{seconds.toFixed(1)} s{duration > 0 ? ` of ${duration} s` : ""}</span>
            <button type="button" disabled={ending} onClick={() => void home.stop()}>Stop</button>
            <progress aria-label="Recording" {...(duration > 0 && !ending ? { value: Math.min(seconds, duration), max: duration } : {})} />
        </div>
    );
}

/* An estimate: what a recording costs depends on the stacks. */
function Cost({ home }: { home: Home }) {
    const { cost } = home;
    if (!cost)
        return null;
    const cpu = cost.cpu * 100;
    const size = `${cost.bytes < 1e6 ? `${Math.ceil(cost.bytes / 1e4) * 10} KB` : `${(cost.bytes / 1e6).toFixed(cost.bytes < 1e7 ? 1 : 0)} MB`}${home.settings.duration ? "" : " a minute"}`;
    return <span class="faint cost" title="Estimated from the rate and the CPU time of the last seconds; waits and heap come in addition">{cpu < 0.1 ? "less than 0.1" : `about ${cpu.toFixed(cpu < 10 ? 1 : 0)}`} % of one CPU, {size}</span>;
}

function Options({ app, home }: { app: App; home: Home }) {
    const { settings, plan, recording } = home;
    const set = (some: Partial<Settings>): void => home.set(some);
    const alone = home.heapAlone;
    return (
        <section class="card options" aria-label="How to record">
            <h2>{title(home)}</h2>
            <Field label="Event">
                <select aria-label="Event" disabled={alone} value={settings.event} onChange={(event) => set({ event: event.currentTarget.value })}>
                    {EVENTS.map(([event, name]) => <option key={event} value={event}>{name}</option>)}
                </select>
            </Field>
            <Field label="Rate"><Choice label="Rate" name="rate" disabled={alone} choices={RATES} value={settings.rate} onChoice={(rate) => set({ rate })} /></Field>
            <Field label="Stacks"><Choice label="Stacks" name="stacks" disabled={alone} choices={STACKS} value={settings.stacks} onChoice={(stacks) => set({ stacks })} /></Field>
            <Field label="Duration">
                <Choice label="Duration" name="duration" choices={DURATIONS} value={settings.duration} onChoice={(duration) => set({ duration })} />
                <Seconds value={settings.duration} onChange={(duration) => set({ duration })} />
            </Field>
            <Field label={alone ? "Only" : "Also"}>
                <div>
                    <Toggle label="waits" disabled={alone} on={settings.off_cpu && !alone} onToggle={(off_cpu) => set({ off_cpu })} />
                    <Toggle label="heap" disabled={settings.target === "machine"} on={settings.heap} onToggle={(heap) => set({ heap })}
                        about={settings.target === "command" ? "Also where it allocates memory, sampled" : settings.target === "pids" ? "Where one process allocates memory, sampled; without its CPU time" : "Of a command or a running process"} />
                    <Toggle label="children" disabled={alone} on={settings.children && !alone} onToggle={(children) => set({ children })} />
                </div>
            </Field>
            <div class="same">
                <p class="faint">The same on the command line <span class="grow" />
                    <button type="button" class="link" disabled={!plan?.command} onClick={() => void app.copy(plan?.command ?? "", "the command line")}>Copy</button></p>
                <pre class="line-of">{plan?.command || (plan?.error ? "" : "stoke record \u2026")}</pre>
                {plan?.error && home.chosen && <p class="wrong">{plan.error}. {plan.hint}</p>}
            </div>
            {home.records ? <Progress home={home} recording={recording} /> : (
                <div class="start">
                    <button type="button" class="record" disabled={!home.chosen || Boolean(plan?.error)} onClick={() => void home.record()}><i />Start recording</button>
                    <Cost home={home} />
                </div>
            )}
            {recording.state === "recorded" && <p class="faint" role="status">Recorded <button type="button" class="link" disabled={!recording.file || home.opening !== ""} title="Open it"
                onClick={() => void home.open(recording.file ?? "")}>{shownName(recording.name ?? "")}</button></p>}
            {home.gone && <p class="faint" role="status">{shownName(home.gone)} has ended.</p>}
            {recording.state === "failed" && <div class="wrong" role="alert"><p>The recording failed.</p><pre>{reason(recording.messages ?? "")}</pre></div>}
        </section>
    );
}

function when(ms: number): string {
    const at = new Date(ms), now = new Date();
    return at.toDateString() === now.toDateString() ? `today ${clock(ms / 1000, false)}`
        : at.toLocaleDateString([], { day: "numeric", month: "short", year: at.getFullYear() === now.getFullYear() ? undefined : "numeric" });
}

/* "load and 3 other processes"; without processes the recorded command. */
function programOf({ program, processes, command }: About): string {
    const name = program ?? baseName(command?.split(" ")[0] ?? "");
    const others = program && processes ? processes - 1 : 0;
    return shownName(name) + (others > 0 ? ` and ${count(others)} other ${others === 1 ? "process" : "processes"}` : "");
}

/* What was recorded, and how much of it if that is known. */
type RecordedEvent = NonNullable<About["events"]>[number];

const NAMED_MOST = 3; /* events without their totals */

function titleOf({ name = "", unit = "" }: RecordedEvent): string {
    return name === "off-cpu" ? "waiting" : eventTitle({ name, unit });
}

function eventOf(event: RecordedEvent): string {
    return event.total === undefined ? titleOf(event) : `${weight(event.total, event.unit ?? "")} ${titleOf(event)}`;
}

function contentsOf(about: About): string[] {
    const events = (about.events ?? []).filter((event) => event.total !== undefined || event.name !== "samples"); /* else it says nothing */
    const counted = events[0]?.unit === "samples"; /* the event says it */
    return [
        programOf(about),
        ...events.slice(0, 2).map(eventOf),
        events.length > 2 ? `also ${events.slice(2, 2 + NAMED_MOST).map(titleOf).join(", ")}${events.length > 2 + NAMED_MOST ? "\u2026" : ""}` : "",
        about.samples !== undefined && !counted ? `${count(about.samples)} ${about.samples === 1 ? "sample" : "samples"}` : "",
        about.cut ? "ends early" : "",
        about.large && about.samples === undefined ? "large, read in part" : "",
    ].filter(Boolean);
}

function Contents({ file: { about } }: { file: Recent }) {
    if (!about)
        return <>{about === null ? "\u2026" : ""}</>;
    if (about.error !== undefined)
        return <span class="wrong" title={shownName(about.error)}>Cannot be read: {shownName(about.error)}</span>;
    const text = contentsOf(about).join(" \u00b7 ");
    const more = [about.command, about.host && `on ${about.host}`, about.format].filter(Boolean).map((one) => shownName(one ?? ""));
    return <span title={[text, ...more].join("\n")}>{text}</span>;
}

/* Chooses the recording before, then the one after, which opens the comparison. */
function CompareButton({ home, file }: { home: Home; file: Recent }) {
    const { before } = home;
    const name = shownName(file.name);
    if (!before)
        return <button type="button" aria-label={`Compare ${name}`} title="Compare it, as the recording before, with another" onClick={() => home.chooseBefore(file)}>Compare{"\u2026"}</button>;
    if (before.id === file.id)
        return <button type="button" class="before" aria-pressed={true} aria-label={`Before: ${name}`} title="Choose another" onClick={() => home.chooseBefore(null)}>Before</button>;
    return <button type="button" class="after" aria-label={`After: ${name}`} title={`Compare ${shownName(before.name)} (before) with ${name} (after)`} onClick={() => void home.open(file.id, before.id)}>After</button>;
}

function RecentRow({ home, file, compares }: { home: Home; file: Recent; compares: boolean }) {
    const { about } = file;
    return (
        <tr class={home.before?.id === file.id ? "on" : ""}>
            <td class="name" title={shownName(`${file.folder ?? home.machine?.folder ?? ""}/${file.name}`)}>
                <button type="button" class="link" onClick={() => void home.open(file.id)}>{shownName(file.name)}</button>
                {file.folder && <span class="faint folder"><bdi>{shownName(file.folder)}</bdi></span>}
            </td>
            <td class="contents"><Contents file={file} /></td>
            <td class="faint">{about?.seconds ? time(about.seconds * 1e9) : ""}</td>
            <td class="faint">{when(file.changed)}</td>
            <td class="faint">{weight(file.size, "bytes")}</td>
            {compares && <td class="act">{about?.error === undefined && <CompareButton home={home} file={file} />}</td>}
        </tr>
    );
}

function Recents({ home }: { home: Home }) {
    const recent = home.machine?.recent ?? [];
    const [all, setAll] = useState(false);
    const shown = all ? recent : recent.slice(0, RECENT);
    const compares = shown.length > 1;
    return (
        <>
            <div class="recents-head">
                <h2>Recent recordings</h2>
                {recent.length > RECENT && <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>{all ? `Latest ${RECENT}` : `All ${count(recent.length)}`}</button>}
            </div>
            <div class="card recents">
                {recent.length === 0 && <p class="card-body faint">No profile in {shownName(home.machine?.folder ?? "this folder")} yet.</p>}
                <div class="comparing" role="status">
                    {home.before && <><span><b>{shownName(home.before.name)}</b> is the recording before. Choose the one after it.</span> <button type="button" onClick={() => home.chooseBefore(null)}>Cancel</button></>}
                </div>
                {recent.length > 0 && (
                    <table>
                        <thead><tr><th>Name</th><th>Contents</th><th>Duration</th><th>Changed</th><th>Size</th>{compares && <th><span class="spoken">Compare</span></th>}</tr></thead>
                        <tbody>{shown.map((file) => <RecentRow key={file.id} home={home} file={file} compares={compares} />)}</tbody>
                    </table>
                )}
            </div>
        </>
    );
}

export function HomeView({ app, home, version }: { app: App; home: Home; version: string }) {
    const { machine } = home;
    const facts = machine ? [shownName(machine.host), `${count(machine.cpus)} CPUs`, weight(machine.memory, "bytes"), shownName(machine.system)] : [];
    return (
        <>
            <header>
                <b class="brand">stoke</b>
                <span class="facts-line home-facts">{facts.filter(Boolean).join(" \u00b7 ")}</span>
                <span class="grow" />
                <div class="tools">
                    <button type="button" onClick={() => chooseFile(app, false)}>Open a file{"\u2026"}</button>
                    <button type="button" onClick={() => void app.opening.openTitled(example(), "example")}>Try an example</button>
                    <button type="button" title="Light or dark" aria-label="Light or dark" onClick={() => app.appearance.setTheme(app.appearance.dark ? "light" : "dark")}><Icon name={app.appearance.dark ? "light" : "dark"} /></button>
                    <button type="button" title="Keys (?)" aria-label="Keys" onClick={() => app.openDialog("help")}>?</button>
                </div>
            </header>
            <main class="home">
                <div class="middle">
                    <h1>Record</h1>
                    <p class="faint">Choose what to record, or drop a recording anywhere on this page. Two files dropped together are compared.</p>
                    {home.error && <div class="fault" role="alert"><p><b>{home.error.message}.</b></p>{home.error.hint && <pre>{home.error.hint}</pre>}</div>}
                    {home.opening && <p class="making" role="status">Opening {shownName(home.opening)} <progress aria-label="Opening" /></p>}
                    <div class="cards">
                        <Targets app={app} home={home} />
                        <Options app={app} home={home} />
                    </div>
                    <Recents home={home} />
                    <p><span class="format">Format of the next file <FormatChoice app={app} value={app.format} none="detect" onChoice={(name) => { app.format = name; app.changed(); }} /></span></p>
                    <Formats app={app} />
                    <Licences />
                </div>
            </main>
            <footer class="status"><span>Nothing leaves this machine. Only this browser may use this page.</span><span class="grow" /><span>stoke {version}</span></footer>
        </>
    );
}
