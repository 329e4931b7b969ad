/* The page as a whole. */

const height = +root.getAttribute("height");
let pinned = false;

/* As wide as the page, unless the user requested a width. */
function resize() {
    let wide = +root.getAttribute("viewBox").split(" ")[2];
    if (data.fluid && standalone) {
        wide = Math.max(320, root.clientWidth || window.innerWidth);
        root.setAttribute("viewBox", "0 0 " + wide + " " + height);
    }
    viewWidth = wide - 2 * PAD;
    view.setAttribute("width", viewWidth);
    const left = Math.min(wide / 2, 3 * PAD + find("title").getComputedTextLength());
    tools.setAttribute("x", left);
    tools.setAttribute("width", wide - PAD - left);
    redraw();
}

/* The header remains visible. */
function pin() {
    const down = standalone ? window.scrollY : 0;
    pinned = down > 0;
    header.setAttribute("transform", "translate(0 " + down + ")");
    header.classList.toggle("pinned", pinned);
}

function click(event) {
    if (event.ctrlKey || event.metaKey)
        return; /* the browser follows a link */
    event.preventDefault();
    const i = boxUnder(event);
    if (i >= 0) {
        zoom(i);
        focus(i);
    }
}

function press(event) {
    byKeyboard = false;
    outline(ring, -1);
    event.preventDefault(); /* the page must not scroll to the focused element */
    view.focus({ preventScroll: true });
}

function listen() {
    view.addEventListener("mousemove", (event) => hover(boxUnder(event)));
    view.addEventListener("mouseleave", () => hover(-1));
    view.addEventListener("mousedown", press);
    view.addEventListener("click", click);
    view.addEventListener("focus", () => focus(focused >= 0 ? focused : zoomed));
    view.addEventListener("blur", () => outline(ring, -1));
    view.addEventListener("keydown", keyInView);
    searchField.addEventListener("input", () => search(searchField.value));
    caseButton.addEventListener("click", toggleCase);
    unzoomButton.addEventListener("click", () => zoom(0));
    if (widthsButton)
        widthsButton.addEventListener("click", toggleWidths);
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
    }
    if (widthsButton)
        nameWidthsButton();
    if (data.fluid && standalone)
        root.setAttribute("width", "100%");
    arrangeBoxes();
    sortRows();
    prepareFont();
    findLabels();
    listen();
    resize();
    restoreState();
    if (standalone && !data.icicles)
        window.scrollTo(0, height); /* a high image opens at its root */
}

start();
