/* SPDX-License-Identifier: Apache-2.0 */
/* Source tfrecord: columns of records, what it chooses by itself, and bad files. */
#include <stdlib.h>
#include <unistd.h>

#include "bytes_int.h"
#include "dataset_kit.h"
#include "format_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "pack_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "tfrecord_format.h"
#include "tfrecord_kit.h"

/* A row of every column. */
typedef struct record_row {
    uint8_t image[6];
    uint8_t seg[2];
    int32_t label;
    float v[3];
    int32_t v_length;
    uint8_t caption[8];
    int32_t caption_length;
} record_row;

static sluice_status get(sluice_dataset *dataset, uint64_t index, record_row *row)
{
    void *columns[] = {row->image,     row->seg,     &row->label,         row->v,
                       &row->v_length, row->caption, &row->caption_length};

    memset(row, 0xee, sizeof(*row));
    return sluice_dataset_get(dataset, 1, 0, index, columns, NULL);
}

static void check_row(const record_row *row, uint32_t n)
{
    const float v[] = {(float)n, 0.5F, -(float)n};

    for (uint32_t i = 0; i < 6; i++) {
        T_EQ(row->image[i], n + 1 + i);
    }
    T_TRUE(row->seg[0] == n + 1 && row->seg[1] == n + 2);
    T_EQ(row->label, 3 * n);
    T_EQ(row->v_length, n % 4);
    for (uint32_t i = 0; i < 3; i++) {
        T_TRUE(row->v[i] == (i < n % 4 ? v[i] : 0));
    }
    T_EQ(row->caption_length, n % 9);
    T_EQ(memcmp(row->caption, "abcdefgh", n % 9), 0);
}

static void note_problem(const sluice_pack_problem *problem, void *user)
{
    snprintf(user, 1000, "%s", problem->why);
}

static void values_of_records_are_columns(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    record_row row;

    tfrecord_write(folder, "0.tfrecord", 0, 5);
    tfrecord_write(folder, "1.tfrecord", 5, 7);
    dataset = parsedf("tfrecord %s " TFRECORD_ALL " | decode | batch 2", folder);
    for (uint32_t n = 0; n < 12; n++) {
        T_OK(get(dataset, n, &row));
        check_row(&row, n);
    }
    T_STR(name_of(dataset, 6), "1.tfrecord:1");
    sluice_dataset_destroy(dataset);
    dataset = parsedf("tfrecord %s/{0..1}.tfrecord " TFRECORD_ALL " | decode | batch 2", folder);
    T_OK(get(dataset, 11, &row));
    check_row(&row, 11);
    sluice_dataset_destroy(dataset);
}

static void batches_are_those_of_one_worker(void)
{
    const char *path = tfrecord_write(t_folder(), "a.tfrecord", 0, 12);

    check_three_workers(parsedf("tfrecord %s " TFRECORD_ALL
                                " cache=drop | shuffle | decode | random_horizontal_flip | batch 5",
                                path),
                        3);
}

/* Records of the sizes around those of the windows in which a file is scanned. */
static void records_of_any_size_are_found(void)
{
    static const size_t sizes[] = {0, 1, 70000, 3, 16384, 16300, 65536, 5, 200000, 9, 0};
    uint8_t *bytes = calloc(1, 200000);
    record_bytes file = {NULL, 0, 0};
    const char *path = t_path(t_folder(), "a.tfrecord");
    sluice_dataset *dataset;
    int32_t length;
    void *columns[] = {NULL, &length};

    T_TRUE(bytes != NULL);
    for (uint32_t i = 0; i < 110; i++) {
        record_maker maker = {.names = {.count = 0}};

        maker_bytes(&maker, "x", bytes, sizes[i % COUNT(sizes)]);
        maker_end(&maker, &file);
    }
    write_records(&file, path);
    dataset = parsedf("tfrecord %s fields=x:x@bytes[200000] | project x_length | batch 1", path);
    for (uint32_t i = 0; i < 110; i++) {
        columns[0] = &length;
        T_OK(sluice_dataset_get(dataset, 1, 0, i, columns, NULL));
        T_EQ(length, sizes[i % COUNT(sizes)]);
    }
    sluice_dataset_destroy(dataset);
    free(bytes);
}

static void columns_are_chosen_by_the_file(void)
{
    const char *path = tfrecord_write(t_folder(), "a.tfrecord", 0, 12);
    sluice_dataset *dataset;
    sluice_dataset_info info;

    kit_log_start(NULL, NULL);
    dataset = parsedf("tfrecord %s | decode | batch 2", path);
    T_CONTAINS(kit_log_stop(),
               "fields=label:image/class/label@i32,image:image/encoded@image,seg:seg@image,"
               "v:v@f32[16],text:text@text[16]");
    sluice_dataset_info_init(&info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.column_count, 7);
    T_STR(info.columns[0].name, "label");
    sluice_dataset_destroy(dataset);
}

static void fixed_numbers_are_chosen_with_a_shape(void)
{
    static const int64_t ints[] = {1, 2};
    const char *path = t_path(t_folder(), "a.tfrecord");
    record_bytes file = {NULL, 0, 0};
    sluice_dataset *dataset;
    sluice_dataset_info info;

    for (uint32_t i = 0; i < 3; i++) {
        record_maker maker = {.names = {.count = 0}};

        maker_numbers(&maker, "a/id", SLUICE_I64, ints, 1);
        maker_numbers(&maker, "b/id", SLUICE_I64, ints, 2);
        maker_bytes(&maker, "9 no name", "x", 1);
        maker_bytes(&maker, "raw", "\xff\0", 2);
        maker_end(&maker, &file);
    }
    write_records(&file, path);
    kit_log_start(NULL, NULL);
    dataset = parsedf("tfrecord %s | batch 1", path);
    T_CONTAINS(kit_log_stop(), "1 features are left out");
    sluice_dataset_info_init(&info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.column_count, 4);
    T_TRUE(info.columns[0].dtype == SLUICE_I64 && info.columns[0].rank == 0);
    T_STR(info.columns[1].name, "b_id");
    T_TRUE(info.columns[1].rank == 1 && info.columns[1].shape[0] == 2);
    T_TRUE(info.columns[2].dtype == SLUICE_U8 && info.columns[2].shape[0] == 16);
    sluice_dataset_destroy(dataset);
}

/* Files that TensorFlow has written (make_fixtures.py). */
static void files_of_tensorflow_are_read(void)
{
    sluice_dataset *dataset =
        parsed("tfrecord " SLUICE_TEST_DATA "/tfrecord/examples.tfrecord " TFRECORD_OF_TENSORFLOW
               " | decode | batch 6");
    uint8_t image[6];
    uint8_t caption[8];
    int32_t label;
    int32_t length;
    int32_t caption_length;
    int64_t big[3];
    int64_t steps[6];
    float w[2];
    float boxes[8];
    void *columns[] = {image, &label, w, big, boxes, &length, caption, &caption_length};
    void *of_steps[] = {steps, &length};

    for (uint32_t n = 0; n < 6; n++) {
        T_OK(sluice_dataset_get(dataset, 1, 0, n, columns, NULL));
        T_TRUE(image[0] == n && image[5] == n + 5 && label == (int32_t)n * 100);
        T_TRUE(w[0] == 0.5F * (float)n && w[1] == -(float)n);
        T_TRUE(big[0] == -1 && big[1] == INT64_MAX && big[2] == INT64_MIN);
        T_TRUE(length == (int32_t)n % 3 && boxes[2] == (length > 0 ? (float)(1 + n % 2) : 0));
        T_TRUE(caption_length == 8 && memcmp(caption, "na\xc3\xafve ", 7) == 0);
    }
    sluice_dataset_destroy(dataset);
    dataset = parsed("tfrecord " SLUICE_TEST_DATA
                     "/tfrecord/sequences.tfrecord fields=steps:steps@i64[6] | batch 4");
    T_OK(sluice_dataset_get(dataset, 1, 0, 3, of_steps, NULL));
    T_TRUE(length == 6 && steps[0] == 3 && steps[3] == 1 && steps[5] == 2);
    sluice_dataset_destroy(dataset);
}

static void a_name_that_no_record_has_is_an_error(void)
{
    const char *path = tfrecord_write(t_folder(), "a.tfrecord", 0, 3);

    check_source_fails("tfrecord", path, "fields=x:labels@i32", SLUICE_E_INVALID,
                       "the first 3 records have no value labels");
    check_source_fails("tfrecord", path, "fields=x:labels@i32[3]", SLUICE_E_INVALID,
                       "no value labels");
}

static void a_wrong_checksum_is_a_bad_sample(void)
{
    const char *path = tfrecord_write(t_folder(), "a.tfrecord", 0, 4);
    record_bytes first = {NULL, 0, 0};
    sluice_dataset *dataset;
    record_row row;
    char words[600];

    tfrecord_add(&first, 0);
    change_byte(path, (long)first.size + 30);
    dataset = parsedf("tfrecord %s " TFRECORD_ALL " | decode | batch 1", path);
    T_STATUS(get(dataset, 1, &row), SLUICE_E_CORRUPT);
    snprintf(words, sizeof(words), "record 1 of %s, at byte %zu: the checksum of its", path,
             first.size);
    T_CONTAINS(sluice_last_error(), words);
    T_OK(get(dataset, 2, &row));
    check_row(&row, 2);
    record_bytes_free(&first);
    sluice_dataset_destroy(dataset);
}

static void bad_files_are_errors_with_the_offset(void)
{
    const char *path = tfrecord_write(t_folder(), "a.tfrecord", 0, 3);
    record_bytes one = {NULL, 0, 0};
    uint8_t head[12];
    char words[80];
    size_t size;

    tfrecord_add(&one, 0);
    size = one.size;
    change_byte(path, (long)size + 3);
    snprintf(words, sizeof(words), "the length of the record at %zu is wrong", size);
    check_source_fails("tfrecord", path, TFRECORD_ALL " | decode", SLUICE_E_CORRUPT, words);
    T_EQ(truncate(path, (off_t)size + 7), 0);
    snprintf(words, sizeof(words), "it ends at %zu, within the head of the record at %zu", size + 7,
             size);
    check_source_fails("tfrecord", path, TFRECORD_ALL " | decode", SLUICE_E_CORRUPT, words);
    T_EQ(truncate(path, (off_t)size - 1), 0);
    check_source_fails("tfrecord", path, TFRECORD_ALL " | decode", SLUICE_E_CORRUPT,
                       "beyond the end of the file");
    sli_put_u64(head, UINT64_MAX);
    sli_put_u32(head + 8, tfrecord_crc(head, 8));
    t_write_file(path, head, sizeof(head));
    check_source_fails("tfrecord", path, TFRECORD_ALL " | decode", SLUICE_E_CORRUPT,
                       "18446744073709551615 bytes, beyond the end");
    t_write_file(path, "this is not a record at all", 27);
    check_source_fails("tfrecord", path, TFRECORD_ALL " | decode", SLUICE_E_CORRUPT,
                       "not a TFRecord file");
    t_write_file(path, "", 0);
    check_source_fails("tfrecord", path, TFRECORD_ALL " | decode", SLUICE_E_INVALID,
                       "there is no record in 1 files");
    record_bytes_free(&one);
}

static void numbers_out_of_range_are_bad_samples(void)
{
    const int64_t labels[] = {7, INT64_C(1) << 40};
    const char *path = t_path(t_folder(), "a.tfrecord");
    record_bytes file = {NULL, 0, 0};
    sluice_dataset *dataset;
    int32_t label = 0;
    void *columns[] = {&label};

    for (uint32_t i = 0; i < 2; i++) {
        record_maker maker = {.names = {.count = 0}};

        maker_numbers(&maker, "label", SLUICE_I64, &labels[i], 1);
        maker_end(&maker, &file);
    }
    write_records(&file, path);
    dataset = parsedf("tfrecord %s fields=label:label@i32 | batch 1", path);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(label, 7);
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "label (column label): number 1, 1099511627776, must be");
    sluice_dataset_destroy(dataset);
}

/* Pixels without a file around them, as the bytes of CIFAR are often kept. */
static void images_may_be_pixels(void)
{
    static const int64_t numbers[] = {1, 2, 3, 4};
    const char *path = t_path(t_folder(), "a.tfrecord");
    record_bytes file = {NULL, 0, 0};
    record_maker maker = {.names = {.count = 0}};
    sluice_dataset *dataset;
    uint8_t image[12];
    uint8_t mask[4];
    uint8_t right[12];
    void *columns[] = {image, mask, right};

    maker_bytes(&maker, "x", "abcdefghijkl", 12);
    maker_bytes(&maker, "y", "ABCDEFGHIJKL", 12);
    maker_numbers(&maker, "m", SLUICE_I64, numbers, 4);
    maker_end(&maker, &file);
    write_records(&file, path);
    dataset = parsedf("tfrecord %s fields=image:x@u8x2x2x3,m:m@maskx2x2,right:y@imagex2x2x3 | "
                      "random_horizontal_flip p=1 | batch 1",
                      path);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(memcmp(image, "defabcjklghi", 12), 0);
    T_EQ(memcmp(right, "DEFABCJKLGHI", 12), 0);
    T_EQ(memcmp(mask, "\2\1\4\3", 4), 0);
    sluice_dataset_destroy(dataset);
}

/* Also of formats that only some builds decode: decode then says what is missing. A pack does not
 * take them without the name of a file, and says what does. */
static void files_of_any_image_format_are_images(void)
{
    format_file image = format_file_read("jp2-gray", ".jp2");
    const char *path = t_path(t_folder(), "a.tfrecord");
    record_bytes file = {NULL, 0, 0};
    record_maker maker = {.names = {.count = 0}};
    sluice_dataset *dataset;
    sluice_pack_config config;
    char why[1000] = "";

    maker_bytes(&maker, "picture", image.bytes, image.size);
    maker_end(&maker, &file);
    write_records(&file, path);
    format_file_free(&image);
    kit_log_start(NULL, NULL);
    dataset = parsedf("tfrecord %s", path);
    T_CONTAINS(kit_log_stop(), "fields=image:picture@image;");
    if (can_pack()) {
        config = config_of(dataset, other_folder());
        config.problem = note_problem;
        config.user = why;
        T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
        T_CONTAINS(why, "it is a JPEG 2000 file, and may not be opened");
        T_CONTAINS(why, "`sluice pack` and `sluice convert` do not take it: convert it to PNG");
        T_STR(sluice_pack_fate_text(SLUICE_PACK_LEFT_NO_IMAGE),
              "left out: not an image that a pack takes");
    }
    sluice_dataset_destroy(dataset);
}

/* A record with more features than any table of columns. */
static void a_million_features_need_no_memory(void)
{
    const char *path = t_path(t_folder(), "a.tfrecord");
    enum { FEATURES = 1000000, ENTRY = 14 };
    uint8_t *data = malloc(TFRECORD_HEAD + 16 + (size_t)FEATURES * ENTRY + TFRECORD_TAIL);
    uint8_t *at = data + TFRECORD_HEAD;
    sluice_dataset *dataset;
    int32_t label = 0;
    void *columns[] = {&label};
    size_t size;

    T_TRUE(data != NULL);
    *at++ = 0x0a;
    size = (size_t)FEATURES * ENTRY;
    for (; size >= 128; size >>= 7) {
        *at++ = (uint8_t)(size | 128);
    }
    *at++ = (uint8_t)size;
    for (uint32_t i = 0; i < FEATURES; i++, at += ENTRY) { /* {1: name, 2: {3: {1: [7]}}} */
        memcpy(at, "\x0a\x0c\x0a\x03zzz\x12\x05\x1a\x03\x0a\x01\x07", ENTRY);
        at[4] = (uint8_t)('a' + i % 26);
        at[5] = (uint8_t)('a' + i / 26 % 26);
        at[6] = (uint8_t)('a' + i / 676 % 26);
    }
    size = (size_t)(at - data) - TFRECORD_HEAD;
    sli_put_u64(data, size);
    sli_put_u32(data + 8, tfrecord_crc(data, 8));
    sli_put_u32(at, tfrecord_crc(data + TFRECORD_HEAD, size));
    t_write_file(path, data, TFRECORD_HEAD + size + TFRECORD_TAIL);
    free(data);
    dataset = parsedf("tfrecord %s fields=label:xyz@i32 | batch 1", path);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(label, 7);
    sluice_dataset_destroy(dataset);
    kit_log_start(NULL, NULL);
    dataset = parsedf("tfrecord %s | batch 1", path);
    T_CONTAINS(kit_log_stop(), "features are left out");
    sluice_dataset_destroy(dataset);
}

const t_test source_tfrecord_tests[] = {
    T_TEST(values_of_records_are_columns),
    T_TEST(batches_are_those_of_one_worker),
    T_TEST(records_of_any_size_are_found),
    T_TEST(columns_are_chosen_by_the_file),
    T_TEST(fixed_numbers_are_chosen_with_a_shape),
    T_TEST(files_of_tensorflow_are_read),
    T_TEST(a_name_that_no_record_has_is_an_error),
    T_TEST(a_wrong_checksum_is_a_bad_sample),
    T_TEST(bad_files_are_errors_with_the_offset),
    T_TEST(numbers_out_of_range_are_bad_samples),
    T_TEST(images_may_be_pixels),
    T_TEST(files_of_any_image_format_are_images),
    T_TEST(a_million_features_need_no_memory),
    T_END,
};
