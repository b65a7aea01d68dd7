/* SPDX-License-Identifier: Apache-2.0 */
/* Saved positions hold the arguments of a source on which the data depend: a loop does not go on
 * with others, and one from an earlier version does. */
#include "dataset_kit.h"
#include "list_kit.h"
#include "loop_kit.h"
#include "testing.h"
#include "train_state.h"

/* Opens a channel on a pipeline at a position; NULL: at the beginning. Returns its position after
 * one batch. */
static sluice_status go_on(const char *pipeline, const sluice_channel_position *from,
                           sluice_channel_position *position_out)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_dataset *dataset = parsed(pipeline);
    sluice_device *device = NULL;
    sluice_channel *channel = NULL;
    sluice_status st;

    config.position = from;
    T_OK(sluice_device_open("host:0", &device));
    st = sluice_channel_open(device, dataset, &config, &channel);
    if (st == SLUICE_OK) {
        const loop_kit loop = {device, NULL, channel};
        const sluice_batch *batch;

        T_OK(sluice_channel_start(channel));
        T_OK(loop_kit_next(&loop, &batch));
        if (position_out != NULL) {
            sluice_channel_position_init(position_out);
            T_OK(sluice_channel_position_get(channel, position_out));
        }
        sluice_channel_close(channel);
    }
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return st;
}

#ifdef SLI_HAVE_JANSSON
/* Rewrites a position as a version without the line of the source would have written it. */
static void age_position(sluice_channel_position *position)
{
    train_state state;
    sli_text old = {0};

    T_OK(train_state_parse(position->identity, "a state", &state));
    T_TRUE(state.data.source != NULL);
    sluice_string_free(state.data.source);
    state.data.source = NULL;
    train_state_print(&state, &old);
    snprintf(position->identity, sizeof(position->identity), "%s", old.data);
    sli_text_free(&old);
    train_state_free(&state);
}

static const char *lines_with(const char *folder, const char *fields)
{
    static char text[3000];

    snprintf(text, sizeof(text), "image_list %s/list.jsonl fields=%s | shuffle | batch 1", folder,
             fields);
    return text;
}

static const char *write_lines(void)
{
    const char *folder = t_folder();

    write_list(folder, "list.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n");
    return folder;
}

static void other_fields_are_refused(void)
{
    const char *folder = write_lines();
    sluice_channel_position position;

    T_OK(go_on(lines_with(folder, "x:i32=a"), NULL, &position));
    T_OK(go_on(lines_with(folder, "x:i32=a"), &position, NULL));
    T_STATUS(go_on(lines_with(folder, "x:i32=b"), &position, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "image_list: fields was 'x:i32=a' and is 'x:i32=b' now");
}

static void a_position_of_an_earlier_version_goes_on(void)
{
    const char *folder = write_lines();
    sluice_channel_position position;

    T_OK(go_on(lines_with(folder, "x:i32=a"), NULL, &position));
    age_position(&position);
    T_OK(go_on(lines_with(folder, "x:i32=a"), &position, &position));
    T_CONTAINS(position.identity, "source image_list file=- ");
}
#endif

/* A text that does not fit into the identity of a position is compared by its hash. */
static void a_long_source_is_shortened(void)
{
    static char text[4000];
    size_t at = (size_t)snprintf(text, sizeof(text), "concat");
    sluice_channel_position position;

    for (int i = 0; i < 60; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, " (synthetic 4 2,2,3 %d | take 3)",
                               100 + i);
    }
    snprintf(text + at, sizeof(text) - at, " | batch 1");
    T_OK(go_on(text, NULL, &position));
    T_CONTAINS(position.identity, "... #");
    T_OK(go_on(text, &position, NULL));
    memcpy(strstr(text, "2,2,3 159"), "2,2,3 158", 9);
    T_STATUS(go_on(text, &position, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the pipeline differs");
}

const t_test source_states_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(other_fields_are_refused),
    T_TEST(a_position_of_an_earlier_version_goes_on),
#endif
    T_TEST(a_long_source_is_shortened),
    T_END,
};
