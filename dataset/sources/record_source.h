/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sources of record files share, one of each format: only the format itself, its texts and
 * its opening are in a file of its own.
 */
#ifndef SLUICE_RECORD_SOURCE_H
#define SLUICE_RECORD_SOURCE_H

#include "page_cache.h"
#include "record_set.h"
#include "source_stage_ops.h"

/* Opens the files of a format; args is a record_args. Returns the errors of record_set_open(). */
sluice_status record_source_open(const record_format *format, const void *args, void **source_out);

/* Operations of source_ops and source_stage_ops. */
void record_source_close(void *source);
uint64_t record_source_count(const void *source);
uint64_t record_source_memory(const void *source);
void record_source_name(const void *source, uint64_t index, char *text, size_t size);
sluice_status record_source_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out);
sluice_status record_source_read_plain(const void *source, uint64_t index, sample_io *io,
                                       void *const *row);
sluice_status record_source_read_other(const void *source, uint64_t index, uint32_t column,
                                       sample_io *io, sample_data *data_out);
bool record_source_locate(const void *source, uint64_t index, sample_location *location_out);
bool record_source_drops(const void *source);
uint32_t record_source_classes(const void *source);
void record_source_class_name(const void *source, uint32_t label, char *text, size_t size);
void record_source_implied(const void *source, const char *argument, sli_text *text);
sluice_status record_source_schema(const void *source, stage_schema *schema);

/* The columns of fields=, which are known before the files are opened; without it,
 * record_source_schema() sets them. `stage` is the name of the source. */
sluice_status record_source_infer(const char *stage, const void *args, stage_schema *schema);
bool record_source_opens_early(const void *args);

/* The worker's reader, which its first sample creates. NULL: out of memory. */
record_reader *record_source_reader(sample_io *io);

/* Returns the image or mask of a column of the record that a reader has. */
sluice_status record_source_image(const record_fields *fields, uint32_t column,
                                  record_reader *reader, sample_data *data_out);

/* Members of source_ops, all but open. */
#define RECORD_SOURCE_OPS                                                                          \
    .close = record_source_close, .count = record_source_count, .name = record_source_name,        \
    .read = record_source_read, .read_plain = record_source_read_plain,                            \
    .read_other = record_source_read_other, .locate = record_source_locate,                        \
    .drops = record_source_drops, .memory = record_source_memory,                                  \
    .implied = record_source_implied, .classes = record_source_classes,                            \
    .class_name = record_source_class_name

/* Entries of the parameter table. `files_help` says which files, and `example` is of fields=. */
#define RECORD_SOURCE_PARAMS(files_help, example)                                                  \
    PARAM_(record_args, files, PARAM_TEXT, NULL, 0, 0, NULL, files_help),                          \
        PARAM_(record_args, fields, PARAM_TEXT, "", 0, 0, NULL,                                    \
               "columns, NAME:FEATURE@KIND with commas, such as " example                          \
               "; without it they are chosen by the file"),                                        \
        PARAM_(record_args, index, PARAM_TEXT, "auto", 0, 0, NULL,                                 \
               "location of the indexes: auto (the cache folder of the user), none, or a folder"), \
        PARAM_(record_args, cache, PARAM_CHOICE, "keep", 0, 0, page_cache_choices,                 \
               "drop: drop read samples from the page cache, for datasets larger than memory")

/* The KINDs of fields=, for the details of a stage. */
#define RECORD_SOURCE_KINDS                                                                        \
    "fields= is a list of NAME:FEATURE@KIND, where FEATURE is a value's name in the file and "     \
    "KIND one of\n"                                                                                \
    "  image      an encoded image; the first one is the image, each other one a\n"                \
    "             further image\n"                                                                 \
    "  mask       an encoded image of class numbers, which follows the image\n"                    \
    "  imagexHxWxC, maskxHxW\n"                                                                    \
    "             the same as pixels, u8; so is u8xHxWxC of a column `image`\n"                    \
    "  boxes[N]   up to N boxes x0,y0,x1,y1 in pixels; also coco[N], voc[N],\n"                    \
    "             darknet[N], as in image_list\n"                                                  \
    "  points[N]  up to N points x,y in pixels; pointsxK: K points; points[N]xK:\n"                \
    "             up to N rows of K points, with @BOXES those of each box\n"                       \
    "  fraction_boxes[N], fraction_points[N]\n"                                                    \
    "             in fractions of the image's width and height\n"                                  \
    "  mask_numbers[N]@BOXES\n"                                                                    \
    "             the number that each box has in the mask, i32\n"                                 \
    "  text[N]    up to N bytes, u8 (N); also bytes[N]\n"                                          \
    "  T          one number of type T, such as i32\n"                                             \
    "  TxDxD      numbers of a fixed shape, such as f32x2x3\n"                                     \
    "  T[N]       up to N numbers; T[N]xD: up to N rows of D numbers\n"                            \
    "  T[N]@ROWS  as many as ROWS has, an earlier column of boxes, points or\n"                    \
    "             T[N]; with boxes and points they are dropped and exchanged\n"                    \
    "The numbers of a row of 2 to 4 can also be values of their own: "                             \
    "boxes:xmin+ymin+xmax+ymax@boxes[N].\n"                                                        \
    "NAME_length, i32, is the number of rows of [N] without @ROWS; zeros follow them. A value "    \
    "that a record lacks has no rows; for the other kinds the sample is bad. Numbers of another "  \
    "type are converted: one that T does not have makes the sample bad, as does a byte string "    \
    "for one number; for several it is their bytes, little-endian."

#endif
