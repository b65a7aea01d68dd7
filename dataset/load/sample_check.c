/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_check.h"

#include "exif.h"
#include "image_rules.h"
#include "status_int.h"

/* The image of a sample that its masks must fit. */
typedef struct first_image {
    image_view image; /* as it is decoded; width 0: the sample has none */
    applied_orientation applied;
} first_image;

static sluice_status open_file(const sample_check *check, const sample_data *data,
                               const decode_args *args, bool gray, image_view *image)
{
    const uint64_t most = check->max_pixels != 0 ? check->max_pixels : args->max_pixels;

    return image_rules_open(check->decoder, data, args, most, gray, image);
}

/* Decodes all of the open image, if pixels are to be decoded. */
static sluice_status decode_open(const sample_check *check, const image_view *image)
{
    const image_box all = {0, 0, image->width, image->height};
    image_view pixels;

    return check->decodes ? image_decoder_region(check->decoder, &all, &pixels) : SLUICE_OK;
}

/* How an image is decoded if no stage says so: floats stay floats. */
static void choose_element(const image_facts *facts, decode_args *args)
{
    if (facts->bits > 16) {
        args->mode = facts->channels == 1 ? DECODE_F32 : DECODE_F32_RGB;
    }
}

/* Counts what image_rules_size() has found. */
static void count_sizes(check_findings *found, const applied_orientation *applied, sluice_status st)
{
    if (found != NULL) {
        found->sizes_differ += st != SLUICE_OK;
        found->labels_stored += st == SLUICE_OK && applied->labels != EXIF_UPRIGHT;
    }
}

/* Bytes of an image: those of its file, or its pixels. */
static uint64_t bytes_of(const sample_data *data)
{
    return data->bytes != NULL
               ? data->size
               : (uint64_t)data->image.width * data->image.height * image_pixel_bytes(&data->image);
}

/* Checks an image that is no mask; `image` and `applied` are then as it is decoded. */
static sluice_status check_image(const sample_check *check, const sample_data *data,
                                 uint32_t column, image_view *image, applied_orientation *applied)
{
    const decode_args *given = dataset_decode_args(check->dataset, column);
    decode_args args = *given;
    image_facts facts;
    bool ends_run = false;
    sluice_status st;

    *image = data->image;
    *applied = nothing_applied;
    if (data->bytes == NULL) {
        return SLUICE_OK;
    }
    st = open_file(check, data, given, decode_channels(given) == 1, image);
    if (st != SLUICE_OK) {
        return st;
    }
    image_decoder_describe(check->decoder, &facts);
    if (given == &dataset_no_decode) {
        choose_element(&facts, &args);
    }
    st = image_rules_mode(check->decoder, &args, &ends_run);
    if (st == SLUICE_OK) {
        st = image_rules_orient(check->decoder, &facts, data, &args, image, applied, &ends_run);
    }
    if (st == SLUICE_OK) {
        st = image_rules_size(&facts, data, &args, image, applied);
        count_sizes(check->found, applied, st);
    }
    return st == SLUICE_OK ? decode_open(check, image) : st;
}

static sluice_status check_mask(const sample_check *check, const sample_data *data,
                                const first_image *first)
{
    const decode_args *args =
        dataset_decode_args(check->dataset, (uint32_t)check->dataset->source_schema.image);
    image_view mask = data->image;
    uint32_t own = 1;
    bool ignored = false;
    sluice_status st = SLUICE_OK;

    if (data->bytes != NULL) {
        st = open_file(check, data, args, true, &mask);
        st = st == SLUICE_OK ? image_rules_open_mask(check->decoder, args, &mask, &own, &ignored)
                             : st;
        st = st == SLUICE_OK ? decode_open(check, &mask) : st;
    }
    return st == SLUICE_OK ? image_rules_fit_mask(&mask, own, first->image.width,
                                                  first->image.height, &first->applied, &ignored)
                           : st;
}

static sluice_status check_other(const sample_check *check, uint64_t sample, uint32_t column,
                                 const first_image *first, uint64_t *bytes)
{
    const sluice_dataset *dataset = check->dataset;
    sample_data data = {.bytes = NULL};
    applied_orientation applied;
    image_view image;
    sluice_status st =
        dataset_source(dataset)->read_other(dataset->source, sample, column, check->io, &data);

    if (st != SLUICE_OK) {
        return st;
    }
    *bytes += bytes_of(&data);
    if (dataset->source_schema.infos[column].role == ROLE_MASK) {
        return check_mask(check, &data, first);
    }
    st = check_image(check, &data, column, &image, &applied);
    return st == SLUICE_OK && first->image.width > 0
               ? image_rules_fit_further(&image, first->image.width, first->image.height)
               : st;
}

sluice_status sample_check_images(const sample_check *check, uint64_t sample,
                                  const sample_data *data, uint64_t *bytes)
{
    const stage_schema *schema = check->dataset != NULL ? &check->dataset->source_schema : NULL;
    first_image first = {.applied = nothing_applied};
    sluice_status st = SLUICE_OK;

    *bytes += bytes_of(data);
    if (schema == NULL || schema->image >= 0) {
        st = check_image(check, data, schema != NULL ? (uint32_t)schema->image : 0, &first.image,
                         &first.applied);
        check->io->image_width = first.image.width;
        check->io->image_height = first.image.height;
    }
    for (uint32_t i = 0; schema != NULL && st == SLUICE_OK && i < schema->column_count; i++) {
        const column_role role = schema->infos[i].role;

        if ((int)i == schema->image || (role != ROLE_MASK && role != ROLE_IMAGE)) {
            continue;
        }
        st = check_other(check, sample, i, &first, bytes);
        if (st != SLUICE_OK) {
            st = sli_fail_quoting(st, "%s: %.900s", schema->columns[i].name, sluice_last_error());
        }
    }
    return st;
}
