/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

const char *mindrecord_fixture(const char *name)
{
    static char path[1024];

    snprintf(path, sizeof(path), "%s/mindrecord/%s", SLUICE_TEST_DATA, name);
    return path;
}

sluice_status mindrecord_file_open(const char *path, mindrecord_file *file)
{
    sluice_status st;

    memset(file, 0, sizeof(*file));
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    T_TRUE(file->fd >= 0);
    file->size = (uint64_t)lseek(file->fd, 0, SEEK_END);
    file->index.per_record = MINDRECORD_RANGES;
    st = mindrecord_header_read(file->fd, file->size, &file->header);
    if (st == SLUICE_OK) {
        st = mindrecord_scan(file->fd, &file->header, &file->index);
    }
    if (st != SLUICE_OK) {
        mindrecord_file_close(file);
    }
    return st;
}

void mindrecord_file_close(mindrecord_file *file)
{
    close(file->fd);
    mindrecord_header_free(&file->header);
    record_index_free(&file->index);
    image_buffer_free(&file->bytes);
    image_buffer_free(&file->scratch);
}

sluice_status mindrecord_file_read(mindrecord_file *file, uint64_t row, const char *columns,
                                   record_value *values)
{
    const record_range *ranges = &file->index.ranges[row * MINDRECORD_RANGES];
    const size_t raw = (size_t)ranges[MINDRECORD_RAW].size;
    const size_t blob = (size_t)ranges[MINDRECORD_BLOB].size;
    record_part parts[MINDRECORD_RANGES];
    record_names wanted = {0};
    char words[512];
    char *rest = NULL;

    snprintf(words, sizeof(words), "%s", columns);
    for (char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        wanted.names[wanted.count++] = word;
    }
    T_OK(image_buffer_reserve(&file->bytes, raw + blob + 1));
    T_EQ(pread(file->fd, file->bytes.data, raw, (off_t)ranges[MINDRECORD_RAW].offset), raw);
    T_EQ(pread(file->fd, file->bytes.data + raw, blob, (off_t)ranges[MINDRECORD_BLOB].offset),
         blob);
    parts[MINDRECORD_RAW] = (record_part){file->bytes.data, raw};
    parts[MINDRECORD_BLOB] = (record_part){file->bytes.data + raw, blob};
    return mindrecord_parse(&file->header, parts, &wanted, &file->scratch, values);
}
