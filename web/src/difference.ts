/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of what changed between two profiles: of shares, in percentage points, or of weights. */
import type { App } from "./app";
import { points, share, signed, signedRange, weight } from "./format";
import { type Difference, Verdict } from "./protocol";

/* What the differences of weights are parts of. */
function wholeOf(app: App): number {
    return Math.max(app.shown?.total ?? 0, app.shown?.base_total ?? 0);
}

/* What one of the profiles has: `part` of a difference before or after. */
export function sideText(app: App, part: number): string {
    return app.state.shares ? share(part, 1) || "0 %" : weight(part * wholeOf(app), app.shown?.unit ?? "");
}

/* With a sign. */
export function differenceText(app: App, part: number): string {
    return app.state.shares ? points(part) : signed(part * wholeOf(app), app.shown?.unit ?? "");
}

/* The 95 % confidence interval. */
export function intervalText(app: App, { low, high }: Difference): string {
    const whole = wholeOf(app);
    return app.state.shares ? `${points(low)}\u2026${points(high)}` : signedRange(low * whole, high * whole, app.shown?.unit ?? "");
}

/* Beside the change of the weight: that of the share or, of weights, by how much it grew. */
export function relativeText(app: App, change: Difference): string {
    const delta = change.after - change.before;
    if (app.state.shares)
        return `${points(delta)} points`;
    const percent = change.before > 0 ? (delta / change.before) * 100 : 0;
    return change.before > 0 && Math.abs(percent) < 1000 ? `${percent < 0 ? "\u2212" : "+"}${Math.abs(percent).toFixed(0)} %` : change.before > 0 ? `\u00d7${(change.after / change.before).toFixed(0)}` : change.after > 0 ? "new" : "";
}

export function verdictText(change: Difference): string {
    return change.verdict === Verdict.Few ? "too few samples" : change.verdict === Verdict.Noise ? "within noise" : "";
}
