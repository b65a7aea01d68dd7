/* SPDX-License-Identifier: Apache-2.0 */
#include "idx_header.h"

#include "status_int.h"

static const uint64_t MOST_BYTES = UINT64_C(1) << 62;

static uint64_t big_endian(const uint8_t *bytes)
{
    return (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 8 | bytes[3];
}

/* Checks the element type, which is the third byte of the file. */
static sluice_status check_type(uint8_t type)
{
    static const char *const others[] = {
        [0x09] = "i8", [0x0b] = "i16", [0x0c] = "i32", [0x0d] = "f32", [0x0e] = "f64"};

    if (type == 0x08) {
        return SLUICE_OK;
    }
    if (type < sizeof(others) / sizeof(others[0]) && others[type] != NULL) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "its elements are %s and must be unsigned bytes; convert it to a .npy file "
                        "and read that by npy",
                        others[type]);
    }
    return sli_fail(SLUICE_E_CORRUPT, "this is not an IDX file: it has elements of type 0x%02x",
                    type);
}

static sluice_status check_sizes(idx_header *header)
{
    uint64_t bytes = 1;

    for (uint32_t i = 1; i < header->rank; i++) {
        if (header->shape[i] == 0) {
            return sli_fail(SLUICE_E_UNSUPPORTED, "its samples have no elements");
        }
        if (__builtin_mul_overflow(bytes, header->shape[i], &bytes) || bytes > MOST_BYTES) {
            return sli_fail(SLUICE_E_CORRUPT, "its dimensions are larger than a file can be");
        }
    }
    header->row_bytes = bytes;
    if (__builtin_mul_overflow(bytes, header->shape[0], &header->data_bytes) ||
        header->data_bytes > MOST_BYTES) {
        return sli_fail(SLUICE_E_CORRUPT, "its dimensions are larger than a file can be");
    }
    return SLUICE_OK;
}

sluice_status idx_header_parse(const uint8_t *bytes, size_t size, idx_header *header_out)
{
    idx_header header = {.rank = 0};
    sluice_status st;

    if (size < 4 || bytes[0] != 0 || bytes[1] != 0 || bytes[3] == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "this is not an IDX file");
    }
    st = check_type(bytes[2]);
    if (st != SLUICE_OK) {
        return st;
    }
    header.rank = bytes[3];
    if (header.rank > IDX_MAX_RANK) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it has %u dimensions, more than %d", header.rank,
                        IDX_MAX_RANK);
    }
    header.data_at = 4 + 4 * (uint64_t)header.rank;
    if (header.data_at > size) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends within its header");
    }
    for (uint32_t i = 0; i < header.rank; i++) {
        header.shape[i] = big_endian(bytes + 4 + 4 * (size_t)i);
    }
    st = check_sizes(&header);
    if (st == SLUICE_OK) {
        *header_out = header;
    }
    return st;
}
