/* SPDX-License-Identifier: Apache-2.0 */
/* The stage column: arrays become images, masks, boxes and points, and are read as those of a list.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/arrays.h>
#include <sluice/custom.h>
#include <sluice/reader.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "npy_kit.h"
#include "testing.h"

enum { SAMPLES = 2, MOST = 3, PIXELS = LIST_WIDTH * LIST_HEIGHT };

#define LIST                                                                                       \
    "photo:image\tm:mask\tb:boxes[3]\tc:i32[3]@b\tp:points[3]\tseen:u8[3]@p\tother:image\n"        \
    "a.ppm\tm.pgm\t0,0,4,30;10,5,30,25\t1,2\t0.5,0.5;20.5,15.5;50,-3\t7,8,9\ta.ppm\n"              \
    "a.ppm\tm.pgm\t\t\t1,2;3,4;5,6\t1,2,3\ta.ppm\n"

#define ROLES                                                                                      \
    "column photo role=image | column m role=mask | column b role=boxes | column c of=b | "        \
    "column p role=points | column seen of=p | column other image"

/* The columns of LIST as arrays. */
static struct scenes {
    uint8_t photo[SAMPLES][PIXELS][3];
    uint8_t m[SAMPLES][PIXELS];
    float b[SAMPLES][MOST][4];
    int32_t c[SAMPLES][MOST];
    float p[SAMPLES][MOST][2];
    uint8_t seen[SAMPLES][MOST];
} scenes;

static void fill_scenes(void)
{
    static const float b[2][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}};
    static const float p[SAMPLES][MOST][2] = {{{0.5F, 0.5F}, {20.5F, 15.5F}, {50, -3}},
                                              {{1, 2}, {3, 4}, {5, 6}}};

    memset(&scenes, 0, sizeof(scenes));
    for (uint32_t s = 0; s < SAMPLES; s++) {
        for (uint32_t i = 0; i < PIXELS; i++) {
            scenes.photo[s][i][0] = (uint8_t)(i % LIST_WIDTH);
            scenes.photo[s][i][1] = (uint8_t)(i / LIST_WIDTH);
            scenes.photo[s][i][2] = 200;
            scenes.m[s][i] = class_of(i % LIST_WIDTH, i / LIST_WIDTH);
        }
    }
    memcpy(scenes.b[0], b, sizeof(b));
    memcpy(scenes.p, p, sizeof(p));
    scenes.c[0][0] = 1;
    scenes.c[0][1] = 2;
    memcpy(scenes.seen, "\7\10\11\1\2\3", sizeof(scenes.seen));
}

static void write_scenes(const char *folder)
{
    fill_scenes();
    npy_write(folder, "photo.npy", "|u1", "(2, 30, 40, 3)", scenes.photo, sizeof(scenes.photo));
    npy_write(folder, "other.npy", "|u1", "(2, 30, 40, 3)", scenes.photo, sizeof(scenes.photo));
    npy_write(folder, "m.npy", "|u1", "(2, 30, 40)", scenes.m, sizeof(scenes.m));
    npy_write(folder, "b.npy", "<f4", "(2, 3, 4)", scenes.b, sizeof(scenes.b));
    npy_write(folder, "c.npy", "<i4", "(2, 3)", scenes.c, sizeof(scenes.c));
    npy_write(folder, "p.npy", "<f4", "(2, 3, 2)", scenes.p, sizeof(scenes.p));
    npy_write(folder, "seen.npy", "|u1", "(2, 3)", scenes.seen, sizeof(scenes.seen));
}

/* "npy FOLDER STAGES" */
static sluice_dataset *npy_dataset(const char *folder, const char *stages)
{
    char text[900];

    snprintf(text, sizeof(text), "npy %s %s", folder, stages);
    return parsed(text);
}

/* Checks that two runs have the same batches in these columns. */
static void check_same_columns(sluice_dataset *got, sluice_dataset *want, const char *const *names,
                               const run_options *options)
{
    engine_run runs[2];
    uint64_t batches = 0;

    open_run(&runs[0], got, options);
    open_run(&runs[1], want, options);
    for (;;) {
        const sluice_status st = next_batch(&runs[0]);

        T_EQ(next_batch(&runs[1]), st);
        if (st != SLUICE_OK) {
            T_EQ(st, SLUICE_END_OF_DATA);
            break;
        }
        for (const char *const *name = names; *name != NULL; name++) {
            const int column = sli_layout_find(&runs[0].layout, *name);

            T_TRUE(column >= 0);
            if (memcmp(column_row(&runs[0], *name, 0), column_row(&runs[1], *name, 0),
                       row_bytes(&runs[0], (uint32_t)column)) != 0) {
                CU_FAIL("a column differs");
                printf("column %s differs in batch %llu\n", *name, (unsigned long long)batches);
            }
        }
        batches++;
    }
    T_TRUE(batches >= SAMPLES);
    close_run(&runs[0]);
    close_run(&runs[1]);
    sluice_dataset_destroy(got);
    sluice_dataset_destroy(want);
}

static const char *const all_columns[] = {"photo", "m",    "b",     "b_length", "c",
                                          "p",     "seen", "other", NULL};

/* The folder of the list and that of the arrays. */
static void write_both(char *list, char *arrays, size_t size)
{
    snprintf(list, size, "%s", t_folder());
    write_pair(list, "a.ppm", "m.pgm");
    snprintf(arrays, size, "%s", t_folder());
    write_scenes(arrays);
}

/* ---- what the roles do ----------------------------------------------------------------------- */

static void arrays_follow_as_the_columns_of_a_list(void)
{
    static const char *const stages[] = {
        "center_crop 20",
        "random_resized_crop 16 | random_horizontal_flip 0.5 swap=0:1",
        "letterbox 50 | rotate 20 | color_jitter 0.4 | normalize 0.5 0.5 | to_chw",
        "cache 1M | random_crop 20 | random_vertical_flip 0.5",
        "center_crop 20 | cache 1M | random_resized_crop 16 | random_horizontal_flip 0.5",
        "center_crop 60 | resize 70 | cache 1M | resize 8 | random_horizontal_flip 0.5",
    };
    char list[400];
    char arrays[400];

    write_both(list, arrays, sizeof(list));
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        const run_options options = {
            .workers = 1 + i % 2, .settings = {.seed = i}, .batches = 3 * SAMPLES};
        char text[300];
        char with_roles[600];

        snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
        snprintf(with_roles, sizeof(with_roles), "| " ROLES " | %s | batch 1", stages[i]);
        check_same_columns(npy_dataset(arrays, with_roles), list_dataset(list, LIST, text),
                           all_columns, &options);
    }
}

/* Also as arrays of the program, and through stages of order, project and rename. */
static void arrays_in_memory_follow_in_any_order(void)
{
    const sluice_array of[] = {
        {"c", scenes.c, SLUICE_I32, 2, {SAMPLES, MOST}},
        {"b", scenes.b, SLUICE_F32, 3, {SAMPLES, MOST, 4}},
        {"m", scenes.m, SLUICE_U8, 3, {SAMPLES, LIST_HEIGHT, LIST_WIDTH}},
        {"photo", scenes.photo, SLUICE_U8, 4, {SAMPLES, LIST_HEIGHT, LIST_WIDTH, 3}},
    };
    static const char *const names[] = {"classes", "m", "b_length", NULL};
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    sluice_dataset *list;

    fill_scenes();
    write_pair(folder, "a.ppm", "m.pgm");
    T_OK(sluice_dataset_memory(of, 4, &dataset));
    T_OK(sluice_dataset_add(
        dataset,
        "shuffle seed=7 | column photo image | column m mask | column b boxes | column c of=b"));
    T_OK(sluice_dataset_add(dataset, "rename c classes | random_resized_crop 16 | "
                                     "project classes,m,b_length | batch 1"));
    list = list_dataset(folder, LIST,
                        "| shuffle 7 | rename c classes | decode | random_resized_crop 16 | "
                        "project classes,m,b_length | batch 1");
    check_same_columns(dataset, list, names, &(run_options){.workers = 1});
}

/* NAME_length of the source has the number of boxes, and padding after it is set to zero. */
static void lengths_of_the_source_are_taken(void)
{
    static const int32_t lengths[SAMPLES] = {1, 0};
    static const float boxes[SAMPLES][2][4] = {{{1, 2, 3, 4}, {NAN, 9, 9, 9}}, {{NAN, NAN, 0, 0}}};
    const sluice_array of[] = {
        {"image", scenes.photo, SLUICE_U8, 4, {SAMPLES, LIST_HEIGHT, LIST_WIDTH, 3}},
        {"b", boxes, SLUICE_F32, 3, {SAMPLES, 2, 4}},
        {"b_length", lengths, SLUICE_I32, 1, {SAMPLES}},
    };
    sluice_dataset *dataset = NULL;
    engine_run run;

    fill_scenes();
    for (int i = 0; i < 2; i++) { /* with the lengths in the batch, and without */
        const float want[2][4] = {{1, 2, 3, 4}};

        T_OK(sluice_dataset_memory(of, 3, &dataset));
        T_OK(sluice_dataset_add(dataset, "column b role=boxes"));
        T_OK(sluice_dataset_add(dataset, i == 0 ? "batch 1" : "project b | batch 1"));
        open_own(&run, dataset, &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(memcmp(column_row(&run, "b", 0), want, sizeof(want)), 0);
        T_OK(next_batch(&run));
        T_EQ(memcmp(column_row(&run, "b", 0), (float[8]){0}, sizeof(want)), 0);
        close_run(&run);
    }
}

/* After a group the stage names columns of all parts. */
static void columns_of_groups_follow(void)
{
    static const char stages[] = "| random_resized_crop 16 | random_horizontal_flip 0.5 | batch 1";
    char list[400];
    char arrays[400];
    char text[1200];
    sluice_dataset *want;

    write_both(list, arrays, sizeof(list));
    write_list(list, "list.tsv", LIST);
    snprintf(text, sizeof(text),
             "concat (image_list %s/list.tsv) (image_list %s/list.tsv | shuffle 3) | decode %s",
             list, list, stages);
    want = parsed(text);
    snprintf(text, sizeof(text), "concat (npy %s) (npy %s | shuffle 3) | " ROLES " %s", arrays,
             arrays, stages);
    check_same_columns(parsed(text), want, all_columns, &(run_options){.workers = 2});
}

/* A stream reads a sample once: its rows are kept until its images are processed. */
static sluice_status read_pair(sluice_sample *sample, uint64_t index, void *user)
{
    sluice_status st =
        sluice_sample_lend(sample, "photo", NULL, scenes.photo[index], sizeof(scenes.photo[index]));

    (void)user;
    return st == SLUICE_OK
               ? sluice_sample_lend(sample, "m", NULL, scenes.m[index], sizeof(scenes.m[index]))
               : st;
}

static void columns_of_streams_follow(void)
{
    static const sluice_column_spec columns[] = {
        {"m", SLUICE_U8, 2, {LIST_HEIGHT, LIST_WIDTH}, SLUICE_ROLE_PLAIN, 0, NULL},
        {"photo", SLUICE_U8, 3, {LIST_HEIGHT, LIST_WIDTH, 3}, SLUICE_ROLE_PLAIN, 0, NULL},
    };
    static const char *const names[] = {"photo", "m", NULL};
    const char *folder = t_folder();
    sluice_source of;
    sluice_source stream;

    fill_scenes();
    write_pair(folder, "a.ppm", "m.pgm");
    sluice_source_init(&of);
    of.name = "pairs";
    of.columns = columns;
    of.column_count = 2;
    of.count = SAMPLES;
    of.read = read_pair;
    stream = custom_stream_of(&of);
    for (int i = 0; i < 2; i++) {
        check_same_columns(
            custom_dataset(i == 0 ? &stream : &of, "column photo image | column m mask | "
                                                   "random_resized_crop 16 | batch 1"),
            list_dataset(folder, LIST, "| decode | random_resized_crop 16 | batch 1"), names,
            &(run_options){.workers = 2});
    }
}

/* Grays u8 (height, width) are images of one channel. */
static void arrays_of_rank_two_are_gray_images(void)
{
    const sluice_array of[] = {
        {"digit", scenes.m, SLUICE_U8, 3, {SAMPLES, LIST_HEIGHT, LIST_WIDTH}}};
    sluice_dataset *dataset = NULL;
    engine_run run;

    fill_scenes();
    T_OK(sluice_dataset_memory(of, 1, &dataset));
    T_OK(sluice_dataset_add(dataset, "column digit image | random_horizontal_flip 1 | "
                                     "to_dtype f32 | to_chw | batch 1"));
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(run.plan->seen[0].shape[0], 1);
    T_TRUE(*(const float *)column_row(&run, "digit", 0) == (float)scenes.m[0][LIST_WIDTH - 1]);
    close_run(&run);
}

/* ---- what they undo -------------------------------------------------------------------------- */

static void plain_columns_do_not_follow(void)
{
    static const char stages[] = "| column c role=plain | column b plain | column p plain | decode "
                                 "| center_crop 10 | random_horizontal_flip 1 | batch 1";
    const char *folder = t_folder();
    static const float boxes[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}};
    static const float points[3][2] = {{0.5F, 0.5F}, {20.5F, 15.5F}, {50, -3}};
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run, list_dataset(folder, LIST, stages), &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "b", 0), boxes, sizeof(boxes)), 0);
    T_EQ(memcmp(column_row(&run, "c", 0), (int32_t[3]){1, 2}, 12), 0);
    T_EQ(memcmp(column_row(&run, "p", 0), points, sizeof(points)), 0);
    T_EQ(*(const int32_t *)column_row(&run, "b_length", 0), 2);
    close_run(&run);
}

/* An image of an array is a plain column, beside one that is an image; both go their ways. */
static void an_image_may_be_a_plain_column(void)
{
    const sluice_array of[] = {
        {"image", scenes.photo, SLUICE_U8, 4, {SAMPLES, LIST_HEIGHT, LIST_WIDTH, 3}},
        {"other", scenes.m, SLUICE_U8, 3, {SAMPLES, LIST_HEIGHT, LIST_WIDTH}},
    };
    sluice_dataset *dataset = NULL;
    engine_run run;

    fill_scenes();
    scenes.photo[0][7][1] = 99;
    T_OK(sluice_dataset_memory(of, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "column image plain | column other image | center_crop 10 | "
                                     "batch 1"));
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "image", 0), scenes.photo[0], sizeof(scenes.photo[0])), 0);
    T_EQ(*(const uint8_t *)column_row(&run, "other", 0), class_of(15, 10));
    close_run(&run);
    sluice_dataset_destroy(dataset);
    /* The first image changes places with another one. */
    T_OK(sluice_dataset_memory(of, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "column image plain | column other image | column image image "
                                     "| center_crop 10 | batch 1"));
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const uint8_t *)column_row(&run, "image", 0), 15);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* Encoded columns: a further image of a list becomes a mask, and a mask an image. */
static void encoded_images_and_masks_change_places(void)
{
    static const char list[] = "image\tx:image\ty:mask\na.ppm\tm.pgm\tm.pgm\n";
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run,
             list_dataset(folder, list,
                          "| column x mask | column y image | decode mode=gray | center_crop 10 | "
                          "batch 1"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(run.plan->seen[1].rank, 2);
    T_EQ(run.plan->seen[2].rank, 3);
    T_EQ(memcmp(column_row(&run, "x", 0), column_row(&run, "y", 0), 100), 0);
    close_run(&run);
}

/* ---- readers, resume, errors ----------------------------------------------------------------- */

static void readers_see_the_roles(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sluice_reader *reader = NULL;
    sluice_column_spec spec;
    sluice_sample_view view;

    write_scenes(folder);
    dataset = npy_dataset(folder, "| " ROLES);
    T_OK(sluice_reader_create(dataset, &reader));
    T_EQ(sluice_reader_columns(reader), 8); /* files by name: b c m other p photo seen, b_length */
    T_OK(sluice_reader_column(reader, 0, &spec));
    T_TRUE(spec.role == SLUICE_ROLE_BOXES && spec.ragged != 0);
    T_OK(sluice_reader_column(reader, 1, &spec));
    T_STR(spec.boxes, "b");
    T_OK(sluice_reader_column(reader, 4, &spec));
    T_TRUE(spec.role == SLUICE_ROLE_POINTS && spec.ragged == 0);
    T_OK(sluice_reader_get(reader, 0, 7, &view));
    T_EQ(*(const int32_t *)view.data, 2);
    T_OK(sluice_reader_get(reader, 1, 2, &view));
    T_TRUE(view.shape[0] == LIST_HEIGHT && memcmp(view.data, scenes.m[1], PIXELS) == 0);
    T_OK(sluice_reader_get(reader, 1, 5, &view));
    T_TRUE(memcmp(view.data, scenes.photo[1], sizeof(scenes.photo[1])) == 0);
    T_OK(sluice_reader_get(reader, 0, 0, &view));
    T_TRUE(memcmp(view.data, scenes.b[0], sizeof(scenes.b[0])) == 0);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
}

/* The columns of batches, by their present names. */
static void columns_of_batches_are_described(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sluice_column_spec spec = {.name = NULL};

    write_scenes(folder);
    dataset = npy_dataset(folder, "| " ROLES " | rename b frames | center_crop 20 | batch 1");
    T_OK(sluice_dataset_column_spec(dataset, "frames", &spec));
    T_STR(spec.name, "frames");
    T_TRUE(spec.role == SLUICE_ROLE_BOXES && spec.ragged != 0 && spec.boxes == NULL);
    T_OK(sluice_dataset_column_spec(dataset, "c", &spec));
    T_STR(spec.boxes, "frames");
    T_OK(sluice_dataset_column_spec(dataset, "m", &spec));
    T_TRUE(spec.role == SLUICE_ROLE_MASK && spec.rank == 2 && spec.shape[0] == 20);
    T_OK(sluice_dataset_column_spec(dataset, "other", &spec));
    T_EQ(spec.role, SLUICE_ROLE_IMAGE);
    T_STATUS(sluice_dataset_column_spec(dataset, "b", &spec), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "there is no column 'b'; there are frames, c, m");
    T_STATUS(sluice_dataset_column_spec(dataset, NULL, &spec), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_column_spec(dataset, "c", NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_column_spec(NULL, "c", &spec), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

static void bad_rows_are_bad_samples(void)
{
    static const struct {
        float box[4];
        float x; /* of a point */
        int32_t length;
        const char *words;
    } bad[] = {
        {{0, 0, NAN, 1}, 0, 1, "b: box 1, 0,0,nan,1, must be x0,y0,x1,y1"},
        {{-1, 0, 0, 2}, 0, 1, "b: box 1, -1,0,0,2, is wholly outside"},
        {{2, 0, 1, 2}, 0, 1, "b: box 1, 2,0,1,2, must be"},
        {{40, 0, 41, 2}, 0, 1, "b: box 1, 40,0,41,2, is wholly outside its image of 40x30"},
        {{0, 0, 1, 1}, 0, 3, "b_length is 3, and must be 0 to 2"},
        {{0, 0, 1, 1}, 0, -1, "b_length is -1, and must be 0 to 2"},
        {{0, 0, 1, 1}, NAN, 1, "p: point 1, nan,0, must be x,y with numbers from -1e6 to 1e6"},
        {{0, 0, 1, 1}, INFINITY, 1, "p: point 1, inf,0, must be x,y"},
    };

    fill_scenes();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        float boxes[2][4] = {{0}};
        float points[2] = {bad[i].x, 0};
        const sluice_array of[] = {
            {"image", scenes.photo, SLUICE_U8, 4, {1, LIST_HEIGHT, LIST_WIDTH, 3}},
            {"b", boxes, SLUICE_F32, 3, {1, 2, 4}},
            {"b_length", &bad[i].length, SLUICE_I32, 1, {1}},
            {"p", points, SLUICE_F32, 3, {1, 1, 2}},
        };
        sluice_dataset *dataset = NULL;

        memcpy(boxes, bad[i].box, sizeof(bad[i].box));
        T_OK(sluice_dataset_memory(of, 4, &dataset));
        T_OK(sluice_dataset_add(dataset, "column b boxes | column p points | batch 1"));
        batches_to_error(dataset, &(run_options){.workers = 1}, SLUICE_E_CORRUPT, bad[i].words);
    }
}

/* Refused: the columns of write_scenes() and these stages. */
static void columns_that_do_not_fit_are_refused(void)
{
    static const char *const bad[][2] = {
        {"column x role=mask", "column: there is no column 'x'; there are b, c, m"},
        {"column b role=box", "role=box"},
        {"column b role=boxes", "role=boxes follows the image, and there is none"},
        {"column m role=mask", "role=mask follows the image, and there is none"},
        {"column c role=image",
         "must be u8, u16 or f32 (height, width) or (height, width, channels) "
         "with 1 to 4 channels for role=image"},
        {"column photo image | column p boxes",
         "it is f32 (3, 2) and must be f32 (N, 4) for role=boxes"},
        {"column photo image | column c boxes", "it is i32 (3) and must be f32 (N, 4)"},
        {"column photo image | column b points", "must be f32 (N, 2) or (N, K, 2) for role=points"},
        {"column photo image | column other mask",
         "must be u8 (height, width), or an encoded image"},
        {"column photo image | column photo mask", "it is the image, which cannot be role=mask"},
        {"column photo image | column c of=m",
         "of=m must name boxes or points; m is a plain column"},
        {"column photo image | column b boxes | column m of=b",
         "it is u8 (30, 40), and must have 3"},
        {"column photo image | column b boxes | column c mask of=b", "must be u8 (height, width)"},
        {"column photo image | column b boxes | column b of=b",
         "of=b must name boxes or points; b"},
        {"column photo image | column b boxes | column p points of=b",
         "and must have 3 rows of points"},
        {"column photo image | column m mask | column photo plain",
         "the first image, which m foll"},
        {"project b | column b role=boxes",
         "column comes after project; put it right after the so"},
        {"column photo image | center_crop 8 | column m mask", "column comes after center_crop"},
        {"column photo image | rename c b_length | column b boxes", "column comes after rename"},
    };
    const char *folder = t_folder();

    write_scenes(folder);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[600];

        snprintf(text, sizeof(text), "npy %s | %s", folder, bad[i][0]);
        check_refused(text, bad[i][1]);
    }
    npy_write(folder, "small.npy", "|u1", "(2, 3, 4)", scenes.m, 24);
    check_refused("synthetic 4 8,8,3 | column image plain | column label image",
                  "must be u8, u16 or f32 (height");
    check_refused("concat (synthetic 4 8,8,3 | column image plain) (synthetic 4 8,8,3)",
                  "column must come after the group");
    check_refused("image_folder /tmp | column image plain", "an encoded image; decode it");
    {
        char text[600];

        snprintf(text, sizeof(text), "npy %s | column photo image | column small mask", folder);
        check_refused(text, "it is u8 (3, 4), and the image photo is 30x40 (height, width)");
        npy_write(folder, "b_length.npy", "<f4", "(2,)", scenes.b, 8);
        snprintf(text, sizeof(text), "npy %s | column photo image | column b boxes", folder);
        check_refused(text, "b_length is the number of its rows, which is i32");
        npy_write(folder, "b_length.npy", "<i4", "(2,)", scenes.c, 8);
        npy_write(folder, "c_length.npy", "<i4", "(2,)", scenes.c, 8);
        snprintf(text, sizeof(text), "npy %s | column photo image | column b boxes | column c of=b",
                 folder);
        check_refused(text, "the column c_length would be wrong; leave that out");
    }
}

const t_test column_roles_tests[] = {
    T_TEST(arrays_follow_as_the_columns_of_a_list),
    T_TEST(arrays_in_memory_follow_in_any_order),
    T_TEST(lengths_of_the_source_are_taken),
    T_TEST(columns_of_groups_follow),
    T_TEST(columns_of_streams_follow),
    T_TEST(arrays_of_rank_two_are_gray_images),
    T_TEST(plain_columns_do_not_follow),
    T_TEST(an_image_may_be_a_plain_column),
    T_TEST(encoded_images_and_masks_change_places),
    T_TEST(readers_see_the_roles),
    T_TEST(columns_of_batches_are_described),
    T_TEST(bad_rows_are_bad_samples),
    T_TEST(columns_that_do_not_fit_are_refused),
    T_END,
};
