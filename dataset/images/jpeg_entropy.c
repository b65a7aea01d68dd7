/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_entropy.h"

#include <string.h>

enum { SOF0 = 0xC0, SOF1 = 0xC1, DHT = 0xC4, SOS = 0xDA };

/*
 * Assigns a code to each DC category that has no code; the added codes are longer than all existing
 * ones. The code of all ones is reserved (T.81, K.2), so its prefix is free: it yields one code of
 * each greater length. If a file uses the reserved code, assign_codes() fails.
 */
static bool complete_codes(jpeg_codes *codes)
{
    bool has[JPEG_DC_CATEGORIES] = {false};
    uint32_t longest = codes->longest;

    for (uint32_t i = 0; i < codes->count; i++) {
        if (codes->values[i] < JPEG_DC_CATEGORIES) {
            has[codes->values[i]] = true;
        }
    }
    for (uint32_t category = 0; category < JPEG_DC_CATEGORIES; category++) {
        if (!has[category]) {
            if (++longest > 16 || codes->count == sizeof(codes->values)) {
                return false;
            }
            codes->lengths[longest] = 1;
            codes->values[codes->count++] = (uint8_t)category;
        }
    }
    return true;
}

/* Assigns consecutive codes in the order of their lengths (T.81, annex C). */
static bool assign_codes(jpeg_codes *codes, bool is_dc)
{
    uint32_t code = 0;
    uint32_t i = 0;

    memset(codes->look, 0, sizeof(codes->look));
    for (uint32_t n = 1; n <= 16; n++) {
        codes->offset[n] = (int32_t)i - (int32_t)code;
        if (code + codes->lengths[n] > 1U << n) {
            return false;
        }
        for (uint32_t k = 0; k < codes->lengths[n]; k++, i++, code++) {
            const uint8_t value = codes->values[i];

            if (is_dc && value < JPEG_DC_CATEGORIES) {
                codes->category_code[value] = (uint16_t)code;
                codes->category_length[value] = (uint8_t)n;
            }
            for (uint32_t rest = 0; n <= JPEG_LOOK_BITS && rest < 1U << (JPEG_LOOK_BITS - n);
                 rest++) {
                codes->look[(code << (JPEG_LOOK_BITS - n)) + rest] = (uint16_t)(n << 8 | value);
            }
        }
        codes->last_code[n] = codes->lengths[n] > 0 ? (int32_t)code - 1 : -1;
        code *= 2;
    }
    codes->known = true;
    return true;
}

/* Reads a DHT segment, which is a sequence of Huffman tables. */
static bool read_tables(const uint8_t *at, const uint8_t *end, jpeg_entropy *entropy)
{
    while (end - at >= 17) {
        const bool is_dc = (at[0] & 0x10) == 0;
        jpeg_codes *codes = is_dc ? &entropy->dc[at[0] & 3] : &entropy->ac[at[0] & 3];

        if ((at[0] & 0xEC) != 0) {
            return false;
        }
        memset(codes, 0, sizeof(*codes));
        for (uint32_t n = 1; n <= 16; n++) {
            codes->lengths[n] = at[n];
            codes->count += at[n];
            codes->longest = at[n] > 0 ? n : codes->longest;
        }
        if (codes->count > sizeof(codes->values) || codes->count > (size_t)(end - at) - 17) {
            return false;
        }
        memcpy(codes->values, at + 17, codes->count);
        at += 17 + codes->count;
        if ((is_dc && !complete_codes(codes)) || !assign_codes(codes, is_dc)) {
            return false;
        }
    }
    return at == end;
}

bool jpeg_entropy_read(const jpeg_layout *layout, const uint8_t *bytes, jpeg_entropy *entropy_out)
{
    const uint8_t *frame = NULL;
    const uint8_t *scan = NULL;

    memset(entropy_out, 0, sizeof(*entropy_out));
    entropy_out->components = layout->components;
    for (uint32_t i = 1; i < layout->part_count; i++) {
        const uint8_t *part = bytes + layout->parts[i].offset;

        frame = part[1] == SOF0 || part[1] == SOF1 ? part + 10 : frame;
        scan = part[1] == SOS ? part + 5 : scan;
        if (part[1] == DHT && !read_tables(part + 4, part + layout->parts[i].size, entropy_out)) {
            return false;
        }
    }
    if (frame == NULL || scan == NULL ||
        layout->parts[layout->part_count - 1].size < 5 + 2 * (size_t)layout->components) {
        return false;
    }
    for (uint32_t i = 0; i < layout->components; i++) {
        const uint8_t factors = frame[3 * i + 1];
        const uint8_t tables = scan[2 * i + 1];

        /*
         * Rejects a scan whose components are in another order than in the frame; no encoder writes
         * that.
         */
        if (scan[2 * i] != frame[3 * i] || (tables & 0xCC) != 0) {
            return false;
        }
        entropy_out->blocks[i] = layout->components == 1 ? 1 : (factors >> 4) * (factors & 15U);
        entropy_out->dc_of[i] = &entropy_out->dc[tables >> 4];
        entropy_out->ac_of[i] = &entropy_out->ac[tables & 3];
        if (!entropy_out->dc_of[i]->known || !entropy_out->ac_of[i]->known) {
            return false;
        }
    }
    return true;
}

void jpeg_bits_start(jpeg_bits *bits, const uint8_t *bytes, size_t size, uint32_t position)
{
    *bits = (jpeg_bits){bytes + position / 8, bytes + size, 0, 0, 0};
    jpeg_bits_fill(bits);
    bits->count -= position % 8;
}

uint32_t jpeg_bits_position(const jpeg_bits *bits, const uint8_t *bytes)
{
    const uint8_t *at = bits->at;
    int32_t ahead = (int32_t)bits->count - (int32_t)bits->made_up;

    for (; ahead > 0; ahead -= 8) {
        at--;
        at -= at[0] == 0 && at[-1] == 0xFF; /* steps back over a stuffed byte */
    }
    return (uint32_t)((size_t)(at - bytes) * 8 + (size_t)-ahead);
}
