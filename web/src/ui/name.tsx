/* SPDX-License-Identifier: Apache-2.0 */
/* A function's name in a table: its colour in the charts, and as much of the name as
 * fits. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { ownerColor, waitColor } from "../boxes";
import { colorTable, css, ink, type Packed } from "../colors";
import { functionName, shownName } from "../format";
import { Measure } from "../measure";
import { type FunctionInfo, CUT, OFF, Owner, Tone, UNKNOWN } from "../protocol";

const NAME_MOST = 4000; /* characters */

/* The colour of its boxes. */
export function colorOf(app: App, f: FunctionInfo): Packed {
    const colors = ink(app.appearance.dark);
    const { color } = app.state;
    const table = colorTable(color, app.appearance.palette, app.appearance.dark);
    const marks = app.marks(f.label), kind = app.kind(f.label);
    if ((kind === Owner.Process || kind === Owner.Thread) && color !== Tone.Change)
        return ownerColor(app, kind, app.tone(f.label), f.label, f.name);
    if (marks & OFF)
        return waitColor(app.tone(f.label), true);
    if (f.kind === "idle")
        return colors.idle;
    if (color === Tone.Self)
        return table[f.total > 0 ? Math.min(255, Math.floor((f.self / f.total) * 255)) : 0] as number;
    if (marks & (UNKNOWN | CUT) && color !== Tone.Change)
        return colors.unknown;
    return table[app.tone(f.label)] as number;
}

/* If only the label is known. */
export function LabelDot({ app, label }: { app: App; label: number }) {
    const { color } = app.state;
    if (color === Tone.Self)
        return null;
    const marks = app.marks(label), kind = app.kind(label);
    const colors = ink(app.appearance.dark);
    const fill = (kind === Owner.Process || kind === Owner.Thread) && color !== Tone.Change ? ownerColor(app, kind, app.tone(label), label) : marks & OFF ? waitColor(app.tone(label), true) : marks & (UNKNOWN | CUT) && color !== Tone.Change ? colors.unknown
        : (colorTable(color, app.appearance.palette, app.appearance.dark)[app.tone(label)] as number);
    return <i class="dot" style={{ background: css(fill) }} />;
}

export function Dot({ app, of }: { app: App; of: FunctionInfo }) {
    return <i class="dot" style={{ background: css(colorOf(app, of)) }} />;
}

/* In the font of tables. */
let measure: Measure | null = null;

function ofTables(): Measure {
    if (!measure) {
        const pen = document.createElement("canvas").getContext("2d");
        const { fontSize, fontFamily } = getComputedStyle(document.body);
        if (pen)
            pen.font = `${fontSize} ${fontFamily}`;
        measure = new Measure((text) => pen?.measureText(text).width ?? 0);
    }
    return measure;
}

/* The whole name is in the document, for copying and for screen readers; without room for
 * it, the style shows the shorter one. */
function lay(host: HTMLElement, text: string, room: number): void {
    const shown = ofTables().fit(text, room);
    const cut = document.createElement("span");
    cut.className = "cut";
    cut.dataset["shown"] = shown;
    cut.textContent = text;
    host.replaceChildren(shown === text ? text : cut);
}

const texts = new WeakMap<Element, string>();
const rooms = new WeakMap<Element, number>();

/* Measures all visible names together, after the browser's layout. */
const watcher = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
        rooms.set(target, contentRect.width);
        lay(target as HTMLElement, texts.get(target) ?? "", contentRect.width);
    }
});

/* A name, shorter if there is not enough room. */
export function Ends({ text, title = text }: { text: string; title?: string }) {
    const host = useRef<HTMLSpanElement>(null);
    const whole = functionName(text).slice(0, NAME_MOST);
    useLayoutEffect(() => {
        const at = host.current as HTMLElement;
        watcher.observe(at);
        return () => watcher.unobserve(at);
    }, []);
    useLayoutEffect(() => {
        const at = host.current as HTMLElement;
        texts.set(at, whole);
        lay(at, whole, rooms.get(at) ?? Number.POSITIVE_INFINITY);
    }, [whole]);
    return <span class="ends" ref={host} title={shownName(title).slice(0, NAME_MOST)} />;
}
