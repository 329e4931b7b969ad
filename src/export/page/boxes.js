/* The page of a flame graph: hover, zoom, search, keys, and its state in the address.
 *
 * The boxes have positions in percent of #frames, which is inside #view. Zooming makes
 * #frames wider than #view and moves it: this changes two attributes, for any number of
 * boxes. Only visible labels are fitted again. Typed arrays have the positions of all
 * boxes; the document is only accessed to change it.
 *
 * Names are data: they are added to the document only through textContent.
 *
 * The files of this folder become one function, in the order of src/export/meson.build.
 * This file has the boxes as numbers. */

const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";
const PAD = 10; /* beside the boxes */

const root = document.currentScript.ownerSVGElement;
const find = (id) => root.querySelector("#" + id);
const data = JSON.parse(find("data").textContent);
const view = find("view"), frames = find("frames"), header = find("header");
const standalone = root === document.documentElement; /* not part of another page */
const boxes = Array.from(frames.children);
const count = boxes.length, rows = data.rows;

function create(namespace, name, attributes, parent) {
    const element = document.createElementNS(namespace, name);
    for (const key in attributes)
        element.setAttribute(key, attributes[key]);
    if (parent)
        parent.appendChild(element);
    return element;
}

const row = Uint32Array.from(data.row);
const name = Int32Array.from(data.name); /* -1: a summary without a name */
const after = Float64Array.from(data.after);
const before = data.before ? Float64Array.from(data.before) : null;
let width = after, total = data.total; /* the shown ones: after or before */

const x = new Float64Array(count); /* in weight, like the widths */
const rowStart = new Uint32Array(rows + 1);
const inRow = new Uint32Array(count); /* the boxes of each row, left to right */

/* A caller comes before its callees. The first callee begins after the caller's self
 * weight, the others begin at the end of the previous one; in a flame chart, after a gap. */
function arrangeBoxes() {
    const next = new Float64Array(rows + 1);
    const lead = width === after ? data.lead : data.leadBefore;
    for (let i = 0; i < count; i++) {
        const r = row[i];
        x[i] = r ? next[r - 1] + (data.gap ? data.gap[i] : 0) : 0;
        if (r)
            next[r - 1] = x[i] + Math.max(0, width[i]);
        next[r] = x[i] + lead[i];
    }
}

function sortRows() {
    for (let i = 0; i < count; i++)
        rowStart[row[i] + 1]++;
    for (let r = 0; r < rows; r++)
        rowStart[r + 1] += rowStart[r];
    const next = rowStart.slice();
    for (let i = 0; i < count; i++)
        inRow[next[row[i]]++] = i;
}

/* The index in inRow of the last box of the row that begins at or before the position; if
 * there is none, the index before the row. */
function lastInRow(r, position) {
    let low = rowStart[r], high = rowStart[r + 1];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (x[inRow[middle]] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* The box at a position in a row, or -1. */
function boxAt(r, position) {
    if (r < 0 || r >= rows)
        return -1;
    const at = lastInRow(r, position);
    if (at < rowStart[r])
        return -1;
    const i = inRow[at];
    return position < x[i] + width[i] ? i : -1;
}

const rowFromTop = (r) => data.icicles ? r : rows - 1 - r;
const rowY = (r) => rowFromTop(r) * data.rowHeight;
const callerOf = (i) => row[i] ? boxAt(row[i] - 1, x[i] + width[i] / 2) : -1;

/* The widest callee, or -1. */
function calleeOf(i) {
    const r = row[i] + 1, end = x[i] + width[i];
    let best = -1;
    if (r >= rows)
        return -1;
    for (let at = Math.max(lastInRow(r, x[i]), rowStart[r]); at < rowStart[r + 1]; at++) {
        const callee = inRow[at];
        if (x[callee] >= end)
            break;
        if (x[callee] >= x[i] && width[callee] > 0 &&
            (best < 0 || width[callee] > width[best]))
            best = callee;
    }
    return best;
}
