/* SPDX-License-Identifier: Apache-2.0 */
import type { App } from "../app";
import { openFunction, openSource } from "../commands";
import { ownerFilter } from "../filters";
import { baseName, count, interval, points, share, shares, shownName, signed, time, weight, weightUnit } from "../format";
import { isPhone } from "../phone";
import { type BoxInfo, type Difference, type FunctionInfo, Verdict } from "../protocol";
import { Growth } from "./growth";
import { Ends, LabelDot } from "./name";
import { Neighbours } from "./neighbours";
import { Sites, Suppress } from "./sites";
import { changeClass, intervalText } from "./rows";

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
                const exactness = few ? `${count(samples)} ${samples === 1 ? "sample" : "samples"}, too few` : `${shares(low, high)}, ${count(samples)} samples`;
                return (
                    <p key={title} title={sampled && short ? `${exactness} (the 95 % confidence interval of the share)` : undefined}>
                        <span>{title}</span>
                        <b>{weight(value, shown.unit)}</b> <em>{share(value, shown.total)}</em>
                        {sampled && (few || !short) && <small title="The 95 % confidence interval of the share">{exactness}</small>}
                    </p>
                );
            })}
        </div>
    );
}

/* Before, after and the difference; the confidence interval is that of the share. */
function Compared({ app, title, before, after, change }: { app: App; title: string; before: number; after: number; change: Difference }) {
    const { unit = "", total = 0, base_total = 0 } = app.shown ?? {};
    const verdict = change.verdict === Verdict.Few ? "too few samples" : change.verdict === Verdict.Noise ? "within noise" : "";
    return (
        <table class="numbers">
            <caption>{title}</caption>
            <tbody>
                <tr><th>Before</th><td>{weight(before, unit)}</td><td>{share(before, base_total) || "0 %"}</td></tr>
                <tr><th>After</th><td>{weight(after, unit)}</td><td>{share(after, total) || "0 %"}</td></tr>
                <tr class={changeClass(change)}><th>Change</th><td>{signed(after - before, unit)}</td><td>{points(change.after - change.before)} points</td></tr>
                <tr class="faint" title="The 95 % confidence interval of the change of the share"><th>95 %</th><td>{verdict}</td><td>{intervalText(change)}</td></tr>
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

/* Nothing is selected. */
function Whole({ app }: { app: App }) {
    const { shown } = app;
    return (
        <aside class="details empty" aria-label="Details">
            <h2>All that is shown</h2>
            {shown && <p class="faint">{weightUnit(shown.total, shown.unit)}{shown.unit === "samples" ? "" : ` in ${count(shown.samples)} samples`}</p>}
            {shown && shown.idle > 0 && <p class="faint">{weightUnit(shown.idle, shown.unit)} of it idle</p>}
            <p class="faint">Select a box or a row for its details.</p>
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
    return (
        <aside class={head ? "details head" : "details"} aria-label="Details">
            <div class="who">
                <h2>{shownName(chosen.name).slice(0, 4000)}</h2>
                <p class="faint">
                    {chosen.file && <><button type="button" class="link" title={`${shownName(chosen.file)}\nOpen source (s)`} onClick={() => openSource(app, chosen.file)}>{locationOf(chosen)}</button>{chosen.module ? " \u00b7 " : " "}</>}
                    <span title={shownName(chosen.module)}>{shownName(baseName(chosen.module))}</span>
                    {chosen.kind === "user" ? "" : `${chosen.module ? " \u00b7 " : ""}${chosen.kind}`}
                </p>
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
            {!head && app.memory.listed === "leaked" && <Growth app={app} of={chosen} />}
            {!head && box && <Stack app={app} box={box} />}
            {!head && !app.comparedWith && <Neighbours app={app} of={chosen} />}
            {head && <HeadActs app={app} of={chosen} />}
            {!head && <button type="button" class="icon" aria-label="Close" onClick={() => void app.select(0, null)}>{"\u2715"}</button>}
        </aside>
    );
}
