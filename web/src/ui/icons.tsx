/* SPDX-License-Identifier: Apache-2.0 */
/* Icons of buttons: 14 pixels, lines of 1.5. */

const PATHS = {
    compare: "M1.5 4.5h10M9 2l2.5 2.5L9 7M12.5 9.5h-10M5 7 2.5 9.5 5 12",
    save: "M7 8.5v-7M4.5 4 7 1.5 9.5 4M1.5 8v4.5h11V8",
    light: "M7 1v1.5M7 11.5V13M1 7h1.5M11.5 7H13M9.5 7a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0",
    dark: "M11.5 8.5a5 5 0 1 1-6-6 5 5 0 0 0 6 6z",
    plus: "M7 2v10M2 7h10",
    search: "M10 6a4 4 0 1 1-8 0 4 4 0 0 1 8 0M9 9l3.5 3.5",
};

export function Icon({ name }: { name: keyof typeof PATHS }) {
    return <svg class="glyph" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d={PATHS[name]} /></svg>;
}
