/* SPDX-License-Identifier: Apache-2.0 */
#include "tfrecord_kit.h"

#include <stdio.h>

#include "testing.h"

void tfrecord_add(record_bytes *file, uint32_t n)
{
    const int64_t label = (int64_t)n * 3;
    const float v[] = {(float)n, 0.5F, -(float)n};
    record_maker maker = {.names = {.count = 0}};
    char image[40];
    char seg[40];

    snprintf(image, sizeof(image), "P6 2 1 255\n%c%c%c%c%c%c", (int)n + 1, (int)n + 2, (int)n + 3,
             (int)n + 4, (int)n + 5, (int)n + 6);
    snprintf(seg, sizeof(seg), "P5 2 1 255\n%c%c", (int)n + 1, (int)n + 2);
    maker_numbers(&maker, "image/class/label", SLUICE_I64, &label, 1);
    maker_bytes(&maker, "image/encoded", image, 17);
    maker_bytes(&maker, "seg", seg, 13);
    maker_numbers(&maker, "v", SLUICE_F32, v, n % 4);
    maker_bytes(&maker, "text", "abcdefgh", n % 9);
    maker_end(&maker, file);
}

const char *tfrecord_write(const char *folder, const char *name, uint32_t first, uint32_t count)
{
    static char path[500];
    record_bytes file = {NULL, 0, 0};

    for (uint32_t i = 0; i < count; i++) {
        tfrecord_add(&file, first + i);
    }
    snprintf(path, sizeof(path), "%s", t_path(folder, name));
    write_records(&file, path);
    return path;
}

void change_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    T_TRUE(file != NULL && fseek(file, at, SEEK_SET) == 0);
    byte = fgetc(file);
    T_TRUE(fseek(file, at, SEEK_SET) == 0 && fputc(byte ^ 4, file) != EOF && fclose(file) == 0);
}
