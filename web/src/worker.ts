/* SPDX-License-Identifier: Apache-2.0 */
/* The core's own thread: reads files into it, and passes calls on. */
import { Gunzip } from "fflate";
import { Decompress } from "fzstd";
import { BOX_WORDS, type Argument, type Drawing, type Fault, type Progress, type Read, type Reply, type Request } from "./protocol";
import { tooWide, unpackImports } from "./unpack";
import { unpackXz, XzDamage } from "./xz";

interface Core {
    memory: WebAssembly.Memory;
    malloc(size: number): number;
    free(at: number): void;
    core_reply(): number;
    core_reply_length(): number;
    core_begin(name: number, length: number): number;
    core_room(length: number): number;
    core_feed(length: number, last: number): number;
    core_stop(): number;
    core_cancel(): void;
    core_flaw(flaw: Flaw): void;
    core_unpacks_too_far(from: number, to: number): number;
    core_draw(...args: number[]): number;
    core_names(labels: number, count: number): number;
    [name: string]: unknown;
}

const CHUNK = 8 << 20;
const HEAD = 512; /* bytes that tell how a file is packed */
const PACKED_STEP = 8 << 10; /* bytes that are unpacked at once: they may become thousands of times as many */
const YIELD = 50; /* ms of reading, after which what the page asks is answered */
const PART_LEAST = 1000; /* ms between two looks at what was read so far */
const PART_SHARE = 0.1; /* of the time, that they may take */
const NO_GZIP = 6; /* fflate's: no header where one must be */
const NAME_MOST = 400; /* characters of a name that a box has room for */

const page = self as unknown as {
    postMessage(reply: Reply, transfer?: Transferable[]): void;
    onmessage: ((event: MessageEvent<Request>) => void) | null;
};
const text = { encode: new TextEncoder(), decode: new TextDecoder() };

/* What can be wrong with packed data, as the core knows it. */
const enum Flaw {
    Damaged = 1,
    CutShort = 2,
    MoreBehind = 3,
    TooMuch = 4,
}

let core: Core;
let told = new Set<number>(); /* labels whose names the page has */

interface Job {
    cancelled: boolean;
    keep: boolean; /* what was read */
    since: number; /* when the page last looked at what was read */
    spent: number; /* ms on answers since then */
    told: boolean; /* that it may look again */
}

let reading: Job | null = null;

class Failure extends Error {
    constructor(readonly fault: Fault) {
        super(fault.message);
    }
}

function fault(message: string, hint = ""): Fault {
    return { message, hint, line: 0, column: 0, text: "", own: true };
}

const DAMAGED = fault("the packed data is damaged", "make the file anew");
const CUT_SHORT = fault("the packed data ends too early", "make the file anew");

function reply(): Uint8Array {
    return new Uint8Array(core.memory.buffer, core.core_reply() >>> 0, core.core_reply_length() >>> 0);
}

function replyText(): string {
    return text.decode.decode(reply());
}

function check(ok: number): void {
    if (ok)
        return;
    const told = JSON.parse(replyText()) as Fault;
    throw new Failure(told.message === "out of memory" ? tooLarge() : told);
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

/* The bytes of a file, piece by piece. */
interface Pieces {
    readonly packed?: boolean; /* they were unpacked from fewer */
    stopped?: boolean; /* at the limit of what is unpacked */
    flaw?: Flaw | undefined; /* at their end: what was wrong with what they were unpacked from */
    next(): Promise<Uint8Array | null>;
    stop(): void;
}

interface Stepper {
    push(piece: Uint8Array, last: boolean): void;
}

/* Those of the file as it is: the next is on its way while one is read. */
function slicesOf(file: Blob, count: (bytes: number) => void): Pieces {
    const slice = (at: number) => (at < file.size ? file.slice(at, at + CHUNK).arrayBuffer() : null);
    let at = 0;
    let coming = slice(0);
    return {
        async next() {
            if (!coming)
                return null;
            const bytes = new Uint8Array(await coming);
            at += CHUNK;
            coming = slice(at);
            coming?.catch(() => undefined); /* who awaits it is told */
            count(bytes.length);
            return bytes;
        },
        stop() {
            coming = null;
        },
    };
}

class GzipDamage extends Error {}

function streamOf(stream: ReadableStream<Uint8Array>, gzip = false): Pieces {
    const reader = stream.getReader();
    return {
        packed: gzip,
        async next() {
            try {
                return (await reader.read()).value ?? null;
            } catch (error) {
                throw gzip && error instanceof TypeError ? new GzipDamage() : error;
            }
        },
        stop: () => void reader.cancel().catch(() => undefined),
    };
}

/* What unpacks step by step, and gives blocks as it goes. What it gave before damage stands;
 * `flawOf` tells what the damage is. */
function unpackedBy(packed: Pieces, make: (give: (block: Uint8Array) => void) => Stepper, flawOf: (error: unknown) => Flaw): Pieces {
    let blocks: Uint8Array[] = [];
    let ended = false;
    let piece: Uint8Array | null = new Uint8Array(0);
    const unpacker = make((block) => {
        if (block.length)
            blocks.push(block);
    });
    const step = (): void => {
        try {
            unpacker.push(piece?.subarray(0, PACKED_STEP) ?? new Uint8Array(0), ended);
            piece = piece?.subarray(PACKED_STEP) ?? null;
        } catch (error) {
            if (error instanceof RangeError)
                throw error;
            pieces.flaw = ended ? Flaw.CutShort : flawOf(error);
            ended = true;
        }
    };
    const pieces: Pieces = {
        packed: true,
        async next() {
            while (blocks.length === 0) {
                if (ended)
                    return null;
                if (piece?.length === 0)
                    piece = await packed.next();
                ended = piece === null;
                step();
            }
            const room = joined(blocks);
            blocks = [];
            return room;
        },
        stop: () => packed.stop(),
    };
    return pieces;
}

function joined(blocks: Uint8Array[]): Uint8Array {
    const room = new Uint8Array(blocks.reduce((sum, block) => sum + block.length, 0));
    let at = 0;
    for (const block of blocks) {
        room.set(block, at);
        at += block.length;
    }
    return room;
}

/* Browsers do not unpack zstd themselves. */
function unpackedZstd(packed: Pieces, head: Uint8Array): Pieces {
    if (tooWide(head))
        throw new Failure(DAMAGED);
    return unpackedBy(packed, (give) => new Decompress((block) => give(block.slice())), /* its window is used again */
        () => Flaw.Damaged);
}

/* gzip that the browser does not like: slower, but what comes before damage is kept, and files
 * of several members are read. */
function unpackedGzip(packed: Pieces): Pieces {
    let members = 1;
    const pieces = unpackedBy(packed, (give) => {
        const unpacker = new Gunzip(give);
        unpacker.onmember = () => members++;
        return unpacker;
    }, (error) => ((error as { code?: number }).code === NO_GZIP ? Flaw.MoreBehind : Flaw.Damaged));
    return {
        packed: true,
        /* The browser has compared the sums, which this does not. */
        get flaw() {
            return pieces.flaw ?? (members === 1 ? Flaw.Damaged : undefined);
        },
        next: () => pieces.next(),
        stop: () => pieces.stop(),
    };
}

function unpackedXz(file: Blob, counting: () => TransformStream<Uint8Array, Uint8Array>): Pieces {
    const unpacking = unpackXz(file, counting);
    const pieces: Pieces = {
        packed: true,
        async next() {
            try {
                return (await unpacking.next()).value ?? null;
            } catch (error) {
                if (!(error instanceof XzDamage))
                    throw error;
                pieces.flaw = error.cutShort ? Flaw.CutShort : Flaw.Damaged;
                return null;
            }
        },
        stop: () => void unpacking.return(undefined).catch(() => undefined),
    };
    return pieces;
}

/* gzip, zstd and xz are opened, UTF-16 becomes UTF-8. A zip is a matter for the core, where it
 * is an archive of many files that belong together. */
async function unpacked(file: Blob, count: (bytes: number) => void, careful: boolean): Promise<Pieces> {
    const counting = () => new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, to) {
            count(chunk.length);
            to.enqueue(chunk);
        },
    });
    const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
    const begins = (...bytes: number[]) => bytes.every((byte, i) => head[i] === byte);
    const raw = () => file.stream().pipeThrough(counting());
    if (begins(0x1f, 0x8b) && careful)
        return unpackedGzip(slicesOf(file, count));
    if (begins(0x1f, 0x8b))
        return streamOf(raw().pipeThrough(new DecompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array, Uint8Array>), true);
    if (begins(0xff, 0xfe) || begins(0xfe, 0xff)) {
        const from = new TextDecoderStream(begins(0xff, 0xfe) ? "utf-16le" : "utf-16be");
        return streamOf(raw()
            .pipeThrough(from as unknown as ReadableWritablePair<string, Uint8Array>)
            .pipeThrough(new TextEncoderStream() as unknown as ReadableWritablePair<Uint8Array, string>));
    }
    if (begins(0x28, 0xb5, 0x2f, 0xfd))
        return unpackedZstd(slicesOf(file, count), head);
    if (begins(0xfd, 0x37, 0x7a, 0x58))
        return unpackedXz(file, counting);
    if (begins(0x42, 0x5a, 0x68))
        throw new Failure(fault("bzip2 files are not opened in the browser", "unpack it first, and open what is in it"));
    if (begins(0x50, 0x4b, 3, 4) && !new TextDecoder("latin1").decode(head).includes(".trace/"))
        throw new Failure(fault("zip files are not opened in the browser", "unpack it first, and open what is in it"));
    return slicesOf(file, count);
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
    return fault(`it does not fit: ${held} MB are in use, and a page may have at most 4295 MB`,
        "'stoke convert' on the command line has no such limit: fold it, or choose a time or thread");
}

/* Whether the page may look at what was read: not so often that reading takes long. */
function isTime(job: Job): boolean {
    const passed = performance.now() - job.since;
    if (job.told || passed < PART_LEAST || job.spent > passed * PART_SHARE)
        return false;
    job.told = true;
    return true;
}

/* Feeds the core until the end, or until it is cancelled; gives how many bytes it got. */
async function readAll(pieces: Pieces, job: Job, done: () => number, progress: (fresh: boolean) => void): Promise<number> {
    let rested = performance.now();
    let fed = 0;
    for (;;) {
        const piece = await pieces.next();
        if (job.cancelled || !piece)
            return fed;
        fed += piece.length;
        feed(piece);
        if (pieces.packed && core.core_unpacks_too_far(done(), fed)) {
            pieces.stopped = true;
            return fed;
        }
        if (performance.now() - rested > YIELD) {
            progress(isTime(job));
            await new Promise((done) => setTimeout(done));
            rested = performance.now();
        }
    }
}

/* The page can look at parts of it meanwhile. `careful`: what the browser does not unpack is. */
async function read(file: Blob, request: { name: string; format: string }, job: Job, careful: boolean, progress: (progress: Progress) => void): Promise<Read> {
    let done = 0;
    const pieces = await unpacked(file, (bytes) => {
        done += bytes;
    }, careful);
    try {
        check(call("core_begin", [request.name]));
        check(call("core_format", [request.format]));
        const fed = await readAll(pieces, job, () => done, (fresh) => progress({ done, of: file.size, fresh }));
        if (job.cancelled && !(job.keep && core.core_stop()))
            throw new Failure(fault("cancelled"));
        if (pieces.flaw && !fed)
            throw new Failure(pieces.flaw === Flaw.CutShort ? CUT_SHORT : DAMAGED);
        if (!job.cancelled)
            check(core.core_feed(0, 1));
        const flaw = pieces.stopped ? Flaw.TooMuch : pieces.flaw;
        if (flaw)
            core.core_flaw(flaw);
        return { done, of: file.size, stopped: job.cancelled };
    } finally {
        pieces.stop();
    }
}

async function open(file: Blob, request: { name: string; format: string }, progress: (progress: Progress) => void): Promise<Read> {
    const job = { cancelled: false, keep: false, since: performance.now(), spent: 0, told: false };
    reading = job;
    try {
        return await read(file, request, job, false, progress).catch((error: unknown) => {
            if (error instanceof GzipDamage)
                return read(file, request, job, true, progress);
            throw error;
        });
    } catch (error) {
        core.core_cancel();
        if (error instanceof TypeError)
            throw new Failure(DAMAGED);
        if (error instanceof RangeError || error instanceof WebAssembly.RuntimeError)
            throw new Failure(tooLarge());
        throw error;
    } finally {
        reading = null;
    }
}

/* --- Messages ---------------------------------------------------------------------------- */

async function start(bytes: ArrayBuffer): Promise<void> {
    const unpack = unpackImports(() => core.memory);
    const { instance } = await WebAssembly.instantiate(bytes, { unpack });
    core = instance.exports as unknown as Core;
    (instance.exports["_initialize"] as () => void)();
}

async function answer(request: Request): Promise<unknown> {
    switch (request.do) {
        case "start":
            return start(request.core);
        case "open":
            return open(request.file, request, (progress) => page.postMessage({ id: request.id, ...progress }));
        case "cancel":
            if (reading) {
                reading.cancelled = true;
                reading.keep = request.keep;
            }
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

/* While a file is read, what the page asks takes from the reader's time. */
function timed(request: Request): Promise<unknown> {
    const job = request.do === "open" ? null : reading;
    const before = performance.now();
    if (job && request.do === "json" && request.call === "core_partial")
        Object.assign(job, { since: before, spent: 0, told: false });
    const value = answer(request);
    if (job)
        job.spent += performance.now() - before;
    return value;
}

page.onmessage = (event) => {
    const request = event.data;
    timed(request).then(
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
