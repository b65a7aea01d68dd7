/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a dataset. Workers make samples in any order; the caller's thread writes them to shards in
 * the dataset's order (ordered_run.h). The folder of a pack holds its whole state: a run reads the
 * lists of finished shards and continues after the last one.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "group_order.h"
#include "log_int.h"
#include "ordered_run.h"
#include "pack_classes.h"
#include "pack_config.h"
#include "pack_fields.h"
#include "pack_identity.h"
#include "pack_marks.h"
#include "pack_resume.h"
#include "pack_shard.h"
#include "pack_strays.h"
#include "pack_summary.h"
#include "placement_int.h"
#include "status_int.h"
#include "stop_int.h"
#include "stream_order.h"
#include "stream_turns.h"
#include "struct_size_int.h"

/*
 * Default shard size. It is large enough for fast reads from remote storage and for a small number
 * of files, and small enough that an interrupted pack loses only seconds of work.
 */
static const uint64_t DEFAULT_SHARD_BYTES = UINT64_C(1) << 30;

static const uint64_t DEFAULT_MEMORY_BYTES = UINT64_C(1) << 28;

typedef struct pack_run {
    const sluice_pack_config *config;
    kept_columns kept;
    pack_settings settings;
    pack_notes notes;
    uint64_t shard_bytes;
    sample_order order;
    group_order *group;   /* borrowed by `order`; NULL: the source is not concat or mix */
    stream_turns *stream; /* samples of a stream, used instead of `order` */
    int key_digits;
    pack_folder folder;
    pack_worker *workers[SLI_MAX_WORKERS]; /* worker states, created on the workers' threads */
    pack_shard shard;
    uint32_t next_shard;
    uint64_t names; /* hash of the sample names in finished shards, in order */
    sluice_pack_stats stats;
    pack_summary summary;
    int64_t start_ns;
    atomic_bool cancelled;
    sli_interrupt interrupt; /* cancels the workers' retries after machine faults */
} pack_run;

/* ---- settings ---------------------------------------------------------------------------------
 */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static bool is_stream(const pack_run *run)
{
    return dataset_is_stream(run->config->dataset);
}

/* True if the shards have indexes with the checksums of the images, which are files then. */
static bool is_pack(const pack_run *run)
{
    return run->config->format == NULL && kept_has_file(&run->kept);
}

static bool is_cancelled(void *arg)
{
    pack_run *run = arg;

    return atomic_load_explicit(&run->cancelled, memory_order_relaxed) ||
           sli_stop_is_requested(run->config->stop);
}

static sluice_status set_up(pack_run *run)
{
    const sluice_pack_config *config = run->config;
    order_settings order = {.seed = config->seed, .world = 1};
    sluice_status st = dataset_open(config->dataset);

    if (st == SLUICE_OK) {
        st = group_order_make(config->dataset, config->seed, &run->group);
        order.parts = group_order_parts(run->group);
    }
    if (st == SLUICE_OK) {
        st = order_make(config->dataset, &order, &run->order);
    }
    if (st == SLUICE_OK && run->order.length == 0) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: it has no samples to pack");
    }
    if (st == SLUICE_OK) {
        st = pack_columns(config, &run->kept);
    }
    if (st == SLUICE_OK) { /* an open source knows more about its columns */
        st = sample_writer_check(pack_writer(config), &run->kept);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    run->interrupt = (sli_interrupt){is_cancelled, run};
    run->settings = (pack_settings){
        .dataset = config->dataset,
        .kept = &run->kept,
        .copies = config->format != NULL,
        .is_nameless = pack_writer(config)->is_nameless,
        .interval = pack_interval(config),
        .max_side = config->max_side,
        .quality = config->quality,
        .subsampling = config->subsampling,
        .raw = config->raw,
        .verify = config->verify,
        .leave_out_unreadable = config->leave_out_unreadable,
        .notes = &run->notes,
        .interrupt = &run->interrupt,
        .max_pixels = or_default(config->max_pixels, PACK_MAX_PIXELS),
    };
    run->summary.dropped = config->drop;
    run->shard_bytes = or_default(config->shard_bytes, DEFAULT_SHARD_BYTES);
    run->stats.struct_size = sizeof(run->stats);
    run->stats.samples = is_stream(run) ? 0 : run->order.length;
    run->key_digits = is_stream(run) ? 0 : snprintf(NULL, 0, "%" PRIu64, run->order.length - 1);
    run->key_digits = run->key_digits < 9 ? 9 : run->key_digits;
    return is_stream(run) ? stream_order_check(config->dataset) : SLUICE_OK;
}

/* Writes the options that determine the bytes of a pack, and the pack's source. */
static sluice_status print_options(const pack_run *run, char **text_out)
{
    const sluice_dataset *dataset = run->config->dataset;
    const pack_settings *s = &run->settings;
    sluice_status st = SLUICE_OK;
    sli_text text = {0};

    sli_text_add(&text, "%s1\n", is_pack(run) ? PACK_OPTIONS_OF_PACK : PACK_OPTIONS_OF_CONVERSION);
    if (is_stream(run)) {
        sli_text_add(&text, "samples stream\nstages ");
    } else {
        sli_text_add(&text, "samples %" PRIu64 "\nnames %016" PRIx64 "\nstages ", run->order.length,
                     dataset_names_hash(dataset));
    }
    if (dataset_group(dataset) != NULL) {
        dataset_print_source(dataset, SOURCE_OF_STAGES, &text);
        sli_text_add(&text, "%s", dataset->stage_count > 1 ? " | " : "");
    }
    dataset_print(dataset,
                  dataset->stages[0].def->source->identifies && dataset_group(dataset) == NULL ? 0
                                                                                               : 1,
                  dataset->stage_count, &text);
    sli_text_add(&text, "\nseed %" PRIu64 "\ninterval %" PRIu32 "\nmax_side %" PRIu32,
                 run->config->seed, s->interval, s->max_side);
    sli_text_add(&text, "\nquality %" PRIu32 "\nsubsampling %d\nraw %d", s->quality,
                 (int)s->subsampling, s->raw);
    sli_text_add(&text, "\nmax_pixels %" PRIu64 "\nshard_bytes %" PRIu64 "\nsource ", s->max_pixels,
                 run->shard_bytes);
    dataset_print(dataset, 0, 1, &text);
    sli_text_add(&text, "\n");
    if (run->config->drop != NULL && run->config->drop[0] != '\0') {
        sli_text_add(&text, "drop %s\n", run->config->drop);
    }
    if (run->config->format != NULL || !kept_columns_are_usual(&run->kept)) {
        /* of other packs an earlier version wrote no line */
        sli_text_add(&text, PACK_FIELDS " ");
        run->folder.writer->print_fields(&run->kept, &text);
        sli_text_add(&text, "\n");
    }
    if (run->config->format != NULL) {
        sli_text_add(&text, "format %s\n", run->config->format);
    }
    if (!is_pack(run) && !is_stream(run)) {
        st = pack_identity_add(&run->settings, &run->order, &text);
    }
    if (st != SLUICE_OK) {
        sli_text_free(&text);
        return st;
    }
    return sli_text_take(&text, text_out);
}

/* ---- counting ------------------------------------------------------------------------------- */

/* Counts a sample that this run or an earlier one packed. */
static void count_line(void *arg, const pack_line *line)
{
    pack_run *run = arg;
    sluice_pack_stats *stats = &run->stats;
    const sluice_pack_problem problem = {sizeof(problem), line->position, line->fate, line->name,
                                         line->why};

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

static void report_progress(pack_run *run)
{
    run->stats.seconds = (double)(sli_now_ns() - run->start_ns) / 1e9;
    if (run->config->progress != NULL) {
        run->config->progress(&run->stats, run->config->user);
    }
}

/* Counts a sample of a shard that an earlier run finished. */
static void count_done(void *arg, const pack_line *line)
{
    pack_run *run = arg;

    run->names = stream_turns_add_name(run->names, line->name);
    count_line(run, line);
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Finds the index of the sample at a position; for a stream, takes the next sample. */
static sluice_status find_sample(pack_run *run, pack_worker *worker, uint64_t position,
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

static sluice_status make_sample(void *arg, uint32_t worker, uint64_t position, void **made_out,
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
        st = find_sample(run, run->workers[worker], position, &index);
    }
    if (st == SLUICE_OK) {
        st = pack_sample(run->workers[worker], index, &sample);
        if (run->stream != NULL) {
            stream_turns_done(run->stream, pack_worker_item(run->workers[worker]));
        }
    }
    if (st == SLUICE_OK && !pack_is_left_out(sample->fate)) {
        st = run->folder.writer->measure(&run->kept, sample->values.values, &sample->takes);
        if (st != SLUICE_OK) {
            packed_sample_free(sample);
        }
    }
    if (st == SLUICE_OK) {
        *made_out = sample;
        *bytes_out = sizeof(*sample) + sample->file.size + sample->values.bytes;
    }
    return st;
}

static void leave_worker(void *arg, uint32_t worker)
{
    pack_worker_end(((pack_run *)arg)->workers[worker]);
}

static void cancel_pack(void *arg)
{
    pack_run *run = arg;

    atomic_store_explicit(&run->cancelled, true, memory_order_relaxed);
    if (run->stream != NULL) {
        stream_turns_stop(run->stream);
    }
}

static void drop_sample(void *made)
{
    packed_sample_free(made);
}

/* ---- finished shards ------------------------------------------------------------------------- */

/* Retries reading a sample that an earlier run left out. */
static sluice_status read_again(void *arg, uint64_t position)
{
    pack_run *run = arg;
    sluice_status st = SLUICE_OK;
    uint64_t index = 0;
    uint64_t pass;

    if (is_stream(run)) {
        return SLUICE_OK; /* a machine fault during a stream ends the pack, so no sample was left
                             out because of one */
    }
    if (sli_stop_is_requested(run->config->stop)) {
        return SLUICE_STOPPED;
    }
    if (run->workers[0] == NULL) {
        st = pack_worker_create(&run->settings, &run->workers[0]);
    }
    if (st == SLUICE_OK) {
        order_at(&run->order, 0, position, &index, &pass);
        st = pack_try_to_read(run->workers[0], index);
        pack_worker_end(run->workers[0]);
    }
    return st;
}

/* Counts the samples of finished shards, up to the first shard that must be repacked. */
static sluice_status resume_pack(pack_run *run)
{
    const pack_resume what = {&run->folder, run->config->leave_out_unreadable, read_again, run};
    sluice_status st = SLUICE_OK;
    bool keeps = true;

    while (st == SLUICE_OK && keeps) {
        uint64_t tar_bytes = 0;
        uint64_t next = 0;

        st = pack_resume_keeps(&what, run->next_shard, run->stats.done, &keeps);
        if (st == SLUICE_OK && keeps) {
            st = pack_shard_read(&run->folder, run->next_shard, count_done, run, &tar_bytes, &next);
        }
        if (st == SLUICE_OK && keeps) {
            run->next_shard++;
            run->stats.shards++;
            run->stats.tar_bytes += tar_bytes;
            run->stats.done = next;
        }
    }
    run->stats.resumed = run->stats.done;
    return st;
}

/* Finishes the open shard; `position` is the next shard's first position. */
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

/* Ensures that the open shard has space for the sample; finishes it first if it is full. */
static sluice_status make_room(pack_run *run, uint64_t position, const packed_sample *sample)
{
    sluice_status st = SLUICE_OK;

    if (run->shard.is_open && !run->folder.writer->is_single && sample->takes > 0 &&
        run->shard.bytes > 0 &&
        run->shard.bytes + sample->takes + run->folder.writer->overhead > run->shard_bytes) {
        st = finish_shard(run, position);
    }
    if (st == SLUICE_OK && !run->shard.is_open) {
        st = pack_shard_begin(&run->shard, &run->folder, &run->kept, run->shard_bytes,
                              run->next_shard);
        run->next_shard += st == SLUICE_OK;
    }
    return st;
}

static sluice_status take_sample(void *arg, uint64_t position, void *made)
{
    pack_run *run = arg;
    packed_sample *sample = made;
    const pack_line line = {position,          sample->fate, sample->bytes_in,
                            sample->bytes_out, sample->name, sample->why};
    char key[PACK_KEY_SIZE];
    sluice_status st = make_room(run, position, sample);

    snprintf(key, sizeof(key), "%0*" PRIu64, run->key_digits, position);
    if (st == SLUICE_OK) {
        st = pack_shard_add(&run->shard, key, sample);
    }
    if (st == SLUICE_OK) {
        count_line(run, &line);
        report_progress(run);
    }
    packed_sample_free(sample);
    return st;
}

/* ---- a run ---------------------------------------------------------------------------------- */

/*
 * Returns E_IO if samples were left out because of machine faults, although the pack is complete.
 */
static sluice_status report_faults(const pack_run *run)
{
    const uint64_t faults = run->stats.fates[SLUICE_PACK_LEFT_FAULT];

    return faults == 0 ? SLUICE_OK
                       : sli_fail(SLUICE_E_IO,
                                  "%s is complete but for %" PRIu64
                                  " samples that could not be read, the first: %s; run the same "
                                  "command again to read them",
                                  run->folder.path, faults, run->summary.first_fault);
}

/* Finishes the last shard and writes the summary, once all samples are written. */
static sluice_status complete_pack(pack_run *run)
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
        st = pack_shard_remove_from(&run->folder, run->next_shard);
    }
    if (st == SLUICE_OK) {
        st = pack_summary_print(&run->summary, &run->stats, &run->kept, &run->folder, &text);
    }
    if (st == SLUICE_OK) {
        st = pack_folder_write(&run->folder, PACK_SUMMARY, text);
    }
    run->stats.complete = st == SLUICE_OK;
    sluice_string_free(text);
    return st == SLUICE_OK ? report_faults(run) : st;
}

/*
 * Finds the number of samples. For a stream it is known only if the pack is complete; it is then
 * read from the summary.
 */
static sluice_status find_end(const pack_run *run, uint64_t *end_out)
{
    pack_counts counts;
    char *text = NULL;
    sluice_status st = SLUICE_OK;

    *end_out = run->stats.samples;
    if (is_stream(run)) {
        st = pack_folder_read(&run->folder, PACK_SUMMARY, &text);
        *end_out = pack_counts_parse(text, &counts) ? counts.samples : UINT64_MAX;
        sli_free(text);
    }
    return st;
}

/* Packs the samples after the finished shards. */
static sluice_status pack_rest(pack_run *run)
{
    const ordered_job job = {
        .first = run->stats.done,
        .end = is_stream(run) ? UINT64_MAX : run->stats.samples,
        .workers = run->config->workers,
        .budget = or_default(run->config->memory_bytes, DEFAULT_MEMORY_BYTES),
        .stop = run->config->stop,
        .arg = run,
        .make = make_sample,
        .leave = leave_worker,
        .take = take_sample,
        .drop = drop_sample,
        .cancel = cancel_pack,
    };
    sluice_status st =
        pack_folder_remove(&run->folder, PACK_SUMMARY); /* invalid until all is packed */

    if (st == SLUICE_OK && is_stream(run)) {
        st = stream_turns_create(run->config->dataset, run->config->seed, job.first, run->names,
                                 &run->stream);
    }
    if (st == SLUICE_OK) {
        st = ordered_run(&job);
    }
    if (is_stream(run) && run->next_shard > 0) {
        st = pack_folder_mark_corrupt(&run->folder, st);
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
        st = pack_strays_remove(&run->folder);
    }
    if (st == SLUICE_OK) {
        st = pack_classes_write(&run->folder, run->config->dataset, &run->kept);
    }
    if (st == SLUICE_OK) {
        st = find_end(run, &end);
    }
    if (st == SLUICE_OK) {
        st = resume_pack(run);
    }
    if (st == SLUICE_OK && run->stats.done < end) {
        st = pack_rest(run);
    } else if (st == SLUICE_OK && is_stream(run)) {
        sli_log(SLUICE_LOG_WARN,
                "%s is complete, so the stream was not read; name another folder to pack another "
                "stream",
                run->folder.path);
    }
    if (st == SLUICE_OK) {
        run->stats.samples = run->stats.done;
        st = complete_pack(run);
    }
    if (st == SLUICE_OK) {
        pack_notes_left_out(run->config->dataset, run->folder.path);
    }
    pack_notes_log(&run->notes);
    pack_shard_drop(&run->shard);
    report_progress(run);
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
    group_order_free(run->group);
    sli_free(run);
}

static const sli_struct stats_struct = SLI_STRUCT(sluice_pack_stats, seconds);

sluice_status sluice_pack(const sluice_pack_config *config, sluice_pack_stats *stats_out)
{
    sluice_pack_config own;
    sluice_status st =
        stats_out == NULL ? SLUICE_OK : sli_struct_check(&stats_struct, "sluice_pack", stats_out);
    pack_run *run;

    if (st == SLUICE_OK) {
        st = pack_read_config(config, &own);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    run = sli_calloc(1, sizeof(*run));
    if (run == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a pack");
    }
    run->config = &own;
    run->start_ns = sli_now_ns();
    st = set_up(run);
    if (st == SLUICE_OK) {
        st = pack_folder_open(&run->folder, own.folder, pack_writer(&own));
        run->folder.has_indexes = is_pack(run);
        run->folder.is_conversion = own.format != NULL;
        if (st == SLUICE_OK) {
            st = run_in_folder(run);
            pack_folder_close(&run->folder);
        }
    }
    if (stats_out != NULL && run->stats.struct_size != 0) {
        (void)sli_struct_write(&stats_struct, "sluice_pack", &run->stats, stats_out);
    }
    tear_down(run);
    return st;
}
