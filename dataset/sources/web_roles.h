/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role of a column of webdataset whose members are arrays: NAME:ROLE=FIELD, where ROLE is one
 * of
 *
 *     image               pixels, (height, width, channels), all of the same size
 *     mask                class numbers, u8 (height, width), all of the same size
 *     boxes[N]            up to N boxes, f32 (n, 4), x0 y0 x1 y1 in pixels of the image
 *     points[N]           up to N points, f32 (n, 2) or (n, k, 2), in pixels of the image
 *     points              a fixed number of points, without NAME_length
 *     points[N]@BOXES     points of each box of the column BOXES; points[N]@BOXES/2:3/4:5: a flip
 *                         exchanges points 2 and 3 of each, and 4 and 5, counted from 0
 *     mask_numbers[N]@BOXES  the number that each box has in the mask
 *
 * boxes and points are fractions of the image's width and height as `fraction_boxes`,
 * `fraction_points`.
 */
#ifndef SLUICE_WEB_ROLES_H
#define SLUICE_WEB_ROLES_H

#include "point_pairs.h"
#include "stage_schema.h"

typedef enum web_role {
    WEB_PLAIN,
    WEB_PIXELS,
    WEB_PIXEL_MASK,
    WEB_BOXES,
    WEB_FRACTION_BOXES,
    WEB_POINTS,
    WEB_FRACTION_POINTS,
    WEB_MASK_NUMBERS
} web_role;

/* A ROLE, taken apart. */
typedef struct web_role_words {
    char name[SLUICE_NAME_SIZE];
    web_role role;
    uint32_t most; /* N; 0: none */
    char rows[SLUICE_NAME_SIZE];
    point_pairs pairs; /* of the points of each box */
} web_role_words;

/* Returns the word of a role; "" is that of WEB_PLAIN. */
const char *web_role_word(web_role role);

/* True for pixels, which are read as an image is. */
static inline bool web_role_is_pixels(web_role role)
{
    return role == WEB_PIXELS || role == WEB_PIXEL_MASK;
}

static inline bool web_role_is_points(web_role role)
{
    return role == WEB_POINTS || role == WEB_FRACTION_POINTS;
}

/*
 * Takes NAME:ROLE=FIELD apart, where N is at most `most`. Returns FIELD; NULL: the text has not
 * this form, or no such role.
 */
const char *web_role_parse(const char *text, uint32_t most, web_role_words *words_out);

/*
 * Sets the role of a column whose type and number of rows the schema has; `owner` is the column of
 * @BOXES, or -1. E_INVALID: an array of its type cannot have the role; the message says which type
 * it must have.
 */
sluice_status web_role_set(web_role role, uint32_t column, int owner, stage_schema *schema);

#endif
