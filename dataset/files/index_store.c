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
#include "descriptor_int.h"
#include "log_int.h"
#include "status_int.h"

enum {
    MAX_FILES = 64,
    PATH_SIZE = 4200,
    FILE_HEAD = 16,
    RECORD_HEAD = 40,
    RECORD_MAGIC = 0x44524353
};

/*
 * Limit on the size of an index. An index has a few percent of the size of its image, and an image
 * has up to 1 GB.
 */
static const uint32_t MAX_INDEX = UINT32_C(1) << 28;

/* An entry of the hash table: the location of a record. */
typedef struct store_entry {
    uint64_t name;     /* hash of the image's name */
    uint64_t location; /* offset << 8 | number of the file; 0: the entry is free */
} store_entry;

struct index_store {
    char *folder;
    sli_held_file files[MAX_FILES]; /* files of other processes, opened for reading */
    int own; /* number of this process's file, the only one that it writes to; -1: no such file */
    int own_fd;   /* descriptor of file `own`; -1: not open */
    bool can_add; /* no write has failed so far */
    uint64_t own_end;
    store_entry *entries;
    uint64_t mask; /* number of entries - 1; the number is a power of two */
    uint64_t used;
    uint64_t most;        /* limit on used entries */
    pthread_mutex_t lock; /* guards all fields except folder, files and counters */
    _Atomic uint64_t found;
    _Atomic uint64_t made;
    _Atomic uint64_t refused;
};

/* ---- the table ------------------------------------------------------------------------------ */

/* Finds the entry of a name, or the free entry where it can be added. */
static store_entry *entry_of(const index_store *store, uint64_t name)
{
    uint64_t i = name & store->mask;

    while (store->entries[i].location != 0 && store->entries[i].name != name) {
        i = (i + 1) & store->mask;
    }
    return &store->entries[i];
}

static void enter_record(index_store *store, uint64_t name, uint64_t location)
{
    store_entry *entry = entry_of(store, name);

    if (entry->location == 0) {
        if (store->used == store->most) {
            return; /* the folder has records of more images than this source has */
        }
        store->used++;
    }
    *entry = (store_entry){name, location};
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

static const uint8_t file_head[FILE_HEAD] = {'S', 'L', 'U', 'I', 'C', 'E', 'P', 'L', 2};

/* Reads exactly `size` bytes. */
static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
    return sli_pread(fd, to, size, offset) == (ssize_t)size;
}

/*
 * Adds the records of a file to the table. Returns the end of the last valid one; 0: not an index
 * file.
 */
static uint64_t list_records(index_store *store, int number, int fd)
{
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
        enter_record(store, sli_get_u64(head + 8), at << 8 | (uint64_t)number);
        at += RECORD_HEAD + size;
    }
    return at;
}

static void path_of(const index_store *store, int number, char *path, size_t size)
{
    snprintf(path, size, "%s/places-%02d.sluice", store->folder, number);
}

/*
 * Prepares this process's file for writing: finds the end of the last valid record, and truncates a
 * partial record that a killed process left. Returns an errno value; 0: success.
 */
static int begin_writing(index_store *store, int number, int fd)
{
    store->own_end = list_records(store, number, fd);
    if (store->own_end == 0) {
        if (ftruncate(fd, 0) != 0 || sli_pwrite(fd, file_head, FILE_HEAD, 0) != 0) {
            return errno;
        }
        store->own_end = FILE_HEAD;
    }
    return ftruncate(fd, (off_t)store->own_end) == 0 ? 0 : errno;
}

/* Removes this process's file if it has no records. */
static void remove_empty(const index_store *store, int number)
{
    char path[PATH_SIZE];

    path_of(store, number, path, sizeof(path));
    if (store->own_end <= FILE_HEAD && unlink(path) != 0) {
        sli_log(SLUICE_LOG_DEBUG, "cannot remove %s: %s", path, strerror(errno));
    }
}

/* True if the process that held the lock before has removed the file. */
static bool is_removed(int fd)
{
    struct stat info;

    return fstat(fd, &info) != 0 || info.st_nlink == 0;
}

static bool is_file(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

typedef enum take_answer {
    TAKEN,
    TAKE_ANOTHER, /* errno says why: another process or user writes to it */
    TAKE_NONE     /* errno says why: no file can be written to */
} take_answer;

/* Makes file `number` this process's own, unless another process writes to it. */
static take_answer take_file(index_store *store, int number)
{
    char path[PATH_SIZE];
    int error;
    int fd;

    path_of(store, number, path, sizeof(path));
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) {
        return errno == EACCES ? TAKE_ANOTHER : TAKE_NONE;
    }
    if (!is_file(fd) || flock(fd, LOCK_EX | LOCK_NB) != 0 || is_removed(fd)) {
        close(fd);
        errno = EWOULDBLOCK;
        return TAKE_ANOTHER;
    }
    error = begin_writing(store, number, fd);
    if (error != 0) {
        remove_empty(store, number);
        close(fd);
        errno = error;
        return TAKE_NONE;
    }
    store->own_fd = fd;
    store->own = number;
    store->can_add = true;
    return TAKEN;
}

/*
 * Opens a file of another process for reading, if it exists. False: the folder cannot be used.
 * Indexes are optional, so this does not wait for a free descriptor.
 */
static bool open_other(index_store *store, int number)
{
    char path[PATH_SIZE];
    int fd;

    path_of(store, number, path, sizeof(path));
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait at a pipe */
    if (fd >= 0 && !is_file(fd)) {
        close(fd);
        return true;
    }
    if (fd >= 0) {
        list_records(store, number, fd);
        sli_held_file_put(&store->files[number], fd);
    }
    return fd >= 0 || errno != ENOTDIR;
}

static sluice_status open_files(index_store *store)
{
    take_answer answer = TAKE_ANOTHER;
    int error = 0;

    if (mkdir(store->folder, 0777) != 0 && errno != EEXIST) {
        return sli_fail_errno(SLUICE_E_IO, errno, "index=%s: cannot make this folder",
                              store->folder);
    }
    for (int i = 0; i < MAX_FILES; i++) {
        if (answer == TAKE_ANOTHER) {
            answer = take_file(store, i);
            error = errno;
        }
        if (store->own != i && !open_other(store, i)) {
            return sli_fail_errno(SLUICE_E_IO, errno, "index=%s", store->folder);
        }
    }
    if (answer != TAKEN) {
        sli_log(SLUICE_LOG_WARN, "index=%s cannot be written to (%s); the indexes in it are used",
                store->folder,
                error == EWOULDBLOCK ? "other processes write to all its files" : strerror(error));
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
    store->own_fd = -1;
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
                " refused: corrupt or of other bytes",
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
        sli_held_file_close(&store->files[i]);
    }
    if (store->own_fd >= 0) {
        close(store->own_fd);
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
    sli_put_u64(head + 24, key->crc);
    sli_put_u32(head + 32, sli_crc32c(sli_crc32c(0, head, 32), bytes, size));
    sli_put_u32(head + 36, 0);
}

/*
 * Reads the record at an offset. False: it is corrupt, or belongs to another version of the image
 * file.
 */
static bool read_record(int fd, uint64_t offset, const index_key *key, image_index *index)
{
    uint8_t want[RECORD_HEAD];
    uint8_t head[RECORD_HEAD];
    size_t size;

    if (!read_at(fd, head, RECORD_HEAD, offset)) {
        return false;
    }
    size = sli_get_u32(head + 4);
    if (size > MAX_INDEX || image_buffer_reserve(&index->bytes, size) != SLUICE_OK ||
        !read_at(fd, index->bytes.data, size, offset + RECORD_HEAD)) {
        return false;
    }
    write_head(key, index->bytes.data, size, want);
    index->size = size;
    return memcmp(head, want, RECORD_HEAD) == 0;
}

/*
 * Reads the record at a location. False: it is unusable. If its file was closed for lack of
 * descriptors, the result is true, with index->size 0.
 */
static bool read_location(index_store *store, uint64_t location, const index_key *key,
                          image_index *index)
{
    const int number = (int)(location & 0xFF);
    sli_held_file *file = &store->files[number];
    const int fd = number == store->own ? store->own_fd : sli_held_file_borrow(file);
    bool is_right = true;

    if (fd >= 0) {
        is_right = read_record(fd, location >> 8, key, index);
    }
    if (fd >= 0 && number != store->own) {
        sli_held_file_give_back(file);
    }
    return is_right;
}

static void count_if(_Atomic uint64_t *counter, bool one)
{
    if (one) {
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    }
}

void index_store_find(index_store *store, const index_key *key, image_index *index)
{
    bool can_keep;
    uint64_t location;

    index->is_made = false;
    index->is_used = false;
    index->is_wrong = false;
    index->size = 0;
    pthread_mutex_lock(&store->lock);
    location = entry_of(store, key->name)->location;
    can_keep = store->can_add;
    pthread_mutex_unlock(&store->lock);
    index->is_refused = location != 0 && !read_location(store, location, key, index);
    index->wanted = can_keep && (location == 0 || index->is_refused);
    index->size = index->is_refused ? 0 : index->size;
    count_if(&store->found, index->size > 0);
    count_if(&store->refused, index->is_refused);
}

/* Appends a record to this process's file. Once a write fails, no more records are written. */
static bool add_record(index_store *store, const index_key *key, const image_index *index)
{
    uint8_t head[RECORD_HEAD];
    const int fd = store->own_fd;

    if (!store->can_add) {
        return false;
    }
    write_head(key, index->bytes.data, index->size, head);
    if (sli_pwrite(fd, index->bytes.data, index->size, store->own_end + RECORD_HEAD) != 0 ||
        sli_pwrite(fd, head, RECORD_HEAD, store->own_end) != 0) {
        sli_log(SLUICE_LOG_WARN,
                "index=%s: cannot write (%s); files without an index are decoded without one",
                store->folder, strerror(errno));
        if (ftruncate(fd, (off_t)store->own_end) != 0) {
            sli_log(SLUICE_LOG_DEBUG, "index=%s: cannot truncate: %s", store->folder,
                    strerror(errno));
        }
        remove_empty(store, store->own);
        store->can_add = false;
        return false;
    }
    enter_record(store, key->name, store->own_end << 8 | (uint64_t)store->own);
    store->own_end += RECORD_HEAD + index->size;
    return true;
}

bool index_store_keep(index_store *store, const index_key *key, const image_index *index)
{
    const image_index none = {.size = 0};
    bool kept;

    pthread_mutex_lock(&store->lock);
    kept = (index->is_made || index->is_wrong) &&
           add_record(store, key, index->is_made ? index : &none);
    pthread_mutex_unlock(&store->lock);
    kept = kept && index->is_made && index->size > 0;
    count_if(&store->made, kept);
    count_if(&store->refused, index->is_wrong);
    return kept;
}

uint64_t index_store_memory(const index_store *store)
{
    return sizeof(*store) + (store->mask + 1) * sizeof(*store->entries);
}
