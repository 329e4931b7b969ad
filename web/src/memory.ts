/* SPDX-License-Identifier: Apache-2.0 */
/* The track of memory: how it is stacked, and the moment and the span that are selected in it. */
import type { App } from "./app";
import { moduleName, shownName } from "./format";
import { MEMORY_WAYS, type MemoryInfo, type MemorySpan, type MemoryWay } from "./protocol";

export class Memory {
    figures: MemorySpan | null = null; /* of the selected span */
    private measured = ""; /* the span that they are for, or that was asked for */

    constructor(private readonly app: App) {}

    get info(): MemoryInfo | null {
        return this.app.tracks.info?.memory ?? null;
    }

    /* The number of the event of that name; 0: there is none. */
    eventNamed(name: string): number {
        return (this.app.profile?.events.findIndex((event) => event.name === name) ?? -1) + 1;
    }

    /* The number of the shown event in the opened profile: a filtered one may have fewer. */
    get shownEvent(): number {
        return this.eventNamed(this.app.shown?.event_name ?? "") || (this.app.shown?.event ?? 1);
    }

    /* The shown event, if a list of the functions that allocated is beside its chart. */
    get listed(): "leaked" | "temporary" | null {
        const name = this.app.shown?.event_name;
        return this.info && !this.app.comparedWith && (name === "leaked" || name === "temporary") ? name : null;
    }

    layerName(layer: number): string {
        const found = this.info?.layers[layer];
        if (!found)
            return "others";
        const name = (this.info?.by === "module" ? moduleName(found.name) : shownName(found.name)) || (this.info?.by === "thread" ? "no thread" : "no name");
        return found.nameless ? `[${name}]` : found.tid === undefined ? name : `${name} ${found.tid}`;
    }

    async stackBy(way: MemoryWay): Promise<void> {
        const { tracks } = this.app;
        try {
            const info = await this.app.core.memory(MEMORY_WAYS.indexOf(way));
            if (tracks.info)
                tracks.info.memory = info;
            tracks.loads++;
            tracks.arrange();
        } catch (error) {
            this.app.fail(error);
        }
    }

    /* --- The moment ------------------------------------------------------------------------- */

    /* The time, in ns, whose heap is shown; null: none. */
    get moment(): number | null {
        const last = this.app.state.filters.findLast((f) => f.verb === "moment");
        return Number.isFinite(last?.to) ? (last?.to as number) - 1 : null;
    }

    isPeak(at: number): boolean {
        return this.info !== null && Math.abs(at - this.info.peakAt) < 1;
    }

    /* The views show what was live at that time: all changes up to it. */
    async showMoment(at: number): Promise<void> {
        if (this.info)
            await this.app.filters.showTime({ verb: "moment", text: "", to: Math.floor(at) + 1 }, this.info.event);
    }

    /* Of a pixel's time, the moment with most bytes: it is what is drawn there. */
    async showWithin(from: number, to: number): Promise<void> {
        try {
            const at = await this.app.core.memoryMost(from, to);
            await this.showMoment(at < 0 ? from : at);
        } catch (error) {
            this.app.fail(error);
        }
    }

    /* --- The span --------------------------------------------------------------------------- */

    /* Asks for the figures of the selected span; one request at a time. */
    async measure(): Promise<void> {
        const { span } = this.app.tracks;
        const text = span && this.info ? span.join() : "";
        if (text === this.measured)
            return;
        this.measured = text;
        const figures = span && this.info ? await this.app.core.memorySpan(span[0], span[1]).catch(() => null) : null;
        if (text === this.measured) {
            this.figures = figures;
            this.app.changed();
        }
    }

    /* Of another profile. */
    measureAgain(): Promise<void> {
        this.measured = "";
        this.figures = null;
        return this.measure();
    }

    /* Commits the span, and shows an event in it. */
    async showSpan(event: number): Promise<void> {
        const { tracks } = this.app;
        const { span } = tracks;
        if (span && event)
            await this.app.filters.showTime({ verb: "time", text: "", from: span[0], to: span[1] }, event);
        tracks.span = this.app.state.preview;
    }
}
