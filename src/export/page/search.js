/* Search: names that match a regular expression, and their share of the total. */

const matched = new Uint8Array(count);
let term = "", ignoreCase = false;

/* If a text is not a valid regular expression, it is searched for literally. */
function compile(text) {
    const flags = ignoreCase ? "i" : "";
    try {
        return { pattern: new RegExp(text, flags), literal: false };
    } catch (error) {
        const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        return { pattern: new RegExp(escaped, flags), literal: true };
    }
}

function search(text) {
    const { pattern, literal } = compile(text);
    const named = data.names.map((one) => text !== "" && pattern.test(one));
    term = text;
    for (let i = 1; i < count; i++) {
        const match = name[i] >= 0 && named[name[i]] ? 1 : 0;
        if (match !== matched[i]) {
            matched[i] = match;
            boxes[i].classList.toggle("match", match === 1);
        }
    }
    frames.classList.toggle("searching", text !== "");
    searchField.classList.toggle("literal", literal);
    showMatched();
    saveState();
}

/* The weight of all matches between two positions. A match inside the extent of another is
 * one of its callees and counts with it: a caller comes before its callees. */
function matchedWeight(start, end) {
    let sum = 0, until = 0;
    for (let i = 1; i < count; i++) {
        const ends = x[i] + width[i];
        if (!matched[i] || ends <= until)
            continue;
        sum += Math.max(0, Math.min(end, ends) - Math.max(start, x[i]));
        until = ends;
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
