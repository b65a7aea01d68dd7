/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of a program's own: what they declare, what they give, and what they do wrong. */
#include <stdatomic.h>
#include <stdlib.h>

#include <sluice/custom.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "jpeg_kit.h"
#include "source_kit.h"
#include "testing.h"

enum { SAMPLES = 20, H = 6, W = 5, PIXELS = H * W * 3 };

/* What read() does with a sample besides giving it. */
typedef enum fault {
    NO_FAULT,
    FAILS,          /* returns an error with a text */
    FAILS_SILENTLY, /* without one */
    POSITIVE,       /* returns a positive status */
    GARBAGE,        /* a number that is no status */
    WRONG_NAME,     /* writes a column that is not declared */
    WRONG_SHAPE,    /* of the points */
    WRONG_SIZE,     /* lends too little */
    LEAVES_ONE_OUT, /* of the columns */
    OUT_OF_MEMORY
} fault;

/* The program's data: user. */
typedef struct own {
    fault fault; /* of sample 7 */
    bool lends;
    atomic_int begun;
    atomic_int ended;
    atomic_int closed;
    uint64_t random[SAMPLES];
} own;

static uint8_t pixel(uint64_t index, size_t i)
{
    return (uint8_t)(index * 31 + i * 7);
}

static sluice_status give_points(sluice_sample *sample, uint64_t index, const own *o)
{
    const bool faulty = index == 7;
    const uint64_t shape[] = {faulty && o->fault == WRONG_SHAPE ? 5 : 3};
    const float points[3] = {(float)index, 1, 2};
    void *room;
    sluice_status st;

    if (faulty && o->fault == WRONG_SIZE) {
        return sluice_sample_lend(sample, "points", NULL, points, 8);
    }
    st = sluice_sample_room(sample, faulty && o->fault == WRONG_NAME ? "pionts" : "points", shape,
                            &room);
    if (st == SLUICE_OK) {
        memcpy(room, points, sizeof(points));
    }
    return st;
}

static sluice_status give_number(sluice_sample *sample, uint64_t index, const own *o)
{
    static const int64_t numbers[SAMPLES] = {0,   1,   4,   9,   16,  25,  36,  49,  64,  81,
                                             100, 121, 144, 169, 196, 225, 256, 289, 324, 361};
    void *room;
    sluice_status st;

    if (o->lends) {
        return sluice_sample_lend(sample, "number", NULL, &numbers[index], 8);
    }
    st = sluice_sample_room(sample, "number", NULL, &room);
    if (st == SLUICE_OK) {
        *(int64_t *)room = numbers[index];
    }
    return st;
}

static sluice_status read_arrays(sluice_sample *sample, uint64_t index, void *user)
{
    own *o = user;
    sluice_status st = give_points(sample, index, o);

    T_EQ(sluice_sample_number(sample), index);
    o->random[index] = sluice_sample_random(sample, 3);
    if (st == SLUICE_OK && !(index == 7 && o->fault == LEAVES_ONE_OUT)) {
        st = give_number(sample, index, o);
    }
    if (st != SLUICE_OK || index != 7) {
        return st;
    }
    switch (o->fault) {
    case FAILS:
        return sluice_fail(SLUICE_E_IO, "the server %s is down", "x");
    case FAILS_SILENTLY:
        return SLUICE_E_CORRUPT;
    case POSITIVE:
        return SLUICE_END_OF_DATA;
    case GARBAGE:
        return (sluice_status)-4711;
    case OUT_OF_MEMORY:
        return sluice_fail(SLUICE_E_NO_MEMORY, "no room for anything");
    default:
        return SLUICE_OK;
    }
}

static const sluice_column_spec array_columns[] = {
    {.name = "points", .dtype = SLUICE_F32, .rank = 1, .shape = {3}},
    {.name = "number", .dtype = SLUICE_I64},
};

static sluice_source source_of(own *o)
{
    sluice_source source;

    sluice_source_init(&source);
    source.name = "my_arrays";
    source.version = 3;
    source.columns = array_columns;
    source.column_count = 2;
    source.count = SAMPLES;
    source.read = read_arrays;
    source.user = o;
    return source;
}

static sluice_dataset *made(const sluice_source *source, const char *stages)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_source(source, &dataset));
    T_OK(sluice_dataset_add(dataset, stages));
    return dataset;
}

static sluice_dataset *arrays_of(own *o, const char *stages)
{
    const sluice_source source = source_of(o);

    return made(&source, stages);
}

/* ---- what it gives --------------------------------------------------------------------------- */

static void check_pass(own *o, uint32_t workers)
{
    sluice_dataset *dataset = arrays_of(o, "shuffle 3 | batch 4");
    uint64_t seen[SAMPLES] = {0};
    engine_run run;

    open_run(&run, dataset, &(run_options){.workers = workers});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 4; row++) {
            const float *points = row_of(&run, 0, row);
            const uint64_t i = (uint64_t)points[0];

            T_TRUE(i < SAMPLES && points[1] == 1 && points[2] == 2);
            T_EQ(*(const int64_t *)row_of(&run, 1, row), i * i);
            seen[i]++;
        }
    }
    close_run(&run);
    for (int i = 0; i < SAMPLES; i++) {
        T_EQ(seen[i], 1);
    }
    sluice_dataset_destroy(dataset);
}

static void columns_are_what_the_function_writes_or_lends(void)
{
    own o = {.lends = false};

    check_pass(&o, 1);
    check_pass(&o, 3);
    o.lends = true;
    check_pass(&o, 2);
}

static void random_numbers_are_those_of_seed_and_sample(void)
{
    own first = {.lends = false};
    own second = {.lends = false};
    own other = {.lends = false};
    own *const all[] = {&first, &second, &other};

    for (int i = 0; i < 3; i++) {
        sluice_dataset *dataset = arrays_of(all[i], "batch 4");
        tape t = record(dataset, &(run_options){.workers = i == 1 ? 3 : 1,
                                                .settings = {.seed = i == 2 ? 6 : 5, .world = 1}});

        T_EQ(t.end, SLUICE_END_OF_DATA);
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(memcmp(first.random, second.random, sizeof(first.random)) == 0);
    for (int i = 0; i < SAMPLES; i++) {
        T_TRUE(first.random[i] != other.random[i]);
        T_TRUE(first.random[i] != first.random[(i + 1) % SAMPLES]);
    }
}

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct pictures {
    bool varies;
    bool lends;
    uint8_t *files[SAMPLES]; /* NULL: pixels */
    size_t sizes[SAMPLES];
} pictures;

static sluice_status read_pixels(sluice_sample *sample, uint64_t index, const pictures *p)
{
    const uint64_t shape[] = {H + (p->varies ? index % 3 : 0), W, 3};
    const size_t bytes = (size_t)(shape[0] * shape[1] * shape[2]);
    static _Thread_local uint8_t *lent;
    void *room;
    sluice_status st;

    if (p->lends) { /* a block of this size exactly, so that a sanitizer sees what is read behind */
        free(lent);
        lent = malloc(bytes);
        room = lent;
        st = SLUICE_OK;
    } else {
        st = sluice_sample_room(sample, "image", p->varies ? shape : NULL, &room);
    }
    for (size_t i = 0; st == SLUICE_OK && i < bytes; i++) {
        ((uint8_t *)room)[i] = pixel(index, i);
    }
    return p->lends ? sluice_sample_lend(sample, "image", shape, lent, bytes) : st;
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
    source.user = p;
    return made(&source, stages);
}

static void check_pictures(pictures *p, const char *stages, uint64_t top)
{
    sluice_dataset *dataset = pictures_dataset(p, stages);
    engine_run run;
    uint64_t rows = 0;

    open_run(&run, dataset, &(run_options){.workers = 2});
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
    sluice_dataset_destroy(dataset);
}

static void images_of_one_size_pass_through_the_stages(void)
{
    pictures p = {.varies = false};

    check_pictures(&p, "shuffle | batch 4", 0);
    p.lends = true;
    check_pictures(&p, "shuffle | batch 4", 0);
    check_pictures(&p, "center_crop 4,5 | batch 4", 1);
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

/* ---- what it does wrong ---------------------------------------------------------------------- */

typedef struct mistake {
    fault fault;
    sluice_status status;
    const char *words[3];
} mistake;

static const mistake mistakes[] = {
    {FAILS, SLUICE_E_IO, {"my_arrays: read() returned E_IO: the server x is down", "sample 7", ""}},
    {FAILS_SILENTLY, SLUICE_E_CORRUPT, {"my_arrays: read() returned E_CORRUPT", "sample 7", ""}},
    {GARBAGE, SLUICE_E_CALLBACK, {"read() returned -4711, which is no status", "sample 7", ""}},
    {WRONG_NAME,
     SLUICE_E_INVALID,
     {"there is no column pionts to write; declared: points, number", "my_arrays", "sample 7"}},
    {WRONG_SHAPE, SLUICE_E_INVALID, {"points has the shape (5), want (3)", "my_arrays", ""}},
    {WRONG_SIZE, SLUICE_E_INVALID, {"points: 8 bytes, want 12: f32 (3)", "my_arrays", ""}},
    {LEAVES_ONE_OUT, SLUICE_E_INVALID, {"my_arrays: read() did not write number", "sample 7", ""}},
};

enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

static tape run_with(own *o, sli_error_policy policy)
{
    sluice_dataset *dataset = arrays_of(o, "batch 4");
    tape t = record(dataset, &(run_options){.settings = {.on_error = policy, .world = 1}});

    sluice_dataset_destroy(dataset);
    return t;
}

static void mistakes_are_named_and_obey_the_policy(void)
{
    for (int i = 0; i < MISTAKES; i++) {
        own o = {.fault = mistakes[i].fault};
        tape t = run_with(&o, SLI_ON_ERROR_FAIL);

        T_EQ(t.end, mistakes[i].status);
        for (int w = 0; w < 3; w++) {
            T_CONTAINS(t.error, mistakes[i].words[w]);
        }
        free(t.bytes);
        t = run_with(&o, SLI_ON_ERROR_REPLACE);
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.errors.replaced, 1);
        free(t.bytes);
        t = run_with(&o, SLI_ON_ERROR_ZERO);
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.errors.zeroed, 1);
        free(t.bytes);
    }
}

static void positive_statuses_are_ok(void)
{
    own o = {.fault = POSITIVE};
    tape t = run_with(&o, SLI_ON_ERROR_FAIL);

    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, 5);
    free(t.bytes);
}

static void no_memory_ends_the_run_under_every_policy(void)
{
    own o = {.fault = OUT_OF_MEMORY};
    tape t = run_with(&o, SLI_ON_ERROR_REPLACE);

    T_EQ(t.end, SLUICE_E_NO_MEMORY);
    T_CONTAINS(t.error, "no room for anything");
    free(t.bytes);
}

static sluice_status gets_an_input(sluice_sample *sample, uint64_t index, void *user)
{
    sluice_sample_view view;

    (void)index;
    (void)user;
    return sluice_sample_get(sample, "number", &view);
}

static void a_source_has_no_inputs(void)
{
    own o = {.lends = false};
    sluice_source source = source_of(&o);
    sluice_dataset *dataset;
    int64_t number;
    float points[3];
    void *const columns[] = {points, &number};

    source.read = gets_an_input;
    dataset = made(&source, "batch 1");
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, columns, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "my_arrays: number is no input; the inputs: none");
    sluice_dataset_destroy(dataset);
}

/* ---- what is refused ------------------------------------------------------------------------- */

typedef struct refusal {
    const sluice_column_spec columns[2];
    uint32_t count;
    sluice_status status;
    const char *words;
} refusal;

static const refusal refusals[] = {
    {{{.name = NULL, .dtype = SLUICE_I32}}, 1, SLUICE_E_INVALID, "name of column 0 is NULL"},
    {{{.name = "a-b", .dtype = SLUICE_I32}}, 1, SLUICE_E_INVALID, "'a-b' is no name"},
    {{{.name = "a", .dtype = SLUICE_I32}, {.name = "a", .dtype = SLUICE_U8}},
     2,
     SLUICE_E_INVALID,
     "two columns have the name a"},
    {{{.name = "a", .dtype = (sluice_dtype)77}}, 1, SLUICE_E_INVALID, "a: dtype 77"},
    {{{.name = "a", .dtype = SLUICE_ENCODED}}, 1, SLUICE_E_INVALID, "for images and masks"},
    {{{.name = "a", .dtype = SLUICE_U8, .rank = 7}}, 1, SLUICE_E_INVALID, "rank is 7"},
    {{{.name = "a", .dtype = SLUICE_U8, .rank = 1}}, 1, SLUICE_E_INVALID, "a dimension is 0"},
    {{{.name = "a", .dtype = SLUICE_I64, .rank = 2, .shape = {UINT64_C(1) << 40, 1 << 25}}},
     1,
     SLUICE_E_INVALID,
     "more elements than memory"},
    {{{.name = "a", .dtype = SLUICE_U8, .role = (sluice_column_role)9}},
     1,
     SLUICE_E_INVALID,
     "role 9"},
    {{{.name = "a", .dtype = SLUICE_F32, .rank = 3, .role = SLUICE_ROLE_IMAGE}},
     1,
     SLUICE_E_UNSUPPORTED,
     "an image is u8 or encoded, not f32"},
    {{{.name = "a", .dtype = SLUICE_U8, .rank = 3, .shape = {0, 4, 3}, .role = SLUICE_ROLE_IMAGE}},
     1,
     SLUICE_E_INVALID,
     "or both 0 where they vary"},
    {{{.name = "a", .dtype = SLUICE_U8, .rank = 3, .shape = {4, 4, 5}, .role = SLUICE_ROLE_IMAGE}},
     1,
     SLUICE_E_INVALID,
     "1 to 4 channels"},
    {{{.name = "a", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE},
      {.name = "b", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE}},
     2,
     SLUICE_E_UNSUPPORTED,
     "b is the second image"},
};

static void columns_that_are_wrong_are_refused(void)
{
    own o = {.lends = false};
    sluice_dataset *dataset = NULL;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        sluice_source source = source_of(&o);

        source.columns = refusals[i].columns;
        source.column_count = refusals[i].count;
        T_STATUS(sluice_dataset_source(&source, &dataset), refusals[i].status);
        T_CONTAINS(sluice_last_error(), refusals[i].words);
        T_CONTAINS(sluice_last_error(), "my_arrays: ");
    }
}

static void count_closed(void *user)
{
    atomic_fetch_add(&((own *)user)->closed, 1);
}

static void sources_that_are_wrong_are_refused(void)
{
    own o = {.lends = false};
    const sluice_source good = source_of(&o);
    sluice_source bad[7];
    const char *const words[] = {"name is NULL",  "read is NULL",    "count is 0",
                                 "17 columns",    "columns is NULL", "column_size is 4",
                                 "longer than 63"};
    sluice_dataset *dataset = NULL;

    for (int i = 0; i < 7; i++) {
        bad[i] = good;
        bad[i].close = count_closed;
    }
    bad[0].name = "";
    bad[1].read = NULL;
    bad[2].count = 0;
    bad[3].column_count = 17;
    bad[4].columns = NULL;
    bad[5].column_size = 4;
    bad[6].name = "0123456789012345678901234567890123456789012345678901234567890123";
    for (int i = 0; i < 7; i++) {
        T_STATUS(sluice_dataset_source(&bad[i], &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words[i]);
    }
    T_STATUS(sluice_dataset_source(NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_source(&good, NULL), SLUICE_E_INVALID);
    T_EQ(atomic_load(&o.closed), 0);
}

/* A program that was compiled for a later version, whose columns have one more field. */
static void columns_of_other_versions_have_their_own_size(void)
{
    struct later {
        sluice_column_spec spec;
        uint64_t more;
    } columns[2] = {{array_columns[0], 0}, {array_columns[1], 0}};
    own o = {.lends = false};
    sluice_source source = source_of(&o);
    sluice_dataset *dataset;

    source.columns = &columns[0].spec;
    source.column_size = sizeof(columns[0]);
    dataset = made(&source, "batch 4");
    sluice_dataset_destroy(dataset);
    columns[1].more = 1;
    T_STATUS(sluice_dataset_source(&source, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "column 1");
    source.columns = array_columns;
    source.column_size = 0;
    sluice_dataset_destroy(made(&source, "batch 4"));
}

/* ---- names and lifetime ---------------------------------------------------------------------- */

static sluice_status name_some(uint64_t index, char *text, size_t size, void *user)
{
    (void)user;
    snprintf(text, size, "file-%d", (int)index);
    return index == 5 ? SLUICE_E_IO : SLUICE_OK;
}

static void samples_have_names(void)
{
    own o = {.fault = FAILS};
    sluice_source source = source_of(&o);
    sluice_dataset *dataset = made(&source, "batch 4");
    char *name = NULL;
    tape t;

    T_OK(sluice_dataset_sample_name(dataset, 3, &name));
    T_STR(name, "my_arrays/3");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
    source.name_of = name_some;
    dataset = made(&source, "batch 4");
    T_OK(sluice_dataset_sample_name(dataset, 3, &name));
    T_STR(name, "file-3");
    sluice_string_free(name);
    T_OK(sluice_dataset_sample_name(dataset, 5, &name));
    T_STR(name, "my_arrays/5");
    sluice_string_free(name);
    t = record(dataset, &(run_options){.workers = 1});
    T_CONTAINS(t.error, "read: sample 7, file-7: my_arrays: read() returned E_IO");
    free(t.bytes);
    T_STR(described(dataset), "source name=my_arrays version=3 | batch n=4 drop_remainder=false");
    sluice_dataset_destroy(dataset);
}

static void a_source_is_closed_once(void)
{
    own o = {.lends = false};
    sluice_source source = source_of(&o);
    sluice_dataset *dataset;

    source.close = count_closed;
    dataset = made(&source, "batch 4");
    free(record(dataset, &(run_options){.workers = 2}).bytes);
    T_EQ(atomic_load(&o.closed), 0);
    sluice_dataset_destroy(dataset);
    T_EQ(atomic_load(&o.closed), 1);
}

const t_test custom_source_tests[] = {
    T_TEST(columns_are_what_the_function_writes_or_lends),
    T_TEST(random_numbers_are_those_of_seed_and_sample),
    T_TEST(images_of_one_size_pass_through_the_stages),
    T_TEST(images_may_vary_in_size),
    T_TEST(encoded_images_are_decoded),
    T_TEST(mistakes_are_named_and_obey_the_policy),
    T_TEST(positive_statuses_are_ok),
    T_TEST(no_memory_ends_the_run_under_every_policy),
    T_TEST(a_source_has_no_inputs),
    T_TEST(columns_that_are_wrong_are_refused),
    T_TEST(sources_that_are_wrong_are_refused),
    T_TEST(columns_of_other_versions_have_their_own_size),
    T_TEST(samples_have_names),
    T_TEST(a_source_is_closed_once),
    T_END,
};
