/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a Java virtual machine (HotSpot and JVMs made from it) by its attach protocol, which
 * jcmd uses. Nothing is loaded into the JVM, and it is not stopped.
 *
 * A JVM creates the socket /tmp/.java_pidPID when it receives SIGQUIT and finds a file
 * .attach_pidPID in its /tmp; PID is its id in its own namespace. A request is the version "1", a
 * command and three arguments, each followed by a zero byte. The answer begins with a line that is
 * "0" on success (OpenJDK, src/hotspot/os/posix/attachListener_posix.cpp).
 *
 * SIGQUIT ends a process that does not handle it, and makes other JVMs write dumps: it is sent
 * only if libjvm.so is mapped, it is HotSpot's, the signal is handled, and requests are not disabled
 * by an option. The process is held by a descriptor, so that a new process with its id is never
 * signalled. The folder is opened inside the root of the process; what a container's
 * links name is not followed outside of it. Sockets and files of other users are rejected.
 *
 * No function waits, except os_jvm_await. */
#ifndef STOKE_OS_JVM_H
#define STOKE_OS_JVM_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum os_jvm_state {
    OS_JVM_BUSY,   /* call os_jvm_step later */
    OS_JVM_DONE,   /* the JVM answered: success */
    OS_JVM_FAILED, /* err says why */
};

struct os_jvm {
    uint32_t pid, owner; /* the user of the process */
    int64_t own_pid;     /* in its innermost namespace */
    int process;         /* a pidfd */
    int folder;          /* its /tmp */
    int socket;          /* connected, or -1 */
    const char *command; /* static */
    bool created, signalled;
    uint64_t began; /* ns; of the step that now waits */
    size_t length;
    char answer[256]; /* its beginning */
};

/* Whether the process has mapped the library of a HotSpot JVM. */
bool os_is_jvm(uint32_t pid);

/* Begins a request: `command` is one of jcmd's, and must be a constant. After success, the caller
 * calls os_jvm_step until it does not return OS_JVM_BUSY, and then os_jvm_end. */
bool os_jvm_begin(struct os_jvm *r, uint32_t pid, const char *command, struct error *err);

enum os_jvm_state os_jvm_step(struct os_jvm *r, struct error *err);

/* Waits until the JVM may have done something, for at most that time. */
void os_jvm_await(const struct os_jvm *r, int milliseconds);

/* A regular file in the JVM's /tmp that belongs to its user. Returns a descriptor that the caller
 * closes with os_shared_close, or -1. */
int os_jvm_open(const struct os_jvm *r, const char *name);

/* Removes such a file. */
void os_jvm_remove(const struct os_jvm *r, const char *name);

void os_jvm_end(struct os_jvm *r);

#endif
