/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault_int.h"

/* How long to retry while no file descriptor is free. */
static const int64_t RETRY_NS = INT64_C(10000000000);

enum { MAX_HELD = 512, FD_SHIFT = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below, and the
                                                            list's links */
static sli_held_file *first;
static unsigned held;

static unsigned max_held(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < MAX_HELD
               ? (unsigned)(limit.rlim_cur / 2)
               : MAX_HELD;
}

static int fd_of(uint64_t state)
{
    return (int)(state >> FD_SHIFT) - 1;
}

/* The caller holds the lock. */
static void unlink_file(sli_held_file *file)
{
    *(file->prior != NULL ? &file->prior->next : &first) = file->next;
    if (file->next != NULL) {
        file->next->prior = file->prior;
    }
    held--;
}

void sli_held_file_put(sli_held_file *file, int fd)
{
    pthread_mutex_lock(&lock);
    if (held < max_held()) {
        held++;
        file->prior = NULL;
        file->next = first;
        if (first != NULL) {
            first->prior = file;
        }
        first = file;
        /* Pairs with the acquire in sli_held_file_borrow(). */
        atomic_store_explicit(&file->state, (uint64_t)(fd + 1) << FD_SHIFT, memory_order_release);
        fd = -1;
    }
    pthread_mutex_unlock(&lock);
    if (fd >= 0) {
        close(fd);
    }
}

/* Closes the descriptor unless a thread uses it. The caller holds the lock. */
static bool close_held(sli_held_file *file)
{
    uint64_t state = atomic_load_explicit(&file->state, memory_order_relaxed);

    /*
     * Pairs with the release in sli_held_file_give_back(): reads of the borrowers come before the
     * close.
     */
    if ((uint32_t)state == 0 && state != 0 &&
        atomic_compare_exchange_strong_explicit(&file->state, &state, 0, memory_order_acquire,
                                                memory_order_relaxed)) {
        unlink_file(file);
        close(fd_of(state));
        return true;
    }
    return false;
}

void sli_held_file_close(sli_held_file *file)
{
    uint64_t state;

    pthread_mutex_lock(&lock);
    state = atomic_exchange_explicit(&file->state, 0, memory_order_acquire);
    if (state != 0) {
        unlink_file(file);
        close(fd_of(state));
    }
    pthread_mutex_unlock(&lock);
}

int sli_held_file_borrow(sli_held_file *file)
{
    uint64_t state = atomic_load_explicit(&file->state, memory_order_relaxed);

    while (state != 0) {
        if (atomic_compare_exchange_weak_explicit(&file->state, &state, state + 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
            return fd_of(state);
        }
    }
    return -1;
}

void sli_held_file_give_back(sli_held_file *file)
{
    atomic_fetch_sub_explicit(&file->state, 1, memory_order_release);
}

unsigned sli_held_files_drop(void)
{
    sli_held_file *next;
    unsigned dropped = 0;

    pthread_mutex_lock(&lock);
    for (sli_held_file *file = first; file != NULL; file = next) {
        next = file->next;
        dropped += close_held(file);
    }
    pthread_mutex_unlock(&lock);
    return dropped;
}

int sli_openat(int folder_fd, const char *path, int flags, mode_t mode,
               const sli_interrupt *interrupt)
{
    sli_backoff backoff = {.limit_ns = RETRY_NS};
    int error;
    int fd;

    for (;;) {
        fd = openat(folder_fd, path, flags, mode);
        error = errno;
        if (fd >= 0 || sli_fault_of_errno(error) != SLI_FAULT_DESCRIPTORS) {
            break;
        }
        if (sli_held_files_drop() == 0 && !sli_backoff_pause(&backoff, interrupt)) {
            break;
        }
    }
    errno = error;
    return fd;
}

/* ---- all bytes of a buffer ------------------------------------------------------------------- */

/* The offset of reads and writes at the file's own position. */
#define OWN_POSITION UINT64_MAX

static ssize_t read_all(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    size_t got = 0;

    while (got < size) {
        const ssize_t more = offset == OWN_POSITION
                                 ? read(fd, to + got, size - got)
                                 : pread(fd, to + got, size - got, (off_t)(offset + got));

        if (more == 0 || (more < 0 && errno != EINTR)) {
            return more < 0 ? -1 : (ssize_t)got;
        }
        got += more > 0 ? (size_t)more : 0;
    }
    return (ssize_t)got;
}

static int write_all(int fd, const uint8_t *from, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        const ssize_t more = offset == OWN_POSITION
                                 ? write(fd, from + done, size - done)
                                 : pwrite(fd, from + done, size - done, (off_t)(offset + done));

        if (more == 0 || (more < 0 && errno != EINTR)) {
            errno = more == 0 ? EIO : errno;
            return -1;
        }
        done += more > 0 ? (size_t)more : 0;
    }
    return 0;
}

ssize_t sli_read(int fd, void *to, size_t size)
{
    return read_all(fd, to, size, OWN_POSITION);
}

ssize_t sli_pread(int fd, void *to, size_t size, uint64_t offset)
{
    return read_all(fd, to, size, offset);
}

int sli_write(int fd, const void *from, size_t size)
{
    return write_all(fd, from, size, OWN_POSITION);
}

int sli_pwrite(int fd, const void *from, size_t size, uint64_t offset)
{
    return write_all(fd, from, size, offset);
}
