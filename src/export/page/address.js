/* The state of the page is in its address, so that a link shows the same. x and y are the
 * first sample of a frame and its position in an image by FlameGraph's tools, so their
 * links work here too; s is the search text. */

let restoring = false;

const linkY = (i) => data.linkTop + rowFromTop(row[i]) * data.linkHeight;

function setOrDelete(query, key, value) {
    if (value === null)
        query.delete(key);
    else
        query.set(key, value);
}

function saveState() {
    if (!standalone || restoring)
        return;
    const query = new URLSearchParams(location.search);
    setOrDelete(query, "widths", width === before ? "before" : null);
    setOrDelete(query, "x", zoomed ? x[zoomed] : null);
    setOrDelete(query, "y", zoomed ? linkY(zoomed) : null);
    setOrDelete(query, "s", term || null);
    const text = query.toString();
    try {
        history.replaceState(null, "",
            location.pathname + (text ? "?" + text : "") + location.hash);
    } catch (error) {
        /* Some pages may not change their address. */
    }
}

/* In an image by FlameGraph's tools, frames that are too narrow to be drawn take space.
 * They shift other frames by at most this number of pixels. */
const LINK_ERROR = 12;

/* The box of a link: by its first sample, or the nearest by the pixels of an image that is
 * 1200 pixels wide; the root if there is none. */
function linked(atX, atY) {
    const pixelsOff = (i) => Math.abs(PAD + x[i] / total * 1180 - atX);
    let best = 0;
    for (let i = 1; i < count; i++) {
        if (width[i] <= 0 || Math.abs(linkY(i) - atY) >= 1)
            continue;
        if (Math.abs(x[i] - atX) <= 1e-9 * total)
            return i;
        if (name[i] >= 0 && pixelsOff(i) <= LINK_ERROR &&
            (!best || pixelsOff(i) < pixelsOff(best)))
            best = i;
    }
    return best;
}

function restoreState() {
    if (!standalone)
        return;
    const query = new URLSearchParams(location.search);
    restoring = true;
    if (before && query.get("widths") === "before" && width === after)
        toggleWidths();
    if (query.has("x") && query.has("y"))
        zoom(linked(parseFloat(query.get("x")), parseFloat(query.get("y"))));
    if (query.get("s")) {
        searchField.value = query.get("s");
        search(searchField.value);
    }
    restoring = false;
}
