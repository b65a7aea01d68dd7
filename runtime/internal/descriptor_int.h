/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors under RLIMIT_NOFILE: a cache of open files, and openat() with retries; reading
 * and writing all bytes of a buffer. */
#ifndef SLUICE_DESCRIPTOR_INT_H
#define SLUICE_DESCRIPTOR_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backoff_int.h"

/*
 * A cached descriptor. All cached descriptors of a process are in one list, from which
 * sli_held_files_drop() closes the unused ones; a reader then opens the file by its path. Zeroed:
 * no descriptor. The struct must not move while it holds one.
 */
typedef struct sli_held_file {
    _Atomic uint64_t state; /* (descriptor + 1) << 32 | number of borrowers; 0: no descriptor */
    struct sli_held_file *next;
    struct sli_held_file *prior;
} sli_held_file;

/*
 * Takes ownership of a descriptor: caches it, or closes it if the cache of this process is full
 * (half of RLIMIT_NOFILE, at most 512). Called by one thread, before other threads use the file.
 */
void sli_held_file_put(sli_held_file *file, int fd);

/* Closes the descriptor; no thread may use it. */
void sli_held_file_close(sli_held_file *file);

/* Borrows the descriptor, which stays open until it is given back. Returns -1 if no descriptor is
 * cached. Callable from any thread. */
int sli_held_file_borrow(sli_held_file *file);
void sli_held_file_give_back(sli_held_file *file);

/* True if a descriptor is cached at the moment. Callable from any thread. */
static inline bool sli_held_file_is_held(const sli_held_file *file)
{
    return atomic_load_explicit(&file->state, memory_order_relaxed) != 0;
}

/* Closes the unused cached descriptors of this process and returns their number. Callable from any
 * thread. */
unsigned sli_held_files_drop(void);

/*
 * openat() that on EMFILE and ENFILE drops the cached descriptors and retries, with back-off for up
 * to 10 s or until the interrupt (which may be NULL) is set. Returns -1 with errno on failure.
 */
int sli_openat(int folder_fd, const char *path, int flags, mode_t mode,
               const sli_interrupt *interrupt);

/*
 * Read `size` bytes, of sli_pread() from an offset, through interruptions by signals and partial
 * reads. Fewer bytes are returned only if the file ends; -1 with errno: a read failed.
 */
ssize_t sli_read(int fd, void *to, size_t size);
ssize_t sli_pread(int fd, void *to, size_t size, uint64_t offset);

/* Write all bytes, likewise. Return 0, or -1 with errno. */
int sli_write(int fd, const void *from, size_t size);
int sli_pwrite(int fd, const void *from, size_t size, uint64_t offset);

#endif
