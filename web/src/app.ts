/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the page and its actions. Views read it and call it; it calls the core. */
import { Appearance } from "./appearance";
import { allOf, CoreError, type Core } from "./core";
import { Filters, withTime } from "./filters";
import { count, functionName, setClock } from "./format";
import type { Live } from "./live";
import type { Home } from "./home";
import { type Opened, Opening } from "./opening";
import type { BoxInfo, ComparisonInfo, Fault, Found, FunctionInfo, ProfileInfo, Shown } from "./protocol";
import { Tone } from "./protocol";
import { Memory } from "./memory";
import { AFTER, type Align, BEFORE } from "./sides";
import { Tracks } from "./tracks";
import type { TracksView } from "./tracks_view";
import { type Compared, type Filter, type Pane, severalProcesses, type ViewState, readState, START, type View, writeState } from "./state";

export type Dialog = "help" | "palette" | "threads" | "labels" | "tracks" | "filter" | "note" | "export" | "format" | "menu" | null;

/* What keys can do in a view. */
export interface Steered {
    part?: [number, number] | null; /* the visible part of the axis; null: all */
    zoom(factor: number): void;
    pan(x: number, y: number): void;
    reset(): void;
    step(way: number): void; /* see core_step */
    enter(): void;
    match(back: boolean): void;
    onTheWay?: Promise<void>; /* to the box that step or match selects */
    picture(): HTMLCanvasElement | null;
    ahead?(): Promise<Early>;
}

/* What a view will ask for after the profile has changed comes in the same message as the change, so that
 * one frame shows all of it. The function gives it to the view, with the version of the page that it is
 * for; null: there is nothing. */
export type Early = ((version: number) => void) | null;

export interface Menu {
    x: number;
    y: number;
    function: FunctionInfo;
    stack: string[] | null;
}

const ALIGN_CELLS = 100000; /* parts of a recording in which a function is searched for */

/* The properties of the state that require a call of the core. */
const SHOWN_BY = ["filters", "event", "count", "processes", "wall", "color", "search", "pattern", "chosen", "preview", "shares", "idle", "align"] as const;

export class App {
    profile: ProfileInfo | null = null;
    name = "";
    comparedWith = "";
    shown: Shown | null = null;
    inlined = false; /* a profile in the page is not shown yet */
    comparison: ComparisonInfo | null = null;
    state: ViewState = { ...START };
    selected: BoxInfo | null = null;
    selectedIn = -1; /* the kind of chart in which it was selected */
    chosen: FunctionInfo | null = null;
    found: Found | null = null;
    fault: Fault | null = null;
    loading: { name: string; done: number; of: number } | null = null;
    dialog: Dialog = null;
    format = ""; /* of the first file, chosen by the user before opening it */
    latest: Opened | null = null;
    menu: Menu | null = null;
    notice = "";
    empty = false; /* the previewed span has no samples */
    private previewing = false;
    searching = false; /* on a telephone: the search is visible */
    private lookOf: Uint8Array = new Uint8Array(0); /* by label: tones, then marks, then kinds */
    version = 0; /* increases when the shown profile changes: charts and tables are requested again */
    looks = 0; /* increases when the look changes */
    shades = 0; /* increases when it changes by more than the selection */
    readonly opening = new Opening(this);
    readonly filters = new Filters(this);
    readonly appearance = new Appearance(() => this.look());
    readonly tracks = new Tracks(this);
    readonly memory = new Memory(this);
    tracksView: TracksView | null = null;
    live: Live | null = null; /* the page of stoke daemon */
    needed: number | null = null; /* pixels of the last chart; null: not known yet */
    home: Home | null = null; /* of a page that stoke view serves */
    steered: Steered | null = null;
    micros: number[] = []; /* script times of the last frames */

    part: { read: number; going: boolean } | null = null; /* of the file, while only a part is shown */

    lastTurn: Promise<unknown> = Promise.resolve();
    private listener: () => void = () => undefined;
    private noticeTimer = 0;
    private searchTimer = 0;
    private zoomTimer = 0;

    constructor(readonly core: Core) {}

    onChange(listener: () => void): void {
        this.listener = listener;
    }

    changed(): void {
        this.listener();
    }

    /* Whether the profile has the times of waits. */
    get waits(): boolean {
        return this.profile?.events.some((event) => event.name === "off-cpu") ?? false;
    }

    /* The samples of what is shown, or the blocks of a heap; "": of an instruction trace, all cycles are
     * counted. */
    get samplesText(): string {
        const { shown, profile } = this;
        if (!shown || shown.unit === "samples" || profile?.cycles)
            return "";
        const [one, several] = profile?.counted && this.memory.info ? ["block", "blocks"] : ["sample", "samples"];
        return `${count(shown.samples)} ${shown.samples === 1 ? one : several}`;
    }

    /* The samples that the shares are estimated from; 0: the shares are exact. */
    get estimated(): number {
        return this.profile?.counted ? 0 : this.shown?.samples ?? 0;
    }

    /* Runs tasks one after the other: each calls the core several times, and results
     * from two states must not be mixed. */
    inTurn<T>(task: () => Promise<T>): Promise<T> {
        const turn = this.lastTurn.then(task);
        this.lastTurn = turn.catch(() => undefined);
        return turn;
    }

    /* --- The profile ------------------------------------------------------------------------- */

    /* The core has another profile or, with `begun`, more of the shown one. */
    become(info: ProfileInfo, name: string, slot: number, begun: boolean, state?: ViewState): Promise<boolean> {
        this.profile = info;
        setClock(info.cycles ? "cycles" : "ns");
        if (slot === 0 && !begun) {
            this.name = name;
            this.comparedWith = "";
            this.state = state ?? { ...START, view: this.state.view, color: Tone.Auto };
        } else if (slot === 1) {
            this.comparedWith = name;
            this.state = { ...(state ?? { ...this.state, view: "changes", event: 0, wall: false, zoom: null }), color: Tone.Change };
        }
        if (!begun)
            this.filters.forget();
        this.title();
        return this.showOrAll(begun);
    }

    /* A link may request something that the profile does not have: then everything is
     * shown, with the reason. */
    private async showOrAll(begun: boolean): Promise<boolean> {
        const tracks = this.tracks.load(begun).catch((error: unknown) => this.fail(error));
        const shown = this.show(); /* in the same message */
        await tracks;
        if (await shown)
            return true;
        const { fault } = this;
        this.state = { ...START, view: this.state.view };
        this.tracks.span = null;
        if (!fault || !(await this.show()))
            return false;
        this.fault = { ...fault, hint: "The address requests it; everything is shown instead." };
        this.changed();
        return true;
    }

    endComparison(): Promise<void> {
        return this.inTurn(async () => {
            this.profile = await this.core.alone();
            this.comparedWith = "";
            this.state = { ...this.state, color: Tone.Auto, zoom: null };
            this.title();
            const [, shown] = await Promise.all([this.tracks.load(false), this.show()]);
            if (!shown && this.state.preview) {
                this.state = { ...this.state, preview: null };
                this.tracks.span = null;
                await this.show();
            }
        });
    }

    /* What the flame graphs of a comparison show. Those of one profile have its own colours. */
    async setCompared(compared: Compared): Promise<void> {
        const { color } = this.state;
        const alone = compared === "before" || compared === "after";
        this.state = { ...this.state, compared, zoom: null };
        this.remember(true);
        this.changed();
        if (alone && color === Tone.Change)
            await this.setColor(Tone.Auto);
        else if (!alone && color === Tone.Auto)
            await this.setColor(Tone.Change);
    }

    /* The same spans of the axis are other parts of one profile then. */
    async setAlign(align: Align): Promise<void> {
        await this.inTurn(async () => {
            this.state = { ...this.state, align };
            this.tracks.align();
            await this.show(true);
        });
    }

    /* The moments at which the function first ran in both. */
    async alignBy(name: string): Promise<void> {
        const { sides } = this.tracks;
        const only = JSON.stringify([{ verb: "focus", text: name, exact: true }]);
        const first = async (side: 0 | 1, to: number): Promise<number> => {
            const { cells, column } = await this.core.heatOfSide(side, only, Math.max(1, to / ALIGN_CELLS), 1);
            return cells.findIndex((cell) => cell > 0) * column;
        };
        const [before, after] = await Promise.all([first(0, sides?.[BEFORE]?.info.to ?? 1), first(1, sides?.[AFTER]?.info.to ?? 1)]).catch(() => [-1, -1]);
        if (before !== undefined && after !== undefined && before >= 0 && after >= 0)
            await this.setAlign(Math.round(before - after));
        else
            this.say(`${functionName(name)} did not run in both`);
    }

    async setShares(shares: boolean): Promise<void> {
        await this.inTurn(async () => {
            this.state = { ...this.state, shares };
            await this.show(true);
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

    /* --- The shown profile ---------------------------------------------------------------- */

    /* Calls the core with the settings of the state. */
    async show(step = false): Promise<boolean> {
        if (!(await this.request()))
            return false;
        this.remember(step);
        this.changed();
        return true;
    }

    /* The panel shows that span, also while it is dragged: one request at a time, the last one wins. */
    async preview(span: [number, number] | null): Promise<void> {
        if (String(span) === String(this.state.preview))
            return;
        this.state = { ...this.state, preview: span, zoom: null };
        if (this.previewing)
            return;
        this.previewing = true;
        for (let last: [number, number] | null | undefined; last !== this.state.preview;) {
            await this.inTurn(async () => {
                last = this.state.preview;
                await this.request(true);
            });
            this.changed();
        }
        this.previewing = false;
        this.rememberSoon();
    }

    /* The filters of what is shown. */
    shownFilters(): Filter[] {
        const { filters, preview, wall, event } = this.state;
        const all = wall ? [{ verb: "wall-clock", text: this.profile?.events[event - 1]?.name ?? "" }, ...filters] : filters;
        const timed = preview ? withTime(all, { verb: "time", text: "", from: preview[0], to: preview[1] }) : all;
        return timed.map((filter) => this.tracks.ofSides(filter));
    }

    /* With `mayBeEmpty`: of a previewed span without samples, the page says so, and the last picture is left. */
    private async request(mayBeEmpty = false): Promise<boolean> {
        if (this.state.color === Tone.Change && !this.comparedWith)
            this.state = { ...this.state, color: Tone.Auto };
        if (this.state.view === "changes" && !this.comparedWith)
            this.state = { ...this.state, view: "left" };
        let unsearchable: unknown = null; /* the rest is shown nevertheless */
        try {
            const { event, count, wall, color, search, pattern, chosen, preview, shares, idle } = this.state;
            const processes = this.state.processes && severalProcesses(this);
            try {
                const answers = allOf([
                    this.core.show(JSON.stringify(this.shownFilters()), wall ? 0 : event, count, processes, !shares, !idle),
                    this.comparedWith ? this.core.comparison() : null,
                    this.core.color(color),
                    this.core.looks(),
                    search ? this.core.search(search, pattern).catch((error: unknown) => { unsearchable = error; return null; }) : null,
                    chosen ? this.core.chooseNamed(chosen) : null,
                ]);
                const early = Promise.all([this.steered?.ahead?.(), this.tracksView?.ahead()]);
                const [shown, comparison, , looks, found, picked] = await answers;
                Object.assign(this, { shown, comparison, found, selected: null, chosen: picked, lookOf: looks });
                for (const give of await early)
                    give?.(this.version + 1);
            } catch (error) {
                if (!mayBeEmpty || !preview || !(error instanceof CoreError) || !/^no samples remain/.test(error.fault.message))
                    throw error;
                this.empty = true;
                return true;
            }
            this.empty = false;
        } catch (error) {
            this.fail(error);
            return false;
        }
        this.fault = null;
        this.version++;
        if (unsearchable)
            this.fail(unsearchable);
        return true;
    }

    /* With `step`, the browser's Back undoes the change. */
    private remember(step = false): void {
        clearTimeout(this.zoomTimer);
        const address = writeState(this.state) || location.pathname + location.search;
        if (step && writeState(this.state) !== location.hash)
            history.pushState(null, "", address);
        else
            history.replaceState(null, "", address);
    }

    async setEvent(event: number, count: boolean, wall = false): Promise<void> {
        await this.inTurn(async () => {
            const before = this.state;
            this.state = { ...this.state, event, count, wall, zoom: null };
            if (!(await this.show(true)))
                this.state = before;
        });
    }

    /* Whether the time in which CPUs were idle is shown. */
    async setIdle(idle: boolean): Promise<void> {
        await this.inTurn(async () => {
            this.state = { ...this.state, idle, zoom: null };
            await this.show(true);
        });
    }

    async setProcesses(processes: boolean): Promise<void> {
        await this.inTurn(async () => {
            this.state = { ...this.state, processes, zoom: null };
            await this.show(true);
        });
    }

    async setOrder(order: number): Promise<void> {
        this.state = { ...this.state, order };
        this.version++;
        this.remember();
        this.changed();
    }

    async setColor(color: Tone): Promise<void> {
        this.state = { ...this.state, color };
        [, this.lookOf] = await Promise.all([this.core.color(color), this.core.looks()]);
        this.look();
    }

    tone(label: number): number {
        return this.lookOf[label] ?? 0;
    }

    marks(label: number): number {
        return this.lookOf[this.lookOf.length / 3 + label] ?? 0;
    }

    kind(label: number): number {
        return this.lookOf[(this.lookOf.length / 3) * 2 + label] ?? 0;
    }

    /* Of the call graph, in percent. */
    setLimits(nodes: number, edges: number): void {
        this.state = { ...this.state, nodes, edges };
        this.remember();
        this.changed();
    }

    openSource(file: string): void {
        this.state = { ...this.state, view: "source", file, zoom: null };
        this.remember(true);
        this.changed();
    }

    /* The shown file stays when a line of it is selected whose function is in another one. */
    holdSource(file: string): void {
        this.state = { ...this.state, file };
        this.remember();
    }

    setPane(pane: Pane): void {
        this.state = { ...this.state, pane };
        this.remember(true);
        this.changed();
    }

    /* A chart that is lower than its panel gives the rest to the tracks. While a span is selected
     * in these, they do not move. */
    setNeeded(pixels: number): void {
        if (pixels === this.needed || (this.state.preview && this.needed !== null))
            return;
        this.needed = pixels;
        this.changed();
    }

    /* The source is that of the selected function, not of the one whose source was opened before. */
    setView(view: View): void {
        const file = view === "source" && this.state.view !== "source" && this.chosen ? "" : this.state.file;
        this.state = { ...this.state, view, file, zoom: null };
        this.remember(true);
        this.changed();
    }

    setInverted(up: boolean): void {
        this.state = { ...this.state, up, zoom: null };
        this.remember(true);
        this.changed();
    }

    setPeek(peek: boolean): void {
        this.state = { ...this.state, peek };
        this.remember(true);
        this.changed();
    }

    setFlame(flame: boolean): void {
        this.state = { ...this.state, flame };
        this.look();
    }

    setZoom(zoom: [number, number] | null): void {
        this.state = { ...this.state, zoom };
        this.rememberSoon();
    }

    private rememberSoon(): void {
        clearTimeout(this.zoomTimer); /* changing the address is slow in browsers */
        this.zoomTimer = window.setTimeout(() => this.remember(), 150);
    }

    private look(): void {
        this.looks++;
        this.shades++;
        if (this.tracks.info && this.appearance.density !== this.tracks.density)
            this.tracks.arrange();
        document.documentElement.dataset["theme"] = this.appearance.dark ? "dark" : "light";
        this.remember();
        this.changed();
    }

    /* --- Search and selection ----------------------------------------------------------------- */

    /* Waits briefly after the last key, so that not every letter starts a search. */
    search(text: string, pattern: boolean): void {
        this.state = { ...this.state, search: text, pattern };
        this.changed();
        clearTimeout(this.searchTimer);
        this.searchTimer = window.setTimeout(() => void this.inTurn(() => this.searchNow()), 120);
    }

    private async searchNow(): Promise<void> {
        const { search, pattern } = this.state;
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

    select(kind: number, box: number | null): Promise<void> {
        return this.selectBy(kind, box === null ? null : () => this.core.select(kind, box));
    }

    /* The box at a position of the chart; null: none is there. */
    selectAt(kind: number, at: [number, number] | null): Promise<void> {
        return this.selectBy(kind, at && (() => this.core.selectAt(kind, ...at)));
    }

    private async selectBy(kind: number, find: (() => Promise<BoxInfo | null>) | null): Promise<void> {
        const of = this.version;
        await this.inTurn(async () => {
            if (of !== this.version)
                return; /* boxes have new numbers */
            this.selected = find ? await find() : null;
            this.selectedIn = kind;
            if (this.selected)
                this.chose(this.selected.function);
            else
                await this.chooseNow(0);
        });
    }

    choose(label: number): Promise<void> {
        return this.inTurn(() => this.chooseNow(label));
    }

    private async chooseNow(label: number): Promise<void> {
        this.chose(await this.core.choose(label));
    }

    private chose(info: FunctionInfo): void {
        this.chosen = info.label ? info : null;
        this.state = { ...this.state, chosen: info.label ? info.name : "" };
        this.looks++;
        this.remember();
        this.changed();
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
            this.say("the browser does not allow this page to copy");
        }
    }

    /* The address was changed: by the user, by a pasted link, or by Back. `hash` is the one of the
     * event: a drawing that is in progress may have replaced the address since then. */
    follow(hash: string): Promise<void> {
        return this.inTurn(async () => {
            const before = this.state, state = readState(hash);
            if (!this.profile || writeState(state) === writeState(before))
                return;
            this.state = state;
            if (state.align !== before.align)
                this.tracks.align();
            this.tracks.span = state.preview;
            void this.memory.measure();
            const same = SHOWN_BY.every((key) => JSON.stringify(before[key]) === JSON.stringify(state[key]));
            if (same) {
                this.version++;
                this.look();
            } else if (!(await this.show())) {
                const { fault } = this;
                this.state = before;
                if (state.align !== before.align)
                    this.tracks.align();
                this.tracks.span = before.preview;
                void this.memory.measure();
                await this.request(true); /* the core may have colours and matches of the refused address */
                this.fault = fault;
                this.remember();
                this.changed();
            } else if (JSON.stringify(before.filters) !== JSON.stringify(state.filters)) {
                this.filters.remember(before.filters);
                this.changed();
            }
        });
    }
}
