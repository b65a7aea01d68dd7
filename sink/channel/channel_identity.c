/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_identity.h"

#include <inttypes.h>
#include <string.h>

#include "log_int.h"
#include "rng_int.h"
#include "stages_allowed_int.h"
#include "status_int.h"
#include "text_int.h"
#include "train_state.h"

/* Maximum length of the texts of stages and device maps. With the other lines, which are below 480
 * bytes, they fit into an identity. */
enum { STAGES_MOST = 2048, MAPS_MOST = 480 };

_Static_assert(STAGES_MOST + MAPS_MOST + 480 < SLUICE_POSITION_IDENTITY, "an identity fits");

/* What follows the beginning of a shortened text; 16 hexadecimal digits follow it. */
static const char HASH_MARK[] = "... #";

/* Bytes of the mark with the digits, and how many bytes are cut off for them. */
enum { HASH_LENGTH = sizeof(HASH_MARK) - 1 + 16, HASH_SIZE = 24 };

static bool is_shortened(const char *line)
{
    const size_t length = strlen(line);

    return length >= HASH_LENGTH &&
           strncmp(line + length - HASH_LENGTH, HASH_MARK, sizeof(HASH_MARK) - 1) == 0;
}

/* Replaces a text by its beginning, so that it is not longer than `most`, and its hash. */
static sluice_status shorten(char **line, size_t most)
{
    sli_text text = {0};

    sli_text_add(&text, "%.*s%s%016" PRIx64, (int)(most - HASH_SIZE), *line, HASH_MARK,
                 sli_hash_text(*line));
    sluice_string_free(*line);
    *line = NULL;
    return sli_text_take(&text, line);
}

/* Shortens the canonical text, so that stages that give the same results have the same text. */
static sluice_status shorten_stages(char **stages, size_t most)
{
    char *canonical = NULL;
    sluice_status st = sli_stages_canonical(*stages, &canonical);

    if (st == SLUICE_OK) {
        sluice_string_free(*stages);
        *stages = canonical;
        st = shorten(stages, most);
    }
    return st;
}

/* Makes the state at the beginning, with whole texts. */
static sluice_status make_state(const sli_plan *plan, const device_maps *maps,
                                train_state *state_out)
{
    sluice_status st;

    memset(state_out, 0, sizeof(*state_out));
    st = train_state_make(plan, state_out);
    return st == SLUICE_OK ? train_state_add_maps(state_out, maps) : st;
}

/* Shortens the texts of a state so that it fits into an identity. The source gets what the others
 * leave. */
static sluice_status shorten_texts(train_state *state)
{
    static const char line[] = "source \n";
    sli_text text = {0};
    char *source = state->data.source;
    size_t left;
    sluice_status st = SLUICE_OK;

    if (strlen(state->data.stages) > STAGES_MOST) {
        st = shorten_stages(&state->data.stages, STAGES_MOST);
    }
    if (st == SLUICE_OK && state->maps != NULL && strlen(state->maps) > MAPS_MOST) {
        st = shorten(&state->maps, MAPS_MOST);
    }
    if (st != SLUICE_OK || source == NULL) {
        return st;
    }
    state->data.source = NULL;
    train_state_print(state, &text);
    state->data.source = source;
    left = SLUICE_POSITION_IDENTITY - sizeof(line) - text.length;
    if (text.failed) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "the identity of a channel");
    } else if (strlen(source) > left) {
        st = shorten(&state->data.source, left);
    }
    sli_text_free(&text);
    return st;
}

/* Writes a state into an identity; shortens its texts. */
static sluice_status print_identity(train_state *state, char *identity)
{
    sli_text text = {0};
    const sluice_status st = shorten_texts(state);

    if (st != SLUICE_OK) {
        return st;
    }
    train_state_print(state, &text);
    if (text.failed) {
        sli_text_free(&text);
        return sli_fail(SLUICE_E_NO_MEMORY, "the identity of a channel");
    }
    memcpy(identity, text.data, text.length + 1);
    sli_text_free(&text);
    return SLUICE_OK;
}

sluice_status channel_identity_make(const sli_plan *plan, const device_maps *maps,
                                    sluice_channel_position *own)
{
    train_state state;
    sluice_status st = make_state(plan, maps, &state);

    if (st == SLUICE_OK) {
        st = print_identity(&state, own->identity);
    }
    train_state_free(&state);
    return st;
}

/* Shortens the texts of `mine` that are shortened in `kept`. */
static sluice_status shorten_alike(const train_state *kept, train_state *mine)
{
    const char *source = kept->data.source;
    sluice_status st = SLUICE_OK;

    if (is_shortened(kept->data.stages)) {
        st = shorten_stages(&mine->data.stages, STAGES_MOST);
    }
    if (st == SLUICE_OK && kept->maps != NULL && mine->maps != NULL && is_shortened(kept->maps)) {
        st = shorten(&mine->maps, MAPS_MOST);
    }
    return st == SLUICE_OK && source != NULL && is_shortened(source)
               ? shorten(&mine->data.source, strlen(source) + HASH_SIZE - HASH_LENGTH)
               : st;
}

static sluice_status parse_kept(const sluice_channel_position *from, train_state *kept_out)
{
    return memchr(from->identity, '\0', sizeof(from->identity)) != NULL
               ? train_state_parse(from->identity, "its identity", kept_out)
               : sli_fail(SLUICE_E_CORRUPT, "its identity is corrupt: it has no end");
}

/* Adds to the error of a comparison that arguments of a shortened text cannot be told apart. */
static sluice_status explain_hash(const train_state *kept, const train_state *mine,
                                  sluice_status status)
{
    const char *source = kept->data.source;

    if (status != SLUICE_E_INVALID || mine->allow == NULL ||
        !(is_shortened(kept->data.stages) || (source != NULL && is_shortened(source)))) {
        return status;
    }
    return sli_fail_quoting(
        status,
        "%.500s (config.allow cannot tell: a position has only the beginning and a "
        "hash of so long a pipeline)",
        sluice_last_error());
}

static sluice_status compare(const sluice_channel_position *from, train_state *mine)
{
    train_state kept;
    sluice_status st = parse_kept(from, &kept);

    if (st != SLUICE_OK) {
        return st;
    }
    kept.position = (sli_position){from->pass, from->samples};
    st = shorten_alike(&kept, mine);
    if (st == SLUICE_OK) {
        st = explain_hash(&kept, mine, train_state_compare(&kept, mine));
    }
    if (st == SLUICE_OK) {
        train_state_keep_stored(mine, &kept);
    }
    train_state_free(&kept);
    return st;
}

sluice_status channel_identity_check_allow(const sli_plan *plan, const char *allow)
{
    sli_dataset_identity data;
    sluice_status st = allow != NULL ? sli_plan_identity(plan, &data) : SLUICE_END_OF_DATA;

    if (st == SLUICE_OK) {
        st = sli_stages_check_allowed(allow, data.stages, data.source);
        sli_dataset_identity_free(&data);
    }
    return allow != NULL ? st : SLUICE_OK;
}

static sluice_status warn_unversioned(const sli_plan *plan)
{
    sli_dataset_identity data;
    const sluice_status st = sli_plan_identity(plan, &data);

    if (st == SLUICE_OK) {
        sli_stages_warn_unversioned(data.stages);
        sli_dataset_identity_free(&data);
    }
    return st;
}

/* True for the position of a loop that has not begun. */
static bool is_begin(const sluice_channel_position *from)
{
    return from->batch == 0 && from->pass == 0 && from->samples == 0;
}

sluice_status channel_identity_check(const sluice_channel_position *from,
                                     sluice_channel_position *own, const device_maps *maps,
                                     const char *allow, sli_plan *plan)
{
    const bool logs = plan->settings.rank == 0;
    train_state mine;
    sluice_status st;

    if (from->identity[0] == '\0') {
        if (logs && !is_begin(from)) {
            sli_log(SLUICE_LOG_WARN,
                    "config.position has no identity: it is not checked that data and pipeline are "
                    "those of the loop that saved it; save the whole struct with its identity");
        }
        return SLUICE_OK;
    }
    st = make_state(plan, maps, &mine);
    mine.allow = allow;
    if (st == SLUICE_OK) {
        st = compare(from, &mine);
    }
    if (st == SLUICE_OK && mine.keeps_stored) {
        sli_plan_keep_stored(plan);
        st = print_identity(&mine, own->identity);
    }
    train_state_free(&mine);
    if (st == SLUICE_OK) {
        return logs ? warn_unversioned(plan) : SLUICE_OK;
    }
    return sli_fail_quoting(
        st,
        "cannot resume from config.position: %.600s; restore the earlier value, begin without "
        "config.position, or, to continue with other data all the same, set "
        "position.identity[0] to 0",
        sluice_last_error());
}
