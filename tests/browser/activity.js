/* SPDX-License-Identifier: Apache-2.0 */
/* What a page still has to do, so that a test waits for that and not for a time. */
"use strict";

/* Runs in the page before its own scripts: counts the requests to workers that have no answer
 * yet, the frames that were asked for, and the timers that are due soon. */
function watch() {
    const SOON = 300; /* ms; a longer timer is for a person: a notice goes, a list is read out */
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
                if (!("done" in data)) /* progress: the answer is still to come */
                    requests.delete(`${this.number} ${data.id}`);
            });
        }

        postMessage(message, ...rest) {
            requests.add(`${this.number} ${message.id}`);
            super.postMessage(message, ...rest);
        }

        terminate() {
            for (const one of requests)
                if (one.startsWith(`${this.number} `))
                    requests.delete(one);
            super.terminate();
        }
    };
    /* Resolves when nothing was left to do at the ends of three frames in turn. */
    window.settled = async (patience) => {
        const until = performance.now() + patience;
        for (let quiet = 0; quiet < 3;) {
            await new Promise((done) => frame(() => timer(done)));
            quiet = frames.size + timers.size + requests.size === 0 ? quiet + 1 : 0;
            if (performance.now() > until)
                throw new Error(`the page still has ${frames.size} frames, ${timers.size} timers and ${requests.size} requests to do`);
        }
    };
}

/* Waits until the page has nothing left to do. */
function settle(page) {
    return page.evaluate(() => window.settled(20000));
}

module.exports = { watch, settle };
