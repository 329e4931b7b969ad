/* SPDX-License-Identifier: Apache-2.0 */
/* The home of a page that is served by stoke view: the server lists processes and recent
 * recordings, and records. src/engine/home.h describes the requests. */
import type { App } from "./app";
import { fetchAgain } from "./requests";

/* What a file contains, as far as the server finds it out in a little time. */
export interface About {
    format?: string;
    host?: string;
    command?: string;
    program?: string; /* the process with the most samples */
    processes?: number;
    events?: { name?: string; unit?: string; total?: number }[];
    samples?: number;
    seconds?: number;
    cut?: boolean; /* it ends early */
    large?: boolean; /* it was not read to its end */
    error?: string;
}

export interface Recent {
    id: string;
    name: string;
    folder?: string;
    size: number;
    changed: number; /* ms since the epoch */
    about?: About | null; /* null: not known yet; the older files have none */
}

export interface Machine {
    host: string;
    cpus: number;
    memory: number;
    system: string;
    folder: string;
    root: boolean;
    recent: Recent[];
}

export interface Process {
    pid: number;
    name: string;
    service: string;
    user: string;
    cpu: number | null; /* percent of one CPU */
    memory: number;
}

/* Processes of the same name and service. */
export interface Group {
    name: string;
    service: string;
    pids: number[];
    cpu: number | null;
    memory: number;
    past: number[]; /* CPU time, the latest last */
}

export interface Recording {
    state: "none" | "recording" | "ending" | "recorded" | "failed";
    title?: string;
    name?: string;
    seconds?: number;
    duration?: number;
    messages?: string;
    file?: string;
}

interface Opening {
    state: "none" | "opening" | "opened" | "failed";
    file: string;
    before?: string;
    name: string;
    messages?: string;
}

export interface Plan {
    command: string;
    title: string;
    error: string;
    hint: string;
}

export interface Settings {
    target: "pids" | "machine" | "command";
    pids: number[];
    command: string; /* as typed */
    event: string;
    rate: number;
    stacks: string;
    off_cpu: boolean;
    children: boolean;
    heap: boolean; /* of a command, too; of a running process, alone */
    duration: number;
}

const PROCESSES_EVERY = 2000; /* ms */
const ABOUT_EVERY = 400; /* while the server reads files */
const RECORDING_EVERY = 500;
/* Of a sample, measured with stoke record on programs with 20 to 60 frames. */
const FP_COST = 10e-6, STACK_COST = 20e-6; /* s */
const SAMPLE_BYTES = 25, FILE_LEAST = 2000;
const PAST = 24; /* readings that are retained */

class Refused extends Error {
    constructor(message: string, readonly hint: string) {
        super(message);
    }
}

async function ask<T>(path: string, body?: unknown): Promise<T> {
    const reply = await fetchAgain(path, body === undefined ? {} : {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    }).catch(() => null);
    if (!reply)
        throw new Refused("stoke view does not answer", "start it again, and open the address that it prints");
    const said = await reply.json().catch(() => null) as T & { error?: string; hint?: string } | null;
    if (!reply.ok)
        throw new Refused(said?.error || `the server answers ${reply.status}`, said?.hint ?? "");
    if (!said)
        throw new Refused("the reply of stoke view is incomplete", "load the page again");
    return said;
}

/* Splits a command line into arguments as a shell does for quotes and backslashes, and
 * nothing else: the program is started without a shell. */
export function argumentsOf(line: string): string[] {
    const words: string[] = [];
    let word = "", begun = false, quote = "";
    for (let i = 0; i < line.length; i++) {
        const c = line[i] as string;
        if (quote ? c === quote : c === "'" || c === '"') {
            quote = quote ? "" : c;
            begun = true;
        } else if (c === "\\" && quote !== "'" && i + 1 < line.length) {
            word += line[++i];
            begun = true;
        } else if (!quote && /\s/.test(c)) {
            if (begun)
                words.push(word);
            word = "";
            begun = false;
        } else {
            word += c;
            begun = true;
        }
    }
    return begun ? [...words, word] : words;
}

export class Home {
    machine: Machine | null = null;
    processes: Process[] = [];
    settings: Settings = { target: "pids", pids: [], command: "", event: "", rate: 99, stacks: "auto", off_cpu: false, children: true, heap: false, duration: 10 };
    plan: Plan | null = null;
    recording: Recording = { state: "none" };
    opening = ""; /* the name of the file that is being opened */
    before: Recent | null = null; /* chosen: the next choice is compared with it */
    byMemory = false;
    search = "";
    error: { message: string; hint: string } | null = null;
    gone = ""; /* the names of chosen processes that have ended */
    private readonly past = new Map<string, number[]>();
    private planTimer = 0;
    private aboutTimer = 0;
    private plans = 0;
    private opens = 0;
    private follows = false; /* the recording's state is read often */
    private lost: Home["error"] = null; /* the error, if the processes could not be read */
    private mine = false; /* this page has started the recording, and shows it */

    constructor(private readonly app: App) {}

    /* The address of a page with a recording names it, and the one that it is compared with. */
    static asked(): { file: string; before: string } | null {
        const [, file, before] = /^\/view\/([0-9a-f]{16})(?:\/([0-9a-f]{16}))?$/.exec(location.pathname) ?? [];
        return file ? { file, before: before ?? "" } : null;
    }

    start(): void {
        void this.refresh().then(() => this.follow());
    }

    private fail(error: unknown): void {
        this.error = { message: error instanceof Error ? error.message : String(error), hint: error instanceof Refused ? error.hint : "" };
        this.app.changed();
    }

    private async refresh(): Promise<void> {
        try {
            this.machine = await ask<Machine>("/api/home");
            clearTimeout(this.aboutTimer);
            if (this.machine.recent.some((file) => file.about === null) && !this.app.shown)
                this.aboutTimer = window.setTimeout(() => void this.refresh(), ABOUT_EVERY);
            this.app.changed();
        } catch (error) {
            this.fail(error);
        }
    }

    /* Another page may start a recording. */
    private async follow(): Promise<void> {
        if (this.app.shown)
            return; /* the home is not visible */
        if (!document.hidden) {
            await this.readProcesses();
            await this.followRecording();
        }
        window.setTimeout(() => void this.follow(), PROCESSES_EVERY);
    }

    /* --- Processes ------------------------------------------------------------------------ */

    private async readProcesses(): Promise<void> {
        try {
            const before = this.processes;
            this.processes = (await ask<{ processes: Process[] }>("/api/processes")).processes;
            for (const group of this.groups(""))
                this.past.set(`${group.name}\n${group.service}`, [...group.past, group.cpu ?? 0].slice(-PAST));
            this.forget(before);
            if (this.error === this.lost)
                this.error = null;
            this.app.changed();
        } catch (error) {
            this.fail(error);
            this.lost = this.error;
        }
    }

    /* Chosen processes that have ended cannot be recorded. */
    private forget(before: Process[]): void {
        const running = new Set(this.processes.map((p) => p.pid));
        const ended = this.settings.pids.filter((pid) => !running.has(pid));
        if (ended.length === 0)
            return;
        this.set({ pids: this.settings.pids.filter((pid) => running.has(pid)) });
        if (this.settings.pids.length === 0)
            this.gone = [...new Set(before.filter((p) => ended.includes(p.pid)).map((p) => p.name))].slice(0, 3).join(", ");
    }

    /* A search for a PID finds the process alone; otherwise the processes of one name are one row. */
    groups(search = this.search): Group[] {
        const found = new Map<string, Group>();
        const text = search.trim().toLowerCase();
        for (const p of this.processes) {
            const alone = text !== "" && String(p.pid) === text;
            if (text && !alone && !`${p.name} ${p.service} ${p.user}`.toLowerCase().includes(text))
                continue;
            const key = `${p.name}\n${p.service}`;
            const group = found.get(key) ?? { name: p.name, service: p.service, pids: [], cpu: null, memory: 0, past: this.past.get(key) ?? [] };
            group.pids.push(p.pid);
            group.cpu = p.cpu === null ? group.cpu : (group.cpu ?? 0) + p.cpu;
            group.memory += p.memory;
            found.set(key, group);
        }
        const size = (g: Group): number => this.byMemory ? g.memory : (g.cpu ?? 0);
        return [...found.values()].sort((a, b) => size(b) - size(a) || b.memory - a.memory || (a.pids[0] ?? 0) - (b.pids[0] ?? 0));
    }

    choose(pids: number[], on: boolean): void {
        const rest = this.settings.pids.filter((pid) => !pids.includes(pid));
        this.set({ pids: on ? [...rest, ...pids] : rest });
    }

    /* --- Recording ------------------------------------------------------------------------ */

    set(settings: Partial<Settings>): void {
        this.gone = "";
        this.settings = { ...this.settings, ...settings };
        if (settings.target)
            this.settings.heap = false; /* it means something else then */
        this.replan();
        this.app.changed();
    }

    private body(): unknown {
        const { settings } = this;
        return { ...settings, command: argumentsOf(settings.command) };
    }

    /* What the recorder will use, in CPU seconds per second, and the bytes that it will write: of the CPU
     * time that the target used lately. Null without a target. */
    get cost(): { cpu: number; bytes: number; seconds: number } | null {
        const { target, pids, rate, stacks, duration } = this.settings;
        if (!this.chosen || this.heapAlone)
            return null;
        const used = this.processes.filter((p) => target === "machine" || pids.includes(p.pid)).reduce((sum, p) => sum + (p.cpu ?? 0), 0) / 100;
        const busy = target === "command" ? 1 : Math.min(this.machine?.cpus ?? 1, used);
        const seconds = duration || 60, samples = rate * busy;
        return { cpu: samples * (stacks === "fp" ? FP_COST : STACK_COST), bytes: FILE_LEAST + samples * seconds * SAMPLE_BYTES, seconds };
    }

    /* Only allocations are recorded, not CPU time. */
    get heapAlone(): boolean {
        return this.settings.heap && this.settings.target === "pids";
    }

    /* Whether there is a target. */
    get chosen(): boolean {
        const { target, pids, command } = this.settings;
        return target === "machine" || (target === "pids" ? pids.length > 0 : command.trim() !== "");
    }

    private replan(): void {
        clearTimeout(this.planTimer);
        if (!this.chosen) {
            this.plan = null;
            return;
        }
        this.planTimer = window.setTimeout(() => {
            const number = ++this.plans;
            void ask<Plan>("/api/plan", this.body())
                .then((plan) => ({ ...plan, error: "", hint: "" }))
                .catch((error: unknown) => ({ command: "", title: "", error: String((error as Error).message), hint: error instanceof Refused ? error.hint : "" }))
                .then((plan) => {
                    if (number === this.plans && this.chosen)
                        this.plan = plan;
                    this.app.changed();
                });
        }, 100);
    }

    async record(): Promise<void> {
        try {
            this.error = null;
            this.recording = await ask<Recording>("/api/record", this.body());
            this.mine = true;
            this.app.changed();
        } catch (error) {
            this.fail(error);
        }
        await this.followRecording();
    }

    async stop(): Promise<void> {
        try {
            this.recording = await ask<Recording>("/api/stop", {});
            this.app.changed();
        } catch (error) {
            this.fail(error);
        }
    }

    get records(): boolean {
        return this.recording.state === "recording" || this.recording.state === "ending";
    }

    private async followRecording(again = false): Promise<void> {
        if (this.follows && !again)
            return;
        const recorded = this.records;
        this.follows = true;
        try {
            this.recording = await ask<Recording>("/api/recording");
        } catch (error) {
            this.follows = false;
            this.fail(error);
            return;
        }
        this.app.changed();
        this.follows = this.records;
        if (this.records) {
            window.setTimeout(() => void this.followRecording(true), RECORDING_EVERY);
        } else if (recorded) {
            await this.refresh();
            if (this.mine && this.recording.file)
                await this.open(this.recording.file);
            this.mine = false;
        }
    }

    /* --- Files ---------------------------------------------------------------------------- */

    /* Chooses what the next choice is compared with; null: nothing. */
    chooseBefore(file: Recent | null): void {
        this.before = file;
        this.app.changed();
    }

    /* The server makes a page of the file, which has symbols and source files of this machine;
     * with `before`, of the comparison with that file. */
    async open(id: string, before = ""): Promise<void> {
        const number = ++this.opens;
        this.before = null;
        try {
            this.error = null;
            await this.followOpening(await ask<Opening>("/api/open", { file: id, before }), id, before, number);
        } catch (error) {
            this.failOpening(error, number);
        }
    }

    private failOpening(error: unknown, number: number): void {
        if (number !== this.opens)
            return;
        this.opening = "";
        this.fail(error);
    }

    private async followOpening(state: Opening, id: string, before: string, number: number): Promise<void> {
        if (number !== this.opens)
            return; /* another file was chosen here */
        const address = `/view/${id}${before && `/${before}`}`;
        if (state.file !== id || (state.before ?? "") !== before)
            throw new Refused("another page opens a file from this server", "try again when that file is shown");
        this.opening = state.state === "opening" ? state.name : "";
        if (state.state === "opened") {
            if (location.pathname === address)
                location.reload();
            else
                location.assign(address);
        } else if (state.state === "failed") {
            throw new Refused(`${state.name} cannot be opened`, state.messages ?? "");
        } else {
            window.setTimeout(() => void ask<Opening>("/api/opening").then((next) => this.followOpening(next, id, before, number))
                .catch((error: unknown) => this.failOpening(error, number)), RECORDING_EVERY / 2);
        }
        this.app.changed();
    }
}
