/* SPDX-License-Identifier: Apache-2.0 */
/* axe-core finds no violation in any view of the pages, in both themes. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const { settle } = require("./activity.js");
const { daemonOrSkip, live, until } = require("./live_pages.js");
const { VIEWS, key, report, serveHome } = require("./pages.js");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

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

/* The violations, each with its first elements. The second theme differs in its colours only. */
async function violations(page, where, options) {
    await settle(page);
    return page.evaluate(async ([name, given]) => (await window.axe.run(document, { resultTypes: ["violations"], ...given })).violations.flatMap(({ id, nodes }) =>
        nodes.slice(0, 4).map((node) => `${name}: ${id}: ${node.html.slice(0, 200)}: ${[...node.any, ...node.all, ...node.none].map((one) => one.message).join("; ")}`)), [where, options]);
}

async function inBothThemes(page, where) {
    if (!await page.evaluate(() => "axe" in window))
        await page.evaluate(AXE);
    const out = [];
    for (const [theme, options] of [["light", {}], ["dark", { runOnly: ["color-contrast"] }]]) {
        await page.evaluate((one) => window.stoke.appearance.setTheme(one), theme);
        out.push(...await violations(page, `${where}, ${theme}`, options));
    }
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

    test("no view of a comparison has a violation", async (bench) => {
        const page = await report(bench, recording(8), "x.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), recording(2));
        await settle(page);
        const found = await inBothThemes(page, "changes");
        none([...found, ...await inViews(page, { functions: VIEWS.sandwich, tree: VIEWS.tree })]);
    });

    test("home has no violation", async (bench) => {
        const page = await bench.open((await serveHome(bench)).address);
        await page.waitForSelector(".list tbody tr");
        none(await inBothThemes(page, "home"));
    });

    test("the live page has no violation", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const page = await live(bench, served);
        await until(page, () => window.stoke.live.processes.length > 0);
        none(await inBothThemes(page, "live"));
    });
};
