# SPDX-License-Identifier: Apache-2.0
# stoke report compared with perf report on recordings made here: equal values in all rows.
. "$TESTS/cli/lib.sh"

for tool in perf cc python3; do
    command -v $tool >/dev/null || {
        echo "$tool is missing"
        exit 77
    }
done
cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread "$TESTS/cli/report_work.c" -o work
perf record -q -F 5000 -e cpu-clock -o plain.data ./work >/dev/null 2>err &&
    perf record -q -F 5000 -e cpu-clock -g -o perf.data ./work >/dev/null 2>>err || {
    echo "perf cannot record here: $(tail -n 1 err)"
    exit 77
}
python3 "$TESTS/cli/report_perf.py" plain.data perf.data
