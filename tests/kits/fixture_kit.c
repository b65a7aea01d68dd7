/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list_kit.h"
#include "testing.h"

picture fixture_run(const char *stages, uint64_t seed)
{
    const run_options options = {.workers = 1, .settings.seed = seed};
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    const uint64_t *shape;
    char text[700];
    FILE *file;
    engine_run run;
    picture result;

    snprintf(text, sizeof(text), "%s/list.tsv", folder);
    file = fopen(text, "w");
    T_TRUE(file != NULL);
    fprintf(file, "image\n%s/torchvision/rgb-70x12.ppm\n", SLUICE_TEST_DATA);
    fclose(file);
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | %s | batch 1", folder, stages);
    T_OK(sluice_dataset_parse(text, &dataset));
    open_own(&run, dataset, &options);
    T_OK(next_batch(&run));
    shape = run.layout.columns[sli_layout_find(&run.layout, "image")].shape; /* (H, W, C) */
    result = picture_empty((uint32_t)shape[1], (uint32_t)shape[0], (uint32_t)shape[2]);
    memcpy(result.pixels, column_row(&run, "image", 0), picture_size(&result));
    close_run(&run);
    return result;
}

void fixture_check(const char *stages, const char *name, int tolerance)
{
    char file[100];
    picture got = fixture_run(stages, 1);
    picture want;

    snprintf(file, sizeof(file), "%s.ppm", name);
    want = picture_read("torchvision", file);
    T_EQ(got.width, want.width);
    T_EQ(got.height, want.height);
    for (size_t i = 0; i < picture_size(&want); i++) {
        T_NEAR(got.pixels[i], want.pixels[i], tolerance);
    }
    free(got.pixels);
    free(want.pixels);
}
