/* SPDX-License-Identifier: Apache-2.0 */
/* Ready-made callbacks that print losses, times, results or a progress bar. They write to the
 * caller's file; only rank 0 writes, for all ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sluice/train.h>

#include "alloc_int.h"
#include "callback.h"
#include "clock_int.h"
#include "format_int.h"
#include "status_int.h"
#include "text_int.h"

typedef struct monitor {
    FILE *file;
    uint64_t every;
    int64_t shown_ns;    /* when the bar was last drawn; 0: not yet in this run */
    uint64_t first_step; /* first step of the run */
    bool is_terminal;    /* `file` is a terminal that supports escape sequences */
} monitor;

/* A terminal with TERM=dumb supports no escape sequences, so a line cannot be overwritten. */
static bool is_terminal(FILE *file)
{
    const char *term = getenv("TERM");

    return isatty(fileno(file)) == 1 && (term == NULL || strcmp(term, "dumb") != 0);
}

static sluice_status make_monitor(FILE *file, uint64_t every, const sluice_callback *hooks,
                                  const char *function, sluice_callback **callback_out)
{
    monitor *m;

    if (file == NULL || callback_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: file or callback_out is NULL", function);
    }
    m = sli_calloc(1, sizeof(*m));
    if (m == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%s", function);
    }
    m->file = file;
    m->every = every;
    m->is_terminal = is_terminal(file);
    return callback_create(hooks, m, function, callback_out);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static sluice_status loss_records(sluice_hook *hook, void *user)
{
    const monitor *m = user;

    for (uint64_t i = 0; hook->rank == 0 && i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);

        if ((record->step + 1) % m->every == 0) {
            fprintf(m->file, "epoch: %llu step: %llu", (unsigned long long)record->epoch + 1,
                    (unsigned long long)record->step + 1);
            for (uint32_t k = 0; k < hook->output_count; k++) {
                sli_print_file(m->file, ", %s is %.6g", hook->output_names[k],
                               (double)record->outputs[k]);
            }
            fprintf(m->file, "\n");
        }
    }
    return SLUICE_OK;
}

sluice_status sluice_loss_monitor(FILE *file, uint64_t every, sluice_callback **callback_out)
{
    const sluice_callback hooks = {.records = loss_records};

    if (every == 0) {
        return sli_fail(SLUICE_E_INVALID, "sluice_loss_monitor: every is 0, and must be at least "
                                          "1: the loss is printed after every so many steps");
    }
    return make_monitor(file, every, &hooks, "sluice_loss_monitor", callback_out);
}

/* ---- times ----------------------------------------------------------------------------------- */

static sluice_status time_epoch_end(sluice_hook *hook, void *user)
{
    const monitor *m = user;
    const double steps = hook->step_count > 0 ? (double)hook->step_count : 1;

    if (hook->rank > 0 || hook->step_count == 0) { /* an earlier run has run this epoch's steps */
        return SLUICE_OK;
    }
    sli_print_file(m->file, "epoch time: %.3f ms, per step time: %.3f ms (data wait: %.1f %%)\n",
                   hook->seconds * 1e3, hook->seconds * 1e3 / steps,
                   hook->seconds > 0 ? 100 * hook->wait_seconds / hook->seconds : 0.0);
    return SLUICE_OK;
}

sluice_status sluice_time_monitor(FILE *file, sluice_callback **callback_out)
{
    const sluice_callback hooks = {.epoch_end = time_epoch_end};

    return make_monitor(file, 1, &hooks, "sluice_time_monitor", callback_out);
}

/* ---- results --------------------------------------------------------------------------------- */

static sluice_status check_results(sluice_hook *hook, void *user)
{
    (void)user;
    return hook->result_count > 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "sluice_validation_monitor: the run has no validation, so nothing would "
                          "be printed; set config.validation, or leave the callback out");
}

static sluice_status show_results(sluice_hook *hook, void *user)
{
    const monitor *m = user;

    if (hook->rank > 0) {
        return SLUICE_OK;
    }
    fprintf(m->file, "validation: step %llu", (unsigned long long)hook->step);
    for (uint32_t i = 0; i < hook->result_count; i++) {
        sli_print_file(m->file, ", %s %.4f", hook->result_names[i], hook->results[i]);
    }
    fprintf(m->file, " (%llu samples)\n", (unsigned long long)hook->result_samples);
    return SLUICE_OK;
}

sluice_status sluice_validation_monitor(FILE *file, sluice_callback **callback_out)
{
    const sluice_callback hooks = {.train_begin = check_results, .validation = show_results};

    return make_monitor(file, 1, &hooks, "sluice_validation_monitor", callback_out);
}

/* ---- progress bar ---------------------------------------------------------------------------- */

enum { BAR_WIDTH = 24 };
static const int64_t REDRAW_NS = 100000000;

/* The bar shows waits for another rank of at least this share of the time. */
static const double LEAST_WAIT = 0.01;

static sluice_status bar_begin(sluice_hook *hook, void *user)
{
    monitor *m = user;

    m->shown_ns = 0;
    m->first_step = hook->step;
    return SLUICE_OK;
}

/* Formats the bar after `done` of `all` steps; `all` is UINT64_MAX if there is no limit. The most
 * important values come first, since the line may be truncated. */
static void print_progress(const sluice_hook *hook, uint64_t done, uint64_t all, sli_text *line)
{
    const double rate = hook->seconds > 0 ? (double)done / hook->seconds : 0;
    const sluice_step_record *last =
        sluice_hook_record(hook, hook->record_count - 1); /* NULL: no record */
    char bar[BAR_WIDTH + 1];

    if (all != UINT64_MAX) {
        int filled = all > 0 ? (int)((double)done / (double)all * BAR_WIDTH) : BAR_WIDTH;

        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', (size_t)filled);
        bar[BAR_WIDTH] = '\0';
        sli_text_add(line, "[%s] %llu/%llu", bar, (unsigned long long)done,
                     (unsigned long long)all);
    } else {
        sli_text_add(line, "%llu steps", (unsigned long long)done);
    }
    if (all != UINT64_MAX && rate > 0) {
        sli_text_add(line, ", %.0f s left", ceil((double)(all - done) / rate));
    }
    sli_text_add(line, ", epoch %llu", (unsigned long long)hook->epoch + 1);
    if (last != NULL && hook->output_names[0][0] != '\0') {
        sli_text_add(line, ", %s %.4f", hook->output_names[0], (double)last->outputs[0]);
    }
    sli_text_add(line, ", data wait %.1f %%, %.0f samples/s, %.1f steps/s",
                 hook->seconds > 0 ? 100 * hook->wait_seconds / hook->seconds : 0.0,
                 rate * hook->batch_size, rate);
    if (hook->late_rank != UINT64_MAX && hook->late_seconds >= LEAST_WAIT * hook->seconds) {
        sli_text_add(line, ", waits for rank %llu: %.0f %%", (unsigned long long)hook->late_rank,
                     hook->seconds > 0 ? 100 * hook->late_seconds / hook->seconds : 0.0);
    }
}

/* Overwrites the previous line. Text that wraps into another line of the terminal could not be
 * overwritten, so the text is truncated to one line. The last column stays empty, since terminals
 * differ in when they wrap. */
static void draw(const monitor *m, const char *line)
{
    size_t length = strlen(line);
    struct winsize window;

    if (ioctl(fileno(m->file), TIOCGWINSZ, &window) == 0 && window.ws_col > 0 &&
        length >= window.ws_col) {
        length = window.ws_col - 1U;
        while (length > 0 && ((unsigned char)line[length] & 0xC0) == 0x80) {
            length--; /* do not truncate within a UTF-8 character */
        }
    }
    fprintf(m->file, "\r%.*s\033[K", (int)length, line);
    fflush(m->file);
}

static sluice_status bar_records(sluice_hook *hook, void *user)
{
    monitor *m = user;
    const int64_t now = sli_now_ns();
    const uint64_t done = hook->step + hook->step_count - m->first_step;
    const uint64_t all =
        hook->last_step == UINT64_MAX ? UINT64_MAX : hook->last_step - m->first_step;

    if (m->is_terminal && hook->rank == 0 && (now - m->shown_ns >= REDRAW_NS || done == all)) {
        sli_text line = {0};

        m->shown_ns = now;
        print_progress(hook, done, all, &line);
        if (!line.failed) {
            draw(m, line.data);
        }
        sli_text_free(&line);
    }
    return SLUICE_OK;
}

static sluice_status bar_end(sluice_hook *hook, void *user)
{
    const monitor *m = user;

    (void)hook;
    if (m->shown_ns > 0) {
        fprintf(m->file, "\n");
    }
    return SLUICE_OK;
}

sluice_status sluice_progress_bar(FILE *file, sluice_callback **callback_out)
{
    const sluice_callback hooks = {
        .train_begin = bar_begin, .records = bar_records, .train_end = bar_end};

    return make_monitor(file, 1, &hooks, "sluice_progress_bar", callback_out);
}
