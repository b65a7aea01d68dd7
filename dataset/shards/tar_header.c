/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_header.h"

#include <string.h>

bool tar_parse_number(const uint8_t *field, size_t size, uint64_t *number_out)
{
    uint64_t number = 0;
    size_t i = 0;

    if (field[0] & 0x80) {
        if (field[0] != 0x80) {
            return false; /* the number is negative or exceeds 64 bits */
        }
        for (i = 1; i < size; i++) {
            if (number >> 56 != 0) {
                return false;
            }
            number = number << 8 | field[i];
        }
        *number_out = number;
        return true;
    }
    while (i < size && (field[i] == ' ' || field[i] == '\0')) {
        i++;
    }
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
        number = number << 3 | (uint64_t)(field[i] - '0'); /* 12 digits have 36 bits */
    }
    for (; i < size; i++) {
        if (field[i] != ' ' && field[i] != '\0') {
            return false;
        }
    }
    *number_out = number;
    return true;
}

bool tar_checksum_holds(const uint8_t *header)
{
    uint64_t stored = 0;
    uint64_t sum = 0;
    int64_t signed_sum = 0;

    for (size_t i = 0; i < TAR_BLOCK; i++) {
        uint8_t byte = i >= TAR_AT_CHECKSUM && i < TAR_AT_CHECKSUM + TAR_CHECKSUM_SIZE
                           ? (uint8_t)' '
                           : header[i];

        sum += byte;
        signed_sum += (int8_t)byte;
    }
    return tar_parse_number(header + TAR_AT_CHECKSUM, TAR_CHECKSUM_SIZE, &stored) &&
           (stored == sum || (signed_sum >= 0 && stored == (uint64_t)signed_sum));
}

void tar_header_name(const uint8_t *header, char name[TAR_HEADER_NAME])
{
    const char *prefix = (const char *)header + TAR_AT_PREFIX;
    const size_t length = strnlen((const char *)header + TAR_AT_NAME, TAR_NAME_SIZE);
    size_t at = 0;

    if (memcmp(header + TAR_AT_MAGIC, "ustar", 6) == 0 && prefix[0] != '\0') {
        at = strnlen(prefix, TAR_PREFIX_SIZE);
        memcpy(name, prefix, at);
        name[at++] = '/';
    }
    memcpy(name + at, header + TAR_AT_NAME, length);
    name[at + length] = '\0';
}

/*
 * True if the name is stored in the header block itself (short, printable ASCII) and not in an
 * extended header.
 */
static bool fits_header(const char *name)
{
    size_t length = 0;

    while (name[length] >= ' ' && name[length] <= '~' && length < TAR_NAME_SIZE) {
        length++;
    }
    return name[length] == '\0' && length < TAR_NAME_SIZE;
}

bool tar_header_is_of(const uint8_t *header, const char *name, uint64_t size)
{
    const uint64_t most = UINT64_C(1) << 33; /* 8 GiB needs more than eleven octal digits */
    char found[TAR_HEADER_NAME];
    uint64_t number = 0;

    if (!tar_checksum_holds(header) ||
        !tar_parse_number(header + TAR_AT_SIZE, TAR_NUMBER_SIZE, &number)) {
        return false;
    }
    tar_header_name(header, found);
    return (number == size || size >= most) && (!fits_header(name) || strcmp(found, name) == 0);
}
