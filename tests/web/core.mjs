/* The core as WebAssembly: what it asks of its surroundings (to unpack), and that it reads
 * every format as the program does. Prints TAP.
 *
 * core.mjs CORE.wasm UNPACK.mjs TESTS-FOLDER STOKE */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";

const [, , wasm, unpack, tests, stoke] = process.argv;
const { unpackImports } = await import(path.resolve(unpack));
const module = new WebAssembly.Module(fs.readFileSync(wasm));
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

/* A core of its own for each test, so that none sees what another left. */
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

    /* In pieces of that size, as a stream brings them. */
    open(bytes, name, piece = 65536) {
        this.feed(bytes, name, piece);
        this.call("core_feed", 0, 1);
        return this.json("core_finish", 0);
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
    report("the module imports nothing but what unpacks", imports.map((one) => one.name).join(" "));
}

/* The inputs of `stoke fold`'s goldens that need no options. */
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

/* The page marks the stacks that were cut. */
function unmarked(folded) {
    const sums = new Map();
    for (const line of folded.replaceAll("[cut short];", "").split("\n").filter(Boolean)) {
        const at = line.lastIndexOf(" ");
        sums.set(line.slice(0, at), (sums.get(line.slice(0, at)) ?? 0) + Number(line.slice(at + 1)));
    }
    return JSON.stringify([...sums].sort());
}

const PACKED = [[0x1f, 0x8b], [0x28, 0xb5], [0xff, 0xfe], [0xfe, 0xff]]; /* the page unpacks */

function checkGoldens() {
    const differ = [];
    let count = 0;
    for (const { name, file } of goldens()) {
        const bytes = fs.readFileSync(file);
        const done = spawnSync(stoke, ["fold", "--quiet", "--kernel", "--jit", file], { encoding: "utf8" });
        const wanted = done.stdout;
        if (done.status || !wanted || PACKED.some(([a, b]) => bytes[0] === a && bytes[1] === b))
            continue;
        count++;
        try {
            const core = new Core();
            core.open(bytes, path.basename(name));
            core.call("core_show", "[]", 0, 0);
            const got = core.folded();
            if (got !== wanted && unmarked(got) !== unmarked(wanted))
                differ.push(`${name}: ${got.slice(0, 200)}`);
        } catch (error) {
            differ.push(`${name}: ${error.message}`);
        }
    }
    if (count < 50)
        differ.push(`only ${count} goldens were found`);
    report(`${count} inputs of all formats are folded as the program folds them`, differ.join("\n"));
}

/* What weighs so much is so deep, with so many frames of the kernel: all that can be said of
 * stacks whose names only one of the readers has. */
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

/* Stacks and lines that are as long as they can be: what is within the limits is whole, what is
 * beyond is cut or left out, and said, and what is beside it stays. */
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

/* A recording of this machine, packed as it is unless one asks for another. */
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
        const wanted = spawnSync(stoke, ["fold", "--quiet", "--kernel", "--no-inline", file], { encoding: "utf8" }).stdout;
        const core = new Core();
        core.open(bytes, "perf.data");
        core.call("core_show", "[]", 0, 0);
        const got = core.folded();
        const packed = bytes.includes(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
        report(name, packed && wanted && shapes(got) === shapes(wanted) ? "" : `${packed ? "" : "it is not packed\n"}${shapes(got)}\nwanted\n${shapes(wanted)}`);
    }
    fs.rmSync(folder, { recursive: true });
}

/* What it takes a moment to pack may take hours to unpack: a step at a time, as much as
 * there is room for. */
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
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 100; i++) {
        const got = calls.zstd_take(stream, 1000 + used, bomb.length - used, 1 << 21, room, 8);
        used += new DataView(memory.buffer).getUint32(8, true);
        if (got !== room)
            wrong.push(`${got} bytes at ${used}`);
    }
    const held = process.memoryUsage().arrayBuffers - before;
    if (used > 4 * 800 + 600 || held > 64 << 20)
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
    report("unpacking is bounded by the room there is, and damage is told", wrong.slice(0, 5).join("\n"));
}

function lines(count) {
    let text = "";
    for (let i = 0; i < count; i++)
        text += `main;f${i % 7};g${i % 1000};h${i} ${(i % 9) + 1}\n`;
    return text;
}

/* What is read in pieces is what is read at once; lines are counted over all of them. */
function checkPieces() {
    const text = `${lines(900000)}a;b no-number\n`;
    const bytes = encoder.encode(text);
    const small = new Core();
    const info = small.open(bytes, "x.folded", 100003);
    small.call("core_show", "[]", 0, 0);
    const sum = 900000 * 5;
    const warning = info.warnings[0];
    const total = small.json("core_show", "[]", 0, 0).total;
    report("a file of several pieces is read whole, and its warnings tell the file's lines",
        bytes.length > 20e6 && info.samples === 900000 && total === sum && warning?.line === 900001 ? ""
            : JSON.stringify([bytes.length, info.samples, total, sum, info.warnings]));
}

/* What is read so far can be shown, and changes nothing of what is read at the end. */
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
    const chart = core.json("core_chart", 4, 0);
    const second = core.json("core_partial");
    const again = core.json("core_show", "[]", 0, 0);
    core.call("core_feed", 0, 1);
    core.json("core_finish", 0);
    core.json("core_show", "[]", 0, 0);
    report("what is read so far is shown while reading goes on",
        early === "nothing is read yet" && part.samples > 1e5 && part.samples < 2.5e6 && Math.abs(shown.total / part.samples - 5) < 0.01 && chart.boxes > 1e5 &&
            second.samples === part.samples && again.total === shown.total && /only the beginning/.test(JSON.stringify(part.warnings)) &&
            core.folded() === whole.folded()
            ? "" : JSON.stringify([early, part, shown, chart, second]));
    core.feed(bytes, "x.folded", 1 << 20);
    const stopped = core.calls.core_stop();
    const rest = core.json("core_finish", 0);
    core.call("core_begin", "x.folded");
    report("reading that is stopped keeps what was read, and says that it is a part",
        stopped === 1 && rest.samples === part.samples && /only the beginning/.test(JSON.stringify(rest.warnings)) && core.calls.core_stop() === 0
            ? "" : JSON.stringify([stopped, rest]));
}

/* A row of many boxes, summed up by level, covers what its boxes cover: all of it from far
 * away, and the same boxes from near. */
function checkLevels() {
    const core = new Core();
    core.open(encoder.encode(lines(300000)), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const info = core.json("core_chart", 4, 0);
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
    report("a row of many boxes looks the same from far and from near", info.boxes > 300000 ? wrong.slice(0, 5).join("\n") : `${info.boxes} boxes`);
}

/* Callers go on over waits, and over gaps that are shorter than the sampler's period, but
 * not in the kernel; what waits is alone, and what is apart stays apart. By hand. */
function checkWaits() {
    const core = new Core();
    const text = [];
    const sample = (ms, event, length, ...names) => text.push(`prog 10/11 [000] ${(100 + ms / 1000).toFixed(6)}: ${length * 1e6} ${event}:`,
        ...names.reverse().map((name) => name.startsWith("k") ? `\tffffffff81 ${name}+0x1 ([kernel.kallsyms])` : `\tffff02 ${name}+0x1 (/bin/prog)`), "");
    const read = ["main", "read", "ksys", "kwait"];
    sample(0, "cpu-clock", 10, "main", "work");
    sample(60, "off-cpu", 50, ...read); /* 10 to 60 */
    sample(65, "cpu-clock", 10, "main", "work"); /* after 5 of nothing */
    sample(100, "off-cpu", 25, ...read); /* 75 to 100 */
    sample(130, "off-cpu", 27, ...read); /* 103 to 130 */
    sample(170, "cpu-clock", 10, "main", "work"); /* after 40: more than a period */
    core.open(encoder.encode(text.join("\n")), "perf.txt");
    core.call("core_show", "[]", 1, 0);
    const info = core.json("core_chart", 4, 0);
    const boxes = Array.from({ length: info.boxes }, (_, i) => core.json("core_box", 4, i))
        .map((b) => [b.row, b.function.name, b.from / 1e6, b.to / 1e6, (b.waiting / 1e6).toFixed(0), b.off].join(" ")).sort();
    const want = ["1 main 0 130 102 false", "1 main 170 180 0 false",
        "2 read 10 60 50 true", "2 read 75 130 52 false", "2 work 0 10 0 false", "2 work 170 180 0 false", "2 work 65 75 0 false",
        "3 ksys 10 60 50 true", "3 ksys 103 130 27 true", "3 ksys 75 100 25 true",
        "4 kwait 10 60 50 true", "4 kwait 103 130 27 true", "4 kwait 75 100 25 true"];
    report("callers go on over waits; what waits is alone", JSON.stringify(boxes) === JSON.stringify(want) ? "" : JSON.stringify(boxes));
}

/* From far away a box waits, and is called, as it is and does by itself. */
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
    const info = core.json("core_chart", 4, 0);
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
    report("a box looks from far as it does from near", info.boxes > 40000 && seen.size === 6 ? wrong.slice(0, 5).join("\n") : `${info.boxes} boxes, ${[...seen]}`);
}

/* Boxes against a layout by hand: main 10 = f 6 (g 4) + h 3, itself 1. */
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
    report("boxes lie where weights say, and are found there",
        JSON.stringify(boxes) === JSON.stringify(want) && info.rows === 3 && hits.join() === "0,1,3,4294967295,4294967295" ? ""
            : JSON.stringify([boxes, info, hits]));
}

/* Thousands of boxes in a pixel: one is drawn for each pixel, and none beyond. */
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
    report("boxes narrower than a pixel are drawn as one a pixel",
        info.boxes > 200000 && count >= 990 && count <= 1010 && Math.abs(covered - 1000) < 2 ? "" : `${info.boxes} ${count} ${covered}`);
}

/* Sums that are counted by hand: recursion counts once, a search counts a stack once. */
function checkSums() {
    const core = new Core();
    core.open(encoder.encode("a;b;a;c 4\na;c 3\nb 2\n"), "x.folded");
    core.call("core_show", "[]", 0, 0);
    const n = core.json("core_functions", 1, 0, 0);
    const rows = core.json("core_function_rows", 0, n).map((f) => [f.name, f.self, f.total].join());
    const found = core.json("core_search", "A", 0).total;
    const both = core.json("core_search", "^[ab]$", 1);
    const label = core.calls.core_find.length; /* it takes a place and a length */
    report("self, total and what a search finds count each stack once",
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
    report("filters are applied in order; one that cannot be leaves all as it was", wrong.join("\n"));
}

/* What is shown stays until something else is; the page's charts ask for it meanwhile. */
function checkBetween() {
    const core = new Core();
    const ask = ["core_choose:1", "core_summary", "core_chart:0:0", "core_functions:0:0:0", "core_draw:0:0:9:1200:0:9"];
    const answers = () => ask.map((one) => {
        const [name, ...args] = one.split(":");
        try {
            core.call(name, ...args.map(Number));
            return decoder.decode(core.reply());
        } catch (error) {
            return error.message;
        }
    }).join();
    const told = answers();
    const before = new Set(told.split(","));
    report("before anything is opened each answer says so", before.size === 1 && before.has("nothing is shown") ? "" : told);
    core.open(encoder.encode("a;b 3\na;c 5\n"), "first.folded");
    core.json("core_show", "[]", 0, 0);
    const first = answers();
    core.json("core_show", '[{"verb":"hide","text":"b"}]', 0, 0);
    core.json("core_show", "[]", 0, 0);
    core.open(encoder.encode("x;y;z 9\n"), "second.folded");
    const between = answers();
    core.open(encoder.encode("x;y;z 7\n"), "third.folded");
    report("a profile opened but not yet shown changes no answer", between === first && answers() === first ? "" : `${first}\n${between}`);
    const shown = core.json("core_show", "[]", 0, 0);
    report("the one opened last is shown", shown.total === 7 ? "" : JSON.stringify(shown));
}

checkImports();
checkBetween();
checkLayout();
checkNarrow();
checkLevels();
checkFarLooks();
checkWaits();
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
