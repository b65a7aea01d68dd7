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

/* Replaces a text longer than `most` by its beginning and its hash. */
static sluice_status shorten(char **line, size_t most)
{
    sli_text text = {0};

    if (*line == NULL || strlen(*line) <= most) {
        return SLUICE_OK;
    }
    sli_text_add(&text, "%.*s... #%016" PRIx64, (int)(most - HASH_SIZE), *line,
                 sli_hash_text(*line));
    sluice_string_free(*line);
    *line = NULL;
    return sli_text_take(&text, line);
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
    if (st == SLUICE_OK) {
        st = shorten(&state.data.stages, STAGES_MOST);
    }
    if (st == SLUICE_OK) {
        st = shorten(&state.maps, MAPS_MOST);
    }
    if (st == SLUICE_OK) {
        st = print_identity(&state, own->identity);
    }
    train_state_free(&state);
    return st;
}

static sluice_status compare(const sluice_channel_position *from, const train_state *mine,
                             bool warns)
{
    train_state kept;
    sluice_status st;

    if (memchr(from->identity, '\0', sizeof(from->identity)) == NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "its identity is damaged: it has no end");
    }
    st = train_state_parse(from->identity, &kept);
    if (st != SLUICE_OK) {
        return st;
    }
    kept.position = (sli_position){from->pass, from->samples};
    st = train_state_compare(&kept, mine);
    if (st == SLUICE_OK && warns) {
        sli_stages_warn_unversioned(kept.data.stages);
    }
    train_state_free(&kept);
    return st;
}

/* True for the position of a loop that has not begun. */
static bool is_begin(const sluice_channel_position *from)
{
    return from->batch == 0 && from->pass == 0 && from->samples == 0;
}

sluice_status channel_identity_check(const sluice_channel_position *from,
                                     const sluice_channel_position *own, const sli_plan *plan)
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
    st = train_state_parse(own->identity, &mine);
    if (st != SLUICE_OK) {
        return st;
    }
    mine.bound = sli_plan_has_own_order(plan);
    mine.deals = sli_plan_deals_itself(plan);
    st = compare(from, &mine, logs);
    train_state_free(&mine);
    return st == SLUICE_OK
               ? SLUICE_OK
               : sli_fail(st,
                          "cannot resume from config.position: %.600s; restore what it was, begin "
                          "without config.position, or, to continue with other data all the same, "
                          "set position.identity[0] to 0",
                          sluice_last_error());
}
