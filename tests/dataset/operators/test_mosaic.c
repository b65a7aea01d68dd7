/* SPDX-License-Identifier: Apache-2.0 */
/* mosaic: what its images, masks and boxes show, by images whose pixels say where they are; and
 * that batches depend on the seed, the pass and the sample alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "stage_runs.h"
#include "testing.h"

enum { FILES = 5, MOST_BOXES = 8, FILL = 114 };

/* ---- images that say which they are, and where ------------------------------------------------
 */

/* Sizes of the images, and the box of each; the number of a box is 10 * image + 1 or 2. */
static const struct {
    uint32_t width;
    uint32_t height;
    const char *boxes;
    float first[4];
    float second[4];
} files[FILES] = {
    {40, 30, "2,3,20,25;30,1,39,12", {2, 3, 20, 25}, {30, 1, 39, 12}},
    {24, 36, "0,0,24,36;10,10,14,20", {0, 0, 24, 36}, {10, 10, 14, 20}},
    {32, 32, "16,16,32,32;1,1,3,3", {16, 16, 32, 32}, {1, 1, 3, 3}},
    {50, 10, "5,0,45,10;0,0,10,5", {5, 0, 45, 10}, {0, 0, 10, 5}},
    {9, 44, "2,2,8,40;0,40,9,44", {2, 2, 8, 40}, {0, 40, 9, 44}},
};

/* Pixel (x, y) of image n is x, y, 200 + n; of its mask 1 + (x + 3 * y + n) % 250. */
static uint8_t mask_value(uint32_t n, uint32_t x, uint32_t y)
{
    return (uint8_t)(1 + (x + 3 * y + n) % 250);
}

static void write_file(const char *folder, uint32_t n)
{
    uint8_t bytes[20 + 40 * 50 * 3];
    char name[20];
    size_t at =
        (size_t)snprintf((char *)bytes, 20, "P6 %u %u 255\n", files[n].width, files[n].height);

    for (uint32_t i = 0; i < files[n].width * files[n].height; i++) {
        bytes[at++] = (uint8_t)(i % files[n].width);
        bytes[at++] = (uint8_t)(i / files[n].width);
        bytes[at++] = (uint8_t)(200 + n);
    }
    snprintf(name, sizeof(name), "i%u.ppm", n);
    t_write_file(t_path(folder, name), bytes, at);
    at = (size_t)snprintf((char *)bytes, 20, "P5 %u %u 255\n", files[n].width, files[n].height);
    for (uint32_t i = 0; i < files[n].width * files[n].height; i++) {
        bytes[at++] = mask_value(n, i % files[n].width, i / files[n].width);
    }
    snprintf(name, sizeof(name), "m%u.pgm", n);
    t_write_file(t_path(folder, name), bytes, at);
}

/* A list of these files: an image, a mask, a second image like the first, boxes and their numbers.
 */
static sluice_dataset *mosaics(const char *folder, uint32_t most_boxes, const char *stages)
{
    char list[1500];
    char text[400];
    int at = snprintf(list, sizeof(list),
                      "image\tlabel\tmask:mask\tother:image\tboxes:boxes[%u]\tc:i32[%u]@boxes\n",
                      most_boxes, most_boxes);

    for (uint32_t n = 0; n < FILES; n++) {
        write_file(folder, n);
        at += snprintf(list + at, sizeof(list) - (size_t)at,
                       "i%u.ppm\t%u\tm%u.pgm\ti%u.ppm\t%s\t%u,%u\n", n, n, n, n, files[n].boxes,
                       10 * n + 1, 10 * n + 2);
    }
    snprintf(text, sizeof(text), "| decode | %s | batch %d", stages, FILES);
    return list_dataset(folder, list, text);
}

/* ---- the formula, once more -------------------------------------------------------------------
 */

/* A tile: its image, and where that is in the result. */
typedef struct wanted_tile {
    uint32_t image;
    uint32_t width; /* resized */
    uint32_t height;
    int64_t x;
    int64_t y;
} wanted_tile;

typedef struct wanted {
    uint32_t width;
    uint32_t height;
    uint32_t count;
    wanted_tile tiles[4];
} wanted;

static double between(double low, double high, uint32_t bits)
{
    return low + sli_unit(bits) * (high - low);
}

static uint32_t rounded(double side)
{
    return side < 1 ? 1 : (uint32_t)floor(side + 0.5);
}

/* The tiles of a sample by the documented formula, with these arguments of the stage. */
static wanted want_tiles(const sli_plan *plan, uint64_t sample, uint32_t height, uint32_t width,
                         double p, double low, double high, double translate)
{
    const sli_draws draws = {plan->details->geometry.mosaic.planned->key, sample, 0};
    wanted w = {width, height, 4, {{0}}};
    uint32_t a[4];
    uint32_t b[4];
    double scale;
    double meet[2];

    sli_draw(&draws, 0, a);
    sli_draw(&draws, 1, b);
    w.count = sli_unit(a[0]) < p ? 4 : 1;
    scale = between(low, high, a[1]);
    for (int i = 0; i < 2; i++) {
        const double c = w.count == 4 ? between(0.5, 1.5, a[2 + i]) : 1;

        meet[i] = (0.5 + (c - 1) * scale + between(-translate, translate, b[i])) *
                  (i == 0 ? width : height);
    }
    for (uint32_t t = 0; t < w.count; t++) {
        wanted_tile *tile = &w.tiles[t];
        uint64_t image = sample;
        uint64_t pass;
        double fit;

        if (t > 0) {
            plan_draw_tile(plan, &draws, 0, t, 0, &image, &pass);
        }
        tile->image = (uint32_t)image;
        fit = fmin((double)width / files[image].width, (double)height / files[image].height);
        tile->width = rounded(files[image].width * fit * scale);
        tile->height = rounded(files[image].height * fit * scale);
        if (w.count == 1) {
            tile->x = (int64_t)floor(meet[0] - tile->width / 2.0);
            tile->y = (int64_t)floor(meet[1] - tile->height / 2.0);
        } else {
            tile->x = (int64_t)floor(meet[0] + 0.5) - (t % 2 == 0 ? tile->width : 0);
            tile->y = (int64_t)floor(meet[1] + 0.5) - (t < 2 ? tile->height : 0);
        }
    }
    return w;
}

/* The input of output `i` of a resize by nearest neighbour, in the arithmetic of Pillow. */
static uint32_t nearest(uint32_t i, uint32_t in, uint32_t out)
{
    const double step = (double)in / out;
    double at = step * 0.5;

    while (i-- > 0) {
        at += step;
    }
    return (uint32_t)at;
}

/* Finds the tile that shows a pixel, and the pixel of its image by nearest neighbour. */
static const wanted_tile *tile_at(const wanted *w, int64_t x, int64_t y, uint32_t *from_x,
                                  uint32_t *from_y)
{
    for (uint32_t t = 0; t < w->count; t++) {
        const wanted_tile *tile = &w->tiles[t];

        if (x >= tile->x && x < tile->x + tile->width && y >= tile->y &&
            y < tile->y + tile->height) {
            *from_x = nearest((uint32_t)(x - tile->x), files[tile->image].width, tile->width);
            *from_y = nearest((uint32_t)(y - tile->y), files[tile->image].height, tile->height);
            return tile;
        }
    }
    return NULL;
}

static void check_pixels(const wanted *w, const uint8_t *image, const uint8_t *other,
                         const uint8_t *mask, uint8_t fill, uint8_t mask_fill)
{
    for (uint32_t i = 0; i < w->width * w->height; i++) {
        uint32_t x = 0;
        uint32_t y = 0;
        const wanted_tile *tile = tile_at(w, i % w->width, i / w->width, &x, &y);
        const uint8_t want[4] = {tile != NULL ? (uint8_t)x : fill, tile != NULL ? (uint8_t)y : fill,
                                 tile != NULL ? (uint8_t)(200 + tile->image) : fill,
                                 tile != NULL ? mask_value(tile->image, x, y) : mask_fill};

        T_EQ(memcmp(image + (size_t)3 * i, want, 3), 0);
        T_EQ(memcmp(other + (size_t)3 * i, want, 3), 0);
        T_EQ(mask[i], want[3]);
    }
}

static float clipped(double value, uint32_t most)
{
    return (float)(value < 0 ? 0 : value > most ? most : value);
}

/* All boxes of the tiles, in order, moved and clipped. Returns their number. */
static uint32_t want_boxes(const wanted *w, float boxes[][4], int32_t *classes)
{
    uint32_t count = 0;

    for (uint32_t t = 0; t < w->count; t++) {
        const wanted_tile *tile = &w->tiles[t];
        const double across = (double)tile->width / files[tile->image].width;
        const double down = (double)tile->height / files[tile->image].height;

        for (int k = 0; k < 2; k++) {
            const float *from = k == 0 ? files[tile->image].first : files[tile->image].second;

            boxes[count][0] = clipped((double)from[0] * across + (double)tile->x, w->width);
            boxes[count][1] = clipped((double)from[1] * down + (double)tile->y, w->height);
            boxes[count][2] = clipped((double)from[2] * across + (double)tile->x, w->width);
            boxes[count][3] = clipped((double)from[3] * down + (double)tile->y, w->height);
            classes[count] = (int32_t)(10 * tile->image) + k + 1;
            count += boxes[count][0] < boxes[count][2] && boxes[count][1] < boxes[count][3];
        }
    }
    return count;
}

static void check_boxes(const engine_run *run, uint32_t row, const wanted *w)
{
    const float *got = column_row(run, "boxes", row);
    const int32_t *classes = column_row(run, "c", row);
    const uint32_t count = (uint32_t) * (const int32_t *)column_row(run, "boxes_length", row);
    float moved[MOST_BOXES + 1][4];
    int32_t moved_classes[MOST_BOXES + 1];
    const uint32_t moved_count = want_boxes(w, moved, moved_classes);

    T_EQ(count, moved_count);
    for (uint32_t i = 0; i < count; i++) {
        T_EQ(classes[i], moved_classes[i]);
        for (int k = 0; k < 4; k++) {
            T_TRUE(fabsf(got[4 * i + (uint32_t)k] - moved[i][k]) < 1e-3F);
        }
    }
    T_TRUE(is_zero(got + (size_t)4 * count, (MOST_BOXES - count) * 16) &&
           is_zero(classes + count, (MOST_BOXES - count) * 4));
}

static void four_images_meet_where_the_formula_says(void)
{
    static const struct {
        const char *stage;
        uint32_t height;
        uint32_t width;
        double p;
        double low;
        double high;
        double translate;
        uint8_t fill;
        uint8_t mask_fill;
    } cases[] = {
        {"mosaic 40,60 scale=1,1 translate=0 filter=nearest", 40, 60, 1, 1, 1, 0, FILL, 0},
        {"mosaic 37 filter=nearest", 37, 37, 1, 0.5, 1.5, 0.1, FILL, 0},
        {"mosaic 25,31 p=0.5 fill=9 mask_fill=255 scale=0.3,2 translate=0.6 filter=nearest", 25, 31,
         0.5, 0.3, 2, 0.6, 9, 255},
    };
    const char *folder = t_folder();
    uint32_t singles = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = mosaics(folder, MOST_BOXES, cases[i].stage);

        for (uint64_t seed = 0; seed < 12; seed++) {
            engine_run run;

            open_run(&run, dataset,
                     &(run_options){
                         .workers = 1, .device = devices[seed % 2], .settings = {.seed = seed}});
            T_OK(next_batch(&run));
            for (uint32_t row = 0; row < FILES; row++) {
                const wanted w =
                    want_tiles(run.plan, row, cases[i].height, cases[i].width, cases[i].p,
                               cases[i].low, cases[i].high, cases[i].translate);

                T_EQ(row_bytes(&run, 0), (size_t)w.width * w.height * 3);
                T_EQ(*(const int32_t *)column_row(&run, "label", row), row);
                check_pixels(&w, column_row(&run, "image", row), column_row(&run, "other", row),
                             column_row(&run, "mask", row), cases[i].fill, cases[i].mask_fill);
                check_boxes(&run, row, &w);
                singles += w.count == 1;
            }
            close_run(&run);
        }
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(singles > 15 && singles < 45); /* of 60 samples with p=0.5 */
}

/* ---- what comes before and after --------------------------------------------------------------
 */

/* Crops, masks, further images and boxes after mosaic work as on a sample of a file. */
static void masks_and_boxes_follow_later_stages(void)
{
    const char *folder = t_folder();
    sluice_dataset *whole = mosaics(folder, MOST_BOXES, "mosaic 40,60 filter=nearest");
    sluice_dataset *part =
        mosaics(folder, MOST_BOXES,
                "mosaic 40,60 filter=nearest | center_crop 30,40 | random_horizontal_flip 1");
    engine_run runs[2];

    open_run(&runs[0], whole, &(run_options){.workers = 1});
    open_run(&runs[1], part, &(run_options){.workers = 1});
    T_OK(next_batch(&runs[0]));
    T_OK(next_batch(&runs[1]));
    for (uint32_t row = 0; row < FILES; row++) {
        static const char *const images[] = {"image", "other", "mask"};
        const float *want = column_row(&runs[0], "boxes", row);
        const float *got = column_row(&runs[1], "boxes", row);
        uint32_t kept = 0;

        for (int c = 0; c < 3; c++) {
            const size_t pixel = c < 2 ? 3 : 1;
            const uint8_t *from = column_row(&runs[0], images[c], row);
            const uint8_t *to = column_row(&runs[1], images[c], row);

            for (size_t i = 0; i < 30 * 40; i++) {
                const size_t at = (i / 40 + 5) * 60 + 10 + 39 - i % 40;

                T_EQ(memcmp(to + i * pixel, from + at * pixel, pixel), 0);
            }
        }
        for (int32_t i = 0; i < *(const int32_t *)column_row(&runs[0], "boxes_length", row); i++) {
            const float *b = want + (size_t)4 * i;
            const float moved[4] = {
                40 - clipped((double)b[2] - 10, 40), clipped((double)b[1] - 5, 30),
                40 - clipped((double)b[0] - 10, 40), clipped((double)b[3] - 5, 30)};

            if (moved[0] < moved[2] && moved[1] < moved[3]) {
                for (int k = 0; k < 4; k++) {
                    T_TRUE(fabsf(got[4 * kept + (uint32_t)k] - moved[k]) < 1e-3F);
                }
                kept++;
            }
        }
        T_EQ(*(const int32_t *)column_row(&runs[1], "boxes_length", row), kept);
    }
    close_run(&runs[0]);
    close_run(&runs[1]);
    sluice_dataset_destroy(whole);
    sluice_dataset_destroy(part);
}

/* ---- boxes ------------------------------------------------------------------------------------
 */

static double area(const float *b)
{
    return ((double)b[2] - (double)b[0]) * ((double)b[3] - (double)b[1]);
}

static void of_too_many_boxes_the_largest_are_kept(void)
{
    enum { ROOM = 3 };
    const char *folder = t_folder();
    sluice_dataset *all = mosaics(folder, MOST_BOXES, "mosaic 40,60");
    sluice_dataset *some;
    engine_run runs[2];
    sli_image_counts counts;
    uint32_t dropped = 0;
    uint32_t images = 0;

    kit_log_start(NULL, NULL);
    open_run(&runs[0], all, &(run_options){.workers = 1});
    T_OK(next_batch(&runs[0]));
    T_STR(kit_log_stop(), "");
    kit_log_start(NULL, NULL);
    some = mosaics(folder, ROOM, "mosaic 40,60");
    open_run(&runs[1], some, &(run_options){.workers = 1});
    T_OK(next_batch(&runs[1]));
    for (uint32_t row = 0; row < FILES; row++) {
        const float *want = column_row(&runs[0], "boxes", row);
        const float *got = column_row(&runs[1], "boxes", row);
        const int32_t *want_c = column_row(&runs[0], "c", row);
        const int32_t *got_c = column_row(&runs[1], "c", row);
        const uint32_t count =
            (uint32_t) * (const int32_t *)column_row(&runs[0], "boxes_length", row);
        uint32_t kept = 0;

        for (uint32_t i = 0; i < count; i++) {
            uint32_t larger = 0;

            for (uint32_t k = 0; k < count; k++) {
                larger += area(want + 4 * k) > area(want + 4 * i) ||
                          (k < i && area(want + 4 * k) == area(want + 4 * i));
            }
            if (larger < ROOM) {
                T_EQ(memcmp(got + 4 * kept, want + 4 * i, 16), 0);
                T_EQ(got_c[kept], want_c[i]);
                kept++;
            }
        }
        T_EQ(*(const int32_t *)column_row(&runs[1], "boxes_length", row), kept);
        dropped += count - kept;
        images += count > kept;
    }
    T_TRUE(dropped > 5);
    sli_engine_image_counts(runs[1].engine, &counts);
    T_TRUE(counts.of[SLI_IMAGE_BOXES_LEFT_OUT] >= images);
    close_run(&runs[0]);
    close_run(&runs[1]);
    T_CONTAINS(
        kit_log_stop(),
        "is the first image with more boxes in the tiles of mosaic than their column holds: the "
        "smallest are left out");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
    sluice_dataset_destroy(all);
    sluice_dataset_destroy(some);
}

/* Stages that depend on boxes have those of the file before mosaic, and those of the mosaic after
 * it.
 */
static void boxes_in_parts_become_pixels_of_the_mosaic(void)
{
    static const char *const lists[2] = {
        "image\tboxes:darknet[8]\tc:i32[8]@boxes\ni0.ppm\t0.5,0.5,0.5,0.2;0.25,0.5,0.5,1\t1,2\n"
        "i1.ppm\t0.5,0.25,1,0.5\t3\n",
        "image\tboxes:boxes[8]\tc:i32[8]@boxes\ni0.ppm\t10,12,30,18;0,0,20,30\t1,2\n"
        "i1.ppm\t0,0,24,18\t3\n",
    };
    static const char *const stages[] = {
        "| decode | mosaic 20,30 | random_crop 16 | batch 2",
        "| decode | mosaic 20,30 | random_iou_crop | resize 16,16 | batch 2",
        "| decode | random_iou_crop | mosaic 20,30 | batch 2",
    };
    const char *folder = t_folder();

    write_file(folder, 0);
    write_file(folder, 1);
    for (size_t k = 0; k < sizeof(stages) / sizeof(stages[0]); k++) {
        tape tapes[2];

        for (int i = 0; i < 2; i++) {
            sluice_dataset *dataset = list_dataset(folder, lists[i], stages[k]);
            const run_options options = {.workers = 1 + (uint32_t)i, .batches = 10};

            tapes[i] = record(dataset, &options);
            T_STATUS(tapes[i].end, SLUICE_END_OF_DATA);
            sluice_dataset_destroy(dataset);
        }
        check_equal_tapes(&tapes[0], &tapes[1], stages[k]);
        free(tapes[0].bytes);
        free(tapes[1].bytes);
    }
}

/* ---- points that belong to boxes ---------------------------------------------------------------
 */

/* Sample n has an image of 20 x 10 and n % 3 boxes, numbered 10 * n + k; its points are two corners
 * of its box. */
static sluice_status read_corners(sluice_sample *sample, uint64_t index, void *user)
{
    const float boxes[2][4] = {{1, 2, 9, 8}, {(float)index, 0, 20, 7}};
    const float corners[2][2][2] = {{{1, 2}, {9, 8}}, {{(float)index, 0}, {20, 7}}};
    const int32_t numbers[2] = {10 * (int32_t)index, 10 * (int32_t)index + 1};
    const uint64_t count = index % 3;
    const struct {
        const char *column;
        uint64_t shape[3];
        const void *bytes;
        size_t size;
    } columns[] = {
        {"boxes", {count, 4}, boxes, count * 16},
        {"corners", {count, 2, 2}, corners, count * 16},
        {"numbers", {count}, numbers, count * 4},
    };
    void *room;
    sluice_status st = sluice_sample_room(sample, "image", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        memset(room, (int)index + 1, 200);
    }
    for (int i = 0; i < 3 && st == SLUICE_OK; i++) {
        st = sluice_sample_room(sample, columns[i].column, columns[i].shape, &room);
        if (st == SLUICE_OK) {
            memcpy(room, columns[i].bytes, columns[i].size);
        }
    }
    return st;
}

static void points_of_boxes_are_moved_and_joined_with_them(void)
{
    enum { SAMPLES = 9, MOST = 6, WIDTH = 24, HEIGHT = 18 };
    static const sluice_column_spec columns[] = {
        {"image", SLUICE_U8, 3, {10, 20, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
        {"boxes", SLUICE_F32, 2, {MOST, 4}, SLUICE_ROLE_BOXES, 0, NULL},
        {"corners", SLUICE_F32, 3, {MOST, 2, 2}, SLUICE_ROLE_POINTS, 0, "boxes"},
        {"numbers", SLUICE_I32, 1, {MOST}, SLUICE_ROLE_PLAIN, 0, "corners"},
    };
    sluice_source source;
    engine_run run;
    uint32_t several = 0;

    sluice_source_init(&source);
    source.name = "corners";
    source.columns = columns;
    source.column_count = 4;
    source.count = SAMPLES;
    source.read = read_corners;
    open_own(&run,
             custom_dataset(&source, "mosaic 18,24 | random_horizontal_flip 1 swap=0:1 | batch 9"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < SAMPLES; row++) {
        const float *boxes = column_row(&run, "boxes", row);
        const float *points = column_row(&run, "corners", row);
        const int32_t *numbers = column_row(&run, "numbers", row);
        const int32_t count = *(const int32_t *)column_row(&run, "boxes_length", row);
        bool others = false;

        for (int32_t i = 0; i < count; i++) {
            const float *b = boxes + (size_t)4 * i;
            const float *p = points + (size_t)4 * i;

            /* The flip makes the right corner the left one, and exchanges the two. */
            T_NEAR(clipped((double)p[0], WIDTH), b[0], 1e-4);
            T_NEAR(clipped((double)p[1], HEIGHT), b[3], 1e-4);
            T_NEAR(clipped((double)p[2], WIDTH), b[2], 1e-4);
            T_NEAR(clipped((double)p[3], HEIGHT), b[1], 1e-4);
            T_TRUE(numbers[i] % 10 < numbers[i] / 10 % 3);
            others = others || numbers[i] / 10 != (int32_t)row;
        }
        several += others;
        T_TRUE(is_zero(points + (size_t)4 * count, (size_t)(MOST - count) * 16) &&
               is_zero(numbers + count, (size_t)(MOST - count) * 4));
    }
    T_TRUE(several > 4);
    close_run(&run);
}

static void columns_that_are_not_needed_are_left_out(void)
{
    static const char *const projects[] = {"image,label", "c,boxes_length", "mask", "label",
                                           "other,boxes,boxes_length"};
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(projects) / sizeof(projects[0]); i++) {
        char stages[200];
        sluice_dataset *dataset;
        engine_run all;
        engine_run some;
        sluice_dataset *whole = mosaics(folder, MOST_BOXES, "mosaic 20,30");

        snprintf(stages, sizeof(stages), "mosaic 20,30 | project %s", projects[i]);
        open_run(&all, whole, &(run_options){.workers = 1});
        T_OK(next_batch(&all));
        dataset = mosaics(folder, MOST_BOXES, stages);
        open_run(&some, dataset, &(run_options){.workers = 1});
        T_OK(next_batch(&some));
        for (uint32_t c = 0; c < some.plan->column_count; c++) {
            const char *name = some.plan->seen[c].name;

            for (uint32_t row = 0; row < FILES; row++) {
                T_EQ(memcmp(column_row(&some, name, row), column_row(&all, name, row),
                            row_bytes(&some, c)),
                     0);
            }
        }
        close_run(&all);
        close_run(&some);
        sluice_dataset_destroy(whole);
        sluice_dataset_destroy(dataset);
    }
}

const t_test mosaic_tests[] = {
    T_TEST(four_images_meet_where_the_formula_says),
    T_TEST(masks_and_boxes_follow_later_stages),
    T_TEST(of_too_many_boxes_the_largest_are_kept),
    T_TEST(boxes_in_parts_become_pixels_of_the_mosaic),
    T_TEST(points_of_boxes_are_moved_and_joined_with_them),
    T_TEST(columns_that_are_not_needed_are_left_out),
    T_END,
};
