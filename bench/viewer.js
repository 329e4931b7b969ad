/* See bench/viewer. */
"use strict";

const fs = require("fs");
const path = require("path");
const { execFileSync, spawnSync } = require("child_process");
const { chromium } = require("playwright-core");

const build = process.env.STOKE_BUILD;
const FRAMES = 60;

/* CPU seconds of a program and all that it starts. */
function cpuOf(command, ...args) {
    const before = process.resourceUsage();
    const done = spawnSync("sh", ["-c", "\"$@\" >/dev/null; times", "sh", command, ...args], { encoding: "utf8" });
    void before;
    if (done.status !== 0)
        throw new Error(done.stderr);
    const [, line] = done.stdout.trim().split("\n"); /* the children's user and system time */
    return line.trim().split(/\s+/).map((text) => {
        const [, minutes, seconds] = /(\d+)m([\d.]+)s/.exec(text);
        return Number(minutes) * 60 + Number(seconds);
    }).reduce((a, b) => a + b, 0);
}

/* What only starting costs is left out of both. */
function readings(input) {
    const reader = path.join(__dirname, "viewer_read.mjs");
    const wasm = path.join(build, "src", "export", "core", "core.wasm");
    const empty = input + ".empty";
    fs.writeFileSync(empty, fs.readFileSync(input).subarray(0, 20000));
    const least = { native: Infinity, wasm: Infinity, start: Infinity };
    for (let i = 0; i < 3; i++) {
        least.native = Math.min(least.native, cpuOf(process.env.STOKE, "fold", "--quiet", "--threads", "1", input));
        least.start = Math.min(least.start, cpuOf("node", reader, wasm, empty));
        least.wasm = Math.min(least.wasm, cpuOf("node", reader, wasm, input));
    }
    return { native: least.native, wasm: least.wasm - least.start };
}

function percentile(values, part) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/* Pans and zooms over the chart of all boxes; script time of each frame, in ms. */
async function frames(page, key) {
    await page.keyboard.press(key);
    await page.waitForFunction(() => window.stoke.steered && window.stoke.steered.last, null, { timeout: 120000 });
    return page.evaluate(async (count) => {
        const app = window.stoke, view = app.steered;
        const drawn = () => new Promise((done) => {
            const before = view.last;
            const look = () => (view.last !== before ? done() : requestAnimationFrame(look));
            look();
        });
        app.micros.length = 0;
        const full = view.info.to;
        for (let i = 0; i < count; i++) {
            const span = full * (0.02 + 0.98 * Math.abs(Math.cos(i / 17)));
            view.setWindow((full - span) * Math.abs(Math.sin(i / 29)), (full - span) * Math.abs(Math.sin(i / 29)) + span);
            view.setScroll((i * 7) % 400);
            await drawn();
        }
        return { boxes: view.info.boxes, rows: view.info.rows, micros: app.micros.slice() };
    }, FRAMES);
}

async function open(input) {
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM,
        args: ["--no-sandbox", "--disable-quic", "--disable-background-networking"] });
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    await page.goto("file://" + path.join(build, "src", "export", "viewer.html"));
    await page.waitForSelector("#app[data-ready]");
    const chooser = page.waitForEvent("filechooser");
    await page.keyboard.press("Control+o");
    const before = Date.now();
    await (await chooser).setFiles(input);
    await page.waitForFunction(() => window.stoke.shown || window.stoke.fault, null, { timeout: 600000, polling: 50 });
    const seconds = (Date.now() - before) / 1000;
    const fault = await page.evaluate(() => window.stoke.fault && window.stoke.fault.message);
    if (fault)
        throw new Error(fault);
    const result = { seconds, charts: [] };
    for (const [key, name] of [["1", "time order"], ["2", "left heavy"]])
        result.charts.push({ name, ...(await frames(page, key)) });
    result.megabytes = memoryOf(browser);
    await browser.close();
    return result;
}

/* The largest of the browser's processes: the page and its worker. */
function memoryOf() {
    let most = 0;
    for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
        try {
            const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
            const line = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
            if (line.includes("--type=renderer"))
                most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1000);
        } catch {
            /* it has ended */
        }
    return most;
}

async function main() {
    const [, , folder, ...kinds] = process.argv;
    for (const word of kinds.flatMap((kind) => kind.split(" "))) {
        const [kind, megabytes] = word.split("=");
        const input = path.join(folder, `${kind}.txt`);
        const out = fs.openSync(input, "w");
        execFileSync(path.join(build, "bench", "generate"), [kind, megabytes], { stdio: ["ignore", out, "inherit"] });
        fs.closeSync(out);
        const cpu = readings(input);
        console.log(`${kind} ${megabytes} MB: read in ${cpu.native.toFixed(2)} s by the program, ${cpu.wasm.toFixed(2)} s as WebAssembly: ` +
            `${(cpu.wasm / cpu.native).toFixed(2)} times (CPU, one thread)`);
        const page = await open(input);
        console.log(`${kind} ${megabytes} MB: open in the page after ${page.seconds.toFixed(1)} s, at most ${page.megabytes.toFixed(0)} MB`);
        for (const chart of page.charts)
            console.log(`${kind} ${megabytes} MB, ${chart.name}: ${chart.boxes} boxes in ${chart.rows} rows; script time of a frame ` +
                `${(percentile(chart.micros, 0.5) / 1000).toFixed(1)} ms (median), ${(percentile(chart.micros, 0.95) / 1000).toFixed(1)} ms (95 %)`);
        fs.rmSync(input);
    }
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
