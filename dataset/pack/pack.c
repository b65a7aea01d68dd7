/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing: workers make samples, in any order; the caller's thread writes them to shards, in the
 * dataset's order (ordered_run.h). What has come of a pack is in its folder alone: a run begins
 * with reading the lists of finished shards, and goes on behind the last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "log_int.h"
#include "order.h"
#include "ordered_run.h"
#include "pack_shard.h"
#include "pack_summary.h"
#include "placement_int.h"
#include "stream_order.h"
#include "stream_turns.h"

/* A shard is a file that is read fast from where data lies far away, of which there are not too
 * many; and what is lost when a pack is interrupted, which are seconds. */
static const uint64_t DEFAULT_SHARD_BYTES = UINT64_C(1) << 30;

static const uint64_t DEFAULT_MEMORY_BYTES = UINT64_C(1) << 28;

/* Written last: a pack that has it is complete. */
static const char SUMMARY[] = "pack.json";

/* The archive's own end. */
enum { TAR_END = 1024 };

typedef struct pack_run {
    const sluice_pack_config *config;
    pack_settings settings;
    uint64_t shard_bytes;
    sample_order order;
    stream_turns *stream; /* in place of it where the source is one */
    int key_digits;
    pack_folder folder;
    pack_worker *workers[SLI_MAX_WORKERS]; /* each made by its own thread */
    pack_shard shard;
    uint32_t next_shard;
    uint64_t names; /* of the samples in finished shards, in their order */
    sluice_pack_stats stats;
    pack_summary summary;
    int64_t start_ns;
} pack_run;

/* ---- what is asked for ---------------------------------------------------------------------- */

static sluice_status check_numbers(const sluice_pack_config *config)
{
    if (config->quality > 100) {
        return sli_fail(SLUICE_E_INVALID, "quality %" PRIu32 ": want 1 to 100", config->quality);
    }
    if (config->subsampling != 0 && config->subsampling != 420 && config->subsampling != 444) {
        return sli_fail(SLUICE_E_INVALID, "subsampling %" PRIu32 ": want 420 or 444",
                        config->subsampling);
    }
    if (config->raw && (config->quality != 0 || config->subsampling != 0)) {
        return sli_fail(SLUICE_E_INVALID, "raw pixels have no quality and no subsampling");
    }
    if (config->interval > 65535 || config->max_side > 65535) {
        return sli_fail(SLUICE_E_INVALID, "%s %" PRIu32 ": want at most 65535 pixels",
                        config->interval > 65535 ? "interval" : "max_side",
                        config->interval > 65535 ? config->interval : config->max_side);
    }
    if (config->workers > SLI_MAX_WORKERS) {
        return sli_fail(SLUICE_E_INVALID, "workers %" PRIu32 ": want at most %d", config->workers,
                        SLI_MAX_WORKERS);
    }
    return SLUICE_OK;
}

/* A pack holds what the source has: stages that choose and order samples may follow it. */
static sluice_status check_stages(const sluice_dataset *dataset)
{
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (dataset->stages[i].def->kind != STAGE_INDEX) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s has no place in what is packed: want a source and stages of order, "
                            "such as shuffle",
                            dataset->stages[i].def->name);
        }
    }
    if (dataset->schema.image < 0) {
        return sli_fail(SLUICE_E_INVALID, "%s has no images to pack", dataset->stages[0].def->name);
    }
    return SLUICE_OK;
}

static sluice_status check(const sluice_pack_config *config)
{
    sluice_status st;

    if (config == NULL || config->struct_size != sizeof(*config)) {
        return sli_fail(SLUICE_E_INVALID, "sluice_pack: call sluice_pack_config_init() first");
    }
    if (config->folder == NULL || config->folder[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "sluice_pack: folder is not set");
    }
    st = dataset_status(config->dataset, "sluice_pack");
    if (st == SLUICE_OK) {
        st = check_numbers(config);
    }
    if (st == SLUICE_OK) {
        st = check_stages(config->dataset);
    }
    return st == SLUICE_OK ? tar_writer_check() : st;
}

static int label_column(const sluice_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->schema.column_count; i++) {
        if (strcmp(dataset->schema.columns[i].name, "label") == 0) {
            return (int)i;
        }
    }
    return -1;
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static bool is_stream(const pack_run *run)
{
    return dataset_is_stream(run->config->dataset);
}

static sluice_status set_up(pack_run *run)
{
    const sluice_pack_config *config = run->config;
    const order_settings order = {.seed = config->seed, .world = 1};
    sluice_status st = dataset_open(config->dataset);

    if (st == SLUICE_OK) {
        st = order_make(config->dataset, &order, &run->order);
    }
    if (st == SLUICE_OK && run->order.length == 0) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: there is nothing to pack");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    run->settings = (pack_settings){
        .dataset = config->dataset,
        .label = label_column(config->dataset),
        .interval = config->interval,
        .max_side = config->max_side,
        .quality = config->quality,
        .subsampling = config->subsampling,
        .raw = config->raw,
        .verify = config->verify,
        .max_pixels = or_default(config->max_pixels, PACK_MAX_PIXELS),
    };
    run->shard_bytes = or_default(config->shard_bytes, DEFAULT_SHARD_BYTES);
    run->stats.struct_size = sizeof(run->stats);
    run->stats.samples = is_stream(run) ? 0 : run->order.length;
    run->key_digits = is_stream(run) ? 0 : snprintf(NULL, 0, "%" PRIu64, run->order.length - 1);
    run->key_digits = run->key_digits < 9 ? 9 : run->key_digits;
    return is_stream(run) ? stream_order_check(config->dataset) : SLUICE_OK;
}

/* The options that a pack's bytes depend on, and what it is of. */
static sluice_status print_options(const pack_run *run, char **text_out)
{
    const sluice_dataset *dataset = run->config->dataset;
    const pack_settings *s = &run->settings;
    sli_text text = {0};

    sli_text_add(&text, "sluice_pack 1\n");
    if (is_stream(run)) {
        sli_text_add(&text, "samples stream\nstages ");
    } else {
        sli_text_add(&text, "samples %" PRIu64 "\nnames %016" PRIx64 "\nstages ", run->order.length,
                     dataset_names_hash(dataset));
    }
    dataset_print(dataset, 1, dataset->stage_count, &text);
    sli_text_add(&text, "\nseed %" PRIu64 "\ninterval %" PRIu32 "\nmax_side %" PRIu32,
                 run->config->seed, s->interval, s->max_side);
    sli_text_add(&text, "\nquality %" PRIu32 "\nsubsampling %" PRIu32 "\nraw %d", s->quality,
                 s->subsampling, s->raw);
    sli_text_add(&text, "\nmax_pixels %" PRIu64 "\nshard_bytes %" PRIu64 "\nsource ", s->max_pixels,
                 run->shard_bytes);
    dataset_print(dataset, 0, 1, &text);
    sli_text_add(&text, "\n");
    return sli_text_take(&text, text_out);
}

/* ---- counting ------------------------------------------------------------------------------- */

/* Counts a sample, of this run or of an earlier one. */
static void count(void *arg, const pack_line *line)
{
    pack_run *run = arg;
    sluice_pack_stats *stats = &run->stats;
    const sluice_pack_problem problem = {line->position, line->fate, line->name, line->why};

    stats->done++;
    stats->fates[line->fate]++;
    if (!pack_is_left_out(line->fate)) {
        stats->written++;
        stats->bytes_in += line->bytes_in;
        stats->bytes_out += line->bytes_out;
    }
    if (pack_is_problem(line->fate)) {
        pack_summary_note(&run->summary, &problem);
        if (run->config->problem != NULL) {
            run->config->problem(&problem, run->config->user);
        }
    }
}

static void tell(pack_run *run)
{
    run->stats.seconds = (double)(sli_now_ns() - run->start_ns) / 1e9;
    if (run->config->progress != NULL) {
        run->config->progress(&run->stats, run->config->user);
    }
}

/* Counts a sample of a finished shard. */
static void count_done(void *arg, const pack_line *line)
{
    pack_run *run = arg;

    run->names = stream_turns_add_name(run->names, line->name);
    count(run, line);
}

/* Counts what finished shards hold. */
static sluice_status resume(pack_run *run)
{
    uint64_t next = 1;

    while (next != 0) {
        uint64_t tar_bytes = 0;
        sluice_status st =
            pack_shard_read(&run->folder, run->next_shard, count_done, run, &tar_bytes, &next);

        if (st != SLUICE_OK) {
            return st;
        }
        if (next != 0) {
            run->next_shard++;
            run->stats.shards++;
            run->stats.tar_bytes += tar_bytes;
            run->stats.done = next;
        }
    }
    run->stats.resumed = run->stats.done;
    return SLUICE_OK;
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Finds the sample that stands at a position, or takes it from the stream. */
static sluice_status find(pack_run *run, pack_worker *worker, uint64_t position,
                          uint64_t *index_out)
{
    uint64_t pass;

    if (run->stream != NULL) {
        *index_out = position;
        return stream_turns_take(run->stream, position, pack_worker_item(worker));
    }
    order_at(&run->order, 0, position, index_out, &pass);
    return SLUICE_OK;
}

static sluice_status make(void *arg, uint32_t worker, uint64_t position, void **made_out,
                          size_t *bytes_out)
{
    pack_run *run = arg;
    packed_sample *sample = NULL;
    sluice_status st = SLUICE_OK;
    uint64_t index = 0;

    if (run->workers[worker] == NULL) {
        st = pack_worker_create(&run->settings, &run->workers[worker]);
    }
    if (st == SLUICE_OK) {
        st = find(run, run->workers[worker], position, &index);
    }
    if (st == SLUICE_OK) {
        st = pack_sample(run->workers[worker], index, &sample);
    }
    if (st == SLUICE_OK) {
        *made_out = sample;
        *bytes_out = sizeof(*sample) + sample->file.size;
    }
    return st;
}

static void cancel(void *arg)
{
    pack_run *run = arg;

    if (run->stream != NULL) {
        stream_turns_stop(run->stream);
    }
}

static void drop(void *made)
{
    packed_sample_free(made);
}

/* The open shard is whole: the position is the next one's first. */
static sluice_status finish_shard(pack_run *run, uint64_t position)
{
    uint64_t tar_bytes = 0;
    sluice_status st = pack_shard_finish(&run->shard, position, &tar_bytes);

    if (st == SLUICE_OK) {
        run->stats.shards++;
        run->stats.tar_bytes += tar_bytes;
    }
    return st;
}

/* Makes sure that there is a shard with room for the sample. */
static sluice_status make_room(pack_run *run, uint64_t position, const packed_sample *sample)
{
    const uint64_t takes = pack_shard_takes(sample);
    sluice_status st = SLUICE_OK;

    if (run->shard.is_open && takes > 0 && run->shard.bytes > 0 &&
        run->shard.bytes + takes + TAR_END > run->shard_bytes) {
        st = finish_shard(run, position);
    }
    if (st == SLUICE_OK && !run->shard.is_open) {
        st = pack_shard_begin(&run->shard, &run->folder, run->next_shard);
        run->next_shard += st == SLUICE_OK;
    }
    return st;
}

static sluice_status take(void *arg, uint64_t position, void *made)
{
    pack_run *run = arg;
    packed_sample *sample = made;
    const pack_line line = {position,          sample->fate, sample->bytes_in,
                            sample->file.size, sample->name, sample->why};
    char key[PACK_KEY_SIZE];
    sluice_status st = make_room(run, position, sample);

    snprintf(key, sizeof(key), "%0*" PRIu64, run->key_digits, position);
    if (st == SLUICE_OK) {
        st = pack_shard_add(&run->shard, key, sample);
    }
    if (st == SLUICE_OK) {
        count(run, &line);
        tell(run);
    }
    packed_sample_free(sample);
    return st;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static sluice_status write_classes(const pack_run *run)
{
    const sluice_dataset *dataset = run->config->dataset;
    const source_ops *source = dataset_source(dataset);
    sli_text text = {0};
    char *lines = NULL;
    sluice_status st;

    if (source->class_name == NULL) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < source->classes(dataset->source); i++) {
        char name[PACK_NAME_SIZE];

        source->class_name(dataset->source, i, name, sizeof(name));
        pack_text_add(&text, name);
        sli_text_add(&text, "\n");
    }
    st = sli_text_take(&text, &lines);
    if (st == SLUICE_OK) {
        st = pack_folder_write(&run->folder, "classes.txt", lines);
    }
    sluice_string_free(lines);
    return st;
}

/* All samples are in shards: closes the last, and says so. */
static sluice_status complete(pack_run *run)
{
    sluice_status st = SLUICE_OK;
    char *text = NULL;

    if (run->stats.written == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: none of %" PRIu64
                        " samples can be packed%s%s",
                        run->stats.samples, run->stats.samples > 0 ? "; the first: " : "",
                        run->summary.first_why);
    }
    if (run->shard.is_open) {
        st = finish_shard(run, run->stats.samples);
    }
    if (st == SLUICE_OK) {
        st = pack_summary_print(&run->summary, &run->stats, &text);
    }
    if (st == SLUICE_OK) {
        st = pack_folder_write(&run->folder, SUMMARY, text);
    }
    run->stats.complete = st == SLUICE_OK;
    sluice_string_free(text);
    return st;
}

/* How many samples there are; of a stream only a pack that was complete knows. */
static sluice_status find_end(const pack_run *run, uint64_t *end_out)
{
    char *text = NULL;
    sluice_status st = SLUICE_OK;

    *end_out = run->stats.samples;
    if (is_stream(run)) {
        st = pack_folder_read(&run->folder, SUMMARY, &text);
        *end_out = pack_summary_samples(text);
        sli_free(text);
    }
    return st;
}

/* Packs what is not yet in finished shards. */
static sluice_status pack_rest(pack_run *run)
{
    const ordered_job job = {
        .first = run->stats.done,
        .end = is_stream(run) ? UINT64_MAX : run->stats.samples,
        .workers = run->config->workers,
        .budget = or_default(run->config->memory_bytes, DEFAULT_MEMORY_BYTES),
        .stop = run->config->stop,
        .arg = run,
        .make = make,
        .take = take,
        .drop = drop,
        .cancel = cancel,
    };
    sluice_status st = pack_folder_remove(&run->folder, SUMMARY); /* a shard of it is lost */

    if (st == SLUICE_OK && is_stream(run)) {
        st = stream_turns_create(run->config->dataset, run->config->seed, job.first, run->names,
                                 &run->stream);
    }
    if (st == SLUICE_OK) {
        st = ordered_run(&job);
    }
    return st == SLUICE_END_OF_DATA ? SLUICE_OK : st;
}

static sluice_status run_in_folder(pack_run *run)
{
    char *options = NULL;
    uint64_t end = 0;
    sluice_status st = print_options(run, &options);

    if (st == SLUICE_OK) {
        st = pack_folder_claim(&run->folder, options);
    }
    if (st == SLUICE_OK) {
        st = write_classes(run);
    }
    if (st == SLUICE_OK) {
        st = find_end(run, &end);
    }
    if (st == SLUICE_OK) {
        st = resume(run);
    }
    if (st == SLUICE_OK && run->stats.done < end) {
        st = pack_rest(run);
    } else if (st == SLUICE_OK && is_stream(run)) {
        sli_log(SLUICE_LOG_WARN,
                "%s is complete, and the stream was not read: another one wants another folder",
                run->folder.path);
    }
    if (st == SLUICE_OK) {
        run->stats.samples = run->stats.done;
        st = complete(run);
    }
    pack_shard_drop(&run->shard);
    tell(run);
    sluice_string_free(options);
    return st;
}

static void tear_down(pack_run *run)
{
    for (uint32_t i = 0; i < SLI_MAX_WORKERS; i++) {
        pack_worker_destroy(run->workers[i]);
    }
    stream_turns_destroy(run->stream);
    pack_summary_free(&run->summary);
    sli_free(run);
}

sluice_status sluice_pack(const sluice_pack_config *config, sluice_pack_stats *stats_out)
{
    sluice_status st = check(config);
    pack_run *run;

    if (st == SLUICE_OK && stats_out != NULL && stats_out->struct_size != sizeof(*stats_out)) {
        st = sli_fail(SLUICE_E_INVALID, "sluice_pack: struct_size of stats_out is not set");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    run = sli_calloc(1, sizeof(*run));
    if (run == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a pack");
    }
    run->config = config;
    run->start_ns = sli_now_ns();
    st = set_up(run);
    if (st == SLUICE_OK) {
        st = pack_folder_open(&run->folder, config->folder);
        if (st == SLUICE_OK) {
            st = run_in_folder(run);
            pack_folder_close(&run->folder);
        }
    }
    if (stats_out != NULL && run->stats.struct_size != 0) {
        *stats_out = run->stats;
    }
    tear_down(run);
    return st;
}
