# SPDX-License-Identifier: Apache-2.0
# The drawing, element by element: tests/export/svg/CASE.picture is the output for CASE.args
# without style and script. UPDATE=1 writes the files.
. "$TESTS/cli/lib.sh"

cd "$TESTS/export/svg"
for args in *.args; do
    case=${args%.args}
    # shellcheck disable=SC2046
    eval stoke flamegraph --quiet --no-javascript $(cat "$args") >"$OLDPWD/all"
    sed '/<style>/,/<\/style>/d' "$OLDPWD/all" >"$OLDPWD/got"
    [ -z "${UPDATE-}" ] || cp "$OLDPWD/got" "$case.picture"
    same "$case.picture" "$OLDPWD/got"
done
