/* SPDX-License-Identifier: Apache-2.0 */
/* Saved positions hold the arguments of a source on which the data depend: a loop does not go on
 * with others, and one from an earlier version does. */
#include "dataset_kit.h"
#include "list_kit.h"
#include "loop_kit.h"
#include "npy_kit.h"
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

/* Defaults may be written out. */
static void usual_fields_may_be_declared(void)
{
    const char *folder = t_folder();
    sluice_channel_position position;
    char pipeline[400];

    write_list(folder, "list.jsonl", "{\"label\": 1}\n{\"label\": 3}\n");
    snprintf(pipeline, sizeof(pipeline), "image_list %s/list.jsonl | batch 1", folder);
    T_OK(go_on(pipeline, NULL, &position));
    snprintf(pipeline, sizeof(pipeline), "image_list %s/list.jsonl fields=label | batch 1", folder);
    T_OK(go_on(pipeline, &position, NULL));
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

/* The columns of a list are those of its header, which may change with the file in its place. */
static void other_columns_of_a_list_are_refused(void)
{
    static const struct {
        const char *header;
        const char *words; /* NULL: it goes on */
    } lists[] = {
        {"x:i32\ty:i32\tb:f32[2]\n", NULL},
        {"\"x:i32\"\ty:i32\t b:f32[2]\n", NULL},
        {"y:i32\tx:i32\tb:f32[2]\n",
         "image_list: fields was 'x:i32,y:i32,b:f32[2]' and is 'y:i32,x:i32,b:f32[2]' now"},
        {"x:i32\ty:i64\tb:f32[2]\n", "is 'x:i32,y:i64,b:f32[2]' now"},
        {"x:i32\ty:i32\tb:f32[3]\n", "is 'x:i32,y:i32,b:f32[3]' now"},
        {"x:i32\ty:i32\tb:text[2]\n", "is 'x:i32,y:i32,b:text[2]' now"},
    };
    const char *folder = t_folder();
    sluice_channel_position position;
    char pipeline[400];

    snprintf(pipeline, sizeof(pipeline), "image_list %s/list.tsv | shuffle | batch 1", folder);
    for (size_t i = 0; i < COUNT(lists); i++) {
        char text[100];

        snprintf(text, sizeof(text), "%s1\t2\t3\n4\t5\t6\n", lists[i].header);
        write_list(folder, "list.tsv", text);
        if (i == 0) {
            T_OK(go_on(pipeline, NULL, &position));
        }
        T_STATUS(go_on(pipeline, &position, NULL),
                 lists[i].words == NULL ? SLUICE_OK : SLUICE_E_INVALID);
        if (lists[i].words != NULL) {
            T_CONTAINS(sluice_last_error(), lists[i].words);
        }
    }
}

/* Every kind of box has columns of one type and shape: the header tells them apart. */
static void other_boxes_of_a_list_are_refused(void)
{
    static const char *const kinds[] = {"boxes", "coco", "voc", "darknet"};
    const char *folder = t_folder();
    sluice_channel_position position;
    char pipeline[400];

    write_pair(folder, "a.ppm", "m.pgm");
    snprintf(pipeline, sizeof(pipeline), "image_list %s/list.tsv | decode | batch 1", folder);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        char text[200];

        snprintf(text, sizeof(text),
                 "image\tm:mask\tb:%s[2]\tc:i32[2]@b\n"
                 "a.ppm\tm.pgm\t0.1,0.1,0.2,0.2\t1\n",
                 kinds[i]);
        write_list(folder, "list.tsv", text);
        if (i == 0) {
            T_OK(go_on(pipeline, NULL, &position));
            T_CONTAINS(position.identity, "fields='image,m:mask,b:boxes[2],c:i32[2]@b'");
            continue;
        }
        T_STATUS(go_on(pipeline, &position, NULL), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "image_list: fields was 'image,m:mask,b:boxes[2],");
    }
}

/* Other names of classes are other numbers, in columns of one declaration. */
static void other_classes_are_refused(void)
{
    const char *folder = t_folder();
    sluice_channel_position position;
    char pipeline[400];

    snprintf(pipeline, sizeof(pipeline), "image_list %s/list.tsv | batch 1", folder);
    write_list(folder, "list.tsv", "x:i32\tk:class\n1\tcat\n2\tdog\n");
    T_OK(go_on(pipeline, NULL, &position));
    write_list(folder, "list.tsv", "x:i32\tk:class\n1\tcow\n2\tdog\n");
    T_STATUS(go_on(pipeline, &position, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the names of the samples or of their classes have changed");
}

static void write_numbers(const char *folder, const char *name)
{
    static const int32_t values[] = {1, 2, 3};

    npy_write(folder, name, "<i4", "(3,)", values, sizeof(values));
}

/* Columns are in the order of the files. */
static void another_order_of_arrays_is_refused(void)
{
    const char *folder = t_folder();
    sluice_channel_position position;
    char pipeline[600];

    write_numbers(folder, "x.npy");
    write_numbers(folder, "y.npy");
    write_numbers(folder, "z.npy");
    snprintf(pipeline, sizeof(pipeline), "npy %s/x.npy,%s/y.npy,%s/z.npy | batch 1", folder, folder,
             folder);
    T_OK(go_on(pipeline, NULL, &position));
    snprintf(pipeline, sizeof(pipeline), "npy %s names=x,y,z | batch 1", folder);
    T_OK(go_on(pipeline, &position, NULL));
    snprintf(pipeline, sizeof(pipeline), "npy %s/x.npy,%s/z.npy,%s/y.npy | batch 1", folder, folder,
             folder);
    T_STATUS(go_on(pipeline, &position, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "npy: names was x,y,z and is x,z,y now");
}

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
    T_TEST(usual_fields_may_be_declared),
    T_TEST(a_position_of_an_earlier_version_goes_on),
#endif
    T_TEST(other_columns_of_a_list_are_refused),
    T_TEST(other_boxes_of_a_list_are_refused),
    T_TEST(other_classes_are_refused),
    T_TEST(another_order_of_arrays_is_refused),
    T_TEST(a_long_source_is_shortened),
    T_END,
};
