/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the worker and its core while the rest of the page is still read: a profile in the page
 * is large. */
import { bytesOf, textOf } from "./embedded";
import type { Reply, Request } from "./protocol";

export interface Early {
    worker: Worker;
    started: Promise<Reply>; /* the answer to the request "start" */
}

declare global {
    interface Window {
        early: Early;
    }
}

const url = URL.createObjectURL(new Blob([textOf("worker")], { type: "text/javascript" }));
const worker = new Worker(url);
const started = new Promise<Reply>((resolve) => {
    worker.addEventListener("message", (event: MessageEvent<Reply[]>) => resolve(event.data[0] as Reply), { once: true });
});
const request: Request = { id: 0, do: "start", core: bytesOf(textOf("core")) };
worker.postMessage([request]);
window.early = { worker, started };
