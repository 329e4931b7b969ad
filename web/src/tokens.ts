/* SPDX-License-Identifier: Apache-2.0 */
/* The colours of style.css for canvases: the custom properties of the root element. */

export interface Tokens {
    page: string;
    line: string;
    line2: string;
    text: string;
    second: string;
    third: string;
    accent: string;
    bad: string;
    strips: string[]; /* of the twelve categories */
    boxes: string[]; /* the same, paler */
    other: string;
    waits: [string, string][]; /* stroke and ground: lock, disk, network, wait for CPU, sleep */
}

const WAITS = ["lock", "disk", "network", "cpu", "sleep"];

function read(): Tokens {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    return {
        page: of("bg"), line: of("line"), line2: of("line2"), text: of("t1"), second: of("t2"), third: of("t3"),
        accent: of("acc"), bad: of("bad"), other: of("other"),
        boxes: Array.from({ length: 12 }, (_, i) => of(`cat-${i + 1}`)),
        strips: Array.from({ length: 12 }, (_, i) => of(`strip-${i + 1}`)),
        waits: WAITS.map((name) => [of(`wait-${name}`), of(`wait-${name}-bg`)]),
    };
}

let last: { theme: string; tokens: Tokens } | null = null;

export function tokens(): Tokens {
    const theme = document.documentElement.dataset["theme"] ?? "";
    if (last?.theme !== theme)
        last = { theme, tokens: read() };
    return last.tokens;
}

/* The contour of a filled area: 74 % of its colour. */
export function contour(color: string): string {
    const value = Number.parseInt(color.slice(1), 16);
    const part = (shift: number): number => Math.round(((value >> shift) & 255) * 0.74) << shift;
    return `#${(part(16) | part(8) | part(0)).toString(16).padStart(6, "0")}`;
}
