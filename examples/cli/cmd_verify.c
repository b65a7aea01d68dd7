/* SPDX-License-Identifier: Apache-2.0 */
/* sluice verify: decodes all images of a pack, a shard or a folder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Maximum number of problems in JSON; the others are only counted. */
enum { PROBLEMS_NAMED = 100 };

typedef struct verify {
    const char *workers;
    bool json;
    sluice_verify_config config;
    sluice_verify_stats stats;
    cli_progress progress;
    char *problems[PROBLEMS_NAMED]; /* name and cause, separated by a zero byte */
    uint32_t problem_count;
    sluice_status status;
    bool reported;
} verify;

static void on_progress(const sluice_verify_stats *stats, void *user)
{
    verify *v = user;

    cli_progress_draw(&v->progress, stats->done, stats->done, stats->samples, stats->seconds);
}

/* With --json stores the problem, otherwise prints it: their number is not bounded. */
static void on_problem(const char *name, const char *why, void *user)
{
    verify *v = user;
    const size_t length = strlen(name) + 1;
    char *text;

    if (!v->json) {
        cli_progress_end(&v->progress);
        cli_print_name(name);
        printf(": ");
        cli_print_name(why);
        printf("\n");
        return;
    }
    text = v->problem_count < PROBLEMS_NAMED ? malloc(length + strlen(why) + 1) : NULL;
    if (text != NULL) {
        memcpy(text, name, length);
        strcpy(text + length, why);
        v->problems[v->problem_count++] = text;
    }
}

static int parse(verify *v, int argc, char **argv)
{
    cli_option options[] = {
        {"workers", OPTION_TEXT, &v->workers, "N", NULL, false},
        {"json", OPTION_FLAG, &v->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int count;
    int code = cli_parse("verify", argc, argv, options, &v->config.path, 1, &count);

    if (code != EXIT_DONE) {
        return code;
    }
    if (count < 1) {
        cli_error("verify: the path is missing; give a pack that `sluice pack` made, a tar shard, "
                  "a folder of images, or a pipeline in quotes");
        return EXIT_USAGE;
    }
    return cli_workers("verify", v->workers, &v->config.workers) ? EXIT_DONE : EXIT_USAGE;
}

static void print_text(const verify *v)
{
    const sluice_verify_stats *s = &v->stats;

    cli_print_name(v->config.path);
    printf(": %" PRIu64 " of %" PRIu64 " samples read; %" PRIu64 " problem%s\n", s->done - s->bad,
           s->samples, s->problems, s->problems == 1 ? "" : "s");
    if (s->shards > 0) {
        printf("%" PRIu32 " shard%s, %" PRIu64 " checksums compared\n", s->shards,
               s->shards == 1 ? "" : "s", s->checked);
    }
    printf("%.1f MB in %.1f s, %.0f samples/s\n", (double)s->bytes / 1e6, s->seconds,
           s->seconds > 0 ? (double)s->done / s->seconds : 0.0);
}

static void print_json(const verify *v, const char *error)
{
    const sluice_verify_stats *s = &v->stats;

    printf("{\"schema\":1,\"status\":\"%s\",\"error\":", sluice_status_name(v->status));
    if (error != NULL) {
        cli_json_string(error);
    } else {
        printf("null");
    }
    printf(",\"is_pack\":%s,\"samples\":%" PRIu64 ",\"done\":%" PRIu64 ",\"bad\":%" PRIu64
           ",\"checked\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"shards\":%" PRIu32
           ",\"seconds\":%.3f,\"problem_count\":%" PRIu64 ",\"problems\":[",
           s->is_pack ? "true" : "false", s->samples, s->done, s->bad, s->checked, s->bytes,
           s->shards, s->seconds, s->problems);
    for (uint32_t i = 0; i < v->problem_count; i++) {
        printf("%s{\"name\":", i > 0 ? "," : "");
        cli_json_string(v->problems[i]);
        printf(",\"why\":");
        cli_json_string(v->problems[i] + strlen(v->problems[i]) + 1);
        printf("}");
    }
    printf("]}\n");
}

static int run(verify *v, sluice_stop *stop)
{
    int code;

    v->config.progress = on_progress;
    v->config.problem = on_problem;
    v->config.user = v;
    v->config.stop = stop;
    v->stats.struct_size = sizeof(v->stats);
    cli_progress_begin(&v->progress);
    v->status = sluice_pack_verify(&v->config, &v->stats);
    cli_progress_end(&v->progress);
    code = cli_exit_code(v->status);
    if (v->status < 0) {
        cli_error("%s", sluice_last_error());
    }
    if (v->json) {
        print_json(v, v->status < 0 ? cli_said() : NULL);
        v->reported = true;
    } else if (v->stats.samples > 0) {
        print_text(v);
    }
    return code;
}

int cmd_verify(int argc, char **argv)
{
    verify v = {.workers = "auto", .json = cli_wants_json(argc, argv), .status = SLUICE_E_INVALID};
    sluice_stop *stop = NULL;
    int code;

    sluice_verify_config_init(&v.config);
    if (sluice_stop_create(&stop) != SLUICE_OK) {
        code = cli_refused(SLUICE_E_NO_MEMORY);
    } else {
        cli_catch_signals(stop);
        code = parse(&v, argc, argv);
        code = code == EXIT_DONE ? run(&v, stop) : code;
        cli_catch_signals(NULL);
    }
    if (v.json && !v.reported) {
        cli_json_failure(v.status, cli_said());
    }
    for (uint32_t i = 0; i < v.problem_count; i++) {
        free(v.problems[i]);
    }
    sluice_stop_destroy(stop);
    return code;
}
