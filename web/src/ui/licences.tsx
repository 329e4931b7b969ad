/* SPDX-License-Identifier: Apache-2.0 */
/* The licences of what the page contains, as they stand in it. */
import { useState } from "preact/hooks";

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

/* What draws call graphs is in some pages only; its licences stand at its head. */
function licences(): string {
    const [, ofGraphs = ""] = /^\/\*([\s\S]*?)\*\//.exec(textOf("graphviz")) ?? [];
    return textOf("licences") + ofGraphs;
}

export function Licences() {
    const [text, setText] = useState("");
    return (
        <details class="formats" onToggle={(event) => setText(event.currentTarget.open ? licences() : "")}>
            <summary>Licences of what this page contains</summary>
            <pre class="licences">{text}</pre>
        </details>
    );
}
