/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a function, with their weights in the whole recording and the jumps between
 * them; the instructions of the selected source line are marked. */
import { useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import type { Instruction, Listing, Listings } from "../protocol";
import { heights } from "../density";
import { baseName, shownName } from "../format";
import { Figure, Rows } from "./rows";

export interface SourceLine {
    file: string;
    line: number;
}

interface Jump {
    from: number; /* rows */
    to: number;
    lane: number; /* 0 is next to the addresses */
}

const LANES = 6;
const JUMPS_MOST = 4000; /* of a function: the shortest */
const LANE = 7; /* pixels */
const ARROWS = LANES * LANE + 12; /* pixels of the column */
const LETTER = 7.4; /* approximate pixels of a character */
const BESIDE = 310; /* pixels of the other columns, the address and the name of the instruction */

/* The listing of the selected function; without a selection the heaviest. */
export function listingOf(app: App, all: Listings): Listing | null {
    const { chosen } = app;
    const named = all.functions.filter((f) => f.name === chosen?.name);
    return chosen ? named.find((f) => baseName(f.module) === baseName(chosen.module)) ?? named[0] ?? null : all.functions[0] ?? null;
}

/* The row that an instruction jumps to; -1: it does not jump within the function. */
function targetOf(text: string, rowAt: Map<number, number>): number {
    const found = /^(\S+) (?:[^#]*[\s,])?([0-9a-f]+) <[^>]*>$/.exec(text);
    return found && !/^(call|bl$|blr$|jal)/.test(found[1] as string) ? rowAt.get(Number.parseInt(found[2] as string, 16)) ?? -1 : -1;
}

/* Short jumps are next to the addresses. A jump for which no lane is free is not drawn. */
export function jumpsOf(instructions: { address: number; text?: string }[]): Jump[] {
    const rowAt = new Map(instructions.map((one, i) => [one.address, i]));
    const all = instructions.map((one, from) => ({ from, to: targetOf(one.text ?? "", rowAt) })).filter(({ from, to }) => to >= 0 && to !== from);
    const lanes: [number, number][][] = Array.from({ length: LANES }, () => []);
    const drawn: Jump[] = [];
    for (const { from, to } of all.sort((a, b) => Math.abs(a.to - a.from) - Math.abs(b.to - b.from)).slice(0, JUMPS_MOST)) {
        const [low, high] = [Math.min(from, to), Math.max(from, to)];
        const lane = lanes.findIndex((taken) => taken.every(([first, last]) => last < low || first > high));
        if (lane >= 0) {
            (lanes[lane] as [number, number][]).push([low, high]);
            drawn.push({ from, to, lane });
        }
    }
    return drawn;
}

/* The part of the jumps that crosses one row. */
function Arrows({ jumps, row, at }: { jumps: Jump[]; row: number; at: number }) {
    const middle = heights.row / 2;
    return (
        <svg class="arrows" width={ARROWS} height={heights.row} aria-hidden="true">
            {jumps.filter(({ from, to }) => Math.min(from, to) <= row && row <= Math.max(from, to)).map(({ from, to, lane }) => {
                const x = ARROWS - 10 - lane * LANE;
                const up = row > Math.min(from, to) ? 0 : middle, down = row < Math.max(from, to) ? heights.row : middle;
                const ends = row === from || row === to ? `M${x} ${middle}H${ARROWS - 2}` : "";
                const head = row === to ? `M${ARROWS - 6} ${middle - 3}l4 3l-4 3` : "";
                return <path key={from} class={from === at || to === at ? "on" : ""} d={`M${x} ${up}V${down}${ends}${head}`} />;
            })}
        </svg>
    );
}

interface Props {
    app: App;
    listing: Listing;
    unit: string;
    line: SourceLine | null; /* selected */
    onLine(line: SourceLine): void;
}

export function Assembly({ app, listing, unit, line, onLine }: Props) {
    const { instructions } = listing;
    const jumps = useMemo(() => jumpsOf(instructions), [listing]);
    const hottest = useMemo(() => instructions.reduce((most, one, i) => one.weight > (instructions[most]?.weight ?? -1) ? i : most, -1), [listing]);
    const [cursor, setCursor] = useState<number | null>(null);
    const marked = (one: Instruction | undefined): boolean => line !== null && one?.line === line.line && one.file === line.file;
    /* A line that is selected in the source scrolls to its heaviest instruction. */
    const first = instructions.reduce((most, one, i) => marked(one) && one.weight > (instructions[most]?.weight ?? -1) ? i : most, -1);
    const at = cursor !== null && (!line || marked(instructions[cursor])) ? cursor : first >= 0 ? first : cursor ?? hottest;
    const go = (to: number): void => {
        const { file, line: number } = instructions[to] ?? {};
        setCursor(to);
        if (file && number)
            onLine({ file, line: number });
    };
    const enter = (): void => {
        const jump = jumps.find(({ from }) => from === at);
        if (jump)
            go(jump.to);
    };
    const longest = useMemo(() => instructions.reduce((most, one) => Math.max(most, one.text?.length ?? 0), 0), [listing]);
    const sampled = instructions.filter((one) => one.samples > 0).length;
    const bare = instructions.every((one) => !one.text);
    const said = bare ? `${sampled} ${sampled === 1 ? "address" : "addresses"}` : `${sampled} of ${instructions.length} instructions`;
    return (
        <div class="table assembly" role="table" aria-label={`Instructions of ${shownName(listing.name)}`}>
            <div class="heads">
                <span>Self</span><span>Line</span><span />
                <span title={`${shownName(listing.name)}\n${shownName(listing.module)}`}>{shownName(listing.name)}: {said} with samples{app.state.filters.length ? ", of the whole recording" : ""}</span>
            </div>
            {bare && <p class="missing"><span>The instructions are not in this page, only the addresses with samples. <code>stoke view {shownName(app.name)}</code> shows them, with objdump.</span></p>}
            <Rows count={instructions.length} label="Instructions" role="rowgroup" beside wide={BESIDE + longest * LETTER} showing={at} keys={{ go, enter }} row={(i) => {
                const one = instructions[i] as Instruction;
                const [name = "", rest = ""] = (one.text ?? "").split(/\s+(.*)/s);
                return (
                    <div key={i} class={`row ${i === at ? "at" : ""} ${marked(one) ? "linked" : ""}`} role="row" data-address={one.address.toString(16)} onClick={() => go(i)}>
                        {one.weight > 0 ? <Figure value={one.weight} total={listing.weight} unit={unit} samples={listing.samples} /> : <span role="cell" />}
                        <span class="number" role="cell" title={one.file ? shownName(one.file) : ""}>{one.line ?? ""}</span>
                        <Arrows jumps={jumps} row={i} at={at} />
                        <span class="text" role="cell" title={one.inlined ? `inlined: ${shownName(one.inlined)}` : ""}><i>{one.address.toString(16)}</i> {bare ? one.inlined && `in ${shownName(one.inlined)}` : <><b>{shownName(name)}</b> {shownName(rest)}</>}</span>
                    </div>
                );
            }} />
        </div>
    );
}
