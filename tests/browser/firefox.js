/* SPDX-License-Identifier: Apache-2.0 */
/* Firefox by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/): Playwright drives only builds of
 * its own. Pages have the functions of Playwright's pages that pages.js and the tests use. */
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { spawn } = require("child_process");
const { WebSocket } = require("ws");
const { PATIENCE } = require("./activity.js");

/* No requests of the browser's own, and no windows that wait for an answer. */
const PREFERENCES = {
    "app.normandy.enabled": false,
    "app.update.enabled": false,
    "browser.download.useDownloadDir": true,
    "browser.download.folderList": 2,
    "browser.download.alwaysOpenPanel": false,
    "browser.shell.checkDefaultBrowser": false,
    "browser.startup.page": 0,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": false,
    "extensions.getAddons.cache.enabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "remote.active-protocols": 1,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.reportingpolicy.firstRun": false,
};

/* The characters of https://w3c.github.io/webdriver/#keyboard-actions. */
const KEYS = { Backspace: "\ue003", Tab: "\ue004", Enter: "\ue007", Shift: "\ue008", Control: "\ue009", Alt: "\ue00a", Escape: "\ue00c",
    PageUp: "\ue00e", PageDown: "\ue00f", End: "\ue010", Home: "\ue011", ArrowLeft: "\ue012", ArrowUp: "\ue013", ArrowRight: "\ue014", ArrowDown: "\ue015", Delete: "\ue017" };

class Page {
    constructor(firefox, id) {
        this.firefox = firefox;
        this.id = id;
        this.at = [0, 0]; /* the pointer */
        this.keyboard = { press: (key) => this.press(key), down: (key) => this.hold("keyDown", key), up: (key) => this.hold("keyUp", key), type: (text) => this.type(text) };
        this.mouse = { move: (x, y) => this.pointer([this.moveTo(x, y)]), down: () => this.pointer([{ type: "pointerDown", button: 0 }]),
            up: () => this.pointer([{ type: "pointerUp", button: 0 }]), click: (x, y, options) => this.click(x, y, options) };
    }

    ask(method, params) {
        return this.firefox.ask(method, { context: this.id, ...params });
    }

    goto(url) {
        return this.ask("browsingContext.navigate", { url, wait: "complete" });
    }

    reload() {
        return this.ask("browsingContext.reload", { wait: "complete" });
    }

    close() {
        return this.ask("browsingContext.close", {});
    }

    /* What the function or expression returns; values are passed as JSON. */
    async evaluate(what, given) {
        const body = typeof what === "function" ? `(${what})(JSON.parse(given))` : `(${what})`;
        const { result, exceptionDetails } = await this.firefox.ask("script.callFunction", {
            functionDeclaration: `async (given) => JSON.stringify(await ${body})`, awaitPromise: true, target: { context: this.id },
            arguments: [{ type: "string", value: JSON.stringify(given ?? null) }] });
        if (exceptionDetails)
            throw new Error(`${exceptionDetails.text} in ${String(what).slice(0, 200)}`);
        return result.type === "string" ? JSON.parse(result.value) : undefined;
    }

    /* Waits until the function returns something true, or the limit is reached. */
    async waitForFunction(what, given) {
        const until = Date.now() + PATIENCE;
        for (;;) {
            const value = await this.evaluate(what, given);
            if (value)
                return value;
            if (Date.now() > until)
                throw new Error(`still false: ${what}`);
            await this.waitForTimeout(50);
        }
    }

    waitForSelector(selector) {
        return this.waitForFunction((one) => document.querySelector(one) !== null, selector);
    }

    waitForTimeout(ms) {
        return new Promise((done) => setTimeout(done, ms));
    }

    /* "Control+s"; a capital letter is pressed with Shift, as on a keyboard. */
    async press(key) {
        const [last, ...held] = key === "+" ? [key] : key.split("+").reverse();
        if (/^[A-Z]$/.test(last) && !held.includes("Shift"))
            held.push("Shift");
        const down = held.reverse().map((one) => ({ type: "keyDown", value: KEYS[one] }));
        const value = KEYS[last] ?? last;
        await this.perform({ type: "key", id: "keys", actions: [...down, { type: "keyDown", value }, { type: "keyUp", value },
            ...down.map((one) => ({ ...one, type: "keyUp" })).reverse()] });
    }

    hold(type, key) {
        return this.perform({ type: "key", id: "keys", actions: [{ type, value: KEYS[key] }] });
    }

    type(text) {
        return this.perform({ type: "key", id: "keys", actions: [...text].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) });
    }

    moveTo(x, y) {
        return { type: "pointerMove", x: Math.round(x), y: Math.round(y) };
    }

    pointer(actions) {
        return this.perform({ type: "pointer", id: "pointer", parameters: { pointerType: "mouse" }, actions });
    }

    click(x, y, { button = "left", clickCount = 1 } = {}) {
        const number = ["left", "middle", "right"].indexOf(button);
        const one = [{ type: "pointerDown", button: number }, { type: "pointerUp", button: number }];
        return this.pointer([this.moveTo(x, y), ...Array(clickCount).fill(one).flat()]);
    }

    perform(source) {
        return this.ask("input.performActions", { actions: [source] });
    }

    /* Chooses a file in the dialog that opens. */
    async choose(file, begin) {
        const coming = this.firefox.event("input.fileDialogOpened", ({ context }) => context === this.id);
        await begin();
        await this.ask("input.setFiles", { element: (await coming).element, files: [file] });
    }

    /* The next file that the page saves: its name and content. */
    async download(begin) {
        const coming = this.firefox.event("browsingContext.downloadEnd", ({ context }) => context === this.id);
        await begin();
        const { status, filepath } = await coming;
        if (status !== "complete")
            throw new Error(`the download is ${status}`);
        return { name: path.basename(filepath), text: fs.readFileSync(filepath) };
    }
}

class Firefox {
    constructor(child, folder, socket) {
        this.child = child;
        this.folder = folder;
        this.socket = socket;
        this.number = 0;
        this.asked = new Map(); /* requests without a reply, by number */
        this.awaited = new Set(); /* events that a test waits for */
        this.onError = () => undefined; /* called with errors of scripts */
        socket.on("message", (text) => this.take(JSON.parse(text)));
        socket.on("close", () => this.abandon());
    }

    take(message) {
        if (message.type === "event") {
            for (const one of this.awaited)
                if (one.method === message.method && one.fits(message.params))
                    one.done(message.params);
            if (message.method === "log.entryAdded" && message.params.level === "error")
                this.onError(message.params.text);
            return;
        }
        const one = this.asked.get(message.id);
        this.asked.delete(message.id);
        if (message.type === "error")
            one?.fail(new Error(`${one.method}: ${message.error}: ${message.message}`));
        else
            one?.done(message.result);
    }

    abandon() {
        for (const one of [...this.asked.values(), ...this.awaited])
            one.fail(new Error("Firefox has ended"));
    }

    ask(method, params) {
        return new Promise((done, fail) => {
            this.asked.set(++this.number, { method, done, fail });
            this.socket.send(JSON.stringify({ id: this.number, method, params }));
        });
    }

    event(method, fits) {
        return new Promise((done, fail) => {
            const late = setTimeout(() => end(fail, new Error(`no event ${method}`)), PATIENCE);
            const one = { method, fits, done: (params) => end(done, params), fail: (why) => end(fail, why) };
            const end = (call, value) => {
                clearTimeout(late);
                this.awaited.delete(one);
                call(value);
            };
            this.awaited.add(one);
        });
    }

    /* A tab; `init` runs in it before the scripts of the page. */
    async newPage(viewport, init) {
        const { context } = await this.ask("browsingContext.create", { type: "tab" });
        await this.ask("browsingContext.setViewport", { context, viewport });
        await this.ask("script.addPreloadScript", { functionDeclaration: String(init), contexts: [context] });
        return new Page(this, context);
    }

    /* Closes all tabs but one, without which Firefox would end. */
    async closePages() {
        const { contexts } = await this.ask("browsingContext.getTree", { maxDepth: 0 });
        for (const { context } of contexts.slice(1))
            await this.ask("browsingContext.close", { context });
    }

    async close() {
        const end = new Promise((done) => this.child.once("exit", done));
        await this.ask("browser.close", {}).catch(() => this.child.kill("SIGKILL"));
        await end;
        fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    }
}

/* The address of its BiDi server, which Firefox prints. */
function addressOf(child) {
    return new Promise((done, fail) => {
        let said = "";
        const late = setTimeout(() => fail(new Error(`Firefox does not start: ${said.slice(-2000)}`)), PATIENCE);
        child.stderr.on("data", (text) => {
            said = (said + text).slice(-10000);
            const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said);
            if (found) {
                clearTimeout(late);
                done(found[1]);
            }
        });
        child.once("exit", (status) => fail(new Error(`Firefox ended with ${status}: ${said.slice(-2000)}`)));
    });
}

async function launch(command) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stoke-firefox-"));
    const profile = path.join(folder, "profile");
    const preferences = { ...PREFERENCES, "browser.download.dir": path.join(folder, "downloads") };
    fs.mkdirSync(profile);
    fs.mkdirSync(preferences["browser.download.dir"]);
    fs.writeFileSync(path.join(profile, "user.js"), Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
    const child = spawn(command, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
        { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: folder, MOZ_CRASHREPORTER_DISABLE: "1" } });
    const socket = new WebSocket(`${await addressOf(child)}/session`, { perMessageDeflate: false });
    await new Promise((done, fail) => {
        socket.once("open", done);
        socket.once("error", fail);
    });
    const firefox = new Firefox(child, folder, socket);
    await firefox.ask("session.new", { capabilities: { alwaysMatch: { unhandledPromptBehavior: { file: "ignore" } } } });
    await firefox.ask("session.subscribe", { events: ["log.entryAdded", "browsingContext.downloadEnd", "input.fileDialogOpened"] });
    return firefox;
}

module.exports = { launch };
