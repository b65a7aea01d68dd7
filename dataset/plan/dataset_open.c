/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a dataset: its source, the tables of its index stages and, if it must be read from the
 * files, the size of its images.
 */
#include <stdio.h>
#include <string.h>

#include "dataset_parts.h"
#include "declared_source.h"
#include "fault_int.h"
#include "image_decoder.h"
#include "plan.h"
#include "printable_int.h"

/* Number of samples that are tried to find the size of an image. */
enum { PROBES = 100 };

/* Reads the width and height of one sample's image, before any transform. */
static sluice_status image_size(sluice_dataset *dataset, const decode_args *decode, uint64_t sample,
                                sample_io *io, image_decoder *decoder, uint32_t *width,
                                uint32_t *height)
{
    void *const row[SLUICE_MAX_COLUMNS] = {NULL};
    sample_data data = {0};
    sluice_status st = dataset_source(dataset)->read(dataset->source, sample, io, row, &data);

    if (st == SLUICE_OK && data.bytes != NULL) {
        image_decoder_allow(decoder, decode_formats(decode, &data));
        st = image_decoder_open_head(decoder, data.bytes, data.size, &data.rest, decode->max_pixels,
                                     false, width, height);
        if (st == SLUICE_OK && decode->orient) {
            (void)image_decoder_make_upright(decoder, width, height);
        }
        return st;
    }
    *width = data.image.width;
    *height = data.image.height;
    return st;
}

/* Applies all stages of geometry to the size of an image, in order. */
static sluice_status through_geometry(const sluice_dataset *dataset, uint32_t *width,
                                      uint32_t *height)
{
    const sli_draws draws = {0};

    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        const stage_def *def = dataset->stages[i].def;
        stage_window g = {0};
        sluice_status st;

        if (def->geometry == NULL || def->geometry->draw == NULL) {
            continue;
        }
        st = def->geometry->draw(dataset->stages[i].args.bytes, &draws, *width, *height, &g);
        if (st != SLUICE_OK) {
            return st;
        }
        *width = g.resizes || g.turns ? g.new_width : g.crops ? g.width : *width;
        *height = g.resizes || g.turns ? g.new_height : g.crops ? g.height : *height;
        if (*width == 0 || *width > 65535 || *height == 0 || *height > 65535) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: images would be %ux%u, and sides must be from 1 to 65535",
                            def->name, *width, *height);
        }
    }
    return SLUICE_OK;
}

/* The arguments of the stage that decodes the first image; NULL: there is none. */
static const decode_args *find_decode(const sluice_dataset *dataset)
{
    const dataset_stage *decode =
        dataset_decode_of(dataset, (uint32_t)dataset->source_schema.image);

    return decode != NULL ? (const decode_args *)(const void *)decode->args.bytes : NULL;
}

/* True if the size of the image must be read from the files. *random_out: the stage that draws a
 * size for each image; NULL: there is none. */
static bool lacks_size(const sluice_dataset *dataset, const char **random_out)
{
    stage_schema schema;
    const bool lacks =
        dataset_schema_after(dataset, dataset_geometry_end(dataset), &schema) == SLUICE_OK &&
        schema_lacks_size(&schema);

    *random_out = lacks ? schema.random_size : NULL;
    return lacks;
}

void dataset_advise_size(const sluice_dataset *dataset, char *text, size_t size)
{
    const dataset_stage *last = NULL;
    const param_size *given;

    for (uint32_t i = 0; i < dataset->stage_count && schema_lacks_size(&dataset->schema); i++) {
        last = dataset->stages[i].def->kind == STAGE_GEOMETRY ? &dataset->stages[i] : last;
    }
    if (last == NULL || last->def->params[0].type != PARAM_SIZE || last->def->geometry->squares) {
        snprintf(text, size, "add resize H,W or a crop, so that all have one size");
        return;
    }
    /* The stage has one number, the length of the shorter side; the longer side depends on the
     * files. */
    given = (const param_size *)(const void *)(last->args.bytes + last->def->params[0].offset);
    snprintf(text, size,
             "%s %u sets the shorter side only; write %s %u,%u, or put center_crop %u after it",
             last->def->name, given->height, last->def->name, given->height, given->height,
             given->height);
}

/* Finds a readable sample, trying evenly spaced samples, and returns the size of its image. */
static sluice_status probe_sample(sluice_dataset *dataset, uint64_t *sample_out, uint32_t *width,
                                  uint32_t *height)
{
    const uint64_t tries = dataset->source_count < PROBES ? dataset->source_count : PROBES;
    const decode_args *decode = find_decode(dataset);
    image_decoder *decoder = NULL;
    sample_io io = {.bytes_read = 0};
    bool ends = false; /* the error is not of one sample */
    sluice_status st = image_decoder_create(&decoder);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint64_t try = 0; try < tries; try++) {
        *sample_out = dataset->source_count / tries * try;
        st = image_size(dataset, decode, *sample_out, &io, decoder, width, height);
        ends = st != SLUICE_OK && (io.ends_run || sli_fault_is_of_process(sli_fault_of_last(st)));
        if (st == SLUICE_OK || ends) {
            break;
        }
    }
    image_decoder_destroy(decoder);
    sample_io_free(&io);
    if (st != SLUICE_OK && !ends) {
        st = sli_fail_quoting(
            SLUICE_E_INVALID,
            "no valid data in the dataset: of %llu samples %llu were tried and none can "
            "be read; the last: %.700s",
            (unsigned long long)dataset->source_count, (unsigned long long)tries,
            sluice_last_error());
    }
    return st;
}

/*
 * Reads the size of one sample's image and uses it for all samples, since images in a batch have
 * the same size.
 */
static sluice_status probe_size(sluice_dataset *dataset, const char *random_size)
{
    uint32_t width = 0;
    uint32_t height = 0;
    uint64_t sample = 0;
    char advice[200];
    char raw[256];
    sluice_status st;

    if (random_size != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s gives images of random sizes, and those of a batch have one size; add "
                        "resize H,W or a crop after it",
                        random_size);
    }
    if (dataset_is_stream(dataset)) {
        dataset_advise_size(dataset, advice, sizeof(advice));
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the images' size must be known before a stream is read; %s", advice);
    }
    st = probe_sample(dataset, &sample, &width, &height);
    if (st == SLUICE_OK) {
        st = through_geometry(dataset, &width, &height);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    dataset_source(dataset)->name(dataset->source, sample, raw, sizeof(raw));
    sli_printable(raw, SLI_ONE_LINE, dataset->sized_by, sizeof(dataset->sized_by));
    dataset->image_width = width;
    dataset->image_height = height;
    return SLUICE_OK;
}

static void close_again(sluice_dataset *dataset)
{
    index_tables_free(dataset);
    dataset->image_width = 0;
    dataset->image_height = 0;
    if (!dataset_opens_early(dataset)) {
        dataset_source_close(dataset);
    }
}

static sluice_status open_once(sluice_dataset *dataset, bool is_part);

/* Opens the parts of a group, before the group itself. */
static sluice_status open_parts(sluice_dataset *dataset)
{
    const dataset_parts *parts = dataset_group(dataset);
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; parts != NULL && i < parts->count && st == SLUICE_OK; i++) {
        st = open_once(parts->items[i].dataset, true);
        if (st != SLUICE_OK) {
            st = sli_fail_quoting(st, "%s: part %u: %.900s", dataset->stages[0].def->name, i + 1,
                                  sluice_last_error());
        }
    }
    return st;
}

static sluice_status open_locked(sluice_dataset *dataset, bool is_part)
{
    const char *random_size;
    sluice_status st = open_parts(dataset);

    if (st == SLUICE_OK) {
        st = dataset_source_open(dataset);
    }
    if (st == SLUICE_OK && !is_part) { /* boxes of parts are checked where the group is read */
        st = declared_source_wrap(dataset);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    dataset->source_count =
        dataset_is_stream(dataset) ? UNCOUNTED_SAMPLES : dataset->ops->count(dataset->source);
    if (!dataset_is_stream(dataset)) {
        st = index_tables_make(dataset);
    }
    if (st == SLUICE_OK && lacks_size(dataset, &random_size)) {
        st = probe_size(dataset, random_size);
    }
    if (st == SLUICE_OK) {
        st = dataset_schema_after(dataset, dataset->stage_count, &dataset->opened_schema);
    }
    if (st != SLUICE_OK) {
        close_again(dataset);
    }
    return st;
}

static sluice_status open_once(sluice_dataset *dataset, bool is_part)
{
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&dataset->lock);
    if (!dataset->opened) {
        st = open_locked(dataset, is_part);
        dataset->opened = st == SLUICE_OK;
    }
    pthread_mutex_unlock(&dataset->lock);
    return st;
}

sluice_status dataset_open(sluice_dataset *dataset)
{
    return open_once(dataset, false);
}

sluice_status dataset_open_indexed(sluice_dataset *dataset)
{
    sluice_status st = dataset_open(dataset);

    return st == SLUICE_OK ? dataset_check_numbers(dataset) : st;
}
