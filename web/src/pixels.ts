/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of many small rectangles, written pixel by pixel: a canvas takes longer for each
 * rectangle than all its pixels do here. */
import type { Packed } from "./colors";

export class Pixels {
    private readonly canvas = document.createElement("canvas");
    private image: ImageData | null = null;
    private words = new Uint32Array(0);

    /* An empty picture of that size in CSS pixels. */
    begin(width: number, height: number): void {
        if (this.image?.width === width && this.image.height === height) {
            this.words.fill(0);
            return;
        }
        this.image = new ImageData(Math.max(1, width), Math.max(1, height));
        this.words = new Uint32Array(this.image.data.buffer);
        this.canvas.width = this.image.width;
        this.canvas.height = this.image.height;
    }

    /* The part of the rectangle that is in the picture. */
    fill(x: number, y: number, width: number, height: number, color: Packed): void {
        const wide = this.canvas.width;
        const left = Math.max(0, Math.round(x)), right = Math.min(wide, Math.round(x + width));
        const top = Math.max(0, Math.round(y)), bottom = Math.min(this.canvas.height, Math.round(y + height));
        for (let row = top; row < bottom && right > left; row++)
            this.words.fill(color, row * wide + left, row * wide + right);
    }

    paint(pen: CanvasRenderingContext2D): void {
        if (this.image)
            this.canvas.getContext("2d")?.putImageData(this.image, 0, 0);
        pen.imageSmoothingEnabled = false;
        pen.drawImage(this.canvas, 0, 0);
    }
}
