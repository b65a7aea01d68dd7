/* SPDX-License-Identifier: Apache-2.0 */
/* What packs and conversions hold of each source is read back to the same batches, and to the same
 * columns. */
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "pack_kit.h"
#include "source_kit.h"
#include "source_sets.h"
#include "stage_table.h"
#include "testing.h"

#ifdef SLI_HAVE_JANSSON
enum { HAS_JANSSON = 1 };
#else
enum { HAS_JANSSON = 0 };
#endif
#ifdef SLI_HAVE_EXPAT
enum { HAS_EXPAT = 1 };
#else
enum { HAS_EXPAT = 0 };
#endif
#if defined(SLI_HAVE_SQLITE) && defined(SLI_HAVE_JANSSON)
enum { HAS_MINDRECORD = 1 };
#else
enum { HAS_MINDRECORD = 0 };
#endif

/* ---- comparison ------------------------------------------------------------------------------ */

/* Packs or converts `source`, and compares what it gives before `stages` with what the files give.
 */
static void check_written(const char *source, const char *stages, const char *format,
                          const char *folder)
{
    const char *reader = format != NULL ? format : "webdataset";
    const char *fields = strcmp(reader, "webdataset") == 0 ? " fields=auto" : "";
    sluice_dataset *dataset = parsed(source);
    sluice_pack_config config = config_of(dataset, folder);
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_dataset *read;
    tape want;
    tape got;

    config.format = format;
    T_OK(sluice_pack(&config, &stats));
    T_TRUE(stats.complete);
    T_EQ(stats.written, stats.samples);
    T_OK(sluice_pack(&config, &stats)); /* nothing is left to do */
    T_EQ(stats.resumed, stats.samples);
    read = parsedf("%s %s%s", reader, folder, fields);
    check_same_columns(dataset, read);
    sluice_dataset_destroy(dataset);
    sluice_dataset_destroy(read);
    want = record_own(parsedf("%s | %s", source, stages), &one_worker);
    got = record_own(parsedf("%s %s%s | %s", reader, folder, fields, stages), &one_worker);
    T_TRUE(want.batches > 0);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, source);
    free(want.bytes);
    free(got.bytes);
    T_EQ(problems_of(folder), 0);
}

/* refused: words of the error of a format that cannot keep a column. */
static void check_refused_format(const char *source, const char *format, const char *folder,
                                 const char *refused)
{
    sluice_dataset *dataset = parsed(source);
    sluice_pack_config config = config_of(dataset, folder);

    config.format = format;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), refused);
    sluice_dataset_destroy(dataset);
}

static bool has_image(const char *source)
{
    sluice_dataset *dataset = parsed(source);
    const bool has = dataset->schema.image >= 0;

    sluice_dataset_destroy(dataset);
    return has;
}

/* Packs and converts a source. `refused`: what the error of a format of records has; NULL: it keeps
 * all columns. */
static void check_round_trip(const char *source, const char *stages, const char *refused)
{
    static const char *const formats[] = {NULL, "webdataset", "tfrecord", "mindrecord"};
    const char *folder = t_folder();
    const char *written = folder_named(folder, "written");

    for (size_t i = 0; i < COUNT(formats); i++) {
        make_empty(written);
        if ((formats[i] == NULL && !has_image(source)) || !can_convert(formats[i])) {
            continue;
        }
        if (i < 2 || refused == NULL) {
            check_written(source, stages, formats[i], written);
        } else {
            check_refused_format(source, formats[i], written, refused);
        }
    }
}

/* ---- sources --------------------------------------------------------------------------------- */

/* A source; %s is its folder. */
typedef struct source_case {
    const char *source;
    const char *stages;
    void (*write)(const char *folder); /* NULL: it needs no files */
    const char *refused;               /* by formats of records; NULL: not */
    bool is_missing;                   /* the build does not have the source */
} source_case;

static const source_case lists[] = {
    {"image_list %s/list.tsv", "decode | batch 3", write_box_list, NULL, false},
    {"image_list %s/list.tsv",
     "decode | random_resized_crop 16 | random_horizontal_flip 0.5 | batch 2", write_box_list, NULL,
     false},
    {"image_list %s/list.tsv", "decode | batch 3", write_number_list, NULL, false},
    {"image_list %s/list.tsv", "decode | random_horizontal_flip 0.5 swap=none | batch 2",
     write_number_list, NULL, false},
    {"image_list %s/list.tsv", "decode | random_horizontal_flip 0.5 | batch 3", write_fraction_list,
     NULL, false},
    {"image_list %s/list.tsv", "batch 2", write_table, NULL, false},
    {"image_list %s/list.jsonl fields=image,k:class,w:f64,b:boxes[2]", "decode | batch 2",
     write_json_list, NULL, !HAS_JANSSON},
};

static const source_case folders[] = {
    {"image_folder %s", "decode | resize 20,20 | batch 4", write_class_folders, NULL, false},
    {"mnist %s", "batch 4", write_mnist_set, NULL, false},
    {"cifar10 %s", "batch 2", write_cifar10_set, NULL, false},
    {"cifar100 %s label=both", "batch 2", write_cifar100_set, NULL, false},
};

static const source_case box_sets[] = {
    {"coco %s/c.json masks=instance max_boxes=4", "decode | batch 2", write_coco_set, NULL,
     !HAS_JANSSON},
    {"coco %s/c.json masks=semantic", "decode | random_horizontal_flip 0.5 | batch 2",
     write_coco_set, NULL, !HAS_JANSSON},
    {"coco %s/c.json keypoints=3 max_boxes=4", "decode | random_horizontal_flip 0.5 | batch 2",
     write_coco_set, "cannot have the column keypoints: a flip exchanges", !HAS_JANSSON},
    {"coco %s/c.json keypoints=3 max_boxes=4 masks=instance",
     "decode | random_horizontal_flip 0.5 swap=none | batch 2", write_unnamed_coco_set, NULL,
     !HAS_JANSSON},
    {"yolo %s masks=instance", "decode | random_horizontal_flip 0.5 | batch 2", write_yolo_set,
     NULL, false},
    {"voc %s train", "decode | random_horizontal_flip 0.5 | batch 2", write_voc_set, NULL,
     !HAS_EXPAT},
};

static const source_case arrays[] = {
    {"npy %s ragged=r[3]", "batch 2", write_array_set, NULL, false},
    {"npy %s ragged=r[3] | column m role=mask", "random_horizontal_flip 0.5 | batch 2",
     write_array_set, NULL, false},
    {"tokens %s/t.bin seq=8", "batch 2", write_token_set, NULL, false},
    {"synthetic 5 6,7,3", "batch 2", NULL, NULL, false},
};

static const source_case records[] = {
    {"webdataset %s/made fields=auto", "decode | batch 3", write_tar_set, NULL, false},
    {"tfrecord %s/made", "decode | batch 3", write_tfrecord_set, NULL, false},
    {"mindrecord %s/made", "decode | batch 3", write_mindrecord_set, NULL, !HAS_MINDRECORD},
    {"recordio " SLUICE_TEST_DATA "/recordio/several.rec fields=label:label@f32[5],n:id@i64",
     "batch 2", NULL, NULL, false},
    {"lmdb " SLUICE_TEST_DATA "/lmdb/caffe", "batch 2", NULL, NULL, false},
};

static const source_case groups[] = {
    {"concat (synthetic 4 2,3,3) (synthetic 6 2,3,3)", "batch 3", NULL, NULL, false},
    {"mix (synthetic 6 2,3,3)", "batch 3", NULL, NULL,
     false}, /* of more, samples get new numbers */
    {"zip (synthetic 4 2,3,3 3) (synthetic 4 2,3,3 5 | project label | rename label y)", "batch 3",
     NULL, NULL, false},
};

static void check_cases(const source_case *cases, size_t count)
{
    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < count; i++) {
        const char *mark = strstr(cases[i].source, "%s");
        char folder[300];
        char source[600];

        snprintf(source, sizeof(source), "%s", cases[i].source);
        if (cases[i].is_missing) {
            continue;
        }
        if (mark != NULL) {
            snprintf(folder, sizeof(folder), "%s", t_folder());
            cases[i].write(folder);
            snprintf(source, sizeof(source), "%.*s%s%s", (int)(mark - cases[i].source),
                     cases[i].source, folder, mark + 2);
        }
        check_round_trip(source, cases[i].stages, cases[i].refused);
    }
}

static void lists_come_back(void)
{
    check_cases(lists, COUNT(lists));
}

static void images_with_labels_come_back(void)
{
    check_cases(folders, COUNT(folders));
}

static void boxes_and_masks_of_sets_come_back(void)
{
    check_cases(box_sets, COUNT(box_sets));
}

static void arrays_come_back(void)
{
    check_cases(arrays, COUNT(arrays));
}

static void records_come_back(void)
{
    check_cases(records, COUNT(records));
}

static void groups_come_back(void)
{
    check_cases(groups, COUNT(groups));
}

/* Finds whether a row is of the source of this name. */
static bool has_case(const source_case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(cases[i].source, name, strlen(name)) == 0 &&
            cases[i].source[strlen(name)] == ' ') {
            return true;
        }
    }
    return false;
}

/* A new source needs a row above. */
static void every_source_has_a_round_trip(void)
{
    for (const stage_def *const *def = stage_table; *def != NULL; def++) {
        const char *name = (*def)->name;

        if ((*def)->kind == STAGE_SOURCE &&
            !(has_case(lists, COUNT(lists), name) || has_case(folders, COUNT(folders), name) ||
              has_case(box_sets, COUNT(box_sets), name) || has_case(arrays, COUNT(arrays), name) ||
              has_case(records, COUNT(records), name) || has_case(groups, COUNT(groups), name))) {
            T_STR(name, "a source with a round trip");
        }
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The columns have the order of the names of their files. */
static void arrays_of_numbers_become_arrays(void)
{
    const char *folder = t_folder();
    const char *out = folder_named(folder, "out");
    sluice_pack_config config;
    sluice_dataset *dataset;
    tape want;
    tape got;

    T_NEEDS(can_pack(), "no libarchive");
    write_list(
        folder, "list.tsv",
        "a:f32\tb:i64[3]\tc:text[4]\tlabel\n0.5\t1,2\tab\t3\n-0\t\t\t4\n7\t1,2,3\tabcd\t5\n");
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, out);
    config.format = "npy";
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "npy has all samples in one file");
    config.shard_bytes = 0;
    T_OK(sluice_pack(&config, NULL));
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    want = record_own(parsedf("image_list %s/list.tsv | batch 2", folder), &one_worker);
    got = record_own(parsedf("npy %s ragged=b[3],c[4] | batch 2", out), &one_worker);
    check_equal_tapes(&got, &want, "npy");
    free(want.bytes);
    free(got.bytes);
    T_EQ(problems_of(out), 0);
    make_empty(out);
    write_mnist_set(folder);
    dataset = parsedf("mnist %s", folder);
    config = config_of(dataset, out);
    config.format = "npy";
    config.shard_bytes = 0;
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    want = record_own(parsedf("mnist %s | batch 2", folder), &one_worker);
    got = record_own(parsedf("npy %s | batch 2", out), &one_worker);
    check_equal_tapes(&got, &want, "npy of images");
    free(want.bytes);
    free(got.bytes);
    write_box_list(folder);
    make_empty(out);
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, out);
    config.format = "npy";
    config.shard_bytes = 0;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "npy cannot have the column image: it has files of images");
    sluice_dataset_destroy(dataset);
}

const t_test pack_roundtrips_tests[] = {
    T_TEST(lists_come_back),
    T_TEST(images_with_labels_come_back),
    T_TEST(boxes_and_masks_of_sets_come_back),
    T_TEST(arrays_come_back),
    T_TEST(records_come_back),
    T_TEST(groups_come_back),
    T_TEST(every_source_has_a_round_trip),
    T_TEST(arrays_of_numbers_become_arrays),
    T_END,
};
