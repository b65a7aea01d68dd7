/* SPDX-License-Identifier: Apache-2.0 */
#include "data_survey.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "survey_findings.h"

const char *const survey_kind_names[KINDS] = {
    [KIND_JPEG] = "jpeg",
    [KIND_PNG] = "png",
    [KIND_PPM] = "ppm",
    [KIND_PGM] = "pgm",
    [KIND_PBM] = "pbm",
    [KIND_BMP] = "bmp",
    [KIND_GIF] = "gif",
    [KIND_WEBP] = "webp",
    [KIND_TIFF] = "tiff",
    [KIND_JP2] = "jp2",
    [KIND_JPEG_GRAY] = "gray",
    [KIND_JPEG_444] = "4:4:4",
    [KIND_JPEG_422] = "4:2:2",
    [KIND_JPEG_420] = "4:2:0",
    [KIND_JPEG_OTHER] = "other subsampling",
    [KIND_JPEG_CMYK] = "cmyk",
    [KIND_JPEG_PROGRESSIVE] = "progressive",
    [KIND_JPEG_ARITHMETIC] = "arithmetic",
    [KIND_JPEG_RESTARTS] = "restart markers",
    [KIND_PNG_GRAY] = "gray",
    [KIND_PNG_PALETTE] = "palette",
    [KIND_PNG_RGB] = "rgb",
    [KIND_PNG_ALPHA] = "alpha",
    [KIND_PNG_16_BITS] = "16 bits",
    [KIND_PNG_INTERLACED] = "interlaced",
    [KIND_PNM_16_BITS] = "16 bits",
    [KIND_TIFF_16_BITS] = "16 bits",
    [KIND_TIFF_FLOATS] = "floats",
    [KIND_JP2_16_BITS] = "16 bits",
    [KIND_ORIENTED] = "exif_orientation",
    [KIND_FURTHER] = "further images",
};

/* A thread that reads the samples first, first + step, ... of the survey. */
typedef struct survey_worker {
    data_survey *survey;
    sluice_reader *reader;
    survey_counts counts;
    uint64_t first;
    uint64_t step;
    cli_progress *progress; /* NULL: another worker draws it */
    int64_t start_ns;
    pthread_t thread;
    bool runs;
    sluice_status ended; /* what failed by the process, with its text; other samples would, too */
    char *why;
} survey_worker;

/* ---- one sample ------------------------------------------------------------------------------ */

static survey_kind format_kind(const char *format)
{
    survey_kind kind = KIND_JPEG;

    while (kind < KIND_JP2 && strcasecmp(format, survey_kind_names[kind]) != 0) {
        kind++;
    }
    return kind;
}

static survey_kind jpeg_kind(const sluice_image_info *info)
{
    if (info->channels == 1 || info->channels == 4) {
        return info->channels == 1 ? KIND_JPEG_GRAY : KIND_JPEG_CMYK;
    }
    if (info->chroma_x == 1 && info->chroma_y == 1) {
        return KIND_JPEG_444;
    }
    return info->chroma_x == 2 && info->chroma_y == 1   ? KIND_JPEG_422
           : info->chroma_x == 2 && info->chroma_y == 2 ? KIND_JPEG_420
                                                        : KIND_JPEG_OTHER;
}

static void count_kinds(survey_counts *counts, const sluice_image_info *info)
{
    const survey_kind format = format_kind(info->format);

    counts->kinds[format]++;
    counts->kinds[KIND_ORIENTED] += info->orientation > 1;
    counts->kinds[KIND_FURTHER] += info->further;
    if (format == KIND_JPEG) {
        counts->kinds[jpeg_kind(info)]++;
        counts->kinds[KIND_JPEG_PROGRESSIVE] += info->progressive;
        counts->kinds[KIND_JPEG_ARITHMETIC] += info->arithmetic;
        counts->kinds[KIND_JPEG_RESTARTS] += info->restart_interval > 0;
    } else if (format == KIND_PNG) {
        counts->kinds[info->palette != 0    ? KIND_PNG_PALETTE
                      : info->channels <= 2 ? KIND_PNG_GRAY
                                            : KIND_PNG_RGB]++;
        counts->kinds[KIND_PNG_ALPHA] += info->channels % 2 == 0;
        counts->kinds[KIND_PNG_16_BITS] += info->bits == 16;
        counts->kinds[KIND_PNG_INTERLACED] += info->progressive;
    } else if (format == KIND_TIFF) {
        counts->kinds[KIND_TIFF_16_BITS] += info->bits == 16;
        counts->kinds[KIND_TIFF_FLOATS] += info->bits == 32;
    } else if (format == KIND_JP2) {
        counts->kinds[KIND_JP2_16_BITS] += info->bits == 16;
    } else {
        counts->kinds[KIND_PNM_16_BITS] += info->bits == 16;
    }
}

/* Returns element i of a column of whole numbers. */
static int64_t number_at(const sluice_sample_view *view, uint64_t i)
{
    const uint8_t *at = (const uint8_t *)view->data + i * sluice_dtype_size(view->dtype);
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
    } value = {.i64 = 0};

    memcpy(&value, at, sluice_dtype_size(view->dtype));
    switch (view->dtype) {
    case SLUICE_U8:
        return value.u8;
    case SLUICE_I8:
        return value.i8;
    case SLUICE_I16:
        return value.i16;
    case SLUICE_U16:
        return value.u16;
    case SLUICE_I32:
        return value.i32;
    case SLUICE_U32:
        return value.u32;
    default:
        return value.i64;
    }
}

/* True for integers that int64_t holds; numbers of u64 are not counted. */
static bool is_whole(sluice_dtype dtype)
{
    return dtype == SLUICE_U8 || dtype == SLUICE_I8 || dtype == SLUICE_I16 || dtype == SLUICE_U16 ||
           dtype == SLUICE_I32 || dtype == SLUICE_U32 || dtype == SLUICE_I64;
}

/* Reads the first image, and its header. */
static sluice_status look_at_image(survey_worker *worker, uint64_t sample, sluice_image_info *info,
                                   uint64_t *bytes, uint64_t *hash)
{
    const uint32_t column = (uint32_t)worker->survey->image;
    sluice_sample_view view;
    sluice_status st = sluice_reader_get(worker->reader, sample, column, &view);

    if (st != SLUICE_OK) {
        return st;
    }
    *bytes = view.bytes;
    *hash = finding_hash(view.data, view.bytes);
    if (view.dtype == SLUICE_ENCODED) {
        return sluice_reader_header(worker->reader, info);
    }
    info->format = NULL;
    info->height = view.rank > 0 ? (uint32_t)view.shape[0] : 0;
    info->width = view.rank > 1 ? (uint32_t)view.shape[1] : 0;
    return SLUICE_OK;
}

static sluice_status look_at_numbers(survey_worker *worker, uint64_t sample, uint32_t column,
                                     int64_t *number)
{
    sluice_sample_view view;
    const sluice_status st = sluice_reader_get(worker->reader, sample, column, &view);

    *number =
        st == SLUICE_OK && worker->survey->columns[column].is_counted ? number_at(&view, 0) : 0;
    return st;
}

/* Counts the labels of a sample that could be read. */
static sluice_status count_labels(survey_worker *worker, uint64_t sample, const int64_t *numbers)
{
    const data_survey *survey = worker->survey;
    const uint64_t count = survey->length >= 0 ? (uint64_t)numbers[survey->length] : 1;
    sluice_sample_view view;
    sluice_status st;

    if (survey->label < 0) {
        return SLUICE_OK;
    }
    st = sluice_reader_get(worker->reader, sample, (uint32_t)survey->label, &view);
    for (uint64_t i = 0; st == SLUICE_OK && i < count; i++) {
        const int64_t label = number_at(&view, i);

        if (label >= 0 && label < SURVEY_CLASSES) {
            worker->counts.classes[label]++;
        } else {
            worker->counts.no_class++;
        }
    }
    return st;
}

/* Reads all columns of a sample; counts it only if all can be read. The check comes directly after
 * the image, so that the reader still has its bytes; it reads masks and further images itself. */
static sluice_status look_at(survey_worker *worker, uint64_t look, uint64_t sample)
{
    data_survey *survey = worker->survey;
    survey_counts *counts = &worker->counts;
    sluice_image_info first;
    uint64_t first_bytes = 0;
    uint64_t first_hash = 0;
    int64_t numbers[SLUICE_MAX_COLUMNS] = {0};
    sluice_status st = SLUICE_OK;

    sluice_image_info_init(&first);
    if (survey->image >= 0) {
        st = look_at_image(worker, sample, &first, &first_bytes, &first_hash);
    }
    st = st == SLUICE_OK ? sluice_reader_check(worker->reader, sample) : st;
    for (uint32_t i = 0; i < survey->column_count && st == SLUICE_OK; i++) {
        const sluice_column_role role = survey->columns[i].spec.role;

        if (role != SLUICE_ROLE_IMAGE && role != SLUICE_ROLE_MASK) {
            st = look_at_numbers(worker, sample, i, &numbers[i]);
        }
    }
    if (st == SLUICE_OK) {
        st = count_labels(worker, sample, numbers);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    counts->good++;
    if (survey->image >= 0 && first.format != NULL) {
        count_kinds(counts, &first);
    }
    if (survey->image >= 0) {
        survey->widths[look] = first.width;
        survey->heights[look] = first.height;
        survey->bytes[look] = first_bytes;
        survey->hashes[look] = first_hash;
    }
    for (uint32_t i = 0; i < survey->column_count; i++) {
        counts->low[i] = numbers[i] < counts->low[i] ? numbers[i] : counts->low[i];
        counts->high[i] = numbers[i] > counts->high[i] ? numbers[i] : counts->high[i];
    }
    return SLUICE_OK;
}

/* ---- the workers ----------------------------------------------------------------------------- */

static void name_bad(survey_counts *counts, uint64_t sample)
{
    const char *why = sluice_last_error();

    counts->bad++;
    if (counts->named_count < SURVEY_NAMED) {
        counts->named[counts->named_count++] = (survey_bad){sample, strdup(why)};
    }
}

uint64_t survey_sample(const data_survey *survey, uint64_t nth)
{
    const uint64_t whole = survey->samples / survey->looked;
    const uint64_t rest = survey->samples % survey->looked;

    return nth * whole + (uint64_t)((double)nth / (double)survey->looked * (double)rest);
}

static void *work(void *arg)
{
    survey_worker *worker = arg;
    data_survey *survey = worker->survey;

    for (uint64_t look = worker->first;
         look < survey->looked && cli_signal() == 0 && !atomic_load(&survey->ends);
         look += worker->step) {
        const uint64_t sample = survey_sample(survey, look);

        const sluice_status st = look_at(worker, look, sample);

        if (st != SLUICE_OK && sluice_reader_ends(worker->reader)) {
            worker->ended = st;
            worker->why = strdup(sluice_last_error());
            atomic_store(&survey->ends, true);
            return NULL;
        }
        if (st != SLUICE_OK) {
            name_bad(&worker->counts, sample);
        }
        if (worker->progress != NULL) {
            cli_progress_draw(worker->progress, look + 1, look + 1, survey->looked,
                              (double)(cli_now_ns() - worker->start_ns) / 1e9);
        }
    }
    return NULL;
}

static sluice_status no_memory(void)
{
    return sluice_fail(SLUICE_E_NO_MEMORY, "inspect: out of memory");
}

static sluice_status begin_worker(data_survey *survey, survey_worker *worker)
{
    worker->survey = survey;
    worker->counts.classes = calloc(SURVEY_CLASSES, sizeof(uint64_t));
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        worker->counts.low[i] = INT64_MAX;
        worker->counts.high[i] = INT64_MIN;
    }
    return worker->counts.classes != NULL ? sluice_reader_create(survey->dataset, &worker->reader)
                                          : no_memory();
}

static int by_sample(const void *left, const void *right)
{
    const survey_bad *a = left;
    const survey_bad *b = right;

    return (a->sample > b->sample) - (a->sample < b->sample);
}

/* Adds what the reader of a worker has found; boxes are counted for the whole dataset. */
static void add_found(sluice_findings *all, const sluice_reader *reader)
{
    sluice_findings own;

    sluice_findings_init(&own);
    if (sluice_reader_findings(reader, &own) == SLUICE_OK) {
        all->boxes_clipped = own.boxes_clipped;
        all->boxes_dropped = own.boxes_dropped;
        all->sizes_differ += own.sizes_differ;
        all->labels_stored += own.labels_stored;
    }
}

/* Adds up the counts of the workers, and keeps the SURVEY_NAMED first bad samples. */
static void add_up(data_survey *survey, survey_worker *workers, uint32_t count)
{
    survey_bad bad[SURVEY_WORKERS * SURVEY_NAMED];
    size_t bad_count = 0;
    survey_counts *all = &survey->all;

    for (uint32_t w = 0; w < count; w++) {
        const survey_counts *counts = &workers[w].counts;

        all->good += counts->good;
        all->bad += counts->bad;
        all->no_class += counts->no_class;
        add_found(&all->found, workers[w].reader);
        for (uint32_t i = 0; i < KINDS; i++) {
            all->kinds[i] += counts->kinds[i];
        }
        for (uint32_t i = 0; i < SURVEY_CLASSES; i++) {
            all->classes[i] += counts->classes[i];
            if (all->classes[i] > 0 && i >= survey->class_count) {
                survey->class_count = i + 1;
            }
        }
        for (uint32_t i = 0; i < survey->column_count; i++) {
            survey_column *column = &survey->columns[i];

            column->low = counts->low[i] < column->low ? counts->low[i] : column->low;
            column->high = counts->high[i] > column->high ? counts->high[i] : column->high;
        }
        memcpy(bad + bad_count, counts->named, counts->named_count * sizeof(*bad));
        bad_count += counts->named_count;
    }
    qsort(bad, bad_count, sizeof(*bad), by_sample);
    for (size_t i = 0; i < bad_count; i++) {
        if (i < SURVEY_NAMED) {
            all->named[all->named_count++] = bad[i];
        } else {
            free(bad[i].why);
        }
    }
}

/* ---- the survey ------------------------------------------------------------------------------ */

/* True if the rows of a column belong to boxes, as classes do, and not to points. */
static bool is_of_boxes(const data_survey *survey, const sluice_column_spec *spec)
{
    for (uint32_t i = 0; spec->boxes != NULL && i < survey->column_count; i++) {
        if (strcmp(survey->columns[i].spec.name, spec->boxes) == 0) {
            return survey->columns[i].spec.role == SLUICE_ROLE_BOXES;
        }
    }
    return false;
}

/* Describes the columns, and chooses which of them are the image and the labels. */
static sluice_status find_columns(data_survey *survey, const sluice_reader *reader)
{
    survey->column_count = sluice_reader_columns(reader);
    for (uint32_t i = 0; i < survey->column_count; i++) {
        survey_column *column = &survey->columns[i];
        const sluice_column_spec *spec = &column->spec;
        const sluice_status st = sluice_reader_column(reader, i, &column->spec);

        if (st != SLUICE_OK) {
            return st;
        }
        column->is_counted =
            spec->role == SLUICE_ROLE_PLAIN && spec->rank == 0 && is_whole(spec->dtype);
        column->low = INT64_MAX;
        column->high = INT64_MIN;
        if (survey->image < 0 && spec->role == SLUICE_ROLE_IMAGE) {
            survey->image = (int)i;
        }
        if (column->is_counted && strcmp(spec->name, "label") == 0) {
            survey->label = (int)i;
        }
    }
    for (uint32_t i = 0; i < survey->column_count && survey->label < 0; i++) {
        const sluice_column_spec *spec = &survey->columns[i].spec;

        for (uint32_t l = 0; is_of_boxes(survey, spec) && l < survey->column_count; l++) {
            const char *name = survey->columns[l].spec.name;
            const size_t length = strlen(spec->boxes);

            if (is_whole(spec->dtype) && spec->rank == 1 && survey->columns[l].is_counted &&
                strncmp(name, spec->boxes, length) == 0 && strcmp(name + length, "_length") == 0) {
                survey->label = (int)i;
                survey->length = (int)l;
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status prepare(data_survey *survey, const sluice_reader *reader, uint64_t most)
{
    sluice_status st = find_columns(survey, reader);
    size_t room;

    survey->samples = sluice_reader_samples(reader);
    survey->looked = survey->samples < most ? survey->samples : most;
    room = survey->image >= 0 ? (size_t)survey->looked + 1 : 1;
    survey->widths = calloc(room, sizeof(*survey->widths));
    survey->heights = calloc(room, sizeof(*survey->heights));
    survey->bytes = calloc(room, sizeof(*survey->bytes));
    survey->hashes = calloc(room, sizeof(*survey->hashes));
    survey->all.classes = calloc(SURVEY_CLASSES, sizeof(uint64_t));
    if (survey->widths == NULL || survey->heights == NULL || survey->bytes == NULL ||
        survey->hashes == NULL || survey->all.classes == NULL) {
        st = no_memory();
    }
    return st;
}

static void run_workers(survey_worker *workers, uint32_t count, cli_progress *progress)
{
    workers[0].progress = progress;
    for (uint32_t w = 0; w < count; w++) {
        workers[w].start_ns = cli_now_ns();
        workers[w].first = w;
        workers[w].step = count;
        workers[w].runs = w > 0 && pthread_create(&workers[w].thread, NULL, work, &workers[w]) == 0;
    }
    for (uint32_t w = 0; w < count; w++) {
        if (!workers[w].runs) {
            work(&workers[w]); /* worker 0, and workers whose thread could not be started */
        }
    }
    for (uint32_t w = 1; w < count; w++) {
        if (workers[w].runs) {
            pthread_join(workers[w].thread, NULL);
        }
    }
}

/* Returns the error of a worker that has ended the survey. */
static sluice_status find_end(survey_worker *workers, uint32_t count)
{
    for (uint32_t w = 0; w < count; w++) {
        if (workers[w].ended != SLUICE_OK) {
            return sluice_fail(workers[w].ended, "%s",
                               workers[w].why != NULL ? workers[w].why : "inspect");
        }
    }
    return SLUICE_OK;
}

sluice_status survey_run(data_survey *survey, uint64_t most, uint32_t workers,
                         cli_progress *progress)
{
    survey_worker *all = calloc(workers, sizeof(*all));
    sluice_status st = all != NULL ? SLUICE_OK : no_memory();
    uint32_t ready = 0;

    survey->image = -1;
    survey->label = -1;
    survey->length = -1;
    while (st == SLUICE_OK && ready < workers) {
        st = begin_worker(survey, &all[ready++]);
    }
    if (st == SLUICE_OK) {
        st = prepare(survey, all[0].reader, most);
    }
    if (st == SLUICE_OK) {
        run_workers(all, workers, progress);
        cli_progress_end(progress);
        add_up(survey, all, workers);
        st = find_end(all, workers);
    }
    if (st == SLUICE_OK) {
        st = finding_duplicates(survey);
    }
    for (uint32_t w = 0; w < ready; w++) {
        free(all[w].counts.classes);
        free(all[w].why);
        sluice_reader_destroy(all[w].reader);
    }
    free(all);
    return st;
}

void survey_free(data_survey *survey)
{
    for (uint32_t i = 0; i < survey->all.named_count; i++) {
        free(survey->all.named[i].why);
    }
    free(survey->all.classes);
    free(survey->widths);
    free(survey->heights);
    free(survey->bytes);
    free(survey->hashes);
}
