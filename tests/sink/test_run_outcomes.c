/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which a run can end, in every mode: what it answers and what it leaves. */
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "ranks_kit.h"
#include "testing.h"
#include "train_kit.h"

enum { ANY_STEPS = -1, PER_MODE = -2 };

/* A run that is to end in some way, with what that takes. */
typedef struct setting {
    kit kit;
    sluice_mode mode;
    bool sunk;
    char folder[300]; /* for checkpoints, not there yet */
    kit_source source;
    sluice_stop *stop;
    sluice_dataset *validation;
    sluice_callback *stopping; /* NULL: none */
    sluice_callback callbacks[2];
    uint64_t train_begins; /* of a run with callbacks of its own */
    uint64_t train_ends;
} setting;

/* A way to end: 100 batches a pass, sinks of 40. */
typedef struct ending {
    const char *name;
    void (*prepare)(setting *s);
    sluice_status status;
    int64_t steps;     /* ANY_STEPS, or PER_MODE: two steps, or a sink where hooks are for sinks */
    const char *error; /* a part of it; NULL: there is none */
    bool begins;       /* train_begin is called */
} ending;

/* Steps are counted from 0, so the one that asks is the 8th. */
enum { AT_STEP = 7 };

/* ---- threads --------------------------------------------------------------------------------- */

/* The thread's name in /proc, "" when it is gone by now. */
static void read_name(const char *task, char *name, size_t size)
{
    char path[100];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task);
    file = fopen(path, "r");
    if (file == NULL || fgets(name, (int)size, file) == NULL) {
        name[0] = '\0';
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The library's threads all have names of their own; others are called as the process is. Sets the
 * name of the first one; false: there is none. */
static bool find_named_thread(char *name, size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    char process[32];
    bool found = false;

    CU_ASSERT_PTR_NOT_NULL_FATAL(tasks);
    snprintf(name, size, "%d", (int)getpid());
    read_name(name, process, sizeof(process));
    while (!found && (task = readdir(tasks)) != NULL) {
        read_name(task->d_name, name, size);
        found = task->d_name[0] != '.' && name[0] != '\0' && strcmp(name, process) != 0;
    }
    closedir(tasks);
    return found;
}

/* A thread that has been joined may be listed for a moment. */
static void wait_until_threads_are_gone(void)
{
    const int64_t end_ns = sli_now_ns() + 10 * INT64_C(1000000000);
    char name[32];

    while (find_named_thread(name, sizeof(name))) {
        if (sli_now_ns() > end_ns) {
            name[strcspn(name, "\n")] = '\0';
            T_FAIL_("thread %s is still there after 10 s: it is of this run, or of a test that "
                    "failed before",
                    name);
        }
        sched_yield();
    }
}

/* So that none to be seen later means something. */
static void see_threads(kit *k)
{
    char name[32];

    (void)k;
    T_TRUE(find_named_thread(name, sizeof(name)));
}

/* ---- ends that are none ---------------------------------------------------------------------- */

static void by_epochs(setting *s)
{
    s->kit.config.max_steps = 0;
    s->kit.config.epochs = 2;
    s->kit.act_in = KIT_STEP_END;
    s->kit.act = see_threads;
}

static void by_max_steps(setting *s)
{
    s->kit.config.max_steps = 57;
}

static void by_max_seconds(setting *s)
{
    s->kit.config.max_steps = 0;
    s->kit.config.max_seconds = 0.01;
}

/* ---- on request ------------------------------------------------------------------------------ */

static void request_stop(kit *k, const sluice_step *step)
{
    if (*step->step == AT_STEP) {
        sluice_stop_request(k->config.stop);
    }
}

static void by_token(setting *s)
{
    T_OK(sluice_stop_create(&s->stop));
    s->kit.config.stop = s->stop;
    s->kit.in_step = request_stop;
}

static void by_hook(setting *s)
{
    s->kit.act_in = KIT_STEP_END;
    s->kit.act_at = 1;
    s->kit.act_stops = true;
}

static void by_step(setting *s)
{
    s->kit.step_at = AT_STEP;
    s->kit.step_answer = SLUICE_STOPPED;
}

static sluice_status judge_alike(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = (float)*step->valid_rows;
    return SLUICE_OK;
}

static sluice_status count_begin(sluice_hook *hook, void *user)
{
    (void)hook;
    ((setting *)user)->train_begins++;
    return SLUICE_OK;
}

static sluice_status count_end(sluice_hook *hook, void *user)
{
    (void)hook;
    ((setting *)user)->train_ends++;
    return SLUICE_OK;
}

static void validate(setting *s, uint64_t every_steps)
{
    T_OK(sluice_dataset_parse("synthetic samples=6 shape=4,4,3 | batch 2", &s->validation));
    s->kit.validation.dataset = s->validation;
    s->kit.validation.every_steps = every_steps;
    s->kit.model.eval = judge_alike;
}

/* The second result is no better than the first. */
static void by_early_stopping(setting *s)
{
    validate(s, 10);
    T_OK(sluice_early_stopping("loss", false, 0, 1, &s->stopping));
    s->callbacks[0] = *s->stopping;
    s->callbacks[1] =
        (sluice_callback){.train_begin = count_begin, .train_end = count_end, .user = s};
    s->kit.callbacks = s->callbacks;
    s->kit.callback_count = 2;
}

/* ---- errors of the user's -------------------------------------------------------------------- */

static void spoil(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == AT_STEP) {
        step->outputs[0] = NAN;
    }
}

static void by_nan(setting *s)
{
    s->kit.in_step = spoil;
}

static void by_step_error(setting *s)
{
    s->kit.step_at = AT_STEP;
    s->kit.step_answer = SLUICE_E_CALLBACK;
}

static void by_hook_error(setting *s)
{
    s->kit.act_in = KIT_STEP_END;
    s->kit.act_at = 1;
    s->kit.act_answer = SLUICE_E_IO;
}

/* After the last step, and all the same the run's. */
static void by_last_hook_error(setting *s)
{
    s->kit.config.max_steps = 20;
    s->kit.act_in = KIT_TRAIN_END;
    s->kit.act_answer = SLUICE_E_IO;
}

static sluice_status refuse_batch(const sluice_step *step, void *user)
{
    (void)user;
    return *step->step == 1 ? sluice_fail(SLUICE_E_UNSUPPORTED, "cannot judge this") : SLUICE_OK;
}

static void by_eval_error(setting *s)
{
    validate(s, 10);
    s->kit.model.eval = refuse_batch;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)rank;
    (void)world;
    t_write_file(t_path(folder, "state"), &((kit *)user)->state, sizeof(float));
    return SLUICE_OK;
}

static sluice_status fail_state(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return sluice_fail(SLUICE_E_IO, "the disk is gone");
}

static void by_save_error(setting *s)
{
    s->kit.checkpoint.folder = s->folder;
    s->kit.checkpoint.every_steps = 10;
    s->kit.model.save = fail_state;
}

static void by_load_error(setting *s)
{
    kit before;

    kit_init(&before);
    before.config.max_steps = 10;
    before.checkpoint.folder = s->folder;
    before.model.save = save;
    T_OK(kit_run(&before));
    kit_fini(&before);
    s->kit.checkpoint.folder = s->folder;
    s->kit.checkpoint.resume = true;
    s->kit.model.save = save;
    s->kit.model.load = fail_state;
}

static sluice_status cannot_ask(int64_t value, int64_t *most_out, void *user)
{
    (void)value;
    (void)most_out;
    (void)user;
    return sluice_fail(SLUICE_E_IO, "the network is gone");
}

static void by_agree_error(setting *s)
{
    s->kit.config.world = 2;
    s->kit.config.agree = cannot_ask;
}

/* ---- errors of data and device --------------------------------------------------------------- */

static void by_pipeline_error(setting *s)
{
    kit_source_init(&s->source, 200);
    s->source.fail_at = 21; /* of batch 10 */
    s->kit.dataset = kit_source_dataset(&s->source, 2);
}

static void release(kit *k)
{
    kit_source_release(k->user);
}

static void by_stall(setting *s)
{
    kit_source_init(&s->source, 200);
    s->source.block_at = 0;
    s->kit.dataset = kit_source_dataset(&s->source, 2);
    s->kit.config.stall_timeout_ms = 20;
    s->kit.act_in = KIT_TRAIN_END; /* the workers have to come back before the run can end */
    s->kit.act = release;
    s->kit.user = &s->source;
}

static void by_device_error(setting *s)
{
    s->kit.device = "host:0,copy=1,fail_after=33";
}

/* ---- refused --------------------------------------------------------------------------------- */

static void by_settings(setting *s)
{
    s->kit.config.epochs = 2;
    s->kit.config.initial_epoch = 2;
}

static void by_columns(setting *s)
{
    static const sluice_column want = {.name = "depth", .dtype = SLUICE_U8};

    s->kit.model.inputs = &want;
    s->kit.model.input_count = 1;
}

/* A hook that asks what only all ranks together can do. */
static void by_a_stop_of_one_rank(setting *s)
{
    s->kit.config.world = 2;
    s->kit.config.nan_guard = SLUICE_NAN_COUNT;
    by_hook(s);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const ending endings[] = {
    {"epochs", by_epochs, SLUICE_OK, ANY_STEPS, NULL, true},
    {"max_steps", by_max_steps, SLUICE_OK, 57, NULL, true},
    {"max_seconds", by_max_seconds, SLUICE_OK, ANY_STEPS, NULL, true},
    {"a token", by_token, SLUICE_STOPPED, AT_STEP + 1, NULL, true},
    {"a hook", by_hook, SLUICE_STOPPED, PER_MODE, NULL, true},
    {"the step", by_step, SLUICE_STOPPED, AT_STEP + 1, NULL, true},
    {"early stopping", by_early_stopping, SLUICE_STOPPED, 20, NULL, true},
    {"an output", by_nan, SLUICE_E_NAN, AT_STEP + 1, "step 7: ", true},
    {"a stall", by_stall, SLUICE_E_STALLED, 0, "step 0 waits for data", true},
    {"a sample", by_pipeline_error, SLUICE_E_CORRUPT, 10, "read: sample 21, kit/21", true},
    {"the step's error", by_step_error, SLUICE_E_CALLBACK, AT_STEP + 1, "step 7: ", true},
    {"a hook's error", by_hook_error, SLUICE_E_IO, PER_MODE, "hook step_end of callback 0", true},
    {"the last hook", by_last_hook_error, SLUICE_E_IO, 20, "hook train_end of callback 0", true},
    {"eval's error", by_eval_error, SLUICE_E_UNSUPPORTED, 10, "cannot judge this", true},
    {"save's error", by_save_error, SLUICE_E_IO, 10, "the disk is gone", true},
    {"load's error", by_load_error, SLUICE_E_IO, 0, "the disk is gone", false},
    {"agree's error", by_agree_error, SLUICE_E_IO, 0, "the network is gone", false},
    {"the device", by_device_error, SLUICE_E_DEVICE, 33, "fail_after", true},
    {"settings", by_settings, SLUICE_E_INVALID, 0, "initial_epoch is 2", false},
    {"columns", by_columns, SLUICE_E_INVALID, 0, "the model needs column depth", false},
    {"one rank", by_a_stop_of_one_rank, SLUICE_E_INVALID, PER_MODE, "set config.agree", true},
};

/* Every mode, and last a run without dataset_sink_mode. */
static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP, SLUICE_MODE_AUTO};

static void init(setting *s, const ending *way, sluice_mode mode)
{
    memset((void *)s, 0, sizeof(*s));
    s->sunk = mode != SLUICE_MODE_AUTO;
    snprintf(s->folder, sizeof(s->folder), "%s/checkpoints", t_folder());
    kit_init(&s->kit);
    s->kit.config.dataset_sink_mode = s->sunk;
    s->kit.config.mode = mode;
    s->kit.config.sink_size = 40;
    s->kit.config.epochs = 0;
    s->kit.config.max_steps = 1000;
    way->prepare(s);
}

static void fini(setting *s)
{
    kit_fini(&s->kit);
    sluice_stop_destroy(s->stop);
    sluice_dataset_destroy(s->validation);
    if (s->kit.dataset != NULL) {
        sluice_dataset_destroy(s->kit.dataset);
    }
    sluice_callback_destroy(s->stopping);
}

static int64_t steps_of(const setting *s, const ending *way)
{
    const bool per_sink =
        s->kit.config.mode == SLUICE_MODE_GRAPH || s->kit.config.mode == SLUICE_MODE_LOOP;

    if (way->prepare == by_epochs) {
        return s->sunk ? 80 : 200;
    }
    return way->steps == PER_MODE ? (per_sink ? 80 : 2) : way->steps;
}

/* What holds however it ended. */
static void check_ending(const setting *s, const ending *way)
{
    const kit *k = &s->kit;
    const bool own = k->callbacks == NULL; /* the kit's own hooks were called */
    const int64_t steps = steps_of(s, way);
    const uint64_t ends = own ? k->hook_calls[KIT_TRAIN_END] : s->train_ends;
    const uint64_t begins = own ? k->hook_calls[KIT_TRAIN_BEGIN] : s->train_begins;

    if (k->status != way->status) {
        T_FAIL_("%s, mode %s: %s, want %s: %s", way->name, sluice_mode_name(k->config.mode),
                sluice_status_name(k->status), sluice_status_name(way->status), k->error);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(k->report);
    T_EQ(k->report->stats.status, way->status);
    T_STR(k->report->error, k->error);
    if (way->error != NULL) {
        T_CONTAINS(k->error, way->error);
    } else {
        T_STR(k->error, "");
    }
    if (steps >= 0 && (int64_t)k->report->stats.steps != steps) {
        T_FAIL_("%s, mode %s: %llu steps, want %lld", way->name, sluice_mode_name(k->config.mode),
                (unsigned long long)k->report->stats.steps, (long long)steps);
    }
    T_EQ(begins, way->begins);
    T_EQ(ends, way->begins);
    if (own) {
        kit_check(k);
    }
}

static void each_way_to_end_is_what_it_says_in_every_mode(void)
{
    for (size_t i = 0; i < COUNT(endings) * COUNT(modes); i++) {
        const ending *way = &endings[i / COUNT(modes)];
        setting *s = malloc(sizeof(*s));

        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        init(s, way, modes[i % COUNT(modes)]);
        kit_log_start(NULL, NULL);
        (void)kit_run(&s->kit);
        (void)kit_log_stop();
        check_ending(s, way);
        wait_until_threads_are_gone();
        fini(s);
        free(s);
    }
}

/* Only the caller can see this one where there is no memory for a report either. */
static void running_out_of_memory_is_an_ending_too(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        sluice_device *device = NULL;
        sluice_dataset *dataset = NULL;
        kit k;

        kit_init(&k);
        k.config.dataset_sink_mode = modes[m] != SLUICE_MODE_AUTO;
        k.config.mode = modes[m];
        T_OK(sluice_device_open(k.device, &device));
        T_OK(sluice_dataset_parse(k.pipeline, &dataset));
        sli_alloc_fail_after(5);
        k.status = sluice_train(device, &k.model, dataset, &k.config, &k.report);
        sli_alloc_fail_after(-1);
        T_STATUS(k.status, SLUICE_E_NO_MEMORY);
        T_TRUE(sluice_last_error()[0] != '\0');
        CU_ASSERT_PTR_NULL(k.report);
        sluice_dataset_destroy(dataset);
        sluice_device_close(device);
        wait_until_threads_are_gone();
        kit_fini(&k);
    }
}

/* ---- several ranks --------------------------------------------------------------------------- */

typedef struct seen {
    sluice_status status;
    sluice_status reported;
    char error[300];
    uint64_t steps;
    uint64_t begins;
    uint64_t ends;
} seen;

/* Rank 1's step fails; rank 0 hears of it where the two agree next. */
static int fail_on_rank_1(ranks_member *me)
{
    seen *s = (seen *)me->shared + me->rank;
    kit k;

    kit_init(&k);
    k.config.mode = SLUICE_MODE_LOOP;
    k.config.sink_size = 10;
    k.config.epochs = 3;
    k.config.agree = ranks_agree;
    k.config.agree_user = me;
    if (me->rank == 1) {
        k.step_at = 14;
        k.step_answer = SLUICE_E_IO;
    }
    s->status = kit_run(&k);
    snprintf(s->error, sizeof(s->error), "%.299s", k.error);
    s->reported = k.report != NULL ? k.report->stats.status : SLUICE_OK;
    s->steps = k.count;
    s->begins = k.hook_calls[KIT_TRAIN_BEGIN];
    s->ends = k.hook_calls[KIT_TRAIN_END];
    kit_fini(&k);
    return 0;
}

static void the_failure_of_another_rank_is_an_ending_too(void)
{
    ranks_kit ranks;
    const seen *s;

    ranks_start(&ranks, 2, 2 * sizeof(seen), fail_on_rank_1);
    T_TRUE(ranks_join(&ranks));
    s = ranks.shared;
    for (uint32_t rank = 0; rank < 2; rank++) {
        T_EQ(ranks.exits[rank], 0);
        T_EQ(s[rank].status, rank == 0 ? SLUICE_E_RANK : SLUICE_E_IO);
        T_EQ(s[rank].reported, s[rank].status);
        T_EQ(s[rank].steps, rank == 0 ? 20 : 15);
        T_EQ(s[rank].begins, 1);
        T_EQ(s[rank].ends, 1);
    }
    T_CONTAINS(s[0].error, "rank 1 failed with E_IO, so rank 0 ends after step 20: step 14: ");
    T_CONTAINS(s[1].error, "step 14: the step function returned E_IO");
    ranks_end(&ranks);
}

const t_test run_outcomes_tests[] = {
    T_HOST_TEST(each_way_to_end_is_what_it_says_in_every_mode),
    T_TEST(running_out_of_memory_is_an_ending_too),
    T_HOST_TEST(the_failure_of_another_rank_is_an_ending_too),
    T_END,
};
