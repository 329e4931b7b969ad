/* The browser of bench/viewer: its processes, and files opened in its page. */
"use strict";

const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

function percentile(values, part) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

function launch() {
    return chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-quic", "--disable-background-networking"] });
}

/* The processes of our browser that show pages. */
function renderers() {
    const parents = new Map(), found = [];
    for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
        try {
            parents.set(pid, /PPid:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
            if (fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer"))
                found.push(pid);
        } catch {
            /* it has ended */
        }
    return found.filter((pid) => {
        while (pid && pid !== String(process.pid))
            pid = parents.get(pid);
        return pid;
    });
}

/* Unshared memory of processes in megabytes. */
function memoryOf() {
    let sum = 0;
    for (const pid of renderers())
        try {
            const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
            for (const [, kilobytes] of text.matchAll(/Private_(?:Clean|Dirty):\s+(\d+)/g))
                sum += Number(kilobytes) / 1000;
        } catch {
            /* it has ended */
        }
    return sum;
}

/* CPU time in milliseconds of a thread of the page or its worker. */
function timeOf(pid, thread) {
    const folder = `/proc/${pid}/task/${thread}`;
    try {
        if (thread !== pid && !fs.readFileSync(`${folder}/comm`, "utf8").startsWith("DedicatedWorker"))
            return 0;
        return Number(fs.readFileSync(`${folder}/schedstat`, "utf8").split(" ")[0]) / 1e6;
    } catch {
        return 0; /* it has ended */
    }
}

function threadTime() {
    let sum = 0;
    for (const pid of renderers())
        for (const thread of fs.readdirSync(`/proc/${pid}/task`))
            sum += timeOf(pid, thread);
    return sum;
}

/* A browser that has just started can ignore a key. */
async function choose(page) {
    for (let tries = 5; ; tries--) {
        const chooser = page.waitForEvent("filechooser", { timeout: 6000 }).catch(() => null);
        await page.keyboard.press("Control+o");
        const came = await chooser;
        if (came || tries === 0)
            return came;
    }
}

async function emptyPage(browser) {
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    await page.goto("file://" + path.join(process.env.STOKE_BUILD, "src", "export", "viewer.html"));
    await page.waitForSelector("#app[data-ready]");
    return page;
}

/* Opens a file in the page; returns the seconds of wall-clock and of CPU time. */
async function openFile(page, input) {
    const chooser = await choose(page);
    const before = Date.now(), cpu = threadTime();
    await chooser.setFiles(input);
    await page.waitForFunction(() => (window.stoke.shown && !window.stoke.loading) || window.stoke.fault, null, { timeout: 600000, polling: 50 });
    const took = { seconds: (Date.now() - before) / 1000, cpu: (threadTime() - cpu) / 1000 };
    const fault = await page.evaluate(() => window.stoke.fault && window.stoke.fault.message);
    if (fault)
        throw new Error(fault);
    return took;
}

module.exports = { percentile, launch, memoryOf, threadTime, emptyPage, openFile };
