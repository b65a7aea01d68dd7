/* SPDX-License-Identifier: Apache-2.0 */
/* The header block of a tar member: offsets of its fields, and their values. */
#ifndef SLUICE_TAR_HEADER_H
#define SLUICE_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_HEADER_NAME = 260 };

/* Offsets in a header. */
enum {
    TAR_AT_NAME = 0,
    TAR_AT_SIZE = 124,
    TAR_AT_CHECKSUM = 148,
    TAR_AT_TYPE = 156,
    TAR_AT_MAGIC = 257,
    TAR_AT_PREFIX = 345,
    TAR_AT_GNU_MORE = 482,   /* in a sparse member's header: a map block follows */
    TAR_AT_SPARSE_MORE = 504 /* in a map block: another one follows */
};
enum { TAR_NAME_SIZE = 100, TAR_NUMBER_SIZE = 12, TAR_CHECKSUM_SIZE = 8, TAR_PREFIX_SIZE = 155 };

/*
 * Parses a number: octal digits between blanks and NULs or, after a byte of 0x80, binary. Empty is
 * 0. NULs before the digits, as some programs write, are accepted, as by GNU tar.
 */
bool tar_parse_number(const uint8_t *field, size_t size, uint64_t *number_out);

/*
 * Is the checksum right: the sum of the header's bytes with the checksum field blank? Sums of
 * signed bytes, as old programs compute them, are accepted.
 */
bool tar_checksum_holds(const uint8_t *header);

/* The name in the header, with the prefix field where the format has one. */
void tar_header_name(const uint8_t *header, char name[TAR_HEADER_NAME]);

/*
 * Is this the header of a member of that name and size? A name or size that is not in this header
 * but in an extended one is not compared.
 */
bool tar_header_is_of(const uint8_t *header, const char *name, uint64_t size);

#endif
