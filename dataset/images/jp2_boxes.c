/* SPDX-License-Identifier: Apache-2.0 */
#include "jp2_boxes.h"

#include <string.h>

#include "status_int.h"

enum { SIGNATURE_SIZE = 12 };
enum { COLOUR_SRGB = 16, COLOUR_GRAY = 17, COLOUR_SYCC = 18 }; /* EnumCS */

typedef struct box {
    uint32_t type;
    const uint8_t *content;
    size_t size;
} box;

static uint32_t box_type(const char *name)
{
    return jp2_u32((const uint8_t *)name);
}

static sluice_status is_cut(const char *what)
{
    return sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 file ends in %s, or its length is wrong",
                    what);
}

/* Takes the box at *at, and moves *at behind it. */
static sluice_status next_box(const uint8_t *bytes, size_t size, size_t *at, box *box_out)
{
    const size_t left = size - *at;
    uint64_t length;
    size_t header = 8;

    if (left < header) {
        return is_cut("the header of a box");
    }
    length = jp2_u32(bytes + *at);
    if (length == 1) {
        header = 16;
        if (left < header) {
            return is_cut("the header of a box");
        }
        length = (uint64_t)jp2_u32(bytes + *at + 8) << 32 | jp2_u32(bytes + *at + 12);
    } else if (length == 0) {
        length = left; /* the last box */
    }
    if (length < header || length > left) {
        return is_cut("a box");
    }
    *box_out = (box){jp2_u32(bytes + *at + 4), bytes + *at + header, (size_t)length - header};
    *at += (size_t)length;
    return SLUICE_OK;
}

/* ---- the header box -------------------------------------------------------------------------- */

static sluice_status read_colours(jp2_boxes *boxes, const box *colr)
{
    uint32_t space;

    if (colr->size < 3) {
        return is_cut("its box colr");
    }
    if (boxes->has_space || colr->content[0] != 1) {
        return SLUICE_OK; /* the first one counts; a profile is not applied, as of other formats */
    }
    if (colr->size < 7) {
        return is_cut("its box colr");
    }
    space = jp2_u32(colr->content + 3);
    if (space != COLOUR_SRGB && space != COLOUR_GRAY && space != COLOUR_SYCC) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has colours of the space %u; it must be 16 (sRGB), 17 "
                        "(gray) or 18 (sYCC)",
                        space);
    }
    boxes->is_ycc = space == COLOUR_SYCC;
    boxes->has_space = true;
    return SLUICE_OK;
}

static sluice_status read_palette(jp2_boxes *boxes, const box *pclr)
{
    size_t at;

    if (pclr->size < 3) {
        return is_cut("its palette");
    }
    boxes->entries = jp2_u16(pclr->content);
    boxes->columns = pclr->content[2];
    if (boxes->entries == 0 || boxes->entries > JP2_ENTRIES ||
        (boxes->columns != 1 && boxes->columns != 3 && boxes->columns != 4)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has a palette of %u entries of %u columns; it must "
                        "have from 1 to %d of 1, 3 or 4",
                        boxes->entries, boxes->columns, JP2_ENTRIES);
    }
    at = 3 + boxes->columns;
    if (pclr->size != at + (size_t)boxes->entries * boxes->columns) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "the JPEG 2000 file has a palette that is cut, or "
                                              "whose values do not have 8 bits");
    }
    for (uint32_t c = 0; c < boxes->columns; c++) {
        if (pclr->content[3 + c] != 7) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "the JPEG 2000 file has a palette of %u bits%s; it must have 8",
                            (pclr->content[3 + c] & 0x7FU) + 1,
                            pclr->content[3 + c] > 0x7F ? ", signed" : "");
        }
    }
    for (uint32_t i = 0; i < boxes->entries; i++) {
        memcpy(boxes->palette[i], pclr->content + at, boxes->columns);
        at += boxes->columns;
    }
    return SLUICE_OK;
}

/* The columns of a palette must be the channels, in order: all of component 0. */
static sluice_status check_mapping(const jp2_boxes *boxes, const box *cmap)
{
    bool is_plain = cmap->size == (size_t)boxes->columns * 4;

    for (uint32_t c = 0; c < boxes->columns && is_plain; c++) {
        is_plain = jp2_u16(cmap->content + 4 * (size_t)c) == 0 && cmap->content[4 * c + 2] == 1 &&
                   cmap->content[4 * c + 3] == c;
    }
    return is_plain ? SLUICE_OK
                    : sli_fail(SLUICE_E_UNSUPPORTED, "the JPEG 2000 file maps its palette in "
                                                     "another way than column by column");
}

static sluice_status read_channels(jp2_boxes *boxes, const box *cdef)
{
    uint32_t count;

    if (cdef->size < 2 || cdef->size != 2 + (size_t)jp2_u16(cdef->content) * 6) {
        return is_cut("its box cdef");
    }
    count = jp2_u16(cdef->content);
    boxes->has_channels = true;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *entry = cdef->content + 2 + 6 * (size_t)i;
        const uint32_t component = jp2_u16(entry);
        const uint32_t type = jp2_u16(entry + 2);
        const uint32_t colour = jp2_u16(entry + 4);

        if (component >= JP2_COMPONENTS || (type == 0 && (colour == 0 || colour > 3))) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "the JPEG 2000 file says of component %u that it is colour %u",
                            component, colour);
        }
        if (type == 0) {
            boxes->order[colour - 1] = component;
        } else if (type == 1 || type == 2) {
            boxes->alpha = type == 1 ? JP2_ALPHA : JP2_PREMULTIPLIED;
            boxes->alpha_at = component;
        }
    }
    return SLUICE_OK;
}

static sluice_status read_header(jp2_boxes *boxes, const box *header)
{
    bool is_mapped = false;
    size_t at = 0;

    while (at < header->size) {
        sluice_status st;
        box one = {0};

        st = next_box(header->content, header->size, &at, &one);
        if (st == SLUICE_OK && one.type == box_type("colr")) {
            st = read_colours(boxes, &one);
        } else if (st == SLUICE_OK && one.type == box_type("pclr")) {
            st = read_palette(boxes, &one);
        } else if (st == SLUICE_OK && one.type == box_type("cmap")) {
            st = check_mapping(boxes, &one);
            is_mapped = true;
        } else if (st == SLUICE_OK && one.type == box_type("cdef")) {
            st = read_channels(boxes, &one);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return boxes->columns == 0 || is_mapped
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 file has a palette without a box cmap");
}

/* ---- the file -------------------------------------------------------------------------------- */

sluice_status jp2_boxes_read(jp2_boxes *boxes, const uint8_t *bytes, size_t size)
{
    bool has_header = false;
    size_t at = SIGNATURE_SIZE;

    *boxes = (jp2_boxes){.order = {0, 1, 2}};
    if (size >= 2 && bytes[0] == 0xFF) {
        boxes->code = bytes;
        boxes->code_size = size;
        return SLUICE_OK;
    }
    while (at < size) {
        sluice_status st;
        box one = {0};

        st = next_box(bytes, size, &at, &one);
        if (st == SLUICE_OK && one.type == box_type("jp2h") && !has_header) {
            st = read_header(boxes, &one);
            has_header = true;
        } else if (st == SLUICE_OK && one.type == box_type("jp2c") && has_header) {
            boxes->code = one.content;
            boxes->code_size = one.size;
            return SLUICE_OK;
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 file has no code stream after a header");
}
