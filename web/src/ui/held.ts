/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that do not move while the pointer or the focus is in their list: a click takes effect on
 * the row that was under the pointer. */
import { useState } from "preact/hooks";

export function useHeld<Row>(rows: Row[], keyOf: (row: Row) => string) {
    const [held, setHeld] = useState<Map<string, number> | null>(null);
    const hold = (): void => setHeld((before) => before ?? new Map(rows.map((row, i) => [keyOf(row), i])));
    const release = (): void => setHeld(null);
    const at = (row: Row): number => held?.get(keyOf(row)) ?? rows.length;
    return {
        rows: held ? [...rows].sort((a, b) => at(a) - at(b)) : rows,
        release,
        events: { onMouseEnter: hold, onMouseLeave: release, onFocusIn: hold, onFocusOut: release },
    };
}
