/* SPDX-License-Identifier: Apache-2.0 */
/* sluice show: the batches of a pipeline as a step gets them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "npy_writer.h"
#include "show_columns.h"

enum { POLL_MS = 100 };

typedef struct show {
    cli_source source;
    const char *npy; /* folder; NULL: none */
    const char *on_error;
    uint64_t steps;
    uint64_t start_step;
    uint64_t seed;
    uint64_t rank;
    uint64_t world;
    sluice_channel_config config;
    sluice_channel_info info;
    bool made_folder;
    uint64_t padding; /* rows so far that hold no sample */
    npy_writer writers[SLUICE_MAX_COLUMNS];
    column_range ranges[SLUICE_MAX_COLUMNS];
} show;

/* ---- options --------------------------------------------------------------------------------- */

/* Turns words into the settings of a channel; false after saying what is wrong. */
static bool make_config(show *s)
{
    static const char *const policies[] = {"fail", "replace", "zero", NULL};
    sluice_channel_config *config = &s->config;
    int policy;

    if (!cli_choose("show", "on-error", s->on_error, policies, &policy) ||
        !cli_in_range("show", "steps", s->steps, 1, 1000000000) ||
        !cli_in_range("show", "world", s->world, 1, 1000000) ||
        !cli_in_range("show", "rank", s->rank, 0, s->world - 1)) {
        return false;
    }
    sluice_channel_config_init(config);
    config->first_batch = s->start_step;
    config->batches = s->steps;
    config->seed = s->seed;
    config->rank = (uint32_t)s->rank;
    config->world = (uint32_t)s->world;
    config->on_error = (sluice_on_error)policy;
    return true;
}

static int parse(show *s, int argc, char **argv)
{
    cli_option options[] = {
        {"npy", OPTION_TEXT, &s->npy, "DIR", NULL, false},
        {"steps", OPTION_COUNT, &s->steps, "N", NULL, false},
        {"start-step", OPTION_COUNT, &s->start_step, "N", NULL, false},
        {"seed", OPTION_COUNT, &s->seed, "N", NULL, false},
        {"rank", OPTION_COUNT, &s->rank, "R", NULL, false},
        {"world", OPTION_COUNT, &s->world, "W", NULL, false},
        {"on-error", OPTION_TEXT, &s->on_error, "POLICY", NULL, false},
        CLI_SOURCE_OPTIONS(&s->source),
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse_source("show", argc, argv, options, &s->source, NULL);

    if (code != EXIT_DONE) {
        return code;
    }
    if (s->source.word == NULL && s->source.file == NULL) {
        cli_error("show: want a pipeline or -f FILE, such as \"image_folder DIR | decode | "
                  "random_resized_crop 224 | batch 64\"");
        return EXIT_WORDS;
    }
    return make_config(s) ? EXIT_DONE : EXIT_WORDS;
}

/* ---- files of --npy -------------------------------------------------------------------------- */

static bool make_folder(show *s)
{
    struct stat info;

    s->made_folder = mkdir(s->npy, 0777) == 0;
    if (!s->made_folder &&
        (errno != EEXIST || (stat(s->npy, &info) == 0 && !S_ISDIR(info.st_mode)))) {
        cli_error("show: cannot make the folder %s: %s", s->npy, strerror(errno));
        return false;
    }
    return true;
}

/* False after saying that a file could not be written. */
static bool check_file(const show *s, uint32_t column, bool is_done)
{
    if (!is_done) {
        cli_error("show: cannot write %s/%s.npy: %s", s->npy, s->info.columns[column].name,
                  strerror(errno));
    }
    return is_done;
}

static bool create_files(show *s)
{
    for (uint32_t i = 0; i < s->info.column_count; i++) {
        const sluice_column *column = &s->info.columns[i];
        uint64_t shape[SLUICE_MAX_RANK + 1] = {s->steps * s->info.batch_size};

        memcpy(shape + 1, column->shape, column->rank * sizeof(shape[0]));
        if (!check_file(s, i,
                        npy_create(&s->writers[i], s->npy, column->name, column->dtype, shape,
                                   column->rank + 1))) {
            return false;
        }
        if (column->dtype == SLUICE_BF16) {
            fprintf(stderr,
                    "sluice: show: column %s is bf16, which .npy has no type for: its bits "
                    "are written as u16\n",
                    column->name);
        }
    }
    return true;
}

static bool append_batch(show *s, const sluice_batch *batch)
{
    for (uint32_t i = 0; i < batch->input_count; i++) {
        const sluice_tensor *input = &batch->inputs[i];

        if (!check_file(s, i, npy_append(&s->writers[i], input->data, input->bytes))) {
            return false;
        }
    }
    return true;
}

/* All files get their names once all of them are complete. */
static bool publish_files(show *s)
{
    for (uint32_t i = 0; i < s->info.column_count; i++) {
        if (!check_file(s, i, npy_close(&s->writers[i]))) {
            return false;
        }
    }
    for (uint32_t i = 0; i < s->info.column_count; i++) {
        if (!check_file(s, i, npy_publish(&s->writers[i]))) {
            return false;
        }
    }
    return true;
}

static void discard_files(show *s, bool is_done)
{
    for (uint32_t i = 0; i < s->info.column_count; i++) {
        npy_discard(&s->writers[i]);
    }
    if (s->made_folder && !is_done) {
        (void)rmdir(s->npy); /* which is empty, unless a file was renamed already */
    }
}

/* ---- the batches ----------------------------------------------------------------------------- */

static bool take_batch(show *s, const sluice_batch *batch)
{
    s->padding += batch->rows - batch->valid_rows;
    for (uint32_t i = 0; i < batch->input_count; i++) {
        show_range_add(&s->ranges[i], &batch->inputs[i], batch->valid_rows);
    }
    return s->npy == NULL || append_batch(s, batch);
}

/* The next batch; false after saying why there is none. */
static bool next_batch(const show *s, sluice_channel *channel, uint64_t done,
                       const sluice_batch **batch)
{
    sluice_status st = SLUICE_TIMEOUT;

    while (st == SLUICE_TIMEOUT && cli_signal() == 0) {
        st = sluice_channel_get_next(channel, NULL, POLL_MS, batch);
    }
    if (st == SLUICE_TIMEOUT) {
        cli_error("show: stopped after %" PRIu64 " of %" PRIu64 " batches", done, s->steps);
    } else if (st < 0) {
        cli_error("%s", sluice_last_error());
    } else if (st != SLUICE_OK) {
        cli_error("show: the data ended after %" PRIu64 " of %" PRIu64 " batches", done, s->steps);
    }
    return st == SLUICE_OK;
}

static bool take_batches(show *s, sluice_channel *channel)
{
    const sluice_batch *batch;

    if (s->npy != NULL && !create_files(s)) {
        return false;
    }
    for (uint64_t i = 0; i < s->steps; i++) {
        if (!next_batch(s, channel, i, &batch) || !take_batch(s, batch)) {
            return false;
        }
    }
    return s->npy == NULL || publish_files(s);
}

static void print_result(const show *s)
{
    const uint64_t rows = s->steps * s->info.batch_size;

    show_print_table(&s->info, s->ranges, rows);
    printf("%" PRIu64 " rows: steps %" PRIu64 " to %" PRIu64 ", %" PRIu64 " rows are padding\n",
           rows, s->start_step, s->start_step + s->steps - 1, s->padding);
}

static int show_channel(show *s, sluice_channel *channel)
{
    sluice_status st;
    bool is_done;

    s->info.struct_size = sizeof(s->info);
    st = sluice_channel_inspect(channel, &s->info);
    if (st != SLUICE_OK) {
        return cli_refused(st);
    }
    if (s->npy != NULL && !make_folder(s)) {
        return EXIT_WORLD;
    }
    st = sluice_channel_start(channel);
    is_done = st == SLUICE_OK && take_batches(s, channel);
    if (st != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
    }
    discard_files(s, is_done);
    if (is_done) {
        print_result(s);
    }
    return is_done ? EXIT_DONE : EXIT_WORLD;
}

static int run(show *s)
{
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_channel *channel = NULL;
    sluice_status st = cli_open_pipeline(&s->source, &dataset);
    int code;

    if (st == SLUICE_OK) {
        st = sluice_device_open("host:0", &device);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_open(device, dataset, &s->config, &channel);
    }
    code = st == SLUICE_OK ? show_channel(s, channel) : cli_refused(st);
    sluice_channel_close(channel);
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return code;
}

int cmd_show(int argc, char **argv)
{
    show s = {.on_error = "fail", .steps = 1, .world = 1};
    sluice_stop *stop = NULL;
    int code = parse(&s, argc, argv);

    if (code != EXIT_DONE) {
        return code;
    }
    if (sluice_stop_create(&stop) != SLUICE_OK) {
        cli_error("show: no memory");
        return EXIT_WORLD;
    }
    cli_catch_signals(stop); /* nothing runs with the token: next_batch() asks cli_signal() */
    code = run(&s);
    cli_catch_signals(NULL);
    sluice_stop_destroy(stop);
    return code;
}
