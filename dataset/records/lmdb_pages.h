/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of an LMDB file, data.mdb, as LMDB 0.9 writes them on 64-bit little-endian machines
 * (mdb.c, "Page headers"). Page n is at byte n * page size. Pages 0 and 1 are meta pages, of two
 * transactions: the one with the larger number counts. The main database is a tree of branch and
 * leaf pages with keys in order, all leaves at one depth. A value that does not fit a leaf lies on
 * overflow pages: the head of a page, then the bytes, contiguous.
 *
 *     page   u64 number, u16 0, u16 flags, u16 end of the list of nodes, u16 begin of the nodes, or
 *            u32 number of overflow pages; then u16 offset of each node in the page
 *     node   of a branch: u48 page, u16 size of the key, key
 *            of a leaf: u32 size of the value, u16 flags, u16 size of the key, key, value, or u64
 *            number of its first overflow page
 *     meta   u32 0xbeefc0de, u32 1 (the version), u64 0, u64 size of the map, two databases: free
 *            pages and main, u64 last page, u64 transaction
 *     database  u32 0 (of free pages: the page size), u16 flags, u16 depth, u64 branch pages, u64
 *            leaf pages, u64 overflow pages, u64 number of values, u64 root page, or -1
 *
 * All numbers of the file are checked before they are used. Error messages have offsets in the
 * file; the caller adds its path.
 */
#ifndef SLUICE_LMDB_PAGES_H
#define SLUICE_LMDB_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct lmdb_file {
    uint64_t size; /* bytes of the file */
    uint32_t page_size;
    uint32_t flags; /* of the main database */
    uint32_t depth;
    uint64_t entries;
    uint64_t root; /* LMDB_NO_PAGE: the main database is empty */
    bool one_meta; /* only one meta page is valid: the last transaction may be missing */
} lmdb_file;

#define LMDB_NO_PAGE UINT64_MAX

/*
 * Reads the meta pages. E_CORRUPT: the file is not an LMDB file, or both meta pages are corrupt.
 * E_UNSUPPORTED: it was written on a 32-bit or big-endian machine, or by another version of LMDB.
 * Also returns E_IO.
 */
sluice_status lmdb_open(int fd, uint64_t size, lmdb_file *file_out);

/* Bytes of the head of a page. */
enum { LMDB_PAGE_HEAD = 16 };

/* A key with one value. Offsets are those in the file. */
typedef struct lmdb_entry {
    const uint8_t *key; /* valid during the call */
    size_t key_size;
    uint64_t key_offset;
    uint64_t offset; /* of the value */
    uint64_t size;
    bool is_overflow; /* the value is on overflow pages; the head of the first one is before it */
} lmdb_entry;

/* Is called with each entry. An error ends the walk. */
typedef sluice_status lmdb_visit(void *arg, const lmdb_entry *entry);

/* Entries that are not visited. */
typedef struct lmdb_passed {
    uint64_t databases; /* named databases */
    uint64_t lists;     /* keys with several values */
} lmdb_passed;

/*
 * Visits the values of the main database in the order of their keys. E_CORRUPT: a page is corrupt.
 * Also returns E_IO, E_NO_MEMORY and the errors of `visit`.
 */
sluice_status lmdb_walk(int fd, const lmdb_file *file, lmdb_visit *visit, void *arg,
                        lmdb_passed *passed_out);

/* Checks the head, at `offset` in the file, of the overflow pages of a value of `size` bytes.
 * E_CORRUPT: these are not its overflow pages. */
sluice_status lmdb_check_overflow(uint32_t page_size, uint64_t offset, const uint8_t *head,
                                  uint64_t size);

#endif
