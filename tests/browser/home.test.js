/* SPDX-License-Identifier: Apache-2.0 */
/* The home of stoke view: recording a process, recent recordings, an example. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { spawn, spawnSync } = require("child_process");
const { PATIENCE, settle } = require("./activity.js");
const { boxOf, key, saved, serveHome } = require("./pages.js");

const LOAD = path.join(__dirname, "..", "cli", "load.c");

/* A busy process of load.c; null without a compiler. */
function busy(bench) {
    const program = path.join(bench.folder, "busyload");
    if (spawnSync("cc", ["-O0", "-g", LOAD, "-o", program]).status !== 0)
        return null;
    const child = spawn(program, { stdio: "ignore" });
    bench.endWithTest(child, "SIGKILL");
    return child.pid;
}

const records = (bench) => spawnSync(process.env.STOKE, ["record", "-q", "-o", path.join(bench.folder, "try.data"), "true"]).status === 0;

module.exports = (test) => {
    if (!require("./built.js"))
        return;

    test("a running process is recorded and shown", async (bench) => {
        const pid = records(bench) ? busy(bench) : null;
        if (pid === null) {
            bench.note("skipped: no compiler, or the kernel does not let us record");
            return;
        }
        const { address, folder } = await serveHome(bench);
        const page = await bench.open(address);
        await page.waitForSelector("#app[data-ready]");
        assert.equal(new URL(page.url()).pathname, "/", "no token in the address");

        /* Found by its name; the command line is that of the settings. */
        await page.keyboard.press("/");
        await page.keyboard.type("busyload");
        const row = page.locator(".list tbody tr", { hasText: "busyload" });
        await row.waitFor();
        assert.equal(await page.locator(".below").evaluate((one) => (one.textContent.trim() ? 0 : one.offsetHeight)), 0, "no empty line below the list");
        assert.equal(await page.locator(".record").isEnabled(), false);
        await row.click();
        await page.getByRole("radio", { name: "499" }).check();
        await page.getByRole("radio", { name: "Until stop" }).check();
        await page.getByRole("switch", { name: "waits" }).click();
        await page.waitForFunction((p) => new RegExp(`^stoke record --bundle -o busyload-[-0-9]+\\.stoke -F 499 -g auto --off-cpu -p ${p}$`)
            .test(document.querySelector(".line-of").textContent), pid);
        assert.equal(await page.locator(".options h2").textContent(), `busyload, process ${pid}`);

        /* Recorded until 0.5 s of CPU time were used; then it is shown. */
        const used = () => {
            const fields = fs.readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ");
            return Number(fields[11]) + Number(fields[12]);
        };
        await page.locator(".record").click();
        await page.locator(".recording").waitFor();

        /* Another page shows it, cannot start a second one, and stays where it is at the end. */
        const other = await page.context().newPage();
        await other.goto(new URL("/home", page.url()).href);
        await other.locator(".recording", { hasText: "busyload" }).waitFor();
        const before = used();
        for (const until = Date.now() + PATIENCE; used() < before + 50;) {
            assert.ok(Date.now() < until);
            await new Promise((done) => setTimeout(done, 100));
        }
        await page.locator(".recording button").click();
        await page.waitForURL(/\/view\/[0-9a-f]{16}/);
        await page.waitForSelector("#app[data-ready]");
        await settle(page);
        assert.match(await page.locator(".file").textContent(), /^busyload-.*\.stoke$/);
        assert.ok(await boxOf(page, "leaf"), "its function has no box");
        await other.locator(".options [role=status]", { hasText: "Recorded busyload" }).waitFor();
        assert.equal(new URL(other.url()).pathname, "/home");
        await other.locator(".recents button", { hasText: "busyload" }).waitFor();
        await other.close();
        assert.deepEqual(fs.readdirSync(folder).map((name) => name.replace(/[0-9-]+/, "N")), ["busyloadN.stoke"]);

        /* A saved copy has no home, and connects to nothing. */
        const copy = await saved(page, "Page");
        const text = copy.text.toString();
        assert.doesNotMatch(text, /<meta[^>]*connect-src/);
        assert.doesNotMatch(text, /<script[^>]*id="home"/);
        await page.keyboard.press("Escape");

        /* The home lists it, and opens it again. */
        await page.locator("a.brand").click();
        await page.waitForURL(/\/home$/);
        await page.locator(".recents button", { hasText: "busyload" }).click();
        await page.waitForURL(/\/view\//);
        await page.waitForSelector("#app[data-ready]");
        await page.waitForFunction(() => window.stoke.shown?.total > 0);
        await page.reload();
        await page.waitForFunction(() => window.stoke?.shown?.total > 0);

        /* A chosen process that has ended is chosen no more. */
        await page.locator("a.brand").click();
        await page.waitForURL(/\/home$/);
        await page.locator(".list tbody tr", { hasText: "busyload" }).click();
        bench.expectsErrors = true; /* the server may refuse to plan a recording of it */
        process.kill(pid, "SIGKILL");
        await page.getByText("busyload has ended").waitFor();
        assert.equal(await page.locator(".options h2").textContent(), "No process chosen");
    });

    test("recent recordings say what they contain; two of them are compared, by mouse and by keyboard", async (bench) => {
        const { address, folder } = await serveHome(bench);
        const stack = (pid, at, weight, leaf) => `load ${pid}/${pid} [000] ${at}: ${weight} cpu-clock:\n\tff02 ${leaf}+0x1 (/bin/load)\n\tff01 main+0x1 (/bin/load)\n\n`;
        fs.writeFileSync(path.join(folder, "old.perf"), stack(7, "1.000000", 2e9, "slow") + stack(7, "3.500000", 1e9, "same"));
        fs.writeFileSync(path.join(folder, "new.perf"), stack(8, "1.000000", 1e9, "fast") + stack(9, "2.000000", 1e9, "same"));
        fs.writeFileSync(path.join(folder, "many.perf"), ["cycles", "instructions", "branches", "faults", "cache-misses", "migrations"].map((event) => stack(7, "1.000000", 1, "slow").replace("cpu-clock", event)).join(""));
        fs.writeFileSync(path.join(folder, "bad.pprof"), Buffer.alloc(100));
        const page = await bench.open(address);
        const row = (name) => page.locator(".recents tbody tr", { hasText: name });
        const contents = async (name, expected) => {
            await page.waitForFunction((file) => window.stoke.home.machine?.recent.find((one) => one.name === file)?.about, name);
            await settle(page);
            assert.match((await row(name).locator("td").allTextContents()).slice(1, 3).join("|"), expected);
        };
        await contents("old.perf", /^load \u00b7 3 s CPU time \u00b7 2 samples\|2\.50 s$/);
        await contents("new.perf", /^load and 1 other process \u00b7 2 s CPU time \u00b7 2 samples\|1 s$/);
        await contents("many.perf", /^load \u00b7 1 cycles \u00b7 1 instructions \u00b7 also branches, faults, cache-misses\u2026 \u00b7 6 samples\|$/);
        await contents("bad.pprof", /^Cannot be read: ./);
        assert.equal(await row("bad.pprof").locator(".act button").count(), 0);

        /* By mouse: the first choice is the recording before; Cancel and a second click end it. */
        await page.getByRole("button", { name: "Compare new.perf" }).click();
        assert.match(await page.locator(".comparing").textContent(), /^new\.perf is the recording before\./);
        await page.locator(".comparing button").click();
        await page.getByRole("button", { name: "Compare new.perf" }).click();
        await page.getByRole("button", { name: "Before: new.perf" }).click();
        assert.equal(await page.locator(".comparing").textContent(), "");
        const compared = async () => {
            await page.waitForURL(/\/view\/[0-9a-f]{16}\/[0-9a-f]{16}$/);
            await page.waitForSelector("#app[data-ready]");
            await page.waitForFunction(() => window.stoke.comparedWith !== "");
            await settle(page);
            return page.locator(".file").textContent();
        };
        await page.getByRole("button", { name: "Compare old.perf" }).click();
        await page.getByRole("button", { name: "After: new.perf" }).click();
        assert.equal(await compared(), "old.perf \u2192 new.perf");
        await page.goto(page.url().replace(/#.*/, ""));
        assert.equal(await compared(), "old.perf \u2192 new.perf", "loaded again");

        /* By keyboard, the other way round; Escape ends the choice. */
        await page.goto(new URL("/home", page.url()).href);
        await page.getByRole("button", { name: "Compare new.perf" }).focus();
        await page.keyboard.press("Enter");
        await page.locator(".comparing button").waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Compare new.perf" }).waitFor();
        await page.keyboard.press("Enter"); /* the focus stays */
        await page.getByRole("button", { name: "After: old.perf" }).focus();
        await page.keyboard.press("Enter");
        assert.equal(await compared(), "new.perf \u2192 old.perf");
    });

    test("a command's heap can be recorded with it; the cost is estimated; all recent recordings can be listed", async (bench) => {
        const { address, folder } = await serveHome(bench);
        for (let i = 0; i < 11; i++)
            fs.writeFileSync(path.join(folder, `r${i}.folded`), "main 1\n");
        const page = await bench.open(address);
        await page.waitForSelector("#app[data-ready]");
        const heap = page.getByRole("switch", { name: "heap" });
        await page.getByRole("radio", { name: "Whole machine" }).check();
        assert.equal(await heap.isEnabled(), false);
        await page.getByRole("radio", { name: "Running process" }).check();
        assert.deepEqual([await heap.isEnabled(), await page.locator(".cost").count()], [true, 0]);
        await page.getByRole("radio", { name: "Command" }).check();
        await page.getByLabel("Command line").fill("true");
        await heap.click();
        await page.waitForFunction(() => / -g auto --heap --duration 10 -- true$/.test(document.querySelector(".line-of").textContent));
        assert.equal(await page.locator(".cost").textContent(), "about 0.2 % of one CPU, 30 KB");
        await page.getByRole("radio", { name: "999" }).check();
        await page.getByRole("radio", { name: "Frame ptr" }).check();
        assert.equal(await page.locator(".cost").textContent(), "about 1.0 % of one CPU, 260 KB");
        const rows = page.locator(".recents tbody tr");
        assert.equal(await rows.count(), 8);
        await page.getByRole("button", { name: "All 11" }).click();
        assert.equal(await rows.count(), 11);
    });

    test("the heap of a running process can be recorded", async (bench) => {
        const { address } = await serveHome(bench);
        const child = spawn("python3", ["-c", "import time\nprint(1, flush=True)\nkeep = []\nwhile True:\n    keep.append(bytearray(300000))\n    time.sleep(.01)\n    del keep[:-20]"]);
        bench.endWithTest(child, "SIGKILL");
        await new Promise((done) => child.stdout.once("data", done)); /* it has started */
        const page = await bench.open(address);
        await page.waitForSelector("#app[data-ready]");
        await page.waitForFunction((pid) => fetch("/api/processes").then((reply) => reply.json()).then(({ processes }) => processes.some((one) => one.pid === pid && /^python/.test(one.name))), child.pid, { polling: 300 }); /* not a shim of it */
        await page.getByLabel("Search processes").fill(String(child.pid));
        await page.getByRole("checkbox", { name: new RegExp(`process ${child.pid}`) }).check();
        await page.getByRole("switch", { name: "heap" }).click();
        assert.equal(await page.getByLabel("Event").isEnabled(), false);
        assert.equal(await page.getByRole("radio", { name: "999" }).isEnabled(), false);
        await page.getByLabel("Seconds; 0").fill("2");
        await page.waitForFunction((pid) => new RegExp(`^stoke heap -o [\\w.-]+\\.stoke --duration 2 -p ${pid}$`).test(document.querySelector(".line-of").textContent), child.pid);
        await page.locator(".record").click();
        await page.waitForURL(/\/view\//); /* the recording is opened */
        await page.waitForSelector("#app[data-ready]");
        await page.waitForFunction(() => Boolean(window.stoke.memory.info) && window.stoke.shown?.total > 0);
        assert.ok(await page.evaluate(() => window.stoke.profile.events.some((event) => event.name === "allocated")));
        assert.equal(child.exitCode, null, "the process runs on");
    });

    test("a recording that fails says why; a command is split as a shell does it", async (bench) => {
        const { address } = await serveHome(bench);
        const page = await bench.open(address);
        bench.expectsErrors = true; /* the console reports a refused request */
        await page.waitForSelector("#app[data-ready]");
        await page.getByRole("radio", { name: "Command" }).check();
        await page.getByLabel("Command line").fill("./missing 'a b' \"c \\\" d\" e\\ f ''");
        await page.waitForFunction(() => document.querySelector(".line-of").textContent.endsWith(`-- ./missing 'a b' 'c " d' 'e f' ''`));
        await page.locator(".record").click();
        await page.waitForFunction(() => document.querySelector(".options [role=alert]"));
        assert.match(await page.locator(".options [role=alert]").textContent(), /^The recording failed\.cannot run '\.\/missing'/);

        /* The example needs no server. */
        await page.getByText("Try an example").click();
        await page.waitForFunction(() => window.stoke.shown?.total > 0);
        await key(page, "3");
        await page.locator(".functions .row", { hasText: "deflate_block" }).first().waitFor();
    });
};
