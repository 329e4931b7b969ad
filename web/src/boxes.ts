/* SPDX-License-Identifier: Apache-2.0 */
/* The colours of boxes. */
import type { App } from "./app";
import { colorTable, ink, mix, NOISE_TONE, noiseColors, type Packed, packed } from "./colors";
import { type Boxes, roomFor } from "./painter";
import { BOX_WORDS, Chart, CUT, type Drawing, MATCH, OFF, Owner, Tone, UNKNOWN } from "./protocol";
import { tokens } from "./tokens";

const IDLE = 5; /* enum frame_kind: FRAME_IDLE */
const NARROW = 3; /* pixels: too narrow for a pattern or an underline */

/* A wait: its ground, below the hatching; without room for that, a colour between both. */
export function waitColor(reason: number, narrow: boolean): Packed {
    const [stroke, ground] = tokens().waits[reason] ?? (tokens().waits[4] as [string, string]);
    return narrow ? mix(packed(ground), packed(stroke), 0.5) : packed(ground);
}

/* The category of a name, the same in each update of the live page and for each client. */
export function nameCategory(name: string): number {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++)
        hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
    return hash % 12;
}

/* The live page has no tracks of processes: the name, service or container decides, as in its table. */
function categoryOf(app: App, track: number, name: string | undefined): number {
    if (app.live && name !== undefined)
        return nameCategory(app.live?.rowOf(name.replace(/( \((process|thread)\))+$/, "").replace(/ \u00d7?\d+$/, "")) ?? "");
    return app.tracks.info ? app.tracks.category(track) : track % 12;
}

/* As in the tracks: a process has the colour of its strips, a thread a paler one. */
export function ownerColor(app: App, kind: Owner, track: number, label: number, name = app.core.labels.get(label)): Packed {
    const category = categoryOf(app, track, name);
    const colors = tokens();
    return packed((category < 0 ? colors.other : kind === Owner.Process ? colors.strips[category] : colors.boxes[category]) as string);
}

const ON_STRIP = "#14171b"; /* text on the colours of processes, in both themes */

/* The text on a process: those that share one colour have a darker one in the dark theme. */
export function processText(app: App, track: number, label: number, text: string): string {
    return categoryOf(app, track, app.core.labels.get(label)) < 0 ? text : ON_STRIP;
}

/* Converts the core's boxes to the painter's, with colours: into `boxes` if they are large
 * enough. */
export function coloredBoxes(app: App, kind: Chart, drawing: Drawing, boxes: Boxes): Boxes {
    const words = new Uint32Array(drawing.boxes);
    const sizes = new Float32Array(drawing.boxes);
    const { appearance, state, found } = app;
    const { dark, palette } = appearance;
    const colors = ink(dark);
    const table = colorTable(state.color, palette, dark);
    const plain = found ? table.map((color) => mix(color, colors.page, 0.62)) : table;
    const faded = (color: number): number => (found ? mix(color, colors.page, 0.62) : color);
    const idle = faded(colors.idle);
    const off = tokens().waits.map((_, reason) => faded(waitColor(reason, false)));
    const narrowOff = tokens().waits.map((_, reason) => faded(waitColor(reason, true)));
    const unknown = faded(colors.unknown);
    const mixes = kind === Chart.Time; /* by time, a box that mostly waits looks like a wait */
    const named = state.color !== Tone.Self && state.color !== Tone.Change;
    const noise = state.color === Tone.Change ? noiseColors(dark).map(faded) : [];
    const into = boxes.x.length < drawing.count ? roomFor(drawing.count * 2) : boxes;
    for (let i = 0, at = 0; i < drawing.count; i++, at += BOX_WORDS) {
        const look = words[at + 5] as number;
        const frame = (look >>> 8) & 255;
        const flags = look >>> 16;
        const owner = frame === Owner.Process || frame === Owner.Thread;
        let color = owner && state.color !== Tone.Change ? faded(ownerColor(app, frame, look & 255, words[at + 4] as number))
            : flags & OFF ? ((sizes[at + 1] as number) < NARROW ? narrowOff : off)[(look & 255) % 5] as number
            : flags & (UNKNOWN | CUT) && named ? unknown
            : frame === IDLE ? idle : (plain[look & 255] as number);
        if (noise.length && !(flags & OFF) && frame !== IDLE && (look & 255) === NOISE_TONE)
            color = noise[(words[at + 4] as number) % noise.length] as number;
        if (mixes && look >>> 24)
            color = mix(color, off[4] as number, (look >>> 24) / 510);
        if (flags & MATCH)
            color = (sizes[at + 1] as number) < NARROW ? colors.accent : (table[look & 255] as number);
        into.x[i] = sizes[at] as number;
        into.width[i] = sizes[at + 1] as number;
        into.row[i] = words[at + 2] as number;
        into.color[i] = color;
    }
    into.count = drawing.count;
    return into;
}
