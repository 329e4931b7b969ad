/* SPDX-License-Identifier: Apache-2.0 */
/* All commands of keys: used by the help, the palette and the keyboard. */
import type { App } from "./app";
import { PALETTES } from "./colors";
import { DENSITIES } from "./density";
import { ownerFilter } from "./filters";
import { baseName } from "./format";
import { exportAs, FORMATS, hasPicture, savePage, savePicture } from "./save";
import { Tone } from "./protocol";
import { INVERTS, severalProcesses, VIEWS, writeState } from "./state";

export interface Command {
    title: string;
    keys: string[]; /* "Ctrl+K"; the help shows the first */
    group: "Views" | "Moving" | "Finding" | "Filters" | "Page" | "Saving";
    when?: (app: App) => boolean;
    run(app: App): void;
}

const STEP = 80; /* pixels */

const open = (app: App): boolean => app.shown !== null;
const compared = (app: App): boolean => app.comparedWith !== "";
const chart = (app: App): boolean => app.steered !== null;
const inverts = (app: App): boolean => open(app) && INVERTS.includes(app.state.view);
const chosen = (app: App): boolean => app.chosen !== null;
const spanned = (app: App): boolean => app.tracks.span !== null;
const exactly = (app: App, verb: string): void => {
    const owner = app.chosen && ownerFilter(app.chosen);
    if (owner && (verb === "focus" || verb === "show-from"))
        void app.filters.add(owner);
    else if (app.chosen && !owner)
        void app.filters.add({ verb, text: app.chosen.name, exact: true });
};

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
 * only the view, to be put behind the address of any copy of it. */
function linkOf(app: App): string {
    const view = writeState(app.state);
    return location.protocol === "file:" ? view || "#" : `${location.origin}${/^\/view\/[0-9a-f]+$/.test(location.pathname) ? location.pathname : "/"}${view}`;
}

/* The keys that follow move in the view at once. */
function openView(app: App, view: (typeof VIEWS)[number][0]): void {
    app.setView(view);
    requestAnimationFrame(() => (document.querySelector("main .rows, main [tabindex='0']") as HTMLElement | null)?.focus({ preventScroll: true }));
}

export const COMMANDS: Command[] = [
    ...VIEWS.map(([view, title], i): Command =>
        ({ title, keys: i < 10 ? [String((i + 1) % 10)] : [], group: "Views", when: view === "changes" ? compared : open, run: (app) => openView(app, view) })),
    { title: "Flames up or down", keys: ["u"], group: "Views", when: open, run: (app) => app.setFlame(!app.state.flame) },
    { title: "Begin with the leaves, or with the roots", keys: ["v"], group: "Views", when: inverts, run: (app) => app.setInverted(!app.state.up) },
    { title: "Processes and threads as outermost levels", keys: ["P"], group: "Views", when: (app) => open(app) && severalProcesses(app), run: (app) => void app.setProcesses(!app.state.processes) },
    { title: "Functions with their callers and callees", keys: ["p"], group: "Views", when: (app) => open(app) && app.state.view === "sandwich", run: (app) => app.setPeek(!app.state.peek) },
    { title: "Order by size or by name", keys: ["o"], group: "Views", when: open, run: (app) => void app.setOrder(1 - app.state.order) },

    { title: "Show only the selected span", keys: ["z", "Enter"], group: "Moving", when: spanned, run: (app) => app.tracks.commit() },
    { title: "Drop the selected span", keys: ["Escape"], group: "Moving", when: spanned, run: (app) => app.tracks.select(null) },
    { title: "Zoom in", keys: ["+", "="], group: "Moving", when: chart, run: (app) => app.steered?.zoom(0.7) },
    { title: "Zoom out", keys: ["-", "_"], group: "Moving", when: chart, run: (app) => app.steered?.zoom(1 / 0.7) },
    { title: "Show all", keys: ["Escape", "Home"], group: "Moving", when: chart, run: (app) => app.steered?.reset() },
    { title: "Zoom to the selected box", keys: ["Enter"], group: "Moving", when: chart, run: (app) => app.steered?.enter() },
    { title: "Pan left", keys: ["a"], group: "Moving", when: chart, run: (app) => app.steered?.pan(-STEP, 0) },
    { title: "Pan right", keys: ["d"], group: "Moving", when: chart, run: (app) => app.steered?.pan(STEP, 0) },
    { title: "Pan up", keys: ["w"], group: "Moving", when: chart, run: (app) => app.steered?.pan(0, -STEP) },
    { title: "Pan down", keys: ["s"], group: "Moving", when: chart, run: (app) => app.steered?.pan(0, STEP) },
    { title: "Select the box above", keys: ["ArrowUp"], group: "Moving", when: chart, run: (app) => app.steered?.step(0) },
    { title: "Select the box below", keys: ["ArrowDown"], group: "Moving", when: chart, run: (app) => app.steered?.step(1) },
    { title: "Select the box to the left", keys: ["ArrowLeft"], group: "Moving", when: chart, run: (app) => app.steered?.step(2) },
    { title: "Select the box to the right", keys: ["ArrowRight"], group: "Moving", when: chart, run: (app) => app.steered?.step(3) },

    { title: "Search", keys: ["Ctrl+F", "/"], group: "Finding", when: (app) => open(app) || app.home !== null, run: focusSearch },
    { title: "Next match", keys: ["n"], group: "Finding", when: chart, run: (app) => app.steered?.match(false) },
    { title: "Previous match", keys: ["N"], group: "Finding", when: chart, run: (app) => app.steered?.match(true) },
    { title: "Toggle regular expressions in the search", keys: ["x"], group: "Finding", when: open,
        run: (app) => app.search(app.state.search, !app.state.pattern) },
    { title: "End the search", keys: ["q"], group: "Finding", when: (app) => app.state.search !== "", run: (app) => app.search("", app.state.pattern) },

    { title: "Begin stacks at the function", keys: ["f"], group: "Filters", when: chosen, run: (app) => exactly(app, "show-from") },
    { title: "Only stacks with the function", keys: ["F"], group: "Filters", when: chosen, run: (app) => exactly(app, "focus") },
    { title: "Merge the function into its callers", keys: ["m"], group: "Filters", when: chosen, run: (app) => exactly(app, "hide") },
    { title: "Drop stacks with the function", keys: ["X"], group: "Filters", when: chosen, run: (app) => exactly(app, "ignore") },
    { title: "Collapse recursion", keys: ["r"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "collapse", text: "adjacent" }) },
    { title: "Collapse recursion over other functions", keys: ["R"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "collapse", text: "cycles" }) },
    { title: "Collapse its module to one frame", keys: ["C"], group: "Filters", when: (app) => Boolean(app.chosen?.module),
        run: (app) => void app.filters.add({ verb: "collapse-module", text: baseName(app.chosen?.module ?? ""), exact: true }) },
    { title: "Modules instead of functions", keys: ["M"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "by", text: "module" }) },
    { title: "Merge threads by name, as outermost frames", keys: ["T"], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("name") },
    { title: "Merge threads by process", keys: [], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("process") },
    { title: "Each thread separately, as outermost frame", keys: [], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("thread") },
    { title: "Processes with their threads, as outermost frames", keys: [], group: "Filters", when: open, run: (app) => void app.filters.mergeThreads("both") },
    { title: "Merge all threads", keys: [], group: "Filters", when: (app) => app.filters.threadsBy !== "all", run: (app) => void app.filters.mergeThreads("all") },
    { title: "Names without arguments and templates", keys: ["S"], group: "Filters", when: open, run: (app) => void app.filters.add({ verb: "strip", text: "" }) },
    { title: "Choose tracks", keys: [], group: "Filters", when: (app) => app.tracks.info !== null, run: (app) => app.openDialog("tracks") },
    { title: "Choose threads", keys: ["t"], group: "Filters", when: open, run: (app) => app.openDialog("threads") },
    { title: "Choose labels", keys: ["l"], group: "Filters", when: (app) => app.profile?.labelled ?? false, run: (app) => app.openDialog("labels") },
    { title: "Add a filter", keys: ["I"], group: "Filters", when: open, run: (app) => app.openDialog("filter") },
    { title: "Undo", keys: ["Ctrl+Z"], group: "Filters", when: (app) => app.filters.canUndo, run: (app) => void app.filters.undo() },
    { title: "Redo", keys: ["Ctrl+Shift+Z", "Ctrl+Y"], group: "Filters", when: (app) => app.filters.canRedo, run: (app) => void app.filters.redo() },

    { title: "Home: record, recent recordings", keys: [], group: "Page", when: (app) => app.home !== null && open(app), run: () => location.assign("/home") },
    { title: "Open a file", keys: ["Ctrl+O"], group: "Page", run: (app) => chooseFile(app, false) },
    { title: "Read the file as another format", keys: [], group: "Page", when: (app) => app.latest !== null, run: (app) => app.openDialog("format") },
    { title: "Compare with an earlier profile", keys: ["Ctrl+Shift+O"], group: "Page", when: open, run: (app) => chooseFile(app, true) },
    { title: "Show or hide the side panel", keys: ["i"], group: "Views", when: open, run: (app) => app.appearance.setSide(!app.appearance.side) },
    { title: "Swap the compared profiles", keys: [], group: "Page", when: compared, run: (app) => void app.opening.swap() },
    { title: "End the comparison", keys: [], group: "Page", when: compared, run: (app) => void app.endComparison() },
    { title: "All commands", keys: ["Ctrl+K"], group: "Page", run: (app) => app.openDialog("palette") },
    { title: "Keys", keys: ["?"], group: "Page", run: (app) => app.openDialog("help") },
    { title: "Copy a link to this view", keys: ["L"], group: "Page", when: open, run: (app) => void app.copy(linkOf(app), "the link") },
    { title: "Open its source", keys: ["e"], group: "Views", when: (app) => Boolean(app.chosen?.file), run: (app) => app.openSource(app.chosen?.file ?? "") },
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
    { title: "Save this page with the profile", keys: [], group: "Saving", when: open, run: (app) => void savePage(app) },
    { title: "Save the picture as PNG", keys: [], group: "Saving", when: (app) => open(app) && hasPicture(app), run: (app) => savePicture(app) },
    ...FORMATS.map(({ format, title }): Command =>
        ({ title: `Export as ${title}`, keys: [], group: "Saving", when: open, run: (app) => void exportAs(app, format) })),
];

function keyOf(event: KeyboardEvent): string {
    const control = event.ctrlKey || event.metaKey;
    const shift = event.shiftKey && (control || /^F\d/.test(event.key));
    const letter = event.key.length === 1 && control ? event.key.toUpperCase() : event.key;
    return (control ? "Ctrl+" : "") + (shift ? "Shift+" : "") + letter;
}

export function onKey(app: App, event: KeyboardEvent): void {
    const target = event.target instanceof Element ? event.target : document.body;
    const writing = target.matches("input:not([type=checkbox]), textarea, select");
    const key = keyOf(event);
    if (event.key === "Escape" && (app.dialog || app.menu)) {
        app.openDialog(null);
        return;
    }
    if (event.altKey || app.dialog || event.defaultPrevented || (writing && !key.startsWith("Ctrl+")))
        return;
    if (writing && (key === "Ctrl+Z" || key === "Ctrl+Shift+Z" || key === "Ctrl+Y"))
        return;
    if ((key === "Enter" || key === " ") && target.matches("button, a, [role=button]"))
        return;
    /* The command applies to the box that the preceding keys select. */
    const way = app.steered?.onTheWay;
    const waits = (c: Command): boolean => c.when === chosen && way !== undefined;
    const command = COMMANDS.find((c) => c.keys.includes(key) && (!c.when || c.when(app) || waits(c)));
    if (!command)
        return;
    event.preventDefault();
    if (waits(command))
        void way?.then(() => chosen(app) && command.run(app));
    else
        command.run(app);
}
