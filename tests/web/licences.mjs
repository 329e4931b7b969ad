/* SPDX-License-Identifier: Apache-2.0 */
/* The page contains the licences of all packages that are in it: licences.mjs STOKE
 * EXPORT WEB, with the folders of the build's output and of the sources. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const [, , stoke, built, web] = process.argv;
const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8");

/* The packages that esbuild bundled. */
const bundled = (...entries) => new Set(entries.flatMap((entry) =>
    Object.keys(JSON.parse(read(built, "bundles", `${entry}.json`)).inputs)
        .map((input) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])).filter(Boolean));

const page = (...options) => {
    const done = spawnSync(stoke, ["convert", "--to", "html", "-o", "-", ...options, "-"], { input: "a;b 1\n", encoding: "utf8", maxBuffer: 1 << 28 });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout;
};

const words = (text) => text.trim().split(/\s+/).join(" ");

const has = (text, name) => {
    const folder = path.join(web, "node_modules", name);
    const { version } = JSON.parse(read(folder, "package.json"));
    const own = fs.readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    return text.includes(`${name} ${version}\n`) && /Copyright \(c\)|Apache License/.test(text) && own.every((file) => words(text).includes(words(read(folder, file))));
};

const plain = page();
const whole = page("--with-callgraph");
const always = bundled("main.tsx", "worker.ts");
const graphs = bundled("graphviz.ts");
assert.ok(always.size >= 4 && graphs.size >= 1, [...always, ...graphs].join());
for (const name of always)
    assert.ok(has(plain, name), `the licence of ${name} is not in the page`);
for (const name of [...always, ...graphs])
    assert.ok(has(whole, name), `the licence of ${name} is not in the page with call graphs`);
assert.match(plain, /\nmusl, /);
assert.match(whole, /Graphviz.*Eclipse Public/);

/* The same list from another source: the dependencies of the page's sources. */
const { packages } = JSON.parse(read(web, "package-lock.json"));
const expected = Object.entries(packages).filter(([at, one]) => at && !one.dev && !one.optional).map(([at]) => at.replace(/.*node_modules\//, ""));
assert.deepEqual([...new Set([...always, ...graphs])].sort(), expected.sort());
