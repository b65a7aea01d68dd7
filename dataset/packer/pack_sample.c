/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_sample.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "exif.h"
#include "fault_int.h"
#include "image_rules.h"
#include "jpeg_transcode.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

enum { DEFAULT_QUALITY = 90 };

/* How long reading is retried after memory or storage faults. Opening files has its own limit. */
static const int64_t RETRY_NS = INT64_C(2000000000);

struct pack_worker {
    const pack_settings *settings;
    image_decoder *decoder;
    image_decoder *checker; /* decodes results to verify them; NULL: results are not verified */
    sample_io io;
    image_resampler resampler;
    image_buffer resized;
    image_buffer gray;
};

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

static uint32_t scaled_side(uint32_t side, uint32_t from, uint32_t to)
{
    const uint64_t length = ((uint64_t)side * to + from / 2) / from;

    return length > 0 ? (uint32_t)length : 1;
}

static bool is_too_long(const pack_settings *settings, const image_view *image)
{
    const uint32_t longer = image->width > image->height ? image->width : image->height;

    return settings->max_side > 0 && longer > settings->max_side;
}

/* Shrinks the image so that its longer side has max_side pixels. */
static sluice_status shrink_image(pack_worker *worker, image_view *image)
{
    const uint32_t longer = image->width > image->height ? image->width : image->height;
    const uint32_t width = scaled_side(image->width, longer, worker->settings->max_side);
    const uint32_t height = scaled_side(image->height, longer, worker->settings->max_side);
    const resample_job job = {.channels = image->channels,
                              .in_width = image->width,
                              .in_height = image->height,
                              .out_width = width,
                              .out_height = height,
                              .window_width = width,
                              .window_height = height,
                              .filter = {FILTER_BILINEAR, true}};
    image_box needed;
    line_sink sink = {.line = NULL};
    sluice_status st = resample_prepare(&worker->resampler, &job, &needed);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&worker->resized, (size_t)width * height * image->channels);
    }
    if (st == SLUICE_OK) {
        image->pixels += needed.y * image->stride + (size_t)needed.x * image->channels;
        image->width = needed.width;
        image->height = needed.height;
        sink.direct = worker->resized.data;
        st = resample_run(&worker->resampler, image, &sink);
    }
    *image = (image_view){worker->resized.data,
                          (size_t)width * image->channels,
                          width,
                          height,
                          image->channels,
                          IMAGE_U8};
    return st;
}

/* Converts an image with three equal channels to one channel, which has a third of the bytes. */
static sluice_status drop_equal_channels(pack_worker *worker, image_view *image)
{
    sluice_status st;

    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *line = image->pixels + y * image->stride;

        for (uint32_t x = 0; x < image->width * 3; x += 3) {
            if (image->channels != 3 || line[x] != line[x + 1] || line[x] != line[x + 2]) {
                return SLUICE_OK;
            }
        }
    }
    st = image_buffer_reserve(&worker->gray, (size_t)image->width * image->height);
    for (uint32_t y = 0; st == SLUICE_OK && y < image->height; y++) {
        for (uint32_t x = 0; x < image->width; x++) {
            worker->gray.data[(size_t)y * image->width + x] =
                image->pixels[y * image->stride + (size_t)x * 3];
        }
    }
    if (st == SLUICE_OK) {
        *image =
            (image_view){worker->gray.data, image->width, image->width, image->height, 1, IMAGE_U8};
    }
    return st;
}

/* ---- results -------------------------------------------------------------------------------- */

/* Stores the pixels as a binary PPM file; a single channel is repeated three times. */
static sluice_status store_raw(packed_sample *sample, const image_view *image)
{
    char header[48];
    const int length =
        snprintf(header, sizeof(header), "P6\n%u %u\n255\n", image->width, image->height);
    const size_t pixels = (size_t)image->width * image->height;
    uint8_t *to = sli_realloc_array(NULL, (size_t)length + 3 * pixels, 1);

    if (to == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an image of %zu pixels", pixels);
    }
    sample->fate = SLUICE_PACK_RAW;
    sample->file = (jpeg_bytes){to, (size_t)length + 3 * pixels};
    snprintf(sample->field, sizeof(sample->field), "ppm");
    memcpy(to, header, (size_t)length);
    to += length;
    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *line = image->pixels + y * image->stride;

        for (uint32_t x = 0; x < image->width; x++, to += 3, line += image->channels) {
            to[0] = line[0];
            to[1] = line[image->channels == 3 ? 1 : 0];
            to[2] = line[image->channels == 3 ? 2 : 0];
        }
    }
    return SLUICE_OK;
}

static sluice_status store_encoded(pack_worker *worker, packed_sample *sample, image_view *image)
{
    const pack_settings *settings = worker->settings;
    const jpeg_encoding encoding = {settings->quality > 0 ? settings->quality : DEFAULT_QUALITY,
                                    settings->subsampling != SLUICE_PACK_SUBSAMPLING_444,
                                    settings->interval, sample->orientation};
    sluice_status st = drop_equal_channels(worker, image);

    if (st == SLUICE_OK) {
        st = jpeg_encode(image, &encoding, &sample->file);
    }
    sample->fate = SLUICE_PACK_ENCODED;
    snprintf(sample->field, sizeof(sample->field), "jpg");
    return st;
}

/* Encodes pixels according to the settings; may change *image. */
static sluice_status store_pixels(pack_worker *worker, packed_sample *sample, image_view *image)
{
    sluice_status st = SLUICE_OK;

    if (image->channels != 1 && image->channels != 3) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "the image has %u channels; it must have 1 or 3",
                        image->channels);
    }
    if (is_too_long(worker->settings, image)) {
        st = shrink_image(worker, image);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    return worker->settings->raw ? store_raw(sample, image) : store_encoded(worker, sample, image);
}

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
                (st != SLUICE_OK || !is_too_long(settings, &image));
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
        is_whole = is_whole && !is_too_long(settings, &image);
        st = store_pixels(worker, sample, &image);
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
        return leave_out(
            sample, is_jpeg(data) ? SLUICE_PACK_LEFT_UNDECODABLE : SLUICE_PACK_LEFT_NO_IMAGE, st);
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
    st = store_pixels(worker, sample, &image);

    sample->bytes_in = (uint64_t)data->image.width * data->image.height * data->image.channels;
    return st == SLUICE_OK ? st : leave_out(sample, SLUICE_PACK_LEFT_UNDECODABLE, st);
}

static void name_sample(pack_worker *worker, uint64_t index, char *name, size_t size)
{
    const sluice_dataset *dataset = worker->settings->dataset;

    if (dataset_is_stream(dataset)) {
        snprintf(name, size, "%s",
                 source_item_name(dataset_source(dataset), dataset->source, &worker->io.item));
    } else {
        dataset_source(dataset)->name(dataset->source, index, name, size);
    }
}

static sluice_status read_once(pack_worker *worker, uint64_t index, void *const *row,
                               sample_data *data_out, sli_fault *fault_out)
{
    const sluice_dataset *dataset = worker->settings->dataset;
    const sluice_status st =
        dataset_source(dataset)->read(dataset->source, index, &worker->io, row, data_out);

    *fault_out = st == SLUICE_OK ? SLI_FAULT_NONE : sli_fault_of_last(st);
    return st;
}

/* Reads a sample; retries after transient machine faults. */
static sluice_status read_with_retries(pack_worker *worker, uint64_t index, void *const *row,
                                       sample_data *data_out, sli_fault *fault_out)
{
    sli_backoff backoff = {.limit_ns = RETRY_NS};
    sluice_status st;

    do {
        st = read_once(worker, index, row, data_out, fault_out);
    } while ((*fault_out == SLI_FAULT_MEMORY || *fault_out == SLI_FAULT_STORAGE) &&
             sli_backoff_pause(&backoff, worker->settings->interrupt));
    return st;
}

/*
 * Ends the pack because of a machine fault: adds the sample's name to the last error and preserves
 * its errno.
 */
static sluice_status fail_read(pack_worker *worker, uint64_t index, sli_fault fault,
                               sluice_status status)
{
    const char *way_out =
        fault == SLI_FAULT_STORAGE ? ", or leave out such files (leave_out_unreadable)" : "";
    char name[PACK_NAME_SIZE];
    sli_error error;

    sli_error_take(status, &error);
    name_sample(worker, index, name, sizeof(name));
    return sli_fail_with(status, error.error_number,
                         "cannot pack %.500s: %.*s; run the same command again to continue%s", name,
                         PACK_WHY_SIZE - 1, error.text, way_out);
}

sluice_status pack_try_to_read(pack_worker *worker, uint64_t index)
{
    void *row[SLUICE_MAX_COLUMNS] = {NULL};
    sample_data data = {.bytes = NULL};
    sli_fault fault;
    const sluice_status st = read_once(worker, index, row, &data, &fault);

    return fault == SLI_FAULT_NONE ? SLUICE_OK : fail_read(worker, index, fault, st);
}

/* Leaves out a sample that could not be read, or ends the pack. */
static sluice_status leave_unread(pack_worker *worker, uint64_t index, packed_sample *sample,
                                  sli_fault fault, sluice_status status)
{
    if (worker->io.ends_run) {
        return fail_read(worker, index, fault, status);
    }
    if (fault == SLI_FAULT_NONE) {
        return leave_out(sample, SLUICE_PACK_LEFT_UNREADABLE, status);
    }
    return fault == SLI_FAULT_STORAGE && worker->settings->leave_out_unreadable
               ? leave_out(sample, SLUICE_PACK_LEFT_FAULT, status)
               : fail_read(worker, index, fault, status);
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
    name_sample(worker, index, sample->name, sizeof(sample->name));
    if (settings->label >= 0) {
        row[settings->label] = &sample->label;
        sample->has_label = true;
    }
    st = read_with_retries(worker, index, row, &data, &fault);
    if (st != SLUICE_OK) {
        st = leave_unread(worker, index, sample, fault, st);
    } else if (data.bytes != NULL) {
        sample->bytes_in = data.size;
        st = pack_file(worker, sample, &data);
        fault = st != SLUICE_OK ? sli_fault_of_last(st) : SLI_FAULT_NONE;
        st = fault == SLI_FAULT_LIBRARY ? fail_read(worker, index, fault, st) : st;
    } else {
        st = pack_image(worker, sample, &data);
    }
    st = sli_is_interrupted() ? SLUICE_CLOSED : st; /* the sample may be incomplete */
    if (pack_is_left_out(sample->fate)) {           /* frees the file that an earlier step stored */
        sli_free(sample->file.data);
        sample->file = (jpeg_bytes){NULL, 0};
    }
    if (st != SLUICE_OK) {
        packed_sample_free(sample);
        return st;
    }
    *sample_out = sample;
    return SLUICE_OK;
}
