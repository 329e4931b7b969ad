/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and saved pages of the first edition of the page open in this one. Each address is
 * written as the first edition wrote it: only what differed from its defaults, as JSON. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { settle } = require("./activity.js");
const { chips, emptyPage, openPage, report, spans } = require("./pages.js");

/* 200 ms of two threads, and one page fault a thread: even milliseconds are of "prog", of the
 * odd ones each second is of "aide"; every function is in its own module. */
function recording() {
    const out = [];
    const sample = (comm, tid, ms, event, period, ...stack) => out.push(
        `${comm} 10/${tid} [00${tid % 2}] ${(1 + ms / 1000).toFixed(6)}: ${period} ${event}:`,
        ...stack.map((name) => `\tff01 ${name}+0x1 (/lib/${name.replace(/\W.*/, "")}.so)`), "");
    for (let ms = 0; ms < 200; ms++)
        if (ms % 4 === 3)
            sample("aide", 11, ms, "cpu-clock", 1000000, "read", "main");
        else
            sample("prog", 10, ms, "cpu-clock", 1000000, ...(ms % 2 ? ["eval", "eval"] : ["parse(char*)"]), "main");
    sample("prog", 10, 200, "off-cpu", 50000000, "poll", "main");
    sample("aide", 11, 200, "page-faults", 1, "read", "main");
    return out.join("\n");
}

const MS = 1e6;
const ALL = 200 * MS;
const one = (verb, text, more) => ({ filters: [{ verb, text, ...more }] });
const exactly = (verb, text) => one(verb, text, { exact: true });

/* The state of the first edition; the state that the page has; the weight and chips that it shows. */
const ADDRESSES = [
    [{}, { view: "left" }, ALL, []],
    [{ view: "time" }, { view: "time" }, ALL, []],
    [{ view: "time", zoom: [20 * MS, 60 * MS] }, { view: "time", zoom: [20 * MS, 60 * MS] }, ALL, []],
    [{ zoom: [10 * MS, 110 * MS] }, { view: "left", zoom: [10 * MS, 110 * MS] }, ALL, []],
    [{ view: "sandwich", chosen: "read" }, { view: "sandwich", chosen: "read" }, ALL, []],
    [{ view: "down" }, { view: "tree", up: false }, ALL, []],
    [{ view: "up", order: 1 }, { view: "tree", up: true, order: 1 }, ALL, []],
    [{ view: "graph", nodes: 5, edges: 1 }, { view: "graph", nodes: 5, edges: 1 }, ALL, []],
    [{ view: "source", file: "/src/main.c" }, { view: "source", file: "/src/main.c" }, ALL, []],
    [{ view: "heat" }, { view: "heat" }, ALL, []],
    [{ view: "summary" }, { view: "summary" }, ALL, []],
    [{ flame: true, color: 2 }, { flame: true, color: 2 }, ALL, []],
    [{ search: "^(read|eval)$", pattern: true }, { search: "^(read|eval)$", pattern: true }, ALL, []],
    [{ count: true }, { count: true }, 200, []],
    [{ event: 3 }, { event: 3 }, 1, []],
    [{ wall: true, event: 1 }, { wall: true }, ALL + 50 * MS, []],
    [exactly("focus", "read"), {}, 50 * MS, ["stacks with read"]],
    [one("focus", "^re"), {}, 50 * MS, ["stacks matching ^re"]],
    [exactly("ignore", "eval"), {}, 150 * MS, ["without stacks with eval"]],
    [exactly("hide", "eval"), {}, ALL, ["merged into callers eval"]],
    [one("show", "main"), {}, ALL, ["frames shown main"]],
    [exactly("show-from", "eval"), {}, 50 * MS, ["from eval"]],
    [exactly("collapse-module", "read.so"), {}, ALL, ["as one frame read.so"]],
    [one("collapse", "adjacent"), {}, ALL, ["recursion collapsed"]],
    [one("by", "module"), {}, ALL, ["by module"]],
    [one("strip", ""), {}, ALL, ["short names"]],
    [one("reverse", ""), {}, ALL, ["reversed"]],
    [one("tid", "11"), {}, 50 * MS, ["thread 11"]],
    [one("pid", "10"), {}, ALL, ["process 10"]],
    [one("cpu", "1"), {}, 50 * MS, ["CPU 1"]],
    [one("comm", "aide\nprog"), {}, ALL, ["thread aide, prog"]],
    [one("drop-comm", "aide"), {}, 150 * MS, ["without thread aide"]],
    [{ view: "time", filters: [{ verb: "time", text: "", from: 40 * MS, to: 80 * MS }, { verb: "tid", text: "10" }, { verb: "threads", text: "name" }] },
        { view: "time" }, 30 * MS, ["thread 10", "threads by name"]],
];

/* A page as the first edition saved it: the state is in data-place. */
function firstEdition(profile, name, state) {
    const address = Object.keys(state).length ? `#${encodeURIComponent(JSON.stringify(state))}` : "";
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>stoke</title></head><body><div id=\"app\"></div>" +
        `<!--stoke:data--><script type="application/octet-stream" id="profile" data-name="${name}" data-place="${address}">` +
        `${profile.toString("base64")}</script></body></html>\n`;
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("links # SKIP this stoke was built without its viewer", () => undefined);
        return;
    }

    async function check(page, [written, expected, weight, labels]) {
        const text = JSON.stringify(written);
        await settle(page);
        const got = await page.evaluate(() => ({ state: window.stoke.state, weight: window.stoke.shown.total, fault: window.stoke.fault }));
        assert.equal(got.fault, null, text);
        for (const [key, value] of Object.entries(expected))
            assert.deepEqual(got.state[key], value, `${key} of ${text}`);
        assert.deepEqual([got.weight, await chips(page)], [weight, labels], text);
        assert.deepEqual(await spans(page), text.includes("\"time\",\"text\"") ? ["40.0\u201380.0 ms"] : [], text);
    }

    const hashOf = (state) => (Object.keys(state).length ? `#${encodeURIComponent(JSON.stringify(state))}` : "");

    test("a page that opens at an address of the first edition shows what it says", async (bench) => {
        const last = ADDRESSES[ADDRESSES.length - 1];
        await check(await report(bench, recording(), "x.perf", { hash: hashOf(last[0]) }), last);
    });

    test(`${ADDRESSES.length} addresses of the first edition that are pasted into an open page show the same`, async (bench) => {
        const page = await report(bench, recording(), "x.perf");
        await settle(page);
        for (const address of ADDRESSES) {
            await page.evaluate((hash) => { location.hash = hash; }, hashOf(address[0]));
            await page.waitForFunction(([view, weight]) => window.stoke.state.view === view && window.stoke.shown.total === weight, [address[1].view ?? "left", address[2]]);
            await check(page, address);
        }
    });

    /* The golden was written by the first edition. */
    test("a page that the first edition saved opens, with its name, event and view", async (bench) => {
        const profile = fs.readFileSync(path.join(__dirname, "..", "import", "stoke", "two-events.in"));
        const page = await openPage(bench, emptyPage());
        const open = async (state) => {
            const text = firstEdition(profile, "requests/s", state);
            await page.evaluate((html) => window.stoke.opening.open(new Blob([html]), "/tmp/saved.html"), text);
            await settle(page);
        };
        await open({ view: "down", event: 2, search: "main" });
        assert.equal(await page.title(), "requests/s");
        const shown = () => page.evaluate(() => ({ view: window.stoke.state.view, event: window.stoke.shown.event_name, found: window.stoke.found?.functions ?? 0 }));
        assert.deepEqual(await shown(), { view: "tree", event: "page-faults", found: 1 });
        await open({ view: "sandwich" });
        assert.deepEqual(await shown(), { view: "sandwich", event: "cycles", found: 0 });
        assert.equal(await page.evaluate(() => window.stoke.shown.total), 2000000);
    });
};
