/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of LMDB files for tests, one by one, so that they can be wrong. */
#ifndef SLUICE_LMDB_KIT_H
#define SLUICE_LMDB_KIT_H

#include <stddef.h>
#include <stdint.h>

enum {
    LMDB_KIT_PAGES = 64,
    LMDB_KIT_BRANCH = 1,
    LMDB_KIT_LEAF = 2,
    LMDB_KIT_OVERFLOW = 4,
    LMDB_KIT_META = 8
};

/* A file in memory, all zeros; pages exist as soon as they are begun. */
typedef struct lmdb_bytes {
    uint32_t page_size;
    uint32_t pages;
    uint8_t data[LMDB_KIT_PAGES * 4096];
} lmdb_bytes;

/* The main database, as a meta page describes it. */
typedef struct lmdb_root {
    uint32_t flags;
    uint32_t depth;
    uint64_t entries;
    uint64_t root;
    uint64_t transaction;
} lmdb_root;

uint8_t *lmdb_page(lmdb_bytes *file, uint32_t number);

/* Writes meta page 0 or 1. */
void lmdb_put_meta(lmdb_bytes *file, uint32_t number, const lmdb_root *root);

/* Begins a page without nodes. */
void lmdb_begin(lmdb_bytes *file, uint32_t number, uint32_t kind);

/* Adds a node; of a branch `value` is NULL, and `size` is the number of a page. Returns the node.
 */
uint8_t *lmdb_add(lmdb_bytes *file, uint32_t number, const char *key, uint32_t flags,
                  const void *value, uint64_t size);

/* Adds a node to a leaf whose value is on overflow pages that begin at page `at`. */
void lmdb_add_overflow(lmdb_bytes *file, uint32_t number, const char *key, uint32_t at,
                       const void *value, uint32_t size);

#endif
