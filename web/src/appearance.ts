/* SPDX-License-Identifier: Apache-2.0 */
/* Theme, palette and sizes: chosen by the user, stored by the browser. */
import type { Palette } from "./colors";
import { DENSITIES, type Density, useDensity } from "./density";

export type Theme = "system" | "light" | "dark";

function stored(key: string): string | null {
    try {
        return localStorage.getItem(`stoke.${key}`);
    } catch {
        return null; /* pages opened from a file may have no storage */
    }
}

function store(key: string, value: string): void {
    try {
        localStorage.setItem(`stoke.${key}`, value);
    } catch {
        /* valid until the page is closed */
    }
}

export class Appearance {
    private theme: Theme;
    palette: Palette;
    density: Density;
    tracks: number | null; /* pixels at most; null: the default */
    side: boolean; /* the side panel is shown */
    private readonly prefersDark = matchMedia("(prefers-color-scheme: dark)");

    constructor(private readonly changed: () => void) {
        const theme = stored("theme");
        const palette = stored("palette");
        this.theme = theme === "light" || theme === "dark" ? theme : "system";
        this.palette = palette === "warm" || palette === "safe" ? palette : "calm";
        const density = DENSITIES.find((one) => one === stored("density"));
        this.density = density ?? (matchMedia("(pointer: coarse)").matches ? "large" : "normal");
        useDensity(this.density);
        const tracks = Number(stored("tracks"));
        this.tracks = tracks >= 1 && tracks < 1e4 ? tracks : null;
        this.side = stored("side") !== "hidden";
        this.prefersDark.addEventListener("change", () => this.changed());
    }

    get dark(): boolean {
        return this.theme === "system" ? this.prefersDark.matches : this.theme === "dark";
    }

    setTheme(theme: Theme): void {
        this.theme = theme;
        store("theme", theme);
        this.changed();
    }

    setDensity(density: Density): void {
        this.density = density;
        store("density", density);
        useDensity(density);
        this.changed();
    }

    setTracks(height: number | null): void {
        this.tracks = height;
        store("tracks", height === null ? "" : String(height));
        this.changed();
    }

    setSide(shown: boolean): void {
        this.side = shown;
        store("side", shown ? "" : "hidden");
        this.changed();
    }

    setPalette(palette: Palette): void {
        this.palette = palette;
        store("palette", palette);
        this.changed();
    }
}
