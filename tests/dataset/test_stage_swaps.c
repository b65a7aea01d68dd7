/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every pair of stages in both orders, `A | B` and `B | A`: if sli_stages_compare() calls them
 * equal, their batches are equal; if their batches are equal and it does not, a table says why. The
 * stages are those of the registry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/arrays.h>

#include "engine_kit.h"
#include "plan_int.h"
#include "stage_kinds.h"
#include "stage_registry.h"
#include "testing.h"

enum { TEXT = 600, SEEDS = 5, BATCHES = 6 /* at least 3 passes, which draw other numbers */ };

/* ---- what the stages work on -------------------------------------------------------------------
 */

enum { SAMPLES = 8, HEIGHT = 16, WIDTH = 20, BOXES = 2, POINTS = 4, VALUES = 5 };

static struct data {
    uint8_t image[SAMPLES][HEIGHT][WIDTH][3];
    uint8_t mask[SAMPLES][HEIGHT][WIDTH];
    float boxes[SAMPLES][BOXES][4];
    float points[SAMPLES][POINTS][2];
    float values[SAMPLES][VALUES];
    int32_t labels[SAMPLES];
    int32_t ids[SAMPLES][VALUES];
    int32_t id_lengths[SAMPLES];
    int32_t classes[SAMPLES][BOXES];
} data;

static char subset_file[300];
static char encoded[300]; /* the text of a source of JPEG files */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 24;
}

static void fill_sample(uint32_t i, uint32_t *state)
{
    for (uint32_t k = 0; k < HEIGHT * WIDTH; k++) {
        data.mask[i][k / WIDTH][k % WIDTH] = (uint8_t)(next_random(state) % 4);
        for (uint32_t c = 0; c < 3; c++) {
            data.image[i][k / WIDTH][k % WIDTH][c] = (uint8_t)next_random(state);
        }
    }
    for (uint32_t k = 0; k < BOXES; k++) {
        const float box[4] = {(float)(i + k), (float)(3 + k), (float)(9 + i), (float)(11 + k)};

        memcpy(data.boxes[i][k], box, sizeof(box));
        data.classes[i][k] = (int32_t)(i + 3 * k);
    }
    for (uint32_t k = 0; k < POINTS; k++) {
        data.points[i][k][0] = (float)(2 * k + i);
        data.points[i][k][1] = (float)(3 * k + 1);
    }
    for (uint32_t k = 0; k < VALUES; k++) {
        data.values[i][k] = (float)next_random(state);
        data.ids[i][k] = (int32_t)(10 * i + k);
    }
    data.labels[i] = (int32_t)(i % 3);
    data.id_lengths[i] = (int32_t)(1 + i % VALUES);
}

static void make_data(void)
{
    const char *folder = t_folder();
    uint32_t state = 7;
    FILE *file;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        fill_sample(i, &state);
    }
    snprintf(encoded, sizeof(encoded), "image_folder %s/jpeg", folder);
    sluice_dataset_destroy(jpeg_dataset(strchr(encoded, '/'), "decode"));
    snprintf(subset_file, sizeof(subset_file), "%s/subset.txt", folder);
    file = fopen(subset_file, "w");
    T_TRUE(file != NULL);
    fputs("0\n2\n4\n1\n7\n", file);
    fclose(file);
}

/* Arrays with whatever follows an image; arrays without it, since some stages refuse it; encoded
 * images. */
typedef enum input { FOLLOWERS, PLAIN, ENCODED, INPUTS } input;

static sluice_dataset *open_input(input from)
{
    const sluice_array arrays[] = {
        {"image", data.image, SLUICE_U8, 4, {SAMPLES, HEIGHT, WIDTH, 3}},
        {"v", data.values, SLUICE_F32, 2, {SAMPLES, VALUES}},
        {"label", data.labels, SLUICE_I32, 1, {SAMPLES}},
        {"ids", data.ids, SLUICE_I32, 2, {SAMPLES, VALUES}},
        {"ids_length", data.id_lengths, SLUICE_I32, 1, {SAMPLES}},
        {"m", data.mask, SLUICE_U8, 3, {SAMPLES, HEIGHT, WIDTH}},
        {"b", data.boxes, SLUICE_F32, 3, {SAMPLES, BOXES, 4}},
        {"p", data.points, SLUICE_F32, 3, {SAMPLES, POINTS, 2}},
        {"c", data.classes, SLUICE_I32, 2, {SAMPLES, BOXES}},
    };
    sluice_dataset *dataset = NULL;

    if (from == ENCODED) {
        T_OK(sluice_dataset_parse(encoded, &dataset));
        return dataset;
    }
    T_OK(sluice_dataset_memory(arrays, from == FOLLOWERS ? 9 : 5, &dataset));
    if (from == FOLLOWERS) {
        T_OK(sluice_dataset_add(
            dataset, "column m mask | column b boxes | column p points | column c of=b"));
    }
    return dataset;
}

/* Records some batches; free the tape's bytes. False: the stages are not legal here. */
static bool run_stages(input from, const char *stages, uint64_t seed, tape *t)
{
    const run_options options = {
        .workers = 1, .batches = BATCHES, .passes = BATCHES, .settings = {.seed = seed}};
    sluice_dataset *dataset = open_input(from);
    sluice_status st = sluice_dataset_add(dataset, stages);
    engine_run run;

    memset(t, 0, sizeof(*t));
    st = st == SLUICE_OK ? start_run(&run, dataset, &options) : st;
    if (st == SLUICE_OK) {
        while (t->batches < BATCHES && (st = next_batch(&run)) == SLUICE_OK) {
            tape_batch(t, &run);
        }
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
    return st == SLUICE_OK || st == SLUICE_END_OF_DATA;
}

/* ---- the stages --------------------------------------------------------------------------------
 */

/* Arguments of stages that need some, or that would do nothing here without. */
static const char *const examples[] = {
    "split train fraction=0.7",
    "subset @",
    "weights label",
    "take 5",
    "skip 2",
    "repeat 2",
    "column m mask",
    "project image,v,label,ids,ids_length",
    "drop v",
    "rename label number",
    "one_hot label 3",
    "box_encoder ssd300 boxes=b classes=c",
    "cast v f16",
    "pad v 9",
    "truncate v 3",
    "sanitize_boxes 9",
    "skip_empty b",
    "box_format column=b",
    "geometry g",
    "cache 1M",
    "resize 9,11",
    "center_crop 8",
    "crop 8,9 top=2 left=3",
    "random_crop 8",
    "random_resized_crop 7",
    "random_resize 6,12",
    "scale_jitter 8,9 scale=0.5,2",
    "random_shortest_size 6,8",
    "letterbox 12",
    "pad_image 2",
    "views 2",
    "five_crop 5",
    "ten_crop 5",
    "random_bbox_crop 0.4,0.9 0.5,2 0 9",
    "mosaic 8,8",
    "color_jitter 0.4 0.4 0.4 0.1",
    "color_twist 0.7,1.3 0.7,1.3 0.5,1.5 -20,20",
    "random_hsv",
    "random_posterize 3",
    "random_solarize 128",
    "random_adjust_sharpness 3",
    "gaussian_blur 3",
    "random_apply 0.5 (random_invert 1)",
    "random_choice (random_invert 1) (gaussian_blur 3)",
    "random_order (random_invert 1) (random_solarize 128)",
    "rotate 15",
    "random_rotation 30",
    "affine 10 translate=2,1 scale=0.8 shear=15,0",
    "random_affine 20 translate=0.1,0.1 scale=0.7,1.2 shear=15",
    "warp_affine 1,0.3,-4,0,1.2,-3",
    "perspective top_left=3,1",
    "elastic 20 3",
    "random_horizontal_flip swap=0:1",
    "random_vertical_flip swap=1:2",
    "normalize imagenet",
    "to_dtype f32",
    "pack ids 4",
    "bucket ids_length 2,4",
    "batch 4",
    "mixup 3",
    "cutmix 3",
};

/* Writes a stage with its arguments: those above, or of the example in its head, or none. */
static void write_example(const stage_def *def, char *text)
{
    const size_t length = strlen(def->name);
    const bool has_own = def->example != NULL && strchr(def->example, '|') == NULL &&
                         strncmp(def->example, def->name, length) == 0;

    snprintf(text, TEXT, "%s", has_own ? def->example : def->name);
    for (size_t i = 0; i < COUNT(examples); i++) {
        if (strncmp(examples[i], def->name, length) == 0 && examples[i][length] == ' ') {
            snprintf(text, TEXT, "%s", examples[i]);
        }
    }
    if (strchr(text, '@') != NULL) {
        snprintf(strchr(text, '@'), TEXT - length - 1, "%s", subset_file);
    }
}

/* What stands around the two stages. */
typedef struct frame {
    const char *before;
    const char *after;
    bool geometry_follows;
} frame;

static const frame frames[] = {
    {"", " | batch 4", false},
    {"", " | resize 6,6 | batch 4", true},
    {"resize 9,8 | to_dtype f32 | ", " | batch 4", false},
    {"batch 4 | ", "", false},
};

/* ---- pairs whose batches are equal though they are compared as different ----------------------
 */

#define KIND(kind) (1U << STAGE_##kind)

static const struct {
    uint32_t one;
    uint32_t other;
    const char *why;
} known_kinds[] = {
    {KIND(INDEX), KIND(INDEX), "equal with one rank, or for these numbers only"},
    {KIND(COLUMNS), KIND(COLUMNS), "one may name the columns of the other"},
    {KIND(ARRAY) | KIND(MAP), UINT32_MAX, "its column may be one that the other changes or reads"},
    {KIND(PACK) | KIND(BUCKET), UINT32_MAX, "its column may be one that the other changes"},
    {KIND(GEOMETRY), KIND(GEOMETRY) | KIND(COLOR) | KIND(CONVERSION), "equal for these sizes only"},
    {KIND(COLOR), KIND(COLOR), "equal for these values only"},
};

static const char *const known_pairs[][3] = {
    {"normalize", "to_dtype", "equal since both give f32"},
    {"random_erasing", "to_dtype", "equal since 0 has the same value in all types"},
    {"jpeg_quality", "random_vertical_flip", "equal since 16 lines are whole blocks"},
};

/* The kind of a stage in a frame, as a bit. */
static uint32_t kind_in(const stage_def *def, const frame *around)
{
    const stage_def *before = around->geometry_follows ? stage_before_geometry(def) : NULL;

    return 1U << (before != NULL ? before->kind : def->kind);
}

static bool is_known(const stage_def *a, const stage_def *b, const frame *around)
{
    const uint32_t one = kind_in(a, around);
    const uint32_t other = kind_in(b, around);

    for (size_t i = 0; i < COUNT(known_kinds); i++) {
        if (((known_kinds[i].one & one) != 0 && (known_kinds[i].other & other) != 0) ||
            ((known_kinds[i].one & other) != 0 && (known_kinds[i].other & one) != 0)) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(known_pairs); i++) {
        if (strcmp(known_pairs[i][0], a->name) == 0 && strcmp(known_pairs[i][1], b->name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- pairs -------------------------------------------------------------------------------------
 */

typedef enum verdict { NOT_LEGAL, DIFFERENT, EQUAL } verdict;

static verdict run_both(input from, const char *one, const char *two, uint64_t seed)
{
    verdict v = NOT_LEGAL;
    tape a;
    tape b = {0};

    if (run_stages(from, one, seed, &a) && run_stages(from, two, seed, &b)) {
        v = a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0 ? EQUAL : DIFFERENT;
    }
    free(a.bytes);
    free(b.bytes);
    return v;
}

/* The first input on which both texts are legal. */
static verdict run_on_any(const char *one, const char *two, uint64_t seed)
{
    verdict v = NOT_LEGAL;

    for (int from = 0; from < INPUTS && v == NOT_LEGAL; from++) {
        v = run_both((input)from, one, two, seed);
    }
    return v;
}

typedef struct tally {
    uint32_t equal;   /* pairs of texts that compare as equal, and are */
    uint32_t unknown; /* equal ones that compare as different, and are not in the tables */
} tally;

/* Checks two texts. loose: they may give the same batches and compare as different. */
static void check_texts(const char *one, const char *two, bool loose, tally *count)
{
    const bool compared = sli_stages_compare(one, two) == SLUICE_OK;
    const uint64_t seeds = compared ? 1 : SEEDS;
    verdict v = EQUAL;

    if (!compared && loose) {
        return;
    }
    for (uint64_t seed = 1; seed <= seeds && v == EQUAL; seed++) {
        v = run_on_any(one, two, seed);
    }
    if (v == DIFFERENT && compared) {
        T_FAIL_("'%s' and '%s' compare as equal, and give other batches", one, two);
    }
    count->equal += v == EQUAL && compared;
    if (v == EQUAL && !compared) {
        count->unknown++;
        fprintf(stderr, "'%s' and '%s' give the same batches, but %s\n", one, two,
                sluice_last_error());
    }
}

/* Checks two stages in a frame. */
static void check_pair(const char *first, const char *second, const frame *around, bool loose,
                       tally *count)
{
    char one[3 * TEXT];
    char two[3 * TEXT];

    snprintf(one, sizeof(one), "%s%s | %s%s", around->before, first, second, around->after);
    snprintf(two, sizeof(two), "%s%s | %s%s", around->before, second, first, around->after);
    check_texts(one, two, loose, count);
}

/* Calls check() for each pair of stages. */
static tally each_pair(void (*check)(const stage_def *a, const stage_def *b, tally *count))
{
    const stage_def *const *all = registry_stages();
    tally count = {0};

    make_data();
    for (uint32_t i = 0; all[i] != NULL; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (all[i]->kind != STAGE_SOURCE && all[k]->kind != STAGE_SOURCE) {
                check(all[k], all[i], &count);
            }
        }
    }
    return count;
}

static void check_stages(const stage_def *a, const stage_def *b, tally *count)
{
    char first[TEXT];
    char second[TEXT];

    write_example(a, first);
    write_example(b, second);
    for (size_t i = 0; i < COUNT(frames); i++) {
        check_pair(first, second, &frames[i], is_known(a, b, &frames[i]), count);
    }
}

/* In parentheses, and one of them in parentheses: these compare in the order of their text, so what
 * compares as different may be equal. */
static void check_groups(const stage_def *a, const stage_def *b, tally *count)
{
    static const frame inside = {"random_apply 0.5 (", ") | batch 4", false};
    char first[TEXT];
    char second[TEXT];
    char group[TEXT + 40];

    write_example(a, first);
    write_example(b, second);
    check_pair(first, second, &inside, true, count);
    for (size_t i = 0; i < COUNT(frames); i++) {
        snprintf(group, sizeof(group), "random_apply 0.5 (%s)", first);
        check_pair(group, second, &frames[i], true, count);
        snprintf(group, sizeof(group), "random_apply 0.5 (%s)", second);
        check_pair(first, group, &frames[i], true, count);
    }
}

static void pairs_compare_as_equal_if_their_batches_are(void)
{
    const tally count = each_pair(check_stages);

    T_TRUE(count.equal > 1000);
    T_EQ(count.unknown, 0);
}

static void pairs_in_parentheses_that_compare_as_equal_are(void)
{
    const tally count = each_pair(check_groups);

    T_TRUE(count.equal > 100);
}

/* A new stage needs a line in `examples` if the example in its head does not fit the data here. */
static void each_stage_has_an_example(void)
{
    const stage_def *const *all = registry_stages();

    make_data();
    for (; *all != NULL; all++) {
        char text[TEXT];
        bool legal = (*all)->kind == STAGE_SOURCE || (*all)->kind == STAGE_BATCH;

        write_example(*all, text);
        for (size_t i = 0; i < COUNT(frames) && !legal; i++) {
            char stages[2 * TEXT];

            snprintf(stages, sizeof(stages), "%s%s%s", frames[i].before, text, frames[i].after);
            legal = run_on_any(stages, stages, 1) == EQUAL;
        }
        if (!legal) {
            T_FAIL_("'%s' is not legal: %s", text, sluice_last_error());
        }
    }
}

const t_test stage_swaps_tests[] = {
    T_TEST(each_stage_has_an_example),
    T_TEST(pairs_compare_as_equal_if_their_batches_are),
    T_TEST(pairs_in_parentheses_that_compare_as_equal_are),
    T_END,
};
