/* SPDX-License-Identifier: Apache-2.0 */
#include "mode_check.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "callback_int.h"
#include "error_int.h"
#include "file_tree_int.h"
#include "format_int.h"
#include "log_int.h"
#include "nested_run.h"
#include "stall_monitor.h"
#include "watched_model.h"

enum { STEPS_MOST = 16, STEPS_LEAST = 2, FOLDER_SIZE = 4096, VALUE_SIZE = 40 };

/* Digests of the inputs, and the outputs, of the checked steps. */
typedef struct step_trace {
    uint32_t count;
    uint64_t digests[STEPS_MOST];
    float outputs[STEPS_MOST][SLUICE_MAX_OUTPUTS];
} step_trace;

typedef struct mode_check {
    train_run *run;
    sluice_model model; /* save and load are under the callback watchdog */
    uint64_t steps;
    char folder[FOLDER_SIZE];    /* folder of the saved model */
    sluice_callback **callbacks; /* the user's callbacks, then `trace` */
    sluice_callback trace;       /* internal callback that records the steps in `got` */
    step_trace expected;         /* trace of the first run, in direct mode */
    step_trace got;              /* trace of the latest run */
} mode_check;

/* ---- the saved model ------------------------------------------------------------------------- */

static sluice_status make_folder(mode_check *c)
{
    const char *parent = getenv("TMPDIR");

    parent = parent != NULL && parent[0] != '\0' ? parent : "/tmp";
    if (snprintf(c->folder, sizeof(c->folder), "%s/sluice-check-XXXXXX", parent) >=
        (int)sizeof(c->folder)) {
        return sli_fail(SLUICE_E_INVALID, "check: the folder's name is too long: %.200s...",
                        parent);
    }
    return mkdtemp(c->folder) != NULL
               ? SLUICE_OK
               : sli_fail_errno(SLUICE_E_IO, errno, "check: cannot make a folder in %s (TMPDIR)",
                                parent);
}

static void remove_folder(const mode_check *c)
{
    if (sli_tree_remove(AT_FDCWD, c->folder) != 0) {
        sli_log(SLUICE_LOG_WARN, "check: cannot remove %s: %s", c->folder, strerror(errno));
    }
}

/* Saves as rank 0 of 1, since each rank has a folder of its own. */
static sluice_status save_model(mode_check *c)
{
    const uint64_t failures = sli_fail_count();
    const sluice_status st =
        sli_callback_status(c->model.save(c->model.user, c->folder, 0, 1), failures,
                            "check, folder %s: model.save", c->folder);

    return st < 0 ? st : SLUICE_OK;
}

static sluice_status load_model(mode_check *c)
{
    const uint64_t failures = sli_fail_count();
    const sluice_status st =
        sli_callback_status(c->model.load(c->model.user, c->folder, 0, 1), failures,
                            "check, folder %s: model.load", c->folder);

    return st < 0 ? st : SLUICE_OK;
}

/* ---- running steps --------------------------------------------------------------------------- */

static sluice_status keep_trace(sluice_hook *hook, void *user)
{
    step_trace *t = user;

    for (uint64_t i = 0; i < hook->record_count && t->count < STEPS_MOST; i++, t->count++) {
        t->digests[t->count] = sluice_hook_record(hook, i)->digest;
        memcpy(t->outputs[t->count], sluice_hook_record(hook, i)->outputs,
               hook->output_count * sizeof(sluice_hook_record(hook, i)->outputs[0]));
    }
    return SLUICE_OK;
}

/* Derives the settings of a nested run over the checked steps. */
static void make_config(const mode_check *c, sluice_mode mode, sluice_train_config *config)
{
    const bool several = c->run->config.world > 1;

    *config = c->run->config;
    config->mode = mode;
    config->start_step = c->run->plan.sinks.first_step;
    config->initial_epoch = 0;
    config->epochs = 0;
    config->max_steps = c->steps;
    config->max_seconds = 0;
    if (config->sink_size > 0 && (uint64_t)config->sink_size < c->steps) {
        config->sink_size = (int64_t)c->steps;
    }
    config->output_capacity = 0; /* enough for one launch */
    config->callbacks = c->callbacks;
    config->callback_count++;
    config->digest = true;
    config->learning_rate = &c->run->learning_rate;
    config->checkpoint = NULL;
    config->validation = NULL;
    config->check = false;
    if (several) { /* only the outer run calls agree, between the nested runs */
        config->agree = NULL;
        config->stop = NULL;
        config->nan_guard =
            config->nan_guard == SLUICE_NAN_STOP ? SLUICE_NAN_COUNT : config->nan_guard;
    }
}

/*
 * Runs the checked steps and stores their trace in c->got. Returns OK, STOPPED or an error. A
 * barrier precedes the steps, so no rank waits in a step for a rank whose check has failed.
 */
static sluice_status trace_steps(mode_check *c, sluice_mode mode)
{
    sluice_model model = c->run->model;
    sluice_train_config config;
    sluice_status st = agree_barrier(&c->run->ranks);

    if (st != SLUICE_OK) {
        return st;
    }
    make_config(c, mode, &config);
    c->got.count = 0;
    if (c->run->validation.dataset == NULL) {
        model.result_count = 0; /* hooks are told the results that the whole run will have */
    }
    st = nested_run(c->run->device, &model, c->run->feed.config.dataset, &config, NULL);
    if (st < 0) {
        return sli_fail_quoting(st, "check, in %s mode: %.900s", sluice_mode_name(mode),
                                sluice_last_error());
    }
    return st == SLUICE_STOPPED ? st : SLUICE_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Prints enough digits, or the bits of a NaN, so that different values have different texts. */
static void print_value(float value, char text[VALUE_SIZE])
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (isnan(value)) {
        snprintf(text, VALUE_SIZE, "nan (0x%08x)", bits);
    } else {
        sli_print(text, VALUE_SIZE, "%.9g", (double)value);
    }
}

static sluice_status outputs_differ(const mode_check *c, sluice_mode mode, uint32_t i, uint32_t k)
{
    const unsigned long long step = c->run->plan.sinks.first_step + i;
    const char *name = c->run->model.output_names[k];
    char expected[VALUE_SIZE];
    char got[VALUE_SIZE];

    print_value(c->expected.outputs[i][k], expected);
    print_value(c->got.outputs[i][k], got);
    if (mode == SLUICE_MODE_DIRECT) {
        return sli_fail(SLUICE_E_INVALID,
                        "check: step %llu: two runs in direct mode from the same saved model give "
                        "%s %s and %s: model.load does not restore all that steps and hooks "
                        "change, or the step is not a function of its inputs and its model",
                        step, name, expected, got);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "check: step %llu: output %s is %s in direct and %s in %s mode: the step "
                    "depends on something other than what its addresses hold; see the guide, Make "
                    "your step sinkable",
                    step, name, expected, got, sluice_mode_name(mode));
}

/* Compares c->got, the trace recorded in `mode`, with c->expected. */
static sluice_status compare_traces(const mode_check *c, sluice_mode mode)
{
    const step_trace *a = &c->expected;
    const step_trace *b = &c->got;

    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        if (a->digests[i] != b->digests[i]) {
            return sli_fail(SLUICE_E_INVALID,
                            "check: step %llu: the inputs differ between two runs: if no file has "
                            "changed meanwhile this is a bug in Sluice",
                            (unsigned long long)(c->run->plan.sinks.first_step + i));
        }
        for (uint32_t k = 0; k < c->run->model.output_count; k++) {
            if (memcmp(&a->outputs[i][k], &b->outputs[i][k], sizeof(a->outputs[i][k])) != 0) {
                return outputs_differ(c, mode, i, k);
            }
        }
    }
    return a->count == b->count
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "check: %u steps ran in direct mode, %u in %s mode",
                          a->count, b->count, sluice_mode_name(mode));
}

/* Runs the checked steps again from the saved model, and compares their trace. */
static sluice_status trace_again(mode_check *c, sluice_mode mode)
{
    sluice_status st = load_model(c);

    if (st == SLUICE_OK) {
        st = trace_steps(c, mode);
    }
    return st == SLUICE_OK ? compare_traces(c, mode) : st;
}

static void log_result(const mode_check *c)
{
    const sluice_mode mode = c->run->plan.mode;

    sli_log(SLUICE_LOG_INFO, "check: %u steps are the same in %s%s mode", c->expected.count,
            mode == SLUICE_MODE_DIRECT ? "two runs in " : "direct and ", sluice_mode_name(mode));
}

static sluice_status trace_modes(mode_check *c)
{
    const sluice_mode mode = c->run->plan.mode;
    sluice_status st = trace_steps(c, SLUICE_MODE_DIRECT);

    c->expected = c->got;
    if (st == SLUICE_OK) {
        st = trace_again(c, SLUICE_MODE_DIRECT);
    }
    if (st == SLUICE_OK && mode != SLUICE_MODE_DIRECT) {
        st = trace_again(c, mode);
    }
    if (st == SLUICE_OK) {
        log_result(c);
    }
    return st;
}

/* ---- the check ------------------------------------------------------------------------------- */

/* Saves the model, records and compares the traces, and loads the saved model again. */
static sluice_status check_saved_model(mode_check *c)
{
    sli_error error;
    sluice_status st = save_model(c);
    sluice_status loaded;

    if (st != SLUICE_OK) {
        return st;
    }
    st = trace_modes(c);
    sli_error_take(st, &error);
    loaded = load_model(c);
    return st >= 0 && loaded < 0 ? loaded : sli_error_raise(&error);
}

static sluice_status make_callbacks(mode_check *c)
{
    const uint32_t count = c->run->config.callback_count;

    c->callbacks = sli_calloc((size_t)count + 1, sizeof(*c->callbacks));
    if (c->callbacks == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "check: %u callbacks", count);
    }
    if (count > 0) {
        memcpy(c->callbacks, c->run->config.callbacks, count * sizeof(*c->callbacks));
    }
    sluice_callback_init(&c->trace);
    c->trace.records = keep_trace;
    c->trace.user = &c->got;
    c->callbacks[count] = &c->trace;
    return SLUICE_OK;
}

/* Number of steps to check: the length of the first sink, clamped to the bounds; 0 if no steps are
 * left. */
static uint64_t checked_steps(const sink_plan *plan)
{
    const uint64_t left = plan->end_step - plan->first_step;
    const uint64_t sink = left > 0 ? sink_plan_length(plan, plan->first_step) : 0;
    const uint64_t least = left < STEPS_LEAST ? left : STEPS_LEAST;

    return sink > STEPS_MOST ? STEPS_MOST : sink < least ? least : sink;
}

sluice_status mode_check_run(train_run *run)
{
    mode_check c = {
        .run = run, .model = train_watched_model(run), .steps = checked_steps(&run->plan.sinks)};
    sluice_status st;

    if (!run->config.check || c.steps == 0) {
        return SLUICE_OK;
    }
    if (run->model.save == NULL || run->model.load == NULL) {
        return sli_fail(SLUICE_E_INVALID, "model.%s is NULL, which config.check needs",
                        run->model.save == NULL ? "save" : "load");
    }
    if (sli_plan_reads_once(run->feed.plan)) {
        return sli_fail(
            SLUICE_E_UNSUPPORTED,
            "config.check runs the first steps three times, and data from a pipe can be read only "
            "once, as can a stream without open_pass(); check with files, or set open_pass");
    }
    st = make_callbacks(&c);
    if (st != SLUICE_OK) {
        return st;
    }
    st = make_folder(&c);
    if (st == SLUICE_OK) {
        st = check_saved_model(&c);
        remove_folder(&c);
    }
    sli_free(c.callbacks);
    polled_time_restart(&run->watch.still); /* the duration of the check is not a stall */
    if (st == SLUICE_STOPPED) {
        outcome_request(&run->outcome, OUTCOME_STOP);
        st = train_check_request(run);
    }
    return st;
}
