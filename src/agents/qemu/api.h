/* SPDX-License-Identifier: Apache-2.0 */
/* The part of QEMU's plugin interface, version 1 (up to QEMU 8.2), that this plugin
 * uses, declared from its documentation ("QEMU TCG Plugins"): Debian has no header for
 * it. QEMU resolves the functions when it loads the plugin. */
#ifndef STOKE_AGENTS_QEMU_API_H
#define STOKE_AGENTS_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_API __attribute__((visibility("default")))

enum { QEMU_API_VERSION = 1 };

typedef uint64_t qemu_plugin_id_t;

/* Facts about QEMU at the installation of the plugin. */
struct qemu_info {
    const char *target_name; /* "riscv64" */
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system; /* for system emulation */
};

/* Whether a callback reads or writes the guest's registers. */
enum qemu_cb_flags { QEMU_CB_NO_REGS = 0 };

/* The accesses that a callback is for. QEMU 7.2 does not call one for reads only. */
enum qemu_memory_rw { QEMU_MEMORY_BOTH = 3 };

/* Opaque; valid only within the callback of a translation. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void (*qemu_vcpu_cb)(qemu_plugin_id_t id, unsigned vcpu);
typedef void (*qemu_exec_cb)(unsigned vcpu, void *data);
typedef void (*qemu_memory_cb)(unsigned vcpu, uint32_t info, uint64_t address,
                               void *data);

/* A plugin defines these two. */
QEMU_API extern int qemu_plugin_version;
QEMU_API int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
                                 int argc, char **argv);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
                                    void (*cb)(qemu_plugin_id_t id, void *data),
                                    void *data);

/* A guest's system call, before and after it (user emulation). */
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id, unsigned vcpu, int64_t number,
                                    uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                                    uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8));
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              void (*cb)(qemu_plugin_id_t id,
                                                         unsigned vcpu, int64_t number,
                                                         int64_t result));

/* A block was translated. The callback registers others, which are called before the
 * block or one of its instructions runs. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t id,
                                                      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_exec_cb cb,
                                          enum qemu_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_exec_cb cb, enum qemu_cb_flags flags,
                                            void *data);

/* An instruction accessed memory, at an address of the guest. */
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_memory_cb cb,
                                      enum qemu_cb_flags flags, enum qemu_memory_rw rw,
                                      void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
                                                 size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);

/* The guest's program (user emulation), or NULL. */
const char *qemu_plugin_path_to_binary(void);

#endif
