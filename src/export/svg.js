/* The page of a flame graph: hover, zoom, search, keys, and its state in the address.
 *
 * The boxes are laid out in percent of #frames, which lies inside #view. To zoom is to
 * make #frames wider than #view and to move it: two attributes, however many boxes there
 * are. Only labels are fitted anew, and only those that can be seen. What a box is, is
 * found by its place, in typed arrays; the document is touched where it changes.
 *
 * Names are data: they reach the document through textContent alone. */
(function () {
    "use strict";

    const SVG = "http://www.w3.org/2000/svg";
    const HTML = "http://www.w3.org/1999/xhtml";
    const PAD = 10;       /* beside the boxes */
    const TEXT_PAD = 3;   /* between a box and its label */
    const QUALIFIERS_MOST = 4096;
    const CUT_END = 1, CUT_BEGINNING = 2;

    const root = document.currentScript.ownerSVGElement;
    const find = (id) => root.querySelector("#" + id);
    const data = JSON.parse(find("data").textContent);
    const view = find("view"), frames = find("frames"), header = find("header");
    const details = find("details"), subtitle = find("subtitle");
    const standalone = root === document.documentElement;
    const boxes = Array.from(frames.children);
    const count = boxes.length, rows = data.rows;
    const height = +root.getAttribute("height");
    const boxesHeight = +view.getAttribute("height");

    function create(namespace, name, attributes, parent) {
        const element = document.createElementNS(namespace, name);
        for (const key in attributes)
            element.setAttribute(key, attributes[key]);
        if (parent)
            parent.appendChild(element);
        return element;
    }

    /* --- The boxes as numbers --------------------------------------------------------- */

    const row = Uint32Array.from(data.row);
    const name = Int32Array.from(data.name); /* -1: a summary, which has no name */
    const after = Float64Array.from(data.after);
    const before = data.before ? Float64Array.from(data.before) : null;
    const x = new Float64Array(count);       /* in the weight that is shown */
    const rowStart = new Uint32Array(rows + 1);
    const inRow = new Uint32Array(count);    /* the boxes of each row, left to right */
    let width = after, total = data.total;   /* of the view: after or before */

    /* Boxes come callers first, so each begins where the one beside it ended. */
    function placeBoxes() {
        const next = new Float64Array(rows + 1);
        for (let i = 0; i < count; i++) {
            const r = row[i];
            x[i] = r ? next[r - 1] : 0;
            if (r)
                next[r - 1] += Math.max(0, width[i]);
            next[r] = x[i];
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

    /* Where in a row the last box stands that begins at or before a place; before the
     * row's first where there is none. */
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

    /* The leftmost wide enough callee of a box, or -1. */
    function calleeOf(i) {
        const r = row[i] + 1;
        let best = -1;
        if (r >= rows)
            return -1;
        for (let at = Math.max(lastInRow(r, x[i]), rowStart[r]); at < rowStart[r + 1]; at++) {
            const callee = inRow[at];
            if (x[callee] >= x[i] + width[i])
                break;
            if (x[callee] >= x[i] && (best < 0 || width[callee] > width[best]))
                best = callee;
        }
        return best;
    }

    /* --- What a box says -------------------------------------------------------------- */

    const figures = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
    const percent = (part, all) => (all > 0 ? 100 * part / all : 0).toFixed(2) + "%";
    const ownTitles = new Map(); /* of summaries and of boxes with a title of the user's */

    function titleOf(i) {
        if (!ownTitles.has(i))
            ownTitles.set(i, boxes[i].querySelector("title").textContent);
        return ownTitles.get(i);
    }

    const nameOf = (i) => name[i] < 0 ? titleOf(i) : data.names[name[i]];

    function describe(i) {
        let text;
        if (name[i] < 0 || boxes[i].hasAttribute("data-title")) {
            text = titleOf(i);
        } else {
            text = nameOf(i) + " (" + figures.format(after[i] * data.factor) + " " +
                data.countName + ", " + percent(after[i], data.total);
            if (before) {
                const change = after[i] - before[i];
                text += "; " + (change < 0 ? "" : "+") +
                    percent(change, data.total || data.totalBefore);
            }
            text += ")";
        }
        if (zoomed > 0 && i !== zoomed && !isCaller[i])
            text += ", " + percent(width[i], width[zoomed]) + " of the zoomed frame";
        return text;
    }

    /* --- Labels ----------------------------------------------------------------------- */

    const pen = document.createElementNS(HTML, "canvas").getContext("2d");
    const advances = new Map();
    let dots = 0;

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
        pen.font = style.fontSize + " " + style.fontFamily;
        advances.clear();
        dots = advance("\u2026");
    }

    /* How much of a text's beginning fits. */
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

    function cutEnd(text, room) {
        if (fittingHead(text, room) === text.length)
            return text;
        const fits = fittingHead(text, room - dots);
        return fits < 2 ? "" : text.slice(0, fits) + "\u2026";
    }

    function cutBeginning(text, room) {
        let at = text.length;
        room -= dots;
        while (at && (room -= advance(text[at - 1])) >= 0)
            at--;
        return text.length - at < 2 ? "" : "\u2026" + text.slice(at);
    }

    /* Leaves out qualifiers first, "a::b::" of "a::b::c", as the exporter does; brackets
     * are passed over. A path with words before it is no qualified name. */
    function cutQualifiers(text, room) {
        let last = 0, fitting = text.length, slash = false, depth = 0, left = room - dots;
        const stop = Math.max(0, text.length - QUALIFIERS_MOST);
        for (let at = text.length - 1; at >= stop; at--) {
            const c = text[at], previous = text[at - 1];
            left -= advance(c);
            if (c === ")" || c === "]" || (c === ">" && previous !== "-" && previous !== "="))
                depth++;
            else if ((c === "(" || c === "[" || c === "<") && depth > 0)
                depth--;
            if (last && left < 0 && !slash)
                break;
            if (depth || at < 2)
                continue;
            if (c === " ") {
                if (slash) {
                    fitting = text.length;
                    last = 0;
                }
                break;
            }
            if (previous !== "/" && (previous !== ":" || text[at - 2] !== ":"))
                continue;
            slash = slash || previous === "/";
            last = last || at;
            if (left >= 0)
                fitting = at;
        }
        if (fitting < text.length)
            return "\u2026" + text.slice(fitting);
        return cutEnd(text.slice(last), room);
    }

    function fit(text, room) {
        if (fittingHead(text, room) === text.length)
            return text;
        if (data.cut === CUT_END)
            return cutEnd(text, room);
        return data.cut === CUT_BEGINNING ? cutBeginning(text, room)
            : cutQualifiers(text, room);
    }

    const labels = new Array(count);  /* the <text> of a box, once there is one */
    const labelled = new Set();       /* boxes whose label is not empty */
    let fontSize = 12, labelLeast = 12;

    function findLabels() {
        fontSize = parseFloat(getComputedStyle(frames).fontSize);
        labelLeast = fontSize + 2 * TEXT_PAD;
        let i = 0;
        for (const label of frames.querySelectorAll("text")) {
            while (boxes[i] !== label.parentNode)
                i++;
            labels[i] = label;
            labelled.add(i);
        }
    }

    function setLabel(i, text, place) {
        let label = labels[i];
        if (!text && !label)
            return;
        if (!label) {
            const y = rowY(row[i]) + (data.rowHeight - 1) / 2 + fontSize * .36;
            label = labels[i] = create(SVG, "text", { dx: TEXT_PAD, y: y }, boxes[i]);
        }
        if (label.textContent !== text)
            label.textContent = text;
        if (text)
            label.setAttribute("x", place);
        if (text)
            labelled.add(i);
        else
            labelled.delete(i);
    }

    /* Calls back with each box that is at least `least` pixels wide in the view, and its
     * width there. */
    function eachVisible(least, call) {
        const scale = viewWidth / (to - from), end = to - 1e-9 * (to - from);
        for (let r = 0; r < rows; r++) {
            for (let at = Math.max(lastInRow(r, from), rowStart[r]); at < rowStart[r + 1];
                at++) {
                const i = inRow[at];
                if (x[i] >= end)
                    break;
                const pixels = (Math.min(to, x[i] + width[i]) - Math.max(from, x[i])) *
                    scale;
                if (pixels >= least)
                    call(i, pixels);
            }
        }
    }

    function fitLabels() {
        const fresh = new Set();
        eachVisible(labelLeast, (i, pixels) => {
            const text = name[i] < 0 ? cutEnd(titleOf(i).split(/,| \(/)[0],
                pixels - 2 * TEXT_PAD) : fit(nameOf(i), pixels - 2 * TEXT_PAD);
            setLabel(i, text, percentOf(Math.max(from, x[i])));
            fresh.add(i);
        });
        for (const i of Array.from(labelled))
            if (!fresh.has(i) && x[i] < to && x[i] + width[i] > from)
                setLabel(i, "", "0");
    }

    /* --- Zoom ------------------------------------------------------------------------- */

    let viewWidth = +view.getAttribute("width");
    let zoomed = 0, from = 0, to = total; /* the box that fills the view, its extent */
    let callers = [];
    const isCaller = new Uint8Array(count);

    const percentOf = (place) => (total > 0 ? 100 * place / total : 0) + "%";

    function placeFrames() {
        const wide = viewWidth * total / (to - from);
        frames.setAttribute("width", wide);
        frames.setAttribute("x", -wide * from / total);
    }

    /* What calls the zoomed box fills the view too, faded. */
    function fadeCallers() {
        for (const i of callers) {
            boxes[i].classList.remove("ancestor");
            isCaller[i] = 0;
        }
        callers = [];
        for (let i = zoomed > 0 ? callerOf(zoomed) : -1; i >= 0; i = callerOf(i)) {
            boxes[i].classList.add("ancestor");
            isCaller[i] = 1;
            callers.push(i);
        }
    }

    function zoom(i) {
        if (!(width[i] > 0))
            i = 0;
        zoomed = i;
        from = i ? x[i] : 0;
        to = i ? x[i] + width[i] : total;
        fadeCallers();
        redraw();
        unzoomButton.hidden = !zoomed;
        showMatched();
        saveState();
    }

    function redraw() {
        if (!(total > 0))
            return;
        placeFrames();
        fitLabels();
        outline(hoverBox, hovered);
        outline(ring, byKeyboard ? focused : -1);
        explain(hovered >= 0 || !byKeyboard ? hovered : focused);
    }

    /* --- Hover ------------------------------------------------------------------------ */

    const hoverBox = create(SVG, "rect", { id: "hover", visibility: "hidden" }, view);
    const ring = create(SVG, "rect", { id: "ring", visibility: "hidden" }, view);
    let hovered = -1, focused = -1;
    let byKeyboard = false; /* the ring is for those who move by keys */

    /* Draws a frame around a box; around none where i is -1. */
    function outline(rect, i) {
        if (i < 0 || x[i] >= to || x[i] + width[i] <= from) {
            rect.setAttribute("visibility", "hidden");
            return;
        }
        const scale = viewWidth / (to - from);
        const left = Math.max(0, (x[i] - from) * scale);
        const wide = Math.min(viewWidth, (x[i] + width[i] - from) * scale) - left;
        const inset = wide < 8 ? -1 : 1; /* around what is too narrow to draw within */
        rect.setAttribute("x", left + inset);
        rect.setAttribute("y", rowY(row[i]) + inset);
        rect.setAttribute("width", wide - 2 * inset);
        rect.setAttribute("height", data.rowHeight - 1 - 2 * inset);
        rect.setAttribute("visibility", "visible");
    }

    /* Says in the detail line, and in the box's own title, what a box is. */
    function explain(i) {
        const text = i < 0 ? "" : describe(i);
        const line = i < 0 || name[i] < 0 ? text : data.nameType + " " + text;
        details.textContent = cutEnd(line, viewWidth);
        subtitle.setAttribute("visibility", i < 0 ? "visible" : "hidden");
        if (i < 0)
            return;
        const title = boxes[i].querySelector("title");
        if (name[i] < 0)
            titleOf(i);
        if (title.textContent !== text)
            title.textContent = text;
    }

    function boxUnder(event) {
        const area = view.getBoundingClientRect();
        if (!(area.width > 0) || !(total > 0))
            return -1;
        const place = from + (event.clientX - area.left) / area.width * (to - from);
        const fromTop = Math.floor((event.clientY - area.top) / area.height * rows);
        return boxAt(data.icicles ? fromTop : rows - 1 - fromTop, place);
    }

    function hover(i) {
        if (i === hovered)
            return;
        hovered = i;
        outline(hoverBox, i);
        explain(i >= 0 || !byKeyboard ? i : focused);
    }

    /* --- Search ----------------------------------------------------------------------- */

    const matched = new Uint8Array(count);
    let term = "", ignoreCase = false;

    /* A text that is no regular expression is searched for as it stands. */
    function compile(text) {
        try {
            return new RegExp(text, ignoreCase ? "i" : "");
        } catch (error) {
            return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
                ignoreCase ? "i" : "");
        }
    }

    function isValid(text) {
        try {
            return Boolean(new RegExp(text));
        } catch (error) {
            return false;
        }
    }

    function search(text) {
        term = text;
        const pattern = text ? compile(text) : null;
        const named = data.names.map((one) => pattern !== null && pattern.test(one));
        for (let i = 1; i < count; i++) {
            const match = name[i] >= 0 && named[name[i]] ? 1 : 0;
            if (match !== matched[i]) {
                matched[i] = match;
                boxes[i].classList.toggle("match", match === 1);
            }
        }
        frames.classList.toggle("searching", pattern !== null);
        searchField.classList.toggle("invalid", !isValid(text));
        showMatched();
        saveState();
    }

    /* The weight of all matches within an extent: one inside another counts once, for the
     * boxes of a row come callers first. */
    function matchedWeight(start, end) {
        let sum = 0, until = 0;
        for (let i = 1; i < count; i++) {
            if (!matched[i] || x[i] + width[i] <= until)
                continue;
            sum += Math.max(0, Math.min(end, x[i] + width[i]) - Math.max(start, x[i]));
            until = x[i] + width[i];
        }
        return sum;
    }

    function showMatched() {
        let text = "";
        if (term) {
            text = "Matched: " + percent(matchedWeight(0, total), total);
            if (zoomed)
                text += ", " + percent(matchedWeight(from, to), to - from) + " of the zoom";
        }
        matchedText.textContent = text;
    }

    function toggleCase() {
        ignoreCase = !ignoreCase;
        caseButton.setAttribute("aria-pressed", ignoreCase);
        if (term)
            search(term);
    }

    /* --- The tools: only where there is a script to make them work -------------------- */

    const tools = create(SVG, "foreignObject", { id: "tools", y: 5, height: 34 }, header);
    const bar = create(HTML, "div", { "class": "tools" }, tools);
    const matchedText = create(HTML, "span", { id: "matched", role: "status" }, bar);
    const viewButton = before ? button("widths", "Before", "Show the widths before") : null;
    const searchField = create(HTML, "input", {
        id: "search", type: "search", placeholder: "Search (Ctrl-F)", spellcheck: "false",
        "aria-label": "Search frames by a regular expression"
    }, bar);
    const caseButton = button("ignorecase", "Aa", "Ignore case (Ctrl-I)");
    const unzoomButton = button("unzoom", "Reset zoom", "Show everything (Escape)");
    caseButton.setAttribute("aria-pressed", "false");
    unzoomButton.hidden = true;

    function button(id, text, hint) {
        const made = create(HTML, "button", { id: id, type: "button", title: hint }, bar);
        made.textContent = text;
        return made;
    }

    /* --- Keys ------------------------------------------------------------------------- */

    /* The keyboard is in one box at a time; the ring shows which, and to a screen reader
     * #view says so by its active descendant. */
    function focus(i) {
        if (focused >= 0) {
            boxes[focused].removeAttribute("role");
            boxes[focused].removeAttribute("aria-label");
        }
        focused = i;
        outline(ring, byKeyboard ? i : -1);
        if (i < 0) {
            view.removeAttribute("aria-activedescendant");
            return;
        }
        const box = boxes[i];
        if (!box.id)
            box.id = "frame-" + i;
        box.setAttribute("role", "treeitem");
        box.setAttribute("aria-level", row[i] + 1);
        box.setAttribute("aria-label", describe(i));
        view.setAttribute("aria-activedescendant", box.id);
        if (byKeyboard) {
            explain(i);
            scrollTo(i);
        }
    }

    function scrollTo(i) {
        if (!standalone)
            return;
        const top = view.getBoundingClientRect().top + rowY(row[i]);
        const low = pinned ? +find("bar").getAttribute("height") : 0;
        if (top < low)
            window.scrollBy(0, top - low - data.rowHeight);
        else if (top + 2 * data.rowHeight > window.innerHeight)
            window.scrollBy(0, top + 2 * data.rowHeight - window.innerHeight);
    }

    /* The visible box beside another in its row, or -1. */
    function beside(i, step) {
        const r = row[i];
        let at = lastInRow(r, x[i]);
        while (at > rowStart[r] && inRow[at] !== i)
            at--;
        for (at += step; at >= rowStart[r] && at < rowStart[r + 1]; at += step) {
            const next = inRow[at];
            if (x[next] >= to || x[next] + width[next] <= from)
                return -1;
            if ((to - from) > 0 && width[next] > 0)
                return next;
        }
        return -1;
    }

    /* The next box on the way through the whole picture, or -1. */
    function following(i, step) {
        for (let next = i + step; next >= 0 && next < count; next += step)
            if (width[next] > 0 && x[next] < to && x[next] + width[next] > from)
                return next;
        return -1;
    }

    function step(key, backwards) {
        const up = data.icicles ? "ArrowDown" : "ArrowUp";
        const down = data.icicles ? "ArrowUp" : "ArrowDown";
        switch (key) {
        case up: return calleeOf(focused);
        case down: return callerOf(focused);
        case "ArrowLeft": return beside(focused, -1);
        case "ArrowRight": return beside(focused, 1);
        case "Home": return zoomed;
        case "Tab": return following(focused, backwards ? -1 : 1);
        default: return -1;
        }
    }

    function follow(i) {
        const href = boxes[i].getAttribute("href");
        if (href)
            window.open(href, boxes[i].getAttribute("target") || "_top");
    }

    function copyName(i) {
        const done = () => { details.textContent = "Copied: " + cutEnd(nameOf(i), 600); };
        if (i >= 0 && navigator.clipboard)
            navigator.clipboard.writeText(nameOf(i)).then(done, () => {});
    }

    function keyInView(event) {
        if (focused < 0)
            return;
        byKeyboard = true;
        if (event.key === "Enter" || event.key === " ") {
            if (event.ctrlKey || event.metaKey)
                follow(focused);
            else
                zoom(focused);
            event.preventDefault();
            return;
        }
        if (event.ctrlKey || event.metaKey || event.altKey)
            return;
        const next = step(event.key, event.shiftKey);
        if (next >= 0) {
            focus(next);
            event.preventDefault();
        } else if (event.key.startsWith("Arrow")) {
            event.preventDefault();
        }
    }

    function reset() {
        if (document.activeElement === searchField || (!zoomed && term)) {
            searchField.value = "";
            search("");
            searchField.blur();
        } else {
            zoom(0);
        }
    }

    function key(event) {
        byKeyboard = byKeyboard || event.key === "Tab";
        const control = event.ctrlKey || event.metaKey;
        const letter = event.key.toLowerCase();
        const searching = document.activeElement === searchField;
        if ((event.key === "F3" || (control && letter === "f")) && !searching) {
            searchField.focus();
            searchField.select();
        } else if (control && letter === "i") {
            toggleCase();
        } else if (event.key === "Escape") {
            reset();
        } else if (letter === "c" && !control && !searching) {
            copyName(hovered >= 0 ? hovered : focused);
            return;
        } else {
            return;
        }
        event.preventDefault();
    }

    /* --- The address ------------------------------------------------------------------ */

    /* x and y are a frame's first sample and its place in a picture by the original
     * tools, whose links so work here; s is what is searched for. */
    const linkY = (i) => data.linkTop + rowFromTop(row[i]) * 16;

    function saveState() {
        if (!standalone || restoring)
            return;
        const query = new URLSearchParams(location.search);
        for (const key of ["x", "y", "s"])
            query.delete(key);
        if (zoomed) {
            query.set("x", x[zoomed] * data.factor);
            query.set("y", linkY(zoomed));
        }
        if (term)
            query.set("s", term);
        const text = query.toString();
        try {
            history.replaceState(null, "", location.pathname + (text ? "?" + text : "") +
                location.hash);
        } catch (error) {
            /* A page that may not change its address is a page without links. */
        }
    }

    /* The box a link means: by its first sample, or by pixels of a picture 1200 wide. */
    function linked(linkX, y) {
        for (let i = 1; i < count; i++)
            if (width[i] > 0 && Math.abs(linkY(i) - y) < 1 &&
                Math.abs(x[i] * data.factor - linkX) <= 1e-9 * total * data.factor)
                return i;
        for (let i = 1; i < count; i++)
            if (width[i] > 0 && Math.abs(linkY(i) - y) < 1 &&
                Math.abs(PAD + x[i] / total * 1180 - linkX) <= .06)
                return i;
        return 0;
    }

    let restoring = false;

    function restoreState() {
        if (!standalone)
            return;
        const query = new URLSearchParams(location.search);
        restoring = true;
        if (query.has("x") && query.has("y"))
            zoom(linked(parseFloat(query.get("x")), parseFloat(query.get("y"))));
        if (query.get("s")) {
            searchField.value = query.get("s");
            search(searchField.value);
        }
        restoring = false;
    }

    /* --- The page --------------------------------------------------------------------- */

    let pinned = false;

    /* As wide as the page, unless a width was asked for. */
    function resize() {
        let wide = +root.getAttribute("viewBox").split(" ")[2];
        if (data.fluid && standalone) {
            wide = Math.max(320, document.documentElement.clientWidth || wide);
            root.setAttribute("width", "100%");
            root.setAttribute("viewBox", "0 0 " + wide + " " + height);
        }
        viewWidth = wide - 2 * PAD;
        view.setAttribute("width", viewWidth);
        tools.setAttribute("x", wide * .3);
        tools.setAttribute("width", wide * .7 - PAD);
        redraw();
    }

    /* The header stays in sight. */
    function pin() {
        const down = standalone ? window.scrollY : 0;
        pinned = down > 0;
        header.setAttribute("transform", "translate(0 " + down + ")");
        header.classList.toggle("pinned", pinned);
    }

    function toggleWidths() {
        const shown = width === after ? before : after;
        width = shown;
        total = shown === after ? data.total : data.totalBefore;
        zoomed = 0;
        from = 0;
        to = total;
        fadeCallers();
        placeBoxes();
        for (let i = 0; i < count; i++) {
            const rect = boxes[i].querySelector("rect");
            rect.setAttribute("x", percentOf(x[i]));
            rect.setAttribute("width", percentOf(Math.max(0, width[i])));
        }
        viewButton.textContent = shown === after ? "Before" : "After";
        viewButton.title = "Show the widths " + (shown === after ? "before" : "after");
        zoom(0);
    }

    function listen() {
        view.addEventListener("mousemove", (event) => hover(boxUnder(event)));
        view.addEventListener("mouseleave", () => hover(-1));
        view.addEventListener("click", (event) => {
            const i = boxUnder(event);
            if (event.ctrlKey || event.metaKey)
                return; /* the browser follows a link */
            event.preventDefault();
            if (i < 0)
                return;
            zoom(i);
            focus(i);
        });
        view.addEventListener("mousedown", (event) => {
            byKeyboard = false;
            outline(ring, -1);
            event.preventDefault(); /* no scrolling to what gets the focus */
            view.focus({ preventScroll: true });
        });
        view.addEventListener("focus", () => focus(focused >= 0 ? focused : zoomed));
        view.addEventListener("blur", () => outline(ring, -1));
        view.addEventListener("keydown", keyInView);
        searchField.addEventListener("input", () => search(searchField.value));
        caseButton.addEventListener("click", toggleCase);
        unzoomButton.addEventListener("click", () => zoom(0));
        if (viewButton)
            viewButton.addEventListener("click", toggleWidths);
        window.addEventListener("keydown", key, true);
        window.addEventListener("resize", resize);
        window.addEventListener("scroll", pin, { passive: true });
    }

    function start() {
        view.setAttribute("tabindex", "0");
        view.setAttribute("role", "tree");
        view.setAttribute("aria-label",
            "Flame graph. Arrow keys move between frames, Enter zooms, Escape resets.");
        if (data.showBefore) {
            width = before;
            to = total = data.totalBefore;
            viewButton.textContent = "After";
        }
        placeBoxes();
        sortRows();
        prepareFont();
        findLabels();
        listen();
        resize();
        restoreState();
    }

    start();
})();
