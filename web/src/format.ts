/* SPDX-License-Identifier: Apache-2.0 */
/* Text of numbers and names. */

const GROUPS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

function scaled(value: number, steps: [number, string][]): string {
    const size = Math.abs(value);
    for (const [i, [least, unit]] of steps.entries()) {
        const [next, larger] = steps[i - 1] ?? [Number.POSITIVE_INFINITY, ""];
        if (size >= least) /* 999.6 ms are 1 s */
            return Number((size / least).toPrecision(3)) * least >= next ? `${(value / next).toPrecision(3)} ${larger}` : `${(value / least).toPrecision(3)} ${unit}`;
    }
    const [, unit] = steps[steps.length - 1] as [number, string];
    return `${GROUPS.format(value)} ${unit}`;
}

/* toPrecision without an exponent, and without decimals that are all zero. */
function tidy(text: string): string {
    const [figure = "", ...unit] = text.split(" ");
    const plain = figure.includes("e") ? String(Number(figure)) : figure;
    return [plain.replace(/\.0+$/, ""), ...unit].join(" ").replace("-", "\u2212");
}

const TIME: [number, string][] = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
const BYTES: [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
/* The unit of times: of instruction traces it is a cycle. */
let clock: "ns" | "cycles" = "ns";

export function setClock(unit: "ns" | "cycles"): void {
    clock = unit;
}

const RATE: [number, string][] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const COUNT: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];
const CYCLES: [number, string][] = [...COUNT, [1e3, "k"], [1, ""]];

export function weight(value: number, unit: string): string {
    if (value === 0)
        return "0";
    if (unit === "ns")
        return tidy(scaled(value, TIME));
    if (unit === "ms")
        return tidy(scaled(value * 1e6, TIME));
    if (unit === "bytes")
        return tidy(scaled(value, BYTES));
    if (Math.abs(value) >= 1e7)
        return tidy(scaled(value, COUNT));
    return GROUPS.format(value);
}

const AXIS_TIME = TIME.filter(([size]) => size <= 1e9); /* minutes have no decimals there */

/* Whether times are counts of cycles: of an instruction trace. */
export function isCycles(): boolean {
    return clock === "cycles";
}

/* The units of times, with their size. */
export function clockUnits(): [number, string][] {
    return clock === "cycles" ? CYCLES : AXIS_TIME;
}

/* Of a number per nanosecond: how many there are in a second. */
export function rateText(perNs: number): string {
    return perNs > 0 ? `${tidy(scaled(perNs * 1e9, RATE))}/s` : "0";
}

/* Three digits. */
export function shortCount(value: number): string {
    return value < 1000 ? GROUPS.format(Math.round(value)) : tidy(scaled(value, RATE));
}

/* An error of a number of bytes in its unit, with two digits: "\u00b12.1" beside "41.6 MiB". */
export function bytesError(bytes: number, error: number): string {
    const [unit] = BYTES.find(([least]) => Math.abs(bytes) >= least) ?? [1];
    return `\u00b1${tidy(Number((error / unit).toPrecision(2)).toString())}`;
}

/* Texts of an axis; the unit "clock" means times. All have the unit of the largest value (for
 * bytes, that of the step) and the decimals that the step needs, so that no two are the same. */
export function axisText(step: number, largest: number, unit: string): (value: number) => string {
    const scale = unit === "ms" ? 1e6 : 1;
    const units = unit === "bytes" ? BYTES : unit === "clock" ? clockUnits() : unit === "ns" || unit === "ms" ? AXIS_TIME : largest >= 1e7 ? COUNT : [];
    const [size, name] = units.find(([least]) => (unit === "bytes" ? step : largest * scale) >= least) ?? units[units.length - 1] ?? [1, ""];
    const isWhole = (digits: number): boolean => {
        const turned = ((step * scale) / size) * 10 ** digits;
        return Math.abs(turned - Math.round(turned)) < 1e-6;
    };
    const decimals = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].find(isWhole) ?? 12;
    const isCount = units === CYCLES || units === COUNT;
    return (value) => (value === 0 && isCount ? "0" : `${((value * scale) / size).toFixed(decimals)} ${name}`.trim());
}

/* With the unit's name after a count. */
export function weightUnit(value: number, unit: string): string {
    const text = weight(value, unit);
    return unit === "ns" || unit === "ms" || unit === "bytes" ? text : `${text} ${unit}`;
}

export function time(ns: number): string {
    return clock === "cycles" ? weightUnit(ns, clock) : weight(ns, "ns");
}

/* Where there is little room: cycles with three digits and without their name. */
export function shortTime(ns: number): string {
    return clock === "cycles" ? tidy(scaled(ns, CYCLES)).trim() : time(ns);
}

export function count(value: number): string {
    return GROUPS.format(value);
}

/* Three digits. */
function percentText(percent: number): string {
    const size = Math.abs(percent);
    return `${percent.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0)} %`;
}

export function share(part: number, whole: number): string {
    if (!(whole > 0))
        return "";
    const percent = (part / whole) * 100;
    if (percent === 0)
        return "0 %";
    return Math.abs(percent) < 0.01 ? "<0.01 %" : percentText(percent);
}

/* From one share to another. */
export function shares(low: number, high: number): string {
    return `${(low * 100).toFixed(1)}\u2013${(high * 100).toFixed(1)} %`;
}

/* A change of a share, in percentage points, with its sign. */
export function points(part: number): string {
    const text = Math.abs(part * 100).toFixed(Math.abs(part) < 0.09995 ? 2 : 1);
    return Number(text) === 0 ? "0" : `${part > 0 ? "+" : "\u2212"}${text}`;
}

/* A change of a weight, with its sign. */
export function signed(value: number, unit: string): string {
    return value === 0 ? "0" : `${value > 0 ? "+" : "\u2212"}${weight(Math.abs(value), unit)}`;
}

/* From one change of a weight to another, in the unit of the larger, with two digits. */
export function signedRange(low: number, high: number, unit: string): string {
    const scale = unit === "ms" ? 1e6 : 1;
    const units = unit === "bytes" ? BYTES : unit === "ns" || unit === "ms" ? TIME : Math.max(-low, high) >= 1e7 ? COUNT : [];
    const [size, name] = units.find(([least]) => Math.max(-low, high) * scale >= least) ?? units[units.length - 1] ?? [1, ""];
    const text = (value: number): string => {
        const figure = tidy(Math.abs((value * scale) / size).toPrecision(2));
        return Number(figure) === 0 ? "0" : `${value > 0 ? "+" : "\u2212"}${figure}`;
    };
    return `${text(low)}\u2026${text(high)} ${name}`.trim();
}

/* Wilson's 95 % interval for a share seen in n samples. */
export function interval(part: number, whole: number, n: number): [number, number] {
    const z = 1.96;
    const p = Math.min(1, Math.max(0, part / whole));
    const middle = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
    const half = (z / (1 + (z * z) / n)) * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/* A name as safe text: control characters, and those that change the direction of
 * writing, are shown as numbers. */
export function shownName(name: string): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex searches for them
    return name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/* The name of an event as it is shown, without its unit. */
export function eventTitle({ name, unit }: { name: string; unit: string }): string {
    const known = unit === "ns" ? { "cpu-clock": "CPU time", "task-clock": "CPU time", "off-cpu": "Waiting" }[name] : undefined;
    return known ?? shownName(name);
}

/* For the user: the clocks of the kernel measure CPU time. */
export function eventName({ name, unit }: { name: string; unit: string }): string {
    const title = eventTitle({ name, unit });
    return title !== shownName(name) || !unit || unit === name ? title : `${title} (${unit})`;
}

const OF_HEAP: Record<string, string> = { peak: "at the peak", live: "live", allocated: "allocated", allocations: "allocations", temporary: "temporary blocks", leaked: "leaked", freed: "freed", releases: "releases" };

/* The total of an event of a heap; null: it is none of them. */
export function heapText(name: string, total: number, unit: string): string | null {
    return name in OF_HEAP ? `${weight(total, unit)} ${OF_HEAP[name]}` : null;
}

/* Of a mark on the time line. */
export function markText(mark: { lost?: number; name?: string }): string {
    return mark.name === undefined ? `${count(mark.lost ?? 0)} lost ${mark.lost === 1 ? "sample" : "samples"}` : shownName(mark.name);
}

/* Of a class of lifetimes: files and filters have ASCII. */
export function microseconds(name: string): string {
    return name.replace(/\bus\b/g, "\u00b5s");
}

export function baseName(path: string): string {
    return path.slice(path.lastIndexOf("/") + 1);
}

const KERNEL = /^\[kernel\.kallsyms\]/, GUEST_KERNEL = /^\[guest\.kernel\.kallsyms/;

/* The file's name, of the kernel a word. Filters, links and exports have the name of the recording. */
export function moduleName(path: string): string {
    const name = shownName(baseName(path));
    return KERNEL.test(name) ? "kernel" : GUEST_KERNEL.test(name) ? "kernel of the guest" : name;
}

/* A function's name. Of a graph by module, and of the kernel's functions without a name, it is the
 * kernel's module. */
export function functionName(name: string): string {
    return name.startsWith("[") && /^\[[^\s\]]*\]\w*$/.test(name) ? moduleName(name) : shownName(name);
}

/* The names of cores and tasks in an instruction trace say what their IDs say. */
export function hasIds(): boolean {
    return clock === "ns";
}

/* `alike`: another thread of the process has the name. */
export function threadName(t: { name: string; pid?: number; tid?: number }, alike = false): string {
    const ids = (hasIds() ? [t.pid, t.tid] : [alike ? t.tid : undefined]).filter((id) => id !== undefined);
    const numbers = ids.length === 2 && ids[0] === ids[1] ? [ids[0]] : ids;
    return [shownName(t.name) || "(no name)", numbers.join("/")].filter(Boolean).join(" ");
}
