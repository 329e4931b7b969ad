/* SPDX-License-Identifier: Apache-2.0 */
/* Ten tasks of an investigation, each with the number of keys, clicks and drags that it takes. The
 * text of a search is one action; a dialog of the system to choose a file is none.
 *
 * For comparison, what speedscope 1.25 takes (bench/tasks.js counts it):
 *
 *                           stoke  speedscope
 *   hottest function          1    1  (3)
 *   its callers               1    2  (3, click on the row)
 *   one thread                1    2  (click on its name, click in the list)
 *   a span                    1    1  (the wheel with Ctrl, which zooms but does not filter)
 *   waits, and who ended them 1    cannot
 *   compare                   1    cannot
 *   regular expression        3    cannot (substrings: 2)
 *   source line               1    cannot (its number: 1)
 *   share                     1    cannot, for a local file
 *   export                    1    1  (ctrl S) */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { settle } = require("./activity.js");
const { chips, key, report, total } = require("./pages.js");

/* Two threads: `busy` has a sample each 2 ms, `other` each ms. `hot` is called by `fast` and `slow`. */
function speedscope(file, slow = [0, 2, 3]) {
    const frames = [{ name: "main", file, line: 3 }, { name: "fast", file, line: 5 }, { name: "slow", file, line: 6 }, { name: "hot", file, line: 8 }, { name: "idle" }];
    const thread = (name, ms, stacks) => ({ type: "sampled", name, unit: "milliseconds", startValue: 0, endValue: 100 * ms,
        samples: Array.from({ length: 100 }, (_, i) => stacks[i % stacks.length]), weights: Array(100).fill(ms) });
    return JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
        profiles: [thread("busy", 2, [[0, 1, 3], slow, slow, [0, 2]]), thread("other", 1, [[4]])] });
}

const SOURCE = Array.from({ length: 9 }, (_, i) => `line ${i + 1};`).join("\n");
const WAITS = path.join(__dirname, "..", "import", "perf-data", "waits.in");

/* The actions of a task are counted by calling them. */
class Actions {
    constructor(page) {
        this.page = page;
        this.count = 0;
    }

    async keys(...keys) {
        this.count += keys.length;
        await key(this.page, ...keys);
    }

    async type(text) {
        this.count++;
        await this.page.keyboard.type(text);
        await settle(this.page);
    }

    async click(selector, text = "") {
        this.count++;
        const at = await this.page.waitForFunction(centre, [selector, text]);
        const { x, y } = at.jsonValue ? await at.jsonValue() : at;
        await this.page.mouse.click(x, y);
        await settle(this.page);
    }

    /* Over the tracks, with Shift; the ends are shares of their width. */
    async drag(from, to) {
        this.count++;
        const area = await this.page.evaluate(() => document.querySelector(".tracks .lower").getBoundingClientRect().toJSON());
        await this.page.keyboard.down("Shift");
        await this.page.mouse.move(area.x + area.width * from, area.y + 50);
        await this.page.mouse.down();
        await this.page.mouse.move(area.x + area.width * to, area.y + 50);
        await this.page.mouse.up();
        await this.page.keyboard.up("Shift");
        await settle(this.page);
    }
}

/* The centre of the first element that fits the selector and contains the text. */
function centre([selector, text]) {
    const found = [...document.querySelectorAll(selector)].find((one) => one.textContent.includes(text));
    const area = found?.getBoundingClientRect();
    return area && { x: area.x + area.width / 2, y: area.y + area.height / 2 };
}

const texts = (page, selector) => page.evaluate((one) => [...document.querySelectorAll(one)].map((at) => at.innerText.replace(/\s+/g, " ").trim()), selector);

/* The file that the page saves after that. */
async function download(page, begin) {
    if (page.download) /* Firefox */
        return page.download(begin);
    const coming = page.waitForEvent("download");
    await begin();
    const file = await coming;
    return { name: file.suggestedFilename(), text: fs.readFileSync(await file.path()) };
}

/* Chooses the file in the dialog that opens. */
async function choose(page, file, begin) {
    if (page.choose) /* Firefox */
        return page.choose(file, begin);
    const coming = page.waitForEvent("filechooser");
    await begin();
    await (await coming).setFiles(file);
}

/* What is copied, although a browser without windows has no clipboard. */
async function copied(page, begin) {
    await page.evaluate(() => {
        Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } });
    });
    await begin();
    return page.evaluate("window.copied");
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("tasks # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    const task = (name, actions, run, open = opened) => test(`${name}: ${actions} action${actions === 1 ? "" : "s"}`, async (bench) => {
        const page = await open(bench);
        await settle(page);
        const done = new Actions(page);
        await run(page, done, bench);
        assert.equal(done.count, actions);
    });
    const opened = (bench) => {
        const file = bench.write("prog.c", SOURCE);
        return report(bench, speedscope(file), "p.speedscope.json", { convert: ["--with-source", "--source-dir", bench.folder] });
    };
    const app = (page, what) => page.evaluate(`window.stoke.${what}`);

    task("the hottest function", 1, async (page, done) => {
        await done.keys("3");
        assert.equal(await app(page, "state.chosen"), "hot");
        assert.match((await texts(page, ".details")).join(), /hot/);
    });

    task("its callers", 1, async (page, done) => {
        await done.keys("3");
        await page.waitForFunction(() => ["hot", "fast", "slow", "main"].every((name) =>
            [...document.querySelector(".slices .spoken").querySelectorAll("button")].some((one) => one.textContent.includes(name))));
    });

    task("one thread", 1, async (page, done) => {
        await done.click(".tracks .label", "busy");
        assert.equal(await total(page), 200e6);
    });

    task("a span", 1, async (page, done) => {
        await done.drag(0.25, 0.5);
        assert.equal((await texts(page, ".crumb")).length, 2);
        assert.ok(await total(page) < 200e6);
    });

    task("what a thread waited for, and who ended it", 1, async (page, done) => {
        await done.keys("7");
        assert.deepEqual((await texts(page, ".waits-table .row")).filter((row) => row.includes("worker")),
            ["2 ms 200 % 1 ms 2 worker 101 sleep, idle [prog] giver 102", "1 ms 100 % 1 ms 1 worker 101 sleep, idle [prog]"]);
    }, (bench) => report(bench, fs.readFileSync(WAITS), "perf.data"));

    task("compare with an earlier profile", 1, async (page, done, bench) => {
        const before = bench.write("before.speedscope.json", speedscope("prog.c", [0, 2]));
        await choose(page, before, () => done.click(".tools button", "Compare"));
        await page.waitForFunction(() => window.stoke.comparedWith !== "");
        await settle(page);
        assert.match((await texts(page, ".changed .row")).join("\n"), /hot/);
    });

    task("find by a regular expression", 3, async (page, done) => {
        await done.keys("/");
        await done.type("^(h|sl)o.*");
        await done.click(".search .toggle");
        assert.match((await texts(page, ".found")).join(), /^2 functions match/);
    });

    task("the source line", 1, async (page, done) => {
        await done.keys("6");
        assert.deepEqual(await texts(page, ".code .row.at .text"), ["line 8;"]);
    });

    task("share", 1, async (page, done) => {
        assert.match(await copied(page, () => done.keys("L")), /^#/);
    });

    task("export", 1, async (page, done) => {
        const file = await download(page, () => done.keys("e"));
        assert.equal(file.name, "p.speedscope.html");
        assert.match(String(file.text), /id="profile"/);
    });
};
