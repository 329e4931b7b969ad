/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that keys control: tables, trees and tracks. The commands of keys find the one that
 * has the focus. */
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

export interface List {
    length: number;
    at: number; /* -1: no row */
    go(to: number): void;
    enter?(): void;
    toggle?(): void;
    add?(): void; /* the row to the selection; again: removes it */
    fold?(open: boolean): void;
    move?(way: -1 | 1): void; /* the row up or down */
    hide?(): void;
    menu?(): void;
}

const lists = new WeakMap<Element, List>();

export function useList(host: RefObject<Element | null>, list: List | undefined): void {
    useLayoutEffect(() => {
        if (host.current && list)
            lists.set(host.current, list);
    });
}

/* Takes the focus if a key gave it to the panel before its content was there. */
export function useFocus(host: RefObject<HTMLElement | null>, takes = true): void {
    useLayoutEffect(() => {
        if (takes && document.activeElement?.matches("main"))
            host.current?.focus({ preventScroll: true });
    }, [takes]);
}

export function focusedList(): List | undefined {
    return document.activeElement ? lists.get(document.activeElement) : undefined;
}

/* Goes by that many rows, up to the first and the last. */
export function goBy(list: List | undefined, rows: number): void {
    if (list?.length)
        list.go(Math.min(list.length - 1, Math.max(0, list.at + rows)));
}
