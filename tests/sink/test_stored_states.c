/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of versions before decode orient=, which used pixels as stored: a run goes on from them as
 * long as no file has an Exif orientation, also when it is resumed again.
 */
#include "checkpoint_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "loop_kit.h"
#include "testing.h"
#include "train_state.h"
#include "upright_kit.h"

enum { FILES = 8 };

/* ---- texts ----------------------------------------------------------------------------------- */

#define OLD "decode mode=rgb max_pixels=100 fast_scale=false depth=0"

static void old_stages_are_equal_to_either_orient(void)
{
    static const struct {
        const char *kept;
        const char *mine;
        bool keeps;
    } cases[] = {
        {OLD " columns=", OLD " orient=true columns=", true},
        {"shuffle | " OLD " | to_chw", "shuffle | " OLD " orient=true | to_chw", true},
        {OLD " columns=a | " OLD " columns=b",
         OLD " orient=false columns=a | " OLD " orient=true columns=b", true},
        {OLD " columns=", OLD " orient=false columns=", false},
        {OLD " orient=true", OLD " orient=true", false},
        {OLD " orient=false", OLD " orient=false", false},
        {"shuffle", "shuffle", false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        T_OK(sli_stages_compare(cases[i].kept, cases[i].mine));
        T_EQ(sli_stages_keep_stored(cases[i].kept, cases[i].mine), cases[i].keeps);
    }
    T_STATUS(sli_stages_compare(OLD " orient=true", OLD " orient=false"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "decode: orient was true and is false now");
    T_STATUS(sli_stages_compare(OLD, "decode mode=gray"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "decode: mode was rgb and is gray now");
}

/* The text of a state as a version before the argument has written it. */
static void make_old(const char *text, sli_text *old)
{
    train_state state;
    char *at;
    char *end;

    T_OK(train_state_parse(text, "a state", &state));
    at = strstr(state.data.stages, " orient=");
    end = at != NULL ? strchr(at + 1, ' ') : NULL;
    T_TRUE(end != NULL);
    if (end != NULL) {
        memmove(at, end, strlen(end) + 1);
    }
    train_state_print(&state, old);
    train_state_free(&state);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A list of files without an orientation; the last of them may have one. */
static void write_files(const char *folder, uint32_t last)
{
    char list[300];
    size_t at = (size_t)snprintf(list, sizeof(list), "image\tlabel\n");

    for (uint32_t i = 0; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, 40, 30, i == FILES - 1 ? last : 1, i + 1);
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\t%u\n", name, i);
    }
    write_list(folder, "list.tsv", list);
}

static const char *pipeline_of(const char *folder, const char *decode)
{
    static char text[400];

    snprintf(text, sizeof(text), "image_list %s/list.tsv | shuffle | %s | resize 8,8 | batch 2",
             folder, decode);
    return text;
}

/* ---- trainings ------------------------------------------------------------------------------- */

static void training_init(kit *k, const char *checkpoints, const char *pipeline, int64_t steps)
{
    checkpointed_init(k, checkpoints);
    k->pipeline = pipeline;
    k->config.sink_size = 1;
    k->config.max_steps = steps;
    k->checkpoint.every_steps = 2;
}

static void read_state(const char *path, char text[4096])
{
    FILE *file = fopen(path, "r");

    T_TRUE(file != NULL);
    text[fread(text, 1, 4095, file)] = '\0';
    fclose(file);
}

/* Rewrites the state after two steps as a version before the argument would have written it. */
static void age_state(const char *checkpoints)
{
    const char *path = t_path(checkpoints, "step-000000000002/sluice_state");
    char text[4096];
    sli_text old = {0};

    read_state(path, text);
    make_old(text, &old);
    t_write_file(path, old.data, old.length);
    sli_text_free(&old);
}

/* Runs two steps, and makes their checkpoint one of an old version. */
static void begin_old(const char *folder, const char *decode, char checkpoints[300])
{
    kit k;

    snprintf(checkpoints, 300, "%s/c", folder);
    training_init(&k, checkpoints, pipeline_of(folder, decode), 2);
    T_OK(kit_run(&k));
    kit_fini(&k);
    age_state(checkpoints);
}

/* Checks that a run from the newest checkpoint ends with this error. */
static void check_ended(const char *folder, const char *checkpoints, const char *words)
{
    kit k;

    training_init(&k, checkpoints, pipeline_of(folder, "decode"), 12);
    T_STATUS(kit_run(&k), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(k.error, words);
    kit_fini(&k);
}

/* The next state has the size that was allowed, and still no orient. */
static void it_goes_on_with_an_allowed_size(void)
{
    const char *folder = t_folder();
    char checkpoints[300];
    char pipeline[400];
    char text[4096];
    kit k;

    write_files(folder, 1);
    begin_old(folder, "decode", checkpoints);
    snprintf(pipeline, sizeof(pipeline),
             "image_list %s/list.tsv | shuffle | decode | resize 9,9 | batch 2", folder);
    training_init(&k, checkpoints, pipeline, 2);
    k.checkpoint.allow = "resize.size";
    T_OK(kit_run(&k));
    kit_fini(&k);
    read_state(t_path(checkpoints, "step-000000000004/sluice_state"), text);
    T_CONTAINS(text, "resize size=9,9");
    T_TRUE(strstr(text, " orient=") == NULL);
    training_init(&k, checkpoints, pipeline, 2);
    T_OK(kit_run(&k));
    kit_fini(&k);
}

static void a_run_goes_on_without_orientations(void)
{
    const char *folder = t_folder();
    char checkpoints[300];
    char text[4096];
    kit whole;
    kit k;

    write_files(folder, 1);
    training_init(&whole, NULL, pipeline_of(folder, "decode"), 12);
    whole.checkpoint = (sluice_checkpointing){.folder = NULL};
    T_OK(kit_run(&whole));
    begin_old(folder, "decode", checkpoints);
    for (size_t begin = 2; begin < 12; begin += 5) {
        training_init(&k, checkpoints, pipeline_of(folder, "decode"), 5);
        T_OK(kit_run(&k));
        kit_check_same(&whole, &k, begin, 5);
        kit_fini(&k);
    }
    /* The next state says that pixels were as stored, too. */
    read_state(t_path(checkpoints, "step-000000000012/sluice_state"), text);
    T_TRUE(strstr(text, "decode mode=rgb") != NULL && strstr(text, "orient=") == NULL);
    write_files(folder, 6);
    training_init(&k, checkpoints, pipeline_of(folder, "decode"), 24);
    T_STATUS(kit_run(&k), SLUICE_E_UNSUPPORTED);
    kit_fini(&k);
    kit_fini(&whole);
}

static void an_orientation_ends_it(void)
{
    const char *folder = t_folder();
    char checkpoints[300];
    kit whole;
    kit k;

    write_files(folder, 6);
    training_init(&whole, NULL, pipeline_of(folder, "decode orient=false"), 12);
    whole.checkpoint = (sluice_checkpointing){.folder = NULL};
    T_OK(kit_run(&whole));
    begin_old(folder, "decode orient=false", checkpoints);
    check_ended(folder, checkpoints,
                "7.jpg: the run is resumed from a state of a version that used pixels as stored, "
                "and the file has the Exif orientation 6; add orient=false to decode, or begin "
                "anew");
    training_init(&k, checkpoints, pipeline_of(folder, "decode orient=false"), 4);
    T_OK(kit_run(&k));
    kit_check_same(&whole, &k, (size_t)k.steps[0].step, 4);
    kit_fini(&k);
    kit_fini(&whole);
}

/* ---- channels -------------------------------------------------------------------------------- */

/* Reads a pass, or up to an error, from a position on; *end: the position after the first batch. */
static sluice_status read_pass(const char *pipeline, const sluice_channel_position *from,
                               sluice_channel_position *end)
{
    sluice_channel_config config = loop_kit_config(0, 4);
    const sluice_batch *batch = NULL;
    sluice_status st = SLUICE_OK;
    loop_kit loop;

    config.position = from;
    loop = loop_kit_open("host:0", pipeline, &config);
    T_OK(sluice_channel_start(loop.channel));
    for (int i = 0; st == SLUICE_OK; i++) {
        st = loop_kit_next(&loop, &batch);
        if (st == SLUICE_OK && i == 0) {
            sluice_channel_position_init(end);
            T_OK(sluice_channel_position_get(loop.channel, end));
        }
    }
    loop_kit_close(&loop);
    return st;
}

static void a_channel_goes_on_alike(void)
{
    const char *folder = t_folder();
    const char *pipeline = pipeline_of(folder, "decode");
    sluice_channel_position position;
    sluice_channel_position next;
    sli_text old = {0};

    write_files(folder, 1);
    T_STATUS(read_pass(pipeline, NULL, &position), SLUICE_END_OF_DATA);
    make_old(position.identity, &old);
    memcpy(position.identity, old.data, old.length + 1);
    sli_text_free(&old);
    T_STATUS(read_pass(pipeline, &position, &next), SLUICE_END_OF_DATA);
    T_TRUE(strstr(next.identity, "orient=") == NULL);
    write_files(folder, 8);
    T_STATUS(read_pass(pipeline, &position, &next), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "and the file has the Exif orientation 8");
    T_STATUS(read_pass(pipeline_of(folder, "decode orient=false"), &position, &next),
             SLUICE_END_OF_DATA);
}

const t_test stored_states_tests[] = {
    T_TEST(old_stages_are_equal_to_either_orient),
    T_TEST(a_run_goes_on_without_orientations),
    T_TEST(it_goes_on_with_an_allowed_size),
    T_TEST(an_orientation_ends_it),
    T_TEST(a_channel_goes_on_alike),
    T_END,
};
