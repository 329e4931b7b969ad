/* The core as WebAssembly: its imports (decompression), and that it reads every format
 * like the program. Prints TAP.
 *
 * core.mjs CORE.wasm UNPACK.mjs TESTS-FOLDER STOKE */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import v8 from "node:v8";
import vm from "node:vm";
import zlib from "node:zlib";

const [, , wasm, unpack, tests, stoke] = process.argv;
const { unpackImports } = await import(path.resolve(unpack));
const module = new WebAssembly.Module(fs.readFileSync(wasm));
v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc");
const encoder = new TextEncoder();
const decoder = new TextDecoder();
let number = 0;
let failed = 0;

function report(name, why) {
    console.log(`${why ? "not ok" : "ok"} ${++number} - ${name}`);
    if (why)
        console.log(String(why).split("\n").map((line) => `# ${line}`).join("\n"));
    failed += why ? 1 : 0;
}

/* A separate core for each test, so that tests do not affect each other. */
class Core {
    constructor() {
        this.calls = new WebAssembly.Instance(module, { unpack: unpackImports(() => this.calls.memory) }).exports;
        this.calls._initialize();
    }

    reply() {
        const at = this.calls.core_reply() >>> 0;
        return new Uint8Array(this.calls.memory.buffer, at, this.calls.core_reply_length() >>> 0);
    }

    call(name, ...args) {
        const flat = args.flatMap((arg) => {
            if (typeof arg === "number")
                return [arg];
            const bytes = encoder.encode(arg);
            const at = this.calls.malloc(bytes.length + 1) >>> 0;
            new Uint8Array(this.calls.memory.buffer, at, bytes.length).set(bytes);
            return [at, bytes.length];
        });
        const ok = this.calls[name](...flat);
        if (!ok)
            throw new Error(JSON.parse(decoder.decode(this.reply())).message);
        return ok;
    }

    json(name, ...args) {
        this.call(name, ...args);
        return JSON.parse(decoder.decode(this.reply()));
    }

    /* In pieces of that size, as from a stream. */
    open(bytes, name, piece = 65536, slot = 0) {
        this.feed(bytes, name, piece);
        this.call("core_feed", 0, 1);
        return this.json("core_finish", slot);
    }

    feed(bytes, name, piece = 65536) {
        this.call("core_begin", name);
        for (let at = 0; at < bytes.length; at += piece) {
            const part = bytes.subarray(at, at + piece);
            const room = this.calls.core_room(part.length) >>> 0;
            new Uint8Array(this.calls.memory.buffer, room, part.length).set(part);
            this.call("core_feed", part.length, 0);
        }
    }

    folded() {
        this.call("core_export", "folded");
        return decoder.decode(this.reply());
    }
}

function checkImports() {
    const imports = WebAssembly.Module.imports(module).filter((one) => one.module !== "unpack");
    report("the module imports only decompression", imports.map((one) => one.name).join(" "));
}

/* The inputs of the goldens of `stoke fold` that have no options. */
function goldens() {
    const found = [];
    for (const format of fs.readdirSync(path.join(tests, "import"))) {
        const folder = path.join(tests, "import", format);
        if (!fs.statSync(folder).isDirectory())
            continue;
        for (const file of fs.readdirSync(folder)) {
            const stem = path.join(folder, file.slice(0, -3));
            if (file.endsWith(".in") && fs.existsSync(`${stem}.want`) && !fs.existsSync(`${stem}.args`))
                found.push({ name: `${format}/${file}`, file: `${stem}.in` });
        }
    }
    return found;
}

/* The page marks truncated stacks. */
function unmarked(folded) {
    const sums = new Map();
    for (const line of folded.replaceAll("[truncated];", "").split("\n").filter(Boolean)) {
        const at = line.lastIndexOf(" ");
        sums.set(line.slice(0, at), (sums.get(line.slice(0, at)) ?? 0) + Number(line.slice(at + 1)));
    }
    return JSON.stringify([...sums].sort());
}

const PACKED = [[0x1f, 0x8b], [0x28, 0xb5], [0xff, 0xfe], [0xfe, 0xff]]; /* the page decompresses it */

function checkGoldens() {
    const differ = [];
    let count = 0;
    for (const { name, file } of goldens()) {
        const bytes = fs.readFileSync(file);
        const done = spawnSync(stoke, ["fold", "--quiet", "--kernel", "--jit", file], { encoding: "utf8" });
        const expected = done.stdout;
        if (done.status || !expected || PACKED.some(([a, b]) => bytes[0] === a && bytes[1] === b))
            continue;
        count++;
        try {
            const core = new Core();
            core.open(bytes, path.basename(name));
            core.call("core_show", "[]", 0, 0);
            const got = core.folded();
            if (got !== expected && unmarked(got) !== unmarked(expected))
                differ.push(`${name}: ${got.slice(0, 200)}`);
        } catch (error) {
            differ.push(`${name}: ${error.message}`);
        }
    }
    if (count < 50)
        differ.push(`only ${count} goldens were found`);
    report(`${count} inputs of all formats are folded like by the program`, differ.join("\n"));
}

/* Weight, depth and number of kernel frames: all that can be compared for stacks whose
 * names only one reader has. */
function shapes(folded) {
    const sums = new Map();
    for (const line of folded.split("\n").filter(Boolean)) {
        const at = line.lastIndexOf(" ");
        const frames = line.slice(0, at).split(";");
        const shape = `${frames[0]} ${frames.length} ${frames.filter((frame) => frame.endsWith("_[k]")).length}`;
        sums.set(shape, (sums.get(shape) ?? 0) + Number(line.slice(at + 1)));
    }
    return [...sums].map(([shape, sum]) => `${shape} ${sum}`).sort().join("\n");
}

/* Stacks and lines of maximum length: those within the limits are complete, longer
 * ones are truncated or skipped with a warning, and others are not affected. */
function checkBombs() {
    const deep = (frames) => `${"a;".repeat(frames - 1)}b 2\nc;d 3\n`;
    const inputs = [
        ["500,000 frames", deep(500000), 500000, null],
        ["2,000,000 frames", deep(2000000), 1 << 20, /limit/],
        ["a line of 80 MB", `a;b 2\n${"x".repeat(80 << 20)} 9\nc;d 3\n`, 2, /longer than the limit/],
    ];
    for (const [name, text, frames, caution] of inputs) {
        const faults = [];
        const core = new Core();
        const profile = JSON.stringify(core.open(encoder.encode(text), "x.folded", 1 << 20));
        if (caution ? !caution.test(profile) : /limit/.test(profile))
            faults.push(`it says ${profile.slice(0, 500)}`);
        const shown = JSON.stringify(core.json("core_show", "[]", 0, 0));
        if (!/"total":5[,}]/.test(shown))
            faults.push(`it shows ${shown.slice(0, 500)}`);
        const lines = core.folded().split("\n").filter(Boolean);
        const most = Math.max(...lines.map((line) => line.split(";").length));
        if (lines.length !== 2 || most !== frames)
            faults.push(`${lines.length} lines, with up to ${most} frames`);
        report(`the core reads ${name}`, faults.join("\n"));
    }
}

/* A recording of this machine, compressed by default. */
function checkRecording() {
    const name = "a recording of this machine is read as the program reads it";
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stoke-web-"));
    const file = path.join(folder, "perf.data");
    const work = ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"];
    const done = spawnSync(stoke, ["record", "-F", "999", "-o", file, "--", ...work], { encoding: "utf8" });
    if (done.status) {
        console.log(`ok ${++number} - ${name} # SKIP nothing can be recorded: ${done.stderr.split("\n")[0]}`);
    } else {
        const bytes = fs.readFileSync(file);
        const expected = spawnSync(stoke, ["fold", "--quiet", "--kernel", "--no-inline", file], { encoding: "utf8" }).stdout;
        const core = new Core();
        core.open(bytes, "perf.data");
        core.call("core_show", "[]", 0, 0);
        const got = core.folded();
        const packed = bytes.includes(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
        report(name, packed && expected && shapes(got) === shapes(expected) ? "" : `${packed ? "" : "it is not packed\n"}${shapes(got)}\nexpected\n${shapes(expected)}`);
    }
    fs.rmSync(folder, { recursive: true });
}

/* The bytes of the buffers that are in use, without what the next collection releases. */
function heldBuffers() {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
}

/* Data that is compressed in a moment may take hours to decompress: this is done in
 * steps, limited by the available room. */
function checkUnpacking() {
    const memory = new WebAssembly.Memory({ initial: 64 });
    const calls = unpackImports(() => memory);
    const bytes = new Uint8Array(memory.buffer);
    const wrong = [];
    const head = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x50];
    const zeros = [2, 0, 16, 0]; /* a block of 128 KiB */
    const bomb = Uint8Array.from({ length: 6 + 4 * 10000 }, (_, i) => (i < 6 ? head[i] : zeros[(i - 6) % 4]));
    bytes.set(bomb, 1000);
    const room = 1 << 20;
    let used = 0;
    const stream = calls.zstd_open();
    const before = heldBuffers();
    for (let i = 0; i < 100; i++) {
        const got = calls.zstd_take(stream, 1000 + used, bomb.length - used, 1 << 21, room, 8);
        used += new DataView(memory.buffer).getUint32(8, true);
        if (got !== room)
            wrong.push(`${got} bytes at ${used}`);
    }
    let held = heldBuffers() - before;
    for (let pass = 0; held > 16 << 20 && pass < 50; pass++)
        held = heldBuffers() - before; /* buffers are released by another thread */
    if (used > 4 * 800 + 600 || held > 16 << 20)
        wrong.push(`${used} bytes were taken, ${held} are held`);
    calls.zstd_close(stream);
    if (calls.zstd_take(stream, 1000, 100, 1 << 21, room, 8) !== -1)
        wrong.push("what is closed is read");
    const wide = calls.zstd_open();
    bytes.set([...head.slice(0, 5), 18 << 3, 2, 0, 16, 0, ...Array(20).fill(0)], 1000);
    if (calls.zstd_take(wide, 1000, 30, 1 << 21, room, 8) !== -1)
        wrong.push("a window of 256 MiB is had");
    const text = Buffer.from("unpacked ".repeat(5000));
    for (const [wrapped, pack] of [[1, zlib.deflateSync], [0, zlib.deflateRawSync]]) {
        const packed = pack(text);
        bytes.set(packed, 1000);
        const take = (length, most) => calls.inflate(wrapped, 1000, length, 1 << 21, most);
        const got = [take(packed.length, 45000), take(packed.length, 44999), take(packed.length >> 1, 1 << 20), take(packed.length, 0)];
        if (got.join() !== "45000,-2,-1,-2" || Buffer.compare(text.subarray(0, 44999), bytes.subarray(1 << 21, (1 << 21) + 44999)))
            wrong.push(`inflate: ${got}`);
    }
    while (calls.zstd_open() && used++ < 1e5);
    if (used >= 1e5)
        wrong.push("streams without end are opened");
    report("decompression is limited by the size of the output buffer, and damage is reported", wrong.slice(0, 5).join("\n"));
}

function lines(count) {
    let text = "";
    for (let i = 0; i < count; i++)
        text += `main;f${i % 7};g${i % 1000};h${i} ${(i % 9) + 1}\n`;
    return text;
}

/* Reading in pieces gives the same as reading at once; lines are counted over all
 * pieces. */
function checkPieces() {
    const text = `${lines(900000)}a;b no-number\n`;
    const bytes = encoder.encode(text);
    const small = new Core();
    const info = small.open(bytes, "x.folded", 100003);
    small.call("core_show", "[]", 0, 0);
    const sum = 900000 * 5;
    const warning = info.warnings[0];
    const total = small.json("core_show", "[]", 0, 0).total;
    report("a file in several pieces is read completely, and its warnings have the file's line numbers",
        bytes.length > 20e6 && info.samples === 900000 && total === sum && warning?.line === 900001 ? ""
            : JSON.stringify([bytes.length, info.samples, total, sum, info.warnings]));
}

/* The part read so far can be shown, and does not change the result at the end. */
function checkPart() {
    const bytes = encoder.encode(lines(2500000));
    const whole = new Core();
    whole.open(bytes, "x.folded");
    whole.call("core_show", "[]", 0, 0);
    const core = new Core();
    let early = "";
    core.call("core_begin", "x.folded");
    try {
        core.call("core_partial");
    } catch (error) {
        early = error.message;
    }
    core.feed(bytes, "x.folded", 1 << 20);
    const part = core.json("core_partial");
    const shown = core.json("core_show", "[]", 0, 0);
    const chart = allLanes(core);
    const second = core.json("core_partial");
    const again = core.json("core_show", "[]", 0, 0);
    core.call("core_feed", 0, 1);
    core.json("core_finish", 0);
    core.json("core_show", "[]", 0, 0);
    report("a partial profile is shown while the rest is read",
        early === "nothing is read yet" && part.samples > 1e5 && part.samples < 2.5e6 && Math.abs(shown.total / part.samples - 5) < 0.01 && chart.boxes > 1e5 &&
            second.samples === part.samples && again.total === shown.total && /only the beginning/.test(JSON.stringify(part.warnings)) &&
            core.folded() === whole.folded()
            ? "" : JSON.stringify([early, part, shown, chart, second]));
    core.feed(bytes, "x.folded", 1 << 20);
    const stopped = core.calls.core_stop();
    const rest = core.json("core_finish", 0);
    core.call("core_begin", "x.folded");
    report("stopped reading results in a partial profile with a warning",
        stopped === 1 && rest.samples === part.samples && /only the beginning/.test(JSON.stringify(rest.warnings)) && core.calls.core_stop() === 0
            ? "" : JSON.stringify([stopped, rest]));
}

const lanesOf = (core, first = 0, last = 2 ** 32 - 1) => core.json("core_lanes", first, last);

/* The chart by time with the boxes of all lanes, which are made when they are needed. */
function allLanes(core) {
    const { to, rows } = core.json("core_chart", 4, 0);
    core.call("core_draw", 4, 0, to, 100, 0, rows);
    return core.json("core_chart", 4, 0);
}

/* A row of many boxes, summed up by level, covers the same ranges as its boxes at low
 * zoom, and has the same boxes at high zoom. */
function checkLevels() {
    const core = new Core();
    core.open(encoder.encode(lines(300000)), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const info = allLanes(core);
    const row = info.rows - 1;
    const draw = (from, to, width) => {
        core.call("core_draw", 4, from, to, width, row, row + 1);
        const words = new Uint32Array(core.reply().slice().buffer);
        return { words, sizes: new Float32Array(words.buffer), count: words.length / 6 };
    };
    const wrong = [];
    for (const part of [1, 0.5, 0.1, 0.02, 0.004, 0.0005]) {
        const span = info.to * part;
        const { words, sizes, count } = draw(0.3 * (info.to - span), 0.3 * (info.to - span) + span, 1000);
        let end = 0;
        for (let at = 0; at < words.length; at += 6) {
            if (Math.abs(sizes[at] - end) > 1.01 && at)
                wrong.push(`a gap at ${end} of ${part}`);
            end = sizes[at] + sizes[at + 1];
            const hit = core.calls.core_hit(4, row, 0.3 * (info.to - span) + ((sizes[at] + Math.min(sizes[at + 1] / 2, 0.01)) / 1000) * span) >>> 0;
            if (sizes[at] > 0 && Math.abs(hit - words[at + 3]) > 1 + 300000 * part / 1000)
                wrong.push(`box ${words[at + 3]} is drawn where ${hit} is, of ${part}`);
        }
        if (Math.abs(end - 1000) > 1.01 || count > 1010)
            wrong.push(`${count} boxes up to ${end} of ${part}`);
    }
    report("a row of many boxes looks the same at low and high zoom", info.boxes > 300000 ? wrong.slice(0, 5).join("\n") : `${info.boxes} boxes`);
}

/* Callers continue over waits, and over gaps shorter than the sampler's period, but
 * not in the kernel; waits are separate boxes. Computed by hand. */
function checkWaits() {
    const core = new Core();
    const text = [];
    const sample = (ms, event, length, ...names) => text.push(`prog 10/11 [000] ${(100 + ms / 1000).toFixed(6)}: ${length * 1e6} ${event}:`,
        ...names.reverse().map((name) => name.startsWith("k") ? `\tffffffff81 ${name}+0x1 ([kernel.kallsyms])` : `\tffff02 ${name}+0x1 (/bin/prog)`), "");
    const read = ["main", "read", "ksys", "kwait"];
    sample(0, "cpu-clock", 10, "main", "work");
    sample(60, "off-cpu", 50, ...read); /* 10 to 60 */
    sample(65, "cpu-clock", 10, "main", "work"); /* after a gap of 5 */
    sample(100, "off-cpu", 25, ...read); /* 75 to 100 */
    sample(130, "off-cpu", 27, ...read); /* 103 to 130 */
    sample(170, "cpu-clock", 10, "main", "work"); /* after a gap of 40: more than a period */
    core.open(encoder.encode(text.join("\n")), "perf.txt");
    core.call("core_show", "[]", 1, 0);
    const info = allLanes(core);
    const boxes = Array.from({ length: info.boxes }, (_, i) => core.json("core_box", 4, i))
        .map((b) => [b.row, b.function.name, b.from / 1e6, b.to / 1e6, (b.waiting / 1e6).toFixed(0), b.off].join(" ")).sort();
    const want = ["1 main 0 130 102 false", "1 main 170 180 0 false",
        "2 read 10 60 50 true", "2 read 75 130 52 false", "2 work 0 10 0 false", "2 work 170 180 0 false", "2 work 65 75 0 false",
        "3 ksys 10 60 50 true", "3 ksys 103 130 27 true", "3 ksys 75 100 25 true",
        "4 kwait 10 60 50 true", "4 kwait 103 130 27 true", "4 kwait 75 100 25 true"];
    report("boxes of callers continue over waits; boxes of waits are separate", JSON.stringify(boxes) === JSON.stringify(want) ? "" : JSON.stringify(boxes));
}

/* At low zoom a span has the look and name of its boxes. */
function checkFarLooks() {
    const core = new Core();
    const text = [];
    for (let i = 0; i < 20000; i++) {
        const sample = (ms, event, ns, name) => text.push(`prog 10/11 [000] ${(100 + ms / 1000).toFixed(6)}: ${ns} ${event}:`,
            `\tffff02 ${name}+0x1 (/bin/prog)`, `\tffff01 main${i % 3}+0x2 (/bin/prog)`, "");
        if ((i / 50 & 1) === 0)
            sample(i * 10, "cpu-clock", 1e6, `work${i % 7}`);
        sample(i * 10 + 9, "off-cpu", 8e6, "wait");
    }
    core.open(encoder.encode(text.join("\n")), "perf.txt");
    core.call("core_show", "[]", 1, 0);
    const info = allLanes(core);
    const wrong = [], seen = new Set();
    for (const part of [1, 0.3, 0.02]) {
        core.call("core_draw", 4, 0, info.to * part, 1000, 1, 3);
        const words = new Uint32Array(core.reply().slice().buffer);
        for (let at = 0; at < words.length; at += 6) {
            const { off, function: f } = core.json("core_box", 4, words[at + 3]);
            const drawn = ((words[at + 5] >>> 16) & 32) !== 0;
            seen.add(`${part} ${drawn}`);
            if (drawn !== off || f.label !== words[at + 4])
                wrong.push(`box ${words[at + 3]} of ${part}: ${drawn} ${off} ${f.label} ${words[at + 4]}`);
        }
    }
    report("a box looks the same at low and high zoom", info.boxes > 40000 && seen.size === 6 ? wrong.slice(0, 5).join("\n") : `${info.boxes} boxes, ${[...seen]}`);
}

/* Boxes compared with a layout by hand: main 10 = f 6 (g 4) + h 3, self 1. */
function checkLayout() {
    const core = new Core();
    core.open(encoder.encode("main;f;g 4\nmain;f 2\nmain;h 3\nmain 1\nother 5\n"), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const info = core.json("core_chart", 0, 0);
    core.call("core_draw", 0, 0, 15, 1500, 0, 10);
    const words = new Uint32Array(core.reply().slice().buffer);
    const sizes = new Float32Array(words.buffer);
    const boxes = [];
    for (let at = 0; at < words.length; at += 6)
        boxes.push([sizes[at], sizes[at + 1], words[at + 2]]);
    const want = [[0, 1000, 0], [1000, 500, 0], [0, 600, 1], [600, 300, 1], [0, 400, 2]];
    const hits = [[0, 2], [0, 12], [1, 7], [1, 9.5], [2, 5]].map(([row, x]) => core.calls.core_hit(0, row, x) >>> 0);
    report("boxes have the position of their weights, and are found there",
        JSON.stringify(boxes) === JSON.stringify(want) && info.rows === 3 && hits.join() === "0,1,3,4294967295,4294967295" ? ""
            : JSON.stringify([boxes, info, hits]));
}

/* A perf script: `hot` of every 10 samples are in that function, 10 ms apart. */
function recorded(hot, samples, event = "cpu-clock") {
    const out = [];
    for (let i = 0; i < samples; i++) {
        const leaf = (i * 7) % 10 < hot ? "hot" : (i * 3) % 10 < 5 ? "cold" : "same";
        out.push(`prog 7/${i % 2 ? 8 : 7} [000] ${(50 + i / 100).toFixed(6)}: 10000000 ${event}:`, `\tffffaa ${leaf}+0x1 (/bin/prog)`,
            "\tffff01 main+0x2 (/bin/prog)", "");
    }
    return encoder.encode(out.join("\n"));
}

function compared(before, after, filters = [], event = 0) {
    const core = new Core();
    core.open(after, "after.txt");
    core.open(before, "before.txt", 65536, 1);
    core.call("core_show", JSON.stringify(filters), event, 0, 0);
    const count = core.json("core_functions", 5, 0, 0);
    const rows = new Map(core.json("core_function_rows", 0, count).map((f) => [f.name, f]));
    return { core, rows, info: core.json("core_comparison") };
}

/* Less than chance is noise, also of a profile with another number of samples; filters by time
 * and thread apply to both profiles; the event is chosen by name. */
function checkChanges() {
    const wrong = [];
    const expect = (what, is) => { if (!is) wrong.push(what); };
    const [LESS, MORE, FEW] = [1, 2, 3];
    const { core, rows, info } = compared(recorded(2, 1000), recorded(5, 3000));
    const hot = rows.get("hot").self_change;
    expect("hot " + JSON.stringify(hot), hot.verdict === MORE && hot.low > 0.2 && hot.high < 0.4 && hot.before === 0.2 && hot.after === 0.5);
    expect("cold " + JSON.stringify(rows.get("cold")), rows.get("same").self_change.verdict === LESS && rows.get("cold").change.verdict === 0 && rows.get("main").change.verdict === 0);
    expect("order " + [...rows.keys()], [...rows.keys()][0] === "hot" && [...rows.keys()][1] === "same");
    expect("info " + JSON.stringify(info), info.found >= 2 && info.explained > 0.9 && info.sides.every((s) => s.timed && s.event === "cpu-clock") && info.sides[1].samples === 3000);
    core.call("core_color", 4);
    const boxes = [0, 5].map((kind) => {
        const { to } = core.json("core_chart", kind, 0);
        core.call("core_draw", kind, 0, to, 1000, 0, 2);
        const words = new Uint32Array(core.reply().slice().buffer), sizes = new Float32Array(words.buffer), names = new Map();
        for (let at = 0; at < words.length; at += 6)
            names.set(words[at + 4], [words[at + 3], sizes[at + 1] / 1000, words[at + 5] & 255]);
        return names;
    });
    const at = boxes.map((names) => names.get(rows.get("hot").label));
    expect("sides " + JSON.stringify(at), at[0][0] === at[1][0] && Math.abs(at[0][1] - 0.5) < 0.01 && Math.abs(at[1][1] - 0.2) < 0.01 && at[0][2] === 255);
    const equal = compared(recorded(3, 2000), recorded(3, 1000));
    expect("equal " + JSON.stringify(equal.info), equal.info.found === 0 && equal.info.others === 3);
    const span = compared(recorded(2, 1000), recorded(5, 3000), [{ verb: "time", text: "", from: 0, to: 5e9 }, { verb: "tid", text: "7" }]);
    const shown = span.core.json("core_show", JSON.stringify([{ verb: "time", text: "", from: 0, to: 5e9 }]), 0, 0);
    expect("span " + JSON.stringify([span.info, shown]), span.info.sides.every((s) => s.samples > 240 && s.samples < 260) && shown.total === shown.base_total);
    const one = compared(recorded(2, 1000), recorded(5, 3000), [{ verb: "time", text: "", from: 15e9, to: 20e9 }]);
    expect("one side " + JSON.stringify(one.info), one.info.sides[0].samples === 0 && one.info.sides[1].samples > 490);
    let refused = "";
    try {
        compared(recorded(2, 100), recorded(2, 100), [{ verb: "focus", text: "nothing" }]);
    } catch (error) {
        refused = error.message;
    }
    expect("none " + refused, /no samples remain in either/.test(refused));
    const two = encoder.encode(decoder.decode(recorded(2, 500)) + "\n" + decoder.decode(recorded(9, 500, "faults")));
    const event = compared(two, two, [], 2);
    expect("event " + JSON.stringify([event.info, event.rows.get("hot")]), event.info.sides.every((s) => s.event === "faults") && event.rows.get("hot").self_change.after === 0.9);
    const folded = compared(encoder.encode("a;b 3\na;c 2\n"), encoder.encode("a;b 9\n"));
    expect("folded " + JSON.stringify(folded.info), folded.rows.get("b").change.verdict === FEW && !folded.info.sides[0].timed && folded.info.found === 0);
    report("changes are beyond the noise, also with filters, another event and few samples", wrong.join("\n"));
}

/* Thousands of boxes in a pixel: at most one per pixel is drawn, and none outside. */
function checkNarrow() {
    const core = new Core();
    core.open(encoder.encode(lines(200000)), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const info = core.json("core_chart", 0, 0);
    core.call("core_draw", 0, 0, info.to, 1000, 3, 4);
    const words = new Uint32Array(core.reply().slice().buffer);
    const sizes = new Float32Array(words.buffer);
    let covered = 0;
    for (let at = 0; at < words.length; at += 6)
        covered += sizes[at + 1];
    const count = words.length / 6;
    report("boxes narrower than a pixel are drawn as one per pixel",
        info.boxes > 200000 && count >= 990 && count <= 1010 && Math.abs(covered - 1000) < 2 ? "" : `${info.boxes} ${count} ${covered}`);
}

/* Sums counted by hand: recursion counts once, a search counts a stack once. */
function checkSums() {
    const core = new Core();
    core.open(encoder.encode("a;b;a;c 4\na;c 3\nb 2\n"), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const n = core.json("core_functions", 1, 0, 0);
    const rows = core.json("core_function_rows", 0, n).map((f) => [f.name, f.self, f.total].join());
    const found = core.json("core_search", "A", 0).total;
    const both = core.json("core_search", "^[ab]$", 1);
    const label = core.calls.core_find.length; /* it takes an address and a length */
    report("self, total and the search count each stack once",
        rows.sort().join(" ") === "a,0,7 b,2,6 c,7,7" && found === 7 && both.total === 9 && both.functions === 2 && label === 2
            ? "" : JSON.stringify([rows, found, both]));
}

function checkFilters() {
    const cases = [
        [[{ verb: "focus", text: "b", exact: true }], "x;a+(;b 4\n"],
        [[{ verb: "ignore", text: "b" }], "a;c 3\n"],
        [[{ verb: "hide", text: "a+(", exact: true }], "a;c 3\nx;b 4\n"],
        [[{ verb: "show-from", text: "a+(", exact: true }], "a+(;b 4\n"],
        [[{ verb: "ignore", text: "c" }, { verb: "hide", text: "x" }], "a+(;b 4\n"],
    ];
    const wrong = [];
    for (const [filters, want] of cases) {
        const core = new Core();
        core.open(encoder.encode("x;a+(;b 4\na;c 3\n"), "x.folded");
        core.call("core_show", JSON.stringify(filters), 0, 0);
        if (core.folded() !== want)
            wrong.push(`${JSON.stringify(filters)}: ${core.folded()}`);
    }
    const core = new Core();
    core.open(encoder.encode("a;b 1\n"), "x.folded");
    core.call("core_show", "[]", 0, 0);
    for (const bad of ['[{"verb":"focus","text":"nowhere"}]', '[{"verb":"focus","text":"("}]', '[{"verb":"no such","text":""}]', "[{"])
        try {
            core.call("core_show", bad, 0, 0);
            wrong.push(`${bad} was taken`);
        } catch {
            if (core.folded() !== "a;b 1\n")
                wrong.push(`${bad} changed what is shown`);
        }
    report("filters are applied in order; an invalid one changes nothing", wrong.join("\n"));
}

/* The shown profile remains until another is shown; meanwhile the page's charts
 * request it. */
function checkBetween() {
    const core = new Core();
    const ask = ["core_choose:1", "core_summary:5000", "core_chart:0:0", "core_functions:0:0:0", "core_draw:0:0:9:1200:0:9"];
    const answers = () => ask.map((one) => {
        const [name, ...args] = one.split(":");
        try {
            core.call(name, ...args.map(Number));
            return decoder.decode(core.reply());
        } catch (error) {
            return error.message;
        }
    }).join();
    const replies = answers();
    const before = new Set(replies.split(","));
    report("before a file is opened each call reports it", before.size === 1 && before.has("nothing is shown") ? "" : replies);
    core.open(encoder.encode("a;b 3\na;c 5\n"), "first.folded");
    core.json("core_show", "[]", 0, 0);
    const first = answers();
    core.json("core_show", '[{"verb":"hide","text":"b"}]', 0, 0);
    core.json("core_show", "[]", 0, 0);
    core.open(encoder.encode("x;y;z 9\n"), "second.folded");
    const between = answers();
    core.open(encoder.encode("x;y;z 7\n"), "third.folded");
    report("a profile that is opened but not shown changes no reply", between === first && answers() === first ? "" : `${first}\n${between}`);
    const shown = core.json("core_show", "[]", 0, 0);
    report("the last opened profile is shown", shown.total === 7 ? "" : JSON.stringify(shown));
}

/* Time order makes the boxes of a thread when they are needed, also when the profile is closed already. */
function checkLateLanes() {
    const wrong = [];
    for (const [plain, filters] of [[0, "[]"], [1, "[]"], [0, '[{"verb":"hide","text":"leaf"}]'], [1, '[{"verb":"hide","text":"leaf"}]']]) {
        const boxes = (close) => {
            const core = new Core();
            core.calls.core_plain(plain);
            core.open(encoder.encode(twoPrograms().text), "x.perf");
            core.call("core_prepare", 0);
            core.json("core_show", filters, 0, 0, 1);
            const { rows, to } = core.json("core_chart", 4, 0);
            if (close)
                core.open(encoder.encode("x;y;z 9\n"), "second.folded");
            core.call("core_draw", 4, 0, to, 1000, 0, rows);
            return decoder.decode(core.reply());
        };
        if (!boxes(false).length || boxes(true) !== boxes(false))
            wrong.push(`plain ${plain}, filters ${filters}: ${boxes(true).length}, expected ${boxes(false).length}`);
    }
    report("the boxes of a closed profile in the order of time", wrong.join("\n"));
}

/* Threads 11 and 12 of process 10 take turns of 10 ms; 12 has every fourth. Process 20 runs
 * on the other CPU from 0.5 s on. */
function tracksInput() {
    const out = [];
    const add = (comm, ids, cpu, ms) =>
        out.push(`${comm} ${ids} [00${cpu}] ${(100 + ms / 1000).toFixed(6)}: 10000000 cpu-clock:`, "\tffff01 main+0x2 (/bin/prog)", "");
    for (let i = 0; i < 100; i++) {
        add("prog", i % 4 === 3 ? "10/12" : "10/11", 0, i * 10);
        if (i >= 50)
            add("other", "20/20", 1, i * 10);
    }
    return out.join("\n");
}

/* The tracks of a request: their times, and their layers. */
function tracksOf(core, ids, from, to, columns, side = 0) {
    const at = core.calls.malloc(4 * ids.length) >>> 0;
    new Uint32Array(core.calls.memory.buffer, at, ids.length).set(ids);
    core.call("core_tracks_draw", at, ids.length, from, to, columns, side);
    const values = new Float32Array(core.reply().slice().buffer);
    let next = 0;
    return ids.map((id) => {
        const layers = [7, 6, 6, 2, 8, 1][id >>> 28];
        const [running, waiting] = values.subarray(next, next + 2);
        const all = Array.from({ length: layers }, (_, i) => [...values.subarray(next + 2 + i * columns, next + 2 + (i + 1) * columns)]);
        next += 2 + layers * columns;
        return { running, waiting, layers: all };
    });
}

const PROCESS = 1 << 28, THREAD = 2 << 28, CPU = 3 << 28;
const near = (got, expected) => got.length === expected.length && got.every((x, i) => Math.abs(x - expected[i]) < 1e-3);

function checkTracks() {
    const core = new Core();
    core.open(encoder.encode(tracksInput()), "x.perf");
    core.json("core_show", '[{"verb":"tid","text":"12"}]', 0, 0);
    const info = core.json("core_tracks");
    const wrong = [];
    const expect = (what, got, expected) => {
        if (JSON.stringify(got) !== JSON.stringify(expected))
            wrong.push(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
    };
    expect("processes", info.processes.map((p) => [p.name, p.pid, p.count]), [["prog", 10, 2], ["other", 20, 1]]);
    expect("threads", info.threads.map((t) => [t.tid, t.process, t.samples]), [[11, 0, 75], [12, 0, 25], [20, 1, 50]]);
    expect("CPUs", info.cpus, [0, 1]);
    const [machine, prog, t11, cpu0, cpu1] = tracksOf(core, [0, PROCESS, THREAD, CPU, CPU | 1], 0, 1e9, 4);
    const sums = (layers) => layers.slice(1).reduce((sum, one) => sum.map((x, i) => x + one[i]), layers[0]);
    if (!near(sums(machine.layers), [1, 1, 2, 2]) || !near(machine.layers[1], [0, 0, 1, 1]))
        wrong.push(`the machine: ${JSON.stringify(machine.layers)}`);
    if (!near([prog.running, prog.waiting, t11.running, cpu1.running].map((ns) => ns / 1e9), [1, 0, 0.75, 0.5]))
        wrong.push(`times: ${[prog.running, prog.waiting, t11.running, cpu1.running]}`);
    if (!near(cpu0.layers[0], [1, 1, 1, 1]) || !near(cpu1.layers[0], [0, 0, 1, 1]) || !near(cpu1.layers[1].slice(2), [1, 1]))
        wrong.push(`CPUs: ${JSON.stringify([cpu0.layers, cpu1.layers])}`);
    report("tracks have the times of all threads and CPUs, with any filter", wrong.join("\n"));
}

/* The columns of a window add up to what a window of one column has. */
function checkTrackWindows() {
    const core = new Core();
    core.open(encoder.encode(tracksInput()), "x.perf");
    core.json("core_show", "[]", 0, 0);
    const wrong = [];
    for (const [from, to] of [[0, 1e9], [3e8, 7.7e8], [5e8 - 1, 5e8 + 1], [9.9e8, 2e9], [123456789, 123466789]])
        for (const id of [PROCESS, PROCESS | 1, THREAD, THREAD | 1, THREAD | 2, CPU | 1]) {
            const [one] = tracksOf(core, [id], from, to, 1);
            const [many] = tracksOf(core, [id], from, to, 1180);
            const sum = many.layers[0].reduce((a, b) => a + b, 0) / 1180;
            if (Math.abs(sum - one.layers[0][0]) > 1e-3 || Math.abs(one.running - many.running) > 1)
                wrong.push(`${id.toString(16)} ${from} ${to}: ${one.layers[0][0]} and ${sum}`);
        }
    for (const bad of [[[THREAD | 3], 0, 1, 9], [[5 << 28], 0, 1, 9], [[0], 1, 1, 9], [[0], NaN, 1, 9], [[0], 0, 1, 0], [[0], 0, 1, 1e6]])
        try {
            tracksOf(core, ...bad);
            wrong.push(`${bad} was accepted`);
        } catch {
            /* as expected */
        }
    core.open(encoder.encode("a;b 1\n"), "x.folded");
    if (core.json("core_tracks") !== null)
        wrong.push("a profile without times has tracks");
    report("tracks of any window agree, and invalid requests are rejected", wrong.join("\n"));
}

/* Samples that are late leave gaps, which the strips of the CPUs do not show: their CPU time is that of
 * the machine all the same. Of several processes with one name, those that ran are counted. */
function checkTrackTotals() {
    const out = [];
    const add = (pid, cpu, ms, event, ns) =>
        out.push(`prog ${pid}/${pid} [00${cpu}] ${(100 + ms / 1000).toFixed(6)}: ${ns} ${event}:`, "\tffff01 main+0x2 (/bin/prog)", "");
    for (let i = 0; i < 900; i++)
        add(10 + i % 3, i % 2, i * 5.5, "cpu-clock", 1e7);
    add(20, 0, 4960, "off-cpu", 1e8);
    const core = new Core();
    core.open(encoder.encode(out.join("\n")), "x.perf");
    core.json("core_show", "[]", 0, 0);
    const { processes, to } = core.json("core_tracks", 0);
    const wrong = [];
    for (const [from, end] of [[0, to], [1e9, 3e9], [2.5e9, 2.6e9]]) {
        const [machine, cpu0, cpu1] = tracksOf(core, [0, CPU, CPU | 1], from, end, 100);
        if (Math.abs(cpu0.running + cpu1.running - machine.running) > 1e6 || !(machine.running > 0))
            wrong.push(`${from} ${end}: ${cpu0.running} and ${cpu1.running} of ${machine.running}`);
    }
    if (JSON.stringify(processes.map((p) => [p.processes, p.ran])) !== "[[4,3]]")
        wrong.push(JSON.stringify(processes));
    report("CPUs have the CPU time of the machine, and processes that ran are counted", wrong.join("\n"));
}

/* The first name of process 20 has no sample. */
function checkTrackNames() {
    const sample = (name, pid, at) => `${name} ${pid}/${pid} [000] 100.0${at}: 10000000 cpu-clock:\n\tffff01 main+0x2 (/bin/prog)\n\n`;
    const made = spawnSync(stoke, ["convert", "-q", "-", "--to", "firefox", "-o", "-"], { encoding: "utf8", input: sample("first", 10, 10) + sample("first", 10, 20) + sample("second", 20, 30) });
    const profile = JSON.parse(made.stdout), second = profile.threads[1];
    profile.threads.splice(1, 0, { ...second, name: "sh", processName: "sh", samples: { ...second.samples, length: 0, stack: [], time: [], weight: [] } });
    const core = new Core();
    core.open(encoder.encode(JSON.stringify(profile)), "x.json");
    core.json("core_show", "[]", 0, 0);
    const got = JSON.stringify(core.json("core_tracks", 0).processes.map((p) => [p.name, p.pid, p.running]));
    report("a thread whose first name has no sample has a track of its own", got === '[["first",10,20000000],["second",20,10000000]]' ? "" : got);
}

/* At low zoom the machine and its CPUs are drawn from cells, and in windows with few turns turn by
 * turn: the edges of columns may be wrong by an eighth of a column, on each CPU, and the sum of all is
 * right. The process of a CPU is one that ran there. */
function checkCells() {
    const core = new Core(), wrong = [], PARTS = 40, FINE = 50;
    core.open(manySamples(), "x.perf");
    core.json("core_show", "[]", 0, 0);
    const { to, cpus, processes } = core.json("core_tracks", 0);
    for (const id of [0, ...cpus.map((_, i) => CPU | i)])
        for (const [from, end] of [[0, to], [to * 0.123, to * 0.877], [to * 0.5, to * 1.5]]) {
            const [all] = tracksOf(core, [id], from, end, PARTS);
            const width = (end - from) / PARTS, most = (id ? 1 : cpus.length) / 8;
            const ahead = all.layers.map(() => 0);
            for (let c = 0; c < PARTS; c++) {
                const [part] = tracksOf(core, [id], from + c * width, from + (c + 1) * width, FINE);
                (id ? part.layers.slice(0, 1) : part.layers).forEach((layer, l) => {
                    ahead[l] += all.layers[l][c] - layer.reduce((a, b) => a + b, 0) / FINE;
                    if (Math.abs(ahead[l]) > most + 1e-4)
                        wrong.push(`track ${id.toString(16)} up to column ${c} layer ${l}: ${ahead[l]} columns more than in parts`);
                });
                if (id && part.layers[0].every((use) => use > 0.9) && !part.layers[1].includes(all.layers[1][c]))
                    wrong.push(`track ${id.toString(16)} column ${c}: process ${all.layers[1][c]} of ${processes.length}, in parts ${part.layers[1]}`);
            }
            if (from === 0 && ahead.some((more) => Math.abs(more) > 1e-3))
                wrong.push(`the whole of track ${id.toString(16)}: ${ahead}`);
        }
    report("tracks of the machine and of CPUs from cells are those of their turns", wrong.slice(0, 5).join("\n"));
}

/* The CPU time of a process is that of its threads in any window, and the same in a picture of several
 * tracks; with cells and without them, the columns are the same but for their edges. */
function checkWeights() {
    const input = manySamples(), wrong = [];
    const [cells, none] = [true, false].map((prepared) => {
        const core = new Core();
        core.open(input, "x.perf");
        core.json("core_show", "[]", 0, 0);
        if (prepared)
            core.json("core_prepare", 0);
        return core;
    });
    const { to, processes, threads } = cells.json("core_tracks", 0);
    for (const [from, end] of [[0, to], [0, to * 0.4], [to * 0.4, to], [to * 0.3, to * 0.31], [to * 0.9, to * 2], [to * 0.2, to * 0.8]]) {
        const ids = [0, ...processes.map((_, i) => PROCESS | i), ...threads.map((_, i) => THREAD | i)];
        const all = tracksOf(cells, ids, from, end, 30), other = tracksOf(none, ids, from, end, 30);
        const machine = all[0], of = (p) => threads.flatMap((t, i) => (t.process === p ? [all[1 + processes.length + i]] : []));
        const sum = (tracks) => tracks.reduce((before, one) => before + one.running, 0);
        processes.forEach((_, p) => {
            if (Math.abs(all[1 + p].running - sum(of(p))) > 1e-6 * machine.running)
                wrong.push(`process ${p} from ${from}: ${all[1 + p].running}, its threads ${sum(of(p))}`);
        });
        if (Math.abs(machine.running - sum(all.slice(1, 1 + processes.length))) > 1e-6 * machine.running)
            wrong.push(`the machine from ${from}: ${machine.running}`);
        ids.forEach((id, i) => {
            const [alone] = tracksOf(cells, [id], from, end, 30);
            if (alone.running !== all[i].running || all[i].running !== other[i].running || JSON.stringify(alone.layers) !== JSON.stringify(all[i].layers))
                wrong.push(`track ${id.toString(16)} from ${from} alone, or without cells`);
            all[i].layers.forEach((layer, l) => layer.forEach((value, c) => {
                if (Math.abs(value - other[i].layers[l][c]) > 0.25 * threads.length)
                    wrong.push(`track ${id.toString(16)} from ${from} layer ${l} column ${c}: ${value}, without cells ${other[i].layers[l][c]}`);
            }));
        });
        const halves = [[from, (from + end) / 2], [(from + end) / 2, end]].map(([a, b]) => tracksOf(cells, [0], a, b, 1)[0].running);
        if (Math.abs(halves[0] + halves[1] - machine.running) > 1e-6 * machine.running)
            wrong.push(`the halves from ${from}: ${halves}, ${machine.running}`);
    }
    report("the times of tracks add up in any window", wrong.slice(0, 5).join("\n"));
}

/* A thread with many turns in each column, and many threads with few of them, are drawn in different
 * ways: a process has the sum of its threads, in each column. */
function checkManyThreads() {
    const lines = [], wrong = [], THREADS = 30;
    let random = 1;
    for (let i = 0; i < 40000; i++) {
        random = (random * 48271) % 2147483647;
        const thread = random % 3 ? 0 : random % THREADS;
        lines.push(`prog 10/${10 + thread} ${(100 + i / 10000).toFixed(6)}: ${20000 + random % 90000} ${random % 5 ? "cpu-clock" : "off-cpu"}:`,
            `\tffff${random % 9}1 f${random % 9}+0x2 (/bin/prog)`, "");
    }
    const core = new Core();
    core.open(encoder.encode(lines.join("\n")), "x.perf");
    core.json("core_show", "[]", 0, 0);
    const { to, threads } = core.json("core_tracks");
    for (const [from, end] of [[0, to], [to * 0.31, to * 0.62], [to * 0.5, to * 0.501]])
        for (const columns of [1, 7, 300]) {
            const [process, ...all] = tracksOf(core, [PROCESS, ...threads.map((_, i) => THREAD | i)], from, end, columns);
            process.layers.forEach((layer, l) => layer.forEach((value, c) => {
                const sum = all.reduce((before, one) => before + one.layers[l][c], 0);
                if (Math.abs(value - sum) > 1e-3)
                    wrong.push(`${from} to ${end}, column ${c} of ${columns}, layer ${l}: ${value}, of its threads ${sum}`);
            }));
            const width = (end - from) / columns;
            if (columns === 7)
                for (let c = 0; c < columns; c++) {
                    const [alone] = tracksOf(core, [PROCESS], from + c * width, from + (c + 1) * width, 1);
                    if (alone.layers.some((layer, l) => Math.abs(layer[0] - process.layers[l][c]) > 1e-3))
                        wrong.push(`column ${c} alone: ${alone.layers}`);
                }
        }
    report("a process has the sum of its threads in each column", wrong.slice(0, 5).join("\n"));
}

/* By milliseconds: grow has 1, 2, 1 and 0 MiB, leak 0.5 from the second time on. */
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

/* The track of memory: what allocated, its peak, spans and moments. */
function checkMemory() {
    const core = new Core();
    const { events } = core.open(encoder.encode(HEAP), "x.heaptrack");
    const shown = core.json("core_show", "[]", 0, 0);
    const { memory, processes, to } = core.json("core_tracks");
    const wrong = [];
    const mib = (bytes) => bytes / 2 ** 20;
    const expect = (what, got, expected) => {
        if (JSON.stringify(got) !== JSON.stringify(expected))
            wrong.push(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
    };
    expect("the track", [memory.by, memory.layers.map((l) => l.name), memory.others, memory.resident, mib(memory.peak), memory.peakAt, processes, to],
        ["function", ["grow", "leak"], false, true, 2.5, 2e8, [], 4e8]);
    const [all] = tracksOf(core, [4 << 28 >>> 0], 5e7, 4.5e8, 4);
    expect("its columns", [mib(all.running), ...[0, 1, 2, 7].map((i) => all.layers[i].map(mib))],
        [2.5, [1, 2, 2, 1], [0, 0.5, 0.5, 0.5], [0, 0, 0, 0], [4, 4, 4, 4]]);
    expect("one pixel", tracksOf(core, [4 << 28 >>> 0], 2.1e8, 2.2e8, 1)[0].layers[0].map(mib), [2]);
    const [rate] = tracksOf(core, [5 * 2 ** 28], 5e7, 4.5e8, 4);
    expect("allocations", [memory.allocations, rate.running, rate.waiting, rate.layers[0].map((perNs) => Math.round(perNs * 1e8))], [3, 3, 3, [1, 2, 0, 0]]);
    const span = (from, until) => Object.entries(core.json("core_memory_span", from, until)).map(([name, bytes]) => [name, mib(bytes)]);
    expect("growth", span(5e7, 2.5e8), [["change", 2.5], ["live", 2.5], ["allocated", 2.5], ["freed", 0]]);
    expect("release", span(2.5e8, 5e8), [["change", -2], ["live", 0.5], ["allocated", 0], ["freed", 2]]);
    expect("the most within", [core.json("core_memory_most", 2.5e8, 3.5e8), core.json("core_memory_most", -5, -4)], [2e8, -1]);
    for (const [at, live] of [[2e8, 2.5], [3e8, 1.5], [4e8, 0.5]]) {
        const then = core.json("core_show", JSON.stringify([{ verb: "moment", text: "", to: at + 1 }]), memory.event, 0);
        expect(`live at ${at}`, mib(then.total), live);
    }
    const event = (name) => events.findIndex((one) => one.name === name) + 1;
    core.json("core_show", "[]", event("leaked"), 0);
    const sites = core.json("core_sites", 5);
    expect("what leaked", [sites.count, ...sites.rows.map((row) => [row.function.name, mib(row.weight), row.samples, row.complete])], [1, ["leak", 0.5, 1, true]]);
    const grown = core.json("core_growth", sites.rows[0].function.label, 4);
    expect("its growth", [grown.event, grown.first, grown.to, ...grown.bytes.map(mib)], ["live", 2e8, 4e8, 0, 0, 0.5, 0.5]);
    expect("no growth", core.json("core_growth", core.json("core_find", "main"), 4), null);
    const rest = core.json("core_show", JSON.stringify([{ verb: "suppress", text: "leak:le*k" }]), event("leaked"), 0);
    expect("suppressed", [rest.event_name, rest.total], ["leaked", 0]);
    expect("by module", core.json("core_memory", 1).layers, [{ name: "x" }]);
    for (const [call, ...args] of [["core_memory", 3], ["core_show", JSON.stringify([{ verb: "suppress", text: "leak" }]), 1, 0]])
        try {
            core.json(call, ...args);
            wrong.push(`${call} ${args} was accepted`);
        } catch {
            /* as expected */
        }
    report("the track of memory has what is live by function, its peak, and the bytes of spans", shown && wrong.join("\n"));
}

/* The peak is between two times of the file, and after its last one. */
function checkPeakBetweenTimes() {
    const wrong = [];
    for (const [what, text] of [["between times", HEAP.replace("+ 0\n+ 1\nc c8\n- 0\n", "+ 0\n+ 1\n- 1\n- 0\nc c8\n+ 1\n")],
        ["at the end", `${HEAP}+ 0\n+ 0\n+ 0\n- 0\n`]]) {
        const core = new Core();
        core.open(encoder.encode(text), "x.heaptrack");
        const peak = core.json("core_show", "[]", 1, 0).total;
        const { memory } = core.json("core_tracks");
        const then = core.json("core_show", JSON.stringify([{ verb: "moment", text: "", to: memory.peakAt + 1 }]), memory.event, 0).total;
        const end = core.json("core_show", "[]", memory.event, 0).total, leaked = core.json("core_show", "[]", 2, 0).total;
        if (peak !== memory.peak || then !== peak || end !== leaked || !(peak > end))
            wrong.push(`${what}: ${[peak, memory.peak, then, end, leaked]}`);
    }
    report("the peak of the track, of the tables and of its moment are the same", wrong.join("\n"));
}

/* The second profile is half as long, and has one process. */
function checkTracksOfSides() {
    const core = new Core();
    core.open(encoder.encode(tracksInput()), "after.perf");
    core.open(encoder.encode(tracksInput().split("\n").slice(0, 225).join("\n").replaceAll("other", "prog")), "before.perf", 65536, 1);
    core.json("core_show", "[]", 0, 0);
    const [after, before] = [0, 1].map((side) => core.json("core_tracks", side));
    const sums = [0, 1].map((side) => tracksOf(core, [0], 0, 1e9, 4, side)[0].running / 1e9);
    let refused = false;
    try {
        core.json("core_tracks", 2);
    } catch {
        refused = true;
    }
    core.json("core_alone");
    const closed = core.json("core_tracks", 1) === null;
    const got = JSON.stringify([after.processes.length, before.processes.map((p) => p.name), after.to > before.to, ...sums.map((s) => s.toFixed(2)), refused, closed]);
    report("a comparison has the tracks of both profiles", got === JSON.stringify([2, ["prog"], true, "1.50", sums[1].toFixed(2), true, true]) && sums[1] > 0.5 && sums[1] < 1.5 ? "" : got);
}

/* A damaged file: times that go back, releases without allocations. */
function checkMemoryDamage() {
    const core = new Core();
    const lines = HEAP.split("\n");
    let tracks = 0;
    for (let i = 0; i < lines.length; i++) {
        const text = [...lines.slice(0, i), ...lines.slice(i + 1), "c 5", "- 0", "- 1", "c ffffffff"].join("\n");
        try {
            core.open(encoder.encode(text), "x.heaptrack");
        } catch {
            continue;
        }
        const info = core.json("core_tracks");
        if (!info?.memory)
            continue;
        tracks++;
        const [all] = tracksOf(core, [4 << 28 >>> 0], 0, Math.max(1, info.to), 50);
        if (all.layers.flat().some((value) => !(value >= 0)))
            report("the memory of a damaged file", `without line ${i + 1}: ${all.layers}`);
    }
    report("damaged heap files have tracks without negative bytes", tracks > 10 ? "" : `${tracks} tracks`);
}

/* Processes are the outermost frames, then the threads of those with several; samples keep
 * their threads. */
function checkProcessFrames() {
    const core = new Core();
    core.open(encoder.encode(tracksInput()), "x.perf");
    core.json("core_show", '[{"verb":"threads","text":"both"}]', 0, 0);
    const folded = core.folded().split("\n").filter(Boolean).sort();
    const expected = ["other;other-20;main 500000000", "prog;prog-10;prog-10/11;main 750000000", "prog;prog-10;prog-10/12;main 250000000"];
    const lanes = lanesOf(core).map((lane) => lane.tid);
    report("no box has two processes when processes are the first frames",
        JSON.stringify([folded, lanes]) === JSON.stringify([expected, [11, 12, 20]]) ? "" : JSON.stringify([folded, lanes]));
}

/* Two programs, one of them with two threads, whose functions have the same names. The weights of
 * the second are multiples of 1000, and those of the first are less in all. */
function twoPrograms() {
    const samples = [];
    for (let i = 0; i < 60; i++) {
        const two = i % 3 === 0;
        const stack = [["work", "main"], ["leaf", "work", "main"], ["main"], ["leaf", "main", "work", "main"]][(i >> 1) % 4];
        samples.push({ comm: two ? "two" : "one", ids: two ? "20/20" : i % 3 === 1 ? "10/10" : "10/11", weight: two ? 1000 * (1 + i % 2) : 1 + i % 5, stack });
    }
    const text = samples.map(({ comm, ids, weight, stack }, i) => [`${comm} ${ids} [000] ${(1 + i / 100).toFixed(6)}: ${weight} cycles:`,
        ...stack.map((name, at) => `\tff0${at} ${name}+0x1 (/bin/${comm})`), ""].join("\n")).join("\n");
    return { samples, text };
}

/* Such samples are part of the total, and of no function. */
function checkNoFrames() {
    const core = new Core();
    core.open(encoder.encode("p 1/1 [000] 1.0: 5 cycles:\n\np 1/1 [000] 1.1: 7 cycles:\n\tff a+0x1 (/bin/a)\n\tff main+0x1 (/bin/a)\n\n"), "x.perf");
    core.json("core_show", "[]", 0, 0, 1);
    const rows = (kind) => core.json("core_children", kind, 0).map((row) => [row.function.name, row.self, row.total]);
    core.json("core_choose_named", "main");
    const got = JSON.stringify([0, 1, 2].map((kind) => [rows(kind), core.json("core_chart", kind, 0).to]));
    report("samples without frames count once, and not as callers", got === JSON.stringify([[[["main", 0, 7]], 12], [[["a", 0, 7]], 12], [[["main", 7, 7]], 7]]) ? "" : got);
}

/* With the leaves first, process and thread are the outermost levels too. */
function checkInvertedProcesses() {
    const core = new Core(), wrong = [];
    const { samples, text } = twoPrograms();
    const same = (what, got, expected) => {
        if (JSON.stringify(got) !== JSON.stringify(expected))
            wrong.push(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
    };
    const visit = (kind, node, path, seen) => {
        const rows = core.json("core_children", kind, node);
        for (const row of rows)
            seen.push({ ...row, path: [...path, row.function.name], below: visit(kind, row.node, [...path, row.function.name], seen) });
        return rows.reduce((sum, row) => sum + row.total, 0);
    };
    const expect = (levels) => {
        const sums = {};
        for (const { comm, ids, weight, stack } of samples) {
            const [pid, tid] = ids.split("/");
            const owners = comm === "one" ? [`one ${pid}`, `one ${tid}`] : [`two ${pid}`];
            if (comm === "one" && tid === pid)
                owners[1] += " (thread)";
            const all = [...(levels ? owners : []), ...stack];
            all.forEach((_, i) => { const path = all.slice(0, i + 1).join(";"); sums[path] = (sums[path] ?? 0) + weight; });
        }
        return Object.entries(sums).sort();
    };
    const all = samples.reduce((sum, { weight }) => sum + weight, 0);
    core.open(encoder.encode(text), "x.perf");
    for (const levels of [1, 0]) {
        core.json("core_show", "[]", 0, 0, levels);
        const seen = [];
        same("the sum of the outermost boxes", [visit(1, 0, [], seen), core.json("core_chart", 1, 0).to], [all, all]);
        same("boxes", seen.map((row) => [row.path.join(";"), row.total]).sort(), expect(levels));
        same("self and callers are the total", seen.filter((row) => row.self + row.below !== row.total), []);
        same("boxes of two programs", seen.some((row) => row.total >= 1000 && row.total % 1000 !== 0), !levels);
    }
    core.json("core_show", "[]", 0, 0, 1);
    core.json("core_search", "main", 0);
    const info = core.json("core_chart", 1, 0), names = [];
    for (let at = core.calls.core_next_match(1, -1, 0) >>> 0; names.length < 99 && !names.includes(at); at = core.calls.core_next_match(1, at, 0) >>> 0)
        names.push(at);
    const found = names.map((at) => core.json("core_box", 1, at));
    same("found boxes", [info.boxes > 0, found.every((box) => box.function.name === "main"), found.length], [true, true, expect(1).filter(([path]) => path.endsWith(";main")).length]);
    same("their outermost levels", found.every((box) => /^(one 10|two 20)$/.test(box.stack.at(-1))), true);
    core.open(encoder.encode(text), "before.perf", 65536, 1);
    core.json("core_show", "[]", 0, 0, 1);
    const seen = [];
    same("compared", [visit(1, 0, [], seen), seen.filter((row) => row.path.length === 1).map((row) => [row.function.name, row.base_total, row.total])],
        [all, [["two", all - all % 1000, all - all % 1000], ["one", all % 1000, all % 1000]]]);
    same("boxes of two programs in a comparison", seen.filter((row) => [row.total, row.base_total].some((sum) => sum >= 1000 && sum % 1000 !== 0)), []);
    report("with the leaves first no box has two programs, and the sums are the totals", wrong.join("\n"));
}

/* Functions with one name in two programs: each box has the colour and the source of its own
 * program, in every view, and callers and callees have no box of both. */
function checkSameNames() {
    const core = new Core(), wrong = [], seen = new Set(), tones = {};
    const { samples, text } = twoPrograms();
    const same = (what, got, expected) => {
        if (JSON.stringify(got) !== JSON.stringify(expected))
            wrong.push(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
    };
    core.open(encoder.encode(text), "x.perf");
    core.json("core_show", "[]", 0, 0, 1);
    core.call("core_color", 1);
    core.json("core_choose_named", "work");
    for (const kind of [0, 1, 2, 3, 4]) {
        const info = core.json("core_chart", kind, 0);
        core.call("core_draw", kind, 0, info.to, 100000, 0, info.rows);
        const words = new Uint32Array(core.reply().slice().buffer), lanes = kind === 4 ? lanesOf(core) : [];
        for (let at = 0; at < words.length; at += 6) {
            const box = core.json("core_box", kind, words[at + 3]);
            if (!["main", "work", "leaf"].includes(box.function.name))
                continue;
            const lane = lanes.find((one) => box.row >= one.row && box.row < one.row + one.rows);
            const program = (lane ? lane.comm ?? lane.name : box.stack.at(-1)).split(" ")[0];
            same(`the module in chart ${kind}`, box.function.module, `/bin/${program}`);
            (tones[program] ??= new Set()).add(words[at + 5] & 15);
            seen.add(`${kind} ${program}`);
            if (!lane)
                same(`a box of two programs in chart ${kind}`, box.total >= 1000 && box.total % 1000 !== 0, false);
        }
    }
    same("charts and programs", seen.size, 10);
    same("colours", [tones.one.size, tones.two.size, [...tones.one][0] === [...tones.two][0]], [1, 1, false]);
    const sum = (program) => samples.filter(({ comm, stack }) => comm === program && stack.includes("work")).reduce((all, { weight }) => all + weight, 0);
    for (const kind of [2, 3]) {
        const rows = core.json("core_children", kind, 0);
        same(`outermost of ${kind}`, rows.map((row) => [row.function.kind, row.total]), [["process", sum("two")], ["process", sum("one")]]);
        for (const row of rows)
            same(`below ${row.function.name}`, core.json("core_children", kind, row.node).map((one) => [one.function.name, one.total, one.function.module]),
                [["work", row.total, `/bin/${row.function.name.split(" ")[0]}`]]);
    }
    core.json("core_show", "[]", 0, 0, 0);
    core.json("core_choose_named", "work");
    same("without levels", core.json("core_children", 2, 0).map((row) => [row.function.name, row.total]), [["work", sum("one") + sum("two")]]);
    report("functions of one name in two programs are two colours and have their own source", wrong.join("\n"));
}

/* As in the view of one profile; IDs differ between recordings, so names are compared. */
function checkComparedProcesses() {
    const input = (ids, samples) => encoder.encode(Array.from({ length: samples }, (_, i) => {
        const [comm, pid, tid] = [["web", ids, ids], ["web", ids, ids + 1], ["db", ids + 5, ids + 5], ["db", ids + 5, ids + 5]][i % 4];
        const name = tid === ids + 1 ? "pool" : comm;
        return `${name} ${pid}/${tid} [000] ${(50 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n\tffffaa work+0x1 (/bin/${comm})\n\tffff01 main+0x2 (/bin/${comm})\n`;
    }).join("\n"));
    const core = new Core(), wrong = [];
    const same = (what, got, expected) => {
        if (JSON.stringify(got) !== JSON.stringify(expected))
            wrong.push(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
    };
    const levels = (node = 0, depth = 3) => Object.fromEntries(core.json("core_children", 0, node).map((row) =>
        [`${row.function.name} ${row.function.kind} ${row.base_total}-${row.total}`, depth > 1 ? levels(row.node, depth - 1) : 0]).sort());
    core.open(input(10, 400), "after.perf");
    same("several processes", core.open(input(70, 200), "before.perf", 65536, 1).several_processes, true);
    const shown = core.json("core_show", "[]", 0, 0, 1);
    same("by process", [shown.by_process, shown.total, shown.base_total], [true, 4e9, 2e9]);
    const main = (before, after) => ({ [`main user ${before}e9-${after}e9`]: 0 });
    const rounded = JSON.parse(JSON.stringify(levels()).replace(/(\d+)00000000\b/g, (_, x) => `${x / 10}e9`));
    same("levels", rounded, { "db process 1e9-2e9": { "main user 1e9-2e9": { "work user 1e9-2e9": 0 } },
        "web process 1e9-2e9": { "pool thread 0.5e9-1e9": main(0.5, 1), "web (thread) thread 0.5e9-1e9": main(0.5, 1) } });
    same("without levels", [core.json("core_show", "[]", 0, 0, 0).by_process, Object.keys(levels())], [false, ["main user 2000000000-4000000000"]]);
    const db = core.json("core_show", JSON.stringify([{ verb: "comm", text: "db" }]), 0, 0, 1);
    same("one process", [db.by_process, db.total, db.base_total], [false, 2e9, 1e9]);
    core.json("core_show", "[]", 0, 0, 1);
    const [owner] = core.json("core_children", 0, 0).filter((row) => row.function.name === "web");
    same("ids", [owner.function.ids, owner.function.process_label], ["", undefined]);
    core.open(recorded(2, 200), "after.txt");
    same("two programs", core.open(recorded(5, 200), "before.txt", 65536, 1).several_processes, false);
    report("a comparison of several processes begins with their names, then those of their threads", wrong.join("\n"));
}

/* One call answers what would take several: it replies the same as they do. */
function checkAtOnce() {
    const core = new Core(), wrong = [];
    const same = (what, got, expected) => {
        if (JSON.stringify(got) !== JSON.stringify(expected))
            wrong.push(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
    };
    core.open(encoder.encode("a;b;c 8\na;b;d 1\na;e 2\nf 3\n"), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const { to } = core.json("core_chart", 0, 0);
    const levels = core.json("core_heaviest", 0, 0);
    same("the heaviest", levels.map((rows) => rows.map((row) => row.function.name)), [["a", "f"], ["b", "e"], ["c", "d"]]);
    same("their rows", levels, [0, levels[0][0].node, levels[1][0].node].map((node) => core.json("core_children", 0, node)));
    same("below a leaf", core.json("core_heaviest", 0, levels[0][1].node), [[]]);
    same("below a node that does not exist", core.json("core_heaviest", 0, 1e9), [[]]);
    const light = core.json("core_heaviest", 0, levels[0][0].node);
    same("below a node", light, levels.slice(1));
    for (let box = 0; box < 6; box++) {
        const expected = core.json("core_box", 0, box);
        same("a box", core.json("core_select", 0, box), expected);
        same("its callers", core.json("core_children", 2, 0).map((row) => row.function.name), [expected.function.name]);
        const named = core.json("core_choose_named", expected.function.name);
        same("by name", named, core.json("core_choose", named.label));
    }
    same("no such name", core.json("core_choose_named", "z"), null);
    const drawn = (end) => {
        core.call("core_draw", 0, 0, end, 1000, 0, 9);
        return [...core.reply()];
    };
    same("up to the end", drawn(Infinity), drawn(to));
    report("calls that answer for several reply the same", wrong.join("\n"));
}

/* A filter of threads or of a span does not read all samples, if it is the first one; a second
 * one does. */
function checkNarrowed() {
    const wrong = [];
    const sorted = tracksInput(), blocks = sorted.split("\n\n");
    const unsorted = [...blocks.slice(70), ...blocks.slice(0, 70)].join("\n\n");
    for (const [name, text] of [["sorted", sorted], ["unsorted", unsorted]])
        for (const filter of [{ verb: "tid", text: "12" }, { verb: "tid", text: "11,12" }, { verb: "pid", text: "20" }, { verb: "pid", text: "10" },
            { verb: "time", text: "", from: 0, to: 3e8 }, { verb: "time", text: "", from: 2.5e8, to: 7e8 }, { verb: "time", text: "", from: 9.9e8, to: 2e9 }]) {
            const core = new Core();
            core.open(encoder.encode(text), "x.perf");
            const shown = (filters) => {
                core.json("core_show", JSON.stringify(filters), 0, 0);
                return [core.folded(), JSON.stringify(core.json("core_summary", 5000)), JSON.stringify(core.json("core_chart", 4, 0))];
            };
            const [alone, after] = [shown([filter]), shown([{ verb: "hide", text: "no such function" }, filter])];
            if (alone.join() !== after.join() || !alone[0])
                wrong.push(`${name}, ${JSON.stringify(filter)}: ${alone} instead of ${after}`);
        }
    report("a filter of threads or of a span leaves the same samples without reading all", wrong.join("\n"));
}

/* Colours are chosen by module, and by name if most stacks are of one module. */
function checkAutomaticColour() {
    const wrong = [];
    const sample = (...frames) => `p 1/1 [000] 1.0: 1 cycles:\n${frames.map(([name, module]) => `\t1000 ${name} (${module})\n`).join("")}\n`;
    const drawn = (text, by) => {
        const core = new Core();
        core.open(encoder.encode(text), "perf.txt");
        core.json("core_show", "[]", 0, 0);
        core.call("core_color", by);
        const { to } = core.json("core_chart", 0, 0);
        core.call("core_draw", 0, 0, to, 1000, 0, 99);
        return [...core.reply()].join();
    };
    const names = ["main", "parse", "lex", "render", "draw", "fill", "sort", "hash", "read"];
    const one = names.map((name) => sample([name, "/bin/a"], ["main", "/bin/a"])).join("");
    const several = names.map((name, at) => sample([name, at % 2 ? "/lib/b.so" : "/lib/c.so"], ["main", "/bin/a"])).join("");
    for (const [what, text, by] of [["one module", one, 0], ["several modules", several, 1]])
        if (drawn(text, 5) !== drawn(text, by) || drawn(text, 0) === drawn(text, 1))
            wrong.push(what);
    report("the colour is chosen by the number of modules", wrong.join("\n"));
}

/* The whole profile is shown again after a part of it, also with another event or profile. */
function checkAside() {
    const core = new Core(), wrong = [];
    const drawn = () => [0, 4].map((kind) => {
        const { to } = core.json("core_chart", kind, 0);
        core.call("core_draw", kind, 0, to, 1000, 0, 9);
        return [...core.reply()].join();
    }).concat(JSON.stringify(core.json("core_functions", 0, 0, 0)), core.folded(), JSON.stringify(core.json("core_choose", 1)));
    const shows = (what, filters, count, expected) => {
        core.json("core_show", JSON.stringify(filters), 0, count);
        core.call("core_color", 1);
        const now = drawn();
        if (expected && now.join() !== expected.join())
            wrong.push(what);
        return now;
    };
    const part = [{ verb: "tid", text: "12" }];
    core.open(encoder.encode(tracksInput()), "x.perf");
    const whole = shows("all", [], 0), counted = shows("counted", [], 1), one = shows("a thread", part, 1);
    shows("counted again", [], 1, counted);
    shows("a thread again", part, 1, one);
    shows("another part", [{ verb: "pid", text: "20" }], 1);
    shows("counted a third time", [], 1, counted);
    shows("all again", [], 0, whole);
    shows("a part", part, 0);
    core.open(encoder.encode("a;b 3\nc 1\n"), "x.folded");
    core.json("core_show", "[]", 0, 0);
    if (core.folded() !== "a;b 3\nc 1\n")
        wrong.push("another profile");
    report("all is shown again as before", wrong.join("\n"));
}

/* Samples of three processes, with waits: enough of them that the core condenses the rows. */
function manySamples() {
    let seed = 12345;
    const random = (below) => {
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
        return Math.floor((seed / 2 ** 32) * below);
    };
    const text = [];
    let ns = 1e9;
    for (let i = 0; i < 70000; i++) {
        ns += 1000 + random(3000);
        const process = random(3), thread = random(4), waits = random(5) === 0;
        const stack = [`leaf${random(6)}`, `middle${random(4)}`, random(3) ? "main" : "start"];
        text.push(`p${process}${random(9) ? "" : "x"} ${10 + process}/${(10 + process) * 10 + thread} [00${random(4)}] ${(ns / 1e9).toFixed(9)}: ${1 + random(1e6)} ${waits ? "off-cpu" : "cpu-clock"}:`);
        if (waits)
            text.push("\t0 [lock] ([lock])");
        stack.forEach((name, at) => text.push(`\t${(4096 + at * 64).toString(16)} ${name} (/bin/${process ? "a" : "b"})`));
        text.push("");
    }
    return encoder.encode(text.join("\n"));
}

/* Boxes of lanes are the same in whatever order the lanes are made, and whatever makes them. */
function checkLanes() {
    const bytes = manySamples(), wrong = [];
    const opened = () => {
        const core = new Core();
        core.open(bytes, "perf.txt");
        core.json("core_show", "[]", 2, 0);
        core.call("core_color", 0);
        return { core, ...core.json("core_chart", 4, 0), lanes: lanesOf(core) };
    };
    const shown = (core, box) => {
        const { row, from, to, off, waiting, stack } = core.json("core_box", 4, box);
        return JSON.stringify([row, from, to, off, waiting, stack]);
    };
    const drawn = ({ core, to, lanes }, order, part) => order(lanes).map((lane) => {
        core.call("core_draw", 4, 0.4 * to, 0.4 * to + part * to, 300, lane.row, lane.row + lane.rows);
        const words = new Uint32Array(core.reply().slice().buffer);
        return Array.from({ length: words.length / 6 }, (_, i) => {
            const at = 6 * i;
            return [words[at], words[at + 1], words[at + 2], words[at + 4], words[at + 5], shown(core, words[at + 3])].join();
        });
    }).flat().sort().join("\n");
    const forward = (lanes) => lanes, backward = (lanes) => [...lanes].reverse();
    for (const part of [0.0005, 0.02, 0.3]) {
        const one = opened(), other = opened();
        const all = drawn(one, forward, part);
        if (all !== drawn(other, backward, part) || all !== drawn(other, forward, part) || one.lanes.length !== 24)
            wrong.push(`boxes of ${part} in another order`);
    }
    const all = opened(), lazy = opened();
    const { boxes } = allLanes(all.core);
    if (lazy.boxes !== 0 || drawn(lazy, (lanes) => lanes.slice(0, 1), 1) === "" || !(lazy.core.json("core_chart", 4, 0).boxes < boxes / 6))
        wrong.push("lanes that are not visible are made");
    let seed = 7;
    for (let i = 0; i < 300; i++) {
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
        const row = seed % all.rows, x = ((seed >>> 8) / 2 ** 24) * all.to;
        const [a, b] = [all, lazy].map(({ core }) => core.calls.core_hit(4, row, x) >>> 0);
        const none = 2 ** 32 - 1;
        if ((a === none) !== (b === none) || (a !== none && shown(all.core, a) !== shown(lazy.core, b)))
            wrong.push(`row ${row} at ${x}`);
        for (const way of a === none ? [] : [0, 1, 2, 3]) {
            const next = [[all, a], [lazy, b]].map(([{ core }, box]) => [core, core.calls.core_step(4, box, way) >>> 0])
                .map(([core, box]) => (box === none ? "none" : shown(core, box)));
            if (next[0] !== next[1])
                wrong.push(`step ${way} from row ${row} at ${x}: ${next}`);
        }
    }
    checkMatches(opened, shown, wrong);
    report("boxes of lanes do not depend on the order in which they are made", wrong.slice(0, 5).join("\n"));
}

/* Only the lanes of the rows that are asked for are sent: those with a row among them. */
function checkLanesInView() {
    const core = new Core(), wrong = [];
    core.open(manySamples(), "perf.txt");
    core.json("core_show", "[]", 2, 0);
    const { rows } = core.json("core_chart", 4, 0), all = lanesOf(core);
    if (all.length !== 24 || Math.max(...all.map((lane) => lane.row + lane.rows)) !== rows)
        wrong.push(`${all.length} lanes of ${rows} rows`);
    for (const [first, last] of [[0, 1], [0, 7], [5, 6], [13, 40], [rows - 1, rows], [rows, rows + 9], [3, 3]]) {
        const expected = all.filter((lane) => lane.row < last && lane.row + lane.rows > first);
        if (JSON.stringify(lanesOf(core, first, last)) !== JSON.stringify(expected))
            wrong.push(`rows ${first} to ${last}`);
    }
    report("the lanes of some rows are those of all rows", wrong.join("\n"));
}

/* A chart of part of a profile is the same whether it is made of the chart of all or not, and a picture is
 * the same after any other pictures. */
function checkPartOfChart() {
    const input = manySamples(), wrong = [], known = new Core(), plain = new Core();
    for (const core of [known, plain])
        core.open(input, "x.perf");
    const drawn = (core, from, to) => {
        core.call("core_draw", 0, from, to, 700, 0, 9);
        return [...new Uint32Array(core.reply().slice().buffer)].join();
    };
    for (const event of [0, 2])
        for (const [from, to] of [[0, 1e9], [3e6, 4e6], [2e7, 9e7], [5e7, 5.001e7], [1e6, 2e8]])
            for (const order of [0, 1]) {
                const span = JSON.stringify([{ verb: "time", text: "", from, to }]);
                const [a, b] = [known, plain].map((core) => {
                    core.json("core_show", "[]", event, 0, 1);
                    if (core === known)
                        drawn(core, 0, core.json("core_chart", 0, order).to);
                    core.json("core_show", span, event, 0, 1);
                    core.call("core_color", 1);
                    const info = core.json("core_chart", 0, order);
                    return { info: JSON.stringify(info), all: drawn(core, 0, info.to), part: drawn(core, info.to * 0.3, info.to * 0.31), rows: JSON.stringify(core.json("core_heaviest", 0, 0)) };
                });
                for (const key of Object.keys(a))
                    if (a[key] !== b[key])
                        wrong.push(`${event} ${from} ${to} by ${order}: ${key}\n${a[key].slice(0, 200)}\n${b[key].slice(0, 200)}`);
            }
    report("a chart of a part is the same with the chart of all and without it", wrong.slice(0, 3).join("\n"));
}

/* Rows that are summed up when they are drawn: in any order of the windows. */
function checkLevelsInAnyOrder() {
    const text = encoder.encode(Array.from({ length: 30000 }, (_, i) => `main;f${(i * 7919) % 30000};g${i % 7} ${1 + (i * 31) % 97}`).join("\n"));
    const windows = [[0, 1, 1000], [0.2, 0.9, 700], [0.5, 0.51, 1000], [0.3, 0.4, 40], [0, 1, 100], [0.123, 0.1234, 900]];
    const opened = () => {
        const core = new Core();
        core.open(text, "x.folded");
        core.json("core_show", "[]", 0, 0);
        core.call("core_color", 1);
        return { core, to: core.json("core_chart", 0, 0).to };
    };
    const draw = ({ core, to }, [from, end, width]) => {
        core.call("core_draw", 0, from * to, end * to, width, 0, 9);
        return [...core.reply()].join();
    };
    const one = opened();
    const all = windows.map((window) => draw(one, window));
    const other = opened();
    const back = [...windows].reverse().map((window) => draw(other, window)).reverse();
    const alone = windows.map((window) => draw(opened(), window));
    const wrong = windows.filter((_, i) => all[i] !== back[i] || all[i] !== alone[i]);
    report("a picture does not depend on what was drawn before", wrong.join(" and "));
}

/* Going from match to match, forwards and back, meets each once, row by row. */
function checkMatches(opened, shown, wrong) {
    const none = 2 ** 32 - 1;
    const { core } = opened();
    const text = "leaf3";
    core.json("core_search", text, 0);
    const first = core.calls.core_next_match(4, none, 0) >>> 0, met = [];
    let box = first;
    do {
        met.push(box);
        box = core.calls.core_next_match(4, box, 0) >>> 0;
    } while (box !== first && met.length < 1e6);
    const { boxes } = core.json("core_chart", 4, 0);
    const all = Array.from({ length: boxes }, (_, i) => i).filter((i) => core.json("core_box", 4, i).function.name === text);
    if (JSON.stringify(all) !== JSON.stringify([...met].sort((a, b) => a - b)) || all.length < 1000)
        wrong.push(`${met.length} matches instead of ${all.length}`);
    const back = [core.calls.core_next_match(4, none, 1) >>> 0];
    while (back.length < met.length)
        back.push(core.calls.core_next_match(4, back[back.length - 1], 1) >>> 0);
    const rowOf = (i) => JSON.parse(shown(core, i))[0];
    if (back.reverse().join() !== met.join() || rowOf(met[0]) > rowOf(met[met.length - 1]))
        wrong.push("matches backwards");
}

const WAITS_A_REPLY = 200; /* as in web/core/waits.h */

/* The rows of all replies with an order (enum wait_sort), up to a row. */
function allWaits(core, sort, most = 1e9) {
    const first = core.json("core_waits", sort, 0), rows = [], replies = [];
    for (let from = 0; from < Math.min(first.count, most); from += WAITS_A_REPLY) {
        const reply = core.json("core_waits", sort, from);
        rows.push(...reply.rows);
        replies.push({ rows: reply.rows.length, bytes: core.reply().length });
    }
    return { ...first, rows, replies };
}

/* A long profile has too many of the smallest cells: the core refuses them. */
function heatOrError(core, grid) {
    try {
        return JSON.stringify(core.json("core_heat", ...grid));
    } catch (error) {
        return error.message;
    }
}

/* What the page may show of the shown profile, without the numbers of labels, nodes and boxes. */
function allViews(core) {
    const named = (value) => JSON.stringify(value, (key, one) => (["label", "labels", "node"].includes(key) ? undefined : one));
    core.call("core_color", 0);
    const drawn = (kind) => {
        const { to, rows } = core.json("core_chart", kind, 0);
        core.call("core_draw", kind, 0, to, 700, 0, rows);
        const bytes = core.reply().slice().buffer;
        const words = new Uint32Array(bytes), sizes = new Float32Array(bytes), boxes = [];
        const labels = [...words].filter((_, at) => at % 6 === 4);
        const at = core.calls.malloc(4 * labels.length + 4) >>> 0;
        new Uint32Array(core.calls.memory.buffer, at, labels.length).set(labels);
        core.calls.core_names(at, labels.length);
        const names = JSON.parse(decoder.decode(core.reply()));
        for (let i = 0; i < names.length; i++)
            boxes.push(`${sizes[6 * i]} ${sizes[6 * i + 1]} ${words[6 * i + 2]} ${names[i]}`);
        return boxes.sort().join("\n"); /* equal ones may be in another order */
    };
    const functions = core.json("core_functions", 0, 0, 0);
    const parts = { left: drawn(0), up: drawn(1), time: drawn(4), summary: named(core.json("core_summary", 5000)), files: named(core.json("core_files")) };
    parts.functions = core.json("core_function_rows", 0, functions).map(named).sort().join("\n"); /* equal ones may be in another order */
    parts.graph = named(core.json("core_graph", 0, 0, 1000).functions.length);
    parts.waits = named(allWaits(core, 0).rows);
    parts.heat = [[1e6, 10], [37e5, 5], [123e5, 9], [1e9, 1], [1e4, 50], [12345.5, 3]].map((grid) => heatOrError(core, grid)).join();
    parts.folded = core.folded();
    return parts;
}

/* Names in which signs, digits, and small and capital letters are mixed. */
const NAMES = ["b", "B", "_b", "a::b", "a", "Ab", "aB", "~a", "operator()", "[x]", "a<int>", "A1", "a10", "a2", "z-z", "z_z", "$a", "zz", "Zz", "ab.cold"];
const WAIT_SORTS = [null, "total", "longest", "count", "name", "reason", "function", "waker"];

/* Waits of 100,000 pairs of thread and function, some of them twice. */
function pairsOfWaits() {
    const text = [], sum = { rows: 0, total: 0, count: 0 };
    for (let i = 0; i < 110000; i++) {
        const pair = i % 100000, thread = pair % 500, f = Math.floor(pair / 500), ns = 1000 + ((i * 7919) % 9973) * 100;
        text.push(`${NAMES[thread % 20]}-${thread} 10/${100 + thread} [000] ${(1 + i / 1e5).toFixed(6)}: ${ns} off-cpu:`, `\t0 [${["lock", "sleep", "preempted"][pair % 3]}] ([lock])`,
            `\tff${(4096 + f * 64).toString(16)} ${NAMES[f % 20]}${f} (/bin/prog)`, "\tff01 main (/bin/prog)", "");
        sum.total += ns;
        sum.count++;
    }
    return { bytes: encoder.encode(text.join("\n")), sum };
}

/* The CPU time of a call in ms: other programs do not change it much. */
function cpuTime(call) {
    const before = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
}

/* The order of a table, which JavaScript can compute: the rows of the usual order, sorted by a column. */
function sortedWaits(rows, by) {
    return [...rows].sort((a, b) => (typeof a[by] === "number" ? b[by] - a[by] : (a[by] ?? "").localeCompare(b[by] ?? "", "en")));
}

/* Each reply has few rows, soon; the replies contain all waits. */
function checkManyWaits() {
    const { bytes, sum } = pairsOfWaits(), wrong = [];
    const core = new Core();
    core.open(bytes, "perf.txt");
    core.call("core_show", "[]", 0, 0);
    const times = [cpuTime(() => core.json("core_waits", 0, 0)), cpuTime(() => core.json("core_waits", 0, 99000))];
    const usual = allWaits(core, 0);
    const total = usual.rows.reduce((all, row) => all + row.total, 0), count = usual.rows.reduce((all, row) => all + row.count, 0);
    const keys = new Set(usual.rows.map((row) => `${row.tid} ${row.label} ${row.reason}`));
    if (usual.count !== 100000 || usual.rows.length !== 100000 || keys.size !== 100000)
        wrong.push(`${usual.count} groups, ${usual.rows.length} rows, ${keys.size} different`);
    if (total !== sum.total || count !== sum.count || usual.most !== Math.max(...usual.rows.map((row) => row.total)))
        wrong.push(`${total} ns of ${sum.total} in ${count} of ${sum.count}`);
    if (usual.rows.some((row, i) => i && (row.reason === "sleep") < (usual.rows[i - 1].reason === "sleep")))
        wrong.push("sleep is not last");
    WAIT_SORTS.forEach((by, sort) => {
        if (!sort)
            return;
        times.push(cpuTime(() => core.json("core_waits", sort, 0)));
        const got = allWaits(core, sort, by === "function" ? 1e9 : 2000).rows;
        const want = sortedWaits(usual.rows, by).slice(0, got.length);
        const at = got.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(want[i]));
        if (at >= 0)
            wrong.push(`by ${by}, row ${at}: ${JSON.stringify(got[at])}, expected ${JSON.stringify(want[at])}`);
    });
    const largest = Math.max(...usual.replies.map((reply) => reply.bytes));
    if (usual.replies.some((reply) => reply.rows !== WAITS_A_REPLY) || largest > 60000)
        wrong.push(`a reply of ${largest} bytes, ${JSON.stringify(usual.replies.slice(0, 3))}`);
    /* They were 140 ms, then 25 at most. */
    if (times[0] > 1500 || times.slice(1).some((ms) => ms > 250))
        wrong.push(`${times.map((ms) => ms.toFixed(0))} ms`);
    report("100,000 waits are listed in replies of 200, sorted by each column", wrong.join("\n"));
}

/* A wait is in the function of the program that uses the lock, as in the table of locks. */
function checkWaitFunctions() {
    const wrong = [];
    const cases = [["futex_wait pthread_mutex_lock take main", "take"], ["__GI___lll_lock_wait std::mutex::lock get main", "get"], ["schedule read main", "read"],
        ["schedule __futex_wait", "__futex_wait"], ["schedule kthread", "schedule"]];
    cases.forEach(([stack, want], i) => {
        const core = new Core();
        const frames = stack.split(" ").map((name, at) => (/schedule|kthread/.test(name) ? `\tffffffff810${at} ${name} ([kernel.kallsyms])` : `\tff0${at} ${name} (/bin/a)`));
        core.open(encoder.encode(`a 1/${i + 1} [000] 1.000000: 1000 off-cpu:\n${frames.join("\n")}\n\n`), "perf.txt");
        core.call("core_show", "[]", 0, 0);
        const [row] = core.json("core_waits", 0, 0).rows;
        if (row?.function.replace("_[k]", "") !== want)
            wrong.push(`${stack}: ${row?.function}`);
    });
    const core = new Core();
    core.open(fs.readFileSync(path.join(tests, "import", "perf-data", "waits.in")), "perf.data");
    core.call("core_show", "[]", 0, 0);
    const usual = core.json("core_waits", 0, 0), woken = core.json("core_waits", WAIT_SORTS.indexOf("waker"), 0).rows;
    if (!usual.woken || JSON.stringify(woken) !== JSON.stringify(sortedWaits(usual.rows, "waker")))
        wrong.push(`by waker: ${JSON.stringify(woken)}`);
    {
        const core = new Core(), stacks = ["futex_wait pthread_cond_timedwait take_gil acquire_timed worker", "futex_wait sem_clockwait lock_PyThread_acquire_lock worker", "futex_wait pthread_mutex_lock worker", "schedule read worker"];
        core.open(encoder.encode(stacks.map((stack, i) => [`p 1/1 [000] ${i + 1}.000000: 1000000 off-cpu:`, "\t0 [lock] ([lock])",
            ...stack.split(" ").map((name, at) => `\tff${i}${at} ${name} (/bin/p)`), ""].join("\n")).join("\n")), "perf.txt");
        core.json("core_show", "[]", 0, 0);
        const got = core.json("core_waits", 0, 0).rows.map((row) => row.lock_kind ?? "").sort().join();
        wrong.push(...(got === ",GIL,Python lock,mutex" ? [] : [`kinds: ${got}`]));
    }
    report("waits are in the function that uses the lock", wrong.join("\n"));
}

/* Condensed rows are only faster: all views are those of the samples. */
function checkCondensed() {
    const input = manySamples(), wrong = [];
    const condensed = new Core(), plain = new Core();
    plain.calls.core_plain(1);
    for (const core of [condensed, plain])
        core.open(input, "x.perf");
    const span = (from, to) => ({ verb: "time", text: "", from: from * 1e6, to: to * 1e6 });
    /* Siblings of equal weight may be in another order. */
    const placed = (key, view) => (["left", "up"].includes(key) ? view.replace(/^\S+ /gm, "").split("\n").sort().join("\n") : view);
    const compare = (filters, event, count, processes) => {
        const now = [condensed, plain].map((core) => {
            try {
                return { shown: JSON.stringify(core.json("core_show", JSON.stringify(filters), event, count, processes)), ...allViews(core) };
            } catch (error) {
                return { error: error.message };
            }
        });
        for (const key of Object.keys(now[1]))
            if (now[0][key] === undefined || placed(key, now[0][key]) !== placed(key, now[1][key]))
                wrong.push(`${JSON.stringify(filters)} ${event} ${count} ${processes}: ${key}\n${now[0][key]?.slice(0, 300)}\n${now[1][key].slice(0, 300)}`);
    };
    for (const settings of [[0, 0, 1], [0, 1, 0], [2, 0, 1]])
        for (const filters of [[], [span(3, 4)], [span(0, 70)], [span(7.5, 91)], [span(20, 300)], [{ verb: "pid", text: "11" }],
            [{ verb: "tid", text: "112" }, span(9, 30)], [{ verb: "comm", text: "p1" }, span(60, 61)], [{ verb: "focus", text: "leaf1" }],
            [{ verb: "hide", text: "middle" }, { verb: "collapse", text: "adjacent" }, span(30, 90)], [{ verb: "threads", text: "process" }],
            [{ verb: "by", text: "module" }], [{ verb: "cpu", text: "2" }, span(30, 40)], [span(10, 80), span(20, 50)], [span(500, 600)],
            [{ verb: "moment", text: "", to: 3e7 }], [{ verb: "reverse", text: "" }, { verb: "focus", text: "start" }], [{ verb: "ignore", text: "nothing" }]])
            if (settings[1] === 0 || filters.length < 2)
                compare(filters, ...settings);
    report("condensed rows show what the samples show", wrong.join("\n"));
}

/* What is made before it is needed is what is made when it is needed, with a filter too. */
function checkPrepared() {
    const wrong = [];
    for (const input of [manySamples(), encoder.encode(twoPrograms().text)])
        for (const filters of ["[]", '[{"verb":"hide","text":"main"}]']) {
            const views = [false, true].map((prepared) => {
                const core = new Core();
                core.open(input, "x.perf");
                core.json("core_show", filters, 0, 0, 1);
                let steps = 0;
                while (prepared && core.json("core_prepare", steps))
                    steps++;
                if (prepared && steps !== (filters === "[]" ? 4 : 0))
                    wrong.push(`${filters}: ${steps} steps`);
                return allViews(core);
            });
            wrong.push(...Object.keys(views[0]).filter((key) => views[0][key] !== views[1][key]).map((key) => `${filters}: ${key}`));
        }
    report("views that were prepared show the same", wrong.join("\n"));
}

/* Samples in idle functions are counted; not those of interrupts of an idle CPU. */
function checkIdle() {
    const core = new Core();
    const sample = (time, leaf, callers) => `swapper 0/0 [000] ${time}.000000: 1000 cpu-clock:\n${[leaf, ...callers].map((name) => `\tffffffff81000000 ${name} ([kernel.kallsyms])\n`).join("")}`;
    const idle = ["default_idle", "do_idle", "cpu_startup_entry"];
    core.open(encoder.encode([sample(1, "pvm_safe_halt_hc", idle), sample(2, "default_idle", idle.slice(1)), sample(3, "handle_irq", ["asm_interrupt", ...idle]),
        "a 1/1 [000] 4.000000: 1000 cpu-clock:\n\t1000 work (/bin/a)\n"].join("\n")), "perf.txt");
    const { total, idle: found } = core.json("core_show", "[]", 0, 0, 1);
    const filtered = core.json("core_show", JSON.stringify([{ verb: "comm", text: "a" }]), 0, 0, 1);
    report("samples in idle functions are counted", total === 4000 && found === 2000 && filtered.idle === 0 ? "" : `${found} of ${total}; ${filtered.idle}`);
    const cells = () => core.json("core_heat", 1e9, 1).cells;
    core.json("core_show", "[]", 0, 0, 1);
    const all = cells();
    const left = core.json("core_show", "[]", 0, 0, 1, 0, 1);
    core.call("core_functions", 0, 0, 0);
    const names = core.json("core_function_rows", 0, 20).map((row) => `${row.name} ${row.self}`).sort();
    const { functions } = core.json("core_graph", 0, 0);
    const drawn = functions.map((one) => one.function.name).sort().join();
    const heat = cells();
    const only = core.json("core_show", JSON.stringify([{ verb: "focus", text: "pvm_safe_halt_hc", exact: true }]), 0, 0, 1, 0, 1);
    const seen = JSON.stringify({ left, names, drawn, heat, all, only });
    report("idle time can be left out of all views, unless it is all",
        left.total === 2000 && left.idle === 2000 && left.idle_left && left.samples === 2 && !names.includes("default_idle 1000") && names.includes("work 1000") && names.includes("handle_irq 1000") &&
        drawn === "asm_interrupt,cpu_startup_entry,default_idle,do_idle,handle_irq,work" && all.filter((x) => x > 0).length === 4 && heat.filter((x) => x > 0).length === 2 &&
        only.total === 1000 && !only.idle_left ? "" : seen);
}

/* Processes of one name have a level for each, unless there are many. */
function checkManyProcesses() {
    const wrong = [];
    for (const [count, levels] of [[3, 3], [8, 8], [9, 1], [300, 1]]) {
        const core = new Core();
        const lines = [];
        for (let i = 0; i < count; i++)
            lines.push(`sh ${1000 + i}/${1000 + i} [000] ${i}.000000: 1000 cpu-clock:\n\t1000 work (/bin/sh)\n\t2000 main (/bin/sh)\n`);
        lines.push("other 9/9 [000] 1000.000000: 1000 cpu-clock:\n\t1000 work (/bin/other)\n");
        core.open(encoder.encode(lines.join("\n")), "perf.txt");
        core.json("core_show", "[]", 0, 0, 1);
        const roots = core.json("core_children", 0, 0);
        const below = core.json("core_children", 0, roots[0].node);
        if (roots.length !== 2 || roots[0].total !== 1000 * count || below.length !== levels || (levels === 1) !== (below[0].function.name === "main"))
            wrong.push(`${count}: ${JSON.stringify(below.map((row) => row.function.name))}`);
    }
    report("many processes of one name are merged", wrong.join("\n"));
}

/* A field of protobuf: a number, text, or bytes. */
function field(number, value) {
    if (typeof value === "number")
        return [number << 3, value];
    const bytes = typeof value === "string" ? [...encoder.encode(value)] : value;
    return [number << 3 | 2, bytes.length, ...bytes];
}

/* A pprof profile of samples with a stack of functions (leaf first), a weight, and labels. */
function pprof(samples) {
    const strings = [""];
    const id = (text) => (strings.includes(text) ? strings.indexOf(text) : strings.push(text) - 1);
    const functions = [...new Set(samples.flatMap(([stack]) => stack))];
    const body = [field(1, [field(1, id("samples")), field(2, id("count"))].flat())];
    for (const [stack, weight, labels] of samples)
        body.push(field(2, [field(1, stack.map((name) => functions.indexOf(name) + 1)), field(2, [weight]),
            ...Object.entries(labels).map(([key, text]) => field(3, [...field(1, id(key)), ...field(2, id(text))]))].flat()));
    functions.forEach((name, i) => {
        body.push(field(4, [...field(1, i + 1), ...field(4, field(1, i + 1))]));
        body.push(field(5, [...field(1, i + 1), ...field(2, id(name))]));
    });
    return new Uint8Array([...body, ...strings.map((text) => field(6, text))].flat());
}

/* A profile of a store has no process IDs: the label "process" is the first level. */
function checkLabelProcesses() {
    const core = new Core();
    const samples = [[["a", "main"], 5, { process: "web", thread: "io" }], [["b", "main"], 7, { process: "db", thread: "io" }],
        [["a", "main"], 1, { process: "web", thread: "main" }], [["c", "main"], 2, {}]];
    const info = core.open(pprof(samples), "x.pb");
    core.json("core_show", "[]", 0, 0, 1);
    const names = (node) => core.json("core_children", 0, node).map((row) => `${row.function.name} ${row.total} ${row.function.process_label ?? ""}`.trim()).sort();
    const wrong = [];
    const expect = (what, got, right) => {
        if (JSON.stringify(got) !== JSON.stringify(right))
            wrong.push(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(right)}`);
    };
    expect("several processes", info.several_processes, true);
    expect("roots", names(0), ["(no name) 2", "db 7 db", "web 6 web"]);
    expect("total of a label", core.json("core_show", JSON.stringify([{ verb: "label", text: "process=web" }]), 0, 0, 1).total, 6);
    core.json("core_show", "[]", 0, 0, 1);
    expect("written again", core.folded().split("\n").filter(Boolean).sort(), ["io;main;a 5", "io;main;b 7", "main;c 2", "main;main;a 1"]);
    core.call("core_export", "speedscope");
    expect("exported", /-[0-9]/.test(decoder.decode(core.reply()).replace(/"exporter.*?"/, "")), false);
    const saved = new Core();
    core.call("core_export", "page");
    expect("saved page", saved.open(core.reply().slice(), "x.stoke").several_processes, true);
    report("processes of a profile without process IDs are its labels", wrong.join("\n"));
}

checkImports();
checkLabelProcesses();
checkManyProcesses();
checkPrepared();
checkIdle();
checkCondensed();
checkPartOfChart();
checkAtOnce();
checkNarrowed();
checkAutomaticColour();
checkAside();
checkLanes();
checkLanesInView();
checkProcessFrames();
checkComparedProcesses();
checkInvertedProcesses();
checkSameNames();
checkNoFrames();
checkTracks();
checkTrackWindows();
checkTrackTotals();
checkTrackNames();
checkCells();
checkManyThreads();
checkWeights();
checkMemory();
checkMemoryDamage();
checkPeakBetweenTimes();
checkTracksOfSides();
checkBetween();
checkLateLanes();
checkLayout();
checkNarrow();
checkChanges();
checkLevels();
checkLevelsInAnyOrder();
checkFarLooks();
checkWaits();
checkManyWaits();
checkWaitFunctions();
checkPart();
checkSums();
checkFilters();
checkPieces();
checkGoldens();
checkUnpacking();
checkBombs();
checkRecording();
console.log(`1..${number}`);
process.exit(failed ? 1 : 0);
