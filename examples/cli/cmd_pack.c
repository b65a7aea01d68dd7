/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice pack: packs samples into tar shards, in which a part of an image can be decoded alone.
 * sluice convert: writes samples in the files of another format.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Maximum number of problems that are printed; the others are only counted. */
enum { PROBLEMS_NAMED = 100 };

typedef struct named_problem {
    uint64_t position;
    sluice_pack_fate fate;
    char *text; /* name and cause, separated by a zero byte */
    const char *why;
} named_problem;

typedef struct pack {
    const char *command;
    cli_source source;
    const char *folder;
    const char *workers;
    uint64_t interval;
    uint64_t max_side;
    uint64_t quality;
    uint64_t subsampling;
    uint64_t shard_size;
    uint64_t seed;
    bool shuffle;
    bool json;
    sluice_pack_config config;
    sluice_pack_stats stats;
    cli_progress progress;
    named_problem problems[PROBLEMS_NAMED];
    uint32_t problem_count;
    sluice_status status;
    bool reported; /* the JSON object or the summary was printed */
} pack;

/* ---- while it runs -------------------------------------------------------------------------- */

static void on_progress(const sluice_pack_stats *stats, void *user)
{
    pack *p = user;

    cli_progress_draw(&p->progress, stats->done, stats->done - stats->resumed, stats->samples,
                      stats->seconds);
}

static void on_problem(const sluice_pack_problem *problem, void *user)
{
    pack *p = user;
    named_problem *named = &p->problems[p->problem_count];
    const size_t name = strlen(problem->name) + 1;

    if (p->problem_count == PROBLEMS_NAMED) {
        return;
    }
    named->text = malloc(name + strlen(problem->why) + 1);
    if (named->text == NULL) {
        return; /* the problem is counted anyway */
    }
    memcpy(named->text, problem->name, name);
    strcpy(named->text + name, problem->why);
    named->why = named->text + name;
    named->position = problem->position;
    named->fate = problem->fate;
    p->problem_count++;
}

/* ---- options -------------------------------------------------------------------------------- */

/* Reads the options that both commands have. */
static bool make_common(pack *p, const cli_option *options)
{
    sluice_pack_config *config = &p->config;

    if ((cli_given(options, "shard-size") &&
         !cli_in_range(p->command, "shard-size", p->shard_size, 1, UINT64_C(1) << 50)) ||
        !cli_workers(p->command, p->workers, &config->workers)) {
        return false;
    }
    config->folder = p->folder;
    config->shard_bytes = p->shard_size;
    config->progress = on_progress;
    config->problem = on_problem;
    config->user = p;
    return true;
}

static bool make_config(pack *p, const cli_option *options)
{
    sluice_pack_config *config = &p->config;

    if (!cli_in_range("pack", "interval", p->interval, 0, 65535) ||
        (cli_given(options, "max-side") &&
         !cli_in_range("pack", "max-side", p->max_side, 1, 65535)) ||
        (cli_given(options, "quality") && !cli_in_range("pack", "quality", p->quality, 1, 100)) ||
        !make_common(p, options)) {
        return false;
    }
    if (cli_given(options, "subsampling") && p->subsampling != 420 && p->subsampling != 444) {
        cli_error("pack: --subsampling %" PRIu64 " must be 420 or 444", p->subsampling);
        return false;
    }
    if (config->raw && (p->quality != 0 || p->subsampling != 0 || cli_given(options, "interval"))) {
        cli_error("pack: --raw stores pixels, so --quality, --subsampling and --interval have no "
                  "effect; leave them out, or leave --raw out");
        return false;
    }
    if (!config->raw) {
        config->interval = p->interval > 0 ? (uint32_t)p->interval : SLUICE_PACK_NO_MARKERS;
    }
    config->max_side = (uint32_t)p->max_side;
    config->quality = (uint32_t)p->quality;
    config->subsampling = (sluice_pack_subsampling)p->subsampling;
    return true;
}

/* Parses the words of the command line, by the options of the command. */
static int parse_words(pack *p, int argc, char **argv, cli_option *options)
{
    const int code = cli_parse_source(p->command, argc, argv, options, &p->source, &p->folder);

    if (code == EXIT_DONE && p->folder == NULL) {
        cli_error("%s: a folder is missing; give the data and the folder to make, such as `sluice "
                  "%s train train-%s`",
                  p->command, p->command,
                  strcmp(p->command, "pack") == 0 ? "packed" : "converted --format webdataset");
        return EXIT_USAGE;
    }
    p->shuffle = cli_given(options, "shuffle");
    return code;
}

static int parse_pack(pack *p, int argc, char **argv)
{
    cli_option options[] = {
        {"drop", OPTION_TEXT, &p->config.drop, "COLUMNS", NULL, false},
        {"interval", OPTION_COUNT, &p->interval, "PX", NULL, false},
        {"max-side", OPTION_COUNT, &p->max_side, "N", NULL, false},
        {"quality", OPTION_COUNT, &p->quality, "Q", NULL, false},
        {"subsampling", OPTION_COUNT, &p->subsampling, "S", NULL, false},
        {"raw", OPTION_FLAG, &p->config.raw, NULL, NULL, false},
        {"shard-size", OPTION_BYTES, &p->shard_size, "BYTES", NULL, false},
        {"shuffle", OPTION_MAYBE, &p->seed, "SEED", NULL, false},
        {"workers", OPTION_TEXT, &p->workers, "N", NULL, false},
        {"verify", OPTION_FLAG, &p->config.verify, NULL, NULL, false},
        {"leave-out-unreadable", OPTION_FLAG, &p->config.leave_out_unreadable, NULL, NULL, false},
        CLI_SOURCE_OPTIONS(&p->source),
        {"json", OPTION_FLAG, &p->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    const int code = parse_words(p, argc, argv, options);

    return code != EXIT_DONE ? code : make_config(p, options) ? EXIT_DONE : EXIT_USAGE;
}

static int parse_convert(pack *p, int argc, char **argv)
{
    cli_option options[] = {
        {"format", OPTION_TEXT, &p->config.format, "FORMAT", NULL, false},
        {"drop", OPTION_TEXT, &p->config.drop, "COLUMNS", NULL, false},
        {"shard-size", OPTION_BYTES, &p->shard_size, "BYTES", NULL, false},
        {"shuffle", OPTION_MAYBE, &p->seed, "SEED", NULL, false},
        {"workers", OPTION_TEXT, &p->workers, "N", NULL, false},
        {"leave-out-unreadable", OPTION_FLAG, &p->config.leave_out_unreadable, NULL, NULL, false},
        CLI_SOURCE_OPTIONS(&p->source),
        {"json", OPTION_FLAG, &p->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    const int code = parse_words(p, argc, argv, options);

    if (code != EXIT_DONE) {
        return code;
    }
    if (p->config.format == NULL) {
        cli_error("convert: --format is missing: the format of the files to write, such as "
                  "--format webdataset");
        return EXIT_USAGE;
    }
    return make_common(p, options) ? EXIT_DONE : EXIT_USAGE;
}

static sluice_status open_source(const pack *p, sluice_dataset **dataset_out)
{
    sluice_status st = cli_open_source(p->command, &p->source, dataset_out);

    if (st == SLUICE_OK && p->shuffle) {
        st = sluice_dataset_addf(*dataset_out, "shuffle seed=%llu", (unsigned long long)p->seed);
        if (st != SLUICE_OK) {
            sluice_dataset_destroy(*dataset_out);
            *dataset_out = NULL;
        }
    }
    return st;
}

/* ---- the report ----------------------------------------------------------------------------- */

static double ratio(const sluice_pack_stats *stats)
{
    return stats->bytes_in > 0 ? (double)stats->bytes_out / (double)stats->bytes_in : 0;
}

static double rate(const sluice_pack_stats *stats)
{
    return stats->seconds > 0 ? (double)(stats->done - stats->resumed) / stats->seconds : 0;
}

/* True if packing may lose image data. Images that are stored as pixels may have been resized
 * before. */
static bool is_lossy(const pack *p)
{
    return p->stats.fates[SLUICE_PACK_ENCODED] > 0 ||
           (p->stats.fates[SLUICE_PACK_RAW] > 0 && p->max_side > 0);
}

/* Number of samples that are in no shard. */
static uint64_t count_left_out(const pack *p)
{
    return p->stats.done - p->stats.written;
}

/* Reports samples that a complete pack lacks as an error, as `verify` does. Returns the exit code.
 */
static int fail_left_out(pack *p)
{
    uint32_t first = 0;

    while (first < p->problem_count &&
           strncmp(sluice_pack_fate_name(p->problems[first].fate), "left_", 5) != 0) {
        first++;
    }
    cli_error("%s: %s lacks %" PRIu64 " of %" PRIu64 " samples%s%s%s%s; pack.json and the lists "
              "(.tsv) beside the shards name them",
              p->command, p->folder, count_left_out(p), p->stats.samples,
              first < p->problem_count ? ", the first: " : "",
              first < p->problem_count ? p->problems[first].text : "",
              first < p->problem_count ? ": " : "",
              first < p->problem_count ? p->problems[first].why : "");
    p->status = SLUICE_E_CORRUPT;
    return cli_exit_code(p->status);
}

/* Prints the cost of restart markers for decoders that read whole files, measured on ImageNet. */
static void say_price(const pack *p)
{
    const uint64_t cut =
        p->stats.fates[SLUICE_PACK_TRANSCODED] + p->stats.fates[SLUICE_PACK_ENCODED];

    if (cut > 0 && p->interval > 0) {
        printf("restart markers about every %" PRIu64
               " pixels: decoders that do not use them take\n"
               "    %s longer\n",
               p->interval, p->interval == 32 ? "up to 7 %" : "some percent (up to 7 at 32)");
    }
}

static void print_text(const pack *p)
{
    const sluice_pack_stats *s = &p->stats;

    for (uint32_t i = 0; i < p->problem_count; i++) {
        cli_print_name(p->problems[i].text);
        printf(": %s (", sluice_pack_fate_text(p->problems[i].fate));
        cli_print_name(p->problems[i].why);
        printf(")\n");
    }
    cli_print_name(p->folder);
    printf(": %" PRIu64, s->written);
    if (s->samples > 0) { /* 0 for a stream: its length is unknown */
        printf(" of %" PRIu64, s->samples);
    }
    printf(" samples in %" PRIu32 " shards", s->shards);
    if (s->complete && count_left_out(p) > 0) {
        printf(", %" PRIu64 " left out%s", count_left_out(p), is_lossy(p) ? ", lossy" : "");
    } else {
        printf(", %s", !s->complete  ? "not complete"
                       : is_lossy(p) ? "complete, lossy"
                                     : "complete, lossless");
    }
    if (p->config.drop != NULL) {
        printf(", without the columns %s (--drop)", p->config.drop);
    }
    printf("\n");
    for (int i = 0; i < SLUICE_PACK_FATES; i++) {
        if (s->fates[i] > 0) {
            printf("  %-16s %10" PRIu64 "  %s\n", sluice_pack_fate_name((sluice_pack_fate)i),
                   s->fates[i], sluice_pack_fate_text((sluice_pack_fate)i));
        }
    }
    if (p->config.format != NULL) {
        printf("columns: %.1f MB; shards %.1f MB\n", (double)s->bytes_out / 1e6,
               (double)s->tar_bytes / 1e6);
    } else {
        printf("images: %.1f MB before, %.1f MB after, ratio %.3f; shards %.1f MB\n",
               (double)s->bytes_in / 1e6, (double)s->bytes_out / 1e6, ratio(s),
               (double)s->tar_bytes / 1e6);
    }
    printf("%" PRIu64 " samples in %.1f s, %.0f %s/s", s->done - s->resumed, s->seconds, rate(s),
           p->config.format != NULL ? "samples" : "images");
    if (p->config.format != NULL && s->resumed == 0 && s->seconds > 0) {
        printf(", %.0f MB/s", (double)s->bytes_out / 1e6 / s->seconds);
    }
    if (s->resumed > 0) {
        printf("; %" PRIu64 " were there", s->resumed);
    }
    printf("\n");
    say_price(p);
}

/* Prints names that have commas between them as a JSON list. */
static void json_names(const char *names)
{
    bool is_first = true;

    while (names != NULL && *names != '\0') {
        const size_t length = strcspn(names, ",");
        char name[128];

        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        printf("%s", is_first ? "" : ",");
        cli_json_string(name);
        is_first = false;
        names += length + (names[length] == ',');
    }
}

static void print_json(const pack *p, const char *error)
{
    const sluice_pack_stats *s = &p->stats;

    printf("{\"schema\":1,\"status\":\"%s\",\"error\":", sluice_status_name(p->status));
    if (error != NULL) {
        cli_json_string(error);
    } else {
        printf("null");
    }
    printf(",\"complete\":%s,\"lossy\":%s,\"samples\":%" PRIu64 ",\"done\":%" PRIu64
           ",\"resumed\":%" PRIu64 ",\"written\":%" PRIu64 ",\"shards\":%" PRIu32
           ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64
           ",\"ratio\":%.4f,\"tar_bytes\":%" PRIu64
           ",\"seconds\":%.3f,\"images_per_s\":%.1f,\"fates\":{",
           s->complete ? "true" : "false", is_lossy(p) ? "true" : "false", s->samples, s->done,
           s->resumed, s->written, s->shards, s->bytes_in, s->bytes_out, ratio(s), s->tar_bytes,
           s->seconds, rate(s));
    for (int i = 0, first = 1; i < SLUICE_PACK_FATES; i++) {
        if (s->fates[i] > 0) {
            printf("%s\"%s\":%" PRIu64, first ? "" : ",",
                   sluice_pack_fate_name((sluice_pack_fate)i), s->fates[i]);
            first = 0;
        }
    }
    printf("},\"dropped\":[");
    json_names(p->config.drop);
    printf("],\"problems\":[");
    for (uint32_t i = 0; i < p->problem_count; i++) {
        printf("%s{\"position\":%" PRIu64 ",\"fate\":\"%s\",\"name\":", i > 0 ? "," : "",
               p->problems[i].position, sluice_pack_fate_name(p->problems[i].fate));
        cli_json_string(p->problems[i].text);
        printf(",\"why\":");
        cli_json_string(p->problems[i].why);
        printf("}");
    }
    printf("]}\n");
}

static int run(pack *p, sluice_stop *stop)
{
    sluice_dataset *dataset = NULL;
    bool begun;
    int code;

    p->status = open_source(p, &dataset);
    if (p->status != SLUICE_OK) {
        return cli_refused(p->status);
    }
    p->config.dataset = dataset;
    p->config.stop = stop;
    p->stats.struct_size = sizeof(p->stats);
    cli_progress_begin(&p->progress);
    p->status = sluice_pack(&p->config, &p->stats);
    cli_progress_end(&p->progress);
    begun = p->stats.seconds > 0;
    code = cli_exit_code(p->status);
    if (p->status < 0) {
        code = begun ? (cli_error("%s", sluice_last_error()), code) : cli_refused(p->status);
    } else if (p->status == SLUICE_STOPPED) {
        cli_error("%s: stopped; run the same command again to continue after shard %" PRIu32,
                  p->command, p->stats.shards);
    } else if (count_left_out(p) > 0) {
        code = fail_left_out(p);
    }
    if (begun && p->json) {
        print_json(p, p->status < 0 ? cli_said() : NULL);
        p->reported = true;
    } else if (begun && (p->status >= 0 || p->stats.complete)) {
        print_text(p);
    }
    sluice_dataset_destroy(dataset);
    return code;
}

static int run_command(pack *p, int argc, char **argv, int (*parse)(pack *, int, char **))
{
    sluice_stop *stop = NULL;
    int code;

    p->workers = "auto";
    p->interval = 32;
    p->json = cli_wants_json(argc, argv);
    p->status = SLUICE_E_INVALID;
    sluice_pack_config_init(&p->config);
    if (sluice_stop_create(&stop) != SLUICE_OK) {
        code = cli_refused(SLUICE_E_NO_MEMORY);
    } else {
        cli_catch_signals(stop);
        code = parse(p, argc, argv);
        code = code == EXIT_DONE ? run(p, stop) : code;
        cli_catch_signals(NULL);
    }
    if (p->json && !p->reported) {
        cli_json_failure(p->status, cli_said());
    }
    for (uint32_t i = 0; i < p->problem_count; i++) {
        free(p->problems[i].text);
    }
    sluice_stop_destroy(stop);
    return code;
}

int cmd_pack(int argc, char **argv)
{
    pack p = {.command = "pack"};

    return run_command(&p, argc, argv, parse_pack);
}

int cmd_convert(int argc, char **argv)
{
    pack p = {.command = "convert"};

    return run_command(&p, argc, argv, parse_convert);
}
