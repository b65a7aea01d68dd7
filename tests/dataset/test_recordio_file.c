/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "bytes_int.h"
#include "recordio_file.h"
#include "recordio_kit.h"
#include "testing.h"

enum { MOST = 20000, MOST_RECORDS = 64 };

typedef struct found {
    uint64_t count;
    uint64_t offsets[MOST_RECORDS];
    uint64_t sizes[MOST_RECORDS];
} found;

static sluice_status keep(void *arg, uint64_t offset, uint64_t size)
{
    found *to = arg;

    if (to->count == MOST_RECORDS) {
        return SLUICE_E_NO_MEMORY;
    }
    to->offsets[to->count] = offset;
    to->sizes[to->count++] = size;
    return SLUICE_OK;
}

static sluice_status scan(const uint8_t *bytes, size_t size, found *to)
{
    const char *path = t_file("a.rec");
    sluice_status st;
    int fd;

    memset(to, 0, sizeof(*to));
    t_write_file(path, bytes, size);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    T_TRUE(fd >= 0);
    st = recordio_scan(fd, size, keep, to);
    close(fd);
    return st;
}

/* Checks that a stored record has these bytes. */
static void check_record(const uint8_t *stored, size_t size, const uint8_t *want, size_t want_size,
                         uint32_t parts)
{
    static uint8_t joined[MOST];
    recordio_layout layout;

    T_OK(recordio_measure(stored, size, &layout));
    T_EQ(layout.parts, parts);
    T_EQ(layout.size, want_size);
    recordio_join(stored, &layout, joined);
    T_TRUE(memcmp(joined, want, want_size) == 0);
    memcpy(joined, stored, size);
    recordio_join(joined, &layout, joined);
    T_TRUE(memcmp(joined, want, want_size) == 0);
}

static void records_are_found_and_joined(void)
{
    static uint8_t data[MOST];
    static uint8_t plain[9000];
    recordio_bytes file = {data, 0};
    found to;

    for (size_t i = 0; i < sizeof(plain); i++) {
        plain[i] = (uint8_t)(i * 7 + i / 256);
    }
    for (uint32_t size = 0; size < 20; size++) {
        recordio_add(&file, plain + size, size);
    }
    recordio_add(&file, plain, sizeof(plain)); /* longer than what a scan reads at once */
    recordio_add(&file, plain, 5);
    T_OK(scan(data, file.size, &to));
    T_EQ(to.count, 22);
    for (uint32_t i = 0; i < 20; i++) {
        check_record(data + to.offsets[i], to.sizes[i], plain + i, i, 1);
    }
    check_record(data + to.offsets[20], to.sizes[20], plain, sizeof(plain), 1);
    check_record(data + to.offsets[21], to.sizes[21], plain, 5, 1);
    T_EQ(to.offsets[21] + to.sizes[21], file.size);
}

static void escaped_magic_numbers_come_back(void)
{
    uint8_t data[400];
    uint8_t plain[64];
    recordio_bytes file = {data, 0};
    found to;

    memset(plain, 0x55, sizeof(plain));
    sli_put_u32(plain, RECORDIO_MAGIC); /* at the beginning */
    sli_put_u32(plain + 8, RECORDIO_MAGIC);
    sli_put_u32(plain + 12, RECORDIO_MAGIC); /* nothing between the two */
    sli_put_u32(plain + 21, RECORDIO_MAGIC); /* not at a multiple of 4: stays */
    sli_put_u32(plain + 40, RECORDIO_MAGIC); /* at the end of a record of 44 bytes */
    recordio_add(&file, plain, 44);
    recordio_add(&file, plain, 63);
    T_OK(scan(data, file.size, &to));
    T_EQ(to.count, 2);
    check_record(data, to.sizes[0], plain, 44, 5);
    check_record(data + to.offsets[1], to.sizes[1], plain, 63, 5);
}

static void check_refused(const recordio_bytes *file, const char *words)
{
    found to;

    T_STATUS(scan(file->data, file->size, &to), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), words);
}

static void bad_files_are_refused_with_the_offset(void)
{
    uint8_t data[200];
    recordio_bytes file = {data, 0};

    recordio_add(&file, "abcdef", 6);
    recordio_add(&file, "ghijkl", 6);
    T_EQ(file.size, 32);
    for (size_t size = 17; size < 32; size++) {
        check_refused(&(recordio_bytes){data, size},
                      size < 24 ? "truncated: it ends within the record at byte 16"
                                : "the record at byte 16 has a part of 6 bytes at byte 16, which "
                                  "extends beyond the file's");
    }
    data[16] ^= 1;
    check_refused(&file, "at byte 16 a part of a record must begin with 0xced7230a, and begins "
                         "with 0xced7230b");
    data[16] ^= 1;
    sli_put_u32(data + 20, UINT32_C(4) << 29 | 6);
    check_refused(&file, "at byte 16 the flag of a part is 4, and must be 0 to 3");
    sli_put_u32(data + 20, UINT32_C(3) << 29 | 6);
    check_refused(&file, "the flag of a part is 3, and must be 0 or 1, as a record begins");
    sli_put_u32(data + 20, UINT32_C(1) << 29 | 6);
    check_refused(&file, "truncated: it ends within the record at byte 16");
    sli_put_u32(data + 4, UINT32_C(1) << 29 | 6);
    check_refused(&file, "at byte 16 the flag of a part is 1, and must be 2 or 3");
    sli_put_u32(data + 4, UINT32_C(0x1fffffff));
    check_refused(&file, "the record at byte 0 has a part of 536870911 bytes at byte 0");
}

static void records_that_do_not_fill_their_place_are_refused(void)
{
    uint8_t data[64];
    recordio_bytes file = {data, 0};
    recordio_layout layout = {.parts = 77};

    recordio_add(&file, "abcdef", 6);
    recordio_add(&file, "", 0);
    T_STATUS(recordio_measure(data, 24, &layout), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "has 16 bytes, and by its index it must have 24");
    T_STATUS(recordio_measure(data, 12, &layout), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "a part of 6 bytes begins where the record has 4 more bytes");
    T_STATUS(recordio_measure(data, 7, &layout), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "the record is truncated");
    T_STATUS(recordio_measure(data + 4, 12, &layout), SLUICE_E_CORRUPT);
    T_EQ(layout.parts, 77);
    T_OK(recordio_measure(data + 16, 8, &layout));
    T_EQ(layout.size, 0);
}

static void labels_are_those_of_the_header_or_behind_it(void)
{
    const float labels[] = {3, -0.5F, 1e9F};
    uint8_t bytes[64];
    recordio_image image;
    size_t size = recordio_image_bytes(bytes, 12, labels, 0, "picture", 7);

    T_OK(recordio_image_parse(bytes, size, &image));
    T_EQ(image.id, 12);
    T_EQ(image.label_count, 1);
    T_TRUE(recordio_label(&image, 0) == 3 && image.image_size == 7);
    T_TRUE(memcmp(image.image, "picture", 7) == 0);
    size = recordio_image_bytes(bytes, 13, labels, 3, "picture", 7);
    T_OK(recordio_image_parse(bytes, size, &image));
    T_EQ(image.label_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        T_TRUE(recordio_label(&image, i) == labels[i]);
    }
    T_TRUE(image.image_size == 7 && memcmp(image.image, "picture", 7) == 0);
    T_STATUS(recordio_image_parse(bytes, 35, &image), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "has 35 bytes, too few for its 3 labels");
    T_STATUS(recordio_image_parse(bytes, 23, &image), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "has 23 bytes, and an image record must have at least 24");
    sli_put_u32(bytes, UINT32_MAX);
    T_STATUS(recordio_image_parse(bytes, size, &image), SLUICE_E_CORRUPT);
}

const t_test recordio_file_tests[] = {
    T_TEST(records_are_found_and_joined),
    T_TEST(escaped_magic_numbers_come_back),
    T_TEST(bad_files_are_refused_with_the_offset),
    T_TEST(records_that_do_not_fill_their_place_are_refused),
    T_TEST(labels_are_those_of_the_header_or_behind_it),
    T_END,
};
