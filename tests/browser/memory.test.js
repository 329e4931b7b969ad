/* SPDX-License-Identifier: Apache-2.0 */
/* The track of memory: its peak, moments and spans. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { spawnSync } = require("child_process");
const { settle } = require("./activity.js");
const { VIEWS, boxOf, chips, key, report, spans, stoke, total } = require("./pages.js");

/* Each 100 ms: grow has 1, 2, 1 and 0 MiB, leak 0.5 from the second time on; RSS is 4 MiB. */
const HEAP = `v 10500 3
X ./x
I 1000 10
s 1 x
s 4 main
s 4 grow
s 4 leak
s 6 malloc
i 10 1 2
i 20 1 3
i 30 1 4
i 40 1 5
t 1 0
t 2 1
t 3 1
t 4 2
t 4 3
a 100000 4
a 80000 5
c 0
+ 0
c 64
R 400
+ 0
+ 1
c c8
- 0
c 12c
- 0
c 190
`;

const MIB = 2 ** 20;
const shownEvent = (page) => page.evaluate(() => window.stoke.shown.event_name);

/* The position of a time in the track. */
async function at(page, ms) {
    const box = await page.locator(".strips.lower").boundingBox();
    return { x: box.x + (ms / 400) * box.width, y: box.y + 100 };
}

async function clickAt(page, ms) {
    const { x, y } = await at(page, ms);
    await page.mouse.click(x, y);
    await settle(page);
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("the viewer # SKIP this stoke was built without it", () => undefined);
        return;
    }

    test("the track of memory: layers, the heap at the peak and at a moment, the bytes of a span", async (bench) => {
        const page = await report(bench, HEAP, "x.heaptrack");
        await settle(page);
        assert.deepEqual(await page.locator(".layers small").allTextContents(), ["most in view, by function", "leak", "grow"]);
        const tabs = await page.locator(".tabs button").allTextContents();
        assert.deepEqual(tabs.filter((tab) => /Time order|Waits|Marks|Heat map/.test(tab)), ["Heat map"]);
        assert.equal(await page.locator(".caution", { hasText: "inaccurate" }).count(), 0);
        assert.equal(await page.locator(".label.memory .value").textContent(), "2.50 MiB");
        await page.locator(".peak").click();
        await settle(page);
        assert.deepEqual([await spans(page), await shownEvent(page), await total(page)], [["at 200 ms, the peak"], "live", 2.5 * MIB]);
        await clickAt(page, 350);
        assert.deepEqual([await spans(page), await total(page)], [["at 300 ms"], 1.5 * MIB]);
        await key(page, "u");
        assert.deepEqual(await spans(page), []);
        const from = await at(page, 150), to = await at(page, 350);
        await page.mouse.move(from.x, from.y);
        await page.mouse.down();
        await page.mouse.move(to.x, to.y, { steps: 3 });
        await page.mouse.up();
        await page.waitForFunction(() => document.querySelector(".span-memory")?.textContent === "1.50 MiB allocated1 MiB freed+512 KiB live");
        await page.locator(".span-memory button", { hasText: "allocated" }).click();
        await settle(page);
        assert.deepEqual([await spans(page).then((all) => all.length), await shownEvent(page), await total(page)], [1, "allocated", 1.5 * MIB]);
    });

    test("the rate of allocations has a track below the memory, of which a span has its own rate", async (bench) => {
        const page = await report(bench, HEAP, "x.heaptrack");
        await settle(page);
        const rows = await page.evaluate(() => window.stoke.tracks.rows.map((row) => row.kind));
        assert.deepEqual(rows.slice(0, 2), ["memory", "allocations"]);
        const value = () => page.locator(".label.allocations .value").textContent();
        assert.deepEqual([await page.locator(".label.allocations b").textContent(), await value()], ["Allocation rate", "7.50 /s"]); /* 3 in 400 ms */
        await page.evaluate(() => window.stoke.filters.add({ verb: "time", text: "", from: 1.5e8, to: 3.5e8 }));
        await settle(page);
        assert.equal(await value(), "10 /s"); /* 2 in 200 ms */
        assert.match(await page.locator(".facts-line").textContent(), /3 allocations/);
    });

    test("a sampled heap says how it was sampled, and how exact its leaks are", async (bench) => {
        const program = bench.write("sampled.c", `#include <stdlib.h>
void *volatile blocks[2000];
__attribute__((noinline)) static void leak(int i) { blocks[i] = malloc(4096); }
int main(void) { for (int i = 0; i < 2000; i++) leak(i); return 0; }
`);
        const built = path.join(bench.folder, "sampled"), recording = path.join(bench.folder, "sampled.stoke");
        if (spawnSync("cc", ["-g", "-O0", "-o", built, program]).status !== 0) {
            bench.note("SKIP no C compiler");
            return;
        }
        stoke("heap", "--sample", "64K", "--seed", "1", "-q", "-o", recording, built);
        const page = await report(bench, fs.readFileSync(recording), "copy.stoke");
        await settle(page);
        assert.match(await page.locator(".facts-line").textContent(), /sampled, one per 64 KiB/);
        await page.getByRole("group", { name: "Memory" }).getByRole("button", { name: "Leaked" }).click();
        await settle(page);
        const [, shown, error] = /([\d.]+) MiB \u00b1([\d.]+)/.exec(await page.locator(".details.sites h2").innerText()) ?? [];
        const truth = (2000 * 4096) / MIB, samples = truth * 16; /* about: the error is that of so many */
        assert.ok(Math.abs(shown - truth) < 2 * error, `${shown} ${error}`);
        assert.ok(Math.abs(error - (1.96 * truth) / Math.sqrt(samples)) < 0.3, `${error}`);
        assert.match(await page.locator(".sites tbody tr").first().innerText(), /MiB \u00b1/);
    });

    /* Blocks of 100 bytes remain; those of 3000 bytes are released at once. */
    test("histograms of sizes and lifetimes; a click on a bar shows only these blocks, in all views", async (bench) => {
        const program = bench.write("blocks.c", `#include <stdlib.h>
#include <string.h>
void *volatile blocks[64];
int main(void) { for (int i = 0; i < 64; i++) { blocks[i] = malloc(100); void *volatile big = malloc(3000); memset(big, 0, 3000); free(big); } return 0; }
`);
        const built = path.join(bench.folder, "blocks"), recording = path.join(bench.folder, "blocks.stoke");
        if (spawnSync("cc", ["-g", "-O0", "-o", built, program]).status !== 0) {
            bench.note("SKIP no C compiler");
            return;
        }
        stoke("heap", "--full", "-q", "-o", recording, built);
        const page = await report(bench, fs.readFileSync(recording), "copy.stoke");
        await settle(page);
        await page.locator(".tabs button", { hasText: "Sizes" }).click();
        await settle(page);
        const names = (title) => page.locator(`section[aria-label="${title} of blocks"] button > span`).allTextContents();
        assert.ok((await names("Sizes")).includes("64 to 127 bytes"));
        await page.locator(`section[aria-label="Sizes of blocks"] button`, { hasText: "64 to 127 bytes" }).click();
        await settle(page);
        assert.deepEqual(await chips(page), ["label size=64 to 127 bytes"]);
        assert.deepEqual(await names("Sizes"), ["64 to 127 bytes"]);
        await key(page, "Control+z");
        const lives = await names("Lifetimes");
        assert.ok(lives.length > 0);
        await page.locator(`section[aria-label="Lifetimes of blocks"] button`).first().click();
        await settle(page);
        assert.deepEqual([await chips(page), await shownEvent(page)], [[`label lifetime=${lives[0]}`], "freed"]);
        assert.deepEqual(await names("Lifetimes"), [lives[0]]);
        assert.ok((await names("Sizes")).includes("2 to 4 KiB"));
        assert.equal(await page.getByLabel("Weight").locator("option:checked").textContent(), "freed (bytes)");
        await page.getByLabel("Weight").selectOption({ label: "releases (events)" });
        await settle(page);
        assert.equal(await shownEvent(page), "releases");
        await key(page, "Control+z");
        await key(page, VIEWS.left);
        await page.getByRole("group", { name: "Memory" }).getByRole("button", { name: "Leaked" }).click();
        await settle(page);
        assert.equal(await shownEvent(page), "leaked");
        assert.match(await page.locator(".details.sites").innerText(), /^Leaks\s+never freed at exit/);
        await page.getByLabel("Weight").selectOption({ label: "releases (events)" });
        await settle(page);
        assert.equal(await shownEvent(page), "releases"); /* which has another number in the filtered profile */
    });

    /* early: 300,000 bytes at the start; late: 64 blocks of 3000 bytes, 1 ms apart; soon: 64 blocks that are
     * freed at once. */
    test("leaks: the functions, how they grew, suppressing one; temporary blocks beside all allocations", async (bench) => {
        const program = bench.write("leaks.c", `#include <stdlib.h>
#include <string.h>
#include <time.h>
void *volatile last;
__attribute__((noinline)) static void early(void) { last = malloc(300000); }
__attribute__((noinline)) static void late(void) { last = malloc(3000); }
__attribute__((noinline)) static void *soon(void) { void *volatile made = malloc(50); return made; }
int main(void) {
    early();
    for (int i = 0; i < 64; i++) { struct timespec nap = {0, 1000000}; late(); free(soon()); nanosleep(&nap, NULL); }
    free(soon() + (last == NULL));
    return 0;
}
`);
        const built = path.join(bench.folder, "leaks"), recording = path.join(bench.folder, "leaks.stoke");
        if (spawnSync("cc", ["-g", "-O0", "-o", built, program]).status !== 0) {
            bench.note("SKIP no C compiler");
            return;
        }
        stoke("heap", "--full", "-q", "-o", recording, built);
        const page = await report(bench, fs.readFileSync(recording), "copy.stoke");
        await settle(page);
        assert.doesNotMatch(await page.locator(".facts-line").textContent(), /sampled/);
        const show = async (event) => {
            await page.getByRole("group", { name: "Memory" }).getByRole("button", { name: event }).click();
            await settle(page);
        };
        const rows = () => page.locator(".sites tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].slice(0, 2).map((cell) => cell.innerText).join(" ") + " " + row.querySelector("button").innerText));
        const selected = () => page.locator(".site > h3").innerText().then((text) => text.split(/\s+/)[0]);
        const growth = () => page.locator(".growth figcaption span").innerText();
        await show("Leaked");
        assert.deepEqual(await rows(), ["293 KiB 1 early", "188 KiB 64 late"]);
        assert.equal(await selected(), "early");
        assert.match(await growth(), /^first at .*, no growth in the second half$/);
        await page.locator(".sites tbody tr", { hasText: "late" }).click();
        await settle(page);
        assert.equal(await selected(), "late");
        assert.match(await growth(), /^first at .*, \+.* [KM]iB\/s in the second half$/);
        const whole = await total(page);
        await page.getByRole("button", { name: "Suppress" }).click();
        await settle(page);
        assert.deepEqual([await chips(page), await rows(), whole - await total(page)], [["suppressed leak:late"], ["293 KiB 1 early"], 64 * 3000]);
        await show("Temporary");
        assert.deepEqual([await rows(), await page.locator(".growth").count()], [["65 100 % soon"], 0]);
        await key(page, "Control+z");
        await show("Leaked");
        assert.equal((await rows()).length, 2);
    });

    test("the status line says what is counted; an event without blocks says so", async (bench) => {
        const page = await report(bench, HEAP, "x.heaptrack");
        await settle(page);
        const texts = {};
        for (const name of ["Peak", "Allocated", "Allocations", "Temporary", "Leaked"]) {
            await page.getByRole("group", { name: "Memory" }).getByRole("button", { name, exact: true }).click();
            await settle(page);
            texts[name] = await page.locator(".status span").first().innerText();
        }
        assert.deepEqual(texts, { Peak: "2.50 MiB at the peak \u00b7 3 blocks", Allocated: "2.50 MiB allocated \u00b7 3 blocks", Allocations: "3 allocations", Temporary: "0 temporary blocks", Leaked: "512 KiB leaked \u00b7 1 block" });
        await page.getByRole("group", { name: "Memory" }).getByRole("button", { name: "Temporary" }).click();
        await settle(page);
        assert.equal(await page.locator("main .lack").innerText(), "Nothing of temporary is in this recording.");
        assert.match(await page.locator(".details.sites").innerText(), /^Temporary\s+freed before another event\s+No block was freed before another event\.$/);
        await page.getByRole("group", { name: "Memory" }).getByRole("button", { name: "Leaked" }).click();
        await settle(page);
        assert.match(await page.locator(".site h3").first().innerText(), /512 KiB, 100 %$/);
    });

    test("a tooltip has the name and the total, where the box is, and its own part", async (bench) => {
        const page = await report(bench, "p 10/11 [000] 1.000000: 2000000000 cpu-clock:\n\tff02 hot+0x1 (/bin/prog)\n\tff01 main+0x1 (/bin/prog)\n\nq 20/20 [000] 3.000000: 2000000000 cpu-clock:\n\tff01 main+0x1 (/bin/prog)\n\n", "x.perf");
        const lines = async (name) => {
            const box = await boxOf(page, name);
            await page.mouse.move(box.x + box.width / 2, box.y + 10);
            await page.waitForFunction((start) => document.querySelector(".tip:not([hidden])")?.textContent.startsWith(start), name);
            return page.locator(".tip:not([hidden]) > *").allTextContents();
        };
        assert.deepEqual(await lines("hot"), ["hot", "2 s (50.0 %)", "p 10 \u00b7 prog", "self 2 s (50.0 %)"]);
        assert.deepEqual(await lines("main"), ["main", "2 s (50.0 %)", "p 10 \u00b7 prog", "self 0"]);
        await key(page, VIEWS.time);
        assert.deepEqual((await lines("hot")).slice(2), ["p 10/11 at 0 \u00b7 prog"]);
    });
};
