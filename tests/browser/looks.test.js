/* SPDX-License-Identifier: Apache-2.0 */
/* What is cut, hidden or wider than the window. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { settle } = require("./activity.js");
const { VIEWS, chips, key, openPage, press, report, stoke } = require("./pages.js");

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
            return [name.textContent, name.scrollWidth - name.clientWidth, numbers.textContent, numbers.scrollWidth > numbers.clientWidth];
        }), ["interpreter3", 0, "123456 \u00d73", true]);
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
        assert.ok(shown.every(([, , text]) => text.includes("196 cycles")), JSON.stringify(shown));
        assert.match(await page.locator(".label.machine").textContent(), /392 cycles.*100 % of 2 CPUs/s);
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

    test("without the text, the lines of a function are not one coloured area", async (bench) => {
        const page = await report(bench, speedscope(["/nowhere/a.c"]), "p.speedscope.json");
        await key(page, VIEWS.sandwich, VIEWS.source);
        assert.equal(await page.locator(".code .row").count(), 1);
        assert.equal(await page.locator(".code .row.chosen").count(), 0);
    });
};
