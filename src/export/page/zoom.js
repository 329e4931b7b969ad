/* Zoom and hover: the box that fills the view, the box under the pointer. */

let viewWidth = +view.getAttribute("width");
let zoomed = 0, from = 0, to = total; /* the box that fills the view, its extent */
let callers = [];                     /* of that box: they also fill the view, faded */
const isCaller = new Uint8Array(count);

const edges = find("edges");
const hoverBox = create(SVG, "rect", { id: "hover", visibility: "hidden" }, view);
const ring = create(SVG, "rect", { id: "ring", visibility: "hidden" }, view);
let hovered = -1, focused = -1;
let byKeyboard = false; /* the ring is only shown after a key was used */

const percentOf = (position) => (total > 0 ? 100 * position / total : 0) + "%";

function moveFrames() {
    const wide = viewWidth * total / (to - from);
    frames.setAttribute("width", wide);
    frames.setAttribute("x", -wide * from / total);
}

function fadeCallers() {
    for (const i of callers) {
        boxes[i].classList.remove("ancestor");
        isCaller[i] = 0;
    }
    callers = [];
    for (let i = zoomed ? callerOf(zoomed) : -1; i >= 0; i = callerOf(i)) {
        boxes[i].classList.add("ancestor");
        isCaller[i] = 1;
        callers.push(i);
    }
}

/* The lines between boxes, as one path. Narrow boxes have none, because lines would hide
 * them. */
function drawEdges() {
    const scale = viewWidth / (to - from), high = data.rowHeight - 1;
    const path = [];
    let lastRow = -1, lastEnd = 0;
    eachVisible(data.edgeLeast, (i, pixels) => {
        const begin = Math.max(0, (x[i] - from) * scale), end = begin + pixels;
        const y = rowY(row[i]);
        if (row[i] !== lastRow || begin - lastEnd > .05)
            path.push("M" + begin.toFixed(2) + " " + y + "v" + high);
        path.push("M" + end.toFixed(2) + " " + y + "v" + high);
        lastRow = row[i];
        lastEnd = end;
    });
    edges.setAttribute("d", path.join(""));
}

/* Draws a line around box i; none if i is -1. */
function outline(rect, i) {
    if (i < 0 || x[i] >= to || x[i] + width[i] <= from) {
        rect.setAttribute("visibility", "hidden");
        return;
    }
    const scale = viewWidth / (to - from);
    const left = Math.max(0, (x[i] - from) * scale);
    const wide = Math.min(viewWidth, (x[i] + width[i] - from) * scale) - left;
    const inset = wide < 8 ? -1 : 1; /* around a box that is too narrow for a line inside */
    rect.setAttribute("x", left + inset);
    rect.setAttribute("y", rowY(row[i]) + inset);
    rect.setAttribute("width", wide - 2 * inset);
    rect.setAttribute("height", Math.max(1, data.rowHeight - 1 - 2 * inset));
    rect.setAttribute("visibility", "visible");
}

/* Called after the boxes have moved. */
function redraw() {
    if (!(total > 0))
        return;
    moveFrames();
    drawEdges();
    fitLabels();
    outline(hoverBox, hovered);
    outline(ring, byKeyboard ? focused : -1);
    explain(hovered >= 0 || !byKeyboard ? hovered : focused);
}

function zoom(i) {
    zoomed = width[i] > 0 ? i : 0;
    from = zoomed ? x[zoomed] : 0;
    to = zoomed ? x[zoomed] + width[zoomed] : total;
    fadeCallers();
    redraw();
    unzoomButton.hidden = !zoomed;
    showMatched();
    saveState();
}

function boxUnder(event) {
    const area = view.getBoundingClientRect();
    if (!(area.width > 0) || !(total > 0))
        return -1;
    const position = from + (event.clientX - area.left) / area.width * (to - from);
    const fromTop = Math.floor((event.clientY - area.top) / area.height * rows);
    return boxAt(data.icicles ? fromTop : rows - 1 - fromTop, position);
}

function hover(i) {
    if (i === hovered)
        return;
    hovered = i;
    outline(hoverBox, i);
    explain(i >= 0 || !byKeyboard ? i : focused);
}

/* In a differential flame graph: shows the widths before, or those after. */
function toggleWidths() {
    const showBefore = width === after;
    width = showBefore ? before : after;
    total = showBefore ? data.totalBefore : data.total;
    zoomed = 0;
    arrangeBoxes();
    for (let i = 0; i < count; i++) {
        const rect = boxes[i].querySelector("rect");
        rect.setAttribute("x", percentOf(x[i]));
        rect.setAttribute("width", percentOf(Math.max(0, width[i])));
    }
    nameWidthsButton();
    zoom(0);
}
