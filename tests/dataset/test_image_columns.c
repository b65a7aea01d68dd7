/* SPDX-License-Identifier: Apache-2.0 */
/* Several images of a sample: maps between stages, and stages that work on some of the images. */
#include <sluice/custom.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "tar_kit.h"
#include "testing.h"

enum { PAIR_SIDE = 8, PAIR_BYTES = PAIR_SIDE * PAIR_SIDE * 3, PAIRS = 6 };

/* Sample n of image `which`, 0 or 1, as a PPM file; returns its size. */
static size_t picture(uint32_t n, uint32_t which, char *bytes)
{
    size_t at = (size_t)sprintf(bytes, "P6 %d %d 255\n", PAIR_SIDE, PAIR_SIDE);

    for (uint32_t i = 0; i < PAIR_BYTES; i++) {
        bytes[at++] = (char)(uint8_t)(n * 41 + i * (which == 0 ? 3 : 7) + which * 100);
    }
    return at;
}

/* ---- three sources of the same pairs --------------------------------------------------------- */

static sluice_dataset *list_of_pairs(const char *folder)
{
    char list[400] = "left:image\tright:image\n";
    char bytes[300];
    char name[20];

    for (uint32_t n = 0; n < PAIRS; n++) {
        for (uint32_t which = 0; which < 2; which++) {
            snprintf(name, sizeof(name), "%u-%u.ppm", n, which);
            t_write_file(t_path(folder, name), bytes, picture(n, which, bytes));
        }
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%u-0.ppm\t%u-1.ppm\n", n, n);
    }
    return list_dataset(folder, list, "");
}

static sluice_dataset *shard_of_pairs(const char *folder)
{
    tar_maker tar = {0};
    char path[300];
    char bytes[300];
    char text[500];
    char name[20];

    for (uint32_t n = 0; n < PAIRS; n++) {
        for (uint32_t which = 0; which < 2; which++) {
            snprintf(name, sizeof(name), "%u.%s.ppm", n, which == 0 ? "l" : "r");
            tar_add(&tar, name, '0', bytes, picture(n, which, bytes));
        }
    }
    snprintf(path, sizeof(path), "%s", t_path(folder, "pairs.tar"));
    tar_write(&tar, path);
    tar_free(&tar);
    snprintf(text, sizeof(text), "webdataset %s fields=left:l.ppm,right:r.ppm", path);
    return parsed(text);
}

static sluice_status read_pair(sluice_sample *sample, uint64_t index, void *user)
{
    static const char *const names[] = {"left", "right"};

    (void)user;
    for (uint32_t which = 0; which < 2; which++) {
        char bytes[300];
        const size_t size = picture((uint32_t)index, which, bytes);
        const uint64_t shape = size;
        void *room;
        sluice_status st = sluice_sample_room(sample, names[which], &shape, &room);

        if (st != SLUICE_OK) {
            return st;
        }
        memcpy(room, bytes, size);
    }
    return SLUICE_OK;
}

static sluice_dataset *source_of_pairs(const char *folder)
{
    static const sluice_column_spec columns[] = {
        {.name = "left", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE},
        {.name = "right", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE},
    };
    sluice_source source;

    (void)folder;
    sluice_source_init(&source);
    source.name = "pairs";
    source.columns = columns;
    source.column_count = 2;
    source.count = PAIRS;
    source.read = read_pair;
    return custom_dataset(&source, "shuffle seed=1");
}

static sluice_dataset *(*const sources[])(const char *folder) = {list_of_pairs, shard_of_pairs,
                                                                 source_of_pairs};
enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

/* ---- maps ------------------------------------------------------------------------------------ */

static const char *const both[] = {"left", "right"};

/* Copies both images, of any type and shape, to plain columns. */
static sluice_status copy_both(sluice_sample *sample, void *user)
{
    static const char *const copies[] = {"seen_left", "seen_right"};

    (void)user;
    for (uint32_t i = 0; i < 2; i++) {
        sluice_sample_view view;
        sluice_status st = sluice_sample_get(sample, both[i], &view);

        if (st == SLUICE_OK) {
            st = sluice_sample_lend(sample, copies[i], NULL, view.data, view.bytes);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return SLUICE_OK;
}

static void add_copies(sluice_dataset *dataset, sluice_dtype dtype, const uint64_t shape[3])
{
    sluice_column_spec columns[] = {
        {.name = "seen_left", .dtype = dtype, .rank = 3},
        {.name = "seen_right", .dtype = dtype, .rank = 3},
    };
    sluice_map map;

    memcpy(columns[0].shape, shape, 3 * sizeof(*shape));
    memcpy(columns[1].shape, shape, 3 * sizeof(*shape));
    sluice_map_init(&map);
    map.name = "copies";
    map.inputs = both;
    map.input_count = 2;
    map.outputs = columns;
    map.output_count = 2;
    map.map = copy_both;
    T_OK(sluice_dataset_map(dataset, &map));
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Column `name` of one run has the rows of column `other` of another run. */
static void check_column(const engine_run *got, const char *name, const engine_run *want,
                         const char *other, uint32_t rows)
{
    const int a = sli_layout_find(&got->layout, name);
    const int b = sli_layout_find(&want->layout, other);

    T_TRUE(a >= 0 && b >= 0);
    T_EQ(got->input.tensors[a].dtype, want->input.tensors[b].dtype);
    T_EQ(row_bytes(got, (uint32_t)a), row_bytes(want, (uint32_t)b));
    for (uint32_t row = 0; row < rows; row++) {
        if (memcmp(row_of(got, (uint32_t)a, row), row_of(want, (uint32_t)b, row),
                   row_bytes(got, (uint32_t)a)) != 0) {
            T_FAIL_("%s is not %s in row %u", name, other, row);
        }
    }
}

/* Opens a run of one batch. */
static void open_batch(engine_run *run, sluice_dataset *dataset, uint64_t seed)
{
    const run_options options = {.workers = 1 + (uint32_t)seed % 2,
                                 .device = devices[seed % 2],
                                 .settings = {.seed = seed, .prefer_device = seed % 4 == 1}};

    T_OK(sluice_dataset_add(dataset, "batch 4"));
    open_run(run, dataset, &options);
    T_OK(next_batch(run));
}

static void close_batch(engine_run *run, sluice_dataset *dataset)
{
    close_run(run);
    sluice_dataset_destroy(dataset);
}

/*
 * The images with stages, a map, and more stages: the map reads what a run of the stages before it
 * gives, and the batch has what a run without the map gives.
 */
static void check_map(uint32_t source, const char *before, const char *after, sluice_dtype dtype,
                      const uint64_t shape[3], uint64_t seed)
{
    const char *folder = t_folder();
    sluice_dataset *datasets[3];
    engine_run runs[3];

    for (int i = 0; i < 3; i++) {
        datasets[i] = sources[source](folder);
        T_OK(sluice_dataset_add(datasets[i], before));
        if (i == 0) {
            add_copies(datasets[i], dtype, shape);
        }
        if (i < 2) {
            T_OK(sluice_dataset_add(datasets[i], after));
        }
        open_batch(&runs[i], datasets[i], seed);
    }
    check_column(&runs[0], "left", &runs[1], "left", 4);
    check_column(&runs[0], "right", &runs[1], "right", 4);
    check_column(&runs[0], "seen_left", &runs[2], "left", 4);
    check_column(&runs[0], "seen_right", &runs[2], "right", 4);
    for (int i = 0; i < 3; i++) {
        close_batch(&runs[i], datasets[i]);
    }
}

static void a_map_reads_every_image_at_its_place(void)
{
    static const struct {
        const char *before;
        const char *after;
        sluice_dtype dtype;
        uint64_t shape[3];
    } cases[] = {
        {"decode", "to_dtype f32 | to_chw", SLUICE_U8, {8, 8, 3}},
        {"decode | random_crop 5 | random_horizontal_flip",
         "normalize imagenet | to_chw",
         SLUICE_U8,
         {5, 5, 3}},
        {"decode mode=gray | random_resized_crop 6 | random_horizontal_flip | to_dtype f32",
         "normalize 0.5 0.5 | to_chw",
         SLUICE_F32,
         {6, 6, 1}},
        {"decode | resize 5,4 | color_jitter 0.4 0.4 0.4 0.1 | to_chw",
         "to_dtype f16 scale=true",
         SLUICE_U8,
         {3, 5, 4}},
        {"decode | to_dtype f32 columns=left,right", "to_chw columns=right", SLUICE_F32, {8, 8, 3}},
    };

    for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t source = 0; source < SOURCES; source++) {
            check_map(source, cases[i].before, cases[i].after, cases[i].dtype, cases[i].shape,
                      i * SOURCES + source);
        }
    }
}

/* Without its column in the batch the image keeps the type that the map reads. */
static void an_image_that_is_dropped_after_a_map_is_not_converted(void)
{
    const uint64_t shape[3] = {PAIR_SIDE, PAIR_SIDE, 3};
    const char *folder = t_folder();
    sluice_dataset *datasets[2];
    engine_run runs[2];

    for (int i = 0; i < 2; i++) {
        datasets[i] = list_of_pairs(folder);
        T_OK(sluice_dataset_add(datasets[i], "decode"));
        if (i == 0) {
            add_copies(datasets[i], SLUICE_U8, shape);
            T_OK(sluice_dataset_add(datasets[i], "drop right | normalize imagenet | to_chw"));
        }
        open_batch(&runs[i], datasets[i], 0);
    }
    check_column(&runs[0], "seen_right", &runs[1], "right", 4);
    check_column(&runs[0], "seen_left", &runs[1], "left", 4);
    for (int i = 0; i < 2; i++) {
        close_batch(&runs[i], datasets[i]);
    }
}

/* Exchanges the images. */
static sluice_status exchange(sluice_sample *sample, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < 2; i++) {
        sluice_sample_view view;
        sluice_status st = sluice_sample_get(sample, both[i], &view);

        if (st == SLUICE_OK) {
            st = sluice_sample_lend(sample, both[1 - i], view.shape, view.data, view.bytes);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return SLUICE_OK;
}

static void a_map_writes_several_images(void)
{
    static const sluice_column_spec images[] = {
        {.name = "left",
         .dtype = SLUICE_U8,
         .rank = 3,
         .shape = {0, 0, 3},
         .role = SLUICE_ROLE_IMAGE},
        {.name = "right",
         .dtype = SLUICE_U8,
         .rank = 3,
         .shape = {0, 0, 3},
         .role = SLUICE_ROLE_IMAGE},
    };
    const char *folder = t_folder();
    sluice_dataset *datasets[2];
    engine_run runs[2];
    sluice_map map;

    sluice_map_init(&map);
    map.name = "exchange";
    map.inputs = both;
    map.input_count = 2;
    map.outputs = images;
    map.output_count = 2;
    map.map = exchange;
    for (int i = 0; i < 2; i++) {
        datasets[i] = list_of_pairs(folder);
        T_OK(sluice_dataset_add(datasets[i], "decode | random_crop 6"));
        if (i == 0) {
            T_OK(sluice_dataset_map(datasets[i], &map));
        }
        T_OK(sluice_dataset_add(datasets[i], "to_dtype f32 scale=true | to_chw"));
        open_batch(&runs[i], datasets[i], 1);
    }
    check_column(&runs[0], "left", &runs[1], "right", 4);
    check_column(&runs[0], "right", &runs[1], "left", 4);
    for (int i = 0; i < 2; i++) {
        close_batch(&runs[i], datasets[i]);
    }
}

/* ---- some of the images ---------------------------------------------------------------------- */

/* `chosen` with columns=..., against `all` for the images that are named and `none` for others. */
static void check_chosen(const char *chosen, const char *all, const char *none, const char *named,
                         const char *other, uint64_t seed)
{
    const char *const stages[] = {chosen, all, none};
    const char *folder = t_folder();
    sluice_dataset *datasets[3];
    engine_run runs[3];

    for (int i = 0; i < 3; i++) {
        datasets[i] = list_of_pairs(folder);
        T_OK(sluice_dataset_add(datasets[i], stages[i]));
        open_batch(&runs[i], datasets[i], seed);
    }
    check_column(&runs[0], named, &runs[1], named, 4);
    check_column(&runs[0], other, &runs[2], other, 4);
    for (int i = 0; i < 3; i++) {
        close_batch(&runs[i], datasets[i]);
    }
}

#define HEAD "decode | random_crop 6 | random_horizontal_flip"

static void conversions_work_on_the_images_named(void)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        check_chosen(HEAD " | normalize imagenet columns=right | to_chw",
                     HEAD " | normalize imagenet | to_chw", HEAD " | to_chw", "right", "left",
                     seed);
        check_chosen(HEAD " | normalize imagenet columns=left", HEAD " | normalize imagenet", HEAD,
                     "left", "right", seed);
        check_chosen(HEAD
                     " | to_dtype f16 scale=true columns=left | to_chw columns=right | to_dtype "
                     "f32 columns=right",
                     HEAD " | to_dtype f16 scale=true", HEAD " | to_chw | to_dtype f32", "left",
                     "right", seed);
    }
}

static void colours_change_in_the_images_named(void)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        check_chosen("decode | color_jitter 0.5 0.5 0.5 0.2 columns=right",
                     "decode | color_jitter 0.5 0.5 0.5 0.2", "decode", "right", "left", seed);
        check_chosen("decode | rename left a | random_invert 1 columns=a | random_equalize 1 "
                     "columns=right | rename a left",
                     "decode | random_invert 1", "decode | random_equalize 1", "left", "right",
                     seed);
    }
}

static void what_is_no_image_is_refused(void)
{
    static const refused_case cases[] = {
        {"decode | normalize 0.5 0.5 columns=middle",
         "normalize: there is no column 'middle'; there are left, right, m, boxes"},
        {"decode | normalize 0.5 0.5 columns=left,m",
         "normalize: columns=m must name images; m is a mask"},
        {"decode | color_jitter 0.5 columns=boxes",
         "color_jitter: columns=boxes must name images; boxes is a column of boxes"},
        {"decode | to_chw columns=boxes_length",
         "boxes_length is a plain column; cast, or a map, converts it"},
        {"decode | to_chw columns=left,left", "to_chw: columns: left is named twice"},
        {"decode | to_chw columns=left,", "to_chw: there is no column ''"},
        {"decode | to_chw columns=right offload=device",
         "to_chw offload=device: the workers convert further images"},
        {"to_dtype f32 columns=right", "to_dtype: there is no decoded image"},
        {"decode | center_crop 4 columns=left", "columns"},
        {"decode | random_horizontal_flip columns=left", "columns"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = list_dataset(folder,
                                               "left:image\tright:image\tm:mask\tboxes:boxes[2]\n"
                                               "a.ppm\ta.ppm\tm.pgm\t0,0,40,30\n",
                                               "");

        T_STATUS(sluice_dataset_add(dataset, cases[i].text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

const t_test image_columns_tests[] = {
    T_TEST(a_map_reads_every_image_at_its_place),
    T_TEST(an_image_that_is_dropped_after_a_map_is_not_converted),
    T_TEST(a_map_writes_several_images),
    T_TEST(conversions_work_on_the_images_named),
    T_TEST(colours_change_in_the_images_named),
    T_TEST(what_is_no_image_is_refused),
    T_END,
};
