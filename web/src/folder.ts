/* SPDX-License-Identifier: Apache-2.0 */
/* Files dropped on the page: a file, or a directory, which becomes a zip of those of
 * its files that stoke reads, uncompressed. */

import { CoreError } from "./core";

/* Files of an Instruments archive (src/import/instruments_trace.c). */
const INSTRUMENTS_FILES = /\.trace\/(form\.template|corespace\/run\d+\/core\/(uniquing\/arrayUniquer\/integeruniquer\.(index|data)|stores\/[^/]+\/(schema\.xml|bulkstore)))$/;
const ENTRIES_MOST = 100000;

interface Found {
    path: string;
    file: File;
}

function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
    const reader = folder.createReader();
    const all: FileSystemEntry[] = [];
    return new Promise((resolve, reject) => {
        const more = (): void => reader.readEntries((some) => {
            all.push(...some);
            if (some.length === 0 || all.length > ENTRIES_MOST)
                resolve(all);
            else
                more();
        }, reject);
        more();
    });
}

async function filesIn(folder: FileSystemDirectoryEntry): Promise<Found[]> {
    const found: Found[] = [];
    const open: { folder: FileSystemDirectoryEntry; path: string }[] = [{ folder, path: `${folder.name}/` }];
    for (let seen = 0, at = open.pop(); at && seen < ENTRIES_MOST; at = open.pop()) {
        for (const entry of await entriesOf(at.folder)) {
            const path = at.path + entry.name;
            seen++;
            if (entry.isDirectory)
                open.push({ folder: entry as FileSystemDirectoryEntry, path: `${path}/` });
            else if (INSTRUMENTS_FILES.test(path))
                found.push({ path, file: await new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)) });
        }
    }
    return found;
}

/* Little-endian numbers of 2 and 4 bytes, as in zip headers. */
function header(...numbers: [bytes: 2 | 4, value: number][]): Uint8Array<ArrayBuffer> {
    const view = new DataView(new ArrayBuffer(numbers.reduce((sum, [bytes]) => sum + bytes, 0)));
    let at = 0;
    for (const [bytes, value] of numbers) {
        if (bytes === 2)
            view.setUint16(at, value, true);
        else
            view.setUint32(at, value, true);
        at += bytes;
    }
    return new Uint8Array(view.buffer);
}

/* Nothing is compressed and no checksums are computed, so the files are read only when
 * needed. */
function zipOf(files: Found[], name: string): File {
    const parts: BlobPart[] = [];
    const directory: BlobPart[] = [];
    let at = 0;
    let size = 0;
    for (const { path, file } of files) {
        const name = new TextEncoder().encode(path);
        const common: [2 | 4, number][] = [[2, 20], [2, 0x800], [2, 0], [4, 0], [4, 0], [4, file.size], [4, file.size], [2, name.length], [2, 0]];
        parts.push(header([4, 0x04034b50], ...common), name, file);
        directory.push(header([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), name);
        at += 30 + name.length + file.size;
        size += 46 + name.length;
    }
    const end = header([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0]);
    return new File([...parts, ...directory, end], name);
}

/* Two files of one drop: the older one first. Null for one file or folder. */
export function pairOfDrop(transfer: DataTransfer | null): [File, File] | null {
    const [a, b] = transfer?.files ?? [];
    const folders = [...(transfer?.items ?? [])].some((item) => item.webkitGetAsEntry()?.isDirectory);
    if (!a || !b || folders)
        return null;
    return a.lastModified <= b.lastModified ? [a, b] : [b, a];
}

/* The file that was dropped, if any. Must be called while the event is handled. */
export function fileOfDrop(transfer: DataTransfer | null): Promise<File | null> {
    const entry = transfer?.items[0]?.webkitGetAsEntry();
    if (!entry?.isDirectory)
        return Promise.resolve(transfer?.files[0] ?? null);
    return filesIn(entry as FileSystemDirectoryEntry).then((files) => {
        if (files.length)
            return zipOf(files, entry.name);
        throw new CoreError({
            message: "this folder contains no files of a known format", hint: "of folders, stoke reads Instruments archives (.trace); otherwise drop the file",
            line: 0, column: 0, text: "",
        });
    });
}
