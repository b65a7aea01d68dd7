/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ragged columns: the part of a slot that a batch of each extent uses, and the tensors that GetNext
 * makes of it, on the host and by the body of the kernel, which runs on the CPU here.
 */
#include <stdlib.h>

#include "kernel_run.h"
#include "getnext_int.h"
#include "testing.h"

enum { BATCH = 5, COLUMNS = 5, RAGGED = 0x16 };

/* Columns 1, 2 and 4 are ragged: rows of 16, 4 and 1 bytes at once. */
static const sluice_column columns[COLUMNS] = {
    {.name = "label", .dtype = SLUICE_I32},
    {.name = "tokens", .dtype = SLUICE_U16, .rank = 1, .shape = {72}},
    {.name = "points", .dtype = SLUICE_F32, .rank = 2, .shape = {67, 3}},
    {.name = "fixed", .dtype = SLUICE_U8, .rank = 1, .shape = {7}},
    {.name = "text", .dtype = SLUICE_U8, .rank = 1, .shape = {61}},
};

static void make(sli_layout *layout)
{
    T_OK(sli_layout_make_ragged(columns, COLUMNS, BATCH, RAGGED, layout));
}

static void *block_of(size_t bytes)
{
    void *block = NULL;

    T_EQ(posix_memalign(&block, SLI_COLUMN_ALIGNMENT, bytes), 0);
    return block;
}

static void columns_of_each_extent_are_aligned_and_apart(void)
{
    sli_layout layout;

    make(&layout);
    T_EQ(layout.extent, 80);
    for (uint32_t extent = 0; extent <= layout.extent; extent += SLI_EXTENT_UNIT) {
        size_t end = layout.row_flags_offset + BATCH;

        for (uint32_t pass = 0; pass < 2; pass++) { /* fixed columns, then ragged ones */
            for (uint32_t i = 0; i < COLUMNS; i++) {
                const size_t offset = sli_layout_offset(&layout, i, extent);

                if ((RAGGED >> i & 1) == pass) {
                    T_TRUE(offset >= end);
                    T_EQ(offset % (pass == 0 ? SLI_COLUMN_ALIGNMENT : 16), 0);
                    end = offset + BATCH * sli_layout_row(&layout, i, extent);
                }
            }
        }
        T_EQ(sli_layout_used(&layout, extent), extent > 0 ? end : layout.ragged_offset);
        T_TRUE(sli_layout_used(&layout, extent) <= layout.slot_bytes);
    }
    T_EQ(sli_layout_row(&layout, 1, 32), 64);
    T_EQ(sli_layout_row(&layout, 2, 32), 32 * 12);
    T_EQ(sli_layout_row(&layout, 3, 32), 7);
}

static void extents_are_multiples_of_a_unit(void)
{
    sli_layout layout;

    make(&layout);
    T_EQ(sli_layout_extent(&layout, 0), 0);
    T_EQ(sli_layout_extent(&layout, 1), 16);
    T_EQ(sli_layout_extent(&layout, 16), 16);
    T_EQ(sli_layout_extent(&layout, 17), 32);
    T_EQ(sli_layout_extent(&layout, 79), 80);
    T_EQ(sli_layout_extent(&layout, UINT64_MAX), 80);
}

static void ragged_slots_larger_than_memory_are_refused(void)
{
    const sluice_column wide = {
        .name = "x", .dtype = SLUICE_U8, .rank = 2, .shape = {16, UINT64_C(1) << 59}};
    const sluice_column large = {
        .name = "x", .dtype = SLUICE_U8, .rank = 2, .shape = {16, UINT64_C(1) << 44}};
    sli_layout layout;

    T_STATUS(sli_layout_make_ragged(&wide, 1, 1000, 1, &layout), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "larger than memory");
    T_STATUS(sli_layout_make_ragged(&large, 1, 1, 1, &layout), SLUICE_E_INVALID);
}

/* A batch in a slot that ends where the batch does, for the address sanitizer. */
typedef struct batch {
    sli_layout layout;
    uint8_t *slot;
    sluice_tensor tensors[COLUMNS];
    sli_batch_header header;
} batch;

static uint8_t byte_at(uint32_t column, uint32_t row, size_t i)
{
    return (uint8_t)(1 + (column * 89 + row * 31 + i * 7) % 255);
}

static void open_batch(batch *b, uint32_t extent)
{
    make(&b->layout);
    b->slot = block_of(sli_layout_used(&b->layout, extent));
    memset(b->slot, 0, sli_layout_used(&b->layout, extent));
    ((sli_batch_header *)(void *)b->slot)->extent = extent;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        const size_t stride = sli_layout_row(&b->layout, c, extent);
        const size_t bytes =
            stride < b->layout.row_bytes[c] ? stride : b->layout.row_bytes[c]; /* the rest is 0 */

        for (uint32_t row = 0; row < BATCH; row++) {
            for (size_t i = 0; i < bytes; i++) {
                b->slot[sli_layout_offset(&b->layout, c, extent) + row * stride + i] =
                    byte_at(c, row, i);
            }
        }
        b->tensors[c].bytes = BATCH * b->layout.row_bytes[c];
        b->tensors[c].data = block_of(b->tensors[c].bytes);
        memset(b->tensors[c].data, 0xEE, b->tensors[c].bytes);
    }
}

static void close_batch(batch *b)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        free(b->tensors[c].data);
    }
    free(b->slot);
}

static void check_tensor(const batch *b, uint32_t c, uint32_t extent)
{
    const size_t bytes = b->layout.row_bytes[c];
    const size_t stride = sli_layout_row(&b->layout, c, extent);

    for (uint32_t row = 0; row < BATCH; row++) {
        for (size_t i = 0; i < bytes; i++) {
            T_EQ(((const uint8_t *)b->tensors[c].data)[row * bytes + i],
                 i < stride ? byte_at(c, row, i) : 0);
        }
    }
}

static void the_host_makes_rows_of_the_declared_shape(void)
{
    for (uint32_t extent = 0; extent <= 80; extent += SLI_EXTENT_UNIT) {
        batch b;

        open_batch(&b, extent);
        for (uint32_t c = 0; c < COLUMNS; c++) {
            if ((RAGGED >> c & 1) != 0) {
                sli_layout_widen(&b.layout, c, b.slot, b.tensors[c].data);
                check_tensor(&b, c, extent);
            }
        }
        close_batch(&b);
    }
}

static void the_kernel_makes_the_rows_of_the_host(void)
{
    static const uint32_t threads[] = {1, 7, 96, 512};

    for (uint32_t extent = 0; extent <= 80; extent += SLI_EXTENT_UNIT) {
        for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
            sli_gather gather;
            batch b;

            open_batch(&b, extent);
            T_OK(sli_gather_plan(&b.layout, NULL, 0, SLI_PROGRAMS_NONE, b.tensors, &b.header,
                                 &gather));
            T_EQ(gather.path, SLI_GATHER_RAGGED);
            T_EQ(gather.ragged_count, 3);
            T_EQ(gather.ragged[0].unit, 16);
            T_EQ(gather.ragged[1].unit, 4);
            T_EQ(gather.ragged[2].unit, 1);
            for (uint32_t t = 0; t < threads[k]; t++) {
                run_gather_thread(&gather, b.slot, t, threads[k], SLI_GATHER_RAGGED);
            }
            for (uint32_t c = 0; c < COLUMNS; c++) {
                check_tensor(&b, c, extent);
            }
            T_EQ(b.header.extent, extent);
            close_batch(&b);
        }
    }
}

const t_test ragged_rows_tests[] = {
    T_TEST(columns_of_each_extent_are_aligned_and_apart),
    T_TEST(extents_are_multiples_of_a_unit),
    T_TEST(ragged_slots_larger_than_memory_are_refused),
    T_TEST(the_host_makes_rows_of_the_declared_shape),
    T_TEST(the_kernel_makes_the_rows_of_the_host),
    T_END,
};
