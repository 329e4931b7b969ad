/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens names to a width. A text's width is the sum of its characters' widths: the
 * available width changes with every frame, and measuring each text again is slow. */
import { shorten } from "./names";

const WIDTHS_MOST = 20000;

export class Measure {
    private readonly widths = new Map<string, number>(); /* by character */
    private readonly advances = new Float32Array(128); /* the same for ASCII */

    /* Called for each character, so that it can set its font first. */
    constructor(private readonly measure: (text: string) => number) {}

    readonly advance = (character: string): number => {
        const code = character.length === 1 ? character.charCodeAt(0) : -1;
        if (code >= 0 && code < 128 && (this.advances[code] as number) > 0)
            return this.advances[code] as number;
        let width = this.widths.get(character);
        if (width === undefined) {
            width = this.measure(character);
            if (this.widths.size > WIDTHS_MOST)
                this.widths.clear();
            this.widths.set(character, width);
        }
        if (code >= 0 && code < 128)
            this.advances[code] = width;
        return width;
    };

    /* More than `most` for a text that is wider. */
    readonly width = (text: string, most: number): number => {
        let width = 0;
        for (let i = 0; i < text.length && width <= most; i++)
            width += this.advance(text.charAt(i));
        return width;
    };

    /* The name, or as much of it as fits: see names.ts. */
    fit(name: string, room: number): string {
        return shorten(name, room, this.width, this.advance);
    }
}
