/* SPDX-License-Identifier: Apache-2.0 */
/* sluice bench: runs a pipeline into the device queue and consumes it with an empty step. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SLUICE_TOOL_CUDA
#include <cuda_runtime_api.h>
#endif

#include "bench_runs.h"
#include "cli.h"

enum { PATH_SIZE = 4096 };

typedef struct bench {
    cli_source source;
    const char *device_name;
    const char *mode;
    const char *workers;
    const char *on_error;
    const char *digests_path;
    const char *ids_path;
    int64_t sink_size;
    uint64_t epochs;
    uint64_t steps;
    double seconds;
    uint64_t slots;
    uint64_t memory;
    uint64_t seed;
    uint64_t rank;
    uint64_t world;
    bool launched;                 /* rank and world are from the launcher */
    char rank_paths[2][PATH_SIZE]; /* paths of --digests and --ids with %r replaced */
    uint64_t micro_batches;
    uint64_t start_step;
    uint64_t step_us;
    bool digest;
    bool json;
    FILE *digests;
    FILE *ids;
    bool output_failed; /* a write failed, and the error was printed */
    sluice_train_config config;
    sluice_status status; /* status of the failure, for JSON */
    bool reported;        /* the JSON object or the table was printed */
    bench_runs runs;
} bench;

/* ---- the step and the hooks ------------------------------------------------------------------ */

/* On a CUDA device a step that enqueues nothing is an error: this one clears its output. */
static sluice_status enqueue(const sluice_step *view)
{
#ifdef SLUICE_TOOL_CUDA
    if (view->stream != NULL) {
        const cudaError_t error =
            cudaMemsetAsync(view->outputs, 0, sizeof(float), (cudaStream_t)view->stream);

        if (error != cudaSuccess) {
            return sluice_fail(SLUICE_E_DEVICE, "cudaMemsetAsync: %s", cudaGetErrorString(error));
        }
    }
#endif
    (void)view;
    return SLUICE_OK;
}

/* The benchmark's step: spins for --step-us microseconds of CPU time instead of training. */
static sluice_status step(const sluice_step *view, void *user)
{
    const bench *b = user;
    const int64_t end = cli_now_ns() + (int64_t)b->step_us * 1000;

    while (b->step_us > 0 && cli_now_ns() < end && cli_signal() == 0) {
    }
    return enqueue(view);
}

static sluice_status say_plan(sluice_hook *hook, void *user)
{
    const bench *b = user;

    if ((b->launched && hook->rank > 0) || b->runs.round > 0) { /* the plan is the same */
        return SLUICE_OK;
    }
    cli_print_wrapped(stderr, hook->plan, 4);
    return SLUICE_OK;
}

/* Returns an error if a write to the file failed, which ends the run; prints it only once. */
static sluice_status check_output(bench *b, const char *path, FILE *file)
{
    if (file == NULL || !ferror(file)) {
        return SLUICE_OK;
    }
    if (!b->output_failed) {
        cli_error("bench: cannot write %s: %s", path, strerror(errno));
    }
    b->output_failed = true;
    return SLUICE_E_IO;
}

/* Writes the lines of --digests and --ids. */
static sluice_status write_records(sluice_hook *hook, void *user)
{
    bench *b = user;
    sluice_status st;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *r = sluice_hook_record(hook, i);

        if (b->digests != NULL) {
            fprintf(b->digests, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n",
                    r->step, r->epoch, r->pass, r->first_sample, r->digest);
        }
        if (b->ids != NULL) {
            fprintf(b->ids, "%" PRIu64, r->step);
            for (uint32_t row = 0; row < hook->batch_size * hook->micro_batches; row++) {
                if (r->samples[row] != UINT64_MAX) { /* skip padding rows */
                    fprintf(b->ids, " %" PRIu64, r->samples[row]);
                }
            }
            fprintf(b->ids, "\n");
        }
    }
    st = check_output(b, b->digests_path, b->digests);
    return st == SLUICE_OK ? check_output(b, b->ids_path, b->ids) : st;
}

/* Flushes the files before the report is made, so that the report includes a failed write. */
static sluice_status flush_records(sluice_hook *hook, void *user)
{
    bench *b = user;
    sluice_status st = SLUICE_OK;

    (void)hook;
    if (b->digests != NULL) {
        (void)fflush(b->digests); /* ferror() reports a failure */
        st = check_output(b, b->digests_path, b->digests);
    }
    if (st == SLUICE_OK && b->ids != NULL) {
        (void)fflush(b->ids);
        st = check_output(b, b->ids_path, b->ids);
    }
    return st;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Refuses an explicit 0, which the library would interpret as the default. */
static bool refuse_zeros(const bench *b, const cli_option *options)
{
    const struct {
        const char *option;
        bool zero;
    } counts[] = {
        {"epochs", b->epochs == 0}, {"steps", b->steps == 0}, {"seconds", !(b->seconds > 0)},
        {"memory", b->memory == 0}, {"slots", b->slots == 0},
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i].zero && cli_given(options, counts[i].option)) {
            cli_error("bench: --%s 0 must be above 0", counts[i].option);
            return false;
        }
    }
    return true;
}

/* Replaces %r in a path by the rank. Each rank that a launcher started needs its own file. */
static bool choose_path(const bench *b, const char *option, const char **path, char *own)
{
    const char *mark = *path != NULL ? strstr(*path, "%r") : NULL;
    int length;

    if (*path == NULL || !b->launched || b->world == 1) {
        return true;
    }
    if (mark == NULL) {
        cli_error("bench: --%s %s would be written by %" PRIu64
                  " ranks; put %%r in the path, which becomes the rank",
                  option, *path, b->world);
        return false;
    }
    length = snprintf(own, PATH_SIZE, "%.*s%" PRIu64 "%s", (int)(mark - *path), *path, b->rank,
                      mark + 2);
    if (length >= PATH_SIZE) {
        cli_error("bench: --%s: the path has more than %d bytes", option, PATH_SIZE - 1);
        return false;
    }
    *path = own;
    return true;
}

/* Without --rank and --world, takes both from the launcher, so that `mpirun -n 8 sluice bench` is
 * one job of eight ranks. */
static bool choose_ranks(bench *b, const cli_option *options)
{
    sluice_ranks ranks;

    if (cli_given(options, "rank") || cli_given(options, "world")) {
        return true;
    }
    sluice_ranks_init(&ranks);
    if (sluice_ranks_find(&ranks) != SLUICE_OK) {
        cli_error("bench: %s", sluice_last_error());
        return false;
    }
    b->launched = true;
    b->rank = ranks.rank;
    b->world = ranks.world;
    return choose_path(b, "digests", &b->digests_path, b->rank_paths[0]) &&
           choose_path(b, "ids", &b->ids_path, b->rank_paths[1]);
}

/* Sets the length of the run from one of three options; by default it is one epoch. */
static bool choose_length(bench *b, const cli_option *options)
{
    if (cli_given(options, "epochs") + cli_given(options, "steps") + cli_given(options, "seconds") >
        1) {
        cli_error("bench: --epochs, --steps and --seconds exclude each other");
        return false;
    }
    if (b->steps == 0 && !(b->seconds > 0) && b->epochs == 0) {
        b->epochs = 1;
    }
    return true;
}

/* Refuses what repeated runs cannot have, and checks the pipeline of --compare before the first
 * run. */
static bool choose_runs(bench *b, const cli_option *options)
{
    bench_runs *runs = &b->runs;
    sluice_dataset *dataset = NULL;
    sluice_status st = SLUICE_OK;

    runs->is_on = cli_given(options, "runs") || cli_given(options, "compare");
    if (!runs->is_on) {
        return true;
    }
    runs->compared.args = b->source.args;
    if (!cli_in_range("bench", "runs", runs->count, 1, RUN_MOST_BENCH)) {
        return false;
    }
    if (b->digests_path != NULL || b->ids_path != NULL) {
        cli_error("bench: --%s would be written again by each run; leave it out, or --runs and "
                  "--compare",
                  b->digests_path != NULL ? "digests" : "ids");
        return false;
    }
    st = run_set_check();
    if (st == SLUICE_OK && runs->compared.word != NULL) {
        st = cli_open_pipeline("bench", &runs->compared, &dataset);
        sluice_dataset_destroy(dataset);
    }
    if (st != SLUICE_OK) {
        cli_error("bench: %s: %s", st == SLUICE_E_UNSUPPORTED ? "--runs" : "--compare",
                  sluice_last_error());
        b->status = st;
    }
    return st == SLUICE_OK;
}

/* Refuses --step-us on cuda:N: the option spins on the CPU, but cuda:N calls the step only once, to
 * capture it. */
static bool refuse_step_us(const bench *b)
{
    const bool cuda = strcspn(b->device_name, ":,") == 4 && strncmp(b->device_name, "cuda", 4) == 0;

    if (b->step_us > 0 && cuda) {
        cli_error("bench: --step-us takes a processor's time, which a step of %s does not take; "
                  "use --device host:0, or leave --step-us out",
                  b->device_name);
        return false;
    }
    return true;
}

/* Converts the options to the run's settings; false after printing an error. */
static bool make_config(bench *b)
{
    static const char *const modes[] = {"auto", "direct", "data", "graph", "loop", NULL};
    static const char *const policies[] = {"fail", "replace", "zero", NULL};
    sluice_train_config *config = &b->config;
    int mode;
    int policy;

    sluice_train_config_init(config);
    if (!cli_choose("bench", "mode", b->mode, modes, &mode) ||
        !cli_choose("bench", "on-error", b->on_error, policies, &policy) ||
        !cli_workers("bench", b->workers, &config->workers) ||
        (b->slots != 0 && !cli_in_range("bench", "slots", b->slots, 2, 1024)) ||
        !cli_in_range("bench", "step-us", b->step_us, 0, UINT64_C(3600000000)) ||
        !cli_in_range("bench", "micro-batches", b->micro_batches, 1, 65536) ||
        (!b->launched && !cli_in_range("bench", "world", b->world, 1, 1000000)) ||
        !cli_in_range("bench", "rank", b->rank, 0, b->world - 1)) {
        return false;
    }
    if (b->sink_size == 0 || b->sink_size < -1) {
        cli_error("bench: --sink-size %" PRId64 " must be -1 or positive", b->sink_size);
        return false;
    }
    config->mode = (sluice_mode)mode;
    config->dataset_sink_mode = true; /* in all modes: the same steps in each */
    config->sink_size = b->sink_size;
    config->epochs = b->epochs;
    config->max_steps = b->steps;
    config->max_seconds = b->seconds;
    config->slots = (uint32_t)b->slots;
    config->memory_bytes = b->memory;
    config->seed = b->seed;
    config->rank = b->launched ? 0 : (uint32_t)b->rank; /* both 0: from the launcher */
    config->world = b->launched ? 0 : (uint32_t)b->world;
    config->independent_ranks = true; /* the step calls no collective */
    config->micro_batches = (uint32_t)b->micro_batches;
    config->nan_guard = SLUICE_NAN_IGNORE; /* the step writes no outputs */
    config->start_step = b->start_step;
    config->on_error = (sluice_on_error)policy;
    config->digest = b->digest || b->digests_path != NULL;
    config->record_samples = b->ids_path != NULL;
    return true;
}

static int parse(bench *b, int argc, char **argv)
{
    cli_option options[] = {
        {"device", OPTION_TEXT, &b->device_name, "NAME", NULL, false},
        {"mode", OPTION_TEXT, &b->mode, "MODE", NULL, false},
        {"sink-size", OPTION_INTEGER, &b->sink_size, "N", NULL, false},
        {"epochs", OPTION_COUNT, &b->epochs, "N", NULL, false},
        {"steps", OPTION_COUNT, &b->steps, "N", NULL, false},
        {"seconds", OPTION_REAL, &b->seconds, "S", NULL, false},
        {"workers", OPTION_TEXT, &b->workers, "N", NULL, false},
        {"slots", OPTION_COUNT, &b->slots, "N", NULL, false},
        {"memory", OPTION_BYTES, &b->memory, "BYTES", NULL, false},
        {"seed", OPTION_COUNT, &b->seed, "N", NULL, false},
        {"rank", OPTION_COUNT, &b->rank, "R", NULL, false},
        {"world", OPTION_COUNT, &b->world, "W", NULL, false},
        {"micro-batches", OPTION_COUNT, &b->micro_batches, "K", NULL, false},
        {"start-step", OPTION_COUNT, &b->start_step, "N", NULL, false},
        {"step-us", OPTION_COUNT, &b->step_us, "T", NULL, false},
        {"on-error", OPTION_TEXT, &b->on_error, "POLICY", NULL, false},
        {"digest", OPTION_FLAG, &b->digest, NULL, NULL, false},
        {"digests", OPTION_TEXT, &b->digests_path, "FILE", NULL, false},
        {"ids", OPTION_TEXT, &b->ids_path, "FILE", NULL, false},
        CLI_SOURCE_OPTIONS(&b->source),
        {"runs", OPTION_COUNT, &b->runs.count, "N", NULL, false},
        {"compare", OPTION_TEXT, &b->runs.compared.word, "PIPELINE", NULL, false},
        {"json", OPTION_FLAG, &b->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse_source("bench", argc, argv, options, &b->source, NULL);

    if (code != EXIT_DONE) {
        return code;
    }
    if (b->source.word == NULL && b->source.file == NULL) {
        cli_error("bench: the pipeline is missing; give one, or -f FILE, such as \"image_folder "
                  "DIR | decode | random_resized_crop 224 | batch 64\"");
        return EXIT_USAGE;
    }
    if (!refuse_zeros(b, options) || !choose_ranks(b, options) || !choose_length(b, options) ||
        !refuse_step_us(b) || !make_config(b)) {
        return EXIT_USAGE;
    }
    if (!choose_runs(b, options)) {
        return b->status == SLUICE_E_INVALID ? EXIT_USAGE : EXIT_RUNTIME;
    }
    return EXIT_DONE;
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool open_output(const char *path, FILE **file)
{
    if (path == NULL) {
        return true;
    }
    *file = fopen(path, "w");
    if (*file == NULL) {
        cli_error("bench: cannot write %s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

static bool close_output(const char *path, FILE *file)
{
    if (file != NULL && fclose(file) != 0) {
        cli_error("bench: cannot write %s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* Prints the report; false after printing an error. */
static bool print_report(bench *b, const sluice_report *report)
{
    char *text = NULL;
    sluice_status st =
        b->json ? sluice_report_json(report, &text) : sluice_report_text(report, &text);

    if (st != SLUICE_OK) {
        cli_error("bench: cannot make the report: %s", sluice_last_error());
        b->status = st;
        return false;
    }
    printf("%s%s", text, b->json ? "\n" : "");
    sluice_string_free(text);
    b->reported = true;
    return true;
}

/* Prints the report, or keeps it among those of --runs if the run is complete. */
static bool finish_report(bench *b, const sluice_report *report, int code)
{
    sluice_status st = SLUICE_OK;

    if (!b->runs.is_on) {
        return print_report(b, report);
    }
    if (code == EXIT_DONE) {
        st = bench_runs_keep(&b->runs, report);
    }
    if (st != SLUICE_OK) {
        cli_error("bench: %s", sluice_last_error());
        b->status = st;
    }
    return st == SLUICE_OK;
}

/* Reports an error that occurred before the run, in the command line or at run time. */
static int refused(bench *b, sluice_status status)
{
    b->status = status;
    return cli_refused(status);
}

static bool has_begun(const sluice_report *report)
{
    sluice_report_stats stats = {.struct_size = sizeof(stats)};

    return report != NULL && sluice_report_stats_get(report, &stats) == SLUICE_OK &&
           stats.seconds > 0;
}

/* The empty step has no loss: a name "" keeps the progress bar from showing one. */
static const char *const no_outputs[] = {""};

static int train(bench *b, sluice_device *device, sluice_dataset *dataset, sluice_stop *stop)
{
    sluice_callback first; /* called before the progress bar */
    sluice_callback last;
    sluice_callback *callbacks[3] = {&first, NULL, &last};
    sluice_report *report = NULL;
    sluice_model model;
    sluice_status st = sluice_progress_bar(stderr, &callbacks[1]);
    int code;

    if (st != SLUICE_OK) {
        return refused(b, st);
    }
    sluice_callback_init(&first);
    first.user = b;
    first.train_begin = say_plan;
    sluice_callback_init(&last);
    last.user = b;
    if (b->digests != NULL || b->ids != NULL) {
        last.records = write_records;
        last.train_end = flush_records;
    }
    sluice_model_init(&model);
    model.step = step;
    model.user = b;
    model.output_names = no_outputs;
    model.reads_valid_rows = true;
    model.reads_mask = true;
    b->config.stop = stop;
    if (b->world > 1) { /* no config.agree: a signal ends this rank immediately */
        cli_leave_signals();
        b->config.stop = NULL;
    }
    b->config.callbacks = callbacks;
    b->config.callback_count = last.records != NULL ? 3 : 2;
    st = sluice_train(device, &model, dataset, &b->config, &report);
    code = cli_exit_code(st);
    if (st < 0 && !has_begun(report)) {
        code = refused(b, st);
    } else if (st < 0) {
        cli_error("%s", sluice_last_error());
        b->status = st;
    }
    if ((b->json ? report != NULL : has_begun(report)) && !finish_report(b, report, code) &&
        code == EXIT_DONE) {
        code = EXIT_RUNTIME;
    }
    sluice_report_destroy(report);
    sluice_callback_destroy(callbacks[1]);
    return code;
}

static int run(bench *b, const cli_source *source, sluice_stop *stop)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_status st = cli_open_pipeline("bench", source, &dataset);
    int code = EXIT_RUNTIME;

    if (st == SLUICE_OK) {
        st = sluice_device_open(b->device_name, &device);
    }
    if (st != SLUICE_OK) {
        code = refused(b, st);
    } else if (!open_output(b->digests_path, &b->digests) || !open_output(b->ids_path, &b->ids)) {
        b->status = SLUICE_E_IO;
    } else {
        code = train(b, device, dataset, stop);
    }
    if (!close_output(b->digests_path, b->digests)) {
        code = EXIT_RUNTIME;
    }
    if (!close_output(b->ids_path, b->ids)) {
        code = EXIT_RUNTIME;
    }
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return code;
}

/* Runs the pipelines in turn, and prints what the reports of complete runs give. */
static int run_all(bench *b, sluice_stop *stop)
{
    bench_runs *runs = &b->runs;
    const int sides = bench_runs_sides(runs);
    int code = EXIT_DONE;
    bool has_failed;
    sluice_status st;

    for (uint64_t i = 0; i < runs->count * (uint64_t)sides && code == EXIT_DONE; i++) {
        runs->side = (int)(i % (uint64_t)sides);
        runs->round = i / (uint64_t)sides;
        bench_runs_begin(runs);
        code = run(b, runs->side == 0 ? &b->source : &runs->compared, stop);
    }
    has_failed = code != EXIT_DONE && cli_signal() == 0; /* the error was printed */
    if (!has_failed) {
        b->status = code == EXIT_DONE ? SLUICE_OK : SLUICE_STOPPED;
    }
    st = bench_runs_print(runs, &b->source, b->status, has_failed ? cli_said() : NULL, b->json);
    b->reported = st == SLUICE_OK;
    if (st != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        b->status = st;
        code = code == EXIT_DONE ? EXIT_RUNTIME : code;
    }
    return code;
}

int cmd_bench(int argc, char **argv)
{
    bench b = {.device_name = "auto",
               .mode = "auto",
               .workers = "auto",
               .on_error = "fail",
               .sink_size = -1,
               .world = 1,
               .micro_batches = 1,
               .json = cli_wants_json(argc, argv),
               .runs.count = 6, /* of --compare without --runs */
               .status = SLUICE_E_INVALID};
    sluice_stop *stop = NULL;
    sluice_status st = sluice_stop_create(&stop);
    int code;

    if (st != SLUICE_OK) {
        code = refused(&b, st);
    } else {
        cli_catch_signals(stop);
        code = parse(&b, argc, argv);
        if (code == EXIT_DONE) {
            code = b.runs.is_on ? run_all(&b, stop) : run(&b, &b.source, stop);
        }
        cli_catch_signals(NULL);
    }
    if (b.json && !b.reported) {
        cli_json_failure(b.status, cli_said());
    }
    bench_runs_free(&b.runs);
    sluice_stop_destroy(stop);
    return code;
}
