/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { openFunction, openSource } from "../commands";
import { ownerFilter } from "../filters";
import { differenceText, intervalText, relativeText, verdictText } from "../difference";
import { baseName, count, functionName, interval, moduleName, share, shares, shownName, signed, time, weight, weightUnit } from "../format";
import { plainName } from "../names";
import { isPhone } from "../phone";
import { type BoxInfo, type Difference, type FunctionInfo, Sort } from "../protocol";
import { Growth } from "./growth";
import { Dot, Ends, LabelDot } from "./name";
import { Neighbours } from "./neighbours";
import { Sites, Suppress } from "./sites";
import { When } from "./when";
import { changeClass } from "./rows";

const NAME_MOST = 4000; /* characters */
const STACK_SHOWN = 200;
const FEW = 10; /* samples: a share of fewer is not significant */

function Numbers({ app, title, self, total, waiting }: { app: App; title: string; self: number; total: number; waiting?: number | undefined }) {
    const shown = app.shown;
    if (!shown)
        return null;
    const sampled = app.estimated > 0 && app.estimated < 1e6;
    const [low, high] = interval(total, shown.total || 1, Math.max(1, shown.samples));
    return (
        <table class="numbers">
            <caption>{title}</caption>
            <tbody>
                <tr><th>Total</th><td>{weight(total, shown.unit)}</td><td>{share(total, shown.total)}</td></tr>
                <tr><th>Self</th><td>{weight(self, shown.unit)}</td><td>{share(self, shown.total)}</td></tr>
                {waiting !== undefined && <tr title="Of the total"><th>Waiting</th><td>{weight(waiting, shown.unit)}</td><td>{share(waiting, shown.total)}</td></tr>}
                {sampled && (
                    <tr class="faint" title="The 95 % confidence interval of the share">
                        <th>95 %</th><td colSpan={2}>{shares(low, high)}</td>
                    </tr>
                )}
            </tbody>
        </table>
    );
}

/* Self and total of the whole function, with the 95 % confidence intervals of the shares. `short`: these
 * are in the tooltip. */
function KeyFigures({ app, self, total, short }: { app: App; self: number; total: number; short: boolean }) {
    const shown = app.shown;
    if (!shown)
        return null;
    const sampled = app.estimated > 0 && app.estimated < 1e6;
    return (
        <div class="key-figures">
            {([["Self", self], ["Total", total]] as const).map(([title, value]) => {
                const [low, high] = interval(value, shown.total || 1, Math.max(1, shown.samples));
                const samples = Math.round((value / (shown.total || 1)) * shown.samples);
                const few = samples < FEW;
                const exactness = value === 0 ? "" : few ? `${count(samples)} ${samples === 1 ? "sample" : "samples"}, too few` : shares(low, high);
                const number = value === 0 || few ? "" : `, ${count(samples)} samples`;
                return (
                    <p key={title} title={sampled && short && exactness ? `${exactness}${number} (the 95 % confidence interval of the share)` : undefined}>
                        <span>{title}</span>
                        <b>{weight(value, shown.unit)}</b> {value > 0 && <em>{share(value, shown.total)}</em>}
                        {sampled && exactness && (few || !short) && <small title="The 95 % confidence interval of the share">{exactness}{number && <>, <em>{number.slice(2)}</em></>}</small>}
                    </p>
                );
            })}
        </div>
    );
}

/* Before, after and the difference. */
function Compared({ app, title, before, after, change }: { app: App; title: string; before: number; after: number; change: Difference }) {
    const { unit = "", total = 0, base_total = 0 } = app.shown ?? {};
    return (
        <table class="numbers">
            <caption>{title}</caption>
            <tbody>
                <tr><th>Before</th><td>{weight(before, unit)}</td><td>{share(before, base_total) || "0 %"}</td></tr>
                <tr><th>After</th><td>{weight(after, unit)}</td><td>{share(after, total) || "0 %"}</td></tr>
                <tr class={changeClass(change)}><th>Change</th><td>{signed(after - before, unit)}</td><td>{relativeText(app, change)}</td></tr>
                <tr class="faint" title="The 95 % confidence interval of the change"><th>95 %</th><td>{verdictText(change)}</td><td>{intervalText(app, change)}</td></tr>
            </tbody>
        </table>
    );
}

function Stack({ app, box }: { app: App; box: BoxInfo }) {
    return (
        <div class="stack">
            <h3>
                Stack
                <button type="button" class="quiet" onClick={() => void app.copy(box.stack.join("\n"), "the stack")}>copy</button>
            </h3>
            <ol>
                {box.stack.slice(0, STACK_SHOWN).map((name, i) => (
                    <li key={i}>
                        <button type="button" onClick={() => void app.choose(box.labels[i] ?? 0)}>
                            <LabelDot app={app} label={box.labels[i] ?? 0} />
                            <Ends text={name} />
                        </button>
                    </li>
                ))}
                {box.stack.length > STACK_SHOWN && <li class="faint">and {box.stack.length - STACK_SHOWN} more</li>}
            </ol>
        </div>
    );
}

function locationOf(f: FunctionInfo): string {
    return `${shownName(baseName(f.file))}${f.line ? `:${f.line}` : ""}`;
}

const ACTS = [["show-from", "Begin here"], ["focus", "Only stacks with it"], ["hide", "Merge"], ["ignore", "Drop"]] as const;

/* Of the function above its callers; the menu has the others. */
function HeadActs({ app, of }: { app: App; of: FunctionInfo }) {
    const owner = ownerFilter(of);
    return (
        <p class="acts">
            <button type="button" onClick={() => void app.filters.add(owner ?? { verb: "focus", text: of.name, exact: true })}>Focus <kbd>f</kbd></button>
            {of.file && <button type="button" onClick={() => openSource(app, of.file)}>Source <kbd>s</kbd></button>}
            <button type="button" aria-label="More actions" title="More actions" aria-haspopup="menu" onClick={(event) => {
                const at = event.currentTarget.getBoundingClientRect();
                app.menu = { x: at.left, y: at.bottom + 2, function: of, stack: null };
                app.changed();
            }}>{"\u22ef"}</button>
        </p>
    );
}

/* Views with the side panel; the functions have their details above the callers, and lines of source
 * are wide. */
export function sideView(app: App): boolean {
    return ["left", "time", "tree", "graph", "changes"].includes(app.state.view);
}

const TOP = 12; /* functions */
const LATER = 400; /* ms: after the answers that the view needs */

interface TopRow {
    of: FunctionInfo;
    part: number; /* of the total */
}

/* The functions with most time of their own; of a comparison, with the largest changes of it; of a heap,
 * those that allocated most, because only allocators have something of their own. */
async function topRows(app: App): Promise<TopRow[]> {
    const total = app.shown?.total || 1;
    if (app.memory.info && !app.comparedWith)
        return (await app.core.sites(TOP)).rows.map((row) => ({ of: row.function, part: row.weight / total }));
    const [, first] = await Promise.all([app.core.functions(app.comparedWith ? Sort.Found : Sort.Self, false, false), app.core.functionRows(0, TOP)]);
    return first.filter((f) => f.kind !== "idle").map((of) => ({ of, part: of.self_change ? of.self_change.after - of.self_change.before : of.self / total })).filter(({ part }) => part !== 0);
}

function TopFunctions({ app }: { app: App }) {
    const [{ rows, version }, set] = useState<{ rows: TopRow[]; version: number }>({ rows: [], version: 0 });
    useEffect(() => {
        const { version: of } = app;
        let stale = false;
        const ask = (): void => {
            topRows(app).then((first) => { if (!stale) set({ rows: first, version: of }); }, (error: unknown) => app.fail(error));
        };
        const timer = window.setTimeout(ask, LATER);
        return () => {
            stale = true;
            clearTimeout(timer);
        };
    }, [app.version]);
    const most = Math.max(...rows.map(({ part }) => Math.abs(part)));
    const title = app.comparedWith ? "Largest changes, self" : app.memory.info ? "Allocated by" : "Functions by self";
    return rows.length ? (
        <div class="near top">
            <h3>{title}</h3>
            {rows.map(({ of, part }) => (
                <button type="button" key={of.label} disabled={version !== app.version} onClick={() => void app.choose(of.label)}>
                    <i style={{ width: `${(Math.abs(part) / most) * 100}%` }} />
                    <Dot app={app} of={of} /><Ends text={of.name} />
                    {of.self_change ? <em class={`change ${changeClass(of.self_change)}`}>{differenceText(app, part)}</em> : <em>{share(part, 1)}</em>}
                </button>
            ))}
        </div>
    ) : null;
}

/* Nothing is selected: figures of all that is shown. */
function Whole({ app }: { app: App }) {
    const { shown } = app;
    return (
        <aside class="details whole" aria-label="Details">
            <div class="who"><h2>All that is shown</h2></div>
            {shown && (
                <table class="numbers">
                    <tbody>
                        {app.comparedWith && <tr><th>Before</th><td>{weightUnit(shown.base_total, shown.unit)}</td></tr>}
                        <tr><th>{app.comparedWith ? "After" : "Total"}</th><td>{weightUnit(shown.total, shown.unit)}</td></tr>
                        {shown.idle > 0 && <tr><th>{shown.idle_left ? "Idle, not shown" : "Of it idle"}</th><td>{weightUnit(shown.idle, shown.unit)}</td></tr>}
                        {app.samplesText && <tr><th>In</th><td>{app.samplesText}</td></tr>}
                        {app.found && <tr><th>Found</th><td>{count(app.found.functions)} functions</td></tr>}
                    </tbody>
                </table>
            )}
            {app.state.view !== "changes" && <TopFunctions app={app} />} {/* they are in the table beside it */}
            <p class="faint">Select a box or a row for its details. Drag over the tracks to see only a part of the time.</p>
        </aside>
    );
}

/* Details of the selected function, and of the clicked box. With `head`, a line above
 * its callers. */
export function Details({ app, head = false }: { app: App; head?: boolean }) {
    const { chosen, selected } = app;
    const box = chosen && selected?.function.label === chosen.label ? selected : null;
    if (!head && !box && !isPhone() && app.memory.listed)
        return <Sites app={app} />;
    if (!chosen)
        return head ? null : <Whole app={app} />;
    const owner = ownerFilter(chosen);
    const whole = functionName(chosen.name).slice(0, NAME_MOST), plain = plainName(whole);
    return (
        <aside class={head ? "details head" : "details"} aria-label="Details">
            <div class="who">
                <h2 title={whole}>{plain}</h2>
                <p class="faint">
                    {chosen.file && <><button type="button" class="link" title={`${shownName(chosen.file)}\nOpen source (s)`} onClick={() => openSource(app, chosen.file)}>{locationOf(chosen)}</button>{chosen.module ? " \u00b7 " : " "}</>}
                    <span title={shownName(chosen.module)}>{moduleName(chosen.module)}</span>
                    {chosen.kind === "user" || chosen.kind === moduleName(chosen.module) ? "" : `${chosen.module ? " \u00b7 " : ""}${chosen.kind}`}
                </p>
                {!head && plain !== whole && <p class="signature">{whole}</p>}
                {!head && <p class="acts">
                    {owner && <button type="button" onClick={() => void app.filters.add(owner)}>Only this {chosen.kind}</button>}
                    {!owner && ACTS.map(([verb, title]) => (
                        <button type="button" key={verb} onClick={() => void app.filters.add({ verb, text: chosen.name, exact: true })}>{title}</button>
                    ))}
                    {!owner && <Suppress app={app} of={chosen} />}
                    {app.state.view !== "sandwich" && <button type="button" onClick={() => void openFunction(app, chosen.label)}>Callers and callees</button>}
                </p>}
            </div>
            {!head && box && box.off !== undefined && (
                <table class="numbers">
                    <caption>This box</caption>
                    <tbody>
                        <tr><th>{box.off ? "Waited" : box.waiting ? "Lasted" : "Ran"}</th><td>{time(box.to - box.from)}</td></tr>
                        {!box.off && box.waiting ? <tr><th>Waited</th><td>{time(box.waiting)}</td></tr> : null}
                        <tr><th>From</th><td>{time(box.from)}</td></tr>
                    </tbody>
                </table>
            )}
            {!head && box?.change && <Compared app={app} title="This box" before={box.base_total ?? 0} after={box.total ?? 0} change={box.change} />}
            {chosen.self_change && <Compared app={app} title="The function: self" before={chosen.base_self ?? 0} after={chosen.self} change={chosen.self_change} />}
            {chosen.change && <Compared app={app} title="The function: total" before={chosen.base_total ?? 0} after={chosen.total} change={chosen.change} />}
            {!head && box?.total !== undefined && !chosen.change && <Numbers app={app} title="This box" self={box.self ?? 0} total={box.total} waiting={box.waiting} />}
            {!chosen.change && <KeyFigures app={app} self={chosen.self} total={chosen.total} short={head} />}
            {!head && !app.memory.moment && <When app={app} of={chosen} />}
            {!head && app.memory.listed === "leaked" && <Growth app={app} of={chosen} />}
            {!head && box && <Stack app={app} box={box} />}
            {!head && !app.comparedWith && <Neighbours app={app} of={chosen} />}
            {head && <HeadActs app={app} of={chosen} />}
            {!head && <button type="button" class="icon" aria-label="Close" onClick={() => void app.select(0, null)}>{"\u2715"}</button>}
        </aside>
    );
}
