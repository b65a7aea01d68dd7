/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_worker.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "exif.h"
#include "fault_int.h"
#include "image_rules.h"
#include "jpeg_transcode.h"
#include "pack_pixels.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

sluice_status pack_worker_create(const pack_settings *settings, pack_worker **worker_out)
{
    pack_worker *worker = sli_calloc(1, sizeof(*worker));
    sluice_status st;

    if (worker == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a worker that packs");
    }
    worker->settings = settings;
    worker->io.whole = true;
    worker->io.interrupt = settings->interrupt;
    st = image_decoder_create(&worker->decoder);
    if (st == SLUICE_OK && settings->verify) {
        st = image_decoder_create(&worker->checker);
    }
    if (st != SLUICE_OK) {
        pack_worker_destroy(worker);
        return st;
    }
    *worker_out = worker;
    return SLUICE_OK;
}

void pack_worker_destroy(pack_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    image_decoder_destroy(worker->decoder);
    image_decoder_destroy(worker->checker);
    sample_io_free(&worker->io);
    resampler_free(&worker->resampler);
    image_buffer_free(&worker->resized);
    image_buffer_free(&worker->gray);
    image_buffer_free(&worker->rows);
    sli_free(worker);
}

void pack_worker_end(pack_worker *worker)
{
    if (worker != NULL) {
        sample_io_end(&worker->io);
    }
}

stream_item *pack_worker_item(pack_worker *worker)
{
    return &worker->io.item;
}

void packed_sample_free(packed_sample *sample)
{
    if (sample != NULL) {
        sli_free(sample->file.data);
        pack_values_free(&sample->values);
        sli_free(sample);
    }
}

/* ---- outcomes ------------------------------------------------------------------------------- */

/* Sets the outcome of a sample, with the last error as the reason. */
static void set_fate(packed_sample *sample, sluice_pack_fate fate, sluice_status status)
{
    sli_error error;

    sli_error_take(status, &error);
    sample->fate = fate;
    snprintf(sample->why, sizeof(sample->why), "%.*s", PACK_WHY_SIZE - 1, error.text);
}

/*
 * Leaves the sample out because of the last error. A fault of the machine is returned as an error
 * instead.
 */
static sluice_status leave_out(packed_sample *sample, sluice_pack_fate fate, sluice_status status)
{
    if (sli_fault_is_of_process(sli_fault_of_last(status))) {
        return status;
    }
    set_fate(sample, fate, status);
    return SLUICE_OK;
}

/* Leaves out a file that is not opened as an image. The text about a missing format module has its
 * own advice. */
static sluice_status leave_out_unopened(packed_sample *sample, sluice_status status)
{
    if (status == SLUICE_E_UNSUPPORTED && !sli_fault_is_of_process(sli_fault_of_last(status))) {
        status = sli_fail_quoting(
            status, "%.600s; `sluice pack` and `sluice convert` do not take it: convert it to PNG",
            sluice_last_error());
    }
    return leave_out(sample, SLUICE_PACK_LEFT_NO_IMAGE, status);
}

static sluice_status copy_bytes(packed_sample *sample, const uint8_t *bytes, size_t size)
{
    sample->file.data = sli_realloc_array(NULL, size, 1);
    if (sample->file.data == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a sample of %zu bytes", size);
    }
    memcpy(sample->file.data, bytes, size);
    sample->file.size = size;
    return SLUICE_OK;
}

static bool is_jpeg(const sample_data *data)
{
    return data->size >= 2 && data->bytes[0] == 0xFF && data->bytes[1] == 0xD8;
}

/* Returns the field (file extension) for a file that is stored unchanged, from its magic number.
 * NULL: webdataset has no default field for files of this format. */
static const char *field_of(const sample_data *data)
{
    if (is_jpeg(data)) {
        return "jpg";
    }
    if (data->size < 2) {
        return NULL;
    }
    return data->bytes[0] == 'P' ? "ppm" : data->bytes[0] == 0x89 ? "png" : NULL;
}

/* ---- pixels --------------------------------------------------------------------------------- */

/* Decodes a complete image in memory, to bytes. */
static sluice_status decode_all(image_decoder *decoder, uint64_t max_pixels, const uint8_t *bytes,
                                size_t size, image_view *image_out)
{
    image_box all = {.x = 0, .y = 0};
    const sluice_status st =
        image_decoder_open(decoder, bytes, size, max_pixels, false, &all.width, &all.height);

    return st == SLUICE_OK ? image_decoder_region(decoder, &all, image_out) : st;
}

/* ---- results -------------------------------------------------------------------------------- */

/*
 * Compares the decoded result with the decoded source. E_CORRUPT: the pixels differ. Also returns
 * E_NO_MEMORY.
 */
static sluice_status compare_pixels(pack_worker *worker, const sample_data *data,
                                    const jpeg_bytes *file)
{
    image_view was;
    image_view is;
    sluice_status st =
        decode_all(worker->decoder, worker->settings->max_pixels, data->bytes, data->size, &was);

    if (st == SLUICE_OK) {
        st = decode_all(worker->checker, worker->settings->max_pixels, file->data, file->size, &is);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (was.width != is.width || was.height != is.height) {
        return sli_fail(SLUICE_E_CORRUPT, "the copy is %ux%u, and must be %ux%u", is.width,
                        is.height, was.width, was.height);
    }
    for (uint32_t y = 0; y < was.height; y++) {
        if (memcmp(was.pixels + y * was.stride, is.pixels + y * is.stride, (size_t)was.width * 3) !=
            0) {
            return sli_fail(SLUICE_E_CORRUPT, "the copy differs in line %u", y);
        }
    }
    return SLUICE_OK;
}

/* Stores a file unchanged; the caller has set the outcome. */
static sluice_status keep_bytes(packed_sample *sample, const sample_data *data)
{
    snprintf(sample->field, sizeof(sample->field), "%s", field_of(data));
    return copy_bytes(sample, data->bytes, data->size);
}

static sluice_status transcode_sample(pack_worker *worker, packed_sample *sample,
                                      const sample_data *data)
{
    const pack_settings *settings = worker->settings;
    sluice_status st =
        jpeg_transcode(data->bytes, data->size, settings->interval, settings->max_pixels,
                       &sample->file, &sample->fate, sample->why, sizeof(sample->why));

    if (st == SLUICE_OK && settings->verify && sample->fate == SLUICE_PACK_TRANSCODED) {
        st = compare_pixels(worker, data, &sample->file);
        if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
            set_fate(sample, SLUICE_PACK_KEPT_DIFFERENT, st);
            sli_free(sample->file.data);
            sample->file = (jpeg_bytes){NULL, 0};
            st = SLUICE_OK;
        }
    }
    if (st == SLUICE_OK && sample->fate != SLUICE_PACK_TRANSCODED) {
        return keep_bytes(sample, data);
    }
    snprintf(sample->field, sizeof(sample->field), "jpg");
    return st;
}

/* ---- a sample ------------------------------------------------------------------------------- */

/*
 * Reads the header of an encoded image. *same_out: the settings require no change of its pixels.
 * Returns E_CORRUPT or another decoder error if the file is not an image.
 */
static sluice_status check_image(pack_worker *worker, const sample_data *data, bool *same_out)
{
    const pack_settings *settings = worker->settings;
    const sluice_dataset *dataset = settings->dataset;
    const decode_args *args = dataset_decode_args(dataset, (uint32_t)dataset->source_schema.image);
    image_view image = {.pixels = NULL};
    const sluice_status st =
        image_rules_open(worker->decoder, data, args, settings->max_pixels, false, &image);

    *same_out = !settings->raw && settings->quality == 0 &&
                settings->subsampling == SLUICE_PACK_SUBSAMPLING_AUTO &&
                (st != SLUICE_OK || !pack_is_too_long(settings, &image));
    return st;
}

/* Decodes a file and stores its pixels. */
static sluice_status store_image(pack_worker *worker, packed_sample *sample,
                                 const sample_data *data)
{
    const pack_settings *settings = worker->settings;
    bool is_whole = settings->raw;
    image_view image;
    sluice_status st =
        decode_all(worker->decoder, settings->max_pixels, data->bytes, data->size, &image);

    if (st == SLUICE_OK) {
        is_whole = is_whole && !pack_is_too_long(settings, &image);
        st = pack_store_pixels(worker, sample, &image);
    }
    if (st != SLUICE_OK || !settings->verify) {
        return st;
    }
    return is_whole ? compare_pixels(worker, data, &sample->file)
                    : decode_all(worker->checker, settings->max_pixels, sample->file.data,
                                 sample->file.size, &image);
}

static sluice_status pack_file(pack_worker *worker, packed_sample *sample, const sample_data *data)
{
    image_facts facts;
    bool is_oriented;
    bool same;
    sluice_status st = check_image(worker, data, &same);

    if (same && is_jpeg(data)) {
        return transcode_sample(worker, sample, data);
    }
    if (st != SLUICE_OK) {
        return is_jpeg(data) ? leave_out(sample, SLUICE_PACK_LEFT_UNDECODABLE, st)
                             : leave_out_unopened(sample, st);
    }
    image_decoder_describe(worker->decoder, &facts);
    is_oriented = facts.orientation != EXIF_UPRIGHT && worker->settings->raw;
    if (field_of(data) == NULL && (same || facts.bits > 8 || is_oriented)) {
        st = sli_fail(
            SLUICE_E_UNSUPPORTED,
            "it is a %s file%s, and a pack has JPEG, PNG and PNM files unchanged; %s", facts.format,
            facts.bits > 8 ? " of more than 8 bits per channel"
            : is_oriented  ? " with an Exif orientation, which raw pixels cannot have"
                           : "",

            facts.bits > 16                 ? "make a .npy file of these images"
            : facts.bits > 8 || is_oriented ? "convert it to PNG"
                                            : "choose raw pixels or a quality to store its pixels");
        return leave_out(sample, SLUICE_PACK_LEFT_NO_IMAGE, st);
    }
    if (same) {
        sample->fate = SLUICE_PACK_KEPT_FORMAT;
        snprintf(sample->why, sizeof(sample->why), "it is a %s file", facts.format);
        return keep_bytes(sample, data);
    }
    if (facts.bits > 8) { /* the pack would have fewer */
        sample->fate = SLUICE_PACK_KEPT_PRECISION;
        snprintf(sample->why, sizeof(sample->why), "it has %u bits per channel", facts.bits);
        return keep_bytes(sample, data);
    }
    if (is_oriented) { /* raw pixels have no orientation */
        sample->fate = SLUICE_PACK_KEPT_HEADER;
        snprintf(sample->why, sizeof(sample->why),
                 "it has the Exif orientation %u, which pixels alone cannot have",
                 facts.orientation);
        return keep_bytes(sample, data);
    }
    sample->orientation = facts.orientation;
    st = store_image(worker, sample, data);
    if (st == SLUICE_OK) {
        pack_notes_add(worker->settings->notes, &facts);
    }
    return st == SLUICE_OK ? st : leave_out(sample, SLUICE_PACK_LEFT_UNDECODABLE, st);
}

/*
 * Packs raw pixels, for example from an array source, which has no file that could be stored
 * unchanged.
 */
static sluice_status pack_image(pack_worker *worker, packed_sample *sample, const sample_data *data)
{
    image_view image = data->image;
    sluice_status st;

    sample->orientation = EXIF_UPRIGHT;
    st = pack_store_pixels(worker, sample, &image);

    sample->bytes_in = (uint64_t)data->image.width * data->image.height * data->image.channels;
    return st == SLUICE_OK ? st : leave_out(sample, SLUICE_PACK_LEFT_UNDECODABLE, st);
}

/* Leaves out a sample that could not be read, or ends the pack. */
static sluice_status leave_unread(pack_worker *worker, uint64_t index, packed_sample *sample,
                                  sli_fault fault, sluice_status status)
{
    if (worker->io.ends_run) {
        return pack_fail_read(worker, index, fault, status);
    }
    if (fault == SLI_FAULT_NONE) {
        return leave_out(sample, SLUICE_PACK_LEFT_UNREADABLE, status);
    }
    return fault == SLI_FAULT_STORAGE && worker->settings->leave_out_unreadable
               ? leave_out(sample, SLUICE_PACK_LEFT_FAULT, status)
               : pack_fail_read(worker, index, fault, status);
}

/* Makes the image that was encoded the value of its column. */
static void take_encoded(const kept_columns *kept, packed_sample *sample)
{
    kept_value *value = &sample->values.values[kept->image];

    value->data = sample->file.data;
    value->size = sample->file.size;
    value->rows = 1;
    snprintf(value->extension, sizeof(value->extension), "%s", sample->field);
}

/* Stores the image of a sample as it is. */
static sluice_status copy_image(pack_worker *worker, packed_sample *sample, const sample_data *data)
{
    const kept_columns *kept = worker->settings->kept;
    const kept_value *value = &sample->values.values[kept->image];
    const sluice_status st = pack_values_add_image(worker, data, &sample->values);

    sample->fate = data->bytes != NULL ? SLUICE_PACK_COPIED : SLUICE_PACK_RAW;
    snprintf(sample->field, sizeof(sample->field), "%s",
             data->bytes != NULL ? value->extension : "npy");
    sample->bytes_in = value->size;
    return st == SLUICE_OK ? st : leave_out_unopened(sample, st);
}

/* Packs the first image of a sample that was read. */
static sluice_status pack_first(pack_worker *worker, packed_sample *sample, uint64_t index,
                                const sample_data *data)
{
    const kept_columns *kept = worker->settings->kept;
    sli_fault fault = SLI_FAULT_NONE;
    sluice_status st;

    if (kept->image < 0) {
        sample->fate = SLUICE_PACK_COPIED;
        return SLUICE_OK;
    }
    if (worker->settings->copies || kept->columns[kept->image].is_pixels) {
        st = copy_image(worker, sample, data);
    } else if (data->bytes != NULL) {
        sample->bytes_in = data->size;
        st = pack_file(worker, sample, data);
    } else {
        st = pack_image(worker, sample, data);
    }
    fault = st != SLUICE_OK ? sli_fault_of_last(st) : SLI_FAULT_NONE;
    if (fault == SLI_FAULT_LIBRARY && data->bytes != NULL) {
        return pack_fail_read(worker, index, fault, st);
    }
    if (st == SLUICE_OK && sample->file.data != NULL) {
        take_encoded(kept, sample);
    }
    return st;
}

/* Packs the image of a sample that was read, and its masks and further images. */
static sluice_status pack_images(pack_worker *worker, packed_sample *sample, uint64_t index,
                                 const sample_data *data)
{
    sli_fault fault = SLI_FAULT_NONE;
    bool unread = false;
    sluice_status st = pack_first(worker, sample, index, data);

    if (st != SLUICE_OK || pack_is_left_out(sample->fate)) {
        return st;
    }
    st = pack_values_add_files(worker, index, data, &sample->values, &unread, &fault);
    if (st != SLUICE_OK && sli_fault_of_last(st) == SLI_FAULT_LIBRARY) {
        return pack_fail_read(worker, index, SLI_FAULT_LIBRARY, st);
    }
    if (st != SLUICE_OK) {
        return unread ? leave_unread(worker, index, sample, fault, st)
                      : leave_out(sample, SLUICE_PACK_LEFT_UNDECODABLE, st);
    }
    sample->bytes_out = sample->file.size;
    if (worker->settings->copies) {
        sample->bytes_in = sample->values.bytes;
        sample->bytes_out = sample->values.bytes;
    } else if (sample->file.data == NULL) {
        sample->bytes_out = sample->bytes_in;
    }
    return st;
}

/* Frees what earlier steps stored of a sample that is left out. */
static void drop_contents(packed_sample *sample)
{
    sli_free(sample->file.data);
    sample->file = (jpeg_bytes){NULL, 0};
    pack_values_free(&sample->values);
}

sluice_status pack_sample(pack_worker *worker, uint64_t index, packed_sample **sample_out)
{
    const pack_settings *settings = worker->settings;
    packed_sample *sample = sli_calloc(1, sizeof(*sample));
    void *row[SLUICE_MAX_COLUMNS] = {NULL};
    sample_data data = {.bytes = NULL};
    sli_fault fault;
    sluice_status st;

    if (sample == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a sample");
    }
    pack_name_sample(worker, index, sample->name, sizeof(sample->name));
    st = pack_values_begin(settings->kept, &worker->rows, row);
    if (st == SLUICE_OK) {
        st = pack_read(worker, index, PACK_SAMPLE, row, &data, &fault);
        sample->has_label = pack_values_label(settings->kept, worker->rows.data, &sample->label);
        if (st != SLUICE_OK) {
            st = leave_unread(worker, index, sample, fault, st);
        } else {
            st = pack_values_take_rows(settings->kept, worker->rows.data, &sample->values);
            st = st == SLUICE_OK ? pack_images(worker, sample, index, &data) : st;
        }
    }
    st = sli_is_interrupted() ? SLUICE_CLOSED : st; /* the sample may be incomplete */
    if (pack_is_left_out(sample->fate)) {
        drop_contents(sample);
    }
    if (st != SLUICE_OK) {
        packed_sample_free(sample);
        return st;
    }
    *sample_out = sample;
    return SLUICE_OK;
}
