/* The text of a box: in the line of details, in its title, for a screen reader. */

const details = find("details"), subtitle = find("subtitle");
const figures = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const percent = (part, all) => (all > 0 ? 100 * part / all : 0).toFixed(2) + "%";
const ownTitles = new Map(); /* of summaries, and of boxes with titles by the user */

function titleOf(i) {
    if (!ownTitles.has(i))
        ownTitles.set(i, boxes[i].querySelector("title").textContent);
    return ownTitles.get(i);
}

const nameOf = (i) => name[i] < 0 ? titleOf(i) : data.names[name[i]];

/* "... 12 frames": the beginning of a title. */
const summaryOf = (i) => titleOf(i).split(/ too |, | \(/)[0];

function describeFrame(i) {
    let text = nameOf(i) + " (" + figures.format(after[i] * data.factor) + " " +
        data.countName + ", " + percent(after[i], data.total);
    if (before) {
        const change = data.negate ? before[i] - after[i] : after[i] - before[i];
        text += "; " + (change < 0 ? "" : "+") +
            percent(change, data.total || data.totalBefore);
    }
    return text + ")";
}

function describe(i) {
    const own = name[i] < 0 || boxes[i].hasAttribute("data-title");
    const text = own ? titleOf(i) : describeFrame(i);
    if (!zoomed || i === zoomed || isCaller[i])
        return text;
    return text + ", " + percent(width[i], width[zoomed]) + " of the zoomed frame";
}

function explain(i) {
    const text = i < 0 ? "" : describe(i);
    const line = i < 0 || name[i] < 0 ? text : data.nameType + " " + text;
    details.textContent = cutEnd(line, viewWidth);
    subtitle.setAttribute("visibility", i < 0 ? "visible" : "hidden");
    if (i < 0)
        return;
    const title = boxes[i].querySelector("title");
    if (title.textContent !== text)
        title.textContent = text;
}
