/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_values.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "exif.h"
#include "image_rules.h"
#include "pack_worker.h"
#include "status_int.h"

/* ---- rows ------------------------------------------------------------------------------------ */

sluice_status pack_values_begin(const kept_columns *kept, image_buffer *rows, void **row)
{
    const sluice_status st = image_buffer_reserve(rows, kept->bytes);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        if (kept->lengths[i] != SIZE_MAX) {
            row[i] = rows->data + kept->lengths[i];
            memset(row[i], 0, sizeof(int32_t));
        }
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];

        if (!kept_is_image(column)) {
            row[column->column] = rows->data + column->offset;
        }
    }
    if (kept->label >= 0) { /* a source that fails may not have written it */
        memset(row[kept->columns[kept->label].column], 0, sizeof(int32_t));
    }
    return SLUICE_OK;
}

bool pack_values_label(const kept_columns *kept, const uint8_t *rows, int32_t *label_out)
{
    if (kept->label >= 0) {
        memcpy(label_out, rows + kept->columns[kept->label].offset, sizeof(*label_out));
    }
    return kept->label >= 0;
}

/* Finds the number of rows of a column in a row of the source. */
static sluice_status count_rows(const kept_columns *kept, const kept_column *column,
                                const uint8_t *rows, uint64_t *rows_out)
{
    int32_t length = 1;

    if (kept_is_ragged(column)) {
        memcpy(&length, rows + kept->lengths[column->length], sizeof(length));
        if (length < 0 || (uint64_t)length > column->type.shape[0]) {
            return sli_fail(SLUICE_E_CORRUPT, "%s has %d rows, and must have 0 to %llu",
                            column->type.name, length, (unsigned long long)column->type.shape[0]);
        }
    }
    *rows_out = (uint64_t)length;
    return SLUICE_OK;
}

sluice_status pack_values_check_rows(const kept_columns *kept, const uint8_t *rows, uint64_t *bytes)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < kept->count && st == SLUICE_OK; i++) {
        uint64_t count = 0;

        if (!kept_is_image(&kept->columns[i])) {
            st = count_rows(kept, &kept->columns[i], rows, &count);
            *bytes += count * kept->columns[i].row_bytes;
        }
    }
    return st;
}

sluice_status pack_values_take_rows(const kept_columns *kept, const uint8_t *rows,
                                    pack_values *values)
{
    uint8_t *at;

    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];
        kept_value *value = &values->values[i];
        const sluice_status st =
            kept_is_image(column) ? SLUICE_OK : count_rows(kept, column, rows, &value->rows);

        if (st != SLUICE_OK) {
            return st;
        }
        value->size = kept_is_image(column) ? 0 : (size_t)value->rows * column->row_bytes;
        values->bytes += value->size;
    }
    values->rows = sli_realloc_array(NULL, values->bytes + 1, 1);
    if (values->rows == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a sample");
    }
    at = values->rows;
    for (uint32_t i = 0; i < kept->count; i++) {
        if (!kept_is_image(&kept->columns[i])) {
            values->values[i].data = at;
            memcpy(at, rows + kept->columns[i].offset, values->values[i].size);
            at += values->values[i].size;
        }
    }
    return SLUICE_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the extension of a file of a format. */
static const char *extension_of(const image_facts *facts)
{
    static const char *const extensions[][2] = {
        {"JPEG", "jpg"}, {"PNG", "png"}, {"PPM", "ppm"},   {"PGM", "pgm"},  {"PBM", "pbm"},
        {"BMP", "bmp"},  {"GIF", "gif"}, {"WebP", "webp"}, {"TIFF", "tif"}, {"JPEG 2000", "jp2"},
    };

    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        if (strcmp(facts->format, extensions[i][0]) == 0) {
            return extensions[i][1];
        }
    }
    return NULL;
}

/* Checks the header of an encoded file, and copies the file. */
static sluice_status keep_file(pack_worker *worker, const kept_column *column,
                               const sample_data *data, kept_value *value, uint8_t **file_out)
{
    const pack_settings *settings = worker->settings;
    const bool is_mask = column->info.role == ROLE_MASK;
    const decode_args *args = dataset_decode_args(settings->dataset, column->column);
    image_view image = {.pixels = NULL};
    image_facts facts;
    const char *extension;
    char name[16];
    const sluice_status st =
        image_rules_open(worker->decoder, data, args, settings->max_pixels, is_mask, &image);

    if (st != SLUICE_OK) {
        return st;
    }
    image_decoder_describe(worker->decoder, &facts);
    extension = extension_of(&facts);
    if (extension == NULL) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "a pack has no files of the format %s", facts.format);
    }
    snprintf(name, sizeof(name), "x.%s", extension);
    if (settings->is_nameless && image_formats_of_file(name) != 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is a %s file, which is decoded only by its name, and records have no "
                        "names of files; --format webdataset keeps it, or convert it to PNG",
                        facts.format);
    }
    *file_out = sli_realloc_array(NULL, data->size, 1);
    if (*file_out == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a file of %zu bytes", data->size);
    }
    memcpy(*file_out, data->bytes, data->size);
    value->size = data->size;
    snprintf(value->extension, sizeof(value->extension), "%s", extension);
    return SLUICE_OK;
}

/* Copies pixels to `to`, line by line. */
static void copy_pixels(const image_view *image, uint8_t *to)
{
    const size_t line = image->width * image_pixel_bytes(image);

    for (uint32_t y = 0; y < image->height; y++) {
        memcpy(to + y * line, image->pixels + y * image->stride, line);
    }
}

/* Stores pixels with a text before them. */
static sluice_status keep_pixels(const image_view *image, const char *before, kept_value *value,
                                 uint8_t **file_out)
{
    const size_t head = strlen(before);

    value->size = head + image->width * image_pixel_bytes(image) * image->height;
    *file_out = sli_realloc_array(NULL, value->size + 1, 1);
    if (*file_out == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an image of %ux%u", image->width, image->height);
    }
    memcpy(*file_out, before, head);
    copy_pixels(image, *file_out + head);
    return SLUICE_OK;
}

/* Stores a mask that the source has drawn, as a PGM file. */
static sluice_status keep_drawn(const image_view *mask, kept_value *value, uint8_t **file_out)
{
    char header[48];

    if (mask->channels != 1 || mask->element != IMAGE_U8) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "a mask of pixels must have one channel of 8 bits");
    }
    snprintf(header, sizeof(header), "P5\n%u %u\n255\n", mask->width, mask->height);
    snprintf(value->extension, sizeof(value->extension), "pgm");
    return keep_pixels(mask, header, value, file_out);
}

/* Stores an image or mask. */
static sluice_status keep_image(pack_worker *worker, uint32_t i, const sample_data *data,
                                pack_values *values)
{
    const kept_column *column = &worker->settings->kept->columns[i];
    kept_value *value = &values->values[i];
    sluice_status st;

    if (data->bytes != NULL) {
        st = keep_file(worker, column, data, value, &values->files[i]);
    } else {
        st = column->is_file ? keep_drawn(&data->image, value, &values->files[i])
                             : keep_pixels(&data->image, "", value, &values->files[i]);
    }
    if (st == SLUICE_OK) {
        value->data = values->files[i];
        value->rows = 1;
        values->bytes += value->size;
    }
    return st;
}

sluice_status pack_values_add_image(pack_worker *worker, const sample_data *data,
                                    pack_values *values)
{
    return keep_image(worker, (uint32_t)worker->settings->kept->image, data, values);
}

/*
 * Finds the size of the first image, as it is decoded, in which masks are drawn. Annotations of
 * another size than the image, or of the image before its Exif orientation, fail: a pack does not
 * have the size that they are for.
 */
static sluice_status find_size(pack_worker *worker, const sample_data *data)
{
    const pack_settings *settings = worker->settings;
    const sluice_dataset *dataset = settings->dataset;
    decode_args args = *dataset_decode_args(dataset, (uint32_t)dataset->source_schema.image);
    applied_orientation applied;
    image_view image = data->image;
    image_facts facts;
    bool ends_run = false;
    sluice_status st = SLUICE_OK;

    if (data->bytes != NULL) {
        st = image_rules_open(worker->decoder, data, &args, settings->max_pixels, false, &image);
        if (st == SLUICE_OK) {
            image_decoder_describe(worker->decoder, &facts);
            args.mode = facts.bits > 16 ? DECODE_F32 : args.mode;
            st = image_rules_orient(worker->decoder, &facts, data, &args, &image, &applied,
                                    &ends_run);
        }
        if (st == SLUICE_OK) {
            st = image_rules_size(&facts, data, &args, &image, &applied);
        }
        if (st == SLUICE_OK && applied.labels != EXIF_UPRIGHT) {
            st = sli_fail(SLUICE_E_UNSUPPORTED,
                          "the annotations are for the image before its Exif orientation is "
                          "applied, which a pack does not say");
        }
    }
    worker->io.image_width = image.width;
    worker->io.image_height = image.height;
    return st;
}

/* Adds the name of a column to the text of an error, and finds the fault of the machine in it. */
static sluice_status name_column(const char *column, sluice_status status)
{
    return sli_fail_quoting(status, "%s: %.900s", column, sluice_last_error());
}

static bool has_followers(const kept_columns *kept)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        if (schema_follows(kept->columns[i].info.role)) {
            return true;
        }
    }
    return false;
}

sluice_status pack_values_add_files(pack_worker *worker, uint64_t index, const sample_data *image,
                                    pack_values *values, bool *unread_out, sli_fault *fault_out)
{
    const kept_columns *kept = worker->settings->kept;
    sluice_status st = has_followers(kept) ? find_size(worker, image) : SLUICE_OK;

    *unread_out = false;
    *fault_out = SLI_FAULT_NONE;
    for (uint32_t i = 0; i < kept->count && st == SLUICE_OK; i++) {
        const kept_column *column = &kept->columns[i];
        sample_data data = {.bytes = NULL};

        if (!kept_is_image(column) || (int)i == kept->image) {
            continue;
        }
        st = pack_read(worker, index, (int)column->column, NULL, &data, fault_out);
        *unread_out = st != SLUICE_OK;
        if (st == SLUICE_OK) {
            st = keep_image(worker, i, &data, values);
        }
        if (st != SLUICE_OK) {
            return name_column(column->type.name, st);
        }
    }
    return st;
}

void pack_values_free(pack_values *values)
{
    sli_free(values->rows);
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        sli_free(values->files[i]);
    }
    *values = (pack_values){.bytes = 0};
}
