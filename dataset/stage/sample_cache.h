/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of samples, by their numbers, in a memory of a fixed size. Samples are added until the
 * memory is full, and never evicted: a pass reads each sample once, so eviction would not give more
 * hits.
 *
 * Because an entry is never changed or moved, any thread reads it without a lock, and without a
 * copy. A writer reserves memory with one atomic operation, writes the entry, and stores its offset
 * in the table with a second one. So there is nothing to wait for: until then other threads find no
 * entry, and load the sample themselves. A writer that is killed leaves an entry that is never
 * found, and no lock.
 *
 * The memory is private, or a memfd that several processes have mapped. It has a head, the table
 * with an offset for each sample, and the entries.
 */
#ifndef SLUICE_SAMPLE_CACHE_H
#define SLUICE_SAMPLE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct sample_cache sample_cache;

/* Identifies a cache; equal in all processes that share it. */
typedef struct cache_key {
    uint64_t bytes;    /* size of the memory, with head and table */
    uint64_t samples;  /* sample numbers are below this */
    uint64_t parts;    /* entries of a sample: part p of sample s has number s + p * samples */
    uint64_t identity; /* hash of what the entries hold */
    uint64_t columns;  /* hash of the columns that they have */
} cache_key;

/* E_INVALID: the bytes do not hold even the table of the samples. */
sluice_status sample_cache_check(const cache_key *key);

/*
 * Creates a cache in private memory, which is allocated as it is filled. E_INVALID: the bytes do
 * not hold even the table of the samples; E_NO_MEMORY.
 */
sluice_status sample_cache_create(const cache_key *key, sample_cache **cache_out);

/*
 * Creates a cache in a memfd, for sample_cache_attach() in other processes. Its size is sealed, and
 * memory is allocated before it is written, so no access can raise SIGBUS. Also returns E_IO.
 */
sluice_status sample_cache_create_shared(const cache_key *key, sample_cache **cache_out);

/*
 * Maps the cache that another process has created; takes over `fd` and closes it, also on failure.
 * E_INVALID: it is not a cache with this key, or not of this version of the library.
 */
sluice_status sample_cache_attach(int fd, const cache_key *key, sample_cache **cache_out);

/* Frees the memory, unless another process has mapped it. Accepts NULL. */
void sample_cache_destroy(sample_cache *cache);

/* The descriptor of the memfd, owned by the cache; -1: the memory is private. */
int sample_cache_descriptor(const sample_cache *cache);

/*
 * Returns the entry of a sample, aligned to 64 bytes and followed by IMAGE_SLACK readable bytes;
 * valid as long as the cache. NULL: there is none. Callable from any thread.
 */
const void *sample_cache_find(const sample_cache *cache, uint64_t sample, size_t *bytes_out);

/* True if there is room for an entry of this size. Another thread may take it at any time. */
bool sample_cache_has_room(const sample_cache *cache, size_t bytes);

/*
 * Reserves memory for the entry of a sample: aligned to 64 bytes, followed by IMAGE_SLACK zeros.
 * NULL: there is an entry already, or no room. The caller writes the entry, and publishes it; if it
 * does not, the memory is lost. Callable from any thread.
 */
void *sample_cache_reserve(sample_cache *cache, uint64_t sample, size_t bytes);

/* Makes a reserved and written entry visible. False: another thread was faster with an equal entry,
 * and the memory of this one is lost. */
bool sample_cache_publish(sample_cache *cache, uint64_t sample, const void *room);

typedef struct sample_cache_use {
    uint64_t entries; /* of all processes */
    uint64_t bytes;   /* of entries, table and head, including lost memory */
    uint64_t limit;
    bool is_full; /* an entry found no room, or the kernel refused memory */
} sample_cache_use;

void sample_cache_usage(const sample_cache *cache, sample_cache_use *use_out);

#endif
