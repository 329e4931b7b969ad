/* SPDX-License-Identifier: Apache-2.0 */
import type { App } from "../app";
import { shownName } from "../format";

/* Shown while a file is dragged over the page (body.dropping): where to drop it. */
export function DropZones({ app }: { app: App }) {
    return (
        <div class="drops" aria-hidden="true">
            <div class="zone">Open</div>
            {app.shown && <div class="zone compare">Compare<small>as the profile before {shownName(app.name)}</small></div>}
        </div>
    );
}
