/* SPDX-License-Identifier: Apache-2.0 */
/* Pending work of a page, so that a test waits for it and not for a time. */
"use strict";

/* ms that a test waits for an event. A busy machine is slow; only a fault reaches this. */
const PATIENCE = 120000;

/* Runs in the page before its own scripts: counts requests to workers without an
 * answer, requested frames, and timers that are due soon. */
function watch() {
    const SOON = 300; /* ms; longer timers are for the user: hiding a notice, announcing a list */
    const frames = new Set(), timers = new Set(), requests = new Set();
    const { requestAnimationFrame: frame, cancelAnimationFrame: noFrame, setTimeout: timer, clearTimeout: noTimer } = window;
    window.requestAnimationFrame = (call) => {
        const id = frame((now) => {
            frames.delete(id);
            call(now);
        });
        frames.add(id);
        return id;
    };
    window.cancelAnimationFrame = (id) => {
        frames.delete(id);
        noFrame(id);
    };
    window.setTimeout = (call, delay = 0, ...rest) => {
        const id = timer(() => {
            timers.delete(id);
            call(...rest);
        }, delay);
        if (delay < SOON)
            timers.add(id);
        return id;
    };
    window.clearTimeout = (id) => {
        timers.delete(id);
        noTimer(id);
    };
    let workers = 0;
    window.Worker = class extends Worker {
        constructor(...rest) {
            super(...rest);
            this.number = ++workers;
            this.addEventListener("message", ({ data }) => {
                for (const one of [data].flat())
                    if (!("done" in one)) /* progress: the answer follows */
                        requests.delete(`${this.number} ${one.id}`);
            });
        }

        postMessage(message, ...rest) {
            for (const one of [message].flat())
                requests.add(`${this.number} ${one.id}`);
            super.postMessage(message, ...rest);
        }

        terminate() {
            for (const one of requests)
                if (one.startsWith(`${this.number} `))
                    requests.delete(one);
            super.terminate();
        }
    };
    /* Resolves when no work was pending at the ends of three consecutive frames. */
    window.settled = async (patience = 120000) => {
        const until = Date.now() + patience; /* a test may set the other clock */
        for (let quiet = 0; quiet < 3;) {
            await new Promise((done) => frame(() => timer(done)));
            quiet = frames.size + timers.size + requests.size === 0 ? quiet + 1 : 0;
            if (Date.now() > until)
                throw new Error(`the page still has ${frames.size} frames, ${timers.size} timers and ${requests.size} requests to do`);
        }
    };
}

/* Waits until the page has no pending work. */
function settle(page) {
    return page.evaluate(() => window.settled());
}

/* The page's address. page.url() is updated by an event that may come later than what the
 * page shows. */
function address(page) {
    return page.evaluate(() => location.href);
}

module.exports = { PATIENCE, address, settle, watch };
