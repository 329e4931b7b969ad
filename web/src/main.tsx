/* SPDX-License-Identifier: Apache-2.0 */
import { render } from "preact";
import { App } from "./app";
import { onKey } from "./commands";
import { Core } from "./core";
import { bytesOf } from "./embedded";
import { fileOfDrop, pairOfDrop } from "./folder";
import { Live } from "./live";
import { Home } from "./home";
import { prepare } from "./painter";
import { PACKED } from "./report";
import { keepTemplate } from "./save";
import { onPhoneChange } from "./phone";
import { readState } from "./state";
import { Root } from "./ui/root";

declare const VERSION: string;

/* A profile that was saved in the page, gzip in base64. */
interface Inlined {
    name: string;
    state: string;
    packed: string;
}

/* Takes it out of the document, which is smaller without it. */
function takeInlined(id: string, unnamed: string): Inlined | null {
    const data = document.getElementById(id);
    if (!data)
        return null;
    const packed = data.textContent ?? "";
    data.textContent = "";
    return { name: data.dataset["name"] || unnamed, state: data.dataset["state"] ?? "", packed };
}

/* Opens the profiles and the view that were saved in the page. */
async function openInlined(app: App, profile: Inlined, before: Inlined | null): Promise<void> {
    const address = location.hash || profile.state;
    const state = address ? readState(address) : undefined;
    const file = ({ packed }: Inlined): Blob => new Blob([bytesOf(packed)], { type: PACKED });
    const opened = await app.opening.openTitled(file(profile), profile.name, false, state);
    if (opened && before)
        await app.opening.openTitled(file(before), before.name, true, state);
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
    const core = new Core(window.early);
    const inlined = takeInlined("profile", "profile"), before = takeInlined("profile-before", "before");
    keepTemplate();
    const app = new App(core);
    app.inlined = inlined !== null;
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
    if (inlined) {
        const opened = openInlined(app, inlined, before);
        setTimeout(prepare); /* while the core reads it */
        await opened;
    }
    await core.started;
    app.inlined = false;
    if (app.home && !app.shown) {
        app.home.start();
        const asked = Home.asked();
        if (asked && !inlined) /* a page that cannot be shown is not requested again */
            void app.home.open(asked.file, asked.before);
    }
    if (!app.shown)
        draw();
    root.dataset["ready"] = "yes";
}

main().catch((error: unknown) => {
    const root = document.getElementById("app");
    if (root)
        root.textContent = `The viewer could not start: ${String(error)}`;
});
