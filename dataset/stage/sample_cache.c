/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create(), fallocate(), seals */
#include "sample_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc_int.h"
#include "image.h"
#include "log_int.h"
#include "node_memory_int.h"
#include "status_int.h"

/* LOCK_TRIES: attempts, 1 ms apart, to lock the allocation of shared memory. */
enum { LINE = 64, VERSION = 3, LOCK_TRIES = 50 };

static const uint64_t MAGIC = UINT64_C(0x4548434143534C53);

/* Shared memory is allocated in steps of this size, one huge page. */
static const uint64_t STEP = 2 << 20;

/* The beginning of the memory. The counters are in a cache line of their own, since each added
 * entry changes them. */
typedef struct cache_head {
    uint64_t magic;
    uint64_t version;
    cache_key key;
    uint64_t unused;
    _Atomic uint64_t used;      /* bytes reserved, from the beginning of the memory on */
    _Atomic uint64_t allocated; /* of a memfd: allocated bytes, from the beginning on */
    _Atomic uint64_t entries;   /* of first parts */
    _Atomic uint64_t is_full;
    uint64_t unused_too[4];
    _Atomic uint64_t table[]; /* (parts * samples) offset of the entry; 0: none */
} cache_head;

/* The beginning of an entry. */
typedef struct entry_head {
    uint64_t sample;
    uint64_t bytes;
    uint64_t unused[6];
} entry_head;

_Static_assert(sizeof(cache_head) == 2 * LINE && sizeof(entry_head) == LINE, "whole cache lines");

struct sample_cache {
    cache_key key;
    cache_head *head;      /* the memory */
    sli_node_block block;  /* private memory; data is NULL: it is a memfd */
    int fd;                /* the memfd; -1: private memory */
    pthread_mutex_t lock;  /* held while a thread of this process allocates memory of the memfd */
    _Atomic bool is_short; /* the kernel has refused to allocate more */
};

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t whole_lines(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Number of entries that the table has; UINT64_MAX: too many. */
static uint64_t entries_of(const cache_key *key)
{
    uint64_t entries;

    return __builtin_mul_overflow(key->samples, key->parts, &entries) ? UINT64_MAX : entries;
}

/* Bytes of the head and the table; UINT64_MAX: too many samples. */
static uint64_t begin_of_entries(const cache_key *key)
{
    const uint64_t entries = entries_of(key);

    return entries < UINT64_MAX / 16 ? whole_lines(sizeof(cache_head) + entries * sizeof(uint64_t))
                                     : UINT64_MAX;
}

/* Bytes that an entry takes, with its head and the slack; UINT64_MAX: too large. */
static uint64_t bytes_of_entry(uint64_t bytes)
{
    return bytes < UINT64_MAX / 2 ? sizeof(entry_head) + whole_lines(bytes + IMAGE_SLACK)
                                  : UINT64_MAX;
}

sluice_status sample_cache_check(const cache_key *key)
{
    const uint64_t least = begin_of_entries(key);

    if (key->bytes <= least || key->bytes > SIZE_MAX / 2) {
        return sli_fail(SLUICE_E_INVALID,
                        "cache: %.6g MB are too few for %llu samples, whose table alone "
                        "takes %.6g MB; allow more bytes",
                        (double)key->bytes / 1e6, (unsigned long long)key->samples,
                        (double)least / 1e6);
    }
    return SLUICE_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static sluice_status failed(const char *what)
{
    char buffer[128] = "";
    const char *cause = strerror_r(errno, buffer, sizeof(buffer));

    return sli_fail(SLUICE_E_IO, "cache: %s: %s", what, cause);
}

static sample_cache *new_cache(const cache_key *key)
{
    sample_cache *cache = sli_calloc(1, sizeof(*cache));

    if (cache != NULL) {
        cache->key = *key;
        cache->fd = -1;
        pthread_mutex_init(&cache->lock, NULL);
    } else {
        sli_fail(SLUICE_E_NO_MEMORY, "a cache");
    }
    return cache;
}

static void write_head(sample_cache *cache, uint64_t allocated)
{
    cache_head *head = cache->head;

    head->magic = MAGIC;
    head->version = VERSION;
    head->key = cache->key;
    atomic_store_explicit(&head->used, begin_of_entries(&cache->key), memory_order_relaxed);
    atomic_store_explicit(&head->allocated, allocated, memory_order_relaxed);
}

sluice_status sample_cache_create(const cache_key *key, sample_cache **cache_out)
{
    sample_cache *cache;
    sluice_status st = sample_cache_check(key);

    if (st != SLUICE_OK) {
        return st;
    }
    cache = new_cache(key);
    if (cache == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    st = sli_node_alloc((size_t)key->bytes, -1, &cache->block);
    if (st != SLUICE_OK) {
        sample_cache_destroy(cache);
        return st;
    }
    cache->head = cache->block.data;
    write_head(cache, key->bytes);
    *cache_out = cache;
    return SLUICE_OK;
}

/* Maps the memfd. */
static sluice_status map(sample_cache *cache)
{
    void *data =
        mmap(NULL, (size_t)cache->key.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cache->fd, 0);

    if (data == MAP_FAILED) {
        return sli_fail(SLUICE_E_NO_MEMORY, "cache: no address space for %.6g MB",
                        (double)cache->key.bytes / 1e6);
    }
    cache->head = data;
    return SLUICE_OK;
}

/* Allocates the bytes [from, end) of a memfd. False: the kernel has no memory. */
static bool allocate(int fd, uint64_t from, uint64_t end)
{
    int result;

    do {
        result = fallocate(fd, 0, (off_t)from, (off_t)(end - from));
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* ftruncate() beyond the process's limit on file sizes (ulimit -f) would raise SIGXFSZ. */
static sluice_status check_file_limit(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes
               ? SLUICE_OK
               : sli_fail(SLUICE_E_IO,
                          "cache: %.6g MB of shared memory exceed the limit of %.6g MB on the size "
                          "of a file; raise it (ulimit -f)",
                          (double)bytes / 1e6, (double)limit.rlim_cur / 1e6);
}

static sluice_status make_memfd(sample_cache *cache, uint64_t begin)
{
    const sluice_status st = check_file_limit(cache->key.bytes);

    if (st != SLUICE_OK) {
        return st;
    }
    cache->fd = memfd_create("sluice cache", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (cache->fd < 0) {
        return failed("memfd_create");
    }
    if (ftruncate(cache->fd, (off_t)cache->key.bytes) != 0) {
        return failed("ftruncate");
    }
    if (fcntl(cache->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return failed("F_ADD_SEALS");
    }
    if (!allocate(cache->fd, 0, begin)) {
        return sli_fail(SLUICE_E_NO_MEMORY, "cache: no memory for the table of %llu samples",
                        (unsigned long long)cache->key.samples);
    }
    return map(cache);
}

sluice_status sample_cache_create_shared(const cache_key *key, sample_cache **cache_out)
{
    const uint64_t begin = begin_of_entries(key);
    sample_cache *cache;
    sluice_status st = sample_cache_check(key);

    if (st != SLUICE_OK) {
        return st;
    }
    cache = new_cache(key);
    if (cache == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    st = make_memfd(cache, begin);
    if (st != SLUICE_OK) {
        sample_cache_destroy(cache);
        return st;
    }
    write_head(cache, begin);
    *cache_out = cache;
    return SLUICE_OK;
}

/* Checks, before the memory is mapped, that accesses within the key's bytes are safe. */
static sluice_status check_memfd(const sample_cache *cache)
{
    const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct stat facts;

    if (fstat(cache->fd, &facts) != 0) {
        return failed("fstat");
    }
    if ((uint64_t)facts.st_size != cache->key.bytes ||
        (fcntl(cache->fd, F_GET_SEALS) & sealed) != sealed) {
        return sli_fail(SLUICE_E_INVALID,
                        "cache: another rank has sent shared memory of %lld bytes, and it must be "
                        "sealed and have %llu bytes",
                        (long long)facts.st_size, (unsigned long long)cache->key.bytes);
    }
    return SLUICE_OK;
}

static sluice_status check_head(const sample_cache *cache)
{
    const cache_head *head = cache->head;

    return head->magic == MAGIC && head->version == VERSION &&
                   memcmp(&head->key, &cache->key, sizeof(head->key)) == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "cache: another rank has another dataset or pipeline before the cache, "
                          "or another version of the library");
}

sluice_status sample_cache_attach(int fd, const cache_key *key, sample_cache **cache_out)
{
    sample_cache *cache = new_cache(key);
    sluice_status st;

    if (cache == NULL) {
        close(fd);
        return SLUICE_E_NO_MEMORY;
    }
    cache->fd = fd;
    st = sample_cache_check(key);
    if (st == SLUICE_OK) {
        st = check_memfd(cache);
    }
    if (st == SLUICE_OK) {
        st = map(cache);
    }
    if (st == SLUICE_OK) {
        st = check_head(cache);
    }
    if (st != SLUICE_OK) {
        sample_cache_destroy(cache);
        return st;
    }
    *cache_out = cache;
    return SLUICE_OK;
}

void sample_cache_destroy(sample_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    if (cache->block.data != NULL) {
        sli_node_free(&cache->block);
    } else if (cache->head != NULL) {
        munmap(cache->head, (size_t)cache->key.bytes);
    }
    if (cache->fd >= 0) {
        close(cache->fd);
    }
    pthread_mutex_destroy(&cache->lock);
    sli_free(cache);
}

int sample_cache_descriptor(const sample_cache *cache)
{
    return cache->fd;
}

/* ---- entries --------------------------------------------------------------------------------- */

static entry_head *entry_at(const sample_cache *cache, uint64_t offset)
{
    return (entry_head *)(void *)((unsigned char *)cache->head + offset);
}

/* True if an entry may begin at this offset, which is read from memory that other processes write.
 */
static bool is_offset(const sample_cache *cache, uint64_t offset)
{
    return offset >= begin_of_entries(&cache->key) && offset <= cache->key.bytes &&
           offset % LINE == 0;
}

const void *sample_cache_find(const sample_cache *cache, uint64_t sample, size_t *bytes_out)
{
    const uint64_t limit = cache->key.bytes;
    const entry_head *entry;
    uint64_t offset;
    uint64_t bytes;

    if (sample >= entries_of(&cache->key)) {
        return NULL;
    }
    /* Pairs with the release in sample_cache_publish(). */
    offset = atomic_load_explicit(&cache->head->table[sample], memory_order_acquire);
    if (offset == 0 || !is_offset(cache, offset) || offset > limit - sizeof(entry_head)) {
        return NULL;
    }
    entry = entry_at(cache, offset);
    bytes = __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED); /* once: it may change, see below */
    if (entry->sample != sample || bytes_of_entry(bytes) > limit - offset) {
        return NULL; /* another process has overwritten the memory */
    }
    *bytes_out = (size_t)bytes;
    return entry + 1;
}

bool sample_cache_has_room(const sample_cache *cache, size_t bytes)
{
    const uint64_t used = atomic_load_explicit(&cache->head->used, memory_order_relaxed);

    if (used > cache->key.bytes || bytes_of_entry(bytes) > cache->key.bytes - used) {
        atomic_store_explicit(&cache->head->is_full, 1, memory_order_relaxed);
        return false;
    }
    return !atomic_load_explicit(&cache->is_short, memory_order_relaxed);
}

/* Locks or unlocks the allocation of the memfd against other processes; the kernel unlocks it when
 * this process ends. Gives up after a while, since the other process may be stopped. */
static bool lock_allocation(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
    const struct timespec pause = {.tv_nsec = 1000000};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (fcntl(fd, F_SETLK, &lock) == 0) {
            return true;
        }
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static void warn_short(sample_cache *cache, uint64_t allocated)
{
    if (!atomic_exchange_explicit(&cache->is_short, true, memory_order_relaxed)) {
        (void)failed("fallocate");
        sli_log(SLUICE_LOG_WARN,
                "%s: %.6g of %.6g MB are in use, and no more samples are added; lower its bytes, "
                "or free memory",
                sluice_last_error(), (double)allocated / 1e6, (double)cache->key.bytes / 1e6);
    }
}

/* Ends the additions of this process; entries that are there are still used. */
static void warn_corrupt(sample_cache *cache, const char *word, uint64_t value)
{
    if (!atomic_exchange_explicit(&cache->is_short, true, memory_order_relaxed)) {
        sli_log(SLUICE_LOG_WARN,
                "cache: its shared memory is corrupt: %s is %llu, and must be a multiple of %d "
                "from %llu to %llu; this rank adds no more samples",
                word, (unsigned long long)value, LINE,
                (unsigned long long)begin_of_entries(&cache->key),
                (unsigned long long)cache->key.bytes);
    }
}

/*
 * Allocates the memory of a memfd up to `end`, in steps of STEP bytes, on the NUMA node of the
 * calling thread. One thread of all processes allocates at a time, since a failed fallocate() frees
 * what it has allocated.
 */
static bool make_exist(sample_cache *cache, uint64_t end)
{
    cache_head *head = cache->head;
    uint64_t up_to = (end + STEP - 1) / STEP * STEP;
    uint64_t from;
    bool exists = false;

    up_to = up_to < cache->key.bytes ? up_to : cache->key.bytes;
    pthread_mutex_lock(&cache->lock);
    if (lock_allocation(cache->fd, F_WRLCK)) {
        from = atomic_load_explicit(&head->allocated, memory_order_relaxed);
        exists = from <= cache->key.bytes && (end <= from || allocate(cache->fd, from, up_to));
        if (from > cache->key.bytes) {
            warn_corrupt(cache, "the number of allocated bytes", from);
        } else if (!exists) {
            warn_short(cache, from);
        } else if (from < up_to) {
            atomic_store_explicit(&head->allocated, up_to, memory_order_relaxed);
        }
        (void)lock_allocation(cache->fd, F_UNLCK);
    }
    pthread_mutex_unlock(&cache->lock);
    return exists;
}

/* Reserves allocated memory. Returns its offset; 0: there is no room. */
static uint64_t take_bytes(sample_cache *cache, uint64_t bytes)
{
    cache_head *head = cache->head;
    uint64_t used = atomic_load_explicit(&head->used, memory_order_relaxed);
    uint64_t allocated;

    do {
        if (!is_offset(cache, used)) {
            warn_corrupt(cache, "the number of used bytes", used);
            return 0;
        }
        if (bytes > cache->key.bytes - used) {
            atomic_store_explicit(&head->is_full, 1, memory_order_relaxed);
            return 0;
        }
        allocated = atomic_load_explicit(&head->allocated, memory_order_relaxed);
        if ((used + bytes > allocated || allocated > cache->key.bytes) &&
            !make_exist(cache, used + bytes)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak_explicit(&head->used, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return used;
}

void *sample_cache_reserve(sample_cache *cache, uint64_t sample, size_t bytes)
{
    entry_head *entry;
    uint64_t offset;

    if (sample >= entries_of(&cache->key) ||
        atomic_load_explicit(&cache->head->table[sample], memory_order_relaxed) != 0 ||
        atomic_load_explicit(&cache->is_short, memory_order_relaxed)) {
        return NULL;
    }
    offset = take_bytes(cache, bytes_of_entry(bytes));
    if (offset == 0) {
        return NULL;
    }
    entry = entry_at(cache, offset);
    entry->sample = sample;
    entry->bytes = bytes;
    return entry + 1;
}

bool sample_cache_publish(sample_cache *cache, uint64_t sample, const void *room)
{
    const uint64_t offset =
        (uint64_t)((const unsigned char *)room - (const unsigned char *)cache->head) -
        sizeof(entry_head);
    uint64_t none = 0;

    /* Pairs with the acquire in sample_cache_find(). */
    if (!atomic_compare_exchange_strong_explicit(&cache->head->table[sample], &none, offset,
                                                 memory_order_release, memory_order_relaxed)) {
        return false;
    }
    atomic_fetch_add_explicit(&cache->head->entries, sample < cache->key.samples,
                              memory_order_relaxed);
    return true;
}

void sample_cache_usage(const sample_cache *cache, sample_cache_use *use_out)
{
    const cache_head *head = cache->head;

    use_out->entries = atomic_load_explicit(&head->entries, memory_order_relaxed);
    use_out->bytes = atomic_load_explicit(&head->used, memory_order_relaxed);
    use_out->limit = cache->key.bytes;
    use_out->is_full = atomic_load_explicit(&head->is_full, memory_order_relaxed) != 0 ||
                       atomic_load_explicit(&cache->is_short, memory_order_relaxed);
}
