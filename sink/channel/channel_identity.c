/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_identity.h"

#include <inttypes.h>
#include <string.h>

#include "log_int.h"
#include "rng_int.h"
#include "status_int.h"
#include "text_int.h"
#include "train_state.h"

/* Maximum length of the texts of stages and device maps. With the other lines, which are below 480
 * bytes, they fit into an identity. */
enum { STAGES_MOST = 2048, MAPS_MOST = 480, HASH_SIZE = 24 };

_Static_assert(STAGES_MOST + MAPS_MOST + 480 < SLUICE_POSITION_IDENTITY, "an identity fits");

/* What follows the beginning of a shortened text; 16 hexadecimal digits follow it. */
static const char HASH_MARK[] = "... #";

static bool is_shortened(const char *line)
{
    const size_t end = sizeof(HASH_MARK) - 1 + 16;
    const size_t length = strlen(line);

    return length >= end && strncmp(line + length - end, HASH_MARK, sizeof(HASH_MARK) - 1) == 0;
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
static sluice_status shorten_stages(char **stages)
{
    char *canonical = NULL;
    sluice_status st = sli_stages_canonical(*stages, &canonical);

    if (st == SLUICE_OK) {
        sluice_string_free(*stages);
        *stages = canonical;
        st = shorten(stages, STAGES_MOST);
    }
    return st;
}

static sluice_status print_identity(const train_state *state, char *identity)
{
    sli_text text = {0};

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
    sluice_status st;

    memset(&state, 0, sizeof(state));
    st = train_state_make(plan, &state);
    if (st == SLUICE_OK) {
        st = train_state_add_maps(&state, maps);
    }
    if (st == SLUICE_OK && strlen(state.data.stages) > STAGES_MOST) {
        st = shorten_stages(&state.data.stages);
    }
    if (st == SLUICE_OK && state.maps != NULL && strlen(state.maps) > MAPS_MOST) {
        st = shorten(&state.maps, MAPS_MOST);
    }
    if (st == SLUICE_OK) {
        st = print_identity(&state, own->identity);
    }
    train_state_free(&state);
    return st;
}

/* Shortens the stages of one state if those of the other are shortened. */
static sluice_status shorten_alike(train_state *a, train_state *b)
{
    const bool is_short = is_shortened(a->data.stages);

    return is_short == is_shortened(b->data.stages)
               ? SLUICE_OK
               : shorten_stages(is_short ? &b->data.stages : &a->data.stages);
}

static sluice_status parse_kept(const sluice_channel_position *from, train_state *kept_out)
{
    return memchr(from->identity, '\0', sizeof(from->identity)) != NULL
               ? train_state_parse(from->identity, "its identity", kept_out)
               : sli_fail(SLUICE_E_CORRUPT, "its identity is corrupt: it has no end");
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
        st = train_state_compare(&kept, mine);
    }
    if (st == SLUICE_OK) {
        train_state_keep_stored(mine, &kept);
    }
    train_state_free(&kept);
    return st;
}

static sluice_status warn_unversioned(const sli_plan *plan)
{
    sli_dataset_identity data;
    const sluice_status st = sli_plan_identity(plan, &data);

    if (st == SLUICE_OK) {
        sli_stages_warn_unversioned(data.stages);
        sluice_string_free(data.stages);
    }
    return st;
}

/* True for the position of a loop that has not begun. */
static bool is_begin(const sluice_channel_position *from)
{
    return from->batch == 0 && from->pass == 0 && from->samples == 0;
}

sluice_status channel_identity_check(const sluice_channel_position *from,
                                     sluice_channel_position *own, sli_plan *plan)
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
    st = train_state_parse(own->identity, "the channel's identity", &mine);
    if (st != SLUICE_OK) {
        return st;
    }
    mine.bound = sli_plan_has_own_order(plan);
    mine.deals = sli_plan_has_own_sharding(plan);
    st = compare(from, &mine);
    if (st == SLUICE_OK && mine.keeps_stored) {
        sli_plan_keep_stored(plan);
        st = print_identity(&mine, own->identity);
    }
    train_state_free(&mine);
    if (st == SLUICE_OK) {
        return logs ? warn_unversioned(plan) : SLUICE_OK;
    }
    return sli_fail(
        st,
        "cannot resume from config.position: %.600s; restore the earlier value, begin without "
        "config.position, or, to continue with other data all the same, set "
        "position.identity[0] to 0",
        sluice_last_error());
}
