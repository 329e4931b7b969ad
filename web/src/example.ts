/* SPDX-License-Identifier: Apache-2.0 */
/* An example: two seconds of a made-up server, as text of perf script. */

const REQUESTS: readonly (readonly [string, number])[] = [
    ["handle_request;parse_headers;memchr", 4],
    ["handle_request;parse_headers;string_view::find", 3],
    ["handle_request;route;std::map::find", 2],
    ["handle_request;render;json::write;format_number", 7],
    ["handle_request;render;json::write;escape", 6],
    ["handle_request;render;json::write;vector::push_back;realloc", 5],
    ["handle_request;query;decode_row;utf8_validate", 9],
    ["handle_request;query;decode_row;memcpy", 4],
    ["handle_request;query;sort_rows;compare", 8],
    ["handle_request;send;compress;deflate_block", 11],
    ["handle_request;send;compress;crc32", 3],
];
const CACHE: readonly (readonly [string, number])[] = [
    ["refresh_cache;scan;hash_key", 6],
    ["refresh_cache;scan;compare_key", 3],
    ["refresh_cache;evict;free", 2],
];
const STEP = 0.004; /* s */

export function example(): Blob {
    const lines: string[] = [];
    let seed = 7;
    const random = (): number => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return seed / 2147483648;
    };
    const pick = (from: typeof REQUESTS): string => {
        let left = random() * from.reduce((sum, [, n]) => sum + n, 0);
        for (const [stack, n] of from) {
            left -= n;
            if (left < 0)
                return stack;
        }
        return from[0]?.[0] ?? "";
    };
    const sample = (name: string, tid: number, cpu: number, at: number, event: string, weight: number, stack: string): void => {
        lines.push(`${name} 4200/${tid} [${String(cpu).padStart(3, "0")}] ${(1000 + at).toFixed(6)}: ${Math.round(weight)} ${event}:`);
        for (const frame of `start_thread;worker;${stack}`.split(";").reverse())
            lines.push(`\t0 ${frame} (/usr/bin/example)`);
        lines.push("");
    };
    /* the first sample determines which event is shown first */
    sample("worker-0", 4201, 0, 0, "cpu-clock", STEP * 1e9, "read_configuration");
    for (let at = STEP; at < 2; at += STEP) {
        for (let worker = 0; worker < 4; worker++) {
            const busy = 0.35 + 0.5 * Math.sin(at * 4 + worker) ** 2;
            if (random() < busy)
                sample(`worker-${worker}`, 4201 + worker, worker, at, "cpu-clock", STEP * 1e9, pick(REQUESTS));
            else if (random() < 0.4)
                sample(`worker-${worker}`, 4201 + worker, worker, at, "off-cpu", STEP * 1e9, random() < 0.5 ? "handle_request;query;pthread_mutex_lock" : "wait_for_request;epoll_wait");
        }
        if (at % 0.5 < 0.12)
            sample("cache", 4210, 1, at, "cpu-clock", STEP * 1e9, pick(CACHE));
    }
    return new Blob([lines.join("\n")]);
}
