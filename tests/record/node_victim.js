// SPDX-License-Identifier: Apache-2.0
// A program whose threads wait in known stacks, for node.py: each prints a line with what V8 says about
// its stack, functions with file and line.
'use strict';
const { Worker, isMainThread, threadId } = require('node:worker_threads');
const fs = require('node:fs');

Error.stackTraceLimit = 100;

function wait() {
  const lines = new Error('x').stack.split('\n').slice(1);
  lines[0] = lines[0].replace(/:(\d+):\d+\)/, (_, line) => `:${+line + 5}:1)`); // Atomics.wait
  fs.writeSync(1, JSON.stringify({ thread: threadId, stack: lines }) + '\n');
  const word = new Int32Array(new SharedArrayBuffer(4));
  for (;;)
    Atomics.wait(word, 0, 0);
}

function recursion(depth) {
  if (depth > 0)
    return recursion(depth - 1);
  return wait();
}

class 계산 {
  constructor(depth) {
    this.depth = depth;
    this.start();
  }

  start() {
    [this.depth].forEach((depth) => {
      recursion(depth);
    });
  }

  get value() {
    return 계산.make(this.depth ?? 5);
  }

  static make(depth) {
    return new 계산(depth);
  }
}

const 取五 = function () {
  return Object.create(계산.prototype).value;
};

function* generator() {
  yield 1;
  yield 取五();
}

async function later() {
  await null;
  for (const value of generator())
    if (value > 1)
      return value;
  return 0;
}

if (isMainThread)
  new Worker(__filename);
later();
