/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of reading a file, in the form of the core's. */
import type { Fault } from "./protocol";

export class Failure extends Error {
    constructor(readonly fault: Fault) {
        super(fault.message);
    }
}

export function fault(message: string, hint = ""): Fault {
    return { message, hint, line: 0, column: 0, text: "", own: true };
}

export const DAMAGED = fault("the packed data is damaged", "create the file again");
export const TRUNCATED = fault("the packed data is truncated", "create the file again");
