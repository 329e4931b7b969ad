<?php
// SPDX-License-Identifier: Apache-2.0
// A program with known shares, for php.py: functions spend 50, 30, 15 and 5 percent of their rounds
// below DEPTH recursive calls, until SECONDS of CPU time are used.
//   php_shares.php SECONDS DEPTH
// All four do the same work: PHP code, closures that native code calls, generators, native code.

function cpu_time() {
    $used = getrusage();
    return $used["ru_utime.tv_sec"] + $used["ru_stime.tv_sec"] + ($used["ru_utime.tv_usec"] + $used["ru_stime.tv_usec"]) / 1e6;
}

class Worker {
    private static function numbers($count) {
        for ($i = 0; $i < $count; $i++)
            yield $i;
    }

    public static function work($rounds) {
        for ($round = 0; $round < $rounds; $round++) {
            $x = 0;
            foreach (self::numbers(60) as $i)
                $x = ($x * 31 + $i) & 0xffff;
            $words = array_map(function ($i) { return "word" . ($i * 7); }, range(1, 40));
            usort($words, fn($a, $b) => strlen($b) - strlen($a));
            sha1(implode(" ", $words));
        }
    }
}

function takes_50() { Worker::work(10); }
function takes_30() { Worker::work(6); }
function takes_15() { Worker::work(3); }
function takes_5() { Worker::work(1); }

function rounds($stop) {
    while (cpu_time() < $stop) {
        takes_50();
        takes_30();
        takes_15();
        takes_5();
    }
}

function below($depth, $stop) {
    $depth == 0 ? rounds($stop) : below($depth - 1, $stop);
}

echo "ready\n";
below((int) $argv[2], cpu_time() + (float) $argv[1]);
