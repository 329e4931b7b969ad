/* SPDX-License-Identifier: Apache-2.0 */
/* The visible part of a chart: its range on the axis, its rows, and the pixels of both. */

import { heights } from "./density";

export const RULER = 22;
export const DRAG_LEAST = 4; /* pixels; less is a click */

export class Viewport {
    from = 0;
    to = 1;
    scroll = 0; /* pixels */
    width = 0;
    height = 0;
    full = 1; /* the axis is from 0 to this value */
    rows = 0;
    flame = false; /* row 0 is at the bottom */
    ruler = 0; /* height of the ruler */

    protected get most(): number {
        return Math.max(0, this.rows * heights.box - (this.height - this.ruler));
    }

    /* y of the top of a row. */
    yOf(row: number, scroll = this.scroll): number {
        return this.flame ? this.height - (row + 1) * heights.box + scroll : this.ruler + row * heights.box - scroll;
    }

    rowAt(y: number): number {
        return Math.floor(this.flame ? (this.height + this.scroll - y) / heights.box : (y - this.ruler + this.scroll) / heights.box);
    }

    xOf(value: number): number {
        return ((value - this.from) / (this.to - this.from)) * this.width;
    }

    valueAt(x: number): number {
        return this.from + (x / this.width) * (this.to - this.from);
    }

    /* Shows this range, limited to the axis. */
    setRange(from: number, to: number): void {
        const least = this.full * 1e-12;
        let span = Math.min(Math.max(to - from, least), this.full);
        if (!(span > 0))
            span = 1;
        this.from = Math.min(Math.max(0, from), this.full - span);
        this.to = this.from + span;
    }
}
