/* SPDX-License-Identifier: Apache-2.0 */
/* sluice show: prints the batches of a pipeline as a step would receive them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "contact_sheet.h"
#include "described_text.h"
#include "npy_writer.h"
#include "png_writer.h"
#include "show_columns.h"

enum { POLL_MS = 100, SHOWN_ROWS = 20 };

typedef struct show {
    cli_source source;
    const char *npy;   /* folder for .npy files; NULL: write no arrays */
    const char *sheet; /* path of the contact sheet; NULL: write no sheet */
    const char *on_error;
    uint64_t steps;
    uint64_t start_step;
    uint64_t seed;
    uint64_t rank;
    uint64_t world;
    uint64_t sample;
    uint64_t times;
    bool has_sample;  /* --sample */
    bool wants_sheet; /* -o */
    sluice_channel_config config;
    sluice_channel_info info;
    uint64_t padding;                 /* rows without a sample so far */
    uint64_t rows;                    /* rows so far */
    uint64_t zeroed_rows[SHOWN_ROWS]; /* the first rows of bad samples with --on-error zero */
    uint32_t zeroed_count;            /* of these */
    npy_folder folder;
    contact_sheet tiles;
    column_range ranges[SLUICE_MAX_COLUMNS];
} show;

/* ---- options --------------------------------------------------------------------------------- */

/* Chooses what to show: one sample over several passes, or the batches of a run. Returns false
 * after printing an error. */
static bool choose_samples(show *s, const cli_option *options)
{
    static const char *const others[] = {"steps", "rank", "world", NULL};

    s->has_sample = cli_given(options, "sample");
    if (!s->has_sample && cli_given(options, "times")) {
        cli_error("show: --times is of --sample; use --steps for batches");
        return false;
    }
    for (int i = 0; s->has_sample && others[i] != NULL; i++) {
        if (cli_given(options, others[i])) {
            cli_error("show: --%s and --sample exclude each other", others[i]);
            return false;
        }
    }
    if (s->has_sample) {
        s->steps = s->times;
    }
    return cli_in_range("show", "times", s->times, 1, 1000000);
}

/* Chooses the outputs. By default a contact sheet is written, unless arrays are written. */
static bool choose_outputs(show *s, const cli_option *options)
{
    s->wants_sheet = cli_given(options, "o");
    if (s->wants_sheet && !png_is_built()) {
        cli_error("show: -o %s: this tool is built without libpng; use --npy DIR", s->sheet);
        return false;
    }
    if (!s->wants_sheet && s->npy == NULL && png_is_built()) {
        s->sheet = "batch.png";
    }
    return true;
}

/* Converts the options to the settings of a channel; false after printing an error. */
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
        {"o", OPTION_TEXT, &s->sheet, "FILE", NULL, false},
        {"npy", OPTION_TEXT, &s->npy, "DIR", NULL, false},
        {"steps", OPTION_COUNT, &s->steps, "N", NULL, false},
        {"start-step", OPTION_COUNT, &s->start_step, "N", NULL, false},
        {"sample", OPTION_COUNT, &s->sample, "I", NULL, false},
        {"times", OPTION_COUNT, &s->times, "N", NULL, false},
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
        cli_error("show: the pipeline is missing; give one, or -f FILE, such as \"image_folder DIR "
                  "| decode | random_resized_crop 224 | batch 64\"");
        return EXIT_USAGE;
    }
    return choose_samples(s, options) && choose_outputs(s, options) && make_config(s) ? EXIT_DONE
                                                                                      : EXIT_USAGE;
}

/* ---- the dataset of --sample ----------------------------------------------------------------- */

/* True if the stage determines the order of samples. Such stages do not apply to one sample. */
static bool is_order(const char *stage)
{
    static const char *const names[] = {"shuffle", "shard",  "split", "take",
                                        "skip",    "repeat", NULL};
    int i = 0;

    while (names[i] != NULL && !text_stage_is(stage, names[i])) {
        i++;
    }
    return names[i] != NULL;
}

/* Writes the pipeline up to batch; stages that select the sample replace the stages that order
 * samples. */
static void write_single(FILE *file, const char *text, uint64_t sample)
{
    bool is_source = true;

    while (text != NULL && !text_stage_is(text, "batch")) {
        const char *stage = text;
        size_t length;

        text = text_next_stage(stage, &length);
        if (is_source) {
            fprintf(file, "%.*s | skip %" PRIu64 " | take 1", (int)length, stage, sample);
        } else if (!is_order(stage)) {
            fprintf(file, " | %.*s", (int)length, stage);
        }
        is_source = false;
    }
    fprintf(file, " | batch 1");
}

/* True if a stage composes samples with others of their pass. */
static bool reads_others(const char *text)
{
    size_t length;

    while (text != NULL && !text_stage_is(text, "mosaic")) {
        text = text_next_stage(text, &length);
    }
    return text != NULL;
}

/*
 * Replaces the dataset by one with a single sample per pass. Random numbers depend on seed, pass
 * and sample, so the sample has the same random numbers as in the whole dataset.
 */
static sluice_status select_sample(uint64_t sample, sluice_dataset **dataset)
{
    sluice_dataset *single = NULL;
    char *described = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *file;
    sluice_status st = sluice_dataset_describe(*dataset, &described);

    if (st == SLUICE_OK && reads_others(described)) {
        st = sluice_fail(SLUICE_E_UNSUPPORTED,
                         "show: --sample reads one sample, and mosaic others of its pass, too; use "
                         "--steps");
    }
    if (st == SLUICE_OK) {
        file = open_memstream(&text, &size);
        if (file != NULL) {
            write_single(file, described, sample);
        }
        st = file != NULL && fclose(file) == 0
                 ? sluice_dataset_parse(text, &single)
                 : sluice_fail(SLUICE_E_NO_MEMORY, "no memory for the text of a pipeline");
    }
    if (st == SLUICE_OK) {
        sluice_dataset_destroy(*dataset);
        *dataset = single;
    }
    sluice_string_free(described);
    free(text);
    return st;
}

/* ---- the batches ----------------------------------------------------------------------------- */

static void find_zeroed(show *s, const sluice_batch *batch)
{
    for (uint32_t row = 0; row < batch->valid_rows && s->zeroed_count < SHOWN_ROWS; row++) {
        if (show_is_zeroed(batch, row)) {
            s->zeroed_rows[s->zeroed_count++] = s->rows + row;
        }
    }
}

static bool take_batch(show *s, const sluice_batch *batch)
{
    if (s->config.on_error == SLUICE_ON_ERROR_ZERO) {
        find_zeroed(s, batch);
    }
    s->rows += batch->rows;
    s->padding += batch->rows - batch->valid_rows;
    for (uint32_t i = 0; i < batch->input_count; i++) {
        show_range_add(&s->ranges[i], &batch->inputs[i], batch->valid_rows);
    }
    if (s->sheet != NULL) {
        contact_sheet_add(&s->tiles, batch);
    }
    return s->npy == NULL || npy_folder_append(&s->folder, batch);
}

/* Gets the next batch; false after printing an error. */
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

/* Creates the outputs; false after printing an error. */
static bool create_outputs(show *s)
{
    const uint64_t rows = s->steps * s->info.batch_size;

    s->sheet = s->tiles.image_count > 0 ? s->sheet : NULL;
    s->tiles.has_zeroed = s->config.on_error == SLUICE_ON_ERROR_ZERO;
    return (s->sheet == NULL || contact_sheet_create(&s->tiles, &s->info, rows, s->has_sample)) &&
           (s->npy == NULL || npy_folder_create(&s->folder, s->npy, &s->info, rows));
}

/* Prints the names of the first bad samples: the indented lines below the title of a report. The
 * title is printed from the counts, so a report that says it otherwise hides no bad sample. */
static void print_report_names(const char *text)
{
    const char *line = strstr(text, "bad samples: ");

    line = line != NULL ? strchr(line, '\n') : NULL;
    while (line != NULL && strncmp(line + 1, "  ", 2) == 0) {
        const size_t length = strcspn(line + 1, "\n");

        printf("%.*s\n", (int)length, line + 1);
        line = line[1 + length] == '\n' ? line + 1 + length : NULL;
    }
}

/* Prints how many samples were bad, the first of them, and the rows that are zero for them; false
 * after printing an error. */
static bool print_bad_samples(const show *s, sluice_channel *channel)
{
    sluice_channel_stats stats;
    sluice_report *report = NULL;
    char *text = NULL;
    sluice_status st;

    sluice_channel_stats_init(&stats);
    st = sluice_channel_stats_get(channel, &stats);
    if (st == SLUICE_OK && stats.replaced + stats.zeroed == 0) {
        return true;
    }
    st = st == SLUICE_OK ? sluice_channel_report(channel, &report) : st;
    st = st == SLUICE_OK ? sluice_report_text(report, &text) : st;
    sluice_report_destroy(report);
    if (st != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        return false;
    }
    printf("bad samples: %" PRIu64 " replaced, %" PRIu64 " zeroed; the first:\n", stats.replaced,
           stats.zeroed);
    print_report_names(text);
    sluice_string_free(text);
    for (uint32_t i = 0; i < s->zeroed_count; i++) {
        printf("%s%" PRIu64, i == 0 ? "zeroed rows, from 0: " : " ", s->zeroed_rows[i]);
    }
    if (s->zeroed_count > 0) {
        printf("%s\n", stats.zeroed > s->zeroed_count ? " ..." : "");
    }
    return true;
}

static void print_result(const show *s)
{
    const uint64_t rows = s->steps * s->info.batch_size;

    show_print_table(&s->info, s->ranges, rows);
    printf("%" PRIu64 " rows: steps %" PRIu64 " to %" PRIu64 ", %" PRIu64 " rows are padding\n",
           rows, s->start_step, s->start_step + s->steps - 1, s->padding);
}

static bool take_batches(show *s, sluice_channel *channel)
{
    const sluice_batch *batch;

    for (uint64_t i = 0; i < s->steps; i++) {
        if (!next_batch(s, channel, i, &batch) || !take_batch(s, batch)) {
            return false;
        }
    }
    if (s->npy != NULL && !npy_folder_publish(&s->folder)) {
        return false;
    }
    print_result(s);
    if (!print_bad_samples(s, channel)) {
        return false;
    }
    return s->sheet == NULL || contact_sheet_write(&s->tiles, s->sheet);
}

static int show_channel(show *s, sluice_dataset *dataset, sluice_channel *channel)
{
    sluice_status st;
    bool is_done;

    s->info.struct_size = sizeof(s->info);
    st = sluice_channel_inspect(channel, &s->info);
    if (st != SLUICE_OK) {
        return cli_refused(st);
    }
    if (!contact_sheet_find(&s->tiles, dataset, &s->info) && s->wants_sheet) {
        cli_error(
            "show: -o %s: the pipeline has no image, nor a column of that name; use --npy DIR",
            s->sheet);
        return EXIT_USAGE;
    }
    is_done = create_outputs(s);
    st = is_done ? sluice_channel_start(channel) : SLUICE_OK;
    if (st != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
    }
    is_done = is_done && st == SLUICE_OK && take_batches(s, channel);
    npy_folder_discard(&s->folder);
    contact_sheet_destroy(&s->tiles);
    return is_done ? EXIT_DONE : EXIT_RUNTIME;
}

static int run(show *s)
{
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_channel *channel = NULL;
    sluice_status st = cli_open_pipeline("show", &s->source, &dataset);
    int code;

    if (st == SLUICE_OK && s->has_sample) {
        st = select_sample(s->sample, &dataset);
    }
    if (st == SLUICE_OK) {
        st = sluice_device_open("host:0", &device);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_open(device, dataset, &s->config, &channel);
    }
    if (st != SLUICE_OK && s->has_sample && cli_no_data()) {
        st =
            sluice_fail(SLUICE_E_INVALID,
                        "show: --sample %" PRIu64 " must be less than the number of samples of the "
                        "source",
                        s->sample);
    }
    code = st == SLUICE_OK ? show_channel(s, dataset, channel) : cli_refused(st);
    sluice_channel_close(channel);
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return code;
}

int cmd_show(int argc, char **argv)
{
    show s = {.on_error = "fail", .steps = 1, .world = 1, .times = 8};
    sluice_stop *stop = NULL;
    int code = parse(&s, argc, argv);

    if (code != EXIT_DONE) {
        return code;
    }
    if (sluice_stop_create(&stop) != SLUICE_OK) {
        cli_error("show: no memory");
        return EXIT_RUNTIME;
    }
    cli_catch_signals(stop); /* no call uses the token: next_batch() polls cli_signal() */
    code = run(&s);
    cli_catch_signals(NULL);
    sluice_stop_destroy(stop);
    return code;
}
