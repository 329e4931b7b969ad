import type { App } from "../app";
import { shownName } from "../format";
import { Tone } from "../protocol";

function EventChoice({ app }: { app: App }) {
    const events = app.profile?.events ?? [];
    const { shown, place } = app;
    if (!shown || (events.length < 2 && shown.unit === "samples" && !place.count) || app.comparedWith)
        return null;
    const now = place.wall ? "wall" : place.count ? "count" : String(shown.event);
    const waits = events.some((e) => e.name === "off-cpu");
    return (
        <select aria-label="What is weighed" value={now} onChange={(event) => {
            const to = event.currentTarget.value;
            void (to === "wall" ? app.setEvent(place.event, false, true)
                : to === "count" ? app.setEvent(place.event, true) : app.setEvent(Number(to), false));
        }}>
            {events.map((e, i) => <option key={i} value={String(i + 1)}>{shownName(e.name)} ({e.unit})</option>)}
            {waits && <option value="wall">time, running and waiting</option>}
            <option value="count">samples counted</option>
        </select>
    );
}

export function Toolbar({ app }: { app: App }) {
    const { place } = app;
    return (
        <div class="tools">
            <EventChoice app={app} />
            <label class="search">
                <input id="search" type="search" placeholder="Search" aria-label="Search functions, files and modules" value={place.search} spellcheck={false}
                    onInput={(event) => app.search(event.currentTarget.value, place.pattern)}
                    onKeyDown={(event) => {
                        if (event.key === "Enter")
                            app.steered?.match(event.shiftKey);
                        else if (event.key === "Escape")
                            event.currentTarget.blur();
                    }} />
                <button type="button" class="toggle" aria-pressed={place.pattern} title="Regular expression (x)"
                    onClick={() => app.search(place.search, !place.pattern)}>.*</button>
            </label>
            <select aria-label="Colour" value={String(place.color)} onChange={(event) => void app.setColor(Number(event.currentTarget.value))}>
                <option value={String(Tone.Name)}>by name</option>
                <option value={String(Tone.Module)}>by module</option>
                <option value={String(Tone.Kind)}>by kind</option>
                <option value={String(Tone.Self)}>by self share</option>
                {app.comparedWith && <option value={String(Tone.Change)}>by change</option>}
            </select>
            <button type="button" title="Light or dark" aria-label="Light or dark" onClick={() => app.setTheme(app.dark ? "light" : "dark")}>{app.dark ? "\u263c" : "\u263e"}</button>
            <button type="button" title="Save or export (Ctrl+S)" onClick={() => app.openDialog("export")}>Save</button>
            <button type="button" title="Keys (?)" aria-label="Keys" onClick={() => app.openDialog("help")}>?</button>
        </div>
    );
}
