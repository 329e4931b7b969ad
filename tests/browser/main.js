/* Runs the tests of this folder in one browser and prints TAP. */
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { spawnSync } = require("child_process");
const { chromium } = require("playwright-core");
const { PATIENCE, watch } = require("./activity.js");
const firefox = require("./firefox.js");

/* These tests run in Firefox: `run --firefox`. The others use Playwright's own functions. */
const OF_FIREFOX = ["firefox.test.js", "tasks.test.js"];
const ONLY_FIREFOX = ["firefox.test.js"];
const NOTABLE = 2; /* seconds; the time of longer tests is printed */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/* The context of a test: a browser, an empty folder, and functions that make pictures. */
class Bench {
    constructor(browser, folder) {
        this.browser = browser;
        this.folder = folder;
        this.notes = [];
        this.problems = []; /* unexpected errors of a page */
        this.children = []; /* killed at the end of the test */
        this.online = /^(file|blob|data):/; /* URLs that pages may request */
    }

    write(name, content) {
        const file = path.join(this.folder, name);
        fs.writeFileSync(file, content);
        return file;
    }

    /* Draws a graph of folded lines and returns the URL of the file. */
    draw(lines, ...options) {
        const out = path.join(this.folder, "graph" + fs.readdirSync(this.folder).length +
            ".svg");
        const done = spawnSync(process.env.STOKE,
            ["flamegraph", "--quiet", "--format", "folded", "-o", out, ...options, "-"],
            { input: lines, encoding: "utf8" });
        if (done.status !== 0)
            throw new Error("stoke ended with " + done.status + ": " + done.stderr);
        return "file://" + out;
    }

    async open(address, options) {
        const page = await this.openIn(await this.context(options), options);
        await page.goto(address);
        return page;
    }

    async context(options) {
        const context = await this.browser.newContext(Object.assign({ viewport: { width: 1200, height: 800 } }, options));
        context.setDefaultTimeout(PATIENCE);
        return context;
    }

    async openIn(context, options) {
        const page = await context.newPage();
        /* While there is a listener, the browser reports file choosers. A listener that is
         * added when a chooser is expected may be too late for it. */
        page.on("filechooser", () => undefined);
        await page.addInitScript(watch);
        if (options && options.init)
            await page.addInitScript(options.init);
        page.on("pageerror", (error) => this.problems.push("error: " + (error.stack || error.message)));
        page.on("console", (message) => {
            if (message.type() === "error" && !this.expectsErrors)
                this.problems.push("console: " + message.text());
        });
        page.on("request", (request) => {
            if (!this.online.test(request.url()))
                this.problems.push("a request: " + request.url());
        });
        return page;
    }

    note(text) {
        this.notes.push(text);
    }

    /* The program ends with the test, before its folder is removed: it may still write there. */
    endWithTest(child, signal = "SIGTERM") {
        this.children.push({ close: () => ended(child, signal) });
    }
}

class FirefoxBench extends Bench {
    async open(address, options) {
        this.browser.onError = (text) => this.problems.push("error: " + text);
        const page = await this.browser.newPage(options?.viewport ?? { width: 1200, height: 800 }, watch);
        await page.goto(address);
        return page;
    }
}

/* Sends the signal and waits for the end; after PATIENCE the program is killed. */
async function ended(child, signal) {
    if (child.exitCode !== null || child.signalCode !== null)
        return;
    const end = new Promise((done) => child.once("exit", done));
    const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
    child.kill(signal);
    await end;
    clearTimeout(late);
}

async function runOne(browser, test) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stoke-browser-"));
    const bench = browser.newPage && !browser.contexts ? new FirefoxBench(browser, folder) : new Bench(browser, folder);
    let why = "";
    try {
        await test.run(bench);
        why = bench.problems.join("\n");
    } catch (error) {
        why = String(error.stack || error);
    }
    if (bench instanceof FirefoxBench)
        await browser.closePages();
    else
        for (const context of browser.contexts())
            await context.close();
    for (const child of bench.children)
        await child.close();
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    return { why, notes: bench.notes };
}

async function main() {
    const inFirefox = process.argv[2] === "--firefox";
    const part = process.argv[inFirefox ? 3 : 2] || "";
    const tests = [];
    for (const file of fs.readdirSync(__dirname).sort())
        if (file.endsWith(".test.js") && (inFirefox ? OF_FIREFOX.includes(file) : !ONLY_FIREFOX.includes(file)))
            require(path.join(__dirname, file))((name, run) => {
                tests.push({ name: file.replace(".test.js", "") + ": " + name, run });
            });
    const browser = inFirefox ? await firefox.launch(process.env.FIREFOX)
        : await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
    let number = 0, failed = 0;
    for (const test of tests.filter((one) => one.name.includes(part))) {
        const began = Date.now();
        const { why, notes } = await runOne(browser, test);
        const seconds = (Date.now() - began) / 1000;
        console.log((why ? "not ok " : "ok ") + ++number + " - " + test.name);
        if (seconds > NOTABLE)
            notes.push(`took ${seconds.toFixed(1)} s`);
        for (const line of notes.concat(why ? why.split("\n") : []))
            console.log("# " + line);
        failed += why ? 1 : 0;
    }
    console.log("1.." + number);
    await browser.close();
    process.exit(failed ? 1 : 0);
}

main();
