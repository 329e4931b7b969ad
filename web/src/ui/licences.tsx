/* SPDX-License-Identifier: Apache-2.0 */
/* The licences of the page's parts, as embedded in it. */
import { useState } from "preact/hooks";

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

/* Only some pages contain the layout of call graphs; its licences are at its start. */
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
