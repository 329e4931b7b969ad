/* SPDX-License-Identifier: Apache-2.0 */
/* What can be opened, as the core tells it. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";

export function Formats({ app }: { app: App }) {
    const [formats, setFormats] = useState<{ name: string; summary: string }[]>([]);
    useEffect(() => {
        void app.core.formats().then(setFormats);
    }, []);
    return (
        <details class="formats">
            <summary>What can be opened</summary>
            <ul>{formats.map((f) => <li key={f.name}><b>{f.name}</b> {f.summary}</li>)}</ul>
            <p class="faint">Also packed by gzip, zstd or xz, and pages that were saved with a profile in them.</p>
        </details>
    );
}
