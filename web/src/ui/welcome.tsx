/* SPDX-License-Identifier: Apache-2.0 */
import type { App } from "../app";
import { chooseFile } from "../commands";
import { FormatChoice, Formats } from "./formats";
import { Licences } from "./licences";

export function Welcome({ app, version }: { app: App; version: string }) {
    return (
        <main class="welcome">
            <h1>stoke</h1>
            <p>Drop a profile here, paste one, or</p>
            <button type="button" class="primary" onClick={() => chooseFile(app, false)}>Open a file</button>
            <p>
                <span class="format">Format <FormatChoice app={app} value={app.format} none="detect" onChoice={(name) => { app.format = name; app.changed(); }} /></span>
            </p>
            <p class="faint">It is read in this page, by this machine: nothing is sent anywhere.</p>
            <Formats app={app} />
            <Licences />
            <p class="faint">Version {version}</p>
        </main>
    );
}
