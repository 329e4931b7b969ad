/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes a recording with all files that it refers to. tests/fuzz/recording
 * (make_recording.py) contains a recording, its executable, the executable's debug
 * file, a perf map and a jitdump; the input replaces the file of its type. This runs
 * the same code as every command: files are found, stacks unwound, addresses named. */
#include "base/hash.h"
#include "fuzz.h"
#include "recording.h"
#include "sound.h"
#include <ftw.h>

static struct recording recording;
static bool replaced[ROLES];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_root(void)
{
    nftw(recording.root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void read_one(struct str bytes, unsigned way, struct output *out)
{
    struct error err = {.message = ""};
    struct source in = source_of(bytes, STR("recording"));
    struct builder b;
    CHECK(builder_init(&b, way & 32 ? BUILD_KEEP : BUILD_COUNT));
    if (recording_read(&recording, &in, way, &b, &err)) {
        sound_profile(b.profile);
        CHECK(recording_fold(b.profile, out));
    } else {
        CHECK(err.message[0]);
    }
    builder_deinit(&b);
}

static void set_up(void)
{
    char root[64];
    struct output out = OUTPUT_BUFFER;
    snprintf(root, sizeof root, "%s/stoke-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    unsetenv("HOME"); /* no perf cache */
    CHECK(mkdtemp(root) && recording_open(&recording, root));
    atexit(remove_root);
    read_one(recording.whole[RECORDING], RECORDING_LINES, &out);
    CHECK(recording_has_names(output_contents(&out)));
    output_deinit(&out);
}

static enum role role_of(struct str input, uint64_t hash)
{
    if (str_starts(input, STR("PERFILE2")) || str_starts(input, STR("2ELIFREP")))
        return RECORDING;
    if (str_starts(input, STR("\177ELF")))
        return hash & 1 ? PROGRAM : DEBUG_FILE;
    return str_starts(input, STR("JiTD")) || str_starts(input, STR("DTiJ")) ? JITDUMP
                                                                            : PERF_MAP;
}

FUZZ_ONE_WAY("recording")

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    uint64_t hash = hash_bytes(input.ptr, input.len);
    struct output out = OUTPUT_BUFFER;
    if (!recording.root[0])
        set_up();
    enum role role = role_of(input, hash >> 32);
    for (int r = PROGRAM; r < ROLES; r++) {
        if (replaced[r] && r != (int)role)
            CHECK(recording_put(&recording, (enum role)r, recording.whole[r]));
        replaced[r] = r == (int)role;
    }
    if (role != RECORDING)
        CHECK(recording_put(&recording, role, input));
    read_one(role == RECORDING ? input : recording.whole[RECORDING], (unsigned)hash & 63,
             &out);
    output_deinit(&out);
    return 0;
}
