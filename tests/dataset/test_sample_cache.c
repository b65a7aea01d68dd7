/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the cache: entries that many threads add and read. */
#include "sample_cache.h"

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fallocate_kit.h"
#include "image.h"
#include "log_kit.h"
#include "testing.h"

enum { SAMPLES = 300, THREADS = 8 };

/* Bytes of a sample's entry, and what is in them. */
static size_t size_of(uint64_t sample)
{
    return (size_t)(1 + sample * 37 % 5000);
}

static uint8_t byte_of(uint64_t sample, size_t i)
{
    return (uint8_t)(sample * 31 + i);
}

/* Adds a sample; false: no room, or it is there. */
static bool add(sample_cache *cache, uint64_t sample)
{
    uint8_t *room = sample_cache_reserve(cache, sample, size_of(sample));

    if (room == NULL) {
        return false;
    }
    for (size_t i = 0; i < size_of(sample); i++) {
        room[i] = byte_of(sample, i);
    }
    return sample_cache_publish(cache, sample, room);
}

/* True if the sample is found, as it was added, and zeros follow it. */
static bool is_right(const sample_cache *cache, uint64_t sample)
{
    size_t bytes = 0;
    const uint8_t *found = sample_cache_find(cache, sample, &bytes);
    size_t wrong = 0;

    for (size_t i = 0; found != NULL && i < bytes; i++) {
        wrong += found[i] != byte_of(sample, i);
    }
    for (size_t i = bytes; found != NULL && i < bytes + IMAGE_SLACK; i++) {
        wrong += found[i] != 0;
    }
    return found != NULL && bytes == size_of(sample) && wrong == 0 && (uintptr_t)found % 64 == 0;
}

static sample_cache *make(uint64_t bytes, uint64_t samples)
{
    const cache_key key = {bytes, samples, 1, 7, 3};
    sample_cache *cache = NULL;

    T_OK(sample_cache_create(&key, &cache));
    return cache;
}

static void what_is_added_is_found(void)
{
    sample_cache *cache = make(4 << 20, SAMPLES);
    sample_cache_use use;
    size_t bytes;

    for (uint64_t s = 0; s < SAMPLES; s++) {
        T_TRUE(sample_cache_find(cache, s, &bytes) == NULL);
        T_TRUE(add(cache, s));
        T_TRUE(!add(cache, s));
    }
    for (uint64_t s = 0; s < SAMPLES; s++) {
        T_TRUE(is_right(cache, s));
    }
    T_TRUE(sample_cache_find(cache, SAMPLES, &bytes) == NULL);
    T_TRUE(sample_cache_find(cache, UINT64_MAX, &bytes) == NULL);
    T_TRUE(sample_cache_reserve(cache, SAMPLES, 1) == NULL);
    sample_cache_usage(cache, &use);
    T_EQ(use.entries, SAMPLES);
    T_TRUE(!use.is_full && use.bytes < use.limit);
    T_EQ(use.limit, 4 << 20);
    sample_cache_destroy(cache);
}

static void a_full_cache_keeps_what_it_has(void)
{
    const uint64_t bytes = 64 << 10;
    sample_cache *cache = make(bytes, SAMPLES);
    sample_cache_use use;
    uint64_t added = 0;
    uint64_t found = 0;

    for (uint64_t s = 0; s < SAMPLES; s++) {
        added += add(cache, s);
    }
    sample_cache_usage(cache, &use);
    T_TRUE(use.is_full && use.bytes <= bytes && added > 10 && added < SAMPLES);
    T_EQ(use.entries, added);
    for (uint64_t s = 0; s < SAMPLES; s++) {
        size_t size;

        if (sample_cache_find(cache, s, &size) != NULL) {
            T_TRUE(is_right(cache, s));
            found++;
        }
    }
    T_EQ(found, added);
    T_TRUE(!sample_cache_has_room(cache, bytes));
    T_TRUE(sample_cache_reserve(cache, 0, SIZE_MAX - 8) == NULL);
    sample_cache_destroy(cache);
}

static void an_entry_that_is_not_published_is_not_found(void)
{
    sample_cache *cache = make(1 << 20, SAMPLES);
    uint8_t *room = sample_cache_reserve(cache, 3, size_of(3));
    size_t bytes;

    T_TRUE(room != NULL);
    memset(room, 1, size_of(3) / 2);
    T_TRUE(sample_cache_find(cache, 3, &bytes) == NULL);
    T_TRUE(add(cache, 3)); /* by another one, meanwhile */
    T_TRUE(is_right(cache, 3));
    T_TRUE(!sample_cache_publish(cache, 3, room));
    T_TRUE(is_right(cache, 3));
    sample_cache_destroy(cache);
}

static void too_small_a_cache_is_refused(void)
{
    const uint64_t counts[] = {4096, UINT64_MAX / 8, UINT64_MAX};
    sample_cache *cache = NULL;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const cache_key key = {8192, counts[i], 1, 7, 3};

        T_STATUS(sample_cache_create(&key, &cache), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "allow more bytes");
        T_TRUE(cache == NULL);
    }
    sample_cache_destroy(NULL);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct crowd {
    sample_cache *cache;
    _Atomic uint64_t added;
    _Atomic uint64_t wrong;
    _Atomic uint32_t next; /* thread number */
} crowd;

static void *add_and_find(void *arg)
{
    crowd *c = arg;
    const uint32_t thread = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
    size_t bytes;

    for (uint64_t k = 0; k < 4 * SAMPLES; k++) {
        const uint64_t sample = (k * 7 + thread * 13) % SAMPLES;

        if (sample_cache_find(c->cache, sample, &bytes) != NULL) {
            atomic_fetch_add_explicit(&c->wrong, !is_right(c->cache, sample), memory_order_relaxed);
        } else {
            atomic_fetch_add_explicit(&c->added, add(c->cache, sample), memory_order_relaxed);
        }
    }
    return NULL;
}

static void threads_find_whole_entries_only(void)
{
    const uint64_t sizes[] = {4 << 20, 100 << 10};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        crowd c = {.cache = make(sizes[i], SAMPLES)};
        pthread_t threads[THREADS];
        sample_cache_use use;

        for (uint32_t t = 0; t < THREADS; t++) {
            T_EQ(pthread_create(&threads[t], NULL, add_and_find, &c), 0);
        }
        for (uint32_t t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
        }
        sample_cache_usage(c.cache, &use);
        T_EQ(c.wrong, 0);
        T_EQ(use.entries, c.added);
        T_TRUE(use.bytes <= use.limit);
        T_TRUE(i > 0 || use.entries == SAMPLES);
        sample_cache_destroy(c.cache);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

static sample_cache *make_shared(uint64_t bytes, uint64_t samples)
{
    const cache_key key = {bytes, samples, 1, 7, 3};
    sample_cache *cache = NULL;

    T_OK(sample_cache_create_shared(&key, &cache));
    return cache;
}

/* Attaches to the cache, in a child. */
static sample_cache *attached(const sample_cache *cache, uint64_t bytes)
{
    const cache_key key = {bytes, SAMPLES, 1, 7, 3};
    sample_cache *own = NULL;

    return sample_cache_attach(dup(sample_cache_descriptor(cache)), &key, &own) == SLUICE_OK ? own
                                                                                             : NULL;
}

/* A child that adds every third sample. `killed`: SIGKILL ends it while it writes sample 1. */
static void be_a_rank(const sample_cache *cache, uint64_t bytes, uint32_t rank, bool killed)
{
    sample_cache *own = attached(cache, bytes);
    uint64_t wrong = 0;

    if (own == NULL) {
        _exit(2);
    }
    for (uint64_t s = rank; s < SAMPLES; s += 3) {
        if (killed && s == 1) {
            uint8_t *room = sample_cache_reserve(own, s, size_of(s));

            memset(room, 0xEE, size_of(s) / 2);
            raise(SIGKILL);
        }
        (void)add(own, s);
    }
    for (uint64_t s = 0; s < SAMPLES; s++) {
        size_t size;

        wrong += sample_cache_find(own, s, &size) != NULL && !is_right(own, s);
    }
    sample_cache_destroy(own);
    _exit(wrong > 0);
}

static void processes_share_entries(void)
{
    const uint64_t bytes = 8 << 20; /* entries take less than half, but more than one step */
    sample_cache *cache = make_shared(bytes, SAMPLES);
    sample_cache_use use;
    pid_t pids[3];

    for (uint32_t r = 0; r < 3; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            be_a_rank(cache, bytes, r, false);
        }
    }
    for (uint32_t r = 0; r < 3; r++) {
        int status = -1;

        T_EQ(waitpid(pids[r], &status, 0), pids[r]);
        T_EQ(status, 0);
    }
    for (uint64_t s = 0; s < SAMPLES; s++) {
        T_TRUE(is_right(cache, s));
    }
    sample_cache_usage(cache, &use);
    T_EQ(use.entries, SAMPLES);
    sample_cache_destroy(cache);
}

static void a_killed_writer_leaves_no_entry_and_no_lock(void)
{
    const uint64_t bytes = 8 << 20;
    sample_cache *cache = make_shared(bytes, SAMPLES);
    int status = -1;
    size_t size;
    pid_t pid = fork();

    if (pid == 0) {
        be_a_rank(cache, bytes, 1, true);
    }
    T_EQ(waitpid(pid, &status, 0), pid);
    T_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    T_TRUE(sample_cache_find(cache, 1, &size) == NULL);
    T_TRUE(add(cache, 1));
    for (uint64_t s = 0; s < SAMPLES; s++) {
        T_TRUE(s == 1 || add(cache, s));
        T_TRUE(is_right(cache, s));
    }
    sample_cache_destroy(cache);
}

/* So it is in no file system, and nothing is left when the last process is killed. */
static void shared_memory_has_no_name(void)
{
    sample_cache *cache = make_shared(1 << 20, SAMPLES);
    struct stat facts;
    glob_t found;

    T_EQ(fstat(sample_cache_descriptor(cache), &facts), 0);
    T_EQ(facts.st_nlink, 0);
    T_EQ(glob("/dev/shm/*sluice*", 0, NULL, &found), GLOB_NOMATCH);
    sample_cache_destroy(cache);
}

/* The size is sealed, so that no process can take memory away from the others. */
static void the_size_of_shared_memory_is_sealed(void)
{
    sample_cache *cache = make_shared(1 << 20, SAMPLES);

    T_TRUE(ftruncate(sample_cache_descriptor(cache), 4096) != 0);
    T_TRUE(ftruncate(sample_cache_descriptor(cache), 2 << 20) != 0);
    sample_cache_destroy(cache);
}

static void only_the_memory_of_this_cache_is_attached(void)
{
    const cache_key keys[] = {{1 << 20, SAMPLES, 1, 8, 3},
                              {1 << 20, 100, 1, 7, 3},
                              {2 << 20, SAMPLES, 1, 7, 3},
                              {1 << 20, SAMPLES, 2, 7, 3},
                              {1 << 20, SAMPLES, 1, 7, 4}};
    const cache_key right = {1 << 20, SAMPLES, 1, 7, 3};
    sample_cache *cache = make_shared(1 << 20, SAMPLES);
    sample_cache *own = NULL;
    int fd;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        T_STATUS(sample_cache_attach(dup(sample_cache_descriptor(cache)), &keys[i], &own),
                 SLUICE_E_INVALID);
        T_TRUE(own == NULL);
    }
    fd = memfd_create("other", MFD_CLOEXEC);
    T_EQ(ftruncate(fd, 1 << 20), 0);
    T_STATUS(sample_cache_attach(fd, &right, &own), SLUICE_E_INVALID); /* not sealed */
    T_STATUS(sample_cache_attach(-1, &right, &own), SLUICE_E_IO);
    sample_cache_destroy(cache);
}

/* A damaged table or entry, as another process may leave it, is no entry. */
static void damaged_memory_is_not_read(void)
{
    const uint64_t bytes = 1 << 20;
    sample_cache *cache = make_shared(bytes, SAMPLES);
    uint64_t *words =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, sample_cache_descriptor(cache), 0);
    const uint64_t wrong[] = {1, 64 + 1, bytes, bytes - 64, bytes - 63, UINT64_MAX, 64};
    size_t size;

    T_TRUE(words != MAP_FAILED);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        words[16 + i] = wrong[i]; /* the table comes after 128 bytes */
        T_TRUE(sample_cache_find(cache, i, &size) == NULL);
    }
    T_TRUE(add(cache, 20));
    T_TRUE(is_right(cache, 20));
    words[words[16 + 20] / 8 + 1] = bytes; /* its length */
    T_TRUE(sample_cache_find(cache, 20, &size) == NULL);
    words[words[16 + 20] / 8 + 1] = UINT64_MAX;
    T_TRUE(sample_cache_find(cache, 20, &size) == NULL);
    munmap(words, bytes);
    sample_cache_destroy(cache);
}

/* An offset in the table itself, at words that look like the entry of the sample. */
static void an_entry_in_the_table_is_not_read(void)
{
    const uint64_t bytes = 1 << 20;
    sample_cache *cache = make_shared(bytes, SAMPLES);
    uint64_t *words =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, sample_cache_descriptor(cache), 0);
    size_t size;

    T_TRUE(words != MAP_FAILED);
    words[16 + 8] = 5; /* number */
    words[16 + 9] = 8; /* bytes */
    words[16 + 5] = 128 + 64;
    T_TRUE(sample_cache_find(cache, 5, &size) == NULL);
    munmap(words, bytes);
    sample_cache_destroy(cache);
}

/* The words that say where the next entry begins, and up to where memory is allocated. */
static void damaged_counters_end_the_additions(void)
{
    enum { USED = 8, ALLOCATED = 9 };
    const uint64_t bytes = 1 << 20;
    const struct {
        int word;
        uint64_t value;
        const char *says;
    } wrong[] = {
        {USED, 0,
         "the number of used bytes is 0, and must be a multiple of 64 from 2560 to 1048576"},
        {USED, 64, "the number of used bytes is 64"},
        {USED, 2560 - 64, "the number of used bytes is 2496"},
        {USED, 2561, "the number of used bytes is 2561"},
        {USED, (1 << 20) + 64, "the number of used bytes is 1048640"},
        {USED, UINT64_MAX - 63, "the number of used bytes is 18446744073709551552"},
        {ALLOCATED, (1 << 20) + 1, "the number of allocated bytes is 1048577"},
        {ALLOCATED, UINT64_MAX, "the number of allocated bytes is 18446744073709551615"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        sample_cache *cache = make_shared(bytes, SAMPLES);
        uint64_t *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                               sample_cache_descriptor(cache), 0);
        uint64_t before[16];

        T_TRUE(words != MAP_FAILED);
        T_TRUE(add(cache, 20));
        words[wrong[i].word] = wrong[i].value;
        memcpy(before, words, sizeof(before));
        kit_log_start(NULL, NULL);
        T_TRUE(!add(cache, 21));
        T_TRUE(!add(cache, 22));
        T_CONTAINS(kit_log_stop(), wrong[i].says);
        T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
        T_EQ(memcmp(before, words, sizeof(before)), 0);
        T_TRUE(is_right(cache, 20));
        munmap(words, bytes);
        sample_cache_destroy(cache);
    }
}

enum { LARGE = 20000 };

static bool add_large(sample_cache *cache, uint64_t sample)
{
    uint8_t *room = sample_cache_reserve(cache, sample, LARGE);

    if (room != NULL) {
        memset(room, (int)(sample & 0xFF), LARGE);
    }
    return room != NULL && sample_cache_publish(cache, sample, room);
}

static bool is_large(const sample_cache *cache, uint64_t sample)
{
    size_t bytes = 0;
    const uint8_t *found = sample_cache_find(cache, sample, &bytes);

    return found != NULL && bytes == LARGE && found[0] == (sample & 0xFF) &&
           found[LARGE - 1] == (sample & 0xFF);
}

/* The kernel refuses the second step of 2 MiB, while entries are added. */
static void memory_that_runs_out_leaves_what_is_there(void)
{
    static const int errors[] = {ENOSPC, ENOMEM, EDQUOT};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        sample_cache *cache;
        sample_cache_use use;
        const char *log;
        uint64_t added = 0;
        uint64_t s = 0;

        fallocate_fail_after(2, errors[i]); /* the table, the first step */
        cache = make_shared(64 << 20, SAMPLES);
        kit_log_start(NULL, NULL);
        for (; s < SAMPLES; s++) {
            added += add_large(cache, s);
        }
        T_TRUE(added > 0 && added < SAMPLES);
        T_EQ(fallocate_calls(), 3); /* no further attempts */
        for (s = 0; s < SAMPLES; s++) {
            size_t size;

            T_TRUE(s < added ? is_large(cache, s) : sample_cache_find(cache, s, &size) == NULL);
        }
        sample_cache_usage(cache, &use);
        T_TRUE(use.is_full && use.entries == added && use.bytes <= 2 << 20);
        T_TRUE(use.bytes > (2 << 20) - 2 * LARGE);
        T_TRUE(!sample_cache_has_room(cache, 1));
        log = kit_log_stop();
        T_CONTAINS(log, strerror(errors[i]));
        T_CONTAINS(log, "2.09715 of 67.1089 MB are in use, and no more samples are added");
        T_TRUE(strstr(strstr(log, "cache") + 1, "cache: fallocate") == NULL); /* once */
        sample_cache_destroy(cache);
        fallocate_fail_after(-1, 0);
    }
}

static void memory_that_is_short_at_first_is_an_error(void)
{
    const cache_key key = {1 << 20, SAMPLES, 1, 7, 3};
    sample_cache *cache = NULL;

    fallocate_fail_after(0, ENOSPC);
    T_STATUS(sample_cache_create_shared(&key, &cache), SLUICE_E_NO_MEMORY);
    T_TRUE(cache == NULL);
    T_CONTAINS(sluice_last_error(), "cache: no memory for the table of");
    fallocate_fail_after(-1, 0);
}

static void a_limit_of_files_is_an_error_and_no_signal(void)
{
    const cache_key key = {1 << 20, SAMPLES, 1, 7, 3};
    struct rlimit before;
    struct rlimit low;
    sample_cache *cache = NULL;
    sluice_status st;

    T_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = (struct rlimit){64 << 10, before.rlim_max};
    T_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    st = sample_cache_create_shared(&key, &cache);
    T_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    T_EQ(st, SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "ulimit -f");
}

const t_test sample_cache_tests[] = {
    T_TEST(what_is_added_is_found),
    T_TEST(a_full_cache_keeps_what_it_has),
    T_TEST(an_entry_that_is_not_published_is_not_found),
    T_TEST(too_small_a_cache_is_refused),
    T_TEST(threads_find_whole_entries_only),
    T_TEST(processes_share_entries),
    T_TEST(a_killed_writer_leaves_no_entry_and_no_lock),
    T_TEST(shared_memory_has_no_name),
    T_TEST(the_size_of_shared_memory_is_sealed),
    T_TEST(only_the_memory_of_this_cache_is_attached),
    T_TEST(damaged_memory_is_not_read),
    T_TEST(an_entry_in_the_table_is_not_read),
    T_TEST(damaged_counters_end_the_additions),
    T_TEST(memory_that_runs_out_leaves_what_is_there),
    T_TEST(memory_that_is_short_at_first_is_an_error),
    T_TEST(a_limit_of_files_is_an_error_and_no_signal),
    T_END,
};
