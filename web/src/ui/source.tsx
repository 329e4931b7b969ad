/* SPDX-License-Identifier: Apache-2.0 */
/* The weight of each line of a source file, next to its text if the page has it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import { openFunction, openSource } from "../commands";
import { isPhone } from "../phone";
import { baseName, count, shownName } from "../format";
import type { FileInfo, LineInfo, Listings } from "../protocol";
import { Syntax } from "../syntax";
import { chooseText, listingsOf, type Texts, textsOf } from "../texts";
import { Assembly, listingOf, type SourceLine } from "./assembly";
import { Ends } from "./name";
import { Change, Figure, Rows } from "./rows";

const LINE_MOST = 2000; /* characters */
const TAB = "    ";
const LETTER = 7.4; /* approximate pixels of a character */
const BESIDE = 220; /* pixels of the other columns */

function ChangeHead({ app, about }: { app: App; about: string }) {
    return <span class="change-head" title={about}>{app.state.shares && !isPhone() ? "Change %" : "Change"}</span>;
}

function Files({ app, files, known, now }: { app: App; files: FileInfo[]; known: Texts; now: string }) {
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const samples = app.estimated;
    const compared = app.comparedWith !== "";
    const at = files.findIndex((file) => file.name === now);
    return (
        <div class={`table files ${compared ? "has-change" : ""}`} role="table" aria-label="Files">
            <div class="heads"><span>Self</span><span>Total</span>{compared && <ChangeHead app={app} about="Of the total" />}<span>File</span></div>
            <Rows count={files.length} label="Files" role="rowgroup" beside showing={at}
                keys={{ go: (to) => { const file = files[to]; if (file) app.openSource(file.name); }, enter: () => openSource(app, now) }}
                row={(i) => {
                    const file = files[i] as FileInfo;
                    return (
                        <div key={i} class={`row ${i === at ? "chosen" : ""}`} role="row" onClick={() => app.openSource(file.name)}>
                            <Figure value={file.self} total={total} unit={unit} samples={samples} />
                            <Figure value={file.total} total={total} unit={unit} samples={samples} />
                            {compared && <Change app={app} change={file.change} />}
                            <span class={`name ${known.has(file.name) ? "" : "away"}`} role="cell"><Ends text={baseName(file.name)} title={file.name} /></span>
                        </div>
                    );
                }} />
        </div>
    );
}

const TEXT_MOST = 16e6; /* bytes of a file that is chosen */

/* Without its text: what to do. */
function Missing({ app, name, onText }: { app: App; name: string; onText(text: string): void }) {
    const choose = (): void => {
        const input = document.createElement("input");
        input.type = "file";
        input.onchange = () => {
            const file = input.files?.[0];
            if (file && file.size <= TEXT_MOST)
                void file.text().then(onText, (error: unknown) => app.fail(error));
            else if (file)
                app.say(`${file.name} is too large`);
        };
        input.click();
    };
    return (
        <p class="missing">
            <span>The text of <b>{shownName(baseName(name))}</b> is not in this page.</span>
            <button type="button" class="outlined" title={shownName(name)} onClick={choose}>Choose the file{"\u2026"}</button>
            <span class="faint">Where the sources are, <code>stoke view FILE</code> shows them, and <code>{app.comparedWith ? "stoke diff --with-source --source-dir DIR BEFORE AFTER" : "stoke convert --with-source --source-dir DIR FILE"} -o page.html</code> puts them into a page.</span>
        </p>
    );
}

const HOTTEST = 3; /* lines */

/* The lines with most self weight. */
function Hottest({ lines, go }: { lines: LineInfo[]; go(line: number): void }) {
    const hot = lines.filter((line) => line.self > 0).sort((a, b) => b.self - a.self).slice(0, HOTTEST);
    return hot.length < 2 ? null : (
        <span class="hottest">Hottest {hot.map(({ line }) => <button type="button" class="link" key={line} aria-label={`Line ${line}`} onClick={() => go(line)}>{line}</button>)}</span>
    );
}

/* With the text all lines are shown, otherwise those with a weight. */
function Code({ app, name, text, lines, line: selected, onLine, onText }: { app: App; name: string; text: string[] | null; lines: LineInfo[]; line: number | null; onLine(line: number): void; onText(text: string): void }) {
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const samples = app.estimated;
    const compared = app.comparedWith !== "";
    const byLine = new Map(lines.map((line) => [line.line, line]));
    const sparse = text ? [] : lines.map((line) => line.line).sort((a, b) => a - b);
    const length = text ? Math.max(text.length, ...lines.map((line) => Math.min(line.line, text.length + 1000))) : sparse.length;
    const longest = useMemo(() => (text ?? []).reduce((most, line) => Math.max(most, line.replace(/\t/g, TAB).length), 0), [text]);
    const syntax = useMemo(() => new Syntax(name), [name]);
    const inside = useMemo(() => syntax.begins(text ?? []), [syntax, text]);
    const own = lines.filter((line) => line.label === app.chosen?.label);
    const hottest = (own.length ? own : lines).reduce<LineInfo | null>((most, line) =>
        !most || line.self > most.self || (line.self === most.self && line.total > most.total) ? line : most, null);
    const at = selected !== null ? (text ? selected - 1 : sparse.indexOf(selected)) : (hottest ? (text ? hottest.line - 1 : sparse.indexOf(hottest.line)) : -1);
    const lineOf = (i: number): LineInfo | undefined => byLine.get(text ? i + 1 : (sparse[i] as number));
    const go = (to: number): void => {
        const line = lineOf(to);
        onLine(text ? to + 1 : (sparse[to] as number));
        app.holdSource(name);
        if (line)
            void app.choose(line.label);
    };
    const enter = (): void => {
        const line = lineOf(at);
        if (line)
            void openFunction(app, line.label);
    };
    return (
        <div class={`table code ${compared ? "has-change" : ""}`} role="table" aria-label={`Lines of ${shownName(baseName(name))}`}>
            <div class="heads">
                <span title="In the line itself">Self</span><span title="In functions that the line calls">Calls</span>
                {compared && <ChangeHead app={app} about="Of the line with the functions that it calls. The line before is that of the same number; of a function whose lines an edit moved, the line that was moved here." />}<span>Line</span>
                <span title={shownName(name)}><b>{shownName(baseName(name))}</b> <span class="faint">{shownName(name.slice(0, -baseName(name).length))}</span>{lines.some((line) => line.was) && <span class="faint" title="An edit moved functions between the two recordings. Point at a line number to see the earlier one.">{" \u00b7 moved lines matched"}</span>}</span>
                <Hottest lines={lines} go={(line) => go(text ? line - 1 : sparse.indexOf(line))} />
            </div>
            {!text && <Missing app={app} name={name} onText={onText} />}
            <Rows count={length} wide={BESIDE + Math.min(LINE_MOST, longest) * LETTER} label="Lines" role="rowgroup" showing={at} keys={{ go, enter }} row={(i) => {
                const number = text ? i + 1 : (sparse[i] as number);
                const line = lineOf(i);
                return (
                    <div key={i} class={`row ${i === at ? "at" : ""} ${text && line && line.label === app.chosen?.label ? "chosen" : ""}`} role="row" data-line={number}
                        onClick={() => go(i)}>
                        {line && line.self > 0 ? <Figure value={line.self} total={total} unit={unit} samples={samples} /> : <span />}
                        {line && line.total > line.self ? <Figure value={line.total - line.self} total={total} unit={unit} samples={samples} /> : <span />}
                        {compared && <Change app={app} change={line?.change} />}
                        <span class={`number ${line?.was ? "was" : ""}`} role="cell" title={line?.was ? `line ${line.was} before` : undefined}>{number}</span>
                        <span class="text" role="cell">{syntax.tokens((text?.[i] ?? "").replace(/\t/g, TAB).slice(0, LINE_MOST), inside[i] ?? false)
                            .map((token, k) => token.kind ? <span key={k} class={token.kind}>{shownName(token.text)}</span> : shownName(token.text))}</span>
                    </div>
                );
            }} />
        </div>
    );
}

/* Instead of the lines of a function that has none. */
function Lineless({ app, listed }: { app: App; listed: boolean }) {
    const module = app.chosen?.module ? ` of ${shownName(baseName(app.chosen.module))}` : "";
    return (
        <div class="nothing lack">
            <p><b>{shownName(app.chosen?.name ?? "")}</b> has no source lines: the debug information{module} does not have them.{listed && " Its instructions are beside this."}</p>
            <p>Choose a file in the list, or build with <code>-g</code> and record again.</p>
        </div>
    );
}

export function Source({ app }: { app: App }) {
    const [files, setFiles] = useState<FileInfo[] | null>(null);
    const [known, setKnown] = useState<Texts>(new Map());
    const [listings, setListings] = useState<Listings | null>(null);
    const [selected, setSelected] = useState<SourceLine | null>(null);
    const [shown, setShown] = useState<{ name: string; lines: LineInfo[] } | null>(null);
    useEffect(() => {
        let stale = false;
        void Promise.all([app.core.files(), textsOf(app), listingsOf(app)]).then(([got, texts, assembly]) => {
            if (!stale) {
                setListings(assembly);
                setFiles(got);
                setKnown(texts);
            }
        }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    const wanted = app.state.file || app.chosen?.file || "";
    const lineless = !wanted && app.chosen !== null; /* without debug information */
    const name = lineless ? "" : files?.some((file) => file.name === wanted) ? wanted : (files?.find((file) => known.has(file.name)) ?? files?.[0])?.name ?? "";
    useEffect(() => {
        let stale = false;
        if (name)
            app.core.lines(name).then((lines) => { if (!stale) setShown({ name, lines }); }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [files, name]);
    const text = known.get(name);
    const split = useMemo(() => text?.split("\n") ?? null, [text]);
    if (!files)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    if (!files.length && !listings?.functions.length)
        return (
            <div class="nothing lack">
                <p>This profile names no source files.</p>
                <p>They come from debug information: build the program with <code>-g</code>, and record it again; or open the recording with <code>stoke view FILE</code> on the machine that it ran on.</p>
            </div>
        );
    const any = listings !== null && listings.functions.length > 0;
    const pane = !any || !files.length ? "" : isPhone() && app.state.pane === "both" ? "source" : app.state.pane;
    const listing = listings && pane !== "source" ? listingOf(app, listings) : null;
    /* The file of an instruction is that of its line: also of an inlined function. */
    const onLine = (line: SourceLine): void => {
        setSelected(line);
        if (line.file !== name && files.some((file) => file.name === line.file))
            app.openSource(line.file);
    };
    return (
        <div class={`source ${!files.length || pane === "assembly" ? "alone" : pane}`}>
            {files.length > 0 && pane !== "assembly" && <Files app={app} files={files} known={known} now={name} />}
            {pane === "assembly" ? null : shown && shown.name === name ? <Code key={name} app={app} name={name} text={split} lines={shown.lines}
                line={selected?.file === name ? selected.line : null} onLine={(line) => setSelected({ file: name, line })}
                onText={(given) => { chooseText(name, given); setKnown(new Map(known).set(name, given)); }} />
                : name ? <p class="nothing">Adding up{"\u2026"}</p> : lineless && files.length > 0 && <Lineless app={app} listed={listing !== null} />}
            {listings && listing && <Assembly key={`${listing.name} ${listing.module}`} app={app} listing={listing} unit={listings.unit} line={selected} onLine={onLine} />}
            {any && pane !== "source" && !listing && <p class="nothing">The page has no instructions of {shownName(app.chosen?.name ?? "")}: it has those of the heaviest functions.</p>}
            {known.size === 0 && <span class="spoken">{count(files.length)} files, without their text</span>}
        </div>
    );
}
