/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boxes of a JP2 file (ISO/IEC 15444-1, annex I): where the code stream lies, and what its
 * components mean. OpenJPEG gets the code stream only, so that its reader of boxes sees no file.
 */
#ifndef SLUICE_JP2_BOXES_H
#define SLUICE_JP2_BOXES_H

#include <sluice/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JP2_COMPONENTS = 4, /* most components: RGB and alpha */
    JP2_ENTRIES = 1024  /* most entries of a palette */
};

typedef enum jp2_alpha { JP2_OPAQUE, JP2_ALPHA, JP2_PREMULTIPLIED } jp2_alpha;

typedef struct jp2_boxes {
    const uint8_t *code; /* the code stream; its end is that of the box or of the file */
    size_t code_size;
    bool has_space;    /* a box colr gives the space of the colours */
    bool is_ycc;       /* it is sYCC; else sRGB or gray */
    bool has_channels; /* a box cdef says what the components are */
    jp2_alpha alpha;   /* of has_channels */
    uint32_t order[3]; /* the component of each colour */
    uint32_t alpha_at; /* the component that is alpha */
    uint32_t columns;  /* of the palette; 0: there is none */
    uint32_t entries;
    uint8_t palette[JP2_ENTRIES][JP2_COMPONENTS];
} jp2_boxes;

/* Reads the boxes of a file, or takes a bare code stream. E_CORRUPT: the boxes are damaged or
 * incomplete; E_UNSUPPORTED: the file has colours or a palette that are not decoded. */
sluice_status jp2_boxes_read(jp2_boxes *boxes, const uint8_t *bytes, size_t size);

static inline uint32_t jp2_u16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static inline uint32_t jp2_u32(const uint8_t *bytes)
{
    return jp2_u16(bytes) << 16 | jp2_u16(bytes + 2);
}

#endif
