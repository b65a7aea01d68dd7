/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated pipelines of two or more passes of unknown length, in which an error comes at some
 * batch: of the source, or of shards that are bad, truncated, or deleted during the run. Trainings
 * in every mode, and loops over a channel, must end with that error, whoever waits for whom.
 *
 * SLUICE_RUNS sets the number of pipelines, SLUICE_SEED the first of them.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collected_kit.h"
#include "collected_sets.h"
#include "filter_kit.h"
#include "loop_kit.h"
#include "random_kit.h"
#include "shard_kit.h"
#include "stream_kit.h"
#include "testing.h"

enum { RUNS = 300, STEPS_MOST = 1500, LIMIT_S = 20, FIRST_SHARD = 7, SHARDS = 13, HELD_MOST = 3 };

typedef enum cause { SOURCE_FAILS, SHARD_IS_BAD, SHARD_IS_TRUNCATED, SHARD_IS_GONE, CAUSES } cause;

static const char *const cause_names[CAUSES] = {"the source fails", "a bad sample",
                                                "a truncated shard", "a deleted shard"};

/* What is done with samples. Shards have images; those for pack, which are read by an index, texts.
 */
typedef enum assembly { PLAIN, FILTERED, PACKED, BUCKETED, ASSEMBLIES } assembly;

/* How shards are read. */
typedef enum shard_form { COMPRESSED, IN_SEQUENCE, BY_INDEX, FORMS } shard_form;

static const char *const extensions[FORMS] = {"tar.gz", "tar", "tar"};
static const char *const run_devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=20"};
static const sluice_mode modes[] = {SLUICE_MODE_AUTO, SLUICE_MODE_DIRECT, SLUICE_MODE_DATA,
                                    SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

typedef struct drawn {
    cause cause;
    assembly assembly;
    shard_form form;
    uint64_t at; /* step before which the error arises; SOURCE_FAILS: pass * 1000 + sample */
    uint64_t start;
    char stages[60]; /* of order */
    char batch[60];
    bool replaces; /* bad samples; other errors end a run all the same */
    uint32_t world;
    uint32_t rank;
    uint32_t workers;
    uint32_t slots;
    const char *device;
    bool is_loop; /* over a channel, with end_of_pass */
    bool end_of_pass;
    uint32_t held;    /* batches that the loop holds */
    sluice_mode mode; /* AUTO: without sinks */
    int64_t sink_size;
    uint32_t micro_batches;
} drawn;

/* The folder of the shards of a run, and of those that they are made from. */
static char folder[400];
static char stock[400];

/* ---- shards ---------------------------------------------------------------------------------- */

static void add_texts(tar_maker *tar, int first, int count, bool is_bad)
{
    for (int i = first; i < first + count; i++) {
        const int length = is_bad && i == first ? 60 : 1 + i * 5 % 17;
        char name[40];
        char text[80];

        snprintf(name, sizeof(name), "%03d.txt", i);
        snprintf(text, sizeof(text), "%0*d", length, i);
        tar_add_text(tar, name, text);
    }
}

static void add_bad_image(tar_maker *tar, int number)
{
    char name[40];

    snprintf(name, sizeof(name), "%03d.ppm", number);
    tar_add_text(tar, name, "P6 2 2 255\nabc");
    snprintf(name, sizeof(name), "%03d.cls", number);
    tar_add_text(tar, name, "1");
}

static void write_shard(const char *name, bool has_texts, int first, int count, bool is_bad)
{
    tar_maker tar = {0};

    if (has_texts) {
        add_texts(&tar, first, count, is_bad);
    } else if (is_bad) {
        add_bad_image(&tar, first);
        add_images(&tar, first + 1, count - 1);
    } else {
        add_images(&tar, first, count);
    }
    tar_write(&tar, t_path(stock, name));
}

/* STOCK/image-0.tar, image-1.tar, image-bad.tar, image-cut.tar, the same of texts, and all of them
 * compressed. */
static void make_stock(void)
{
    snprintf(folder, sizeof(folder), "%s/run", t_folder());
    snprintf(stock, sizeof(stock), "%s/stock", t_folder());
    T_EQ(mkdir(folder, 0777), 0);
    T_EQ(mkdir(stock, 0777), 0);
    for (int texts = 0; texts < 2; texts++) {
        write_shard(texts ? "text-0.tar" : "image-0.tar", texts, 0, FIRST_SHARD, false);
        write_shard(texts ? "text-1.tar" : "image-1.tar", texts, FIRST_SHARD, SHARDS - FIRST_SHARD,
                    false);
        write_shard(texts ? "text-bad.tar" : "image-bad.tar", texts, FIRST_SHARD,
                    SHARDS - FIRST_SHARD, true);
    }
    shell("cd '%s' && for f in *-*.tar; do gzip -k $f; done && for k in image text; do "
          "head -c 1300 $k-1.tar >$k-cut.tar && head -c 100 $k-1.tar.gz >$k-cut.tar.gz; done",
          stock);
}

/* Puts a shard of the stock in place of the run's shard 0 or 1; NULL: deletes it. */
static void put_shard(const drawn *d, int number, const char *which)
{
    const char *extension = extensions[d->form];
    char from[900];
    char name[900];

    snprintf(name, sizeof(name), "%s/z-%d.%s", folder, number, extension);
    (void)unlink(name);
    if (which != NULL) {
        snprintf(from, sizeof(from), "%s/%s-%s.%s", stock, d->assembly == PACKED ? "text" : "image",
                 which, extension);
        T_EQ(link(from, name), 0);
    }
}

static void damage(const drawn *d)
{
    put_shard(d, 1,
              d->cause == SHARD_IS_BAD         ? "bad"
              : d->cause == SHARD_IS_TRUNCATED ? "cut"
                                               : NULL);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* Samples of the shards must be read anew in each pass for an error to be met. */
static void draw_shards(uint32_t *state, drawn *d)
{
    d->form = d->assembly == PACKED ? BY_INDEX : (shard_form)test_below(state, FORMS);
    if (d->form == COMPRESSED && !can_decompress()) {
        d->form = IN_SEQUENCE;
    }
    d->at = test_below(state, 4) == 0 ? 0 : test_below(state, 20);
    if (d->form == BY_INDEX) {
        d->cause = SHARD_IS_BAD;
        d->at = 0;
        d->assembly = d->assembly == PLAIN ? FILTERED : d->assembly;
    }
    if (d->cause != SHARD_IS_BAD) { /* a bad sample is an error of the rank that has it */
        d->world = 1 + test_below(state, 2) * test_below(state, 3);
        d->rank = test_below(state, d->world);
        d->replaces = test_below(state, 2) > 0;
    }
}

static drawn draw(uint32_t seed)
{
    uint32_t state = seed * 2654435761U + 1;
    drawn d = {.cause = (cause)test_below(&state, CAUSES),
               .assembly = (assembly)test_below(&state, ASSEMBLIES),
               .world = 1,
               .start = test_below(&state, 4) > 0 ? 0 : test_below(&state, 15),
               .workers = test_below(&state, 4) + 1,
               .slots = 5 + test_below(&state, 5),
               .device = run_devices[test_below(&state, COUNT(run_devices))],
               .is_loop = test_below(&state, 4) == 0,
               .end_of_pass = test_below(&state, 2) > 0,
               .held = 1 + test_below(&state, HELD_MOST),
               .mode = modes[test_below(&state, COUNT(modes))],
               .sink_size = (int64_t)test_below(&state, 8) - 2,
               .micro_batches = 1};

    if (d.cause == SOURCE_FAILS) {
        d.at = test_below(&state, 4) * 1000 +
               (test_below(&state, 2) > 0 ? 0 : 1 + test_below(&state, 22));
    } else {
        draw_shards(&state, &d);
    }
    if (test_below(&state, 2) > 0) {
        snprintf(d.stages, sizeof(d.stages), " | shuffle%s", d.form == BY_INDEX ? "" : " buffer=3");
    }
    snprintf(d.batch, sizeof(d.batch), "batch %u%s",
             1 + test_below(&state, d.world > 1 || d.assembly == BUCKETED ? 2 : 4),
             test_below(&state, 2) > 0 ? " drop_remainder=true" : "");
    d.replaces = d.replaces && d.batch[6] > '1'; /* by another sample of the same batch */
    if (d.sink_size > 0 && d.mode != SLUICE_MODE_AUTO) {
        d.micro_batches = 1 + test_below(&state, 2);
    }
    return d;
}

static sluice_status keep_two_of_three(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view label;
    const sluice_status st = sluice_sample_get(sample, "label", &label);

    (void)user;
    if (st == SLUICE_OK) {
        *keep_out = *(const int32_t *)label.data % 3 != 0;
    }
    return st;
}

static sluice_dataset *shards(const drawn *d)
{
    static const char *const ends[ASSEMBLIES] = {
        " | decode | center_crop 2", " | decode | center_crop 2",
        " | pack words 8 | rename words image | rename position label",
        " | decode | center_crop 2 | bucket label edges=9"};
    sluice_dataset *dataset = NULL;
    char text[1500];

    snprintf(text, sizeof(text), "webdataset %s/z-{0..1}.%s%s%s%s%s", folder, extensions[d->form],
             d->assembly == PACKED ? " fields=words:txt[40]" : "",
             d->form == IN_SEQUENCE                         ? " access=stream"
             : d->form == BY_INDEX && d->assembly != PACKED ? " index=none"
                                                            : "",
             d->stages, ends[d->assembly]);
    T_OK(sluice_dataset_parse(text, &dataset));
    if (d->assembly == FILTERED) {
        add_filter(dataset, "third", keep_two_of_three, "label", NULL);
    }
    T_OK(sluice_dataset_add(dataset, d->batch));
    return dataset;
}

static sluice_dataset *make(const drawn *d)
{
    sluice_dataset *dataset;

    if (d->cause == SOURCE_FAILS) {
        dataset = collected_makers[d->assembly](d->batch);
        collected_generator.fails_at = d->at + 1;
        return dataset;
    }
    put_shard(d, 0, "0");
    put_shard(d, 1, "1");
    if (d->at == 0) {
        damage(d);
    }
    return shards(d);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void damage_at(kit *k, const sluice_step *step)
{
    const drawn *d = k->user;

    (void)step;
    if (d->cause != SOURCE_FAILS && d->at > 0 && atomic_load(&k->calls) == d->at) {
        damage(d);
    }
}

static sluice_status train(drawn *d, sluice_dataset *dataset, kit *k)
{
    kit_init(k);
    k->dataset = dataset;
    k->device = d->device;
    k->user = d;
    k->in_step = damage_at;
    k->config.dataset_sink_mode = d->mode != SLUICE_MODE_AUTO;
    k->config.mode = d->mode;
    k->config.sink_size = d->sink_size;
    k->config.epochs = STEPS_MOST;
    k->config.max_steps = STEPS_MOST;
    k->config.start_step = d->start;
    k->config.micro_batches = d->micro_batches;
    k->config.world = d->world;
    k->config.rank = d->rank;
    k->config.on_error = d->replaces ? SLUICE_ON_ERROR_REPLACE : SLUICE_ON_ERROR_FAIL;
    k->config.independent_ranks = d->world > 1;
    k->config.workers = d->workers;
    k->config.slots = d->slots;
    k->config.max_seconds = LIMIT_S; /* a run that spins ends without its error */
    k->config.stall_timeout_ms = LIMIT_S * 1000;
    k->model.reads_valid_rows = true;
    return kit_run(k);
}

static sluice_status loop(const drawn *d, sluice_dataset *dataset, kit *k)
{
    sluice_channel_config config = loop_kit_config(d->start, 0);
    const sluice_batch *held[HELD_MOST] = {NULL};
    uint64_t lent = 0;
    sluice_status st = SLUICE_OK;
    loop_kit own;

    kit_init(k);
    k->dataset = dataset;
    config.workers = d->workers;
    config.slots = d->slots;
    config.world = d->world;
    config.rank = d->rank;
    config.on_error = d->replaces ? SLUICE_ON_ERROR_REPLACE : SLUICE_ON_ERROR_FAIL;
    config.end_of_pass = d->end_of_pass;
    config.held = d->held;
    own = loop_kit_open_dataset(d->device, dataset, &config);
    T_OK(sluice_channel_start(own.channel));
    for (uint64_t i = 1; i < STEPS_MOST && (st == SLUICE_OK || st == SLUICE_END_OF_PASS); i++) {
        const sluice_batch **batch = &held[lent % d->held];

        if (d->held > 1 && *batch != NULL) {
            T_OK(sluice_channel_release(own.channel, *batch, NULL));
            *batch = NULL;
        }
        st = sluice_channel_get_next(own.channel, NULL, LIMIT_S * 1000, batch);
        lent += st == SLUICE_OK;
        if (d->cause != SOURCE_FAILS && i == d->at) {
            damage(d);
        }
    }
    snprintf(k->error, sizeof(k->error), "%s", st < 0 ? sluice_last_error() : "");
    k->status = st;
    loop_kit_close(&own);
    return st;
}

/* An error of the data may come without a shard, since the start of the run is beyond it. */
static void check(uint32_t seed, const drawn *d, const kit *k)
{
    const bool is_wrong = !d->is_loop && d->mode != SLUICE_MODE_AUTO && d->sink_size < -1;
    /* A bad sample in a batch that bucket drops, or before the run's first batch. */
    const bool may_pass = d->cause == SOURCE_FAILS && (d->start > 0 || d->assembly == BUCKETED) &&
                          k->status >= 0 && k->status != SLUICE_TIMEOUT;
    const char *words = is_wrong                   ? "sink_size is"
                        : d->cause == SOURCE_FAILS ? "the server x is down"
                                                   : "z-1.tar";

    if (!may_pass && (k->status >= 0 || strstr(k->error, words) == NULL)) {
        T_FAIL_(
            "pipeline %u (SLUICE_SEED=%u SLUICE_RUNS=1; %s before %llu, start %llu, assembly "
            "%d, form %d%s, %s, rank %u of %u, %u workers, %u slots, %s, %s %d, %u held, sink_size "
            "%d, %u micro-batches%s) ends with %s: %.700s",
            seed, seed, cause_names[d->cause], (unsigned long long)d->at,
            (unsigned long long)d->start, (int)d->assembly, (int)d->form, d->stages, d->batch,
            d->rank, d->world, d->workers, d->slots, d->device, d->is_loop ? "loop" : "mode",
            d->is_loop ? (int)d->end_of_pass : (int)d->mode, d->held, (int)d->sink_size,
            d->micro_batches, d->replaces ? ", replace" : "", sluice_status_name(k->status),
            k->error);
    }
}

static uint32_t number_in(const char *variable, uint32_t otherwise)
{
    const char *const text = getenv(variable);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void every_generated_pipeline_ends_with_its_error(void)
{
    const uint32_t first = number_in("SLUICE_SEED", 0);
    const uint32_t count = number_in("SLUICE_RUNS", RUNS);

    make_stock();
    for (uint32_t seed = first; seed < first + count; seed++) {
        drawn d = draw(seed);
        sluice_dataset *dataset = make(&d);
        kit k;

        (void)(d.is_loop ? loop(&d, dataset, &k) : train(&d, dataset, &k));
        check(seed, &d, &k);
        collected_done(&k);
        T_EQ(atomic_load(&collected_generator.open), 0);
    }
}

const t_test generated_errors_tests[] = {
    T_TEST(every_generated_pipeline_ends_with_its_error),
    T_END,
};
