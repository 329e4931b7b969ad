/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of tones: the core gives one of 256 tones, theme and palette give the
 * colour. */
import { Tone } from "./protocol";

export type Palette = "calm" | "warm" | "safe";
export const PALETTES: [Palette, string][] = [["calm", "Calm"], ["warm", "Warm"], ["safe", "Colour-blind safe"]];
export const KINDS = ["user", "kernel", "guest", "jit", "inlined", "idle", "marker", "waker"];

/* 0xAABBGGRR: in memory the bytes r, g, b, a. */
export type Packed = number;

function channel(linear: number): number {
    const c = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
    return Math.round(Math.min(1, Math.max(0, c)) * 255);
}

/* Equal steps of lightness look equal, unlike in HSL. */
export function oklch(light: number, chroma: number, hue: number): Packed {
    const a = chroma * Math.cos((hue * Math.PI) / 180);
    const b = chroma * Math.sin((hue * Math.PI) / 180);
    const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const red = channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
    const green = channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
    const blue = channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function mix(a: Packed, b: Packed, part: number): Packed {
    let out = 0;
    for (const shift of [0, 8, 16, 24]) {
        const x = (a >>> shift) & 255;
        const y = (b >>> shift) & 255;
        out |= Math.round(x + (y - x) * part) << shift;
    }
    return out >>> 0;
}

/* Of "#rrggbb". */
export function packed(color: string): Packed {
    const value = Number.parseInt(color.slice(1), 16);
    return ((255 << 24) | ((value & 255) << 16) | (value & 0xff00) | ((value >> 16) & 255)) >>> 0;
}

export function css(color: Packed): string {
    return `rgb(${color & 255} ${(color >>> 8) & 255} ${(color >>> 16) & 255})`;
}

/* As many as the core has; see style.css for the same colours. */
const HUES = [255, 345, 115, 205, 25, 235, 55, 180, 85, 285, 150, 315];
const JIT = 9; /* the category of JIT code */
const KERNEL = 12;
const VARIANT_SHIFT = 4;
const VARIANT_STEP = 0.016; /* lightness */

/* A category, and its variant: 0 to 2. */
export function categoryColor(category: number, variant: number, dark: boolean): Packed {
    const step = (variant - 1) * VARIANT_STEP;
    if (category === KERNEL)
        return dark ? oklch(0.446 + step, 0.012, 62) : oklch(0.878 + step, 0.0155, 57);
    return oklch((dark ? 0.475 : 0.87) + step, dark ? 0.07 : 0.062, HUES[category % 12] as number);
}

function byName(tone: number, palette: Palette, dark: boolean): Packed {
    const category = tone & 15;
    const variant = tone >> VARIANT_SHIFT;
    const part = category / 12;
    const wave = variant / 3;
    if (palette === "calm" || category === KERNEL)
        return categoryColor(category, variant, dark);
    if (palette === "warm")
        return oklch((dark ? 0.5 : 0.8) + 0.06 * wave, 0.105, 25 + part * 75);
    return part < 0.5 ? oklch((dark ? 0.42 : 0.72) + 0.16 * part + 0.02 * wave, 0.08, 250) /* blue to yellow, distinguishable also by lightness */
                      : oklch((dark ? 0.5 : 0.82) + 0.14 * (part - 0.5) + 0.02 * wave, 0.1, 90);
}

/* By enum frame_kind: user, kernel, guest, JIT, inlined, idle, marker, waker. */
const KIND_CATEGORIES = [0, KERNEL, 1, JIT, 5, -1, -1, 6];

function byKind(kind: number, dark: boolean): Packed {
    const category = KIND_CATEGORIES[kind] ?? 0;
    return category < 0 ? oklch(dark ? 0.36 : 0.91, 0.004, 260) : categoryColor(category, 1, dark);
}

function bySelf(tone: number, dark: boolean): Packed {
    const part = Math.sqrt(tone / 255);
    return dark ? oklch(0.36 + 0.24 * part, 0.02 + 0.12 * part, 55) : oklch(0.93 - 0.18 * part, 0.02 + 0.12 * part, 60);
}

/* Of 0xrrggbb. */
function ofHex(color: number): Packed {
    return ((255 << 24) | ((color & 255) << 16) | (color & 0xff00) | (color >> 16)) >>> 0;
}

/* Less is blue, more is orange, for every kind of colour vision. The steps are changes of
 * 1, 3, 7 and 10% of the whole; grey is within noise. */
const STEPS = [0.1, 0.3, 0.7, 1];
export const NOISE_TONE = 128;
const CHANGES = {
    light: { less: [0xd2e3f7, 0xb5d5fa, 0x8bc1fe, 0x5eacff], more: [0xf4dbcf, 0xf5c7b0, 0xf4a882, 0xf08950], noise: 0xe2e5e9 },
    dark: { less: [0x354353, 0x324e6c, 0x2a5d93, 0x176cba], more: [0x503c32, 0x67412d, 0x884620, 0xaa4900], noise: 0x3a4048 },
};

function byChange(tone: number, dark: boolean): Packed {
    const colors = CHANGES[dark ? "dark" : "light"];
    const size = Math.abs(tone - 128) / 127;
    const side = tone < 128 ? colors.less : colors.more;
    const at = Math.max(1, STEPS.findIndex((step) => size <= step));
    const [from, to] = [STEPS[at - 1] as number, STEPS[at] as number];
    if (tone === NOISE_TONE)
        return ofHex(colors.noise);
    return mix(ofHex(side[at - 1] as number), ofHex(side[at] as number), Math.max(0, (size - from) / (to - from)));
}

const NOISE_STEPS = [0, 0.05, 0.1];

/* What is within noise has no hue: functions that are called one after the other differ in
 * lightness. */
export function noiseColors(dark: boolean): Packed[] {
    const text = packed(makeInk(dark).text);
    return NOISE_STEPS.map((step) => mix(byChange(NOISE_TONE, dark), text, step));
}

/* Caches the last result for each key, because every frame needs it. */
function cached<T>(make: (key: string) => T): (key: string) => T {
    let last: { key: string; made: T } | null = null;
    return (key) => {
        if (last?.key !== key)
            last = { key, made: make(key) };
        return last.made;
    };
}

const cachedTable = cached((key) => {
    const [by, palette, theme] = key.split(" ") as [string, Palette, string];
    const tone = Number(by) as Tone;
    const dark = theme === "dark";
    return Uint32Array.from({ length: 256 }, (_, i) => tone === Tone.Kind ? byKind(i, dark)
        : tone === Tone.Self ? bySelf(i, dark)
        : tone === Tone.Change ? byChange(i, dark)
        : byName(i, palette, dark));
});

/* By tone. */
export function colorTable(by: Tone, palette: Palette, dark: boolean): Uint32Array {
    return cachedTable(`${by} ${palette} ${dark ? "dark" : "light"}`);
}

export interface Ink {
    page: Packed; /* behind the boxes */
    text: string;
    faint: string;
    line: string;
    accent: Packed; /* of matches */
    same: string;
    selected: string;
    idle: Packed;
    unknown: Packed;
    dots: string; /* on unknown functions */
    waits: string; /* the part of a box that waits */
    loss: string;
}

function makeInk(dark: boolean): Ink {
    return dark
        ? { page: packed("#14171b"), text: "#f2f4f7", faint: "#949eab", line: "#2b3139", accent: packed("#86b1ff"),
            same: "#86b1ff", selected: "#e7eaee", idle: packed("#262c34"), unknown: packed("#3a4048"), dots: "#59616c",
            waits: "rgb(165 195 255 / 55%)", loss: "#ff8f85" }
        : { page: packed("#ffffff"), text: "#1b1f24", faint: "#626b77", line: "#e3e6ea", accent: packed("#1f5fd0"),
            same: "#1f5fd0", selected: "#1b1f24", idle: packed("#eff1f4"), unknown: packed("#e2e5e9"), dots: "#b4bac3",
            waits: "rgb(52 88 150 / 55%)", loss: "#b3261e" };
}

const cachedInk = cached((theme) => makeInk(theme === "dark"));

export function ink(dark: boolean): Ink {
    return cachedInk(dark ? "dark" : "light");
}
