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

/* Which moments of both correspond: those with the same time from the start, or to the end; the same
 * part of both recordings; or, a number, those of before that are so many ns later. */
export type Align = "start" | "end" | "length" | number;

/* Of a side: its time is (time of the axis - offset) * scale. */
interface Position {
    offset: number;
    scale: number;
}

export interface Alignment {
    positions: [after: Position, before: Position];
    to: number; /* of the axis */
}

export function alignmentOf(sides: Sides, align: Align): Alignment {
    const after = sides[AFTER]?.info.to ?? 0, before = sides[BEFORE]?.info.to ?? 0;
    const longest = Math.max(after, before);
    const moved = (ofAfter: number, ofBefore: number): Alignment => ({
        positions: [{ offset: ofAfter, scale: 1 }, { offset: ofBefore, scale: 1 }], to: Math.max(ofAfter + after, ofBefore + before),
    });
    if (!(after > 0) || !(before > 0) || align === "start")
        return moved(0, 0);
    if (align === "end")
        return moved(longest - after, longest - before);
    if (align === "length")
        return { positions: [{ offset: 0, scale: 1 }, { offset: 0, scale: before / after }], to: after };
    return moved(Math.max(0, align), Math.max(0, -align));
}

export function positioned({ offset, scale }: Position, from: number, to: number): [number, number] {
    return [(from - offset) * scale, (to - offset) * scale];
}

/* Tracks that have only the two sides. */
export function tracksOfSides(to: number): TracksInfo | null {
    return to > 0 ? { to, processes: [], threads: [], cpus: [], marks: [], memory: null } : null;
}
