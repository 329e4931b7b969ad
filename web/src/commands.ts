/* SPDX-License-Identifier: Apache-2.0 */
/* All commands of keys: used by the help, the palette and the keyboard. */
import type { App } from "./app";
import { PALETTES } from "./colors";
import { DENSITIES } from "./density";
import { OF_TIME, ownerFilter } from "./filters";
import { baseName } from "./format";
import { focusedList, goBy, type List } from "./lists";
import { exportAs, FORMATS, hasPicture, savePage, savePicture } from "./save";
import { Tone } from "./protocol";
import { INVERTS, severalProcesses, VIEWS, viewsOf, writeState } from "./state";

export const GROUPS = ["Views", "Time", "Boxes", "Tables and tracks", "Finding", "Filters", "Page", "Saving"] as const;

export interface Command {
    title: string;
    keys: string[]; /* "Ctrl+K"; the help shows the first */
    group: (typeof GROUPS)[number];
    when?: (app: App) => boolean;
    run(app: App): void;
}

const STEP = 80; /* pixels */
const ZOOM = 0.7; /* a step */
const PAGE = 20; /* rows */

const open = (app: App): boolean => app.shown !== null;
const compared = (app: App): boolean => app.comparedWith !== "";
const chart = (app: App): boolean => app.steered !== null;
const inverts = (app: App): boolean => open(app) && INVERTS.includes(app.state.view);
const chosen = (app: App): boolean => app.chosen !== null;
const hasSource = (app: App): boolean => Boolean(app.chosen?.file);
const hasModule = (app: App): boolean => Boolean(app.chosen?.module);
const OF_CHOSEN = [chosen, hasSource]; /* they wait for the box that the preceding keys select */
const listed = (what: (list: List) => unknown = () => true) => (): boolean => {
    const list = focusedList();
    return list !== undefined && Boolean(what(list));
};
const inBoxes = (): boolean => document.activeElement?.closest(".chart, .graph") != null;
const live = (app: App): boolean => app.live !== null;
const timed = (app: App): boolean => (app.tracksView !== null && app.tracks.info !== null) || byTime(app);
const byTime = (app: App): boolean => chart(app) && app.state.view === "time";
const lastOf = (app: App, spans: boolean): number => app.state.filters.findLastIndex((f) => OF_TIME.includes(f.verb) === spans);
const spanned = (app: App): boolean => app.tracks.span !== null;
const exactly = (app: App, verb: string): void => {
    const owner = app.chosen && ownerFilter(app.chosen);
    if (owner && (verb === "focus" || verb === "show-from"))
        void app.filters.add(owner);
    else if (app.chosen && !owner)
        void app.filters.add({ verb, text: app.chosen.name, exact: true });
};

function ofModule(app: App, verb: string): void {
    void app.filters.add({ verb, text: baseName(app.chosen?.module ?? ""), exact: true });
}

/* Opened by a key: next to the function's details. */
function openMenu(app: App): void {
    const { chosen, selected } = app;
    const at = document.querySelector(".details .who")?.getBoundingClientRect();
    if (!chosen)
        return;
    app.menu = {
        x: at?.left ?? innerWidth / 3, y: at?.top ?? innerHeight / 3, function: chosen,
        stack: selected?.function.label === chosen.label ? selected.stack : null,
    };
    app.changed();
}

export function focusSearch(): void {
    const field = document.getElementById("search") as HTMLInputElement | null;
    field?.focus();
    field?.select();
}

/* Part of the document while it is open: otherwise the browser may discard it before a
 * file is chosen. */
let chooser: HTMLInputElement | null = null;

export function chooseFile(app: App, compare: boolean): void {
    if (!chooser) {
        chooser = document.createElement("input");
        chooser.type = "file";
        chooser.hidden = true;
        document.body.append(chooser);
    }
    const input = chooser;
    input.value = "";
    input.onchange = () => {
        const file = input.files?.[0];
        if (file)
            void app.opening.open(file, file.name, compare);
    };
    input.click();
}

/* Without a token, and without the path of a file: of a page that was opened from a file,
 * only the view, to be appended to the address of any copy of it. */
function linkOf(app: App): string {
    const view = writeState(app.state);
    return location.protocol === "file:" ? view || "#" : `${location.origin}${/^\/view\/[0-9a-f]+$/.test(location.pathname) ? location.pathname : "/"}${view}`;
}

/* The panel itself if it has no such element. */
function focusOn(selector: string): void {
    const found = document.querySelector(selector) ?? document.querySelector("main");
    (found as HTMLElement | null)?.focus({ preventScroll: true });
}

const focusPanel = (): void => focusOn("main [tabindex='0']:is(.rows, .canvas, .cells, svg):not(.beside)");

/* The keys that follow move in the view immediately. */
function openView(app: App, view: (typeof VIEWS)[number][0]): void {
    app.live?.setPanel(null);
    app.setView(view);
    requestAnimationFrame(focusPanel);
}

export async function openFunction(app: App, label: number): Promise<void> {
    await app.choose(label);
    openView(app, "sandwich");
}

export function openSource(app: App, file: string): void {
    app.openSource(file);
    requestAnimationFrame(() => focusOn("main .code .rows"));
}

/* Time order has its own window on the time axis; in the other views it is the tracks' window. */
function zoomTime(app: App, factor: number): void {
    if (byTime(app))
        app.steered?.zoom(factor);
    else
        app.tracksView?.zoom(factor);
}

function panTime(app: App, way: -1 | 1): void {
    if (byTime(app))
        app.steered?.pan(way * 3 * STEP, 0);
    else
        app.tracksView?.pan(way * 0.2);
}

/* The window on the time axis; null: all of the committed span. */
function visibleTime(app: App): [number, number] | null {
    return (byTime(app) ? app.steered?.part : app.tracks.info && app.tracksView?.part) ?? null;
}

/* The last span, or the last other filter. */
function removeLast(app: App, spans: boolean): void {
    void app.filters.remove(lastOf(app, spans));
}

export const COMMANDS: Command[] = [
    ...VIEWS.map(([view, title], i): Command =>
        ({ title, keys: i < 10 ? [String((i + 1) % 10)] : [], group: "Views", when: (app) => open(app) && viewsOf(app).some(([one]) => one === view), run: (app) => openView(app, view) })),
    { title: "Go to the tracks", keys: ["t"], group: "Views", when: (app) => app.tracks.info !== null || live(app), run: () => focusOn(".tracks [tabindex='0']") },
    { title: "Go to the panel", keys: ["b"], group: "Views", when: open, run: focusPanel },
    { title: "Show or hide the side panel", keys: ["i"], group: "Views", when: open, run: (app) => app.appearance.setSide(!app.appearance.side) },
    { title: "Open its source", keys: ["s"], group: "Views", when: hasSource, run: (app) => openSource(app, app.chosen?.file ?? "") },
    { title: "Flames up or down", keys: ["U"], group: "Views", when: open, run: (app) => app.setFlame(!app.state.flame) },
    { title: "Begin with the leaves, or with the roots", keys: ["v"], group: "Views", when: inverts, run: (app) => app.setInverted(!app.state.up) },
    { title: "Processes and threads as outermost levels", keys: ["P"], group: "Views", when: (app) => open(app) && severalProcesses(app), run: (app) => void app.setProcesses(!app.state.processes) },
    { title: "Functions with their callers and callees", keys: ["p"], group: "Views", when: (app) => open(app) && app.state.view === "sandwich", run: (app) => app.setPeek(!app.state.peek) },
    { title: "Order by size or by name", keys: ["o"], group: "Views", when: open, run: (app) => void app.setOrder(1 - app.state.order) },

    { title: "Row above", keys: ["ArrowUp"], group: "Tables and tracks", when: listed(), run: () => goBy(focusedList(), -1) },
    { title: "Row below", keys: ["ArrowDown"], group: "Tables and tracks", when: listed(), run: () => goBy(focusedList(), 1) },
    { title: "A page up", keys: ["PageUp"], group: "Tables and tracks", when: listed(), run: () => goBy(focusedList(), -PAGE) },
    { title: "A page down", keys: ["PageDown"], group: "Tables and tracks", when: listed(), run: () => goBy(focusedList(), PAGE) },
    { title: "First row", keys: ["Home"], group: "Tables and tracks", when: listed(), run: () => goBy(focusedList(), -Infinity) },
    { title: "Last row", keys: ["End"], group: "Tables and tracks", when: listed(), run: () => goBy(focusedList(), Infinity) },
    { title: "Unfold", keys: ["ArrowRight"], group: "Tables and tracks", when: listed((list) => list.fold), run: () => focusedList()?.fold?.(true) },
    { title: "Fold", keys: ["ArrowLeft"], group: "Tables and tracks", when: listed((list) => list.fold), run: () => focusedList()?.fold?.(false) },
    { title: "Open or select the row", keys: ["Enter"], group: "Tables and tracks", when: listed((list) => list.enter), run: () => focusedList()?.enter?.() },
    { title: "Fold or select the row", keys: [" "], group: "Tables and tracks", when: listed((list) => list.toggle), run: () => focusedList()?.toggle?.() },
    { title: "Add the track to the selection, or remove it", keys: ["Ctrl+ "], group: "Tables and tracks", when: listed((list) => list.add), run: () => focusedList()?.add?.() },
    { title: "Hide the track", keys: ["Delete"], group: "Tables and tracks", when: listed((list) => list.hide), run: () => focusedList()?.hide?.() },
    { title: "Move the process up", keys: ["Alt+ArrowUp"], group: "Tables and tracks", when: listed((list) => list.move), run: () => focusedList()?.move?.(-1) },
    { title: "Move the process down", keys: ["Alt+ArrowDown"], group: "Tables and tracks", when: listed((list) => list.move), run: () => focusedList()?.move?.(1) },
    { title: "Actions for the track", keys: ["ContextMenu", "Shift+F10"], group: "Tables and tracks", when: listed((list) => list.menu), run: () => focusedList()?.menu?.() },

    { title: "Show only the selected span", keys: ["z", "Enter"], group: "Time", when: spanned, run: (app) => app.tracks.commit() },
    { title: "Show only the visible time", keys: ["z"], group: "Time", when: (app) => visibleTime(app) !== null, run: (app) => app.tracks.commit(visibleTime(app)) },
    { title: "Drop the selected span", keys: ["Escape"], group: "Time", when: spanned, run: (app) => app.tracks.select(null) },
    { title: "The heap at its peak", keys: [], group: "Time", when: (app) => app.memory.info !== null, run: (app) => void app.memory.showMoment(app.memory.info?.peakAt ?? 0) },
    { title: "Up to the wider span", keys: ["u"], group: "Time", when: (app) => lastOf(app, true) >= 0, run: (app) => removeLast(app, true) },
    { title: "Zoom in time", keys: ["+", "="], group: "Time", when: timed, run: (app) => zoomTime(app, ZOOM) },
    { title: "Zoom out of time", keys: ["-", "_"], group: "Time", when: timed, run: (app) => zoomTime(app, 1 / ZOOM) },
    { title: "Earlier", keys: ["["], group: "Time", when: timed, run: (app) => panTime(app, -1) },
    { title: "Later", keys: ["]"], group: "Time", when: timed, run: (app) => panTime(app, 1) },
    { title: "Hold the span, or follow the time", keys: [" "], group: "Time", when: live, run: (app) => app.live?.toggle() },
    { title: "A window earlier", keys: ["ArrowLeft", "["], group: "Time", when: (app) => live(app) && !inBoxes(), run: (app) => app.live?.step(-1) },
    { title: "A window later", keys: ["ArrowRight", "]"], group: "Time", when: (app) => live(app) && !inBoxes(), run: (app) => app.live?.step(1) },

    { title: "Compare no recordings", keys: ["Escape"], group: "Finding", when: (app) => !open(app) && Boolean(app.home?.before), run: (app) => app.home?.chooseBefore(null) },
    { title: "End the search", keys: ["Escape"], group: "Finding", when: (app) => app.state.search !== "", run: (app) => app.search("", app.state.pattern) },
    { title: "Clear the selection", keys: ["Escape"], group: "Boxes", when: (app) => app.chosen !== null, run: (app) => void app.select(app.selectedIn, null) },

    { title: "Caller: the box above", keys: ["ArrowUp"], group: "Boxes", when: chart, run: (app) => app.steered?.step(0) },
    { title: "Callee: the box below", keys: ["ArrowDown"], group: "Boxes", when: chart, run: (app) => app.steered?.step(1) },
    { title: "Box to the left", keys: ["ArrowLeft"], group: "Boxes", when: chart, run: (app) => app.steered?.step(2) },
    { title: "Box to the right", keys: ["ArrowRight"], group: "Boxes", when: chart, run: (app) => app.steered?.step(3) },
    { title: "Zoom to the selected box", keys: ["Enter"], group: "Boxes", when: chart, run: (app) => app.steered?.enter() },
    { title: "Show all", keys: ["Home", "Escape"], group: "Boxes", when: chart, run: (app) => app.steered?.reset() },
    { title: "Zoom in", keys: ["Shift+ArrowUp", "+", "="], group: "Boxes", when: chart, run: (app) => app.steered?.zoom(ZOOM) },
    { title: "Zoom out", keys: ["Shift+ArrowDown", "-", "_"], group: "Boxes", when: chart, run: (app) => app.steered?.zoom(1 / ZOOM) },
    { title: "Pan left", keys: ["Shift+ArrowLeft", "["], group: "Boxes", when: chart, run: (app) => app.steered?.pan(-STEP, 0) },
    { title: "Pan right", keys: ["Shift+ArrowRight", "]"], group: "Boxes", when: chart, run: (app) => app.steered?.pan(STEP, 0) },
    { title: "Pan up", keys: ["PageUp"], group: "Boxes", when: chart, run: (app) => app.steered?.pan(0, -3 * STEP) },
    { title: "Pan down", keys: ["PageDown"], group: "Boxes", when: chart, run: (app) => app.steered?.pan(0, 3 * STEP) },

    { title: "Search", keys: ["Ctrl+F", "/"], group: "Finding", when: (app) => open(app) || app.home !== null, run: focusSearch },
    { title: "Next match", keys: ["n"], group: "Finding", when: chart, run: (app) => app.steered?.match(false) },
    { title: "Previous match", keys: ["N"], group: "Finding", when: chart, run: (app) => app.steered?.match(true) },
    { title: "Toggle regular expressions in the search", keys: [], group: "Finding", when: open,
        run: (app) => app.search(app.state.search, !app.state.pattern) },

    { title: "Focus: only stacks with the function", keys: ["f"], group: "Filters", when: chosen, run: (app) => exactly(app, "focus") },
    { title: "Begin stacks at the function", keys: ["F"], group: "Filters", when: chosen, run: (app) => exactly(app, "show-from") },
    { title: "Hide: merge the function into its callers", keys: ["h"], group: "Filters", when: chosen, run: (app) => exactly(app, "hide") },
    { title: "Drop stacks with the function", keys: ["X"], group: "Filters", when: chosen, run: (app) => exactly(app, "ignore") },
    { title: "Remove the last filter", keys: ["x"], group: "Filters", when: (app) => lastOf(app, false) >= 0, run: (app) => removeLast(app, false) },
    { title: "Collapse recursion", keys: ["r"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "collapse", text: "adjacent" }) },
    { title: "Collapse recursion over other functions", keys: ["R"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "collapse", text: "cycles" }) },
    { title: "Only its module: the frames of others are removed", keys: ["O"], group: "Filters", when: hasModule, run: (app) => ofModule(app, "show-module") },
    { title: "Collapse its module to one frame", keys: ["C"], group: "Filters", when: hasModule, run: (app) => ofModule(app, "collapse-module") },
    { title: "Modules instead of functions", keys: ["M"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "by", text: "module" }) },
    { title: "Merge threads by name, as outermost frames", keys: ["T"], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("name") },
    { title: "Merge threads by process", keys: [], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("process") },
    { title: "Each thread separately, as outermost frame", keys: [], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("thread") },
    { title: "The time of idle CPUs, too, or not", keys: [], group: "Filters", when: (app) => open(app) && ((app.shown?.idle ?? 0) > 0 || app.shown?.idle_left === true), run: (app) => void app.setIdle(app.shown?.idle_left ?? false) },
    { title: "Processes with their threads, as outermost frames", keys: [], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("both") },
    { title: "Merge all threads", keys: [], group: "Filters", when: (app) => app.filters.threadsBy !== "all", run: (app) => void app.filters.mergeThreads("all") },
    { title: "Names without arguments and templates", keys: ["S"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "strip", text: "" }) },
    { title: "Choose tracks", keys: [], group: "Filters", when: (app) => app.tracks.info !== null, run: (app) => app.openDialog("tracks") },
    { title: "Choose threads", keys: ["w"], group: "Filters", when: open, run: (app) => app.openDialog("threads") },
    { title: "Choose labels", keys: ["l"], group: "Filters", when: (app) => app.profile?.labelled ?? false, run: (app) => app.openDialog("labels") },
    { title: "Add a filter", keys: ["I"], group: "Filters", when: open, run: (app) => app.openDialog("filter") },
    { title: "Undo", keys: ["Ctrl+Z"], group: "Filters", when: (app) => app.filters.canUndo, run: (app) => void app.filters.undo() },
    { title: "Redo", keys: ["Ctrl+Shift+Z", "Ctrl+Y"], group: "Filters", when: (app) => app.filters.canRedo, run: (app) => void app.filters.redo() },

    { title: "Home: record, recent recordings", keys: [], group: "Page", when: (app) => app.home !== null && open(app), run: () => location.assign("/home") },
    { title: "Open a file", keys: ["Ctrl+O"], group: "Page", run: (app) => chooseFile(app, false) },
    { title: "Read the file as another format", keys: [], group: "Page", when: (app) => app.latest !== null, run: (app) => app.openDialog("format") },
    { title: "Compare with an earlier profile", keys: ["Ctrl+Shift+O"], group: "Page", when: open, run: (app) => chooseFile(app, true) },
    { title: "Swap the compared profiles", keys: [], group: "Page", when: compared, run: (app) => void app.opening.swap() },
    { title: "End the comparison", keys: [], group: "Page", when: compared, run: (app) => void app.endComparison() },
    { title: "All commands", keys: ["Ctrl+K"], group: "Page", run: (app) => app.openDialog("palette") },
    { title: "Keys", keys: ["?"], group: "Page", run: (app) => app.openDialog("help") },
    { title: "Copy a link to this view", keys: ["L"], group: "Page", when: open, run: (app) => void app.copy(linkOf(app), "the link") },
    { title: "Copy the function's name", keys: ["c"], group: "Page", when: chosen, run: (app) => void app.copy(app.chosen?.name ?? "", "the name") },
    { title: "Actions for the function", keys: ["ContextMenu", "Shift+F10"], group: "Page", when: chosen, run: (app) => openMenu(app) },
    { title: "Light theme", keys: [], group: "Page", run: (app) => app.appearance.setTheme("light") },
    { title: "Dark theme", keys: [], group: "Page", run: (app) => app.appearance.setTheme("dark") },
    { title: "The system's theme", keys: [], group: "Page", run: (app) => app.appearance.setTheme("system") },
    { title: "Heights of rows: compact, normal or large", keys: ["D"], group: "Page", when: open, run: (app) => {
        app.appearance.setDensity(DENSITIES[(DENSITIES.indexOf(app.appearance.density) + 1) % DENSITIES.length] ?? "normal");
        app.say(`${app.appearance.density} rows`);
    } },
    { title: "Colour by name", keys: [], group: "Page", when: open, run: (app) => void app.setColor(Tone.Name) },
    { title: "Colour by module", keys: [], group: "Page", when: open, run: (app) => void app.setColor(Tone.Module) },
    { title: "Colour by kind", keys: [], group: "Page", when: open, run: (app) => void app.setColor(Tone.Kind) },
    { title: "Colour by self share", keys: [], group: "Page", when: open, run: (app) => void app.setColor(Tone.Self) },

    ...PALETTES.map(([palette, title]): Command =>
        ({ title: `Palette: ${title.toLowerCase()}`, keys: [], group: "Page", when: open, run: (app) => app.appearance.setPalette(palette) })),

    { title: "Save or export", keys: ["Ctrl+S"], group: "Saving", when: open, run: (app) => app.openDialog("export") },
    { title: "Save this page with the profile", keys: ["e"], group: "Saving", when: open, run: (app) => void savePage(app) },
    { title: "Save the picture as PNG", keys: [], group: "Saving", when: (app) => open(app) && hasPicture(app), run: (app) => savePicture(app) },
    ...FORMATS.map(({ format, title }): Command =>
        ({ title: `Export as ${title}`, keys: [], group: "Saving", when: open, run: (app) => void exportAs(app, format) })),
];

function keyOf(event: KeyboardEvent): string {
    const control = event.ctrlKey || event.metaKey;
    const named = event.key.length > 1; /* the others contain Shift: "A" */
    const shift = event.shiftKey && (control || named);
    const letter = !named && control ? event.key.toUpperCase() : event.key;
    return (control ? "Ctrl+" : "") + (event.altKey && named ? "Alt+" : "") + (shift ? "Shift+" : "") + letter;
}

/* Whether the key belongs to the control that has the focus, or to what is open. */
function belongsElsewhere(app: App, event: KeyboardEvent, key: string): boolean {
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.matches("input:not([type=checkbox]), textarea, select"))
        return !key.startsWith("Ctrl+") || ["Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+Y"].includes(key);
    if ((key === "Enter" || key === " ") && target.matches("button, a, summary, input, [role=button]"))
        return true;
    return app.dialog !== null || event.defaultPrevented || (event.altKey && event.key.length === 1);
}

export function onKey(app: App, event: KeyboardEvent): void {
    const key = keyOf(event);
    if (key === "Escape" && (app.dialog || app.menu)) {
        app.openDialog(null);
        return;
    }
    if (belongsElsewhere(app, event, key) || (key === "Escape" && document.querySelector(".tip:not([hidden]), .track-tip")))
        return; /* the tooltip closes on any key */
    /* The command applies to the box that the preceding keys select. */
    const way = app.steered?.onTheWay;
    const waits = (c: Command): boolean => way !== undefined && c.when !== undefined && OF_CHOSEN.includes(c.when);
    const command = COMMANDS.find((c) => c.keys.includes(key) && (!c.when || c.when(app) || waits(c)));
    if (!command)
        return;
    event.preventDefault();
    if (waits(command))
        void way?.then(() => command.when?.(app) && command.run(app));
    else
        command.run(app);
}
