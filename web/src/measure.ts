/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a text there is room for. Texts are measured as sums of their characters:
 * room changes with every frame, and to measure each text anew takes long. */

const WIDTHS_MOST = 20000;

/* What is left of a text without its middle: characters of its beginning, and where its
 * end begins. */
export interface Fitted {
    head: number;
    tail: number;
}

export class Measure {
    private readonly widths = new Map<string, number>(); /* by character */
    private readonly advances = new Float32Array(128); /* the same of ASCII */

    /* Asked for each character, so that it may set its font when it is ready. */
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

    /* Null where all of it fits. Names that begin alike are told by their ends: what is
     * left out is the middle. */
    fit(text: string, room: number): Fitted | null {
        let width = 0;
        for (let i = 0; i < text.length && width <= room; i++)
            width += this.advance(text.charAt(i));
        if (width <= room)
            return null;
        let left = room - this.advance("\u2026");
        let head = 0;
        let tail = text.length;
        while (head < tail) { /* in turn from both ends, whole characters */
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
