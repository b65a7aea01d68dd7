/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The column stage: gives a column of the source another role than the source declares. It changes
 * the columns of the source (stage_def.declares), and declared_source.c reads them so.
 */
#include <stdio.h>
#include <string.h>

#include "conversion_int.h"
#include "stage.h"
#include "status_int.h"

enum { LARGEST_SIDE = 65535 };

/* The choices of `role`. */
static const char *const roles[] = {"plain", "image", "mask", "boxes", "points", NULL};
enum { TO_PLAIN, TO_IMAGE, TO_MASK, TO_BOXES, TO_POINTS };

typedef struct column_args {
    const char *column;
    uint32_t role;
    const char *of;
} column_args;

/* Fails because the type of a column does not fit its role. */
static sluice_status wrong_type(const column_args *args, const sluice_column *column,
                                const char *must_be)
{
    char text[120];

    return sli_fail(SLUICE_E_INVALID, "column %s: it is %s and must be %s for role=%s",
                    args->column, column_type_text(column, text, sizeof(text)), must_be,
                    roles[args->role]);
}

/* Fails because a column of another role than plain cannot get this role. */
static sluice_status wrong_role(const column_args *args, const stage_schema *schema, uint32_t i)
{
    const int owner = schema_owner(schema, i);

    return owner >= 0 && schema->infos[i].role == ROLE_TIED
               ? sli_fail(SLUICE_E_INVALID,
                          "column %s: its rows belong to %s, so it cannot be role=%s; put `column "
                          "%s role=plain` before this stage, or this stage before `column %s`",
                          args->column, schema->columns[owner].name, roles[args->role],
                          args->column, schema->columns[owner].name)
               : sli_fail(SLUICE_E_INVALID, "column %s: it is %s, which cannot be role=%s",
                          args->column, schema_role_words(schema, i), roles[args->role]);
}

/* Checks that there is an image for a column that follows it. */
static sluice_status check_image(const column_args *args, const stage_schema *schema)
{
    return schema->image >= 0
               ? SLUICE_OK
               : sli_fail(
                     SLUICE_E_INVALID,
                     "column %s: role=%s follows the image, and there is none; a column of pixels "
                     "(height, width, channels) becomes one by `column NAME role=image`",
                     args->column, roles[args->role]);
}

/* ---- boxes and points ------------------------------------------------------------------------ */

/* Finds the column NAME_length. E_INVALID: it is not of a length. -1: there is none. */
static sluice_status find_length(const column_args *args, const stage_schema *schema,
                                 int *length_out)
{
    char name[SLUICE_NAME_SIZE + 8];
    char text[120];

    snprintf(name, sizeof(name), "%.31s_length", args->column);
    *length_out = schema_find(schema, name);
    if (*length_out < 0 || (schema->columns[*length_out].dtype == SLUICE_I32 &&
                            schema->columns[*length_out].rank == 0)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "column %s: %s is the number of its rows, which is i32 for each sample, not %s",
                    args->column, name,
                    column_type_text(&schema->columns[*length_out], text, sizeof(text)));
}

/* Finds the column with the number of rows of column i: NAME_length, or that of another column with
 * as many rows. Returns the errors of find_length(). -1: there is none. */
static sluice_status find_count(const column_args *args, const stage_schema *schema, uint32_t i,
                                int *length_out)
{
    const uint32_t rows = schema->infos[i].rows;
    const sluice_status st = find_length(args, schema, length_out);

    if (st == SLUICE_OK && *length_out < 0 && rows > 0) {
        *length_out = schema_find_buffer(schema, rows - 1);
    }
    return st;
}

/* Adds the column NAME_length, which the source does not have. */
static sluice_status add_length(const column_args *args, stage_schema *schema, int *length_out)
{
    sluice_column column = {.dtype = SLUICE_I32};
    const int size = snprintf(column.name, sizeof(column.name), "%s_length", args->column);

    if ((size_t)size >= sizeof(column.name) || schema->column_count == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "column %s: there is no room for %s_length; the name must have at most "
                        "%d bytes, and the dataset %d columns",
                        args->column, args->column, SLUICE_NAME_SIZE - 8, SLUICE_MAX_COLUMNS);
    }
    *length_out = (int)schema->column_count;
    schema->infos[schema->column_count] =
        (column_info){.buffer = schema->buffer_count++, .white = 255};
    schema->columns[schema->column_count++] = column;
    schema->source_buffers = schema->buffer_count;
    return SLUICE_OK;
}

/* Ties the plain columns to boxes or points that have the same number of rows by the source. */
static sluice_status tie_rows(const column_args *args, stage_schema *schema, uint32_t owner)
{
    const column_info *of = &schema->infos[owner];

    for (uint32_t i = 0; i < schema->column_count && of->length != SCHEMA_NO_LENGTH; i++) {
        const sluice_column *column = &schema->columns[i];
        column_info *info = &schema->infos[i];

        if (info->role != ROLE_PLAIN || (int)i == schema->image || info->rows != of->length + 1) {
            continue;
        }
        if (column->shape[0] != schema->columns[owner].shape[0]) {
            return sli_fail(SLUICE_E_INVALID,
                            "column %s: its rows are dropped together with those of %s, so both "
                            "must have as many at most; %s has %llu, and %s %llu; make them equal, "
                            "or put `column %s role=plain` before it",
                            args->column, column->name, args->column,
                            (unsigned long long)schema->columns[owner].shape[0], column->name,
                            (unsigned long long)column->shape[0], column->name);
        }
        info->role = ROLE_TIED;
        info->tied_to = of->buffer;
        info->length = of->length;
        info->rows = 0;
    }
    return SLUICE_OK;
}

static sluice_status to_boxes(const column_args *args, stage_schema *schema, uint32_t i)
{
    const sluice_column *column = &schema->columns[i];
    int length = -1;
    sluice_status st = check_image(args, schema);

    if (st == SLUICE_OK && schema->infos[i].role != ROLE_PLAIN) {
        return wrong_role(args, schema, i);
    }
    if (st == SLUICE_OK && (column->dtype != SLUICE_F32 || column->rank != 2 ||
                            column->shape[1] != 4 || column->shape[0] > INT32_MAX)) {
        return wrong_type(args, column, "f32 (N, 4)");
    }
    if (st == SLUICE_OK) {
        st = find_count(args, schema, i, &length);
    }
    if (st == SLUICE_OK && length < 0) {
        st = add_length(args, schema, &length);
    }
    if (st == SLUICE_OK) {
        schema->infos[i].role = ROLE_BOXES;
        schema->infos[i].length = schema->infos[length].buffer;
        schema->infos[i].rows = 0;
        schema_note_count(schema, i);
        st = tie_rows(args, schema, i);
    }
    return st;
}

static sluice_status to_points(const column_args *args, stage_schema *schema, uint32_t i)
{
    const sluice_column *column = &schema->columns[i];
    column_info *info = &schema->infos[i];
    const int owner = schema_owner(schema, i);
    const bool is_tied = owner >= 0 && schema->infos[owner].role == ROLE_BOXES;
    int length = -1;
    sluice_status st = check_image(args, schema);

    if (st == SLUICE_OK && info->role != ROLE_PLAIN && !is_tied) {
        return wrong_role(args, schema, i);
    }
    if (st == SLUICE_OK && (column->dtype != SLUICE_F32 || column->rank < 2 || column->rank > 3 ||
                            column->shape[column->rank - 1] != 2 || column->shape[0] > INT32_MAX)) {
        return wrong_type(args, column, "f32 (N, 2) or (N, K, 2)");
    }
    if (st == SLUICE_OK && is_tied) {
        if (column->rank < 3) {
            return wrong_type(args, column, "f32 (N, K, 2), as its rows belong to boxes,");
        }
        info->role = ROLE_POINTS;
        info->is_tied = true;
        info->length = schema->infos[owner].length;
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        st = find_count(args, schema, i, &length);
    }
    if (st == SLUICE_OK) {
        info->role = ROLE_POINTS;
        info->length = length >= 0 ? schema->infos[length].buffer : SCHEMA_NO_LENGTH;
        info->rows = 0;
        st = tie_rows(args, schema, i);
    }
    return st;
}

/* ---- images and masks ------------------------------------------------------------------------ */

/* Checks the size of an image or mask of fixed size, and sets it to that of the first image, which
 * is 0 if it varies or is not known before decode. */
static sluice_status fit_size(const column_args *args, stage_schema *schema, sluice_column *column)
{
    const sluice_column *image = &schema->columns[schema->image];
    const uint64_t sides[2] = {image->dtype == SLUICE_ENCODED ? 0 : image->shape[SCHEMA_H],
                               image->dtype == SLUICE_ENCODED ? 0 : image->shape[SCHEMA_W]};

    if (sides[0] != 0 && (sides[0] != column->shape[0] || sides[1] != column->shape[1])) {
        char text[120];

        return sli_fail(SLUICE_E_INVALID,
                        "column %s: it is %s, and the image %s is %llux%llu (height, width); they "
                        "must have the same size",
                        args->column, column_type_text(column, text, sizeof(text)), image->name,
                        (unsigned long long)sides[0], (unsigned long long)sides[1]);
    }
    memcpy(column->shape, sides, sizeof(sides));
    return SLUICE_OK;
}

/* True for pixels: u8 (height, width); of an image also u16 or f32, and with channels. */
static bool has_pixels(const sluice_column *column, bool is_image)
{
    const uint64_t *shape = column->shape;
    image_element element;

    return schema_element(column->dtype, &element) && (is_image || element == IMAGE_U8) &&
           shape[SCHEMA_H] <= LARGEST_SIDE && shape[SCHEMA_W] <= LARGEST_SIDE &&
           (column->rank == 2 ||
            (is_image && column->rank == 3 && shape[SCHEMA_C] <= SLI_MAX_CHANNELS));
}

static sluice_status to_mask(const column_args *args, stage_schema *schema, uint32_t i)
{
    sluice_column *column = &schema->columns[i];
    const column_role role = schema->infos[i].role;
    sluice_status st = check_image(args, schema);

    if (st != SLUICE_OK) {
        return st;
    }
    if ((int)i == schema->image || (role != ROLE_PLAIN && role != ROLE_IMAGE)) {
        return wrong_role(args, schema, i);
    }
    if (column->dtype == SLUICE_ENCODED) {
        schema->infos[i].role = ROLE_MASK;
        return SLUICE_OK;
    }
    if (role != ROLE_PLAIN || !has_pixels(column, false)) {
        return wrong_type(args, column, "u8 (height, width), or an encoded image");
    }
    st = fit_size(args, schema, column);
    if (st == SLUICE_OK) {
        schema->infos[i].role = ROLE_MASK;
    }
    return st;
}

static sluice_status to_image(const column_args *args, stage_schema *schema, uint32_t i)
{
    sluice_column *column = &schema->columns[i];
    const column_role role = schema->infos[i].role;
    sluice_status st = SLUICE_OK;

    if (role != ROLE_PLAIN && role != ROLE_MASK) {
        return wrong_role(args, schema, i);
    }
    if (column->dtype == SLUICE_ENCODED) {
        schema->infos[i].role = ROLE_IMAGE;
        return SLUICE_OK;
    }
    if (role != ROLE_PLAIN || !has_pixels(column, true)) {
        return wrong_type(args, column,
                          "u8, u16 or f32 (height, width) or (height, width, channels) with 1 to 4 "
                          "channels");
    }
    if (schema->image >= 0) {
        st = fit_size(args, schema, column);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    schema->infos[i].white = schema_white(column->dtype);
    if (column->rank == 2) {
        column->rank = 3;
        column->shape[SCHEMA_C] = 1;
    }
    if (schema->image < 0) {
        schema->image = (int)i;
    } else {
        schema->infos[i].role = ROLE_IMAGE;
    }
    return SLUICE_OK;
}

/* ---- plain columns --------------------------------------------------------------------------- */

/* Makes the columns plain that belong to these boxes or points, which become plain. */
static void release_tied(stage_schema *schema, uint32_t owner, uint32_t rows)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        column_info *info = &schema->infos[i];

        if (schema_is_tied(info) && info->tied_to == schema->infos[owner].buffer) {
            info->is_tied = false;
            if (info->role == ROLE_TIED) {
                info->role = ROLE_PLAIN;
                info->rows = rows;
            }
        }
    }
}

/* Checks that an image or mask has bytes of a fixed size, and that nothing follows the image. */
static sluice_status check_plain_image(const column_args *args, const stage_schema *schema,
                                       uint32_t i)
{
    const sluice_column *column = &schema->columns[i];

    if (column->dtype == SLUICE_ENCODED || column->shape[SCHEMA_H] == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "column %s: its values must be of a fixed size for role=plain, and it is %s",
            args->column,
            column->dtype == SLUICE_ENCODED ? "an encoded image; decode it"
                                            : "of a size that varies");
    }
    for (uint32_t k = 0; k < schema->column_count && (int)i == schema->image; k++) {
        if (schema_follows(schema->infos[k].role)) {
            return sli_fail(SLUICE_E_INVALID,
                            "column %s: role=plain of the first image, which %s follows; make that "
                            "one plain before",
                            args->column, schema->columns[k].name);
        }
    }
    return SLUICE_OK;
}

/* Unties the rows of a plain column from another column with as many, which may get boxes. */
static void untie(const column_args *args, stage_schema *schema, uint32_t i)
{
    const uint32_t rows = schema->infos[i].rows;
    const int length = rows > 0 ? schema_find_buffer(schema, rows - 1) : -1;
    char name[SLUICE_NAME_SIZE + 8];

    snprintf(name, sizeof(name), "%.31s_length", args->column);
    if (length >= 0 && strcmp(schema->columns[length].name, name) != 0) {
        schema->infos[i].rows = 0;
    }
}

static sluice_status to_plain(const column_args *args, stage_schema *schema, uint32_t i)
{
    column_info *info = &schema->infos[i];
    const bool is_array = info->role == ROLE_BOXES || info->role == ROLE_POINTS;
    const uint32_t rows = is_array && info->length != SCHEMA_NO_LENGTH ? info->length + 1 : 0;
    sluice_status st = SLUICE_OK;

    if (info->role == ROLE_MASK || schema_is_image(schema, i)) {
        st = check_plain_image(args, schema, i);
    }
    if (st == SLUICE_OK && info->role == ROLE_PLAIN && (int)i != schema->image) {
        untie(args, schema, i);
        return SLUICE_OK;
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (is_array) {
        release_tied(schema, i, rows);
    }
    schema->image = (int)i == schema->image ? -1 : schema->image;
    info->role = ROLE_PLAIN;
    info->is_tied = false;
    info->rows = rows;
    return SLUICE_OK;
}

/* Ties the rows of a column to the boxes or points of another one. */
static sluice_status tie(const column_args *args, stage_schema *schema, uint32_t i)
{
    const sluice_column *column = &schema->columns[i];
    column_info *info = &schema->infos[i];
    const int owner = schema_find(schema, args->of);
    const bool are_points = args->role == TO_POINTS;
    column_role role;
    int length;
    sluice_status st;

    if (owner < 0) {
        return schema_no_column(schema, "column", args->of);
    }
    role = schema->infos[owner].role;
    if (owner == (int)i || (role != ROLE_BOXES && (role != ROLE_POINTS || are_points))) {
        return sli_fail(SLUICE_E_INVALID, "column %s: of=%s must name %s; %s is %s", args->column,
                        args->of, are_points ? "boxes" : "boxes or points", args->of,
                        schema_role_words(schema, (uint32_t)owner));
    }
    if (!are_points && args->role != TO_PLAIN) {
        return sli_fail(SLUICE_E_INVALID,
                        "column %s: of= is for role=plain and role=points, not for role=%s",
                        args->column, roles[args->role]);
    }
    if (column->rank < (are_points ? 3 : 1) ||
        column->shape[0] != schema->columns[owner].shape[0]) {
        char text[120];

        return sli_fail(SLUICE_E_INVALID,
                        "column %s: it is %s, and must have %llu rows%s, as %s has", args->column,
                        column_type_text(column, text, sizeof(text)),
                        (unsigned long long)schema->columns[owner].shape[0],
                        are_points ? " of points, f32 (N, K, 2)" : "", args->of);
    }
    if (!are_points && info->role != ROLE_PLAIN && info->role != ROLE_TIED) {
        return wrong_role(args, schema, i);
    }
    st = find_length(args, schema, &length);
    if (st == SLUICE_OK && length >= 0 &&
        schema->infos[length].buffer != schema->infos[owner].length) {
        return sli_fail(SLUICE_E_INVALID,
                        "column %s: its number of rows is that of %s, so the column %s would be "
                        "wrong; leave that out",
                        args->column, args->of, schema->columns[length].name);
    }
    if (st == SLUICE_OK) {
        info->role = are_points ? ROLE_POINTS : ROLE_TIED;
        info->is_tied = are_points;
        info->tied_to = schema->infos[owner].buffer;
        info->length = schema->infos[owner].length;
        info->rows = 0;
    }
    return st;
}

/* True if the column has the role already: the stages are inferred again from the columns of the
 * source that they have changed. */
static bool has_role(const stage_schema *schema, uint32_t i, uint32_t role)
{
    static const column_role wanted[] = {[TO_IMAGE] = ROLE_IMAGE,
                                         [TO_MASK] = ROLE_MASK,
                                         [TO_BOXES] = ROLE_BOXES,
                                         [TO_POINTS] = ROLE_POINTS};

    return role == TO_IMAGE ? schema_is_image(schema, i)
                            : role != TO_PLAIN && schema->infos[i].role == wanted[role];
}

static sluice_status column_infer(const void *opaque, stage_schema *schema)
{
    static sluice_status (*const change[])(const column_args *, stage_schema *,
                                           uint32_t) = {[TO_PLAIN] = to_plain,
                                                        [TO_IMAGE] = to_image,
                                                        [TO_MASK] = to_mask,
                                                        [TO_BOXES] = to_boxes,
                                                        [TO_POINTS] = to_points};
    const column_args *args = opaque;
    const int column = schema_find(schema, args->column);
    sluice_status st = SLUICE_OK;

    if (column < 0) {
        return schema_no_column(schema, "column", args->column);
    }
    if (!has_role(schema, (uint32_t)column, args->role) &&
        (args->role != TO_PLAIN || args->of[0] == '\0')) {
        st = change[args->role](args, schema, (uint32_t)column);
    }
    return st == SLUICE_OK && args->of[0] != '\0' ? tie(args, schema, (uint32_t)column) : st;
}

static const stage_param column_params[] = {
    PARAM_(column_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "a column of the source"),
    PARAM_(column_args, role, PARAM_CHOICE, "plain", 0, 0, roles,
           "what stages do to it: boxes f32 (N, 4), points f32 (N, 2), mask u8 (H, W), image u8, "
           "u16 or f32 (H, W, C)"),
    PARAM_(column_args, of, PARAM_TEXT, "", 0, 0, NULL, "boxes or points to which its rows belong"),
};

const stage_def stage_column = {
    .name = "column",
    .summary = "Gives a column of the source another role; comes right after the source.",
    .gives = "the same columns, and NAME_length i32 of boxes",
    .details = "Arrays of numbers then follow the image, or are images. Only stages of order "
               "and other stages of this kind may be between the source and this one. After a "
               "group of datasets it names columns of all parts. The roles:\n"
               "  boxes   f32 (N, 4), x0 y0 x1 y1 in pixels. If there is a column\n"
               "          NAME_length, i32, it has the number of boxes of each sample;\n"
               "          otherwise it is added, and rows of zeros at the end are padding\n"
               "  points  f32 (N, 2) or (N, K, 2). Without a column NAME_length all rows are\n"
               "          points\n"
               "  mask    u8 (height, width) of the image's size, or an encoded image\n"
               "  image   u8, u16 or f32 (height, width) or (height, width, channels), or an\n"
               "          encoded mask. The first image if there is none, otherwise a further\n"
               "          image, of the size of the first one\n"
               "  plain   no stage moves it. An image or mask must not be encoded, nor vary\n"
               "          in size, and nothing may follow the first image\n"
               "of= is for plain and points: a column of boxes, or for plain also of points, "
               "of as many rows. Rows are dropped with their box and exchanged with their "
               "point. Plain columns that have as many rows by the source (@ROWS) are tied to "
               "boxes and points without it; role=plain unties them.\n"
               "A column whose type or shape does not fit the role is refused. NaN, a box that "
               "is not x0 y0 x1 y1 with 0 <= x0 < x1, and a NAME_length out of range make a "
               "bad sample (E_CORRUPT).",
    .kind = STAGE_COLUMNS,
    STAGE_PARAMS(column_params),
    .args_size = sizeof(column_args),
    .infer = column_infer,
    .declares = true,
};
