/* SPDX-License-Identifier: Apache-2.0 */
/* The main functions of the page in Firefox. */
"use strict";

const assert = require("assert").strict;
const { settle } = require("./activity.js");
const { daemonOrSkip, live, load } = require("./live_pages.js");
const { VIEWS, boxOf, key, openPage, press, report, serveHome, total } = require("./pages.js");

const LINES = "app;main;eval;call 150\napp;main;eval;call;push_back 250\napp;main;parse;lex 200\napp;main;parse;parse;lex 50\napp;idle 350\n";

const texts = (page, selector) => page.evaluate((one) => [...document.querySelectorAll(one)].map((at) => at.textContent), selector);

/* A sample each 10 ms: thread 11 in `hot`, 12 in `cold`, which also waits. */
function threads() {
    const out = [];
    for (let i = 0; i < 200; i++) {
        const tid = i % 4 === 3 ? 12 : 11;
        out.push(`prog 10/${tid} [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:`, `\tff02 ${tid === 11 ? "hot" : "cold"}+0x1 (/bin/prog)`, "\tff01 main+0x1 (/bin/prog)", "");
        if (i % 20 === 19)
            out.push(`prog 10/12 [000] ${(1 + i / 100).toFixed(6)}: 4000000 off-cpu:`, "\tff03 read_all+0x1 (/bin/prog)", "\tff01 main+0x1 (/bin/prog)", "");
    }
    return out.join("\n");
}

const areaOf = (page, selector) => page.evaluate((one) => document.querySelector(one).getBoundingClientRect().toJSON(), selector);

/* The number of different colours of a canvas, which may use WebGL: drawn in another one. */
const colors = (page, selector) => page.evaluate((one) => {
    const canvas = document.querySelector(one), copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    const pen = copy.getContext("2d");
    pen.drawImage(canvas, 0, 0);
    return new Set(new Uint32Array(pen.getImageData(0, 0, copy.width, copy.height).data.buffer)).size;
}, selector);

module.exports = (test) => {
    if (!require("./built.js")) {
        test("firefox # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    test("every view opens by its key; boxes are selected and zoomed", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        assert.equal(await total(page), 1000);
        for (const [view, pressed] of Object.entries(VIEWS)) {
            await key(page, pressed);
            assert.equal(await page.evaluate("window.stoke.state.view"), view);
        }
        await key(page, VIEWS.left);
        await press(page, "eval");
        assert.deepEqual(await texts(page, ".details h2"), ["eval"]);
        const before = await boxOf(page, "eval");
        await key(page, "Enter");
        const after = await boxOf(page, "eval");
        assert.ok(after.width > 2 * before.width);
    });

    test("tracks: a label selects a thread, a drag a span, keys zoom and pan; Back returns", async (bench) => {
        const page = await report(bench, threads(), "x.perf");
        await settle(page);
        assert.ok(await colors(page, ".strips.lower canvas") > 2, "the strips are drawn");
        const label = await areaOf(page, ".label.thread");
        await page.mouse.click(label.x + 60, label.y + label.height / 2);
        await settle(page);
        assert.deepEqual(await texts(page, ".chip > span"), ["thread 11"]);
        await key(page, "x");
        const { x, y, width } = await areaOf(page, ".strips.lower");
        await page.mouse.move(x + width / 4, y + 50);
        await page.mouse.down();
        await page.mouse.move(x + width / 2, y + 50);
        await page.mouse.up();
        await key(page, "Enter");
        assert.equal((await texts(page, ".crumb")).length, 2);
        assert.ok(await total(page) < 1e9);
        await key(page, "t", "+", "]");
        assert.ok((await page.evaluate("window.stoke.tracksView.part"))[0] > 5e8);
        await page.evaluate(() => history.back());
        await page.waitForFunction(() => document.querySelectorAll(".crumb").length < 2);
    });

    test("the canvases of the views are drawn; a tooltip names a box", async (bench) => {
        const page = await report(bench, threads(), "x.perf", { convert: ["--with-callgraph"] });
        await settle(page);
        for (const [view, selector] of [["left", "main .canvas canvas"], ["time", "main .canvas canvas"], ["heat", "main .heat canvas"]]) {
            await key(page, VIEWS[view]);
            assert.ok(await colors(page, selector) > 2, view);
        }
        await key(page, VIEWS.graph);
        await page.waitForFunction(() => document.querySelectorAll(".graph g.function").length > 2);
        await key(page, VIEWS.left);
        const box = await boxOf(page, "hot");
        await page.mouse.move(box.x + 20, box.y + 8);
        await page.waitForFunction(() => /^hot/.test(document.querySelector(".tip:not([hidden])")?.textContent));
    });

    test("a page that was saved opens with its view", async (bench) => {
        const page = await report(bench, LINES);
        await key(page, VIEWS.tree, "v");
        const { text } = await page.download(() => key(page, "e"));
        const copy = await openPage(bench, "file://" + bench.write("copy.html", text));
        await settle(copy);
        assert.deepEqual(await copy.evaluate(() => [window.stoke.state.view, window.stoke.state.up, window.stoke.shown.total]), ["tree", true, 1000]);
    });

    test("home: the address admits this browser, processes are listed, the example opens", async (bench) => {
        const page = await bench.open((await serveHome(bench)).address);
        await page.waitForSelector(".list tbody tr");
        assert.equal(await page.evaluate("location.pathname"), "/");
        await page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent.includes("Try an example")).click());
        await page.waitForFunction(() => window.stoke.shown?.total > 0);
    });

    test("the live page shows metrics, processes and samples", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        await page.waitForFunction(() => window.stoke.shown?.total > 0 && window.stoke.live.processes.length > 0);
        await page.waitForFunction(() => document.querySelectorAll(".live-table button").length > 0);
        assert.ok(await colors(page, ".live-strips canvas") > 2);
        await key(page, " ");
        assert.ok(await page.evaluate("window.stoke.live.span !== null"), "the span is held");
    });
};
