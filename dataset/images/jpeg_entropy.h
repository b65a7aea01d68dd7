/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses Huffman-coded JPEG data without decoding coefficients (ITU-T T.81, annexes C and F): only
 * code lengths, and DC differences. It locates MCUs in files and decodes no pixels. Files may be
 * hostile.
 */
#ifndef SLUICE_JPEG_ENTROPY_H
#define SLUICE_JPEG_ENTROPY_H

#include "jpeg_layout.h"

enum {
    JPEG_LOOK_BITS = 9,
    JPEG_DC_CATEGORIES = 12, /* DC categories of 8-bit images */
    JPEG_MAX_COMPONENTS = 3
};

/* A Huffman table for decoding; a table of DC categories also serves for encoding. */
typedef struct jpeg_codes {
    bool known;
    uint8_t lengths[17]; /* lengths[n]: number of codes of n bits */
    uint8_t values[256];
    uint32_t count;
    uint32_t longest; /* bits of the longest code in the file; added codes are longer */
    uint16_t look[1 << JPEG_LOOK_BITS]; /* indexed by the next JPEG_LOOK_BITS bits: length << 8 |
                                           value; 0: the code is longer */
    int32_t last_code[17];              /* last_code[n]: largest code of n bits; -1: no such code */
    int32_t offset[17]; /* offset[n]: index in `values` of a code of n bits, minus that code */
    uint16_t category_code[JPEG_DC_CATEGORIES];
    uint8_t category_length[JPEG_DC_CATEGORIES];
} jpeg_codes;

typedef struct jpeg_entropy {
    jpeg_codes dc[4];
    jpeg_codes ac[4];
    uint32_t components;
    uint32_t blocks[JPEG_MAX_COMPONENTS]; /* blocks of each component in an MCU */
    const jpeg_codes *dc_of[JPEG_MAX_COMPONENTS];
    const jpeg_codes *ac_of[JPEG_MAX_COMPONENTS];
} jpeg_entropy;

/*
 * Reads the Huffman tables of a file whose layout was read. DC tables are completed: categories
 * without a code get codes longer than all existing ones. False: a table is missing or corrupt, or
 * has no space for the added codes.
 */
bool jpeg_entropy_read(const jpeg_layout *layout, const uint8_t *bytes, jpeg_entropy *entropy_out);

/*
 * Reads the bits of a file from a given position, without stuffed bytes. After the end of the data,
 * or a marker, it supplies zero bits; made_up counts these.
 */
typedef struct jpeg_bits {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t bits; /* bit buffer; its low `count` bits are read next */
    uint32_t count;
    uint32_t made_up;
} jpeg_bits;

/* Starts at bit `position`: 8 * byte offset + bit within the byte. */
void jpeg_bits_start(jpeg_bits *bits, const uint8_t *bytes, size_t size, uint32_t position);

/* Returns the position of the next bit. Valid only if no made-up bit was consumed. */
uint32_t jpeg_bits_position(const jpeg_bits *bits, const uint8_t *bytes);

/* Refills the bit buffer to at least 56 bits. */
static inline void jpeg_bits_fill(jpeg_bits *bits)
{
    while (bits->count <= 55) {
        uint32_t byte = 0;

        if (bits->at < bits->end && *bits->at == 0xFF &&
            (bits->end - bits->at < 2 || bits->at[1] != 0)) {
            bits->end = bits->at; /* a marker ends the data */
        }
        if (bits->at < bits->end) {
            byte = *bits->at;
            bits->at += byte == 0xFF ? 2 : 1;
        } else {
            bits->made_up += 8;
        }
        bits->bits = bits->bits << 8 | byte;
        bits->count += 8;
    }
}

static inline uint32_t jpeg_bits_peek(const jpeg_bits *bits, uint32_t count)
{
    return (uint32_t)(bits->bits >> (bits->count - count)) & ((1U << count) - 1);
}

static inline bool jpeg_bits_ran_out(const jpeg_bits *bits)
{
    return bits->count < bits->made_up;
}

/*
 * Returns the value and length of the next code without consuming it; -1: the bits are no valid
 * code.
 */
static inline int32_t jpeg_next_value(const jpeg_bits *bits, const jpeg_codes *codes,
                                      uint32_t *length_out)
{
    const uint32_t found = codes->look[jpeg_bits_peek(bits, JPEG_LOOK_BITS)];

    if (found != 0) {
        *length_out = found >> 8;
        return (int32_t)(found & 255);
    }
    for (uint32_t n = JPEG_LOOK_BITS + 1; n <= 16; n++) {
        const int32_t code = (int32_t)jpeg_bits_peek(bits, n);

        if (code <= codes->last_code[n]) {
            *length_out = n;
            return codes->values[code + codes->offset[n]];
        }
    }
    return -1;
}

/* Decodes the number that `category` bits encode (T.81, table F.1). */
static inline int32_t jpeg_extend(uint32_t bits, uint32_t category)
{
    return category > 0 && bits < 1U << (category - 1)
               ? (int32_t)bits - (int32_t)((1U << category) - 1)
               : (int32_t)bits;
}

#endif
