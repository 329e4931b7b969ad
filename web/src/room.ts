/* SPDX-License-Identifier: Apache-2.0 */
/* The height of the window is divided between the tracks and the panel below them: a chart that
 * is lower than the panel leaves the rest to the tracks, unless the user has moved the splitter. */
import type { App } from "./app";
import { isCycles } from "./format";
import { isPhone } from "./phone";

const BARS = 190; /* pixels of everything but the rows of tracks and the panel */
const TRACK_BARS = 48; /* of these, those that belong to the tracks */
const PANEL_LEAST = 240;
const LIST_LEAST = 420; /* with the list of what allocated beside the chart */
const CHARTS: readonly string[] = ["left", "time"]; /* views with a known height */

/* The height that the rows should fill; 0: their own. */
export function roomOfRows(app: App): number {
    const { appearance, needed, state } = app;
    if (isPhone())
        return 0;
    if (appearance.tracks !== null)
        return appearance.tracks;
    if (needed === null || !CHARTS.includes(state.view) || isCycles()) /* a traced core runs all the time: the height of its row says nothing */
        return 0;
    const least = appearance.side && app.memory.listed ? LIST_LEAST : PANEL_LEAST;
    return Math.round(Math.max(0, Math.min(innerHeight * 0.6 - TRACK_BARS, innerHeight - BARS - Math.max(least, needed))));
}

/* More rows than that are scrolled. */
export function mostRows(app: App): number {
    return app.appearance.tracks ?? Math.round(Math.max(innerHeight * 0.45 - TRACK_BARS, roomOfRows(app)));
}
