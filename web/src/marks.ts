/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on the time line: those near each other are drawn as one, with one text. */
import { count, shownName } from "./format";
import type { Mark } from "./protocol";

export interface MarkRow {
    first: Mark;
    to: number; /* ns: of the last one */
    lost: number; /* samples of all */
    times: number;
}

/* The rows of a table. A busy machine loses samples again and again: those that are less than `near`
 * after others are in the row of these. */
export function markRows(marks: Mark[], near: number): MarkRow[] {
    const rows: MarkRow[] = [];
    let last: MarkRow | null = null; /* of lost samples */
    for (const mark of marks) {
        if (mark.name === undefined && last && mark.at - last.to <= near) {
            last.to = mark.at;
            last.lost += mark.lost ?? 0;
            last.times++;
            continue;
        }
        const row = { first: mark, to: mark.at, lost: mark.lost ?? 0, times: 1 };
        rows.push(row);
        if (mark.name === undefined)
            last = row;
    }
    return rows;
}

const LETTERS_LEAST = 3;
const NEAR = 14; /* pixels: nearer lines look like one, and no text is between them */
const TEXT_LEFT = 5, TEXT_RIGHT = 8; /* pixels beside a text */

export interface MarkGroup {
    from: number; /* pixels: the first and the last line */
    to: number;
    marks: Mark[];
    text: string; /* empty: it has no room */
}

/* What all of the marks are: lost samples are added up. */
export function groupText(marks: Mark[]): string {
    const [first] = marks;
    if (marks.every((mark) => mark.name === undefined))
        return `lost ${count(marks.reduce((sum, mark) => sum + (mark.lost ?? 0), 0))}`;
    if (!first || marks.some((mark) => mark.name !== first.name))
        return `+${marks.length}`;
    return marks.length > 1 ? `${shownName(first.name ?? "")} \u00d7${marks.length}` : shownName(first.name ?? "");
}

/* The end of the name, or the beginning of it. */
function shortened(name: string, room: number, widthOf: (text: string) => number): string {
    let text = name.slice(name.lastIndexOf(":") + 1);
    if (widthOf(text) <= room)
        return text;
    while (text.length > LETTERS_LEAST && widthOf(`${text}\u2026`) > room)
        text = text.slice(0, -1);
    return widthOf(`${text}\u2026`) <= room ? `${text}\u2026` : "";
}

/* The longest text of the group that is not wider than the room. */
function fitting(marks: Mark[], room: number, widthOf: (text: string) => number): string {
    const [whole, short] = [groupText(marks), marks.length > 1 ? `+${marks.length}` : ""];
    if (widthOf(whole) <= room)
        return whole;
    return short ? (widthOf(short) <= room ? short : "") : shortened(whole, room, widthOf);
}

/* The marks by time, in the window of that width. A group without room for a text takes in the next one. */
export function groupMarks(marks: Mark[], xOf: (ns: number) => number, width: number, widthOf: (text: string) => number): MarkGroup[] {
    const groups: MarkGroup[] = [];
    for (const mark of marks) {
        const x = xOf(mark.at), last = groups[groups.length - 1];
        const isNear = last && x - last.to < NEAR;
        if (last && (isNear || !fitting(last.marks, x - last.to - TEXT_LEFT - TEXT_RIGHT, widthOf))) {
            last.to = x;
            last.marks.push(mark);
        } else {
            groups.push({ from: x, to: x, marks: [mark], text: "" });
        }
    }
    for (const [i, group] of groups.entries())
        group.text = fitting(group.marks, (groups[i + 1]?.from ?? width + TEXT_RIGHT) - group.to - TEXT_LEFT - TEXT_RIGHT, widthOf);
    return groups;
}
