/* SPDX-License-Identifier: Apache-2.0 */
/* The panels of the live page, beside what /proc says at the same time. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const net = require("net");
const os = require("os");
const path = require("path");
const { app, daemonOrSkip, live, load, until } = require("./live_pages.js");

const UNITS = { "%": 0.01, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "/s": 1 };

/* "1.5 GiB", "3,200/s", "12 %": the number that is meant. */
function number(text) {
    const found = /^([\d.,\u202f]+)\s*(\S*)$/.exec(text.trim());
    assert.ok(found && (!found[2] || UNITS[found[2]]), `a number: '${text}'`);
    return Number(found[1].replace(/[,\u202f]/g, "")) * (found[2] ? UNITS[found[2]] : 1);
}

function near(shown, truth, part, least, what) {
    assert.ok(Math.abs(shown - truth) <= Math.max(part * truth, least), `${what}: ${shown} is shown, ${truth} is in /proc`);
}

/* The texts of a table, by the text of its first column. */
const rows = async (page, table) => new Map((await page.locator(table).locator("tbody tr").evaluateAll(
    (all) => all.map((row) => [...row.children].map((cell) => cell.innerText)))).map(([name, ...rest]) => [name, rest]));

const openPanel = (page, title) => page.getByRole("tab", { name: title, exact: true }).click();
const read = (file) => fs.readFileSync(file, "utf8");

/* Text of a file of a process; empty if it has ended. */
function ofProcess(pid, file) {
    try {
        return read(`/proc/${pid}/${file}`);
    } catch {
        return "";
    }
}

function kib(file, field) {
    const found = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(file);
    return Number(found?.[1]) * 1024;
}

/* Busy and all ticks of a CPU's line of /proc/stat. */
function ticks() {
    const modes = read("/proc/stat").split("\n")[0].trim().split(/\s+/).slice(1, 9).map(Number);
    const all = modes.reduce((a, b) => a + b, 0);
    return { all, busy: all - modes[3] - modes[4] };
}

/* Counters of a file by name: bytes that disks wrote, that interfaces received. */
const written = () => new Map(read("/proc/diskstats").trim().split("\n").map((line) => line.trim().split(/\s+/)).map((words) => [words[2], Number(words[9]) * 512]));
const received = () => new Map(read("/proc/net/dev").trim().split("\n").slice(2).map((line) => line.split(":")).map(([name, rest]) => [name.trim(), Number(rest.trim().split(/\s+/)[0])]));

async function checkCpus(page) {
    await openPanel(page, "CPU");
    await page.locator(".live-panel th", { hasText: "idle" }).waitFor();
    const before = ticks(), from = await app(page, "live.heard");
    let busy = 0, readings = 0, heard = from;
    while (readings < 4) {
        await until(page, (after) => window.stoke.live.heard > after, heard);
        heard = await app(page, "live.heard");
        const cpus = await rows(page, ".live-panel table >> nth=1");
        assert.equal(cpus.size, os.cpus().length);
        for (const cells of cpus.values())
            busy += cells.slice(0, 6).reduce((sum, cell) => sum + number(cell), 0) / cpus.size;
        readings++;
    }
    const after = ticks();
    near(busy / readings, (after.busy - before.busy) / (after.all - before.all), 0, 0.3, "busy time of the CPUs");
    const figures = await rows(page, ".live-panel table >> nth=0");
    near(number(figures.get("Load, 1 min")[0]), Number(read("/proc/loadavg").split(" ")[0]), 0.3, 1, "load");
}

async function checkMemory(page) {
    await openPanel(page, "Memory");
    await page.locator(".live-panel th", { hasText: "Available" }).waitFor();
    const shown = await rows(page, ".live-panel table"), file = read("/proc/meminfo");
    const figure = (name) => number(shown.get(name)[0]);
    near(figure("Total"), kib(file, "MemTotal"), 0.01, 0, "total");
    for (const [name, field] of [["Free", "MemFree"], ["Available", "MemAvailable"], ["Cached", "Cached"], ["Slab", "Slab"], ["Anonymous", "AnonPages"]])
        near(figure(name), kib(file, field), 0.2, 0.05 * kib(file, "MemTotal"), name);
}

const PIECE = 2 ** 20;

/* Sends through the interface lo and writes to a disk, in pieces, until the test ends. */
function startTraffic(bench) {
    const file = path.join(bench.folder, "written"), piece = Buffer.alloc(PIECE, "x");
    const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    const client = new Promise((done) => server.on("listening", () => done(net.connect(server.address().port, "127.0.0.1"))));
    const timer = setInterval(async () => {
        const fd = fs.openSync(file, "w");
        fs.writeSync(fd, piece);
        fs.fsyncSync(fd);
        fs.closeSync(fd);
        (await client).write(piece);
    }, 100);
    bench.children.push({ close: async () => {
        clearInterval(timer);
        (await client).destroy();
        server.close();
    } });
}

/* The mean of some readings, beside the mean of the counters. A test that waits for a CPU
 * has few readings of a traffic that varies, so both are only of the same size. */
async function checkDevices(page, bench) {
    await openPanel(page, "I/O");
    startTraffic(bench);
    await page.locator(".live-panel th", { hasText: "Interface" }).waitFor();
    await until(page, (least) => window.stoke.live.latest.get("net.lo.in") > least, PIECE / 2);
    const began = Date.now(), net0 = received(), disks0 = written();
    let lo = 0, writes = 0, disks = [], heard = await app(page, "live.heard");
    const readings = 4;
    for (let i = 0; i < readings; i++) {
        await until(page, (after) => window.stoke.live.heard > after, heard);
        heard = await app(page, "live.heard");
        const interfaces = await rows(page, "table:has(th:text-is('Interface'))"), all = await rows(page, "table:has(th:text-is('Disk'))");
        disks = [...all.keys()];
        assert.ok([...interfaces.keys()].every((name) => net0.has(name)), [...interfaces.keys()].join());
        assert.ok(disks.every((name) => disks0.has(name)), disks.join());
        lo += number(interfaces.get("lo")[0]) / readings;
        for (const cells of all.values())
            writes += number(cells[1]) / readings;
    }
    const seconds = (Date.now() - began) / 1000, now = written();
    const same = (shown, truth, what) => assert.ok(truth > 0 && shown > truth / 5 && shown < truth * 5, `${what}: ${shown} is shown, ${truth} is in /proc`);
    same(lo, (received().get("lo") - net0.get("lo")) / seconds, "lo");
    const rate = disks.reduce((sum, name) => sum + now.get(name) - disks0.get(name), 0) / seconds;
    if (rate > PIECE / 2) /* otherwise the folder is not on a disk */
        same(writes, rate, "disks");
}

async function checkProcesses(page, busy) {
    await openPanel(page, "Processes");
    await page.getByLabel("Find a process").fill(String(busy.pid));
    const row = page.locator(".live-panel tbody tr", { has: page.locator(`td:text-is("${busy.pid}")`) });
    await row.waitFor();
    await until(page, (pid) => window.stoke.live.processes.some((p) => p.pid === pid && p.cpu > 0 && p.pss), busy.pid);
    const [, name, , , , cpu, rss, pss, , , threads] = await row.locator("td, th").allInnerTexts();
    const status = read(`/proc/${busy.pid}/status`);
    assert.equal(name, "sh");
    assert.equal(threads, "1");
    near(number(rss), kib(status, "VmRSS"), 0.2, 2 ** 19, "resident memory");
    near(number(pss), kib(read(`/proc/${busy.pid}/smaps_rollup`), "Pss"), 0.5, 2 ** 19, "proportional memory");
    assert.ok(number(cpu) > 0 && number(cpu) <= 1.1, cpu);
    const count = fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).length;
    near(await app(page, "live.processCount"), count, 0.3, 20, "number of processes");
}

async function checkServices(page) {
    await page.getByRole("tab").first().click();
    await page.getByRole("radio", { name: "Service" }).click();
    const all = await app(page, "live.processes");
    const services = new Set(all.map((p) => p.service ?? ""));
    const shown = [...(await rows(page, ".live-top table")).keys()];
    assert.ok(shown.length > 0 && shown.length <= Math.max(20, services.size));
    for (const p of all) {
        const groups = ofProcess(p.pid, "cgroup");
        assert.ok(!p.service || !groups || groups.includes(p.service), `${p.name} is in ${groups}, not in ${p.service}`);
        if (!p.service && shown.length < 20)
            assert.ok(shown.some((name) => name.startsWith("no service")), shown.join());
    }
    await page.getByRole("radio", { name: "Process" }).click();
}

module.exports = (test) => {
    if (!require("./built.js")) {
        test("the live page's panels # SKIP this stoke was built without it", () => undefined);
        return;
    }

    test("CPUs, memory, disks, network, processes and services as in /proc", async (bench) => {
        const served = await daemonOrSkip(bench);
        if (!served)
            return;
        const busy = load(bench);
        const page = await live(bench, served);
        await until(page, () => window.stoke.shown && window.stoke.live.processes.length > 0 && window.stoke.live.heard > 0);
        await checkCpus(page);
        await checkMemory(page);
        await checkDevices(page, bench);
        await checkProcesses(page, busy);
        await checkServices(page);
    });
};
