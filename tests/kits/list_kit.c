/* SPDX-License-Identifier: Apache-2.0 */
#include "list_kit.h"

#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "testing.h"

uint8_t class_of(uint32_t x, uint32_t y)
{
    return (uint8_t)(x * 7 + y * 13 + 1);
}

void write_pair(const char *folder, const char *image, const char *mask)
{
    uint8_t bytes[20 + LIST_WIDTH * LIST_HEIGHT * 3];
    size_t at = (size_t)snprintf((char *)bytes, 20, "P6 %d %d 255\n", LIST_WIDTH, LIST_HEIGHT);

    for (uint32_t i = 0; i < LIST_WIDTH * LIST_HEIGHT; i++) {
        bytes[at++] = (uint8_t)(i % LIST_WIDTH);
        bytes[at++] = (uint8_t)(i / LIST_WIDTH);
        bytes[at++] = 200;
    }
    t_write_file(t_path(folder, image), bytes, at);
    at = (size_t)snprintf((char *)bytes, 20, "P5 %d %d 255\n", LIST_WIDTH, LIST_HEIGHT);
    for (uint32_t i = 0; i < LIST_WIDTH * LIST_HEIGHT; i++) {
        bytes[at++] = class_of(i % LIST_WIDTH, i / LIST_WIDTH);
    }
    t_write_file(t_path(folder, mask), bytes, at);
}

void write_list(const char *folder, const char *name, const char *text)
{
    t_write_file(t_path(folder, name), text, strlen(text));
}

sluice_dataset *list_dataset(const char *folder, const char *list, const char *stages)
{
    char text[800];

    write_list(folder, "list.tsv", list);
    snprintf(text, sizeof(text), "image_list %s/list.tsv %s", folder, stages);
    return parsed(text);
}

sluice_status list_row(const char *folder, const char *file, const char *stages, void *row)
{
    char list[100];
    sluice_dataset *dataset;
    sluice_status st;

    snprintf(list, sizeof(list), "image\tlabel\n%s\t0\n", file);
    dataset = list_dataset(folder, list, stages);
    st = sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){row, NULL}, NULL);
    sluice_dataset_destroy(dataset);
    return st;
}

sluice_dataset *decoded_list(void)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    return list_dataset(folder, LIST_OF_BOXES, "| decode");
}

void open_list(engine_run *run, const char *list, const char *first, const char *stages,
               uint64_t seed)
{
    const char *folder = t_folder();
    char text[600];

    write_pair(folder, "a.ppm", "m.pgm");
    snprintf(text, sizeof(text), "| %s | %s | batch 1", first, stages);
    open_own(run, list_dataset(folder, list, text),
             &(run_options){.device = devices[seed % 2], .settings = {.seed = seed}});
    T_OK(next_batch(run));
}

const void *column_row(const engine_run *run, const char *name, uint32_t row)
{
    const int column = sli_layout_find(&run->layout, name);

    T_TRUE(column >= 0);
    return row_of(run, (uint32_t)column, row);
}
