#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perl functions in recordings and in stoke stacks, against the truth: a program with known shares
(perl_shares.pl), and one that prints its own callers and waits."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import tap
from interpreted import check_outside, check_process, may_trace, record, record_shares, stacks, wrong_stacks

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "perl_shares.pl")
SHARES = {"main::takes_50": 0.50, "main::takes_30": 0.30, "main::takes_15": 0.15, "main::takes_5": 0.05}
WORK, BELOW = "Worker::work", "main::below"
KNOWN = SHARES, WORK
DEPTH = 30
ARRIVE = 120  # seconds until the program waits, also on a busy machine

# Prints what caller() reports, leaf first, and waits in the innermost function. A function is the one
# of a call; its line is where it calls the one before.
VICTIM = r"""use strict; use warnings; use utf8; no warnings 'recursion';
use JSON::PP ();
binmode STDOUT, ':utf8';
$| = 1;
package Counter;
our $AUTOLOAD;
use overload '""' => sub { my ($self) = @_; return $self->текст(3); };
sub new { return bless {}, shift }
sub текст { my ($self, $n) = @_; return $n ? $self->текст($n - 1) : $self->автоматически; }
sub AUTOLOAD { return if $AUTOLOAD =~ /DESTROY/; return main::sorted(); }
package main;
sub sorted { my @a = sort { closure($a) } 2, 1; return "@a" }
my $made = sub {
    return eval { my @a = sort by_number 2, 1; 1 } };
sub by_number { return by_text() }
sub by_text { return eval "1;\nfrom_text();" }
sub from_text { goto &replaced }
sub replaced { return matched() }
sub matched { my $x = ''; "a" =~ /a(?{ waits() })/; return 0 }
my $done;
sub closure { return 0 if $done++; return $made->() }
sub waits {
    my @stack;
    my ($file, $line, $i) = (__FILE__, __LINE__ + 11, 0);
    while (my @c = caller($i++)) {
        my $is_try = $c[3] eq '(eval)' && !defined $c[6] && !$c[7];
        my $name = $c[3] ne '(eval)' ? $c[3] : $c[7] ? "{require $c[6]}" : '{eval}';
        $name =~ s!\{require .*/!{require !;
        push @stack, [$name, $file =~ /^\(eval / ? '' : $file, $line] unless $is_try;
        ($file, $line) = @c[1, 2] unless $is_try;
    }
    push @stack, ['{main}', $file, $line];
    my $text = JSON::PP->new->ascii->encode(\@stack);
    print "$text\n";
    scalar <STDIN>;
}
require "./required.pl";
"""
REQUIRED = "my $text = '' . Counter->new;\n1;\n"


def wrong_stack(stack):
    """Why the frames of a stack with work are not those of the program; or empty."""
    if stack.count(BELOW) != DEPTH + 1:
        return f"{stack.count(BELOW)} recursive calls"
    after = stack[len(stack) - stack[::-1].index(BELOW):]
    if after[:1] != ("main::rounds",) or after[1] not in SHARES or after[2] != WORK:
        return f"{after} after the recursion"
    if any("Perl_runops" in name or "Perl_pp_" in name for name in stack):
        return "the interpreter's loop is visible"
    return ""


def check_shares(report, folder):
    data, found, wrong = record_shares("perl", folder, KNOWN, "-F", "1999", "perl", PROGRAM, "1.5",
                                       str(DEPTH))
    report.result("shares of functions", wrong)
    report.result("stacks of the recording", wrong_stacks(found, WORK, wrong_stack, 0.01))
    total = sum(found.values())
    _, out, _ = tap.run([tap.STOKE, "info", data])
    line = re.search(r"^runtime +Perl 5\.[0-9]+\.[0-9]+, process [0-9]+, offsets: table for 5\.[0-9]+; samples: "
                     r"([0-9]+) with its functions, ([0-9]+) of them doubtful and 0 truncated, "
                     r"([0-9]+) torn, ([0-9]+) without$", out.decode(), re.MULTILINE)
    merged, doubtful, torn = map(int, line.groups()[:3]) if line else (0, 0, 0)
    report.result("stoke info", "" if 0.5 * total <= merged <= total and
                  doubtful + torn <= 0.01 * merged + 1 else out.decode()[:800])


def check_running(report, folder):
    with subprocess.Popen(["perl", PROGRAM, "100000", str(DEPTH)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        check_process(report, "perl", folder, process.pid, lambda stack: BELOW in stack)
        process.kill()


def check_only(report, folder):
    data, failed = record("python", folder, "perl", PROGRAM, "0.1", "1")
    found = stacks(data)
    report.result("--interpreters python reads no Perl", failed or
                  ("" if not any(WORK in stack for stack in found) else str(found)))


def compare(truth, thread):
    frames = [f for f in thread["frames"] if f["kind"] == "interpreted"]
    got = [[f["function"], f.get("file", ""), f.get("line", 0)] for f in frames]
    faults = [f"{a}, expected {b}" for a, b in zip(got, truth) if a != b]
    if len(got) != len(truth):
        faults.append(f"{len(got)} frames, expected {len(truth)}")
    if thread.get("doubt"):
        faults.append(thread["doubt"])
    return faults


def check_victim(report, folder):
    path = os.path.join(folder, "victim.pl")
    for name, text in (("victim.pl", VICTIM), ("required.pl", REQUIRED)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    faults = ["the program does not arrive"]
    with subprocess.Popen(["perl", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder,
                          text=True) as process:
        truth = json.loads(process.stdout.readline())
        end = time.monotonic() + ARRIVE
        while faults and time.monotonic() < end:
            status, out, err = tap.run([tap.STOKE, "stacks", "--json", str(process.pid)])
            faults = compare(truth, json.loads(out)["threads"][0]) if status == 0 else [err.decode()]
            time.sleep(0.01)
        process.communicate("\n", timeout=tap.TIMEOUT)
    report.result("stoke stacks", "\n".join(faults))


def is_known():
    if not shutil.which("perl"):
        return False
    _, out, _ = tap.run(["perl", "-e", "print $^V"])
    version = re.match(r"v5\.([0-9]+)\.", out.decode())
    return bool(version) and 28 <= int(version.group(1)) <= 40


def main():
    report = tap.Tap()
    if not is_known():
        report.skip("perl", "needs Perl 5.28 to 5.40")
        report.done()
    folder = tempfile.mkdtemp(prefix="stoke-perl-", dir=os.environ.get("STOKE_BUILD"))
    try:
        if may_trace():
            check_victim(report, folder)
        else:
            report.skip("stoke stacks", "no right to trace processes")
        check_outside(report, "perl", folder, KNOWN, wrong_stack, "perl", PROGRAM, "1.5", str(DEPTH))
        data, _ = record("perl", folder, "perl", PROGRAM, "0.2", "1")
        if b"read from outside" in tap.run([tap.STOKE, "info", data])[1]:
            report.skip("Perl by eBPF", "eBPF is not possible")
            report.done()
        check_shares(report, folder)
        check_running(report, folder)
        check_only(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
