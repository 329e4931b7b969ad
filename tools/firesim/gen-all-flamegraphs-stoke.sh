#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Flame graphs of all traces of a FireSim run, where the simulator left them:
#
#   gen-all-flamegraphs-stoke.sh [-d BINARY]... [-u PROGRAM]... RESULTS
#
# Every RESULTS/*/TRACEFILE* (packed or not) becomes TRACEFILE*.folded and TRACEFILE*.svg
# beside itself, as many at a time as there are processors. A drop-in for
# gen-all-flamegraphs-fireperf.sh: name it as "post_run_hook" of the workload.
#
#   -d  the binary that ran, with its debug information. Without one, each job's is the
#       file *-dwarf in its folder, in RESULTS, in the current folder, in this script's.
#   -u  a program that ran above the kernel
#
# $STOKE is the program to call, $STOKE_TRACE_OPTIONS further options of stoke trace. A
# trace that cannot be drawn is told, and does not keep the others from it; the status is
# then 1.
set -eu

stoke=${STOKE:-stoke}
looks="--countname cycles --fontsize 16 --height 20 --bgcolors #ffffff"

usage() {
    sed -n '5s/^# */usage: /p' "$0" >&2
    exit 2
}

# The first file *-dwarf of the folders, or nothing.
find_dwarf() {
    local folder file
    for folder in "$@"; do
        for file in "$folder"/*-dwarf; do
            if [ -f "$file" ]; then
                printf '%s\n' "$file"
                return
            fi
        done
    done
}

# Whether a trace is stack text (output format 2), which tells of no instruction.
is_stack_text() {
    case $1 in
    *.gz) gzip -dc -- "$1" ;;
    *.zst) zstd -dcq -- "$1" ;;
    *) cat -- "$1" ;;
    esac 2>/dev/null | head -n 40 | grep -q '^Indent: [0-9]*, Start label: '
}

# fold TRACE FOLDED [OPTION...]
fold() {
    local trace=$1 folded=$2 dwarf
    shift 2
    if is_stack_text "$trace"; then
        "$stoke" fold "$trace" -o "$folded"
        return
    fi
    if [[ " $* " != *" --dwarf "* ]]; then
        dwarf=$(find_dwarf "$(dirname "$trace")" "$RESULTS" . "$(dirname "$0")")
        if [ -z "$dwarf" ]; then
            echo "$trace: no *-dwarf is beside it: copy BOOTBINARY-dwarf there, or name it with -d" >&2
            return 1
        fi
        set -- --dwarf "$dwarf" "$@"
    fi
    # shellcheck disable=SC2086  # options are words
    "$stoke" trace "$trace" "$@" ${STOKE_TRACE_OPTIONS-} -o "$folded"
}

# draw TRACE [OPTION...]: nothing that is not whole is left behind.
draw() {
    local trace=$1 name=${1%.gz}
    shift
    name=${name%.zst}
    # shellcheck disable=SC2086
    if fold "$trace" "$name.part.folded" "$@" &&
        "$stoke" flamegraph -q $looks "$name.part.folded" -o "$name.part.svg"; then
        mv -- "$name.part.folded" "$name.folded"
        mv -- "$name.part.svg" "$name.svg"
        return
    fi
    rm -f -- "$name.part.folded" "$name.part.svg"
    return 1
}

# For one trace the script calls itself: --one OPTION... TRACE
if [ "${1-}" = --one ]; then
    draw "${@: -1}" "${@:2:$#-2}"
    exit
fi

options=()
while getopts d:u: option; do
    case $option in
    d) options+=(--dwarf "$OPTARG") ;;
    u) options+=(--user "$OPTARG") ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 1 ] || usage
export RESULTS=$1
if [ ! -d "$RESULTS" ]; then
    echo "$0: '$RESULTS' is no folder" >&2
    exit 1
fi

traces=()
for trace in "$RESULTS"/*/TRACEFILE*; do
    case $trace in
    *.folded | *.svg) ;;
    *) if [ -f "$trace" ]; then traces+=("$trace"); fi ;;
    esac
done
if [ ${#traces[@]} = 0 ]; then
    echo "$0: there is no $RESULTS/*/TRACEFILE*: TRACEFILE* must be among the outputs of the workload" >&2
    exit 1
fi
printf '%s\0' "${traces[@]}" |
    xargs -0 -n 1 -P "$(nproc)" "$BASH" "$0" --one ${options[@]+"${options[@]}"} || exit 1
