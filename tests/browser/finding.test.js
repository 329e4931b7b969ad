/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with their callers and callees, and labels as filters. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { address, settle } = require("./activity.js");
const { VIEWS, chips, key, openPage, report, saved, total } = require("./pages.js");

const LINES = "app;main;eval;call 150\napp;main;eval;call;push_back 250\napp;main;parse;lex 200\napp;main;parse;parse;lex 50\napp;idle 350\n";
const LABELLED = path.join(__dirname, "..", "import", "pprof", "heap.in");

/* "150 15.0 % caller eval", by row. */
const rows = (page) => page.locator(".peek .rows .row").evaluateAll((all) => all.map((row) =>
    [row.querySelectorAll("[role=cell] b")[row.classList.contains("of") ? 1 : 0]?.textContent, row.querySelector(".role")?.textContent, row.querySelector(".name")?.textContent].join("|")));

module.exports = (test) => {
    if (!require("./built.js")) {
        test("the viewer # SKIP this stoke was built without it", () => undefined);
        return;
    }

    test("peek lists the functions that match a pattern with their direct callers and callees", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        await key(page, VIEWS.sandwich, "p");
        assert.equal(await page.locator(".peek .row.of").count(), 8);
        await page.locator("#search").fill("^(pa.se|call)$");
        await page.locator(".toggle").click();
        await settle(page);
        /* a recursive function is its own caller; its total counts a stack once */
        assert.deepEqual(await rows(page), [
            "400|caller|eval", "400||call", "250|callee|push_back",
            "250|caller|main", "50|caller|parse", "250||parse", "250|callee|lex", "50|callee|parse"]);
        const link = await address(page);
        await page.locator(".peek .row", { hasText: "callee" }).first().dblclick();
        await settle(page);
        assert.equal(await page.locator(".details h2").textContent(), "push_back");
        assert.equal(await page.locator(".peek").count(), 0);
        await page.goBack();
        await settle(page);
        assert.equal(await page.locator(".peek .row.of").count(), 2);
        const other = await openPage(bench, link);
        await settle(other);
        assert.equal(await other.locator(".peek .row.of").count(), 2);
        await other.locator("#search").fill("nothing");
        await settle(other);
        assert.match(await other.locator(".peek").textContent(), /No function matches/);
    });

    test("labels are filters, in a list, in the summary and as a pattern", async (bench) => {
        const page = await report(bench, fs.readFileSync(LABELLED), "heap.pb");
        await settle(page);
        const all = await total(page);
        await key(page, "l");
        assert.deepEqual(await page.locator(".labels-list b").allTextContents(), ["tid", "bytes"]);
        await page.locator(".dialog label", { hasText: "4096" }).locator("input").check();
        await page.getByRole("button", { name: "Only these" }).click();
        await settle(page);
        assert.deepEqual(await chips(page), ["label bytes=4096"]);
        const only = await total(page);
        assert.ok(only < all);
        await key(page, "Control+z", "l");
        await page.getByLabel("Key or value").fill("bytes");
        await page.locator(".dialog label", { hasText: "4096" }).locator("input").check();
        await page.getByRole("button", { name: "Without these" }).click();
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [all - only, ["without label bytes=4096"]]);
        await key(page, "Control+z", VIEWS.summary);
        await page.locator(".part", { hasText: "bytes=4096" }).click();
        await settle(page);
        assert.equal(await total(page), only);
        await key(page, "Control+z", "I");
        await page.getByLabel("Kind of filter").selectOption("label");
        await page.getByLabel("Pattern").fill("bytes=40*");
        await page.keyboard.press("Enter");
        await settle(page);
        assert.equal(await total(page), only);
        await key(page, "Control+z", "l");
        await page.getByRole("group", { name: "bytes" }).getByText("Group by it").click();
        await settle(page);
        assert.deepEqual(await chips(page), ["by label:bytes"]);
    });

    test("the heat map is saved as a picture; the format is chosen in the summary", async (bench) => {
        const times = Array.from({ length: 20 }, (_, i) => `prog 1/1 [000] ${100 + i / 10}: 10 cpu-clock:\n\tff main+0x2 (/bin/prog)\n`);
        const page = await report(bench, times.join("\n"), "perf.txt");
        await settle(page);
        await key(page, VIEWS.heat);
        assert.equal((await saved(page, "PNG")).text.subarray(1, 4).toString(), "PNG");
        await key(page, VIEWS.summary, "Control+s");
        assert.equal(await page.locator(".dialog .choices button", { hasText: "PNG" }).count(), 0);
        await key(page, "Escape");
        await page.getByText("Read as another").click();
        await page.locator(".dialog select option").nth(20).waitFor({ state: "attached" });
    });
};
