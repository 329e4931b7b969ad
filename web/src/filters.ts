/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the filters, which can be undone. */
import type { App } from "./app";
import { hasIds } from "./format";
import type { FunctionInfo } from "./protocol";
import type { Filter } from "./state";

/* Filters by which a track is selected. */
export const OF_SELECTION = ["tid", "thread", "pid", "comm", "cpu"];

/* Filters by time: a span, or what was live at a moment. */
export const OF_TIME = ["time", "moment"];

/* A span ends the moment, which may be outside of it. */
export function withTime(filters: Filter[], span: Filter): Filter[] {
    return [...filters.filter((f) => f.verb !== "moment"), span];
}

/* Filters by properties of a thread. */
const OF_THREADS = ["tid", "thread", "pid", "comm", "drop-comm"];

/* What frames can be merged by; there are others, such as labels. */
const GROUPS = ["function", "file", "module"];

interface Thread {
    name: string;
    pid?: number | undefined;
    tid?: number | undefined;
}

/* The filter for these threads. In an instruction trace, threads of several processes have one number:
 * there it needs that of the process, too. */
export function threadsFilter(chosen: Thread[]): Filter {
    if (chosen.some((thread) => thread.tid === undefined))
        return { verb: "comm", text: [...new Set(chosen.map((thread) => thread.name))].join("\n") };
    if (!hasIds() && chosen.every((thread) => thread.pid !== undefined))
        return { verb: "thread", text: chosen.map((thread) => `${thread.pid}/${thread.tid}`).join(",") };
    return { verb: "tid", text: chosen.map((thread) => thread.tid).join(",") };
}

/* The filter for a process or thread among the levels of a tree; null for a function. */
export function ownerFilter(f: FunctionInfo): Filter | null {
    if (f.kind !== "process" && f.kind !== "thread")
        return null;
    if (f.process_label !== undefined)
        return { verb: "label", text: `process=${f.process_label}` };
    return f.ids ? { verb: f.kind === "process" ? "pid" : f.ids.includes("/") ? "thread" : "tid", text: f.ids } : { verb: "comm", text: f.name.replace(/ \((process|thread)( \d+)?\)$/, "") }; /* without what makes the label unique */
}

export class Filters {
    private past: Filter[][] = [];
    private future: Filter[][] = [];

    constructor(private readonly app: App) {}

    /* Another profile is shown. */
    forget(): void {
        this.past = [];
        this.future = [];
    }

    /* The filters have changed; these are the ones before. */
    remember(before: Filter[]): void {
        this.past.push(before);
        this.future = [];
    }

    private async setFilters(filters: Filter[]): Promise<boolean> {
        const before = this.app.state;
        const times = (all: Filter[]): string => JSON.stringify(all.filter((f) => OF_TIME.includes(f.verb)));
        const spans = times(filters) !== times(before.filters); /* a preview within the last one ends */
        this.app.state = { ...before, filters, preview: spans ? null : before.preview, zoom: null };
        if (await this.app.show(true)) {
            if (spans)
                this.app.tracks.span = this.app.state.preview; /* another one may be selected meanwhile */
            return true;
        }
        this.app.state = before;
        return false;
    }

    /* Like setFilters, but can be undone. */
    private changeFilters(change: (before: Filter[]) => Filter[]): Promise<boolean> {
        return this.app.inTurn(async () => {
            const before = this.app.state.filters;
            if (!(await this.setFilters(change(before))))
                return false;
            this.remember(before);
            this.app.changed();
            return true;
        });
    }

    /* Another event in a span or at a moment. */
    async showTime(filter: Filter, event: number): Promise<void> {
        await this.app.inTurn(async () => {
            const before = this.app.state;
            this.app.state = { ...before, filters: withTime(before.filters, filter), event, count: false, wall: false, preview: null, zoom: null };
            if (await this.app.show(true)) {
                this.app.tracks.span = this.app.state.preview;
                this.remember(before.filters);
            } else {
                this.app.state = before;
            }
            this.app.changed();
        });
    }

    /* Merged threads have no IDs, so filters by ID come first. */
    add(filter: Filter): Promise<boolean> {
        return this.changeFilters((before) => {
            if (filter.verb === "time")
                return withTime(before, filter);
            const merged = before.findIndex((f) => f.verb === "threads");
            const at = merged >= 0 && OF_THREADS.includes(filter.verb) ? merged : before.length;
            return [...before.slice(0, at), filter, ...before.slice(at)];
        });
    }

    /* Merges threads by name, by process, or not at all; the same choice again merges
     * all. */
    async mergeThreads(by: "name" | "process" | "thread" | "both" | "all"): Promise<void> {
        await this.changeFilters((before) => {
            const others = before.filter((f) => f.verb !== "threads");
            return by === "all" || by === this.threadsBy ? others : [...others, { verb: "threads", text: by }];
        });
    }

    get threadsBy(): string {
        const merged = this.app.state.filters.find((f) => f.verb === "threads");
        return merged ? merged.text || "name" : "all";
    }

    /* Files or modules instead of functions; "function" ends it. */
    async groupBy(by: "function" | "file" | "module"): Promise<void> {
        await this.changeFilters((before) => {
            const others = before.filter((f) => f.verb !== "by" || !GROUPS.includes(f.text));
            return by === "function" ? others : [...others, { verb: "by", text: by }];
        });
    }

    get groupedBy(): string {
        return this.app.state.filters.findLast((f) => f.verb === "by")?.text ?? "function";
    }

    /* Only that process, thread or CPU instead of the one selected before; null: all. */
    async selectThreads(filter: Filter | null): Promise<void> {
        await this.changeFilters((before) => {
            const others = before.filter((f) => !(OF_SELECTION.includes(f.verb)));
            const merged = others.findIndex((f) => f.verb === "threads");
            const at = merged >= 0 ? merged : others.length;
            return filter ? [...others.slice(0, at), filter, ...others.slice(at)] : others;
        });
    }

    /* Of the spans, only those up to the filter at that position remain; -1: none. */
    async endSpans(at: number): Promise<void> {
        await this.changeFilters((before) => before.filter((f, i) => !OF_TIME.includes(f.verb) || i <= at));
    }

    async remove(at: number): Promise<void> {
        await this.changeFilters((before) => before.filter((_, i) => i !== at));
    }

    get canUndo(): boolean {
        return this.past.length > 0;
    }

    get canRedo(): boolean {
        return this.future.length > 0;
    }

    /* Moves the last filters of one list to the shown ones, and the shown ones to the
     * other list. */
    private step(from: "past" | "future", to: "past" | "future"): Promise<void> {
        return this.app.inTurn(async () => {
            const filters = this[from].pop();
            const now = this.app.state.filters;
            if (filters && (await this.setFilters(filters)))
                this[to].push(now);
            this.app.changed();
        });
    }

    undo(): Promise<void> {
        return this.step("past", "future");
    }

    redo(): Promise<void> {
        return this.step("future", "past");
    }
}
