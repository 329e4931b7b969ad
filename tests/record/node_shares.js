// SPDX-License-Identifier: Apache-2.0
// A program with known shares, for node.py: functions spend 50, 30, 15 and 5 percent of their rounds
// below DEPTH recursive calls, in THREADS threads, until each has used SECONDS.
//   node_shares.js SECONDS THREADS DEPTH
// V8 compiles them with its optimising compiler. FILL makes functions too large to be inlined: node.py
// replaces it by code.
'use strict';
const { Worker, isMainThread, workerData } = require('node:worker_threads');
const words = Array.from({ length: 40 }, (_, i) => `word${i}`);
let x = 0;

function work(rounds) {
  FILL
  for (let i = 0; i < rounds; i++) {
    for (let k = 0; k < 4000; k++) x = (x * 31 + k) & 0xffff;
    x += JSON.stringify(words).length;
    x += words.map((word) => word.length).sort()[0];
  }
  return x;
}

function takes50() {
  FILL
  return work(10);
}

class Counter {
  takes30() {
    FILL
    return work(6);
  }
}

async function takes15() {
  FILL
  return work(3);
}

const 取五 = function () {
  FILL
  return work(1);
};

function rounds(stop) {
  FILL
  const counter = new Counter();
  while (Date.now() < stop) {
    takes50();
    counter.takes30();
    takes15();
    取五();
  }
}

function below(depth, stop) {
  FILL
  if (depth > 0) return below(depth - 1, stop) + 1;
  return (function () {
    rounds(stop);
    return x;
  })();
}

const [seconds, threads, depth] = isMainThread ? process.argv.slice(2).map(Number) : workerData;
if (isMainThread) {
  console.log('ready');
  for (let i = 1; i < threads; i++) new Worker(__filename, { workerData: [seconds, threads, depth] });
}
below(depth, Date.now() + seconds * 1000);
