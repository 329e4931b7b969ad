# SPDX-License-Identifier: Apache-2.0
# The options of gprof2dot, FlameGraph, inferno and perf in doc/tools.tsv: each is accepted on an
# input, or refused with what to use here.
. "$TESTS/cli/lib.sh"

printf 'main;parse;hash(int) 20\nmain;parse;malloc 10\nmain;run 5\n' >in
printf 'main\thref=http://example.org\n' >attr

tested=0
check() # COMMAND OPTION [VALUE...]
{
    tested=$((tested + 1))
    code=0
    stoke "$@" in >out 2>err </dev/null || code=$?
    [ "$code" = 0 ] && return
    grep -q 'does not exist here' err && grep -q '^  try: ' err && return
    fail "$* ends with $code: $(head -1 err)"
}

set -f
tab=$(printf '\t')
while IFS="$tab" read -r tool command option value; do
    case $tool:$option in
    tool:* | perf*) continue ;;                  # perf: tests/cli/perf_options.sh
    *:--size | inferno-collapse-ghcprof:--time) # other inputs: goldens of vtune and ghcprof
        continue ;;
    esac
    check "$command" "$option" $value
done <"$TESTS/../doc/tools.tsv"
[ "$tested" -gt 120 ] || fail "only $tested options are in tools.tsv"

# The options in the descriptions of gprof2dot, flamegraph.pl and the folders, where they are available.
reference="$TESTS/../../shared/reference"
[ -d "$reference" ] || reference="$TESTS/../../../shared/reference"
if [ -d "$reference" ]; then
    {
        sed -n '/^- Options/,/^- Node label/p' "$reference/callgraph.md"
        sed -n '/^## 1/,/^## 3/p' "$reference/flamegraph.md"
    } | grep -o -- '--[a-z][a-z-]*' | sort -u >named
    [ "$(wc -l <named)" -gt 40 ] || fail "no options in $reference"
    while read -r name; do
        cut -f3 "$TESTS/../doc/tools.tsv" | grep -qx -- "$name" || fail "$name is not in tools.tsv"
    done <named
fi

# Those of perf: each is known. The last option is wrong, so that nothing is read.
while IFS="$tab" read -r tool command option _; do
    case $tool:$option in
    perf*:--*) status 2 stoke "$command" "$option=x" --nosuch </dev/null ;;
    perf*) status 2 stoke "$command" "$option" --nosuch --nosuch </dev/null ;;
    *) continue ;;
    esac
    says_not "unknown option '$option"
    ! grep -q 'does not exist here' err || says '^  try: '
done <"$TESTS/../doc/tools.tsv"

