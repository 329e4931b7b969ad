/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files: one after the other, and the part of a file that can be shown before its
 * end is read. */
import type { App } from "./app";
import { baseName } from "./format";
import { type Beside, besideIn, NOTHING, PACKED, type Report, reportIn } from "./report";
import { START, type ViewState } from "./state";

const PREPARE_AFTER = 100; /* ms: the first picture comes before */

/* A file that was opened, or that failed to open. */
export interface Opened {
    file: Blob;
    name: string;
    compare: boolean;
    format: string; /* empty: detected */
}

export class Opening {
    private after: Opened | null = null; /* the shown files */
    private before: Opened | null = null;
    beside: Beside = NOTHING; /* of the profile after */
    private last: Promise<unknown> = Promise.resolve();
    prepared: Promise<void> = Promise.resolve(); /* what the views will need of the last file */

    constructor(private readonly app: App) {}

    /* Opens a file, titled by its path. */
    open(file: Blob, path: string, compare = false): Promise<boolean> {
        return this.openTitled(file, baseName(path), compare);
    }

    /* Opens a file with a title, which is shown unchanged. Cancels a file that is
     * being read, unless the two are to be compared. */
    openTitled(file: Blob, title: string, compare = false, state?: ViewState, format = this.app.shown ? "" : this.app.format): Promise<boolean> {
        if (this.app.loading && !compare)
            void this.app.core.cancel(false);
        const opened = this.last.then(() => this.openNow(file, title, compare, format, state));
        this.last = opened.catch(() => undefined);
        return opened;
    }

    /* A saved page; of a comparison both profiles, unless it is compared itself. */
    private async openReport(report: Report, compare: boolean, state?: ViewState): Promise<boolean> {
        const opened = await this.openNow(report.file, report.name, compare, "", state ?? report.state, report.beside);
        if (!opened || compare || !report.before)
            return opened;
        return this.openNow(report.before.file, report.before.name, true, "", state ?? report.state);
    }

    /* Reading does not wait for its turn: an earlier profile, or the part read so far,
     * can be explored meanwhile. */
    private async openNow(file: Blob, name: string, compare: boolean, format: string, state?: ViewState, beside = file.type === PACKED ? besideIn(document) : NOTHING): Promise<boolean> {
        const report = format ? null : await reportIn(file);
        if (report)
            return this.openReport(report, compare, state);
        this.app.latest = { file, name, compare, format };
        const slot = compare && this.app.profile ? 1 : 0;
        let begun = false; /* a part of it is shown */
        await this.app.lastTurn;
        this.app.loading = { name, done: 0, of: file.size };
        this.app.fault = null;
        this.app.changed();
        try {
            const read = await this.app.core.open(file, name, format, ({ done, of, fresh }) => {
                this.app.loading = { name, done, of };
                this.app.changed();
                if (fresh && slot === 0)
                    void this.app.inTurn(async () => {
                        const info = await this.app.core.partial().catch(() => null);
                        if (!info)
                            return; /* it was read completely in the meantime */
                        this.app.part = { read: done / of, going: true };
                        await this.app.become(info, name, slot, begun, state);
                        begun = true;
                    });
            });
            return await this.app.inTurn(async () => {
                const info = await this.app.core.finish(slot);
                this[slot ? "before" : "after"] = { file, name, compare, format };
                this.app.loading = null;
                if (slot === 0) {
                    this.beside = beside;
                    this.app.part = read.stopped ? { read: read.done / read.of, going: false } : null;
                }
                const shown = await this.app.become(info, name, slot, begun, state);
                this.prepared = this.prepare().catch(() => undefined);
                return shown;
            });
        } catch (error) {
            this.app.loading = null;
            if (this.app.part)
                this.app.part.going = false;
            this.app.fail(error, name);
            return false;
        }
    }

    /* In steps, so that a click waits for one of them at most. */
    private async prepare(): Promise<void> {
        for (let step = 0, more = true; more; step++) {
            await new Promise((passed) => setTimeout(passed, PREPARE_AFTER));
            more = await this.app.core.prepare(step);
        }
    }

    /* Opens the two compared files again: before becomes after. */
    async swap(): Promise<void> {
        const { after, before } = this;
        const { state } = this.app;
        if (!after || !before || !this.app.comparedWith)
            return;
        if (await this.openTitled(before.file, before.name, false, { ...START, view: state.view }, before.format))
            await this.openTitled(after.file, after.name, true, { ...state, zoom: null }, after.format);
    }

    /* Opens the last file again, with that format. */
    openAs(format: string): void {
        if (this.app.latest)
            void this.openTitled(this.app.latest.file, this.app.latest.name, this.app.latest.compare, undefined, format);
    }
}
