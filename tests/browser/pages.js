/* SPDX-License-Identifier: Apache-2.0 */
/* Pages with profiles, and what tests do in them. */
"use strict";

const assert = require("assert").strict;
const fs = require("fs");
const path = require("path");
const { spawn, spawnSync } = require("child_process");
const { settle } = require("./activity.js");

function stoke(...args) {
    const done = spawnSync(process.env.STOKE, args, { encoding: "utf8" });
    if (done.status !== 0)
        throw new Error("stoke ended with " + done.status + ": " + done.stderr);
    return done.stdout;
}

/* A page with the profile: made, moved and opened. */
async function report(bench, text, name = "input.folded", options = {}) {
    const input = bench.write(name, text);
    const made = path.join(bench.folder, "made.html");
    stoke("convert", "--quiet", ...(options.convert || []), input, "-o", made);
    fs.mkdirSync(path.join(bench.folder, "else where"), { recursive: true });
    const moved = path.join(bench.folder, "else where", "moved.html");
    fs.renameSync(made, moved);
    return openPage(bench, "file://" + encodeURI(moved) + (options.hash || ""), options);
}

async function openPage(bench, address, options = {}) {
    const page = await bench.open(address, Object.assign({ acceptDownloads: true, viewport: { width: 1504, height: 800 } }, options)); /* charts are 1200 wide, beside the side panel */
    await page.waitForSelector("#app[data-ready]");
    return page;
}

function emptyPage() {
    return "file://" + fs.realpathSync(path.join(process.env.STOKE_BUILD, "src", "export", "viewer.html"));
}

/* The position of the first drawn box with that name, in the chart that has the keys. */
function boxOf(page, name) {
    return page.evaluate((expected) => {
        const view = window.stoke.steered;
        const words = new Uint32Array(view.last.boxes), sizes = new Float32Array(view.last.boxes);
        const area = view.over.getBoundingClientRect();
        for (let at = 0; at < words.length; at += 6)
            if (window.stoke.core.labels.get(words[at + 4]) === expected)
                return { x: area.left + sizes[at], y: area.top + view.yOf(words[at + 2]), width: sizes[at + 1], row: words[at + 2] };
        return null;
    }, name);
}

async function press(page, name, button = "left", clicks = 1) {
    const until = Date.now() + 30000;
    let box = await boxOf(page, name);
    while (!box && Date.now() < until) { /* a view that opens has an earlier picture at first */
        await page.waitForTimeout(50);
        box = await boxOf(page, name);
    }
    assert.ok(box, "a box " + name);
    await page.mouse.click(box.x + Math.min(box.width, 1000) / 2, box.y + 10, { button, clickCount: clicks });
    await settle(page);
}

const total = (page) => page.evaluate(() => window.stoke.shown.total);
const VIEWS = { left: "1", time: "2", sandwich: "3", tree: "4", graph: "5", source: "6", waits: "7", marks: "8", heat: "9", summary: "0" };
const spans = (page) => page.locator(".crumb + .crumb:not(.dashed)").allTextContents();
const chips = (page) => page.locator(".chip > span").allTextContents();
const key = async (page, ...keys) => {
    for (const one of keys) {
        await page.keyboard.press(one);
        await settle(page);
    }
};

async function saved(page, title) {
    await key(page, "Control+s");
    const coming = page.waitForEvent("download");
    await page.locator(".dialog .choices button", { hasText: title }).first().click();
    const download = await coming;
    return { name: download.suggestedFilename(), text: fs.readFileSync(await download.path()) };
}

/* Serves the home in a folder of its own; returns the address. */
async function serveHome(bench) {
    const folder = path.join(bench.folder, "recordings");
    fs.mkdirSync(folder, { recursive: true });
    const child = spawn(process.env.STOKE, ["view", "--no-browser", "-q"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, XDG_STATE_HOME: path.join(bench.folder, "state") } });
    bench.endWithTest(child);
    bench.online = /^(file|blob|data):|^http:\/\/127\.0\.0\.1:/;
    const address = await new Promise((done, fail) => {
        child.stdout.once("data", (text) => done(String(text).trim()));
        child.once("exit", (status) => fail(new Error(`stoke view ended with ${status}`)));
    });
    return { address, folder };
}

module.exports = { VIEWS, boxOf, chips, emptyPage, key, openPage, press, report, saved, serveHome, spans, stoke, total };
