/* Reads a file by the viewer's core: viewer_read.mjs CORE.wasm FILE */
import fs from "node:fs";

const [, , wasm, file] = process.argv;
const { exports: core } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(wasm)), {});
core._initialize();
const handle = fs.openSync(file);
const piece = Buffer.alloc(4 << 20);
const name = core.malloc(8);
let ok = core.core_begin(name, 0);
for (let got = 1; ok && got > 0;) {
    got = fs.readSync(handle, piece);
    const room = core.core_room(got) >>> 0;
    new Uint8Array(core.memory.buffer, room, got).set(piece.subarray(0, got));
    ok = core.core_feed(got, got === 0 ? 1 : 0);
}
ok = ok && core.core_finish(0);
process.exit(ok ? 0 : 1);
