/* See bench/viewer --answers. */
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { execFileSync, spawn } = require("child_process");
const { percentile, launch, threadTime, emptyPage, openFile } = require("./viewer_browser.js");

const build = process.env.STOKE_BUILD;
const PICTURE_MOST = 1000; /* ms */
const FRAME_MOST = 17.5; /* ms between two frames: 60 per second, with the clock's inaccuracy */
const ANSWER_MOST = 50; /* ms */
const SAMPLE_BYTES = 690; /* of the text of `generate waits` */
const FRAMES = 240;
const SCROLLED = 46; /* pixels per frame */
const CLICKS = 9; /* in each view */

let missed = 0;

const median = (values) => percentile(values, 0.5);

/* Other work on the machine makes the times longer. */
const load = () => `load ${os.loadavg()[0].toFixed(1)}`;

function limit(what, value, most, unit) {
    const met = value <= most;
    missed += met ? 0 : 1;
    console.log(`  ${what}: ${value.toFixed(1)} ${unit}, at most ${most} ${met ? "ok" : "MISSED"} (${load()})`);
}

/* --- Inputs -------------------------------------------------------------------------------- */

/* Runs a command of a shell whose output is the input, unless it was made before. */
function made(folder, name, command) {
    const file = path.join(folder, name);
    const generator = path.join(build, "bench", "generate");
    if (!fs.existsSync(file) || fs.statSync(file).mtimeMs < fs.statSync(generator).mtimeMs) {
        console.error(`making ${file}`);
        execFileSync("sh", ["-c", command, "sh", generator, process.env.STOKE, `${file}.part`], { stdio: "inherit" });
        fs.renameSync(`${file}.part`, file);
    }
    return file;
}

const perf = (folder, megabytes) => made(folder, `perf-${megabytes}.txt`, `"$1" perf ${megabytes} >"$3"`);
const threads = (folder, megabytes) => made(folder, `threads-${megabytes}.txt`, `"$1" threads ${megabytes} >"$3"`);
const samples = (folder, millions) => made(folder, `waits-${millions}-million.stoke`,
    `"$1" waits ${Math.ceil(millions * SAMPLE_BYTES)} | "$2" convert -q --to stoke -o "$3" -`);

/* --- The first picture --------------------------------------------------------------------- */

/* Runs in the page before its scripts: notes when the tracks and the chart were drawn. */
function watchPicture() {
    const look = () => {
        const app = window.stoke;
        if (app && app.shown && app.steered && app.steered.last && app.tracksView && app.tracksView.picture)
            setTimeout(() => { window.pictured = performance.timeOrigin + performance.now(); });
        else
            requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}

/* CPU time of a process in ms. */
function cpuOf(pid) {
    const [user, system] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /, "").split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * 10;
}

function served(file) {
    const started = Date.now();
    const child = spawn(process.env.STOKE, ["view", "--no-browser", "--quiet", file], { env: { ...process.env, XDG_STATE_HOME: path.dirname(file) } });
    return new Promise((resolve, reject) => {
        let said = "", errors = "";
        child.stderr.on("data", (text) => { errors += text; });
        child.on("exit", (status) => reject(new Error(`stoke view ended with ${status}: ${errors}`)));
        child.stdout.on("data", (text) => {
            said += text;
            if (said.includes("\n"))
                resolve({ child, started, ready: Date.now(), address: said.trim() });
        });
    });
}

/* From the start of stoke view to the picture in the browser, which runs already. */
async function onePicture(browser, file) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(watchPicture);
    const cpu = threadTime();
    const server = await served(file);
    try {
        await page.goto(server.address, { waitUntil: "commit" });
        await page.waitForFunction(() => window.pictured, null, { timeout: 120000 });
        const { pictured, origin, loaded } = await page.evaluate(() => ({ pictured: window.pictured, origin: performance.timeOrigin,
            loaded: performance.timeOrigin + performance.getEntriesByType("navigation")[0].responseEnd }));
        return { all: pictured - server.started, server: server.ready - server.started, request: origin - server.ready, page: loaded - origin,
            script: pictured - loaded, serverCpu: cpuOf(server.child.pid), pageCpu: threadTime() - cpu };
    } finally {
        server.child.removeAllListeners("exit");
        server.child.kill();
        await context.close();
    }
}

async function picture(browser, { folder, megabytes, rounds }) {
    const file = perf(folder, megabytes);
    fs.readFileSync(file); /* into the page cache */
    console.log(`first picture of ${megabytes} MB of perf script, median of ${rounds}:`);
    const all = [];
    for (let i = 0; i < rounds; i++)
        all.push(await onePicture(browser, file));
    const of = (name) => median(all.map((one) => one[name])).toFixed(0);
    console.log(`  the server reads ${of("server")} ms, the browser begins ${of("request")} ms later, receives the page in ${of("page")} ms, and draws after ${of("script")} ms; ` +
        `CPU of the server ${of("serverCpu")} ms, of the page ${of("pageCpu")} ms`);
    limit("the picture", median(all.map((one) => one.all)), PICTURE_MOST, "ms");
}

/* --- Tracks -------------------------------------------------------------------------------- */

/* Runs in the page: calls `move` in each frame; returns the times between the frames, and the number
 * of pictures that were painted. */
async function frames([count, way, step]) {
    const { tracksView: view, tracks } = window.stoke;
    const host = document.querySelector(".tracks .scroller");
    const { to } = tracks.info;
    const paint = view.paint;
    const times = [];
    let painted = 0, slowest = 0;
    view.paint = function (...rest) {
        const before = performance.now();
        paint.apply(this, rest);
        slowest = Math.max(slowest, performance.now() - before);
        painted++;
    };
    let last = await new Promise(requestAnimationFrame);
    for (let i = 1; i <= count; i++) {
        if (way === "scroll") {
            host.scrollTop += step;
        } else {
            const span = to * (way === "pan" ? 0.2 : 0.02 + 0.9 * Math.abs(Math.cos(i / 25)));
            const from = (to - span) * Math.abs(Math.sin(i / 60));
            view.setWindow(from, from + span);
        }
        const now = await new Promise(requestAnimationFrame);
        times.push(now - last);
        last = now;
    }
    view.paint = paint;
    return { times, painted: painted / count, slowest };
}

async function scrolled(browser, { folder }) {
    const page = await emptyPage(browser);
    await openFile(page, threads(folder, 60));
    const count = await page.evaluate(() => {
        const { tracks } = window.stoke;
        for (const [i] of tracks.info.processes.entries()) {
            tracks.showProcess(i, true);
            tracks.fold({ kind: "process", index: i }, true);
        }
        return tracks.rows.filter((row) => row.kind === "thread").length;
    });
    console.log(`tracks of ${count} threads, ${FRAMES} frames:`);
    for (const [way, name] of [["scroll", "scrolling"], ["pan", "panning"], ["zoom", "zooming"]]) {
        await page.waitForTimeout(300);
        const cpu = threadTime();
        const { times, painted, slowest } = await page.evaluate(frames, [FRAMES, way, SCROLLED]);
        console.log(`  ${name}: 95 % of the frames after ${percentile(times, 0.95).toFixed(1)} ms, ${(painted * 100).toFixed(0)} % of them with a new picture, ` +
            `painted in at most ${slowest.toFixed(1)} ms; CPU of the page and its worker ${((threadTime() - cpu) / FRAMES).toFixed(1)} ms a frame`);
        limit(`${name}: a frame, median`, median(times), FRAME_MOST, "ms");
    }
    await page.context().close();
}

/* --- Clicks -------------------------------------------------------------------------------- */

/* Runs in the page: ms from the next click, or from the call of `act`, until the page has drawn all
 * that follows from it. */
function answered(act) {
    return new Promise((done) => {
        const { core } = window.stoke;
        const turn = () => new Promise((next) => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = next;
            port2.postMessage(0);
        });
        const measure = async ({ timeStamp }) => {
            const before = core.traffic && { ...core.traffic };
            for (let quiet = 0, last = 0; ;) {
                await new Promise(requestAnimationFrame);
                await turn();
                quiet = core.waiting.size ? 0 : quiet + 1;
                last = quiet === 1 ? performance.now() : last;
                if (quiet === 3)
                    return done({ ms: last - timeStamp, messages: before ? core.traffic.messages - before.messages : 0 });
            }
        };
        if (!act)
            return addEventListener("click", measure, { capture: true, once: true });
        const timeStamp = performance.now();
        act();
        measure({ timeStamp });
    });
}

async function click(page, { x, y }) {
    await page.mouse.move(x, y);
    await page.evaluate(`window.answer = (${answered})(); 0`);
    const before = threadTime();
    await page.mouse.click(x, y);
    return { ...await page.evaluate(() => window.answer), cpu: threadTime() - before };
}

/* Positions of boxes of the shown chart, spread over all of them. At ten million samples by time each
 * is narrower than a pixel. */
function boxes(most) {
    const view = window.stoke.steered;
    const words = new Uint32Array(view.last.boxes), sizes = new Float32Array(view.last.boxes);
    const area = view.over.getBoundingClientRect();
    const found = [];
    for (let at = 0; at < words.length; at += 6) {
        const y = view.yOf(words[at + 2]);
        if (sizes[at] >= 0 && sizes[at] < area.width - 8 && y >= view.ruler && y + 20 < area.height)
            found.push({ x: area.left + sizes[at] + Math.min(4, sizes[at + 1] / 2), y: area.top + y + 8, width: sizes[at + 1] });
    }
    found.sort((a, b) => b.width - a.width);
    const wide = found.slice(0, 20 * most);
    return wide.filter((_, i) => i % Math.max(1, Math.floor(wide.length / most)) === 0).slice(0, most);
}

/* Positions of elements. */
function elements([selector, most]) {
    return [...document.querySelectorAll(selector)].slice(0, most).map((one) => one.getBoundingClientRect())
        .map((at) => ({ x: at.left + Math.min(at.width / 2, 120), y: at.top + at.height / 2 }));
}

/* What a click on a span, a track, a function or a chip of a filter calls. */
const SPAN = (from, to) => `app.filters.add({ verb: "time", text: "", from: ${from} * end, to: ${to} * end })`;
const FILTERED = [
    ["a span of 1 %", SPAN(0.5, 0.51)], ["a span of 20 %", SPAN(0.3, 0.5)], ["a span of 60 %", SPAN(0.2, 0.8)],
    ["a process", "app.filters.selectThreads({ verb: 'pid', text: String(app.tracks.info.processes[0].pid) })"],
    ["a thread", "app.filters.selectThreads({ verb: 'tid', text: String(app.tracks.info.threads[0].tid) })"],
    ["stacks with a function", "app.filters.add({ verb: 'focus', text: name, exact: true })"],
    ["a function merged", "app.filters.add({ verb: 'hide', text: name, exact: true })"],
    ["modules", "app.filters.add({ verb: 'by', text: 'module' })"],
];

/* Each filter and its end. */
async function filters(page) {
    await tab(page, "Flame graph");
    for (const [what, act] of FILTERED)
        for (const [done, code] of [[what, act], [`back from ${what}`, "app.filters.undo()"]]) {
            const before = threadTime();
            const { ms, messages } = await page.evaluate(`(async () => {
                const app = window.stoke, end = app.tracks.info.to;
                await app.core.functions(0, 0, 0);
                const [{ name }] = await app.core.functionRows(3, 4);
                return (${answered})(() => void ${code});
            })()`);
            limit(`${done}: ${messages} messages, ${(threadTime() - before).toFixed(0)} ms of CPU`, ms, ANSWER_MOST, "ms");
        }
}

const CLICKED = [
    ["Flame graph", boxes], ["Time order", boxes], ["Functions", ".functions .row[role=row]"], ["Tree", ".calls .row[role=row]"],
    ["Call graph", null], ["Source", null], ["Heat map", null], ["Waits", ".waits-table .row[role=row]"], ["Marks", null], ["Summary", null],
];

async function tab(page, title) {
    const at = await page.locator(".tabs [role=tab]", { hasText: title }).boundingBox();
    return click(page, { x: at.x + at.width / 2, y: at.y + at.height / 2 });
}

async function clicksIn(page, title, where) {
    const at = typeof where === "string" ? await page.evaluate(elements, [where, CLICKS]) : await page.evaluate(where, CLICKS);
    const all = [];
    for (const one of at)
        all.push(await click(page, one));
    const times = all.map(({ ms }) => ms);
    if (!times.length)
        throw new Error(`${title}: nothing can be clicked`);
    console.log(`  ${title}: ${times.length} clicks, ${Math.max(...times).toFixed(0)} ms at most; at most ${Math.max(...all.map(({ messages }) => messages))} messages to the core; ` +
        `CPU of the page and its worker ${median(all.map(({ cpu: ms }) => ms)).toFixed(1)} ms, median`);
    limit(`${title}: a click, median`, median(times), ANSWER_MOST, "ms");
}

async function clicks(browser, { folder, millions }) {
    const page = await emptyPage(browser);
    const { seconds, cpu } = await openFile(page, samples(folder, millions));
    const count = await page.evaluate(() => window.stoke.shown.samples);
    const opened = Date.now();
    await page.evaluate(() => window.stoke.opening.prepared);
    console.log(`clicks at ${count} samples; the file is open after ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU; ` +
        `${((Date.now() - opened) / 1000).toFixed(1)} s later the page is idle (${load()}):`);
    for (const [title, where] of CLICKED) {
        const first = await tab(page, title);
        limit(`${title}: opened the first time, ${first.messages} messages, ${first.cpu.toFixed(0)} ms of CPU`, first.ms, ANSWER_MOST, "ms");
        if (where)
            await clicksIn(page, title, where);
    }
    await tab(page, "Flame graph");
    const inverted = page.locator("[role=switch], label, button", { hasText: /^Inverted$/ }).first();
    for (const what of ["the first time", "and back"]) {
        const at = await inverted.boundingBox();
        const { ms, messages, cpu: used } = await click(page, { x: at.x + at.width / 2, y: at.y + at.height / 2 });
        limit(`Inverted, ${what}: ${messages} messages, ${used.toFixed(0)} ms of CPU`, ms, ANSWER_MOST, "ms");
    }
    const again = [];
    for (const [title] of CLICKED)
        again.push([title, (await tab(page, title)).ms]);
    console.log(`  opened again: ${again.map(([title, ms]) => `${title} ${ms.toFixed(0)}`).join(", ")} ms`);
    limit("a view that was open before, median", median(again.map(([, ms]) => ms)), ANSWER_MOST, "ms");
    await tab(page, "Flame graph");
    await filters(page);
    await clicksIn(page, "Tracks", ".tracks .label.process");
    await page.context().close();
}

/* ------------------------------------------------------------------------------------------- */

const PARTS = { picture, threads: scrolled, clicks };

async function main() {
    const [, , folder, rounds, megabytes, millions, ...parts] = process.argv;
    const settings = { folder, rounds: Number(rounds), megabytes: Number(megabytes), millions: Number(millions) };
    fs.mkdirSync(folder, { recursive: true });
    console.log(`${os.cpus().length} CPUs, ${load()}`);
    for (const part of parts.length ? parts : Object.keys(PARTS)) {
        const browser = await launch(); /* of its own: the renderers' CPU time is added up */
        try {
            await PARTS[part](browser, settings);
        } finally {
            await browser.close();
        }
    }
    console.log(missed ? `${missed} limits missed` : "every limit is met");
    process.exitCode = missed ? 1 : 0;
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
