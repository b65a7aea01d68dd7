/* SPDX-License-Identifier: Apache-2.0 */
/* A machine without file descriptors ends a run, whichever file of a sample cannot be opened. */
#include <stdio.h>

#include "dataset_kit.h"
#include "descriptor_int.h"
#include "engine_kit.h"
#include "fault_kit.h"
#include "record_kit.h"
#include "testing.h"

/* Runs a pipeline with on_error=replace, and takes all file descriptors away. That must end the
 * run: samples that cannot be read for this reason are not bad, and must not be replaced. */
static void check_ends(const char *pipeline)
{
    const run_options options = {
        .workers = 1, .settings = {.on_error = SLI_ON_ERROR_REPLACE}, .batches = UINT64_MAX};
    sluice_status st = SLUICE_OK;
    sli_engine_errors errors;
    engine_run run;

    open_own(&run, parsed(pipeline), &options);
    T_OK(next_batch(&run));
    fault_pauses_begin();
    for (int i = 0; st == SLUICE_OK && i < 100; i++) {
        sli_held_files_drop();
        fault_take_descriptors(); /* again, as readahead may have had one */
        st = next_batch(&run);
    }
    fault_pauses_end();
    T_STATUS(st, SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "Too many open files");
    sli_engine_errors_get(run.engine, &errors);
    T_TRUE(errors.count <= 1); /* that which has ended the run */
    close_run(&run);
}

/* Writes images, and a list that has each of them in two columns. */
static const char *write_list(const char *header)
{
    static char path[400];
    const char *folder = t_folder();
    sluice_dataset *images = jpeg_dataset(folder, "decode | resize 8,8 | batch 1");
    FILE *file;

    sluice_dataset_destroy(images);
    snprintf(path, sizeof(path), "%s/list.tsv", folder);
    file = fopen(path, "w");
    T_TRUE(file != NULL);
    fprintf(file, "%s\n", header);
    for (unsigned i = 0; i < 20; i++) {
        fprintf(file, "class_%u/%02u.jpg\tclass_%u/%02u.jpg\n", i % 3, i, i % 3, i);
    }
    fclose(file);
    return path;
}

static void images_of_folders_and_lists(void)
{
    char pipeline[600];
    const char *folder = t_folder();

    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 1"));
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | resize 8,8 | batch 4", folder);
    check_ends(pipeline);
    snprintf(pipeline, sizeof(pipeline), "image_list %s | decode | resize 8,8 | batch 4",
             write_list("image\tsecond:image"));
    check_ends(pipeline);
}

/* Shards are opened again after their descriptors were dropped. */
static void shards_of_records(void)
{
    record_bytes file = {NULL, 0, 0};
    char path[400];
    char pipeline[600];

    for (int32_t i = 0; i < 20; i++) {
        record_maker maker = {.names = {.count = 0}};

        maker_numbers(&maker, "label", SLUICE_I32, &i, 1);
        maker_end(&maker, &file);
    }
    snprintf(path, sizeof(path), "%s", t_path(t_folder(), "a.tfrecord"));
    write_records(&file, path);
    snprintf(pipeline, sizeof(pipeline), "tfrecord %s fields=label:label@i32 | batch 4", path);
    check_ends(pipeline);
}

const t_test read_faults_tests[] = {
    T_TEST(shards_of_records),
    T_TEST(images_of_folders_and_lists),
    T_END,
};
