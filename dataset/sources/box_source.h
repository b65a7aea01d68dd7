/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sources of images with boxes share: coco, yolo and voc read a box_set when they are
 * opened; their columns and samples are the same. Image files are read when needed.
 */
#ifndef SLUICE_BOX_SOURCE_H
#define SLUICE_BOX_SOURCE_H

#include "box_set.h"
#include "left_out.h"
#include "object_masks.h"
#include "point_pairs.h"
#include "source.h"
#include "stage_schema.h"

/* Limit on the argument max_boxes. */
enum { BOX_SOURCE_MOST = 1 << 20 };

typedef struct box_source {
    box_set set;
    int root_fd; /* folder that relative paths of images refer to; -1: not open */
    bool has_flags;
    const char *mask_folder;      /* of voc: that of the masks; NULL: there are none */
    point_pairs pairs;            /* of key points that a flip exchanges */
    mask_kind masks;              /* that are drawn from the shapes of objects */
    int shapes_fd;                /* of coco with masks: the file with the shapes; -1: not open */
    char left_out[LEFT_OUT_TEXT]; /* files that are not read; "": none */
} box_source;

/* Sets the columns. `flag` is the name of the column of set_box.flag; NULL: there is none. */
void box_source_columns(stage_schema *schema, uint64_t max_boxes, bool in_parts, const char *flag);

/* Adds the columns keypoints and visibility, of `points` key points of a box. */
void box_source_add_points(stage_schema *schema, uint64_t max_boxes, uint32_t points,
                           bool in_parts);

/* Adds the column `mask`, which read_other() reads, after those of box_source_columns(). */
void box_source_add_mask(stage_schema *schema);

/* Adds the column instances, right after that of box_source_add_mask(): the number that each box
 * has in the mask. The masks of the source are MASKS_INSTANCE. */
void box_source_add_instances(stage_schema *schema, uint64_t max_boxes);

/* Makes a source without samples, which box_source_close() frees. E_NO_MEMORY. */
sluice_status box_source_new(bool has_flags, box_source **source_out);

/* NULL is a no-op. */
void box_source_close(void *source);

/* Operations of source_ops. */
uint64_t box_source_count(const void *source);
uint64_t box_source_memory(const void *source);
void box_source_name(const void *source, uint64_t index, char *text, size_t size);
sluice_status box_source_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                              sample_data *data_out);
sluice_status box_source_read_plain(const void *source, uint64_t index, sample_io *io,
                                    void *const *row);
bool box_source_locate(const void *source, uint64_t index, sample_location *location_out);
uint32_t box_source_classes(const void *source);
void box_source_class_name(const void *source, uint32_t label, char *text, size_t size);

const point_pairs *box_source_flip_pairs(const void *source, uint32_t *column_out);

/* A hash of the names of all classes in their order, for sources that number them themselves. */
uint64_t box_source_class_hash(const void *source);

const char *box_source_left_out(const void *source);
void box_source_changed(const void *source, uint64_t *clipped, uint64_t *dropped);

/* Fails if a mask of this kind has no numbers for so many boxes, or for the classes of a set. */
sluice_status box_source_check_rows(const char *stage, mask_kind masks, uint64_t max_boxes);
sluice_status box_source_check_classes(const box_source *source);

/* Adds the shape of a box to a raster; errors begin with its place. */
typedef sluice_status (*shape_reader)(void *user, const set_box *box, object_raster *raster);

/*
 * Draws the mask of an image. Its size is that which is listed, else that of the image. E_CORRUPT:
 * they differ, but for an orientation, or a shape is wrong; E_NO_MEMORY; errors of reading the
 * image, whose size is needed.
 */
sluice_status box_source_draw(const box_source *source, uint64_t index, sample_io *io,
                              shape_reader read, void *user, sample_data *data_out);

/* Members of source_ops, all but open. */
#define BOX_SOURCE_OPS                                                                             \
    .close = box_source_close, .count = box_source_count, .name = box_source_name,                 \
    .read = box_source_read, .read_plain = box_source_read_plain, .locate = box_source_locate,     \
    .memory = box_source_memory, .classes = box_source_classes,                                    \
    .class_name = box_source_class_name, .left_out = box_source_left_out,                          \
    .changed_boxes = box_source_changed, .flip_pairs = box_source_flip_pairs

#endif
