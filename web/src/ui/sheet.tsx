/* SPDX-License-Identifier: Apache-2.0 */
/* On a telephone: the details of the selection, in a sheet at the lower edge that is dragged
 * up, and the menu with what has no room above. */
import { useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { chooseFile } from "../commands";
import { RANGES } from "../live";
import { isPhone } from "../phone";
import { Details } from "./details";
import { Dialog, FilterBar } from "./dialogs";
import { ColorTools, CompareTools, EventChoice } from "./toolbar";

const LOW = 104; /* pixels */
const STEPS = [LOW, 0.6, 1]; /* the last ones are parts of the window */

function heightOf(step: number): number {
    const height = STEPS[step] ?? LOW;
    return height > 1 ? height : Math.round(height * innerHeight);
}

const WITHOUT: readonly string[] = ["source", "waits", "marks", "heat", "sizes", "summary"]; /* views that show no selected function */

export function hasSheet(app: App): boolean {
    return isPhone() && app.chosen !== null && !WITHOUT.includes(app.state.view);
}

export function Sheet({ app }: { app: App }) {
    const [step, setStep] = useState(0);
    const [drag, setDrag] = useState<number | null>(null);
    const grip = useRef<{ y: number; height: number; moved: boolean } | null>(null);
    if (!app.chosen)
        return null;
    const height = drag ?? heightOf(step);
    const nearest = (to: number): number => [0, 1, 2].reduce((best, i) => Math.abs(heightOf(i) - to) < Math.abs(heightOf(best) - to) ? i : best, 0);
    return (
        <section class={`sheet ${height === LOW ? "low" : ""}`} aria-label="Selection" style={{ height: `${height}px` }}>
            <button type="button" class="handle" aria-label={step === 0 ? "More" : "Less"} aria-expanded={step > 0}
                onClick={() => { if (!grip.current?.moved) setStep(step === 0 ? 1 : 0); grip.current = null; }}
                onPointerDown={(event) => {
                    event.currentTarget.setPointerCapture(event.pointerId);
                    grip.current = { y: event.clientY, height, moved: false };
                }}
                onPointerMove={(event) => {
                    if (!grip.current || (!grip.current.moved && Math.abs(event.clientY - grip.current.y) < 6))
                        return;
                    grip.current.moved = true;
                    setDrag(Math.min(innerHeight, Math.max(LOW, grip.current.height + grip.current.y - event.clientY)));
                }}
                onPointerUp={() => {
                    if (drag !== null)
                        setStep(nearest(drag));
                    setDrag(null);
                }}
                onPointerCancel={() => { grip.current = null; setDrag(null); }} />
            <Details app={app} />
        </section>
    );
}

/* What has no room in the title and above the tracks. */
export function MenuSheet({ app }: { app: App }) {
    const go = (run: () => void) => (): void => { app.openDialog(null); run(); };
    const { live } = app;
    const theme = <button type="button" onClick={go(() => app.appearance.setTheme(app.appearance.dark ? "light" : "dark"))}>{app.appearance.dark ? "Light" : "Dark"} theme</button>;
    const commands = <button type="button" onClick={() => app.openDialog("palette")}>All commands</button>;
    if (live)
        return (
            <Dialog app={app} title="Menu">
                <div class="menu-sheet">
                    <label>Range <select aria-label="Range of the axis" value={String(live.range)} onChange={(event) => live.setRange(Number(event.currentTarget.value))}>
                        {RANGES.map(([seconds, title]) => <option key={seconds} value={String(seconds)}>{title}</option>)}
                    </select></label>
                    <span><ColorTools app={app} /></span>
                    <button type="button" onClick={go(() => live.share())}>Copy a link to this span</button>
                    {theme}
                    <button type="button" onClick={() => app.openDialog("help")}>Keys</button>
                    {commands}
                </div>
            </Dialog>
        );
    return (
        <Dialog app={app} title="Menu">
            <div class="menu-sheet">
                <EventChoice app={app} />
                <FilterBar app={app} />
                <span><ColorTools app={app} /></span>
                {app.comparedWith ? <span><CompareTools app={app} /></span>
                    : <button type="button" onClick={go(() => chooseFile(app, true))}>Compare with{"\u2026"}</button>}
                <button type="button" onClick={() => app.openDialog("export")}>Save{"\u2026"}</button>
                {theme}
                {commands}
            </div>
        </Dialog>
    );
}
