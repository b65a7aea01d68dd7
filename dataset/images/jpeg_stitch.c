/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_stitch.h"

#include <string.h>

#include "bytes_int.h"
#include "jpeg_entropy.h"

enum { DHT = 0xC4, SOS = 0xDA, EOI = 0xD9 };
enum { VERSION = 1, STEP = 8, HEAD = 8, ENTRY = 10 };

/*
 * Number of zeros appended to a shortened file: libjpeg-turbo's fast Huffman loop requires this
 * many bytes of input.
 */
enum { TAIL = 6144 };

/* ---- the index ------------------------------------------------------------------------------ */

typedef struct index_entry {
    uint32_t position;
    int16_t dc[JPEG_MAX_COMPONENTS];
} index_entry;

static void put_entry(uint8_t *to, const index_entry *entry)
{
    sli_put_u32(to, entry->position);
    for (int i = 0; i < JPEG_MAX_COMPONENTS; i++) {
        sli_put_u16(to + 4 + 2 * i, (uint16_t)entry->dc[i]);
    }
}

static index_entry get_entry(const uint8_t *index, size_t number)
{
    const uint8_t *from = index + HEAD + number * ENTRY;
    index_entry entry = {.position = sli_get_u32(from)};

    for (int i = 0; i < JPEG_MAX_COMPONENTS; i++) {
        entry.dc[i] = (int16_t)sli_get_u16(from + 4 + 2 * i);
    }
    return entry;
}

static uint32_t cells_across(const jpeg_layout *layout)
{
    return (layout->columns + STEP - 1) / STEP;
}

bool jpeg_can_index(const jpeg_layout *layout, size_t size)
{
    /* Positions have 32 bits. An image of a single cell cannot be shortened. */
    return layout->restart == 0 && size < UINT32_MAX / 8 &&
           (size_t)cells_across(layout) * layout->rows > 1;
}

size_t jpeg_index_size(const jpeg_layout *layout)
{
    return HEAD + ENTRY * ((size_t)cells_across(layout) * layout->rows + 1);
}

/* ---- walking -------------------------------------------------------------------------------- */

/* Skips the AC codes of a block. False: an invalid code, or too many coefficients. */
static bool skip_ac(jpeg_bits *bits, const jpeg_codes *codes)
{
    for (uint32_t k = 1; k < 64; k++) {
        uint32_t length;
        int32_t value;

        jpeg_bits_fill(bits);
        value = jpeg_next_value(bits, codes, &length);
        if (value < 0) {
            return false;
        }
        bits->count -= length + ((uint32_t)value & 15);
        if ((value & 15) != 0) {
            k += (uint32_t)value >> 4;
        } else if (value == 0xF0) {
            k += 15;
        } else {
            break;
        }
        if (k > 63) {
            return false;
        }
    }
    return true;
}

/*
 * Reads the DC code of a block and adds its difference to *dc. False: the code is invalid, or
 * complete_codes() added it; libjpeg-turbo's fast loop decodes an added code as zero.
 */
static bool take_dc(jpeg_bits *bits, const jpeg_codes *codes, int32_t *dc)
{
    uint32_t length;
    int32_t category;

    jpeg_bits_fill(bits);
    category = jpeg_next_value(bits, codes, &length);
    if (category < 0 || category >= JPEG_DC_CATEGORIES || length > codes->longest) {
        return false;
    }
    bits->count -= length;
    *dc += jpeg_extend(jpeg_bits_peek(bits, (uint32_t)category), (uint32_t)category);
    bits->count -= (uint32_t)category;
    return *dc >= INT16_MIN && *dc <= INT16_MAX;
}

static bool skip_mcu(jpeg_bits *bits, const jpeg_entropy *entropy, int32_t *dc)
{
    for (uint32_t c = 0; c < entropy->components; c++) {
        for (uint32_t b = 0; b < entropy->blocks[c]; b++) {
            if (!take_dc(bits, entropy->dc_of[c], &dc[c]) || !skip_ac(bits, entropy->ac_of[c])) {
                return false;
            }
        }
    }
    return !jpeg_bits_ran_out(bits);
}

static void write_entry(const jpeg_bits *bits, const uint8_t *bytes, const int32_t *dc, uint8_t *to)
{
    const index_entry entry = {jpeg_bits_position(bits, bytes),
                               {(int16_t)dc[0], (int16_t)dc[1], (int16_t)dc[2]}};

    put_entry(to, &entry);
}

bool jpeg_index_make(const jpeg_layout *layout, const uint8_t *bytes, size_t size, uint8_t *index)
{
    int32_t dc[JPEG_MAX_COMPONENTS] = {0};
    jpeg_entropy entropy;
    jpeg_bits bits;

    if (!jpeg_can_index(layout, size) || !jpeg_entropy_read(layout, bytes, &entropy)) {
        return false;
    }
    sli_put_u32(index, VERSION);
    sli_put_u32(index + 4, STEP);
    index += HEAD;
    jpeg_bits_start(&bits, bytes, size, (uint32_t)layout->scan * 8);
    for (uint32_t y = 0; y < layout->rows; y++) {
        for (uint32_t x = 0; x < layout->columns; x++) {
            if (x % STEP == 0) {
                write_entry(&bits, bytes, dc, index);
                index += ENTRY;
            }
            if (!skip_mcu(&bits, &entropy, dc)) {
                return false;
            }
        }
    }
    write_entry(&bits, bytes, dc, index);
    return true;
}

/* ---- stitching ------------------------------------------------------------------------------ */

/* Writes bits, most significant first. `bits` holds `count` pending bits, fewer than 8. */
typedef struct bit_writer {
    uint8_t *to;
    uint64_t bits;
    uint32_t count;
} bit_writer;

static void put_byte(bit_writer *writer, uint8_t byte)
{
    *writer->to++ = byte;
    if (byte == 0xFF) {
        *writer->to++ = 0;
    }
}

/* Writes `bits` as `count` bits, up to 32. Higher bits of `bits` must be zero. */
static void put_bits(bit_writer *writer, uint32_t bits, uint32_t count)
{
    writer->bits = writer->bits << count | bits;
    writer->count += count;
    while (writer->count >= 8) {
        writer->count -= 8;
        put_byte(writer, (uint8_t)(writer->bits >> writer->count));
    }
    writer->bits &= (1U << writer->count) - 1;
}

static bool has_ff(uint64_t bytes)
{
    const uint64_t zeros = ~bytes;

    return ((zeros - 0x0101010101010101U) & bytes & 0x8080808080808080U) != 0;
}

/*
 * Copies eight bytes at a time, up to the first group with an FF in its input or output. Returns
 * the end of the copied input.
 */
static const uint8_t *copy_words(bit_writer *writer, const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8) {
        uint64_t in;
        uint64_t out;

        memcpy(&in, at, sizeof(in));
        in = __builtin_bswap64(in);
        out = writer->count > 0 ? writer->bits << (64 - writer->count) | in >> writer->count : in;
        if (has_ff(in) || has_ff(out)) {
            break;
        }
        out = __builtin_bswap64(out);
        memcpy(writer->to, &out, sizeof(out));
        writer->to += 8;
        writer->bits = in & ((1U << writer->count) - 1);
        at += 8;
    }
    return at;
}

/* Copies the bits [from, to) of the file; positions are in bits. */
static void copy_bits(bit_writer *writer, const uint8_t *bytes, uint32_t from, uint32_t to)
{
    const uint8_t *at = bytes + from / 8;
    const uint8_t *end = bytes + to / 8;
    const uint32_t first = from % 8;
    const uint32_t last = to % 8;

    if (from >= to) {
        return;
    }
    if (at == end) {
        put_bits(writer, (*at >> (8 - last)) & ((1U << (last - first)) - 1), last - first);
        return;
    }
    if (first > 0) {
        put_bits(writer, *at & ((1U << (8 - first)) - 1), 8 - first);
        at += *at == 0xFF ? 2 : 1;
    }
    while (at < end) {
        at = copy_words(writer, at, end);
        for (int i = 0; i < 8 && at < end; i++) {
            put_bits(writer, *at, 8);
            at += *at == 0xFF ? 2 : 1;
        }
    }
    if (last > 0) {
        put_bits(writer, *end >> (8 - last), last);
    }
}

/* Writes a DC difference. False: the difference needs more bits than the largest category has. */
static bool put_dc(bit_writer *writer, const jpeg_codes *codes, int32_t difference)
{
    const uint32_t size = (uint32_t)(difference < 0 ? -difference : difference);
    const uint32_t category = size > 0 ? 32 - (uint32_t)__builtin_clz(size) : 0;
    const uint32_t value = (uint32_t)(difference < 0 ? difference - 1 : difference);

    if (category >= JPEG_DC_CATEGORIES) {
        return false;
    }
    put_bits(writer, codes->category_code[category], codes->category_length[category]);
    if (category > 0) {
        put_bits(writer, value & ((1U << category) - 1), category);
    }
    return true;
}

/*
 * Copies the first MCU of a row: the first DC difference of each component is recoded relative to
 * the component's last DC value in the output. False: the MCU is invalid, or ends after `to`.
 */
static bool copy_first(bit_writer *writer, const jpeg_entropy *entropy, const uint8_t *bytes,
                       size_t size, const index_entry *from, uint32_t to, const int16_t *before,
                       uint32_t *position_out)
{
    uint32_t position = from->position;
    jpeg_bits bits;

    jpeg_bits_start(&bits, bytes, size, position);
    for (uint32_t c = 0; c < entropy->components; c++) {
        for (uint32_t b = 0; b < entropy->blocks[c]; b++) {
            int32_t dc = from->dc[c];

            if (!take_dc(&bits, entropy->dc_of[c], &dc)) {
                return false;
            }
            if (b == 0) {
                if (!put_dc(writer, entropy->dc_of[c], dc - before[c])) {
                    return false;
                }
                position = jpeg_bits_position(&bits, bytes);
            }
            if (!skip_ac(&bits, entropy->ac_of[c]) || jpeg_bits_ran_out(&bits)) {
                return false;
            }
        }
        if (jpeg_bits_position(&bits, bytes) > to) {
            return false;
        }
        copy_bits(writer, bytes, position, jpeg_bits_position(&bits, bytes));
        position = jpeg_bits_position(&bits, bytes);
    }
    *position_out = position;
    return true;
}

/*
 * Writes the file's headers with the completed Huffman tables and the size of `pixels`. Returns the
 * end of the headers.
 */
static uint8_t *put_head(const jpeg_layout *layout, const uint8_t *bytes,
                         const jpeg_entropy *entropy, const image_box *pixels, uint8_t *to)
{
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const uint8_t marker = bytes[layout->parts[i].offset + 1];

        for (uint8_t t = 0; marker == SOS && t < 8; t++) {
            const jpeg_codes *codes = t < 4 ? &entropy->dc[t] : &entropy->ac[t - 4];
            const uint32_t size = 19 + codes->count;

            if (codes->known) {
                const uint8_t head[5] = {0xFF, DHT, (uint8_t)(size >> 8), (uint8_t)size,
                                         (uint8_t)(t < 4 ? t : 0x10 | (t - 4))};

                memcpy(to, head, sizeof(head));
                memcpy(to + 5, codes->lengths + 1, 16);
                memcpy(to + 21, codes->values, codes->count);
                to += 21 + codes->count;
            }
        }
        if (marker != DHT) {
            to = jpeg_layout_copy(layout, bytes, i, pixels, to);
        }
    }
    return to;
}

/* The part of the file that has been copied so far. */
typedef struct stitch_state {
    uint32_t copied; /* bit position of the end of the copied part; later ranges must begin at or
                        after it */
    int16_t dc[JPEG_MAX_COMPONENTS]; /* DC values at the end of the copied part */
} stitch_state;

/* Copies the data between two index entries: some cells of a row, or whole rows. */
static bool copy_range(const jpeg_entropy *entropy, const uint8_t *bytes, size_t size,
                       const index_entry *from, const index_entry *to, stitch_state *state,
                       bit_writer *writer)
{
    uint32_t position;

    if (from->position < state->copied || from->position >= to->position ||
        to->position > size * 8 ||
        !copy_first(writer, entropy, bytes, size, from, to->position, state->dc, &position)) {
        return false;
    }
    copy_bits(writer, bytes, position, to->position);
    memcpy(state->dc, to->dc, sizeof(to->dc));
    state->copied = to->position;
    return true;
}

/*
 * Returns an upper bound on the size of a shortened file: each byte may need a stuffed byte, and
 * the first MCU of each row may become longer.
 */
static size_t max_part_size(const jpeg_layout *layout, const jpeg_entropy *entropy, size_t size)
{
    size_t most = layout->head_size + 2 * (size - layout->scan) + 64 * (size_t)layout->rows + TAIL;

    for (int t = 0; t < 4; t++) {
        most += 2 * 21 + entropy->dc[t].count + entropy->ac[t].count;
    }
    return most;
}

static bool is_index(const jpeg_layout *layout, size_t size, const uint8_t *index,
                     size_t index_size)
{
    return jpeg_can_index(layout, size) && index_size == jpeg_index_size(layout) &&
           sli_get_u32(index) == VERSION && sli_get_u32(index + 4) == STEP;
}

jpeg_part_result jpeg_stitch(const jpeg_layout *layout, const uint8_t *bytes, size_t size,
                             const uint8_t *index, size_t index_size, const image_box *box,
                             image_buffer *file, size_t *file_size_out, jpeg_cells *cells_out)
{
    const uint32_t across = cells_across(layout);
    stitch_state state = {.copied = (uint32_t)layout->scan * 8};
    jpeg_entropy entropy;
    bit_writer writer;
    jpeg_cells cells;

    if (!is_index(layout, size, index, index_size)) {
        return JPEG_PART_CANNOT;
    }
    cells = jpeg_layout_cells(layout, STEP, 1, box);
    if ((cells.right - cells.left) * (cells.bottom - cells.top) == across * layout->rows) {
        return JPEG_PART_IS_ALL;
    }
    if (!jpeg_entropy_read(layout, bytes, &entropy) ||
        image_buffer_reserve(file, max_part_size(layout, &entropy, size)) != SLUICE_OK) {
        return JPEG_PART_CANNOT;
    }
    writer = (bit_writer){put_head(layout, bytes, &entropy, &cells.pixels, file->data), 0, 0};
    for (uint32_t y = cells.top; y < cells.bottom; y++) {
        const bool whole = cells.right - cells.left == across; /* whole rows are consecutive in the
                                                                  file, so one copy is enough */
        const size_t row = (size_t)y * across;
        const index_entry from = get_entry(index, row + cells.left);
        const index_entry to =
            get_entry(index, whole ? (size_t)cells.bottom * across : row + cells.right);

        if (!copy_range(&entropy, bytes, size, &from, &to, &state, &writer)) {
            return JPEG_PART_CANNOT;
        }
        if (whole) {
            break;
        }
    }
    put_bits(&writer, (1U << ((8 - writer.count) % 8)) - 1, (8 - writer.count) % 8);
    *writer.to++ = 0xFF;
    *writer.to++ = EOI;
    memset(writer.to, 0, TAIL);
    *file_size_out = (size_t)(writer.to - file->data) + TAIL;
    *cells_out = cells;
    return JPEG_PART_MADE;
}
