/* The core's own thread: reads files into it, and passes calls on. */
import { BOX_WORDS, type Argument, type Drawing, type Fault, type Reply, type Request } from "./protocol";

interface Core {
    memory: WebAssembly.Memory;
    malloc(size: number): number;
    free(at: number): void;
    core_reply(): number;
    core_reply_length(): number;
    core_begin(name: number, length: number): number;
    core_room(length: number): number;
    core_feed(length: number, last: number): number;
    core_finish(slot: number): number;
    core_cancel(): void;
    core_draw(...args: number[]): number;
    core_names(labels: number, count: number): number;
    [name: string]: unknown;
}

const CHUNK = 4 << 20;
const NAME_MOST = 400; /* characters of a name that a box has room for */

const page = self as unknown as {
    postMessage(reply: Reply, transfer?: Transferable[]): void;
    onmessage: ((event: MessageEvent<Request>) => void) | null;
};
const text = { encode: new TextEncoder(), decode: new TextDecoder() };

let core: Core;
let told = new Set<number>(); /* labels whose names the page has */
let reading: { cancelled: boolean } | null = null;

class Failure extends Error {
    constructor(readonly fault: Fault) {
        super(fault.message);
    }
}

function fault(message: string, hint = ""): Fault {
    return { message, hint, line: 0, column: 0, text: "" };
}

function reply(): Uint8Array {
    return new Uint8Array(core.memory.buffer, core.core_reply() >>> 0, core.core_reply_length() >>> 0);
}

function replyText(): string {
    return text.decode.decode(reply());
}

function check(ok: number): void {
    if (!ok)
        throw new Failure(JSON.parse(replyText()) as Fault);
}

/* Calls with text and arrays put into the core's memory for as long as it takes. */
function call(name: string, args: Argument[]): number {
    const held: number[] = [];
    const flat: number[] = [];
    const hold = (bytes: Uint8Array): number => {
        const at = core.malloc(bytes.length || 1) >>> 0;
        if (!at)
            throw new Failure(fault("there is not enough memory"));
        new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
        held.push(at);
        return at;
    };
    for (const arg of args) {
        if (typeof arg === "number") {
            flat.push(arg);
        } else if (typeof arg === "string") {
            const bytes = text.encode.encode(arg);
            flat.push(hold(bytes), bytes.length);
        } else {
            flat.push(hold(new Uint8Array(arg.buffer, arg.byteOffset, arg.byteLength)), arg.length);
        }
    }
    const value = (core[name] as (...flat: number[]) => number)(...flat);
    for (const at of held)
        core.free(at);
    return value;
}

function names(labels: Uint32Array): string[] {
    check(call("core_names", [labels]));
    return JSON.parse(replyText()) as string[];
}

function draw(args: number[]): Drawing {
    const before = performance.now();
    check(core.core_draw(...args));
    const boxes = reply().slice().buffer;
    const words = new Uint32Array(boxes);
    const sizes = new Float32Array(boxes);
    const wanted: number[] = [];
    for (let at = 0; at < words.length; at += BOX_WORDS) {
        const label = words[at + 4] as number;
        if ((sizes[at + 1] as number) > 12 && !told.has(label)) {
            told.add(label);
            wanted.push(label);
        }
    }
    const found = wanted.length ? names(Uint32Array.from(wanted)) : [];
    return {
        boxes,
        count: words.length / BOX_WORDS,
        names: wanted.map((label, i) => [label, (found[i] as string).slice(0, NAME_MOST)]),
        micros: (performance.now() - before) * 1000,
    };
}

/* --- Files ------------------------------------------------------------------------------- */

/* The bytes as they are packed: gzip is opened, UTF-16 becomes UTF-8. */
async function unpacked(file: Blob, count: (bytes: number) => void): Promise<ReadableStream<Uint8Array>> {
    const counting = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, to) {
            count(chunk.length);
            to.enqueue(chunk);
        },
    });
    const head = new Uint8Array(await file.slice(0, 4).arrayBuffer());
    const begins = (...bytes: number[]) => bytes.every((byte, i) => head[i] === byte);
    const raw = file.stream().pipeThrough(counting);
    if (begins(0x1f, 0x8b))
        return raw.pipeThrough(new DecompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array, Uint8Array>);
    if (begins(0xff, 0xfe) || begins(0xfe, 0xff)) {
        const from = new TextDecoderStream(begins(0xff, 0xfe) ? "utf-16le" : "utf-16be");
        return raw
            .pipeThrough(from as unknown as ReadableWritablePair<string, Uint8Array>)
            .pipeThrough(new TextEncoderStream() as unknown as ReadableWritablePair<Uint8Array, string>);
    }
    for (const [what, ...magic] of [["zstd", 0x28, 0xb5, 0x2f, 0xfd], ["xz", 0xfd, 0x37, 0x7a, 0x58],
        ["bzip2", 0x42, 0x5a, 0x68], ["zip", 0x50, 0x4b, 3, 4]] as [string, ...number[]][])
        if (begins(...magic))
            throw new Failure(fault(`${what} files are not opened in the browser`, "unpack it first, and open what is in it"));
    return raw;
}

function feed(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += CHUNK) {
        const part = chunk.subarray(at, at + CHUNK);
        const room = core.core_room(part.length) >>> 0;
        if (!room)
            throw new Failure(tooLarge());
        new Uint8Array(core.memory.buffer, room, part.length).set(part);
        check(core.core_feed(part.length, 0));
    }
}

function tooLarge(): Fault {
    const held = Math.round(core.memory.buffer.byteLength / 1e6);
    return fault(`the file does not fit: ${held} MB of the 4295 MB that a page may have are in use`,
        "'stoke convert' on the command line has no such limit: fold it, or choose a time or thread");
}

async function open(file: Blob, name: string, slot: number, progress: (done: number) => void): Promise<unknown> {
    const job = { cancelled: false };
    let done = 0;
    reading = job;
    const stream = await unpacked(file, (bytes) => {
        done += bytes;
    });
    check(call("core_begin", [name]));
    const reader = stream.getReader();
    try {
        for (;;) {
            const piece = await reader.read();
            if (job.cancelled)
                throw new Failure(fault("cancelled"));
            if (piece.done)
                break;
            feed(piece.value);
            progress(done);
        }
        check(core.core_feed(0, 1));
        check(core.core_finish(slot));
        told = new Set();
        return JSON.parse(replyText());
    } catch (error) {
        core.core_cancel();
        await reader.cancel().catch(() => undefined);
        if (error instanceof TypeError)
            throw new Failure(fault("the packed data is damaged", "make the file anew"));
        if (error instanceof RangeError || error instanceof WebAssembly.RuntimeError)
            throw new Failure(tooLarge());
        throw error;
    }
}

/* --- Messages ---------------------------------------------------------------------------- */

async function start(bytes: ArrayBuffer): Promise<void> {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    core = instance.exports as unknown as Core;
    (instance.exports["_initialize"] as () => void)();
}

async function answer(request: Request): Promise<unknown> {
    switch (request.do) {
        case "start":
            return start(request.core);
        case "open": {
            const post = (done: number) => page.postMessage({ id: request.id, done, of: request.file.size });
            return open(request.file, request.name, request.slot, post);
        }
        case "cancel":
            if (reading)
                reading.cancelled = true;
            return null;
        case "number":
            return call(request.call, request.with) >>> 0;
        case "json":
            check(call(request.call, request.with));
            if (request.call === "core_show")
                told = new Set();
            return reply().length ? JSON.parse(replyText()) : null;
        case "bytes":
            check(call(request.call, request.with));
            return reply().slice();
        case "draw":
            return draw(request.with);
    }
}

page.onmessage = (event) => {
    const request = event.data;
    answer(request).then(
        (value) => {
            const move = request.do === "draw" ? [(value as Drawing).boxes] : [];
            page.postMessage({ id: request.id, ok: true, value }, move);
        },
        (error: unknown) => {
            const told = error instanceof Failure ? error.fault : fault(String(error));
            page.postMessage({ id: request.id, ok: false, fault: told });
        },
    );
};
