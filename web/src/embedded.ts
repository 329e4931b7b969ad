/* SPDX-License-Identifier: Apache-2.0 */
/* Data in the page, and its decompression: also for the worker. */

export function textOf(id: string): string {
    return document.getElementById(id)?.textContent ?? "";
}

/* Decodes base64. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
    const native = (Uint8Array as { fromBase64?(text: string): Uint8Array<ArrayBuffer> }).fromBase64;
    if (native)
        return native(base64);
    const binary = atob(base64.trim());
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    return bytes;
}

export function gunzipped(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { readable, writable } = new DecompressionStream("gzip");
    const writer = writable.getWriter();
    for (const step of [writer.write(bytes), writer.close()])
        step.catch(() => undefined); /* whoever reads gets the error */
    return readable;
}

/* Decodes gzip in base64. */
export async function unpack(base64: string): Promise<ArrayBuffer> {
    return new Response(gunzipped(bytesOf(base64))).arrayBuffer();
}
