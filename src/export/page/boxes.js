/* The page of a flame graph: hover, zoom, search, keys, and its state in the address.
 *
 * The boxes are laid out in percent of #frames, which lies inside #view. To zoom is to
 * make #frames wider than #view and to move it: two attributes, however many boxes there
 * are. Only labels are fitted anew, and only those that can be seen. Which box is where
 * is known from typed arrays; the document is touched where it changes.
 *
 * Names are data: they reach the document through textContent alone.
 *
 * The files of this folder become one function, in the order of src/export/meson.build.
 * This one: the boxes as numbers. */

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
const name = Int32Array.from(data.name); /* -1: a summary, which has no name */
const after = Float64Array.from(data.after);
const before = data.before ? Float64Array.from(data.before) : null;
let width = after, total = data.total; /* of what is shown: after or before */

const x = new Float64Array(count); /* in weight, as the widths */
const rowStart = new Uint32Array(rows + 1);
const inRow = new Uint32Array(count); /* the boxes of each row, left to right */

/* A caller comes before its callees. The first of them begins behind the caller's own
 * weight, each other where the one beside it ended; in a flame chart, behind a gap. */
function placeBoxes() {
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

/* Where in inRow the last box of a row stands that begins at or before a place; one
 * before the row where there is none. */
function lastInRow(r, place) {
    let low = rowStart[r], high = rowStart[r + 1];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (x[inRow[middle]] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* The box at a place of a row, or -1. */
function boxAt(r, place) {
    if (r < 0 || r >= rows)
        return -1;
    const at = lastInRow(r, place);
    if (at < rowStart[r])
        return -1;
    const i = inRow[at];
    return place < x[i] + width[i] ? i : -1;
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
