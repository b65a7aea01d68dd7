/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a line a step: what it says, and what a resumed run makes of it. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static sluice_status step(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = *s->step == 2 ? NAN : (float)*s->step / 4;
    s->outputs[1] = 1;
    return SLUICE_OK;
}

static sluice_status eval(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = (float)*s->valid_rows / 2;
    return SLUICE_OK;
}

/* The file's bytes, good until the next call. */
static const char *contents(const char *path)
{
    static char bytes[4096];
    FILE *file = fopen(path, "rb");
    size_t size;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size = fread(bytes, 1, sizeof(bytes) - 1, file);
    fclose(file);
    bytes[size] = '\0';
    return bytes;
}

/* As `rank` of `world`: steps [first, last) of 3 batches a pass, and a validation every 2 steps. */
static void run_as(uint32_t rank, uint32_t world, const char *path, sluice_mode mode,
                   uint64_t first, uint64_t last)
{
    sluice_dataset *validation = NULL;
    sluice_callback *callback = NULL;
    kit k;

    kit_init(&k);
    T_OK(sluice_json_log(path, &callback));
    T_OK(sluice_dataset_parse("synthetic samples=4 shape=2,2,3 | batch 2", &validation));
    k.pipeline = world == 1 ? "synthetic samples=6 shape=2,2,3 | batch 2"
                            : "synthetic samples=12 shape=2,2,3 | batch 2";
    k.model.step = step;
    k.model.eval = eval;
    k.config.rank = rank;
    k.config.world = world;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    k.config.mode = mode;
    k.config.epochs = 0;
    k.config.start_step = first;
    k.config.max_steps = last - first;
    k.validation.dataset = validation;
    k.validation.every_steps = 2;
    k.callbacks = callback;
    k.callback_count = 1;
    T_OK(kit_run(&k));
    sluice_callback_destroy(callback);
    sluice_dataset_destroy(validation);
    kit_fini(&k);
}

static void run(const char *path, sluice_mode mode, uint64_t first, uint64_t last)
{
    run_as(0, 1, path, mode, first, last);
}

static const char lines[] =
    "{\"step\":0,\"epoch\":0,\"pass\":0,\"samples\":2,\"outputs\":{\"loss\":0,\"label\":1}}\n"
    "{\"step\":1,\"epoch\":0,\"pass\":0,\"samples\":2,\"outputs\":{\"loss\":0.25,\"label\":1}}\n"
    "{\"validated\":2,\"samples\":4,\"results\":{\"loss\":0.5}}\n"
    "{\"step\":2,\"epoch\":0,\"pass\":0,\"samples\":2,\"outputs\":{\"loss\":null,\"label\":1}}\n"
    "{\"step\":3,\"epoch\":1,\"pass\":1,\"samples\":2,\"outputs\":{\"loss\":0.75,\"label\":1}}\n"
    "{\"validated\":4,\"samples\":4,\"results\":{\"loss\":0.5}}\n";

static void every_step_has_a_line_in_every_mode(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        char path[300];

        snprintf(path, sizeof(path), "%s/log", t_folder());
        run(path, modes[m], 0, 4);
        T_STR(contents(path), lines);
    }
}

static void a_run_that_goes_on_cuts_what_it_does_again(void)
{
    static const char *const tails[] = {"", "{\"step\":4,\"epoch\":1",
                                        "{\"step\":9,\"epoch\":1}\n"};

    for (uint64_t first = 0; first < 4; first++) {
        char path[300];

        snprintf(path, sizeof(path), "%s/log", t_folder());
        t_write_file(path, lines, sizeof(lines) - 1);
        run(path, SLUICE_MODE_LOOP, first, 4);
        T_STR(contents(path), lines);
    }
    for (size_t i = 0; i < COUNT(tails); i++) { /* killed in a line, and lines beyond it */
        char path[300];
        char bytes[1000];

        snprintf(path, sizeof(path), "%s/log", t_folder());
        snprintf(bytes, sizeof(bytes), "%.*s%s", (int)(strstr(lines, "{\"step\":3") - lines), lines,
                 tails[i]);
        t_write_file(path, bytes, strlen(bytes));
        run(path, SLUICE_MODE_LOOP, 3, 4);
        T_STR(contents(path), lines);
    }
}

/* Others would cut and write the same file where all see one folder. */
static void of_several_ranks_the_first_alone_writes(void)
{
    const char *path = t_file("log");

    run_as(1, 2, path, SLUICE_MODE_LOOP, 0, 4);
    T_TRUE(access(path, F_OK) != 0);
    run_as(0, 2, path, SLUICE_MODE_LOOP, 0, 4);
    T_CONTAINS(contents(path), "{\"step\":3,\"epoch\":");
    T_CONTAINS(contents(path), "{\"validated\":4,");
    t_write_file(path, lines, sizeof(lines) - 1);
    run_as(1, 2, path, SLUICE_MODE_LOOP, 0, 4);
    T_STR(contents(path), lines);
}

static void a_file_that_cannot_be_is_an_error(void)
{
    sluice_callback *callback = NULL;
    const char *path = t_file("pipe");
    kit k;

    T_STATUS(sluice_json_log(NULL, &callback), SLUICE_E_INVALID);
    T_STATUS(sluice_json_log("x", NULL), SLUICE_E_INVALID);
    kit_init(&k);
    T_OK(sluice_json_log("/nowhere/log", &callback));
    k.callbacks = callback;
    k.callback_count = 1;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    kit_fini(&k);
    sluice_callback_destroy(callback);
    T_EQ(mkfifo(path, 0600), 0);
    kit_init(&k);
    T_OK(sluice_json_log(path, &callback)); /* its lines cannot be read again */
    k.callbacks = callback;
    k.callback_count = 1;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "pipe must be a regular file");
    kit_fini(&k);
    if (access("/dev/full", W_OK) == 0) {
        sluice_callback_destroy(callback);
        kit_init(&k);
        T_OK(sluice_json_log("/dev/full", &callback));
        k.callbacks = callback;
        k.callback_count = 1;
        T_STATUS(kit_run(&k), SLUICE_E_IO);
        kit_fini(&k);
    }
    sluice_callback_destroy(callback);
}

const t_test json_log_tests[] = {
    T_TEST(every_step_has_a_line_in_every_mode),
    T_TEST(a_run_that_goes_on_cuts_what_it_does_again),
    T_TEST(of_several_ranks_the_first_alone_writes),
    T_TEST(a_file_that_cannot_be_is_an_error),
    T_END,
};
