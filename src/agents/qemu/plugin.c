/* SPDX-License-Identifier: Apache-2.0 */
/* libstoke_qemu.so: a plugin of QEMU that writes every instruction that a RISC-V guest
 * starts, for `stoke trace`. This file has the callbacks for QEMU. */
#include "agents/qemu/api.h"
#include "agents/qemu/block.h"
#include "agents/qemu/channel.h"
#include "agents/qemu/lane.h"
#include "agents/qemu/maps.h"
#include "agents/qemu/options.h"
#include "agents/qemu/thread.h"
#include "agents/qemu/trigger.h"
#include "agents/qemu/writer.h"
#include "base/format.h"
#include <pthread.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the trace is little-endian, and is a copy of memory");

/* Position of a block's id in callback data, above the number of an instruction. */
enum { MARK_SHIFT = 10 };

_Static_assert(BLOCK_INSTRUCTIONS == 1 << MARK_SHIFT, "numbers of instructions fit");

int qemu_plugin_version = QEMU_API_VERSION;

static struct trace_options options;
static bool is_system;
static uint32_t flags; /* flags of the header, see qemu_format.h */

/* Linux's numbers of system calls on RISC-V. */
enum guest_call {
    CALL_PRCTL = 167,
    CALL_SHMAT = 196,
    CALL_SHMDT = 197,
    CALL_MUNMAP = 215,
    CALL_MREMAP = 216,
    CALL_EXECVE = 221,
    CALL_MMAP = 222,
    CALL_EXECVEAT = 281,
};

static void say(const char *format, const char *detail)
{
    char text[1024];
    size_t length = format_text(text, sizeof text, format, detail);
    (void)!write(STDERR_FILENO, text, length);
}

static void say_error(const struct error *err)
{
    say("stoke_qemu: %s\n", err->message);
    if (*err->hint)
        say("stoke_qemu: %s\n", err->hint);
}

static void stop_tracing(const char *why)
{
    if (!atomic_exchange(&channel->is_failed, 1))
        say("stoke_qemu: %s; the trace ends here\n", why);
}

/* QEMU counts virtual CPUs from 0; in user mode each is a thread. */
static void on_vcpu_begins(qemu_plugin_id_t id, unsigned vcpu)
{
    (void)id;
    if (vcpu >= LANES) {
        stop_tracing("the guest has too many threads");
        return;
    }
    lane_open(&channel->lanes[vcpu]);
    uint32_t count = atomic_load(&channel->lane_count);
    while (count <= vcpu &&
           !atomic_compare_exchange_weak(&channel->lane_count, &count, vcpu + 1))
        ;
}

static void on_vcpu_ends(qemu_plugin_id_t id, unsigned vcpu)
{
    (void)id;
    if (vcpu < LANES)
        lane_close(&channel->lanes[vcpu]);
}

static void on_block(unsigned vcpu, void *block)
{
    if (vcpu < LANES)
        lane_enter(&channel->lanes[vcpu], block);
}

/* An instruction that may trap, or the last one of a block, is about to run: `count`
 * instructions of the block have started. */
static void on_reached(unsigned vcpu, void *count)
{
    if (vcpu < LANES)
        channel->lanes[vcpu].reached = (uint32_t)(uintptr_t)count;
}

/* QEMU 7.2 may call back for an access of a later (atomic) instruction, after it left
 * a block early. `data` names the instruction of the registration. */
static bool is_access_of(const struct lane *l, const void *data)
{
    uint64_t mark = (uintptr_t)data;
    uint32_t id = (uint32_t)(mark >> MARK_SHIFT), index = mark & (BLOCK_INSTRUCTIONS - 1);
    const struct block *b = l->block;
    bool is_last = b && b->begin == b->count && index + 1 == b->count;
    return b && b->id == id && (l->reached == index + 1 || is_last);
}

static void on_context_saved(unsigned vcpu, uint32_t info, uint64_t address, void *data)
{
    (void)info;
    if (vcpu < LANES && is_access_of(&channel->lanes[vcpu], data))
        lane_context(&channel->lanes[vcpu], QEMU_RUN_SAVE, address);
}

static void on_context_loaded(unsigned vcpu, uint32_t info, uint64_t address, void *data)
{
    (void)info;
    if (vcpu < LANES && is_access_of(&channel->lanes[vcpu], data))
        lane_context(&channel->lanes[vcpu], QEMU_RUN_LOAD, address);
}

static void watch_contexts(const struct block_draft *d, const struct block *b,
                           const struct qemu_plugin_tb *tb)
{
    for (uint32_t i = 0; i < d->count; i++) {
        enum block_context context = block_context_at(d, i);
        if (context == CONTEXT_NONE)
            continue;
        uint64_t mark = (uint64_t)b->id << MARK_SHIFT | i;
        qemu_plugin_register_vcpu_mem_cb(
            qemu_plugin_tb_get_insn(tb, i),
            context == CONTEXT_SAVE ? on_context_saved : on_context_loaded,
            QEMU_CB_NO_REGS, QEMU_MEMORY_BOTH, (void *)(uintptr_t)mark);
    }
}

/* False for a block that is longer than QEMU's limit. */
static bool draft_block(struct block_draft *d, const struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    if (count == 0 || count > BLOCK_INSTRUCTIONS)
        return false;
    const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    d->address = qemu_plugin_insn_vaddr(first);
    d->count = (uint32_t)count;
    d->size = d->map = 0;
    for (size_t i = 0; i < count; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t size = qemu_plugin_insn_size(insn);
        if (size != 2 && size != 4)
            return false;
        d->at[i] = d->size;
        memcpy(d->bytes + d->size, qemu_plugin_insn_data(insn), size);
        d->size += (uint32_t)size;
    }
    return true;
}

static uint32_t map_of_block(uint64_t address, const struct qemu_plugin_tb *tb)
{
    const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    blocks_lock();
    uint32_t map = map_of(address, (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first));
    blocks_unlock();
    return map;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    static __thread struct block_draft draft;
    (void)id;
    if (!draft_block(&draft, tb)) {
        stop_tracing("a block of QEMU is not RISC-V code");
        return;
    }
    if (!is_system)
        draft.map = map_of_block(draft.address, tb);
    const struct block *b = block_of(&draft);
    if (!b) {
        stop_tracing("out of memory");
        return;
    }
    /* QEMU passes back a const pointer as a plain one. */
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_CB_NO_REGS,
                                         (void *)(uintptr_t)b);
    for (uint32_t i = 1; i < draft.count && b->begin < b->count; i++) {
        uint32_t end = i + 1 < draft.count ? draft.at[i + 1] : draft.size;
        if (end == draft.size ||
            instruction_may_trap(draft.bytes + draft.at[i], end - draft.at[i]))
            qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i),
                                                   on_reached, QEMU_CB_NO_REGS,
                                                   (void *)(uintptr_t)(i + 1));
    }
    watch_contexts(&draft, b, tb);
}

static void on_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1,
                    uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                    uint64_t a7, uint64_t a8)
{
    (void)id, (void)vcpu;
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number == CALL_EXECVE || number == CALL_EXECVEAT)
        atomic_store(&channel->is_execing, 1);
}

static void on_call_returns(qemu_plugin_id_t id, unsigned vcpu, int64_t number,
                            int64_t result)
{
    (void)id, (void)result;
    switch (number) {
    case CALL_MMAP:
    case CALL_MUNMAP:
    case CALL_MREMAP:
    case CALL_SHMAT:
    case CALL_SHMDT:
        maps_forget();
        break;
    case CALL_PRCTL:
        if (vcpu < LANES)
            thread_refresh_name(&channel->lanes[vcpu]);
        break;
    case CALL_EXECVE:
    case CALL_EXECVEAT:
        atomic_store(&channel->is_execing, 0); /* the system call failed */
        break;
    default:
        break;
    }
}

/* The child of a guest's fork: it has the blocks that were translated, but no writer
 * process. */
static void on_forked(void)
{
    struct error err;
    struct lane *own = thread_lane();
    bool is_failed = atomic_load(&channel->is_failed) || !own;
    struct lane copy;
    if (!is_failed)
        memcpy(&copy, own, sizeof copy);
    writer_forget();
    if (!channel_init())
        _exit(127); /* its rings would be shared with the parent */
    atomic_store(&channel->is_failed, is_failed);
    if (is_failed)
        return;
    memcpy(own, &copy, sizeof copy);
    lane_fork(own);
    atomic_store(&channel->lane_count, (uint32_t)(own - channel->lanes) + 1);
    if (!writer_start(&options, flags, true, &err)) {
        say_error(&err);
        atomic_store(&channel->is_failed, 1);
        return;
    }
    maps_describe_again();
    blocks_describe_again();
}

static void after_fork_in_child(void)
{
    on_forked();
    blocks_unlock();
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    for (uint32_t i = 0; i < atomic_load(&channel->lane_count); i++)
        lane_close(&channel->lanes[i]);
    writer_finish();
}

static bool begin(const struct qemu_info *info, int argc, char **argv, struct error *err)
{
    bool is_32 = strcmp(info->target_name, "riscv32") == 0;
    if (!is_32 && strcmp(info->target_name, "riscv64") != 0) {
        error_set(err, "the guest is not a RISC-V machine: %s", info->target_name);
        return error_hint(err,
                          "qemu-riscv64, qemu-riscv32, qemu-system-riscv64 or -riscv32");
    }
    is_system = info->system_emulation;
    flags = (is_system ? QEMU_TRACE_SYSTEM : 0) | (is_32 ? QEMU_TRACE_32 : 0);
    if (!trace_options_parse(&options, argc, argv, err))
        return false;
    if (!channel_init())
        return error_memory(err);
    trigger_init(&options);
    thread_init(is_system);
    return writer_start(&options, flags, false, err);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
                        char **argv)
{
    struct error err;
    if (!begin(info, argc, argv, &err)) {
        say_error(&err);
        return -1;
    }
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu_begins);
    qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_ends);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
    if (!is_system) {
        qemu_plugin_register_vcpu_syscall_cb(id, on_call);
        qemu_plugin_register_vcpu_syscall_ret_cb(id, on_call_returns);
        pthread_atfork(blocks_lock, blocks_unlock, after_fork_in_child);
    }
    return 0;
}
