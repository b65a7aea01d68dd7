/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "crc32c_int.h"
#include "shard_kit.h"
#include "testing.h"

static shard_index built(tar_maker *tar, const shard_fields *fields, bool with_crc)
{
    shard_index index = {0};
    int fd;

    tar_add_zeros(tar, 2);
    fd = bytes_file(tar->bytes, tar->size);
    T_OK(shard_index_build(fd, "x.tar", fields, with_crc, &index));
    T_EQ(index.shard_size, tar->size);
    close(fd);
    return index;
}

static void check_sample(const shard_index *index, uint64_t i, const char *name, int32_t label,
                         uint32_t flags)
{
    T_TRUE(i < index->count);
    T_STR(shard_sample_name(index, i), name);
    T_EQ(index->samples[i].flags, flags);
    if ((flags & SHARD_HAS_LABEL) != 0) {
        T_EQ(index->samples[i].label, label);
    }
}

/* ---- what makes a sample --------------------------------------------------------------------- */

static void members_that_stand_together_are_a_sample(void)
{
    tar_maker tar = {0};
    shard_index index;

    tar_add_texts(&tar, "c/1.jpg=one c/1.cls=11 c.d/2.cls=12\n");
    tar_add(&tar, "c.d/", '5', NULL, 0);
    tar_add_texts(&tar, "README=neither-key-nor-field c.d/2.seg.png=another-field c.d/2.JPEG=two "
                        "d/1.jpg=other-key d/1.CLS=-5 c/1.cls=99 c/1.ppm=again "
                        "c/10.jpg=longer-key c/.jpg=hidden c/10.=no-field");
    index = built(&tar, &shard_default_fields, false);
    T_EQ(index.count, 5);
    check_sample(&index, 0, "c/1.jpg", 11, SHARD_HAS_LABEL);
    check_sample(&index, 1, "c.d/2.JPEG", 12, SHARD_HAS_LABEL);
    check_sample(&index, 2, "d/1.jpg", -5, SHARD_HAS_LABEL);
    check_sample(&index, 3, "c/1.ppm", 99, SHARD_HAS_LABEL);
    check_sample(&index, 4, "c/10.jpg", 0, 0);
    T_EQ(index.samples[1].size, 3);
    T_EQ(memcmp(tar.bytes + index.samples[1].offset, "two", 3), 0);
    T_EQ(shard_key_length("c.d/2.seg.png"), 5);
    T_EQ(shard_key_length("none"), 4);
    T_STR(index.seen, "jpg,cls,seg.png,jpeg,ppm");
    T_EQ(index.imageless, 0);
    shard_index_free(&index);
    tar_free(&tar);
}

static void the_image_is_the_field_named_first(void)
{
    static const shard_fields fields = {"seg.png,png,jpg", "txt"};
    tar_maker tar = {0};
    shard_index index;

    tar_add_texts(&tar, "1.jpg=jpg 1.txt=1 1.png=png "
                        "2.seg.png=seg 2.jpg=jpg 2.cls=5 "
                        "3.seg=seg 3.pn=pn 3.pngs=pngs");
    index = built(&tar, &fields, false);
    T_EQ(index.count, 2);
    check_sample(&index, 0, "1.png", 1, SHARD_HAS_LABEL);
    check_sample(&index, 1, "2.seg.png", 0, 0);
    T_EQ(index.names_size, sizeof("1.png") + sizeof("2.seg.png"));
    T_EQ(index.imageless, 1);
    T_STR(index.first_imageless, "3");
    shard_index_free(&index);
    tar_free(&tar);
}

static void what_is_there_twice_is_marked(void)
{
    tar_maker tar = {0};
    shard_index index;

    tar_add_texts(&tar, "1.jpg=jpg 1.jpg=jpg 1.cls=1 "
                        "2.jpg=jpg 2.cls=1 2.cls=x "
                        "3.jpg=jpg 3.png=png 3.txt=any 3.txt=any");
    index = built(&tar, &shard_default_fields, false);
    check_sample(&index, 0, "1.jpg", 1, SHARD_HAS_LABEL | SHARD_DUPLICATE);
    T_TRUE((index.samples[1].flags & SHARD_DUPLICATE) != 0);
    check_sample(&index, 2, "3.jpg", 0, 0);
    shard_index_free(&index);
    tar_free(&tar);
}

static void labels_are_whole_numbers(void)
{
    static const struct {
        const char *text;
        int32_t label;
        bool good;
    } labels[] = {
        {"0", 0, true},
        {" 7\r\n", 7, true},
        {"+7", 7, true},
        {"-2147483648", INT32_MIN, true},
        {"2147483647", INT32_MAX, true},
        {"0000000000000000000000012", 12, true},
        {"2147483648", 0, false},
        {"-2147483649", 0, false},
        {"99999999999999999999999999999", 0, false},
        {"", 0, false},
        {" ", 0, false},
        {"-", 0, false},
        {"+-1", 0, false},
        {"1.0", 0, false},
        {"1 2", 0, false},
        {"cat", 0, false},
        {"0x1", 0, false},
        {"                                                               1 ", 0, false},
    };
    enum { LABELS = sizeof(labels) / sizeof(labels[0]) };
    tar_maker tar = {0};
    shard_index index;

    for (int i = 0; i < LABELS; i++) {
        char name[40];

        snprintf(name, sizeof(name), "%d.jpg", i);
        tar_add_text(&tar, name, "x");
        snprintf(name, sizeof(name), "%d.cls", i);
        tar_add_text(&tar, name, labels[i].text);
    }
    tar_add_text(&tar, "z.jpg", "x");
    tar_add(&tar, "z.cls", '0', "1\0", 2);
    index = built(&tar, &shard_default_fields, false);
    T_EQ(index.count, LABELS + 1);
    for (int i = 0; i < LABELS; i++) {
        T_EQ(index.samples[i].flags, labels[i].good ? SHARD_HAS_LABEL : SHARD_BAD_LABEL);
        T_TRUE(!labels[i].good || index.samples[i].label == labels[i].label);
    }
    T_EQ(index.samples[LABELS].flags, SHARD_BAD_LABEL);
    shard_index_free(&index);
    tar_free(&tar);
}

static void checksums_are_those_of_the_images(void)
{
    const size_t large = 600000;
    uint8_t *bytes = calloc(1, large);
    tar_maker tar = {0};
    shard_index index;

    for (size_t i = 0; i < large; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    }
    tar_add(&tar, "1.jpg", '0', bytes, large);
    tar_add_text(&tar, "2.jpg", "123456789");
    tar_add_text(&tar, "2.png", "not this one");
    tar_add_text(&tar, "3.jpg", "");
    index = built(&tar, &shard_default_fields, true);
    T_EQ(index.samples[0].flags, SHARD_HAS_CRC);
    T_EQ(index.samples[0].crc, sli_crc32c(0, bytes, large));
    T_EQ(index.samples[1].crc, 0xE3069283);
    T_EQ(index.samples[2].crc, 0);
    T_EQ(index.samples[2].flags, SHARD_HAS_CRC);
    shard_index_free(&index);
    tar_free(&tar);
    free(bytes);
}

/* ---- in a file ------------------------------------------------------------------------------- */

static void what_is_written_is_read_back(void)
{
    const char *path = t_file("i");
    tar_maker tar = {0};
    shard_index index;
    shard_index back = {0};

    make_members(&tar);
    for (int with_crc = 0; with_crc < 2; with_crc++) {
        index = built(&tar, &shard_default_fields, with_crc == 1);
        T_EQ(index.count, 3);
        T_EQ(index.passed_over, 1);
        T_TRUE(index.has_more);
        T_STR(index.first_imageless, "a/3");
        T_OK(shard_index_write(&index, &shard_default_fields, true, path));
        T_OK(shard_index_read(path, tar.size, &shard_default_fields, &back));
        check_same_index(&index, &back);
        shard_index_free(&index);
        shard_index_free(&back);
    }
    tar_free(&tar);
}

static void an_index_of_nothing_is_read_back(void)
{
    const char *path = t_file("i");
    tar_maker tar = {0};
    shard_index index = built(&tar, &shard_default_fields, true);
    shard_index back = {0};

    T_EQ(index.count, 0);
    T_OK(shard_index_write(&index, &shard_default_fields, true, path));
    T_OK(shard_index_read(path, tar.size, &shard_default_fields, &back));
    check_same_index(&index, &back);
    shard_index_free(&index);
    shard_index_free(&back);
    tar_free(&tar);
}

static void an_index_of_something_else_is_refused(void)
{
    static const shard_fields others[] = {{"jpg", "cls"}, {"jpg,jpeg,png,ppm", "txt"}};
    char path[400];
    tar_maker tar = {0};
    shard_index index;
    shard_index back = {0};

    snprintf(path, sizeof(path), "%s/i", t_folder());
    make_members(&tar);
    index = built(&tar, &shard_default_fields, false);
    T_OK(shard_index_write(&index, &shard_default_fields, true, path));
    T_STATUS(shard_index_read(path, tar.size + 512, &shard_default_fields, &back),
             SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "of another size");
    for (int i = 0; i < 2; i++) {
        T_STATUS(shard_index_read(path, tar.size, &others[i], &back), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "for other fields");
    }
    T_STATUS(shard_index_read(t_path(t_folder(), "none"), tar.size, &shard_default_fields, &back),
             SLUICE_E_IO);
    shard_index_free(&index);
    tar_free(&tar);
}

/* Numbers that do not fit, under a checksum that is right. */
static void an_index_that_lies_is_refused(void)
{
    static const struct {
        size_t at;
        uint64_t number;
        size_t width;
    } lies[] = {
        {24, 4, 8}, /* samples */
        {24, UINT64_MAX, 8},
        {24, (UINT64_C(1) << 59) + 3, 8}, /* whose product with 32 is that of 3 */
        {32, 0, 8},                       /* bytes of names */
        {32, UINT64_MAX, 8},
        {40, 0, 8},          /* this file's size */
        {64, UINT32_MAX, 4}, /* bytes of texts */
        {64, 0, 4},
        {96, 1 << 20, 8}, /* the first sample's offset */
        {96, UINT64_MAX, 8},
        {96 + 8, UINT64_MAX, 8}, /* its size */
        {96 + 8, 1 << 20, 8},
        {96 + 16, UINT32_MAX, 4}, /* its name */
        {96 + 16, 24, 4},
        {96 + 28, 16, 4}, /* its flags */
    };
    const char *path = t_file("i");
    uint8_t bytes[2000];
    uint8_t changed[2000];
    tar_maker tar = {0};
    shard_index index;
    shard_index back = {0};
    size_t size;

    make_members(&tar);
    index = built(&tar, &shard_default_fields, false);
    T_EQ(index.names_size, 24);
    T_OK(shard_index_write(&index, &shard_default_fields, true, path));
    size = read_file_bytes(path, bytes, sizeof(bytes));
    for (uint64_t version = 0; version < 5; version++) {
        memcpy(changed, bytes, size);
        put_in_index(changed, size, 8, version, 4);
        t_write_file(path, changed, size);
        T_STATUS(shard_index_read(path, tar.size, &shard_default_fields, &back),
                 version == 2   ? SLUICE_OK
                 : version == 1 ? SLUICE_E_UNSUPPORTED
                                : SLUICE_E_CORRUPT);
        shard_index_free(&back);
    }
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        memcpy(changed, bytes, size);
        put_in_index(changed, size, lies[i].at, lies[i].number, lies[i].width);
        t_write_file(path, changed, size);
        T_STATUS(shard_index_read(path, tar.size, &shard_default_fields, &back), SLUICE_E_CORRUPT);
    }
    memcpy(changed, bytes, size);
    put_in_index(changed, size, size - 5, 'x', 1); /* the last name has no end */
    t_write_file(path, changed, size);
    T_STATUS(shard_index_read(path, tar.size, &shard_default_fields, &back), SLUICE_E_CORRUPT);
    put_in_index(bytes, size, 96 + 8, tar.size - index.samples[0].offset + 1, 8);
    t_write_file(path, bytes, size);
    T_STATUS(shard_index_read(path, tar.size, &shard_default_fields, &back), SLUICE_E_CORRUPT);
    put_in_index(bytes, size, 96 + 8, tar.size - index.samples[0].offset,
                 8); /* as far as it can reach */
    t_write_file(path, bytes, size);
    T_OK(shard_index_read(path, tar.size, &shard_default_fields, &back));
    shard_index_free(&back);
    shard_index_free(&index);
    tar_free(&tar);
}

const t_test shard_index_tests[] = {
    T_TEST(members_that_stand_together_are_a_sample),
    T_TEST(the_image_is_the_field_named_first),
    T_TEST(what_is_there_twice_is_marked),
    T_TEST(labels_are_whole_numbers),
    T_TEST(checksums_are_those_of_the_images),
    T_TEST(what_is_written_is_read_back),
    T_TEST(an_index_of_nothing_is_read_back),
    T_TEST(an_index_of_something_else_is_refused),
    T_TEST(an_index_that_lies_is_refused),
    T_END,
};
