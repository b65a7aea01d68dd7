/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset_kit.h"

#include <stdarg.h>
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

sluice_dataset *parsedf(const char *format, ...)
{
    char text[8192];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    T_TRUE(length >= 0 && (size_t)length < sizeof(text));
    return parsed(text);
}

sluice_dataset *folder_dataset(const char *folder, const char *stages)
{
    return parsedf("image_folder %s | %s", folder, stages);
}

sluice_dataset *shards_dataset(const char *shards, const char *arguments)
{
    return parsedf("webdataset %s %s", shards, arguments);
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

void check_refused_stages(sluice_dataset *(*make)(void), const refused_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sluice_dataset *dataset = make();

        T_STATUS(sluice_dataset_add(dataset, cases[i].text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
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
