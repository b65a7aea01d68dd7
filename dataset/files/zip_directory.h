/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a zip archive (APPNOTE 6.3, with the fields of zip64) and the bytes of its
 * members. Every position and length is checked against the file before it is used.
 */
#ifndef SLUICE_ZIP_DIRECTORY_H
#define SLUICE_ZIP_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Limits on the directory of an archive. */
enum { ZIP_MOST_MEMBERS = 1 << 16, ZIP_MOST_DIRECTORY = 1 << 24 };

typedef struct zip_member {
    const char *name; /* in the directory's memory, without a final zero */
    size_t name_length;
    uint16_t flags;
    uint16_t method;
    uint32_t crc;    /* of the bytes after decompression */
    uint64_t packed; /* bytes in the file */
    uint64_t bytes;  /* after decompression */
    uint64_t at;     /* offset of the member's local header */
} zip_member;

typedef struct zip_directory {
    zip_member *members;
    size_t count;
    uint64_t at;    /* its offset, where the last member ends or before */
    uint8_t *bytes; /* its bytes, which hold the names */
} zip_directory;

/* True if a file that begins with these bytes is a zip archive. */
bool zip_begins(const uint8_t *bytes, size_t size);

/*
 * Reads the directory of a file of `size` bytes. E_CORRUPT: it is truncated, or its directory is
 * corrupt. E_UNSUPPORTED: an archive in several files, or larger than the limits. Error texts do
 * not name the file. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status zip_directory_read(int fd, uint64_t size, zip_directory *directory_out);
void zip_directory_free(zip_directory *directory);

/*
 * Finds the first byte of a member that is stored, or compressed by deflate. E_UNSUPPORTED: it is
 * encrypted, or compressed otherwise. E_CORRUPT: its local header differs from the directory, or
 * it does not end before the directory. Also returns E_IO.
 */
sluice_status zip_member_find(int fd, const zip_directory *directory, const zip_member *member,
                              uint64_t *at_out);

/* True if the member is compressed; else its bytes lie in the file. */
bool zip_member_is_deflated(const zip_member *member);

/*
 * Decompresses a member, whose packed bytes begin at `at`, into `to`, which has room for
 * member->bytes, and compares its CRC. E_CORRUPT: the bytes are corrupt. E_UNSUPPORTED: this build
 * lacks zlib. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status zip_member_inflate(int fd, const zip_member *member, uint64_t at, uint8_t *to);

#endif
