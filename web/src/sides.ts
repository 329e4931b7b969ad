/* SPDX-License-Identifier: Apache-2.0 */
/* The two tracks of a comparison, before and after: each profile's CPU time by process or,
 * of heap profiles, its memory. They have one axis and one scale. */
import { MACHINE_LAYERS, MEMORY_LAYERS, type TracksInfo } from "./protocol";

export const BEFORE = 1, AFTER = 0; /* as the slots of the core */

export interface Side {
    kind: "machine" | "memory";
    info: TracksInfo;
    layers: (string | null)[]; /* names; null: the others */
}

export type Sides = [after: Side | null, before: Side | null];

export function sideOf(info: TracksInfo | null): Side | null {
    if (!info)
        return null;
    const { memory, processes } = info;
    if (!processes.length && memory)
        return { kind: "memory", info, layers: padded(memory.layers.map((layer) => layer.name), MEMORY_LAYERS) };
    return { kind: "machine", info, layers: padded(processes.slice(0, MACHINE_LAYERS - 1).map((process) => process.name), MACHINE_LAYERS) };
}

function padded(names: string[], length: number): (string | null)[] {
    return Array.from({ length }, (_, i) => names[i] ?? null);
}

/* The category of a layer's colour: the same name has the same one before and after. -1: others. */
export function categoryOf(sides: Sides, side: number, layer: number): number {
    const name = sides[side]?.layers[layer] ?? null;
    const main = sides[AFTER] ?? sides[BEFORE];
    return name === null ? -1 : main?.layers.indexOf(name) ?? -1;
}

/* Tracks that have only the two sides. */
export function tracksOfSides(sides: Sides): TracksInfo | null {
    const to = Math.max(...sides.map((side) => side?.info.to ?? 0));
    return to > 0 ? { to, processes: [], threads: [], cpus: [], marks: [], memory: null } : null;
}
