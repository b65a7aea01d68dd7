/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_columns.h"

#include <stdio.h>
#include <string.h>

#include "conversion_int.h"
#include "status_int.h"
#include "tensor_int.h"

/* Size of sluice_column_spec in its first version, in which `boxes` was the last field. */
static const size_t FIRST_SPEC =
    offsetof(sluice_column_spec, boxes) + sizeof(((sluice_column_spec *)NULL)->boxes);

enum { LARGEST_SPEC = 4096, LARGEST_SIDE = 65535 };

/* The columns being built, and their owner's name for messages. */
typedef struct making {
    const char *owner;
    custom_columns *made;
} making;

/*
 * Copies entry i of the caller's array. Fields that this version of the library does not define
 * must be zero.
 */
static sluice_status read_spec(const making *m, const sluice_column_spec *specs, size_t stride,
                               uint32_t i, sluice_column_spec *spec)
{
    const unsigned char *entry = (const unsigned char *)specs + i * stride;

    memset(spec, 0, sizeof(*spec));
    memcpy(spec, entry, stride < sizeof(*spec) ? stride : sizeof(*spec));
    for (size_t at = sizeof(*spec); at < stride; at++) {
        if (entry[at] != 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: column %u of columns has a field that this library does not know; "
                            "leave newer fields zero",
                            m->owner, i);
        }
    }
    if (spec->name == NULL || strlen(spec->name) >= SLUICE_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: the name of column %u is NULL or longer than %d bytes", m->owner, i,
                        SLUICE_NAME_SIZE - 1);
    }
    if (spec->rank > SLUICE_MAX_RANK) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: rank is %u, and must be at most %d", m->owner,
                        spec->name, spec->rank, SLUICE_MAX_RANK);
    }
    return SLUICE_OK;
}

static sluice_status add_to_schema(const making *m, const sluice_column *column,
                                   uint32_t *index_out)
{
    stage_schema *schema = &m->made->schema;

    if (schema->column_count == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: more than %d columns, with NAME_length of those that are ragged",
                        m->owner, SLUICE_MAX_COLUMNS);
    }
    *index_out = schema->column_count;
    schema->columns[schema->column_count++] = *column;
    return SLUICE_OK;
}

/* Adds the i32 column NAME_length, which holds a sample's actual length. */
static sluice_status add_length(const making *m, custom_column *column)
{
    sluice_column length = {.dtype = SLUICE_I32};
    uint32_t index = 0;
    const int size = snprintf(length.name, sizeof(length.name), "%s_length", column->spec.name);
    sluice_status st = (size_t)size < sizeof(length.name)
                           ? add_to_schema(m, &length, &index)
                           : sli_fail(SLUICE_E_INVALID,
                                      "%s: %s: the name must have at most %d bytes, since the "
                                      "column of its length has _length after it",
                                      m->owner, column->spec.name, SLUICE_NAME_SIZE - 8);

    if (st == SLUICE_OK) {
        column->length = (int)index;
    }
    return st;
}

/* ---- kinds of columns ------------------------------------------------------------------------ */

/* True if height and width are both 0 (they vary between samples), or both valid. */
static bool is_size(const uint64_t *shape)
{
    return (shape[SCHEMA_H] == 0) == (shape[SCHEMA_W] == 0) && shape[SCHEMA_H] <= LARGEST_SIDE &&
           shape[SCHEMA_W] <= LARGEST_SIDE;
}

/* Refuses an encoded mask or further image if the first image is not encoded: decode requires an
 * encoded first image. */
static sluice_status mixed_kinds(const making *m, const custom_column *column)
{
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "%s: %s is encoded and the image is not; give both as pixels, or both encoded",
                    m->owner, column->spec.name);
}

static sluice_status check_image(const making *m, custom_column *column)
{
    const sluice_column *spec = &column->spec;

    const int first = m->made->schema.image;

    if (spec->dtype == SLUICE_ENCODED && first >= 0 &&
        m->made->schema.columns[first].dtype != SLUICE_ENCODED) {
        return mixed_kinds(m, column);
    }
    if (spec->dtype == SLUICE_ENCODED) {
        return spec->rank == 0 ? SLUICE_OK
                               : sli_fail(SLUICE_E_INVALID,
                                          "%s: %s: rank is %u, and must be 0 for an encoded image",
                                          m->owner, spec->name, spec->rank);
    }
    if (spec->dtype != SLUICE_U8) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: %s: an image is u8 or encoded, not %s; declare it as plain where no "
                        "stage works on it",
                        m->owner, spec->name, sluice_dtype_name(spec->dtype));
    }
    if (spec->rank != 3 || !is_size(spec->shape) || spec->shape[SCHEMA_C] < 1 ||
        spec->shape[SCHEMA_C] > SLI_MAX_CHANNELS) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: the shape of an image must be (height, width, channels), with 1 "
                        "to %d channels and sides of at most %d, or both 0 where they vary",
                        m->owner, spec->name, SLI_MAX_CHANNELS, LARGEST_SIDE);
    }
    if (first >= 0 && memcmp(spec->shape, m->made->schema.columns[first].shape,
                             2 * sizeof(spec->shape[0])) != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: images of a sample must have one size: the height and width of "
                        "%s, or 0 where they vary and where that image is encoded",
                        m->owner, spec->name, m->made->schema.columns[first].name);
    }
    column->varies = spec->shape[SCHEMA_H] == 0;
    return SLUICE_OK;
}

/* Checks that there is an image for a column that follows the image. */
static sluice_status check_follows(const making *m, const custom_column *column)
{
    return m->made->schema.image >= 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: %s follows the image: declare a column of SLUICE_ROLE_IMAGE before "
                          "it",
                          m->owner, column->spec.name);
}

static sluice_status check_mask(const making *m, custom_column *column)
{
    const sluice_column *spec = &column->spec;
    const sluice_column *image;
    sluice_status st = check_follows(m, column);

    if (st != SLUICE_OK) {
        return st;
    }
    image = &m->made->schema.columns[m->made->schema.image];
    if (spec->dtype == SLUICE_ENCODED && spec->rank == 0) {
        return image->dtype == SLUICE_ENCODED ? SLUICE_OK : mixed_kinds(m, column);
    }
    if (spec->dtype != SLUICE_U8 || spec->rank != 2 ||
        memcmp(spec->shape, image->shape, 2 * sizeof(spec->shape[0])) != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: a mask must be u8 (height, width), with the size of the image, or "
                        "0 where it varies and where the image is encoded; or it must be encoded",
                        m->owner, spec->name);
    }
    column->varies = spec->shape[SCHEMA_H] == 0;
    return SLUICE_OK;
}

static sluice_status check_boxes(const making *m, custom_column *column)
{
    const sluice_column *spec = &column->spec;

    column->ragged = true;
    if (spec->dtype != SLUICE_F32 || spec->rank != 2 || spec->shape[0] == 0 ||
        spec->shape[0] > INT32_MAX || spec->shape[1] != 4) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: boxes must be f32 (most, 4), with room for at least one box",
                        m->owner, spec->name);
    }
    return check_follows(m, column);
}

static sluice_status check_points(const making *m, const custom_column *column)
{
    const sluice_column *spec = &column->spec;
    size_t bytes;

    if (spec->dtype != SLUICE_F32 || spec->rank < 2 || spec->rank > 3 ||
        spec->shape[spec->rank - 1] != 2 || spec->shape[0] > INT32_MAX ||
        !sli_column_bytes(spec, &bytes) || bytes == 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: points must be f32 (most, 2) or (most, k, 2)",
                        m->owner, spec->name);
    }
    return check_follows(m, column);
}

/* Finds the column of boxes or points that the column belongs to. */
static sluice_status find_boxes(const making *m, const char *boxes, custom_column *column)
{
    const int at = custom_columns_find(m->made, boxes);
    const sluice_column *spec = &column->spec;
    const custom_column *owner;

    if (at < 0 || (m->made->columns[at].role != SLUICE_ROLE_BOXES &&
                   m->made->columns[at].role != SLUICE_ROLE_POINTS)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: there is no column %.100s of boxes or points before it", m->owner,
                        spec->name, boxes);
    }
    owner = &m->made->columns[at];
    if ((column->role != SLUICE_ROLE_PLAIN &&
         (column->role != SLUICE_ROLE_POINTS || owner->role != SLUICE_ROLE_BOXES)) ||
        spec->rank == 0 || spec->shape[0] != owner->spec.shape[0]) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s belongs to %s: it must be a plain column, or points of boxes, and "
                        "its first dimension must be %llu, as that of %s",
                        m->owner, spec->name, boxes, (unsigned long long)owner->spec.shape[0],
                        boxes);
    }
    if (column->role == SLUICE_ROLE_POINTS && spec->rank != 3) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: points of boxes must be f32 (most, k, 2), k points of each box",
                        m->owner, spec->name);
    }
    column->ragged = owner->ragged;
    column->boxes = at;
    return SLUICE_OK;
}

static sluice_status check_plain(const making *m, const custom_column *column)
{
    const sluice_column *spec = &column->spec;
    size_t bytes;

    if (sluice_dtype_size(spec->dtype) == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: dtype is %d, and must be an element type of batches; "
                        "SLUICE_ENCODED is for images and masks",
                        m->owner, spec->name, (int)spec->dtype);
    }
    if (!sli_column_bytes(spec, &bytes) || bytes == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: a dimension is 0, or the shape has more elements than memory can "
                        "hold",
                        m->owner, spec->name);
    }
    if (column->ragged && (spec->rank == 0 || spec->shape[0] > INT32_MAX)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: a ragged column must have a first dimension, of at most %d",
                        m->owner, spec->name, INT32_MAX);
    }
    return SLUICE_OK;
}

static sluice_status check_role(const making *m, custom_column *column)
{
    switch (column->role) {
    case SLUICE_ROLE_PLAIN:
        return check_plain(m, column);
    case SLUICE_ROLE_IMAGE:
        return check_image(m, column);
    case SLUICE_ROLE_MASK:
        return check_mask(m, column);
    case SLUICE_ROLE_BOXES:
        return check_boxes(m, column);
    case SLUICE_ROLE_POINTS:
        return check_points(m, column);
    default:
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: role is %d, and must be one of sluice_column_role", m->owner,
                        column->spec.name, (int)column->role);
    }
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* The column NAME_length of a column, or of the boxes or points that it belongs to, in the schema.
 */
static uint32_t length_of(const making *m, const custom_column *column)
{
    const custom_column *owner = column;

    while (owner->boxes >= 0) {
        owner = &m->made->columns[owner->boxes];
    }
    return owner->length >= 0 ? (uint32_t)owner->length : SCHEMA_NO_LENGTH;
}

/*
 * Sets the column's role in the schema, from which the planner determines what the column follows.
 */
static void set_info(const making *m, const custom_column *column)
{
    column_info *info = &m->made->schema.infos[column->column];

    if (column->role == SLUICE_ROLE_IMAGE && m->made->schema.image < 0) {
        m->made->schema.image = (int)column->column;
    } else if (column->role == SLUICE_ROLE_IMAGE) {
        info->role = ROLE_IMAGE;
    } else if (column->role == SLUICE_ROLE_MASK) {
        info->role = ROLE_MASK;
    } else if (column->role == SLUICE_ROLE_BOXES) {
        info->role = ROLE_BOXES;
        info->length = (uint32_t)column->length;
    } else if (column->role == SLUICE_ROLE_POINTS) {
        info->role = ROLE_POINTS;
        info->length = length_of(m, column);
        info->is_tied = column->boxes >= 0;
        info->tied_to = info->is_tied ? m->made->columns[column->boxes].column : 0;
    } else if (column->boxes >= 0) {
        info->role = ROLE_TIED;
        info->tied_to = m->made->columns[column->boxes].column;
    } else if (column->ragged) {
        info->rows = (uint32_t)column->length + 1;
    }
}

static sluice_status add_column(const making *m, const sluice_column_spec *spec)
{
    custom_column *column = &m->made->columns[m->made->count];
    sluice_status st;

    *column =
        (custom_column){.role = spec->role, .ragged = spec->ragged != 0, .length = -1, .boxes = -1};
    snprintf(column->spec.name, sizeof(column->spec.name), "%s", spec->name);
    column->spec.dtype = spec->dtype;
    column->spec.rank = spec->rank;
    memcpy(column->spec.shape, spec->shape, spec->rank * sizeof(spec->shape[0]));
    st = spec->boxes != NULL ? find_boxes(m, spec->boxes, column) : SLUICE_OK;
    if (st == SLUICE_OK) {
        st = check_role(m, column);
    }
    if (st == SLUICE_OK) {
        st = add_to_schema(m, &column->spec, &column->column);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (spec->dtype != SLUICE_ENCODED && !column->varies) {
        (void)sli_column_bytes(&column->spec, &column->bytes);
    }
    if (column->ragged && column->boxes < 0) {
        st = add_length(m, column);
    }
    set_info(m, column);
    m->made->count++;
    return st;
}

sluice_status custom_columns_make(const sluice_column_spec *specs, size_t column_size,
                                  uint32_t count, const char *owner, custom_columns *columns_out)
{
    const making m = {owner, columns_out};
    const size_t stride = column_size > 0 ? column_size : FIRST_SPEC;
    sluice_status st = SLUICE_OK;

    memset(columns_out, 0, sizeof(*columns_out));
    columns_out->schema.image = -1;
    if (specs == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: columns is NULL; it must list 1 to %d columns",
                        owner, SLUICE_MAX_COLUMNS);
    }
    if (count == 0 || count > SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID, "%s: %u columns are declared, and there must be 1 to %d",
                        owner, count, SLUICE_MAX_COLUMNS);
    }
    if (stride < FIRST_SPEC || stride > LARGEST_SPEC ||
        stride % _Alignof(sluice_column_spec) != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column_size is %zu, and must be sizeof(sluice_column_spec), here %zu; "
                        "sluice_source_init() sets it",
                        owner, column_size, sizeof(sluice_column_spec));
    }
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        sluice_column_spec spec;

        st = read_spec(&m, specs, stride, i, &spec);
        if (st == SLUICE_OK) {
            st = add_column(&m, &spec);
        }
    }
    return st == SLUICE_OK ? schema_check_names(&columns_out->schema, owner) : st;
}

int custom_columns_find(const custom_columns *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->columns[i].spec.name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

void custom_columns_list(const custom_columns *columns, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < columns->count && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? ", " : "",
                                   columns->columns[i].spec.name);
    }
}

void custom_columns_schema(const custom_columns *columns, stage_schema *schema)
{
    const stage_schema *own = &columns->schema;

    schema->column_count = own->column_count;
    memcpy(schema->columns, own->columns, sizeof(schema->columns));
    memcpy(schema->infos, own->infos, sizeof(schema->infos));
    schema->image = own->image;
}
