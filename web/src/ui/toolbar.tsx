/* SPDX-License-Identifier: Apache-2.0 */
import type { App } from "../app";
import { chooseFile } from "../commands";
import { colorTable, css, KINDS } from "../colors";
import { eventName, shownName } from "../format";
import { Tone } from "../protocol";
import { Crumbs, FilterBar } from "./dialogs";
import { isPhone } from "../phone";
import { focusSearch } from "../commands";
import { Icon } from "./icons";

const OF_HEAP = ["peak", "live", "allocated", "allocations", "temporary", "leaked"]; /* events with buttons */

/* The main events of a heap, beside the choice of the others. */
function HeapEvents({ app, now }: { app: App; now: string }) {
    const { memory } = app;
    const names = memory.info ? OF_HEAP.filter((name) => memory.eventNamed(name) > 0) : [];
    return names.length < 2 ? null : (
        <div class="segments" role="group" aria-label="Memory">
            {names.map((name) => {
                const event = memory.eventNamed(name);
                return <button key={name} type="button" aria-pressed={now === String(event)} onClick={() => void app.setEvent(event, false)}>{name[0]?.toUpperCase()}{name.slice(1)}</button>;
            })}
        </div>
    );
}

export function EventChoice({ app }: { app: App }) {
    const events = app.profile?.events ?? [];
    const { shown, state } = app;
    if (!shown || (events.length < 2 && shown.unit === "samples" && !state.count))
        return null;
    const now = state.wall ? "wall" : state.count ? "count" : String(app.memory.shownEvent);
    const inButtons = (name: string): boolean => app.memory.info !== null && OF_HEAP.includes(name);
    const pressed = events.some((e, i) => String(i + 1) === now && inButtons(e.name));
    return (
        <>
            <HeapEvents app={app} now={now} />
            <select aria-label="Weight" class={pressed ? "others" : ""} title={`${shownName(shown.event_name)} (${shown.unit})`} value={pressed ? "" : now} onChange={(event) => {
                const to = event.currentTarget.value;
                void (to === "wall" ? app.setEvent(state.event, false, true)
                    : to === "count" ? app.setEvent(state.event, true) : app.setEvent(Number(to), false));
            }}>
                {pressed && <option value="" disabled>Others</option>}
                {events.map((e, i) => (inButtons(e.name) ? null : <option key={i} value={String(i + 1)}>{eventName(e)}</option>))}
                {app.waits && <option value="wall">Running and waiting</option>}
                <option value="count">Samples</option>
            </select>
        </>
    );
}

/* The meaning of the colours, if they have one. `wide`: the scale of changes is above its texts. */
function Legend({ app, wide = false }: { app: App; wide?: boolean }) {
    const { color } = app.state;
    const table = colorTable(color, app.appearance.palette, app.appearance.dark);
    const swatch = (tone: number) => <i class="dot" style={{ background: css(table[tone] as number) }} />;
    const ramp = (from: number, to: number) => (
        <i class="scale" style={{ background: `linear-gradient(to right, ${[0, 0.1, 0.25, 0.5, 0.75, 0.9, 1].map((part) =>
            css(table[Math.round(from + (to - from) * part)] as number)).join(", ")})` }} />
    );
    const scale = (from: number, to: number, left: string, right: string) => <span>{left}{ramp(from, to)}{right}</span>;
    switch (color) {
        case Tone.Kind:
            return <span class="legend">{["user", "inlined", "jit", "kernel", "guest"].map((kind) => <span key={kind}>{swatch(KINDS.indexOf(kind))}{kind}</span>)}</span>;
        case Tone.Self:
            return <span class="legend">{scale(0, 255, "calls others", "works itself")}</span>;
        case Tone.Change:
            if (wide)
                return <span class="legend ramp">{ramp(1, 255)}<span>less, {"\u221210 %"}</span><span>within noise</span><span>more, {"+10 %"}</span></span>;
            return <span class="legend"><span class="wide">{swatch(128)}within noise</span><span class="wide">less,</span>{scale(1, 255, "\u221210 %", "+10 %")}<span class="wide">more</span></span>;
        default:
            return null;
    }
}

/* Waits are drawn like this in every colour scheme. Below the tracks is what each colour means. */
function WaitLegend({ app }: { app: App }) {
    if (!app.waits || !app.state.wall || !app.tracks.sides || app.state.view === "time")
        return null;
    return <span class="legend waits"><span><i style={{ "--stroke": "var(--wait-lock)", "--ground": "var(--wait-lock-bg)" }} />waiting</span></span>;
}

export function Search({ app }: { app: App }) {
    const { state } = app;
    return (
        <label class="search">
            <Icon name="search" />
            <input id="search" type="search" placeholder="Search" aria-label="Search functions, files and modules" value={state.search} spellcheck={false}
                onInput={(event) => app.search(event.currentTarget.value, state.pattern)}
                onKeyDown={(event) => {
                    if (event.key === "Enter")
                        app.steered?.match(event.shiftKey);
                    else if (event.key === "Escape")
                        event.currentTarget.blur();
                }} />
            <button type="button" class="toggle" aria-pressed={state.pattern} title="Regular expression"
                onClick={() => app.search(state.search, !state.pattern)}>.*</button>
        </label>
    );
}

/* Tools of a comparison. */
export function CompareTools({ app }: { app: App }) {
    return (
        <>
            <button type="button" title="Before becomes after" onClick={() => void app.opening.swap()}>Swap</button>
            <button type="button" onClick={() => void app.endComparison()}>End comparison</button>
        </>
    );
}

/* Tools of the page. */
export function Tools({ app }: { app: App }) {
    if (isPhone())
        return (
            <div class="tools">
                <button type="button" aria-label="Search" aria-pressed={app.searching} onClick={() => { app.searching = !app.searching; app.changed(); requestAnimationFrame(focusSearch); }}>
                    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><circle cx="7" cy="7" r="4.5" /><path d="M10.5 10.5 14 14" /></svg>
                </button>
                <button type="button" aria-label="Menu" onClick={() => app.openDialog("menu")}>
                    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 4h12M2 8h12M2 12h12" /></svg>
                </button>
            </div>
        );
    return (
        <div class="tools">
            {app.comparedWith ? <span class="wide"><CompareTools app={app} /></span>
                : <button type="button" title="With an earlier profile (Ctrl+Shift+O)" aria-label={"Compare with\u2026"} onClick={() => chooseFile(app, true)}><Icon name="compare" /><span class="wide">Compare with{"\u2026"}</span></button>}
            <button type="button" title="Light or dark" aria-label="Light or dark" onClick={() => app.appearance.setTheme(app.appearance.dark ? "light" : "dark")}><Icon name={app.appearance.dark ? "light" : "dark"} /></button>
            <button type="button" title="Save or export (Ctrl+S)" onClick={() => app.openDialog("export")}><Icon name="save" />Save</button>
            <button type="button" title="Keys (?)" aria-label="Keys" onClick={() => app.openDialog("help")}>?</button>
        </div>
    );
}

/* What colours mean. */
export function ColorLegend({ app, wide = false }: { app: App; wide?: boolean }) {
    return <><WaitLegend app={app} /><Legend app={app} wide={wide} /></>;
}

export function ColorChoice({ app }: { app: App }) {
    return (
        <label class="choice">Colour:
            <select aria-label="Colour" value={String(app.state.color)} onChange={(event) => void app.setColor(Number(event.currentTarget.value))}>
                <option value={String(Tone.Auto)}>automatic</option>
                <option value={String(Tone.Module)}>module</option>
                <option value={String(Tone.Name)}>function</option>
                <option value={String(Tone.Kind)}>kind</option>
                <option value={String(Tone.Self)}>self share</option>
                {app.comparedWith && <option value={String(Tone.Change)}>change</option>}
            </select>
        </label>
    );
}

export function ColorTools({ app }: { app: App }) {
    return <><ColorLegend app={app} /><ColorChoice app={app} /></>;
}

/* Settings of the shown profile: data and view. */
export function Bar({ app }: { app: App }) {
    if (isPhone())
        return (
            <section class="bar" aria-label="Shown data">
                <Crumbs app={app} />
                {app.searching || app.state.search ? <Search app={app} /> : null}
            </section>
        );
    return (
        <section class="bar" aria-label="Shown data">
            <EventChoice app={app} />
            <FilterBar app={app} />
            <Search app={app} />
        </section>
    );
}
