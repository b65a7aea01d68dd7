/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tests/data/formats, and the pixels that Pillow decodes of them. */
#ifndef SLUICE_FORMAT_KIT_H
#define SLUICE_FORMAT_KIT_H

#include "image_decoder.h"
#include "picture_kit.h"

typedef struct format_file {
    uint8_t *bytes; /* from malloc(), of exactly this size: for what looks beyond the end */
    size_t size;
    picture want;
} format_file;

format_file format_file_read(const char *name, const char *extension);
void format_file_free(format_file *file);

/* Checks a box of the file, in colour or in gray, against the picture. */
void format_file_check(image_decoder *decoder, const format_file *file, bool gray,
                       const image_box *box);

#endif
