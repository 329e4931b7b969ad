/* SPDX-License-Identifier: Apache-2.0 */
/* The live page of stoke daemon, in a browser, with a daemon of its own. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { spawn } = require("child_process");
const { app, daemon, daemonOrSkip, eventually, live, load, until } = require("./live_pages.js");

const heardAfter = (page, time) => until(page, (after) => window.stoke.live.lostSince === null && window.stoke.live.heard > after, time);

/* Whether the rows of the tracks' canvas have more than the background's colour. */
const drawn = (page, top, height) => page.evaluate(([y, h]) => {
    const canvas = document.querySelector(".live-strips canvas");
    const scale = canvas.width / canvas.clientWidth;
    const { data } = canvas.getContext("2d").getImageData(0, y * scale, canvas.width, h * scale);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3])
            colors.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return colors.size;
}, [top, height]);

async function drag(page, from, to) {
    const box = await page.locator(".live-strips").boundingBox();
    await page.mouse.move(box.x + box.width * from, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * (from + to) / 2, box.y + 25);
    await page.mouse.move(box.x + box.width * to, box.y + 20);
    await page.mouse.up();
    await page.mouse.move(5, 5);
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("the live page # SKIP this stoke was built without it", () => undefined);
        return;
    }

    test("marks what a trigger recorded, and shows it", async (bench) => {
        const served = await daemonOrSkip(bench, { args: ["--trigger-memory", "0.001%", "--trigger-seconds", "2"] });
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        await page.getByRole("button", { name: /^memory \d+ %, / }).click();
        const span = await app(page, "live.span");
        assert.ok(span && span[1] > span[0], "its span is held");
        await until(page, ([from]) => window.stoke.live.shownSpan[0] === from && window.stoke.shown.total > 0, span);
    });

    test("processes have the change of their CPU time; boxes have the colours of services, if the table lists these", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const page = await live(bench, served);
        const usage = () => page.evaluate(() => fetch("/api/usage?from=-2m").then((reply) => reply.json()).then(({ process }) => Object.keys(process ?? {}).length));
        await eventually(page, () => fetch("/api/status").then((reply) => reply.json()).then(({ time, store }) => store.first && time - store.first >= 10));
        assert.ok(await usage() > 0);
        await page.reload(); /* a page that opens has the changes at once, from the history */
        await until(page, () => window.stoke.live?.processes.length > 0 && window.stoke.live.changes.half > 0);
        assert.ok(await page.evaluate(() => window.stoke.live.changes.readings >= 8), "more than the page has read itself");
        await until(page, () => window.stoke.live.changes.half >= 3);
        const quiet = await page.locator(".live-top th", { hasText: "Change" }).getAttribute("title");
        assert.match(quiet, /^CPU time of the last \d+ s, less that of the \d+ s before$/);
        load(bench);
        await until(page, () => [...document.querySelectorAll(".live-top tbody tr")].some((row) => /^sh\b/.test(row.innerText) && /^\+\d\d+ %$/.test(row.querySelector(".by").innerText)));
        await until(page, () => window.stoke.shown?.total > 0 && window.stoke.steered?.last);
        const rows = () => page.evaluate(() => window.stoke.live.rowOf("sh"));
        assert.equal(await rows(), "sh");
        const looks = await page.evaluate(() => window.stoke.looks);
        await page.getByRole("radio", { name: "Service" }).click();
        assert.equal(await rows(), await page.evaluate(() => window.stoke.live.processes.find((one) => one.name === "sh").service ?? ""));
        assert.ok(await page.evaluate(() => window.stoke.looks) > looks, "the boxes are painted again");
    });

    test("the outermost boxes are processes by their names, also those of the last seconds", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        await eventually(page, () => fetch("/api/status").then((reply) => reply.json()).then(({ time, store }) => store.first && time - store.first >= 6));
        await until(page, () => (window.stoke.shown?.total ?? 0) > 1e9);
        /* The last seconds alone have process IDs instead: wait until the page has older ones, too. */
        await eventually(page, () => window.stoke.core.children(0, 0).then((rows) => rows.length > 0 && rows.every(({ function: f }) => f.process_label)));
        const outermost = await page.evaluate(() => window.stoke.core.children(0, 0).then((rows) => rows.map(({ function: f }) => [f.name, f.kind, f.process_label])));
        assert.ok(outermost.length > 1 && outermost.every(([name, kind, label]) => kind === "process" && label && name.replace(/ \(process( \d+)?\)$/, "") === label), JSON.stringify(outermost));
    });

    test("on a telephone, the live page has a menu with the range, the theme and the keys", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const page = await live(bench, served, "", { viewport: { width: 390, height: 844 } });
        const menu = page.getByRole("button", { name: "Menu" });
        const box = await menu.boundingBox();
        assert.ok(box.x + box.width <= 390 && box.height >= 44, JSON.stringify(box));
        await menu.click();
        await page.getByRole("button", { name: "Dark theme" }).click();
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
        await menu.click();
        await page.getByRole("combobox", { name: "Range of the axis" }).selectOption({ label: "1 h" });
        assert.equal(await app(page, "live.range"), 3600);
        await page.getByRole("button", { name: "Keys" }).click();
        await page.locator(".dialog", { hasText: "Keys" }).waitFor();
        const linked = await live(bench, served, "?panel=processes", { viewport: { width: 390, height: 844 } });
        const tab = linked.getByRole("tab", { name: "Processes" });
        const inView = () => tab.evaluate((one) => { const { left, right } = one.getBoundingClientRect(); return left >= 0 && right <= 390; });
        await until(linked, () => document.querySelector("[role=tab][aria-selected=true]")?.textContent === "Processes");
        assert.ok(await inView(), "the tab of a linked panel is in view");
        await linked.locator(".tabs").evaluate((one) => { one.scrollLeft = 0; });
        assert.ok(!(await inView()), "the tabs scroll");
        await until(linked, () => window.stoke.live.processes.length > 0);
        const cpu = await linked.locator(".processes thead th", { hasText: "CPU" }).boundingBox();
        assert.ok(cpu.x >= 0 && cpu.x + cpu.width <= 390, `the CPU time of processes is in view: ${JSON.stringify(cpu)}`);
        await linked.getByRole("tab", { name: "CPU", exact: true }).click();
        const idle = linked.locator(".live-panel th", { hasText: "idle" });
        await idle.waitFor();
        const { x, width } = await idle.boundingBox();
        assert.ok(x + width <= 390, `all parts of the CPUs' time are in view: ${x}, ${width}`);
    });

    test("notes are written, shown as marks, and removed, if requests need a token", async (bench) => {
        const token = path.join(bench.folder, "token");
        fs.writeFileSync(token, "0123456789abcdef0123\n");
        const served = await daemonOrSkip(bench, { args: ["--token-file", token] });
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served, "?token=0123456789abcdef0123");
        await page.getByRole("button", { name: "+ Note" }).click();
        await page.getByLabel("Note", { exact: true }).fill("deployed 1.2");
        await page.getByRole("button", { name: "Write", exact: true }).click();
        await page.getByRole("button", { name: /^Note: deployed 1\.2, / }).click();
        await page.getByRole("button", { name: "Remove", exact: true }).click();
        await until(page, () => window.stoke.live.notes.length === 0 && !document.querySelector(".live-mark.note"));
    });

    test("shows where threads wait, if the daemon stores that", async (bench) => {
        const served = await daemonOrSkip(bench, { args: ["--off-cpu", "5"] });
        if (!served || /waits are not stored/.test(served.said()))
            return;
        load(bench);
        const nap = spawn("sh", ["-c", "while :; do sleep 1; done"]);
        bench.endWithTest(nap, "SIGKILL");
        const page = await live(bench, served);
        await until(page, () => window.stoke.profile && window.stoke.profile.events.length === 2);
        await page.getByLabel("Weight").selectOption({ label: "Waiting" });
        await until(page, () => window.stoke.shown.event_name === "off-cpu" && window.stoke.shown.total > 0);
        await heardAfter(page, await app(page, "live.heard"));
        await until(page, () => window.stoke.shown.event_name === "off-cpu" && window.stoke.shown.total > 0);
    });

    test("shows metrics, processes and the samples of the last seconds, which move", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        await until(page, () => window.stoke.shown && window.stoke.shown.total > 0);
        const first = await app(page, "live.heard");
        assert.ok(await drawn(page, 0, 54) > 2, "the CPU track is drawn");
        assert.ok(await drawn(page, 54, 46) > 2, "the memory track is drawn");
        await page.locator(".live-table").getByRole("button", { name: /^sh/ }).first().waitFor();
        await until(page, (after) => window.stoke.live.shownSpan[1] > after, first);
        assert.equal(await app(page, "state.order"), 1, "boxes have a fixed order");
        await until(page, () => window.stoke.profile.several_processes); /* the first level of the flame graph */
        assert.match(await page.locator(".live-label").first().innerText(), /CPU\s+[\d.]+ %/);

        /* Paused: the span stays, also in a link to it. */
        await page.getByRole("button", { name: "Pause" }).click();
        const span = await app(page, "live.span");
        assert.equal(span[1] - span[0], 30);
        const heard = await app(page, "live.heard");
        await heardAfter(page, heard);
        assert.deepEqual(await app(page, "live.span"), span);
        assert.match(await page.evaluate(() => location.search), /^\?span=\d+\.\.\d+$/);
        const other = await live(bench, served, await page.evaluate(() => location.search));
        await until(other, () => window.stoke.live.shownSpan);
        assert.deepEqual(await app(other, "live.shownSpan"), span);
        assert.deepEqual(await app(page, "live.span"), span, "clients have selections of their own");

        /* Only the samples of a process; then all, and following. */
        await page.locator(".live-table").getByRole("button", { name: /^sh/ }).first().click();
        await until(page, () => window.stoke.live.labels.length === 1 && window.stoke.name.includes(":"));
        await page.getByRole("button", { name: "Remove process=sh" }).click();
        await page.getByRole("button", { name: "Live", exact: true }).click();
        await until(page, () => window.stoke.live.following && window.stoke.name === "Last 30 s");
        await other.close();
        await page.close();
    });

    test("a dragged span is held, compared, and left by Back; after a restart the page continues", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        await until(page, () => window.stoke.shown && window.stoke.shown.total > 0 && window.stoke.live.series.count > 0);
        const [begin, end] = await app(page, "live.axis");
        assert.ok(end - begin <= 120, "the axis of a young store is not empty");
        await drag(page, 0.8, 0.999);
        await until(page, () => window.stoke.live.span !== null);
        const [from, to] = await app(page, "live.span"), part = (to - from) / (end - begin);
        assert.ok(part > 0.15 && part < 0.25, `${to - from} s`);
        await until(page, () => window.stoke.shown.total > 0 && window.stoke.live.shownSpan[0] === window.stoke.live.span[0]);
        await page.getByRole("button", { name: "Compare" }).click();
        await drag(page, 0.95, 0.999);
        await until(page, () => window.stoke.comparison !== null && window.stoke.comparedWith !== "");
        assert.equal(await app(page, "state.view"), "changes");
        await page.getByRole("button", { name: "End the comparison" }).click();
        await until(page, () => window.stoke.comparedWith === "" && window.stoke.live.before === null);
        await page.getByRole("button", { name: "Live", exact: true }).click();

        bench.expectsErrors = true; /* of the lost connection */
        const heard = await app(page, "live.heard");
        await served.stop();
        await page.getByText(/no data since \d\d:\d\d:\d\d, retrying/).waitFor();
        const again = await daemon(bench, { port: served.port });
        assert.equal(again.port, served.port);
        await heardAfter(page, heard);
        await page.locator(".live-pill", { hasText: "Live" }).waitFor();
    });

    test("more tracks are of each core, of waits and of interrupts; panels have the processes that use most", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const { pid } = load(bench);
        const page = await live(bench, served);
        await until(page, () => window.stoke.live.status && window.stoke.live.heard);
        const titles = () => page.locator(".live-label b").allTextContents();
        assert.deepEqual(await titles(), ["CPU", "Memory", "Disk", "Network", "Pressure"]);
        const { cpus } = await app(page, "live.status");
        await page.getByRole("button", { name: `${cpus + 2} more tracks` }).click();
        await until(page, () => document.querySelector(".live-label.core"));
        const cores = Array.from({ length: cpus }, (_, i) => `Core ${i}`);
        assert.deepEqual(await titles(), ["CPU", ...cores, "Waits", "Memory", "Disk", "Network", "Pressure", "Interrupts"]);
        assert.match(page.url(), /[?&]more=1/);
        await page.waitForFunction(() => /^[\d.]+ %$/.test(document.querySelector(".live-label.core .value")?.textContent));
        /* Their newest values follow, too. */
        await until(page, ([heard]) => window.stoke.live.heard > heard + 1 && window.stoke.live.series.mean("core.0.idle", heard, heard + 1) >= 0, [await app(page, "live.heard")]);
        await page.getByRole("button", { name: "Fewer tracks" }).click();
        assert.equal((await titles()).length, 5);
        for (const [panel, unit] of [["cpu", /^[\d.]+ %$/], ["memory", /^[\d.]+ [KMG]iB$/]]) {
            await page.evaluate((one) => window.stoke.live.setPanel(one), panel);
            const row = page.locator(".live-users tbody tr", { hasText: new RegExp(`^sh (${pid}|\u00d7)`) });
            await row.waitFor();
            assert.match(await row.locator(".barred").innerText(), unit);
        }
        const used = await page.evaluate(() => [...document.querySelectorAll(".live-users .barred i")].map((bar) => Number.parseFloat(bar.style.width)));
        assert.ok(used.length > 1 && used[0] === 100 && used.every((width, i) => i === 0 || width <= used[i - 1]), `${used}`);
        await page.evaluate(() => window.stoke.live.setPanel("cpu"));
        await page.locator(".live-kernel tr", { hasText: /^TIMER/ }).waitFor();
        await until(page, () => document.querySelectorAll(".live-kernel table").length === 2);
        assert.ok((await page.locator(".live-kernel td").allTextContents()).every((text) => /^[\d.,]+\s?[kM]?\/s$/.test(text)));
        if (fs.existsSync("/proc/buddyinfo")) {
            await page.evaluate(() => window.stoke.live.setPanel("memory"));
            await page.locator("th", { hasText: /^4 MiB$|^256 KiB$/ }).first().waitFor();
        }
        await page.evaluate(() => window.stoke.live.setPanel("io"));
        await page.locator(".live-users h2").waitFor();
        assert.equal(await page.locator(".live-users thead th").nth(1).textContent(), "Read and written");
        await page.close();
    });

    test("records a process on demand with progress, and shows the result", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const { pid } = load(bench);
        const page = await live(bench, served, "?panel=processes");
        const record = page.getByRole("button", { name: `Record sh ${pid}` });
        await record.click();
        await page.getByText(/^Recording sh, \d+ of 10 s$/).waitFor();
        await until(page, () => window.stoke.live.recording.seconds > 1);
        assert.ok(await record.isDisabled(), "one recording at a time");
        await page.getByRole("button", { name: "Stop" }).click();
        await until(page, () => window.stoke.live.recorded === "sh" && window.stoke.name === "Recording of sh" && window.stoke.shown?.total > 0);
        assert.equal(await app(page, "live.recording.state"), "recorded");
        await page.locator(".status", { hasText: "Recording of sh" }).waitFor();

        /* It stays while time continues, until it is closed. */
        await heardAfter(page, await app(page, "live.heard"));
        assert.equal(await app(page, "name"), "Recording of sh");
        await page.getByRole("button", { name: "Close the recording" }).click();
        await until(page, () => window.stoke.name === "Last 30 s" && window.stoke.shown.total > 0);
        await page.close();
    });

    test("asks again for a profile while the store is not ready", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        load(bench);
        bench.expectsErrors = true; /* the refused requests */
        const page = await live(bench, served, "", { init: () => {
            const { fetch } = window;
            window.refused = 0;
            window.fetch = (url, ...rest) => {
                const refuses = String(url).startsWith("/api/profile") && window.refused < 2;
                window.refused += refuses;
                return refuses ? Promise.resolve(new Response("The store is written again.", { status: 503, headers: { "Retry-After": window.refused === 1 ? "0" : "1" } }))
                    : fetch(url, ...rest);
            };
            window.pills = [];
            new MutationObserver(() => window.pills.push(document.querySelector(".live-pill")?.textContent)).observe(document, { childList: true, subtree: true, characterData: true });
        } });
        await until(page, () => window.stoke.shown && window.stoke.shown.total > 0);
        assert.equal(await page.evaluate("window.refused"), 2);
        assert.ok((await page.evaluate("window.pills")).includes("the store is not ready, retrying"));
        assert.equal(await page.getByRole("alert").count(), 0);
    });

    test("shows what happens to the store: that it was removed, and that it cannot be written", async (bench) => {
        const folder = path.join(bench.folder, "folder"), store = path.join(folder, "h.db");
        fs.mkdirSync(folder);
        const served = await daemonOrSkip(bench, { store });
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        const stored = () => page.waitForFunction(() => window.stoke.live.status?.store.first > 0, undefined, { polling: 100 });
        await stored();
        assert.equal(await page.locator(".store-note, .fault").count(), 0);
        bench.expectsErrors = true; /* of requests while there is no store */
        fs.rmSync(store);
        const note = page.locator(".store-note", { hasText: /^\d\d:\d\d:\d\d The store was removed: it was written again\./ });
        await note.waitFor();
        await note.getByRole("button", { name: "Close the note" }).click();
        await note.waitFor({ state: "detached" });

        /* A file has the name of the folder: nobody can write below it, root neither. */
        fs.renameSync(folder, `${folder}-away`);
        fs.writeFileSync(folder, "");
        const fault = page.getByRole("alert").filter({ hasText: /^The store cannot be written since \d\d:\d\d:\d\d: .*\d+ windows? waits? in memory\./ });
        await fault.waitFor();
        fs.rmSync(folder);
        fs.renameSync(`${folder}-away`, folder);
        await fault.waitFor({ state: "detached" });
        assert.equal(await page.locator(".store-note").count(), 0, "a closed note stays closed");
        await page.close();
    });

    test("the tree begins with what is largest, in the colours of the list; the summary has the length of the span", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        load(bench);
        const page = await live(bench, served);
        await until(page, () => window.stoke.shown?.total > 0);
        await page.getByRole("tab", { name: "Tree" }).click();
        await until(page, () => {
            const shown = [...document.querySelectorAll(".calls .row")].filter((row) => row.ariaLevel === "1").map((row) => Number.parseFloat(row.querySelector("em").textContent.replace("<", "")));
            return shown.length > 1 && shown.every((share, i) => i === 0 || share <= shown[i - 1]);
        });
        await until(page, () => {
            const named = (where) => [...document.querySelectorAll(where)].find((row) => /^sh\b/.test(row.querySelector(".ends, th")?.innerText.trim() ?? ""));
            const both = [named(".calls .row")?.querySelector(".dot"), named(".live-top tbody tr")?.querySelector(".square")];
            return both.every(Boolean) && getComputedStyle(both[0]).backgroundColor === getComputedStyle(both[1]).backgroundColor;
        });
        await page.getByRole("tab", { name: "Summary" }).click();
        const duration = page.locator(".facts > div", { hasText: "Duration" }).locator("dd");
        await duration.waitFor();
        assert.match(await duration.innerText(), /^[\d.]+ s$/);
        await page.close();
    });

    test("pressure is at most 100 %, also if its clock is not exact", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const page = await live(bench, served, "", { init: () => {
            window.drawn = [];
            const { fillText } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
                if (this.canvas.closest(".live-strips"))
                    window.drawn.push(text);
                return fillText.call(this, text, ...rest);
            };
        } });
        await until(page, () => window.stoke.live?.series.count > 0);
        await page.evaluate(() => {
            const { series } = window.stoke.live, { values } = series;
            series.values = (name) => (name === "pressure.cpu.some" ? new Float64Array(series.count).fill(1.01e6) : values.call(series, name));
            window.drawn = [];
        });
        await until(page, () => window.drawn.filter((text) => / %$/.test(text)).length > 0);
        assert.deepEqual(await page.evaluate(() => [...new Set(window.drawn.filter((text) => /^[\d.]+ %$/.test(text)))]), ["100 %"]);
        await page.close();
    });
};
