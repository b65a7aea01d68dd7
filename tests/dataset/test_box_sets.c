/* SPDX-License-Identifier: Apache-2.0 */
/* The sources coco, yolo and voc: the same set gives the same batches, and memory may be missing.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

enum { SOURCES = 3, IMAGES = 2 };

/* A set of two images in all three formats: dog 2.5,1.875 to 20,15 and cat 0,0 to 40,30; none. */
static const char *all_formats(void)
{
    static const char *const folders[] = {"images",      "labels",    "JPEGImages",
                                          "Annotations", "ImageSets", "ImageSets/Main"};
    static const char *const images[] = {"images/a.ppm", "images/b.ppm", "JPEGImages/a.ppm",
                                         "JPEGImages/b.ppm"};
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        T_EQ(mkdir(t_path(folder, folders[i]), 0777), 0);
    }
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        write_pair(folder, images[i], "m.pgm");
    }
    write_list(folder, "c.json",
               "{\"images\":[{\"id\":0,\"file_name\":\"a.ppm\",\"width\":40,\"height\":30},"
               "{\"id\":1,\"file_name\":\"b.ppm\",\"width\":40,\"height\":30}],\"annotations\":["
               "{\"image_id\":0,\"category_id\":2,\"bbox\":[2.5,1.875,17.5,13.125]},"
               "{\"image_id\":0,\"category_id\":1,\"bbox\":[0,0,40,30]}],\"categories\":["
               "{\"id\":1,\"name\":\"cat\"},{\"id\":2,\"name\":\"dog\"}]}");
    write_list(folder, "classes.txt", "cat\ndog\n");
    write_list(folder, "labels/a.txt", "1 0.28125 0.28125 0.4375 0.4375\n0 .5 .5 1 1\n");
    write_list(folder, "labels/b.txt", "");
    write_list(folder, "ImageSets/Main/train.txt", "a\nb\n");
    write_list(folder, "Annotations/a.xml",
               "<annotation><object><name>dog</name><bndbox><xmin>3.5</xmin><ymin>2.875</ymin>"
               "<xmax>20</xmax><ymax>15</ymax></bndbox></object><object><name>cat</name><bndbox>"
               "<xmin>1</xmin><ymin>1</ymin><xmax>40</xmax><ymax>30</ymax></bndbox></object>"
               "</annotation>");
    write_list(folder, "Annotations/b.xml", "<annotation></annotation>");
    return folder;
}

/* The set by source `i`; NULL: not in this build. */
static sluice_dataset *open_format(int i, const char *folder, const char *stages)
{
    switch (i) {
#ifdef SLI_HAVE_JANSSON
    case 0:
        return parsedf("coco %s/c.json root=%s/images max_boxes=3 %s", folder, folder, stages);
#endif
    case 1:
        return parsedf("yolo %s max_boxes=3 %s", folder, stages);
#ifdef SLI_HAVE_EXPAT
    case 2:
        return parsedf("voc %s split=train max_boxes=3 %s", folder, stages);
#endif
    default:
        return NULL;
    }
}

/* Through random geometry, in several passes, by several workers. */
static void all_formats_give_the_same_batches(void)
{
    const char *folder = all_formats();
    uint8_t *want = NULL;
    size_t size = 0;

    for (int i = 0; i < SOURCES; i++) {
        sluice_dataset *dataset = open_format(
            i, folder, "| shuffle | decode | random_crop 20,24 | random_horizontal_flip | batch 2");
        tape got;

        if (dataset == NULL) {
            continue;
        }
        got = record(
            dataset,
            &(run_options){.workers = 1 + (uint32_t)i, .batches = 6, .settings = {.seed = 5}});
        sluice_dataset_destroy(dataset);
        if (want == NULL) {
            want = got.bytes;
            size = got.size;
            T_TRUE(size > 0);
            continue;
        }
        T_EQ(got.size, size);
        T_EQ(memcmp(got.bytes, want, size), 0);
        free(got.bytes);
    }
    free(want);
}

/* Each request of memory fails once: an error each time, and nothing is lost. */
static void memory_may_be_missing(void)
{
    const char *folder = all_formats();

    for (int i = 0; i < SOURCES; i++) {
        sluice_status st = SLUICE_E_NO_MEMORY;
        int64_t requests = 0;

        for (; st == SLUICE_E_NO_MEMORY && requests < 2000; requests++) {
            sluice_dataset *dataset = open_format(i, folder, "| decode | batch 1");
            char *text = NULL;

            if (dataset == NULL) {
                requests = 20;
                st = SLUICE_OK;
                break;
            }
            sli_alloc_fail_after(requests);
            st = sluice_dataset_explain(dataset, &text);
            sli_alloc_fail_after(-1);
            sluice_string_free(text);
            sluice_dataset_destroy(dataset);
        }
        T_OK(st);
        T_TRUE(requests >= 15);
    }
}

const t_test box_sets_tests[] = {
    T_TEST(all_formats_give_the_same_batches),
    T_TEST(memory_may_be_missing),
    T_END,
};
