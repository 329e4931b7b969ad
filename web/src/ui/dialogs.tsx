/* SPDX-License-Identifier: Apache-2.0 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { COMMANDS, GROUPS, openFunction, openSource } from "../commands";
import { OF_TIME, ownerFilter, threadsFilter } from "../filters";
import { spanText } from "../axis";
import { baseName, functionName, hasIds, shownName, threadName, time, weight } from "../format";
import type { SummaryInfo } from "../protocol";
import { exportAs, FORMATS, hasPicture, savePage, savePicture } from "../save";
import { filterText } from "../state";
import { Icon } from "./icons";
import { FormatChoice, Formats } from "./formats";
import { Labels } from "./labels";
import { MoreTracks } from "./more_tracks";
import { MenuSheet } from "./sheet";
import { Licences } from "./licences";

/* Tab moves from the last control of a dialog to the first, and back. */
function keepFocus(event: KeyboardEvent): void {
    if (event.key !== "Tab")
        return;
    const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("input, select, button, summary")]
        .filter((one) => !(one as HTMLButtonElement).disabled && one.tabIndex >= 0);
    const edge = event.shiftKey ? all[0] : all[all.length - 1];
    if (document.activeElement !== edge)
        return;
    event.preventDefault();
    (event.shiftKey ? all[all.length - 1] : all[0])?.focus();
}

export function Dialog({ app, title, children }: { app: App; title: string; children: ComponentChildren }) {
    const host = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const before = document.activeElement as HTMLElement | null;
        const first = host.current?.querySelector("input") ?? host.current?.querySelector("select, button");
        (first as HTMLElement | null | undefined)?.focus();
        return () => before?.focus();
    }, []);
    return (
        <div class="veil" onClick={(event) => { if (event.target === event.currentTarget) app.openDialog(null); }}>
            <div class="dialog" role="dialog" aria-modal="true" aria-label={title} ref={host} onKeyDown={keepFocus}>
                <h2>{title}</h2>
                {children}
                <button type="button" class="icon" aria-label="Close" onClick={() => app.openDialog(null)}>{"\u2715"}</button>
            </div>
        </div>
    );
}

const KEY_NAMES: Record<string, string> = { ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc", " ": "Space", PageUp: "Page up", PageDown: "Page down", ContextMenu: "Menu" };

function Keys({ keys }: { keys: string[] }) {
    return <>{keys.map((key) => <kbd key={key}>{key.split(/\+(?=.)/).map((part) => KEY_NAMES[part] ?? part).join(" ")}</kbd>)}</>;
}

function Help({ app }: { app: App }) {
    return (
        <Dialog app={app} title="Keys">
            <div class="keys">
                {GROUPS.map((group) => (
                    <section key={group}>
                        <h3>{group}</h3>
                        {COMMANDS.filter((c) => c.group === group && c.keys.length).map((c) => (
                            <p key={c.title}><span>{c.title}</span><Keys keys={c.keys} /></p>
                        ))}
                    </section>
                ))}
                <section>
                    <h3>With the mouse</h3>
                    <p><span>Pan</span><kbd>drag</kbd><kbd>wheel</kbd></p>
                    <p><span>Zoom</span><kbd>Ctrl wheel</kbd><kbd>pinch</kbd></p>
                    <p><span>Fit a box, or all</span><kbd>double click</kbd></p>
                    <p><span>Show only a time range</span><kbd>Shift drag</kbd></p>
                    <p><span>Add a track, or the tracks from the last one</span><kbd>Ctrl click</kbd><kbd>Shift click</kbd></p>
                    <p><span>Actions for a function</span><kbd>right click</kbd></p>
                    <p><span>Open, compare (with Shift)</span><kbd>drop a file</kbd></p>
                </section>
            </div>
            <Formats app={app} />
            <Licences />
        </Dialog>
    );
}

const PALETTE_FUNCTIONS = 12;

interface Choice {
    title: string;
    about: string;
    keys: string[];
    run(): void;
}

/* Everything else that the palette finds: functions, events, threads, formats. */
function choicesOf(app: App, words: string[], functions: { label: number; name: string }[], formats: { name: string; summary: string }[]): Choice[] {
    const matches = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
    if (!words.length)
        return [];
    const { info } = app.tracks;
    const events = (app.profile?.events ?? []).map((e, i): Choice =>
        ({ title: shownName(e.name), about: `event, ${e.unit}`, keys: [], run: () => void app.setEvent(i + 1, false) }));
    const threads = (info?.threads ?? []).filter((t) => t.tid !== undefined).map((t): Choice =>
        ({ title: shownName(hasIds() ? `${t.name} ${t.tid}` : t.name), about: "thread", keys: [], run: () => void app.filters.selectThreads(app.tracks.ofThreads([t])) }));
    const readers = app.latest ? formats.map((f): Choice =>
        ({ title: `Read the file as ${f.name}`, about: "format", keys: [], run: () => app.opening.openAs(f.name) })) : [];
    return [
        ...functions.map((f): Choice => ({ title: functionName(f.name).slice(0, 300), about: "function", keys: [], run: () => void app.choose(f.label) })),
        ...[...events, ...threads, ...readers].filter((c) => matches(`${c.about} ${c.title}`)).slice(0, 30),
    ];
}

function CommandPalette({ app }: { app: App }) {
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const [functions, setFunctions] = useState<{ label: number; name: string }[]>([]);
    const [formats, setFormats] = useState<{ name: string; summary: string }[]>([]);
    useEffect(() => {
        void app.core.formats().then(setFormats);
    }, []);
    useEffect(() => {
        let stale = false;
        const found = text.trim() && app.shown ? app.core.named(text.trim(), PALETTE_FUNCTIONS) : Promise.resolve([]);
        void found.then((names) => { if (!stale) setFunctions(names); }, () => undefined);
        return () => { stale = true; };
    }, [text]);
    const list = useRef<HTMLDivElement>(null);
    useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const commands = COMMANDS.filter((c) => (!c.when || c.when(app)) && words.every((word) => c.title.toLowerCase().includes(word)))
        .map((c): Choice => ({ title: c.title, about: "", keys: c.keys.slice(0, 1), run: () => c.run(app) }));
    const found = [...commands, ...choicesOf(app, words, functions, formats)];
    const run = (choice: Choice | undefined): void => {
        if (!choice)
            return;
        app.openDialog(null);
        choice.run();
    };
    return (
        <Dialog app={app} title="Commands">
            <input type="text" role="combobox" aria-expanded={found.length > 0} aria-controls="commands" aria-activedescendant={found[at] ? `command-${at}` : undefined} autocomplete="off"
                placeholder="Command, function, thread, event or format" aria-label="Command" value={text} spellcheck={false}
                onInput={(event) => { setText(event.currentTarget.value); setAt(0); }}
                onKeyDown={(event) => {
                    if (event.key === "ArrowDown")
                        setAt(Math.min(found.length - 1, at + 1));
                    else if (event.key === "ArrowUp")
                        setAt(Math.max(0, at - 1));
                    else if (event.key === "Enter")
                        run(found[at]);
                    else
                        return;
                    event.preventDefault();
                }} />
            {/* the arrow keys of the input choose: the list is not a stop of the Tab key */}
            <div class="choices" id="commands" role="listbox" aria-label="Commands" ref={list} hidden={!found.length}>
                {found.map((choice, i) => (
                    <button type="button" id={`command-${i}`} tabIndex={-1} key={`${choice.about} ${choice.title} ${i}`} role="option" aria-selected={i === at} onClick={() => run(choice)}>
                        <span>{choice.title}</span><em class="faint">{choice.about}</em><Keys keys={choice.keys} />
                    </button>
                ))}
            </div>
            <p class="nothing" role="status">{found.length ? "" : "Nothing matches."}</p>
        </Dialog>
    );
}

const MERGED = [["all", "no threads"], ["name", "their names"], ["process", "their processes"], ["thread", "each thread"], ["both", "processes and their threads"]] as const;

const THREADS_MOST = 5000; /* that can be chosen */

function Threads({ app }: { app: App }) {
    const [info, setInfo] = useState<SummaryInfo | null>(null);
    const [text, setText] = useState("");
    const [picked, setPicked] = useState(new Set<number>());
    useEffect(() => {
        void app.core.summary(THREADS_MOST).then(setInfo);
    }, []);
    const threads = (info?.threads ?? []).map((t, i) => ({ ...t, i }));
    const seen = threads.filter((t) => threadName(t).toLowerCase().includes(text.toLowerCase()));
    const apply = (): void => {
        const chosen = threads.filter((t) => picked.has(t.i));
        app.openDialog(null);
        if (chosen.length)
            void app.filters.add(threadsFilter(chosen));
    };
    const merge = (by: (typeof MERGED)[number][0]): void => {
        app.openDialog(null);
        void app.filters.mergeThreads(by);
    };
    const flip = (i: number): void => {
        const next = new Set(picked);
        if (!next.delete(i))
            next.add(i);
        setPicked(next);
    };
    return (
        <Dialog app={app} title="Threads">
            <input type="text" placeholder="Name or number" aria-label="Name or number" value={text} onInput={(event) => setText(event.currentTarget.value)} />
            <div class="choices">
                {seen.slice(0, 500).map((t) => (
                    <label key={t.i}>
                        <input type="checkbox" checked={picked.has(t.i)} onChange={() => flip(t.i)} />
                        <span>{threadName(t)}</span><em>{weight(t.weight, app.shown?.unit ?? "")}</em>
                    </label>
                ))}
                {info && !threads.length && app.filters.threadsBy !== "all" && <p class="faint">They are merged into frames: with no threads outermost, they can be chosen.</p>}
            </div>
            <p class="acts">
                <button type="button" class="primary" disabled={picked.size === 0} onClick={apply}>These alone</button>
                <button type="button" onClick={() => setPicked(new Set(seen.map((t) => t.i)))}>All of them</button>
            </p>
            <p class="acts">
                <span class="faint">Outermost frames:</span>
                {MERGED.map(([by, title]) => (
                    <button type="button" key={by} disabled={app.filters.threadsBy === by} onClick={() => merge(by)}>{title}</button>
                ))}
            </p>
        </Dialog>
    );
}

const PATTERN_VERBS: [string, string][] = [
    ["focus", "Only stacks with"], ["ignore", "Without stacks with"], ["hide", "Without frames"], ["show", "Only frames"],
    ["show-from", "Stacks from"], ["show-module", "Only modules"], ["collapse-module", "Collapse modules"], ["comm", "Threads named"], ["tid", "Threads with ID"], ["pid", "Processes with ID"], ["cpu", "CPUs"],
];
const LABEL_VERBS: [string, string][] = [["label", "With label"], ["drop-label", "Without label"]];

function AddFilter({ app }: { app: App }) {
    const [verb, setVerb] = useState("focus");
    const [text, setText] = useState("");
    const [tried, setTried] = useState(false);
    const apply = (event: Event): void => {
        event.preventDefault();
        app.fault = null;
        setTried(true);
        void (text ? app.filters.add({ verb, text }) : Promise.resolve(true)).then((good) => {
            if (good)
                app.openDialog(null);
        });
    };
    return (
        <Dialog app={app} title="Add a filter">
            <form class="line" onSubmit={apply}>
                <select aria-label="Kind of filter" value={verb} onChange={(event) => setVerb(event.currentTarget.value)}>
                    {[...PATTERN_VERBS, ...(app.profile?.labelled ? LABEL_VERBS : [])].map(([name, title]) => <option key={name} value={name}>{title}</option>)}
                </select>
                <input type="text" value={text} aria-label="Pattern" placeholder={verb.endsWith("label") ? "key=value, with * and ?" : "regular expression, name or IDs"} spellcheck={false}
                    onInput={(event) => setText(event.currentTarget.value)} />
                <button type="submit" class="primary">Add</button>
            </form>
            {tried && app.fault && <p class="wrong" role="alert">{app.fault.message} <span class="faint">{app.fault.hint}</span></p>}
        </Dialog>
    );
}

function Export({ app }: { app: App }) {
    const save = (run: () => void) => () => {
        app.openDialog(null);
        run();
    };
    const choices: [string, string, () => void][] = [
        ["Page", "this viewer with the shown profile, in one file", () => void savePage(app)],
        ...(hasPicture(app) ? [["PNG", "the current picture", () => savePicture(app)] as [string, string, () => void]] : []),
        ...FORMATS.map(({ format, title, about }): [string, string, () => void] => [title, about, () => void exportAs(app, format)]),
    ];
    return (
        <Dialog app={app} title="Save what is shown">
            <div class="choices">
                {choices.map(([name, what, run]) => (
                    <button type="button" key={name} onClick={save(run)}><b>{name}</b><span class="faint">{what}</span></button>
                ))}
            </div>
        </Dialog>
    );
}

function ReadAs({ app }: { app: App }) {
    return (
        <Dialog app={app} title={`Read ${app.latest?.name ?? "the file"} as`}>
            <FormatChoice app={app} value={app.latest?.format ?? ""} none="detect" onChoice={(name) => { app.openDialog(null); app.opening.openAs(name); }} />
        </Dialog>
    );
}

function ContextMenu({ app }: { app: App }) {
    const { menu } = app;
    const host = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const close = (): void => { app.menu = null; app.changed(); };
        const before = document.activeElement as HTMLElement | null;
        (host.current?.querySelector("button") as HTMLElement | null)?.focus();
        addEventListener("pointerdown", close);
        return () => {
            removeEventListener("pointerdown", close);
            before?.focus();
        };
    }, [menu]);
    if (!menu)
        return null;
    const f = menu.function;
    const act = (run: () => void) => () => { app.menu = null; app.changed(); run(); };
    const filter = (verb: string) => act(() => void app.filters.add({ verb, text: f.name, exact: true }));
    const ofModule = (verb: string) => act(() => void app.filters.add({ verb, text: baseName(f.module), exact: true }));
    const owner = ownerFilter(f);
    const items: [string, () => void][] = [
        ["Copy name", act(() => void app.copy(f.name, "the name"))],
        ...(owner ? [[`Only this ${f.kind}`, act(() => void app.filters.add(owner))] as [string, () => void]] : [
            ["Begin stacks here", filter("show-from")],
            ["Only stacks with it", filter("focus")],
            ["Merge into callers", filter("hide")],
            ["Drop stacks with it", filter("ignore")],
        ] as [string, () => void][]),
        ...(f.module ? [["Only this module", ofModule("show-module")], ["Collapse its module to one frame", ofModule("collapse-module")]] as [string, () => void][] : []),
        ...(f.file ? [["Open source", act(() => openSource(app, f.file))] as [string, () => void]] : []),
        ["Callers and callees", act(() => void openFunction(app, f.label))],
        ["Search for it", act(() => app.search(f.name, false))],
    ];
    if (menu.stack)
        items.splice(1, 0, ["Copy stack", act(() => void app.copy((menu.stack ?? []).join("\n"), "the stack"))]);
    const move = (event: KeyboardEvent): void => {
        const way = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        const all = [...(host.current?.querySelectorAll("button") ?? [])];
        const at = all.indexOf(document.activeElement as HTMLButtonElement);
        if (!way)
            return;
        event.preventDefault();
        all[(at + way + all.length) % all.length]?.focus();
    };
    const style = { left: `${Math.min(menu.x, innerWidth - 220)}px`, top: `${Math.min(menu.y, innerHeight - items.length * 32 - 20)}px` };
    return (
        <div class="menu" role="menu" ref={host} style={style} onKeyDown={move} onPointerDown={(event) => event.stopPropagation()}>
            {items.map(([title, run]) => <button type="button" role="menuitem" key={title} onClick={run}>{title}</button>)}
        </div>
    );
}

/* The committed spans, each within the one before. */
export function Crumbs({ app }: { app: App }) {
    const { filters, preview } = app.state;
    const { info } = app.tracks;
    const spans = filters.map((filter, i) => ({ filter, i })).filter(({ filter }) => OF_TIME.includes(filter.verb));
    if (!info && !spans.length)
        return null;
    return (
        <nav class="crumbs" aria-label="Spans">
            <button type="button" class="crumb" aria-current={spans.length === 0 && !preview}
                onClick={() => { if (spans.length) void app.filters.endSpans(-1); else app.tracks.select(null); }}>
                Whole recording{info ? ` ${time(info.to)}` : ""}
            </button>
            {spans.map(({ filter, i }, n) => (
                <button type="button" class="crumb" key={i} aria-current={n === spans.length - 1 && !preview}
                    onClick={() => { if (n < spans.length - 1) void app.filters.endSpans(i); else app.tracks.select(null); }}>
                    {filter.verb === "moment" ? `${filterText(filter, time)}${app.memory.isPeak((filter.to ?? 0) - 1) ? ", the peak" : ""}` : spanText(filter.from ?? 0, filter.to ?? 0)}
                </button>
            ))}
            {preview && (
                <button type="button" class="crumb dashed" title="Show only this span (Enter)" aria-current={true} aria-label={`Selected ${spanText(...preview)}`}
                    onClick={() => app.tracks.commit(preview)}>{spanText(...preview)}</button>
            )}
        </nav>
    );
}

/* The default filter of a machine's profile: it hides the time of idle CPUs. */
export function WithoutIdle({ app }: { app: App }) {
    return app.shown?.idle_left ? (
        <span class="chip" title="The time in which CPUs had nothing to do">
            <span>without idle</span>
            <button type="button" aria-label="Remove without idle" onClick={() => void app.setIdle(true)}>{"\u2715"}</button>
        </span>
    ) : null;
}

export function FilterBar({ app }: { app: App }) {
    const { filters } = app.state;
    return (
        <div class="chips" role="group" aria-label="Filters">
            <Crumbs app={app} />
            {filters.map((filter, i) => !OF_TIME.includes(filter.verb) && (
                <span class="chip" key={`${i} ${JSON.stringify(filter)}`}>
                    <span>{shownName(app.tracks.textOf(filter)).slice(0, 120)}</span>
                    <button type="button" aria-label={`Remove ${shownName(app.tracks.textOf(filter)).slice(0, 120)}`} onClick={() => void app.filters.remove(i)}>{"\u2715"}</button>
                </span>
            ))}
            <WithoutIdle app={app} />
            <button type="button" class="quiet" title="Add a filter (I)" onClick={() => app.openDialog("filter")}><Icon name="plus" />Filter</button>
            <button type="button" class="quiet" title="Choose threads (w)" onClick={() => app.openDialog("threads")}>Threads</button>
            {app.profile?.labelled && <button type="button" class="quiet" title="Choose labels (l)" onClick={() => app.openDialog("labels")}>Labels</button>}
            {(app.filters.canUndo || app.filters.canRedo) && (
                <>
                    <button type="button" class="quiet" disabled={!app.filters.canUndo} title="Undo (Ctrl+Z)" onClick={() => void app.filters.undo()}>Undo</button>
                    <button type="button" class="quiet" disabled={!app.filters.canRedo} title="Redo (Ctrl+Shift+Z)" onClick={() => void app.filters.redo()}>Redo</button>
                </>
            )}
        </div>
    );
}

export function Dialogs({ app }: { app: App }) {
    return (
        <>
            {app.dialog === "help" && <Help app={app} />}
            {app.dialog === "palette" && <CommandPalette app={app} />}
            {app.dialog === "threads" && <Threads app={app} />}
            {app.dialog === "tracks" && <MoreTracks app={app} />}
            {app.dialog === "labels" && <Labels app={app} />}
            {app.dialog === "filter" && <AddFilter app={app} />}
            {app.dialog === "format" && <ReadAs app={app} />}
            {app.dialog === "export" && <Export app={app} />}
            {app.dialog === "menu" && <MenuSheet app={app} />}
            {app.menu && <ContextMenu app={app} />}
        </>
    );
}
