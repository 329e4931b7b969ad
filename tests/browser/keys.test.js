/* SPDX-License-Identifier: Apache-2.0 */
/* The keyboard: the keys that mean the same in every view, and an investigation without a mouse. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { settle } = require("./activity.js");
const { VIEWS, chips, key, report, spans, total } = require("./pages.js");

/* Two threads, a sample each ms and each 2 ms, with lines of a source file: `hot` is called by `fast` and `slow`. */
function speedscope(file) {
    const frames = [{ name: "main", file, line: 3 }, { name: "fast", file, line: 5 }, { name: "slow", file, line: 6 }, { name: "hot", file, line: 8 }, { name: "idle" }];
    const thread = (name, ms, stacks) => ({ type: "sampled", name, unit: "milliseconds", startValue: 0, endValue: 100 * ms,
        samples: Array.from({ length: 100 }, (_, i) => stacks[i % stacks.length]), weights: Array(100).fill(ms) });
    return JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
        profiles: [thread("busy", 2, [[0, 1, 3], [0, 2, 3], [0, 2, 3], [0, 2]]), thread("other", 1, [[4]])] });
}

const SOURCE = Array.from({ length: 9 }, (_, i) => `line ${i + 1};`).join("\n");

module.exports = (test) => {
    if (!require("./built.js")) {
        test("keys # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    const open = async (bench) => {
        const file = bench.write("prog.c", SOURCE);
        const page = await report(bench, speedscope(file), "p.speedscope.json", { convert: ["--with-source", "--source-dir", bench.folder] });
        await settle(page);
        return page;
    };
    const app = (page, what) => page.evaluate(`window.stoke.${what}`);
    const focused = (page) => page.evaluate(() => document.activeElement.getAttribute("aria-label"));

    test("a key means the same in every view", async (bench) => {
        const page = await open(bench);
        for (const view of Object.values(VIEWS)) {
            await key(page, view, "t");
            assert.equal(await focused(page), "Tracks", view);
            await key(page, "b");
            assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("main") !== null), view);
            const part = () => page.evaluate(() => window.stoke.state.view === "time" ? window.stoke.steered.part : window.stoke.tracksView.part);
            assert.equal(await part(), null);
            await key(page, "+", "+");
            const near = await part();
            assert.ok(near[1] - near[0] < 1e8, `${view} ${near}`);
            await key(page, "]");
            assert.ok((await part())[0] > near[0], view);
            await key(page, "[", "z");
            assert.equal((await spans(page)).length, 1, view);
            assert.ok(await total(page) < 200e6, view);
            await key(page, "u");
            assert.deepEqual(await spans(page), [], view);
            await key(page, "-");
            await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
            await settle(page);
            await key(page, "f");
            assert.deepEqual([await chips(page), await total(page)], [["stacks with hot"], 150e6], view);
            await key(page, "x", "h");
            assert.deepEqual([await chips(page), await total(page)], [["merged into callers hot"], 300e6], view);
            await key(page, "x");
            assert.deepEqual(await chips(page), [], view);
            await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
            await key(page, "s");
            assert.equal(await app(page, "state.view"), "source", view);
            await key(page, "Escape");
            assert.equal(await app(page, "chosen"), null, view);
        }
    });

    test("Escape undoes one thing at a time", async (bench) => {
        const page = await open(bench);
        await page.evaluate(async () => {
            await window.stoke.choose(await window.stoke.core.find("hot"));
            window.stoke.search("slow", false);
            window.stoke.tracks.select([1e7, 2e7]);
        });
        await settle(page);
        const state = () => page.evaluate(() => [window.stoke.tracks.span !== null, window.stoke.state.search, window.stoke.state.chosen].join(" "));
        const seen = [await state()];
        for (let i = 0; i < 3; i++) {
            await key(page, "Escape");
            seen.push(await state());
        }
        assert.deepEqual(seen, ["true slow hot", "false slow hot", "false  hot", "false  "]);
    });

    test("the help lists the keys of the table of commands", async (bench) => {
        const page = await open(bench);
        await key(page, "?");
        const keys = await page.locator(".dialog kbd").allTextContents();
        for (const one of ["f", "h", "s", "x", "u", "t", "b", "i", "z", "[", "]", "+", "-", "/", "n", "N", "1", "0", "D", "Ctrl K", "?", "Page up", "End", "Menu", "Alt \u2191"])
            assert.ok(keys.includes(one), one);
    });

    test("a whole investigation by keyboard alone", async (bench) => {
        const page = await open(bench);
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
        await key(page, "t", "ArrowDown");
        const label = await page.locator(".label.at").textContent();
        await key(page, "Enter"); /* a thread */
        assert.deepEqual([await total(page), (await chips(page)).length], [200e6, 1], label);
        await key(page, "+", "+", "[", "z"); /* a span */
        assert.equal((await spans(page)).length, 1);
        assert.ok(await total(page) < 110e6);
        await key(page, VIEWS.sandwich); /* the hottest function */
        assert.equal(await app(page, "state.chosen"), "hot");
        await key(page, "Enter", "ArrowUp"); /* its callers */
        await settle(page);
        assert.equal(await app(page, "state.chosen"), "hot");
        await key(page, "ArrowUp");
        assert.equal(await app(page, "state.chosen"), "slow");
        await key(page, "s"); /* its source line */
        assert.equal(await page.locator(".code .row.at").getAttribute("data-line"), "6");
        assert.equal(await page.locator(".code .row.at .text").textContent(), "line 6;");
        await key(page, "ArrowDown");
        assert.equal(await page.locator(".code .row.at").getAttribute("data-line"), "7");
        await key(page, "Control+s", "Tab", "Tab");
        const coming = page.waitForEvent("download");
        await page.keyboard.press("Enter");
        const file = await (await coming).path();
        assert.ok(fs.statSync(file).size > 100, path.basename(file));
        await key(page, "L");
        assert.match(await page.locator(".notice").textContent(), /the link copied|does not allow/);
    });
};
