import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { chooseFile } from "../commands";

export function Welcome({ app, version }: { app: App; version: string }) {
    const [formats, setFormats] = useState<{ name: string; summary: string }[]>([]);
    useEffect(() => {
        void app.core.formats().then(setFormats);
    }, []);
    return (
        <main class="welcome">
            <h1>stoke</h1>
            <p>Drop a profile here, paste one, or</p>
            <button type="button" class="primary" onClick={() => chooseFile(app, false)}>Open a file</button>
            <p class="faint">It is read in this page, by this machine: nothing is sent anywhere.</p>
            <details>
                <summary>What can be opened</summary>
                <ul>{formats.map((f) => <li key={f.name}><b>{f.name}</b> {f.summary}</li>)}</ul>
                <p class="faint">gzip-packed files are unpacked. Version {version}.</p>
            </details>
        </main>
    );
}
