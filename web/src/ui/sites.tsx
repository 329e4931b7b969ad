/* SPDX-License-Identifier: Apache-2.0 */
/* Beside the flame graph of what was never freed, or was soon freed: the functions that allocated it. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { openSource } from "../commands";
import { baseName, bytesError, count, moduleName, share, shownName, weight } from "../format";
import type { FunctionInfo, SitesInfo } from "../protocol";
import { Growth } from "./growth";
import { Neighbours } from "./neighbours";
import { Ends } from "./name";

const SHOWN = 12; /* functions */

type Row = SitesInfo["rows"][number];

interface Kind {
    title: string;
    about: string;
    none: string;
    heads: [string, string];
    second(row: Row): string;
}

const KINDS: Record<"leaked" | "temporary", Kind> = {
    leaked: { title: "Leaks", about: "never freed at exit", none: "No shown block remained at the end.", heads: ["Bytes", "Blocks"], second: (row) => count(row.samples) },
    temporary: {
        title: "Temporary", about: "freed before another event", none: "No block was freed before another event.", heads: ["Blocks", "Of its own"],
        second: (row) => share(row.weight, row.beside),
    },
};

/* The line that suppresses the leaks of a function, for LeakSanitizer and for stoke heap. */
function suppressionOf(f: FunctionInfo): string {
    return `leak:${f.name}`;
}

/* Drops its leaks from the views, and copies the line for the next recording. */
export function Suppress({ app, of }: { app: App; of: FunctionInfo }) {
    if (app.memory.listed !== "leaked")
        return null;
    const line = suppressionOf(of);
    return (
        <button type="button" title={`Drop these leaks, and copy "${shownName(line).slice(0, 200)}": for stoke heap --suppressions and LeakSanitizer`}
            onClick={() => void app.filters.add({ verb: "suppress", text: line }).then((good) => (good ? app.copy(line, "the suppression") : undefined))}>Suppress</button>
    );
}

/* Of a sampled heap: half of the 95 % confidence interval. */
function Exactness({ of }: { of: { weight: number; error?: number } }) {
    return of.error ? <small class="error" title="The 95 % confidence interval: the heap was sampled">{bytesError(of.weight, of.error)}</small> : null;
}

function Site({ app, of, row }: { app: App; of: FunctionInfo; row: Row | undefined }) {
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    return (
        <section class="site" aria-label="Selected function">
            <h3><Ends text={of.name} />{row && <span>{weight(row.weight, unit)}<Exactness of={row} />, {share(row.weight, total)}</span>}</h3>
            {unit === "bytes" && <Growth app={app} of={of} />}
            <Neighbours app={app} of={of} callees={false} />
            <p class="acts">
                <button type="button" onClick={() => void app.filters.add({ verb: "focus", text: of.name, exact: true })}>Focus <kbd>f</kbd></button>
                {of.file && <button type="button" onClick={() => openSource(app, of.file)}>Source <kbd>s</kbd></button>}
                <Suppress app={app} of={of} />
            </p>
        </section>
    );
}

export function Sites({ app }: { app: App }) {
    const [got, setGot] = useState<SitesInfo | null>(null);
    const { listed } = app.memory;
    useEffect(() => {
        let stale = false;
        app.core.sites(SHOWN).then((info) => {
            if (stale)
                return;
            setGot(info);
            if (!app.chosen?.total && info.rows[0]) /* the first one is selected, as in the functions */
                void app.choose(info.rows[0].function.label);
        }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version]);
    if (!listed || !got)
        return <aside class="details sites" aria-label="Details" />;
    const kind = KINDS[listed];
    const { total, unit } = app.shown ?? { total: 0, unit: "" };
    const { chosen } = app;
    const most = got.rows[0]?.weight ?? 1;
    const rest = total - got.rows.reduce((sum, row) => sum + row.weight, 0);
    return (
        <aside class="details sites" aria-label="Details">
            <h2>{kind.title} <span class="faint">{kind.about}</span>{got.count > 0 && <b>{weight(total, unit)} <Exactness of={{ weight: total, ...(got.error ? { error: got.error } : {}) }} /> in {count(got.count)} {got.count === 1 ? "function" : "functions"}</b>}</h2>
            {got.count === 0 && (
                <p class="faint">
                    {listed === "temporary" && app.profile?.sample_bytes ? <>Only complete recordings have them: <code>stoke heap --full</code></> : kind.none}
                </p>
            )}
            {got.count > 0 && <table class={got.error ? "sampled" : ""}>
                <thead><tr><th>{kind.heads[0]}</th><th>{kind.heads[1] === "Blocks" && !got.rows.every((row) => row.complete) ? "Samples" : kind.heads[1]}</th><th>Allocated by</th></tr></thead>
                <tbody>
                    {got.rows.map((row) => {
                        const f = row.function;
                        return (
                            <tr key={f.label} class={f.label === chosen?.label ? "chosen" : ""} onClick={() => void app.choose(f.label)}>
                                <td><i style={{ width: `${(row.weight / most) * 100}%` }} /><span>{weight(row.weight, unit)} <Exactness of={row} /></span></td>
                                <td>{kind.second(row)}</td>
                                <td>
                                    <button type="button" aria-pressed={f.label === chosen?.label}><Ends text={f.name} /></button>
                                    {f.file ? <button type="button" class="link" title={shownName(f.file)} onClick={(event) => { event.stopPropagation(); openSource(app, f.file); }}>{shownName(baseName(f.file))}{f.line ? `:${f.line}` : ""}</button>
                                        : <span class="faint">{moduleName(f.module)}</span>}
                                </td>
                            </tr>
                        );
                    })}
                </tbody>
            </table>}
            {got.count > got.rows.length && <p class="faint">{count(got.count - got.rows.length)} more, {weight(rest, unit)}</p>}
            {chosen && chosen.total > 0 && <Site app={app} of={chosen} row={got.rows.find((row) => row.function.label === chosen.label)} />}
        </aside>
    );
}
