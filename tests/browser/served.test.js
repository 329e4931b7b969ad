/* SPDX-License-Identifier: Apache-2.0 */
/* The page as served by stoke view: access, addresses, and what remains usable. */
"use strict";

const assert = require("assert").strict;
const http = require("http");
const net = require("net");
const { spawn } = require("child_process");
const { address: shown } = require("./activity.js");

/* Serves a profile; returns the printed address, and later ones. */
async function view(bench, lines, ...options) {
    const input = bench.write(`served${bench.children.length}.folded`, lines);
    const child = spawn(process.env.STOKE, ["view", "--no-browser", ...options, input]);
    const said = { out: "", err: "" };
    const heard = new Promise((resolve, reject) => {
        child.stdout.on("data", (text) => {
            said.out += text;
            if (said.out.includes("\n"))
                resolve(said.out.trim());
        });
        child.on("exit", (status) => reject(new Error(`stoke view ended with ${status}: ${said.err}`)));
    });
    heard.catch(() => undefined);
    child.stderr.on("data", (text) => {
        said.err += text;
    });
    bench.endWithTest(child);
    bench.online = /^(file|blob|data):|^http:\/\/(127\.0\.0\.1|localhost):/;
    const address = await heard;
    return { address, port: new URL(address).port, next: async () => {
        for (;;) {
            const [found] = said.err.match(/(?<=for another browser: )\S+(?=\n)/) ?? [];
            if (found) {
                said.err = "";
                return found;
            }
            await new Promise((done) => setTimeout(done, 20));
        }
    } };
}

function listen(bench, server) {
    bench.children.push(server);
    return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));
}

/* A port that forwards to another one, like ssh -L. */
function forward(bench, port) {
    return listen(bench, net.createServer((from) => {
        const to = net.connect(port, "127.0.0.1");
        from.pipe(to).pipe(from);
        from.on("error", () => to.destroy());
        to.on("error", () => from.destroy());
    }));
}

const ready = (page) => page.waitForSelector("#app[data-ready]");
const total = (page) => page.evaluate(() => window.stoke.shown.total);
const says = (page) => page.locator("body").innerText();

module.exports = (test) => {
    if (!require("./built.js")) {
        test("the served page # SKIP this stoke was built without it", () => undefined);
        return;
    }

    test("the address admits one browser, which can reload and go back, and does not show the token", async (bench) => {
        const { address, port, next } = await view(bench, "a;b 3\n");
        const mine = await bench.context();
        const page = await bench.openIn(mine);
        await page.goto(address);
        await ready(page);
        assert.equal(await total(page), 3);
        assert.equal(await shown(page), `http://127.0.0.1:${port}/`);
        assert.equal(await page.evaluate(() => document.cookie), "");
        const [cookie] = await mine.cookies();
        assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite, cookie.expires], [`stoke-${port}`, true, "Strict", -1]);
        await page.keyboard.press("3");
        await page.waitForURL(/sandwich/);
        const link = await shown(page);
        await page.reload();
        await ready(page);
        assert.equal(await page.evaluate(() => window.stoke.state.view), "sandwich");
        await page.keyboard.press("4");
        await page.waitForURL(/tree/);
        await page.goBack();
        await page.waitForURL(/sandwich/);
        await page.goto("about:blank");
        await page.goBack();
        await ready(page);
        assert.equal(await total(page), 3);

        /* The same address again, in this browser and in another one. */
        await page.goto(address);
        await ready(page);
        bench.expectsErrors = true;
        const other = await bench.openIn(await bench.context());
        await other.goto(address);
        assert.match(await says(other), /This address was used already.*For another browser/s);
        await other.getByText("open the profile").click();
        await other.waitForURL(`http://127.0.0.1:${port}/`);
        assert.match(await says(other), /may not read the profile yet/);
        await other.goto(link);
        assert.match(await says(other), /may not read the profile yet/);
        await other.goto(await next());
        await ready(other);
        assert.equal(await total(other), 3);
        await other.goto(link);
        await ready(other);
        assert.equal(await other.evaluate(() => window.stoke.state.view), "sandwich");
    });

    test("several servers are open in one browser, each with its own cookie", async (bench) => {
        const all = [await view(bench, "a 1\n"), await view(bench, "a 2\n"), await view(bench, "a 3\n")];
        const context = await bench.context();
        const pages = [];
        for (const { address } of all) {
            const page = await bench.openIn(context);
            await page.goto(address);
            await ready(page);
            pages.push(page);
        }
        for (const [i, page] of pages.entries()) {
            await page.reload();
            await ready(page);
            assert.equal(await total(page), i + 1);
        }
        assert.equal((await context.cookies()).length, 3);
    });

    test("a forwarded port and localhost work, also those of two machines at the same time", async (bench) => {
        const context = await bench.context();
        const pages = [];
        for (const weight of [5, 6]) {
            const { address, port } = await view(bench, `a ${weight}\n`);
            const other = await forward(bench, port);
            const page = await bench.openIn(context);
            await page.goto(address.replace(`127.0.0.1:${port}`, `localhost:${other}`));
            await ready(page);
            assert.equal(await shown(page), `http://localhost:${other}/`);
            pages.push(page);
        }
        for (const [i, page] of pages.entries()) {
            await page.reload();
            await ready(page);
            assert.equal(await total(page), 5 + i);
        }
    });

    test("links from another site work only if the browser has the cookie", async (bench) => {
        const { address, port } = await view(bench, "a 9\n");
        const site = await listen(bench, http.createServer((request, answer) => {
            const to = decodeURIComponent(request.url.slice(2));
            answer.end(`<!doctype html><a href="${to}">there</a>`);
        }));
        const through = async (page, to) => {
            await page.goto(`http://localhost:${site}/?${encodeURIComponent(to)}`);
            await page.getByText("there").click();
        };
        bench.expectsErrors = true; /* for rejected requests */
        const context = await bench.context();
        const page = await bench.openIn(context);
        await through(page, address);
        await ready(page);
        assert.equal(await total(page), 9);
        await through(page, `http://127.0.0.1:${port}/#%7B%22view%22%3A%22down%22%7D`);
        await ready(page);
        assert.equal(await total(page), 9);
        assert.equal(await page.evaluate(() => window.stoke.state.view), "tree");
        const other = await bench.openIn(await bench.context());
        await through(other, `http://127.0.0.1:${port}/`);
        await other.waitForURL(/again/);
        assert.match(await says(other), /may not read the profile yet/);

        /* A page of another site cannot read it either. */
        await page.goto(`http://localhost:${site}/?about:blank`);
        const got = await page.evaluate(async (to) => {
            const cors = await fetch(to, { credentials: "include" }).then(() => "read", () => "refused");
            const plain = await fetch(to, { mode: "no-cors", credentials: "include" }).then(() => "read", () => "refused");
            return [cors, plain];
        }, `http://127.0.0.1:${port}/`);
        assert.deepEqual(got, ["refused", "refused"]);
    });
};
