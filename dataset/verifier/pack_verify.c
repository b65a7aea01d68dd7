/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a pack, a shard, or a folder of images. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "fault_int.h"
#include "format_int.h"
#include "log_int.h"
#include "ordered_run.h"
#include "pack_marks.h"
#include "pack_shard.h"
#include "pack_strays.h"
#include "pack_summary.h"
#include "path_stage.h"
#include "placement_int.h"
#include "sample_check.h"
#include "stop_int.h"
#include "struct_size_int.h"
#include "thread_interrupt_int.h"
#include "verify_columns.h"
#include "verify_pack.h"
#include "verify_shard.h"

/* Memory budget in bytes for results that were made but not yet taken; each result is small. */
enum { BUDGET = 1 << 20 };

/* The state of a worker. */
typedef struct verify_worker {
    image_decoder *decoder;
    sample_io io;
    image_buffer rows; /* of verify_run.columns */
} verify_worker;

typedef struct verify_run {
    const sluice_verify_config *config;
    verify_reporter reporter;
    sluice_dataset *dataset; /* source of a folder of images; NULL: shards are verified */
    verify_columns columns;  /* of a pack */
    verify_shard *shards;
    size_t shard_count;
    size_t shard_capacity;
    verify_worker *workers[SLI_MAX_WORKERS];
    sluice_verify_stats stats;
    int64_t start_ns;
    sli_interrupt interrupt; /* cancels the workers' waits for a free file descriptor */
} verify_run;

/* The result for one sample. */
typedef struct verified {
    sli_error error; /* the sample's problem; status OK: the sample is intact */
    bool is_checked;
    uint64_t bytes;
} verified;

static void report_sample(void *arg, const char *name, const char *why)
{
    verify_run *run = arg;

    run->stats.problems++;
    if (run->config->problem != NULL) {
        run->config->problem(name, why, run->config->user);
    }
}

/* ---- discovery ------------------------------------------------------------------------------ */

static sluice_status add_shard(verify_run *run, const char *path, bool is_packed)
{
    verify_shard *grown =
        sli_grow(run->shards, &run->shard_capacity, run->shard_count + 1, sizeof(*grown));
    verify_shard *shard;
    sluice_status st;

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of shards");
    }
    run->shards = grown;
    shard = &grown[run->shard_count++];
    memset(shard, 0, sizeof(*shard));
    shard->first = run->stats.samples;
    st = verify_shard_open(shard, path, is_packed, &run->reporter);
    run->stats.samples += shard->index.count;
    run->stats.shards++;
    return st;
}

static int is_archive(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && sli_ends_in(entry->d_name, ".tar");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds all archives in the folder, sorted by name. */
static sluice_status add_shards(verify_run *run)
{
    const char *folder = run->config->path;
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_archive, by_bytes);
    sluice_status st = SLUICE_OK;

    if (count < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot list the folder %s", folder);
    }
    for (int i = 0; i < count; i++) {
        const size_t size = strlen(folder) + strlen(entries[i]->d_name) + 2;
        char *path = st == SLUICE_OK ? sli_calloc(size, 1) : NULL;

        if (path != NULL) {
            snprintf(path, size, "%s/%s", folder, entries[i]->d_name);
            st = add_shard(run, path, run->stats.is_pack);
        } else if (st == SLUICE_OK) {
            st = sli_fail(SLUICE_E_NO_MEMORY, "a path");
        }
        sli_free(path);
        free(entries[i]);
    }
    free(entries);
    return st;
}

/* Opens the source of run->dataset, which was parsed with a status. */
static sluice_status open_source(verify_run *run, sluice_status st)
{
    st = st == SLUICE_OK ? dataset_open(run->dataset) : st;
    if (st == SLUICE_OK && dataset_is_stream(run->dataset)) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "verify: samples of a stream have no numbers: %s",
                      dataset_source(run->dataset)->instead);
    }
    run->stats.samples = st == SLUICE_OK ? run->dataset->source_count : 0;
    return st;
}

/* ---- discovery of packs ---------------------------------------------------------------------- */

/* Reports that the pack was written from a corrupt stream: it cannot be repaired. */
static void report_mark(verify_run *run)
{
    report_sample(run, PACK_CORRUPT, PACK_CORRUPT_WHY);
}

/* Verifies one archive, which may be of a pack. */
static sluice_status add_archive(verify_run *run)
{
    const char *path = run->config->path;
    pack_marks marks = {.shard = NULL};
    sluice_status st = pack_marks_of(&marks, path);

    if (st == SLUICE_OK && marks.is_corrupt) {
        report_mark(run);
    }
    return st == SLUICE_OK ? add_shard(run, path, pack_marks_has(&marks, path)) : st;
}

/* Opens a conversion, whose samples are read as a run reads them. */
static sluice_status open_converted(verify_run *run)
{
    const char *path = run->config->path;
    const sluice_status st = verify_columns_open(&run->columns, path, true, &run->reporter);

    run->dataset = run->columns.dataset;
    run->stats.samples = run->dataset != NULL ? run->dataset->source_count : 0;
    return st;
}

/* Opens the columns of a pack besides image and label. */
static sluice_status open_columns(verify_run *run)
{
    char why[PACK_WHY_SIZE];
    const sluice_status st =
        verify_columns_open(&run->columns, run->config->path, false, &run->reporter);

    if (st == SLUICE_OK && run->columns.dataset != NULL &&
        run->columns.dataset->source_count != run->stats.samples) {
        snprintf(why, sizeof(why), "%" PRIu64 " of %" PRIu64 " samples have all columns",
                 run->columns.dataset->source_count, run->stats.samples);
        report_sample(run, run->config->path, why);
        verify_columns_close(&run->columns);
    }
    return st;
}

static sluice_status discover_shards(verify_run *run)
{
    const char *path = run->config->path;
    pack_marks marks;
    struct stat info;
    sluice_status st;

    if (stat(path, &info) != 0) {
        return strchr(path, ' ') != NULL
                   ? open_source(run, sluice_dataset_parse(path, &run->dataset))
                   : sli_fail_errno(SLUICE_E_IO, errno, "cannot open %s", path);
    }
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "verify: %s must be a folder or a file, not a pipe or a device", path);
    }
    if (S_ISREG(info.st_mode)) {
        const char *stage = path_stage(path);

        return stage == NULL || strcmp(stage, "webdataset") == 0
                   ? add_archive(run)
                   : open_source(run, sluice_dataset_parse_path(path, &run->dataset));
    }
    st = pack_marks_read(path, &marks);
    if (st == SLUICE_OK) {
        run->stats.is_pack = marks.is_pack || marks.is_corrupt;
        st = marks.is_converted ? open_converted(run) : add_shards(run);
    }
    if (st == SLUICE_OK && run->stats.is_pack) {
        st = verify_pack_check(&(verify_pack){path, run->shards, run->shard_count,
                                              run->stats.samples, run->columns.writer,
                                              &run->reporter},
                               &marks);
    }
    if (st == SLUICE_OK && marks.is_pack && !marks.is_converted) {
        st = open_columns(run);
    }
    return st == SLUICE_OK && run->stats.shards == 0 && !run->stats.is_pack
               ? open_source(run, sluice_dataset_parse_path(path, &run->dataset))
               : st;
}

/* ---- samples -------------------------------------------------------------------------------- */

static const verify_shard *shard_of(const verify_run *run, uint64_t sample)
{
    size_t low = 0;
    size_t high = run->shard_count;

    while (high - low > 1) {
        const size_t middle = (low + high) / 2;

        *(run->shards[middle].first <= sample ? &low : &high) = middle;
    }
    return &run->shards[low];
}

/*
 * Writes a sample's name for messages: "shard-000000.tar: 000000012.jpg", or its name in the folder
 * of images.
 */
static void name_sample(const verify_run *run, uint64_t sample, char *text, size_t size)
{
    if (run->dataset != NULL) {
        dataset_source(run->dataset)->name(run->dataset->source, sample, text, size);
    } else {
        const verify_shard *shard = shard_of(run, sample);

        snprintf(text, size, "%s: %s", verify_shard_name(shard),
                 shard_sample_name(&shard->index, sample - shard->first));
    }
}

static sluice_status read_sample(const verify_run *run, verify_worker *worker, uint64_t sample,
                                 sample_data *data, bool *checked)
{
    void *const row[SLUICE_MAX_COLUMNS] = {NULL};
    const verify_shard *shard;
    sluice_status st;

    if (run->dataset != NULL) {
        worker->io.whole = true;
        return dataset_source(run->dataset)
            ->read(run->dataset->source, sample, &worker->io, row, data);
    }
    shard = shard_of(run, sample);
    st = verify_shard_read(shard, sample - shard->first, &worker->io, checked);
    data->bytes = worker->io.bytes.data;
    data->named = image_formats_of_file(shard_sample_name(&shard->index, sample - shard->first));
    data->size = shard->index.samples[sample - shard->first].size;
    return st;
}

static sluice_status create_worker(const verify_run *run, verify_worker **worker_out)
{
    verify_worker *worker = sli_calloc(1, sizeof(*worker));
    sluice_status st;

    if (worker == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a worker that verifies");
    }
    worker->io.interrupt = &run->interrupt;
    st = image_decoder_create(&worker->decoder);
    if (st != SLUICE_OK) {
        sli_free(worker);
        return st;
    }
    *worker_out = worker;
    return SLUICE_OK;
}

/* Decodes the images and masks of a sample, and checks them as a run does. */
static sluice_status check_sample(const verify_run *run, verify_worker *worker, uint64_t sample,
                                  verified *v)
{
    const bool has_columns = run->columns.dataset != NULL;
    const sample_check check = {.dataset = has_columns ? run->columns.dataset : run->dataset,
                                .decoder = worker->decoder,
                                .io = &worker->io,
                                .max_pixels = run->config->max_pixels,
                                .decodes = true};
    sample_data data = {.bytes = NULL};
    sluice_status st = read_sample(run, worker, sample, &data, &v->is_checked);

    if (st == SLUICE_OK) {
        st = sample_check_images(&check, sample, &data, &v->bytes);
    }
    return st == SLUICE_OK && has_columns
               ? verify_columns_read(&run->columns, sample, &worker->io, &worker->rows, &v->bytes)
               : st;
}

static sluice_status make_sample(void *arg, uint32_t worker, uint64_t sample, void **made_out,
                                 size_t *bytes_out)
{
    verify_run *run = arg;
    verified *v = sli_calloc(1, sizeof(*v));
    sluice_status st = v != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "a sample");

    if (st == SLUICE_OK && run->workers[worker] == NULL) {
        st = create_worker(run, &run->workers[worker]);
    }
    if (st != SLUICE_OK) {
        sli_free(v);
        return st;
    }
    st = check_sample(run, run->workers[worker], sample, v);
    st = sli_is_interrupted() ? SLUICE_CLOSED : st; /* a bad sample may be an abandoned one */
    if (st == SLUICE_CLOSED ||
        (st != SLUICE_OK && sli_fault_is_of_process(sli_fault_of_last(st)))) {
        sli_free(v);
        return st;
    }
    sli_error_take(st, &v->error);
    *made_out = v;
    *bytes_out = sizeof(*v);
    return SLUICE_OK;
}

static sluice_status take_sample(void *arg, uint64_t sample, void *made)
{
    verify_run *run = arg;
    verified *v = made;
    char name[PACK_NAME_SIZE];

    if (v->error.status < 0) {
        name_sample(run, sample, name, sizeof(name));
        report_sample(run, name, v->error.text);
    }
    run->stats.done++;
    run->stats.bad += v->error.status < 0;
    run->stats.checked += v->is_checked;
    run->stats.bytes += v->bytes;
    run->stats.seconds = (double)(sli_now_ns() - run->start_ns) / 1e9;
    if (run->config->progress != NULL) {
        run->config->progress(&run->stats, run->config->user);
    }
    sli_free(v);
    return SLUICE_OK;
}

static void drop_sample(void *made)
{
    sli_free(made);
}

static bool is_stopped(void *arg)
{
    const verify_run *run = arg;

    return sli_stop_is_requested(run->config->stop);
}

/* ---- a run ---------------------------------------------------------------------------------- */

static sluice_status check_all(verify_run *run)
{
    ordered_job job = {
        .workers = run->config->workers,
        .budget = BUDGET,
        .stop = run->config->stop,
        .arg = run,
        .make = make_sample,
        .take = take_sample,
        .drop = drop_sample,
    };
    sluice_status st = discover_shards(run);

    job.end = run->stats.samples;
    if (st == SLUICE_OK && job.end > 0) {
        st = ordered_run(&job);
    }
    if (st == SLUICE_OK && run->stats.problems > 0) {
        st = sli_fail(SLUICE_E_CORRUPT, "%s: %" PRIu64 " problem%s", run->config->path,
                      run->stats.problems, run->stats.problems == 1 ? "" : "s");
    }
    if (st == SLUICE_OK && job.end == 0) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: %s holds no samples",
                      run->config->path);
    }
    run->stats.seconds = (double)(sli_now_ns() - run->start_ns) / 1e9;
    return st;
}

static void tear_down(verify_run *run)
{
    for (uint32_t i = 0; i < SLI_MAX_WORKERS; i++) {
        if (run->workers[i] != NULL) {
            image_decoder_destroy(run->workers[i]->decoder);
            sample_io_free(&run->workers[i]->io);
            image_buffer_free(&run->workers[i]->rows);
            sli_free(run->workers[i]);
        }
    }
    for (size_t i = 0; i < run->shard_count; i++) {
        verify_shard_close(&run->shards[i]);
    }
    sli_free(run->shards);
    if (run->dataset != run->columns.dataset) {
        sluice_dataset_destroy(run->dataset);
    }
    verify_columns_close(&run->columns);
    sli_free(run);
}

static const sli_struct config_struct = SLI_STRUCT(sluice_verify_config, user);
static const sli_struct stats_struct = SLI_STRUCT(sluice_verify_stats, bad);

static sluice_status read_config(const sluice_verify_config *config, sluice_verify_config *copy_out)
{
    const sluice_status st =
        sli_struct_read(&config_struct, "sluice_pack_verify", config, copy_out);

    if (st != SLUICE_OK) {
        return st;
    }
    if (copy_out->path == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_pack_verify: path is not set");
    }
    return copy_out->workers <= SLI_MAX_WORKERS
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "workers is %" PRIu32 "; it must be at most %d",
                          copy_out->workers, SLI_MAX_WORKERS);
}

sluice_status sluice_pack_verify(const sluice_verify_config *config, sluice_verify_stats *stats_out)
{
    sluice_verify_config own;
    verify_run *run;
    sluice_status st = read_config(config, &own);

    if (st == SLUICE_OK && stats_out != NULL) {
        st = sli_struct_check(&stats_struct, "sluice_pack_verify", stats_out);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    run = sli_calloc(1, sizeof(*run));
    if (run == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a check");
    }
    run->config = &own;
    run->interrupt = (sli_interrupt){is_stopped, run};
    run->reporter = (verify_reporter){report_sample, run};
    run->stats.struct_size = sizeof(run->stats);
    run->start_ns = sli_now_ns();
    st = check_all(run);
    if (stats_out != NULL) {
        (void)sli_struct_write(&stats_struct, "sluice_pack_verify", &run->stats, stats_out);
    }
    tear_down(run);
    return st;
}
