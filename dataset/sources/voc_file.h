/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations of PASCAL VOC: an XML file for each image, with its size, and the name and the box of
 * each object. Other elements are skipped, such as the parts of an object.
 */
#ifndef SLUICE_VOC_FILE_H
#define SLUICE_VOC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Limits on the bytes of a file, and of a name. */
enum { VOC_FILE_MOST = 1 << 24, VOC_NAME_MOST = 1023 };

typedef struct voc_object {
    size_t name; /* offset of its name in `names` */
    float corners[4];
    bool is_difficult;
    uint64_t line;
} voc_object;

/* It begins as zeros. Its memory is used again for the next file. */
typedef struct voc_file {
    struct voc_parser *parser;
    uint32_t width; /* 0: not given */
    uint32_t height;
    char *names; /* zero-terminated texts */
    size_t names_size;
    size_t names_capacity;
    voc_object *objects;
    size_t object_count;
    size_t object_capacity;
    uint64_t line; /* of an error; 0: not known */
} voc_file;

/*
 * Parses a file. Boxes are x0, y0, x1, y1 in pixels from 0, x1 and y1 exclusive: xmin - 1, ymin -
 * 1, xmax, ymax. E_CORRUPT: it is not XML, an object lacks its name or box, or a value is not what
 * it must be; E_UNSUPPORTED: it has a document type, or the build has no expat, or it cannot be
 * loaded; E_NO_MEMORY.
 */
sluice_status voc_file_read(voc_file *file, const char *text, size_t size);

void voc_file_free(voc_file *file);

#endif
