/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the members of a tar archive, from a file or in sequence: POSIX.1-1988 (ustar),
 * POSIX.1-2001 (pax) and GNU. Reads headers only; contents are skipped. Archives may be hostile:
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
    const char *name; /* name as stored in the archive; valid until the next call */
    uint64_t offset; /* offset of the file's contents in the archive; they are completely within the
                        archive */
    uint64_t size;
} tar_member;

/* Values from the extended headers that precede a member. */
typedef struct tar_extension {
    char *name; /* NULL: the extended header has no name */
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
    struct byte_feed *feed; /* not NULL: replaces fd, and is read sequentially */
    uint64_t fed;           /* bytes read from the feed */
    uint64_t file_size;     /* size of the archive in bytes; UINT64_MAX for a feed until its end is
                               reached */
    const char *path;       /* path of the archive, for messages */
    uint64_t at;            /* offset of the next header */
    bool ended;
    bool has_file; /* a regular file has been found */

    /* Counts of skipped members, by type. */
    uint64_t links;
    uint64_t specials;
    uint64_t sparse;
    bool has_more;  /* data follow the end of the archive */
    bool lacks_end; /* the file ends where a header is expected, without a zero block */

    tar_extension next; /* extended header that applies to the next member only */
    tar_extension all;  /* extended header that applies to all following members */
    char header_name[TAR_HEADER_NAME];
    char *records; /* buffer for an extended header */
    size_t records_capacity;
    uint64_t window_at; /* file offset of `window`, which caches the most recently read bytes */
    size_t window_size;
    uint8_t window[TAR_WINDOW];
} tar_reader;

/*
 * Begins at the start of a file of file_size bytes; nothing is read yet. fd and path must outlive
 * the reader.
 */
void tar_begin(tar_reader *reader, int fd, uint64_t file_size, const char *path);
void tar_end(tar_reader *reader);

/*
 * Begins at the start of a feed (byte_feed.h). Before each tar_next(), the current member's bytes
 * must be read in order and completely, or not at all.
 */
void tar_begin_feed(tar_reader *reader, struct byte_feed *feed, const char *path);

/*
 * Returns the next regular file. Folders, links, special files and sparse files are skipped; all
 * but folders are counted. An archive ends at a zero block; an archive file also ends at the end of
 * the file. END_OF_DATA: there are no more regular files. E_CORRUPT: the file is not a tar archive,
 * or is corrupt (the message has path, member and offset), or a feed has no regular file in its
 * first 256 MiB. E_UNSUPPORTED: the file is compressed. CLOSED: a stop request interrupted the
 * feed. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status tar_next(tar_reader *reader, tar_member *member_out);

/*
 * Reads bytes [offset, offset + size), which must be within the archive. Returns E_IO, E_CORRUPT or
 * CLOSED on failure.
 */
sluice_status tar_read(tar_reader *reader, uint64_t offset, void *to, size_t size);

#endif
