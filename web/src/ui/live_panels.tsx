/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the live page: processes, CPUs, memory, disks. */
import { useState } from "preact/hooks";
import { nameCategory } from "../boxes";
import { count, shownName } from "../format";
import type { Grouping, Live, Process } from "../live";
import { keyOf } from "../live_changes";
import { bytes, percent, perSecond, rate } from "../live_tracks";
import { tokens } from "../tokens";
import { useHeld } from "./held";

export interface Group {
    key: string;
    label: string; /* KEY=VALUE of its samples */
    pids: number[];
    cpu: number;
    rss: number;
    pss: number;
    memory: number; /* PSS where it is known, otherwise RSS */
    read: number;
    written: number;
    io: number;
    threads: number;
    user: string;
}

/* Processes of the same name, service or container together; the most CPU time first. */
export function groups(processes: Process[], by: Grouping): Group[] {
    const found = new Map<string, Group>();
    for (const p of processes) {
        const key = keyOf(p, by);
        let group = found.get(key);
        if (!group) {
            group = { key, label: key ? `${by}=${key}` : "", pids: [], cpu: 0, rss: 0, pss: 0, memory: 0, read: 0, written: 0, io: 0, threads: 0, user: p.user ?? "" };
            found.set(key, group);
        }
        group.pids.push(p.pid);
        group.cpu += p.cpu;
        group.rss += p.rss;
        group.pss += p.pss ?? 0;
        group.memory += p.pss ?? p.rss;
        group.read += p.read ?? 0;
        group.written += p.written ?? 0;
        group.io += (p.read ?? 0) + (p.written ?? 0);
        group.threads += p.threads;
    }
    return [...found.values()].sort((a, b) => b.cpu - a.cpu || b.rss - a.rss);
}

function nameOf(group: Group, by: Grouping): string {
    if (!group.key)
        return `no ${by}`;
    const ids = group.pids.length > 1 ? `\u00d7${count(group.pids.length)}` : by === "process" ? String(group.pids[0]) : "";
    return `${shownName(group.key)} ${ids}`.trim();
}

const GROUPINGS: [Grouping, string][] = [["process", "Process"], ["service", "Service"], ["container", "Container"]];

/* In percent of a CPU, with a sign. */
function changeText(ms: number | null): string {
    const percent = Math.round((ms ?? 0) / 10);
    return ms === null ? "" : percent === 0 ? "0 %" : `${percent > 0 ? "+" : "\u2212"}${Math.abs(percent)} %`;
}

function GroupChoice({ live }: { live: Live }) {
    return (
        <span class="segments" role="radiogroup" aria-label="Group by">
            {GROUPINGS.map(([by, title]) => <button key={by} type="button" role="radio" aria-checked={live.grouping === by} onClick={() => live.setGrouping(by)}>{title}</button>)}
        </span>
    );
}

/* A click shows only the samples of a row, in the flame graph. */
function GroupName({ live, row }: { live: Live; row: Group }) {
    const chosen = row.label !== "" && live.labels.includes(row.label);
    const click = (): void => {
        if (chosen)
            live.removeLabel(row.label);
        else
            live.addLabel(row.label);
    };
    return (
        <th>
            <button type="button" disabled={!row.label} title={`Show only the samples of ${row.label}`} onClick={click}>
                <i class="square" style={{ background: tokens().strips[nameCategory(row.key)] }} /><span>{nameOf(row, live.grouping)}</span>
            </button>
        </th>
    );
}

const LEAST = 8; /* rows, also of processes that do nothing */

/* Beside the graph. A click shows only the samples of a row. */
export function TopProcesses({ live, most }: { live: Live; most: number }) {
    const held = useHeld(groups(live.processes, live.grouping), (row) => row.key);
    const busy = held.rows.filter((row) => row.cpu > 0 || row.io > 0).length;
    const rows = held.rows.slice(0, Math.min(most, Math.max(LEAST, busy)));
    const largest = Math.max(1, ...rows.map((row) => row.cpu));
    const chosen = (row: Group): boolean => row.label !== "" && live.labels.includes(row.label);
    return (
        <div class="live-top">
            <div class="live-top-head">
                <h2>Top processes</h2>
                <span class="grow" />
                <GroupChoice live={live} />
            </div>
            <table class="live-table top">
                <thead><tr><th>Name</th><th>CPU</th><th title={live.changes.half ? `CPU time of the last ${live.changes.half} s, less that of the ${live.changes.half} s before` : "CPU time, less that of the span before: in some seconds"}>Change</th><th title="Proportional memory of the largest; otherwise resident">Memory</th><th title="Reads and writes">I/O</th></tr></thead>
                <tbody {...held.events}>
                    {rows.map((row) => (
                        <tr key={row.key} class={chosen(row) ? "chosen" : ""}>
                            <GroupName live={live} row={row} />
                            <td class="barred"><i style={{ width: `${(row.cpu / largest) * 100}%` }} /><span>{percent(row.cpu / 1000)}</span></td>
                            <td class="by">{changeText(live.changes.of(live.grouping, row.key))}</td>
                            <td>{bytes(row.pss || row.rss)}</td>
                            <td>{row.io ? rate(row.io) : "0"}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {rows.length === 0 && <p class="faint">No process yet.</p>}
        </div>
    );
}

type Column = "cpu" | "rss" | "pss" | "read" | "written" | "threads";
const COLUMNS: [Column, string, (v: number) => string][] = [
    ["cpu", "CPU", (v) => percent(v / 1000)], ["rss", "RSS", bytes], ["pss", "PSS", bytes],
    ["read", "Read", rate], ["written", "Written", rate], ["threads", "Threads", count]];

function ProcessTable({ live }: { live: Live }) {
    const [by, setBy] = useState<Column>("cpu");
    const [text, setText] = useState("");
    const rows = live.processes
        .filter((p) => [p.name, String(p.pid), p.user ?? "", p.service ?? "", p.container ?? ""].some((word) => word.toLowerCase().includes(text.toLowerCase())))
        .sort((a, b) => (b[by] ?? 0) - (a[by] ?? 0) || a.pid - b.pid);
    const held = useHeld(rows, (p) => String(p.pid));
    return (
        <div class="live-panel">
            <p><input type="search" placeholder="Find a process" aria-label="Find a process" value={text} onInput={(event) => setText(event.currentTarget.value)} /> <span class="faint">{count(rows.length)} of {count(live.processCount)}</span></p>
            <table class="live-table wide processes">
                <thead><tr><th>PID</th><th class="named">Name</th><th>User</th><th>Service</th><th>Container</th>{COLUMNS.map(([key, title]) => <th key={key} aria-sort={by === key ? "descending" : "none"}><button type="button" onClick={() => setBy(key)}>{title}{by === key ? " \u2193" : ""}</button></th>)}<th>Record</th></tr></thead>
                <tbody {...held.events}>
                    {held.rows.slice(0, 200).map((p) => (
                        <tr key={p.pid}>
                            <td>{p.pid}</td>
                            <th><button type="button" onClick={() => { live.setPanel(null); live.addLabel(`process=${p.name}`); }}><span title={shownName(p.name)}>{shownName(p.name)}</span></button></th>
                            <td>{shownName(p.user ?? "")}</td>
                            <td>{shownName(p.service ?? "")}</td>
                            <td>{p.container ?? ""}</td>
                            {COLUMNS.map(([key, , form]) => <td key={key}>{p[key] === undefined ? "" : form(p[key] as number)}</td>)}
                            <td><button type="button" class="outlined" disabled={live.records} title="999 Hz, stacks by DWARF, 10 s; then the result is shown" aria-label={`Record ${shownName(p.name)} ${p.pid}`} onClick={() => void live.record([p.pid])}>10 s</button></td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

/* The middle part of names such as core.3.user, in their order. */
function partsOf(latest: Map<string, number>, kind: string): string[] {
    const found = new Set<string>();
    for (const name of latest.keys()) {
        const end = name.lastIndexOf(".");
        if (name.startsWith(`${kind}.`) && end > kind.length)
            found.add(name.slice(kind.length + 1, end));
    }
    return [...found];
}

type Figure = [string, string, (v: number) => string]; /* metric, title, text */

function Rows({ live, kind, title, figures }: { live: Live; kind: string; title: string; figures: Figure[] }) {
    const parts = partsOf(live.latest, kind);
    return parts.length === 0 ? null : (
        <table class="live-table wide numbers-only">
            <thead><tr><th>{title}</th>{figures.map(([metric, name]) => <th key={metric}>{name}</th>)}</tr></thead>
            <tbody>
                {parts.map((part) => (
                    <tr key={part}>
                        <th>{shownName(part)}</th>
                        {figures.map(([metric, , form]) => <td key={metric}>{form(live.latest.get(`${kind}.${part}.${metric}`) ?? Number.NaN)}</td>)}
                    </tr>
                ))}
            </tbody>
        </table>
    );
}

function Values({ live, figures }: { live: Live; figures: Figure[] }) {
    return (
        <table class="live-table wide numbers-only">
            <tbody>
                {figures.filter(([metric]) => live.latest.has(metric)).map(([metric, title, form]) => <tr key={metric}><th>{title}</th><td>{form(live.latest.get(metric) as number)}</td></tr>)}
            </tbody>
        </table>
    );
}

const ofSecond = (v: number): string => percent(v / 1000);
const pressure = (v: number): string => percent(v / 1e6);
const MODES: Figure[] = ["user", "nice", "system", "irq", "softirq", "steal", "iowait", "idle"].map((mode) => [mode, mode, ofSecond]);
const CPU: Figure[] = [
    ["load.1", "Load, 1 min", (v) => (v / 100).toFixed(2)], ["threads.running", "Running threads", count], ["threads.blocked", "Blocked threads", count],
    ["kernel.context_switches", "Context switches", perSecond], ["kernel.interrupts", "Interrupts", perSecond], ["kernel.softirqs", "Softirqs", perSecond],
    ["kernel.forks", "New processes", perSecond], ["pressure.cpu.some", "Pressure", pressure]];
const MEMORY: Figure[] = [
    ...["total", "used", "free", "available", "cached", "buffers", "slab", "reclaimable", "anonymous", "dirty"].map((name): Figure => [`memory.${name}`, `${name[0]?.toUpperCase()}${name.slice(1)}`, bytes]),
    ["swap.total", "Swap", bytes], ["swap.free", "Free swap", bytes], ["pressure.memory.some", "Pressure", pressure]];
const DISK: Figure[] = [["read", "Read", rate], ["write", "Written", rate], ["reads", "Reads", perSecond], ["writes", "Writes", perSecond], ["busy", "Busy", ofSecond]];
const NETWORK: Figure[] = [["in", "In", rate], ["out", "Out", rate]];

type Sum = "cpu" | "threads" | "memory" | "rss" | "io" | "read" | "written";
const USES: Record<"cpu" | "memory" | "io", [Sum, string, (v: number) => string][]> = {
    cpu: [["cpu", "CPU", ofSecond], ["threads", "Threads", count], ["memory", "Memory", bytes]],
    memory: [["memory", "PSS", bytes], ["rss", "RSS", bytes], ["cpu", "CPU", ofSecond]],
    io: [["io", "Read and written", rate], ["read", "Read", rate], ["written", "Written", rate]],
};
const USERS_MOST = 60; /* rows */

/* Who uses what the panel shows, the largest first. */
function Users({ live, of }: { live: Live; of: "cpu" | "memory" | "io" }) {
    const [first, ...others] = USES[of] as [[Sum, string, (v: number) => string], ...[Sum, string, (v: number) => string][]];
    const [by, title, form] = first;
    const users = groups(live.processes, live.grouping).filter((row) => row[by] > 0).sort((a, b) => b[by] - a[by]).slice(0, USERS_MOST);
    const held = useHeld(users, (row) => row.key);
    const largest = Math.max(1, ...held.rows.map((row) => row[by]));
    return (
        <section class="live-users" aria-label="Processes by use">
            <div class="live-top-head"><h2>Top processes</h2><span class="grow" /><GroupChoice live={live} /></div>
            <table class="live-table">
                <thead><tr><th>Name</th><th title={of === "memory" ? "Proportional memory of the largest; otherwise resident" : undefined}>{title}</th>{others.map(([key, name]) => <th key={key}>{name}</th>)}</tr></thead>
                <tbody {...held.events}>
                    {held.rows.map((row) => (
                        <tr key={row.key}>
                            <GroupName live={live} row={row} />
                            <td class="barred"><i style={{ width: `${(row[by] / largest) * 100}%` }} /><span>{form(row[by])}</span></td>
                            {others.map(([key, , text]) => <td key={key}>{row[key] ? text(row[key]) : "0"}</td>)}
                        </tr>
                    ))}
                </tbody>
            </table>
            {users.length === 0 && <p class="faint">{live.processes.length ? "No process does now." : "No process yet."}</p>}
        </section>
    );
}

const KINDS_MOST = 40; /* rows */

/* How often the kernel was interrupted, by what. */
function Interrupts({ live, of, title }: { live: Live; of: "interrupts" | "softirqs"; title: string }) {
    const held = useHeld(live.kernelRates(of).slice(0, KINDS_MOST), (row) => row.name);
    return held.rows.length === 0 ? null : (
        <table class="live-table">
            <thead><tr><th>{title}</th><th>Per second</th></tr></thead>
            <tbody {...held.events}>
                {held.rows.map((row) => (
                    <tr key={row.name} title={row.description && shownName(`${row.name}: ${row.description}`)}>
                        <th>{shownName(row.name)} {row.description && <span class="faint">{shownName(/^\d/.test(row.name) ? row.description.split(/\s+/).pop() ?? "" : row.description)}</span>}</th>
                        <td>{perSecond(row.rate)}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}

/* The free blocks of each zone, by their size: few large ones are fragmented memory. */
function FreeBlocks({ live }: { live: Live }) {
    const { buddy = [], page = 0 } = live.kernel ?? {};
    const orders = Math.max(0, ...buddy.map((zone) => zone.free.length));
    const nodes = new Set(buddy.map((zone) => zone.node)).size;
    return orders === 0 ? null : (
        <table class="live-table wide numbers-only">
            <thead><tr><th>Free blocks</th>{buddy.map(({ node, zone }) => <th key={`${node} ${zone}`}>{shownName(zone)}{nodes > 1 ? ` ${node}` : ""}</th>)}</tr></thead>
            <tbody>
                {Array.from({ length: orders }, (_, order) => (
                    <tr key={order}>
                        <th>{bytes(page * 2 ** order).replace(".0 ", " ")}</th>
                        {buddy.map(({ node, zone, free }) => <td key={`${node} ${zone}`}>{count(free[order] ?? 0)}</td>)}
                    </tr>
                ))}
            </tbody>
        </table>
    );
}

/* What the kernel allocates in its own caches. */
function Caches({ live }: { live: Live }) {
    const held = useHeld((live.kernel?.slab ?? []).filter((cache) => cache.bytes > 0), (cache) => cache.name);
    const largest = Math.max(1, ...held.rows.map((cache) => cache.bytes));
    return held.rows.length === 0 ? null : (
        <section class="live-kernel" aria-label="Caches of the kernel">
            <div class="live-top-head"><h2>Kernel caches (slab)</h2></div>
            <table class="live-table">
                <thead><tr><th>Name</th><th>Size</th><th title="Objects that are used">Used</th><th title="Bytes of an object">Object</th></tr></thead>
                <tbody {...held.events}>
                    {held.rows.map((cache) => (
                        <tr key={cache.name}>
                            <th>{shownName(cache.name)}</th>
                            <td class="barred"><i style={{ width: `${(cache.bytes / largest) * 100}%` }} /><span>{bytes(cache.bytes)}</span></td>
                            <td title={`${count(cache.active)} of ${count(cache.objects)} objects`}>{percent(cache.active / Math.max(1, cache.objects))}</td>
                            <td>{bytes(cache.object_size)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </section>
    );
}

/* The values of this moment. */
export function LivePanel({ live }: { live: Live }) {
    switch (live.panel) {
        case "processes":
            return <ProcessTable live={live} />;
        case "cpu":
            return <div class="live-panel halves thirds"><div><Values live={live} figures={CPU} /><Rows live={live} kind="core" title="CPU" figures={MODES} /></div><Users live={live} of="cpu" /><section class="live-kernel" aria-label="Interrupts by kind"><Interrupts live={live} of="interrupts" title="Interrupt" /><Interrupts live={live} of="softirqs" title="Softirq" /></section></div>;
        case "memory":
            return <div class="live-panel halves thirds"><div><Values live={live} figures={MEMORY} /><FreeBlocks live={live} /></div><Users live={live} of="memory" /><Caches live={live} /></div>;
        case "io":
            return <div class="live-panel halves"><div><Rows live={live} kind="disk" title="Disk" figures={DISK} /><Rows live={live} kind="net" title="Interface" figures={NETWORK} /></div><Users live={live} of="io" /></div>;
        default:
            return null;
    }
}
