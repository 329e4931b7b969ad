/* SPDX-License-Identifier: Apache-2.0 */
/* The main functions of the page in Firefox. */
"use strict";

const assert = require("assert").strict;
const { settle } = require("./activity.js");
const { VIEWS, boxOf, key, press, report, total } = require("./pages.js");

const LINES = "app;main;eval;call 150\napp;main;eval;call;push_back 250\napp;main;parse;lex 200\napp;main;parse;parse;lex 50\napp;idle 350\n";

const texts = (page, selector) => page.evaluate((one) => [...document.querySelectorAll(one)].map((at) => at.textContent), selector);

module.exports = (test) => {
    if (!require("./built.js")) {
        test("firefox # SKIP this stoke was built without the viewer", () => undefined);
        return;
    }

    test("every view opens by its key; boxes are selected and zoomed", async (bench) => {
        const page = await report(bench, LINES);
        await settle(page);
        assert.equal(await total(page), 1000);
        for (const [view, pressed] of Object.entries(VIEWS)) {
            await key(page, pressed);
            assert.equal(await page.evaluate("window.stoke.state.view"), view);
        }
        await key(page, VIEWS.left);
        await press(page, "eval");
        assert.deepEqual(await texts(page, ".details h2"), ["eval"]);
        const before = await boxOf(page, "eval");
        await key(page, "Enter");
        const after = await boxOf(page, "eval");
        assert.ok(after.width > 2 * before.width);
    });
};
