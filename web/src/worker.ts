/* SPDX-License-Identifier: Apache-2.0 */
/* The core's thread: reads files and forwards calls. */
import { gunzipped } from "./embedded";
import { DAMAGED, Failure, fault, TRUNCATED } from "./failure";
import { CHUNK, GzipDamage, type Pieces, unpacked } from "./pieces";
import { BOX_WORDS, Chart, type Argument, type Drawing, type Fault, Flaw, type Lane, type Progress, type Read, type Reply, type Request } from "./protocol";
import { unpackImports } from "./unpack";

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

const HEAD = 512; /* bytes in which the core detects a file's encoding */
const YIELD = 50; /* ms of reading before requests of the page are answered */
const PART_LEAST = 1000; /* minimum ms between two updates of a partial profile */
const PART_SHARE = 0.1; /* maximum share of the time for these updates */
const NAME_MOST = 4000; /* maximum characters of a box's name */

const page = self as unknown as {
    postMessage(replies: Reply[], transfer?: Transferable[]): void;
    onmessage: ((event: MessageEvent<Request[]>) => void) | null;
};
const text = { encode: new TextEncoder(), decode: new TextDecoder() };

let core: Core;
let known = new Set<number>(); /* labels whose names the page has */

interface Job {
    cancelled: boolean;
    keep: boolean; /* keep the part that was read */
    since: number; /* when the page last showed the partial profile */
    spent: number; /* ms of answering since then */
    offered: boolean; /* the page may update again, and knows it */
}

let reading: Job | null = null;

function reply(): Uint8Array {
    return new Uint8Array(core.memory.buffer, core.core_reply() >>> 0, core.core_reply_length() >>> 0);
}

function replyText(): string {
    return text.decode.decode(reply());
}

function check(ok: number): void {
    if (ok)
        return;
    const failure = JSON.parse(replyText()) as Fault;
    throw new Failure(failure.message === "out of memory" ? tooLarge() : failure);
}

/* Calls a function, with texts and arrays copied to the core's memory during the call. */
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

function lanes(first: number, last: number): Lane[] {
    check(call("core_lanes", [first, last]));
    return JSON.parse(replyText()) as Lane[];
}

function draw(args: [kind: number, from: number, to: number, width: number, first: number, last: number]): Drawing {
    const before = performance.now();
    check(core.core_draw(...args));
    const boxes = reply().slice().buffer;
    const words = new Uint32Array(boxes);
    const sizes = new Float32Array(boxes);
    const requested: number[] = [];
    for (let at = 0; at < words.length; at += BOX_WORDS) {
        const label = words[at + 4] as number;
        if ((sizes[at + 1] as number) > 12 && !known.has(label)) {
            known.add(label);
            requested.push(label);
        }
    }
    const found = requested.length ? names(Uint32Array.from(requested)) : [];
    return {
        boxes,
        count: words.length / BOX_WORDS,
        lanes: args[0] === Chart.Time ? lanes(args[4], args[5]) : [],
        names: requested.map((label, i) => [label, (found[i] as string).slice(0, NAME_MOST)]),
        micros: (performance.now() - before) * 1000,
    };
}

/* --- Files ------------------------------------------------------------------------------- */

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
    return fault(`out of memory: ${held} MB are in use, and a page can have at most 4295 MB`,
        "'stoke convert' on the command line has no such limit: fold the file, or select a time range or thread");
}

/* Whether the page should update the partial profile: not so often that it slows down
 * reading. */
function isTime(job: Job): boolean {
    const passed = performance.now() - job.since;
    if (job.offered || passed < PART_LEAST || job.spent > passed * PART_SHARE)
        return false;
    job.offered = true;
    return true;
}

/* Feeds the core until the end, or until it is cancelled; returns the number of bytes. */
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

/* Meanwhile, the page can show parts of it. `careful`: use the decompressors that
 * accept what the browser rejects. */
async function read(file: Blob, request: { name: string; format: string }, job: Job, careful: boolean, progress: (progress: Progress) => void): Promise<Read> {
    let done = 0;
    const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
    const pieces = unpacked(file, head, call("core_encoding", [head]), (bytes) => {
        done += bytes;
    }, careful);
    try {
        check(call("core_begin", [request.name]));
        check(call("core_format", [request.format]));
        const fed = await readAll(pieces, job, () => done, (fresh) => progress({ done, of: file.size, fresh }));
        if (job.cancelled && !(job.keep && core.core_stop()))
            throw new Failure(fault("cancelled"));
        if (pieces.flaw && !fed)
            throw new Failure(pieces.flaw === Flaw.Truncated ? TRUNCATED : DAMAGED);
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
    const job = { cancelled: false, keep: false, since: performance.now(), spent: 0, offered: false };
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

async function start(packed: Uint8Array<ArrayBuffer>): Promise<void> {
    const unpack = unpackImports(() => core.memory);
    const reply = new Response(gunzipped(packed), { headers: { "Content-Type": "application/wasm" } });
    const { instance } = await WebAssembly.instantiateStreaming(reply, { unpack });
    core = instance.exports as unknown as Core;
    (instance.exports["_initialize"] as () => void)();
}

/* What takes no waiting. */
function answer(request: Request): unknown {
    switch (request.do) {
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
                known = new Set();
            return reply().length ? JSON.parse(replyText()) : null;
        case "bytes":
            check(call(request.call, request.with));
            return reply().slice();
        case "draw":
            return draw(request.with);
        default:
            return null;
    }
}

function failed(id: number, error: unknown): Reply {
    return { id, ok: false, fault: error instanceof Failure ? error.fault : fault(String(error)) };
}

/* While a file is read, answering requests takes time from reading. */
function timed(request: Request): Reply {
    const job = reading;
    const before = performance.now();
    if (job && request.do === "json" && request.call === "core_partial")
        Object.assign(job, { since: before, spent: 0, offered: false });
    try {
        return { id: request.id, ok: true, value: answer(request) };
    } catch (error) {
        return failed(request.id, error);
    } finally {
        if (job)
            job.spent += performance.now() - before;
    }
}

/* Results that are moved to the page instead of copied. */
function movedOf(request: Request, answered: Reply): Transferable[] {
    if (!("value" in answered))
        return [];
    return request.do === "draw" ? [(answered.value as Drawing).boxes]
        : request.do === "bytes" ? [(answered.value as Uint8Array).buffer as ArrayBuffer] : [];
}

/* For requests that take long: the answer comes in a message of its own. */
function later(id: number, work: Promise<unknown>): void {
    work.then((value) => page.postMessage([{ id, ok: true, value }]), (error: unknown) => page.postMessage([failed(id, error)]));
}

/* The answers of a message are one message. */
function receive(requests: Request[]): void {
    const replies: Reply[] = [];
    const moved: Transferable[] = [];
    for (const request of requests)
        if (request.do === "open") {
            later(request.id, open(request.file, request, (progress) => page.postMessage([{ id: request.id, ...progress }])));
        } else {
            const answered = timed(request);
            replies.push(answered);
            moved.push(...movedOf(request, answered));
        }
    if (replies.length)
        page.postMessage(replies, moved);
}

let started: Promise<void> = Promise.resolve();

page.onmessage = (event) => {
    const [first] = event.data;
    if (first?.do === "start") {
        started = start(first.core);
        later(first.id, started);
    }
    const rest = event.data.filter((one) => one.do !== "start");
    if (rest.length)
        started.then(() => receive(rest), (error: unknown) => page.postMessage(rest.map(({ id }) => failed(id, error))));
};
