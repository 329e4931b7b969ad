/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the page is one column: on a telephone. */

const query = matchMedia("(max-width: 600px)");

export function isPhone(): boolean {
    return query.matches;
}

export function onPhoneChange(changed: () => void): void {
    query.addEventListener("change", changed);
}
