/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks: which are shown, and what is selected in them. */
import type { App } from "./app";
import { MACHINE_LAYERS, MEMORY_WAYS, type TracksInfo } from "./protocol";
import { heights } from "./density";
import { OF_SELECTION, OF_TIME, threadsFilter } from "./filters";
import { isPhone } from "./phone";
import { AFTER, type Alignment, alignmentOf, BEFORE, positioned, sideOf, type Sides, tracksOfSides } from "./sides";
import { type Filter, filterText } from "./state";
import { hasIds, time } from "./format";

export type TrackKind = "before" | "after" | "memory" | "allocations" | "machine" | "marks" | "process" | "thread" | "cpus" | "cpu";

export interface Track {
    kind: TrackKind;
    index: number; /* of the process, thread or CPU */
    top: number;
    height: number;
    label: number; /* pixels of the label above it; 0: the label is at its left */
}

const FIRST_SHOWN = 12; /* tracks at first */
const TINY = 0.003; /* share of the CPU time of a process that is not shown at first */
const MAIN = 0.8; /* share of the CPU time of a process that is open at first */
const MACHINE = 62, MEMORY = 140; /* pixels */
const heightOf = (kind: TrackKind): number => kind === "machine" || kind === "before" || kind === "after" ? MACHINE : kind === "process" || kind === "cpus" || kind === "allocations" ? heights.process : heights.thread;
const LABEL = 16;
const GROWN: Partial<Record<TrackKind, number>> = { memory: 3, machine: 3, before: 3, after: 3, process: 2, thread: 2, cpu: 2 }; /* times the usual height at most */
const NEVER = 1e18; /* ns: later than all recordings */
const LANE = 3; /* height of a CPU among all CPUs: 2 pixels and a gap */

/* The IDs or names in a filter that selects tracks. */
const separatorOf = (filter: Filter): string => filter.verb === "comm" ? "\n" : ",";
const partsOf = (filter: Filter): string[] => filter.text.split(separatorOf(filter));
const withParts = (filter: Filter, parts: string[]): Filter => ({ verb: filter.verb, text: [...new Set(parts)].join(separatorOf(filter)) });

/* Divides the free height among the rows: all of it is the memory's, if there is one. Returns what
 * is used. */
function grow(rows: Track[], free: number): number {
    if (free <= 0)
        return 0;
    const memory = rows.some((row) => row.kind === "memory");
    const wants = rows.map(({ kind, height }) => memory && kind !== "memory" ? 0 : height * ((GROWN[kind] ?? 1) - 1));
    const part = Math.min(1, free / (wants.reduce((sum, one) => sum + one, 0) || 1));
    let used = 0, sum = 0;
    for (const [i, row] of rows.entries()) {
        sum += (wants[i] as number) * part;
        const more = Math.round(sum) - used;
        row.top += used;
        row.height += more;
        used += more;
    }
    return used;
}

/* The numbers of the threads that have a name with another one of their process. */
function namesakesOf(threads: TracksInfo["threads"]): Set<number> {
    const first = new Map<string, number>(), found = new Set<number>();
    for (const [i, { process, name }] of threads.entries()) {
        const key = `${process} ${name}`, other = first.get(key);
        if (other === undefined)
            first.set(key, i);
        else
            found.add(other).add(i);
    }
    return found;
}

export class Tracks {
    info: TracksInfo | null = null;
    sides: Sides | null = null; /* of a comparison */
    rows: Track[] = [];
    height = 0;
    version = 0; /* increases when other rows are shown */
    loads = 0; /* increases when the core draws something else for a row */
    density = ""; /* of the rows */
    span: [number, number] | null = null; /* selected, but not committed: in ns */
    private readonly shown = new Set<number>(); /* processes */
    private readonly open = new Set<number>();
    private readonly hidden = new Set<number>(); /* threads of shown processes */
    private readonly pinned = new Set<number>(); /* processes, in front of the others */
    private order: number[] = []; /* of the processes; at first by activity */
    private cpusOpen = false;
    private room = 0; /* pixels that the rows should fill */
    private namesakes: { info: TracksInfo | null; threads: Set<number> } = { info: null, threads: new Set() };

    constructor(private readonly app: App) {}

    /* The opened profile is another one, or there is more of it. The caller then shows it. */
    async load(begun: boolean): Promise<void> {
        const before = this.info;
        const earlier = this.app.comparedWith ? await this.app.core.tracks(BEFORE) : null;
        let after = await this.app.core.tracks(AFTER);
        if (after?.memory && earlier?.memory && after.memory.by !== earlier.memory.by) {
            await this.app.core.memory(MEMORY_WAYS.indexOf(earlier.memory.by)); /* both in the same way */
            after = await this.app.core.tracks(AFTER);
        }
        this.sides = this.app.comparedWith ? [sideOf(after), sideOf(earlier)] : null;
        this.info = this.alignment ? tracksOfSides(this.alignment.to) : after;
        this.info?.marks.sort((a, b) => a.at - b.at);
        this.loads++;
        this.span = this.info ? this.app.state.preview : null;
        void this.app.memory.measureAgain();
        if (!begun || !before)
            this.choose();
        this.layOut();
    }

    /* How the two of a comparison lie on the axis. */
    get alignment(): Alignment | null {
        return this.sides && alignmentOf(this.sides, this.app.state.align);
    }

    /* They lie on it in another way. */
    align(): void {
        if (!this.alignment)
            return;
        this.info = tracksOfSides(this.alignment.to);
        this.loads++;
        this.arrange();
    }

    /* The filter with the times of both sides, which are those of the axis otherwise. */
    ofSides(filter: Filter): Filter {
        const { alignment } = this;
        if (!alignment || !OF_TIME.includes(filter.verb))
            return filter;
        const of = (side: number): [number, number] => {
            const [from, to] = positioned(alignment.positions[side as 0 | 1], filter.from ?? 0, filter.to ?? 0);
            return to > 0 ? [Math.max(0, from), to] : [NEVER, NEVER + 1e3];
        };
        const [from, to] = of(AFTER);
        return { ...filter, from, to, before: of(BEFORE) };
    }

    /* The first tracks: the processes with the most CPU time. One that used nearly all of
     * it is open. */
    private choose(): void {
        for (const set of [this.shown, this.open, this.hidden, this.pinned])
            set.clear();
        this.cpusOpen = false;
        const { info } = this;
        this.order = info?.processes.map((_, i) => i) ?? [];
        if (!info)
            return;
        const room = FIRST_SHOWN - 1 - (info.marks.length ? 1 : 0) - (info.cpus.length > 1 ? 1 : 0);
        const all = info.processes.reduce((sum, p) => sum + p.running, 0);
        const active = info.processes.filter((p) => p.running > 0 ? p.running >= all * TINY : !all && p.waiting > 0);
        const first = Math.min(room, active.length || 1, info.processes.length);
        for (let i = 0; i < first; i++)
            this.shown.add(i);
        const main = info.processes[0];
        if (main && main.count > 1 && (first === 1 || main.running > all * MAIN)) {
            this.open.add(0);
            for (let i = Math.max(1, room - first); i < main.count; i++)
                this.hidden.add(main.first + i);
        }
    }

    arrange(): void {
        this.layOut();
        this.app.changed();
    }

    /* The rows fill that height, as far as they can. */
    fit(room: number): void {
        if (room === this.room)
            return;
        this.room = room;
        if (this.info)
            this.arrange();
    }

    private layOut(): void {
        const { info } = this;
        const rows: Track[] = [];
        let top = 0;
        const label = isPhone() ? LABEL : 0;
        const add = (kind: TrackKind, index: number, height = heightOf(kind)): void => {
            rows.push({ kind, index, top, height: height + label, label });
            top += height + label;
        };
        if (info) {
            if (this.sides?.[BEFORE])
                add("before", BEFORE);
            if (this.sides?.[AFTER])
                add("after", AFTER);
            if (info.memory)
                add("memory", 0, MEMORY);
            if (info.memory?.allocations)
                add("allocations", 0);
            if (info.processes.length)
                add("machine", 0);
            if (info.marks.length)
                add("marks", 0);
            for (const i of this.shownOrder) {
                const process = info.processes[i] as TracksInfo["processes"][number];
                add("process", i);
                for (let t = process.first; this.open.has(i) && t < process.first + process.count; t++)
                    if (!this.hidden.has(t))
                        add("thread", t);
            }
            if (info.cpus.length > 1) {
                add("cpus", 0, Math.min(8 * LANE + 4, Math.max(20, info.cpus.length * LANE + 4)));
                for (let i = 0; this.cpusOpen && i < info.cpus.length; i++)
                    add("cpu", i);
            }
        }
        top += grow(rows, this.room - top);
        this.rows = rows;
        this.density = this.app.appearance.density;
        this.height = top;
        this.version++;
    }

    /* The rows between two heights, with their numbers. */
    between(top: number, bottom: number): { row: Track; i: number }[] {
        let low = 0, high = this.rows.length;
        while (low < high) {
            const middle = (low + high) >> 1, row = this.rows[middle] as Track;
            if (row.top + row.height > top)
                high = middle;
            else
                low = middle + 1;
        }
        const found: { row: Track; i: number }[] = [];
        for (let i = low; i < this.rows.length && (this.rows[i] as Track).top < bottom; i++)
            found.push({ row: this.rows[i] as Track, i });
        return found;
    }

    /* --- Folding and choosing ------------------------------------------------------------- */

    folds(track: Track): boolean {
        return track.kind === "cpus" || (track.kind === "process" && (this.info?.processes[track.index]?.count ?? 0) > 1);
    }

    isOpen(track: Track): boolean {
        return track.kind === "cpus" ? this.cpusOpen : track.kind === "process" && this.open.has(track.index);
    }

    fold(track: Track, open = !this.isOpen(track)): void {
        if (!this.folds(track))
            return;
        if (track.kind === "cpus")
            this.cpusOpen = open;
        else if (open)
            this.open.add(track.index);
        else
            this.open.delete(track.index);
        this.arrange();
    }

    get moreCount(): number {
        const { info } = this;
        if (!info)
            return 0;
        return info.processes.reduce((n, p, i) => n + (this.shown.has(i) ? 0 : Math.max(1, p.count)), 0) + this.hidden.size;
    }

    isShown(thread: number): boolean {
        const process = this.info?.threads[thread]?.process ?? -1;
        return this.shown.has(process) && !this.hidden.has(thread);
    }

    /* A thread's checkbox: its process is shown with it. */
    showThread(thread: number, show: boolean): void {
        const index = this.info?.threads[thread]?.process ?? -1;
        const process = this.info?.processes[index];
        if (!process)
            return;
        if (show && !this.shown.has(index))
            for (let t = process.first; t < process.first + process.count; t++)
                this.hidden.add(t);
        if (show) {
            this.hidden.delete(thread);
            this.shown.add(index);
            if (process.count > 1)
                this.open.add(index);
        } else {
            this.hidden.add(thread);
        }
        this.arrange();
    }

    /* Shows the thread's track, and its process open. */
    reveal(tid: number | undefined, name: string): void {
        const found = this.info?.threads.findIndex((t) => (tid === undefined ? t.name === name : t.tid === tid)) ?? -1;
        if (found >= 0 && (this.info?.processes[this.info.threads[found]?.process ?? -1]?.count ?? 0) > 1)
            this.showThread(found, true);
        else if (found >= 0)
            this.showProcess(this.info?.threads[found]?.process ?? -1, true);
    }

    showProcess(index: number, show: boolean): void {
        const process = this.info?.processes[index];
        if (!process)
            return;
        if (show)
            this.shown.add(index);
        else
            this.shown.delete(index);
        for (let t = process.first; t < process.first + process.count; t++)
            this.hidden.delete(t);
        this.arrange();
    }

    /* --- Order ------------------------------------------------------------------------------ */

    private get shownOrder(): number[] {
        for (let i = this.order.length; i < (this.info?.processes.length ?? 0); i++)
            this.order.push(i); /* more of the file was read */
        const shown = this.order.filter((i) => this.shown.has(i) && i < (this.info?.processes.length ?? 0));
        return [...shown.filter((i) => this.pinned.has(i)), ...shown.filter((i) => !this.pinned.has(i))];
    }

    hide(track: Track): void {
        if (track.kind === "process")
            this.showProcess(track.index, false);
        else if (track.kind === "thread")
            this.showThread(track.index, false);
    }

    /* The only process; of a thread, the only one of its process. */
    isolate(track: Track): void {
        const index = track.kind === "thread" ? (this.info?.threads[track.index]?.process ?? -1) : track.index;
        const process = this.info?.processes[index];
        if (!process || (track.kind !== "process" && track.kind !== "thread"))
            return;
        this.shown.clear();
        this.shown.add(index);
        for (let t = process.first; t < process.first + process.count; t++)
            if (track.kind === "thread" && t !== track.index)
                this.hidden.add(t);
            else
                this.hidden.delete(t);
        if (process.count > 1)
            this.open.add(index);
        this.arrange();
    }

    isPinned(track: Track): boolean {
        return track.kind === "process" && this.pinned.has(track.index);
    }

    pin(track: Track): void {
        if (track.kind !== "process")
            return;
        if (!this.pinned.delete(track.index))
            this.pinned.add(track.index);
        this.arrange();
    }

    /* By one shown process up or down. */
    move(track: Track, way: -1 | 1): void {
        const shown = this.shownOrder;
        const other = shown[shown.indexOf(track.index) + way];
        if (track.kind === "process" && other !== undefined)
            this.moveTo(track.index, other);
    }

    /* Moves the process to where another one is. */
    moveTo(process: number, other: number): void {
        const shown = this.shownOrder;
        const from = shown.indexOf(process), to = shown.indexOf(other);
        if (from < 0 || to < 0 || from === to || this.pinned.has(process) !== this.pinned.has(other))
            return;
        shown.splice(from, 1);
        shown.splice(to, 0, process);
        this.order = [...shown, ...this.order.filter((i) => !this.shown.has(i))];
        this.arrange();
    }

    sort(): void {
        this.order.sort((a, b) => a - b); /* the core's order */
        this.arrange();
    }

    processShown(index: number): boolean {
        return this.shown.has(index);
    }

    /* --- Selection -------------------------------------------------------------------------- */

    /* The committed span, which the axis covers. */
    get committed(): [number, number] {
        const to = this.info?.to ?? 1;
        const last = this.app.state.filters.findLast((f) => f.verb === "time");
        const range: [number, number] = [Math.max(0, last?.from ?? 0), Math.min(to, last?.to ?? to)];
        return range[1] > range[0] ? range : [0, to];
    }

    get isWhole(): boolean {
        return !this.app.state.filters.some((f) => f.verb === "time");
    }

    /* The panel shows the span, unless it comes from there (`preview`). */
    select(span: [number, number] | null, preview = true): void {
        this.span = span;
        void this.app.memory.measure();
        if (preview)
            void this.app.preview(span);
        this.app.changed();
    }

    commit(span = this.span): void {
        if (span)
            void this.app.filters.add({ verb: "time", text: "", from: span[0], to: span[1] });
    }

    /* The filter that selects the track; null if it has no ID to select by. */
    filterOf(track: Track): Filter | null {
        const process = this.info?.processes[track.index];
        const thread = this.info?.threads[track.index];
        if (track.kind === "process" && process?.labelled)
            return { verb: "label", text: `process=${process.name}` };
        if (track.kind === "process" && process)
            return process.ids ? { verb: "pid", text: process.ids } : process.pid === undefined ? { verb: "comm", text: process.name } : { verb: "pid", text: String(process.pid) };
        if (track.kind === "thread" && thread)
            return this.ofThreads([thread]);
        if (track.kind === "cpu")
            return { verb: "cpu", text: String(this.info?.cpus[track.index] ?? "") };
        return null;
    }

    /* The text of a filter's chip. The IDs of an instruction trace are no numbers that a user knows: the
     * names are. */
    textOf(filter: Filter): string {
        const { info } = this;
        const names = hasIds() ? [] : filter.verb === "pid" ? info?.processes.filter((one) => String(one.pid) === filter.text)
            : info?.threads.filter((one) => filter.verb === "thread" ? `${info.processes[one.process]?.pid}/${one.tid}` === filter.text : filter.verb === "tid" && String(one.tid) === filter.text);
        const [only, ...others] = names ?? [];
        return only && !others.length ? `only ${only.name}` : filterText(filter, time);
    }

    /* Whether another thread of the process has the same name. */
    sharesName(thread: number): boolean {
        if (this.namesakes.info !== this.info)
            this.namesakes = { info: this.info, threads: namesakesOf(this.info?.threads ?? []) };
        return this.namesakes.threads.has(thread);
    }

    /* The same, of a thread by its IDs, if these are not shown anyway. */
    isAlike({ pid, tid }: { pid?: number; tid?: number }): boolean {
        const { threads = [], processes = [] } = this.info ?? {};
        return !hasIds() && threads.some((one, i) => one.tid === tid && processes[one.process]?.pid === pid && this.sharesName(i));
    }

    ofThreads(threads: TracksInfo["threads"]): Filter {
        return threadsFilter(threads.map((thread) => ({ name: thread.name, tid: thread.tid, pid: this.info?.processes[thread.process]?.pid })));
    }

    /* Processes as their threads, which can be selected beside other threads; null if the IDs are
     * unknown. */
    private asThreads(filter: Filter): Filter | null {
        if (filter.verb === "tid" || filter.verb === "thread")
            return filter;
        const pids = filter.verb === "pid" ? partsOf(filter) : [];
        const of = (process: number): boolean => pids.includes(String(this.info?.processes[process]?.pid));
        const threads = this.info?.threads.filter((t) => of(t.process)) ?? [];
        const known = new Set(threads.map((t) => t.process)).size === pids.length && threads.every((t) => t.tid !== undefined);
        return known && threads.length ? this.ofThreads(threads) : null;
    }

    private covers(selection: Filter, filter: Filter | null): boolean {
        if (filter && filter.verb !== selection.verb)
            return this.covers(selection, selection.verb === "tid" || selection.verb === "thread" ? this.asThreads(filter) : null);
        const selected = partsOf(selection);
        return filter !== null && partsOf(filter).every((part) => selected.includes(part));
    }

    isSelected(track: Track): boolean {
        const filter = this.filterOf(track);
        return filter !== null && this.app.state.filters.some((f) => OF_SELECTION.includes(f.verb) && this.covers(f, filter));
    }

    /* One filter for both; null if there is none: for a CPU and a thread, or without IDs. */
    private joined(a: Filter, b: Filter): Filter | null {
        const [first, second] = a.verb === b.verb ? [a, b] : [this.asThreads(a), this.asThreads(b)];
        return first && second && first.verb === second.verb ? withParts(first, [...partsOf(first), ...partsOf(second)]) : null;
    }

    /* Adds the track to the selection, or removes it; a track that cannot be added replaces it. */
    toggleTrack(track: Track): void {
        const filter = this.filterOf(track);
        const selection = this.app.state.filters.find((f) => OF_SELECTION.includes(f.verb));
        if (!filter || !selection) {
            this.selectTrack(track);
        } else if (this.covers(selection, filter)) {
            const gone = partsOf(filter.verb === selection.verb ? filter : this.asThreads(filter) ?? filter);
            const left = partsOf(selection).filter((part) => !gone.includes(part));
            void this.app.filters.selectThreads(left.length ? withParts(selection, left) : null);
        } else {
            void this.app.filters.selectThreads(this.joined(selection, filter) ?? filter);
        }
    }

    /* The tracks from one row to another become the selection, as far as they can be joined with
     * the last one. */
    selectRange(from: number, to: number): void {
        const rows = this.rows.slice(Math.min(from, to), Math.max(from, to) + 1);
        const last = this.rows[to];
        let selection = last ? this.filterOf(last) : null;
        for (const row of rows) {
            const filter = this.filterOf(row);
            selection = selection && filter ? this.joined(selection, filter) ?? selection : selection;
        }
        if (selection)
            void this.app.filters.selectThreads(selection);
    }

    /* The track becomes the selection of the views below; again, or the machine: all. */
    selectTrack(track: Track): void {
        const filter = this.isSelected(track) ? null : this.filterOf(track);
        if (filter || this.rows.some((row) => this.isSelected(row)))
            void this.app.filters.selectThreads(filter);
    }

    /* The category of a process's colour; the others have none. */
    category(process: number): number {
        return process < MACHINE_LAYERS - 1 || this.shown.has(process) ? process % 12 : -1;
    }
}
