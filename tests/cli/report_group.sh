# SPDX-License-Identifier: Apache-2.0
# stoke report --group: each column of a group has the figures of the table of its event alone.
. "$TESTS/cli/lib.sh"

# Two threads; `only` and `late` have samples of one event.
sample() {
    printf '%s %d %d.%06d: %d %s: \n' "$1" "$2" "$3" "$3" "$4" "$5"
    shift 5
    for name in "$@"; do
        printf '\t  400 %s (/bin/%s)\n' "$name" "${name%%_*}"
    done
    echo
}
{
    sample web 7 1 250 cycles a_leaf a_main
    sample web 7 2 250 cycles a_leaf a_main
    sample web 7 3 250 cycles b_only a_main
    sample db 8 4 250 cycles a_leaf b_start
    sample web 7 5 3 faults a_leaf a_main
    sample db 8 6 1 faults b_late b_start
    sample db 8 7 4 faults a_leaf b_start
    sample web 7 8 2 misses a_main
} >in.txt

# rows FILE: the rows of a table.
rows() {
    grep '^ *[0-9]*[0-9]\.' "$1" || :
}

# of_group N FILE: the rows of event N of 3 in a group, with its figure first.
of_group() {
    rows "$2" | awk -v n="$1" '{share = $n; $1 = $2 = $3 = ""; sub(/^ +/, "")
                               if (share != "0.00%") print share, $0}' | sort
}

for words in "--sort comm,dso,sym" "--sort sym" "--sort pid,dso" "--children --sort sym"; do
    case $words in --children*) ;; *) words="--no-children $words" ;; esac
    # shellcheck disable=SC2086
    status 0 stoke report --group $words in.txt
    cp out group
    says "of events 'cycles, faults, misses'" group
    says '^# Event count: 1000 cycles, 8, 2$' group
    n=0
    for event in cycles faults misses; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        stoke report --event $event $words in.txt >alone
        case $words in
        --children*) # total and self
            rows alone | awk '$1 != "0.00%" {print $1, $3, $4}' | sort >want
            rows group | awk -v n=$n '$n != "0.00%" {print $n, $7, $8}' | sort >got
            ;;
        *)
            rows alone | awk '{$1 = $1; print}' | sort >want
            of_group $n group >got
            ;;
        esac
        [ -s want ] || fail "no rows of $event"
        same want got
    done
done

# Order: the first event, then the second; or the event of --group-sort-idx.
first() {
    rows out | awk 'NR == 1 {print $NF}'
}
status 0 stoke report --group --no-children --sort sym in.txt
[ "$(first)" = a_leaf ] || fail "the order is not that of the first event"
[ "$(rows out | awk '{print $NF}' | tr '\n' ' ')" = 'a_leaf b_only b_late a_main ' ] ||
    fail "rows of equal weight are not in the order of the next event"
status 0 stoke report --group --group-sort-idx 2 --no-children --sort sym in.txt
[ "$(first)" = a_main ] || fail "the order is not that of the third event"
status 1 stoke report --group-sort-idx 3 --no-children --sort sym in.txt
says 'invalid event number 3 for --group-sort-idx'
says 'try: the table has 3 events: 0 to 2'
status 1 stoke report --group-sort-idx 1 --event faults in.txt
says 'the table has one event'

# Samples and weights have a column for each event, as shares have.
status 0 stoke report --group --fields sample,period,sym in.txt
says '^ *3 *2 *0 *750 *7 *0 *\[\.\] a_leaf$' out
status 0 stoke report --group -t , --fields overhead,sym in.txt
says '^75.00% 87.50% 0.00%,\[\.\] a_leaf$' out

# What is not shown is stated for each event; a row is shown if it is large for one of them.
status 0 stoke report --group --no-children --sort sym --percent-limit 50 in.txt
says '^# and 2 more (25.00%, 12.50%, 0.00% self)$' out
status 0 stoke report --group --no-children --sort sym --comms web in.txt
says '^# excluded by options: 25.00%, 62.50%, 0.00%$' out

# Call graphs are those of the first event; a row without samples of it has none.
status 0 stoke report --group -g caller in.txt
says 'b_late$' out

status 0 stoke report --group --event faults in.txt
says "of event 'faults'" out
status 2 stoke report --group --csv in.txt
says 'cannot be combined'
