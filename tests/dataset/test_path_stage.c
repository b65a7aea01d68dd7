/* SPDX-License-Identifier: Apache-2.0 */
/* A path in place of a stage, or of another source: the message has the source that reads it. */
#include <sys/stat.h>

#include "dataset_kit.h"
#include "path_stage.h"
#include "testing.h"

static void make_file(const char *folder, const char *name)
{
    t_write_file(t_path(folder, name), "x", 1);
}

static void files_and_folders_have_their_source(void)
{
#if !defined(SLI_HAVE_PNG)
    T_SKIP("the library has no PNG");
#endif
    static const struct {
        const char *entry; /* of a folder of its own; a folder if it ends in / */
        const char *of_folder;
        const char *of_file;
    } known[] = {
        {"a.jpg", "image_list", NULL},
        {"a.PNG", "image_list", NULL},
        {"class/", "image_folder", NULL},
        {"a.tar", "webdataset", "webdataset"},
        {"a.tar.gz", NULL, "webdataset"},
        {"a.tfrecord", "tfrecord", "tfrecord"},
        {"a.npy", "npy", "npy"},
        {"a.npz", NULL, "npy"},
        {"a.tsv", NULL, "image_list"},
        {"a.csv", NULL, "image_list"},
        {"a.json", NULL, "coco"},
        {"data.yaml", "yolo", "yolo"},
        {"labels/", "image_folder", NULL}, /* a class, without the folder images */
        {"JPEGImages/", "voc", NULL},
        {"a.bin", "tokens", "tokens"},
        {"data_batch_1.bin", "cifar10", "tokens"},
        {"train-labels-idx1-ubyte.gz", "mnist", NULL},
        {".hidden.jpg", NULL, NULL},
        {"README", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *folder = t_folder();
        char path[500];
        size_t length;
        const char *stage;

        snprintf(path, sizeof(path), "%s/%s", folder, known[i].entry);
        length = strlen(path);
        if (path[length - 1] == '/') {
            path[length - 1] = '\0';
            T_EQ(mkdir(path, 0700), 0);
        } else {
            t_write_file(path, "x", 1);
        }
        stage = path_stage(folder);
        T_STR(stage != NULL ? stage : "", known[i].of_folder != NULL ? known[i].of_folder : "");
        stage = path_stage(path);
        T_STR(stage != NULL ? stage : "", known[i].of_file != NULL ? known[i].of_file : "");
    }
    CU_ASSERT_PTR_NULL(path_stage("/nonexistent"));
}

static void a_path_in_place_of_a_stage_is_named_so(void)
{
    const char *folder = t_folder();
    char text[800];
    char words[800];

    make_file(folder, "1.jpg");
    snprintf(text, sizeof(text), "%s | decode | batch 1", folder);
    snprintf(words, sizeof(words), "'%s' is a path, not a stage; `image_list %s` reads it", folder,
             folder);
    check_refused(text, words);
    check_refused("no/such/path | batch 1",
                  "no stage 'no/such/path', and no such file or folder; `sluice help stages`");
}

static void sources_name_the_one_that_reads_the_folder(void)
{
    const char *folder = t_folder();
    char text[800];
    sluice_dataset *dataset;
    char *explained = NULL;

    T_EQ(mkdir(t_path(folder, "a folder"), 0700), 0);
    make_file(t_path(folder, "a folder"), "1.jpg");
    snprintf(text, sizeof(text), "image_folder '%s/a folder' | decode | batch 1", folder);
    dataset = parsed(text);
    T_STATUS(sluice_dataset_explain(dataset, &explained), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "; `image_list '");
    T_CONTAINS(sluice_last_error(), "/a folder'` reads it");
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_list %s | decode | batch 1", folder);
    check_refused(text, "; `image_folder ");
    snprintf(text, sizeof(text), "npy '%s/a folder' | batch 1", folder);
    check_refused(text, "has no *.npy in it; `image_list '");
}

const t_test path_stage_tests[] = {
    T_TEST(files_and_folders_have_their_source),
    T_TEST(a_path_in_place_of_a_stage_is_named_so),
    T_TEST(sources_name_the_one_that_reads_the_folder),
    T_END,
};
