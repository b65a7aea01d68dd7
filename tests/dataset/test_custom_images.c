/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of a program's own: images, and what follows them. */
#include <stdlib.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "testing.h"

enum { SAMPLES = CUSTOM_SAMPLES, H = 6, W = 5 };

static uint8_t pixel(uint64_t index, size_t i)
{
    return (uint8_t)(index * 31 + i * 7);
}

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct pictures {
    bool varies;
    bool lends;
    bool is_stream;          /* next() gives the same samples */
    sluice_source source;    /* the source by number of that stream */
    uint8_t *files[SAMPLES]; /* NULL: pixels */
    size_t sizes[SAMPLES];
    uint64_t max_sample; /* of the stream */
} pictures;

static sluice_status read_pixels(sluice_sample *sample, uint64_t index, const pictures *p)
{
    const uint64_t shape[] = {H + (p->varies ? index % 3 : 0), W, 3};
    const size_t bytes = (size_t)(shape[0] * shape[1] * shape[2]);
    uint8_t **lent = sluice_sample_worker(sample);
    void *room;
    sluice_status st = SLUICE_OK;

    if (p->lends) { /* a block of this size exactly, so that a sanitizer sees what is read behind */
        free(*lent);
        *lent = malloc(bytes);
        room = *lent;
    } else {
        st = sluice_sample_room(sample, "image", p->varies ? shape : NULL, &room);
    }
    for (size_t i = 0; st == SLUICE_OK && i < bytes; i++) {
        ((uint8_t *)room)[i] = pixel(index, i);
    }
    return p->lends ? sluice_sample_lend(sample, "image", shape, *lent, bytes) : st;
}

static sluice_status read_picture(sluice_sample *sample, uint64_t index, void *user)
{
    const pictures *p = user;
    const int32_t label = (int32_t)index;
    void *room;
    sluice_status st;

    st = sluice_sample_room(sample, "label", NULL, &room);
    if (st == SLUICE_OK) {
        memcpy(room, &label, sizeof(label));
    }
    if (st != SLUICE_OK || p->files[0] == NULL) {
        return st == SLUICE_OK ? read_pixels(sample, index, p) : st;
    }
    if (p->lends) {
        return sluice_sample_lend(sample, "image", NULL, p->files[index], p->sizes[index]);
    }
    st = sluice_sample_room(sample, "image", (uint64_t[]){p->sizes[index]}, &room);
    if (st == SLUICE_OK) {
        memcpy(room, p->files[index], p->sizes[index]);
    }
    return st;
}

/* A worker keeps the block that it lends until its next sample. */
static sluice_status begin_lending(void *user, void **worker_out)
{
    (void)user;
    *worker_out = calloc(1, sizeof(uint8_t *));
    return *worker_out != NULL ? SLUICE_OK : SLUICE_E_NO_MEMORY;
}

static void end_lending(void *worker, void *user)
{
    (void)user;
    free(*(uint8_t **)worker);
    free(worker);
}

static sluice_dataset *pictures_dataset(pictures *p, const char *stages)
{
    sluice_column_spec columns[] = {
        {.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {H, W, 3}},
        {.name = "label", .dtype = SLUICE_I32},
    };
    sluice_source source;

    columns[0].role = SLUICE_ROLE_IMAGE;
    if (p->varies) {
        columns[0].shape[0] = 0;
        columns[0].shape[1] = 0;
    }
    if (p->files[0] != NULL) {
        columns[0] = (sluice_column_spec){
            .name = "image", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE};
    }
    sluice_source_init(&source);
    source.name = "pictures";
    source.columns = columns;
    source.column_count = 2;
    source.count = SAMPLES;
    source.read = read_picture;
    source.begin = begin_lending;
    source.end = end_lending;
    source.user = p;
    if (p->is_stream) {
        p->source = source;
        source = custom_stream_of(&p->source);
        source.max_sample = p->max_sample;
    }
    return custom_dataset(&source, stages);
}

static void check_pictures(pictures *p, const char *stages, uint64_t top)
{
    engine_run run;
    uint64_t rows = 0;

    open_own(&run, pictures_dataset(p, stages), &(run_options){.workers = 2});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 4; row++, rows++) {
            const uint8_t *image = row_of(&run, 0, row);
            const uint64_t index = (uint64_t) * (const int32_t *)row_of(&run, 1, row);

            T_EQ(row_bytes(&run, 0), (H - 2 * top) * W * 3);
            for (size_t i = 0; i < row_bytes(&run, 0); i++) {
                T_EQ(image[i], pixel(index, i + top * W * 3));
            }
        }
    }
    T_EQ(rows, SAMPLES);
    close_run(&run);
}

static void images_of_one_size_pass_through_the_stages(void)
{
    pictures p = {.varies = false};

    check_pictures(&p, "shuffle | batch 4", 0);
    p.lends = true;
    check_pictures(&p, "shuffle | batch 4", 0);
    check_pictures(&p, "center_crop 4,5 | batch 4", 1);
}

/* Images, masks and columns of a stream are those of the same function by number. */
static void a_stream_gives_what_the_function_gives_by_number(void)
{
    for (int i = 0; i < 4; i++) {
        const char *stages = i / 2 == 0 ? "batch 4" : "resize 4,4 | to_chw | batch 4";
        pictures numbered = {.varies = i / 2 == 1, .lends = i % 2 == 1};
        pictures streamed = {.varies = i / 2 == 1, .lends = i % 2 == 1, .is_stream = true};
        sluice_dataset *want = pictures_dataset(&numbered, stages);
        sluice_dataset *got = pictures_dataset(&streamed, stages);
        tape expected = record(want, &(run_options){.workers = 1});
        tape t = record(got, &(run_options){.workers = 3});

        T_EQ(t.batches, 5);
        check_equal_tapes(&t, &expected, stages);
        free(t.bytes);
        free(expected.bytes);
        sluice_dataset_destroy(want);
        sluice_dataset_destroy(got);
    }
}

static void an_image_of_a_stream_above_the_maximum_is_a_bad_sample(void)
{
    pictures p = {.varies = true, .is_stream = true, .max_sample = (H + 1) * W * 3};
    sluice_dataset *dataset = pictures_dataset(&p, "resize 4,4 | batch 4");
    tape t =
        record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO, .world = 1}});

    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.errors.zeroed, 6); /* every third is a line higher than that */
    free(t.bytes);
    batches_to_error(dataset, &(run_options){.workers = 2}, SLUICE_E_CORRUPT,
                     "sample 2, pictures/2: pictures: 120 bytes of images are more than the "
                     "sample of a stream may have, 105; set max_sample");
}

static void images_may_vary_in_size(void)
{
    pictures p = {.varies = true};
    sluice_dataset *dataset;
    tape t;

    for (int i = 0; i < 2; i++) {
        p.lends = i == 1;
        dataset = pictures_dataset(&p, "resize 4,4 | batch 4");
        t = record(dataset, &(run_options){.workers = 2});
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.batches, 5);
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
    /* Without a resize the first sample's size is that of all, and others are bad samples. */
    dataset = pictures_dataset(&p, "batch 4");
    t = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .world = 1}});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.errors.replaced, 13);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

static void encoded_images_are_decoded(void)
{
    pictures p = {.lends = false};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    tape want;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        char name[40];
        FILE *file;
        uint8_t *bytes = malloc(100000);

        snprintf(name, sizeof(name), "c/%02u.jpg", i);
        make_jpeg(folder, name, 20 + i, 30, i);
        file = fopen(t_path(folder, name), "rb");
        T_TRUE(file != NULL && bytes != NULL);
        p.sizes[i] = fread(bytes, 1, 100000, file);
        fclose(file);
        p.files[i] = realloc(bytes, p.sizes[i]); /* for the sanitizer, as above */
    }
    dataset = folder_dataset(folder, "shuffle 1 | decode | random_resized_crop 8 | batch 4");
    want = record(dataset, &(run_options){.workers = 2});
    sluice_dataset_destroy(dataset);
    for (int i = 0; i < 2; i++) {
        engine_run run;
        const uint8_t *from = want.bytes;
        uint64_t rows = 0;

        p.lends = i == 1;
        dataset = pictures_dataset(&p, "shuffle 1 | decode | random_resized_crop 8 | batch 4");
        open_run(&run, dataset, &(run_options){.workers = 2});
        while (next_batch(&run) == SLUICE_OK) {
            for (uint32_t row = 0; row < 4; row++, rows++) {
                bool found = false;

                for (size_t at = 0; at + 192 <= want.size && !found; at++) {
                    found = memcmp(from + at, row_of(&run, 0, row), 192) == 0;
                }
                T_TRUE(found);
            }
        }
        T_EQ(rows, SAMPLES);
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
    free(want.bytes);
    for (int i = 0; i < SAMPLES; i++) {
        free(p.files[i]);
    }
}

/* ---- masks, boxes, ragged columns ------------------------------------------------------------ */

enum {
    SCENES = 3,
    WIDTH = 40,
    HEIGHT = 30,
    MOST = 3,
    TEXT = 8,
    FILE_SIZE = 20 + WIDTH * HEIGHT * 3
};

/* What a scene does wrong, in sample 1. */
typedef enum slip {
    NO_SLIP,
    MASK_SIZE,
    NAN_IN_BOX,
    BOX_OUTSIDE,
    TOO_MANY_BOXES,
    CLASSES_MISSING
} slip;

typedef struct scenes {
    bool encoded;
    slip slip;
    bool is_stream;
    sluice_source source;
} scenes;

static const struct scene {
    uint32_t count;
    float boxes[MOST][4];
    int32_t classes[MOST];
    const char *text;
} all_scenes[SCENES] = {
    {2, {{0, 0, 8, 30}, {10.5F, 3, 40, 20}}, {5, 7}, "a"},
    {3, {{1, 2, 3, 4}, {20, 10, 30, 20}, {2, 1, 39, 29}}, {1, 2, 3}, "eight  8"},
    {0, {{0, 0, 0, 0}}, {0}, ""},
};

/* The bytes of a PPM, or of a PGM of a mask; without its header the pixels. */
static size_t write_scene(uint64_t index, uint32_t channels, bool header, uint8_t *bytes)
{
    size_t at = header ? (size_t)snprintf((char *)bytes, 20, "P%d %d %d 255\n",
                                          channels == 3 ? 6 : 5, WIDTH, HEIGHT)
                       : 0;

    for (uint32_t i = 0; i < WIDTH * HEIGHT * channels; i++) {
        bytes[at++] = (uint8_t)(index * 50 + i / channels % WIDTH * 3 + i / channels / WIDTH * 2 +
                                i % channels);
    }
    return at;
}

/* Gives an image or mask, encoded or as pixels. */
static sluice_status give_pixels(sluice_sample *sample, const char *column, uint64_t index,
                                 uint32_t channels, const scenes *s)
{
    uint8_t bytes[FILE_SIZE];
    const bool slips = index == 1 && s->slip == MASK_SIZE && channels == 1;
    const size_t size = write_scene(index, channels, s->encoded, bytes);
    const uint64_t shape[3] = {HEIGHT - slips, WIDTH, channels};
    void *room;
    sluice_status st =
        sluice_sample_room(sample, column, s->encoded ? &(uint64_t){size} : shape, &room);

    if (st == SLUICE_OK) {
        memcpy(room, bytes, slips ? size - WIDTH : size);
    }
    return st;
}

/* Copies `count` elements of a ragged column to its room. */
static sluice_status give_rows(sluice_sample *sample, const char *column, uint64_t count,
                               const void *bytes, size_t size)
{
    const uint64_t shape[2] = {count, strcmp(column, "corners") == 0 ? 2 : 4};
    void *room;
    sluice_status st = sluice_sample_room(sample, column, shape, &room);

    if (st == SLUICE_OK) {
        memcpy(room, bytes, size);
    }
    return st;
}

static sluice_status give_boxes(sluice_sample *sample, uint64_t index, const scenes *s)
{
    const struct scene *scene = &all_scenes[index];
    const slip made = index == 1 ? s->slip : NO_SLIP;
    const uint64_t count = scene->count + (made == TOO_MANY_BOXES);
    float boxes[MOST + 1][4];
    float corners[MOST][2];
    sluice_status st;

    memset(boxes, 0, sizeof(boxes));
    memcpy(boxes, scene->boxes, sizeof(scene->boxes));
    boxes[2][2] = made == NAN_IN_BOX ? NAN : boxes[2][2];
    boxes[2][1] = made == BOX_OUTSIDE ? -29 : boxes[2][1];
    boxes[2][3] = made == BOX_OUTSIDE ? 0 : boxes[2][3];
    for (uint32_t i = 0; i < MOST; i++) {
        corners[i][0] = boxes[i][0];
        corners[i][1] = boxes[i][1];
    }
    st = give_rows(sample, "boxes", count, boxes, count * sizeof(boxes[0]));
    if (st == SLUICE_OK) {
        const uint64_t classes = scene->count - (made == CLASSES_MISSING);

        st = give_rows(sample, "classes", classes, scene->classes, classes * sizeof(int32_t));
    }
    return st == SLUICE_OK ? give_rows(sample, "corners", scene->count, corners,
                                       scene->count * sizeof(corners[0]))
                           : st;
}

static sluice_status read_scene(sluice_sample *sample, uint64_t index, void *user)
{
    const char *text = all_scenes[index].text;
    sluice_status st = give_pixels(sample, "mask", index, 1, user);

    if (st == SLUICE_OK) {
        st = give_pixels(sample, "image", index, 3, user);
    }
    if (st == SLUICE_OK) {
        st = give_boxes(sample, index, user);
    }
    return st == SLUICE_OK
               ? sluice_sample_lend(sample, "text", (uint64_t[]){strlen(text)}, text, strlen(text))
               : st;
}

static sluice_dataset *scenes_dataset(scenes *s, const char *stages)
{
    sluice_column_spec columns[] = {
        {.name = "image", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE},
        {.name = "mask", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_MASK},
        {.name = "boxes", .dtype = SLUICE_F32, .rank = 2, .shape = {MOST, 4}},
        {.name = "classes", .dtype = SLUICE_I32, .rank = 1, .shape = {MOST}, .boxes = "boxes"},
        {.name = "text", .dtype = SLUICE_U8, .rank = 1, .shape = {TEXT}, .ragged = 1},
        {.name = "corners", .dtype = SLUICE_F32, .rank = 2, .shape = {MOST, 2}, .boxes = "boxes"},
    };
    sluice_source source;

    columns[2].role = SLUICE_ROLE_BOXES;
    if (!s->encoded) {
        columns[0].dtype = SLUICE_U8;
        columns[0].rank = 3;
        columns[0].shape[2] = 3;
        columns[1].dtype = SLUICE_U8;
        columns[1].rank = 2;
    }
    sluice_source_init(&source);
    source.name = "scenes";
    source.columns = columns;
    source.column_count = 6;
    source.count = SCENES;
    source.read = read_scene;
    source.user = s;
    if (s->is_stream) {
        s->source = source;
        source = custom_stream_of(&s->source);
    }
    return custom_dataset(&source, stages);
}

/* The same scenes as files of a list. */
static sluice_dataset *list_of_scenes(const char *folder, const char *stages)
{
    static const char list[] = "image,mask:mask,boxes:boxes[3],classes:i32[3]@boxes,text:text[8]\n"
                               "0.ppm,0.pgm,\"0,0,8,30;10.5,3,40,20\",\"5,7\",a\n"
                               "1.ppm,1.pgm,\"1,2,3,4;20,10,30,20;2,1,39,29\",\"1,2,3\",eight  8\n"
                               "2.ppm,2.pgm,,,\n";
    uint8_t bytes[FILE_SIZE];
    char text[600];

    for (uint64_t i = 0; i < SCENES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%d.ppm", (int)i);
        t_write_file(t_path(folder, name), bytes, write_scene(i, 3, true, bytes));
        snprintf(name, sizeof(name), "%d.pgm", (int)i);
        t_write_file(t_path(folder, name), bytes, write_scene(i, 1, true, bytes));
    }
    t_write_file(t_path(folder, "list.csv"), list, strlen(list));
    snprintf(text, sizeof(text), "image_list %s/list.csv | %s", folder, stages);
    return parsed(text);
}

/* The corners of the boxes before any geometry are dropped with the boxes. */
static void check_corners(const engine_run *run, uint32_t row)
{
    const float *corners = row_of(run, (uint32_t)sli_layout_find(&run->layout, "corners"), row);
    const int32_t *classes = row_of(run, (uint32_t)sli_layout_find(&run->layout, "classes"), row);

    for (int i = 0; i < MOST; i++) {
        bool found = classes[i] == 0 && corners[2 * i] == 0 && corners[2 * i + 1] == 0;

        for (int k = 0; k < SCENES * MOST && !found; k++) {
            const struct scene *scene = &all_scenes[k / MOST];

            found = scene->classes[k % MOST] == classes[i] &&
                    memcmp(scene->boxes[k % MOST], &corners[2 * i], 2 * sizeof(float)) == 0;
        }
        T_TRUE(found);
    }
}

/* All columns of a list's samples are those of the source's. */
static void check_equal_runs(sluice_dataset *list, sluice_dataset *own)
{
    static const char *const names[] = {"image",   "mask", "boxes",      "boxes_length",
                                        "classes", "text", "text_length"};
    uint64_t rows = 0;
    engine_run want;
    engine_run got;

    open_run(&want, list, &(run_options){.batches = 10});
    open_run(&got, own, &(run_options){.batches = 10, .workers = 2});
    while (next_batch(&want) == SLUICE_OK) {
        T_OK(next_batch(&got));
        for (uint32_t i = 0; i < SCENES * 7; i++) {
            const uint32_t a = (uint32_t)sli_layout_find(&want.layout, names[i / SCENES]);
            const uint32_t b = (uint32_t)sli_layout_find(&got.layout, names[i / SCENES]);

            T_EQ(row_bytes(&got, b), row_bytes(&want, a));
            if (memcmp(row_of(&got, b, i % SCENES), row_of(&want, a, i % SCENES),
                       row_bytes(&want, a)) != 0) {
                T_FAIL_("%s of sample %u of pass %u differs", names[i / SCENES], i % SCENES,
                        (unsigned)rows / SCENES);
            }
        }
        for (uint32_t row = 0; row < SCENES; row++, rows++) {
            check_corners(&got, row);
        }
    }
    T_EQ(rows, 10 * SCENES);
    close_run(&want);
    close_run(&got);
    sluice_dataset_destroy(list);
    sluice_dataset_destroy(own);
}

static const char geometry[] =
    "random_resized_crop 16,20 | random_horizontal_flip | to_chw | batch 3";

static void masks_boxes_and_lengths_are_as_those_of_a_list(void)
{
    const char *folder = t_folder();
    char decoded[200];
    scenes s = {.encoded = true};

    snprintf(decoded, sizeof(decoded), "decode | %s", geometry);
    check_equal_runs(list_of_scenes(folder, decoded), scenes_dataset(&s, decoded));
    s.encoded = false;
    check_equal_runs(list_of_scenes(folder, decoded), scenes_dataset(&s, geometry));
    check_equal_runs(list_of_scenes(folder, "decode | batch 3"), scenes_dataset(&s, "batch 3"));
    s.is_stream = true;
    check_equal_runs(list_of_scenes(folder, decoded), scenes_dataset(&s, geometry));
    s.encoded = true;
    check_equal_runs(list_of_scenes(folder, decoded), scenes_dataset(&s, decoded));
}

static void columns_that_contradict_each_other_are_bad_samples(void)
{
    static const struct {
        slip slip;
        const char *words;
    } slips[] = {
        {MASK_SIZE, "mask: the mask is 40x29, its image 40x30"},
        {NAN_IN_BOX, "boxes: box 3, 2,1,nan,29, must be x0,y0,x1,y1"},
        {BOX_OUTSIDE, "boxes: box 3, 2,-29,39,0, is wholly outside its image"},
        {TOO_MANY_BOXES,
         "boxes has the shape (4, 4), and must have (3, 4), or less in the first dimension"},
        {CLASSES_MISSING, "scenes: classes has 2 rows for 3 boxes"},
    };

    for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
        scenes s = {.slip = slips[i].slip};
        sluice_dataset *dataset = scenes_dataset(&s, geometry);
        tape t = record(dataset, &(run_options){.workers = 1});

        T_EQ(t.end, SLUICE_E_CORRUPT);
        T_CONTAINS(t.error, slips[i].words);
        T_CONTAINS(t.error, "sample 1, scenes/1");
        free(t.bytes);
        t = record(dataset,
                   &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .world = 1}});
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.errors.replaced, 1);
        free(t.bytes);
        sluice_dataset_destroy(dataset);
        s.is_stream = true;
        dataset = scenes_dataset(&s, geometry);
        t = record(dataset, &(run_options){.workers = 1});
        T_EQ(t.end, SLUICE_E_CORRUPT);
        T_CONTAINS(t.error, slips[i].words);
        T_CONTAINS(t.error, "sample 1, scenes/1");
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
}

const t_test custom_images_tests[] = {
    T_TEST(images_of_one_size_pass_through_the_stages),
    T_TEST(a_stream_gives_what_the_function_gives_by_number),
    T_TEST(an_image_of_a_stream_above_the_maximum_is_a_bad_sample),
    T_TEST(images_may_vary_in_size),
    T_TEST(encoded_images_are_decoded),
    T_TEST(masks_boxes_and_lengths_are_as_those_of_a_list),
    T_TEST(columns_that_contradict_each_other_are_bad_samples),
    T_END,
};
