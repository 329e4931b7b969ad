/* SPDX-License-Identifier: Apache-2.0 */
/* Heights of boxes, table rows and tracks: chosen by the user. */

export type Density = "compact" | "normal" | "large";

interface Heights {
    box: number; /* the distance of two rows of boxes */
    row: number; /* of tables */
    process: number;
    thread: number;
    text: number; /* pixels added to the sizes of letters */
}

const ALL: Record<Density, Heights> = {
    compact: { box: 17, row: 18, process: 20, thread: 16, text: 0 },
    normal: { box: 19, row: 20, process: 26, thread: 20, text: 0 },
    large: { box: 24, row: 26, process: 32, thread: 26, text: 1 },
};
export const DENSITIES = Object.keys(ALL) as Density[];

/* The chosen one. */
export const heights: Heights = { ...ALL.normal };

export function useDensity(density: Density): void {
    Object.assign(heights, ALL[density]);
    const { style } = document.documentElement;
    style.setProperty("--row", `${heights.row}px`);
    style.setProperty("--letters", `${12 + heights.text}px`);
}
