/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program (glibc), makes calls of it fail or slow; for tests/faults.sh and
 * tests/test_reading.sh.
 *
 *     FAULT_ALLOC=K      the K-th allocation of memory fails (1: the first), and all after it
 *     FAULT_ALLOC=K:N    the K-th to the (K+N-1)-th
 *     FAULT_COUNT=FILE   writes the number of allocations, and of failed reads, to the file, a line
 *                        each, when the program ends
 *     FAULT_READ=E:P:T   reads of files whose path has T in it fail with errno E, P of 1000 of them
 *     FAULT_SLOW=US:T    reads of files whose path has T in it take US microseconds more, asleep
 *
 * Allocations count from the program's main() on, but for those of the libraries in FAULT_EXCEPT,
 * by parts of their names: "libhwloc,libarchive".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(default)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { MOST_FDS = 4096, MOST_CALLERS = 24 };

static struct {
    atomic_bool started;
    atomic_long allocations;
    long first; /* 0: none fails */
    long count;
    const char *except;
    const char *count_file;
    int read_errno; /* 0: none fails */
    unsigned per_mille;
    const char *path_part;
    atomic_uint random;
    atomic_long failed_reads;
    atomic_bool chosen[MOST_FDS]; /* reads of them may fail */
    unsigned slow_us;             /* 0: no read is slow */
    const char *slow_part;
    atomic_bool slow[MOST_FDS];
} fault;

/* ---- allocations ----------------------------------------------------------------------------- */

static _Thread_local bool inside; /* what follows allocates, too */

static bool is_in(const void *address, const char *names)
{
    Dl_info info;

    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    while (*names != '\0') {
        const size_t length = strcspn(names, ",");
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        if (strstr(info.dli_fname, name) != NULL) {
            return true;
        }
        names += length + (names[length] == ',');
    }
    return false;
}

/* Is one of the libraries among the callers? */
static bool is_excepted(void)
{
    void *callers[MOST_CALLERS];
    bool found = false;
    int count;

    inside = true;
    count = fault.except[0] != '\0' ? backtrace(callers, MOST_CALLERS) : 0;
    for (int i = 0; i < count && !found; i++) {
        found = is_in(callers[i], fault.except);
    }
    inside = false;
    return found;
}

static bool fails(void)
{
    long number;

    if (!atomic_load(&fault.started) || inside || is_excepted()) {
        return false;
    }
    number = atomic_fetch_add(&fault.allocations, 1) + 1;
    if (fault.first > 0 && number >= fault.first && number - fault.first < fault.count) {
        errno = ENOMEM;
        return true;
    }
    return false;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails() ? NULL : __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made = fails() ? NULL : __libc_memalign(alignment, size);

    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void choose(int fd, const char *path)
{
    if (fd >= 0 && fd < MOST_FDS && fault.read_errno != 0) {
        atomic_store(&fault.chosen[fd], strstr(path, fault.path_part) != NULL);
    }
    if (fd >= 0 && fd < MOST_FDS && fault.slow_us != 0) {
        atomic_store(&fault.slow[fd], strstr(path, fault.slow_part) != NULL);
    }
}

static bool read_fails(int fd)
{
    unsigned draw;

    if (fault.read_errno == 0 || fd < 0 || fd >= MOST_FDS || !atomic_load(&fault.chosen[fd])) {
        return false;
    }
    draw = atomic_fetch_add(&fault.random, 2654435761U) * 2246822519U;
    if ((draw >> 8) % 1000 >= fault.per_mille) {
        return false;
    }
    atomic_fetch_add(&fault.failed_reads, 1);
    errno = fault.read_errno;
    return true;
}

static void wait_if_slow(int fd)
{
    if (fault.slow_us != 0 && fd >= 0 && fd < MOST_FDS && atomic_load(&fault.slow[fd])) {
        (void)usleep(fault.slow_us);
    }
}

/* ISO C knows no way from the pointer that the loader gives to a function. */
static void find(const char *name, void *call, size_t size)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(call, &found, size);
}

int openat(int folder, const char *path, int flags, ...)
{
    static int (*real)(int, const char *, int, ...);
    va_list args;
    mode_t mode;
    int fd;

    va_start(args, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (real == NULL) {
        find("openat", &real, sizeof(real));
    }
    fd = real(folder, path, flags, mode);
    choose(fd, path);
    return fd;
}

/* A descriptor is used again: what was chosen for it must not stay. */
int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return openat(AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *to, size_t size)
{
    static ssize_t (*real)(int, void *, size_t);

    if (real == NULL) {
        find("read", &real, sizeof(real));
    }
    wait_if_slow(fd);
    return read_fails(fd) ? -1 : real(fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    static ssize_t (*real)(int, void *, size_t, off_t);

    if (real == NULL) {
        find("pread", &real, sizeof(real));
    }
    wait_if_slow(fd);
    return read_fails(fd) ? -1 : real(fd, to, size, offset);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static const char *setting(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? value : "";
}

static void read_settings(void)
{
    static char part[256];
    static char slow_part[256];
    const char *alloc = setting("FAULT_ALLOC");
    const char *colon = strchr(alloc, ':');

    fault.first = atol(alloc);
    fault.count = colon != NULL ? atol(colon + 1) : (1L << 60);
    fault.except = setting("FAULT_EXCEPT");
    fault.count_file = setting("FAULT_COUNT");
    if (sscanf(setting("FAULT_READ"), "%d:%u:%255s", &fault.read_errno, &fault.per_mille, part) ==
        3) {
        fault.path_part = part;
    } else {
        fault.read_errno = 0;
    }
    if (sscanf(setting("FAULT_SLOW"), "%u:%255s", &fault.slow_us, slow_part) == 2) {
        fault.slow_part = slow_part;
    } else {
        fault.slow_us = 0;
    }
    atomic_store(&fault.random, (unsigned)getpid() * 40503U);
}

static int (*real_main)(int, char **, char **);

static void write_count(void)
{
    char text[64];
    int fd;

    atomic_store(&fault.started, false);
    if (fault.count_file[0] == '\0') {
        return;
    }
    fd = open(fault.count_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    snprintf(text, sizeof(text), "%ld\n%ld\n", atomic_load(&fault.allocations),
             atomic_load(&fault.failed_reads));
    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        perror(fault.count_file);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static int counted_main(int argc, char **argv, char **environment)
{
    read_settings();
    atexit(write_count);
    atomic_store(&fault.started, true);
    return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                void (*)(void), void *);

    find("__libc_start_main", &real, sizeof(real));
    real_main = main;
    return real(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

#pragma GCC visibility pop
