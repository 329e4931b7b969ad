/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of users on the time line of the live page: marks on the axis, and the dialog that writes
 * and removes them. */
import { useState } from "preact/hooks";
import { clock, type Live } from "../live";
import { Dialog } from "./dialogs";

export function NoteMarks({ live }: { live: Live }) {
    const [from, to] = live.axis;
    return (
        <>
            {live.notes.filter((note) => note.time >= from && note.time < to).map((note) => (
                <button type="button" key={note.number} class="live-mark note" title={note.text} aria-label={`Note: ${note.text}, ${clock(note.time)}`}
                    style={{ left: `${((note.time - from) / (to - from)) * 100}%` }} onClick={() => live.showNote(note)} />
            ))}
        </>
    );
}

export function NoteDialog({ live }: { live: Live }) {
    const { app, note } = live;
    const [text, setText] = useState("");
    const [wrong, setWrong] = useState("");
    const close = (change: Promise<void>): void => {
        change.then(() => app.openDialog(null), (error: unknown) => setWrong(error instanceof Error ? error.message : String(error)));
    };
    return (
        <Dialog app={app} title={note ? `Note of ${clock(note.time)}` : `Write a note at ${clock(live.noteTime)}`}>
            {note ? (
                <div class="line">
                    <p>{note.text}</p>
                    {live.status?.can_note && <button type="button" onClick={() => close(live.removeNote(note))}>Remove</button>}
                </div>
            ) : (
                <form class="line" onSubmit={(event) => {
                    event.preventDefault();
                    close(live.addNote(text));
                }}>
                    <input type="text" value={text} aria-label="Note" maxLength={120} required onInput={(event) => setText(event.currentTarget.value)} />
                    <button type="submit" class="primary">Write</button>
                </form>
            )}
            {wrong && <p class="wrong" role="alert">{wrong}</p>}
        </Dialog>
    );
}
