/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext's grid, the body that nvcc compiles, run on the CPU block by block: whatever the grid,
 * the image column has the bytes of sli_convert_image() and everything else those of the slot.
 * Blocks are exactly as large as they have to be, for the address sanitizer.
 */
#include <float.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void note_store(const void *to);
#define GATHER_STORES(to, bytes) note_store(to)

#include "getnext_int.h"
#include "kernel_run.h"
#include "testing.h"

enum { BATCH = 5, SEQ = 7, SLOTS = 2, COLUMNS = 3, IMAGE = 1 };

/* A batch of labels, images and five odd bytes, in a slot and gathered from it. */
typedef struct batch {
    sli_conversion conversion;
    sli_layout layout;
    sluice_tensor outputs[COLUMNS];
    sli_batch_header *header;
    uint8_t *slots; /* the last of them holds the batch */
    uint64_t consumed;
    sli_getnext_state state;
    sli_getnext getnext;
    sli_gather gather;
} batch;

static void *block_of(size_t bytes)
{
    void *block = NULL;

    T_EQ(posix_memalign(&block, SLI_COLUMN_ALIGNMENT, bytes), 0);
    return block;
}

/* Finite values of every size; of floats some that are infinite or no number. */
static void fill(sluice_dtype dtype, void *data, size_t bytes)
{
    static const uint32_t odd[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F812345,
                                   0xFFABCDEF, 0x80000000, 0x00000001, 0x7F7FFFFF};
    uint32_t state = 12345;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525 + 1013904223;
        ((uint8_t *)data)[i] = (uint8_t)(state >> 24);
    }
    for (size_t i = 0; dtype != SLUICE_U8 && i < bytes / sluice_dtype_size(dtype); i++) {
        const float usual = ldexpf((float)((int)(i * 7919 % 2001) - 1000), (int)(i % 37) - 24);
        const uint32_t bits = i % 5 == 0 ? odd[i / 5 % 8] : sli_f32_bits(usual);

        if (dtype == SLUICE_F32) {
            ((uint32_t *)data)[i] = bits;
        } else {
            ((uint16_t *)data)[i] = dtype == SLUICE_BF16 ? (uint16_t)(bits >> 16)
                                                         : sli_f16_of_f32(sli_f32_of_bits(bits));
        }
    }
}

static void column(sluice_column *c, const char *name, sluice_dtype dtype, uint32_t rank,
                   uint64_t length)
{
    memset(c, 0, sizeof(*c));
    snprintf(c->name, sizeof(c->name), "%s", name);
    c->dtype = dtype;
    c->rank = rank;
    c->shape[0] = length;
}

static void fill_slot(batch *b)
{
    uint8_t *slot = b->slots + sli_ring_slot(&b->getnext.ring, SEQ) * b->layout.slot_bytes;
    sli_batch_header *header = (sli_batch_header *)(void *)slot;

    fill(SLUICE_U8, slot, b->layout.slot_bytes);
    fill(b->conversion.from, slot + b->layout.offsets[IMAGE], BATCH * b->layout.row_bytes[IMAGE]);
    *header = (sli_batch_header){.seq = SEQ, .position = 40, .pass = 3, .first_sample = 11};
    header->valid_rows = BATCH - 1;
    for (uint32_t row = 0; row < BATCH; row++) {
        slot[b->layout.row_flags_offset + row] = (uint8_t)(row % 4); /* all four of them */
    }
    slot[b->layout.row_flags_offset + BATCH - 1] = SLI_ROW_ZERO; /* padding */
}

static void plan(batch *b)
{
    T_OK(sli_gather_plan(&b->layout, &b->conversion, IMAGE, SLI_PROGRAMS_NONE, b->outputs,
                         b->header, &b->gather));
}

static void open_batch(batch *b, const sli_conversion *conversion)
{
    const uint64_t values = (uint64_t)conversion->height * conversion->width * conversion->channels;
    sluice_column columns[COLUMNS];

    memset(b, 0, sizeof(*b));
    b->conversion = *conversion;
    T_OK(sli_conversion_prepare(&b->conversion));
    column(&columns[0], "label", SLUICE_I32, 0, 0);
    column(&columns[IMAGE], "image", conversion->from, 1, values);
    column(&columns[2], "odd", SLUICE_U8, 1, 5);
    T_OK(sli_layout_make(columns, COLUMNS, BATCH, &b->layout));
    for (uint32_t i = 0; i < COLUMNS; i++) {
        b->outputs[i].bytes =
            BATCH * (i == IMAGE ? sli_conversion_out_bytes(conversion) : b->layout.row_bytes[i]);
        b->outputs[i].data = block_of(b->outputs[i].bytes);
    }
    b->header = block_of(sizeof(*b->header));
    b->slots = block_of(SLOTS * b->layout.slot_bytes);
    sli_getnext_state_init(&b->state);
    b->state.seq = SEQ;
    b->state.end = SLI_GETNEXT_GOES_ON;
    b->getnext.ring = (sli_ring){NULL, &b->consumed, SLOTS};
    b->getnext.slots = b->slots;
    b->getnext.slot_bytes = b->layout.slot_bytes;
    b->getnext.state = &b->state;
    fill_slot(b);
    plan(b);
}

static void close_batch(batch *b)
{
    for (uint32_t i = 0; i < COLUMNS; i++) {
        free(b->outputs[i].data);
    }
    free(b->header);
    free(b->slots);
}

/* One block after another; as in the kernel, all votes but the last change nothing. */
static void run_grid(batch *b, uint32_t blocks, uint32_t threads)
{
    for (uint32_t i = 0; i < COLUMNS; i++) {
        memset(b->outputs[i].data, 0xEE, b->outputs[i].bytes);
    }
    b->consumed = SEQ - 1;
    for (uint32_t block = 0; block < blocks; block++) {
        const uint8_t *slot = gather_slot(&b->getnext);

        T_EQ(b->consumed, SEQ - 1);
        for (uint32_t t = 0; t < threads; t++) {
            run_gather_thread(&b->gather, slot, block * threads + t, blocks * threads,
                              (sli_gather_path)b->gather.path);
        }
        gather_block_done(&b->getnext, blocks);
    }
    T_EQ(b->consumed, SEQ);
    T_EQ(b->state.votes, 0);
}

static void check_image(const batch *b, const uint8_t *slot)
{
    const sli_conversion *c = &b->conversion;
    const size_t bytes = sli_conversion_out_bytes(c);
    uint8_t *want = block_of(bytes);

    for (uint32_t row = 0; row < BATCH; row++) {
        const uint8_t flags = slot[b->layout.row_flags_offset + row];
        const uint8_t *got = (const uint8_t *)b->outputs[IMAGE].data + row * bytes;

        sli_convert_image(c, slot + b->layout.offsets[IMAGE] + row * b->layout.row_bytes[IMAGE],
                          want, flags);
        for (size_t i = 0; i < bytes; i++) {
            if (got[i] != want[i]) {
                T_FAIL_("%s %s to %s %s, %ux%ux%u%s%s, row %u: byte %zu is %02x, want %02x",
                        sluice_dtype_name(c->from), c->from_chw ? "CHW" : "HWC",
                        sluice_dtype_name(c->to), c->to_chw ? "CHW" : "HWC", c->height, c->width,
                        c->channels, c->affine ? ", affine" : "", c->flip ? ", flip" : "", row, i,
                        got[i], want[i]);
            }
        }
    }
    free(want);
}

static void check_batch(const batch *b)
{
    const uint8_t *slot = gather_slot(&b->getnext);

    check_image(b, slot);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        if (i != IMAGE) {
            T_EQ(memcmp(b->outputs[i].data, slot + b->layout.offsets[i], b->outputs[i].bytes), 0);
        }
    }
    T_EQ(memcmp(b->header, slot, sizeof(*b->header)), 0);
}

static void check_grids(const sli_conversion *conversion)
{
    static const uint32_t grids[][2] = {{1, 1}, {1, 7}, {3, 32}, {2, 256}};
    batch b;

    open_batch(&b, conversion);
    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        run_grid(&b, grids[i][0], grids[i][1]);
        check_batch(&b);
    }
    close_batch(&b);
}

static sli_conversion program(sluice_dtype from, sluice_dtype to, uint32_t channels, uint32_t width)
{
    sli_conversion c = {.height = 3, .width = width, .channels = channels, .from = from, .to = to};

    for (uint32_t i = 0; i < channels; i++) {
        c.scale[i] = 1.0F / (57.3F + (float)i);
        c.bias[i] = -1.7F - 0.3F * (float)i;
    }
    return c;
}

/* All layouts, flips and normalisations of one pair of types. */
static void check_variants(sluice_dtype from, sluice_dtype to, uint32_t channels, uint32_t width)
{
    for (unsigned variant = 0; variant < 16; variant++) {
        sli_conversion c = program(from, to, channels, width);

        c.to_chw = (variant & 1) != 0;
        c.from_chw = (variant & 2) != 0;
        c.affine = (variant & 4) != 0;
        c.flip = (variant & 8) != 0;
        if (to != SLUICE_U8 || !c.affine) {
            check_grids(&c);
        }
    }
}

static const sluice_dtype types[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};

static void bytes_have_the_bits_of_the_host_at_every_width(void)
{
    static const uint32_t widths[] = {1, 2, 3, 4, 7, 8, 9, 12, 16, 20, 24, 37, 40};

    for (size_t type = 0; type < 4; type++) {
        for (uint32_t channels = 1; channels <= SLI_MAX_CHANNELS; channels++) {
            for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
                check_variants(SLUICE_U8, types[type], channels, widths[i]);
            }
        }
    }
}

/* Infinities and what is no number, too: as x86-64 makes them. */
static void floats_have_the_bits_of_the_host(void)
{
#if defined(__x86_64__)
    for (size_t from = 1; from < 4; from++) {
        for (size_t to = 1; to < 4; to++) {
            for (uint32_t channels = 1; channels <= SLI_MAX_CHANNELS; channels++) {
                check_variants(types[from], types[to], channels, 13);
                check_variants(types[from], types[to], channels, 16);
            }
        }
    }
#else
    T_SKIP("what is no number has other bits on this processor");
#endif
}

static void results_out_of_range_and_ties_have_the_bits_of_the_host(void)
{
    static const float scales[] = {1e6F, 3e38F, 1e-7F, 1e-40F, -1e-9F, 0, 1, -1};

    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        for (size_t type = 1; type < 4; type++) {
            for (unsigned variant = 0; variant < 4; variant++) {
                sli_conversion c = program(SLUICE_U8, types[type], 3, 40);

                c.affine = true;
                c.flip = true;
                c.to_chw = (variant & 1) != 0;
                for (int ch = 0; ch < 3; ch++) {
                    c.scale[ch] = scales[i];
                    c.bias[ch] = scales[i] * (c.to == SLUICE_F16 ? 2048 : 256);
                    c.bias[ch] = (variant & 2) != 0 && isfinite(c.bias[ch]) ? c.bias[ch] : 0;
                }
                check_grids(&c);
            }
        }
    }
}

static void units_are_taken_where_images_have_whole_ones(void)
{
    static const struct {
        sluice_dtype to;
        uint32_t channels;
        uint32_t width;
        bool to_chw;
        sli_gather_path path;
    } cases[] = {
        {SLUICE_F16, 3, 16, true, SLI_GATHER_PLANES_F16},
        {SLUICE_F16, 3, 12, true, SLI_GATHER_ANY},
        {SLUICE_BF16, 3, 8, true, SLI_GATHER_PLANES_BF16},
        {SLUICE_F32, 3, 12, true, SLI_GATHER_PLANES_F32},
        {SLUICE_F32, 3, 14, true, SLI_GATHER_ANY},
        {SLUICE_F16, 3, 16, false, SLI_GATHER_PACKED_F16},
        {SLUICE_BF16, 3, 24, false, SLI_GATHER_PACKED_BF16},
        {SLUICE_F16, 3, 12, false, SLI_GATHER_ANY},
        {SLUICE_F32, 3, 12, false, SLI_GATHER_PACKED_F32},
        {SLUICE_F32, 1, 12, false, SLI_GATHER_ANY},
        {SLUICE_F32, 4, 12, true, SLI_GATHER_ANY},
        {SLUICE_U8, 3, 16, true, SLI_GATHER_ANY},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sli_conversion c = program(SLUICE_U8, cases[i].to, cases[i].channels, cases[i].width);
        batch b;

        c.to_chw = cases[i].to_chw;
        open_batch(&b, &c);
        T_EQ(b.gather.path, cases[i].path);
        b.outputs[IMAGE].data = (uint8_t *)b.outputs[IMAGE].data + 4; /* not a multiple of 16 */
        plan(&b);
        T_EQ(b.gather.path, SLI_GATHER_ANY);
        b.outputs[IMAGE].data = (uint8_t *)b.outputs[IMAGE].data - 4;
        b.conversion.from_chw = true;
        plan(&b);
        T_EQ(b.gather.path, SLI_GATHER_ANY);
        close_batch(&b);
    }
}

/* ---- sectors --------------------------------------------------------------------------------- */

enum { WARP = 32, SECTOR = 32, STORES = 4096 };

/* Where the thread that runs now has stored vectors of the image. */
static struct {
    const uint8_t *begin; /* of the image column; NULL: nothing is noted */
    const uint8_t *end;
    size_t count;
    uintptr_t at[STORES];
} noted;

static void note_store(const void *to)
{
    const uint8_t *at = to;

    if (noted.begin != NULL && at >= noted.begin && at < noted.end && noted.count < STORES) {
        noted.at[noted.count++] = (uintptr_t)at;
    }
}

/* Sectors that one store of a warp writes to, at 16 bytes a lane. */
static uint32_t sectors_of(const uintptr_t *at)
{
    uint32_t sectors = 0;

    for (int lane = 0; lane < WARP; lane++) {
        bool first = true;

        for (int other = 0; other < lane; other++) {
            first = first && at[other] / SECTOR != at[lane] / SECTOR;
        }
        sectors += first;
    }
    return sectors;
}

/* The most sectors of all stores of a warp that does the whole batch. */
static uint32_t most_sectors(batch *b)
{
    static uintptr_t stores[STORES][WARP];
    const uint8_t *slot = gather_slot(&b->getnext);
    uint32_t most = 0;
    size_t count = 0;

    noted.begin = b->outputs[IMAGE].data;
    noted.end = noted.begin + b->outputs[IMAGE].bytes;
    for (uint32_t lane = 0; lane < WARP; lane++) {
        noted.count = 0;
        run_gather_thread(&b->gather, slot, lane, WARP, (sli_gather_path)b->gather.path);
        T_TRUE(lane == 0 || noted.count == count);
        count = noted.count;
        for (size_t i = 0; i < count; i++) {
            stores[i][lane] = noted.at[i];
        }
    }
    noted.begin = NULL;
    T_EQ(count * WARP * 16, b->outputs[IMAGE].bytes);
    for (size_t i = 0; i < count; i++) {
        const uint32_t sectors = sectors_of(stores[i]);

        most = sectors > most ? sectors : most;
    }
    return most;
}

/* 32 lanes of 16 bytes are 16 sectors, if no two stores share one. */
static void the_stores_of_a_warp_fill_whole_sectors(void)
{
    if (kernel_run_is_blind()) {
        return;
    }
    for (uint32_t i = 0; i < 6; i++) {
        sli_conversion c = program(SLUICE_U8, types[1 + i % 3], 3, 256);
        batch b;

        c.to_chw = i / 3 == 0;
        c.flip = true;
        open_batch(&b, &c);
        T_EQ(most_sectors(&b), WARP * 16 / SECTOR);
        close_batch(&b);
    }
}

/* The column may end where the slot's memory ends. */
static void flipped_lines_are_not_read_behind_their_end(void)
{
    enum { WIDTH = 40, LINE = 3 * WIDTH };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *line = pages + page - LINE;

    T_TRUE(pages != MAP_FAILED);
    T_EQ(mprotect(pages + page, page, PROT_NONE), 0);
    for (uint32_t i = 0; i < LINE; i++) {
        line[i] = (uint8_t)i;
    }
    for (uint32_t at = 0; at < LINE; at += 4) {
        uint32_t words[2];

        gather_load_flipped(line, at, at % 3, LINE, words);
        for (uint32_t i = 0; i < 8 && at + i < LINE; i++) {
            const uint32_t pixel = WIDTH - 1 - (at + i) / 3;

            T_EQ(words[i / 4] >> 8 * (i % 4) & 0xFF, 3 * pixel + (at + i) % 3);
        }
    }
    munmap(pages, 2 * page);
}

/* Outputs that lie anywhere: bytes instead of vectors, where a vector would not be aligned. */
static void outputs_need_no_alignment_but_their_type_s(void)
{
    sli_conversion c = program(SLUICE_U8, SLUICE_BF16, 3, 16);
    uint8_t *blocks[COLUMNS];
    batch b;

    c.to_chw = true;
    open_batch(&b, &c);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        blocks[i] = b.outputs[i].data;
        b.outputs[i].data = (uint8_t *)block_of(b.outputs[i].bytes + 4) + 4;
    }
    plan(&b);
    run_grid(&b, 2, 32);
    check_batch(&b);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        free((uint8_t *)b.outputs[i].data - 4);
        b.outputs[i].data = blocks[i];
    }
    close_batch(&b);
}

/* Where the workers convert, GetNext on a device still copies: its tensors do not move. */
static void without_a_conversion_every_column_is_copied(void)
{
    const sli_conversion c = program(SLUICE_F32, SLUICE_F32, 3, 7);
    batch b;

    open_batch(&b, &c);
    T_OK(sli_gather_plan(&b.layout, NULL, 0, SLI_PROGRAMS_NONE, b.outputs, b.header, &b.gather));
    T_EQ(b.gather.path, SLI_GATHER_COPY);
    run_grid(&b, 3, 32);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        T_EQ(memcmp(b.outputs[i].data, gather_slot(&b.getnext) + b.layout.offsets[i],
                    b.outputs[i].bytes),
             0);
    }
    close_batch(&b);
}

static void a_launch_that_has_ended_gathers_nothing(void)
{
    const sli_conversion c = program(SLUICE_U8, SLUICE_F32, 3, 8);
    batch b;

    open_batch(&b, &c);
    b.state.end = SLI_GETNEXT_YIELD;
    T_TRUE(gather_slot(&b.getnext) == NULL);
    close_batch(&b);
}

/* Where threads stand is what divisions would say, up to the largest images. */
static void threads_walk_over_all_units(void)
{
    static const uint32_t sizes[] = {1, 5, 256, 6272, 4294967295U};
    static const uint32_t threads[] = {1, 7, 33792 * 8, 4294967295U};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < sizeof(threads) / sizeof(threads[0]); j++) {
            const uint32_t t = threads[j] - 1;
            gather_walk walk = gather_walk_begin(sizes[i], t, threads[j]);

            for (uint64_t at = t; at < t + 40 * (uint64_t)threads[j] && at / sizes[i] < 1U << 31;
                 at += threads[j]) {
                T_EQ(walk.row, at / sizes[i]);
                T_EQ(walk.unit, at % sizes[i]);
                gather_walk_next(&walk, sizes[i]);
            }
        }
    }
}

static void a_grid_has_blocks_for_its_work(void)
{
    sli_conversion c = program(SLUICE_U8, SLUICE_F16, 3, 16);
    batch b;

    c.to_chw = true;
    c.height = 1024;
    open_batch(&b, &c);
    T_EQ(sli_gather_blocks(&b.gather), 1024 * 2 * BATCH / SLI_GATHER_THREADS);
    close_batch(&b);
    c.height = 1;
    open_batch(&b, &c);
    T_EQ(sli_gather_blocks(&b.gather), 1);
    close_batch(&b);
}

static void images_of_2_to_the_32_values_are_refused(void)
{
    sli_conversion c = program(SLUICE_U8, SLUICE_F16, 4, 32768);
    batch b;

    open_batch(&b,
               &(sli_conversion){
                   .height = 1, .width = 1, .channels = 1, .from = SLUICE_U8, .to = SLUICE_F32});
    c.height = 32768;
    b.conversion = c;
    T_STATUS(sli_gather_plan(&b.layout, &b.conversion, IMAGE, SLI_PROGRAMS_NONE, b.outputs,
                             b.header, &b.gather),
             SLUICE_E_INVALID);
    close_batch(&b);
}

static void each_part_has_a_kernel_of_its_own(void)
{
#if defined(SLI_HAVE_KERNELS)
    sli_kernel_launch launches[2 + SLI_GATHER_PATHS];
    const size_t count = sizeof(launches) / sizeof(launches[0]);
    sli_getnext getnext;
    sli_gather gathers[SLI_GATHER_PATHS];

    memset(gathers, 0, sizeof(gathers));
    sli_getnext_begin_launch(&getnext, &launches[0]);
    sli_getnext_next_launch(&getnext, &launches[1]);
    for (uint32_t path = 0; path < SLI_GATHER_PATHS; path++) {
        gathers[path].path = path;
        gathers[path].batch_size = 1;
        gathers[path].image.pixels = 8192;
        sli_getnext_gather_launch(&getnext, &gathers[path], &launches[2 + path]);
        T_TRUE(launches[2 + path].args[1] == &gathers[path]);
        T_EQ(launches[2 + path].threads, SLI_GATHER_THREADS);
        T_EQ(launches[2 + path].blocks, sli_gather_blocks(&gathers[path]));
    }
    for (size_t i = 0; i < count; i++) {
        T_TRUE(launches[i].function != NULL && launches[i].args[0] == &getnext);
        T_TRUE(i >= 2 || (launches[i].blocks == 1 && launches[i].threads == 1));
        for (size_t j = 0; j < i; j++) {
            T_TRUE(launches[i].function != launches[j].function);
        }
    }
#else
    T_SKIP("this build has no kernels");
#endif
}

const t_test getnext_gather_tests[] = {
    T_TEST(bytes_have_the_bits_of_the_host_at_every_width),
    T_TEST(floats_have_the_bits_of_the_host),
    T_TEST(results_out_of_range_and_ties_have_the_bits_of_the_host),
    T_TEST(units_are_taken_where_images_have_whole_ones),
    T_TEST(the_stores_of_a_warp_fill_whole_sectors),
    T_TEST(flipped_lines_are_not_read_behind_their_end),
    T_TEST(outputs_need_no_alignment_but_their_type_s),
    T_TEST(without_a_conversion_every_column_is_copied),
    T_TEST(a_launch_that_has_ended_gathers_nothing),
    T_TEST(threads_walk_over_all_units),
    T_TEST(a_grid_has_blocks_for_its_work),
    T_TEST(images_of_2_to_the_32_values_are_refused),
    T_TEST(each_part_has_a_kernel_of_its_own),
    T_END,
};
