/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all tracks: the threads of all events, by process. */
import { useState } from "preact/hooks";
import type { App } from "../app";
import { count, shownName, time } from "../format";
import { Dialog } from "./dialogs";

const LISTED = 400; /* maximum lines; the search finds the others */

export function MoreTracks({ app }: { app: App }) {
    const { tracks } = app;
    const { info } = tracks;
    const [text, setText] = useState("");
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (...of: (string | number | undefined)[]): boolean => {
        const all = of.join(" ").toLowerCase();
        return words.every((word) => all.includes(word));
    };
    const groups = (info?.processes ?? []).map((process, index) => ({
        process, index,
        threads: Array.from({ length: process.count }, (_, i) => process.first + i).filter((t) => {
            const thread = info?.threads[t];
            return matches(process.name, process.pid, process.ids, thread?.name, thread?.tid);
        }),
    })).filter((group) => group.threads.length);
    let room = LISTED;
    const listed = groups.map((group) => {
        const threads = room > 0 && group.process.count > 1 ? group.threads.slice(0, room - 1) : [];
        const shown = room > 0;
        room -= 1 + threads.length;
        return { ...group, threads, shown };
    }).filter((group) => group.shown);
    const left = groups.reduce((n, g) => n + Math.max(1, g.threads.length), 0) - listed.reduce((n, g) => n + Math.max(1, g.threads.length), 0);
    return (
        <Dialog app={app} title="Tracks">
            <input type="text" placeholder="Name or number" aria-label="Name or number" value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
            <div class="choices tracks-list">
                {listed.map(({ process, index, threads }) => (
                    <div key={index} role="group" aria-label={shownName(process.name)}>
                        <label>
                            <input type="checkbox" checked={tracks.processShown(index)} onChange={(event) => tracks.showProcess(index, event.currentTarget.checked)} />
                            <b>{shownName(process.name) || "(no name)"}</b> <span class="faint">{process.pid ?? (process.processes ? `\u00d7${process.processes}` : "")}</span>
                            <em>{process.running ? time(process.running) : ""}</em>
                        </label>
                        {threads.map((t) => (
                            <label key={t} class="inner">
                                <input type="checkbox" checked={tracks.isShown(t)} onChange={(event) => tracks.showThread(t, event.currentTarget.checked)} />
                                <span>{shownName(info?.threads[t]?.name ?? "") || "(no name)"}</span> <span class="faint">{info?.threads[t]?.tid}</span>
                                <em>{info?.threads[t]?.running ? time(info.threads[t].running) : `${count(info?.threads[t]?.samples ?? 0)} samples`}</em>
                            </label>
                        ))}
                    </div>
                ))}
                {left > 0 && <p class="faint">and {count(left)} more: search for them</p>}
                {!listed.length && <p class="nothing">No track matches.</p>}
            </div>
        </Dialog>
    );
}
