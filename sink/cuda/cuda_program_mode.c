/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the mode of a step on CUDA. Loop mode needs a step that can be captured, nodes that are
 * permitted in a loop, a driver with conditional nodes, and a test launch of no steps that
 * succeeds. Graph mode needs a step that can be captured. Otherwise the host calls each step (mode
 * data). A graph without a loop cannot be tested by a launch of no steps, since the step would run.
 */
#include <stdio.h>

#include "cuda_error_int.h"
#include "cuda_program.h"
#include "step_capture.h"

/* Minimum driver version for loops. CUDA has conditional nodes since 12.3, but they work only since
 * 12.4. */
enum { LOOP_DRIVER = 12040 };

/* Arguments of the functions that run with the device's context current. */
typedef struct mode_choice {
    cuda_program *p;
    bool check; /* capture the step twice and compare the captures */
    bool final; /* the error applies to every mode */
    cudaGraph_t step;
} mode_choice;

static sluice_status check_driver(void)
{
    int version = 0;
    const cudaError_t error = cudaDriverGetVersion(&version);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "cudaDriverGetVersion");
    }
    if (version >= LOOP_DRIVER) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_UNSUPPORTED, "the driver supports CUDA %d.%d, and loops need %d.%d",
                    version / 1000, version % 1000 / 10, LOOP_DRIVER / 1000,
                    LOOP_DRIVER % 1000 / 10);
}

/* Captures the step again for config.check, and compares the two captures. An error is final: no
 * weaker mode is tried. */
static sluice_status capture_again(mode_choice *choice, const step_capture *capture)
{
    cudaGraph_t again = NULL;
    sluice_status st = step_capture_run(capture, STEP_SECOND_FILL, &again, &choice->final);

    if (st == SLUICE_OK) {
        st = step_graph_compare(choice->p->device, choice->step, again);
    }
    choice->final = st != SLUICE_OK;
    step_graph_drop(choice->p->device, again);
    return st;
}

/* Captures the step into the graph choice->step, which is NULL after an error. */
static sluice_status capture(void *arg)
{
    mode_choice *choice = arg;
    cuda_program *p = choice->p;
    step_capture capture;
    sluice_status st = step_capture_open(p->device, &p->model, &p->view, &capture);

    if (st == SLUICE_OK) {
        st = step_capture_run(&capture, STEP_FIRST_FILL, &choice->step, &choice->final);
    }
    if (st == SLUICE_OK && choice->check) {
        st = capture_again(choice, &capture);
    }
    if (st != SLUICE_OK) {
        step_graph_drop(p->device, choice->step);
        choice->step = NULL;
    }
    step_capture_close(&capture);
    return st;
}

/*
 * Tests a launch of no steps, in which only begin runs. Its report shows that conditional nodes
 * work on this device: begin has set the condition, the body has not run, and kernels write the
 * host's memory.
 */
static sluice_status test_loop(cuda_program *p, const step_graph *loop,
                               sli_getnext_command *command)
{
    sli_getnext_report *report = &p->shared->getnext;
    sluice_status st;

    command->steps = 0;
    report->end = UINT64_MAX;
    st = step_graph_try(loop, p->handle);
    if (st != SLUICE_OK) {
        return st;
    }
    if (report->end != SLI_GETNEXT_DONE || report->steps != 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "self-test: a launch of no steps reports end %llu and %llu steps",
                        (unsigned long long)report->end, (unsigned long long)report->steps);
    }
    return p->shared->report.idle_turn == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "self-test: the body of a WHILE node runs although its condition is 0");
}

static sluice_status make_loop(void *arg)
{
    mode_choice *choice = arg;
    cuda_program *p = choice->p;
    sluice_status st = step_graph_check_loop(choice->step);

    p->control.getnext.stop = p->device_stop;
    if (st == SLUICE_OK) {
        st = step_graph_make_loop(&p->chain, choice->step, &p->control, &p->graph);
    }
    if (st == SLUICE_OK) {
        st = step_graph_upload(&p->graph, p->handle);
    }
    return st == SLUICE_OK ? test_loop(p, &p->graph, &p->shared->command) : st;
}

/* Creates the unrolled loop, with several steps per iteration. A launch uses it for its whole
 * iterations. */
static sluice_status make_turns(void *arg)
{
    mode_choice *choice = arg;
    cuda_program *p = choice->p;
    sli_getnext *g = &p->control.getnext;
    const sli_getnext single = *g;
    sluice_status st;

    g->turn = p->turn;
    g->command = p->turn_command;
    st = step_graph_make_loop(&p->chain, choice->step, &p->control, &p->turns);
    *g = single;
    if (st == SLUICE_OK) {
        st = step_graph_upload(&p->turns, p->handle);
    }
    return st == SLUICE_OK ? test_loop(p, &p->turns, &p->shared->turns) : st;
}

static sluice_status make_once(void *arg)
{
    mode_choice *choice = arg;
    cuda_program *p = choice->p;
    sluice_status st = step_graph_make_once(&p->chain, &choice->step, &p->graph);

    if (st == SLUICE_OK) {
        st = step_graph_upload(&p->graph, p->handle);
    }
    if (st != SLUICE_OK) {
        step_graph_destroy(p->device, &p->graph);
    }
    return st;
}

static sluice_status load_kernels(void *arg)
{
    cuda_program *p = arg;
    step_chain *chain = &p->chain;
    sli_kernel_launch *kernels[] = {&chain->begin, &chain->gather, &chain->next,
                                    &chain->inner, &chain->mark,   &chain->digest};
    const size_t count = chain->digest.function != NULL ? 6 : 5;
    uint32_t multiprocessors = 0;
    sluice_status st = step_graph_count_multiprocessors(p->device, &multiprocessors);

    for (size_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = step_graph_load_kernel(kernels[i], multiprocessors);
    }
    return st;
}

static sluice_status in_context(cuda_program *p, sluice_status (*call)(void *arg), void *arg)
{
    sluice_status st = sli_cuda_enter(p->device);

    if (st == SLUICE_OK) {
        st = call(arg);
        sli_cuda_leave(p->device);
    }
    return st;
}

/* Called if the requested mode is not possible: stores the reason. Returns whether a weaker mode
 * may be tried. */
static bool weakens(cuda_program *p, const program_config *config)
{
    if (config->may_weaken && p->base.mode_reason[0] == '\0') {
        snprintf(p->base.mode_reason, sizeof(p->base.mode_reason), "no %s: %.360s",
                 sluice_mode_name(config->mode), sluice_last_error());
    }
    return config->may_weaken;
}

static sluice_status choose_loop(cuda_program *p, mode_choice *choice)
{
    const sli_getnext before = p->control.getnext;
    sluice_status st = check_driver();

    if (st == SLUICE_OK) {
        st = in_context(p, make_loop, choice);
    }
    if (st == SLUICE_OK && p->turn > 1) {
        st = in_context(p, make_turns, choice);
    }
    if (st != SLUICE_OK) {
        step_graph_destroy(p->device, &p->turns);
        step_graph_destroy(p->device, &p->graph);
        p->control.getnext = before;
    }
    return st;
}

/* Chooses between loop and graph mode; the step has been captured. */
static sluice_status choose_graph(cuda_program *p, const program_config *config,
                                  mode_choice *choice)
{
    if (config->mode == SLUICE_MODE_LOOP) {
        sluice_status st = choose_loop(p, choice);

        if (st == SLUICE_OK || !weakens(p, config)) {
            return st;
        }
    }
    p->base.mode = SLUICE_MODE_GRAPH;
    p->control.one_batch = 1;
    return in_context(p, make_once, choice);
}

sluice_status cuda_program_choose_mode(cuda_program *p, const program_config *config)
{
    mode_choice choice = {.p = p, .check = config->check};
    sluice_status st = in_context(p, load_kernels, p);

    p->base.mode = config->mode;
    if (st != SLUICE_OK) {
        return st;
    }
    if (config->mode == SLUICE_MODE_LOOP || config->mode == SLUICE_MODE_GRAPH) {
        st = in_context(p, capture, &choice);
        if (st == SLUICE_OK) {
            st = choose_graph(p, config, &choice);
            step_graph_drop(p->device, choice.step);
        }
        if (st != SLUICE_OK && !choice.final && weakens(p, config)) {
            p->base.mode = SLUICE_MODE_DATA;
            st = SLUICE_OK;
        }
    }
    p->base.by_batch = p->base.mode != SLUICE_MODE_LOOP;
    p->control.one_batch = p->base.by_batch;
    p->marks_maps = p->mapped && p->graph.exec == NULL;
    return st;
}
