/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext's grid where it makes windows of plain columns, the body that nvcc compiles, run on the
 * CPU: whatever the grid, the tensors have the bytes of sli_output_make(). The slot ends where its
 * last column does, for the address sanitizer.
 */
#include <stdlib.h>

static void note_load(const void *from, size_t bytes);
static void note_store(const void *to);
#define GATHER_LOADS(from, bytes) note_load(from, bytes)
#define GATHER_STORES(to, bytes)  note_store(to)

#include "getnext_int.h"
#include "kernel_run.h"
#include "testing.h"

enum { BATCH = 5, SEQ = 7, MOST = SLUICE_MAX_COLUMNS };

/* A batch in a slot, and what is gathered from it. */
typedef struct batch {
    sli_layout layout;
    const sli_output *outputs;
    uint32_t count;
    sluice_tensor tensors[MOST];
    sli_batch_header *header;
    uint8_t *slot;
    sli_gather gather;
} batch;

static void *block_of(size_t bytes)
{
    void *block = NULL;

    T_EQ(posix_memalign(&block, SLI_COLUMN_ALIGNMENT, bytes), 0);
    return block;
}

static sluice_column vector(const char *name, sluice_dtype dtype, uint64_t length)
{
    sluice_column column = {.dtype = dtype, .rank = 1, .shape = {length}};

    snprintf(column.name, sizeof(column.name), "%s", name);
    return column;
}

static void open_batch(batch *b, const sluice_column *columns, uint32_t column_count,
                       const sli_output *outputs, uint32_t count)
{
    memset(b, 0, sizeof(*b));
    b->outputs = outputs;
    b->count = count;
    T_OK(sli_layout_make(columns, column_count, BATCH, &b->layout));
    b->slot = block_of(b->layout.slot_bytes);
    b->header = block_of(sizeof(*b->header));
    for (size_t i = 0; i < b->layout.slot_bytes; i++) {
        b->slot[i] = (uint8_t)(i * 2654435761U >> 11);
    }
    for (uint32_t i = 0; i < count; i++) {
        T_OK(sli_output_check(&outputs[i], &b->layout));
        b->tensors[i].bytes =
            BATCH * sli_output_count(&outputs[i]) * sluice_dtype_size(outputs[i].type.dtype);
        b->tensors[i].data = block_of(b->tensors[i].bytes);
    }
    T_OK(sli_gather_plan_outputs(&b->layout, outputs, count, b->tensors, b->header, &b->gather));
}

static void close_batch(batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        free(b->tensors[i].data);
    }
    free(b->header);
    free(b->slot);
}

static void check_tensors(const batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        uint8_t *want = block_of(b->tensors[i].bytes);

        sli_output_make(&b->outputs[i], &b->layout,
                        b->slot + b->layout.offsets[b->outputs[i].column], want);
        if (memcmp(b->tensors[i].data, want, b->tensors[i].bytes) != 0) {
            T_FAIL_("%s from element %llu of %s, %llu of them: other bytes than the host's",
                    sluice_dtype_name(b->outputs[i].type.dtype),
                    (unsigned long long)b->outputs[i].offset,
                    sluice_dtype_name(b->layout.columns[b->outputs[i].column].dtype),
                    (unsigned long long)sli_output_count(&b->outputs[i]));
        }
        free(want);
    }
    T_EQ(memcmp(b->header, b->slot, sizeof(*b->header)), 0);
}

static void run_grids(batch *b)
{
    static const uint32_t threads[] = {1, 7, 96, 512};

    for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
        for (uint32_t i = 0; i < b->count; i++) {
            memset(b->tensors[i].data, 0xEE, b->tensors[i].bytes);
        }
        for (uint32_t t = 0; t < threads[k]; t++) {
            run_gather_thread(&b->gather, b->slot, t, threads[k], (sli_gather_path)b->gather.path);
        }
        check_tensors(b);
    }
}

static const sluice_dtype narrow[] = {SLUICE_U8, SLUICE_U16, SLUICE_U32, SLUICE_I32};
static const sluice_dtype wide[] = {SLUICE_I32, SLUICE_I64};

/* Every address that a row can begin at, in whole units and not. */
static void check_types(sluice_dtype from, sluice_dtype to)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 6, 8, 12, 61, 64, 128};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (uint64_t more = 0; more <= 4; more++) {
            const sluice_column columns[] = {vector("first", SLUICE_U8, 3),
                                             vector("window", from, counts[i] + more)};
            const sli_output outputs[] = {{vector("first", SLUICE_U8, 3), 0, 0},
                                          {vector("a", to, counts[i]), 1, 0},
                                          {vector("b", to, counts[i]), 1, more}};
            batch b;

            open_batch(&b, columns, 2, outputs, 3);
            T_EQ(b.gather.path, from == to && more == 0 ? SLI_GATHER_COPY : SLI_GATHER_WINDOWS);
            run_grids(&b);
            close_batch(&b);
        }
    }
}

static void windows_have_the_bits_of_the_host(void)
{
    for (size_t from = 0; from < 4; from++) {
        for (size_t to = 0; to < 2; to++) {
            check_types(narrow[from], wide[to]);
        }
    }
}

/* A sum of column bytes that is a multiple of 256: what is read behind it is behind the slot. */
static void windows_are_not_read_behind_their_slot(void)
{
    for (size_t from = 0; from < 4; from++) {
        const uint64_t length = 256 / sluice_dtype_size(narrow[from]);
        const sluice_column column = vector("window", narrow[from], length);

        for (uint64_t offset = 0; offset < 8; offset++) {
            const uint64_t count = (length - offset) / 4 * 4;
            const sli_output output = {vector("a", SLUICE_I32, count), 0, length - count};
            batch b;

            open_batch(&b, &column, 1, &output, 1);
            T_EQ(b.layout.offsets[0] + BATCH * b.layout.row_bytes[0], b.layout.slot_bytes);
            run_grids(&b);
            close_batch(&b);
        }
    }
}

/* Windows of one column and one size are made together, whatever stands between them. */
static void windows_of_one_column_are_a_group(void)
{
    const sluice_column columns[] = {vector("window", SLUICE_U16, 65),
                                     vector("other", SLUICE_U8, 64)};
    const sli_output outputs[] = {{vector("a", SLUICE_I32, 64), 0, 0},
                                  {vector("b", SLUICE_I32, 64), 1, 0},
                                  {vector("c", SLUICE_I64, 64), 0, 0},
                                  {vector("d", SLUICE_I32, 64), 0, 1},
                                  {vector("e", SLUICE_I32, 60), 0, 2}};
    batch b;

    open_batch(&b, columns, 2, outputs, 5);
    T_EQ(b.gather.window_count, 5);
    T_EQ(b.gather.windows[0].group, 2);
    T_EQ(b.gather.windows[1].group, 0);
    T_TRUE(b.gather.windows[1].to == b.tensors[3].data);
    T_EQ(b.gather.windows[2].group, 1);
    T_EQ(b.gather.windows[3].group, 1);
    T_EQ(b.gather.windows[4].group, 1);
    run_grids(&b);
    close_batch(&b);
}

static void tensors_need_no_alignment_but_their_type_s(void)
{
    const sluice_column column = vector("window", SLUICE_U16, 65);
    const sli_output outputs[] = {{vector("a", SLUICE_I32, 64), 0, 1},
                                  {vector("b", SLUICE_I64, 64), 0, 0}};
    batch b;

    open_batch(&b, &column, 1, outputs, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const size_t shift = i == 0 ? 4 : 8;

        T_EQ(b.gather.windows[i].whole, 1);
        free(b.tensors[i].data);
        b.tensors[i].data = (uint8_t *)block_of(b.tensors[i].bytes + shift) + shift;
    }
    T_OK(sli_gather_plan_outputs(&b.layout, outputs, 2, b.tensors, b.header, &b.gather));
    T_EQ(b.gather.windows[0].whole, 0);
    T_EQ(b.gather.windows[1].whole, 0);
    run_grids(&b);
    b.tensors[0].data = (uint8_t *)b.tensors[0].data - 4;
    b.tensors[1].data = (uint8_t *)b.tensors[1].data - 8;
    close_batch(&b);
}

static void rows_of_2_to_the_32_elements_are_refused(void)
{
    const sluice_column column = vector("window", SLUICE_U8, UINT64_C(1) << 33);
    const sli_output output = {vector("a", SLUICE_I32, UINT64_C(1) << 32), 0, 0};
    sluice_tensor tensor = {0};
    sli_gather gather;
    sli_layout layout;

    T_OK(sli_layout_make(&column, 1, 1, &layout));
    T_OK(sli_output_check(&output, &layout));
    T_STATUS(sli_gather_plan_outputs(&layout, &output, 1, &tensor, NULL, &gather),
             SLUICE_E_INVALID);
}

static void a_grid_has_blocks_for_its_work(void)
{
    const sluice_column column = vector("window", SLUICE_U16, 8193);
    const sli_output outputs[] = {{vector("a", SLUICE_I32, 8192), 0, 0},
                                  {vector("b", SLUICE_I32, 8192), 0, 1},
                                  {vector("c", SLUICE_I64, 64), 0, 1}};
    batch b;

    open_batch(&b, &column, 1, outputs, 3);
    T_EQ(sli_gather_blocks(&b.gather), 8192 / 4 * BATCH / SLI_GATHER_THREADS);
    close_batch(&b);
}

/* ---- sectors --------------------------------------------------------------------------------- */

enum { WARP = 32, SECTOR = 32, STORES = 4096 };

/* Where the thread that runs now has stored vectors of the first tensor; and the slot's bytes that
 * it has loaded. */
static struct {
    const uint8_t *begin; /* of the tensor; NULL: nothing is noted */
    const uint8_t *end;
    size_t count;
    uintptr_t at[STORES];
    const uint8_t *slot;
    uint8_t *loaded; /* by byte of the slot */
} noted;

static void note_store(const void *to)
{
    const uint8_t *at = to;

    if (noted.begin != NULL && at >= noted.begin && at < noted.end && noted.count < STORES) {
        noted.at[noted.count++] = (uintptr_t)at;
    }
}

static void note_load(const void *from, size_t bytes)
{
    if (noted.begin != NULL) {
        memset(noted.loaded + ((const uint8_t *)from - noted.slot), 1, bytes);
    }
}

/* 32 lanes of 16 bytes are 16 sectors, if no two stores share one. */
static void the_stores_of_a_warp_fill_whole_sectors(void)
{
    const sluice_column column = vector("window", SLUICE_U16, 1025);
    const sli_output outputs[] = {{vector("a", SLUICE_I32, 1024), 0, 0},
                                  {vector("b", SLUICE_I32, 1024), 0, 1}};
    static uintptr_t stores[STORES][WARP];
    batch b;
    size_t count = 0;
    size_t loaded = 0;

    open_batch(&b, &column, 1, outputs, 2);
    noted.begin = b.tensors[0].data;
    noted.end = noted.begin + b.tensors[0].bytes;
    noted.slot = b.slot;
    noted.loaded = calloc(1, b.layout.slot_bytes);
    for (uint32_t lane = 0; lane < WARP; lane++) {
        noted.count = 0;
        gather_windows(&b.gather, b.slot, lane, WARP);
        T_TRUE(lane == 0 || noted.count == count);
        count = noted.count;
        for (size_t i = 0; i < count; i++) {
            stores[i][lane] = noted.at[i];
        }
    }
    noted.begin = NULL;
    T_EQ(count * WARP * 16, b.tensors[0].bytes);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t lane = 1; lane < WARP; lane++) {
            T_EQ(stores[i][lane], stores[i][0] + 16 * lane);
        }
        T_EQ(stores[i][0] % SECTOR, 0);
    }
    for (size_t i = 0; i < b.layout.slot_bytes; i++) { /* the window, whole words */
        loaded += noted.loaded[i];
    }
    T_TRUE(loaded >= BATCH * b.layout.row_bytes[0] && loaded <= BATCH * b.layout.row_bytes[0] + 4);
    free(noted.loaded);
    close_batch(&b);
}

const t_test getnext_windows_tests[] = {
    T_TEST(windows_have_the_bits_of_the_host),
    T_TEST(windows_are_not_read_behind_their_slot),
    T_TEST(windows_of_one_column_are_a_group),
    T_TEST(tensors_need_no_alignment_but_their_type_s),
    T_TEST(rows_of_2_to_the_32_elements_are_refused),
    T_TEST(a_grid_has_blocks_for_its_work),
    T_TEST(the_stores_of_a_warp_fill_whole_sectors),
    T_END,
};
