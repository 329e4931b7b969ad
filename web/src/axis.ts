/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of an axis of time. */
import { axisText, clockUnits } from "./format";

export interface Tick {
    at: number; /* ns */
    text: string;
}

export const STEP_LEAST = 70; /* minimum pixels between two labels */

/* Steps of 1, 2 or 5 times a power of ten. The decimals follow from the step, so that no
 * two labels are the same. */
export function ticks(from: number, to: number, width: number): Tick[] {
    const rough = ((to - from) / Math.max(1, width)) * STEP_LEAST;
    if (!(rough > 0))
        return [];
    const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
    const step = Math.max(1e-3, power * ([1, 2, 5, 10].find((n) => n * power >= rough * (1 - 1e-9)) ?? 10));
    const text = axisText(step, Math.abs(to), "clock");
    const out: Tick[] = [];
    const first = Math.ceil(from / step - 1e-9);
    for (let i = first; i * step <= to && out.length < 1000; i++)
        out.push({ at: i * step, text: text(i * step) });
    return out;
}

/* A span with the decimals that its length needs: "4.10\u20139.86 s". */
export function spanText(from: number, to: number): string {
    const units = clockUnits();
    const [size, unit] = units.find(([least]) => to >= least) ?? (units[units.length - 1] as [number, string]);
    const decimals = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.max((to - from) / size, 1e-9)) + 1e-9)));
    const text = (ns: number): string => (ns / size).toFixed(Math.min(decimals, 9));
    return `${text(from)}\u2013${text(to)} ${unit}`.trim();
}
