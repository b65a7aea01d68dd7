/* SPDX-License-Identifier: Apache-2.0 */
#include "idx_header.h"
#include "idx_kit.h"
#include "testing.h"

static sluice_status parse(uint8_t type, uint32_t rank, const uint32_t *shape, idx_header *header)
{
    uint8_t bytes[4 + 4 * 255];
    const size_t size = idx_head(type, rank, shape, bytes);

    return idx_header_parse(bytes, size, header);
}

static void check_fails(uint8_t type, uint32_t rank, const uint32_t *shape, sluice_status want,
                        const char *words)
{
    idx_header header = {.rank = 77};

    T_STATUS(parse(type, rank, shape, &header), want);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(header.rank, 77);
}

static void dimensions_are_read(void)
{
    const uint32_t shape[] = {60000, 28, 27, 3};
    idx_header header;
    uint64_t row = 1;

    for (uint32_t rank = 1; rank <= IDX_MAX_RANK; rank++) {
        T_OK(parse(8, rank, shape, &header));
        T_EQ(header.rank, rank);
        row *= rank > 1 ? shape[rank - 1] : 1;
        T_EQ(header.shape[rank - 1], shape[rank - 1]);
        T_EQ(header.row_bytes, row);
        T_EQ(header.data_at, 4 + 4 * rank);
        T_EQ(header.data_bytes, 60000 * row);
    }
    T_OK(parse(8, 1, (const uint32_t[]){0}, &header));
    T_TRUE(header.shape[0] == 0 && header.data_bytes == 0);
}

static void headers_of_other_files_are_refused(void)
{
    static const uint32_t shape[255] = {1, 1, 1, 1, 1};
    const uint8_t text[] = "P5 2 2 255\n1234";
    idx_header header;

    T_STATUS(idx_header_parse(text, sizeof(text), &header), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "this is not an IDX file");
    check_fails(8, 0, shape, SLUICE_E_CORRUPT, "this is not an IDX file");
    check_fails(0, 1, shape, SLUICE_E_CORRUPT, "elements of type 0x00");
    check_fails(0x0a, 1, shape, SLUICE_E_CORRUPT, "elements of type 0x0a");
    check_fails(0xff, 1, shape, SLUICE_E_CORRUPT, "elements of type 0xff");
    check_fails(0x09, 1, shape, SLUICE_E_UNSUPPORTED,
                "its elements are i8 and must be unsigned bytes");
    check_fails(0x0c, 2, shape, SLUICE_E_UNSUPPORTED, "i32");
    check_fails(0x0e, 2, shape, SLUICE_E_UNSUPPORTED, "f64");
    check_fails(8, 5, shape, SLUICE_E_UNSUPPORTED, "it has 5 dimensions, more than 4");
    check_fails(8, 255, shape, SLUICE_E_UNSUPPORTED, "255 dimensions");
}

static void headers_that_are_cut_off_are_refused(void)
{
    uint8_t bytes[20];
    idx_header header;
    const size_t size = idx_head(8, 3, (const uint32_t[]){2, 3, 4}, bytes);

    T_EQ(size, 16);
    for (size_t i = 0; i < size; i++) {
        T_STATUS(idx_header_parse(bytes, i, &header), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(),
                   i < 4 ? "this is not an IDX file" : "the file ends within its header");
    }
    T_OK(idx_header_parse(bytes, size, &header));
}

static void dimensions_that_cannot_be_are_refused(void)
{
    const uint32_t most = UINT32_MAX;

    check_fails(8, 3, (const uint32_t[]){most, most, most}, SLUICE_E_CORRUPT,
                "larger than a file can be");
    check_fails(8, 4, (const uint32_t[]){1, most, most, most}, SLUICE_E_CORRUPT,
                "larger than a file can be");
    check_fails(8, 4, (const uint32_t[]){0, most, most, most}, SLUICE_E_CORRUPT,
                "larger than a file can be");
    check_fails(8, 3, (const uint32_t[]){5, 0, 28}, SLUICE_E_UNSUPPORTED, "have no elements");
    check_fails(8, 3, (const uint32_t[]){5, 28, 0}, SLUICE_E_UNSUPPORTED, "have no elements");
}

const t_test idx_header_tests[] = {
    T_TEST(dimensions_are_read),
    T_TEST(headers_of_other_files_are_refused),
    T_TEST(headers_that_are_cut_off_are_refused),
    T_TEST(dimensions_that_cannot_be_are_refused),
    T_END,
};
