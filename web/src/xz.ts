/* SPDX-License-Identifier: Apache-2.0 */
/* xz files: finds the streams of a file (the format's 2.1: they follow each other,
 * each with its lengths at its end), and decompresses them. */
import { XzReadableStream } from "xz-decompress";

const HEADER = 12;
const FOOTER = 12;
const INDEX_MOST = 64 << 20; /* bytes; a record per block */
const STEPS_MOST = 10000; /* streams, and padding between them */
const MAGIC = 0x595a;

export class XzDamage extends Error {
    constructor(readonly truncated = false) {
        super();
    }
}

async function bytesOf(file: Blob, from: number, to: number): Promise<Uint8Array> {
    if (from < 0 || from > to)
        throw new XzDamage();
    return new Uint8Array(await file.slice(from, to).arrayBuffer());
}

/* The total length of the blocks in an index (4.3). */
function lengthOfBlocks(index: Uint8Array): number {
    let at = 1;
    const number = (): number => {
        let value = 0;
        for (let scale = 1; scale < 2 ** 63; scale *= 128) {
            const byte = index[at++];
            if (byte === undefined)
                throw new XzDamage();
            value += (byte & 127) * scale;
            if (byte < 128)
                return value;
        }
        throw new XzDamage();
    };
    let length = 0;
    for (let left = number(); left > 0; left--) {
        length += Math.ceil(number() / 4) * 4;
        number(); /* the decompressed length */
    }
    return length;
}

/* Start and end of each stream, in order. */
async function streamsOf(file: Blob): Promise<[number, number][]> {
    const found: [number, number][] = [];
    let end = file.size;
    for (let steps = 0; end > 0; steps++) {
        const view = new DataView((await bytesOf(file, end - FOOTER, end)).buffer);
        if (steps > STEPS_MOST)
            throw new XzDamage();
        if (view.getUint32(8) === 0) {
            end -= 4; /* padding is a multiple of four bytes */
            continue;
        }
        const index = (view.getUint32(4, true) + 1) * 4;
        if (view.getUint16(10) !== MAGIC || index > INDEX_MOST)
            throw new XzDamage();
        const blocks = end - FOOTER - index;
        const begin = blocks - lengthOfBlocks(await bytesOf(file, blocks, end - FOOTER)) - HEADER;
        if (begin < 0)
            throw new XzDamage();
        found.unshift([begin, end]);
        end = begin;
    }
    return found;
}

/* Decompresses piece by piece. Throws XzDamage after the data before the damage. */
export async function* unpackXz(file: Blob, counting: () => TransformStream<Uint8Array, Uint8Array>): AsyncGenerator<Uint8Array> {
    let whole = true;
    const streams = await streamsOf(file).catch((error: unknown): [number, number][] => {
        whole = false; /* its end is missing, or is something else */
        if (error instanceof XzDamage)
            return [[0, file.size]];
        throw error;
    });
    for (const [from, to] of streams) {
        const reader = new XzReadableStream(file.slice(from, to).stream().pipeThrough(counting())).getReader();
        try {
            for (;;) {
                const { value } = await reader.read().catch(() => Promise.reject(new XzDamage()));
                if (!value)
                    break;
                if (value.length)
                    yield value;
            }
        } finally {
            await reader.cancel().catch(() => undefined);
        }
    }
    if (!whole)
        throw new XzDamage(true);
}
