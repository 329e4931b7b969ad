/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of a heap profile: the sizes of the shown blocks, and the lifetimes of the released
 * ones. A click on a bar shows only these blocks, in all views. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { count, eventName, microseconds, share, shownName, weight } from "../format";
import type { ClassSum } from "../protocol";

const UNITS: Record<string, number> = { bytes: 1, byte: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 };

/* The lower end of a class such as "512 bytes to 1 KiB", "1 to 10 us" or "under 1 us". */
export function classStart(name: string): number {
    const found = /([\d.]+) ?([A-Za-z]+)?/.exec(name);
    const last = /([A-Za-z]+)$/.exec(name)?.[1] ?? "";
    const unit = UNITS[found?.[2] ?? ""] ?? UNITS[last] ?? 1;
    return /^(under|less)/.test(name) ? -1 : Number(found?.[1] ?? 0) * unit;
}

interface HistogramProps {
    title: string;
    of: string; /* the event */
    unit: string;
    classes: ClassSum[];
    show(value: string): void;
}

function Histogram({ title, of, unit, classes, show }: HistogramProps) {
    const sorted = [...classes].sort((a, b) => classStart(a.value) - classStart(b.value));
    const all = classes.reduce((sum, one) => sum + one.weight, 0);
    const most = Math.max(...classes.map((one) => one.weight), 0) || 1;
    return (
        <section aria-label={title}>
            <h2>{title} <span class="faint">{of}</span></h2>
            {!classes.length && <p class="faint">None of the shown samples has a class.</p>}
            <ul>
                {sorted.map((one) => (
                    <li key={one.value}>
                        <button type="button" title={`Show only these: ${count(one.samples)} ${one.samples === 1 ? "sample" : "samples"}`} onClick={() => show(one.value)}>
                            <span>{shownName(microseconds(one.value))}</span>
                            <i><i style={{ width: `${(Math.max(0, one.weight) / most) * 100}%` }} /></i>
                            <b>{weight(one.weight, unit)}</b>
                            <em>{share(one.weight, all)}</em>
                        </button>
                    </li>
                ))}
            </ul>
        </section>
    );
}

/* Lifetimes are known of blocks that were released: in bytes, or counted. */
function lifetimeEvent(app: App): number {
    const events = app.profile?.events ?? [];
    const at = (name: string): number => events.findIndex((event) => event.name === name) + 1;
    const counts = app.state.count || app.shown?.unit === "samples";
    return (counts ? at("releases") || at("freed") : at("freed") || at("releases"));
}

export function Sizes({ app }: { app: App }) {
    const [got, setGot] = useState<[ClassSum[], ClassSum[]] | null>(null);
    const event = app.memory.shownEvent, released = lifetimeEvent(app);
    useEffect(() => {
        let stale = false;
        Promise.all([app.core.histogram(event, "size"), released ? app.core.histogram(released, "lifetime") : []]).then(
            (all) => { if (!stale) setGot(all); }, (error: unknown) => app.fail(error));
        return () => { stale = true; };
    }, [app.version, event, released]);
    if (!got)
        return <p class="nothing">Adding up{"\u2026"}</p>;
    const [sizes, lifetimes] = got;
    const { events } = app.profile ?? { events: [] };
    const name = (at: number): string => { const one = events[at - 1]; return one ? eventName(one) : ""; };
    const only = (key: string, value: string) => ({ verb: "label", text: `${key}=${value}` });
    return (
        <div class="histograms">
            <Histogram title="Sizes of blocks" of={name(event)} unit={events[event - 1]?.unit ?? ""} classes={sizes} show={(value) => void app.filters.add(only("size", value))} />
            {released > 0
                ? <Histogram title="Lifetimes of blocks" of={name(released)} unit={events[released - 1]?.unit ?? ""} classes={lifetimes} show={(value) => void app.filters.showTime(only("lifetime", value), released)} />
                : <section><h2>Lifetimes of blocks</h2><p class="faint">The profile has no releases: <code>stoke heap --full</code> records them.</p></section>}
        </div>
    );
}
