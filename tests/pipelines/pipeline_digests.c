/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random pipelines, and prints a line for each: its number, the digest of its first steps or
 * the status that it ends with, and its text.
 *
 *     pipeline_digests data FOLDER                 writes the data into an empty folder
 *     pipeline_digests run FOLDER RULE FIRST COUNT [STATES]
 *
 * runs pipelines of that rule of the grammar. With a folder for states, a run ends with a
 * checkpoint in STATES/NUMBER, and one that has a checkpoint there resumes from it.
 *
 * The program uses public functions only, so it also builds with an older Sluice, to compare with
 * it (compare.sh).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/sluice.h>

#include "pipeline_data.h"
#include "pipeline_grammar.h"

enum { STEPS = 7, STEPS_WITH_STATE = 4 };

typedef struct settings {
    const char *data;
    const char *rule;
    const char *states; /* NULL: no checkpoints */
} settings;

static sluice_status step(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = 0;
    return SLUICE_OK;
}

/* The model has nothing to save. */
static sluice_status nothing(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static sluice_status run(sluice_device *device, sluice_dataset *dataset, uint32_t number,
                         const char *state, uint64_t *digest_out)
{
    sluice_checkpointing checkpoint;
    sluice_report_stats stats;
    sluice_report *report = NULL;
    sluice_train_config config;
    sluice_model model;
    sluice_status st;

    sluice_model_init(&model);
    model.step = step;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.max_steps = STEPS;
    config.seed = number % 5;
    config.digest = true;
    config.workers = 2;
    config.on_error = SLUICE_ON_ERROR_REPLACE;
    config.world = number % 6 == 0 ? 2 : 1;
    config.rank = number % 12 == 0;
    config.independent_ranks = config.world > 1;
    if (state[0] != '\0') {
        sluice_checkpointing_init(&checkpoint);
        checkpoint.folder = state;
        checkpoint.resume = true;
        config.checkpoint = &checkpoint;
        config.max_steps = STEPS_WITH_STATE;
        config.world = 1; /* several ranks would have to agree */
        config.rank = 0;
        config.independent_ranks = false;
        model.save = nothing;
        model.load = nothing;
    }
    st = sluice_train(device, &model, dataset, &config, &report);
    *digest_out = 0;
    sluice_report_stats_init(&stats);
    if (report != NULL && sluice_report_stats_get(report, &stats) == SLUICE_OK) {
        *digest_out = stats.digest;
    }
    sluice_report_destroy(report);
    return st;
}

static void run_number(sluice_device *device, const settings *s, uint32_t number)
{
    const char *const names[] = {"D"};
    sluice_dataset *dataset = NULL;
    char text[PIPELINE_TEXT];
    char state[4096] = "";
    uint64_t digest = 0;
    sluice_status st;

    make_pipeline(s->rule, number, text);
    if (s->states != NULL) {
        snprintf(state, sizeof(state), "%s/%" PRIu32, s->states, number);
    }
    st = sluice_dataset_parse_args(text, names, &s->data, strstr(text, "${D}") != NULL, &dataset);
    if (st == SLUICE_OK) {
        st = run(device, dataset, number, state, &digest);
    }
    if (st == SLUICE_OK) {
        printf("%" PRIu32 " %016" PRIx64 " %s\n", number, digest, text);
    } else {
        printf("%" PRIu32 " %s %s\n", number, sluice_status_name(st), text);
        if (getenv("ERRORS") != NULL) {
            printf("    %s\n", sluice_last_error());
        }
    }
    fflush(stdout);
    sluice_dataset_destroy(dataset);
}

int main(int argc, char **argv)
{
    sluice_device *device = NULL;
    settings s;

    sluice_log_set_level(SLUICE_LOG_OFF);
    if (argc == 3 && strcmp(argv[1], "data") == 0) {
        make_pipeline_data(argv[2]);
        return 0;
    }
    if ((argc != 6 && argc != 7) || strcmp(argv[1], "run") != 0) {
        fprintf(stderr,
                "usage: pipeline_digests data FOLDER | run FOLDER RULE FIRST COUNT [STATES]\n");
        return 2;
    }
    if (sluice_device_open("host:0", &device) != SLUICE_OK) {
        fprintf(stderr, "%s\n", sluice_last_error());
        return 2;
    }
    s = (settings){argv[2], argv[3], argc == 7 ? argv[6] : NULL};
    for (uint32_t i = 0; i < (uint32_t)atol(argv[5]); i++) {
        run_number(device, &s, (uint32_t)atol(argv[4]) + i);
    }
    sluice_device_close(device);
    return 0;
}
