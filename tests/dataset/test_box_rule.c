/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule for boxes, of every source: clipped to the image, dropped without an area, both counted
 * and logged; bad boxes, and too many, are bad samples.
 */
#include <math.h>
#include <stdlib.h>

#include <sluice/arrays.h>
#include <sluice/custom.h>
#include <sluice/reader.h>

#include "box_rule.h"
#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "testing.h"

enum { SAMPLES = 4, MOST = 3 };

/* Samples of an image of 40 x 30. The first has one box to clip, one without an area and a good
 * one; the others have a bad one each: outside, turned around, not finite. */
static const float given[SAMPLES][MOST][4] = {
    {{-3, 1, 90, 5}, {5, 5, 5, 9}, {1, 2, 3, 4}},
    {{40, 0, 60, 9}, {1, 2, 3, 4}, {1, 2, 3, 4}},
    {{4, 4, 3, 9}, {1, 2, 3, 4}, {1, 2, 3, 4}},
    {{NAN, 4, 5, 9}, {1, 2, 3, 4}, {1, 2, 3, 4}},
};
static const int32_t given_classes[SAMPLES][MOST] = {{7, 8, 9}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}};

static uint8_t pixels[SAMPLES][LIST_HEIGHT][LIST_WIDTH][3];

static const float kept_boxes[MOST][4] = {{0, 1, 40, 5}, {1, 2, 3, 4}, {0, 0, 0, 0}};

/* ---- the sources ----------------------------------------------------------------------------- */

static sluice_dataset *of_list(const char *folder, const char *stages)
{
    write_pair(folder, "a.ppm", "m.pgm");
    return list_dataset(folder,
                        "image\tboxes:boxes[3]\tclasses:i32[3]@boxes\n"
                        "a.ppm\t-3,1,90,5;5,5,5,9;1,2,3,4\t7,8,9\n"
                        "a.ppm\t40,0,60,9\t1\n"
                        "a.ppm\t4,4,3,9\t1\n"
                        "a.ppm\t1,2,3,4;1,2,3,4;1,2,3,4;1,2,3,4\t1,2,3,4\n",
                        stages);
}

#ifdef SLI_HAVE_JANSSON
static sluice_dataset *of_coco(const char *folder, const char *size, const char *stages)
{
    char json[2000];
    char text[700];

    write_pair(folder, "a.ppm", "m.pgm");
    snprintf(
        json, sizeof(json),
        "{\"images\":[{\"id\":1,\"file_name\":\"a.ppm\"%s},{\"id\":2,\"file_name\":\"a.ppm\"%s},"
        "{\"id\":3,\"file_name\":\"a.ppm\"%s},{\"id\":4,\"file_name\":\"a.ppm\"%s}],"
        "\"categories\":[{\"id\":7,\"name\":\"a\"},{\"id\":8,\"name\":\"b\"},"
        "{\"id\":9,\"name\":\"c\"}],\"annotations\":["
        "{\"image_id\":1,\"category_id\":7,\"bbox\":[-3,1,93,4]},"
        "{\"image_id\":1,\"category_id\":8,\"bbox\":[5,5,0,4]},"
        "{\"image_id\":1,\"category_id\":9,\"bbox\":[1,2,2,2]},"
        "{\"image_id\":2,\"category_id\":7,\"bbox\":[40,0,20,9]},"
        "{\"image_id\":3,\"category_id\":7,\"bbox\":[4,4,-1,5]},"
        "{\"image_id\":4,\"category_id\":7,\"bbox\":[1e35,0,20,9]}]}",
        size, size, size, size);
    write_list(folder, "c.json", json);
    snprintf(text, sizeof(text), "coco %s/c.json max_boxes=3 %s", folder, stages);
    return parsed(text);
}
#endif

static sluice_dataset *of_arrays(const char *stages)
{
    static const int32_t lengths[SAMPLES] = {3, 3, 3, 3};
    const sluice_array of[] = {
        {"image", pixels, SLUICE_U8, 4, {SAMPLES, LIST_HEIGHT, LIST_WIDTH, 3}},
        {"boxes", given, SLUICE_F32, 3, {SAMPLES, MOST, 4}},
        {"boxes_length", lengths, SLUICE_I32, 1, {SAMPLES}},
        {"classes", given_classes, SLUICE_I32, 2, {SAMPLES, MOST}},
    };
    sluice_dataset *dataset = NULL;
    char text[200];

    T_OK(sluice_dataset_memory(of, 4, &dataset));
    snprintf(text, sizeof(text), "column boxes role=boxes | column classes of=boxes %s", stages);
    T_OK(sluice_dataset_add(dataset, text));
    return dataset;
}

static sluice_status read_own(sluice_sample *sample, uint64_t index, void *user)
{
    sluice_status st = sluice_sample_lend(sample, "image", (uint64_t[]){LIST_HEIGHT, LIST_WIDTH, 3},
                                          pixels[index], sizeof(pixels[index]));

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_lend(sample, "boxes", (uint64_t[]){MOST, 4}, given[index],
                                sizeof(given[index]));
    }
    return st == SLUICE_OK ? sluice_sample_lend(sample, "classes", (uint64_t[]){MOST},
                                                given_classes[index], sizeof(given_classes[index]))
                           : st;
}

static sluice_source own_source(void)
{
    static const sluice_column_spec columns[] = {
        {.name = "image",
         .dtype = SLUICE_U8,
         .rank = 3,
         .shape = {LIST_HEIGHT, LIST_WIDTH, 3},
         .role = SLUICE_ROLE_IMAGE},
        {.name = "boxes",
         .dtype = SLUICE_F32,
         .rank = 2,
         .shape = {MOST, 4},
         .role = SLUICE_ROLE_BOXES},
        {.name = "classes", .dtype = SLUICE_I32, .rank = 1, .shape = {MOST}, .boxes = "boxes"},
    };
    sluice_source source;

    sluice_source_init(&source);
    source.name = "own";
    source.columns = columns;
    source.column_count = 3;
    source.count = SAMPLES;
    source.read = read_own;
    return source;
}

static sluice_dataset *of_functions(const char *stages)
{
    const sluice_source source = own_source();

    return custom_dataset(&source, stages[0] == '|' ? stages + 2 : stages);
}

/* The dataset of source `i`, of FILES with files and all others without; NULL: not in this build.
 */
enum { FILES = 3, SOURCES = 5 };

static sluice_dataset *open_source(int i, const char *folder, const char *stages)
{
    char of_files[200];

    snprintf(of_files, sizeof(of_files), "| decode %s", stages);
    switch (i) {
    case 0:
        return of_list(folder, of_files);
#ifdef SLI_HAVE_JANSSON
    case 1:
        return of_coco(folder, "", of_files);
    case 2:
        return of_coco(folder, ",\"width\":40,\"height\":30", of_files);
#endif
    case 3:
        return of_arrays(stages);
    case 4:
        return of_functions(stages);
    default:
        return NULL;
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_box_is_judged(void)
{
    static const struct {
        float box[4];
        float width;
        box_verdict verdict;
        float clipped[4];
    } cases[] = {
        {{0, 0, 40, 30}, 40, BOX_INSIDE, {0, 0, 40, 30}},
        {{-0.001F, 0, 40.003F, 30}, 40, BOX_INSIDE, {0, 0, 40, 30}},
        {{-1, -2, 41, 33}, 40, BOX_CLIPPED, {0, 0, 40, 30}},
        {{-1, -2, 41, 33}, 0, BOX_INSIDE, {-1, -2, 41, 33}},
        {{50, 3, 50, 9}, 40, BOX_EMPTY, {50, 3, 50, 9}},
        {{-9, 3, 0, 9}, 0, BOX_OUTSIDE, {-9, 3, 0, 9}},
        {{40, 3, 50, 9}, 40, BOX_OUTSIDE, {40, 3, 50, 9}},
        {{3, 3, 2, 9}, 40, BOX_INVALID, {3, 3, 2, 9}},
        {{3, 3, INFINITY, 9}, 40, BOX_INVALID, {3, 3, INFINITY, 9}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        float box[4];

        memcpy(box, cases[i].box, sizeof(box));
        T_EQ(box_judge(box, cases[i].width, cases[i].width > 0 ? 30 : 0), cases[i].verdict);
        T_EQ(memcmp(box, cases[i].clipped, sizeof(box)), 0);
    }
}

/* Two passes over the source: the changes are the same everywhere, and counted once. */
static void every_source_has_one_rule(void)
{
    const char *folder = t_folder();

    for (int i = 0; i < SOURCES; i++) {
        sluice_dataset *dataset;
        engine_run run;
        const char *log;

        kit_log_start(NULL, NULL);
        dataset = open_source(i, folder, "| batch 4");
        if (dataset == NULL) {
            kit_log_stop();
            continue;
        }
        open_run(&run, dataset,
                 &(run_options){.workers = 1, .settings = {.on_error = SLI_ON_ERROR_ZERO}});
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
        T_EQ(memcmp(column_row(&run, "boxes", 0), kept_boxes, sizeof(kept_boxes)), 0);
        T_EQ(((const int32_t *)column_row(&run, "classes", 0))[0], i == 1 || i == 2 ? 0 : 7);
        T_EQ(((const int32_t *)column_row(&run, "classes", 0))[1], i == 1 || i == 2 ? 2 : 9);
        T_EQ(((const int32_t *)column_row(&run, "classes", 0))[2], 0);
        for (uint32_t row = 1; row < SAMPLES; row++) {
            T_EQ(*(const int32_t *)column_row(&run, "boxes_length", row), 0);
        }
        close_run(&run);
        free(record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}}).bytes);
        sluice_dataset_destroy(dataset);
        log = kit_log_stop();
        if (i == 2) { /* the sizes are listed, so all is known when it is opened */
            T_CONTAINS(log, "1 boxes that reach beyond their image are clipped to it");
        } else {
            T_CONTAINS(log, "box 1, -3,1,90,5, reaches beyond its image and is clipped to it");
            T_CONTAINS(log, i == 1 ? "boxes: 1 were clipped to their image, and 0 without"
                                   : "boxes: 1 were clipped to their image, and 1 without");
        }
        T_CONTAINS(log, i == 1 || i == 2 ? "1 boxes without an area are dropped"
                                         : "box 2, 5,5,5,9, has no area and is dropped");
    }
}

/* Reads samples and closes the dataset. Returns the log. */
static const char *log_of(sluice_dataset *dataset, uint64_t batches)
{
    free(record(dataset, &(run_options){.workers = 1,
                                        .batches = batches,
                                        .settings = {.on_error = SLI_ON_ERROR_ZERO}})
             .bytes);
    sluice_dataset_destroy(dataset);
    return kit_log_stop();
}

/* Those of one column are clipped as they are read, those of the other with the size of the image.
 */
static void all_columns_of_boxes_are_counted(void)
{
    static const char *const columns[] = {"corners", "parts", "corners,parts", "parts,corners"};
    static const char *const words[] = {
        "boxes: 1 were clipped to their image, and 1 without",
        "boxes: 3 were clipped to their image, and 1 without",
        "boxes: 4 were clipped to their image, and 2 without",
        "boxes: 4 were clipped to their image, and 2 without",
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 4; i++) {
        char stages[100];

        snprintf(stages, sizeof(stages), "| decode | project image,%s | batch 2", columns[i]);
        kit_log_start(NULL, NULL);
        T_CONTAINS(log_of(list_dataset(folder,
                                       "image\tcorners:boxes[3]\tparts:darknet[3]\n"
                                       "a.ppm\t-3,1,90,5;5,5,5,9;1,2,3,4\t0,0,1,1;0.9,0.9,1,1\n"
                                       "a.ppm\t\t0.1,0.1,0,0.1;0,0,1,1\n",
                                       stages),
                          3),
                   words[i]);
    }
}

static sluice_status keep_all(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 1;
    return SLUICE_OK;
}

static sluice_status next_own(sluice_sample *sample, void *pass, void *user)
{
    (void)pass;
    return sluice_sample_number(sample) == 3 ? SLUICE_END_OF_DATA : read_own(sample, 0, user);
}

/* A filter of plain columns reads those of a sample, which is then read for its row. */
static void a_filter_on_a_stream_counts_boxes_once(void)
{
    for (int i = 0; i < 2; i++) {
        sluice_source source = own_source();
        sluice_filter filter;
        sluice_dataset *dataset;

        kit_log_start(NULL, NULL);
        source.count = 0;
        source.read = NULL;
        source.next = next_own;
        T_OK(sluice_dataset_source(&source, &dataset));
        sluice_filter_init(&filter);
        filter.name = "all";
        filter.version = 1;
        filter.filter = keep_all;
        if (i > 0) {
            T_OK(sluice_dataset_filter(dataset, &filter));
        }
        T_OK(sluice_dataset_add(dataset, "batch 1"));
        T_CONTAINS(log_of(dataset, 3),
                   "boxes: 3 were clipped to their image, and 3 without an area were dropped, in "
                   "the samples that were read, each time that a sample was read");
    }
}

static sluice_status read_first(sluice_sample *sample, uint64_t index, void *user)
{
    (void)index;
    return read_own(sample, 0, user);
}

/* A source of a program may declare more samples than there is memory for their bits. */
static void a_source_of_very_many_samples_has_boxes(void)
{
    sluice_source source = own_source();
    sluice_dataset *dataset;

    kit_log_start(NULL, NULL);
    source.count = (uint64_t)1 << 40;
    source.read = read_first;
    dataset = custom_dataset(&source, "batch 3");
    T_CONTAINS(log_of(dataset, 2), "boxes: 6 were clipped to their image, and 6 without an area "
                                   "were dropped, in the samples that were read, each time");
}

/* Whatever columns the batch has, those that belong to boxes are those of the boxes that are left.
 */
static void what_belongs_to_boxes_needs_no_boxes(void)
{
    const char *folder = t_folder();
    static const char *const columns[] = {"classes", "boxes_length", "classes,boxes_length"};

    for (int i = 0; i < 3; i++) {
        char stages[100];
        engine_run run;

        snprintf(stages, sizeof(stages), "| %sproject %s | batch 4", i % 2 == 0 ? "decode | " : "",
                 columns[i]);
        kit_log_start(NULL, NULL);
        open_own(&run, i % 2 == 0 ? of_list(folder, stages) : of_functions(stages),
                 &(run_options){.workers = 1, .settings = {.on_error = SLI_ON_ERROR_ZERO}});
        T_OK(next_batch(&run));
        if (i != 1) {
            T_EQ(((const int32_t *)column_row(&run, "classes", 0))[1], 9);
            T_EQ(((const int32_t *)column_row(&run, "classes", 0))[2], 0);
        }
        if (i != 0) {
            T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
        }
        close_run(&run);
        kit_log_stop();
    }
}

/* A reader, as `sluice inspect` uses it, finds the same bad samples. */
static void a_reader_finds_all_bad_samples(void)
{
    const char *folder = t_folder();

    for (int i = 0; i < SOURCES; i++) {
        sluice_dataset *dataset;
        sluice_reader *reader = NULL;

        kit_log_start(NULL, NULL);
        dataset = open_source(i, folder, "| take 4");
        if (dataset != NULL) {
            T_OK(sluice_reader_create(dataset, &reader));
            for (uint32_t c = 0; c < sluice_reader_columns(reader); c++) {
                sluice_column_spec spec;
                sluice_sample_view view;

                T_OK(sluice_reader_column(reader, c, &spec));
                if (spec.role != SLUICE_ROLE_BOXES) {
                    continue;
                }
                T_OK(sluice_reader_get(reader, 0, c, &view));
                T_EQ(memcmp(view.data, kept_boxes, sizeof(kept_boxes)), 0);
                for (uint64_t sample = 1; sample < SAMPLES; sample++) {
                    T_STATUS(sluice_reader_get(reader, sample, c, &view), SLUICE_E_CORRUPT);
                }
            }
            sluice_reader_destroy(reader);
            sluice_dataset_destroy(dataset);
        }
        kit_log_stop();
    }
}

/* Records of a list whose fields are bad are bad samples, each with its line; unless all are. */
static void bad_records_are_bad_samples(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    sluice_reader *reader = NULL;
    sluice_sample_view view;
    const char *log;

    write_pair(folder, "a.ppm", "m.pgm");
    kit_log_start(NULL, NULL);
    dataset = list_dataset(folder,
                           "image\tlabel\tp:points[1]\n"
                           "a.ppm\t3\t1,2\na.ppm\tx\t1,2\na.ppm\t1\na.ppm\t1\t1,2\t5\n"
                           "a.ppm\t1\t1,2;3,4\na.ppm\t1\tnan,2\n\t1\t1,2\na.ppm\t4\t\n",
                           "");
    T_OK(sluice_reader_create(dataset, &reader));
    log = kit_log_stop();
    T_CONTAINS(log, "image_list: 6 of 8 records are bad samples, the first ");
    T_CONTAINS(log, "list.tsv:3:7: 'x' must be a number of type i32");
    T_EQ(sluice_reader_samples(reader), 8);
    T_OK(sluice_reader_get(reader, 0, 1, &view));
    for (uint64_t sample = 1; sample < 7; sample++) {
        static const char *const words[] = {"3:7: 'x' must be a number",
                                            "4:7: the line has 2 fields",
                                            "5:13: the line has more than 3 fields",
                                            "6:9: more than 1 points",
                                            "7:9: point 1, 'nan,2', must be",
                                            "8:1: the path must not be empty"};

        T_STATUS(sluice_reader_get(reader, sample, 1, &view), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), words[sample - 1]);
        T_TRUE(sluice_reader_get(reader, sample, 0, &view) < 0);
    }
    T_OK(sluice_reader_get(reader, 7, 1, &view));
    T_EQ(*(const int32_t *)view.data, 4);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);

    write_list(folder, "list.tsv", "image\tlabel\na.ppm\tx\na.ppm\ty\n");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.tsv")),
             SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "list.tsv:2:7: 'x' must be a number");
    T_CONTAINS(sluice_last_error(), "and 1 more records of 2 are bad");
    write_list(folder, "list.tsv", "photo\tLabel\na.ppm\t1\n");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.tsv")),
             SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "list.tsv:1:7: 'Label' must be");
}

const t_test box_rule_tests[] = {
    T_TEST(a_box_is_judged),
    T_TEST(every_source_has_one_rule),
    T_TEST(all_columns_of_boxes_are_counted),
    T_TEST(a_filter_on_a_stream_counts_boxes_once),
    T_TEST(a_source_of_very_many_samples_has_boxes),
    T_TEST(what_belongs_to_boxes_needs_no_boxes),
    T_TEST(a_reader_finds_all_bad_samples),
    T_TEST(bad_records_are_bad_samples),
    T_END,
};
