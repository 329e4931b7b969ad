/* SPDX-License-Identifier: Apache-2.0 */
/* Elements made by scripts. */

export function element<K extends keyof HTMLElementTagNameMap>(tag: K, name: string, into: HTMLElement): HTMLElementTagNameMap[K] {
    const made = document.createElement(tag);
    made.className = name;
    into.append(made);
    return made;
}

/* Sets the size of a canvas, in CSS pixels. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
    const scale = devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
}

const LOWER_MOST = 100; /* CSS pixels */

/* The same for a canvas that often becomes a little lower and higher again: it remains as high as it
 * was, because another size takes as long as a picture. What surrounds it hides the rest. */
export function resizeTo(canvas: HTMLCanvasElement, width: number, height: number): void {
    const scale = devicePixelRatio || 1, high = canvas.height / scale;
    if (canvas.width !== Math.round(width * scale) || high < height - 0.5 || high > height + LOWER_MOST)
        resize(canvas, width, height);
    canvas.style.height = `${canvas.height / scale}px`;
}
