/* SPDX-License-Identifier: Apache-2.0 */
/* axe-core finds no violation in any view of the pages, in both themes. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { settle } = require("./activity.js");
const { daemonOrSkip, live, until } = require("./live_pages.js");
const { VIEWS, key, openPage, press, report, serveHome, stoke } = require("./pages.js");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/* 0.3 s of a heap, in the format of heaptrack: one block is released, one is not. */
const HEAP = "v 10500 3\nX ./x\nI 1000 10\ns 1 x\ns 4 main\ns 4 grow\ns 6 malloc\ni 10 1 2\ni 20 1 3\ni 30 1 4\nt 1 0\nt 2 1\nt 3 2\n" +
    "a 100000 3\na 80000 2\nc 0\n+ 0\n+ 1\nc c8\nR 400\n- 0\nc 12c\n";
const LABELLED = path.join(__dirname, "..", "import", "pprof", "heap.in");
const TRACE = path.join(__dirname, "..", "man", "TRACEFILE-C0"), TRACED = path.join(__dirname, "..", "man", "small-bin-dwarf");
const PHONE = { width: 390, height: 844 };

/* Two processes with two threads each, which run and wait; tracepoints are marks. */
function recording(hot) {
    const out = [];
    for (let i = 0; i < 120; i++) {
        const pid = i % 3 === 2 ? 20 : 10, tid = pid + (i % 2), at = 1 + i / 100;
        const sample = (event, weight, leaf) => out.push(`p${pid} ${pid}/${tid} [00${i % 2}] ${at.toFixed(6)}: ${weight} ${event}:`,
            `\tff02 ${leaf}+0x1 (/bin/prog)`, "\tff01 main+0x1 (/bin/prog)", "");
        sample("cpu-clock", 1e7, i < 4 ? "rare" : i % 10 < hot ? "hot" : "cold");
        if (i % 20 === 10) {
            sample("off-cpu", 4e6, "read_all");
            sample("sched:sched_switch", 1, "schedule");
        }
    }
    return out.join("\n");
}

/* The violations of a part of the page, each with its first elements. Colours are those after dialogs
 * have faded in. */
async function violations(page, where, options, part) {
    await settle(page);
    await page.evaluate(() => Promise.allSettled(document.getAnimations().map((one) => one.finished)).then(() => undefined));
    return page.evaluate(async ([name, given, within]) => (await window.axe.run(within, { resultTypes: ["violations"], ...given })).violations.flatMap(({ id, nodes }) =>
        nodes.slice(0, 4).map((node) => `${name}: ${id}: ${node.html.slice(0, 200)}: ${[...node.any, ...node.all, ...node.none].map((one) => one.message).join("; ")}`)), [where, options, part]);
}

/* The second theme differs in its colours only. */
async function inBothThemes(page, where, part = "html") {
    if (!await page.evaluate(() => "axe" in window))
        await page.evaluate(AXE);
    const out = [];
    for (const [theme, options] of [["light", {}], ["dark", { runOnly: ["color-contrast"] }]]) {
        await page.evaluate((one) => window.stoke.appearance.setTheme(one), theme);
        out.push(...await violations(page, `${where}, ${theme}`, options, part));
    }
    return out;
}

const DIALOGS = ["help", "palette", "threads", "tracks", "filter", "export", "format", "menu"];

/* What is below a dialog was examined without it. */
async function inDialogs(page, dialogs) {
    const out = [];
    for (const dialog of dialogs) {
        await page.evaluate((name) => window.stoke.openDialog(name), dialog);
        await page.locator(".dialog").waitFor();
        out.push(...await inBothThemes(page, dialog, ".veil"));
    }
    await key(page, "Escape");
    return out;
}

async function inViews(page, views) {
    const out = [];
    for (const [view, pressed] of Object.entries(views)) {
        await key(page, pressed);
        out.push(...await inBothThemes(page, view));
    }
    return out;
}

/* Each element once, with the first view that has it. */
function none(found) {
    const first = new Map(found.map((one) => [one.slice(one.indexOf(": ")), one]).reverse());
    assert.ok(found.length === 0, [...first.values()].reverse().join("\n"));
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("axe # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    test("no view of a profile has a violation", async (bench) => {
        const page = await report(bench, recording(6), "x.perf", { convert: ["--with-callgraph"] });
        await settle(page);
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await page.evaluate(() => window.stoke.filters.add({ verb: "time", text: "", from: 0, to: 1e9 }));
        none(await inViews(page, { ...VIEWS, keys: "?" }));
    });

    test("no dialog and no menu has a violation", async (bench) => {
        const page = await report(bench, recording(6), "x.perf", { convert: ["--with-callgraph"] });
        await settle(page);
        const found = await inDialogs(page, DIALOGS);
        for (const [typed, where] of [["hot", "palette, found"], ["zzz", "palette, nothing found"]]) {
            await key(page, "Control+k");
            await page.keyboard.type(typed);
            found.push(...await inBothThemes(page, where, ".veil"));
            await key(page, "Escape");
        }
        await press(page, "main", "right");
        found.push(...await inBothThemes(page, "menu of a function", ".menu"));
        await key(page, "Escape");
        await page.locator(".label.process").first().click({ button: "right" });
        found.push(...await inBothThemes(page, "menu of a track", ".menu"));
        await key(page, "Escape");
        await page.evaluate(() => document.body.classList.add("dropping"));
        found.push(...await inBothThemes(page, "a file is dragged", ".drops"));
        none(found);
    });

    test("no view on a phone has a violation", async (bench) => {
        const page = await report(bench, recording(6), "x.perf", { convert: ["--with-callgraph"], viewport: PHONE });
        await settle(page);
        const found = await inViews(page, VIEWS);
        await key(page, VIEWS.left);
        found.push(...await inDialogs(page, ["menu", "palette", "filter"]));
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await page.locator(".sheet .handle").click();
        found.push(...await inBothThemes(page, "sheet"));
        none(found);
    });

    test("no view of a heap profile has a violation", async (bench) => {
        const page = await report(bench, HEAP, "x.heaptrack");
        await settle(page);
        const { left, sandwich, tree, heat, summary } = VIEWS;
        const found = await inViews(page, { left, sandwich, tree, heat, summary });
        await page.locator(".peak").click();
        found.push(...await inBothThemes(page, "peak"));
        await page.setViewportSize(PHONE);
        found.push(...await inBothThemes(page, "phone"));
        const labelled = await report(bench, fs.readFileSync(LABELLED), "heap.pb");
        await settle(labelled);
        found.push(...await inBothThemes(labelled, "labelled"), ...await inDialogs(labelled, ["labels"]));
        none(found);
    });

    test("no view of an instruction trace has a violation", async (bench) => {
        const made = path.join(bench.folder, "trace.html");
        stoke("trace", "-q", TRACE, "-d", TRACED, "-o", made);
        const page = await openPage(bench, `file://${made}`);
        await settle(page);
        const { left, time, sandwich, tree, summary } = VIEWS;
        const found = await inViews(page, { left, time, sandwich, tree, summary });
        await page.setViewportSize(PHONE);
        none([...found, ...await inViews(page, { left, time, sandwich })]);
    });

    test("no view of a comparison has a violation", async (bench) => {
        const page = await report(bench, recording(8), "x.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), recording(2));
        await settle(page);
        const found = await inBothThemes(page, "changes");
        found.push(...await inViews(page, { left: VIEWS.left, functions: VIEWS.sandwich, tree: VIEWS.tree, summary: VIEWS.summary }), ...await inDialogs(page, ["menu", "export"]));
        await page.setViewportSize(PHONE);
        none([...found, ...await inViews(page, { phone: VIEWS.left, functions: VIEWS.sandwich })]);
    });

    test("home has no violation", async (bench) => {
        const { address, folder } = await serveHome(bench);
        for (const name of ["a.folded", "b.folded"])
            fs.writeFileSync(path.join(folder, name), "main;hot 12\n");
        fs.writeFileSync(path.join(folder, "bad.pprof"), Buffer.alloc(100));
        const page = await bench.open(address);
        await page.waitForSelector(".list tbody tr");
        await page.waitForFunction(() => window.stoke.home.machine?.recent.every((one) => one.about));
        const found = await inBothThemes(page, "home");
        await page.getByRole("button", { name: "Compare a.folded" }).click();
        found.push(...await inBothThemes(page, "home, a recording chosen"));
        await page.setViewportSize(PHONE);
        none([...found, ...await inBothThemes(page, "phone")]);
    });

    test("the live page has no violation", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const page = await live(bench, served);
        await until(page, () => window.stoke.live.processes.length > 0);
        none(await inBothThemes(page, "live"));
        await page.evaluate(() => window.stoke.live.setMore(true));
        await page.evaluate(() => window.stoke.live.setPanel("cpu"));
        await until(page, () => document.querySelector(".live-label.core") && document.querySelector(".live-users tbody tr"));
        none(await inBothThemes(page, "live, all tracks"));
    });
};
