/* SPDX-License-Identifier: Apache-2.0 */
#include "box_source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "file_reader.h"
#include "image_decoder.h"
#include "rng_int.h"
#include "status_int.h"

/* Limit on the pixels of a mask that is read without its image. */
static const uint64_t MOST_UNSEEN = 100000000;

/* The columns, in the order of the schema; the last one only if the source has flags. */
enum { IMAGE, BOXES, LENGTH, CLASSES, IMAGE_ID, FLAG };

void box_source_columns(stage_schema *schema, uint64_t max_boxes, bool in_parts, const char *flag)
{
    schema->column_count = flag != NULL ? 6 : 5;
    schema->image = IMAGE;
    schema->columns[IMAGE] = (sluice_column){.name = "image", .dtype = SLUICE_ENCODED};
    schema->columns[BOXES] =
        (sluice_column){.name = "boxes", .dtype = SLUICE_F32, .rank = 2, .shape = {max_boxes, 4}};
    schema->columns[LENGTH] = (sluice_column){.name = "boxes_length", .dtype = SLUICE_I32};
    schema->columns[CLASSES] =
        (sluice_column){.name = "classes", .dtype = SLUICE_I32, .rank = 1, .shape = {max_boxes}};
    schema->columns[IMAGE_ID] = (sluice_column){.name = "image_id", .dtype = SLUICE_I64};
    schema->infos[BOXES] =
        (column_info){.role = ROLE_BOXES, .length = LENGTH, .in_parts = in_parts};
    schema->infos[CLASSES] = (column_info){.role = ROLE_TIED, .tied_to = BOXES};
    if (flag != NULL) {
        schema->columns[FLAG] =
            (sluice_column){.dtype = SLUICE_U8, .rank = 1, .shape = {max_boxes}};
        snprintf(schema->columns[FLAG].name, sizeof(schema->columns[FLAG].name), "%s", flag);
        schema->infos[FLAG] = (column_info){.role = ROLE_TIED, .tied_to = BOXES};
    }
}

void box_source_add_points(stage_schema *schema, uint64_t max_boxes, uint32_t points, bool in_parts)
{
    const uint32_t column = schema->column_count;

    schema->column_count += 2;
    schema->columns[column] = (sluice_column){
        .name = "keypoints", .dtype = SLUICE_F32, .rank = 3, .shape = {max_boxes, points, 2}};
    schema->infos[column] = (column_info){.role = ROLE_POINTS,
                                          .tied_to = BOXES,
                                          .is_tied = true,
                                          .length = LENGTH,
                                          .in_parts = in_parts};
    schema->columns[column + 1] = (sluice_column){
        .name = "visibility", .dtype = SLUICE_U8, .rank = 2, .shape = {max_boxes, points}};
    schema->infos[column + 1] = (column_info){.role = ROLE_TIED, .tied_to = column};
}

void box_source_add_mask(stage_schema *schema)
{
    const uint32_t column = schema->column_count++;

    schema->columns[column] = (sluice_column){.name = "mask", .dtype = SLUICE_ENCODED};
    schema->infos[column].role = ROLE_MASK;
}

void box_source_add_instances(stage_schema *schema, uint64_t max_boxes)
{
    const uint32_t column = schema->column_count++;

    schema->columns[column] =
        (sluice_column){.name = "instances", .dtype = SLUICE_I32, .rank = 1, .shape = {max_boxes}};
    schema->infos[column] =
        (column_info){.role = ROLE_TIED, .tied_to = BOXES, .numbers_mask = true};
}

sluice_status box_source_new(bool has_flags, box_source **source_out)
{
    *source_out = sli_calloc(1, sizeof(**source_out));
    if (*source_out == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a source of images with boxes");
    }
    (*source_out)->root_fd = -1;
    (*source_out)->shapes_fd = -1;
    (*source_out)->has_flags = has_flags;
    return SLUICE_OK;
}

void box_source_close(void *opaque)
{
    box_source *source = opaque;

    if (source == NULL) {
        return;
    }
    if (source->root_fd >= 0) {
        close(source->root_fd);
    }
    if (source->shapes_fd >= 0) {
        close(source->shapes_fd);
    }
    box_set_free(&source->set);
    sli_free(source);
}

uint64_t box_source_count(const void *source)
{
    return ((const box_source *)source)->set.image_count;
}

uint64_t box_source_memory(const void *source)
{
    return sizeof(box_source) + box_set_memory(&((const box_source *)source)->set);
}

static const char *path_of(const box_source *source, uint64_t index)
{
    return source->set.names + source->set.images[index].name;
}

void box_source_name(const void *source, uint64_t index, char *text, size_t size)
{
    snprintf(text, size, "%s", path_of(source, index));
}

/* Writes the boxes of an image, and what belongs to each; unused rows are zero. */
static void write_boxes(const box_source *source, const box_image *image, void *const *row)
{
    const set_box *boxes = &source->set.boxes[image->first];
    const size_t room = (size_t)source->set.max_boxes;
    uint8_t *flags = source->has_flags ? row[FLAG] : NULL;
    float(*corners)[4] = row[BOXES];
    int32_t *classes = row[CLASSES];

    if (corners != NULL) {
        memset(corners, 0, room * sizeof(*corners));
    }
    if (classes != NULL) {
        memset(classes, 0, room * sizeof(*classes));
    }
    if (flags != NULL) {
        memset(flags, 0, room);
    }
    for (uint32_t i = 0; i < image->count; i++) {
        if (corners != NULL) {
            memcpy(corners[i], boxes[i].corners, sizeof(*corners));
        }
        if (classes != NULL) {
            classes[i] = boxes[i].label;
        }
        if (flags != NULL) {
            flags[i] = (uint8_t)boxes[i].flag;
        }
    }
}

/* The column of key points; that of their visibility is the next one. */
static uint32_t points_column(const box_source *source)
{
    return source->has_flags ? FLAG + 1 : FLAG;
}

const point_pairs *box_source_flip_pairs(const void *opaque, uint32_t *column_out)
{
    const box_source *source = opaque;

    *column_out = points_column(source);
    return source->set.points.count > 0 ? &source->pairs : NULL;
}

/* Writes the key points of the boxes of an image; unused rows are zero. */
static void write_points(const box_source *source, const box_image *image, void *const *row)
{
    const box_points *points = &source->set.points;
    const size_t count = image->count * (size_t)points->count;
    const size_t room = (size_t)source->set.max_boxes * points->count;
    const float *values =
        points->values != NULL ? points->values + 3 * image->first * (size_t)points->count : NULL;
    float *positions = row[points_column(source)];
    uint8_t *visible = row[points_column(source) + 1];

    if (positions != NULL) {
        memset(positions, 0, room * 2 * sizeof(*positions));
    }
    if (visible != NULL) {
        memset(visible, 0, room);
    }
    for (size_t i = 0; i < count; i++) {
        if (positions != NULL) {
            memcpy(&positions[2 * i], &values[3 * i], 2 * sizeof(*positions));
        }
        if (visible != NULL) {
            visible[i] = (uint8_t)values[3 * i + 2];
        }
    }
}

/* Writes the numbers that box_source_draw() draws the boxes of an image with; unused rows are zero.
 * Their column is the one after the mask. */
static void write_instances(const box_source *source, const box_image *image, void *const *row)
{
    int32_t *numbers = row[points_column(source) + (source->set.points.count > 0 ? 2 : 0) + 1];

    if (numbers != NULL) {
        memset(numbers, 0, (size_t)source->set.max_boxes * sizeof(*numbers));
        for (uint32_t i = 0; i < image->count; i++) {
            numbers[i] = (int32_t)i + 1;
        }
    }
}

sluice_status box_source_read_plain(const void *opaque, uint64_t index, sample_io *io,
                                    void *const *row)
{
    const box_source *source = opaque;
    const box_image *image = &source->set.images[index];

    (void)io;
    if (image->bad != 0) {
        const box_bad *bad = &source->set.bad[image->bad - 1];

        return sli_fail(bad->status, "%s", bad->text);
    }
    write_boxes(source, image, row);
    if (source->set.points.count > 0) {
        write_points(source, image, row);
    }
    if (source->masks == MASKS_INSTANCE) {
        write_instances(source, image, row);
    }
    if (row[LENGTH] != NULL) {
        *(int32_t *)row[LENGTH] = (int32_t)image->count;
    }
    if (row[IMAGE_ID] != NULL) {
        *(int64_t *)row[IMAGE_ID] = image->id;
    }
    return SLUICE_OK;
}

sluice_status box_source_read(const void *opaque, uint64_t index, sample_io *io, void *const *row,
                              sample_data *data_out)
{
    const box_source *source = opaque;
    sluice_status st = box_source_read_plain(source, index, io, row);

    if (st != SLUICE_OK) {
        return st;
    }
    st = file_read(source->root_fd, path_of(source, index), io, data_out);
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "%.300s: %.600s", path_of(source, index), sluice_last_error());
    }
    data_out->listed_width = source->set.images[index].width;
    data_out->listed_height = source->set.images[index].height;
    return SLUICE_OK;
}

bool box_source_locate(const void *opaque, uint64_t index, sample_location *location_out)
{
    const box_source *source = opaque;

    location_out->fd = -1;
    location_out->held = NULL;
    location_out->folder_fd = source->root_fd;
    location_out->path = path_of(source, index);
    location_out->offset = 0;
    location_out->size = 0;
    location_out->in_parts = false;
    return true;
}

uint32_t box_source_classes(const void *source)
{
    return (uint32_t)((const box_source *)source)->set.class_count;
}

void box_source_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const box_set *set = &((const box_source *)source)->set;

    snprintf(text, size, "%s", set->names + set->classes[label]);
}

uint64_t box_source_class_hash(const void *source)
{
    const box_set *set = &((const box_source *)source)->set;
    uint64_t hash = box_source_classes(source);

    for (uint32_t i = 0; i < box_source_classes(source); i++) {
        hash = sli_mix_in(hash, sli_hash_text(set->names + set->classes[i]));
    }
    return sli_mix_in(0, hash); /* of one column of classes, as in lists */
}

const char *box_source_left_out(const void *source)
{
    return ((const box_source *)source)->left_out;
}

void box_source_changed(const void *source, uint64_t *clipped, uint64_t *dropped)
{
    const box_set *set = &((const box_source *)source)->set;

    *clipped += set->changes[SET_CLIPPED].count;
    *dropped += set->changes[SET_DROPPED].count;
}

/* ---- masks that are drawn -------------------------------------------------------------------- */

sluice_status box_source_check_rows(const char *stage, mask_kind masks, uint64_t max_boxes)
{
    return masks == MASKS_INSTANCE && max_boxes > MASK_MOST
               ? sli_fail(
                     SLUICE_E_INVALID,
                     "%s: max_boxes=%llu must be at most %d with masks=instance, whose numbers "
                     "are bytes",
                     stage, (unsigned long long)max_boxes, MASK_MOST)
               : SLUICE_OK;
}

sluice_status box_source_check_classes(const box_source *source)
{
    return source->masks == MASKS_SEMANTIC && source->set.class_count > MASK_MOST
               ? sli_fail(SLUICE_E_UNSUPPORTED,
                          "there are %zu classes, and a mask of masks=semantic has numbers for %d; "
                          "masks=instance does not need them",
                          source->set.class_count, MASK_MOST)
               : SLUICE_OK;
}

/* Reads the size of an image from its file, for masks that are read without it. */
static sluice_status probe_size(const box_source *source, uint64_t index, sample_io *io,
                                uint32_t *width_out, uint32_t *height_out)
{
    sample_data data = {.bytes = NULL};
    image_decoder *decoder = NULL;
    sluice_status st = file_read(source->root_fd, path_of(source, index), io, &data);

    if (st == SLUICE_OK) {
        st = image_decoder_create(&decoder);
    }
    if (st == SLUICE_OK) {
        image_decoder_allow(decoder, IMAGE_FORMATS_USUAL | data.named);
        st = image_decoder_open(decoder, data.bytes, data.size, MOST_UNSEEN, false, width_out,
                                height_out);
    }
    if (st == SLUICE_OK) {
        (void)image_decoder_make_upright(decoder, width_out, height_out);
    }
    image_decoder_destroy(decoder);
    return st;
}

/* Finds the size of the mask of an image. */
static sluice_status find_size(const box_source *source, uint64_t index, sample_io *io,
                               uint32_t *width_out, uint32_t *height_out)
{
    const box_image *image = &source->set.images[index];
    uint32_t width = io->image_width;
    uint32_t height = io->image_height;
    const sluice_status st =
        width == 0 ? probe_size(source, index, io, &width, &height) : SLUICE_OK;

    *width_out = image->width > 0 && image->height > 0 ? image->width : width;
    *height_out = image->width > 0 && image->height > 0 ? image->height : height;
    if (st != SLUICE_OK) {
        return st;
    }
    return (*width_out == width && *height_out == height) ||
                   (*width_out == height && *height_out == width)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the image is %ux%u, and its annotations are for %ux%u",
                          width, height, *width_out, *height_out);
}

sluice_status box_source_draw(const box_source *source, uint64_t index, sample_io *io,
                              shape_reader read, void *user, sample_data *data_out)
{
    const box_image *image = &source->set.images[index];
    const set_box *boxes = &source->set.boxes[image->first];
    object_masks *masks = object_masks_of(io);
    uint32_t width = 0;
    uint32_t height = 0;
    sluice_status st = masks != NULL ? find_size(source, index, io, &width, &height)
                                     : sli_fail(SLUICE_E_NO_MEMORY, "a mask");

    if (st == SLUICE_OK) {
        st = object_masks_begin(masks, source->masks, width, height);
    }
    for (uint32_t i = 0; i < image->count && st == SLUICE_OK; i++) {
        st = read(user, &boxes[i], &masks->raster);
        if (st == SLUICE_OK) {
            object_masks_add(masks, source->masks == MASKS_SEMANTIC ? (uint32_t)boxes[i].label + 1
                                                                    : i + 1);
        }
    }
    if (st == SLUICE_OK) {
        *data_out = (sample_data){.image = object_masks_view(masks)};
    }
    return st;
}
