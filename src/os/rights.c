/* SPDX-License-Identifier: Apache-2.0 */
#include "os/rights.h"
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static uint64_t bit(unsigned capability)
{
    return (uint64_t)1 << capability;
}

static uint64_t capabilities(unsigned rights)
{
    uint64_t all = 0;
    if (rights & OS_RIGHT_COUNT)
        all |= bit(CAP_PERFMON) | bit(CAP_IPC_LOCK); /* their rings are locked memory */
    if (rights & OS_RIGHT_LOAD)
        all |= bit(CAP_BPF);
    if (rights & OS_RIGHT_READ)
        all |= bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_SYSLOG);
    if (rights & OS_RIGHT_WRITE)
        all |= bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER);
    if (rights & OS_RIGHT_CHOWN)
        all |= bit(CAP_CHOWN);
    if (rights & OS_RIGHT_KILL)
        all |= bit(CAP_KILL);
    if (rights & OS_RIGHT_FIRST)
        all |= bit(CAP_SYS_NICE);
    return all;
}

static void retain(uint64_t retained)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{0, 0, 0}, {0, 0, 0}};
    if (syscall(SYS_capget, &header, sets) != 0)
        return;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t part = (uint32_t)(retained >> 32 * i);
        sets[i].permitted &= part;
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_capset, &header, sets);
}

void os_rights_restrict(unsigned rights)
{
    retain(capabilities(rights));
}

void os_rights_drop(unsigned rights)
{
    retain(~capabilities(rights));
}
