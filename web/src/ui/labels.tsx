/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of samples as filters: pprof's tags. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { shownName, weight } from "../format";
import type { Filter } from "../state";
import type { SummaryInfo } from "../protocol";
import { Dialog } from "./dialogs";

type Label = NonNullable<SummaryInfo["labels"]>[number];

const LISTED = 500; /* maximum lines; the search finds the others */

function textOf(label: Label): string {
    return `${label.key}=${label.value}`;
}

/* A filter for samples with one of the labels of each key, or without all of them. */
export function labelFilter(labels: Label[], without = false): Filter {
    return { verb: without ? "drop-label" : "label", text: labels.map(textOf).join("\n") };
}

/* The labels by key, in the order of the heaviest one. */
function byKey(labels: Label[]): [string, Label[]][] {
    const keys = new Map<string, Label[]>();
    for (const label of labels)
        keys.set(label.key, [...(keys.get(label.key) ?? []), label]);
    return [...keys];
}

const LABELS_MOST = 5000; /* that can be chosen */

export function Labels({ app }: { app: App }) {
    const [labels, setLabels] = useState<Label[] | null>(null);
    const [text, setText] = useState("");
    const [picked, setPicked] = useState(new Set<string>());
    useEffect(() => {
        void app.core.summary(LABELS_MOST).then((info) => setLabels(info.labels ?? []), (error: unknown) => app.fail(error));
    }, []);
    const seen = (labels ?? []).filter((label) => textOf(label).toLowerCase().includes(text.toLowerCase()));
    const chosen = (labels ?? []).filter((label) => picked.has(textOf(label)));
    const add = (filter: Filter): void => {
        app.openDialog(null);
        void app.filters.add(filter);
    };
    const flip = (label: string): void => {
        const next = new Set(picked);
        if (!next.delete(label))
            next.add(label);
        setPicked(next);
    };
    return (
        <Dialog app={app} title="Labels">
            <input type="text" placeholder="Key or value" aria-label="Key or value" value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
            <div class="choices labels-list">
                {byKey(seen.slice(0, LISTED)).map(([key, values]) => (
                    <div key={key} role="group" aria-label={shownName(key)}>
                        <p class="key">
                            <b>{shownName(key)}</b>
                            <button type="button" class="quiet" title="One frame for each value" onClick={() => add({ verb: "by", text: `label:${key}` })}>Group by it</button>
                        </p>
                        {values.map((label) => (
                            <label key={label.value}>
                                <input type="checkbox" checked={picked.has(textOf(label))} onChange={() => flip(textOf(label))} />
                                <span>{shownName(label.value) || "(empty)"}</span><em>{weight(label.weight, app.shown?.unit ?? "")}</em>
                            </label>
                        ))}
                    </div>
                ))}
                {seen.length > LISTED && <p class="faint">and {seen.length - LISTED} more: search for them</p>}
                {labels && !seen.length && <p class="nothing">No label matches.</p>}
            </div>
            <p class="acts">
                <button type="button" class="primary" disabled={!chosen.length} onClick={() => add(labelFilter(chosen))}>Only these</button>
                <button type="button" disabled={!chosen.length} onClick={() => add(labelFilter(chosen, true))}>Without these</button>
            </p>
        </Dialog>
    );
}
