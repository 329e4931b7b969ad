/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that can be opened, as listed by the core. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";

interface Format {
    name: string;
    summary: string;
}

function useFormats(app: App): Format[] {
    const [formats, setFormats] = useState<Format[]>([]);
    useEffect(() => {
        void app.core.formats().then(setFormats);
    }, []);
    return formats;
}

export function Formats({ app }: { app: App }) {
    const formats = useFormats(app);
    return (
        <details class="formats">
            <summary>What can be opened</summary>
            <ul>{formats.map((f) => <li key={f.name}><b>{f.name}</b> {f.summary}</li>)}</ul>
            <p class="faint">Also packed by gzip, zstd or xz, and pages that were saved with a profile in them.</p>
        </details>
    );
}

/* Selects the format of a file. */
export function FormatChoice({ app, value, none, onChoice }: { app: App; value: string; none: string; onChoice: (name: string) => void }) {
    const formats = useFormats(app);
    return (
        <select aria-label="Format" value={value} onChange={(event) => onChoice(event.currentTarget.value)}>
            <option value="">{none}</option>
            {formats.map((f) => <option key={f.name} value={f.name}>{f.name} {"\u2013"} {f.summary}</option>)}
        </select>
    );
}
