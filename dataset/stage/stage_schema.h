/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns between two consecutive stages: their roles, buffers and what earlier stages have
 * done to the images. Each stage changes the schema of the stage before it (stage_def.infer).
 */
#ifndef SLUICE_STAGE_SCHEMA_H
#define SLUICE_STAGE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/tensor.h>

#include "image.h"
#include "stage_states.h"

struct stage_def;

/* How geometry stages affect a column. */
typedef enum column_role {
    ROLE_PLAIN,    /* not affected; also the role of the first image, stage_schema.image */
    ROLE_MASK,     /* class numbers: resampled like the image, by nearest neighbour */
    ROLE_BOXES,    /* f32 (n, 4), x0 y0 x1 y1 in pixels of the image: boxes are moved, clipped and
                      dropped */
    ROLE_TIED,     /* a row for each box or point of another column: dropped with its box, exchanged
                      with its point */
    ROLE_IMAGE,    /* a further image: every stage transforms it like the first image */
    ROLE_GEOMETRY, /* f32 (2, 3), the affine map from the batch's image to the source's image; only
                      stage geometry adds it */
    ROLE_POINTS /* f32 (n, 2) or (n, k, 2), x y in pixels of the image: points are moved, and keep
                   their order and number. In a row of k points each has a meaning */
} column_role;

/* column_info.length of points without NAME_length: all rows are real. */
#define SCHEMA_NO_LENGTH UINT32_MAX

/*
 * A buffer holds the bytes of a column from the stage that writes them to the last stage that reads
 * them. The buffer numbers of a source are its column numbers.
 */
typedef struct column_info {
    column_role role;
    uint32_t buffer;
    uint32_t tied_to; /* ROLE_TIED, and points with `is_tied`: buffer of the boxes or points */
    bool is_tied;     /* ROLE_POINTS: each row of points belongs to a box, and is dropped with it */
    bool numbers_mask; /* ROLE_TIED: values are numbers of pixels in a mask of the sample */
    uint32_t length;   /* ROLE_BOXES, ROLE_POINTS: buffer of the number of rows, i32; or
                          SCHEMA_NO_LENGTH */
    bool in_parts;     /* ROLE_BOXES, ROLE_POINTS: the source has fractions of the image's width and
                          height */
    bool is_chw;       /* images: (C, H, W) */
    bool is_fixed; /* images: a map has read or written the image, so the next conversion must write
                      to another buffer */
    bool is_mixed; /* images: mixup or cutmix mixes the image, after all conversions */
    bool is_erased; /* images: random_erasing has set converted values, which later conversions must
                       not change */
    bool is_ready;  /* an image map has written it */
    bool is_converted; /* images: a conversion has changed the type of its values */
    double white;      /* images: the value of white (schema_white()); 0: unknown */
    uint32_t rows;     /* ragged plain columns: 1 + the buffer with the number of rows, NAME_length
                          of this or another column; rows behind them are zeros. 0: all rows may
                          have values */
    bool counts_boxes; /* the number of boxes of a column of the source */
    bool is_text;      /* ragged plain columns of u8: the source says that they are UTF-8 */
    uint32_t counted;  /* plain columns: 1 + the buffer of the column with their number of rows, if
                          that column was renamed or changed; 0: it is NAME_length */
} column_info;

enum { SCHEMA_MAX_BUFFERS = 64, SCHEMA_MAX_MAPS = 8 };

/* The limits that boxes must keep after all geometry, in pixels; 0: none (sanitize_boxes). */
typedef struct box_limits {
    double min_size; /* of the shorter side */
    double min_area;
    double min_visibility; /* (area) / (area that the box would have if nothing clipped it) */
} box_limits;

/* What colour stages add at most for one image. */
typedef struct color_counts {
    uint32_t operations;
    uint32_t mixes;  /* operations that are COLOR_MIX */
    uint32_t fields; /* elastic warps */
} color_counts;

/* The columns between two consecutive stages. */
typedef struct stage_schema {
    uint32_t buffer_count; /* number of buffers so far */
    uint32_t column_count;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    column_info infos[SLUICE_MAX_COLUMNS];
    int image; /* index of the first image, which transforms change; -1: no image */
    const char *by[STATE_COUNT]; /* for each state that is set, the first stage, map or argument
                                    that set it; else NULL */
    uint32_t view_count;         /* views of the image (STATE_VIEWS); 0: one. After batch they are
                                    the first dimension of the image */
    const char *random_size;    /* the stage that gives images of random sizes, unless a later stage
                                   sets the size; NULL: there is none */
    color_counts colors;        /* of the colour stages so far */
    uint32_t device_operations; /* most operations that the colour stages after device add */
    uint64_t
        device_sampling;     /* hash of how a warp after device samples; 0: there is no such warp */
    uint32_t map_count;      /* number of maps, filters and batch maps */
    uint32_t mixes;          /* most times that mixup and cutmix mix a batch */
    const char *map_name;    /* the last map or filter; NULL: none */
    uint32_t source_buffers; /* buffers with smaller numbers are the columns of the source */
    box_limits box_limits;   /* of all boxes of a sample */
    uint32_t batch_size;     /* 0: not batched yet */
    bool drop_remainder;
} stage_schema;

/*
 * Indices of the image's dimensions in its shape, unless the image is CHW. A length of 0 means that
 * it differs between samples.
 */
enum { SCHEMA_H = 0, SCHEMA_W = 1, SCHEMA_C = 2 };

/* True if a stage so far has set this state. */
static inline bool schema_has(const stage_schema *schema, stage_state state)
{
    return schema->by[state] != NULL;
}

/* Sets a state, unless it is set. `by`: what messages name. */
static inline void schema_set_state(stage_schema *schema, stage_state state, const char *by)
{
    if (schema->by[state] == NULL) {
        schema->by[state] = by;
    }
}

/* Checks that all images are decoded, as geometry requires. Returns E_INVALID otherwise. */
sluice_status schema_check_pixels(const stage_schema *schema, const char *stage);

/* The larger of two counts, each. */
color_counts color_counts_most(const color_counts *a, const color_counts *b);

/* Adds the most operations that a colour stage has for one image. E_INVALID: more than
 * COLOR_MAX_OPERATIONS. */
sluice_status schema_add_operations(stage_schema *schema, const char *stage, uint32_t operations);

/*
 * The columns after a colour stage: checks that the images of `columns` exist and are decoded uint8
 * images, with 1 or 3 channels if `gray_or_rgb`, and adds its operations. E_INVALID: they are not,
 * or there are too many operations.
 */
sluice_status schema_add_colors(stage_schema *schema, const char *stage, const char *columns,
                                bool gray_or_rgb, uint32_t operations);

/*
 * Counts the operations of a stage after device, with the columns before it (`before`) and after
 * it. E_INVALID: the colour stages there have too many, or warps that sample in different ways.
 */
sluice_status schema_check_device(const struct stage_def *def, const void *args,
                                  const stage_schema *before, stage_schema *schema);

/* True if a column of this role follows the geometry of the first image. */
bool schema_follows(column_role role);

/* True if boxes must keep some limit. */
static inline bool schema_limits_boxes(const stage_schema *schema)
{
    return schema->box_limits.min_size > 0 || schema->box_limits.min_area > 0 ||
           schema->box_limits.min_visibility > 0;
}

/* The column of boxes; -1: there is none, -2: there are several. */
int schema_find_boxes(const stage_schema *schema);

/* True if column i is the first image or a further one. */
bool schema_is_image(const stage_schema *schema, uint32_t i);

/* What column i is, for messages: "a plain column". */
const char *schema_role_words(const stage_schema *schema, uint32_t i);

/*
 * Removes the first name from a comma-separated list, and finds its column. *list is NULL after the
 * last name. E_INVALID: there is no such column.
 */
sluice_status schema_next_column(const char **list, const stage_schema *schema, const char *stage,
                                 uint32_t *column_out);

/* A set of columns: bit i is column i. */
typedef uint32_t column_set;

/*
 * Finds the images that a stage works on: all, or those that `names` has, separated by commas; ""
 * is all. E_INVALID: there is no image or no such column, a column is not an image, or is named
 * twice.
 */
sluice_status schema_select_images(const stage_schema *schema, const char *stage, const char *names,
                                   column_set *images_out);

/* The element of images of this type. False: there are no images of it. */
static inline bool schema_element(sluice_dtype dtype, image_element *element_out)
{
    *element_out = dtype == SLUICE_U16 ? IMAGE_U16 : dtype == SLUICE_F32 ? IMAGE_F32 : IMAGE_U8;
    return dtype == SLUICE_U8 || *element_out != IMAGE_U8;
}

/* The value of white in images of this type, which no stage has converted; 0: unknown. */
static inline double schema_white(sluice_dtype dtype)
{
    return dtype == SLUICE_U16 ? 65535 : dtype == SLUICE_F32 ? 0 : 255;
}

/* True if a conversion has changed the type or the layout of column i, an image. */
bool schema_is_converted(const stage_schema *schema, uint32_t i);

/* True if image i has 16 bits or, as nothing has converted it, floats: only stages that move
 * pixels, resizes and conversions, which the workers run, work on it. to_chw and flips leave 16
 * bits as they are. */
bool schema_is_wide(const stage_schema *schema, uint32_t i);

/* True if one of these images is converted. */
bool schema_are_converted(const stage_schema *schema, column_set images);

/*
 * Checks that these images are decoded, uint8 and (H, W, C); gray_or_rgb: of 1 or 3 channels.
 * Returns E_INVALID otherwise, or if there is none.
 */
sluice_status schema_check_bytes(const stage_schema *schema, const char *stage, column_set images,
                                 bool gray_or_rgb);

/* Sets the height and width of decoded masks and further images to those of the first image. */
void schema_size_followers(stage_schema *schema);

/* Assigns buffer numbers to the columns of a source. */
void schema_number_buffers(stage_schema *schema);

/* Records which column has the number of boxes of column `boxes`. */
void schema_note_count(stage_schema *schema, uint32_t boxes);

/*
 * True if a plain column has its values as soon as the source has read a sample. The number of
 * boxes has not after a stage that works on the final boxes (STATE_BOXES_FINAL).
 */
bool schema_is_early(const stage_schema *schema, uint32_t column);

/* Finds a column by name. Returns its index, or -1 if there is no such column. */
int schema_find(const stage_schema *schema, const char *name);

/* Finds a column by its buffer. Returns its index, or -1 if there is no such column. */
int schema_find_buffer(const stage_schema *schema, uint32_t buffer);

/* The buffer that holds the length of a ragged column; -1: the column is not ragged. */
int schema_length_buffer(const stage_schema *schema, uint32_t column);

/* Call before a stage renames or changes a column: if it is the length of a ragged column, that
 * column keeps it (column_info.counted). */
void schema_keep_length(stage_schema *schema, uint32_t length);

/* True if each row of the column belongs to a box or a point of another column. */
bool schema_is_tied(const column_info *info);

/* The boxes or points that the rows of a column belong to; -1: it has none, or they were dropped.
 */
int schema_owner(const stage_schema *schema, uint32_t column);

/*
 * Fails with E_INVALID because `stage` needs a column that does not exist. The message has the
 * names of all columns.
 */
sluice_status schema_no_column(const stage_schema *schema, const char *stage, const char *name);

/*
 * Finds a plain column for an array stage to recompute, and assigns a new buffer to it. E_INVALID:
 * no column has that name, the column is the image or follows it, or there are too many array
 * stages.
 */
sluice_status schema_array_column(stage_schema *schema, const char *stage, const char *name,
                                  sluice_column **column_out);

/* Checks a column name. E_INVALID: the text is not a valid name. `stage` is used in the message. */
sluice_status schema_check_name(const char *name, const char *stage);

/* True if the height or width of the image is still unknown. */
bool schema_lacks_size(const stage_schema *schema);

/* Makes the height and width of the image unknown: `stage` draws them for each image. */
void schema_unset_size(stage_schema *schema, const char *stage);

/* Makes the views of the image the first dimension of its column, if it has several. */
void schema_add_views(const stage_schema *schema, sluice_column *column);

/* Sets the height and width of the image, if they are unknown. */
void schema_set_size(stage_schema *schema, uint32_t width, uint32_t height);

/* Sets the columns of a source of files: the encoded image and, if `labelled`, the label. */
void schema_of_files(stage_schema *schema, bool labelled);

/*
 * Checks the names of all columns. E_INVALID: a name is not an identifier, or occurs twice. `stage`
 * is used in the message.
 */
sluice_status schema_check_names(const stage_schema *schema, const char *stage);

/* True for a column named image, u8 (H, W, C) with C from 1 to 4, which is an image as pixels. */
bool schema_is_raw_image(const sluice_column *column);

/*
 * Sets the columns of a source of arrays, up to SLUICE_MAX_COLUMNS. An image as pixels becomes
 * the image that transforms change. E_INVALID: a name is invalid or occurs twice. `stage` is the
 * source's name, for messages.
 */
sluice_status schema_of_arrays(const sluice_column *columns, uint32_t count, const char *stage,
                               stage_schema *schema);

/*
 * Fails with E_INVALID. If a plain column may be meant as the image, such as the rows of an array,
 * the message says how it becomes one, or of which type it must be.
 */
sluice_status fail_missing_image(const stage_schema *schema, const char *stage);

/* Describes the type of a column for messages, "f32 (5, 4)". Returns `text`. */
const char *column_type_text(const sluice_column *column, char *text, size_t size);

#endif
