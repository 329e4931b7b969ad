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
