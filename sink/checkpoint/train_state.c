/* SPDX-License-Identifier: Apache-2.0 */
#include "train_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "crc32c_int.h"
#include "stages_allowed_int.h"
#include "status_int.h"

/* The last line is this and eight hexadecimal digits. */
static const char SUM_LINE[] = "crc32c ";

sluice_status train_state_make(const sli_plan *plan, train_state *state_out)
{
    state_out->step = 0;
    state_out->position = (sli_position){0, 0};
    state_out->bound = sli_plan_has_own_order(plan);
    state_out->deals = sli_plan_has_own_sharding(plan);
    state_out->seed = plan->settings.seed;
    state_out->batch_size = plan->batch_size;
    state_out->world = plan->settings.world;
    return sli_plan_identity(plan, &state_out->data);
}

sluice_status train_state_allow(train_state *state, const char *allow)
{
    state->allow = allow;
    return allow != NULL ? sli_stages_check_allowed(allow, state->data.stages, state->data.source)
                         : SLUICE_OK;
}

sluice_status train_state_add_maps(train_state *state, const device_maps *maps)
{
    sli_text text = {0};

    if (maps->count == 0) {
        return SLUICE_OK;
    }
    device_maps_print(maps, &text);
    return sli_text_take(&text, &state->maps);
}

void train_state_free(train_state *state)
{
    sli_dataset_identity_free(&state->data);
    sluice_string_free(state->maps);
    memset(state, 0, sizeof(*state));
}

void train_state_print(const train_state *state, sli_text *text)
{
    const size_t begin = text->length;

    sli_text_add(text,
                 "sluice_state %d\nstep %" PRIu64 "\npass %" PRIu64 "\ndone %" PRIu64
                 "\nseed %" PRIu64 "\nbatch %" PRIu64 "\nworld %" PRIu64 "\nbest_name %" PRIu64
                 "\nbest_step %" PRIu64 "\nbest_value %" PRIu64 "\nsamples %" PRIu64
                 "\nnames %" PRIu64 "\nfiles %" PRIu64 "\n",
                 TRAIN_STATE_VERSION, state->step, state->position.pass, state->position.done,
                 state->seed, state->batch_size, state->world, state->best_name, state->best_step,
                 state->best_value, state->data.samples, state->data.names, state->files);
    if (state->maps != NULL) {
        sli_text_add(text, "device_maps %s\n", state->maps);
    }
    if (state->data.source != NULL) {
        sli_text_add(text, "source %s\n", state->data.source);
    }
    sli_text_add(text, "stages %s\n", state->data.stages);
    if (!text->failed) {
        sli_text_add(text, "%s%08" PRIx32 "\n", SUM_LINE,
                     sli_crc32c(0, text->data + begin, text->length - begin));
    }
}

/* Parses "NAME NUMBER\n" and advances the text after it; false if the text does not begin in this
 * form. */
static bool take_number(const char **text, const char *name, uint64_t *number_out)
{
    const size_t length = strlen(name);
    const char *at = *text;
    uint64_t number = 0;
    int digits = 0;

    if (strncmp(at, name, length) != 0 || at[length] != ' ') {
        return false;
    }
    for (at += length + 1; *at >= '0' && *at <= '9'; at++, digits++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)) {
            return false;
        }
    }
    if (digits == 0 || *at != '\n') {
        return false;
    }
    *text = at + 1;
    *number_out = number;
    return true;
}

/* Parses "NAME TEXT\n" and advances the text after it. *line_out stays NULL if the text does not
 * begin in this form. */
static sluice_status take_line(const char **text, const char *name, char **line_out)
{
    const size_t length = strlen(name);
    const char *end = strchr(*text, '\n');
    sli_text line = {0};

    if (strncmp(*text, name, length) != 0 || (*text)[length] != ' ' || end == NULL) {
        return SLUICE_OK;
    }
    sli_text_add(&line, "%.*s", (int)(end - (*text + length + 1)), *text + length + 1);
    *text = end + 1;
    return sli_text_take(&line, line_out);
}

/* Parses the lines of text at the end: the device maps and the source, which may be missing, and
 * the stages; a checked line with the checksum may follow. */
static sluice_status take_lines(const char *text, const char *what, train_state *state)
{
    const char *rest = state->version > TRAIN_STATE_UNSUMMED ? SUM_LINE : "";
    sluice_status st = take_line(&text, "device_maps", &state->maps);

    if (st == SLUICE_OK) {
        st = take_line(&text, "source", &state->data.source);
    }
    if (st == SLUICE_OK) {
        st = take_line(&text, "stages", &state->data.stages);
    }
    if (st == SLUICE_OK &&
        (state->data.stages == NULL || strncmp(text, rest, strlen(rest) + (*rest == '\0')) != 0)) {
        st = sli_fail(SLUICE_E_CORRUPT, "%s is corrupt: no line of stages at its end", what);
    }
    return st;
}

/* Checks the last line of a text against the lines before it. */
static sluice_status check_sum(const char *text, const char *what)
{
    const size_t line = sizeof(SUM_LINE) - 1 + 8 + 1;
    const size_t length = strlen(text);
    const size_t end = length > line ? length - line : 0;
    char own[sizeof(SUM_LINE) + 9];

    snprintf(own, sizeof(own), "%s%08" PRIx32 "\n", SUM_LINE, sli_crc32c(0, text, end));
    return strcmp(text + end, own) == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "%s is corrupt: its last line must be %.*s", what,
                          (int)line - 1, own);
}

/* Checks that the text is a state of a version that this library reads. */
static sluice_status take_version(const char **text, const char *what, uint64_t *version_out)
{
    const char *all = *text;
    sluice_status st = SLUICE_OK;

    if (strnlen(all, TRAIN_STATE_SIZE) == TRAIN_STATE_SIZE ||
        !take_number(text, "sluice_state", version_out)) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is corrupt: not the state of a run", what);
    }
    if (*version_out != TRAIN_STATE_UNSUMMED) {
        st = check_sum(all, what); /* later versions have it as well */
    }
    if (st == SLUICE_OK && *version_out != TRAIN_STATE_VERSION &&
        *version_out != TRAIN_STATE_UNSUMMED) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "%s is of version %" PRIu64 ", this library reads versions %d to %d", what,
                      *version_out, TRAIN_STATE_UNSUMMED, TRAIN_STATE_VERSION);
    }
    return st;
}

sluice_status train_state_parse(const char *text, const char *what, train_state *state_out)
{
    train_state state;
    sluice_status st;

    memset(&state, 0, sizeof(state));
    st = take_version(&text, what, &state.version);
    if (st != SLUICE_OK) {
        return st;
    }
    if (!take_number(&text, "step", &state.step) ||
        !take_number(&text, "pass", &state.position.pass) ||
        !take_number(&text, "done", &state.position.done) ||
        !take_number(&text, "seed", &state.seed) ||
        !take_number(&text, "batch", &state.batch_size) ||
        !take_number(&text, "world", &state.world) ||
        !take_number(&text, "best_name", &state.best_name) ||
        !take_number(&text, "best_step", &state.best_step) ||
        !take_number(&text, "best_value", &state.best_value) ||
        !take_number(&text, "samples", &state.data.samples) ||
        !take_number(&text, "names", &state.data.names) ||
        (state.version > TRAIN_STATE_UNSUMMED && !take_number(&text, "files", &state.files))) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is corrupt, at \"%.20s\"", what, text);
    }
    st = take_lines(text, what, &state);
    if (st != SLUICE_OK) {
        train_state_free(&state);
        return st;
    }
    *state_out = state;
    return SLUICE_OK;
}

void train_state_keep_stored(train_state *mine, train_state *kept)
{
    char *text = NULL;

    mine->keeps_stored = sli_stages_keep_stored(kept->data.stages, mine->data.stages);
    if (mine->keeps_stored && mine->allow != NULL &&
        sli_stages_as_stored(mine->data.stages, &text) == SLUICE_OK) {
        sluice_string_free(mine->data.stages);
        mine->data.stages = text; /* with the arguments that were allowed to differ */
    } else if (mine->keeps_stored) {
        char *stages = mine->data.stages;

        mine->data.stages = kept->data.stages;
        kept->data.stages = stages;
    }
}

void train_state_take(train_state *mine, train_state *kept)
{
    train_state_keep_stored(mine, kept);
    mine->step = kept->step;
    mine->position = kept->position;
    mine->batch_size = kept->batch_size;
    mine->world = kept->world;
    mine->best_name = kept->best_name;
    mine->best_step = kept->best_step;
    mine->best_value = kept->best_value;
}

static sluice_status number_differs(const char *what, uint64_t was, uint64_t is)
{
    return sli_fail(SLUICE_E_INVALID, "%s was %" PRIu64 " and is %" PRIu64 " now", what, was, is);
}

/* Compares the device maps by name and version. */
static sluice_status compare_maps(const char *kept, const char *mine)
{
    kept = kept != NULL ? kept : "none";
    mine = mine != NULL ? mine : "none";
    if (strcmp(kept, mine) != 0) {
        return sli_fail(SLUICE_E_INVALID, "the device maps differ: they were %.300s, now %.300s",
                        kept, mine);
    }
    return SLUICE_OK;
}

sluice_status train_state_compare(const train_state *kept, const train_state *mine)
{
    sluice_status st =
        sli_stages_compare_allowing(kept->data.stages, mine->data.stages, mine->allow);

    if (st == SLUICE_OK && kept->data.source != NULL) {
        st = sli_stages_compare_allowing(kept->data.source, mine->data.source, mine->allow);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (kept->seed != mine->seed) {
        return number_differs("the seed", kept->seed, mine->seed);
    }
    if (mine->bound && kept->batch_size != mine->batch_size) {
        return number_differs("the order is bound to the batch size, which", kept->batch_size,
                              mine->batch_size);
    }
    if (mine->bound && kept->world != mine->world) {
        return number_differs("the order is bound to the number of ranks, which", kept->world,
                              mine->world);
    }
    if (kept->world != mine->world && mine->deals && kept->position.done > 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "a pass was begun on %" PRIu64 " ranks and cannot be ended on %" PRIu64
                        ": the pipeline deals samples to ranks itself; without its stage shard the "
                        "rest would be dealt anew",
                        kept->world, mine->world);
    }
    if (kept->data.samples != mine->data.samples) {
        return number_differs("the number of samples", kept->data.samples, mine->data.samples);
    }
    if (kept->data.names != mine->data.names) {
        return sli_fail(SLUICE_E_INVALID,
                        "the names of the samples or of their classes have changed, or the "
                        "contents of a file that a stage reads");
    }
    st = compare_maps(kept->maps, mine->maps);
    if (st == SLUICE_OK && kept->version == TRAIN_STATE_UNSUMMED) {
        st = sli_stages_check_changed(kept->data.stages);
    }
    return st;
}
