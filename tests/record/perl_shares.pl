#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A program with known shares, for perl.py: functions spend 50, 30, 15 and 5 percent of their rounds
# below DEPTH recursive calls, until SECONDS of CPU time are used.
#   perl_shares.pl SECONDS DEPTH
# All four do the same work: Perl code, closures and blocks that native code calls, eval, regular
# expressions, overloaded operators.
use strict;
use warnings;
no warnings 'recursion';

package Number;
use overload '+' => sub { my ($a, $b) = @_; return Number->new($a->{n} + (ref $b ? $b->{n} : $b)); };
sub new { my ($class, $n) = @_; return bless { n => $n }, $class; }

package Worker;
use List::Util qw(first);

sub work {
    my ($rounds) = @_;
    for my $round (1 .. $rounds) {
        my $sum = Number->new(0);
        $sum = $sum + $_ for 1 .. 20;
        my @words = map { "word" . ($_ * 7 % 41) } 1 .. 40;
        @words = sort { length $a <=> length $b or $a cmp $b } @words;
        @words = sort by_name @words;
        my $found = first { eval { index($_, "3") >= 0 } } @words;
        my $count = grep { /^w(?:o|x)rd\d+$/ } @words;
        eval { die "x\n" if $count < 0; 1 } or die;
    }
}

sub by_name { return $a cmp $b }

package main;

sub cpu_time { my ($user, $system) = times; return $user + $system; }
sub takes_50 { Worker::work(10); }
sub takes_30 { Worker::work(6); }
sub takes_15 { Worker::work(3); }
sub takes_5 { Worker::work(1); }

sub rounds {
    my ($stop) = @_;
    while (cpu_time() < $stop) {
        takes_50();
        takes_30();
        takes_15();
        takes_5();
    }
}

sub below {
    my ($depth, $stop) = @_;
    $depth == 0 ? rounds($stop) : below($depth - 1, $stop);
}

$| = 1;
print "ready\n";
below($ARGV[1], cpu_time() + $ARGV[0]);
