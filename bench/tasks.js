/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the keys, clicks and drags of the ten tasks of tests/browser/tasks.test.js in speedscope, in
 * chromium, and checks what it shows after them. The table in tasks.test.js is of this.
 *
 *   cd FOLDER && npm install speedscope
 *   NODE_PATH=build/browser/node_modules CHROMIUM=... node bench/tasks.js FOLDER */
"use strict";

const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");
const { chromium } = require("playwright-core");

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader"];
/* Pixels, in a window of 1440x900: the name of the shown thread, a box `hot`, the chart. */
const THREAD = [706, 10], HOT = [31, 194], MIDDLE = [540, 200];

/* The profile of tasks.test.js. */
function profile() {
    const frames = ["main", "fast", "slow", "hot"].map((name, i) => ({ name, file: "/src/prog.c", line: 3 + i })).concat({ name: "idle" });
    const slow = [0, 2, 3];
    const thread = (name, ms, stacks) => ({ type: "sampled", name, unit: "milliseconds", startValue: 0, endValue: 100 * ms,
        samples: Array.from({ length: 100 }, (_, i) => stacks[i % stacks.length]), weights: Array(100).fill(ms) });
    return JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
        profiles: [thread("busy", 2, [[0, 1, 3], slow, slow, [0, 2]]), thread("other", 1, [[4]])] });
}

function serve(root) {
    const server = http.createServer((request, reply) => {
        const name = path.join(root, path.normalize(request.url.split(/[?#]/)[0].replace(/\/$/, "/index.html")));
        fs.readFile(name, (error, data) => {
            reply.writeHead(error ? 404 : 200, { "content-type": TYPES[path.extname(name)] ?? "application/octet-stream" });
            reply.end(data);
        });
    });
    return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

class Actions {
    constructor(page) {
        this.page = page;
        this.count = 0;
    }

    async key(name) {
        this.count++;
        await this.page.keyboard.press(name);
    }

    async type(text) {
        this.count++;
        await this.page.keyboard.type(text);
    }

    async click(text) {
        this.count++;
        await this.page.getByText(text, { exact: true }).filter({ visible: true }).last().click({ timeout: 5000 });
    }

    async clickAt([x, y]) {
        this.count++;
        await this.page.mouse.click(x, y);
    }

    /* Waits until the page shows that. */
    async shows(pattern) {
        await this.page.waitForFunction(([source]) => new RegExp(source).test(document.body.innerText), [pattern.source], { timeout: 5000 });
    }
}

const cannot = (why) => ({ why });

/* Each returns nothing, or why it is less than the same in stoke's page. */
const TASKS = [
    ["hottest function", async (done) => {
        await done.key("3");
        await done.shows(/Symbol Name\s+150\.00ms \(75%\)\s+150\.00ms \(75%\)\s+hot/);
    }],
    ["its callers", async (done) => {
        await done.key("3");
        await done.click("hot");
        await done.shows(/Callers\s+Callees/);
    }],
    ["one thread", async (done) => {
        await done.clickAt(THREAD);
        await done.click("other");
        await done.shows(/other \(2\/2\)/);
    }],
    ["a span", async (done) => {
        done.count++;
        await done.page.waitForTimeout(1000); /* it draws later than it has text */
        const before = await done.page.screenshot();
        await done.page.mouse.move(...MIDDLE);
        await done.page.keyboard.down("Control");
        await done.page.mouse.wheel(0, -300);
        await done.page.keyboard.up("Control");
        await done.page.waitForTimeout(1000); /* it animates */
        if (before.equals(await done.page.screenshot()))
            throw new Error("the wheel changed nothing");
        await done.page.keyboard.press("3");
        await done.shows(/200\.00ms \(100%\)/);
        return "a wheel: it zooms, and filters nothing";
    }],
    ["waits, and who ended them", () => cannot("no waits")],
    ["compare", () => cannot("no comparison")],
    ["regular expression", async (done) => {
        await done.key("Control+f");
        await done.type("^(h|sl)o.*");
        await done.shows(/\?\/0/);
        return cannot("no regular expressions: it finds nothing");
    }],
    ["source line", async (done) => {
        await done.clickAt(HOT);
        await done.shows(/prog\.c:\d/);
        return "its number, not its text";
    }],
    ["share", () => cannot("no link to a local file")],
    ["export", async (done) => {
        const coming = done.page.waitForEvent("download", { timeout: 5000 });
        await done.key("Control+s");
        await coming;
    }],
];

async function main(folder) {
    const found = path.join(folder, "node_modules", "speedscope");
    const { version } = JSON.parse(fs.readFileSync(path.join(found, "package.json"), "utf8"));
    const server = await serve(path.join(found, "dist", "release"));
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "stoke-tasks-")), "p.speedscope.json");
    fs.writeFileSync(file, profile());
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
    console.log(`speedscope ${version}`);
    for (const [name, run] of TASKS) {
        const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
        await page.goto(`http://127.0.0.1:${server.address().port}/`);
        await page.locator("input[type=file]").setInputFiles(file);
        const done = new Actions(page);
        await done.shows(/busy/);
        const said = await run(done);
        console.log(`${name.padEnd(26)} ${said?.why ? `cannot: ${said.why}` : `${done.count}${said ? ` (${said})` : ""}`}`);
        await page.close();
    }
    await browser.close();
    server.close();
    fs.rmSync(path.dirname(file), { recursive: true });
}

main(process.argv[2] ?? ".").catch((error) => {
    console.error(error);
    process.exit(1);
});
