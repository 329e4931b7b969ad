/* SPDX-License-Identifier: Apache-2.0 */
/* The mouse and touches in a chart: they move and zoom it, select boxes and spans. */
import type { ChartView } from "./chart";
import { ink } from "./colors";
import { NONE } from "./protocol";
import type { Tip } from "./tip";
import { DRAG_LEAST } from "./viewport";

const LONG_PRESS = 500; /* ms */

/* The position where a button was pressed. */
interface Grip {
    x: number;
    y: number;
    from: number;
    to: number;
    scroll: number;
    moved: boolean;
    span: boolean; /* Shift selects a span */
}

export class Pointer {
    private grip: Grip | null = null;
    private pressing = 0; /* the timer of a long press */
    private readonly touches = new Map<number, PointerEvent>();

    constructor(private readonly chart: ChartView, private readonly tip: Tip) {
        this.listen(chart.over);
    }

    get dragging(): boolean {
        return this.grip !== null;
    }

    private listen(over: HTMLCanvasElement): void {
        const { signal } = this.chart.gone;
        over.addEventListener("wheel", (event) => this.onWheel(event), { signal, passive: false });
        over.addEventListener("pointerdown", (event) => this.onDown(event), { signal });
        over.addEventListener("pointermove", (event) => this.onMove(event), { signal });
        over.addEventListener("pointerup", (event) => this.onUp(event), { signal });
        over.addEventListener("pointercancel", () => this.forget(), { signal });
        over.addEventListener("pointerleave", () => this.tip.hide(), { signal });
        over.addEventListener("dblclick", (event) => void this.zoomTo(event), { signal });
        over.addEventListener("contextmenu", (event) => {
            event.preventDefault();
            void this.openMenu(event);
        }, { signal });
    }

    private onWheel(event: WheelEvent): void {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        if (event.ctrlKey || event.metaKey || event.altKey) {
            this.chart.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.008), event.offsetX);
            return;
        }
        const sideways = event.shiftKey && !event.deltaX;
        this.chart.pan((sideways ? event.deltaY : event.deltaX) * unit, (sideways ? 0 : event.deltaY) * unit);
    }

    private onDown(event: PointerEvent): void {
        this.chart.over.setPointerCapture(event.pointerId);
        this.touches.set(event.pointerId, event);
        this.tip.hide();
        this.chart.stopGlide();
        clearTimeout(this.pressing); /* of the first finger */
        if (event.pointerType === "touch")
            this.pressing = window.setTimeout(() => {
                if (this.touches.size > 1)
                    return;
                if (this.grip)
                    this.grip.moved = true; /* the release does not select */
                void this.openMenu(event);
            }, LONG_PRESS);
        if (event.button === 0)
            this.grip = {
                x: event.offsetX, y: event.offsetY, from: this.chart.from, to: this.chart.to, scroll: this.chart.scroll, moved: false,
                span: event.shiftKey && this.chart.info?.timed === true,
            };
    }

    /* Two fingers: the points below them stay below them. */
    private pinch(event: PointerEvent): boolean {
        const before = [...this.touches.values()];
        if (before.length !== 2 || !this.touches.has(event.pointerId))
            return false;
        const other = before.find((touch) => touch.pointerId !== event.pointerId) as PointerEvent;
        const mine = this.touches.get(event.pointerId) as PointerEvent;
        const was = Math.max(8, Math.abs(mine.offsetX - other.offsetX));
        const is = Math.max(8, Math.abs(event.offsetX - other.offsetX));
        this.chart.zoom(was / is, (event.offsetX + other.offsetX) / 2);
        this.touches.set(event.pointerId, event);
        this.grip = null;
        return true;
    }

    private onMove(event: PointerEvent): void {
        const grip = this.grip;
        if (this.pinch(event)) {
            clearTimeout(this.pressing);
            return;
        }
        if (!grip) {
            void this.tip.show(event);
            return;
        }
        const x = event.offsetX - grip.x;
        const y = event.offsetY - grip.y;
        if (!grip.moved && Math.hypot(x, y) < DRAG_LEAST)
            return;
        grip.moved = true;
        clearTimeout(this.pressing);
        if (grip.span) {
            const ends = [this.chart.valueAt(grip.x), this.chart.valueAt(event.offsetX)];
            this.chart.span = [Math.max(0, Math.min(...ends)), Math.min(this.chart.full, Math.max(...ends))];
            this.chart.paintOver(ink(this.chart.app.appearance.dark));
            return;
        }
        const shift = (-x / this.chart.width) * (grip.to - grip.from);
        this.chart.setWindow(grip.from + shift, grip.to + shift);
        this.chart.setScroll(grip.scroll + (this.chart.options.flame ? y : -y));
    }

    private forget(): void {
        clearTimeout(this.pressing);
        this.grip = null;
        this.touches.clear();
    }

    private onUp(event: PointerEvent): void {
        const grip = this.grip;
        this.forget();
        if (!grip)
            return;
        if (this.chart.span) {
            const [from, to] = this.chart.span;
            this.chart.span = null;
            void this.chart.app.filters.add({ verb: "time", text: "", from, to });
            return;
        }
        if (!grip.moved)
            this.chart.selectAt(event);
    }

    private async zoomTo(event: MouseEvent): Promise<void> {
        const box = await this.chart.boxAt(event);
        if (box === NONE) {
            this.chart.reset();
            return;
        }
        await this.chart.app.select(this.chart.options.kind, box);
        this.chart.enter();
    }

    private async openMenu(event: MouseEvent): Promise<void> {
        const box = await this.chart.boxAt(event);
        if (box === NONE)
            return;
        await this.chart.app.select(this.chart.options.kind, box);
        const { selected } = this.chart.app;
        if (selected)
            this.chart.app.menu = { x: event.clientX, y: event.clientY, function: selected.function, stack: selected.stack };
        this.chart.app.changed();
    }
}
