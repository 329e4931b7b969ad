/* The viewer: actions of the user, and what it then shows. The page is opened from a
 * file that was moved, without a network. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const os = require("os");
const path = require("path");
const zlib = require("zlib");
const { spawnSync } = require("child_process");
const { address, settle } = require("./activity.js");
const { VIEWS, boxOf, chips, emptyPage, key, openPage, press, report, saved, spans, stoke, total } = require("./pages.js");

const LINES = [
    "app;idle 250",
    "app;main;eval;call 150",
    "app;main;eval;call;std::vector<int>::push_back 250",
    "app;main;parse;lex 200",
    "app;main;parse;lex;read_[k] 100",
    "app;main;parse;parse;lex 50"
].join("\n") + "\n";

/* Two threads, 10 ms apart, as perf script text. */
function perfScript() {
    const out = [];
    for (let i = 0; i < 200; i++) {
        const tid = i % 4 === 3 ? 12 : 11;
        out.push(`prog ${10}/${tid} [000] ${(100 + i / 100).toFixed(6)}: 10000000 cpu-clock:`,
            `\tffff${i % 2 ? "aa" : "bb"} ${i % 2 ? "work" : "wait"}+0x1 (/bin/prog)`, "\tffff01 main+0x2 (/bin/prog)", "");
    }
    return out.join("\n");
}

/* Samples 10 ms apart; `hot` of 10 are in that function, and one in "cold". */
function comparable(hot, samples) {
    const out = [];
    for (let i = 0; i < samples; i++) {
        const leaf = (i * 7) % 10 < hot ? "hot" : (i * 7) % 10 < 9 ? "same" : "cold";
        out.push(`prog 10/11 [000] ${(100 + i / 100).toFixed(6)}: 10000000 cpu-clock:`, `\tffffaa ${leaf}+0x1 (/bin/prog)`, "\tffff01 main+0x2 (/bin/prog)", "");
    }
    return out.join("\n");
}

/* A pprof profile of waits of one thread for two locks and a file: fields of profile.proto by number. */
function lockWaits() {
    const strings = ["", "off-cpu", "nanoseconds", "futex_wait", "lock", "queue_lock", "table_lock", "file", "/var/log/x", "[io]"];
    const bytes = (number, content) => [number << 3 | 2, content.length, ...content];
    const int = (number, value) => [number << 3, value];
    const sample = (text, ns, key = 4, location = 1) => bytes(2, [...bytes(1, [location]), ...bytes(2, [ns]), ...bytes(3, [...int(1, key), ...int(2, text)])]);
    return Buffer.from([bytes(1, [...int(1, 1), ...int(2, 2)]), sample(5, 90), sample(6, 60), sample(8, 30, 7, 2), ...[1, 2].map((id) => bytes(4, [...int(1, id), ...bytes(4, int(1, id))])),
        bytes(5, [...int(1, 1), ...int(2, 3)]), bytes(5, [...int(1, 2), ...int(2, 9)]), ...strings.map((text) => bytes(6, [...Buffer.from(text)]))].flat());
}

/* A drag over the strips of the tracks, between two parts of their width. */
async function dragTracks(page, from, to) {
    const area = await page.locator(".tracks .lower").boundingBox();
    await page.mouse.move(area.x + area.width * from, area.y + 50);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * to, area.y + 50, { steps: 3 });
    await page.mouse.up();
    await settle(page);
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("the viewer # SKIP this stoke was built without it", () => undefined);
        return;
    }

    test("tracks show who ran; a label selects a process or thread, a drag a span", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf", { width: 1200, height: 900 });
        await settle(page);
        const labels = () => page.locator(".tracks [role=option]").evaluateAll((all) => all.map((one) => `${one.innerText.replace(/\s+/g, " ").trim()}, ${one.getAttribute("aria-description")}`));
        assert.deepEqual(await labels(), ["CPU time 2 s, null", "\u25be prog 10 \u00b7 2 threads 2 s, running 100 %", "prog 11 1.50 s, running 75.0 %", "prog 12 500 ms, running 25.0 %"]);
        await page.locator(".label", { hasText: "12" }).last().click();
        await settle(page);
        assert.equal(await total(page), 50 * 1e7);
        assert.deepEqual(await chips(page), ["thread 12"]);
        await page.locator(".label", { hasText: "11" }).last().click();
        await settle(page);
        assert.deepEqual(await chips(page), ["thread 11"], "another label replaces the selection");
        await page.locator(".label", { hasText: "11" }).last().click();
        await settle(page);
        assert.equal(await total(page), 200 * 1e7, "the same label ends the selection");

        const drag = (from, to) => dragTracks(page, from, to);
        await drag(0.25, 0.5);
        assert.match(await page.locator(".pill").innerText(), /^50\d ms|^500 ms|^49\d ms/);
        assert.ok(Math.abs((await total(page)) / 1e7 - 50) <= 2, "the panel shows the span");
        assert.equal(await page.locator(".crumb.dashed").count(), 1);
        assert.match(await page.locator(".status").innerText(), /^Selected (50\d|500|49\d) ms \u00b7/);
        await page.waitForFunction(() => location.hash.includes("preview"));
        const linked = await openPage(bench, await address(page));
        await settle(linked);
        assert.deepEqual([await linked.locator(".pill").count(), await total(linked)], [1, await total(page)], "the address has the span");
        await linked.close();
        await key(page, "Escape");
        assert.equal(await page.locator(".pill").count(), 0);
        assert.equal(await total(page), 200 * 1e7, "the whole again");
        await drag(0.25, 0.5);
        await key(page, "Enter");
        assert.ok(Math.abs((await total(page)) / 1e7 - 50) <= 2, "half a second");
        assert.equal(await page.locator(".overview").count(), 1);
        await drag(0.5, 1);
        await page.locator(".pill").click();
        await settle(page);
        assert.ok(Math.abs((await total(page)) / 1e7 - 25) <= 2, "the axis covers the committed span");
        assert.equal(await page.locator(".crumb").count(), 3);
        await page.locator(".crumb").nth(1).click();
        await settle(page);
        assert.ok(Math.abs((await total(page)) / 1e7 - 50) <= 2);
        await page.locator(".crumb").first().click();
        await settle(page);
        assert.equal(await total(page), 200 * 1e7);
    });

    test("modifiers of a click select several tracks", async (bench) => {
        const lines = [];
        for (let i = 0; i < 70; i++) {
            const [pid, tid] = [[10, 10], [10, 11], [10, 12], [10, 12], [20, 20], [30, 30], [40, 40]][i % 7];
            lines.push(`p${pid} ${pid}/${tid} [00${i % 2}] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:`, "\tff01 main+0x1 (/bin/p)", "");
        }
        const page = await report(bench, lines.join("\n"), "x.perf");
        await settle(page);
        const label = (text, kind) => page.locator(`.label.${kind}`, { hasText: text });
        const click = async (text, kind, ...modifiers) => {
            await label(text, kind).locator("b").click({ modifiers });
            await settle(page);
        };
        const chosen = () => page.locator(".label[aria-selected=true]").evaluateAll((all) => all.map((one) => one.innerText.replace(/\s+/g, " ").trim().replace(/ [\d.]+ m?s$/, "")));
        await click("p20", "process");
        await click("p40", "process", "Control");
        assert.deepEqual([await chips(page), await total(page)], [["process 20,40"], 20e7]);
        await click("p20", "process", "Shift"); /* from p40, the last click, to p20 */
        assert.deepEqual([await chips(page), await total(page)], [["3 processes"], 30e7]);
        await click("p30", "process", "Control");
        assert.deepEqual([await chips(page), await total(page)], [["process 20,40"], 20e7]);
        await label("p10", "process").locator(".twisty").click();
        await settle(page);
        await click("12", "thread", "Control"); /* processes become their threads */
        assert.deepEqual([await chips(page), await total(page)], [["3 threads"], 40e7]);
        assert.deepEqual(await chosen(), ["p10 12", "p20 20", "p40 40"]);
        await click("p10", "process", "Control");
        assert.deepEqual([await total(page), (await chosen()).length], [60e7, 6], "the process, its threads and two others");
        await click("p10", "process", "Control");
        assert.deepEqual(await chosen(), ["p20 20", "p40 40"], "all threads of the process");
        await page.locator(".labels").focus();
        await key(page, "Control+ ");
        assert.deepEqual([await total(page), (await chosen()).length], [60e7, 6], "by keys");
        await label("CPUs", "cpus").locator(".twisty").click();
        await settle(page);
        await click("CPU 1", "cpu", "Control");
        assert.deepEqual(await chips(page), ["CPU 1"], "a CPU cannot be joined with threads");
        await click("CPU 0", "cpu", "Control");
        assert.deepEqual([await chips(page), await total(page)], [["CPU 1,0"], 70e7]);
        await click("CPU 0", "cpu", "Control");
        await click("CPU 1", "cpu", "Control");
        assert.deepEqual(await chips(page), [], "the last one ends the selection");
    });

    test("only the frames of a module are shown", async (bench) => {
        const text = Array.from({ length: 4 }, (_, i) => `p 10/10 [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n${i % 2 ? "\tff03 malloc+0x1 (/lib/libc.so.6)\n" : ""}\tff02 work+0x1 (/bin/p)\n\tff01 main+0x1 (/bin/p)\n`).join("\n");
        const page = await report(bench, text, "x.perf");
        const found = (name) => page.evaluate((one) => window.stoke.core.find(one), name);
        await press(page, "work", "right");
        await page.locator(".menu button", { hasText: "Only this module" }).click();
        await settle(page);
        assert.deepEqual([await chips(page), await total(page), await found("malloc")], [["only module p"], 4e7, 0]);
        await key(page, "x");
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("malloc")));
        await key(page, "O");
        assert.deepEqual([await chips(page), await total(page), await found("main")], [["only module libc.so.6"], 2e7, 0]);
    });

    test("tracks are operated by keys, and chosen in a list", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf");
        await settle(page);
        await page.locator(".labels").focus();
        await key(page, "ArrowDown", "ArrowLeft");
        assert.equal(await page.locator(".label").count(), 2, "the process is closed");
        await key(page, "ArrowRight", "ArrowDown", "Enter");
        assert.deepEqual(await chips(page), ["thread 11"]);
        await page.locator(".more button").click();
        await settle(page);
        await page.locator(".dialog input[type=text]").fill("12");
        await settle(page);
        assert.equal(await page.locator(".dialog .inner").count(), 1, "the search finds a thread by its number");
        await page.locator(".dialog .inner input").uncheck();
        await key(page, "Escape");
        assert.equal(await page.locator(".label").count(), 3);
        assert.equal(await page.locator(".more button").innerText(), "1 more track\u2026");
    });

    test("a time span covers the axis of the time order", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf");
        await key(page, VIEWS.time);
        await page.evaluate(() => window.stoke.filters.add({ verb: "time", text: "", from: 1e9, to: 1.5e9 }));
        await settle(page);
        const [from, to] = await page.evaluate(() => [window.stoke.steered.from, window.stoke.steered.to]);
        assert.ok(from === 1e9 && to > 1.45e9 && to <= 1.51e9, `${from} ${to}`);
        await key(page, "+", "Escape");
        assert.equal(await page.evaluate(() => window.stoke.steered.from), 1e9, "all is the committed span");
    });

    test("a view opened by its key has the focus; a key closes the tooltip", async (bench) => {
        const page = await report(bench, LINES);
        await key(page, VIEWS.sandwich, "ArrowDown");
        const first = await page.evaluate(() => window.stoke.state.chosen);
        await key(page, "ArrowDown");
        assert.ok(first && first !== await page.evaluate(() => window.stoke.state.chosen));
        assert.equal(await page.locator(".tabs [tabindex='0']").count(), 1, "the tabs are one stop");
        await key(page, VIEWS.left);
        const box = await boxOf(page, "parse");
        await page.mouse.move(box.x + 20, box.y + 8);
        await page.waitForSelector(".tip:visible");
        await key(page, "ArrowDown");
        assert.equal(await page.locator(".tip:visible").count(), 0);
    });

    test("the palette finds functions, threads and formats", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf");
        const choose = async (text, about) => {
            await key(page, "Control+k");
            await page.locator(".dialog input").fill(text);
            await settle(page);
            await page.locator(".dialog .choices button", { hasText: about }).first().click();
            await settle(page);
        };
        await choose("work", "function");
        assert.equal(await page.evaluate(() => window.stoke.state.chosen), "work");
        await choose("thread 12", "thread");
        assert.deepEqual(await chips(page), ["thread 12"]);
        await key(page, "Control+k");
        await page.locator(".dialog input").fill("speedscope");
        await settle(page);
        assert.equal(await page.locator(".dialog .choices button", { hasText: "Read the file as speedscope" }).count(), 1);
    });

    test("several processes begin with process and thread; a switch turns it off; old links open", async (bench) => {
        const lines = [];
        for (const [ms, name, pid, tid, leaf] of [[0, "one", 10, 10, "a"], [1, "two", 20, 20, "b"], [2, "two", 20, 21, "b"], [3, "two", 30, 30, "c"]])
            lines.push(`${name} ${pid}/${tid} [000] ${(1 + ms / 100).toFixed(6)}: 10000000 cpu-clock:`, `\tff01 ${leaf}+0x1 (/bin/${name})`, "\tff02 main+0x2 (/bin/prog)", "");
        const page = await report(bench, lines.join("\n"), "x.perf");
        await settle(page);
        const names = (of) => of.evaluate(() => {
            const words = new Uint32Array(window.stoke.steered.last.boxes), out = [];
            for (let at = 0; at < words.length; at += 6)
                out.push(`${words[at + 2]} ${window.stoke.core.labels.get(words[at + 4])}`);
            return out.sort();
        });
        const grouped = ["0 one 10", "0 two \u00d72", "1 main", "1 two 20", "1 two 21", "1 two 30", "2 a", "2 main", "2 main", "2 main", "3 b", "3 b", "3 c"];
        assert.deepEqual(await names(page), grouped);
        const strip = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--strip-1").trim());
        const color = await page.evaluate(() => window.stoke.steered.boxes.color[0]);
        assert.equal(`#${[0, 8, 16].map((at) => ((color >>> at) & 255).toString(16).padStart(2, "0")).join("")}`, strip, "the colour of its track");
        await press(page, "two \u00d72");
        await page.locator(".details button", { hasText: "Only this process" }).click();
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [3e7, ["process 20,30"]]);
        await key(page, "Control+z", "P");
        assert.deepEqual(await names(page), ["0 main", "1 a", "1 b", "1 c"]);
        assert.match(await address(page), /processes%22%3Afalse/);
        await page.getByRole("switch", { name: "Processes" }).click();
        await settle(page);
        assert.deepEqual(await names(page), grouped);
        await key(page, VIEWS.sandwich);
        assert.deepEqual((await page.locator(".functions .name").allTextContents()).sort(), ["a", "b", "c", "main"], "no processes among the functions");
        const old = await report(bench, lines.join("\n"), "x.perf", { hash: "#" + encodeURIComponent(JSON.stringify({ view: "left", zoom: [1e7, 2e7] })) });
        await settle(old);
        assert.deepEqual((await names(old)).filter((name) => name.startsWith("0")), ["0 main"], "a range of the first edition's picture");
        const up = await report(bench, lines.join("\n"), "x.perf", { hash: "#" + encodeURIComponent(JSON.stringify({ view: "up" })) });
        await settle(up);
        assert.equal(await up.locator(".calls.up").count(), 1);
    });

    test("with the leaves first, boxes of two programs remain apart", async (bench) => {
        const lines = [];
        for (const [ms, name, pid, tid, leaf] of [[0, "one", 10, 10, "work"], [1, "two", 20, 20, "work"], [2, "two", 20, 21, "work"], [3, "two", 20, 21, "rest"]])
            lines.push(`${name} ${pid}/${tid} [000] ${(1 + ms / 100).toFixed(6)}: 10000000 cpu-clock:`, `\tff01 ${leaf}+0x1 (/bin/${name})`, `\tff02 main+0x2 (/bin/${name})`, "");
        const page = await report(bench, lines.join("\n"), "x.perf");
        await settle(page);
        const boxes = () => page.evaluate(() => {
            const words = new Uint32Array(window.stoke.steered.last.boxes), pixels = new Float32Array(words.buffer), out = [];
            let whole = 0;
            for (let at = 0; at < words.length; at += 6)
                whole += words[at + 2] === 0 ? pixels[at + 1] : 0;
            for (let at = 0; at < words.length; at += 6)
                out.push(`${words[at + 2]} ${window.stoke.core.labels.get(words[at + 4])} ${Math.round(4 * pixels[at + 1] / whole)}`);
            return out.sort();
        });
        const plain = ["0 one 10 1", "0 two 20 3", "1 main 1", "1 two 20 (thread) 1", "1 two 21 2", "2 main 1", "2 main 2", "2 work 1", "3 rest 1", "3 work 1", "3 work 1"];
        assert.deepEqual(await boxes(), plain);
        const inverted = page.getByRole("switch", { name: "Inverted" });
        const button = await inverted.boundingBox();
        await page.mouse.click(button.x + button.width / 2, button.y + button.height / 2);
        await settle(page);
        assert.equal(await inverted.getAttribute("aria-checked"), "true");
        assert.deepEqual(await boxes(), ["0 one 10 1", "0 two 20 3", "1 two 20 (thread) 1", "1 two 21 2", "1 work 1", "2 main 1", "2 rest 1", "2 work 1", "2 work 1", "3 main 1", "3 main 1", "3 main 1"]);
        await press(page, "two 20");
        assert.equal(await page.evaluate(() => window.stoke.selected.total), 3e7);
        await page.locator(".details button", { hasText: "Only this process" }).click();
        await settle(page);
        assert.deepEqual([await total(page), await boxes()], [3e7, ["0 rest 1", "0 work 3", "1 main 1", "1 main 3"]]);
        await key(page, "Control+z");
        await page.mouse.click(button.x + button.width / 2, button.y + button.height / 2);
        await settle(page);
        assert.deepEqual(await boxes(), plain);
    });

    test("the splitter moves by mouse and keys, and is remembered; the side panel shows and hides", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf");
        await settle(page);
        const height = () => page.locator(".scroller").evaluate((one) => one.clientHeight);
        const natural = await height();
        await page.locator(".splitter").focus();
        await key(page, "ArrowUp", "ArrowUp");
        assert.equal(await height(), natural - 40);
        const at = await page.locator(".splitter").boundingBox();
        await page.mouse.move(at.x + 300, at.y + 2);
        await page.mouse.down();
        await page.mouse.move(at.x + 300, at.y - 8, { steps: 2 });
        await page.mouse.up();
        await settle(page);
        assert.equal(await height(), natural - 50);
        await page.reload();
        await page.waitForSelector(".scroller");
        await settle(page);
        assert.equal(await height(), natural - 50, "remembered");
        await page.locator(".splitter").focus();
        await key(page, "Enter");
        assert.equal(await height(), natural);
        assert.match(await page.locator(".details").textContent(), /All that is shownTotal2 sIn200 samples/);
        await press(page, "main");
        assert.match(await page.locator(".details").textContent(), /main.*Calls.*wait50\.0 %.*work50\.0 %/s);
        const wide = await page.evaluate(() => window.stoke.steered.width);
        await key(page, "i");
        assert.equal(await page.locator(".details").count(), 0);
        assert.ok(await page.evaluate(() => window.stoke.steered.width) > wide);
        await key(page, "i");
        assert.equal(await page.locator(".details").count(), 1);
    });

    test("a table of many waits has its rows when they are scrolled to", async (bench) => {
        const lines = [];
        for (let i = 0; i < 1000; i++)
            lines.push(`prog 10/${100 + i} [000] ${(1 + i / 100).toFixed(6)}: ${(2000 - i) * 1000} off-cpu:`, "\tff02 take+0x1 (/bin/prog)", "");
        lines.push("prog 10/11 [000] 20.000000: 1000000 cpu-clock:", "\tff02 work+0x1 (/bin/prog)", "");
        const page = await report(bench, lines.join("\n"), "x.perf");
        await page.evaluate(() => {
            window.pieces = new Set();
            const { waits } = window.stoke.core;
            window.stoke.core.waits = async (...args) => {
                const reply = await waits(...args);
                window.pieces.add(`${args[1]}: ${reply.rows.length} of ${reply.count}`);
                return reply;
            };
        });
        await key(page, VIEWS.waits);
        const threads = () => page.locator(".waits-table .row").evaluateAll((all) => all.map((row) => row.children[3]?.textContent));
        const pieces = () => page.evaluate(() => [...window.pieces].sort());
        assert.equal((await threads())[0], "prog 100");
        assert.deepEqual(await pieces(), ["0: 200 of 1000"]);
        await page.locator(".waits-table .rows").evaluate((host) => { host.scrollTop = host.scrollHeight / 2; });
        await settle(page);
        assert.ok((await threads()).includes("prog 600") && !(await threads()).includes(undefined), JSON.stringify(await threads()));
        assert.ok((await pieces()).every((piece) => /^(0|400|600): 200 of 1000$/.test(piece)), JSON.stringify(await pieces()));
        await page.locator(".waits-table .rows").focus();
        await key(page, "End");
        assert.equal((await threads()).at(-1), "prog 1099");
        assert.deepEqual(await page.evaluate(() => window.stoke.tracks.span), [9.99e9 - 1001e3, 9.99e9], "the last row");
        await page.locator(".waits-table .heads button", { hasText: "Thread" }).click();
        await settle(page);
        assert.ok(!(await threads()).includes(undefined), JSON.stringify(await threads()));
    });

    test("waits and marks are tables that select a thread and a span", async (bench) => {
        const lines = [];
        const sample = (tid, ms, event, ns, ...frames) => lines.push(`prog 10/${tid} [000] ${(1 + ms / 1000).toFixed(6)}: ${ns} ${event}:`,
            ...frames.map((frame) => `\tff02 ${frame}+0x1 (/bin/prog)`), "");
        sample(11, 0, "cpu-clock", 1e7, "work", "main");
        sample(11, 80, "off-cpu", 6e7, "read_all", "main");
        sample(11, 100, "off-cpu", 1e7, "read_all", "main");
        sample(12, 200, "off-cpu", 2e7, "take", "main");
        sample(11, 220, "cpu-clock", 1e7, "work", "main");
        const page = await report(bench, lines.join("\n"), "x.perf");
        await key(page, VIEWS.waits);
        const rows = () => page.locator(".waits-table .row").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent).join("|")));
        assert.deepEqual(await rows(), ["70 ms30.4 %|60 ms|2|prog 11|sleep, idle|read_all", "20 ms8.70 %|20 ms|1|prog 12|sleep, idle|take"]);
        await page.locator(".waits-table .row").first().click();
        await settle(page);
        assert.deepEqual(await page.evaluate(() => window.stoke.tracks.span), [2e7, 8e7], "the longest of them");
        await page.locator(".waits-table .heads button", { hasText: "Times" }).click();
        await page.locator(".waits-table .rows").focus();
        await key(page, "ArrowDown", "Enter");
        assert.deepEqual(await chips(page), ["thread 12"]);
        assert.deepEqual((await rows()).length, 1);
        const lost = await report(bench, fs.readFileSync(path.join(__dirname, "..", "import", "perf-data", "file.in")), "perf.data");
        await key(lost, VIEWS.marks);
        assert.match(await lost.locator(".marks-table .row").textContent(), /7 lost samples/);
        await lost.locator(".marks-table .row").click();
        assert.equal(await lost.locator(".pill").count(), 1);
        sample(12, 150, "sched:sched_switch", 1, "schedule", "main");
        const traced = await report(bench, lines.join("\n"), "x.perf");
        await key(traced, VIEWS.marks);
        assert.deepEqual(await traced.locator(".marks-table .row > *").allTextContents(), ["150 ms", "sched:sched_switch", "prog 12"]);
        const locks = await report(bench, lockWaits(), "locks.pb");
        await key(locks, VIEWS.waits);
        assert.deepEqual(await locks.locator(".waits-table .row").evaluateAll((all) => all.map((row) => [row.children[2], row.children[4]].map((cell) => cell.textContent).join("|"))),
            ["1|lock queue_lock", "1|lock table_lock", "1|disk /var/log/x"]);
        const woken = await report(bench, fs.readFileSync(path.join(__dirname, "..", "import", "perf-data", "waits.in")), "waits.data");
        await key(woken, VIEWS.waits);
        const wakers = await woken.locator(".waits-table .row").evaluateAll((all) => all.map((row) => row.children[6]?.textContent ?? "").filter(Boolean));
        assert.ok(wakers.length > 0 && wakers.every((one) => /^\S.* \d+$|^\[interrupt\]$/.test(one)), JSON.stringify(wakers));
        const none = await report(bench, LINES);
        await key(none, VIEWS.waits);
        assert.match(await none.locator(".lack").textContent(), /no waits.*--off-cpu/);
        await key(none, VIEWS.marks);
        assert.match(await none.locator(".lack").textContent(), /no marks/);
    });

    test("tracks have tooltips and a menu; they are hidden, isolated, pinned and moved", async (bench) => {
        const lines = [];
        for (let i = 0; i < 60; i++) {
            const pid = [10, 10, 10, 20, 20, 30][i % 6];
            lines.push(`p${pid} ${pid}/${pid} [000] ${(1 + i / 100).toFixed(6)}: 10000000 cpu-clock:`, "\tff01 main+0x1 (/bin/p)", "");
        }
        const page = await report(bench, lines.join("\n"), "x.perf");
        await settle(page);
        const names = () => page.locator(".label.process b").allTextContents();
        assert.deepEqual(await names(), ["p10", "p20", "p30"]);
        await page.locator(".label", { hasText: "p20" }).hover();
        const area = await page.locator(".label", { hasText: "p20" }).boundingBox();
        const strips = await page.locator(".lower").boundingBox();
        await page.mouse.move(strips.x + strips.width * 3.5 / 60, area.y + 10);
        assert.match(await page.locator(".track-tip").textContent(), /^p20 20 at 3\d(\.\d+)? msrunning 100 %$/);
        await key(page, "F2");
        assert.equal(await page.locator(".track-tip").count(), 0, "a key closes it");
        const menu = async (name, item) => {
            await page.locator(".label", { hasText: name }).click({ button: "right" });
            await page.locator(".menu button", { hasText: item }).click();
            await settle(page);
        };
        await menu("p30", "Pin");
        assert.deepEqual(await names(), ["p30", "p10", "p20"]);
        await menu("p20", "Move up");
        assert.deepEqual(await names(), ["p30", "p20", "p10"]);
        await page.locator(".labels").focus();
        await key(page, "End", "ArrowUp", "Alt+ArrowDown");
        assert.deepEqual(await names(), ["p30", "p10", "p20"], "by keys");
        const from = await page.locator(".label", { hasText: "p20" }).boundingBox(), to = await page.locator(".label", { hasText: "p10" }).boundingBox();
        await page.mouse.move(from.x + 60, from.y + from.height / 2);
        await page.mouse.down();
        await page.mouse.move(to.x + 60, to.y + to.height / 2, { steps: 4 });
        await page.mouse.up();
        await settle(page);
        assert.deepEqual(await names(), ["p30", "p20", "p10"], "by dragging");
        assert.deepEqual(await chips(page), [], "a drag does not select");
        await menu("p30", "Unpin");
        await menu("p30", "Sort");
        assert.deepEqual(await names(), ["p10", "p20", "p30"]);
        await menu("p20", "Hide");
        assert.deepEqual(await names(), ["p10", "p30"]);
        await page.locator(".labels").focus();
        await key(page, "Home", "ArrowDown", "Shift+F10");
        assert.match(await page.evaluate(() => document.activeElement.textContent), /Only this process/);
        await key(page, "Escape");
        assert.equal(await page.locator(".menu").count(), 0);
        await menu("p30", "Show no other");
        assert.deepEqual(await names(), ["p30"]);
        await menu("p30", "Only this process");
        assert.deepEqual(await chips(page), ["process 30"]);
    });

    test("a copied link has no path; boxes by time have the colour of the change", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf");
        await page.evaluate(() => { window.copied = ""; window.stoke.copy = async (text) => { window.copied = text; }; });
        await key(page, VIEWS.time, "L");
        assert.match(await page.evaluate(() => window.copied), /^#%7B%22view%22/);
        const before = perfScript().replaceAll("aa work", "bb other");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.txt", true), before);
        await settle(page);
        const tones = await page.evaluate(() => {
            const { stoke } = window;
            return Promise.all(["work", "other", "main"].map(async (name) => stoke.tone(await stoke.core.find(name))));
        });
        assert.deepEqual(tones, [255, 1, 128]);
    });

    test("a comparison shows what changed by more than noise, in tables, boxes, tooltip and details", async (bench) => {
        const page = await report(bench, comparable(5, 900), "after.perf");
        const before = bench.write("before.perf", comparable(2, 600));
        const chooser = page.waitForEvent("filechooser");
        await page.getByRole("button", { name: "Compare with" }).click();
        await (await chooser).setFiles(before);
        await page.waitForSelector(".changes .row.rise");
        await settle(page);
        assert.equal(await page.locator(".tabs [aria-selected=true]").textContent(), "Changes2");
        const cells = (row) => page.locator(".changed .row").nth(row).locator("> *").allTextContents();
        const hot = (await page.locator(".changed .row .name").allTextContents()).findIndex((name) => name.startsWith("hot"));
        assert.ok(hot < 2);
        assert.match((await cells(hot)).join("|"), /^\+30\.0\|\+2\d\.\d\u2026\+3\d\.\d\|20\.0 %\|50\.0 %\|hot/);
        assert.match((await page.locator(".strip").textContent()), /CPU time\+3 s 6 s \u2192 9 s, \+50 %.*600 \u2192 900.*2 functions, 100 % of all changes.*variance over blocks/);
        assert.equal(await page.locator(".changed .row.noise").count(), 2);
        assert.equal(await page.locator(".changed .row").nth(2).innerText(), "Within noise\n2 functions, sum 0 points");
        const picked = () => page.evaluate(() => window.stoke.chosen?.name ?? "");
        const named = (await page.locator(".changed .row .name").allTextContents()).map((name) => name.replace(/prog$/, ""));
        await page.locator(".changed .row").nth(1).click();
        await settle(page);
        await key(page, "ArrowDown"); /* over the heading */
        assert.equal(await picked(), named[2]);
        await key(page, "ArrowUp");
        assert.equal(await picked(), named[1]);
        await key(page, "Escape");
        const box = await boxOf(page, "hot");
        await page.mouse.move(box.x + 20, box.y + 8);
        await page.waitForFunction(() => /^hot/.test(document.querySelector(".tip:not([hidden])")?.textContent));
        assert.match(await page.locator(".tip").textContent(), /Before1\.20 s20\.0 %After4\.50 s50\.0 %Change\+3\.30 s\+30\.0 points95 %\+2/);
        await press(page, "hot");
        assert.match(await page.locator(".details").textContent(), /This boxBefore1\.20 s20\.0 %After4\.50 s50\.0 %Change\+3\.30 s\+30\.0 points/);
        const tones = await page.evaluate(() => Promise.all(["hot", "main"].map(async (name) => window.stoke.tone(await window.stoke.core.find(name)))));
        assert.deepEqual(tones, [255, 128]);
        const labels = () => page.locator(".tracks [role=option]").evaluateAll((all) => all.map((one) => one.innerText.replace(/\s+/g, " ").trim()));
        assert.deepEqual(await labels(), ["Before 6 s before.perf, 600 samples", "After 9 s after.perf, 900 samples"]);
        await dragTracks(page, 0.5, 0.6);
        await page.waitForFunction(() => /^4\.5\d* s|^4\.4\d* s/.test(document.querySelector(".crumb.dashed")?.textContent.split("\u2013")[0] + " s"));
        assert.ok(Math.abs(await total(page) / 1e7 - 90) <= 2, "the same span of both");
        await key(page, "Escape");
        assert.equal(await total(page), 900 * 1e7);
        await page.getByRole("combobox", { name: "Weight" }).selectOption({ label: "Samples" });
        await page.waitForFunction(() => /600 \u2192 900 samples, /.test(document.querySelector(".strip")?.textContent));
        await page.getByRole("button", { name: "End comparison" }).click();
        await page.waitForFunction(() => window.stoke.comparedWith === "" && window.stoke.state.view === "left");
    });

    /* An edit above them moved hot by 5 lines and then cold by 7; main, before the edit, has other costs. */
    test("lines that an edit moved are compared with those that they were", async (bench) => {
        const profile = (hot, cold, heavy) => {
            const frames = [["main", 3], ["main", heavy], ["hot", hot], ["hot", hot + 1], ["hot", hot + 3], ["cold", cold]].map(([name, line]) => ({ name, file: "p.c", line }));
            return JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
                profiles: [{ type: "sampled", name: "t", unit: "milliseconds", startValue: 0, endValue: 1000, weights: Array(1000).fill(1),
                    samples: Array.from({ length: 1000 }, (_, i) => [[1], [0, 2], [0, 2], [0, 2], [0, 3], [0, 3], [0, 4], [0, 5], [0, 5], [0, 5]][i % 10]) }] });
        };
        const page = await report(bench, profile(25, 47, 4), "after.speedscope.json");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.speedscope.json", true), profile(20, 40, 4));
        await page.waitForFunction(() => window.stoke.comparedWith !== "");
        const lines = () => page.evaluate(() => window.stoke.core.lines("p.c").then((all) => all.map((one) => [one.line, one.was ?? 0, Math.round(one.change.before * 1000), Math.round(one.change.after * 1000)].join(" ")).sort()));
        const unmoved = ["3 0 900 900", "4 0 100 100"];
        assert.deepEqual(await lines(), ["25 20 300 300", "26 21 200 200", "28 23 100 100", ...unmoved, "40 0 300 0", "47 0 0 300"].sort(), "one line alone may be another one");
        await key(page, VIEWS.source);
        await page.waitForSelector(".code .row");
        assert.equal(await page.locator(".code .row[data-line='25'] .number").getAttribute("title"), "line 20 before");
        assert.match(await page.locator(".code .heads").innerText(), /moved lines matched/);
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.speedscope.json", true), profile(20, 42, 4));
        await settle(page);
        assert.deepEqual(await lines(), ["25 20 300 300", "26 21 200 200", "28 23 100 100", "47 42 300 300", ...unmoved].sort(), "as far as another function");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.speedscope.json", true), profile(25, 47, 8));
        await settle(page);
        assert.deepEqual(await lines(), ["25 0 300 300", "26 0 200 200", "28 0 100 100", "3 0 900 900", "4 0 0 100", "47 0 300 300", "8 0 100 0"].sort(), "nothing moved");
    });

    test("the source view of a comparison has the change of each file and line", async (bench) => {
        const hot = (file, lines) => JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json",
            shared: { frames: [{ name: "main", file: "main.c", line: 3 }, ...[10, 11, 12].map((line) => ({ name: "hot", file, line }))] },
            profiles: [{ type: "sampled", name: "t", unit: "milliseconds", startValue: 0, endValue: 1000,
                samples: Array.from({ length: 1000 }, (_, i) => [0, 1 + lines[i % 10]]), weights: Array(1000).fill(1) }] });
        const open = async (after, before) => {
            const page = await report(bench, after, "after.speedscope.json");
            await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.speedscope.json", true), before);
            await page.waitForFunction(() => window.stoke.comparedWith !== "");
            await key(page, VIEWS.source);
            await page.waitForSelector(".code .row");
            return page;
        };
        const few = [0, 0, 0, 0, 0, 0, 0, 1, 1, 2], many = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
        const page = await open(hot("hot.c", many), hot("hot.c", few));
        const cells = (one, of) => one.locator(`${of} .row`).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim().replace(/\s+/g, " ")).join("|")));
        assert.deepEqual(await cells(page, ".code"), ["60.0 %||\u221210.0|10|", "40.0 %||+20.0|11|", "||\u221210.0|12|"]);
        assert.deepEqual(await page.locator(".code .row .change").evaluateAll((all) => all.map((one) => one.className)), ["change fall", "change rise", "change fall"]);
        assert.match(await page.locator(".code .row .change").nth(1).getAttribute("title"), /^before 20(\.0)? %, after 40(\.0)? %; 95 % interval of the change \+\d+\.\d\u2026\+2\d\.\d points$/);
        assert.deepEqual((await cells(page, ".files")).map((row) => row.split("|").slice(2)), [["0", "hot.c"], ["0", "main.c"]]);
        /* The same file in another folder. */
        const built = await open(hot("/b/hot.c", many), hot("/a/hot.c", few));
        assert.match(await built.locator(".code .heads").innerText(), /\/b\//);
        assert.deepEqual(await cells(built, ".code"), await cells(page, ".code"));
        assert.deepEqual(await cells(built, ".files"), await cells(page, ".files"));
        /* The file of a function that has moved is the one after. */
        const moved = await open(hot("new.c", many), hot("old.c", few));
        await moved.evaluate(async () => window.stoke.choose(await window.stoke.core.find("hot")));
        await settle(moved);
        assert.match(await moved.locator(".code .heads").innerText(), /new\.c/);
        assert.deepEqual((await cells(moved, ".files")).map((row) => row.split("|").slice(2)), [["+100.0", "new.c"], ["0", "main.c"], ["\u2212100.0", "old.c"]]);
    });

    test("stoke diff writes a page that compares", async (bench) => {
        const files = [bench.write("before.perf", comparable(2, 600)), bench.write("after.perf", comparable(5, 900))];
        stoke("diff", "-o", path.join(bench.folder, "diff.html"), ...files);
        const page = await openPage(bench, `file://${path.join(bench.folder, "diff.html")}`);
        await page.waitForSelector(".changes .row.rise");
        assert.equal(await page.title(), "before.perf \u2192 after.perf");
        assert.equal(await page.locator(".tracks [role=option]").count(), 2);
        for (const [view, shows] of [["left", ".chart"], ["time", ".lack"], ["sandwich", ".functions .row"], ["tree", ".calls .row"], ["graph", ".graph .function"], ["summary", ".summary"]]) {
            await key(page, VIEWS[view]);
            await page.waitForSelector(`main ${shows}`);
        }
    });

    test("two flame graphs side by side have linked marks and zoom; a saved page has both profiles", async (bench) => {
        const page = await report(bench, comparable(5, 900), "after.perf");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.perf", true), comparable(2, 600));
        await page.getByRole("button", { name: "Side by side" }).click();
        await page.waitForFunction(() => document.querySelectorAll(".sides .canvas").length === 2);
        await settle(page);
        await page.locator(".sides .canvas").nth(1).dispatchEvent("pointerdown");
        await page.waitForFunction(() => window.stoke.steered?.linked?.last && window.stoke.steered.last);
        const box = await boxOf(page, "hot");
        await page.mouse.move(box.x + 20, box.y + 8);
        await page.waitForFunction(() => window.stoke.steered.linked.marked?.function.name === "hot");
        const area = await page.locator(".sides .area").nth(1).boundingBox();
        assert.ok(Math.abs(box.width / area.width - 0.5) < 0.02, JSON.stringify([box, area]));
        await page.mouse.dblclick(box.x + 20, box.y + 8);
        const share = () => page.evaluate(() => [window.stoke.steered, window.stoke.steered.linked].map((view) => Math.round((view.to - view.from) / view.full * 100)).join());
        await page.waitForFunction(() => [window.stoke.steered, window.stoke.steered.linked].map((view) => Math.round((view.to - view.from) / view.full * 100)).join() === "50,20");
        await page.evaluate(() => window.stoke.steered.reset());
        await page.waitForFunction(() => { const { steered } = window.stoke; return steered.to - steered.from === steered.full && steered.linked.to - steered.linked.from === steered.linked.full; });
        assert.equal(await share(), "100,100");
        await page.evaluate(() => window.stoke.filters.add({ verb: "ignore", text: "cold" }));
        await settle(page);
        const file = bench.write("both.html", (await saved(page, "this viewer")).text);
        const copy = await openPage(bench, "file://" + file);
        await copy.waitForSelector(".sides .canvas");
        await settle(copy);
        assert.deepEqual(await copy.evaluate(() => [window.stoke.comparedWith, window.stoke.name, window.stoke.shown.base_total, window.stoke.shown.total]),
            ["before.perf", "after.perf", 5.4e9, 8.1e9]);
        await copy.getByRole("button", { name: "Swap" }).click();
        await copy.waitForFunction(() => window.stoke.comparedWith === "after.perf" && window.stoke.shown.total === 5.4e9);
    });

    test("a dragged file can be opened or compared", async (bench) => {
        const page = await report(bench, LINES);
        const drag = (name, selector) => page.evaluate(([type, chosen]) => {
            const data = new DataTransfer();
            data.items.add(new File(["app;main 3\n"], "dropped.folded"));
            const event = new Event(type, { cancelable: true, bubbles: true });
            document.querySelector(chosen).dispatchEvent(Object.assign(event, { dataTransfer: data }));
        }, [name, selector]);
        await drag("dragover", ".page");
        await page.waitForSelector(".zone.compare:visible");
        await drag("dragover", ".zone.compare");
        assert.equal(await page.locator(".zone.over").textContent(), "Compareas the profile before input.folded");
        await drag("drop", ".zone.compare");
        await page.waitForFunction(() => window.stoke.comparedWith === "dropped.folded");
        assert.equal(await page.locator(".drops:visible").count(), 0);
        await page.waitForSelector(".strip");
        assert.match(await page.locator(".strip").textContent(), /at best: it has no times/);
    });

    test("two dropped files are compared, the older one as the profile before", async (bench) => {
        const page = await openPage(bench, emptyPage());
        await page.evaluate(() => {
            const data = new DataTransfer();
            data.items.add(new File(["a;new 3\n"], "new.folded", { lastModified: 2000 }));
            data.items.add(new File(["a;old 1\n"], "old.folded", { lastModified: 1000 }));
            const drop = new Event("drop", { cancelable: true });
            dispatchEvent(Object.assign(drop, { dataTransfer: data }));
        });
        await page.waitForFunction(() => window.stoke.comparedWith !== "");
        await settle(page);
        assert.deepEqual(await page.evaluate(() => [window.stoke.comparedWith, window.stoke.name]), ["old.folded", "new.folded"]);
    });

    test("a profile without times has no tracks", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        assert.equal(await page.locator(".tracks").count(), 0);
        assert.equal(await page.locator(".crumbs").count(), 0);
    });

    test("a report that was moved opens and shows its profile", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        assert.equal(await page.title(), "input.folded");
        assert.equal(await total(page), 1000);
        const app = await boxOf(page, "app"), parse = await boxOf(page, "parse");
        assert.ok(Math.abs(app.width - 1200) < 2 && Math.abs(parse.width - 1200 * 0.35) < 2, JSON.stringify([app, parse]));
        assert.equal(parse.row, 2);
    });

    test("a box can be selected, zoomed to, left by keys, and deselected", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        await press(page, "eval");
        assert.match(await page.locator(".details").textContent(), /eval.*400.*40\.0 %.*Self0.*37\.0–43\.1 %/s);
        await key(page, "ArrowDown");
        assert.equal(await page.locator(".details h2").textContent(), "call");
        await key(page, "ArrowUp", "ArrowRight");
        assert.equal(await page.locator(".details h2").textContent(), "parse");
        await key(page, "Enter");
        await settle(page);
        assert.ok(Math.abs((await boxOf(page, "parse")).width - 1200) < 3);
        await key(page, "Escape");
        assert.equal(await page.evaluate(() => window.stoke.chosen), null, "Escape clears the selection first");
        assert.ok(Math.abs((await boxOf(page, "parse")).width - 1200) < 3);
        await key(page, "Escape");
        assert.ok(Math.abs((await boxOf(page, "parse")).width - 420) < 2, "then it shows all");
        await key(page, "+");
        assert.ok((await boxOf(page, "main")).width > 900);
        await key(page, "Shift+ArrowRight", "Shift+ArrowLeft", "PageDown", "PageUp", "-", "Shift+ArrowUp", "Shift+ArrowDown");
        await press(page, "idle", "left", 2);
        await settle(page);
        assert.ok(Math.abs((await boxOf(page, "idle")).width - 1200) < 3);
    });

    test("drag, wheel and minimap move the view", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        const span = () => page.evaluate(() => [window.stoke.steered.from, window.stoke.steered.to]);
        await page.mouse.move(600, 300);
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -200);
        await page.keyboard.up("Control");
        await settle(page);
        const [from, to] = await span();
        assert.ok(to - from < 800 && from > 0, JSON.stringify([from, to]));
        await page.mouse.down();
        await page.mouse.move(700, 300, { steps: 4 });
        await page.mouse.up();
        await settle(page);
        assert.ok((await span())[0] < from);
        const map = await page.locator(".map").boundingBox();
        await page.mouse.dblclick(map.x + 1100, map.y + 20);
        await settle(page);
        assert.deepEqual(await span(), [0, 1000]);
        await page.mouse.move(map.x + 300, map.y + 20);
        await page.mouse.down();
        await page.mouse.move(map.x + 600, map.y + 20, { steps: 4 });
        await page.mouse.up();
        await settle(page);
        const [left, right] = await span();
        assert.ok(Math.abs(left - 250) < 3 && Math.abs(right - 500) < 3, JSON.stringify([left, right]));
    });

    test("every view opens by its key", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt");
        await settle(page);
        await key(page, VIEWS.time);
        const lanes = await page.evaluate(() => window.stoke.steered.last.lanes.map((l) => `${l.name} ${l.tid} ${l.weight}`));
        assert.deepEqual(lanes, ["prog 11 1500000000", "prog 12 500000000"]);
        assert.equal(await page.evaluate(() => window.stoke.steered.info.to), 2e9);
        await key(page, "3");
        assert.deepEqual(await page.locator(".functions .name").allTextContents(), ["wait", "work", "main"]);
        await page.locator(".functions .name", { hasText: "work" }).click();
        await settle(page);
        assert.equal(await page.locator(".slices canvas").count(), 4);
        const callers = await page.evaluate(() => window.stoke.core.chart(2, 0));
        assert.deepEqual([callers.rows, callers.to], [2, 1e9]);
        await page.locator(".functions .heads button", { hasText: "Total" }).click();
        await settle(page);
        assert.equal((await page.locator(".functions .name").allTextContents())[0], "main");
        await key(page, "4");
        assert.deepEqual(await page.locator(".calls .name").allTextContents(), ["▾main", "wait", "work"]);
        await key(page, "v"); /* work is selected: its line is the current one */
        assert.deepEqual(await page.locator(".calls .name > span").allTextContents(), ["wait", "work"]);
        await page.locator(".calls .rows").focus();
        await key(page, "ArrowRight");
        assert.deepEqual(await page.locator(".calls .name > span").allTextContents(), ["wait", "work", "main"]);
        await key(page, "ArrowLeft");
        assert.deepEqual(await page.locator(".calls .name > span").allTextContents(), ["wait", "work"]);
        await key(page, VIEWS.heat);
        assert.equal(await page.locator(".heat canvas").count(), 1);
        await key(page, VIEWS.summary);
        const summary = await page.locator(".summary").textContent();
        assert.match(summary, /Formatperf.*Duration2 s.*Samples200.*Threads2.*small shares are not significant.*1\.50 s.*75\.0 %.*prog 10\/11/s);
    });

    test("the call graph shows calls above a limit; it can be selected, searched, filtered and saved", async (bench) => {
        const page = await report(bench, LINES, "input.folded", { convert: ["--with-callgraph"] });
        await key(page, VIEWS.graph);
        await page.waitForSelector(".graph .function");
        const functions = () => page.locator(".graph .function").evaluateAll((all) => all.map((one) => `${one.querySelector(".first").textContent}, ${one.getAttribute("aria-description")}`));
        assert.deepEqual((await functions()).sort(), ["app, 100 %", "call, 40.0 %, self 15.0 %", "eval, 40.0 %", "idle, 25.0 %, self 25.0 %",
            "lex, 35.0 %, self 25.0 %", "main, 75.0 %", "parse, 35.0 %", "read_[k], 10.0 %, self 10.0 %",
            "std::vector<int>::push_back, 25.0 %, self 25.0 %"].map((name) => name.replace("_[k]", "")).sort());
        const calls = () => page.locator(".graph .call text").allTextContents();
        assert.deepEqual((await calls()).sort(), ["10.0 %", "25.0 %", "25.0 %", "35.0 %", "35.0 %", "40.0 %", "40.0 %", "5.00 %", "75.0 %"]);
        const boxes = await page.locator(".graph .function rect").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
        for (const [i, a] of boxes.entries())
            for (const b of boxes.slice(0, i))
                assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top, "boxes lie apart");
        await page.locator(".graph .function", { hasText: "main" }).click();
        await settle(page);
        assert.equal(await page.locator(".details h2").textContent(), "main");
        assert.equal(await page.locator(".graph .call.near").count(), 3);
        await key(page, "ArrowDown", "ArrowDown");
        assert.equal(await page.locator(".details h2").textContent(), "call");
        const scale = () => page.evaluate(() => window.stoke.steered.scale);
        const before = await scale();
        await key(page, "-", "-");
        assert.ok(await scale() < before * 0.6);
        await key(page, "Enter");
        assert.equal(await scale(), 1);
        await key(page, "/");
        await page.keyboard.type("lex");
        await settle(page);
        await page.keyboard.press("Enter");
        await settle(page);
        assert.equal(await page.locator(".details h2").textContent(), "lex");
        const callgrind = await saved(page, "callgrind");
        assert.equal(callgrind.name, "input.callgrind");
        assert.match(callgrind.text.toString(), /^events: /m);
        assert.match(stoke("report", "--quiet", "--sort", "sym", bench.write("b.callgrind", callgrind.text)), /lex/);
        assert.equal((await saved(page, "PNG")).text.subarray(1, 4).toString(), "PNG");
        assert.match((await saved(page, "DOT")).text.toString(), /^digraph \{[^]*label="parse\\n35\.00%\\n\(/);
        const limit = page.getByLabel("Functions at least, percent");
        await limit.fill("30");
        await limit.press("Enter");
        await page.waitForFunction(() => document.querySelectorAll(".graph .function").length === 6);
        assert.match(await page.locator(".limits").textContent(), /6 functions; 3 functions and 3 calls below the limits/);
        assert.match(await address(page), /nodes%22%3A30/);
        await page.locator(".graph .function", { hasText: "parse" }).dblclick();
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [350, ["stacks with parse"]]);
        const plain = await report(bench, LINES, "input.folded", { hash: "#" + encodeURIComponent("{\"view\":\"graph\"}") });
        assert.match(await plain.locator(".lack").textContent(), /stoke convert --with-callgraph/);
    });

    test("a view is one message to the core; a click draws neither the tracks nor the map again", async (bench) => {
        const page = await report(bench, perfScript(), "x.perf", { width: 1200, height: 900 });
        await settle(page);
        await page.evaluate(() => {
            const { worker } = window.stoke.core, post = worker.postMessage.bind(worker);
            window.sent = [];
            worker.postMessage = (message, ...rest) => {
                window.sent.push(message.map((one) => one.call ?? one.do));
                post(message, ...rest);
            };
        });
        const sent = async (act) => {
            await page.evaluate(() => { window.sent = []; });
            await act();
            await settle(page);
            const hover = ["core_hit", "core_box", "core_when", "core_marked"]; /* of the pointer, on its way; and what comes when all is drawn */
            return (await page.evaluate(() => window.sent)).filter((calls) => !hover.includes(calls[0])).map((calls) => calls.join(" "));
        };
        const opened = (view) => sent(() => page.keyboard.press(view));
        const first = (messages, call) => messages.filter((calls) => calls.includes(call));
        assert.deepEqual(first(await opened(VIEWS.tree), "core_"), ["core_chart core_heaviest"]);
        assert.deepEqual(first(await opened(VIEWS.time), "core_chart"), ["core_chart draw draw"]);
        assert.deepEqual(first(await opened(VIEWS.sandwich), "core_functions"), ["core_functions core_function_rows"]);
        const details = "core_neighbours"; /* of the function that is selected */
        assert.deepEqual(first(await opened(VIEWS.left), "core_chart"), [`core_chart draw draw ${details}`]);
        assert.deepEqual((await sent(() => press(page, "work"))).sort(), [details, "core_select_at", "draw"]);
        const filtered = await sent(() => page.locator(".label", { hasText: "12" }).last().click());
        const change = "core_show core_color core_looks core_choose_named core_chart draw draw";
        assert.deepEqual(first(filtered, "core_chart"), [change]);
        assert.deepEqual(first(filtered, "core_tracks"), []);
        const spanned = await sent(() => page.evaluate(() => window.stoke.filters.add({ verb: "time", text: "", from: 0, to: window.stoke.tracks.info.to / 2 })));
        assert.deepEqual(first(spanned, "core_chart"), [`${change} core_tracks_draw`]);
    });

    test("boxes have their names although an earlier drawing was not shown", async (bench) => {
        const page = await report(bench, LINES, "input.folded");
        const without = await page.evaluate(async () => {
            const { core, steered } = window.stoke, draw = core.draw;
            core.draw = async (...request) => {
                const drawing = await draw(...request);
                window.stoke.version++; /* something else is to be shown now */
                return drawing;
            };
            await window.stoke.show();
            await window.settled();
            core.draw = draw;
            steered.invalidate();
            await window.settled();
            const words = new Uint32Array(steered.last.boxes), sizes = new Float32Array(steered.last.boxes);
            let missing = 0;
            for (let at = 0; at < words.length; at += 6)
                missing += sizes[at + 1] > 12 && !core.labels.has(words[at + 4]) ? 1 : 0;
            return [missing, words.length > 0];
        });
        assert.deepEqual(without, [0, true]);
    });

    test("waits are shown between the samples of a thread and have a weight by time", async (bench) => {
        const lines = [];
        const sample = (ms, event, ns, leaf) => lines.push(`prog 10/11 [000] ${(1 + ms / 1000).toFixed(6)}: ${ns} ${event}:`,
            `\tffff02 ${leaf}+0x1 (/bin/prog)`, "\tffff01 main+0x2 (/bin/prog)", "");
        sample(0, "cpu-clock", 1e7, "work");
        sample(10, "cpu-clock", 1e7, "work");
        sample(80, "off-cpu", 6e7, "wait");
        sample(80, "cpu-clock", 1e7, "work");
        const page = await report(bench, lines.join("\n"), "perf.txt");
        await key(page, VIEWS.time);
        const boxes = () => page.evaluate(() => {
            const { last: { boxes }, width } = window.stoke.steered, words = new Uint32Array(boxes), sizes = new Float32Array(boxes), out = [];
            for (let at = 0; at < words.length; at += 6)
                out.push([window.stoke.core.labels.get(words[at + 4]), Math.round(sizes[at] / width * 90), Math.round(sizes[at + 1] / width * 90),
                    (words[at + 5] >>> 16) & 32].join(" "));
            return out;
        });
        const expected = ["main 0 90 0", "work 0 20 0", "wait 20 60 32", "work 80 10 0"];
        assert.deepEqual(await boxes(), expected);
        await press(page, "main");
        assert.match(await page.locator(".details").textContent(), /This boxLasted90 msWaited60 msFrom0/);
        await key(page, "Escape");
        assert.equal(await total(page), 3e7);
        await page.getByLabel("Weight").selectOption("wall");
        await settle(page);
        assert.equal(await total(page), 9e7);
        assert.match(await address(page), /wall%22%3Atrue/);
        assert.deepEqual(await boxes(), [...expected, "[off-cpu] 20 60 32"]);
        await key(page, VIEWS.left);
        assert.deepEqual(await boxes(), ["main 0 90 0", "wait 0 60 32", "work 60 30 0", "[off-cpu] 0 60 32"]);
        const parts = await page.evaluate(() => [0, 6, 12].map((at) => new Uint32Array(window.stoke.steered.last.boxes)[at + 5] >>> 24));
        assert.deepEqual(parts, [170, 0, 0]); /* of main 60 of 90 ms, of 255 */
        await press(page, "main");
        assert.match(await page.locator(".details").textContent(), /This box.*Waiting60 ms66\.7 %/s);
        assert.equal(await page.locator(".legend.waits").count(), 1, "the colours of waits are explained once, below the tracks");
        await key(page, VIEWS.tree, "v");
        assert.equal(await page.locator(".calls .name", { hasText: "wait" }).count(), 1);
        const again = await openPage(bench, await address(page));
        await settle(again);
        assert.equal(await total(again), 9e7);
        await key(again, "Control+z");
        await page.getByLabel("Weight").selectOption("1");
        await settle(page);
        assert.equal(await total(page), 3e7);
    });

    test("names in tables retain their last component, and have the colours of the charts", async (bench) => {
        const long = (end) => `ns::${"very_long_".repeat(12)}template<int>::${end}`;
        const page = await report(bench, `main;${long("first")} 6\nmain;${long("second")} 3\nmain 1\n`, "input.folded", { viewport: { width: 900, height: 600 } });
        await key(page, VIEWS.sandwich);
        const rows = page.locator(".functions .row");
        assert.deepEqual(await rows.locator(".name").allTextContents(), [long("first"), long("second"), "main"]);
        for (const [i, last] of [[0, "first"], [1, "second"]])
            assert.deepEqual(await rows.nth(i).locator(".ends .cut").evaluate((cut) => [cut.dataset.shown, cut.getBoundingClientRect().width > 8, cut.scrollWidth <= cut.parentElement.clientWidth]), [last, true, true]);
        assert.equal(await rows.nth(2).locator(".ends span").count(), 0, "what fits is in one piece");
        const dots = () => rows.locator(".dot").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
        const drawn = () => page.evaluate((names) => {
            const { last, boxes } = window.stoke.steered, words = new Uint32Array(last.boxes), out = {};
            for (let at = 0; at < words.length; at += 6)
                out[window.stoke.core.labels.get(words[at + 4])] = boxes.color[at / 6];
            return names.map((name) => `rgb(${out[name] & 255}, ${(out[name] >>> 8) & 255}, ${(out[name] >>> 16) & 255})`);
        }, [long("first"), long("second"), "main"]);
        for (const by of ["0", "1", "5", "2"]) {
            await page.locator("[aria-label='Colour']").selectOption(by);
            await settle(page);
            const seen = await dots();
            await key(page, VIEWS.left);
            assert.deepEqual(seen, await drawn(), by);
            await key(page, VIEWS.sandwich);
        }
        assert.equal(await page.locator(".legend").textContent(), "userinlinedjitkernelguest");
        await page.locator("[aria-label='Colour']").selectOption("3");
        await settle(page);
        assert.match(await page.locator(".legend").textContent(), /calls others.*works itself/);
        await key(page, VIEWS.tree, "v");
        assert.equal(await page.locator(".calls .row").first().locator(".figure").count(), 1);
    });

    test("nothing is clipped or wrapped in a small window", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt", { viewport: { width: 900, height: 600 } });
        await settle(page);
        assert.ok((await page.locator("header").boundingBox()).height < 45 && (await page.locator(".bar").boundingBox()).height < 45);
        for (const view of [VIEWS.sandwich, VIEWS.tree, "v"]) {
            await key(page, view);
            const heights = await page.locator(".row").evaluateAll((all) => all.flatMap((row) => [...row.children].map((cell) => cell.scrollHeight)));
            assert.ok(heights.length > 0 && heights.every((height) => height <= 20), JSON.stringify(heights));
            const heads = await page.locator(".heads").first().evaluate((row) => [...row.children].filter((cell) => cell.offsetWidth).map((cell) => cell.getBoundingClientRect().left));
            const cells = await page.locator(".row").first().evaluate((row) => [...row.children].filter((cell) => cell.offsetWidth).map((cell) => cell.getBoundingClientRect().left));
            assert.deepEqual(heads, cells);
        }
    });

    test("names are visible at the width of a telephone, and nothing overlaps", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt", { viewport: { width: 400, height: 700 } });
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.txt", true), perfScript());
        await settle(page);
        for (const view of [VIEWS.sandwich, VIEWS.tree, "v"]) {
            await key(page, view);
            const names = await page.locator(".row .name").evaluateAll((all) => all.map((name) => name.getBoundingClientRect().toJSON()));
            assert.ok(names.length > 0 && names.every((name) => name.width > 90 && name.right <= 400), JSON.stringify(names));
        }
        const shown = await page.locator(".bar button:visible, .bar select:visible, .bar .legend > span, header button:visible").evaluateAll((all) =>
            all.map((one) => one.getBoundingClientRect().toJSON()).filter((one) => one.left < 400));
        for (const [i, a] of shown.entries())
            for (const b of shown.slice(0, i))
                assert.ok(a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1, JSON.stringify([a, b]));
        const heights = await Promise.all([".bar", "header"].map(async (one) => (await page.locator(one).boundingBox()).height));
        assert.ok(heights[0] < 90 && heights[1] < 80, heights.join());
    });

    test("missing data is marked: unknown, idle, truncated, lost, few", async (bench) => {
        const flags = (page) => page.evaluate(() => {
            const words = new Uint32Array(window.stoke.steered.last.boxes), out = {};
            for (let at = 0; at < words.length; at += 6)
                out[window.stoke.core.labels.get(words[at + 4])] = [(words[at + 5] >>> 16) & ~4, (words[at + 5] >>> 8) & 255];
            return out;
        });
        const text = ["prog 10/11 [000] 1.0: 1 cycles:", "\t7f00 [unknown] ([unknown])", "\tffff01 main+0x2 (/bin/prog)", "",
            "swapper 0/0 [000] 1.1: 1 cycles:", "\tffffffff81 default_idle+0x1 ([kernel.kallsyms])", "", ""].join("\n");
        const page = await report(bench, text, "perf.txt");
        await settle(page);
        assert.deepEqual(await flags(page), { main: [0, 0], "[unknown]": [8, 0], "prog 10": [0, 16] }); /* without idle time */
        await page.getByRole("button", { name: "Remove without idle" }).click();
        await settle(page);
        assert.deepEqual(await flags(page), { main: [0, 0], "[unknown]": [8, 0], default_idle: [0, 5], "prog 10": [0, 16], "swapper 0": [0, 16] });
        const grey = await page.evaluate(() => new Set([2, 3].map((i) => (window.stoke.steered.boxes.color[i] & 255) >> 4)).size);
        assert.ok(grey <= 2);
        await key(page, VIEWS.sandwich);
        assert.equal(await page.locator(".functions .row .few").count(), 5);
        assert.match(await page.locator(".functions .row .few").first().getAttribute("title"), /about 1 sample, too few: the 95 % confidence/);
        assert.match(await page.locator(".functions .row .few em").first().textContent(), /^50\.0 %$/);
        const fixtures = path.join(__dirname, "..", "import", "perf-data");
        const cut = await report(bench, fs.readFileSync(path.join(fixtures, "deferred.in")), "deferred.data");
        await settle(cut);
        assert.deepEqual((await flags(cut))["[truncated]"], [16, 6]);
        const lost = await report(bench, fs.readFileSync(path.join(fixtures, "file.in")), "perf.data");
        assert.match(await lost.locator(".caution").textContent(), /the profiler lost 7 samples/);
        await key(lost, VIEWS.time);
        const losses = await lost.evaluate(() => window.stoke.steered.info.losses);
        assert.deepEqual(losses.map((loss) => loss.count), [7]);
        const at = await lost.evaluate(() => {
            const view = window.stoke.steered, area = view.over.getBoundingClientRect();
            return [area.left + view.xOf(view.info.losses[0].at), area.top + 10];
        });
        await lost.mouse.move(...at);
        await lost.waitForFunction(() => /^7 lost samples at/.test(document.querySelector(".tip").textContent));
    });

    /* Lines of a file below the given folder, two functions in it and one whose file
     * is missing. */
    test("the source shows self and total of each line; it reports missing files and opens from a function", async (bench) => {
        const file = bench.write("prog.c", `int main()\n{\n\tloop("<b>");\n}\n// ${"long ".repeat(90)}end\n`);
        const frames = [{ name: "main", file, line: 3 }, { name: "loop", file, line: 8 }, { name: "loop", file, line: 9 }, { name: "far", file: "/nowhere/x.c", line: 70000 },
            { name: "secret", file: "/etc/hostname", line: 1 }];
        const text = JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
            profiles: [{ type: "sampled", name: "p", unit: "none", startValue: 0, endValue: 100,
                samples: [[0, 1], [0, 2], [0, 2, 0, 2], [0, 1, 3], [4]], weights: [10, 20, 30, 39, 1] }] });
        const page = await report(bench, text, "p.speedscope.json", { convert: ["--with-source", "--source-dir", bench.folder] });
        await key(page, VIEWS.source);
        const files = await page.evaluate(() => window.stoke.core.files());
        assert.deepEqual(files, [{ name: file, self: 60, total: 99 }, { name: "/nowhere/x.c", self: 39, total: 39 }, { name: "/etc/hostname", self: 1, total: 1 }]);
        const lines = await page.evaluate((name) => window.stoke.core.lines(name).then((all) => all.map((l) => [l.line, l.self, l.total])), file);
        assert.deepEqual(lines, [[3, 0, 99], [8, 10, 49], [9, 50, 50]]);
        await page.waitForSelector(".code .row[data-line='3']");
        assert.equal(await page.locator(".code .row[data-line='3'] .text").textContent(), "    loop(\"<b>\");");
        assert.match(await page.locator(".code .row[data-line='9']").textContent(), /^5050\.0 %9$/); /* it calls nothing */
        assert.match(await page.locator(".code .row[data-line='8']").textContent(), /^1010\.0 %3939\.0 %8$/);
        assert.match(await page.locator(".code .row[data-line='3']").textContent(), /^9999\.0 %3 /);
        assert.deepEqual(await page.locator(".code .heads > span").allTextContents().then((all) => all.slice(0, 3)), ["Self", "Calls", "Line"]);
        assert.equal(await page.locator(".view-tools .segments").count(), 0); /* the page has no instructions */
        const scrolled = await page.locator(".code .rows").evaluate((rows) => {
            rows.scrollLeft = 1e6;
            const last = document.createRange();
            const text = rows.querySelector("[data-line='5'] .text").firstChild.firstChild; /* a comment */
            last.setStart(text, text.length - 3);
            last.setEnd(text, text.length);
            const number = rows.querySelector("[data-line='3'] .number").getBoundingClientRect();
            return [rows.getBoundingClientRect(), last.getBoundingClientRect(), number].map((box) => [box.left, box.right]);
        });
        const [[left, right], end, number] = scrolled; /* the end of a long line */
        assert.ok(end[1] <= right && end[0] > number[1] && number[0] > left && number[1] < (left + right) / 2, JSON.stringify(scrolled));
        assert.deepEqual(await page.locator(".files .name").allTextContents(), ["prog.c", "x.c", "hostname"]);
        assert.equal(await page.locator(".files .away").count(), 2);
        assert.equal(await page.evaluate(() => document.getElementById("sources").textContent.length < 400), true);
        await page.locator(".files .row", { hasText: "x.c" }).click();
        await page.waitForSelector(".code .row[data-line='70000']");
        assert.match(await page.locator(".code .missing").textContent(), /is not in this page/);
        await key(page, VIEWS.left);
        await press(page, "far");
        await key(page, VIEWS.left, "s");
        assert.equal(await page.evaluate(() => window.stoke.state.view + window.stoke.state.file), "source/nowhere/x.c");
        await key(page, VIEWS.left);
        await press(page, "loop", "right");
        await page.locator(".menu button", { hasText: "Open source" }).click();
        await page.waitForSelector(".code .row[data-line='9'].chosen");
        const copy = bench.write("copy.html", (await saved(page, "Page")).text);
        const again = await openPage(bench, "file://" + copy);
        await key(again, VIEWS.source);
        await again.waitForSelector(".code .text");
        assert.equal(await again.locator(".code .row[data-line='1'] .text").textContent(), "int main()");
    });

    test("a function without source lines shows no other function's source", async (bench) => {
        const file = bench.write("known.c", "int known()\n{\n}\n");
        const page = await report(bench, JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json",
            shared: { frames: [{ name: "known", file, line: 2 }, { name: "stripped" }] },
            profiles: [{ type: "sampled", name: "p", unit: "none", startValue: 0, endValue: 2, samples: [[0], [0, 1]], weights: [1, 1] }] }), "lines.speedscope.json",
        { convert: ["--with-source", "--source-dir", bench.folder] });
        const choose = (name) => page.evaluate(async (one) => window.stoke.choose(await window.stoke.core.find(one)), name);
        await choose("known");
        await key(page, "s");
        await page.waitForSelector(".code .row[data-line='2'].chosen");
        await key(page, VIEWS.left);
        await choose("stripped");
        await key(page, VIEWS.source);
        await page.locator(".source .lack").waitFor();
        assert.equal(await page.locator(".code").count(), 0);
        assert.match(await page.locator(".source .lack").textContent(), /^stripped has no source lines/);
        await page.locator(".files .row").click();
        await page.waitForSelector(".code .row[data-line='2']");
    });

    test("the tree opens at the selected function", async (bench) => {
        const deep = Array.from({ length: 60 }, (_, i) => `f${i}`).join(";");
        const page = await report(bench, `main;hot 90\n${Array.from({ length: 40 }, (_, i) => `main;g${i} 2`).join("\n")}\nmain;${deep};target 3\nmain;g3;target 1\n`);
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("target")));
        await key(page, VIEWS.tree);
        const row = page.locator(".calls .row.at");
        await row.waitFor();
        assert.equal(await row.locator(".name > span").last().textContent(), "target");
        assert.equal(await row.getAttribute("aria-level"), "62", "the heaviest of its stacks");
        assert.ok(await row.evaluate((one) => {
            const [rows, own] = [one.closest(".rows").getBoundingClientRect(), one.getBoundingClientRect()];
            return own.top >= rows.top && own.bottom <= rows.bottom;
        }), "it is in view");
        await key(page, "v");
        await page.locator(".calls.up .row.at").waitFor();
        assert.equal(await row.locator(".name > span").last().textContent(), "target");
        assert.equal(await row.getAttribute("aria-level"), "1");
        const rests = await page.locator(".calls.up .row").count();
        assert.ok(rests > 10, `${rests} rows`);
    });

    /* A comment of two lines, with what looks like strings and keywords in it. */
    test("the source has colours for comments, strings, numbers and keywords", async (bench) => {
        const odd = bench.write("odd.c", "int a = 0x1f; /* it's\nreturn \"x */ char b = '\"'; // if\n\"/*\" 7;");
        const frames = [{ name: "f", file: odd, line: 1 }];
        const coloured = await report(bench, JSON.stringify({ "$schema": "https://www.speedscope.app/file-format-schema.json", shared: { frames },
            profiles: [{ type: "sampled", name: "p", unit: "none", startValue: 0, endValue: 1, samples: [[0]], weights: [1] }] }), "odd.speedscope.json",
        { convert: ["--with-source", "--source-dir", bench.folder] });
        await key(coloured, VIEWS.source);
        await coloured.waitForSelector(".code .row[data-line='3'] .string");
        assert.deepEqual(await coloured.locator(".code .text").evaluateAll((all) => all.map((line) => [...line.children].map((one) => `${one.className} ${one.textContent}`))), [
            ["keyword int", "literal 0x1f", "comment /* it's"], ["comment return \"x */", "keyword char", "string '\"'", "comment // if"], ["string \"/*\"", "literal 7"]]);
    });

    /* Opened in the page, a .stoke with code shows the texts that it has and the addresses with
     * samples, and names the command that shows instructions; so does a saved page. */
    async function checkBundle(bench, data, source, expectedRows) {
        const bundle = path.join(bench.folder, "bundle.stoke");
        stoke("convert", "-q", "--with-code", data, "-o", bundle);
        const page = await openPage(bench, emptyPage());
        await page.evaluate((text) => window.stoke.opening.open(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), "bundle.stoke", false), fs.readFileSync(bundle).toString("base64"));
        await settle(page);
        const text = async (one) => {
            await key(one, VIEWS.source);
            await one.waitForSelector(".code .row[data-line='5']");
            return one.locator(".code .row[data-line='5'] .text").textContent();
        };
        const check = async (one) => {
            assert.equal(await text(one), fs.readFileSync(source, "utf8").split("\n")[4]);
            await one.evaluate(async () => window.stoke.choose(await window.stoke.core.find("walk")));
            await one.waitForSelector(".assembly .row");
            assert.deepEqual(await one.locator(".assembly .row").evaluateAll((all) => all.map((row) => [row.dataset.address, row.querySelector(".number").textContent])), expectedRows);
            assert.match(await one.locator(".assembly .missing").textContent(), /stoke view bundle\.stoke shows them/);
        };
        await check(page);
        const copy = bench.write("bundle.html", (await saved(page, "Page")).text);
        await check(await openPage(bench, "file://" + copy));
        await page.evaluate((folded) => window.stoke.opening.open(new Blob([folded]), "other.folded", false), "walk 5\n");
        await settle(page);
        assert.equal(await page.locator(".assembly, .code").count(), 0, "another file does not have the code of the one before");
    }

    test("the figures of the source equal those of stoke annotate", async (bench) => {
        const program = path.join(bench.folder, "prog"), data = path.join(bench.folder, "prog.data");
        const source = bench.write("hot.c", `#include <stdio.h>
static __attribute__((noinline)) unsigned walk(unsigned x)
{
    for (int i = 0; i < 4000; i++)
        x = x * 1664525u + 1013904223u;
    for (int i = 0; i < 9000; i++)
        x ^= x << 7 ^ x >> 3;
    return x;
}
int main(void)
{
    unsigned x = 1;
    for (int i = 0; i < 9000; i++)
        x = walk(x);
    return x == 1;
}
`);
        if (spawnSync("cc", ["-O1", "-g", "-fno-inline", source, "-o", program]).status !== 0 ||
            spawnSync(process.env.STOKE, ["record", "-q", "-o", data, "--", program]).status !== 0) {
            bench.note("no compiler, or nothing may be recorded here");
            return;
        }
        const reported = JSON.parse(stoke("annotate", "-q", "--json", "walk", data));
        const expected = reported.functions[0].lines.filter((l) => l.weight > 0).map((l) => [l.line, l.weight]).sort((a, b) => a[0] - b[0]);
        assert.ok(expected.length >= 1, JSON.stringify(reported.functions[0].lines));
        await checkBundle(bench, data, source, reported.functions[0].instructions.filter((one) => one.weight > 0).map((one) => [one.address.toString(16), String(one.line ?? "")]));
        const made = path.join(bench.folder, "made.html");
        stoke("convert", "-q", "--with-source", "--with-assembly", data, "-o", made);
        const page = await openPage(bench, "file://" + made);
        const lines = await page.evaluate((name) => window.stoke.core.lines(name), source);
        const label = await page.evaluate(() => window.stoke.core.find("walk"));
        assert.deepEqual(lines.filter((l) => l.self > 0 && l.label === label).map((l) => [l.line, l.self]).sort((a, b) => a[0] - b[0]), expected);

        const { instructions } = reported.functions[0];
        await page.evaluate((one) => window.stoke.choose(one), label);
        await key(page, VIEWS.source);
        await page.waitForSelector(".assembly .row");
        const rows = () => page.locator(".assembly .row").evaluateAll((all) => all.map((one) => [one.dataset.address, one.querySelector(".number").textContent, one.classList.contains("linked")]));
        const linked = (line) => instructions.map((one) => [one.address.toString(16), String(one.line ?? ""), one.line === line]);
        await page.locator(".code .row[data-line='5']").click();
        await settle(page);
        assert.deepEqual(await rows(), linked(5), "a line marks its instructions");
        await page.locator(`.assembly .row[data-address='${instructions.find((one) => one.line === 7).address.toString(16)}']`).click();
        await settle(page);
        assert.deepEqual(await rows(), linked(7));
        assert.equal(await page.locator(".code .row.at").getAttribute("data-line"), "7", "an instruction marks its line");
        /* The jump back of the first loop: the last instruction that names an earlier one. */
        const targets = instructions.map((one) => instructions.find((other) => new RegExp(`^\\S+ (.*[ ,])?${other.address.toString(16)} <`).test(one.text ?? "")));
        const from = targets.findIndex((target, i) => target && target.address < instructions[i].address);
        assert.ok(from > 0, JSON.stringify(instructions));
        await page.locator(`.assembly .row[data-address='${instructions[from].address.toString(16)}']`).click();
        await settle(page);
        const crossed = await page.locator(".assembly .row").evaluateAll((all) => all.filter((one) => one.querySelector(".arrows .on")).map((one) => one.dataset.address));
        const to = instructions.indexOf(targets[from]);
        assert.deepEqual(crossed, instructions.slice(to, from + 1).map((one) => one.address.toString(16)), "the arrow goes from the jump to its target");
        await page.locator(".assembly .rows").focus();
        await key(page, "Enter");
        assert.equal(await page.locator(".assembly .row.at").getAttribute("data-address"), instructions[to].address.toString(16));
        const panes = () => page.locator(".source > .table").evaluateAll((all) => all.map((one) => one.classList[1]));
        assert.deepEqual(await panes(), ["files", "code", "assembly"]);
        await page.getByRole("button", { name: "Assembly", exact: true }).click();
        assert.deepEqual(await panes(), ["assembly"]);
        await page.getByRole("button", { name: "Source", exact: true }).click();
        assert.deepEqual(await panes(), ["files", "code"]);
        const link = await page.evaluate(() => location.href);
        const again = await openPage(bench, link);
        await again.waitForSelector(".code .row");
        assert.equal(await again.locator(".assembly").count(), 0);
        await page.goBack();
        await page.locator(".assembly").waitFor();
        assert.deepEqual(await panes(), ["assembly"]);
        await page.evaluate(async () => window.stoke.choose(await window.stoke.core.find("main")));
        await settle(page);
        assert.match(await page.locator(".source").textContent(), /no instructions of main:|main: \d+ of \d+ instructions/);
    });

    test("one finger pans and two zoom, also in the call graph", async (bench) => {
        const page = await report(bench, LINES, "input.folded", { hasTouch: true, convert: ["--with-callgraph"] });
        await settle(page);
        const touch = await page.context().newCDPSession(page);
        const put = async (type, ...points) => {
            await touch.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
            await settle(page);
        };
        const span = () => page.evaluate(() => [window.stoke.steered.from, window.stoke.steered.to]);
        await put("touchStart", [500, 300], [700, 300]);
        await put("touchMove", [400, 300], [700, 300]);
        await put("touchMove", [400, 300], [800, 300]);
        await put("touchEnd");
        const [from, to] = await span();
        assert.ok(Math.abs(to - from - 500) < 20 && Math.abs((from + to) / 2 - 500) < 30, JSON.stringify([from, to]));
        await put("touchStart", [600, 300]);
        await put("touchMove", [650, 300]);
        await put("touchMove", [720, 300]);
        await page.waitForFunction((before) => window.stoke.steered.from < before, from);
        await put("touchEnd");
        const [after] = await span();
        assert.ok(Math.abs(from - after - 50) < 6, JSON.stringify([from, after]));
        await key(page, VIEWS.graph);
        await page.waitForSelector(".graph .function");
        const position = () => page.evaluate(() => [window.stoke.steered.scale, window.stoke.steered.x]);
        const [scale, x] = await position();
        await put("touchStart", [500, 500]);
        await put("touchMove", [560, 500]);
        await put("touchEnd");
        assert.equal(Math.round((await position())[1] - x), 60);
        await put("touchStart", [500, 500], [600, 500]);
        await put("touchMove", [450, 500], [650, 500]);
        await put("touchEnd");
        assert.ok(Math.abs((await position())[0] / scale - 2) < 0.1);
    });

    test("the image is the same without WebGL", async (bench) => {
        const pixels = (page) => page.evaluate(() => {
            const picture = window.stoke.steered.picture();
            const { data } = picture.getContext("2d").getImageData(0, 0, picture.width, picture.height);
            return Array.from({ length: 12 }, (_, i) => [...data.slice(4 * ((30 + 20 * (i % 4)) * picture.width + 60 + 350 * (i >> 2)), 4 * ((30 + 20 * (i % 4)) * picture.width + 60 + 350 * (i >> 2)) + 3)]);
        });
        const withGl = await report(bench, LINES);
        await settle(withGl);
        const without = await report(bench, LINES, "input.folded", { init: () => {
            const get = HTMLCanvasElement.prototype.getContext;
            HTMLCanvasElement.prototype.getContext = function (kind, ...rest) { return kind === "webgl2" ? null : get.call(this, kind, ...rest); };
        } });
        await settle(without);
        assert.equal(await without.evaluate(() => document.querySelector(".area canvas").getContext("2d") !== null), true);
        const expected = await pixels(withGl);
        assert.ok(new Set(expected.map(String)).size >= 5, JSON.stringify(expected));
        assert.deepEqual(await pixels(without), expected);
    });

    test("a time range can be selected in the heat map, and with Shift in the time order", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt");
        await key(page, VIEWS.heat);
        const map = await page.locator(".heat canvas").boundingBox();
        const columns = await page.evaluate(() => window.stoke.core.heat(1e8, 50).then((h) => [h.columns, h.cells.reduce((a, b) => a + b, 0)]));
        assert.deepEqual(columns, [20, 2e9]);
        assert.match(await page.locator(".heat p").textContent(), /Columns of 100 ms.*cells of 20 ms.*20 ms a cell/s);
        const step = (map.width - 52) / 20, low = map.y + map.height - 24; /* axes at the left and below */
        await page.mouse.move(map.x + 52 + step / 2, low);
        await page.mouse.down();
        await page.mouse.move(map.x + 52 + step * 4.5, low, { steps: 5 });
        await page.mouse.up();
        await settle(page);
        assert.deepEqual(await spans(page), ["0–420 ms"]);
        assert.equal(await total(page), 42 * 1e7);
        await key(page, VIEWS.time, "Control+z");
        assert.equal(await total(page), 2e9);
        await page.keyboard.down("Shift");
        const [y, from, to] = await page.evaluate(() => {
            const { steered } = window.stoke, { left, top } = steered.over.getBoundingClientRect();
            return [top + 60, left + steered.xOf(5e8), left + steered.xOf(1e9)];
        });
        await page.mouse.move(from, y);
        await page.mouse.down();
        await page.mouse.move(to, y, { steps: 5 });
        await page.mouse.up();
        await page.keyboard.up("Shift");
        await settle(page);
        assert.equal(await total(page), 50 * 1e7);
    });

    test("filters are set by key and menu, shown as chips, undone, redone, and in the address", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        await press(page, "parse");
        await key(page, "f");
        assert.deepEqual([await total(page), await chips(page)], [350, ["stacks with parse"]]);
        await press(page, "lex");
        await key(page, "X");
        assert.match(await page.locator(".fault").textContent(), /no samples remain after 'ignore lex'/);
        await page.locator(".fault .icon").click();
        await key(page, "r");
        assert.equal((await chips(page)).length, 2);
        await press(page, "main");
        await key(page, "h");
        assert.deepEqual(await chips(page), ["stacks with parse", "recursion collapsed", "merged into callers main"]);
        assert.equal(await boxOf(page, "main"), null);
        const link = await address(page);
        await key(page, "Control+z", "Control+z");
        assert.deepEqual(await chips(page), ["stacks with parse"]);
        await key(page, "Control+Shift+Z");
        assert.equal((await chips(page)).length, 2);
        await page.locator(".chip button").first().click();
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [1000, ["recursion collapsed"]]);
        const again = await openPage(bench, link);
        await settle(again);
        assert.deepEqual(await chips(again), ["stacks with parse", "recursion collapsed", "merged into callers main"]);
        assert.equal(await boxOf(again, "main"), null);
        await press(again, "lex", "right");
        assert.deepEqual(await again.locator(".menu button").allTextContents(),
            ["Copy name", "Copy stack", "Begin stacks here", "Only stacks with it", "Merge into callers", "Drop stacks with it", "Callers and callees", "Search for it"]);
        await again.locator(".menu button", { hasText: "Begin stacks here" }).click();
        await settle(again);
        assert.equal((await boxOf(again, "lex")).row, 0);
        await key(again, "I");
        await again.locator(".dialog select").selectOption("hide");
        await again.locator(".dialog input").fill("^read");
        await again.keyboard.press("Enter");
        await settle(again);
        assert.equal(await boxOf(again, "read"), null);
        assert.equal((await chips(again)).at(-1), "frames hidden ^read");
    });

    test("Back and Forward go through views and filters", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        await key(page, VIEWS.sandwich, VIEWS.tree);
        await page.evaluate(() => window.stoke.filters.add({ verb: "focus", text: "parse" }));
        await settle(page);
        const at = () => page.evaluate(() => [window.stoke.state.view, window.stoke.shown.total].join(" "));
        const seen = [await at()];
        for (const way of ["goBack", "goBack", "goBack", "goForward", "goForward", "goForward"]) {
            await page[way]();
            await settle(page);
            seen.push(await at());
        }
        assert.deepEqual(seen, ["tree 350", "tree 1000", "sandwich 1000", "left 1000", "sandwich 1000", "tree 1000", "tree 350"]);
        assert.equal(await page.locator(".calls .name", { hasText: "idle" }).count(), 0);
    });

    test("menu, dialogs, an invalid pattern and the heat map work by keys alone", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt");
        await settle(page);
        const focused = () => page.evaluate(() => document.activeElement.textContent || document.activeElement.getAttribute("aria-label"));
        await page.locator(".canvas").focus();
        await key(page, "ArrowDown", "ArrowDown", "Shift+F10");
        assert.equal(await focused(), "Copy name");
        await key(page, "ArrowDown", "ArrowDown", "ArrowDown");
        assert.equal(await focused(), "Only stacks with it");
        await key(page, "Enter");
        assert.deepEqual([await chips(page), await total(page)], [["stacks with wait"], 1e9]);
        await key(page, "Control+z", "I");
        assert.equal(await focused(), "Pattern");
        await page.keyboard.type("((");
        await key(page, "Enter");
        await page.waitForSelector(".dialog .wrong");
        for (let i = 0; i < 9; i++) {
            await page.keyboard.press(i < 5 ? "Tab" : "Shift+Tab");
            assert.ok(await page.evaluate(() => document.activeElement.closest(".dialog") !== null), `${i}`);
        }
        await page.getByLabel("Pattern").fill("work");
        await key(page, "Enter");
        assert.deepEqual([await chips(page), await page.locator(".dialog, .fault").count()], [["stacks matching work"], 0]);
        await key(page, "Control+z", VIEWS.heat);
        await page.waitForSelector(".heat canvas");
        await page.locator(".cells").focus();
        await key(page, "ArrowRight", "ArrowRight");
        assert.match(await page.locator(".heat b").textContent(), /^100 ms:/);
        await key(page, "Shift+ArrowRight", "Shift+ArrowRight", "Enter");
        assert.deepEqual(await spans(page), ["100\u2013320 ms"]);
        assert.equal(await total(page), 22e7);
    });

    test("threads can be selected, and become frames", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt");
        await key(page, "w");
        await page.locator(".dialog label", { hasText: "12" }).locator("input").check();
        await page.locator(".dialog .primary").click();
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [5e8, ["thread 12"]]);
        await key(page, "Control+z", "T");
        assert.ok(await boxOf(page, "prog"));
        assert.deepEqual(await chips(page), ["threads by name"]);
        await key(page, "w");
        await page.locator(".dialog .acts button", { hasText: "each thread" }).click();
        await settle(page);
        assert.deepEqual(await chips(page), ["threads separate"]);
        assert.ok(await boxOf(page, "prog-10/12"));
        await key(page, "w");
        await page.locator(".dialog .acts button", { hasText: "their processes" }).click();
        await settle(page);
        assert.deepEqual(await chips(page), ["threads by process"]);
        assert.ok(await boxOf(page, "prog-10"));
        await key(page, "w");
        assert.match(await page.locator(".dialog .choices").textContent(), /merged into frames/);
        await key(page, "Escape", "I");
        await page.getByLabel("Kind of filter").selectOption("tid");
        await page.getByLabel("Pattern").fill("12");
        await page.keyboard.press("Enter");
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [5e8, ["thread 12", "threads by process"]]);
        await key(page, "Control+z", "T", "T");
        assert.deepEqual(await chips(page), []);
        await key(page, VIEWS.summary);
        await page.locator(".part", { hasText: "10/11" }).click();
        await settle(page);
        assert.equal(await total(page), 15e8);
    });

    test("search accepts text and expressions; its total counts a stack once", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        await key(page, "/");
        await page.keyboard.type("PARSE");
        await settle(page);
        assert.match(await page.locator(".found").textContent(), /^1 function matches .PARSE.: 350 samples, 35\.0 %$/);
        await page.keyboard.press("Enter");
        await settle(page);
        assert.equal(await page.locator(".details h2").textContent(), "parse");
        await page.locator("#search").fill("^(lex|call)$");
        await page.locator(".toggle").click();
        await settle(page);
        const marks = await page.evaluate(() => [100, 500, 850, 895, 905, 1100].map((x) => window.stoke.steered.minimap.marks[x]));
        assert.deepEqual(marks, [1, 1, 1, 1, 0, 0]);
        assert.match(await page.locator(".found").textContent(), /2 functions.* 750 samples, 75\.0 %/);
        await key(page, "3");
        assert.deepEqual((await page.locator(".functions .name").allTextContents()).sort(), ["call", "lex"]);
        await page.locator("#search").fill("a(");
        await settle(page);
        assert.match(await page.locator(".fault").textContent(), /invalid pattern 'a\('/);
        await page.locator("#search").fill("");
        await settle(page);
        assert.equal(await page.locator(".fault").count(), 0);
    });

    test("the shown profile is saved in every format; folded like by the program", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        const input = path.join(bench.folder, "input.folded");
        const folded = await saved(page, "Folded");
        assert.equal(folded.name, "input.folded");
        assert.equal(folded.text.toString(), stoke("fold", "--quiet", "--kernel", "--jit", input));
        await press(page, "parse");
        await key(page, "f");
        assert.match((await saved(page, "SVG")).text.toString(), /^<\?xml.*<svg.*parse.*350/s);
        assert.match((await saved(page, "CSV")).text.toString(), /lex/);
        const speedscope = JSON.parse((await saved(page, "speedscope")).text.toString());
        assert.equal(speedscope.profiles[0].endValue - speedscope.profiles[0].startValue, 350);
        for (const [title, name] of [["pprof", "b.pb"], [".stoke", "b.stoke"], ["Firefox Profiler", "b.json"]]) {
            const file = bench.write(name, (await saved(page, title)).text);
            assert.match(stoke("fold", "--quiet", file), /app;main;parse;parse;lex 50/);
        }
        assert.equal((await saved(page, "d3")).text.toString().includes("\"value\""), true);
        const callgrind = await saved(page, "callgrind");
        assert.equal(callgrind.name, "input.callgrind");
        assert.match(callgrind.text.toString(), /^events: /m);
        assert.match(stoke("report", "--quiet", "--sort", "sym", bench.write("b.callgrind", callgrind.text)), /lex/);
        assert.equal((await saved(page, "PNG")).text.subarray(1, 4).toString(), "PNG");
        const copy = bench.write("copy.html", (await saved(page, "Page")).text);
        const again = await openPage(bench, "file://" + copy);
        assert.deepEqual([await total(again), await again.title()], [350, "input.folded"]);
        const third = bench.write("third.html", (await saved(again, "Page")).text);
        assert.ok(Math.abs(fs.statSync(third).size - fs.statSync(copy).size) < 2000);
    });

    test("the empty page opens chosen, pasted and compared files, and reports those that it cannot read", async (bench) => {
        const page = await openPage(bench, emptyPage());
        assert.match(await page.locator(".welcome").textContent(), /Drop a profile.*folded.*perf/s);
        const choose = async (keys, file) => {
            const chooser = page.waitForEvent("filechooser");
            await page.keyboard.press(keys);
            await (await chooser).setFiles(file);
            await page.waitForFunction(() => !window.stoke.loading);
            await settle(page);
        };
        await choose("Control+o", bench.write("bad.txt", "\0\0nothing that is known"));
        assert.match(await page.locator(".fault").textContent(), /^bad.txt: the format of this file is unknown\. choose its format: /);
        await choose("Control+o", bench.write("cut.json", "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", \"shared\": 7"));
        assert.match(await page.locator(".fault").textContent(), /^cut.json: line 1, column 78: cannot read this as speedscope: the JSON text is truncated\.\{/);
        const packed = spawnSync("gzip", ["-c"], { input: LINES }).stdout;
        await choose("Control+o", bench.write("after.folded.gz", packed));
        assert.deepEqual([await total(page), await page.locator(".fault").count()], [1000, 0]);
        await choose("Control+Shift+o", bench.write("before.folded", LINES.replace("idle 250", "idle 750")));
        assert.equal(await page.title(), "before.folded → after.folded.gz");
        await key(page, "3");
        await page.locator(".functions .heads button", { hasText: "Change" }).click();
        await settle(page);
        const idle = page.locator(".functions .row", { hasText: "idle" });
        assert.equal(await idle.locator(".change").textContent(), "−25.0");
        await key(page, VIEWS.summary);
        assert.match(await page.locator(".summary").textContent(), /^before.folded → after.folded.gz.*Samples66Shown1,500 samples1,000 samples/);
        await page.getByRole("button", { name: "End comparison" }).click();
        await settle(page);
        await key(page, VIEWS.sandwich);
        assert.equal(await page.locator(".change").count(), 0);
        await page.evaluate(() => {
            const data = new DataTransfer();
            data.setData("text/plain", "x;y 3\nx;z 4\n");
            dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
            document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
        });
        await page.waitForFunction(() => window.stoke.shown && window.stoke.shown.total === 7);
    });

    test("a file that is not a profile is reported with a hint; a saved page opens as its profile", async (bench) => {
        const page = await openPage(bench, emptyPage());
        const open = (bytes, name) => page.evaluate(async ([text, called]) => {
            const good = await window.stoke.opening.open(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), called);
            await window.settled();
            return good ? window.stoke.shown.total : document.querySelector(".fault p").textContent;
        }, [Buffer.from(bytes).toString("base64"), name]);
        assert.equal(await open("\x7fELF\x02\x01\x01", "/tmp/prog"), "prog: this is a program, not a profile. record one with 'stoke record ./program'");
        assert.match(await open("<!doctype html><p>else", "x.html"), /^x.html: this page contains no profile\./);
        assert.match(await open("lines of text\nand no more\n", "ht"), /the format of this file is unknown/);
        assert.equal(await open("v 10400 3\nX ./prog\ns 4 main\ni 401000 0 1\nt 1 0\na 64 1\n+ 0\n- 0\n", "ht"), 100);
        const input = bench.write("in.folded", LINES), made = path.join(bench.folder, "made.html");
        stoke("convert", "--quiet", input, "-o", made);
        assert.equal(await open(fs.readFileSync(made), "made.html"), 1000);
        assert.equal(await page.title(), "in.folded");
    });

    test("no label of an axis repeats; large counts have the right unit", async (bench) => {
        const page = await openPage(bench, emptyPage());
        const heap = (size) => `v 10400 3\nX ./prog\ns 4 main\ni 401000 0 1\nt 1 0\na ${size} 1\n+ 0\n- 0\n`;
        const wrong = [];
        for (const [text, name, unit] of [["a;b 999\n", "x.folded", ""], ["a;b 24000000\n", "x.folded", "M"], ["a;b 1500000000\n", "x.folded", "G"], [heap("180000"), "heaptrack.1", "KiB"],
            [heap("780000"), "heaptrack.1", "MiB"]]) {
            const found = await page.evaluate(async ([content, called]) => {
                const texts = [], fillText = CanvasRenderingContext2D.prototype.fillText;
                CanvasRenderingContext2D.prototype.fillText = function (shown, ...where) {
                    texts.push(shown);
                    return fillText.call(this, shown, ...where);
                };
                await window.stoke.opening.open(new Blob([content]), called);
                await window.settled();
                CanvasRenderingContext2D.prototype.fillText = fillText;
                return [texts, document.querySelector(".status").innerText];
            }, [text, name]);
            const last = found[0].lastIndexOf(found[0].find((shown) => /^0(\.0+)? ?%$/.test(shown)));
            const labels = found[0].slice(last).filter((shown) => /^[\d.]+ ?%$/.test(shown));
            if (labels.length < 3 || new Set(labels).size !== labels.length)
                wrong.push(`${name}: ${labels} of ${found[0]}`);
            if (name === "x.folded" && !found[1].includes(unit === "" ? "999" : unit === "M" ? "24 M" : "1.50 G"))
                wrong.push(found[1]);
        }
        assert.deepEqual(wrong, []);
    });

    test("a recording without names is reported with a hint", async (bench) => {
        const page = await openPage(bench, emptyPage());
        await page.evaluate(async (text) => window.stoke.opening.open(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), "perf.data"),
            fs.readFileSync(path.join(__dirname, "..", "import", "perf-data", "file.in")).toString("base64"));
        await settle(page);
        const unnamed = await page.evaluate(() => window.stoke.shown.unnamed / window.stoke.shown.total);
        assert.ok(unnamed > 0.2, String(unnamed));
        await page.locator(".caution", { hasText: /without names: what to do/ }).click();
        await page.waitForFunction(() => /The recording has addresses.*stoke view FILE/s.test(document.querySelector(".summary")?.textContent));
        const named = await report(bench, LINES);
        assert.equal(await named.locator(".caution", { hasText: /without names/ }).count(), 0);
    });

    test("two compared recordings have a duration each; their heat maps are one above the other, with the same scale", async (bench) => {
        const page = await report(bench, perfScript(), "perf.txt");
        await page.evaluate((text) => window.stoke.opening.open(new Blob([text]), "before.txt", true), perfScript().replace(/10000000 cpu/g, "20000000 cpu"));
        await settle(page);
        await key(page, VIEWS.summary);
        const summary = await page.locator(".summary").textContent();
        assert.match(summary, /^before.txt → perf.txt/);
        assert.match(summary, /Duration2\.01 s2 s/); /* of each */
        await key(page, VIEWS.heat);
        await page.waitForFunction(() => document.querySelectorAll(".heats canvas").length === 2);
        assert.deepEqual(await page.locator(".heats h2").allTextContents(), ["Before before.txt", "After perf.txt"]);
        await page.waitForFunction(() => { const [a, b] = [...document.querySelectorAll(".heats .legend")].map((one) => one.textContent); return a === b && a === "025 ms a cell"; });
        const sums = await page.evaluate(() => Promise.all([0, 1].map((side) => window.stoke.core.heatOfSide(side, "[]", 1e8, 10).then((h) => h.cells.reduce((a, b) => a + b, 0)))));
        assert.equal(sums[0], 2 * sums[1]);
        const alone = await page.evaluate(() => window.stoke.core.heatOfSide(1, JSON.stringify([{ verb: "time", text: "", from: 0, to: 1e8 }]), 1e8, 10).then((h) => h.cells.reduce((a, b) => a + b, 0)));
        assert.ok(alone > 0 && alone < sums[1], String(alone));
    });

    test("an address with missing data shows everything, with the reason", async (bench) => {
        const at = (state) => ({ hash: "#" + encodeURIComponent(JSON.stringify(state)) });
        const focus = (text) => [{ verb: "focus", text }];
        const page = await report(bench, LINES, "input.folded", at({ view: "sandwich", filters: focus("nothing like it") }));
        await settle(page);
        assert.deepEqual([await total(page), await chips(page)], [1000, []]);
        assert.match(await page.locator(".fault").textContent(), /no samples remain after.*The address requests it; everything is shown instead/);
        assert.equal(await page.evaluate(() => window.stoke.state.view), "sandwich");
        await page.evaluate((hash) => { location.hash = hash; }, at({ filters: focus("parse") }).hash);
        await page.waitForFunction(() => window.stoke.shown.total === 350);
        await page.evaluate((hash) => { location.hash = hash; }, at({ filters: focus("(") }).hash);
        await page.waitForFunction(() => /brackets/.test(document.querySelector(".fault")?.textContent));
        assert.deepEqual([await total(page), await chips(page)], [350, ["stacks matching parse"]]);
        await key(page, "Control+z");
        assert.equal(await total(page), 1000);
        const odd = await report(bench, LINES, "input.folded", at({ zoom: [5e18, 6e18], color: 4, order: 7 }));
        await settle(odd);
        assert.ok(Math.abs((await boxOf(odd, "app")).width - 1200) < 2);
        assert.equal(await odd.getByLabel("Colour").inputValue(), "5");
        await odd.evaluate((hash) => { location.hash = hash; }, at({ zoom: [0, 500], search: "lex" }).hash);
        await odd.waitForFunction(() => window.stoke.steered.to === 500);
    });

    test("an address that changes while another one is written is followed", async (bench) => {
        const page = await report(bench, LINES, "input.folded");
        await settle(page);
        await page.evaluate((hash) => {
            location.hash = hash;
            /* the event is sent later: meanwhile a drawing ends and writes its address */
            history.replaceState(null, "", location.pathname);
        }, "#" + encodeURIComponent(JSON.stringify({ filters: [{ verb: "focus", text: "parse" }] })));
        await page.waitForFunction(() => window.stoke.shown.total === 350);
        assert.deepEqual(await chips(page), ["stacks matching parse"]);
    });

    test("a title is shown with slashes, also in saved pages; a path is shown as its last part", async (bench) => {
        for (const title of ["requests/s on prod", "/", "a/b\\c: 50% <d>/"]) {
            const page = await report(bench, LINES, "input.folded", { convert: ["--title", title] });
            await settle(page);
            assert.equal(await page.title(), title);
            assert.equal(await page.locator("header .file").textContent(), title);
            const folded = await saved(page, "Folded"), again = await saved(page, "Page");
            assert.equal(folded.name, `${title.replace(/[/\\:*?"<>|]/g, "_")}.folded`);
            const copy = await openPage(bench, "file://" + bench.write("copy.html", again.text));
            assert.equal(await copy.title(), title);
            const dropped = await openPage(bench, emptyPage());
            await dropped.evaluate((text) => window.stoke.opening.open(new Blob([text]), "/tmp/copy.html"), again.text.toString());
            assert.equal(await dropped.title(), title);
            await dropped.evaluate((text) => window.stoke.opening.open(new Blob([text]), "/tmp/some.folded"), LINES);
            assert.equal(await dropped.title(), "some.folded");
        }
    });

    test("names with markup or direction marks are shown as text everywhere", async (bench) => {
        const names = ["<img src=x onerror=alert(1)>", "__proto__", "constructor", "\u202egnp.exe", "</script><script>alert(2)</script>",
            "<!--<script>", "&lt;b&gt;", "x".repeat(65536)];
        const text = names.map((name, i) => `root;${name.replace(/;/g, ":")} ${i + 10}`).join("\n") + "\n";
        const page = await report(bench, text, "<b>&\"x'.folded", { convert: ["--with-callgraph"] });
        page.on("dialog", () => bench.problems.push("a script ran"));
        await settle(page);
        assert.equal(await page.title(), "<b>&\"x'.folded");
        for (const view of Object.values(VIEWS)) {
            await key(page, view);
            assert.equal(await page.locator("img").count(), 0);
        }
        await key(page, VIEWS.graph);
        await page.waitForFunction(() => document.querySelectorAll(".graph .function").length === 9);
        const drawn = await page.locator(".graph .function .first").allTextContents();
        assert.ok(drawn.includes("\\u202egnp.exe") && drawn.includes(names[0]) && drawn.every((name) => name.length <= 42), JSON.stringify(drawn));
        assert.equal(await page.locator(".graph img, .graph script, .graph a").count(), 0);
        await key(page, "3");
        const shown = await page.locator(".functions .name").allTextContents();
        assert.ok(shown.includes("\\u202egnp.exe") && shown.includes("__proto__") && shown.includes(names[0]), JSON.stringify(shown).slice(0, 400));
        await page.locator(".functions .name", { hasText: "__proto__" }).click();
        await settle(page);
        await key(page, "f");
        assert.equal(await total(page), 11);
        await key(page, "Control+z");
        await page.locator(".functions .row", { hasText: "xxxxxxxx" }).click();
        await settle(page);
        await key(page, "f");
        assert.equal(await total(page), 17);
        const folded = (await saved(page, "Folded")).text.toString();
        assert.equal(folded.length, "root;".length + 65536 + " 17\n".length);
    });

    test("themes, palettes and colours change; help and palette list the commands", async (bench) => {
        const page = await report(bench, LINES, "input.folded", { colorScheme: "dark" });
        await settle(page);
        const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
        const colour = () => page.evaluate(() => window.stoke.steered.boxes.color[0]);
        assert.equal(await theme(), "dark");
        const dark = await colour();
        await page.locator("[aria-label='Light or dark']").click();
        await settle(page);
        assert.equal(await theme(), "light");
        const seen = new Set([dark, await colour()]);
        for (const palette of ["warm", "safe"]) {
            await key(page, "Control+k");
            await page.keyboard.type("palette " + palette.slice(0, 3).replace("saf", "blind"));
            await page.keyboard.press("Enter");
            await settle(page);
            seen.add(await colour());
        }
        for (const by of ["1", "2", "3"]) {
            await page.locator("[aria-label='Colour']").selectOption(by);
            await settle(page);
        }
        assert.ok(seen.size >= 4, String([...seen]));
        await key(page, "?");
        const help = await page.locator(".dialog").textContent();
        for (const words of ["Time order2", "Zoom inShift \u2191+", "Next matchn", "UndoCtrl Z", "right click"])
            assert.ok(help.includes(words), words);
        await key(page, "Escape");
        assert.equal(await page.locator(".dialog").count(), 0);
        await key(page, "U");
        const app = await boxOf(page, "app"), main = await boxOf(page, "main");
        assert.ok(app.y > main.y, "flames grow upwards");
        await page.waitForFunction(() => [...document.querySelectorAll(".spoken li")]
            .some((item) => /^main, 75 %/.test(item.textContent)));
    });

    const zstd = (text, ...options) => spawnSync("zstd", ["-c", "-q", ...options], { input: text, maxBuffer: 1 << 28 }).stdout;

    /* Opens 24 MB as many times as given, compressed: much to read, and little to
     * send. */
    const openLarge = (page, times) => {
        const text = Array.from({ length: 40000 }, (_, i) => `main;part ${i % 40};step ${i};${"x".repeat(580)} 1\n`).join("");
        return page.evaluate(([packed, count]) => {
            const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
            window.looked = 0;
            const { core } = window.stoke, ask = core.partial;
            core.partial = () => {
                window.looked++;
                return ask();
            };
            void window.stoke.opening.open(new Blob(Array(count).fill(bytes)), "large.folded.zst");
        }, [zstd(text).toString("base64"), times]);
    };

    test("a partial profile is shown while the rest is read; it remains after stopping", async (bench) => {
        if (!zstd("a 1\n")?.length) {
            bench.note("skipped: no zstd");
            return;
        }
        const page = await openPage(bench, emptyPage());
        await openLarge(page, 400);
        await page.waitForFunction(() => window.stoke.part?.going && window.stoke.shown && window.stoke.steered?.last, null, { polling: 20 });
        assert.match(await page.locator(".status .unread").textContent(), /the first \d+ % of the file; \d+ % read/);
        const part = await total(page);
        await page.locator("#search").fill("step 7");
        await page.waitForFunction(() => window.stoke.found?.functions > 0, null, { polling: 20 });
        assert.equal(await page.evaluate(() => window.stoke.part.going), true);
        await page.evaluate(() => window.stoke.steered.zoom(0.5));
        await page.locator(".unread button").click();
        await page.waitForFunction(() => window.stoke.part && !window.stoke.part.going && !window.stoke.loading, null, { polling: 20 });
        await settle(page);
        const stopped = await total(page);
        assert.ok(part <= stopped && stopped < 400 * 40000, `${part} ${stopped}`);
        assert.match(await page.locator(".status .unread").textContent(), /^a part: the first \d+ % of the file$/);
        assert.match(await page.evaluate(() => JSON.stringify(window.stoke.profile.warnings)), /only the beginning of the file was read/);
        await openLarge(page, 25);
        await page.waitForFunction(() => window.looked > 0 && !window.stoke.part && !window.stoke.loading, null, { polling: 20 });
        await settle(page);
        assert.equal(await page.locator(".status .unread").count(), 0);
        assert.equal(await total(page), 25 * 40000);
    });

    /* Card: the renderer that WebGL reports. */
    const picture = async (bench, card, now = "0") => {
        const page = await report(bench, LINES, "input.folded", { init: `
            const ask = WebGL2RenderingContext.prototype.getParameter;
            WebGL2RenderingContext.prototype.getParameter = function (what) {
                return what === 0x9246 || what === 0x1f01 ? ${JSON.stringify(card)} : ask.call(this, what);
            };
            performance.now = () => ${now};` });
        await key(page, VIEWS.left);
        return page.evaluate(() => {
            const { canvas } = window.stoke.steered;
            const copy = document.createElement("canvas");
            Object.assign(copy, { width: canvas.width, height: canvas.height });
            const pen = copy.getContext("2d");
            pen.drawImage(canvas, 0, 0);
            return { gl: canvas.getContext("webgl2") !== null, pixels: [...new Uint32Array(pen.getImageData(0, 0, copy.width, 120).data.buffer)] };
        });
    };

    test("a graphics card draws the same image as drawing without one", async (bench) => {
        const card = await picture(bench, "A Fine Card"), none = await picture(bench, "Google SwiftShader");
        assert.equal(card.gl, true);
        assert.equal(none.gl, false);
        const slow = await picture(bench, "A Slow Card", "-(window.passed = (window.passed || 1e6) * 0.99)"); /* the first of two measurements takes longer */
        assert.equal(slow.gl, false);
        const differ = card.pixels.filter((pixel, i) => pixel !== none.pixels[i]).length;
        assert.ok(new Set(card.pixels).size >= 5 && card.pixels.length === none.pixels.length && differ < card.pixels.length / 500, `${differ} differ`);
    });

    test("gzip, zstd and xz files are opened, also with several frames, and damage is reported", async (bench) => {
        if (!zstd("a 1\n")?.length) {
            bench.note("skipped: no zstd");
            return;
        }
        const page = await openPage(bench, emptyPage());
        const open = (bytes, name) => page.evaluate(async ([text, called]) => {
            const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
            const good = await window.stoke.opening.open(new Blob([packed]), called);
            return good ? window.stoke.shown.total : window.stoke.fault.message;
        }, [bytes.toString("base64"), name]);
        const lines = Array.from({ length: 20000 }, (_, i) => `main;f${i % 977};g${i * 7919 % 100003} ${i % 5 + 1}\n`).join("");
        assert.equal(await open(zlib.gzipSync(lines), "x.folded.gz"), 60000);
        for (const level of ["-1", "-3", "-12"])
            assert.equal(await open(zstd(lines, level), "x.folded.zst"), 60000, level);
        assert.equal(await open(Buffer.concat([zstd(lines), zstd("a;b 7\n"), zstd(lines, "--no-check")]), "x.folded.zst"), 120007);
        const whole = zstd(lines);
        for (const length of [5, 20])
            assert.match(await open(whole.subarray(0, length), "x.folded.zst"), /^the packed data (is damaged|is truncated)$/, String(length));
        const wide = Buffer.from(whole);
        wide[4] &= ~0x20;
        wide.fill(0xff, 5, 6);
        assert.equal(await open(wide, "x.folded.zst"), "the packed data is damaged");
        const bent = Buffer.from(whole);
        bent.fill(0xff, 30, 60);
        assert.equal(await open(bent, "x.folded.zst"), "the packed data is damaged");
        const xz = (text, ...options) => spawnSync("xz", ["-c", "-q", ...options], { input: text, maxBuffer: 1 << 28 }).stdout;
        if (xz("a 1\n")?.length) {
            assert.equal(await open(xz(lines), "x.folded.xz"), 60000);
            assert.equal(await open(xz(lines, "-T2", "--block-size=100000", "-9"), "x.folded.xz"), 60000);
            assert.equal(await open(Buffer.concat([xz(lines), Buffer.alloc(8), xz("a;b 7\n", "--check=crc32"), xz(lines)]), "x.folded.xz"), 120007);
            const packed = xz(lines), turned = Buffer.from(packed);
            turned[packed.length >> 1] ^= 0x55;
            for (const bad of [packed.subarray(0, 8), packed.subarray(0, 30)])
                assert.match(await open(bad, "x.folded.xz"), /^the packed data (is damaged|is truncated)$/, String(bad.length));
            for (const bad of [packed.subarray(0, packed.length - 4), turned, Buffer.concat([packed, Buffer.from("else")])]) {
                const got = await open(bad, "x.folded.xz");
                assert.ok((got > 0 && got <= 60000) || /^the packed data/.test(got), String(got));
            }
        } else {
            bench.note("skipped: no xz");
        }
        assert.match(await open(Buffer.from("425a683931415926", "hex"), "x.bz2"), /^bzip2 files are not opened in the browser$/);
        assert.equal(await open(Buffer.from("a;b 3\n"), "plain.folded"), 3);
    });

    /* The files of a folder as the browser delivers them: in batches. */
    const dropFolder = (page, files) => page.evaluate((files) => {
        const entry = (name, below) => ({ name, isDirectory: true, createReader() {
            const all = [...new Set(below.map(([path]) => path.split("/")[0]))].map((first) => {
                const text = below.find(([path]) => path === first)?.[1];
                return text === undefined ? entry(first, below.filter(([path]) => path.startsWith(`${first}/`)).map(([path, text]) => [path.slice(first.length + 1), text]))
                    : { name: first, isDirectory: false, file: (take) => take(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], first)) };
            });
            return { readEntries: (take) => setTimeout(() => take(all.splice(0, 2))) };
        } });
        const drop = new Event("drop", { cancelable: true });
        Object.defineProperty(drop, "dataTransfer", { value: { files: [], items: [{ webkitGetAsEntry: () => entry("demo.trace", files) }] } });
        dispatchEvent(drop);
    }, files);

    test("archives of Instruments are opened as a zip and as a dropped folder", async (bench) => {
        const fixture = path.join(__dirname, "..", "import", "instruments-trace", "one-run");
        const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stoke-trace-"));
        const unzip = spawnSync("python3", ["-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])", `${fixture}.in`, folder]);
        assert.equal(unzip.status, 0);
        const top = path.join(folder, "demo.trace");
        const files = fs.readdirSync(top, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
            .map((one) => path.join(one.parentPath ?? one.path, one.name))
            .map((file) => [path.relative(top, file), fs.readFileSync(file).toString("base64")]);
        fs.rmSync(folder, { recursive: true });
        const page = await openPage(bench, emptyPage());
        await dropFolder(page, files);
        await page.waitForFunction(() => window.stoke.shown?.total === 7);
        await page.evaluate(() => window.stoke.opening.open(new Blob(["a;b 3\n"]), "x.folded"));
        assert.equal(await page.evaluate(() => window.stoke.shown.total), 3);
        await page.evaluate((text) => window.stoke.opening.open(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), "demo.trace.zip"), fs.readFileSync(`${fixture}.in`).toString("base64"));
        assert.equal(await page.evaluate(() => window.stoke.shown.total), 7);
        await dropFolder(page, files.filter(([name]) => name === "form.template"));
        await page.waitForFunction(() => /no readable time profile/.test(window.stoke.fault?.message));
        await dropFolder(page, [["else.txt", "QQ=="]]);
        await page.waitForFunction(() => /contains no files/.test(window.stoke.fault?.message));
        const other = Buffer.from("504b0304140000000800", "hex").toString("base64");
        assert.match(await page.evaluate((text) => window.stoke.opening.open(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]), "x.zip").then(() => window.stoke.fault.message), other), /^zip files are not opened/);
    });

    /* The core's module with at most 24 MB: the end of its memory section has the
     * limit. */
    const small = `
        const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();
        const limit = (bytes) => {
            for (let at = 8; at < bytes.length;) {
                const id = bytes[at++];
                let size = 0, shift = 0, byte;
                do {
                    byte = bytes[at++];
                    size |= (byte & 127) << shift;
                    shift += 7;
                } while (byte & 128);
                at += size;
                if (id === 5)
                    bytes.set([0x80, 0x83, 0x00], at - 3);
            }
            return bytes;
        };
        const post = Worker.prototype.postMessage;
        let last = Promise.resolve();
        Worker.prototype.postMessage = function (message, ...rest) {
            last = last.then(async () => {
                for (const one of [message].flat())
                    if (one.do === "start")
                        one.core = new Uint8Array(await through(limit(new Uint8Array(await through(one.core, new DecompressionStream("gzip")))), new CompressionStream("gzip")));
                post.call(this, message, ...rest);
            });
        };`;

    test("a file that is too large is reported with its size, and the page does not change", async (bench) => {
        const page = await openPage(bench, emptyPage(), { init: small });
        const open = (count, name) => page.evaluate(async ([lines, called]) => {
            const text = Array.from({ length: lines }, (_, i) => `main;f${i};g${i * 7} 1\n`).join("");
            return (await window.stoke.opening.open(new Blob([text]), called)) ? window.stoke.shown.total : window.stoke.fault.message;
        }, [count, name]);
        assert.equal(await open(1000, "small.folded"), 1000);
        const [, used] = /^out of memory: (\d+) MB are in use, and a page can have at most 4295 MB$/.exec(await open(600000, "large.folded")) ?? [];
        assert.ok(used > 1 && used < 26, `${used} MB`);
        assert.equal(await total(page), 1000);
        assert.equal(await open(2000, "small.folded"), 2000);
    });
};
