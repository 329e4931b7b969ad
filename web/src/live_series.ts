/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a span, from the server: a column of values for each name. */

export interface SeriesReply {
    start: number; /* s since 1970 */
    step: number; /* s */
    count: number;
    metrics: { name: string; unit: string; values: (number | null)[] }[];
}

/* The recording of a trigger: what was above its threshold. */
export interface Mark {
    from: number; /* s since 1970 */
    to: number;
    name: string; /* "pressure.io", "process.nginx.cpu" */
    value: number;
    unit: string;
}

const TRIGGER = "trigger.";

export class Series {
    start = 0;
    step = 1;
    count = 0;
    first = Number.POSITIVE_INFINITY; /* the time of the first value */
    readonly units = new Map<string, string>();
    private readonly columns = new Map<string, Float64Array>();

    get end(): number {
        return this.start + this.count * this.step;
    }

    get names(): string[] {
        return [...this.columns.keys()];
    }

    /* NaN: no value. Empty if there is no such metric. */
    values(name: string): Float64Array {
        return this.columns.get(name) ?? new Float64Array(0);
    }

    /* The index of a time, which may be outside. */
    indexOf(seconds: number): number {
        return Math.floor((seconds - this.start) / this.step);
    }

    replace(reply: SeriesReply): void {
        this.columns.clear();
        this.start = reply.start;
        this.step = reply.step;
        this.count = reply.count;
        this.first = Number.POSITIVE_INFINITY;
        this.take(reply);
    }

    /* Adds newer seconds: the first ones leave. */
    append(reply: SeriesReply): void {
        const last = reply.start + reply.count - 1;
        const shift = this.indexOf(last) - this.count + 1;
        if (shift > 0) {
            for (const column of this.columns.values()) {
                column.copyWithin(0, shift);
                column.fill(Number.NaN, Math.max(0, this.count - shift));
            }
            this.start += shift * this.step;
            this.first = Math.max(this.first, this.start);
        }
        this.take(reply);
    }

    private take(reply: SeriesReply): void {
        for (const { name, unit, values } of reply.metrics) {
            let column = this.columns.get(name);
            if (!column) {
                column = new Float64Array(this.count).fill(Number.NaN);
                this.columns.set(name, column);
            }
            this.units.set(name, unit);
            for (const [i, value] of values.entries()) {
                const at = this.indexOf(reply.start + i * reply.step);
                if (value === null || at < 0 || at >= this.count)
                    continue;
                column[at] = value;
                this.first = Math.min(this.first, this.start + at * this.step);
            }
        }
    }

    /* Neighbouring steps with values are one recording. */
    get marks(): Mark[] {
        const out: Mark[] = [];
        for (const [name, values] of this.columns) {
            let mark: Mark | null = null;
            for (let i = 0; name.startsWith(TRIGGER) && i < values.length; i++) {
                const value = values[i] as number, from = this.start + i * this.step;
                if (Number.isNaN(value)) {
                    mark = null;
                } else if (mark) {
                    mark.to = from + this.step;
                } else {
                    mark = { from, to: from + this.step, name: name.slice(TRIGGER.length), value, unit: this.units.get(name) ?? "" };
                    out.push(mark);
                }
            }
        }
        return out.sort((a, b) => a.from - b.from);
    }

    /* The mean of the values of a span; NaN if there are none. */
    mean(name: string, from: number, to: number): number {
        const values = this.values(name);
        let sum = 0, n = 0;
        for (let i = Math.max(0, this.indexOf(from)); i < Math.min(values.length, this.indexOf(to)); i++) {
            const value = values[i] as number;
            if (!Number.isNaN(value)) {
                sum += value;
                n++;
            }
        }
        return n ? sum / n : Number.NaN;
    }
}
