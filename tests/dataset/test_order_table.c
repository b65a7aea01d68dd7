/* SPDX-License-Identifier: Apache-2.0 */
/* The table of which stage may follow which: a pipeline for each of its rows, and an answer for
 * each pair of kinds. */
#include <stdio.h>
#include <string.h>

#include <sluice/arrays.h>
#include <sluice/custom.h>

#include "dataset_state.h"
#include "stage_order.h"
#include "stage_table.h"
#include "testing.h"

enum { SAMPLES = 4, SIDE = 8, MOST_ROWS = 100 };

/* ---- each row -------------------------------------------------------------------------------- */

static sluice_status do_nothing(sluice_sample *sample, void *user)
{
    (void)sample;
    (void)user;
    return SLUICE_OK;
}

static sluice_status keep_all(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 1;
    return SLUICE_OK;
}

static sluice_status add_map(sluice_dataset *dataset, const char *name, uint32_t version)
{
    static const char *const inputs[] = {"image"};
    static const sluice_column_spec outputs[] = {{.name = "image_sum", .dtype = SLUICE_I32}};
    sluice_map map;

    sluice_map_init(&map);
    map.name = name;
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = do_nothing;
    map.version = version;
    return sluice_dataset_map(dataset, &map);
}

static sluice_status add_filter(sluice_dataset *dataset)
{
    static const char *const inputs[] = {"label"};
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "all";
    filter.inputs = inputs;
    filter.input_count = 1;
    filter.filter = keep_all;
    return sluice_dataset_filter(dataset, &filter);
}

/* Samples in memory: an image and what follows it, numbers, and documents. */
static sluice_dataset *open_arrays(void)
{
    static uint8_t image[SAMPLES][SIDE][SIDE][3];
    static float boxes[SAMPLES][2][4];
    static int32_t labels[SAMPLES];
    static int32_t ids[SAMPLES][5];
    static int32_t lengths[SAMPLES] = {1, 2, 3, 4};
    static int32_t classes[SAMPLES][2];
    const sluice_array arrays[] = {
        {"image", image, SLUICE_U8, 4, {SAMPLES, SIDE, SIDE, 3}},
        {"b", boxes, SLUICE_F32, 3, {SAMPLES, 2, 4}},
        {"label", labels, SLUICE_I32, 1, {SAMPLES}},
        {"ids", ids, SLUICE_I32, 2, {SAMPLES, 5}},
        {"ids_length", lengths, SLUICE_I32, 1, {SAMPLES}},
        {"c", classes, SLUICE_I32, 2, {SAMPLES, 2}},
    };
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_memory(arrays, COUNT(arrays), &dataset));
    return dataset;
}

/* Adds a stage: a text; or @map, @pure or @filter, which only a function can add. */
static sluice_status add_stage(sluice_dataset *dataset, const char *stage)
{
    return strcmp(stage, "@map") == 0      ? add_map(dataset, "sum", 0)
           : strcmp(stage, "@pure") == 0   ? add_map(dataset, "pure", 1)
           : strcmp(stage, "@filter") == 0 ? add_filter(dataset)
                                           : sluice_dataset_add(dataset, stage);
}

/* True if a line is what the message of a row gives, with names for its words in braces. */
static bool is_message(const char *line, const char *message)
{
    while (*message != '\0') {
        if (*message == '{') {
            message = strchr(message, '}') + 1;
            for (; !is_message(line, message); line++) {
                if (*line == '\0' || strchr("\n,;:()", *line) != NULL) {
                    return false;
                }
            }
            return true;
        }
        if (*line++ != *message++) {
            return false;
        }
    }
    return *line == '\0' || *line == '\n';
}

/* Notes the row that has refused a pipeline. */
static void note_row(const char *stages, const char *error, uint32_t *hits)
{
    uint32_t count;
    const order_row *rows = stage_order_rows(&count);
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (is_message(error, rows[i].message)) {
            hits[i]++;
            found++;
        }
    }
    if (found != 1) {
        T_FAIL_("%s: %u rows have the message: %s", stages, found, error);
    }
}

/* Stages of which the last one is refused. */
static const char *const refused[] = {
    "bucket ids_length 2,4 | shuffle",
    "@filter | take 2",
    "mixup 3",
    "batch 2 | resize 4,4",
    "take 2 | subset x",
    "shuffle | split train 0.5",
    "drop b | column b boxes",
    "pack ids 4 | cast ids i64",
    "@pure | cache 1M | random_invert",
    "@map | resize 4,4 | mosaic 4,4",
    "normalize imagenet | resize 4,4",
    "mosaic 4,4 | mosaic 4,4",
    "views 2 | mosaic 4,4",
    "random_invert | mosaic 4,4",
    "mosaic 4,4 | views 2",
    "column b boxes | sanitize_boxes | resize 4,4",
    "views 2 | five_crop 4",
    "views 2 | batch 2 | mixup 3",
    "column b boxes | column c of=b | box_encoder ssd300 boxes=b classes=c | resize 4,4",
    "column b boxes | column c of=b | box_encoder ssd300 boxes=b classes=c | batch 2 | mixup 3",
    "perspective top_left=3,1 | geometry",
    "mosaic 4,4 | geometry",
    "@map | geometry",
    "views 2 | geometry",
    "device | device",
    "views 2 | device",
    "device | resize 4,4",
    "device | gaussian_blur 3",
    "rotate 9 | device | rotate 9",
    "device | rotate 9 | random_invert | rotate 9",
    "cache 1M | cache 1M",
    "bucket ids_length 2,4 | cache 1M",
    "random_crop 4 | cache 1M",
    "@pure | @filter | cache 1M",
    "@map | cache 1M",
    "adjust_gamma 2 | cache 1M",
    "views 2 | cache 1M",
    "normalize imagenet | cache 1M",
    "bucket ids_length 2,4 | bucket ids_length 2,4",
    "bucket ids_length 2,4 | pack ids 4",
};

/* The same as texts, with their sources. */
static const char *const refused_texts[] = {
    "resize 8,8",
    "synthetic 4 8,8,3 | image_folder x",
    "tokens x 8 order=llmc | shuffle",
    "tokens x 8 order=llmc | pack inputs 4",
    "mix (synthetic 4 8,8,3) (synthetic 4 8,8,3) | split train 0.5",
    "concat (synthetic 4 8,8,3 | take 2) (synthetic 4 8,8,3) | subset x",
};

static void refuse_stages(const char *stages, uint32_t *hits)
{
    sluice_dataset *dataset = open_arrays();
    sluice_status st = SLUICE_OK;
    char text[300];
    char *next = text;

    snprintf(text, sizeof(text), "%s", stages);
    while (next != NULL) {
        char *stage = next;
        char *end = strstr(next, " | ");

        next = end != NULL ? end + 3 : NULL;
        if (end != NULL) {
            *end = '\0';
        }
        st = add_stage(dataset, stage);
        if (next != NULL && st != SLUICE_OK) {
            T_FAIL_("%s: %s: %s", stages, stage, sluice_last_error());
        }
    }
    T_EQ(st, SLUICE_E_INVALID);
    note_row(stages, sluice_last_error(), hits);
    sluice_dataset_destroy(dataset);
}

static void each_row_refuses_a_pipeline(void)
{
    uint32_t hits[MOST_ROWS] = {0};
    uint32_t count;
    const order_row *rows = stage_order_rows(&count);

    T_TRUE(count <= MOST_ROWS);
    for (size_t i = 0; i < COUNT(refused); i++) {
        refuse_stages(refused[i], hits);
    }
    for (size_t i = 0; i < COUNT(refused_texts); i++) {
        sluice_dataset *dataset = NULL;

        T_STATUS(sluice_dataset_parse(refused_texts[i], &dataset), SLUICE_E_INVALID);
        note_row(refused_texts[i], sluice_last_error(), hits);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (hits[i] == 0) {
            T_FAIL_("no pipeline meets row %u: %s", i, rows[i].message);
        }
    }
}

/* ---- each pair ------------------------------------------------------------------------------- */

/* Sets the states after a source, a batch if the stage needs one, and the stage. */
static void follow(const dataset_stage *stage, stage_schema *schema)
{
    schema_set_state(schema, STATE_SOURCE, "a source");
    if (stage->def->kind == STAGE_BATCH_MAP) {
        schema_set_state(schema, STATE_BATCHED, "batch");
    }
    stage_order_note(stage, schema);
}

static bool holds_stages(const stage_def *def)
{
    for (uint32_t i = 0; i < def->param_count; i++) {
        if (def->params[i].type == PARAM_STAGES || def->params[i].type == PARAM_PARTS) {
            return true;
        }
    }
    return false;
}

/* True if the table lets a stage follow another one. Fails unless the answer is complete. */
static bool may_follow(const stage_def *first, const stage_def *second)
{
    dataset_stage one = {.def = first};
    dataset_stage other = {.def = second};
    stage_schema schema = {.image = -1};
    sluice_status st;

    if (!holds_stages(first)) {
        T_OK(stage_args_default(first, one.args.bytes));
        follow(&one, &schema);
        stage_args_free(first, one.args.bytes);
    }
    T_OK(stage_args_default(second, other.args.bytes));
    st = stage_order_check(&other, &schema);
    stage_args_free(second, other.args.bytes);
    if (st != SLUICE_OK) {
        T_EQ(st, SLUICE_E_INVALID);
        if (strstr(sluice_last_error(), second->name) == NULL ||
            strpbrk(sluice_last_error(), "{}") != NULL) {
            T_FAIL_("%s | %s: %s", first->name, second->name, sluice_last_error());
        }
    }
    return st == SLUICE_OK;
}

static void each_pair_of_stages_has_an_answer(void)
{
    for (const stage_def *const *first = stage_table_with_calls; *first != NULL; first++) {
        for (const stage_def *const *second = stage_table_with_calls; *second != NULL; second++) {
            if (!holds_stages(*first) && !holds_stages(*second)) {
                (void)may_follow(*first, *second);
            }
        }
    }
}

static const stage_def *find_stage(const char *name)
{
    for (const stage_def *const *def = stage_table_with_calls; *def != NULL; def++) {
        if (strcmp((*def)->name, name) == 0) {
            return *def;
        }
    }
    T_FAIL_("there is no stage %s", name);
    return NULL;
}

/* A stage of each kind, and which of them may follow it, in the order of the rows: + or -. */
static void each_pair_of_kinds_has_an_answer(void)
{
    static const struct {
        const char *stage;
        const char *next;
    } kinds[] = {
        [STAGE_SOURCE] = {"image_folder", "-+++++++++++++-"},
        [STAGE_INDEX] = {"shuffle", "-+++++++++++++-"},
        [STAGE_COLUMNS] = {"project", "-+++++++++++++-"},
        [STAGE_CACHE] = {"cache", "-++-++++++++++-"},
        [STAGE_DEVICE] = {"device", "-+++---+++++++-"},
        [STAGE_DECODE] = {"decode", "-+++++++++++++-"},
        [STAGE_GEOMETRY] = {"center_crop", "-+++++++++++++-"},
        [STAGE_COLOR] = {"random_invert", "-++-++++++++++-"},
        [STAGE_CONVERSION] = {"normalize", "-++-++-+++++++-"},
        [STAGE_ARRAY] = {"cast", "-+++++++++++++-"},
        [STAGE_PACK] = {"pack", "--+----------+-"},
        [STAGE_BUCKET] = {"bucket", "--+-++++++--++-"},
        [STAGE_MAP] = {"map", "-+++++++++++++-"},
        [STAGE_BATCH] = {"batch", "--------------+"},
        [STAGE_BATCH_MAP] = {"mixup", "--------------+"},
    };

    for (size_t i = 0; i < COUNT(kinds); i++) {
        const stage_def *first = find_stage(kinds[i].stage);
        char next[COUNT(kinds) + 1] = "";

        T_EQ(first->kind, i);
        for (size_t k = 0; k < COUNT(kinds); k++) {
            next[k] = may_follow(first, find_stage(kinds[k].stage)) ? '+' : '-';
        }
        T_STR(next, kinds[i].next);
    }
}

const t_test order_table_tests[] = {
    T_TEST(each_row_refuses_a_pipeline),
    T_TEST(each_pair_of_stages_has_an_answer),
    T_TEST(each_pair_of_kinds_has_an_answer),
    T_END,
};
