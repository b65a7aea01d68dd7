/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset_kit.h"

#include <stdlib.h>

#include "jpeg_maker.h"
#include "testing.h"

sluice_dataset *parsed(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st != SLUICE_OK) {
        T_FAIL_("'%.200s' cannot be parsed: %.900s", text, sluice_last_error());
    }
    return dataset;
}

sluice_dataset *folder_dataset(const char *folder, const char *stages)
{
    char text[1000];

    snprintf(text, sizeof(text), "image_folder %s | %s", folder, stages);
    return parsed(text);
}

const char *described(sluice_dataset *dataset)
{
    static char buffers[2][20000];
    static int next;
    char *buffer = buffers[next++ % 2];
    char *text = NULL;

    T_OK(sluice_dataset_describe(dataset, &text));
    T_TRUE(strlen(text) < sizeof(buffers[0]));
    snprintf(buffer, sizeof(buffers[0]), "%s", text);
    sluice_string_free(text);
    return buffer;
}

void check_refused(const char *text, const char *words)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(dataset);
    T_CONTAINS(sluice_last_error(), words);
}

void make_jpeg(const char *folder, const char *name, uint32_t width, uint32_t height, uint32_t seed)
{
    const jpeg_recipe recipe = {.width = width, .height = height, .seed = seed};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    T_TRUE(bytes != NULL);
    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}
