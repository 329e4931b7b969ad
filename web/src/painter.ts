/* SPDX-License-Identifier: Apache-2.0 */
/* Rectangles on a canvas: with WebGL if there is a graphics card, otherwise pixel by
 * pixel. */
import type { Packed } from "./colors";

/* Rectangles: x, width (CSS pixels), row, colour. */
export interface Boxes {
    count: number;
    x: Float32Array;
    width: Float32Array;
    row: Float32Array;
    color: Uint32Array;
}

export interface Geometry {
    width: number; /* CSS pixels */
    height: number;
    rowHeight: number;
    top: number; /* y of row 0 */
    direction: 1 | -1; /* -1: row 0 is at the bottom, `top` is its upper edge */
    page: Packed;
}

export interface Painter {
    paint(boxes: Boxes, g: Geometry): void;
}

export function roomFor(count: number): Boxes {
    return {
        count: 0,
        x: new Float32Array(count),
        width: new Float32Array(count),
        row: new Float32Array(count),
        color: new Uint32Array(count),
    };
}

const VERTEX = `#version 300 es
layout(location = 0) in vec2 corner;
layout(location = 1) in float x;
layout(location = 2) in float width;
layout(location = 3) in float row;
layout(location = 4) in vec4 color;
uniform vec4 view; /* width and height in CSS pixels, device pixels a CSS pixel, gap */
uniform vec3 rows; /* top, height with its sign, height of a box */
out vec4 paint;
void main() {
    float left = floor(x * view.z + 0.5);
    float right = floor((x + width) * view.z + 0.5);
    if (right - left > 2.0) right -= view.w;
    right = max(right, left + 1.0);
    float y = floor((rows.x + row * rows.y) * view.z + 0.5);
    vec2 at = vec2(mix(left, right, corner.x), y + corner.y * rows.z);
    vec2 clip = at / (view.xy * view.z) * 2.0 - 1.0;
    gl_Position = vec4(clip.x, -clip.y, 0.0, 1.0);
    paint = color;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 paint;
out vec4 color;
void main() { color = paint; }`;

function compile(gl: WebGL2RenderingContext): WebGLProgram | null {
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as [number, string][]) {
        const shader = gl.createShader(kind);
        if (!program || !shader)
            return null;
        gl.shaderSource(shader, text);
        gl.compileShader(shader);
        gl.attachShader(program, shader);
    }
    gl.linkProgram(program as WebGLProgram);
    return gl.getProgramParameter(program as WebGLProgram, gl.LINK_STATUS) ? program : null;
}

function glPainter(canvas: HTMLCanvasElement): Painter | null {
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    const program = gl && compile(gl);
    if (!gl || !program)
        return null;
    const view = gl.getUniformLocation(program, "view");
    const rows = gl.getUniformLocation(program, "rows");
    const buffers = [0, 1, 2, 3, 4].map(() => gl.createBuffer());
    gl.bindVertexArray(gl.createVertexArray());
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[0] ?? null);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    for (let at = 0; at < 5; at++) {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffers[at] ?? null);
        gl.enableVertexAttribArray(at);
        if (at === 4)
            gl.vertexAttribPointer(at, 4, gl.UNSIGNED_BYTE, true, 0, 0);
        else
            gl.vertexAttribPointer(at, at === 0 ? 2 : 1, gl.FLOAT, false, 0, 0);
        gl.vertexAttribDivisor(at, at === 0 ? 0 : 1);
    }
    return {
        paint(boxes, g) {
            const scale = canvas.width / g.width;
            const data = [boxes.x, boxes.width, boxes.row, boxes.color];
            gl.viewport(0, 0, canvas.width, canvas.height);
            gl.clearColor((g.page & 255) / 255, ((g.page >>> 8) & 255) / 255, ((g.page >>> 16) & 255) / 255, 1);
            gl.clear(gl.COLOR_BUFFER_BIT);
            for (let i = 0; i < data.length; i++) {
                gl.bindBuffer(gl.ARRAY_BUFFER, buffers[i + 1] ?? null);
                gl.bufferData(gl.ARRAY_BUFFER, (data[i] as Float32Array).subarray(0, boxes.count), gl.STREAM_DRAW);
            }
            gl.useProgram(program);
            gl.uniform4f(view, canvas.width / scale, canvas.height / scale, scale, 1);
            gl.uniform3f(rows, g.top, g.rowHeight * g.direction,
                g.rowHeight < 3 ? Math.max(1, Math.ceil(g.rowHeight * scale)) : Math.round(g.rowHeight * scale) - 1);
            gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, boxes.count);
        },
    };
}

/* Without a graphics card, writing pixels is faster than drawing rectangles: one line
 * per row is written and copied to the others. */
function flatPainter(canvas: HTMLCanvasElement): Painter | null {
    const context = canvas.getContext("2d");
    if (!context)
        return null;
    let image: ImageData | null = null;
    let pixels = new Uint32Array(0);

    /* Writes a line of the boxes of a row, from box `i` on; returns the first box of
     * the next row. */
    const paintLine = (boxes: Boxes, i: number, scale: number, at: number, wide: number): number => {
        const row = boxes.row[i] as number;
        for (; i < boxes.count && boxes.row[i] === row; i++) {
            const x = boxes.x[i] as number;
            const left = Math.max(0, Math.round(x * scale));
            let right = Math.round((x + (boxes.width[i] as number)) * scale);
            if (right - left > 2)
                right--;
            right = Math.min(wide, Math.max(right, left + 1));
            if (right - left > 8)
                pixels.fill(boxes.color[i] as number, at + left, at + right);
            else
                for (let to = left; to < right; to++)
                    pixels[at + to] = boxes.color[i] as number;
        }
        return i;
    };
    return {
        paint(boxes, g) {
            const { width: wide } = canvas, scale = wide / g.width;
            const high = Math.min(canvas.height, Math.round(g.height * scale)); /* the rest is hidden */
            if (image?.width !== wide || image.height < high) {
                image = context.createImageData(wide, canvas.height);
                pixels = new Uint32Array(image.data.buffer);
            }
            const low = g.rowHeight < 3;
            const tall = low ? Math.max(1, Math.ceil(g.rowHeight * scale)) : Math.round(g.rowHeight * scale) - 1;
            pixels.fill(g.page, 0, wide * high);
            for (let i = 0; i < boxes.count;) {
                const row = boxes.row[i] as number;
                const y = Math.round((g.top + row * g.rowHeight * g.direction) * scale);
                const from = Math.max(0, y);
                const stop = Math.min(high, y + tall);
                if (from >= stop) {
                    i++;
                    continue;
                }
                i = paintLine(boxes, i, scale, from * wide, wide);
                for (let line = from + 1; line < stop; line++)
                    pixels.copyWithin(line * wide, from * wide, (from + 1) * wide);
            }
            context.putImageData(image, 0, 0, 0, 0, wide, high);
        },
    };
}

/* Whether the browser reports a graphics card: the start of a software renderer alone takes
 * longer than many pictures. */
function reportsCard(): boolean {
    const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
    const info = gl?.getExtension("WEBGL_debug_renderer_info");
    const name = gl ? String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER)) : "";
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
    return gl !== null && !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

const TRIAL = { width: 600, height: 160, boxes: 2000, pictures: 3 };

/* The ms of a small picture, drawn completely; infinite without a painter. */
function trial(make: (canvas: HTMLCanvasElement) => Painter | null, finish: (canvas: HTMLCanvasElement) => void): number {
    const canvas = document.createElement("canvas");
    canvas.width = TRIAL.width;
    canvas.height = TRIAL.height;
    const painter = make(canvas);
    if (!painter)
        return Number.POSITIVE_INFINITY;
    const boxes = roomFor(TRIAL.boxes);
    boxes.count = TRIAL.boxes;
    for (let i = 0; i < TRIAL.boxes; i++) {
        boxes.x[i] = (i * 37) % TRIAL.width;
        boxes.width[i] = 1 + (i % 40);
        boxes.row[i] = Math.floor((i * 8) / TRIAL.boxes);
        boxes.color[i] = 0xff000000 + i * 2500;
    }
    const geometry: Geometry = { width: TRIAL.width, height: TRIAL.height, rowHeight: 20, top: 0, direction: 1, page: 0xffffffff };
    painter.paint(boxes, geometry); /* compiles */
    finish(canvas);
    const start = performance.now();
    for (let i = 0; i < TRIAL.pictures; i++)
        painter.paint(boxes, geometry);
    finish(canvas);
    return (performance.now() - start) / TRIAL.pictures;
}

let faster: boolean | null = null;

/* Whether WebGL draws at least as fast as writing pixels; measured once. */
function cardIsFaster(): boolean {
    faster ??= reportsCard() && trial(glPainter, (canvas) => {
        const gl = canvas.getContext("webgl2");
        gl?.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    }) <= trial(flatPainter, (canvas) => canvas.getContext("2d")?.getImageData(0, 0, 1, 1));
    return faster;
}

/* Measures before a painter is needed. */
export function prepare(): void {
    cardIsFaster();
}

/* Null only if there is no canvas at all. */
export function painterFor(canvas: HTMLCanvasElement): Painter | null {
    return (cardIsFaster() ? glPainter(canvas) : null) ?? flatPainter(canvas);
}
