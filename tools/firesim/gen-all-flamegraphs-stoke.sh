#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws flame graphs of all traces of a FireSim run:
#
#   gen-all-flamegraphs-stoke.sh [-d BINARY]... [-u PROGRAM]... RESULTS
#
# For each RESULTS/*/TRACEFILE* (compressed or not) it writes TRACEFILE*.folded and
# TRACEFILE*.svg to the same directory, with one job per CPU. It replaces
# gen-all-flamegraphs-fireperf.sh: name it as "post_run_hook" of the workload.
#
#   -d  traced binary with debug information. Default: the file *-dwarf in the job's
#       directory, in RESULTS, in the current directory, or in the directory of this script.
#   -u  traced user-space binary
#
# $STOKE is the path of stoke, $STOKE_TRACE_OPTIONS has more options for stoke trace. If a
# trace cannot be drawn, the script reports it, continues with the others, and exits with
# status 1.
set -eu

stoke=${STOKE:-stoke}
appearance="--countname cycles --fontsize 16 --height 20 --bgcolors #ffffff"

usage() {
    sed -n '5s/^# */usage: /p' "$0" >&2
    exit 2
}

# Prints the first file *-dwarf in the directories.
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

# Succeeds if a trace is stack text (output format 2), which contains no instructions.
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
            echo "$trace: no *-dwarf in its directory: copy BOOTBINARY-dwarf there, or name it with -d" >&2
            return 1
        fi
        set -- --dwarf "$dwarf" "$@"
    fi
    # shellcheck disable=SC2086  # options are words
    "$stoke" trace "$trace" "$@" ${STOKE_TRACE_OPTIONS-} -o "$folded"
}

# draw TRACE [OPTION...]: removes incomplete files on failure.
draw() {
    local trace=$1 name=${1%.gz}
    shift
    name=${name%.zst}
    # shellcheck disable=SC2086
    if fold "$trace" "$name.part.folded" "$@" &&
        "$stoke" flamegraph -q $appearance "$name.part.folded" -o "$name.part.svg"; then
        mv -- "$name.part.folded" "$name.folded"
        mv -- "$name.part.svg" "$name.svg"
        return
    fi
    rm -f -- "$name.part.folded" "$name.part.svg"
    return 1
}

# The script calls itself for each trace: --one OPTION... TRACE
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
    echo "$0: '$RESULTS' is not a directory" >&2
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
    echo "$0: no file matches $RESULTS/*/TRACEFILE*: TRACEFILE* must be an output of the workload" >&2
    exit 1
fi
printf '%s\0' "${traces[@]}" |
    xargs -0 -n 1 -P "$(nproc)" "$BASH" "$0" --one ${options[@]+"${options[@]}"} || exit 1
