/* SPDX-License-Identifier: Apache-2.0 */
#include "fallocate_kit.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic int64_t calls;
static _Atomic int64_t good_calls = -1;
static _Atomic int failure;

void fallocate_fail_after(int64_t good, int error)
{
    atomic_store(&calls, 0);
    atomic_store(&good_calls, good);
    atomic_store(&failure, error);
}

int64_t fallocate_calls(void)
{
    return atomic_load(&calls);
}

/* The name that <fcntl.h> gives fallocate() where off_t has 64 bits by _FILE_OFFSET_BITS. */
int fallocate64(int fd, int mode, off_t offset, off_t length);

int fallocate64(int fd, int mode, off_t offset, off_t length)
{
    const int64_t good = atomic_load(&good_calls);

    if (atomic_fetch_add(&calls, 1) >= good && good >= 0) {
        errno = atomic_load(&failure);
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}
