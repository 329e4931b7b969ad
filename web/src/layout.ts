/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a call graph. Graphviz gets only numbers and sizes, never names: the
 * page writes the text of the boxes itself. */

export interface Size {
    width: number; /* pixels */
    height: number;
}

export interface PlacedBox extends Size {
    x: number; /* of the centre */
    y: number;
}

export interface PlacedArrow {
    path: string; /* an SVG path */
    end: [number, number, number]; /* the arrow's point, and its direction in degrees */
    label: [number, number];
}

export interface Layout extends Size {
    boxes: PlacedBox[];
    arrows: PlacedArrow[];
}

export interface Arrow {
    from: number; /* indices of boxes */
    to: number;
    weight: number; /* heavier arrows are straighter */
    label: string;
}

const INCH = 72;
const LABEL = { size: 10, width: 6.2, digit: 5 }; /* pixels: the font size, its widest digit, and that of the font that Graphviz measures with */

function dotOf(boxes: Size[], arrows: Arrow[]): string {
    const lines = ["digraph g { graph [nodesep=0.25, ranksep=0.42]; node [shape=box, fixedsize=true, label=\"\"];",
        `edge [fontsize=${LABEL.size}, arrowsize=0.6];`];
    for (const [i, box] of boxes.entries())
        lines.push(`${i} [width=${(box.width / INCH).toFixed(4)}, height=${(box.height / INCH).toFixed(4)}];`);
    for (const arrow of arrows)
        lines.push(`${arrow.from} -> ${arrow.to} [weight=${Math.max(1, Math.round(arrow.weight))}, label="${"0".repeat(Math.ceil((arrow.label.length * LABEL.width) / LABEL.digit) + 1)}"];`);
    lines.push("}");
    return lines.join("\n");
}

/* "edge 0 1 4 x y x y x y x y label x y style color": the points of a curve. */
function arrowOf(words: string[], height: number): PlacedArrow {
    const count = Number(words[3]);
    const points: [number, number][] = [];
    for (let i = 0; i < count; i++)
        points.push([Number(words[4 + 2 * i]) * INCH, height - Number(words[5 + 2 * i]) * INCH]);
    const say = (p: [number, number]): string => `${p[0].toFixed(1)} ${p[1].toFixed(1)}`;
    const [first = [0, 0], ...rest] = points;
    const tip = rest.at(-1) ?? first;
    const before = rest.at(-2) ?? first;
    const at = 4 + 2 * count;
    return {
        path: `M${say(first)}C${rest.map(say).join(" ")}`,
        end: [tip[0], tip[1], (Math.atan2(tip[1] - before[1], tip[0] - before[0]) * 180) / Math.PI],
        label: [Number(words[at + 1]) * INCH, height - Number(words[at + 2]) * INCH],
    };
}

function readPlain(plain: string, boxes: Size[], arrows: Arrow[]): Layout {
    const out: Layout = { width: 0, height: 0, boxes: [], arrows: [] };
    const found = new Map<string, PlacedArrow>();
    for (const line of plain.split("\n")) {
        const words = line.split(" ");
        if (words[0] === "graph") {
            out.width = Number(words[2]) * INCH;
            out.height = Number(words[3]) * INCH;
        } else if (words[0] === "node") {
            const i = Number(words[1]);
            const box = boxes[i];
            if (box)
                out.boxes[i] = { ...box, x: Number(words[2]) * INCH, y: out.height - Number(words[3]) * INCH };
        } else if (words[0] === "edge") {
            found.set(`${words[1]} ${words[2]}`, arrowOf(words, out.height));
        }
    }
    out.arrows = arrows.map((a) => found.get(`${a.from} ${a.to}`) ?? { path: "", end: [0, 0, 0], label: [0, 0] });
    return out;
}

/* Whether this page contains Graphviz. */
export function canLayOut(): boolean {
    return document.getElementById("graphviz") !== null;
}

const PATIENCE = 30_000; /* ms */
const PATIENCE_REPLACED = 3_000; /* of a layout when a newer one waits */

export class Layouter {
    private worker: Worker | null = null;
    private next = 1;
    private newest = 0;
    private running: Promise<unknown> | null = null;
    private stop: (() => void) | null = null;

    /* Waits for an earlier request, because Graphviz would have to be loaded again, but not for long.
     * Of several that wait, only the newest is done. The others fail with an empty message. */
    async layOut(boxes: Size[], arrows: Arrow[]): Promise<Layout> {
        const request = ++this.newest;
        const timer = setTimeout(() => request === this.newest && this.stop?.(), PATIENCE_REPLACED);
        while (this.running && request === this.newest)
            await this.running;
        clearTimeout(timer);
        if (request !== this.newest)
            throw new Error("");
        const layout = this.layOutNow(boxes, arrows);
        this.running = layout.then(() => null, () => null).then(() => { this.running = null; });
        return layout;
    }

    private async layOutNow(boxes: Size[], arrows: Arrow[]): Promise<Layout> {
        const worker = this.worker ?? this.begin();
        const id = this.next++;
        const plain = await new Promise<string>((resolve, reject) => {
            const timer = setTimeout(() => end("the layout takes too long: show fewer functions"), PATIENCE);
            const end = (why: string): void => {
                clearTimeout(timer);
                worker.terminate();
                this.worker = null;
                this.stop = null;
                reject(new Error(why));
            };
            this.stop = () => end("");
            worker.onerror = () => end("Graphviz could not be started");
            worker.onmessage = ({ data }: MessageEvent<{ id: number; plain?: string; why?: string }>) => {
                if (data.id !== id)
                    return;
                clearTimeout(timer);
                this.stop = null;
                if (data.plain === undefined)
                    end(`Graphviz failed to lay out the graph: ${data.why ?? ""}`);
                else
                    resolve(data.plain);
            };
            worker.postMessage({ id, dot: dotOf(boxes, arrows) });
        });
        return readPlain(plain, boxes, arrows);
    }

    private begin(): Worker {
        const text = document.getElementById("graphviz")?.textContent ?? "";
        const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
        this.worker = new Worker(url);
        URL.revokeObjectURL(url);
        return this.worker;
    }

    dispose(): void {
        this.newest++;
        this.stop?.();
        this.worker?.terminate();
        this.worker = null;
    }
}
