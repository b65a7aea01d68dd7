/* SPDX-License-Identifier: Apache-2.0 */
/* The header block of a tar member: offsets of its fields, and functions that read them. */
#ifndef SLUICE_TAR_HEADER_H
#define SLUICE_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_HEADER_NAME = 260 };

/* Offsets of fields in a header block. */
enum {
    TAR_AT_NAME = 0,
    TAR_AT_SIZE = 124,
    TAR_AT_CHECKSUM = 148,
    TAR_AT_TYPE = 156,
    TAR_AT_MAGIC = 257,
    TAR_AT_PREFIX = 345,
    TAR_AT_GNU_MORE = 482, /* in a sparse member's header: nonzero if a sparse map block follows */
    TAR_AT_SPARSE_MORE = 504 /* in a sparse map block: nonzero if another map block follows */
};
enum { TAR_NAME_SIZE = 100, TAR_NUMBER_SIZE = 12, TAR_CHECKSUM_SIZE = 8, TAR_PREFIX_SIZE = 155 };

/*
 * Parses a numeric field: octal digits surrounded by blanks and NULs, or binary after a byte 0x80.
 * An empty field is 0. NULs before the digits, which some programs write, are accepted, as in GNU
 * tar.
 */
bool tar_parse_number(const uint8_t *field, size_t size, uint64_t *number_out);

/*
 * True if the header's checksum is correct. The checksum is the sum of the header's bytes with the
 * checksum field blank. Sums of signed bytes, which old programs compute, are also accepted.
 */
bool tar_checksum_holds(const uint8_t *header);

/* Copies the member name stored in the header, including the prefix field if the format has one. */
void tar_header_name(const uint8_t *header, char name[TAR_HEADER_NAME]);

/*
 * True if this is the header of a member with that name and size. A name or size that is stored in
 * an extended header is not compared.
 */
bool tar_header_is_of(const uint8_t *header, const char *name, uint64_t size);

#endif
