/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the eBPF program wait_files.bpf.c and the process that loads it share. */
#ifndef STOKE_OS_WAIT_FILES_FORMAT_H
#define STOKE_OS_WAIT_FILES_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define WAIT_FILES_NAME \
    64 /* bytes of a name, with the zero at its end if it is shorter */
#define WAIT_FILES_PATH 256  /* bytes of a path */
#define WAIT_FILES_DEPTH 24  /* directories of a path */
#define WAIT_FILES_CALLS 512 /* numbers of system calls are below it */
#define WAIT_FILES_CPUS 1024

/* The open file that a thread waits for: the raw data of a sample. */
struct wait_file {
    uint64_t inode;
    uint32_t fd;
    uint32_t mode;   /* st_mode: the kind of file */
    uint32_t device; /* of the file system: the major number << 20, and the minor one */
    uint32_t special_device; /* of a character or block device */
    /* of a socket: */
    uint16_t family, type, protocol; /* AF_, SOCK_, IPPROTO_ */
    uint8_t state;                   /* of the TCP connection */
    uint8_t name_length;             /* of the address of a unix socket */
    uint16_t port, peer_port;
    uint8_t address[16], peer[16]; /* the first 4 bytes if it is IPv4 */
    uint32_t path_length;          /* of the part of `path` that follows */
    uint32_t path_is_whole;        /* up to the root of its file system */
    char name[WAIT_FILES_NAME];    /* in its directory; of a unix socket: its address */

    /* Of its directories, the innermost one first; each name ends with a zero. */
    char path[WAIT_FILES_PATH];
};

#define WAIT_FILES_HEAD offsetof(struct wait_file, path)

/* Where the kernel's structures have their fields. Those of sockets are 0 if it has none. */
struct wait_files_kernel {
    uint32_t task_thread, task_process, task_state, task_files;
    uint32_t files_table, table_count, table_files;
    uint32_t file_inode, file_entry, file_data;
    uint32_t inode_number, inode_mode, inode_device, inode_system, system_device;
    uint32_t entry_name; /* of a directory: the pointer to its name */
    uint32_t entry_parent;
    uint32_t socket_socket, socket_family, socket_state, socket_type, socket_protocol;
    uint32_t socket_address, socket_peer, socket_port, socket_peer_port;
    uint32_t socket_address6, socket_peer6;
    uint32_t unix_address, unix_peer, unix_length, unix_name;
    /* the registers of a system call */
    uint32_t call_number, call_first, call_second;
    uint32_t mode_register, mode_mask, mode_value; /* of a 64-bit process */
    uint32_t has_sockets, has_unix, every_thread;
    uint32_t poll, ppoll; /* numbers of these calls */
    uint64_t
        calls[WAIT_FILES_CALLS / 64]; /* those whose first argument is a descriptor */
};

#endif
