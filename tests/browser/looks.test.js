/* SPDX-License-Identifier: Apache-2.0 */
/* What is cut, hidden or wider than the window. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { settle } = require("./activity.js");
const { VIEWS, boxOf, chips, key, openPage, press, report, stoke, total } = require("./pages.js");

const PHONE = { width: 390, height: 844 };
const WAITS = path.join(__dirname, "..", "import", "perf-data", "waits.in");

/* Two processes: the name of the first and its numbers have no room side by side. */
function processes() {
    const out = [];
    for (let i = 0; i < 40; i++) {
        const [name, pid] = i % 4 ? ["interpreter3", 123456] : ["other", 200];
        out.push(`${name} ${pid}/${pid + (i % 3)} [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:`, "\tff02 hot+0x1 (/bin/prog)", "\tff01 main+0x1 (/bin/prog)", "");
    }
    return out.join("\n");
}

function speedscope(files) {
    const frames = files.map((file, i) => ({ name: `f${i}`, file, line: 3 }));
    return JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
        profiles: [{ type: "sampled", name: "p", unit: "milliseconds", startValue: 0, endValue: frames.length, samples: frames.map((_, i) => [i]), weights: frames.map(() => 1) }] });
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("looks # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    test("no view is wider than a telephone, and the summary has its command", async (bench) => {
        const page = await report(bench, fs.readFileSync(WAITS), "perf.data", { viewport: PHONE });
        for (const view of Object.values(VIEWS)) {
            await key(page, view);
            assert.equal(await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector("main").getBoundingClientRect().right)), 390, view);
        }
        await key(page, VIEWS.summary);
        const facts = await page.locator(".facts > div").evaluateAll((all) => all.map((one) => [one.innerText.split("\n")[0], one.getBoundingClientRect()]));
        assert.ok(facts.every(([, { width, right }]) => width > 0 && right <= 390), JSON.stringify(facts));
        assert.deepEqual(await page.locator(".facts .long").evaluateAll((all) => all.map((one) => getComputedStyle(one).display)), ["block"]);
        const parts = await page.locator(".parts > section").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
        assert.ok(parts.every((width) => width > 340), parts.join());
    });

    test("on a telephone, the heat map has no help for keys", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: PHONE });
        await key(page, VIEWS.heat);
        assert.ok(await page.locator(".heat > p").evaluate((line) => line.offsetHeight) < 60);
    });

    test("the low sheet of a telephone has the shares with their interval", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: PHONE });
        await key(page, VIEWS.sandwich);
        const bottoms = await page.locator(".sheet .key-figures small").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom));
        assert.ok(bottoms.length === 2 && bottoms.every((bottom) => bottom <= 844), bottoms.join());
    });

    test("a chart that is lower than its panel leaves the rest to the tracks, unless the splitter was moved", async (bench) => {
        const size = { width: 1440, height: 900 };
        const page = await report(bench, processes(), "x.perf", { viewport: size });
        const rows = () => page.locator(".scroller").evaluate((one) => one.clientHeight);
        const grown = await rows();
        assert.ok(grown > 280 && grown <= 900 * 0.6, grown);
        assert.equal(await page.evaluate(() => window.stoke.tracks.height), grown);
        const tops = await page.evaluate(() => window.stoke.tracks.rows.map((row) => [row.top, row.height]));
        assert.ok(tops.every(([top], i) => top === (i ? tops[i - 1][0] + tops[i - 1][1] : 0)), tops.join(" "));
        await press(page, "hot", "left", 2);
        await page.mouse.move(700, 300);
        await settle(page);
        assert.equal(await rows(), grown, "a click and a zoom move nothing");
        await key(page, VIEWS.sandwich);
        const own = await rows();
        assert.ok(own < grown * 0.75, `a table has the rest: ${own}`);
        await key(page, VIEWS.left);
        assert.equal(await rows(), grown);
        await page.locator(".splitter").focus();
        await key(page, "ArrowUp", "ArrowUp", "ArrowUp");
        assert.equal(await rows(), grown - 60);
        await key(page, VIEWS.sandwich);
        assert.equal(await rows(), grown - 60, "the user's height is that of each view");
        await key(page, VIEWS.left);
        await page.locator(".splitter").focus();
        await key(page, "Enter");
        assert.equal(await rows(), grown);
        const deep = Array.from({ length: 60 }, (_, i) => `\tff${10 + i} deep${60 - i}+0x1 (/bin/prog)`).join("\n");
        const other = await report(bench, processes() + `other 200/200 [000] 2.000000: 10000000 cpu-clock:\n${deep}\n\n`, "y.perf", { viewport: size });
        assert.equal(await other.locator(".scroller").evaluate((one) => one.clientHeight), own, "a deep chart needs its panel");
        assert.ok(await other.evaluate(() => window.stoke.steered.height < window.stoke.needed));
    });

    test("on a telephone, the selection covers no view without functions, and deep names have room", async (bench) => {
        const deep = Array.from({ length: 14 }, (_, i) => `\tff${10 + i} deep${14 - i}+0x1 (/bin/prog)`).join("\n");
        const page = await report(bench, Array.from({ length: 20 }, (_, i) => `p 1/1 [000] ${i + 1}.000000: 10000000 cpu-clock:\n${deep}\n\n`).join(""), "x.perf", { viewport: PHONE });
        await key(page, VIEWS.sandwich);
        assert.equal(await page.locator(".sheet").count(), 1);
        for (const view of [VIEWS.waits, VIEWS.marks, VIEWS.heat, VIEWS.summary]) {
            await key(page, view);
            assert.deepEqual([await page.locator(".sheet").count(), await page.locator(".sheeted").count(), await page.locator(".status").count()], [0, 0, 1], view);
        }
        await key(page, VIEWS.tree);
        for (let i = 0; i < 26; i++)
            await key(page, "ArrowRight");
        const rooms = await page.locator(".calls .row .name").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right - one.querySelector(".ends, .dot").getBoundingClientRect().left));
        assert.ok(rooms.length >= 10 && rooms.every((room) => room > 100), rooms.join());
    });

    test("the share of a function is first, and its bar is behind it", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await key(page, VIEWS.sandwich);
        const [bar, part, size] = await page.locator(".functions .row .figure").first().evaluate((one) => ["i", "em", "b"].map((name) => {
            const at = one.querySelector(name).getBoundingClientRect();
            return { left: at.left, top: document.elementsFromPoint(at.left + 2, at.top + at.height / 2).findIndex((e) => e.localName === name) };
        }));
        assert.ok(part.left < size.left, JSON.stringify([part, size]));
        assert.ok(part.top === 0 && bar.left < part.left, JSON.stringify([bar, part]));
    });

    test("functions can be modules instead, and the selected one has a low title", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: { width: 1100, height: 800 } });
        await key(page, VIEWS.sandwich);
        const names = () => page.locator(".functions .row .name").allTextContents();
        const before = await names();
        const head = await page.locator(".details.head").evaluate((one) => [one.offsetHeight, one.querySelector("h2").clientWidth, one.scrollWidth - one.clientWidth]);
        assert.ok(head[0] <= 60 && head[1] > 40 && head[2] === 0, head.join());
        const by = (title) => page.getByRole("group", { name: "Rows" }).getByRole("button", { name: title });
        await by("Module").click();
        await settle(page);
        assert.deepEqual([await chips(page), await by("Module").getAttribute("aria-pressed")], [["by module"], "true"]);
        assert.ok((await names()).includes("prog") && !before.includes("prog"), String(await names()));
        await page.locator(".details.head").getByRole("button", { name: "More actions" }).click();
        assert.equal(await page.locator(".menu button").first().innerText(), "Copy name");
        await key(page, "Escape");
        await by("By function").click();
        await settle(page);
        assert.deepEqual([await chips(page), await names()], [[], before]);
    });

    test("on a telephone, the status is one line, and the current span is lower than its target", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: PHONE });
        const [status, crumb, line] = await page.evaluate(() => [document.querySelector(".status").offsetHeight, document.querySelector(".crumb").offsetHeight, getComputedStyle(document.querySelector(".crumb")).borderTopWidth]);
        assert.deepEqual([status <= 30, crumb >= 44, line], [true, true, "7px"], `${status} ${crumb}`);
    });

    test("of the spans, the last committed one is marked", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        const looks = () => page.locator(".crumb").evaluateAll((all) => {
            const mark = document.createElement("i");
            mark.style.background = "var(--accbg)";
            document.body.append(mark);
            const marked = getComputedStyle(mark).backgroundColor;
            mark.remove();
            return all.map((one) => getComputedStyle(one).backgroundColor === marked);
        });
        assert.deepEqual(await looks(), [true]);
        await page.evaluate(() => window.stoke.filters.add({ verb: "time", text: "", from: 1e8, to: 3e8 }));
        await settle(page);
        assert.deepEqual(await looks(), [false, true]);
        await page.evaluate(() => window.stoke.tracks.select([1.5e8, 2e8]));
        await settle(page);
        assert.deepEqual(await looks(), [false, false, false]); /* the selected one has a dashed edge */
    });

    test("a picture that was asked for before a chart was loaded does not remain", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await settle(page);
        await page.evaluate(() => {
            const view = window.stoke.steered;
            view.to = view.full * 2;
            const loading = view.load();
            view.invalidate(); /* as when the height changes with what is shown */
            return loading;
        });
        await settle(page);
        assert.deepEqual(await page.evaluate(() => { const { drawn, full } = window.stoke.steered; return drawn.to === full; }), true);
    });

    test("an event of one moment has no heat map, but the reason", async (bench) => {
        const page = await report(bench, processes() + "other 200/200 [000] 1.200000: 5 mark:\n\tff01 main+0x1 (/bin/prog)\n\n", "x.perf");
        await key(page, VIEWS.heat);
        assert.equal(await page.locator(".heat canvas").count(), 1);
        await page.evaluate(() => window.stoke.setEvent(window.stoke.memory.eventNamed("mark"), false));
        await settle(page);
        assert.match(await page.locator("main").innerText(), /^mark: all of it belongs to one moment, 200 ms\. A heat map needs/);
    });

    test("a comparison without changes says so, and its boxes differ in lightness", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), processes());
        await settle(page);
        assert.match(await page.locator(".no-change").innerText(), /^No change is larger than the noise/);
        const colors = () => page.evaluate(() => { const { boxes } = window.stoke.steered; return new Set(boxes.color.slice(0, boxes.count)).size; });
        assert.ok(await colors() > 1);
        await page.locator(".no-change button", { hasText: "colours by function" }).click();
        await settle(page);
        assert.equal(await page.locator(".no-change").count(), 0);
        assert.equal(await page.evaluate(() => window.stoke.state.color), 0);
    });

    test("a track's name is not cut while its numbers have room", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await settle(page);
        assert.deepEqual(await page.locator(".label.process").first().evaluate((label) => {
            const [name, numbers] = ["b", "em"].map((one) => label.querySelector(one));
            return [name.textContent, name.scrollWidth - name.clientWidth, numbers.textContent, numbers.scrollHeight > numbers.clientHeight];
        }), ["interpreter3", 0, "123456 \u00b7 3 threads", true]);
    });

    test("a file of the source view keeps its name, not its suffix", async (bench) => {
        const names = ["memmove-vec-unaligned-erms-and-more-of-it.S", "vectors-and-matrices-of-numbers-and-more.hpp"];
        const page = await report(bench, speedscope(names.map((name) => `/nowhere/${name}`)), "p.speedscope.json");
        await key(page, VIEWS.source);
        const shown = await page.locator(".files .cut").evaluateAll((all) => all.map((one) => one.dataset.shown));
        assert.equal(shown.length, 2);
        assert.ok(names.every((name) => shown.some((one) => one.endsWith("\u2026") && one.length > 8 && name.startsWith(one.slice(0, -1)))), shown.join());
    });

    test("the page of a trace has the name of its file", async (bench) => {
        const man = path.join(__dirname, "..", "man"), made = path.join(bench.folder, "trace.html");
        stoke("trace", "-q", path.join(man, "TRACEFILE-C0"), "-d", path.join(man, "small-bin-dwarf"), "-o", made);
        const page = await openPage(bench, `file://${made}`);
        assert.equal(await page.locator("h1.file").textContent(), "TRACEFILE-C0");
    });

    test("a trace has a track for each core, in cycles and without pauses", async (bench) => {
        const man = path.join(__dirname, "..", "man"), made = path.join(bench.folder, "cores.html");
        const first = path.join(man, "TRACEFILE-C0"), second = path.join(bench.folder, "TRACEFILE-C1");
        fs.copyFileSync(first, second);
        stoke("trace", "-q", first, second, "-d", path.join(man, "small-bin-dwarf"), "-o", made);
        const page = await openPage(bench, `file://${made}`);
        await settle(page);
        const shown = await page.locator(".label.process").evaluateAll((all) => all.map((one) => [one.querySelector("b").textContent, one.querySelector("em")?.textContent ?? "", one.querySelector(".figure, .value, output")?.textContent ?? one.textContent]));
        assert.deepEqual(shown.map(([name, id]) => [name, id]), [["core 0", ""], ["core 1", ""]]);
        assert.ok(shown.every(([, , text]) => /^196$/.test(text)), JSON.stringify(shown));
        assert.match(await page.locator(".label.machine").textContent(), /392.*100 % of 2 CPUs/s);
        assert.ok(await page.evaluate(() => window.stoke.tracks.height) < 160, "bars that say nothing do not grow");
        const text = await page.locator("body").innerText();
        assert.doesNotMatch(text, /\d (ns|\u00b5s|ms|s)\b/);
        await page.locator(".label.process").nth(1).click();
        await settle(page);
        assert.equal(await page.evaluate(() => window.stoke.shown.weight ?? window.stoke.shown.total), 196);
    });

    test("changes say that they are percentage points", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), processes());
        await settle(page);
        await key(page, "v");
        assert.equal(await page.locator(".changed .heads > span").first().textContent(), "Change %");
    });

    /* Before, 1 s of main and 1 s of hot; after, 1 s of main and 3 s of hot. */
    test("a comparison begins with its changes, shows each profile alone, and compares weights or shares", async (bench) => {
        const lines = (hot) => Array.from({ length: 100 + hot }, (_, i) => `p 1/1 [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n${i % (100 + hot) * 100 % (100 + hot) < 100 ? "" : "\tff02 hot+0x1 (/bin/prog)\n"}\tff01 main+0x1 (/bin/prog)\n`).join("\n");
        const page = await report(bench, lines(300), "x.perf", { viewport: { width: 1440, height: 900 } });
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), lines(100));
        await settle(page);
        const tabs = page.locator(".tabs");
        assert.match(await tabs.locator("button").first().innerText(), /^Changes/);
        assert.ok(await tabs.evaluate((one) => one.scrollWidth <= one.clientWidth + 1), "all tabs are visible");
        const shown = page.getByRole("group", { name: "Flame graphs" });
        const kind = () => page.locator(".changes .chart").evaluateAll((all) => all.map((one) => one.dataset.kind).join());
        const color = () => page.evaluate(() => window.stoke.state.color);
        const change = await color();
        assert.equal(await kind(), "0");
        await shown.getByRole("button", { name: "Before" }).click();
        await settle(page);
        assert.deepEqual([await kind(), await page.evaluate(() => window.stoke.steered.full), await color() === change], ["5", 2e9, false]);
        await shown.getByRole("button", { name: "After" }).click();
        await settle(page);
        assert.deepEqual([await kind(), await page.evaluate(() => window.stoke.steered.full)], ["0", 4e9]);
        await shown.getByRole("button", { name: "Difference" }).click();
        await settle(page);
        assert.equal(await color(), change);
        const row = (name) => page.locator(".changed .row", { hasText: name }).locator("> *").allTextContents().then((cells) => cells.slice(0, 4).join("|"));
        assert.match(await row("hot"), /^\+25\.0\|\+.*\|50\.0 %\|75\.0 %$/);
        await page.locator(".status button", { hasText: "compare weights" }).click();
        await settle(page);
        assert.match(await row("hot"), /^\+2 s\|\+1\.\d\u2026\+2\.\d s\|1 s\|3 s$/);
        assert.match(await row("main"), /^0\|/);
        assert.equal(await page.locator(".changed .heads > span").first().textContent(), "Change");
        assert.equal(await page.getByRole("switch", { name: "Per share" }).getAttribute("aria-checked"), "false");
        assert.equal(await page.locator(".status button", { hasText: "compare weights" }).count(), 0);
        const box = await page.evaluate(() => location.hash);
        assert.match(decodeURIComponent(box), /"shares":false/);
    });

    /* Before, 1 s of init and 1 s of hot; after, 1 s of hot. */
    test("two recordings are aligned by their start, end or length, or by a function", async (bench) => {
        const lines = (...leaves) => leaves.flatMap((leaf, k) => Array.from({ length: 100 }, (_, i) => `p 1/1 [000] ${(1 + k + i / 100).toFixed(6)}: 10000000 cpu-clock:\n\tff02 ${leaf}+0x1 (/bin/prog)\n\tff01 main+0x1 (/bin/prog)\n`)).join("\n");
        const page = await report(bench, lines("hot"), "after.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), lines("init", "hot"));
        await settle(page);
        const sums = async (from, to) => {
            await page.evaluate((span) => window.stoke.preview(span), [from, to]);
            await settle(page);
            return page.evaluate(() => [window.stoke.shown.base_total, window.stoke.shown.total].map((ns) => Math.round(ns / 1e7)));
        };
        const axis = () => page.evaluate(() => window.stoke.tracks.info.to / 1e9);
        const drawn = () => page.evaluate(() => Object.fromEntries([...window.stoke.tracksView.picture.strips].map(([name, { layers }]) => {
            const used = [...layers[0].keys()].filter((i) => layers.some((layer) => layer[i] > 0.5));
            return [name.split(" ")[0], [used[0], used[used.length - 1] + 1].map((i) => Math.round((i / layers[0].length) * 20))];
        })));
        /* A switch that is on looks like it, although others were in the bar before. */
        assert.equal(await page.locator(".switch[aria-checked=true] i").first().evaluate((one) => getComputedStyle(one).backgroundColor), "rgb(31, 95, 208)");
        const align = page.getByLabel("Align by");
        assert.deepEqual([await axis(), await drawn(), await sums(0, 1e9)], [2, { before: [0, 20], after: [0, 10] }, [100, 100]]);
        await align.selectOption("end");
        await settle(page);
        assert.deepEqual([await axis(), await drawn()], [2, { before: [0, 20], after: [10, 20] }]);
        assert.deepEqual([await sums(0, 1e9), await sums(1e9, 1.5e9)], [[100, 0], [50, 50]]);
        await align.selectOption("length");
        await settle(page);
        assert.deepEqual([await axis(), await drawn(), await sums(0, 0.5e9)], [1, { before: [0, 20], after: [0, 20] }, [100, 50]]);
        await page.evaluate(() => window.stoke.tracks.select(null));
        await settle(page);
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await align.selectOption({ label: "first hot" });
        await page.waitForFunction(() => typeof window.stoke.state.align === "number");
        await settle(page);
        assert.deepEqual([await page.evaluate(() => window.stoke.state.align / 1e9), await axis(), await drawn()], [1, 2, { before: [0, 20], after: [10, 20] }]);
        assert.equal(await align.locator("option:checked").textContent(), "before +1 s");
        await page.goBack();
        await page.waitForFunction(() => window.stoke.state.align === "length" && window.stoke.tracks.info.to < 1.5e9);
    });

    test("the kernel is called kernel, but filters have the name of its module", async (bench) => {
        const page = await report(bench, "p 1/1 [000] 1.000000: 10000000 cpu-clock:\n\tffffffff81000001 do_work+0x1 ([kernel.kallsyms])\n\tff01 main+0x1 (/bin/prog)\n\n", "x.perf");
        await press(page, "do_work");
        assert.match(await page.locator(".details .who").innerText(), /do_work\s+kernel\n/);
        await key(page, VIEWS.sandwich);
        assert.deepEqual(await page.locator(".functions .row .module").allTextContents(), ["kernel", "prog"]);
        assert.equal(await page.locator(".functions .row .module").first().getAttribute("title"), "[kernel.kallsyms]");
        await page.locator(".segments button", { hasText: "Module" }).click();
        await settle(page);
        assert.deepEqual(await page.locator(".functions .row .ends").allTextContents(), ["kernel", "prog"]);
        await key(page, VIEWS.left);
        await press(page, "kernel");
        assert.match(await page.locator(".details .who").innerText(), /^kernel\n/);
        assert.equal(await page.evaluate(() => window.stoke.state.chosen), "[kernel.kallsyms]");
        await key(page, VIEWS.sandwich);
        await page.locator(".segments button", { hasText: "By function" }).click();
        await page.evaluate(() => window.stoke.filters.add({ verb: "show-module", text: "[kernel.kallsyms]", exact: true }));
        await settle(page);
        assert.equal(await page.locator(".functions .row").count(), 1);
        assert.match((await chips(page)).join(), /\[kernel\.kallsyms\]/);
    });

    test("the details have the times at which the function ran in the shown span", async (bench) => {
        const lines = Array.from({ length: 300 }, (_, i) => `p 1/1 [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n${i >= 200 ? "\tff02 late+0x1 (/bin/prog)\n" : ""}\tff01 main+0x1 (/bin/prog)\n`).join("\n");
        const page = await report(bench, lines, "x.perf");
        await press(page, "late");
        const bars = () => page.locator(".when rect").evaluateAll((all) => all.map((one) => Number(one.getAttribute("x"))));
        await page.waitForSelector(".when rect");
        const whole = await bars();
        assert.equal(await page.locator(".when figcaption").innerText(), "Over the recording\n3 s");
        assert.ok(Math.min(...whole) > 54 * 5 * 0.6 && whole.length >= 16 && whole.length <= 20, whole.join());
        await page.evaluate(() => window.stoke.tracks.select([1.5e9, 2.5e9]));
        await settle(page);
        await page.waitForFunction(() => /^In this span/.test(document.querySelector(".when figcaption")?.innerText));
        await settle(page);
        const part = await bars();
        assert.ok(part.length >= 25 && part.length <= 29 && Math.min(...part) > 54 * 5 * 0.45, part.join());
    });

    test("the callers and callees in the details are those of all processes", async (bench) => {
        const sample = (pid, i, names) => `p${pid} ${pid}/${pid} [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n${names.map((name, k) => `\tff0${k} ${name}+0x1 (/bin/prog)\n`).join("")}\n`;
        const lines = [1, 2].flatMap((pid) => [0, 1, 2, 3].map((i) => sample(pid, 4 * pid + i, [i % 2 ? "leaf" : "other", "hot", pid === 1 ? "first" : "second", "main"])));
        const page = await report(bench, lines.join(""), "x.perf");
        await press(page, "hot");
        await page.waitForSelector(".near");
        const lists = await page.locator(".near").evaluateAll((all) => all.map((one) => [one.querySelector("h3").innerText.replace(/\s+/g, " "), ...[...one.querySelectorAll("button")].map((row) => row.querySelector(".ends").textContent + " " + row.querySelector("em").textContent).sort()]));
        assert.deepEqual(lists, [["Called by 2", "first 50.0 %", "second 50.0 %"], ["Calls 2", "leaf 50.0 %", "other 50.0 %"]]);
    });

    test("the function that is selected at first is no idle one", async (bench) => {
        const samples = Array.from({ length: 9 }, (_, i) => `swapper 0/0 [000] ${i + 1}.0: 10000000 cpu-clock:\n\tffffffff81000001 default_idle+0x1 ([kernel.kallsyms])\n\n`).join("");
        const page = await report(bench, `${samples}p 1/1 [000] 10.0: 10000000 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n\n`, "x.perf");
        await page.evaluate(() => window.stoke.setIdle(true));
        await key(page, VIEWS.sandwich);
        assert.match(await page.locator(".functions .row").first().innerText(), /default_idle/);
        assert.equal(await page.evaluate(() => window.stoke.chosen.name), "main");
    });

    test("idle time is left out at first, and the status line has it", async (bench) => {
        const samples = Array.from({ length: 9 }, (_, i) => `swapper 0/0 [000] ${i + 1}.0: 10000000 cpu-clock:\n\tffffffff81000001 default_idle+0x1 ([kernel.kallsyms])\n\n`).join("");
        const page = await report(bench, `${samples}p 1/1 [000] 10.0: 10000000 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n\n`, "x.perf");
        await settle(page);
        const status = page.locator(".status > span").first();
        assert.equal(await total(page), 1e7);
        assert.match(await status.innerText(), /^10 ms of CPU time, 90 ms idle show · 1 sample$/);
        assert.deepEqual(await chips(page), ["without idle"]);
        assert.equal((await boxOf(page, "main")).width, 1200);
        await key(page, VIEWS.summary);
        assert.match(await page.locator(".facts").innerText(), /Idle\s+90 ms of it, not shown/);
        await key(page, VIEWS.left);
        await status.getByRole("button", { name: "show" }).click();
        await settle(page);
        assert.equal(await total(page), 1e8);
        assert.match(await status.innerText(), /^10 ms of CPU time, 90 ms idle hide · 10 samples$/);
        assert.deepEqual(await chips(page), []);
        await page.goBack();
        await page.waitForFunction(() => window.stoke.shown.total === 1e7);
        const cells = () => page.evaluate(() => window.stoke.core.heat(1e9, 1).then(({ cells }) => cells.map((value) => Math.round(value / 1e6))));
        assert.deepEqual(await cells(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 10]);
    });

    test("a busy CPU has the same colour in all cells of its heat map", async (bench) => {
        const lines = Array.from({ length: 300 }, (_, i) => `p 1/1 [000] ${(1 + i / 99).toFixed(6)}: 10101010 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n`).join("\n");
        const page = await report(bench, lines, "x.perf");
        await settle(page);
        const cells = await page.evaluate(() => window.stoke.core.heat(1e8, 4).then(({ cells }) => cells)); /* of 25 ms: 2 or 3 samples */
        assert.ok(cells.slice(0, 120).every((value) => Math.abs(value - 25e6) < 1e5), cells.join());
        assert.ok(Math.abs(cells.reduce((a, b) => a + b, 0) - 300 * 10101010) < 1e4);
    });

    /* Two CPUs at 99 Hz, one of which sleeps from 1.0 to 1.1 s. */
    test("on a busy machine, the colours of the heat map show where it was less busy", async (bench) => {
        const lines = Array.from({ length: 594 }, (_, i) => (i % 2 && i >= 198 && i < 218 ? "" : `p 1/${1 + i % 2} [00${i % 2}] ${(1 + Math.floor(i / 2) / 99).toFixed(6)}: 10101010 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n`)).join("\n");
        const page = await report(bench, lines, "x.perf");
        await key(page, VIEWS.heat);
        await settle(page);
        assert.match(await page.locator(".heat .legend").innerText(), /^12\.5 ms or less\s+25 ms a cell$/);
        const strengths = await page.evaluate(async () => { /* of red over green, in the middle of each cell */
            const { columns, rows, column } = await window.stoke.core.heat(1e8, 8);
            const canvas = document.querySelector(".heat canvas"), pen = canvas.getContext("2d");
            const scale = canvas.width / canvas.clientWidth, width = (canvas.clientWidth - 52) / columns, height = (canvas.clientHeight - 22) / rows;
            return Array.from({ length: 160 }, (_, i) => {
                const [r, g] = pen.getImageData((52 + (Math.floor(i / rows) + 0.5) * width) * scale, (rows - 0.5 - (i % rows)) * height * scale, 1, 1).data;
                return column === 1e8 ? r - g : -1;
            });
        });
        const low = strengths.slice(81, 87), rest = [...strengths.slice(2, 78), ...strengths.slice(90)];
        assert.ok(Math.max(...low) < Math.min(...rest) - 40, `${low} and ${rest}`);
    });

    test("the time order has the axis of the tracks above it, with and without the side panel", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await key(page, VIEWS.time);
        const lines = () => page.evaluate(() => {
            const { tracksView, steered } = window.stoke, left = document.querySelector(".tracks .axis .strips").getBoundingClientRect().left;
            return [tracksView.from, (tracksView.from + tracksView.to) / 2, tracksView.to].map((at) => [left + tracksView.xOf(at), steered.over.getBoundingClientRect().left + steered.xOf(at)]);
        });
        for (const side of [true, false]) {
            await page.evaluate((shown) => window.stoke.appearance.setSide(shown), side);
            await settle(page);
            for (const [above, below] of await lines())
                assert.ok(Math.abs(above - below) <= 1, `${side}: ${above} and ${below}`);
            assert.equal(await page.locator(".details").count(), side ? 1 : 0);
        }
    });

    test("the tracks show where the selected function ran, by thread and process", async (bench) => {
        const lines = Array.from({ length: 300 }, (_, i) => `p 1/${1 + (i % 2)} [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n${i >= 200 && i % 2 ? "\tff02 late+0x1 (/bin/prog)\n" : ""}\tff01 main+0x1 (/bin/prog)\n`).join("\n");
        const page = await report(bench, lines, "x.perf");
        const marks = () => page.evaluate(() => {
            const view = window.stoke.tracksView;
            const sum = (values, from, to) => values.slice(Math.floor(values.length * from), Math.floor(values.length * to)).reduce((a, b) => a + b, 0) / values.length;
            return view.marked ? Object.fromEntries([...view.marks.rows].map(([name, values]) => [name, [sum(values, 0, 0.66), sum(values, 0.66, 1)].map((x) => Math.round(x * 300))])) : null;
        });
        const paint = () => page.evaluate(() => { /* the colour of most of the process's running time */
            const view = window.stoke.tracksView, { rows } = window.stoke.tracks, row = rows.find((one) => one.kind === "process");
            const scale = view.canvas.width / view.width, pen = view.canvas.getContext("2d");
            return [...pen.getImageData(Math.round(view.width * 0.3 * scale), Math.round((row.top + row.height - 4) * scale), 1, 1).data.slice(0, 3)];
        });
        const tone = (name) => page.evaluate((one) => { const value = getComputedStyle(document.documentElement).getPropertyValue(`--${one}`).trim(); return [1, 3, 5].map((at) => Number.parseInt(value.slice(at, at + 2), 16)); }, name);
        assert.equal(await marks(), null);
        assert.deepEqual(await paint(), await tone("strip-1"));
        await press(page, "late");
        await page.waitForFunction(() => window.stoke.tracksView.marked);
        const found = await marks();
        assert.deepEqual(found["process 0"], [0, 50]); /* 50 samples of 10 ms, in 300 */
        assert.deepEqual(Object.entries(found).filter(([name]) => name.startsWith("thread")).map(([, parts]) => parts.join()).sort(), ["0,0", "0,50"]);
        assert.equal(await page.locator(".more .marked").textContent(), "Where late ran is marked");
        assert.deepEqual(await paint(), await tone("cat-1")); /* paler where another function ran */
        await page.evaluate(() => window.stoke.choose(0));
        await page.waitForFunction(() => !window.stoke.tracksView.marked);
        await settle(page);
        assert.deepEqual(await paint(), await tone("strip-1"));
    });

    test("without the text, the page says what to do, and shows a file that is chosen", async (bench) => {
        const profile = JSON.parse(speedscope(["/nowhere/a.c", "/nowhere/a.c"]));
        profile.shared.frames[1].line = 5;
        const page = await report(bench, JSON.stringify(profile), "p.speedscope.json");
        await key(page, VIEWS.source);
        assert.match(await page.locator(".missing").innerText(), /a\.c is not in this page.*stoke view FILE.*--with-source/s);
        assert.deepEqual(await page.locator(".hottest button").allTextContents(), ["3", "5"]);
        const chooser = page.waitForEvent("filechooser");
        await page.getByRole("button", { name: /^Choose the file/ }).click();
        await (await chooser).setFiles({ name: "a.c", mimeType: "text/plain", buffer: Buffer.from("one\ntwo\nthree\nfour\nfive\n") });
        await page.locator(".code .row[data-line='2']", { hasText: "two" }).waitFor();
        assert.equal(await page.locator(".missing").count(), 0);
        await page.locator(".hottest button", { hasText: "5" }).click();
        assert.equal(await page.locator(".code .row.at").getAttribute("data-line"), "5");
        await key(page, VIEWS.left, VIEWS.source);
        await page.locator(".code .row", { hasText: "three" }).waitFor();
    });

    test("without the text, the lines of a function are not one coloured area", async (bench) => {
        const page = await report(bench, speedscope(["/nowhere/a.c"]), "p.speedscope.json");
        await key(page, VIEWS.sandwich, VIEWS.source);
        assert.equal(await page.locator(".code .row").count(), 1);
        assert.equal(await page.locator(".code .row.chosen").count(), 0);
    });

    test("without a selection, the side panel lists the functions with most time of their own", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        await settle(page);
        const panel = page.locator(".details.whole");
        assert.match(await panel.innerText(), /All that is shown\s+Total\s+400 ms\s+In\s+40 samples/);
        assert.deepEqual(await panel.locator(".near button").evaluateAll((all) => all.map((one) => `${one.querySelector(".ends").textContent} ${one.querySelector("em").textContent}`)), ["hot 100 %"]);
        await panel.locator(".near button").first().click();
        await settle(page);
        assert.equal(await page.evaluate(() => window.stoke.chosen.name), "hot");
        assert.equal(await panel.count(), 0);
    });

    test("without a selection, the side panel of a heap lists what allocated", async (bench) => {
        const heap = "v 10500 3\nX ./x\nI 1000 10\ns 1 x\ns 4 main\ns 4 grow\ns 6 malloc\ni 10 1 2\ni 20 1 3\ni 30 1 4\nt 1 0\nt 2 1\nt 3 2\na 100000 3\na 80000 2\nc 0\n+ 0\n+ 1\nc c8\n- 0\nc 12c\n";
        const page = await report(bench, heap, "heaptrack.1");
        await page.evaluate(() => window.stoke.setEvent(window.stoke.memory.eventNamed("peak"), false));
        await settle(page);
        const names = () => page.locator(".details.whole .near .ends").allTextContents();
        await page.waitForFunction(() => document.querySelectorAll(".details.whole .near .ends").length > 0);
        assert.ok((await names()).includes("grow") && !(await names()).includes("malloc"), (await names()).join());
    });

    test("a comparison names both recordings, and sums of noise are points of shares", async (bench) => {
        const lines = (hot, noise) => Array.from({ length: 400 }, (_, i) => `p 1/1 [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n\tff0${i % 4 < hot ? 2 : 3} ${i % 4 < hot ? "hot" : i < noise ? "odd" : "even"}+0x1 (/bin/prog)\n\tff01 main+0x1 (/bin/prog)\n`).join("\n");
        const page = await report(bench, lines(3, 4), "after.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), lines(1, 0));
        await settle(page);
        assert.match(await page.locator(".noise-heading").innerText(), /sum [+\u2212]?[\d.]+ points$/);
        assert.equal(await page.evaluate(() => window.stoke.chosen?.name), await page.locator(".changed .row .ends").first().textContent()); /* the largest change */
        await page.getByRole("switch", { name: "Per share" }).click();
        await settle(page);
        assert.match(await page.locator(".noise-heading").innerText(), /sum [+\u2212]?[\d.]+( m?s)?$/);
        await key(page, VIEWS.summary);
        await page.waitForSelector(".recordings tbody tr");
        const facts = await page.locator(".recordings tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent).join("|")));
        assert.deepEqual(facts.filter((row) => /^(\||File|Shown|Samples)/.test(row)), ["|Before|After", "File|before.perf|after.perf", "Samples|400|400", "Shown|4 s|4 s"]);
        assert.equal(await page.locator(".summary h2", { hasText: "Events" }).count(), 0);
        await key(page, VIEWS.time);
        assert.match(await page.locator("main").innerText(), /no order in time.*Show after\.perf alone/s);
        await page.getByRole("button", { name: "Show after.perf alone" }).click();
        await page.waitForFunction(() => !window.stoke.comparedWith && document.querySelector("main canvas"));
    });

    test("waits are compared as an event", async (bench) => {
        const waits = (each) => Array.from({ length: 60 }, (_, i) => `p 1/1 [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n\np 1/1 [000] ${(1.005 + i / 100).toFixed(6)}: ${each} off-cpu:\n\tff02 read_all+0x1 (/bin/prog)\n`).join("\n");
        const page = await report(bench, waits(1e6), "after.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), waits(4e6));
        await settle(page);
        await key(page, VIEWS.waits);
        assert.match(await page.locator("main").innerText(), /The waits of threads for each other are not compared/);
        await page.getByRole("button", { name: "compare the waits" }).click();
        await page.waitForFunction(() => window.stoke.state.view === "changes" && window.stoke.shown.event_name === "off-cpu");
        assert.deepEqual(await page.evaluate(() => [window.stoke.shown.base_total, window.stoke.shown.total].map((ns) => ns / 1e6)), [240, 60]);
    });

    test("the time of idle CPUs is left out of comparisons, too, and no more CPUs are busy than there are", async (bench) => {
        const machine = (idle) => Array.from({ length: 200 }, (_, i) => `${i % 10 < idle ? "swapper 0/0" : "p 1/1"} [00${i % 2}] ${(1 + Math.floor(i / 2) / 100).toFixed(6)}: ${10000000 + (i % 3) * 1000} cpu-clock:\n${i % 10 < idle ? "\tffffffff81000001 default_idle+0x1 ([kernel.kallsyms])" : "\tff01 main+0x1 (/bin/prog)"}\n`).join("\n");
        const page = await report(bench, machine(2), "after.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), machine(5));
        await settle(page);
        const totals = () => page.evaluate(() => [window.stoke.shown.base_total, window.stoke.shown.total].map((ns) => Math.round(ns / 1e7)));
        assert.deepEqual([await totals(), await chips(page)], [[100, 160], ["without idle"]]);
        const status = page.locator(".status > span").first();
        assert.match(await status.innerText(), /^1\.60 s, 1 s before, 1\.40 s idle show/);
        assert.ok(!(await page.locator(".changed .rows").innerText()).includes("default_idle"));
        const heat = await page.evaluate(() => Promise.all([0, 1].map((side) => window.stoke.core.heatOfSide(side, "[]", 1e9, 1).then((h) => Math.round(h.cells.reduce((a, b) => a + b, 0) / 1e7)))));
        assert.deepEqual(heat, [100, 160]);
        const notes = await page.evaluate(async () => {
            const texts = [], { fillText } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { texts.push(text); return fillText.call(this, text, ...at); };
            window.stoke.tracks.loads++;
            window.stoke.tracksView.update();
            await window.settled();
            CanvasRenderingContext2D.prototype.fillText = fillText;
            return texts.filter((text) => / CPUs?$/.test(text));
        });
        assert.deepEqual([...new Set(notes)], ["2 CPUs"]);
        await status.getByRole("button", { name: "show" }).click();
        await settle(page);
        assert.deepEqual([await totals(), await chips(page)], [[200, 200], []]);
        assert.match(await page.locator(".changed .rows").innerText(), /default_idle/);
    });

    test("the processes of a function are listed once, below its callers, with the names of their tracks", async (bench) => {
        const out = [];
        for (let i = 0; i < 40; i++) {
            const pid = i % 2 ? 10 : 20;
            out.push(`worker ${pid}/${pid + 1} [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:`, "\tff03 leaf+0x1 (/bin/prog)", "\tff02 hot+0x1 (/bin/prog)", "\tff01 main+0x1 (/bin/prog)", "",
                `prog${pid} ${pid}/${pid} [000] ${(1.005 + i / 100).toFixed(6)}: 1000000 off-cpu:`, "\tff01 main+0x1 (/bin/prog)", "");
        }
        const page = await report(bench, out.join("\n"), "x.perf");
        await key(page, VIEWS.left);
        assert.ok(await boxOf(page, "prog10 10") && await boxOf(page, "prog20 20"));
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await key(page, VIEWS.sandwich);
        const rows = (kind) => page.evaluate(async (which) => {
            const drawing = await window.stoke.core.draw(which, 0, Infinity, 1000, 0, 9), words = new Uint32Array(drawing.boxes), names = [];
            for (let at = 0; at < words.length; at += 6)
                (names[words[at + 2]] ??= []).push(window.stoke.core.labels.get(words[at + 4]));
            return names.map((row) => row.sort().join());
        }, kind);
        assert.deepEqual(await rows(2), ["prog10 10,prog20 20", "hot,hot", "main,main"]); /* callers */
        assert.deepEqual(await rows(3), ["hot,hot", "leaf,leaf"]);
        await page.locator(".slices .chart").last().locator("canvas").last().click({ position: { x: 100, y: 10 } });
        await settle(page);
        assert.equal(await page.evaluate(() => window.stoke.selected.function.name), "hot");
        await key(page, "ArrowUp");
        assert.equal(await page.evaluate(() => window.stoke.selected.function.name), "hot"); /* there is no box above it */
    });

    test("a task of one core is selected, although another core has one of its number", async (bench) => {
        const man = path.join(__dirname, "..", "man"), made = path.join(bench.folder, "cores.html");
        const first = path.join(man, "TRACEFILE-C0"), second = path.join(bench.folder, "TRACEFILE-C1");
        fs.copyFileSync(first, second);
        stoke("trace", "-q", first, second, "-d", path.join(man, "small-bin-dwarf"), "-o", made);
        const page = await openPage(bench, `file://${made}`);
        const select = (name) => page.evaluate((one) => {
            const { tracks } = window.stoke, thread = tracks.info.threads.find((t) => t.name === one);
            return window.stoke.filters.selectThreads(tracks.ofThreads([thread]));
        }, name);
        await select("core 1");
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [196, ["only core 1"]]);
        assert.deepEqual(await page.evaluate(() => window.stoke.core.summary(9).then((info) => info.threads.map((t) => t.name))), ["core 1"]);
        assert.match(await page.locator(".status").innerText(), /^196 cycles$/); /* all cycles are counted: no samples */
        await page.evaluate(() => window.stoke.filters.selectThreads(null));
        await key(page, VIEWS.summary);
        await page.locator(".summary .part", { hasText: "core 0" }).click();
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [196, ["only core 0"]]);
        await key(page, VIEWS.heat);
        await settle(page);
        const heat = await page.evaluate(() => { const { width, height } = document.querySelector(".heat canvas"), pen = document.querySelector(".heat canvas").getContext("2d"); return [0.3, 0.6, 0.9].map((x) => pen.getImageData(width * x, height / 3, 1, 1).data[3]); });
        assert.deepEqual(heat, [255, 255, 255], "its cells fill the width");
    });

    test("on a telephone, the tools do not widen the page, and no sheet covers the source", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: PHONE, hasTouch: true, isMobile: true });
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), processes());
        await settle(page);
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await key(page, VIEWS.sandwich);
        const sheet = await page.locator(".sheet").boundingBox();
        assert.equal(sheet.y + sheet.height, 844, "the sheet is at the lower edge");
        assert.equal(await page.evaluate(() => innerWidth), 390);
        const shown = await page.locator(".sheet.low .details > *").evaluateAll((all) => all.filter((one) => one.offsetHeight > 0).map((one) => one.getBoundingClientRect().bottom));
        assert.ok(shown.length >= 3 && shown.every((bottom) => bottom <= 844), shown.join());
        await key(page, VIEWS.source);
        assert.equal(await page.locator(".sheet").count(), 0);
        await key(page, VIEWS.heat);
        assert.equal(await page.locator(".view-tools").evaluate((one) => one.offsetHeight), 0);
    });

    /* A member of a template whose arguments are longer than any window. */
    const MEMBER = `std::unordered_map<${"std::pair<int const, long>, ".repeat(40)}int>::operator[]`;
    const withMember = () => processes().replaceAll("\tff02 hot+0x1", `\tff02 ${MEMBER}+0x1`);
    const choose = (page) => page.evaluate(async (name) => window.stoke.choose(await window.stoke.core.find(name)), `${MEMBER}`);

    test("long template arguments are left out of boxes, titles and lines; they widen no page", async (bench) => {
        const page = await report(bench, withMember(), "x.perf", { viewport: { width: 1440, height: 900 } });
        assert.deepEqual(await page.evaluate(() => [...window.stoke.core.labels.values()].filter((name) => name.startsWith("std"))), [`${MEMBER}`]);
        await choose(page);
        await page.locator(".more .marked").waitFor();
        assert.equal(await page.locator(".more .marked").textContent(), "Where std::unordered_map::operator[] ran is marked");
        assert.equal(await page.locator(".details h2").innerText(), "std::unordered_map::operator[]");
        assert.equal(await page.locator(".details .signature").innerText(), `${MEMBER}`);
        await key(page, VIEWS.source);
        assert.match(await page.locator(".status .found").innerText(), /^std::unordered_map::operator\[\]: .* self, .* total$/);
        const phone = await report(bench, withMember(), "x.perf", { viewport: PHONE, hasTouch: true, isMobile: true });
        await choose(phone);
        await phone.locator(".more .marked").waitFor();
        await key(phone, VIEWS.sandwich);
        assert.equal(await phone.evaluate(() => innerWidth), 390);
        const sheet = await phone.locator(".sheet").boundingBox();
        assert.equal(sheet.y + sheet.height, 844, "the sheet is in view");
        const name = await phone.locator(".sheet h2").evaluate((one) => [one.clientWidth, one.scrollWidth]);
        assert.ok(name[1] <= name[0], `the name is not cut: ${name}`);
    });

    test("of a process without room, first the number of threads is left out, then its ID is cut, then its name", async (bench) => {
        const page = await report(bench, processes().replaceAll("other 200/20", "a-longer-name 200/20"), "x.perf", { viewport: { width: 1440, height: 900 } });
        const labels = await page.locator(".label.process").evaluateAll((all) => all.map((one) => {
            const [name, ids] = [one.querySelector("b"), [...one.querySelectorAll("em span")]];
            const low = one.querySelector("em").getBoundingClientRect().bottom;
            return [name.textContent, name.scrollWidth <= name.clientWidth, ...ids.filter((id) => id.getBoundingClientRect().top < low).map((id) => id.textContent.trim())];
        }));
        assert.deepEqual(labels, [["interpreter3", true, "123456"], ["a-longer-name", true, "200"]]);
    });

    test("what was compared, and how, is one line beside the details", async (bench) => {
        const page = await report(bench, processes(), "after.perf", { viewport: { width: 1440, height: 900 } });
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), processes().replaceAll("other", "interpreter3"));
        await settle(page);
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await settle(page);
        assert.equal(await page.locator(".details").count(), 1);
        const tops = await page.locator(".sums dt").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
        assert.ok(tops.length === 4 && tops.every((top) => top === tops[0]), tops.join());
        assert.ok((await page.locator(".strip").boundingBox()).height <= 60);
        assert.equal(await page.locator(".strip .ramp").innerText(), "less, \u221210 %\nwithin noise\nmore, +10 %");
        assert.equal(await page.locator(".changed .row .dot").count(), 0, "the bars of the table have the colours of changes");
    });

    test("in the dark theme, the names of processes without a colour of their own are light", async (bench) => {
        const lines = [];
        for (let i = 0; i < 280; i++)
            lines.push(`app${String.fromCharCode(97 + i % 14)} ${i % 14 + 1}/${i % 14 + 1} [000] ${(1 + i / 100).toFixed(6)}: ${10000000 + (i % 14) * 1000} cpu-clock:`, "\tff01 main+0x1 (/bin/prog)", "");
        const page = await report(bench, lines.join("\n"), "x.perf", { colorScheme: "dark", init: () => {
            window.written = [];
            const { fillText } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.fillText = function write(text, ...rest) {
                window.written.push([text, this.fillStyle]);
                return fillText.call(this, text, ...rest);
            };
        } });
        await settle(page);
        const found = await page.evaluate(() => {
            const { tracks } = window.stoke;
            const names = tracks.info.processes.map((one, i) => [`${one.name} ${one.pid}`, tracks.category(i) < 0]);
            return names.map(([name, other]) => [other, window.written.find(([text]) => text.startsWith(name.split(" ")[0]))?.[1]]).filter(([, color]) => color);
        });
        assert.ok(found.some(([other]) => other) && found.some(([other]) => !other), JSON.stringify(found));
        for (const [other, color] of found)
            assert.equal(color, other ? "#f2f4f7" : "#14171b");
    });

    test("above a comparison, no line wraps in a narrow window or on a telephone", async (bench) => {
        for (const size of [{ width: 1024, height: 700 }, { width: 800, height: 700 }, { width: 640, height: 700 }, PHONE]) {
            const page = await report(bench, processes(), "after.perf", { viewport: size });
            await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), processes().replaceAll("other", "interpreter3"));
            await settle(page);
            const { height, right } = await page.locator(".strip").evaluate((one) => ({ height: one.offsetHeight, right: Math.max(...[...one.querySelectorAll("dt, dd > *, .colors")].filter((part) => part.offsetWidth).map((part) => part.getBoundingClientRect().right)) }));
            assert.ok(height <= (size === PHONE ? 70 : 60) && right <= size.width, `${size.width}: ${height} ${right}`);
        }
    });

    test("a tap leaves no control as if a pointer were over it", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: PHONE, hasTouch: true, isMobile: true });
        for (const name of ["Call graph", "Summary"])
            await page.getByRole("tab", { name }).tap();
        await settle(page);
        const grounds = await page.getByRole("tab").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
        assert.deepEqual([...new Set(grounds)], ["rgba(0, 0, 0, 0)"]);
    });

    test("on a telephone, the call graph has one line of settings", async (bench) => {
        const page = await report(bench, processes(), "x.perf", { viewport: PHONE, convert: ["--with-callgraph"] });
        await key(page, VIEWS.graph);
        await page.locator(".limits").waitFor();
        assert.ok(await page.locator(".limits").evaluate((one) => one.offsetHeight) <= 52);
    });

    test("a table shows where the focus is on its row", async (bench) => {
        const page = await report(bench, processes(), "x.perf");
        const outlines = (selector) => page.locator(selector).first().evaluate((one) => [one, one.querySelector(".row.at, .row.chosen")].map((at) => getComputedStyle(at).outlineStyle === "none" ? 0 : parseFloat(getComputedStyle(at).outlineWidth)));
        await key(page, VIEWS.sandwich, "ArrowDown");
        assert.deepEqual(await outlines(".functions .rows"), [0, 2]);
        await key(page, VIEWS.tree, "ArrowDown");
        assert.deepEqual(await outlines(".calls .rows"), [0, 2]);
    });

    test("marks near each other are one, with one text", async (bench) => {
        const mark = (at, event) => `p 1/1 [000] ${at.toFixed(6)}: 1 ${event}:\n\tff01 main+0x1 (/bin/prog)\n\n`;
        const times = Array.from({ length: 100 }, (_, i) => `p 1/1 [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n\n`).join("");
        const near = [1.1, 1.102, 1.104, 1.106].map((at) => mark(at, "sched:sched_switch")).join("");
        const mixed = mark(1.5, "sched:sched_switch") + mark(1.502, "irq:softirq_entry");
        const tight = mark(1.7, "irq:softirq_entry") + mark(1.76, "sched:sched_switch");
        const page = await report(bench, times + near + mixed + tight, "x.perf", { viewport: { width: 1440, height: 900 } });
        const groups = () => page.evaluate(() => window.stoke.tracksView.markGroups().map(({ marks, text }) => [marks.length, text]));
        const found = await groups();
        assert.deepEqual(found.slice(0, 2), [[4, "sched:sched_switch \u00d74"], [2, "+2"]]);
        assert.match(found[2][1], /^(softirq_entry|soft\w*\u2026)$/);
        assert.deepEqual(found.slice(3), [[1, "sched:sched_switch"]]);
        const at = await page.evaluate(() => {
            const view = window.stoke.tracksView, row = window.stoke.tracks.rows.find(({ kind }) => kind === "marks");
            const area = document.querySelector(".strips.lower").getBoundingClientRect();
            return [area.left + view.markGroups()[0].from + 1, area.top + row.top + 10];
        });
        await page.mouse.move(...at);
        await page.locator(".track-tip").waitFor();
        assert.equal(await page.locator(".track-tip p").count(), 5, "each of a few is listed");
        const lost = await report(bench, times + Array.from({ length: 9 }, (_, i) => mark(1.2 + i / 1000, "sched:sched_switch")).join(""), "y.perf", { viewport: { width: 1440, height: 900 } });
        const sums = await lost.evaluate(() => {
            const { tracks, tracksView } = window.stoke;
            for (const one of tracks.info.marks) {
                delete one.name;
                one.lost = 100;
            }
            return tracksView.markGroups().map(({ text }) => text);
        });
        assert.deepEqual(sums, ["lost 900"]);
        await lost.evaluate(() => window.stoke.changed());
        await key(lost, VIEWS.marks);
        const rows = () => lost.locator(".marks-table .row").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent.trim()).join("|")));
        assert.deepEqual((await rows()).map((row) => row.split("|")[1]), ["900 lost samples, 9 times"]);
    });

    test("threads of a trace with one name have their numbers in each view", async (bench) => {
        const man = path.join(__dirname, "..", "man"), made = path.join(bench.folder, "cores.html");
        stoke("trace", "-q", path.join(man, "TRACEFILE-C0"), "-d", path.join(man, "small-bin-dwarf"), "-o", made);
        const page = await openPage(bench, `file://${made}`);
        const alike = (names) => page.evaluate((all) => {
            const { tracks } = window.stoke, [thread] = tracks.info.threads;
            tracks.info = { ...tracks.info, threads: all.map((name, i) => ({ ...thread, name, tid: i + 1 })) };
            const { pid } = tracks.info.processes[thread.process];
            return all.map((_, i) => tracks.isAlike({ pid, tid: i + 1 }));
        }, names);
        assert.deepEqual(await alike(["rv", "other", "rv"]), [true, false, true]);
    });

    test("cautions give their room to the selected function; hatching is explained once", async (bench) => {
        const page = await report(bench, fs.readFileSync(WAITS), "perf.data", { viewport: { width: 900, height: 700 } });
        await key(page, VIEWS.time);
        assert.equal(await page.locator(".legend.waits").count(), 1);
        await key(page, VIEWS.sandwich, VIEWS.source);
        const found = await page.locator(".status .found").evaluate((one) => [one.clientWidth, one.scrollWidth]);
        assert.ok(found[1] <= found[0], found.join());
    });

    test("one length of the recording has one text", async (bench) => {
        const sample = (at) => `p 1/1 [000] ${at}: 10000000 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n\n`;
        const page = await report(bench, sample("1.000000") + sample("3.990000"), "x.perf");
        const [, length] = /([\d.]+ s)$/.exec(await page.locator(".tracks .head").innerText());
        assert.ok((await page.locator(".facts-line").innerText()).split(" \u00b7 ")[0] === length, length);
        assert.equal(await page.locator(".crumb").innerText(), `Whole recording ${length}`);
    });

    test("in peek, too, the share is first and above its bar; the call graph keeps the last part of a name", async (bench) => {
        const page = await report(bench, withMember(), "x.perf", { convert: ["--with-callgraph"] });
        await key(page, VIEWS.sandwich, "p");
        const tops = await page.locator(".peek .row.of .figure").first().evaluate((one) => {
            const [part, bar] = ["em", "i"].map((name) => one.querySelector(name).getBoundingClientRect());
            return [part.left < one.querySelector("b").getBoundingClientRect().left, document.elementFromPoint(part.left + 2, part.top + part.height / 2).localName, bar.width > 4];
        });
        assert.deepEqual(tops, [true, "em", true]);
        await key(page, VIEWS.graph);
        await page.waitForSelector(".graph .function");
        assert.ok((await page.locator(".graph .function .first").allTextContents()).includes("std::unordered_map::operator[]"));
    });

    test("on a telephone, a comparison has the head of each column uncut, and the samples beside the name of a side", async (bench) => {
        const page = await report(bench, processes(), "after.perf", { viewport: PHONE, hasTouch: true, isMobile: true });
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), processes());
        await settle(page);
        for (const view of [VIEWS.sandwich, VIEWS.tree]) {
            await key(page, view);
            const head = await page.locator(".compared .heads > :nth-child(3)").evaluate((one) => [one.innerText, one.scrollWidth <= one.clientWidth]);
            assert.deepEqual(head, ["Change", true], view);
        }
        const [name, samples] = await page.locator(".label.before").evaluate((one) => [one.querySelector("b").getBoundingClientRect().right, one.querySelector("small").getBoundingClientRect().left]);
        assert.ok(samples - name < 12, `${name} ${samples}`);
    });
};
