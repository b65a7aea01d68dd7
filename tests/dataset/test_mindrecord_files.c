/* SPDX-License-Identifier: Apache-2.0 */
/* MindRecord files that MindSpore has written, and damaged ones. */
#include <stdlib.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "mindrecord_kit.h"
#include "testing.h"

#ifdef SLI_HAVE_ZLIB
#include <zlib.h>
#endif

#ifdef SLI_HAVE_JANSSON

#define ALL "small large single double name data ints longs singles doubles"
enum { SMALL, LARGE, SINGLE, DOUBLE, NAME, DATA, INTS, LONGS, SINGLES, DOUBLES, COLUMNS };

static float single_at(const record_value *value, uint64_t i)
{
    float number;

    memcpy(&number, (const uint8_t *)value->data + 4 * i, 4);
    return number;
}

static double double_at(const record_value *value, uint64_t i)
{
    double number;

    memcpy(&number, (const uint8_t *)value->data + 8 * i, 8);
    return number;
}

static int64_t integer_at(const record_value *value, uint64_t i)
{
    const uint8_t *bytes = value->data;

    return value->dtype == SLUICE_I32 ? (int32_t)sli_get_u32(bytes + 4 * i)
                                      : (int64_t)sli_get_u64(bytes + 8 * i);
}

/* Checks one row of `types`: the same values as types_row() of make_fixtures.py. */
static void check_row(const record_value *values, int i)
{
    const int sign = i % 2 ? -1 : 1;
    const int64_t longs[] = {i - 2, 300 * i, -40000, 1LL << 40, -1, -(1LL << 62)};
    const float singles[] = {(float)i, (float)i / 2, (float)-i, 1e30F};
    char name[20];
    int64_t power = sign;

    T_EQ(integer_at(&values[SMALL], 0), sign * 70000 * i);
    T_EQ(integer_at(&values[LARGE], 0), sign * 5000000000LL * i);
    T_NEAR(single_at(&values[SINGLE], 0), i / 4.0 - 1, 0);
    T_NEAR(double_at(&values[DOUBLE], 0), i / 10.0, 0);
    T_EQ(values[NAME].kind, RECORD_TEXT);
    snprintf(name, sizeof(name), "row %d \xC3\xA9", i);
    T_EQ(values[NAME].size, strlen(name));
    T_EQ(memcmp(values[NAME].data, name, strlen(name)), 0);
    T_EQ(values[DATA].kind, RECORD_BYTES);
    T_EQ(values[DATA].size, i * 3 + 1);
    for (int k = 0; k < i * 3 + 1; k++) {
        T_EQ(((const uint8_t *)values[DATA].data)[k], (i * 7 + k) % 256);
    }
    T_EQ(values[INTS].count, 2 * i + 1);
    T_EQ(values[INTS].shape[0], 2 * i + 1);
    for (int k = 0; k < 2 * i + 1; k++, power *= 10) {
        T_EQ(integer_at(&values[INTS], (uint64_t)k), power);
    }
    T_EQ(values[LONGS].rank, 2);
    T_EQ(values[LONGS].shape[1], 3);
    for (int k = 0; k < 6; k++) {
        T_EQ(integer_at(&values[LONGS], (uint64_t)k), longs[k]);
    }
    for (int k = 0; k < 4; k++) {
        T_NEAR(single_at(&values[SINGLES], (uint64_t)k), singles[k], 0);
    }
    T_EQ(values[DOUBLES].shape[0], i + 1);
    T_EQ(values[DOUBLES].shape[1], 2);
    for (int k = 0; k < i + 1; k++) {
        T_NEAR(double_at(&values[DOUBLES], 2 * (uint64_t)k + 1), -k / 3.0, 0);
    }
}

static void every_type_is_read(void)
{
    mindrecord_file file;
    record_value values[COLUMNS];

    T_OK(mindrecord_file_open(mindrecord_fixture("types"), &file));
    T_EQ(file.index.count, 5);
    T_EQ(file.header.column_count, COLUMNS);
    T_EQ(file.header.blob_count, 5);
    T_STR(file.header.description, "made by make_fixtures.py");
    for (int i = 4; i >= 0; i--) {
        T_OK(mindrecord_file_read(&file, (uint64_t)i, ALL, values));
        check_row(values, i);
    }
    T_OK(mindrecord_file_read(&file, 0, "nothing small", values));
    T_EQ(values[0].kind, RECORD_MISSING);
    T_EQ(integer_at(&values[1], 0), 0);
    mindrecord_file_close(&file);
}

static void files_of_a_dataset_have_their_own_rows(void)
{
    mindrecord_file files[2];
    record_value values[2];
    uint64_t label = 0;

    T_OK(mindrecord_file_open(mindrecord_fixture("two0"), &files[0]));
    T_OK(mindrecord_file_open(mindrecord_fixture("two1"), &files[1]));
    T_EQ(files[0].index.count + files[1].index.count, 8);
    for (int k = 0; k < 2; k++) {
        T_EQ(files[k].header.file_count, 2);
        T_STR(files[k].header.files[1], "two1");
        for (uint64_t i = 0; i < files[k].index.count; i++, label++) {
            T_OK(mindrecord_file_read(&files[k], i, "label data", values));
            T_EQ(integer_at(&values[0], 0), label);
            T_EQ(values[1].size, label + 1);
            T_EQ(((const uint8_t *)values[1].data)[label], label);
        }
        mindrecord_file_close(&files[k]);
    }
}

#ifdef SLI_HAVE_ZLIB

static void rows_are_found_across_pages(void)
{
    enum { MOST = 1 << 20 };
    const char *path = t_file("pages");
    gzFile packed = gzopen(mindrecord_fixture("pages.gz"), "rb");
    char *bytes = malloc(MOST);
    mindrecord_file file;
    record_value values[3];
    size_t raw = 0;

    T_TRUE(packed != NULL && bytes != NULL);
    t_write_file(path, bytes, (size_t)gzread(packed, bytes, MOST));
    gzclose(packed);
    free(bytes);
    T_OK(mindrecord_file_open(path, &file));
    T_EQ(file.index.count, 80);
    for (size_t i = 0; i < file.header.page_count; i++) {
        raw += file.header.pages[i].is_raw && file.header.pages[i].size > 0;
    }
    T_TRUE(raw >= 2 && file.header.page_count - raw >= 3);
    for (uint64_t i = 0; i < file.index.count; i++) {
        T_OK(mindrecord_file_read(&file, i, "label text data", values));
        T_EQ(integer_at(&values[0], 0), i);
        T_EQ(values[1].size, i % 3 ? 1000 : 10);
        T_EQ(values[2].size, i % 5 ? 400 : 12000);
        T_EQ(((const uint8_t *)values[2].data)[0], i);
    }
    mindrecord_file_close(&file);
}

#endif

static void rows_may_lack_one_of_their_parts(void)
{
    mindrecord_file file;
    record_value values[2];

    T_OK(mindrecord_file_open(mindrecord_fixture("texts"), &file));
    T_EQ(file.header.blob_count, 0);
    T_EQ(file.index.count, 3);
    T_OK(mindrecord_file_read(&file, 2, "label text", values));
    T_EQ(integer_at(&values[0], 0), 2);
    T_EQ(memcmp(values[1].data, "text 2", 6), 0);
    mindrecord_file_close(&file);
    T_OK(mindrecord_file_open(mindrecord_fixture("plain"), &file));
    T_EQ(file.index.count, 3);
    T_OK(mindrecord_file_read(&file, 2, "data", values));
    T_EQ(values[0].size, 3);
    T_EQ(memcmp(values[0].data, "abc", 3), 0);
    mindrecord_file_close(&file);
}

/* ---- damage ---------------------------------------------------------------------------------- */

typedef struct copy {
    char *bytes;
    size_t size;
} copy;

static copy read_fixture(const char *name)
{
    FILE *file = fopen(mindrecord_fixture(name), "rb");
    copy copied = {malloc(1 << 17), 0};

    T_TRUE(file != NULL && copied.bytes != NULL);
    copied.size = fread(copied.bytes, 1, 1 << 17, file);
    fclose(file);
    return copied;
}

/* Opens the bytes as a file. */
static sluice_status open_bytes(const char *bytes, size_t size)
{
    static const char *path;
    mindrecord_file file;
    sluice_status st;

    path = path != NULL ? path : t_file("m");
    t_write_file(path, bytes, size);
    st = mindrecord_file_open(path, &file);
    if (st == SLUICE_OK) {
        mindrecord_file_close(&file);
    }
    return st;
}

/* Replaces a part of the header by one of the same length. */
static void replace(copy *copied, const char *from, const char *to)
{
    char *at = memmem(copied->bytes, copied->size, from, strlen(from));

    T_EQ(strlen(from), strlen(to));
    T_TRUE(at != NULL);
    memcpy(at, to, strlen(to));
}

static void other_files_are_refused_by_name(void)
{
    mindrecord_file file;

    T_STATUS(mindrecord_file_open(mindrecord_fixture("encrypted"), &file), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "encrypted");
    T_STATUS(open_bytes("SQLite format 3\0........................", 40), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "without .db");
    T_STATUS(open_bytes("", 0), SLUICE_E_CORRUPT);
    T_STATUS(open_bytes("0123456789", 10), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "not a MindRecord file");
    T_STATUS(open_bytes("\xFF\0\0\0\0\0\0\0{}", 10), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "truncated");
    T_STATUS(open_bytes("\x02\0\0\0\0\0\0\0{}", 10), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "there is no version");
}

static void headers_that_do_not_fit_are_refused(void)
{
    static const struct {
        const char *from;
        const char *to;
        sluice_status want;
        const char *words;
    } changes[] = {
        {"\"version\": \"3.0\"", "\"version\": \"4.0\"", SLUICE_E_UNSUPPORTED, "version 4.0"},
        {"\"RAW_DATA\"", "\"ROW_DATA\"", SLUICE_E_CORRUPT, "ROW_DATA"},
        {"\"end_row_id\": 3", "\"end_row_id\": 4", SLUICE_E_CORRUPT, "before its last row"},
        {"\"page_id\": 1", "\"page_id\": 2", SLUICE_E_CORRUPT, "number 1 in the list"},
        {"\"bytes\"", "\"bytez\"", SLUICE_E_UNSUPPORTED, "bytez"},
        {"\"blob_fields\": [\"data\"]", "\"blob_fields\": [      ]", SLUICE_E_CORRUPT, "lacks"},
        {"\"blob_fields\": [\"data\"]", "\"blob_fields\": [\"date\"]", SLUICE_E_CORRUPT, "date"},
        {"\"shard_addresses\": [\"plain\"]", "\"shard_addresses\": [\"p/ain\"]", SLUICE_E_CORRUPT,
         "p/ain"},
        {"\"shard_addresses\": [\"plain\"]", "\"shard_addresses\": [       ]", SLUICE_E_CORRUPT,
         "shard_addresses"},
        {"\"RAW_DATA\", \"page_type_id\": 0, \"row_group_ids\": [{\"id\": 0, \"offset\": 0}]",
         "\"RAW_DATA\", \"page_type_id\": 0, \"row_group_ids\": [{\"id\": 0, \"offset\": 9}]",
         SLUICE_E_CORRUPT, "is longer than the page 1"},
        {"\"RAW_DATA\", \"page_type_id\": 0, \"row_group_ids\": [{\"id\": 0",
         "\"RAW_DATA\", \"page_type_id\": 0, \"row_group_ids\": [{\"id\": 1", SLUICE_E_CORRUPT,
         "has no blob page"},
        {"\"header_size\": ", "\"header_size\":-", SLUICE_E_CORRUPT, "header_size"},
        {"{", "[", SLUICE_E_CORRUPT, "not a MindRecord file"},
    };

    for (size_t i = 0; i < COUNT(changes); i++) {
        copy copied = read_fixture("plain");

        replace(&copied, changes[i].from, changes[i].to);
        T_STATUS(open_bytes(copied.bytes, copied.size), changes[i].want);
        T_CONTAINS(sluice_last_error(), changes[i].words);
        free(copied.bytes);
    }
}

/* A header with this many columns, and no other member. */
static sluice_status open_columns(int count)
{
    const size_t most = 64 + 32 * (size_t)count;
    char *bytes = malloc(most);
    size_t size = 8;
    sluice_status st;

    T_TRUE(bytes != NULL);
    size += (size_t)snprintf(bytes + size, most - size, "{\"schema\":[{\"schema\":{");
    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(bytes + size, most - size, "%s\"c%d\":{\"type\":\"int32\"}",
                                 i > 0 ? "," : "", i);
    }
    size += (size_t)snprintf(bytes + size, most - size, "}}]}");
    sli_put_u64((uint8_t *)bytes, size - 8);
    st = open_bytes(bytes, size);
    free(bytes);
    return st;
}

static void too_many_columns_are_refused(void)
{
    T_STATUS(open_columns(0), SLUICE_E_CORRUPT);
    T_STATUS(open_columns(1024), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "there is no version");
    T_STATUS(open_columns(1025), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "1025 columns");
    T_STATUS(open_columns(1000000), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "more than 1 MiB");
}

/* A shorter file, and any other byte: an error or other values, and nothing beyond the bytes. */
static void damaged_files_never_crash(void)
{
    copy copied = read_fixture("plain");

    for (size_t size = 0; size < copied.size; size++) {
        T_STATUS(open_bytes(copied.bytes, size), SLUICE_E_CORRUPT);
    }
    for (size_t i = 0; i < copied.size; i++) {
        const char before = copied.bytes[i];

        copied.bytes[i] ^= 0x15;
        (void)open_bytes(copied.bytes, copied.size);
        copied.bytes[i] = before;
    }
    free(copied.bytes);
}

/* Rows that do not fit their columns are errors of these rows alone. */
static void values_that_do_not_fit_are_refused(void)
{
    static const struct {
        const char *columns;
        const char *from;
        const char *to;
        const char *words;
    } changes[] = {
        {"label", "\xA5label\x02", "\xA5label\xC3", "the column label"},
        {"text", "\xA6text 2",
         "\xC4\x05"
         "ext 2",
         "the column text"},
        {"label", "\xA5label\x02",
         "\xA5"
         "Label\xC1",
         "0xc1"},
    };

    for (size_t i = 0; i < COUNT(changes); i++) {
        const char *path = t_file("m");
        copy copied = read_fixture("texts");
        record_value values[2];
        mindrecord_file file;

        replace(&copied, changes[i].from, changes[i].to);
        t_write_file(path, copied.bytes, copied.size);
        T_OK(mindrecord_file_open(path, &file));
        T_OK(mindrecord_file_read(&file, 1, "label text", values));
        T_STATUS(mindrecord_file_read(&file, 2, changes[i].columns, values), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), changes[i].words);
        mindrecord_file_close(&file);
        free(copied.bytes);
    }
}

static void every_failure_of_memory_is_an_error(void)
{
    for (int64_t n = 0;; n += T_FAULT_STEP) {
        mindrecord_file file;
        record_value values[COLUMNS];
        sluice_status st;

        sli_alloc_fail_after(n);
        st = mindrecord_file_open(mindrecord_fixture("types"), &file);
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            T_TRUE(n > 5);
            T_OK(mindrecord_file_read(&file, 3, ALL, values));
            mindrecord_file_close(&file);
            return;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
}

#else

static void a_build_without_jansson_says_so(void)
{
    mindrecord_file file;

    T_STATUS(mindrecord_file_open(mindrecord_fixture("plain"), &file), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "jansson");
}

#endif

const t_test mindrecord_files_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(every_type_is_read),
    T_TEST(files_of_a_dataset_have_their_own_rows),
#ifdef SLI_HAVE_ZLIB
    T_TEST(rows_are_found_across_pages),
#endif
    T_TEST(rows_may_lack_one_of_their_parts),
    T_TEST(other_files_are_refused_by_name),
    T_TEST(headers_that_do_not_fit_are_refused),
    T_TEST(too_many_columns_are_refused),
    T_TEST(damaged_files_never_crash),
    T_TEST(values_that_do_not_fit_are_refused),
    T_TEST(every_failure_of_memory_is_an_error),
#else
    T_TEST(a_build_without_jansson_says_so),
#endif
    T_END,
};
