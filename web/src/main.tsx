/* SPDX-License-Identifier: Apache-2.0 */
import { render } from "preact";
import { App } from "./app";
import { onKey } from "./commands";
import { Core, unpack } from "./core";
import { fileOfDrop } from "./folder";
import { keepTemplate } from "./save";
import { readPlace } from "./state";
import { Root } from "./ui/root";

declare const VERSION: string;

keepTemplate();

/* A profile that was saved with the page, and where its reader was. */
async function openInlined(app: App): Promise<void> {
    const data = document.getElementById("profile");
    if (!data)
        return;
    const place = readPlace(location.hash || (data.dataset["place"] ?? ""));
    const bytes = await unpack(data.textContent ?? "");
    data.textContent = "";
    await app.openTitled(new Blob([bytes]), data.dataset["name"] || "profile", false, place);
}

function acceptFiles(app: App): void {
    addEventListener("dragover", (event) => {
        event.preventDefault();
        document.body.classList.add("dropping");
    });
    addEventListener("dragleave", (event) => {
        if (!event.relatedTarget)
            document.body.classList.remove("dropping");
    });
    addEventListener("drop", (event) => {
        event.preventDefault();
        document.body.classList.remove("dropping");
        const { shiftKey } = event;
        void fileOfDrop(event.dataTransfer).then((file) => {
            if (file)
                void app.open(file, file.name, shiftKey);
        }).catch((error: unknown) => app.fail(error));
    });
    addEventListener("paste", (event) => {
        if (event.target instanceof Element && event.target.matches("input, textarea"))
            return;
        const file = event.clipboardData?.files[0];
        const text = event.clipboardData?.getData("text/plain");
        if (file)
            void app.open(file, file.name);
        else if (text)
            void app.open(new Blob([text]), "what was pasted");
    });
}

async function main(): Promise<void> {
    const root = document.getElementById("app") as HTMLElement;
    const core = await Core.start();
    const app = new App(core);
    const draw = (): void => render(<Root app={app} version={VERSION} />, root);
    app.onChange(draw);
    document.documentElement.dataset["theme"] = app.dark ? "dark" : "light";
    draw();
    addEventListener("keydown", (event) => onKey(app, event));
    addEventListener("hashchange", () => void app.follow());
    acceptFiles(app);
    /* for the tests and benchmarks, which drive the page from outside */
    Object.assign(window, { stoke: app });
    await openInlined(app);
    root.dataset["ready"] = "yes";
}

main().catch((error: unknown) => {
    const root = document.getElementById("app");
    if (root)
        root.textContent = `The viewer could not start: ${String(error)}`;
});
