/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_encoder, by the rules of DALI's CPU operator, which this file has again with the whole matrix
 * of overlaps, and by the formula of SSD's anchors.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "npy_kit.h"
#include "plan_kit.h"
#include "stage_runs.h"
#include "testing.h"

enum { EDGE = 100, ANCHORS = 60, BOXES = 6, SSD300 = 8732 };

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525U + 1013904223U;
    return (*state >> 16) % below;
}

/* ---- the rules ------------------------------------------------------------------------------- */

typedef struct encoder_rule {
    const char *arguments;
    float criteria;
    bool offset;
    float scale;
    float means[4];
    float stds[4];
    int32_t first_label;
} encoder_rule;

static const encoder_rule rules[] = {
    {"", 0.5F, false, 1, {0}, {1, 1, 1, 1}, 1},
    {"criteria=0.2 first_label=5", 0.2F, false, 1, {0}, {1, 1, 1, 1}, 5},
    {"criteria=0", 0, false, 1, {0}, {1, 1, 1, 1}, 1},
    {"criteria=1", 1, false, 1, {0}, {1, 1, 1, 1}, 1},
    {"offset=true", 0.5F, true, 1, {0}, {1, 1, 1, 1}, 1},
    {"criteria=0.3 offset=true scale=300 means=0.5,-1,0.25,2 stds=0.1,0.1,0.2,0.2",
     0.3F,
     true,
     300,
     {0.5F, -1, 0.25F, 2},
     {0.1F, 0.1F, 0.2F, 0.2F},
     1},
};

typedef struct expected {
    float boxes[ANCHORS][4];
    int32_t labels[ANCHORS];
} expected;

/* Intersection over union. */
static float overlap_of(const float *a, const float *b)
{
    float size[3] = {1, 1, 1}; /* of both, a and b */

    for (int axis = 0; axis < 2; axis++) {
        size[0] *= fmaxf(fminf(a[axis + 2], b[axis + 2]) - fmaxf(a[axis], b[axis]), 0);
        size[1] *= a[axis + 2] - a[axis];
        size[2] *= b[axis + 2] - b[axis];
    }
    return size[0] / (size[1] + size[2] - size[0]);
}

/* DALI's CalculateIousForBox() and FindBestBoxForAnchor(). best[i]: the box of anchor i; -1: none.
 */
static void match(float boxes[][4], uint32_t count, float anchors[][4], float criteria,
                  int32_t best[ANCHORS])
{
    float ious[BOXES][ANCHORS];

    for (uint32_t b = 0; b < count; b++) {
        uint32_t most = 0;

        for (uint32_t a = 0; a < ANCHORS; a++) {
            ious[b][a] = overlap_of(boxes[b], anchors[a]);
            most = ious[b][a] >= ious[b][most] ? a : most;
        }
        ious[b][most] = 2;
    }
    for (uint32_t a = 0; a < ANCHORS; a++) {
        uint32_t most = 0;

        for (uint32_t b = 1; b < count; b++) {
            most = ious[b][a] >= ious[most][a] ? b : most;
        }
        best[a] = count > 0 && ious[most][a] > criteria ? (int32_t)most : -1;
    }
}

static float centre_of(const float *box, int k)
{
    return k < 2 ? (box[k] + box[k + 2]) / 2 : box[k] - box[k - 2];
}

static void encode(const encoder_rule *rule, float boxes[][4], const int32_t *classes,
                   uint32_t count, float anchors[][4], expected *want)
{
    int32_t best[ANCHORS];

    match(boxes, count, anchors, rule->criteria, best);
    for (uint32_t a = 0; a < ANCHORS; a++) {
        want->labels[a] = best[a] >= 0 ? classes[best[a]] + rule->first_label : 0;
        for (int k = 0; k < 4; k++) {
            const float anchor = centre_of(anchors[a], k);
            const float size = centre_of(anchors[a], 2 + k % 2);
            const float value = best[a] >= 0 ? centre_of(boxes[best[a]], k) : anchor;
            const float offset =
                k < 2 ? (value * rule->scale - anchor * rule->scale) / (size * rule->scale)
                      : logf(value / size);

            want->boxes[a][k] = !rule->offset  ? value
                                : best[a] >= 0 ? (offset - rule->means[k]) / rule->stds[k]
                                               : 0;
        }
    }
}

/* Anchors of which some are equal, and that are in eighths, so that overlaps are equal, too. */
static void make_anchors(float anchors[][4])
{
    uint32_t state = 5;

    for (uint32_t i = 0; i < ANCHORS; i++) {
        for (int axis = 0; axis < 2; axis++) {
            anchors[i][axis] = (float)next_random(&state, 6) / 8;
            anchors[i][axis + 2] = anchors[i][axis] + (float)(1 + next_random(&state, 4)) / 8;
        }
    }
    memcpy(anchors[40], anchors[41], sizeof(anchors[0]));
}

/* Samples of up to BOXES boxes, of which some are equal, in fractions of EDGE. Returns the list. */
static const char *make_boxes(uint32_t samples, float boxes[][BOXES][4], int32_t classes[][BOXES],
                              uint32_t *counts)
{
    static char list[20000];
    size_t used = (size_t)snprintf(list, sizeof(list),
                                   "image\tboxes:boxes[%d]\tclasses:i32[%d]@boxes\n", BOXES, BOXES);
    uint32_t state = 77;

    for (uint32_t i = 0; i < samples; i++) {
        counts[i] = i % (BOXES + 1);
        used += (size_t)snprintf(list + used, sizeof(list) - used, "a.jpg\t");
        for (uint32_t b = 0; b < counts[i]; b++) {
            uint32_t at[4];

            for (int axis = 0; axis < 2; axis++) {
                at[axis] = b > 0 && b % 3 == 0 ? 25 : next_random(&state, 70);
                at[axis + 2] = at[axis] + 5 + (b > 0 && b % 3 == 0 ? 20 : next_random(&state, 25));
            }
            for (int k = 0; k < 4; k++) {
                boxes[i][b][k] = (float)at[k] / EDGE;
            }
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u,%u,%u,%u",
                                     b > 0 ? ";" : "", at[0], at[1], at[2], at[3]);
        }
        for (uint32_t b = 0; b < counts[i]; b++) {
            classes[i][b] = (int32_t)next_random(&state, 9);
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%c%d", b > 0 ? ',' : '\t',
                                     classes[i][b]);
        }
        used += (size_t)snprintf(list + used, sizeof(list) - used, counts[i] > 0 ? "\n" : "\t\n");
    }
    return list;
}

static void write_anchors(const char *folder, float anchors[][4])
{
    npy_write(folder, "anchors.npy", "<f4", "(60, 4)", anchors, (size_t)ANCHORS * 16);
}

static void check_sample(const engine_run *run, uint32_t row, const expected *want, bool exact)
{
    const float *boxes = column_row(run, "boxes", row);
    const int32_t *labels = column_row(run, "classes", row);

    for (uint32_t a = 0; a < ANCHORS; a++) {
        T_EQ(labels[a], want->labels[a]);
        for (int k = 0; k < 4; k++) {
            const float wanted = want->boxes[a][k];

            T_TRUE(fabsf(boxes[4 * a + (uint32_t)k] - wanted) <=
                   (exact ? 0 : 2e-5F * fmaxf(1, fabsf(wanted))));
        }
    }
}

static void anchors_get_the_boxes_that_they_get_in_dali(void)
{
    enum { SAMPLES = 42 };
    static float anchors[ANCHORS][4];
    static float boxes[SAMPLES][BOXES][4];
    static int32_t classes[SAMPLES][BOXES];
    uint32_t counts[SAMPLES];
    const char *folder = t_folder();
    const char *list = make_boxes(SAMPLES, boxes, classes, counts);
    uint32_t matched = 0;

    make_anchors(anchors);
    write_anchors(folder, anchors);
    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++) {
        char text[400];
        engine_run run;

        snprintf(text, sizeof(text), "| decode | box_encoder %s/anchors.npy %s | batch %d", folder,
                 rules[r].arguments, SAMPLES);
        open_own(&run, list_dataset(folder, list, text), &(run_options){.workers = 2});
        T_OK(next_batch(&run));
        for (uint32_t i = 0; i < SAMPLES; i++) {
            expected want;

            encode(&rules[r], boxes[i], classes[i], counts[i], anchors, &want);
            check_sample(&run, i, &want, !rules[r].offset);
            T_EQ(*(const int32_t *)column_row(&run, "boxes_length", i), counts[i]);
            for (uint32_t a = 0; a < ANCHORS; a++) {
                matched += want.labels[a] > 0;
            }
        }
        close_run(&run);
    }
    T_TRUE(matched > 1000);
}

/* ---- anchors --------------------------------------------------------------------------------- */

/* Equation 4 and section 2.2 of the paper, with the scales of its Caffe code for COCO. */
static void ssd300_has_the_anchors_of_the_paper(void)
{
    static const int sides[] = {38, 19, 10, 5, 3, 1};
    static const double steps[] = {8, 16, 32, 64, 100, 300};
    static const double scales[] = {21, 45, 99, 153, 207, 261, 315};
    static const double ratios[] = {1, 1, 2, 0.5, 3, 1.0 / 3};
    const char *folder = t_folder();
    const float *got;
    uint32_t at = 0;
    engine_run run;

    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    open_own(&run,
             list_dataset(folder, "image\tboxes:boxes[1]\tclasses:i32[1]@boxes\na.jpg\t\t\n",
                          "| decode | box_encoder ssd300 | batch 1"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    got = column_row(&run, "boxes", 0);
    for (int m = 0; m < 6; m++) {
        const int shapes = m == 0 || m > 3 ? 4 : 6;

        for (int k = 0; k < shapes; k++) {
            const double size = k == 1 ? sqrt(scales[m] * scales[m + 1]) : scales[m];

            for (int i = 0; i < sides[m] * sides[m]; i++, at++) {
                const double want[4] = {fmin((i % sides[m] + 0.5) * steps[m] / 300, 1),
                                        fmin((i / sides[m] + 0.5) * steps[m] / 300, 1),
                                        fmin(size * sqrt(ratios[k]) / 300, 1),
                                        fmin(size / sqrt(ratios[k]) / 300, 1)};

                for (uint32_t c = 0; c < 4; c++) {
                    T_TRUE(fabs((double)got[4 * at + c] - want[c]) < 2e-7);
                }
            }
        }
    }
    T_EQ(at, SSD300);
    for (uint32_t i = 0; i < SSD300; i++) {
        T_EQ(((const int32_t *)column_row(&run, "classes", 0))[i], 0);
    }
    close_run(&run);
}

static void write_fortran(const char *folder, const char *name, float anchors[][4])
{
    static uint8_t bytes[1000 + ANCHORS * 16];
    const size_t head =
        npy_head(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (60, 4), }", bytes);

    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < ANCHORS; i++) {
            memcpy(bytes + head + (size_t)(k * ANCHORS + i) * 4, &anchors[i][k], 4);
        }
    }
    t_write_file(t_path(folder, name), bytes, head + (size_t)ANCHORS * 16);
}

#define TWO_BOXES                                                                                  \
    "image\tboxes:boxes[2]\tclasses:i32[2]@boxes\n"                                                \
    "a.jpg\t10,10,60,60;3,5,40,90\t3,4\na.jpg\t\t\na.jpg\t0,50,50,99\t2\n"

/* The same anchors as f64, big-endian and in Fortran order. */
static void files_of_all_forms_are_read(void)
{
    static const char *const names[] = {"anchors.npy", "f8.npy", "big.npy", "fortran.npy"};
    static float anchors[ANCHORS][4];
    static double wide[ANCHORS * 4];
    static uint8_t swapped[ANCHORS * 16];
    const char *folder = t_folder();
    char source[300];

    make_anchors(anchors);
    write_anchors(folder, anchors);
    write_fortran(folder, "fortran.npy", anchors);
    for (uint32_t i = 0; i < ANCHORS * 4; i++) {
        const uint8_t *bytes = (const uint8_t *)anchors + (size_t)i * 4;

        wide[i] = (double)anchors[i / 4][i % 4];
        for (uint32_t k = 0; k < 4; k++) {
            swapped[4 * i + k] = bytes[3 - k];
        }
    }
    npy_write(folder, "f8.npy", "<f8", "(60, 4)", wide, sizeof(wide));
    npy_write(folder, "big.npy", ">f4", "(60, 4)", swapped, sizeof(swapped));
    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    write_list(folder, "list.tsv", TWO_BOXES);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    for (int i = 1; i < 4; i++) {
        char stages[2][400];

        for (int k = 0; k < 2; k++) {
            snprintf(stages[k], sizeof(stages[k]), "decode | box_encoder %s/%s", folder,
                     names[k * i]);
        }
        check_stages(source, stages[0], stages[1], true);
    }
}

/* A run is not resumed with other anchors under the same name. */
static void the_identity_has_the_anchors(void)
{
    static float anchors[ANCHORS][4];
    const char *folder = t_folder();
    char text[700];
    uint64_t before;

    make_anchors(anchors);
    write_anchors(folder, anchors);
    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    write_list(folder, "list.tsv", TWO_BOXES);
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | decode | box_encoder %s/anchors.npy | batch 1", folder,
             folder);
    before = names_of_run(parsed(text));
    T_TRUE(names_of_run(parsed(text)) == before);
    anchors[7][2] += 0.125F;
    write_anchors(folder, anchors);
    T_TRUE(names_of_run(parsed(text)) != before);
}

/* ---- in pipelines ---------------------------------------------------------------------------- */

/* Crops, flips and further stages move the boxes that are encoded. */
static void boxes_are_encoded_where_geometry_has_moved_them(void)
{
    static const char *const geometry[] = {
        "random_bbox_crop 0.3,1 0.5,2 0,0.1,0.3 | resize 50,80 | random_horizontal_flip",
        "random_horizontal_flip 1 | resize 40,30 | random_rotation 20",
        "resize 30,40 | normalize 0.5 0.5 | to_chw",
    };
    static float anchors[ANCHORS][4];
    const char *folder = t_folder();

    make_anchors(anchors);
    write_anchors(folder, anchors);
    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    for (uint64_t seed = 0; seed < 30; seed++) {
        static const float sizes[][2] = {{80, 50}, {30, 40}, {40, 30}};
        engine_run runs[2];

        for (int i = 0; i < 2; i++) {
            char encoder[400];
            char text[800];

            snprintf(encoder, sizeof(encoder), "box_encoder %s/anchors.npy criteria=0.3 | ",
                     folder);
            snprintf(text, sizeof(text), "| decode | %s | %sbatch 1", geometry[seed % 3],
                     i == 0 ? "" : encoder);
            open_own(&runs[i], list_dataset(folder, TWO_BOXES, text),
                     &(run_options){.workers = 1, .settings = {.seed = seed}});
        }
        for (int row = 0; row < 3; row++) {
            static const encoder_rule rule = {"", 0.3F, false, 1, {0}, {1, 1, 1, 1}, 1};
            float boxes[BOXES][4];
            uint32_t count;
            expected want;

            T_OK(next_batch(&runs[0]));
            T_OK(next_batch(&runs[1]));
            count = (uint32_t) * (const int32_t *)column_row(&runs[0], "boxes_length", 0);
            for (uint32_t k = 0; k < 4 * count; k++) {
                boxes[k / 4][k % 4] =
                    ((const float *)column_row(&runs[0], "boxes", 0))[k] / sizes[seed % 3][k % 2];
            }
            encode(&rule, boxes, column_row(&runs[0], "classes", 0), count, anchors, &want);
            check_sample(&runs[1], 0, &want, true);
        }
        close_run(&runs[0]);
        close_run(&runs[1]);
    }
}

/* Each of the two columns is the same without the other one. */
static void one_of_the_columns_may_be_dropped(void)
{
    const char *folder = t_folder();
    static const char *const ends[] = {"", " | drop classes", " | project image,classes"};
    engine_run runs[3];

    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    for (int i = 0; i < 3; i++) {
        char text[300];

        snprintf(text, sizeof(text), "| decode | box_encoder ssd300%s | batch 3", ends[i]);
        open_own(&runs[i], list_dataset(folder, TWO_BOXES, text), &(run_options){.workers = 1});
        T_OK(next_batch(&runs[i]));
    }
    T_TRUE(memcmp(column_row(&runs[0], "boxes", 0), column_row(&runs[1], "boxes", 0),
                  (size_t)3 * SSD300 * 16) == 0);
    T_TRUE(memcmp(column_row(&runs[0], "classes", 0), column_row(&runs[2], "classes", 0),
                  (size_t)3 * SSD300 * 4) == 0);
    for (int i = 0; i < 3; i++) {
        close_run(&runs[i]);
    }
}

static void workers_and_devices_do_not_matter(void)
{
    const char *folder = t_folder();
    char source[300];

    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    write_list(folder, "list.tsv", TWO_BOXES);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    check_workers_and_devices(source, "shuffle | decode | random_bbox_crop 0.3,1 0.5,2 0,0.1 | "
                                      "resize 30,40 | random_horizontal_flip | normalize 0.5 0.5 | "
                                      "box_encoder ssd300 offset=true stds=0.1,0.1,0.2,0.2");
}

/* A sample from the cache has the same boxes. */
static void a_cache_does_not_matter(void)
{
    static const char *const caches[] = {
        "repeat 3 | decode | resize 30,40 | cache 1M | box_encoder ssd300",
        "repeat 3 | decode | resize 30,40 | box_encoder ssd300 | cache 1M",
    };
    const char *folder = t_folder();
    char source[300];

    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    write_list(folder, "list.tsv", TWO_BOXES);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    for (int i = 0; i < 2; i++) {
        check_stages(source, caches[i], "repeat 3 | decode | resize 30,40 | box_encoder ssd300",
                     true);
    }
}

/* Label 0 is the background, which no box may have, and labels are i32. */
static void a_class_without_a_label_makes_a_bad_sample(void)
{
    static const char *const cases[][3] = {
        {"0", "0", "class 0 of box 2 must be from 1 to 2147483647"},
        {"-1", "1", "class -1 of box 2 must be from 0 to 2147483646"},
        {"2147483647", "1", "class 2147483647 of box 2 must be from 0 to 2147483646"},
        {"9223372036854775807", "1", "class 9223372036854775807 of box 2 must be"},
    };
    const char *folder = t_folder();

    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char list[200];
        char stages[100];

        snprintf(list, sizeof(list),
                 "image\tboxes:boxes[2]\tclasses:i64[2]@boxes\na.jpg\t1,1,9,9;2,2,30,30\t3,%s\n",
                 cases[i][0]);
        snprintf(stages, sizeof(stages), "| decode | box_encoder ssd300 first_label=%s | batch 1",
                 cases[i][1]);
        (void)batches_to_error(list_dataset(folder, list, stages), &(run_options){.workers = 1},
                               SLUICE_E_CORRUPT, cases[i][2]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void files_without_anchors_are_refused(void)
{
    static const float good[8] = {0, 0, 0.5F, 0.5F, 0.1F, 0.2F, 0.3F, 0.4F};
    static const float centre[4] = {0.5F, 0.5F, 0.1F, 0.2F};
    static const float pixels[4] = {0, 0, 38, 38};
    static const float nan[4] = {0, 0, NAN, 1};
    static const double huge[4] = {0, 0, 1e300, 1};
    static const struct {
        const char *descr;
        const char *shape;
        const void *data;
        size_t size;
        const char *words;
    } cases[] = {
        {"<f4", "(2, 4)", good, 28, "truncated"},
        {"<f4", "(8,)", good, 32, "must be f32 or f64 (anchors, 4)"},
        {"<f4", "(4, 2)", good, 32, "must be f32 or f64 (anchors, 4)"},
        {"<f4", "(1, 2, 4)", good, 32, "must be f32 or f64 (anchors, 4)"},
        {"<i4", "(2, 4)", good, 32, "must be f32 or f64 (anchors, 4)"},
        {"<c8", "(1, 4)", good, 32, "must be f32 or f64 (anchors, 4)"},
        {"<f4", "(0, 4)", good, 0, "they must be from 1 to 1048576"},
        {"<f4", "(1048577, 4)", good, 32, "they must be from 1 to 1048576"},
        {"<f4", "(1, 4)", centre, 16, "x0 < x1 and y0 < y1, not centre and size"},
        {"<f4", "(1, 4)", pixels, 16, "must be in fractions of width and height"},
        {"<f4", "(1, 4)", nan, 16, "anchor 0 (from 0) is 0, 0, nan, 1"},
        {"<f8", "(1, 4)", huge, 32, "a number that f32 cannot represent"},
    };
    const char *folder = t_folder();
    char text[700];

    make_jpeg(folder, "a.jpg", EDGE, EDGE, 1);
    write_list(folder, "list.tsv", TWO_BOXES);
    for (size_t i = 0; i <= sizeof(cases) / sizeof(cases[0]); i++) {
        const bool is_missing = i == sizeof(cases) / sizeof(cases[0]);
        sluice_dataset *dataset = NULL;

        snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | box_encoder %s/%s.npy",
                 folder, folder, is_missing ? "none" : "bad");
        if (!is_missing) {
            npy_write(folder, "bad.npy", cases[i].descr, cases[i].shape, cases[i].data,
                      cases[i].size);
        }
        T_TRUE(sluice_dataset_parse(text, &dataset) != SLUICE_OK && dataset == NULL);
        T_CONTAINS(sluice_last_error(), is_missing ? "No such file" : cases[i].words);
        T_CONTAINS(sluice_last_error(), is_missing ? "none.npy" : "bad.npy");
    }
    t_write_file(t_path(folder, "bad.npy"), "abc", 3);
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | box_encoder %s/bad.npy", folder,
             folder);
    T_STATUS(sluice_dataset_parse(text, &(sluice_dataset *){NULL}), SLUICE_E_CORRUPT);
}

static void what_it_cannot_use_is_refused(void)
{
    static const refused_case cases[] = {
        {"box_encoder", "anchors is missing"},
        {"box_encoder ssd512", "anchors=ssd512 must be ssd300, or the path of a .npy file"},
        {"box_encoder ssd300 criteria=1.5", "criteria=1.5 must be from 0 to 1"},
        {"box_encoder ssd300 offset=true stds=0.1,0.1,0,0.2", "stds=0 must be above 0"},
        {"box_encoder ssd300 offset=true means=0,0", "means must be four numbers"},
        {"box_encoder ssd300 offset=true stds=imagenet", "stds must be four numbers"},
        {"box_encoder ssd300 stds=0.1,0.1,0.2,0.2", "set offset=true"},
        {"box_encoder ssd300 scale=300", "set offset=true"},
        {"box_encoder ssd300 boxes=label classes=c",
         "box_encoder: label is a plain column, and must be a column of boxes"},
        {"box_encoder ssd300 boxes=crowd classes=c", "there is no column 'crowd'"},
        {"box_encoder ssd300 classes=label", "classes=label is a plain column, i32"},
        {"box_encoder ssd300", "there is no column 'classes'"},
        {"box_encoder ssd300 classes=c | resize 8,8",
         "resize comes after box_encoder, which works on the boxes of the final image"},
        {"box_encoder ssd300 classes=c | rotate 3", "rotate comes after box_encoder"},
        {"box_encoder ssd300 classes=c | box_encoder ssd300 classes=c", "boxes is a plain column"},
        {"drop boxes | box_encoder ssd300 classes=c", "there is no column 'boxes'"},
        {"drop image | box_encoder ssd300 classes=c", "box_encoder: there is no image"},
        {"random_resize 8,16 | box_encoder ssd300 classes=c",
         "box_encoder comes after random_resize, which gives images of random sizes"},
        {"box_encoder ssd300 classes=c | drop mask | batch 1 | mixup 2",
         "mixup mixes images, and not the boxes of box_encoder"},
    };

    check_refused_stages(decoded_list, cases, sizeof(cases) / sizeof(cases[0]));
}

const t_test box_encoder_tests[] = {
    T_TEST(anchors_get_the_boxes_that_they_get_in_dali),
    T_TEST(ssd300_has_the_anchors_of_the_paper),
    T_TEST(files_of_all_forms_are_read),
    T_TEST(the_identity_has_the_anchors),
    T_TEST(boxes_are_encoded_where_geometry_has_moved_them),
    T_TEST(one_of_the_columns_may_be_dropped),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(a_cache_does_not_matter),
    T_TEST(a_class_without_a_label_makes_a_bad_sample),
    T_TEST(files_without_anchors_are_refused),
    T_TEST(what_it_cannot_use_is_refused),
    T_END,
};
