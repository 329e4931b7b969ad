/* SPDX-License-Identifier: Apache-2.0 */
/* Theme and palette: chosen by the user, stored by the browser. */
import type { Palette } from "./colors";

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
    private readonly prefersDark = matchMedia("(prefers-color-scheme: dark)");

    constructor(private readonly changed: () => void) {
        const theme = stored("theme");
        const palette = stored("palette");
        this.theme = theme === "light" || theme === "dark" ? theme : "system";
        this.palette = palette === "warm" || palette === "safe" ? palette : "calm";
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

    setPalette(palette: Palette): void {
        this.palette = palette;
        store("palette", palette);
        this.changed();
    }
}
