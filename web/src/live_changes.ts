/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU time of processes changed: the readings of the last minute, added up by name, service
 * and container. */
import type { Grouping, Process } from "./live";

export const HALF = 30; /* readings: the span, and the one before it */
export const LEAST = 3; /* readings in each */
const GAP = 3; /* s between two readings: more is a new beginning */
const GROUPINGS: Grouping[] = ["process", "service", "container"];

/* As the daemon has it: ms of CPU time. */
export type Usage = Partial<Record<Grouping, Record<string, number>>>;

/* The value that is common to the processes of a row. */
export function keyOf(p: Process, by: Grouping): string {
    return by === "process" ? p.name : p[by] ?? "";
}

export class Changes {
    private past = new Map<string, number[]>(); /* by grouping and key: ms per second */
    private readings = 0;
    private last = 0; /* s */

    /* The readings in each of the two spans; 0: too few. */
    get half(): number {
        const half = Math.min(HALF, Math.floor(this.readings / 2));
        return half < LEAST ? 0 : half;
    }

    note(processes: Process[], seconds: number): void {
        if (seconds - this.last > GAP) {
            this.past.clear();
            this.readings = 0;
        }
        this.last = seconds;
        const sums = new Map<string, number>();
        for (const p of processes)
            for (const by of GROUPINGS) {
                const key = `${by} ${keyOf(p, by)}`;
                sums.set(key, (sums.get(key) ?? 0) + p.cpu);
            }
        this.readings = Math.min(2 * HALF, this.readings + 1);
        for (const key of new Set([...this.past.keys(), ...sums.keys()])) {
            const before = this.past.get(key) ?? new Array<number>(this.readings - 1).fill(0);
            const now = [...before, sums.get(key) ?? 0].slice(-this.readings);
            if (now.some((cpu) => cpu > 0))
                this.past.set(key, now);
            else
                this.past.delete(key);
        }
    }

    /* From the history of the daemon, so that a page that opens knows them: ms by grouping and key, in
     * two spans of `half` seconds, the second of which ends now. */
    seed(before: Usage, after: Usage, half: number, seconds: number): void {
        const all = Math.min(HALF, half);
        const meanOf = (usage: Usage, by: Grouping, key: string): number => (usage[by]?.[key] ?? 0) / half;
        this.past.clear();
        this.readings = 2 * all;
        this.last = seconds;
        for (const by of GROUPINGS)
            for (const key of new Set([...Object.keys(before[by] ?? {}), ...Object.keys(after[by] ?? {})]))
                this.past.set(`${by} ${key}`, [...new Array<number>(all).fill(meanOf(before, by, key)), ...new Array<number>(all).fill(meanOf(after, by, key))]);
    }

    /* ms per second more than in the span before; null: not known yet. */
    of(by: Grouping, key: string): number | null {
        const { half } = this;
        const past = this.past.get(`${by} ${key}`) ?? [];
        const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / half;
        return half ? mean(past.slice(-half)) - mean(past.slice(-2 * half, -half)) : null;
    }
}
