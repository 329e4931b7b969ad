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

/* A pseudo-random number below 1, so that adjacent tones differ. */
function scattered(tone: number): number {
    return (tone * 0.61803398875) % 1;
}

function byName(tone: number, palette: Palette, dark: boolean): Packed {
    const part = scattered(tone);
    const wave = (tone % 7) / 7;
    if (palette === "warm")
        return oklch((dark ? 0.5 : 0.8) + 0.06 * wave, 0.105, 25 + part * 75);
    if (palette === "safe") /* blue to yellow, distinguishable also by lightness */
        return part < 0.5 ? oklch((dark ? 0.42 : 0.72) + 0.16 * part, 0.08, 250)
                          : oklch((dark ? 0.5 : 0.82) + 0.14 * (part - 0.5), 0.1, 90);
    return oklch((dark ? 0.46 : 0.83) + 0.05 * wave, dark ? 0.075 : 0.068, part * 360);
}

const KIND_HUES = [250, 30, 320, 145, 200, 0, 0, 60];

function byKind(kind: number, dark: boolean): Packed {
    if (kind === 5 || kind === 6)
        return oklch(dark ? 0.36 : 0.88, 0, 0);
    return oklch(dark ? 0.5 : 0.82, 0.085, KIND_HUES[kind] ?? 250);
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
    if (tone === 128)
        return ofHex(colors.noise);
    return mix(ofHex(side[at - 1] as number), ofHex(side[at] as number), Math.max(0, (size - from) / (to - from)));
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
    match: Packed;
    same: string;
    selected: string;
    idle: Packed;
    unknown: Packed;
    off: Packed; /* off CPU */
    waits: string; /* the part of a box that waits */
    hatch: string; /* over waits and truncated stacks */
    loss: string;
}

function makeInk(dark: boolean): Ink {
    return dark
        ? { page: oklch(0.21, 0.008, 260), text: "#eef0f4", faint: "#98a0ad", line: "#333944", match: oklch(0.58, 0.17, 330),
            same: "#8fb4ff", selected: "#ffffff", idle: oklch(0.34, 0.004, 260),
            unknown: oklch(0.4, 0.004, 260), off: oklch(0.33, 0.035, 250), waits: "rgb(165 195 255 / 55%)", hatch: "rgb(255 255 255 / 16%)", loss: "#ff9d97" }
        : { page: oklch(0.995, 0, 0), text: "#1b2028", faint: "#667080", line: "#e3e6eb", match: oklch(0.76, 0.15, 330),
            same: "#2f62c9", selected: "#10141a", idle: oklch(0.9, 0.003, 260),
            unknown: oklch(0.86, 0.003, 260), off: oklch(0.9, 0.03, 250), waits: "rgb(52 88 150 / 55%)", hatch: "rgb(20 28 45 / 13%)", loss: "#b3261e" };
}

const cachedInk = cached((theme) => makeInk(theme === "dark"));

export function ink(dark: boolean): Ink {
    return cachedInk(dark ? "dark" : "light");
}
