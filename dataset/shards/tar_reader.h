/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the members of a tar archive, from a file or in sequence: POSIX.1-1988 (ustar),
 * POSIX.1-2001 (pax) and GNU. Only headers are read; contents are skipped. Archives may be hostile:
 * every length is checked before use, and names are never used as paths.
 */
#ifndef SLUICE_TAR_READER_H
#define SLUICE_TAR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "tar_header.h"

/* A regular file in the archive. */
typedef struct tar_member {
    const char *name; /* as stored; valid until the next call */
    uint64_t offset;  /* offset of its bytes, all of which lie in the archive */
    uint64_t size;
} tar_member;

/* The values of an extended header that precedes a member. */
typedef struct tar_extension {
    char *name; /* NULL: no name */
    size_t capacity;
    bool has_name;
    bool has_size;
    bool is_sparse;
    uint64_t size;
} tar_extension;

enum { TAR_WINDOW = 4096 };

struct byte_feed;

typedef struct tar_reader {
    int fd;
    struct byte_feed *feed; /* replaces fd: bytes in sequence */
    uint64_t fed;           /* bytes taken from the feed */
    uint64_t file_size;     /* UINT64_MAX for a feed until its end is reached */
    const char *path;       /* for messages */
    uint64_t at;            /* offset of the next header */
    bool ended;
    bool has_file; /* a regular file was found */

    /* Members that are not regular files. */
    uint64_t links;
    uint64_t specials;
    uint64_t sparse;
    bool has_more;  /* data follow the end of the archive */
    bool lacks_end; /* the file ends where a member could follow, without a zero block */

    tar_extension next; /* for the next member only */
    tar_extension all;  /* for all following members */
    char header_name[TAR_HEADER_NAME];
    char *records; /* buffer for an extended header */
    size_t records_capacity;
    uint64_t window_at; /* offset of the window: the bytes that were read last */
    size_t window_size;
    uint8_t window[TAR_WINDOW];
} tar_reader;

/*
 * Begins at the start of a file of that size. fd and path must outlive the reader. Reads nothing
 * yet.
 */
void tar_begin(tar_reader *reader, int fd, uint64_t file_size, const char *path);
void tar_end(tar_reader *reader);

/*
 * Begins at the start of a feed (byte_feed.h). A member's bytes must then be read in order and
 * completely, or not at all, before the next tar_next().
 */
void tar_begin_feed(tar_reader *reader, struct byte_feed *feed, const char *path);

/*
 * The next regular file. Folders, links, special files and sparse files are skipped; all but
 * folders are counted. The archive ends at a zero block; an archive in a file also at the end of
 * the file. END_OF_DATA. E_CORRUPT: not an archive, or a damaged one, with path, member and offset;
 * or a feed without a regular file in its first 256 MiB. E_UNSUPPORTED: compressed. E_IO,
 * E_NO_MEMORY. CLOSED: stop request of a feed.
 */
sluice_status tar_next(tar_reader *reader, tar_member *member_out);

/*
 * Reads bytes [offset, offset + size) of the archive, which must lie within it. E_IO, E_CORRUPT,
 * CLOSED.
 */
sluice_status tar_read(tar_reader *reader, uint64_t offset, void *to, size_t size);

#endif
