/* SPDX-License-Identifier: Apache-2.0 */
/* What the page knows and does. Views read it, and call it; it calls the core. */
import { baseName } from "./format";
import { CoreError, type Core } from "./core";
import type { BoxInfo, Fault, Found, FunctionInfo, ProfileInfo, Shown } from "./protocol";
import { Tone } from "./protocol";
import { reportIn } from "./report";
import { type Filter, type Place, readPlace, START, type View, writePlace } from "./state";
import type { Palette } from "./colors";

export type Dialog = "help" | "palette" | "threads" | "filter" | "export" | "format" | null;

/* A file that was opened, or was to be. */
interface Opened {
    file: Blob;
    name: string;
    compare: boolean;
    format: string; /* empty: the one that it looks like */
}


/* What a view lets keys do to it. */
export interface Steered {
    zoom(factor: number): void;
    pan(x: number, y: number): void;
    reset(): void;
    step(way: number): void; /* as core_step */
    enter(): void;
    match(back: boolean): void;
    onTheWay?: Promise<void>; /* to the box that step or match goes to */
    picture(): HTMLCanvasElement | null;
}

export interface Menu {
    x: number;
    y: number;
    function: FunctionInfo;
    stack: string[] | null;
}

function stored(key: string): string | null {
    try {
        return localStorage.getItem(`stoke.${key}`);
    } catch {
        return null; /* pages of files may have no storage */
    }
}

function store(key: string, value: string): void {
    try {
        localStorage.setItem(`stoke.${key}`, value);
    } catch {
        /* it holds until the page is closed */
    }
}

/* Filters by what a thread is. */
const OF_THREADS = ["tid", "pid", "comm", "drop-comm"];

/* What of a place the core must be asked for. */
const SHOWN_BY = ["filters", "event", "count", "wall", "color", "search", "pattern", "chosen"] as const;

export class App {
    profile: ProfileInfo | null = null;
    name = "";
    comparedWith = "";
    shown: Shown | null = null;
    place: Place = { ...START };
    selected: BoxInfo | null = null;
    selectedIn = -1; /* the kind of chart that it was selected in */
    chosen: FunctionInfo | null = null;
    found: Found | null = null;
    fault: Fault | null = null;
    loading: { name: string; done: number; of: number } | null = null;
    dialog: Dialog = null;
    format = ""; /* of the first file, as its reader chose it before it was opened */
    latest: Opened | null = null;
    menu: Menu | null = null;
    notice = "";
    readonly names = new Map<number, string>(); /* of labels, as far as they were met */
    private lookOf: Uint8Array = new Uint8Array(0); /* by label: tones, then marks */
    version = 0; /* of what is shown: charts and tables are asked for anew */
    looks = 0; /* of how it looks */
    theme: "system" | "light" | "dark";
    palette: Palette;
    steered: Steered | null = null;
    micros: number[] = []; /* script time of the last frames */

    part: { read: number; going: boolean } | null = null; /* of the file, where only that is shown */

    private last: Promise<unknown> = Promise.resolve();
    private opening: Promise<unknown> = Promise.resolve();
    private past: Filter[][] = [];
    private future: Filter[][] = [];
    private listener: () => void = () => undefined;
    private readonly prefersDark = matchMedia("(prefers-color-scheme: dark)");
    private noticeTimer = 0;
    private searchTimer = 0;
    private zoomTimer = 0;

    constructor(readonly core: Core) {
        const theme = stored("theme");
        const palette = stored("palette");
        this.theme = theme === "light" || theme === "dark" ? theme : "system";
        this.palette = palette === "warm" || palette === "safe" ? palette : "calm";
        this.prefersDark.addEventListener("change", () => this.look());
    }

    onChange(listener: () => void): void {
        this.listener = listener;
    }

    changed(): void {
        this.listener();
    }

    get dark(): boolean {
        return this.theme === "system" ? this.prefersDark.matches : this.theme === "dark";
    }

    /* When threads waited is known. */
    get waits(): boolean {
        return this.profile?.events.some((event) => event.name === "off-cpu") ?? false;
    }

    /* One after another: each asks the core several times, and answers of two states do not
     * go together. */
    private inTurn<T>(task: () => Promise<T>): Promise<T> {
        const turn = this.last.then(task);
        this.last = turn.catch(() => undefined);
        return turn;
    }

    /* --- Opening --------------------------------------------------------------------------- */

    /* A file, or one by its path. */
    open(file: Blob, path: string, compare = false): Promise<boolean> {
        return this.openTitled(file, baseName(path), compare);
    }

    /* What has a title, which is any text and shown whole. What is being read gives way to
     * the next file, unless the two are to be compared. */
    openTitled(file: Blob, title: string, compare = false, place?: Place, format = this.shown ? "" : this.format): Promise<boolean> {
        if (this.loading && !compare)
            void this.core.cancel(false);
        const opened = this.opening.then(() => this.openNow(file, title, compare, format, place));
        this.opening = opened.catch(() => undefined);
        return opened;
    }

    /* Reading takes no turn: what was read before, or is of this file, can be explored. */
    private async openNow(file: Blob, name: string, compare: boolean, format: string, place?: Place): Promise<boolean> {
        const report = format ? null : await reportIn(file);
        if (report)
            return this.openNow(report.file, report.name, compare, "", place ?? report.place);
        this.latest = { file, name, compare, format };
        const slot = compare && this.profile ? 1 : 0;
        let begun = false; /* a part of it is shown */
        await this.last;
        this.loading = { name, done: 0, of: file.size };
        this.fault = null;
        this.changed();
        try {
            const read = await this.core.open(file, name, format, ({ done, of, fresh }) => {
                this.loading = { name, done, of };
                this.changed();
                if (fresh && slot === 0)
                    void this.inTurn(async () => {
                        const info = await this.core.partial().catch(() => null);
                        if (!info)
                            return; /* it is read by now */
                        this.part = { read: done / of, going: true };
                        await this.become(info, name, slot, begun, place);
                        begun = true;
                    });
            });
            return await this.inTurn(async () => {
                const info = await this.core.finish(slot);
                this.loading = null;
                if (slot === 0)
                    this.part = read.stopped ? { read: read.done / read.of, going: false } : null;
                return this.become(info, name, slot, begun, place);
            });
        } catch (error) {
            this.loading = null;
            if (this.part)
                this.part.going = false;
            this.fail(error, name);
            return false;
        }
    }

    /* The latest file once more, as of that format. */
    openAs(format: string): void {
        if (this.latest)
            void this.openTitled(this.latest.file, this.latest.name, this.latest.compare, undefined, format);
    }

    /* The core has another profile, or, with `begun`, more of the one that is shown. */
    private become(info: ProfileInfo, name: string, slot: number, begun: boolean, place?: Place): Promise<boolean> {
        this.profile = info;
        if (slot === 0 && !begun) {
            this.name = name;
            this.comparedWith = "";
            this.place = place ?? { ...START, view: this.place.view, color: Tone.Name };
        } else if (slot === 1) {
            this.comparedWith = name;
            this.place = { ...this.place, filters: [], color: Tone.Change };
        }
        if (!begun) {
            this.past = [];
            this.future = [];
        }
        this.title();
        return this.showOrAll();
    }

    /* A link may ask for what there is nothing of: then all is shown, and why is said. */
    private async showOrAll(): Promise<boolean> {
        if (await this.show())
            return true;
        const { fault } = this;
        this.place = { ...START, view: this.place.view };
        if (!fault || !(await this.show()))
            return false;
        this.fault = { ...fault, hint: "The address asks for it; all is shown instead." };
        this.changed();
        return true;
    }

    compareNoMore(): Promise<void> {
        return this.inTurn(async () => {
            this.profile = await this.core.alone();
            this.comparedWith = "";
            this.place = { ...this.place, filters: [], color: Tone.Name };
            this.title();
            await this.show();
        });
    }

    private title(): void {
        document.title = this.comparedWith ? `${this.comparedWith} \u2192 ${this.name}` : this.name || "stoke";
    }

    fail(error: unknown, about = ""): void {
        this.fault = error instanceof CoreError ? { ...error.fault, about }
            : { message: String(error), hint: "", line: 0, column: 0, text: "", about };
        this.changed();
    }

    /* --- What is shown ----------------------------------------------------------------------- */

    /* Asks the core for what the place says. */
    private async show(step = false): Promise<boolean> {
        if (this.place.color === Tone.Change && !this.comparedWith)
            this.place = { ...this.place, color: Tone.Name };
        try {
            const { filters, event, count, wall, color, search, pattern, chosen } = this.place;
            const all = wall ? [{ verb: "wall-clock", text: this.profile?.events[event - 1]?.name ?? "" }, ...filters] : filters;
            this.shown = await this.core.show(JSON.stringify(all), wall ? 0 : event, count);
            this.names.clear();
            await this.core.color(color);
            this.lookOf = await this.core.looks();
            this.found = search ? await this.core.search(search, pattern) : null;
            this.selected = null;
            const label = chosen ? await this.core.find(chosen) : 0;
            this.chosen = label ? await this.core.choose(label) : null;
        } catch (error) {
            this.fail(error);
            return false;
        }
        this.fault = null;
        this.version++;
        this.remember(step);
        this.changed();
        return true;
    }

    /* A step is one that the browser's Back undoes. */
    private remember(step = false): void {
        clearTimeout(this.zoomTimer);
        const address = writePlace(this.place) || location.pathname + location.search;
        if (step && writePlace(this.place) !== location.hash)
            history.pushState(null, "", address);
        else
            history.replaceState(null, "", address);
    }

    private async setFilters(filters: Filter[]): Promise<boolean> {
        const before = this.place;
        this.place = { ...this.place, filters, zoom: null };
        if (await this.show(true))
            return true;
        this.place = before;
        return false;
    }

    /* As setFilters, and can be undone. */
    private changeFilters(change: (before: Filter[]) => Filter[]): Promise<boolean> {
        return this.inTurn(async () => {
            const before = this.place.filters;
            if (!(await this.setFilters(change(before))))
                return false;
            this.past.push(before);
            this.future = [];
            this.changed();
            return true;
        });
    }

    /* Merged threads have no numbers: what asks for those comes first. */
    addFilter(filter: Filter): Promise<boolean> {
        return this.changeFilters((before) => {
            const merged = before.findIndex((f) => f.verb === "threads");
            const at = merged >= 0 && OF_THREADS.includes(filter.verb) ? merged : before.length;
            return [...before.slice(0, at), filter, ...before.slice(at)];
        });
    }

    /* How threads are merged: those of a name, of a process, or none; asked for again, all. */
    async mergeThreads(by: "name" | "process" | "thread" | "all"): Promise<void> {
        await this.changeFilters((before) => {
            const others = before.filter((f) => f.verb !== "threads");
            return by === "all" || by === this.threadsBy ? others : [...others, { verb: "threads", text: by }];
        });
    }

    get threadsBy(): string {
        const merged = this.place.filters.find((f) => f.verb === "threads");
        return merged ? merged.text || "name" : "all";
    }

    async removeFilter(at: number): Promise<void> {
        await this.changeFilters((before) => before.filter((_, i) => i !== at));
    }

    get canUndo(): boolean {
        return this.past.length > 0;
    }

    get canRedo(): boolean {
        return this.future.length > 0;
    }

    /* The last filters of one list become those that are shown, and these go to the other. */
    private step(from: "past" | "future", to: "past" | "future"): Promise<void> {
        return this.inTurn(async () => {
            const filters = this[from].pop();
            const now = this.place.filters;
            if (filters && (await this.setFilters(filters)))
                this[to].push(now);
            this.changed();
        });
    }

    undo(): Promise<void> {
        return this.step("past", "future");
    }

    redo(): Promise<void> {
        return this.step("future", "past");
    }

    async setEvent(event: number, count: boolean, wall = false): Promise<void> {
        await this.inTurn(async () => {
            const before = this.place;
            this.place = { ...this.place, event, count, wall, zoom: null };
            if (!(await this.show(true)))
                this.place = before;
        });
    }

    async setOrder(order: number): Promise<void> {
        this.place = { ...this.place, order };
        this.version++;
        this.remember();
        this.changed();
    }

    async setColor(color: Tone): Promise<void> {
        this.place = { ...this.place, color };
        await this.core.color(color);
        this.lookOf = await this.core.looks();
        this.look();
    }

    tone(label: number): number {
        return this.lookOf[label] ?? 0;
    }

    marks(label: number): number {
        return this.lookOf[this.lookOf.length / 2 + label] ?? 0;
    }

    /* Of the call graph, in percent. */
    setLimits(nodes: number, edges: number): void {
        this.place = { ...this.place, nodes, edges };
        this.remember();
        this.changed();
    }

    openSource(file: string): void {
        this.place = { ...this.place, view: "source", file, zoom: null };
        this.remember(true);
        this.changed();
    }

    setView(view: View): void {
        this.place = { ...this.place, view, zoom: null };
        this.remember(true);
        this.changed();
    }

    setFlame(flame: boolean): void {
        this.place = { ...this.place, flame };
        this.look();
    }

    setZoom(zoom: [number, number] | null): void {
        this.place = { ...this.place, zoom };
        clearTimeout(this.zoomTimer); /* the browser takes its time for the address */
        this.zoomTimer = window.setTimeout(() => this.remember(), 150);
    }

    setTheme(theme: "system" | "light" | "dark"): void {
        this.theme = theme;
        store("theme", theme);
        this.look();
    }

    setPalette(palette: Palette): void {
        this.palette = palette;
        store("palette", palette);
        this.look();
    }

    private look(): void {
        this.looks++;
        document.documentElement.dataset["theme"] = this.dark ? "dark" : "light";
        this.remember();
        this.changed();
    }

    /* --- Search and choice -------------------------------------------------------------------- */

    /* A little later than the last key, so that each letter need not be looked for. */
    search(text: string, pattern: boolean): void {
        this.place = { ...this.place, search: text, pattern };
        this.changed();
        clearTimeout(this.searchTimer);
        this.searchTimer = window.setTimeout(() => void this.inTurn(() => this.searchNow()), 120);
    }

    private async searchNow(): Promise<void> {
        const { search, pattern } = this.place;
        try {
            const found = await this.core.search(search, pattern);
            this.found = search ? found : null;
            this.fault = null;
        } catch (error) {
            this.found = null;
            this.fail(error);
        }
        this.look();
    }

    async select(kind: number, box: number | null): Promise<void> {
        const of = this.version;
        await this.inTurn(async () => {
            if (of !== this.version)
                return; /* boxes are numbered anew */
            this.selected = box === null ? null : await this.core.box(kind, box);
            this.selectedIn = kind;
            await this.chooseNow(this.selected ? this.selected.function.label : 0);
        });
    }

    choose(label: number): Promise<void> {
        return this.inTurn(() => this.chooseNow(label));
    }

    private async chooseNow(label: number): Promise<void> {
        const info = await this.core.choose(label);
        this.chosen = label ? info : null;
        this.place = { ...this.place, chosen: label ? info.name : "" };
        this.look();
    }

    openDialog(dialog: Dialog): void {
        this.dialog = dialog;
        this.menu = null;
        this.changed();
    }

    say(notice: string): void {
        this.notice = notice;
        this.changed();
        clearTimeout(this.noticeTimer);
        this.noticeTimer = window.setTimeout(() => {
            this.notice = "";
            this.changed();
        }, 2500);
    }

    async copy(text: string, what: string): Promise<void> {
        try {
            await navigator.clipboard.writeText(text);
            this.say(`${what} copied`);
        } catch {
            this.say("the browser does not let this page copy");
        }
    }

    /* The address was changed: by hand, by a link that was pasted, or by Back. */
    async follow(): Promise<void> {
        const place = readPlace(location.hash);
        if (this.profile && writePlace(place) !== writePlace(this.place))
            await this.inTurn(async () => {
                const before = this.place;
                this.place = place;
                const same = SHOWN_BY.every((key) => JSON.stringify(before[key]) === JSON.stringify(place[key]));
                if (same) {
                    this.version++;
                    this.look();
                } else if (!(await this.show())) {
                    this.place = before;
                    this.remember();
                    this.changed();
                } else if (JSON.stringify(before.filters) !== JSON.stringify(place.filters)) {
                    this.past.push(before.filters);
                    this.future = [];
                    this.changed();
                }
            });
    }
}
