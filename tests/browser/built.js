/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this stoke was built with its viewer; any other failure is a failed test. */
"use strict";

const { spawnSync } = require("child_process");

const done = spawnSync(process.env.STOKE, ["convert", "--to", "html", "-o", "-", "-"], { input: "a 1\n", encoding: "utf8", maxBuffer: 1 << 28 });
if (done.status !== 0 && !/built without its viewer/.test(done.stderr))
    throw new Error(`stoke convert ended with ${done.status}: ${done.stderr}`);
module.exports = done.status === 0;
