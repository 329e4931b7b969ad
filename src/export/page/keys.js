/* Keys. One box has the focus: a ring shows it, and for a screen reader it is the active
 * descendant of #view. */

function focus(i) {
    if (focused >= 0)
        for (const attribute of ["role", "aria-level", "aria-label"])
            boxes[focused].removeAttribute(attribute);
    focused = i;
    outline(ring, byKeyboard ? i : -1);
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
    const bottom = top + 2 * data.rowHeight;
    if (top < low)
        window.scrollBy(0, top - low - data.rowHeight);
    else if (bottom > window.innerHeight)
        window.scrollBy(0, bottom - window.innerHeight);
}

const inView = (i) => width[i] > 0 && x[i] < to && x[i] + width[i] > from;

/* The next visible box to the left or right in the row, or -1. */
function beside(i, step) {
    const r = row[i];
    let at = lastInRow(r, x[i]);
    while (inRow[at] !== i)
        at--;
    for (at += step; at >= rowStart[r] && at < rowStart[r + 1]; at += step)
        if (inView(inRow[at]))
            return inRow[at];
    return -1;
}

/* The next visible box, callers before callees, or -1. */
function following(i, step) {
    for (let next = i + step; next >= 0 && next < count; next += step)
        if (inView(next))
            return next;
    return -1;
}

function target(event) {
    const up = data.icicles ? "ArrowDown" : "ArrowUp";
    const down = data.icicles ? "ArrowUp" : "ArrowDown";
    switch (event.key) {
    case up: return calleeOf(focused);
    case down: return callerOf(focused);
    case "ArrowLeft": return beside(focused, -1);
    case "ArrowRight": return beside(focused, 1);
    case "Home": return zoomed;
    case "Tab": return following(focused, event.shiftKey ? -1 : 1);
    default: return -1;
    }
}

function followLink(i) {
    const href = boxes[i].getAttribute("href");
    if (href)
        window.open(href, boxes[i].getAttribute("target") || "_top");
}

function copyName(i) {
    if (i < 0 || !navigator.clipboard)
        return;
    navigator.clipboard.writeText(nameOf(i)).then(() => {
        details.textContent = cutEnd("Copied: " + nameOf(i), viewWidth);
    }, () => {});
}

/* A key while a box has the focus. */
function keyInView(event) {
    const control = event.ctrlKey || event.metaKey;
    byKeyboard = true;
    if (event.key === "Enter" || event.key === " ") {
        if (control)
            followLink(focused);
        else
            zoom(focused);
        event.preventDefault();
    } else if (!control && !event.altKey) {
        const next = target(event);
        if (next >= 0)
            focus(next);
        if (next >= 0 || event.key.startsWith("Arrow"))
            event.preventDefault();
    }
}

/* Escape ends the search if its field has the focus, otherwise the zoom, otherwise the search. */
function reset() {
    if (document.activeElement === searchField || (!zoomed && term)) {
        searchField.value = "";
        search("");
        searchField.blur();
    } else {
        zoom(0);
    }
}

/* A key anywhere on the page. */
function key(event) {
    const control = event.ctrlKey || event.metaKey;
    const letter = event.key.toLowerCase();
    const inSearch = document.activeElement === searchField;
    if (event.key === "Tab") {
        byKeyboard = true;
    } else if ((event.key === "F3" || (control && letter === "f")) && !inSearch) {
        searchField.focus();
        searchField.select();
        event.preventDefault();
    } else if (control && letter === "i") {
        toggleCase();
        event.preventDefault();
    } else if (event.key === "Escape") {
        reset();
        event.preventDefault();
    } else if (letter === "c" && !control && !inSearch) {
        copyName(hovered >= 0 ? hovered : focused);
    }
}
