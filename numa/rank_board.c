/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create(), seals */
#include "rank_board_int.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thread_int.h"

/* Bits of `calls` below the number of the run. */
enum { CALL_BITS = 48 };

static const uint64_t MIXED = UINT64_MAX; /* `calls` of a rank that has several runs at once */

/* A rank's entry: a cache line, which only that rank writes. The words are hints for messages, so
 * no order between them matters. */
typedef struct entry {
    _Alignas(64) _Atomic uint64_t calls; /* run << CALL_BITS | calls of agree in it */
    _Atomic uint64_t step;
    _Atomic uint64_t failed; /* the run that has failed, as in `calls`; 0: none */
} entry;

/* `lock` guards what is not atomic, and the mapping against sli_rank_board_close(). */
static struct {
    pthread_mutex_t lock;
    entry *entries; /* (ranks); NULL: no board */
    uint32_t own;
    uint32_t ranks;
    uint64_t runs; /* begun so far by this process */
    uint32_t running;
    uint32_t fork_generation;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

int sli_rank_board_make(uint32_t ranks)
{
    const int fd = memfd_create("sluice ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd >= 0 && (ftruncate(fd, (off_t)(ranks * sizeof(entry))) != 0 ||
                    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* True if accesses to the whole board are safe: no process can truncate it. */
static bool is_sealed(int fd, uint32_t ranks)
{
    struct stat facts;
    const int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &facts) == 0 &&
           (uint64_t)facts.st_size >= ranks * sizeof(entry);
}

static void unmap(void)
{
    if (board.entries != NULL) {
        (void)munmap(board.entries, board.ranks * sizeof(entry));
        board.entries = NULL;
    }
}

bool sli_rank_board_open(int fd, uint32_t own, uint32_t ranks)
{
    void *memory = MAP_FAILED;

    if (fd >= 0 && own < ranks && is_sealed(fd, ranks)) {
        memory = mmap(NULL, ranks * sizeof(entry), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    pthread_mutex_lock(&board.lock);
    unmap();
    board.entries = memory != MAP_FAILED ? memory : NULL;
    board.own = own;
    board.ranks = ranks;
    board.running = 0;
    board.fork_generation = sli_fork_generation();
    pthread_mutex_unlock(&board.lock);
    return memory != MAP_FAILED;
}

void sli_rank_board_close(void)
{
    pthread_mutex_lock(&board.lock);
    unmap();
    pthread_mutex_unlock(&board.lock);
}

/* This process's entry, with the lock held; NULL: no board, or the one of the parent process. */
static entry *own_entry(void)
{
    return board.entries != NULL && board.fork_generation == sli_fork_generation()
               ? &board.entries[board.own]
               : NULL;
}

bool sli_rank_board_enter_run(void)
{
    entry *own;

    pthread_mutex_lock(&board.lock);
    own = own_entry();
    if (own != NULL) {
        board.runs++;
        board.running++;
        atomic_store_explicit(&own->calls, board.running == 1 ? board.runs << CALL_BITS : MIXED,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&board.lock);
    return own != NULL;
}

void sli_rank_board_leave_run(void)
{
    pthread_mutex_lock(&board.lock);
    if (board.running > 0) {
        board.running--;
    }
    pthread_mutex_unlock(&board.lock);
}

void sli_rank_board_count(uint64_t step)
{
    entry *own;
    uint64_t calls;

    pthread_mutex_lock(&board.lock);
    own = own_entry();
    if (own != NULL) {
        calls = atomic_load_explicit(&own->calls, memory_order_relaxed);
        atomic_store_explicit(&own->step, step, memory_order_relaxed);
        atomic_store_explicit(&own->calls, calls == MIXED ? MIXED : calls + 1,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&board.lock);
}

void sli_rank_board_fail(void)
{
    entry *own;

    pthread_mutex_lock(&board.lock);
    own = own_entry();
    if (own != NULL) {
        atomic_store_explicit(&own->failed,
                              atomic_load_explicit(&own->calls, memory_order_relaxed) >> CALL_BITS,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&board.lock);
}

sli_rank_progress sli_rank_board_get(uint32_t index)
{
    sli_rank_progress progress = {.place = SLI_RANK_UNKNOWN};
    const entry *own;

    pthread_mutex_lock(&board.lock);
    own = own_entry();
    if (own != NULL && index < board.ranks) {
        const entry *other = &board.entries[index];
        const uint64_t theirs = atomic_load_explicit(&other->calls, memory_order_relaxed);
        const uint64_t ours = atomic_load_explicit(&own->calls, memory_order_relaxed);
        const uint64_t run = ours >> CALL_BITS;

        if (theirs != MIXED && ours != MIXED && theirs >> CALL_BITS == run && run > 0) {
            progress.place = theirs >= ours ? SLI_RANK_CAME : SLI_RANK_BEHIND;
            progress.step = atomic_load_explicit(&other->step, memory_order_relaxed);
            progress.failed = atomic_load_explicit(&other->failed, memory_order_relaxed) == run;
        }
    }
    pthread_mutex_unlock(&board.lock);
    return progress;
}
