/* See bench/viewer. */
"use strict";

const fs = require("fs");
const path = require("path");
const { execFileSync } = require("child_process");
const { percentile, launch, memoryOf, threadTime, emptyPage, openFile } = require("./viewer_browser.js");

const build = process.env.STOKE_BUILD;
const FRAMES = 120;
const READINGS = 3;

/* --- Reading, without a browser ------------------------------------------------------------ */

/* Parses the output of a reader into numbers by name. */
function steps(command, ...args) {
    const text = execFileSync(command, args, { encoding: "utf8" });
    return Object.fromEntries(text.trim().split("\n").map((line) => line.split(" ")).map(([name, value]) => [name, Number(value)]));
}

/* CPU seconds of the program with one thread. */
function fold(input) {
    const script = "\"$0\" fold --quiet --threads 1 \"$1\" >/dev/null; times";
    const [, children] = execFileSync("sh", ["-c", script, process.env.STOKE, input], { encoding: "utf8" }).trim().split("\n");
    return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, minutes, seconds]) => sum + minutes * 60 + Number(seconds), 0);
}

/* The minimum of several runs in turn. */
function readings(input) {
    const wasm = path.join(build, "src", "export", "core", "core.wasm");
    const runs = { native: [], wasm: [], fold: [] };
    for (let i = 0; i < READINGS; i++) {
        runs.native.push(steps(path.join(build, "bench", "viewer_read"), input));
        runs.wasm.push(steps("node", path.join(__dirname, "viewer_read.mjs"), wasm, input));
        runs.fold.push(fold(input));
    }
    const least = (list, name) => Math.min(...list.map((run) => run[name]));
    for (const name of ["read", "show", "time", "heavy"]) {
        const native = least(runs.native, name), page = least(runs.wasm, name);
        console.log(`  ${name}: ${native.toFixed(2)} s by the core built for this machine, ${page.toFixed(2)} s as WebAssembly: ` +
            `${(page / native).toFixed(2)} times (CPU)`);
    }
    console.log(`  'stoke fold' with one thread takes ${Math.min(...runs.fold).toFixed(2)} s (CPU): it keeps no sample's time; ` +
        `WebAssembly has ${least(runs.wasm, "megabytes")} MB`);
}

/* --- The page ------------------------------------------------------------------------------ */

/* Changes the state of the page and waits until it is drawn. */
function moveTo([from, to, scroll]) {
    const { steered } = window.stoke;
    return new Promise((done) => {
        const before = steered.last;
        const look = () => (steered.last !== before ? done() : requestAnimationFrame(look));
        steered.setScroll(scroll);
        steered.setWindow(from, to);
        look();
    });
}

/* Pans and zooms over the chart of all boxes. */
async function frames(page, key) {
    const begun = Date.now();
    await page.evaluate(() => { window.stoke.steered = null; });
    await page.keyboard.press(key);
    await page.waitForFunction(() => window.stoke.steered && window.stoke.steered.last, null, { timeout: 120000, polling: 20 });
    const first = (Date.now() - begun) / 1000;
    const full = await page.evaluate(() => {
        window.stoke.micros.length = 0;
        return window.stoke.steered.info.to;
    });
    const cpu = [];
    for (let i = 0; i < FRAMES; i++) {
        const span = full * (0.02 + 0.98 * Math.abs(Math.cos(i / 17)));
        const from = (full - span) * Math.abs(Math.sin(i / 29));
        const before = threadTime();
        await page.evaluate(moveTo, [from, from + span, (i * 7) % 400]);
        cpu.push(threadTime() - before);
    }
    const stats = await page.evaluate(() => {
        const { micros, steered } = window.stoke;
        return { boxes: steered.info.boxes, rows: steered.info.rows, script: micros.map((one) => one / 1000) };
    });
    return { ...stats, cpu, first };
}

async function open(input) {
    const browser = await launch();
    let most = 0;
    const watch = setInterval(() => { most = Math.max(most, memoryOf()); }, 200);
    try {
        const page = await emptyPage(browser);
        const { seconds, cpu } = await openFile(page, input);
        console.log(`  open in the page after ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU`);
        for (const [key, name] of [["1", "flame graph"], ["2", "time order"]])
            print(name, await frames(page, key));
        most = Math.max(most, memoryOf());
        console.log(`  at most ${most.toFixed(0)} MB of its own`);
    } finally {
        clearInterval(watch);
        await browser.close();
    }
}

function print(name, chart) {
    const both = (values) => `${percentile(values, 0.5).toFixed(1)} ms (median), ${percentile(values, 0.95).toFixed(1)} ms (95 %)`;
    console.log(`  ${name}: ${chart.boxes} boxes in ${chart.rows} rows, drawn first after ${chart.first.toFixed(1)} s`);
    console.log(`    script time of a frame ${both(chart.script)}; CPU of the page and its worker ${both(chart.cpu)}`);
}

async function main() {
    const [, , folder, ...kinds] = process.argv;
    for (const word of kinds.flatMap((kind) => kind.split(" "))) {
        const [kind, megabytes] = word.split("=");
        const input = path.join(folder, `${kind}.txt`);
        const out = fs.openSync(input, "w");
        execFileSync(path.join(build, "bench", "generate"), [kind, megabytes], { stdio: ["ignore", out, "inherit"] });
        fs.closeSync(out);
        console.log(`${kind}, ${megabytes} MB:`);
        readings(input);
        await open(input);
        fs.rmSync(input);
    }
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
