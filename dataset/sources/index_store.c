/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "index_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "crc32c_int.h"
#include "log_int.h"
#include "status_int.h"

enum { MAX_FILES = 64, FILE_HEAD = 16, RECORD_HEAD = 40, RECORD_MAGIC = 0x44524353 };

/* An index is a few hundredths of its image, of which 1 GB is the most. */
static const uint32_t MAX_INDEX = UINT32_C(1) << 28;

/* Where the record of a name is. */
typedef struct store_entry {
    uint64_t name;  /* hash */
    uint64_t place; /* offset << 8 | number of the file; 0: the entry is free */
} store_entry;

struct index_store {
    char *folder;
    int files[MAX_FILES]; /* -1: there is none */
    int own;              /* the number of the one that is written to; -1: none */
    uint64_t own_end;
    store_entry *entries;
    uint64_t mask; /* one less than there are */
    uint64_t used;
    uint64_t most;        /* that may be used */
    pthread_mutex_t lock; /* of all but folder, files and what is counted */
    _Atomic uint64_t found;
    _Atomic uint64_t made;
    _Atomic uint64_t refused;
};

/* ---- the table ------------------------------------------------------------------------------ */

/* The entry of a name, or the free one where it belongs. */
static store_entry *entry_of(const index_store *store, uint64_t name)
{
    uint64_t i = name & store->mask;

    while (store->entries[i].place != 0 && store->entries[i].name != name) {
        i = (i + 1) & store->mask;
    }
    return &store->entries[i];
}

static void enter(index_store *store, uint64_t name, uint64_t place)
{
    store_entry *entry = entry_of(store, name);

    if (entry->place == 0) {
        if (store->used == store->most) {
            return; /* of other images than those it was opened for */
        }
        store->used++;
    }
    *entry = (store_entry){name, place};
}

static sluice_status make_table(index_store *store, uint64_t images)
{
    uint64_t size = 64;

    while (size / 4 < images) {
        size *= 2;
    }
    store->entries = sli_calloc(size, sizeof(*store->entries));
    store->mask = size - 1;
    store->most = size / 2;
    return store->entries != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "the indexes of %" PRIu64 " images", images);
}

/* ---- files ---------------------------------------------------------------------------------- */

static const uint8_t file_head[FILE_HEAD] = {'S', 'L', 'U', 'I', 'C', 'E', 'P', 'L', 1};

/* Reads exactly so many bytes. */
static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
    size_t got = 0;

    while (got < size) {
        const ssize_t more = pread(fd, (uint8_t *)to + got, size - got, (off_t)(offset + got));

        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more <= 0) {
            return false;
        }
        got += (size_t)more;
    }
    return true;
}

static bool write_at(int fd, const void *from, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        const ssize_t more =
            pwrite(fd, (const uint8_t *)from + done, size - done, (off_t)(offset + done));

        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more <= 0) {
            return false;
        }
        done += (size_t)more;
    }
    return true;
}

/* Enters the records of a file. Returns where they end: 0 for a file of another kind. */
static uint64_t list_records(index_store *store, int number)
{
    const int fd = store->files[number];
    uint64_t at = FILE_HEAD;
    uint8_t head[RECORD_HEAD];
    struct stat info;

    if (fstat(fd, &info) != 0 || !read_at(fd, head, FILE_HEAD, 0) ||
        memcmp(head, file_head, FILE_HEAD) != 0) {
        return 0;
    }
    while (read_at(fd, head, RECORD_HEAD, at)) {
        const uint64_t size = sli_get_u32(head + 4);

        if (sli_get_u32(head) != RECORD_MAGIC || size > MAX_INDEX ||
            size > (uint64_t)info.st_size - at - RECORD_HEAD) {
            break;
        }
        enter(store, sli_get_u64(head + 8), at << 8 | (uint64_t)number);
        at += RECORD_HEAD + size;
    }
    return at;
}

/* Makes file `number` the one that is written to, if no other process does. */
static bool take_file(index_store *store, int number, const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    store->files[number] = fd;
    store->own = number;
    store->own_end = list_records(store, number);
    if (store->own_end == 0 && ftruncate(fd, 0) == 0 && write_at(fd, file_head, FILE_HEAD, 0)) {
        store->own_end = FILE_HEAD;
    }
    /* What a process that was killed had begun to write goes. */
    if (store->own_end == 0 || ftruncate(fd, (off_t)store->own_end) != 0) {
        store->own = -1;
    }
    return true;
}

static sluice_status open_files(index_store *store)
{
    char path[4200];

    if (mkdir(store->folder, 0777) != 0 && errno != EEXIST) {
        return sli_fail_errno(SLUICE_E_IO, errno, "index=%s: cannot make this folder",
                              store->folder);
    }
    for (int i = 0; i < MAX_FILES; i++) {
        snprintf(path, sizeof(path), "%s/places-%02d.sluice", store->folder, i);
        if (store->own < 0 && take_file(store, i, path)) {
            continue;
        }
        store->files[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (store->files[i] >= 0) {
            list_records(store, i);
        } else if (errno == ENOTDIR) {
            return sli_fail_errno(SLUICE_E_IO, errno, "index=%s", store->folder);
        }
    }
    if (store->own < 0) {
        sli_log(SLUICE_LOG_WARN,
                "index=%s cannot be written to; what is there already will be used", store->folder);
    }
    return SLUICE_OK;
}

sluice_status index_store_open(const char *folder, uint64_t images, index_store **store_out)
{
    index_store *store = sli_calloc(1, sizeof(*store));
    sluice_status st;

    if (store == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "index=%s", folder);
    }
    pthread_mutex_init(&store->lock, NULL);
    store->own = -1;
    for (int i = 0; i < MAX_FILES; i++) {
        store->files[i] = -1;
    }
    store->folder = sli_strdup(folder);
    st = store->folder != NULL ? make_table(store, images)
                               : sli_fail(SLUICE_E_NO_MEMORY, "index=%s", folder);
    if (st == SLUICE_OK) {
        st = open_files(store);
    }
    if (st != SLUICE_OK) {
        index_store_close(store);
        return st;
    }
    *store_out = store;
    return SLUICE_OK;
}

static void say_counts(const index_store *store)
{
    const uint64_t found = atomic_load_explicit(&store->found, memory_order_relaxed);
    const uint64_t made = atomic_load_explicit(&store->made, memory_order_relaxed);
    const uint64_t refused = atomic_load_explicit(&store->refused, memory_order_relaxed);

    if (found + made + refused > 0) {
        sli_log(SLUICE_LOG_INFO,
                "index=%s: %" PRIu64 " indexes found, %" PRIu64 " made, %" PRIu64
                " refused: damaged or of other bytes",
                store->folder, found, made, refused);
    }
}

void index_store_close(index_store *store)
{
    if (store == NULL) {
        return;
    }
    say_counts(store);
    for (int i = 0; i < MAX_FILES; i++) {
        if (store->files[i] >= 0) {
            close(store->files[i]);
        }
    }
    pthread_mutex_destroy(&store->lock);
    sli_free(store->entries);
    sli_free(store->folder);
    sli_free(store);
}

/* ---- records -------------------------------------------------------------------------------- */

static void write_head(const index_key *key, const uint8_t *bytes, size_t size, uint8_t *head)
{
    sli_put_u32(head, RECORD_MAGIC);
    sli_put_u32(head + 4, (uint32_t)size);
    sli_put_u64(head + 8, key->name);
    sli_put_u64(head + 16, key->size);
    sli_put_u64(head + 24, (uint64_t)key->modified_ns);
    sli_put_u32(head + 32, sli_crc32c(sli_crc32c(0, head, 32), bytes, size));
    sli_put_u32(head + 36, 0);
}

/* Reads the record at a place. False: it is damaged, or of the file as it was before. */
static bool read_record(const index_store *store, uint64_t place, const index_key *key,
                        image_index *index)
{
    const int fd = store->files[place & 0xFF];
    uint8_t want[RECORD_HEAD];
    uint8_t head[RECORD_HEAD];
    size_t size;

    if (!read_at(fd, head, RECORD_HEAD, place >> 8)) {
        return false;
    }
    size = sli_get_u32(head + 4);
    if (size > MAX_INDEX || image_buffer_reserve(&index->bytes, size) != SLUICE_OK ||
        !read_at(fd, index->bytes.data, size, (place >> 8) + RECORD_HEAD)) {
        return false;
    }
    write_head(key, index->bytes.data, size, want);
    index->size = size;
    return memcmp(head, want, RECORD_HEAD) == 0;
}

static void count(_Atomic uint64_t *counter, bool one)
{
    if (one) {
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    }
}

void index_store_find(index_store *store, const index_key *key, image_index *index)
{
    bool can_keep;
    uint64_t place;

    index->is_made = false;
    index->is_used = false;
    index->is_wrong = false;
    index->size = 0;
    pthread_mutex_lock(&store->lock);
    place = entry_of(store, key->name)->place;
    can_keep = store->own >= 0;
    pthread_mutex_unlock(&store->lock);
    index->is_refused = place != 0 && !read_record(store, place, key, index);
    index->wanted = can_keep && (place == 0 || index->is_refused);
    index->size = index->is_refused ? 0 : index->size;
    count(&store->found, index->size > 0);
    count(&store->refused, index->is_refused);
}

/* Adds a record to the own file; where it cannot be written, none is tried again. */
static bool add(index_store *store, const index_key *key, const image_index *index)
{
    uint8_t head[RECORD_HEAD];
    const int fd = store->own >= 0 ? store->files[store->own] : -1;

    if (fd < 0) {
        return false;
    }
    write_head(key, index->bytes.data, index->size, head);
    if (!write_at(fd, index->bytes.data, index->size, store->own_end + RECORD_HEAD) ||
        !write_at(fd, head, RECORD_HEAD, store->own_end)) {
        sli_log(SLUICE_LOG_WARN,
                "index=%s: cannot write (%s); files without an index are decoded without one",
                store->folder, strerror(errno));
        if (ftruncate(fd, (off_t)store->own_end) != 0) {
            sli_log(SLUICE_LOG_DEBUG, "index=%s: the end stays", store->folder);
        }
        store->own = -1;
        return false;
    }
    enter(store, key->name, store->own_end << 8 | (uint64_t)store->own);
    store->own_end += RECORD_HEAD + index->size;
    return true;
}

bool index_store_keep(index_store *store, const index_key *key, const image_index *index)
{
    const image_index none = {.size = 0};
    bool kept;

    pthread_mutex_lock(&store->lock);
    kept = (index->is_made || index->is_wrong) && add(store, key, index->is_made ? index : &none);
    pthread_mutex_unlock(&store->lock);
    kept = kept && index->is_made && index->size > 0;
    count(&store->made, kept);
    count(&store->refused, index->is_wrong);
    return kept;
}

uint64_t index_store_memory(const index_store *store)
{
    return sizeof(*store) + (store->mask + 1) * sizeof(*store->entries);
}
