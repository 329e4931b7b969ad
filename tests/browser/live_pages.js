/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon of the test's own, and its live page. */
"use strict";

const path = require("path");
const { spawn } = require("child_process");

/* A daemon with a store of its own, and a program that it samples. */
async function daemon(bench, options = {}) {
    const child = spawn(process.env.STOKE, ["daemon", "--store", options.store || path.join(bench.folder, "h.db"), "--window", "2",
        "--rate", "97", "--listen", `127.0.0.1:${options.port || 0}`, ...(options.args || [])]);
    let said = "";
    const port = await new Promise((resolve) => {
        child.stderr.on("data", (text) => {
            said += text;
            const found = /HTTP is served on port (\d+)/.exec(said);
            if (found)
                resolve(Number(found[1]));
        });
        child.on("exit", () => resolve(0));
    });
    bench.endWithTest(child);
    const stop = () => new Promise((done) => {
        child.on("exit", done);
        child.kill("SIGTERM");
    });
    return { port, said: () => said, stop, address: `http://127.0.0.1:${port}` };
}

/* The same; null if it cannot run here, which the test then says. */
async function daemonOrSkip(bench, options = {}) {
    const served = await daemon(bench, options);
    if (served.port)
        return served;
    bench.note(`SKIP the daemon cannot run here: ${served.said()}`);
    return null;
}

function load(bench) {
    const busy = spawn("sh", ["-c", "while :; do :; done"]);
    bench.endWithTest(busy, "SIGKILL");
    return busy;
}

async function live(bench, served, query = "", options = {}) {
    bench.online = /^(file|blob|data):|^http:\/\/127\.0\.0\.1:/;
    const page = await bench.open(`${served.address}/${query}`, Object.assign({ viewport: { width: 1440, height: 900 } }, options));
    await page.waitForSelector("#app[data-ready]");
    return page;
}

const app = (page, what) => page.evaluate(`window.stoke.${what}`);
const until = (page, what, given) => page.waitForFunction(what, given, { polling: 100 });

/* Until the promise that `what` returns has a true value: waitForFunction takes the promise itself for it. */
async function eventually(page, what) {
    for (const end = Date.now() + 60000; !await page.evaluate(what);) {
        if (Date.now() > end)
            throw new Error(`not in time: ${what}`);
        await page.waitForTimeout(100);
    }
}

module.exports = { app, daemon, daemonOrSkip, eventually, live, load, until };
