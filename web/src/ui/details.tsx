/* SPDX-License-Identifier: Apache-2.0 */
import type { App } from "../app";
import { baseName, interval, share, shownName, time, weight } from "../format";
import type { BoxInfo, FunctionInfo } from "../protocol";
import { Ends, LabelDot } from "./name";

const STACK_SHOWN = 200;

function Numbers({ app, title, self, total, waiting }: { app: App; title: string; self: number; total: number; waiting?: number | undefined }) {
    const shown = app.shown;
    if (!shown)
        return null;
    const sampled = shown.samples > 0 && shown.samples < 1e6;
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
                        <th>95%</th><td colSpan={2}>{(low * 100).toFixed(1)} {"\u2013"} {(high * 100).toFixed(1)}%</td>
                    </tr>
                )}
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

/* Details of the selected function, and of the clicked box. */
export function Details({ app }: { app: App }) {
    const { chosen, selected } = app;
    if (!chosen || app.state.view === "summary" || app.state.view === "heat")
        return null;
    const box = selected?.function.label === chosen.label ? selected : null;
    return (
        <aside class="details" aria-label="Details">
            <div class="who">
                <h2>{shownName(chosen.name).slice(0, 4000)}</h2>
                <p class="faint">
                    {chosen.file && <><button type="button" class="link" title={`${shownName(chosen.file)}\nOpen source (e)`} onClick={() => app.openSource(chosen.file)}>{locationOf(chosen)}</button>{chosen.module ? " \u00b7 " : " "}</>}
                    <span title={shownName(chosen.module)}>{shownName(baseName(chosen.module))}</span>
                    {chosen.kind === "user" ? "" : `${chosen.module ? " \u00b7 " : ""}${chosen.kind}`}
                </p>
                <p class="acts">
                    <button type="button" onClick={() => void app.filters.add({ verb: "show-from", text: chosen.name, exact: true })}>Begin here</button>
                    <button type="button" onClick={() => void app.filters.add({ verb: "focus", text: chosen.name, exact: true })}>Only stacks with it</button>
                    <button type="button" onClick={() => void app.filters.add({ verb: "hide", text: chosen.name, exact: true })}>Merge</button>
                    <button type="button" onClick={() => void app.filters.add({ verb: "ignore", text: chosen.name, exact: true })}>Drop</button>
                    {app.state.view !== "sandwich" && <button type="button" onClick={() => app.setView("sandwich")}>Callers and callees</button>}
                </p>
            </div>
            {box && box.off !== undefined && (
                <table class="numbers">
                    <caption>This box</caption>
                    <tbody>
                        <tr><th>{box.off ? "Waited" : box.waiting ? "Lasted" : "Ran"}</th><td>{time(box.to - box.from)}</td></tr>
                        {!box.off && box.waiting ? <tr><th>Waited</th><td>{time(box.waiting)}</td></tr> : null}
                        <tr><th>From</th><td>{time(box.from)}</td></tr>
                    </tbody>
                </table>
            )}
            {box?.total !== undefined && <Numbers app={app} title="This box" self={box.self ?? 0} total={box.total} waiting={box.waiting} />}
            <Numbers app={app} title="The whole function" self={chosen.self} total={chosen.total} />
            {box && <Stack app={app} box={box} />}
            <button type="button" class="icon" aria-label="Close" onClick={() => void app.select(0, null)}>{"\u2715"}</button>
        </aside>
    );
}
