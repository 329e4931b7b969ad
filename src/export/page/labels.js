/* Labels: the part of a name that fits its box. Names are shortened like in
 * src/export/svg_text.c, but with the widths of the browser's font. */

const TEXT_PAD = 3; /* between a box and its label */
const DOTS = "\u2026";
const QUALIFIERS_MOST = 4096;
const CUT_END = 1, CUT_BEGINNING = 2;
const RUST_HASH = /(?!^)::h[0-9a-f]{16}$/i; /* only differs between builds */

const pen = document.createElementNS(HTML, "canvas").getContext("2d");
const advances = new Map();
let dots = 0, fontSize = 12;

function advance(character) {
    let wide = advances.get(character);
    if (wide === undefined) {
        wide = pen.measureText(character).width;
        advances.set(character, wide);
    }
    return wide;
}

function prepareFont() {
    const style = getComputedStyle(frames);
    fontSize = parseFloat(style.fontSize);
    pen.font = style.fontSize + " " + style.fontFamily;
    dots = advance(DOTS);
}

/* The length of the beginning of a text that fits. */
function fittingHead(text, room) {
    let at = 0;
    for (const character of text) {
        room -= advance(character);
        if (room < 0)
            return at;
        at += character.length;
    }
    return at;
}

/* Without space for an ellipsis, only letters are shown. */
function cutEnd(text, room) {
    const all = fittingHead(text, room), fits = fittingHead(text, room - dots);
    if (all === text.length)
        return text;
    return fits >= 2 ? text.slice(0, fits) + DOTS : all >= 2 ? text.slice(0, all) : "";
}

function cutBeginning(text, room) {
    const characters = Array.from(text), tail = (left) => {
        let at = characters.length;
        while (at && (left -= advance(characters[at - 1])) >= 0)
            at--;
        return at <= characters.length - 2 ? characters.slice(at).join("") : "";
    };
    const marked = tail(room - dots);
    return marked ? DOTS + marked : tail(room);
}

/* The depth of brackets before a character, going backwards. The '>' of "->" is not a
 * bracket. */
function bracketStep(text, at, depth) {
    const c = text[at], previous = text[at - 1];
    if (c === ")" || c === "]" || (c === ">" && previous !== "-" && previous !== "="))
        return depth + 1;
    return (c === "(" || c === "[" || c === "<") && depth > 0 ? depth - 1 : depth;
}

/* Omits qualifiers first: "a::b::" of "a::b::c". A path after other words is not a
 * qualified name. */
function cutQualifiers(text, room) {
    const stop = Math.max(0, text.length - QUALIFIERS_MOST);
    let last = 0, fitting = text.length, slash = false, depth = 0, left = room - dots;
    for (let at = text.length - 1; at >= stop; at--) {
        left -= advance(text[at]);
        depth = bracketStep(text, at, depth);
        if (last && left < 0 && !slash)
            break;
        if (depth || at < 2)
            continue;
        if (text[at] === " ") {
            if (slash) {
                fitting = text.length;
                last = 0;
            }
            break;
        }
        const path = text[at - 1] === "/";
        if (!path && (text[at - 1] !== ":" || text[at - 2] !== ":"))
            continue;
        slash = slash || path;
        if (/^(\{|_?\$u7b\$)/.test(text.slice(at, at + 6)))
            continue; /* "{{closure}}" belongs to the part before it */
        last = last || at;
        if (left >= 0)
            fitting = at;
    }
    return fitting < text.length ? DOTS + text.slice(fitting)
        : cutEnd(text.slice(last), room);
}

function fit(text, room) {
    if (fittingHead(text, room) === text.length)
        return text;
    if (data.cut === CUT_END)
        return cutEnd(text, room);
    text = text.replace(RUST_HASH, "");
    if (fittingHead(text, room) === text.length)
        return text;
    return data.cut === CUT_BEGINNING ? cutBeginning(text, room)
        : cutQualifiers(text, room);
}

const labels = new Array(count); /* the <text> of a box, once there is one */
const labelled = new Set();      /* boxes whose label is not empty */

/* The labels in the document, in the order of the boxes. */
function findLabels() {
    let i = 0;
    for (const label of frames.querySelectorAll("text")) {
        while (boxes[i] !== label.parentNode)
            i++;
        labels[i] = label;
        labelled.add(i);
    }
}

function setLabel(i, text, position) {
    if (!text && !labels[i])
        return;
    if (!labels[i]) {
        const y = rowY(row[i]) + (data.rowHeight - 1) / 2 + fontSize * .36;
        labels[i] = create(SVG, "text", { dx: TEXT_PAD, y: y }, boxes[i]);
    }
    if (labels[i].textContent !== text)
        labels[i].textContent = text;
    if (text) {
        labels[i].setAttribute("x", position);
        labelled.add(i);
    } else {
        labelled.delete(i);
    }
}

/* Calls `call`, row by row, with each box that is at least `least` pixels wide in the
 * view, and with its width in pixels. */
function eachVisible(least, call) {
    const scale = viewWidth / (to - from), end = to - 1e-9 * (to - from);
    for (let r = 0; r < rows; r++) {
        const first = Math.max(lastInRow(r, from), rowStart[r]);
        for (let at = first; at < rowStart[r + 1] && x[inRow[at]] < end; at++) {
            const i = inRow[at];
            const pixels = scale * (Math.min(to, x[i] + width[i]) - Math.max(from, x[i]));
            if (pixels >= least)
                call(i, pixels);
        }
    }
}

/* Labels outside of the view do not change: they are not visible, and are correct when the
 * view returns to them. */
function fitLabels() {
    const fresh = new Set();
    eachVisible(fontSize / 2 + 2 * TEXT_PAD, (i, pixels) => {
        const room = pixels - 2 * TEXT_PAD;
        const text = name[i] < 0 ? cutEnd(summaryOf(i), room) : fit(nameOf(i), room);
        setLabel(i, text, percentOf(Math.max(from, x[i])));
        fresh.add(i);
    });
    for (const i of Array.from(labelled))
        if (!fresh.has(i) && x[i] < to && x[i] + width[i] > from)
            setLabel(i, "", "0");
}
