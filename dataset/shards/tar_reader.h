/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking the members of a tar archive in a file, or in sequence: POSIX.1-1988 (ustar),
 * POSIX.1-2001 (pax) and GNU. Only headers are read, so that what a member holds costs nothing.
 * Archives may be hostile: every length is checked before use, and names are names, never paths.
 */
#ifndef SLUICE_TAR_READER_H
#define SLUICE_TAR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "tar_header.h"

/* A plain file in the archive. */
typedef struct tar_member {
    const char *name; /* as it was stored; good until the next call */
    uint64_t offset;  /* of its bytes, which all lie in the archive */
    uint64_t size;
} tar_member;

/* Bytes of one of the extended headers that stand before a member. */
typedef struct tar_extension {
    char *name; /* NULL: it names none */
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
    struct byte_feed *feed; /* in place of fd: bytes in sequence */
    uint64_t fed;           /* that were taken from it */
    uint64_t file_size;     /* of a feed UINT64_MAX until its end is met */
    const char *path;       /* for messages */
    uint64_t at;            /* where the next header is */
    bool ended;

    /* Members that are no plain files. */
    uint64_t links;
    uint64_t specials;
    uint64_t sparse;
    bool has_more;  /* something stands behind the archive's end */
    bool lacks_end; /* the file ends where a member could follow, without a block of zeros */

    tar_extension next; /* for the next member alone */
    tar_extension all;  /* for all that follow */
    char header_name[TAR_HEADER_NAME];
    char *records; /* of an extended header */
    size_t records_capacity;
    uint64_t window_at; /* bytes of the file that were read last */
    size_t window_size;
    uint8_t window[TAR_WINDOW];
} tar_reader;

/*
 * Begins at the start of a file of that size. fd and path must live as long as the reader. Nothing
 * is read yet.
 */
void tar_begin(tar_reader *reader, int fd, uint64_t file_size, const char *path);
void tar_end(tar_reader *reader);

/*
 * Begins at the start of what a feed gives (byte_feed.h): then a member's bytes are read before the
 * next call of tar_next(), from its first to its last, or not at all.
 */
void tar_begin_feed(tar_reader *reader, struct byte_feed *feed, const char *path);

/*
 * The next plain file. Folders, links, special files and sparse files are passed over and counted.
 * The archive ends at a block of zeros, that of a file also with the file. END_OF_DATA; E_CORRUPT
 * no archive, or a damaged one, with path, member and offset; E_UNSUPPORTED a compressed one; E_IO,
 * E_NO_MEMORY; CLOSED a feed that was told to stop.
 */
sluice_status tar_next(tar_reader *reader, tar_member *member_out);

/* Reads bytes of the archive, [offset, offset + size), which lie within it. E_IO, E_CORRUPT,
 * CLOSED.
 */
sluice_status tar_read(tar_reader *reader, uint64_t offset, void *to, size_t size);

#endif
