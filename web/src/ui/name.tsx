/* A function's name in a table: what it looks like in the charts, and as much of the name
 * as there is room for. */
import type { App } from "../app";
import { colorTable, css, ink, type Packed } from "../colors";
import { shownName } from "../format";
import { type FunctionInfo, CUT, OFF, Tone, UNKNOWN } from "../protocol";

const TAIL = 14; /* characters that are kept of the end */

/* As its boxes are drawn. */
export function colorOf(app: App, f: FunctionInfo): Packed {
    const colors = ink(app.dark);
    const { color } = app.place;
    const table = colorTable(color, app.palette, app.dark);
    const marks = app.marks(f.label);
    if (marks & OFF)
        return colors.off;
    if (f.kind === "idle")
        return colors.idle;
    if (color === Tone.Self)
        return table[f.total > 0 ? Math.min(255, Math.floor((f.self / f.total) * 255)) : 0] as number;
    if (color === Tone.Change && f.base_total !== undefined && app.shown) {
        const before = f.base_total * (app.shown.base_total > 0 ? app.shown.total / app.shown.base_total : 0);
        const most = Math.max(f.total, before);
        return table[Math.round(128 + (most > 0 ? (f.total - before) / most : 0) * 127)] as number;
    }
    if (marks & (UNKNOWN | CUT))
        return colors.unknown;
    return table[app.tone(f.label)] as number;
}

/* Where nothing is known but the label. */
export function LabelDot({ app, label }: { app: App; label: number }) {
    const { color } = app.place;
    if (color === Tone.Self || color === Tone.Change)
        return null;
    const marks = app.marks(label);
    const colors = ink(app.dark);
    const fill = marks & OFF ? colors.off : marks & (UNKNOWN | CUT) ? colors.unknown
        : (colorTable(color, app.palette, app.dark)[app.tone(label)] as number);
    return <i class="dot" style={{ background: css(fill) }} />;
}

export function Dot({ app, of }: { app: App; of: FunctionInfo }) {
    return <i class="dot" style={{ background: css(colorOf(app, of)) }} />;
}

/* Names that begin alike are told apart by their ends: where room is short the middle is
 * left out. */
export function Ends({ text, title = text }: { text: string; title?: string }) {
    const whole = shownName(text).slice(0, 4000);
    let at = whole.length - Math.min(TAIL, whole.length >> 1);
    if (/[\udc00-\udfff]/.test(whole.charAt(at)))
        at--;
    return (
        <span class="ends" title={shownName(title).slice(0, 4000)}>
            <span>{whole.slice(0, at)}</span>
            <span>{whole.slice(at)}</span>
        </span>
    );
}
