/* Reads a file with the viewer's core: viewer_read.mjs CORE.wasm FILE
 *
 * Prints the seconds of each step and the memory. */
import fs from "node:fs";

const PIECE = 8 << 20;
const [, , wasm, file] = process.argv;
const module = new WebAssembly.Module(fs.readFileSync(wasm));

/* The core's imports decompress parts of a file; the inputs here have no compressed parts. */
const none = () => {
    throw new Error("an input with something packed in it");
};
const imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = none;
const { exports: core } = new WebAssembly.Instance(module, imports);
core._initialize();

let before = process.cpuUsage();
function step(name) {
    const took = process.cpuUsage(before);
    console.log(`${name} ${((took.user + took.system) / 1e6).toFixed(3)}`);
    before = process.cpuUsage();
}

function check(ok) {
    if (ok)
        return;
    const at = core.core_reply() >>> 0;
    console.error(Buffer.from(core.memory.buffer, at, core.core_reply_length()).toString());
    process.exit(1);
}

/* Text in the core's memory. */
function text(words) {
    const bytes = Buffer.from(words);
    const at = core.malloc(bytes.length || 1) >>> 0;
    new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
    return { at, length: bytes.length };
}

const handle = fs.openSync(file);
check(core.core_begin(core.malloc(8), 0));
for (let got = 1; got > 0;) {
    const room = core.core_room(PIECE) >>> 0;
    got = fs.readSync(handle, new Uint8Array(core.memory.buffer, room, PIECE));
    check(core.core_feed(got, got === 0 ? 1 : 0));
}
check(core.core_finish(0));
step("read");
const args = text("[]");
check(core.core_show(args.at, args.length, 0, 0));
step("show");
check(core.core_chart(4, 0));
step("time");
check(core.core_chart(0, 0));
step("heavy");
console.log(`megabytes ${(core.memory.buffer.byteLength / 1e6).toFixed(0)}`);
