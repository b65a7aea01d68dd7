/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that a program declares: what is refused. */
#include <sluice/custom.h>

#include "testing.h"

static sluice_status read_nothing(sluice_sample *sample, uint64_t index, void *user)
{
    (void)sample;
    (void)index;
    (void)user;
    return SLUICE_OK;
}

static const sluice_column_spec array_columns[] = {
    {.name = "points", .dtype = SLUICE_F32, .rank = 1, .shape = {3}},
    {.name = "number", .dtype = SLUICE_I64},
};

static sluice_source source_of(const sluice_column_spec *columns, uint32_t count)
{
    sluice_source source;

    sluice_source_init(&source);
    source.name = "my_arrays";
    source.columns = columns;
    source.column_count = count;
    source.count = 1;
    source.read = read_nothing;
    return source;
}

typedef struct refusal {
    const sluice_column_spec columns[3];
    uint32_t count;
    sluice_status status;
    const char *words;
} refusal;

#define PIXELS(h, w)                                                                               \
    {                                                                                              \
        .name = "a", .dtype = SLUICE_U8, .rank = 3, .shape = {h, w, 3}, .role = SLUICE_ROLE_IMAGE  \
    }
#define MASK(h, w)                                                                                 \
    {                                                                                              \
        .name = "b", .dtype = SLUICE_U8, .rank = 2, .shape = {h, w}, .role = SLUICE_ROLE_MASK      \
    }
#define BOXES(most, sides)                                                                         \
    {                                                                                              \
        .name = "b", .dtype = SLUICE_F32, .rank = 2, .shape = {most, sides},                       \
        .role = SLUICE_ROLE_BOXES                                                                  \
    }

static const refusal refusals[] = {
    {{{.name = NULL, .dtype = SLUICE_I32}}, 1, SLUICE_E_INVALID, "name of column 0 is NULL"},
    {{{.name = "a-b", .dtype = SLUICE_I32}},
     1,
     SLUICE_E_INVALID,
     "the column name 'a-b' must be letters"},
    {{{.name = "a", .dtype = SLUICE_I32}, {.name = "a", .dtype = SLUICE_U8}},
     2,
     SLUICE_E_INVALID,
     "two columns have the name a"},
    {{{.name = "a", .dtype = (sluice_dtype)77}}, 1, SLUICE_E_INVALID, "a: dtype is 77"},
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
     "role is 9"},
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
    {{PIXELS(4, 5), {.name = "b", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE}},
     2,
     SLUICE_E_UNSUPPORTED,
     "b is encoded and the image is not"},
    {{PIXELS(4, 5),
      {.name = "b", .dtype = SLUICE_U8, .rank = 3, .shape = {5, 4, 3}, .role = SLUICE_ROLE_IMAGE}},
     2,
     SLUICE_E_INVALID,
     "b: images of a sample must have one size: the height and width of a"},
    {{{.name = "a", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_MASK}},
     1,
     SLUICE_E_INVALID,
     "a follows the image: declare a column of SLUICE_ROLE_IMAGE before it"},
    {{PIXELS(4, 5), {.name = "b", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_MASK}},
     2,
     SLUICE_E_UNSUPPORTED,
     "b is encoded and the image is not"},
    {{PIXELS(4, 5), MASK(4, 6)}, 2, SLUICE_E_INVALID, "b: a mask must be u8 (height, width)"},
    {{PIXELS(0, 0), MASK(4, 5)}, 2, SLUICE_E_INVALID, "b: a mask must be u8 (height, width)"},
    {{PIXELS(4, 5), BOXES(3, 5)}, 2, SLUICE_E_INVALID, "b: boxes must be f32 (most, 4)"},
    {{BOXES(3, 4)}, 1, SLUICE_E_INVALID, "b follows the image"},
    {{PIXELS(4, 5), {.name = "c", .dtype = SLUICE_U8, .rank = 1, .shape = {3}, .boxes = "b"}},
     2,
     SLUICE_E_INVALID,
     "c: there is no column b of boxes or points before it"},
    {{PIXELS(4, 5),
      BOXES(3, 4),
      {.name = "c", .dtype = SLUICE_U8, .rank = 1, .shape = {2}, .boxes = "b"}},
     3,
     SLUICE_E_INVALID,
     "c belongs to b: it must be a plain column, or points of boxes, and its first dimension must "
     "be 3"},
    {{{.name = "a", .dtype = SLUICE_U8, .ragged = 1}},
     1,
     SLUICE_E_INVALID,
     "must have a first dimension"},
    {{{.name = "a", .dtype = SLUICE_U8, .rank = 1, .shape = {UINT64_C(1) << 31}, .ragged = 1}},
     1,
     SLUICE_E_INVALID,
     "of at most 2147483647"},
    {{{.name = "twenty_five_characters_xy",
       .dtype = SLUICE_U8,
       .rank = 1,
       .shape = {1},
       .ragged = 1}},
     1,
     SLUICE_E_INVALID,
     "the name must have at most 24 bytes"},
    {{{.name = "a", .dtype = SLUICE_U8, .rank = 1, .shape = {1}, .ragged = 1},
      {.name = "a_length", .dtype = SLUICE_U8}},
     2,
     SLUICE_E_INVALID,
     "two columns have the name a_length"},
};

static void columns_that_are_wrong_are_refused(void)
{
    sluice_dataset *dataset = NULL;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const sluice_source source = source_of(refusals[i].columns, refusals[i].count);

        T_STATUS(sluice_dataset_source(&source, &dataset), refusals[i].status);
        T_CONTAINS(sluice_last_error(), refusals[i].words);
        T_CONTAINS(sluice_last_error(), "my_arrays: ");
    }
}

/* A program that was compiled for a later version, whose columns have one more field. */
static void columns_of_other_versions_have_their_own_size(void)
{
    struct later {
        sluice_column_spec spec;
        uint64_t more;
    } columns[2] = {{array_columns[0], 0}, {array_columns[1], 0}};
    sluice_source source = source_of(&columns[0].spec, 2);
    sluice_dataset *dataset;

    source.column_size = sizeof(columns[0]);
    T_OK(sluice_dataset_source(&source, &dataset));
    sluice_dataset_destroy(dataset);
    columns[1].more = 1;
    T_STATUS(sluice_dataset_source(&source, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "column 1");
    source.columns = array_columns;
    source.column_size = 0;
    T_OK(sluice_dataset_source(&source, &dataset));
    sluice_dataset_destroy(dataset);
}

static void sixteen_columns_are_the_most_with_their_lengths(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    sluice_column_spec columns[9] = {{.name = NULL}};
    sluice_source source = source_of(columns, 8);
    sluice_dataset *dataset = NULL;

    for (int i = 0; i < 9; i++) {
        columns[i] = (sluice_column_spec){
            .name = names[i], .dtype = SLUICE_U8, .rank = 1, .shape = {2}, .ragged = 1};
    }
    T_OK(sluice_dataset_source(&source, &dataset));
    sluice_dataset_destroy(dataset);
    source.column_count = 9;
    T_STATUS(sluice_dataset_source(&source, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "more than 16 columns, with NAME_length");
}

const t_test custom_columns_tests[] = {
    T_TEST(columns_that_are_wrong_are_refused),
    T_TEST(columns_of_other_versions_have_their_own_size),
    T_TEST(sixteen_columns_are_the_most_with_their_lengths),
    T_END,
};
