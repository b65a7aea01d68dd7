/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a member of a tar archive: where what lies in its block, and what it says. */
#ifndef SLUICE_TAR_HEADER_H
#define SLUICE_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_HEADER_NAME = 260 };

/* Where a header has what. */
enum {
    TAR_AT_NAME = 0,
    TAR_AT_SIZE = 124,
    TAR_AT_CHECKSUM = 148,
    TAR_AT_TYPE = 156,
    TAR_AT_MAGIC = 257,
    TAR_AT_PREFIX = 345,
    TAR_AT_GNU_MORE = 482,   /* of a sparse member: a block of its map follows */
    TAR_AT_SPARSE_MORE = 504 /* in such a block: one more */
};
enum { TAR_NAME_SIZE = 100, TAR_NUMBER_SIZE = 12, TAR_CHECKSUM_SIZE = 8, TAR_PREFIX_SIZE = 155 };

/* A number in octal digits between blanks, or, behind a byte of 0x80, in binary. Empty is 0. */
bool tar_parse_number(const uint8_t *field, size_t size, uint64_t *number_out);

/* The sum of the header's bytes with its own field blank; old programs took them for signed. */
bool tar_checksum_holds(const uint8_t *header);

/* The name in the header itself, with the part before it where the format has one. */
void tar_header_name(const uint8_t *header, char name[TAR_HEADER_NAME]);

/*
 * Is this the header of a member of that name and size? What is too long for the header, or not in
 * ASCII, is said before it, and taken for right here.
 */
bool tar_header_is_of(const uint8_t *header, const char *name, uint64_t size);

#endif
