/* SPDX-License-Identifier: Apache-2.0 */
/* Source mindrecord: columns of files that MindSpore and Sluice have written, datasets of several
 * files, and bad files. */
#include <fcntl.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "log_kit.h"
#include "mindrecord_kit.h"
#include "mindrecord_writer.h"
#include "source_kit.h"
#include "testing.h"

#ifdef SLI_HAVE_JANSSON

static void values_of_rows_are_columns(void)
{
    sluice_dataset *dataset =
        parsedf("mindrecord %s fields=s:small@i32,d:double@f64,n:name@text[16],i:ints@i64[9],"
                "l:longs@i64x2x3,p:doubles@f32[5]x2 | batch 2",
                mindrecord_fixture("types"));

    for (int i = 0; i < 5; i++) {
        int32_t small = 0;
        double real = 0;
        char name[16];
        int32_t name_length = 0;
        int64_t ints[9];
        int32_t ints_length = 0;
        int64_t longs[6];
        float points[10];
        int32_t points_length = 0;
        void *columns[] = {&small,       &real, name,   &name_length,  ints,
                           &ints_length, longs, points, &points_length};

        T_OK(sluice_dataset_get(dataset, 1, 0, (uint64_t)i, columns, NULL));
        T_EQ(small, (i % 2 ? -1 : 1) * 70000 * i);
        T_NEAR(real, i / 10.0, 0);
        T_EQ(name_length, 8);
        T_EQ(memcmp(name, "row ", 4), 0);
        T_EQ(ints_length, 2 * i + 1);
        T_EQ(ints[2 * i], (i % 2 ? -1 : 1) * (int64_t)pow(10, 2 * i));
        T_EQ(longs[3], 1LL << 40);
        T_EQ(points_length, i + 1);
        T_NEAR(points[2 * i + 1], (float)(-i / 3.0), 0);
    }
    T_STR(name_of(dataset, 3), "types:3");
    sluice_dataset_destroy(dataset);
}

static void columns_are_chosen_by_the_schema(void)
{
    sluice_dataset *dataset;

    kit_log_start(NULL, NULL);
    sluice_log_set_level(SLUICE_LOG_INFO);
    dataset = parsedf("mindrecord %s | batch 2", mindrecord_fixture("types"));
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_CONTAINS(kit_log_stop(),
               "fields=data:data@bytes[32],double:double@f64,doubles:doubles@f64[16]x2,"
               "ints:ints@i32[32],large:large@i64,longs:longs@i64x2x3,name:name@text[16],"
               "single:single@f32,singles:singles@f32x4,small:small@i32");
    sluice_dataset_destroy(dataset);
}

static void copy_fixture(const char *name, const char *folder)
{
    char bytes[1 << 16];
    FILE *file = fopen(mindrecord_fixture(name), "rb");
    size_t size;

    T_TRUE(file != NULL);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    t_write_file(t_path(folder, name), bytes, size);
}

static void a_file_stands_for_its_dataset(void)
{
    static const char *const files[] = {"two0", "two1", "two?"};
    const char *folder = t_folder();

    copy_fixture("two0", folder);
    copy_fixture("two1", folder);
    for (size_t i = 0; i <= COUNT(files); i++) {
        sluice_dataset *dataset =
            i < COUNT(files)
                ? parsedf("mindrecord \"%s/%s\" fields=label:label@i32 | batch 8", folder, files[i])
                : parsedf("mindrecord %s/two1,%s/./two0 fields=label:label@i32 | batch 8", folder,
                          folder);

        for (int n = 0; n < 8; n++) {
            int32_t label = -1;
            void *columns[] = {&label};

            T_OK(sluice_dataset_get(dataset, 1, 0, (uint64_t)n, columns, NULL));
            T_EQ(label, n);
        }
        sluice_dataset_destroy(dataset);
    }
}

static void a_missing_file_is_named(void)
{
    const char *folder = t_folder();

    check_source_fails("mindrecord", t_path(folder, "two0"), "", SLUICE_E_IO,
                       "two0: No such file or directory");
    T_CONTAINS(sluice_last_error(), "cannot open the file ");
    copy_fixture("two0", folder);
    check_source_fails("mindrecord", t_path(folder, "two0"), "", SLUICE_E_IO,
                       "/two1 of its dataset");
    copy_fixture("two1", folder);
    T_EQ(rename(t_path(folder, "two1"), t_path(folder, "other")), 0);
    copy_fixture("two1", folder);
    check_source_fails("mindrecord", t_path(folder, "other"), "", SLUICE_E_CORRUPT,
                       "must be one of those of its dataset");
    /* A file alone may have any name. */
    copy_fixture("texts", folder);
    T_EQ(rename(t_path(folder, "texts"), t_path(folder, "renamed.mindrecord")), 0);
    sluice_dataset_destroy(parsedf("mindrecord %s fields=label:label@i32 | batch 1", folder));
}

static void files_of_another_schema_are_refused(void)
{
    char files[2000];

    snprintf(files, sizeof(files), "%s", mindrecord_fixture("texts"));
    snprintf(files + strlen(files), 1000, ",%s", mindrecord_fixture("plain"));
    check_source_fails("mindrecord", files, "fields=data:data@bytes[9]", SLUICE_E_INVALID,
                       "the column label differs");
    snprintf(files, sizeof(files), "%s", mindrecord_fixture("plain"));
    snprintf(files + strlen(files), 1000, ",%s", mindrecord_fixture("two0"));
    check_source_fails("mindrecord", files, "fields=data:data@bytes[9]", SLUICE_E_INVALID,
                       "the column label differs");
}

static void bad_files_and_fields_are_refused(void)
{
    check_source_fails("mindrecord", mindrecord_fixture("encrypted"), "", SLUICE_E_UNSUPPORTED,
                       "encrypted");
    check_source_fails("mindrecord", mindrecord_fixture("make_fixtures.py"), "", SLUICE_E_CORRUPT,
                       "not a MindRecord file");
    check_source_fails("mindrecord", mindrecord_fixture("texts"), "fields=a:none@i32",
                       SLUICE_E_INVALID, "have no value none");
}

#ifdef SLI_HAVE_SQLITE

enum { ROWS = 7 };

/* Row n has the image and mask of 2 pixels n, n % 3 boxes and a label. */
static void write_rows(const char *path)
{
    static const char *const names[] = {"x.mindrecord"};
    static const mindrecord_field fields[] = {
        {"label", RECORD_NUMBERS, SLUICE_U8, 0, {0}},
        {"image", RECORD_BYTES, SLUICE_ENCODED, 0, {0}},
        {"seg", RECORD_BYTES, SLUICE_ENCODED, 0, {0}},
        {"boxes", RECORD_NUMBERS, SLUICE_F32, 2, {0, 4}},
    };
    const mindrecord_schema schema = {
        fields, 4,
        MINDRECORD_FIELDS "image:image@image,seg:seg@mask,label:label@u8,boxes:boxes@boxes[2]",
        1 << 14, 1 << 15};
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    mindrecord_writer *writer = NULL;
    char index[1000];

    snprintf(index, sizeof(index), "%s.db", path);
    T_OK(mindrecord_writer_begin(&schema, fd, names[0], index, &writer));
    for (int n = 0; n < ROWS; n++) {
        static const float boxes[] = {0, 0, 1, 1, 0, 0, 2, 1};
        const uint8_t label = (uint8_t)(n + 200);
        char image[40];
        char seg[40];
        const record_value values[] = {
            {.kind = RECORD_NUMBERS, .dtype = SLUICE_U8, .count = 1, .data = &label, .size = 1},
            {.kind = RECORD_BYTES, .count = 1, .data = image, .size = 17},
            {.kind = RECORD_BYTES, .count = 1, .data = seg, .size = 13},
            {RECORD_NUMBERS,
             SLUICE_F32,
             4 * (uint64_t)(n % 3),
             boxes,
             16 * (size_t)(n % 3),
             2,
             {(uint64_t)(n % 3), 4}},
        };

        snprintf(image, sizeof(image), "P6 2 1 255\n%c%c%c%c%c%c", n + 1, n + 1, n + 1, n + 1,
                 n + 1, n + 1);
        snprintf(seg, sizeof(seg), "P5 2 1 255\n%c%c", n + 1, n + 1);
        T_OK(mindrecord_writer_add(writer, values));
    }
    T_OK(mindrecord_writer_finish(writer, names, 1, 0));
    mindrecord_writer_close(writer);
    close(fd);
}

static void files_of_sluice_say_what_their_columns_are(void)
{
    const char *path = t_path(t_folder(), "x.mindrecord");
    sluice_dataset *dataset;

    write_rows(path);
    dataset = parsedf("mindrecord %s | decode | batch 1", path);
    for (int n = 0; n < ROWS; n++) {
        uint8_t image[6];
        uint8_t seg[2];
        uint8_t label = 0;
        float boxes[8];
        int32_t length = -1;
        void *columns[] = {image, seg, &label, boxes, &length};

        T_OK(sluice_dataset_get(dataset, 1, 0, (uint64_t)n, columns, NULL));
        T_EQ(label, n + 200);
        T_EQ(length, n % 3);
        T_EQ(image[5], n + 1);
        T_EQ(seg[1], n + 1);
        T_NEAR(boxes[6], n % 3 == 2 ? 2 : 0, 0);
    }
    sluice_dataset_destroy(dataset);
}

static void batches_are_those_of_one_worker(void)
{
    const char *path = t_path(t_folder(), "x.mindrecord");

    write_rows(path);
    check_three_workers(
        parsedf("mindrecord %s | shuffle | decode | random_horizontal_flip | batch 3", path), 3);
}

#endif

#else

static void a_build_without_jansson_says_so(void)
{
    check_source_fails("mindrecord", mindrecord_fixture("texts"), "", SLUICE_E_UNSUPPORTED,
                       "jansson");
}

#endif

const t_test source_mindrecord_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(values_of_rows_are_columns),
    T_TEST(columns_are_chosen_by_the_schema),
    T_TEST(a_file_stands_for_its_dataset),
    T_TEST(a_missing_file_is_named),
    T_TEST(files_of_another_schema_are_refused),
    T_TEST(bad_files_and_fields_are_refused),
#ifdef SLI_HAVE_SQLITE
    T_TEST(files_of_sluice_say_what_their_columns_are),
    T_TEST(batches_are_those_of_one_worker),
#endif
#else
    T_TEST(a_build_without_jansson_says_so),
#endif
    T_END,
};
