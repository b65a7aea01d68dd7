/* SPDX-License-Identifier: Apache-2.0 */
#include "lmdb_pages.h"

#include <errno.h>
#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "status_int.h"

enum {
    NODE_HEAD = 8,
    META_SIZE = 136,
    PAGE_LEAST = 512,
    PAGE_MOST = 32768,
    MOST_DEPTH = 32, /* as LMDB's own cursors */
    HEAD_BYTES = LMDB_PAGE_HEAD + META_SIZE
};

static const uint32_t MAGIC = 0xbeefc0de;

/* Flags of pages, of nodes and of databases. */
enum {
    PAGE_BRANCH = 0x01,
    PAGE_LEAF = 0x02,
    PAGE_OVERFLOW = 0x04,
    PAGE_META = 0x08,
    PAGE_KINDS = 0x6f, /* all but those that a writer sets for itself */
    NODE_OVERFLOW = 0x01,
    NODE_DATABASE = 0x02,
    NODE_LIST = 0x04,
    NODE_FLAGS = 0x07,
    KEYS_REVERSED = 0x02,
    KEYS_INTEGER = 0x08
};

/* ---- meta pages ------------------------------------------------------------------------------ */

typedef struct meta_page {
    lmdb_file file;
    uint64_t transaction;
} meta_page;

static sluice_status read_bytes(int fd, uint64_t offset, uint8_t *to, size_t size)
{
    const ssize_t got = sli_pread(fd, to, size, offset);

    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read at byte %llu",
                              (unsigned long long)offset);
    }
    return (size_t)got == size
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "the file is truncated: the page at byte %llu is not complete",
                          (unsigned long long)offset);
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Refuses a file of another kind or machine by the first bytes of a meta page. */
static sluice_status check_kind(const uint8_t *bytes)
{
    enum { HEAD_32 = 12, HEAD_1_0 = 24 }; /* heads of pages on 32-bit machines, and in LMDB 1.0 */

    if (sli_get_u32(bytes + LMDB_PAGE_HEAD) == MAGIC) {
        const uint32_t version = sli_get_u32(bytes + LMDB_PAGE_HEAD + 4);

        return version == 1 ? SLUICE_OK
                            : sli_fail(SLUICE_E_UNSUPPORTED,
                                       "it has version %u of LMDB's format, and must have version "
                                       "1, that of LMDB 0.9",
                                       version);
    }
    if (sli_get_u32(bytes + HEAD_1_0) == MAGIC) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it has version %u of LMDB's format, of LMDB 1.0, and must have version 1; "
                        "copy it by mdb_dump of that version and mdb_load of LMDB 0.9",
                        sli_get_u32(bytes + HEAD_1_0 + 4));
    }
    if (sli_get_u32(bytes + HEAD_32) == MAGIC) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it was written on a 32-bit machine; copy it by mdb_dump there and "
                        "mdb_load on a 64-bit one");
    }
    if (big_endian(bytes + LMDB_PAGE_HEAD) == MAGIC || big_endian(bytes + HEAD_32) == MAGIC) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it was written on a big-endian machine; copy it by mdb_dump there and "
                        "mdb_load on a little-endian one");
    }
    return sli_fail(SLUICE_E_CORRUPT, "this is not an LMDB file");
}

static bool is_page_size(uint32_t size)
{
    return size >= PAGE_LEAST && size <= PAGE_MOST && (size & (size - 1)) == 0;
}

/* Parses the meta page that begins at `offset`. */
static sluice_status parse_meta(const uint8_t *bytes, uint64_t offset, uint64_t size,
                                meta_page *page_out)
{
    const uint8_t *meta = bytes + LMDB_PAGE_HEAD;
    const uint8_t *database = meta + 72; /* the main one */
    lmdb_file *file = &page_out->file;
    sluice_status st = check_kind(bytes);

    if (st != SLUICE_OK) {
        return st;
    }
    *file = (lmdb_file){.size = size};
    file->page_size = sli_get_u32(meta + 24);
    if (!is_page_size(file->page_size) || (offset != 0 && offset != file->page_size) ||
        (sli_get_u16(bytes + 10) & PAGE_META) == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the meta page at byte %llu is corrupt",
                        (unsigned long long)offset);
    }
    file->flags = sli_get_u16(database + 4);
    file->depth = sli_get_u16(database + 6);
    file->entries = sli_get_u64(database + 32);
    file->root = sli_get_u64(database + 40);
    page_out->transaction = sli_get_u64(meta + 128);
    return SLUICE_OK;
}

/* Reads the meta page at an offset. E_CORRUPT also: it is beyond the end of the file. */
static sluice_status read_meta(int fd, uint64_t offset, uint64_t size, meta_page *page_out)
{
    uint8_t bytes[HEAD_BYTES];
    sluice_status st;

    if (size < HEAD_BYTES || offset > size - HEAD_BYTES) {
        return sli_fail(SLUICE_E_CORRUPT, "this is not an LMDB file: it has %llu bytes",
                        (unsigned long long)size);
    }
    st = read_bytes(fd, offset, bytes, sizeof(bytes));
    return st == SLUICE_OK ? parse_meta(bytes, offset, size, page_out) : st;
}

/* Reads the second meta page, whose offset is the page size: that of the first, or 0, any. */
static sluice_status read_second(int fd, uint32_t page_size, uint64_t size, meta_page *page_out)
{
    uint32_t at = page_size != 0 ? page_size : PAGE_LEAST;
    const uint32_t last = page_size != 0 ? page_size : PAGE_MOST;
    sluice_status st = read_meta(fd, at, size, page_out);

    while (st == SLUICE_E_CORRUPT && at < last) {
        at *= 2;
        st = read_meta(fd, at, size, page_out);
    }
    return st;
}

static sluice_status check_database(const lmdb_file *file)
{
    if (file->root == LMDB_NO_PAGE) {
        return SLUICE_OK;
    }
    return file->depth > 0 && file->depth <= MOST_DEPTH
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "the depth of its tree is %u in the meta page, and must be 1 to %d",
                          file->depth, MOST_DEPTH);
}

sluice_status lmdb_open(int fd, uint64_t size, lmdb_file *file_out)
{
    meta_page first;
    meta_page second;
    sli_error error;
    sluice_status st = read_meta(fd, 0, size, &first);
    sluice_status st2;

    if (st != SLUICE_OK && st != SLUICE_E_CORRUPT) {
        return st;
    }
    sli_error_take(st, &error);
    st2 = read_second(fd, st == SLUICE_OK ? first.file.page_size : 0, size, &second);
    if (st != SLUICE_OK && st2 != SLUICE_OK) {
        return sli_error_raise(&error);
    }
    if (st2 != SLUICE_OK && st2 != SLUICE_E_CORRUPT) {
        return st2;
    }
    if (st != SLUICE_OK || (st2 == SLUICE_OK && second.transaction > first.transaction)) {
        first = second;
    }
    first.file.one_meta = st != SLUICE_OK || st2 != SLUICE_OK;
    st = check_database(&first.file);
    if (st == SLUICE_OK) {
        *file_out = first.file;
    }
    return st;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* A page on the way from the root to the current one. */
typedef struct tree_level {
    uint8_t *bytes;
    uint64_t number;
    uint32_t nodes;
    uint32_t next; /* node to follow next */
} tree_level;

typedef struct tree_walk {
    int fd;
    const lmdb_file *file;
    lmdb_visit *visit;
    void *arg;
    lmdb_passed passed;
    uint64_t entries;
    uint8_t *key; /* the last key, of at most a page; not valid before the first one */
    size_t key_size;
    tree_level levels[MOST_DEPTH];
} tree_walk;

static sluice_status fail_page(const tree_walk *walk, uint64_t number, const char *why)
{
    return sli_fail(SLUICE_E_CORRUPT, "page %llu at byte %llu is corrupt: %s",
                    (unsigned long long)number,
                    (unsigned long long)(number * walk->file->page_size), why);
}

/* Reads a page that must be of one kind into a level; `parent` points to it. */
static sluice_status read_page(tree_walk *walk, uint32_t depth, uint64_t number, uint64_t parent)
{
    const uint32_t page_size = walk->file->page_size;
    const uint32_t kind = depth + 1 == walk->file->depth ? PAGE_LEAF : PAGE_BRANCH;
    tree_level *level = &walk->levels[depth];
    uint32_t lower;
    uint32_t upper;
    sluice_status st;

    if (number < 2 || number >= walk->file->size / page_size) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "page %llu at byte %llu points to page %llu, and the file has pages 2 to "
                        "%llu: it is truncated or corrupt",
                        (unsigned long long)parent, (unsigned long long)(parent * page_size),
                        (unsigned long long)number,
                        (unsigned long long)(walk->file->size / page_size) - 1);
    }
    if (level->bytes == NULL) {
        level->bytes = sli_calloc(1, page_size);
        if (level->bytes == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a page of %u bytes", page_size);
        }
    }
    st = read_bytes(walk->fd, number * page_size, level->bytes, page_size);
    if (st != SLUICE_OK) {
        return st;
    }
    if (sli_get_u64(level->bytes) != number) {
        return fail_page(walk, number, "it has the number of another page");
    }
    if ((sli_get_u16(level->bytes + 10) & PAGE_KINDS) != kind) {
        return fail_page(walk, number,
                         kind == PAGE_LEAF ? "it is not the leaf that must be at its depth"
                                           : "it is not the branch that must be at its depth");
    }
    lower = sli_get_u16(level->bytes + 12);
    upper = sli_get_u16(level->bytes + 14);
    if (lower <= LMDB_PAGE_HEAD || lower % 2 != 0 || lower > upper || upper > page_size) {
        return fail_page(walk, number, "its list of nodes does not fit it");
    }
    level->number = number;
    level->nodes = (lower - LMDB_PAGE_HEAD) / 2;
    level->next = 0;
    return SLUICE_OK;
}

/* Finds a node and checks that it and its key are within the page. *rest_out: bytes after the key.
 */
static sluice_status find_node(const tree_walk *walk, const tree_level *level,
                               const uint8_t **node_out, size_t *rest_out)
{
    const uint32_t page_size = walk->file->page_size;
    const uint32_t at = sli_get_u16(level->bytes + LMDB_PAGE_HEAD + 2 * (size_t)level->next);
    uint32_t key_size;

    if (at < LMDB_PAGE_HEAD + 2 * level->nodes || at > page_size - NODE_HEAD) {
        return fail_page(walk, level->number, "a node is outside of it");
    }
    key_size = sli_get_u16(level->bytes + at + 6);
    if (key_size > page_size - at - NODE_HEAD) {
        return fail_page(walk, level->number, "a key extends beyond it");
    }
    *node_out = level->bytes + at;
    *rest_out = page_size - at - NODE_HEAD - key_size;
    return SLUICE_OK;
}

/* True if key a comes before key b in the order of the database. LMDB compares integers, which are
 * of one size, and reversed keys from their last bytes. */
static bool is_before(uint32_t flags, const uint8_t *a, size_t a_size, const uint8_t *b,
                      size_t b_size)
{
    const size_t shared = a_size < b_size ? a_size : b_size;
    int order = 0;

    if ((flags & (KEYS_REVERSED | KEYS_INTEGER)) == 0) {
        order = memcmp(a, b, shared);
    }
    for (size_t i = 1; (flags & (KEYS_REVERSED | KEYS_INTEGER)) != 0 && i <= shared && order == 0;
         i++) {
        order = (int)a[a_size - i] - (int)b[b_size - i];
    }
    return order != 0 ? order < 0 : a_size < b_size;
}

/* Checks that a key follows the one before it: so no leaf is visited twice, and the walk ends. */
static sluice_status check_order(tree_walk *walk, const tree_level *level, const uint8_t *key,
                                 size_t key_size)
{
    if (walk->entries > 0 &&
        !is_before(walk->file->flags, walk->key, walk->key_size, key, key_size)) {
        return fail_page(walk, level->number,
                         "a key is not after the key before it: keys are in disorder, or pages "
                         "point in a circle");
    }
    memcpy(walk->key, key, key_size);
    walk->key_size = key_size;
    walk->entries++;
    return SLUICE_OK;
}

/* Finds a value on overflow pages; `at` has the number of the first one. */
static sluice_status find_overflow(const tree_walk *walk, const tree_level *level,
                                   const uint8_t *at, uint64_t size, uint64_t *offset_out)
{
    const uint64_t page_size = walk->file->page_size;
    const uint64_t number = sli_get_u64(at);

    if (number < 2 || number >= walk->file->size / page_size ||
        size > walk->file->size - number * page_size - LMDB_PAGE_HEAD) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "page %llu at byte %llu has a value of %llu bytes on page %llu, and the "
                        "file has %llu bytes: it is truncated or corrupt",
                        (unsigned long long)level->number,
                        (unsigned long long)(level->number * page_size), (unsigned long long)size,
                        (unsigned long long)number, (unsigned long long)walk->file->size);
    }
    *offset_out = number * page_size + LMDB_PAGE_HEAD;
    return SLUICE_OK;
}

static sluice_status visit_node(tree_walk *walk, const tree_level *level)
{
    const uint64_t page = level->number * walk->file->page_size;
    const uint8_t *node;
    size_t rest;
    sluice_status st = find_node(walk, level, &node, &rest);
    lmdb_entry entry;
    uint32_t flags;

    if (st != SLUICE_OK) {
        return st;
    }
    flags = sli_get_u16(node + 4);
    entry.key = node + NODE_HEAD;
    entry.key_size = sli_get_u16(node + 6);
    entry.key_offset = page + (uint64_t)(entry.key - level->bytes);
    entry.offset = entry.key_offset + entry.key_size;
    entry.size = sli_get_u32(node);
    entry.is_overflow = (flags & NODE_OVERFLOW) != 0;
    if (flags > NODE_FLAGS || (entry.is_overflow && flags != NODE_OVERFLOW) ||
        rest < (entry.is_overflow ? sizeof(uint64_t) : entry.size)) {
        return fail_page(walk, level->number, "a value extends beyond it, or is of no known kind");
    }
    st = check_order(walk, level, entry.key, entry.key_size);
    if (st != SLUICE_OK) {
        return st;
    }
    if ((flags & (NODE_LIST | NODE_DATABASE)) != 0) {
        walk->passed.lists += (flags & NODE_LIST) != 0;
        walk->passed.databases += (flags & NODE_LIST) == 0;
        return SLUICE_OK;
    }
    if (entry.is_overflow) {
        st = find_overflow(walk, level, entry.key + entry.key_size, entry.size, &entry.offset);
    }
    return st == SLUICE_OK ? walk->visit(walk->arg, &entry) : st;
}

/* Follows the next node of a branch. */
static sluice_status descend(tree_walk *walk, uint32_t depth)
{
    tree_level *level = &walk->levels[depth];
    const uint8_t *node;
    size_t rest;
    sluice_status st = find_node(walk, level, &node, &rest);

    level->next++;
    return st == SLUICE_OK
               ? read_page(walk, depth + 1,
                           sli_get_u32(node) | (uint64_t)sli_get_u16(node + 4) << 32, level->number)
               : st;
}

static sluice_status walk_tree(tree_walk *walk)
{
    uint32_t depth = 0;
    sluice_status st = read_page(walk, 0, walk->file->root, 0);

    while (st == SLUICE_OK) {
        tree_level *level = &walk->levels[depth];

        if (level->next == level->nodes) {
            if (depth-- == 0) {
                break;
            }
        } else if (depth + 1 == walk->file->depth) {
            st = visit_node(walk, level);
            level->next++;
        } else {
            st = descend(walk, depth);
            depth++;
        }
    }
    return st;
}

sluice_status lmdb_walk(int fd, const lmdb_file *file, lmdb_visit *visit, void *arg,
                        lmdb_passed *passed_out)
{
    tree_walk walk = {.fd = fd, .file = file, .visit = visit, .arg = arg};
    sluice_status st = SLUICE_OK;

    if (file->root != LMDB_NO_PAGE) {
        walk.key = sli_calloc(1, file->page_size);
        st = walk.key != NULL ? walk_tree(&walk)
                              : sli_fail(SLUICE_E_NO_MEMORY, "a page of %u bytes", file->page_size);
    }
    for (uint32_t i = 0; i < MOST_DEPTH; i++) {
        sli_free(walk.levels[i].bytes);
    }
    sli_free(walk.key);
    /* A key with several values counts as often. */
    if (st == SLUICE_OK && walk.passed.lists == 0 && walk.entries != file->entries) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its tree has %llu keys, and by its meta page it must have %llu",
                        (unsigned long long)walk.entries, (unsigned long long)file->entries);
    }
    if (st == SLUICE_OK) {
        *passed_out = walk.passed;
    }
    return st;
}

/* ---- one value ------------------------------------------------------------------------------- */

sluice_status lmdb_check_overflow(uint32_t page_size, uint64_t offset, const uint8_t *head,
                                  uint64_t size)
{
    if (sli_get_u64(head) != offset / page_size ||
        (sli_get_u16(head + 10) & PAGE_KINDS) != PAGE_OVERFLOW ||
        sli_get_u32(head + 12) < (LMDB_PAGE_HEAD - 1 + size) / page_size + 1) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "page %llu at byte %llu is corrupt: it is not the first of the overflow "
                        "pages that its value must be on",
                        (unsigned long long)(offset / page_size), (unsigned long long)offset);
    }
    return SLUICE_OK;
}
