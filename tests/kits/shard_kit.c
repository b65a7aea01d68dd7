/* SPDX-License-Identifier: Apache-2.0 */
#include "shard_kit.h"

#include "crc32c_int.h"
#include "source_kit.h"
#include "testing.h"

void check_same_index(const shard_index *a, const shard_index *b)
{
    T_EQ(a->shard_size, b->shard_size);
    T_EQ(a->count, b->count);
    T_EQ(a->names_size, b->names_size);
    T_EQ(memcmp(a->samples, b->samples, a->count * sizeof(*a->samples)), 0);
    T_EQ(memcmp(a->names, b->names, a->names_size), 0);
    T_EQ(a->imageless, b->imageless);
    T_STR(a->first_imageless, b->first_imageless);
    T_EQ(a->passed_over, b->passed_over);
    T_EQ(a->has_more, b->has_more);
    T_EQ(a->lacks_end, b->lacks_end);
    T_STR(a->seen, b->seen);
}

void make_members(tar_maker *tar)
{
    tar_add_texts(tar, "a/1.jpg=one a/1.cls=-3 a/2.png=two a/3.txt=three");
    tar_add(tar, "a/link", '2', NULL, 0);
    tar_add_texts(tar, "a/4.ppm=four a/4.cls=x");
    tar_add_zeros(tar, 2);
    tar_add_text(tar, "behind.jpg", "");
}

size_t read_file_bytes(const char *path, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    T_TRUE(file != NULL);
    size = fread(bytes, 1, room, file);
    fclose(file);
    T_TRUE(size < room);
    return size;
}

void put_in_index(uint8_t *bytes, size_t size, size_t at, uint64_t number, size_t width)
{
    uint32_t crc;

    for (size_t i = 0; i < width; i++) {
        bytes[at + i] = (uint8_t)(number >> 8 * i);
    }
    crc = sli_crc32c(0, bytes, size - 4);
    for (size_t i = 0; i < 4; i++) {
        bytes[size - 4 + i] = (uint8_t)(crc >> 8 * i);
    }
}

void make_web_shard(const char *path, const char *name, int count)
{
    tar_maker tar = {0};

    for (int i = 0; i < count; i++) {
        char member[40];
        char text[40];

        snprintf(member, sizeof(member), "%03d.jpg", i);
        snprintf(text, sizeof(text), "%s-%d", name, i);
        tar_add_text(&tar, member, text);
        snprintf(member, sizeof(member), "%03d.cls", i);
        snprintf(text, sizeof(text), "%d", i);
        tar_add_text(&tar, member, text);
    }
    tar_write(&tar, path);
}

sluice_dataset *web_dataset(const char *text, const char *path)
{
    sluice_dataset *dataset = NULL;
    char filled[3000];
    size_t length = 0;

    for (; *text != '\0'; text++) {
        length += (size_t)snprintf(filled + length, sizeof(filled) - length, "%.*s%s", *text != '@',
                                   text, *text == '@' ? path : "");
    }
    T_OK(sluice_dataset_parse(filled, &dataset));
    return dataset;
}

sluice_dataset *open_web(const char *text, const char *path)
{
    sluice_dataset *dataset = web_dataset(text, path);

    T_OK(dataset_open(dataset));
    return dataset;
}

void check_web_fails(const char *text, const char *path, sluice_status want, const char *words)
{
    sluice_dataset *dataset = web_dataset(text, path);

    T_STATUS(dataset_open(dataset), want);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

void check_web_sample(const sluice_dataset *dataset, uint64_t index, const char *name,
                      const char *text, int32_t label)
{
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t got = -99;

    T_STR(name_of(dataset, index), name);
    T_OK(read_sample(dataset, index, &io, &got, &data));
    T_EQ(got, label);
    T_EQ(data.size, strlen(text));
    T_EQ(memcmp(data.bytes, text, data.size), 0);
    T_EQ(io.bytes_read, data.size);
    T_OK(read_sample(dataset, index, &io, NULL, &data));
    sample_io_free(&io);
}
