/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file in pieces, decompressed. The core detects the encoding. */
import { Gunzip } from "fflate";
import { Decompress } from "fzstd";
import { DAMAGED, Failure, fault } from "./failure";
import { Encoding, Flaw } from "./protocol";
import { tooWide } from "./unpack";
import { unpackXz, XzDamage } from "./xz";

export const CHUNK = 8 << 20;
const PACKED_STEP = 8 << 10; /* bytes decompressed at once: the result may be thousands of times larger */
const NO_GZIP = 6; /* fflate's code: no gzip header */

/* The bytes of a file, piece by piece. */
export interface Pieces {
    readonly packed?: boolean; /* they were decompressed */
    stopped?: boolean; /* at the limit of decompressed data */
    flaw?: Flaw | undefined; /* at the end: the fault of the compressed data */
    next(): Promise<Uint8Array | null>;
    stop(): void;
}

interface Stepper {
    push(piece: Uint8Array, last: boolean): void;
}

/* The unchanged bytes of the file: the next piece is read while the current one is
 * processed. */
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
            coming?.catch(() => undefined); /* whoever awaits it gets the error */
            count(bytes.length);
            return bytes;
        },
        stop() {
            coming = null;
        },
    };
}

/* The browser rejects the gzip data. */
export class GzipDamage extends Error {}

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

/* Decompresses step by step, and delivers blocks. Blocks before a fault are valid;
 * `flawOf` returns the fault. */
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
            pieces.flaw = ended ? Flaw.Truncated : flawOf(error);
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

/* Browsers do not decompress zstd. */
function unpackedZstd(packed: Pieces, head: Uint8Array): Pieces {
    if (tooWide(head))
        throw new Failure(DAMAGED);
    return unpackedBy(packed, (give) => new Decompress((block) => give(block.slice())), /* the library reuses its window */
        () => Flaw.Damaged);
}

/* gzip that the browser rejects: slower, but delivers the data before a fault, and
 * reads files with several members. */
function unpackedGzip(packed: Pieces): Pieces {
    let members = 1;
    const pieces = unpackedBy(packed, (give) => {
        const unpacker = new Gunzip(give);
        unpacker.onmember = () => members++;
        return unpacker;
    }, (error) => ((error as { code?: number }).code === NO_GZIP ? Flaw.TrailingBytes : Flaw.Damaged));
    return {
        packed: true,
        /* The browser compared the checksums, which this library does not. */
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
                pieces.flaw = error.truncated ? Flaw.Truncated : Flaw.Damaged;
                return null;
            }
        },
        stop: () => void unpacking.return(undefined).catch(() => undefined),
    };
    return pieces;
}

/* Decompresses gzip, zstd and xz, and converts UTF-16 to UTF-8. `careful`: use the
 * decompressor that accepts gzip data that the browser rejects. */
export function unpacked(file: Blob, head: Uint8Array, encoding: Encoding, count: (bytes: number) => void, careful: boolean): Pieces {
    const counting = () => new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, to) {
            count(chunk.length);
            to.enqueue(chunk);
        },
    });
    const raw = () => file.stream().pipeThrough(counting());
    switch (encoding) {
        case Encoding.Gzip:
            return careful ? unpackedGzip(slicesOf(file, count))
                : streamOf(raw().pipeThrough(new DecompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array, Uint8Array>), true);
        case Encoding.Zstd:
            return unpackedZstd(slicesOf(file, count), head);
        case Encoding.Xz:
            return unpackedXz(file, counting);
        case Encoding.Utf16Le:
        case Encoding.Utf16Be:
            return streamOf(raw()
                .pipeThrough(new TextDecoderStream(encoding === Encoding.Utf16Le ? "utf-16le" : "utf-16be") as unknown as ReadableWritablePair<string, Uint8Array>)
                .pipeThrough(new TextEncoderStream() as unknown as ReadableWritablePair<Uint8Array, string>));
        case Encoding.Bzip2:
            throw new Failure(fault("bzip2 files are not opened in the browser", "decompress it first, or open it with: stoke view FILE"));
        case Encoding.Zip:
            throw new Failure(fault("zip files are not opened in the browser", "extract it first, and open the file in it"));
        default:
            return slicesOf(file, count);
    }
}
