/* SPDX-License-Identifier: Apache-2.0 */
/* The tooltip of a chart: the box or the lost samples below the pointer. */
import type { ChartView } from "./chart";
import { intervalText, relativeText, verdictText } from "./difference";
import { element } from "./elements";
import { count, functionName, moduleName, share, shownName, signed, threadName, time, weight } from "./format";
import { type BoxInfo, NONE, Owner, Verdict } from "./protocol";

const NAME_MOST = 300; /* characters */

export class Tip {
    private readonly host = element("div", "tip", document.body);
    private hover = NONE; /* the box */

    constructor(private readonly chart: ChartView) {
        this.host.hidden = true;
        const { signal } = chart.gone;
        addEventListener("keydown", () => this.hide(), { signal });
        addEventListener("blur", () => this.hide(), { signal });
    }

    dispose(): void {
        this.host.remove();
    }

    /* The boxes have new numbers. */
    forget(): void {
        this.hover = NONE;
    }

    hide(): void {
        this.hover = NONE;
        this.chart.linked?.mark(NONE);
        this.host.hidden = true;
    }

    async show(event: PointerEvent): Promise<void> {
        if (event.pointerType === "touch")
            return;
        if (event.offsetY < this.chart.ruler && this.showLoss(event))
            return;
        const box = await this.chart.boxAt(event);
        if (box === NONE || this.chart.disposed || this.chart.dragging) {
            this.hide();
            return;
        }
        if (box !== this.hover) {
            this.hover = box;
            const info = await this.chart.app.core.box(this.chart.options.kind, box);
            if (this.hover !== box || !this.chart.app.shown)
                return;
            const [name, where] = [this.line("b", functionName(info.function.name).slice(0, NAME_MOST)), this.line("p", this.whereOf(info))];
            where.className = "faint";
            this.host.replaceChildren(name, ...(info.change ? [where, this.compared(info)] : [this.line("span", this.figureOf(info)), where, ...this.factsOf(info).map((fact) => this.line("p", fact))]));
            this.chart.linked?.mark(box);
            this.chart.over.dataset["hover"] = info.function.name;
        }
        this.move(event);
    }

    private line(kind: "b" | "span" | "p", text: string): HTMLElement {
        const made = document.createElement(kind);
        made.textContent = text;
        return made;
    }

    private figureOf(info: BoxInfo): string {
        const { unit, total } = this.chart.app.shown ?? { unit: "", total: 0 };
        const size = info.total ?? info.to - info.from;
        const figure = info.total === undefined && this.chart.info?.timed ? time(size) : weight(size, unit);
        return `${figure} (${share(size, (info.total === undefined ? this.chart.full : total) || 1)})`;
    }

    /* The process and the thread, by time also when; then the module. */
    private whereOf({ row, from, total, stack, labels, function: { label, module } }: BoxInfo): string {
        const { app, last, info } = this.chart;
        const owners = stack.filter((_, i) => labels[i] !== label && app.kind(labels[i] ?? 0) >= Owner.Process).reverse();
        const lane = last?.lanes.find((one) => row >= one.row && row < one.row + one.rows);
        const thread = lane && (lane.name || lane.tid !== undefined) ? threadName(lane, app.tracks.isAlike(lane)) : "";
        const when = total === undefined && info?.timed ? `at ${time(from)}` : "";
        return [...owners.map(shownName), [thread, when].filter(Boolean).join(" "), moduleName(module)].filter(Boolean).join(" \u00b7 ");
    }

    private factsOf({ self, total, waiting, off, from, to }: BoxInfo): string[] {
        const shown = this.chart.app.shown ?? { unit: "", total: 0 };
        const own = self !== undefined && total !== undefined ? `self ${weight(self, shown.unit)}${self > 0 ? ` (${share(self, shown.total || 1)})` : ""}` : "";
        const waits = waiting && !off ? `${share(waiting, total ?? to - from)} of it waiting` : "";
        return [own, waits].filter(Boolean);
    }

    /* Before, after and the difference, of a box or of a function by time. */
    private compared(info: BoxInfo): HTMLElement {
        const { unit, total, base_total } = this.chart.app.shown ?? { unit: "", total: 0, base_total: 0 };
        const table = document.createElement("table");
        const before = info.base_total ?? 0;
        const after = info.total ?? 0;
        const change = info.change ?? { before: 0, after: 0, low: 0, high: 0, verdict: Verdict.Noise };
        const rows = [
            ["Before", weight(before, unit), share(before, base_total) || "0 %"],
            ["After", weight(after, unit), share(after, total) || "0 %"],
            ["Change", signed(after - before, unit), relativeText(this.chart.app, change)],
            ["95 %", verdictText(change), intervalText(this.chart.app, change)],
        ];
        for (const cells of rows) {
            const row = table.insertRow();
            for (const text of cells)
                row.insertCell().textContent = text;
        }
        return table;
    }

    /* Shows the ruler's mark at the pointer, if any. */
    private showLoss(event: PointerEvent): boolean {
        const loss = this.chart.info?.losses.find(({ at }) => Math.abs(this.chart.xOf(at) - event.offsetX) < 7);
        if (loss) {
            this.hover = NONE;
            this.host.textContent = `${count(loss.count)} lost samples at ${time(loss.at)}`;
            this.move(event);
        }
        return loss !== undefined;
    }

    private move(event: PointerEvent): void {
        this.host.hidden = false;
        const left = Math.min(event.clientX + 14, innerWidth - this.host.offsetWidth - 8);
        const below = event.clientY + 18 + this.host.offsetHeight < innerHeight;
        this.host.style.transform =
            `translate(${Math.max(4, left)}px, ${below ? event.clientY + 18 : event.clientY - this.host.offsetHeight - 10}px)`;
    }
}
