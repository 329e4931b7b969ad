/* SPDX-License-Identifier: Apache-2.0 */
/* When the selected function ran, within the shown span. */
import { useEffect, useState } from "preact/hooks";
import type { App } from "../app";
import { spanText } from "../axis";
import { time } from "../format";
import type { FunctionInfo } from "../protocol";

const COLUMNS = 54;
const LATER = 100; /* ms: after the other answers to a click */
const PITCH = 5, BAR = 4, HIGH = 24; /* pixels */

export function When({ app, of }: { app: App; of: FunctionInfo }) {
    const [got, setGot] = useState<{ of: number; values: number[] } | null>(null);
    const [from, to] = app.state.preview ?? app.tracks.committed;
    const present = app.tracks.info !== null && !app.comparedWith;
    useEffect(() => {
        let stale = false;
        const ask = (): void => {
            app.core.when(of.label, from, to, COLUMNS).then((values) => { if (!stale) setGot(values && { of: of.label, values }); }, (error: unknown) => app.fail(error));
        };
        const timer = present ? window.setTimeout(ask, LATER) : 0;
        return () => {
            stale = true;
            clearTimeout(timer);
        };
    }, [app.version, of.label, from, to]);
    if (!present || got?.of !== of.label)
        return null;
    const most = Math.max(...got.values);
    if (!(most > 0))
        return null;
    const whole = app.tracks.isWhole && !app.state.preview;
    const title = whole ? "Over the recording" : "In this span";
    return (
        <figure class="when">
            <figcaption>{title}<span title={spanText(from, to)}>{time(to - from)}</span></figcaption>
            <svg viewBox={`0 0 ${COLUMNS * PITCH - 1} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={`${title}: when it ran`}>
                {got.values.map((value, i) => (value > 0 ? <rect key={i} x={i * PITCH} width={BAR} height={Math.max(1, (value / most) * HIGH)} y={HIGH - Math.max(1, (value / most) * HIGH)} /> : null))}
            </svg>
        </figure>
    );
}
