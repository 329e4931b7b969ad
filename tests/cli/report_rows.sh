# SPDX-License-Identifier: Apache-2.0
# stoke report with perf report's options: rows by keys, call graphs, filters.
. "$TESTS/cli/lib.sh"

cat >in.folded <<'END'
main;run;parse;parse;alloc 5
main;run;emit 7
main 2
END

# Children: each row counts a stack once, also with recursion; self adds up to the total.
cat >want <<'END'
# folded, 3 stacks

# Samples: 3 of event 'samples'
# Event count: 14
#
# Children      Self  Symbol
# ........  ........  .........
#
   100.00%    14.29%  [.] main
    85.71%     0.00%  [.] run
    50.00%    50.00%  [.] emit
    35.71%    35.71%  [.] alloc
    35.71%     0.00%  [.] parse
END
status 0 stoke report --sort sym in.folded
same want out
status 0 stoke report -s symbol <in.folded
same want out
cat >want <<'END'
# Overhead       Samples        Period  Command  Shared Object  Symbol
# ........  ............  ............  .......  .............  .........
#
    50.00%             1             7  main     [unknown]      [.] emit
    35.71%             1             5  main     [unknown]      [.] alloc
    14.29%             1             2  main     [unknown]      [.] main
END
status 0 stoke report --no-children -n --show-total-period in.folded
sed -n '/Overhead/,$p' out >got
same want got

# --fields: these columns only, in this order, by which rows are sorted.
cat >want <<'END'
# Symbol     Overhead
  [.] alloc    35.71%
  [.] emit     50.00%
  [.] main     14.29%
END
status 0 stoke report -F sym,overhead in.folded
sed -n '/Symbol/p;/\[/p' out >got
same want got
cat >want <<'END'
#       Period  Symbol
             7  [.] emit
             5  [.] alloc
             2  [.] main
END
status 0 stoke report -F period,sym in.folded
sed -n '/Symbol/p;/\[/p' out >got
same want got
cat >want <<'END'
# Command|Samples|Children|Overhead|Symbol
main|1|100.00%|14.29%|[.] main
main|1|50.00%|50.00%|[.] emit
main|1|35.71%|35.71%|[.] alloc
main|0|85.71%|0.00%|[.] run
main|0|35.71%|0.00%|[.] parse
END
status 0 stoke report -F comm,sample,overhead_children,overhead,sym -t '|' in.folded
sed -n '/|/p' out >got
same want got
cat >want <<'END'
# Overhead|Period|Symbol
35.71%|5|[.] alloc
50.00%|7|[.] emit
14.29%|2|[.] main
END
status 0 stoke report -F overhead,period -s sym -t '|' in.folded
sed -n '/|/p' out >got
same want got
status 0 stoke report --fields overhead in.folded
[ "$(grep -c '%' out)" = 1 ] || fail 'more than one row without a key'
says '^   100.00%$' out
status 2 stoke report --fields overhead,unknown in.folded
says "unknown key 'unknown'"

# One long name does not make its column as wide.
{
    printf 'main;'
    printf 'long%.0s' $(seq 100)
    printf ' 3\nmain;short 1\n'
} >long.folded
status 0 stoke report --no-children -s sym,comm long.folded
dots=$(printf '.%.0s' $(seq 80))
says "^# \.\.\.\.\.\.\.\.  $dots  \.*\$" out
says '^    75\.00%  \[\.\] \(long\)*  main$' out
says "^    25\.00%  \[\.\] short *  main\$" out

# Call graphs. Without children: complete stacks of a row; with children: its callees.
cat >want <<'END'
    35.71%  [.] alloc
            |
            ---alloc
               parse
               parse
               run
               main

    14.29%  [.] main
            |
            ---main

END
status 0 stoke report --no-children -g callee -F overhead,sym in.folded
sed -n '/alloc/,$p' out >got
same want got
cat >want <<'END'
   100.00%    14.29%  [.] main
            |
            ---main
               |
                --85.71%--run
                          |
                          |--50.00%--emit
                          |
                           --35.71%--parse
                                     parse
                                     alloc

    85.71%     0.00%  [.] run
            |
            ---run
               |
               |--50.00%--emit
               |
                --35.71%--parse
                          parse
                          alloc

END
status 0 stoke report -g -F overhead_children,overhead,sym in.folded
sed -n '/ main$/,$p' out | sed '/^    50.00%    50/,$d' >got
same want got
status 0 stoke report -g graph,40,caller -s sym in.folded
says_not '--35.71%--' out
says '--50.00%--emit' out
status 0 stoke report -gcaller --percent-limit 40 -s sym in.folded
says_not '--35.71%--' out
says '^# and 2 more (35.71% self)' out
status 0 stoke report -g caller --depth 1 -F overhead_children,sym in.folded
says '^            ---main$' out
says_not '%--' out
# Rows that begin with the function do not repeat it.
cat >want <<'END'
    35.71%  [.] alloc
            |
            ---parse
               parse
               run
               main

    14.29%  [.] main

END
status 0 stoke report --no-children -g callee -s sym in.folded
sed -n '/alloc/,$p' out >got
same want got
status 0 stoke report -g none in.folded
says_not '---' out
status 0 stoke report --no-children -s sym --limit 1 in.folded
says '^# and 2 more (50.00% self)' out

# Selecting rows does not change shares; the omitted weight is reported.
status 0 stoke report -s sym --symbol 'p*,emit' in.folded
says '    50.00%    50.00%  \[.\] emit' out
says '    35.71%     0.00%  \[.\] parse' out
says_not 'main' out
says '^# excluded by options: 50.00%' out
status 0 stoke report -s comm --dso server "$TESTS/export/two-events.in"
says '^# excluded by options: ' out

# All keys, for an input that has them; several events.
two=$TESTS/export/two-events.in
status 0 stoke report --no-children -s comm,dso,sym "$two"
says "of event 'cycles'" out
says "of event 'page-faults'" out
for key in comm pid tid cpu dso sym srcfile srcline; do
    status 0 stoke report --no-children -s $key --csv "$two"
    says "^event,self,self_percent,samples,$key\$" out
done
status 0 stoke report -s tid "$two"
says '4212:server' out
status 0 stoke report -s srcline "$TESTS/import/pyspy/plain.in"
says 'shop.py:[0-9]' out
status 0 stoke report --comms server -s pid "$two"
says '4211:server' out
status 0 stoke report --comm server -s comm "$two"
says '   100.00%   100.00%  server' out

# An inlined function is in the module of its caller, wherever perf prints that.
for of in inlined inlined-locations; do
    status 0 stoke report --no-children -s dso --csv "$TESTS/import/perf/$of.in"
    says ',"work"$' out
    says_not 'unknown' out
done

# ./perf.data without a file name and without standard input.
cp in.folded perf.data
stoke report </dev/null >out
says '^self %' out
printf 'other 1\n' | stoke report >out
says '  other$' out
rm perf.data
stoke report </dev/null >out 2>err && fail "there is nothing to report"
says 'no input: no file is named and ./perf.data does not exist'
status 0 stoke report -i in.folded
says '^self %' out
status 1 stoke report -i in.folded in.folded
says "'in.folded' cannot be combined with --input"

# Parents: the innermost function that matches; -x omits the stacks without one.
cat >want <<'END'
    50.00%  [.] emit   run
    35.71%  [.] alloc  parse
    14.29%  [.] main   [other]
END
status 0 stoke report -q --no-children -s sym -p '^(run|parse)$' in.folded
grep '%' out >got
same want got
status 0 stoke report -q --no-children -s sym -p '^run$' -p '^parse$' in.folded
grep '%' out >got
same want got
cat >want <<'END'
    85.71%    85.71%  run
    14.29%    14.29%  [other]
END
status 0 stoke report -q --children -s parent --parent '^run$' in.folded
grep '%' out >got
same want got
status 0 stoke report -q --no-children -s sym -p '^parse$' -x in.folded
says '^    35\.71%  \[\.\] alloc  parse$' out
[ "$(grep -c '%  \[' out)" = 1 ] || fail '-x prints others'
status 0 stoke report -q --no-children -s sym -p '^parse$' -x --percentage relative in.folded
says '^   100\.00%  \[\.\] alloc  parse$' out
status 0 stoke report -q --csv --no-children -s parent,sym -p '^parse$' in.folded
says '^"samples",5,35.7143,1,"parse","alloc"$' out
says '^"samples",7,50.0000,1,"*,"emit"$' out
printf 'main;__x64_sys_read_[k];vfs_read_[k] 3\nmain;asm_exc_page_fault_[k];exc_page_fault_[k] 1\n' >entries.folded
status 0 stoke report -q --no-children -s parent entries.folded
says '^    75\.00%  __x64_sys_read$' out
says '^    25\.00%  exc_page_fault$' out
status 2 stoke report -x in.folded
says '--exclude-other needs --parent'
status 2 stoke report -p '(' in.folded

# Control groups, from the labels of samples.
status 0 stoke report -q --no-children -s cgroup "$TESTS/import/perf-data/cgroups.in"
says '^ .*%  /a\.slice$' out
says '^ .*%  /b\.slice/web\.service$' out
says '^ .*%  \[unknown\]$' out
status 0 stoke report -q -s cgroup in.folded
says '100\.00%  \[unknown\]$' out

# Invalid combinations and values.
status 2 stoke report -s comm,nothing in.folded
says "unknown key 'nothing'"
says '^  try: keys, .* cgroup, parent, dso'
for key in 'srcline_from stoke script -F brstack' 'mem stoke script -F data_src' 'weight stoke script -F weight' \
    'symoff stoke annotate' 'socket --sort cpu' 'simd keys, separated'; do
    status 2 stoke report -s "comm,${key%% *}" in.folded
    says "the key '${key%% *}' of perf report does not exist here"
    says "^  try: .*${key#* }"
done
status 2 stoke report -s , in.folded
for words in -b '-s symbol_to' '-F overhead,cycles'; do
    status 1 stoke report $words in.folded
    says 'the input has no branches'
    says '^  try: .*perf record -b'
done
status 1 stoke report -b "$TESTS/import/perf-data/plain.in"
says 'the recording has no branches'
status 2 stoke report -b -g caller in.folded
says 'have no callers'
status 0 stoke report -q --no-children -s symbol_size in.folded
says '100\.00%  \[unknown\]$' out
status 1 stoke report --header in.folded
says 'no header of perf'
status 2 stoke report --header --csv in.folded
status 0 stoke report -q --header-only "$TESTS/import/perf-data/groups.in"
says '^# hostname : ' out
status 2 stoke report --call-graph=address in.folded
says "'address' of perf report does not exist here"
status 2 stoke report --tree -g caller in.folded
says 'cannot be combined with rows by keys'
status 2 stoke report -g caller --csv in.folded
status 2 stoke report --stdio --json in.folded
status 2 stoke report --sort total --children in.folded
status 2 stoke report --sort

# Names with control characters and quotes are shown as text.
status 0 stoke report --stdio "$TESTS/export/odd-names.in"
says_not "$(printf '\033')" out

command -v python3 >/dev/null || {
    echo "python3 is missing"
    exit 77
}
python3 "$TESTS/cli/report_rows.py"

# Steps of the key time.
for time in 1.1 1.15 1.3; do
    printf 'prog 1/1 [000] %s00000: 1 cycles: \n\t1 a+0x0 (/p)\n\n' $time
done >times.txt
steps() # WANT OPTION...
{
    steps=$1
    shift
    status 0 stoke report --sort time --no-children "$@" times.txt
    [ "$(sed -n 's/^ *[0-9.]*%  *//p' out | tr '\n' ' ')" = "$steps" ] ||
        fail "--sort time $*: $(cat out)"
}
steps '1.100000 1.300000 '
steps '1.100000 1.150000 1.300000 ' --time-quantum 50ms
steps '1.000000 ' --time-quantum 1s
for wrong in 250 0ms x '' 90000s; do
    status 2 stoke report --sort time --time-quantum "$wrong" times.txt
    says "invalid time '$wrong'"
done
