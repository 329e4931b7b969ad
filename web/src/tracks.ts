/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks: which are shown, and what is selected in them. */
import type { App } from "./app";
import { MACHINE_LAYERS, type TracksInfo } from "./protocol";
import type { Filter } from "./state";

export type TrackKind = "machine" | "marks" | "process" | "thread" | "cpus" | "cpu";

export interface Track {
    kind: TrackKind;
    index: number; /* of the process, thread or CPU */
    top: number;
    height: number;
}

const FIRST_SHOWN = 12; /* tracks at first */
const TINY = 0.003; /* share of the CPU time of a process that is not shown at first */
const MAIN = 0.8; /* share of the CPU time of a process that is open at first */
const HEIGHTS: Record<TrackKind, number> = { machine: 62, marks: 20, process: 26, thread: 20, cpus: 28, cpu: 20 };
const LANE = 3; /* height of a CPU among all CPUs: 2 pixels and a gap */

export class Tracks {
    info: TracksInfo | null = null;
    rows: Track[] = [];
    height = 0;
    version = 0; /* increases when other rows are shown */
    span: [number, number] | null = null; /* selected, but not committed: in ns */
    private readonly shown = new Set<number>(); /* processes */
    private readonly open = new Set<number>();
    private readonly hidden = new Set<number>(); /* threads of shown processes */
    private cpusOpen = false;

    constructor(private readonly app: App) {}

    /* The opened profile is another one, or there is more of it. */
    async load(begun: boolean): Promise<void> {
        const before = this.info;
        this.info = this.app.comparedWith ? null : await this.app.core.tracks();
        this.span = null;
        if (!begun || !before)
            this.choose();
        this.arrange();
    }

    /* The first tracks: the processes with the most CPU time. One that used nearly all of
     * it is open. */
    private choose(): void {
        for (const set of [this.shown, this.open, this.hidden])
            set.clear();
        this.cpusOpen = false;
        const { info } = this;
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

    private arrange(): void {
        const { info } = this;
        const rows: Track[] = [];
        let top = 0;
        const add = (kind: TrackKind, index: number, height = HEIGHTS[kind]): void => {
            rows.push({ kind, index, top, height });
            top += height;
        };
        if (info) {
            add("machine", 0);
            if (info.marks.length)
                add("marks", 0);
            for (const [i, process] of info.processes.entries()) {
                if (!this.shown.has(i))
                    continue;
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
        this.rows = rows;
        this.height = top;
        this.version++;
        this.app.changed();
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
            this.open.add(index);
        } else {
            this.hidden.add(thread);
        }
        this.arrange();
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

    select(span: [number, number] | null): void {
        this.span = span;
        this.app.changed();
    }

    commit(): void {
        const { span } = this;
        this.span = null;
        if (span)
            void this.app.filters.add({ verb: "time", text: "", from: span[0], to: span[1] });
    }

    /* The filter that selects the track; null if it has no ID to select by. */
    filterOf(track: Track): Filter | null {
        const process = this.info?.processes[track.index];
        const thread = this.info?.threads[track.index];
        if (track.kind === "process" && process)
            return process.pid === undefined ? { verb: "comm", text: process.name } : { verb: "pid", text: String(process.pid) };
        if (track.kind === "thread" && thread)
            return thread.tid === undefined ? { verb: "comm", text: thread.name } : { verb: "tid", text: String(thread.tid) };
        if (track.kind === "cpu")
            return { verb: "cpu", text: String(this.info?.cpus[track.index] ?? "") };
        return null;
    }

    isSelected(track: Track): boolean {
        const filter = this.filterOf(track);
        return filter !== null && this.app.state.filters.some((f) => f.verb === filter.verb && f.text === filter.text);
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
