/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens texts to a width. A text's width is the sum of its characters' widths: the
 * available width changes with every frame, and measuring each text again is slow. */

const WIDTHS_MOST = 20000;

/* A text without its middle: the number of characters at its beginning, and the start
 * of its end. */
export interface Fitted {
    head: number;
    tail: number;
}

export class Measure {
    private readonly widths = new Map<string, number>(); /* by character */
    private readonly advances = new Float32Array(128); /* the same for ASCII */

    /* Called for each character, so that it can set its font first. */
    constructor(private readonly measure: (text: string) => number) {}

    advance(character: string): number {
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
    }

    /* Null if all of it fits. Names with a common beginning differ at their ends, so
     * the middle is removed. */
    fit(text: string, room: number): Fitted | null {
        let width = 0;
        for (let i = 0; i < text.length && width <= room; i++)
            width += this.advance(text.charAt(i));
        if (width <= room)
            return null;
        let left = room - this.advance("\u2026");
        let head = 0;
        let tail = text.length;
        while (head < tail) { /* alternates between both ends, whole characters */
            const back = head > text.length - tail;
            const at = back ? tail - 1 : head;
            left -= this.advance(text.charAt(at));
            if (left < 0)
                break;
            if (back)
                tail--;
            else
                head++;
        }
        if (/[\ud800-\udbff]/.test(text.charAt(head - 1)))
            head--;
        if (/[\udc00-\udfff]/.test(text.charAt(tail)))
            tail++;
        return { head, tail };
    }
}
