/* SPDX-License-Identifier: Apache-2.0 */
import { render } from "preact";
import { App } from "./app";
import { onKey } from "./commands";
import { Core, unpack } from "./core";
import { fileOfDrop, pairOfDrop } from "./folder";
import { Live } from "./live";
import { Home } from "./home";
import { keepTemplate } from "./save";
import { onPhoneChange } from "./phone";
import { readState } from "./state";
import { Root } from "./ui/root";

declare const VERSION: string;

keepTemplate();

/* A profile that was saved in the page, and the view. */
async function openInlined(app: App): Promise<void> {
    const data = document.getElementById("profile");
    if (!data)
        return;
    const address = location.hash || (data.dataset["state"] ?? "");
    const state = address ? readState(address) : undefined;
    const bytes = await unpack(data.textContent ?? "");
    data.textContent = "";
    const before = document.getElementById("profile-before");
    const earlier = before ? new Blob([await unpack(before.textContent ?? "")]) : null;
    if (before)
        before.textContent = "";
    const opened = await app.opening.openTitled(new Blob([bytes]), data.dataset["name"] || "profile", false, state);
    if (opened && before && earlier)
        await app.opening.openTitled(earlier, before.dataset["name"] || "before", true, state);
}

function acceptFiles(app: App): void {
    addEventListener("dragover", (event) => {
        event.preventDefault();
        document.body.classList.add("dropping");
        for (const zone of document.querySelectorAll(".zone"))
            zone.classList.toggle("over", event.target instanceof Node && zone.contains(event.target));
    });
    addEventListener("dragleave", (event) => {
        if (!event.relatedTarget)
            document.body.classList.remove("dropping");
    });
    addEventListener("drop", (event) => {
        event.preventDefault();
        document.body.classList.remove("dropping");
        const compare = event.shiftKey || (event.target instanceof Element && event.target.closest(".zone.compare") !== null);
        const pair = pairOfDrop(event.dataTransfer);
        if (pair) { /* the older one is the profile before */
            void app.opening.open(pair[1], pair[1].name).then((opened) => opened && app.opening.open(pair[0], pair[0].name, true));
            return;
        }
        void fileOfDrop(event.dataTransfer).then((file) => {
            if (file)
                void app.opening.open(file, file.name, compare);
        }).catch((error: unknown) => app.fail(error));
    });
    addEventListener("paste", (event) => {
        if (event.target instanceof Element && event.target.matches("input, textarea"))
            return;
        const file = event.clipboardData?.files[0];
        const text = event.clipboardData?.getData("text/plain");
        if (file)
            void app.opening.open(file, file.name);
        else if (text)
            void app.opening.open(new Blob([text]), "pasted text");
    });
}

async function main(): Promise<void> {
    const root = document.getElementById("app") as HTMLElement;
    const core = await Core.start();
    const app = new App(core);
    const draw = (): void => render(<Root app={app} version={VERSION} />, root);
    app.onChange(draw);
    if (document.getElementById("live"))
        app.live = new Live(app);
    document.documentElement.dataset["theme"] = app.appearance.dark ? "dark" : "light";
    draw();
    addEventListener("keydown", (event) => onKey(app, event));
    addEventListener("hashchange", (event) => void app.follow(new URL(event.newURL).hash));
    acceptFiles(app);
    onPhoneChange(() => app.tracks.arrange());
    /* for the tests and benchmarks, which control the page from outside */
    Object.assign(window, { stoke: app });
    app.live?.start();
    const served = document.getElementById("home") !== null && location.protocol.startsWith("http");
    if (served)
        app.home = new Home(app);
    const inlined = document.getElementById("profile") !== null;
    await openInlined(app);
    if (app.home && !app.shown) {
        app.home.start();
        if (Home.asked() && !inlined) /* a page that cannot be shown is not requested again */
            void app.home.open(Home.asked());
        draw();
    }
    root.dataset["ready"] = "yes";
}

main().catch((error: unknown) => {
    const root = document.getElementById("app");
    if (root)
        root.textContent = `The viewer could not start: ${String(error)}`;
});
