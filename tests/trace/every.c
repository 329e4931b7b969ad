/* A plugin of QEMU for the tests, for comparison with libstoke_qemu.so. QEMU calls it
 * for each single instruction, and it writes address and CPU of each, 16 bytes, to
 * $EVERY_INSTRUCTION. It is as simple as possible, and shares no code with
 * libstoke_qemu.so. */
#include "agents/qemu/api.h"
#include <stdio.h>
#include <stdlib.h>

int qemu_plugin_version = QEMU_API_VERSION;
static FILE *out;

static void on_instruction(unsigned vcpu, void *address)
{
    uint64_t record[2] = {(uint64_t)(uintptr_t)address, vcpu};
    fwrite(record, sizeof record, 1, out);
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_insn_exec_cb(
            insn, on_instruction, QEMU_CB_NO_REGS,
            (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    }
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
                        char **argv)
{
    (void)info, (void)argc, (void)argv;
    const char *path = getenv("EVERY_INSTRUCTION");
    out = path ? fopen(path, "wb") : NULL;
    if (!out)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
    return 0;
}
