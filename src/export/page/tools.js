/* The tools in the header: they require this script. */

const tools = create(SVG, "foreignObject", { id: "tools", y: 5, height: 34 }, header);
const bar = create(HTML, "div", { "class": "tools" }, tools);

function button(id, text, hint) {
    const made = create(HTML, "button", { id: id, type: "button", title: hint }, bar);
    made.textContent = text;
    return made;
}

const matchedText = create(HTML, "span", { id: "matched", role: "status" }, bar);
const widthsButton = before ? button("widths", "", "") : null;
const searchField = create(HTML, "input", {
    id: "search", type: "search", placeholder: "Search (Ctrl-F)", spellcheck: "false",
    "aria-label": "Search frames by a regular expression"
}, bar);
const caseButton = button("ignorecase", "Aa", "Ignore case (Ctrl-I)");
const unzoomButton = button("unzoom", "Reset zoom", "Show everything (Escape)");
caseButton.setAttribute("aria-pressed", "false");
unzoomButton.hidden = true;

function nameWidthsButton() {
    const other = (width === after) === data.negate ? "after" : "before";
    widthsButton.textContent = "Show " + other;
    widthsButton.title = "Draw the widths " + other;
}
