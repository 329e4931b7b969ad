/* Rectangles on a canvas: by WebGL where there is one, else by the 2D canvas. */
import { css, type Packed } from "./colors";

/* What is painted: x, width (CSS pixels), row, colour. */
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
    direction: 1 | -1; /* -1: row 0 is at the bottom, `top` its upper edge */
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

function flatPainter(canvas: HTMLCanvasElement): Painter | null {
    const context = canvas.getContext("2d");
    if (!context)
        return null;
    return {
        paint(boxes, g) {
            const scale = canvas.width / g.width;
            context.fillStyle = css(g.page);
            context.fillRect(0, 0, canvas.width, canvas.height);
            let last = -1;
            const tall = g.rowHeight < 3 ? Math.max(1, Math.ceil(g.rowHeight * scale)) : Math.round(g.rowHeight * scale) - 1;
            for (let i = 0; i < boxes.count; i++) {
                const color = boxes.color[i] as number;
                const left = Math.round((boxes.x[i] as number) * scale);
                const right = Math.round(((boxes.x[i] as number) + (boxes.width[i] as number)) * scale);
                const y = Math.round((g.top + (boxes.row[i] as number) * g.rowHeight * g.direction) * scale);
                if (color !== last)
                    context.fillStyle = css(color);
                last = color;
                context.fillRect(left, y, Math.max(1, right - left > 2 ? right - left - 1 : right - left), tall);
            }
        },
    };
}

/* Null only where there is no canvas at all. */
export function painterFor(canvas: HTMLCanvasElement): Painter | null {
    return glPainter(canvas) ?? flatPainter(canvas);
}
