/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files in the page: formats, damaged files, and rejected files. The page must
 * show the same as the command line prints. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");
const { spawnSync } = require("child_process");
const { settle } = require("./activity.js");

function emptyPage() {
    return "file://" + fs.realpathSync(path.join(process.env.STOKE_BUILD, "src", "export", "viewer.html"));
}

async function openPage(bench) {
    const page = await bench.open(emptyPage());
    await page.waitForSelector("#app[data-ready]");
    return page;
}

/* The page's result for a file: its total and cautions, or its error. */
function open(page, bytes, name) {
    return page.evaluate(async ([text, called]) => {
        const good = await window.stoke.opening.open(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), called);
        await window.settled();
        const caution = document.querySelector(".caution")?.textContent ?? "";
        return good ? { total: window.stoke.shown.total, caution } : { why: window.stoke.fault.message, shown: document.querySelector(".fault")?.textContent ?? "" };
    }, [bytes.toString("base64"), name]);
}

/* The command line's result: the sum of the folded lines, NaN if there are none. */
function folded(bench, bytes, name) {
    const done = spawnSync(process.env.STOKE, ["fold", bench.write(name, bytes)], { encoding: "utf8", maxBuffer: 1 << 28 });
    const total = done.stdout.split("\n").filter(Boolean).reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
    return { total: done.stdout ? total : NaN, said: done.stderr };
}

const LINES = Array.from({ length: 6000 }, (_, i) => `main;f${i % 97};g${i * 7919 % 100003} ${i % 5 + 1}\n`).join("");

const packed = (program, text, ...options) => spawnSync(program, ["-c", "-q", ...options], { input: text, maxBuffer: 1 << 28 }).stdout;

module.exports = (test) => {
    if (!require("./built.js")) {
        test("opening # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    test("the format can be chosen before a file is opened, if it is unknown, and afterwards", async (bench) => {
        const page = await openPage(bench);
        const odd = Buffer.from("main;work extra words 3\nsome more text\nand more\nand yet more\n");
        const unknown = await open(page, Buffer.from("\x01\x02\x03 not a profile at all\n"), "odd.bin");
        assert.ok(unknown.why, JSON.stringify(unknown));
        const choice = page.locator(".fault select");
        await page.waitForFunction(() => document.querySelectorAll(".fault select option").length > 1);
        const offered = await choice.locator("option").evaluateAll((all) => all.map((one) => one.value));
        const formats = await page.evaluate(() => window.stoke.core.formats().then((all) => all.map((one) => one.name)));
        assert.ok(formats.length > 30);
        assert.deepEqual(offered, ["", ...formats]);
        await open(page, odd, "odd.bin");
        assert.ok(await page.evaluate(() => window.stoke.fault || window.stoke.shown));
        if (await choice.count()) {
            await choice.selectOption("folded");
            await page.waitForFunction(() => window.stoke.shown?.total === 3);
        }
        /* A shown profile, read as another format, gives an error and remains. */
        await open(page, Buffer.from("a;b 3\n"), "x.folded");
        await page.keyboard.press("Control+k");
        await settle(page);
        await page.keyboard.type("another format");
        await settle(page);
        await page.keyboard.press("Enter");
        await page.locator(".dialog select").selectOption("speedscope");
        await page.waitForFunction(() => document.querySelector(".fault select")?.value === "speedscope");
        assert.equal(await page.evaluate(() => window.stoke.shown.total), 3);
        await page.locator(".fault select").selectOption("");
        await page.waitForFunction(() => !window.stoke.fault && window.stoke.shown.total === 3);

        /* Before the first file. */
        const fresh = await openPage(bench);
        await fresh.locator(".welcome select").selectOption("speedscope");
        assert.match((await open(fresh, Buffer.from("a;b 3\n"), "x.folded")).why, /./);
        await fresh.locator(".fault select").selectOption("folded");
        await fresh.waitForFunction(() => window.stoke.shown?.total === 3);
        /* The choice applied only to that file. */
        assert.equal((await open(fresh, Buffer.from("a;b 4\n"), "x.folded")).total, 4);
    });

    test("truncated and damaged compressed files open as on the command line, with a warning", async (bench) => {
        const page = await openPage(bench);
        const stoke = bench.write("made.folded", LINES);
        const made = path.join(bench.folder, "made.stoke");
        assert.equal(spawnSync(process.env.STOKE, ["convert", "-q", stoke, "-o", made]).status, 0);
        const kinds = { "x.folded.gz": zlib.gzipSync(LINES), "x.stoke": fs.readFileSync(made) };
        for (const [program, suffix, ...options] of [["zstd", "zst"], ["xz", "xz"]]) {
            const bytes = packed(program, LINES, ...options);
            if (bytes?.length)
                kinds[`x.folded.${suffix}`] = bytes;
            else
                bench.note(`skipped: no ${program}`);
        }
        for (const [name, whole] of Object.entries(kinds)) {
            const good = await open(page, whole, name);
            assert.deepEqual([good.total, good.caution], [18000, ""], name);
            for (const length of [1, 5, 12, 20, whole.length >> 2, whole.length >> 1, whole.length - 20, whole.length - 9, whole.length - 4, whole.length - 1]) {
                const cut = whole.subarray(0, length), what = `${name} of ${length} bytes`;
                const got = await open(page, cut, name), expected = folded(bench, cut, name);
                if (name.endsWith(".xz")) { /* the index is at its end: the command line does not read xz */
                    assert.ok(got.why || /packed data/.test(got.caution), what);
                    continue;
                }
                assert.deepEqual(got.total ?? NaN, expected.total, `${what}: ${JSON.stringify(got)} ${expected.said}`);
                if (got.total !== undefined)
                    assert.match(got.caution, /is truncated|is damaged/, what);
            }
        }
    });

    test("gzip files with several members, trailing bytes or wrong checksums are opened", async (bench) => {
        const page = await openPage(bench);
        const one = zlib.gzipSync(LINES), bent = Buffer.from(one);
        bent[bent.length - 6] ^= 1;
        const cases = {
            "two members": Buffer.concat([one, zlib.gzipSync("a;b 7\n")]),
            "the second is cut": Buffer.concat([one, one.subarray(0, one.length >> 1)]),
            "many members": Buffer.concat(Array.from({ length: 3000 }, (_, i) => zlib.gzipSync(`a;b${i} 2\n`))),
            "bytes behind": Buffer.concat([one, Buffer.from("and more")]),
            "a wrong sum": bent,
        };
        for (const [what, bytes] of Object.entries(cases)) {
            const got = await open(page, bytes, "x.folded.gz"), expected = folded(bench, bytes, "x.folded.gz");
            assert.equal(got.total, expected.total, `${what}: ${JSON.stringify(got)} ${expected.said}`);
            assert.equal(got.caution !== "", /warning/.test(expected.said), `${what}: ${JSON.stringify(got)} ${expected.said}`);
        }
    });

    test("a file without samples is reported as an error, and the page does not change", async (bench) => {
        const page = await openPage(bench);
        await open(page, Buffer.from("a;b 3\n"), "x.folded");
        const speedscope = (samples) => JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames: [{ name: "a" }] },
            profiles: [{ type: "sampled", name: "x", unit: "none", startValue: 0, endValue: samples.length, samples, weights: samples.map(() => 1) }] });
        const cases = {
            "x.speedscope.json": speedscope([]),
            "x.cpuprofile": JSON.stringify({ nodes: [{ id: 1, callFrame: { functionName: "(root)", scriptId: "0", url: "", lineNumber: -1, columnNumber: -1 }, children: [] }], startTime: 0, endTime: 0, samples: [], timeDeltas: [] }),
            "x.folded": "",
            "y.folded": "a;b 0\n",
            "trace.json": JSON.stringify({ traceEvents: [] }),
        };
        for (const [name, text] of Object.entries(cases)) {
            const got = await open(page, Buffer.from(text), name), expected = folded(bench, Buffer.from(text), name);
            assert.ok(got.why, `${name}: ${JSON.stringify(got)}`);
            assert.ok(got.shown.length > 10, name);
            assert.ok(Number.isNaN(expected.total) || expected.total === 0, `${name}: ${expected.said}`);
            assert.equal(await page.evaluate(() => window.stoke.shown.total), 3, name);
        }
    });

    test("a stack of 500,000 frames and a truncated one of 2,000,000 are shown in every view", async (bench) => {
        const page = await openPage(bench);
        for (const frames of [500000, 2000000]) {
            const text = zlib.gzipSync("a;".repeat(frames - 1) + "b 2\nc;d 3\n");
            const got = await open(page, text, "deep.folded.gz");
            assert.equal(got.total, 5, JSON.stringify(got));
            assert.equal(/\b1 stack is /.test(got.caution), frames > 500000, got.caution);
            for (const view of ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"]) {
                await page.keyboard.press(view);
                await settle(page);
            }
            await page.keyboard.press("1");
            await settle(page);
            assert.equal(await page.evaluate(() => window.stoke.shown.total), 5);
        }
    });

    test("files that decompress to too much data are truncated, with a warning", async (bench) => {
        const page = await openPage(bench);
        const zeros = Buffer.alloc(200 << 20, "a;b 1\n");
        for (const program of ["gzip", "zstd", "xz"]) {
            const bytes = program === "gzip" ? zlib.gzipSync(zeros) : packed(program, zeros);
            if (!bytes?.length)
                continue;
            const got = await open(page, bytes, "x.folded");
            assert.match(got.caution, /exceeds the limit/, `${program}: ${JSON.stringify(got)}`);
            assert.ok(got.total > 0 && got.total < (200 << 20) / 6, program);
        }
        assert.equal((await open(page, Buffer.from("a;b 3\n"), "x.folded")).total, 3);
    });
};
