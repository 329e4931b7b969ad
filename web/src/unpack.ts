/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses data for the core: zstd data that comes in pieces inside of a
 * recording, and blocks compressed by zlib. See web/core/unpack.c for the functions. */
import { Inflate, Unzlib } from "fflate";
import { Decompress } from "fzstd";

/* bytes pushed at once: a block of 4 bytes may become 128 KiB */
const ZSTD_STEP = 256;
const INFLATE_STEP = 16 << 10;
const STREAMS_MOST = 64;
const WINDOW_LOG_MOST = 27; /* as in the command line: 128 MiB */

interface Stream {
    unpacker: Decompress;
    begun: boolean;
    ready: Uint8Array[]; /* decompressed, not yet taken */
}

/* Whether a frame that begins with these bytes requests too large a window: the
 * format's "frame header" (RFC 8878, 3.1.1.1). If there are too few bytes, the library
 * decides. */
export function tooWide(head: Uint8Array): boolean {
    const descriptor = head[4] ?? 0;
    if (!(descriptor & 0x20))
        return 10 + ((head[5] ?? 0) >> 3) > WINDOW_LOG_MOST;
    const bytes = 1 << (descriptor >> 6);
    const at = 5 + ((1 << (descriptor & 3)) >> 1);
    let size = 0;
    for (let i = bytes - 1; i >= 0; i--)
        size = size * 256 + (head[at + i] ?? 0);
    return size > 2 ** WINDOW_LOG_MOST;
}

/* The module that the core imports, for the memory that it will have. */
export function unpackImports(memory: () => WebAssembly.Memory): Record<string, WebAssembly.ImportValue> {
    const streams = new Map<number, Stream>();
    const view = (at: number, length: number) => new Uint8Array(memory().buffer, at >>> 0, length >>> 0);
    let next = 1;

    function open(): number {
        if (streams.size >= STREAMS_MOST)
            return 0;
        const ready: Uint8Array[] = [];
        const unpacker = new Decompress((block) => {
            if (block.length)
                ready.push(block.slice()); /* the library reuses its window */
        });
        streams.set(next, { unpacker, begun: false, ready });
        return next++;
    }

    function take(number: number, bytes: number, length: number, into: number, room: number, used: number): number {
        const stream = streams.get(number);
        const from = view(bytes, length);
        const to = view(into, room);
        let taken = 0;
        let put = 0;
        try {
            if (!stream || (!stream.begun && tooWide(from)))
                return -1;
            stream.begun = true;
            while (put < to.length && (stream.ready.length || taken < from.length)) {
                const block = stream.ready.shift();
                if (block) {
                    const part = block.subarray(0, to.length - put);
                    to.set(part, put);
                    put += part.length;
                    if (part.length < block.length)
                        stream.ready.unshift(block.subarray(part.length));
                } else {
                    const step = from.slice(taken, taken + ZSTD_STEP); /* a copy, because the library may keep it */
                    taken += step.length;
                    stream.unpacker.push(step);
                }
            }
        } catch {
            return -1;
        }
        new DataView(memory().buffer).setUint32(used >>> 0, taken, true);
        return put;
    }

    function inflate(wrapped: number, bytes: number, length: number, into: number, room: number): number {
        const from = view(bytes, length);
        const to = view(into, room);
        let put = 0;
        const keep = (block: Uint8Array) => {
            to.set(block.subarray(0, Math.max(0, to.length - put)), Math.min(put, to.length));
            put += block.length;
        };
        const unpacker = wrapped ? new Unzlib(keep) : new Inflate(keep);
        try {
            for (let at = 0; at < from.length && put <= to.length; at += INFLATE_STEP)
                unpacker.push(from.slice(at, at + INFLATE_STEP), at + INFLATE_STEP >= from.length);
        } catch {
            return put > to.length ? -2 : -1;
        }
        return put > to.length ? -2 : put;
    }

    return { zstd_open: open, zstd_close: (number: number) => void streams.delete(number), zstd_take: take, inflate };
}
