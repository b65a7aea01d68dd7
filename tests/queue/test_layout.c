/* SPDX-License-Identifier: Apache-2.0 */
#include "layout_int.h"
#include "testing.h"

static sluice_column column(const char *name, sluice_dtype dtype, uint32_t rank, uint64_t a,
                            uint64_t b)
{
    sluice_column made = {.dtype = dtype, .rank = rank, .shape = {a, b}};

    snprintf(made.name, sizeof(made.name), "%s", name);
    return made;
}

/* Header, flags and columns begin at multiples of 256 and none reaches into the next. */
static void parts_of_a_slot_are_aligned_and_apart(void)
{
    const sluice_column columns[] = {column("image", SLUICE_U8, 2, 7, 11),
                                     column("label", SLUICE_I32, 0, 0, 0),
                                     column("mask", SLUICE_F32, 1, 3, 0)};

    for (uint32_t batch_size = 1; batch_size < 600; batch_size += 7) {
        sli_layout layout;
        size_t end = sizeof(sli_batch_header);

        T_OK(sli_layout_make(columns, 3, batch_size, &layout));
        T_EQ(layout.row_flags_offset % SLI_COLUMN_ALIGNMENT, 0);
        T_TRUE(layout.row_flags_offset >= end);
        end = layout.row_flags_offset + batch_size;
        for (uint32_t i = 0; i < 3; i++) {
            T_EQ(layout.offsets[i] % SLI_COLUMN_ALIGNMENT, 0);
            T_TRUE(layout.offsets[i] >= end);
            T_TRUE(layout.offsets[i] < end + SLI_COLUMN_ALIGNMENT);
            end = layout.offsets[i] + layout.row_bytes[i] * batch_size;
        }
        T_EQ(layout.slot_bytes % SLI_COLUMN_ALIGNMENT, 0);
        T_TRUE(layout.slot_bytes >= end && layout.slot_bytes < end + SLI_COLUMN_ALIGNMENT);
    }
}

static void rows_are_as_long_as_their_shape_says(void)
{
    const sluice_column columns[] = {column("image", SLUICE_U8, 2, 7, 11),
                                     column("label", SLUICE_I32, 0, 0, 0),
                                     column("mask", SLUICE_F32, 1, 3, 0)};
    sli_layout layout;

    T_OK(sli_layout_make(columns, 3, 5, &layout));
    T_EQ(layout.batch_size, 5);
    T_EQ(layout.column_count, 3);
    T_EQ(layout.row_bytes[0], 77);
    T_EQ(layout.row_bytes[1], 4); /* rank 0: a scalar a sample */
    T_EQ(layout.row_bytes[2], 12);
    T_STR(layout.columns[2].name, "mask");
}

static void batches_that_cannot_be_are_refused(void)
{
    const sluice_column good = column("x", SLUICE_U8, 1, 8, 0);
    const sluice_column open = column("x", SLUICE_U8, 2, 8, 0);
    const sluice_column encoded = column("x", SLUICE_ENCODED, 1, 8, 0);
    sluice_column many[SLUICE_MAX_COLUMNS + 1];
    sli_layout layout = {.batch_size = 77};

    for (uint32_t i = 0; i <= SLUICE_MAX_COLUMNS; i++) {
        many[i] = good;
    }
    T_STATUS(sli_layout_make(&good, 0, 1, &layout), SLUICE_E_INVALID);
    T_STATUS(sli_layout_make(many, SLUICE_MAX_COLUMNS + 1, 1, &layout), SLUICE_E_INVALID);
    T_STATUS(sli_layout_make(&good, 1, 0, &layout), SLUICE_E_INVALID);
    T_STATUS(sli_layout_make(&open, 1, 1, &layout), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no fixed size");
    T_STATUS(sli_layout_make(&encoded, 1, 1, &layout), SLUICE_E_INVALID);
    T_EQ(layout.batch_size, 77); /* outputs are set only on OK */
    T_OK(sli_layout_make(many, SLUICE_MAX_COLUMNS, 1, &layout));
}

/* A product or a sum that wraps round would give slots that are too small. */
static void slots_larger_than_memory_are_refused(void)
{
    const sluice_column row = column("x", SLUICE_U8, 1, UINT64_C(1) << 62, 0);
    const sluice_column shape = column("x", SLUICE_F32, 2, UINT64_C(1) << 32, UINT64_C(1) << 32);
    const sluice_column most = column("x", SLUICE_U8, 1, SLI_MAX_SLOT_BYTES - 512, 0);
    const sluice_column more = column("x", SLUICE_U8, 1, SLI_MAX_SLOT_BYTES - 511, 0);
    const sluice_column last = column("x", SLUICE_U8, 1, UINT64_MAX, 0);
    const sluice_column twice[] = {last, last};
    sli_layout layout;

    T_STATUS(sli_layout_make(&row, 1, 4, &layout), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "larger than memory");
    T_STATUS(sli_layout_make(&shape, 1, 1, &layout), SLUICE_E_INVALID);
    T_STATUS(sli_layout_make(&last, 1, 1, &layout), SLUICE_E_INVALID);
    T_STATUS(sli_layout_make(twice, 2, 1, &layout), SLUICE_E_INVALID);
    T_STATUS(sli_layout_make(&more, 1, 1, &layout), SLUICE_E_INVALID);
    T_OK(sli_layout_make(&most, 1, 1, &layout));
    T_EQ(layout.slot_bytes, SLI_MAX_SLOT_BYTES);
}

static void columns_are_found_by_name(void)
{
    const sluice_column columns[] = {column("image", SLUICE_U8, 2, 7, 11),
                                     column("label", SLUICE_I32, 0, 0, 0)};
    sli_layout layout;

    T_OK(sli_layout_make(columns, 2, 5, &layout));
    T_EQ(sli_layout_find(&layout, "image"), 0);
    T_EQ(sli_layout_find(&layout, "label"), 1);
    T_EQ(sli_layout_find(&layout, "labels"), -1);
    T_EQ(sli_layout_find(&layout, ""), -1);
}

const t_test layout_tests[] = {
    T_TEST(parts_of_a_slot_are_aligned_and_apart),
    T_TEST(rows_are_as_long_as_their_shape_says),
    T_TEST(batches_that_cannot_be_are_refused),
    T_TEST(slots_larger_than_memory_are_refused),
    T_TEST(columns_are_found_by_name),
    T_END,
};
