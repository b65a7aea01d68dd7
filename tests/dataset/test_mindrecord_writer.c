/* SPDX-License-Identifier: Apache-2.0 */
/* MindRecord files that Sluice writes: read back, the index, and columns that cannot be kept. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "mindrecord_kit.h"
#include "mindrecord_writer.h"
#include "testing.h"

#if defined(SLI_HAVE_SQLITE) && defined(SLI_HAVE_JANSSON)
#include <sqlite3.h>

static const char *const own_name[] = {"x"};

/* Begins a file in a new folder, whose paths are written to `path` and `index`. */
static sluice_status begin(const mindrecord_schema *schema, char *path, char *index, int *fd_out,
                           mindrecord_writer **writer_out)
{
    const char *folder = t_folder();

    snprintf(path, 1000, "%s/x", folder);
    snprintf(index, 1000, "%s/x.db", folder);
    *fd_out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    T_TRUE(*fd_out >= 0);
    return mindrecord_writer_begin(schema, *fd_out, "x", index, writer_out);
}

static void finish(mindrecord_writer *writer, int fd)
{
    T_OK(mindrecord_writer_finish(writer, own_name, 1, 0));
    mindrecord_writer_close(writer);
    close(fd);
}

/* ---- every type ------------------------------------------------------------------------------ */

enum { ROWS = 5 };

/* A column, and the bytes of its elements: those of row i begin at element i. */
typedef struct column_case {
    mindrecord_field field;
    const void *elements;
    uint64_t per_row; /* 0: a single element; else elements of an array, i more in row i if it
                         varies */
    mindrecord_type type;
} column_case;

static const uint8_t u8s[] = {0, 1, 127, 128, 255, 7, 9, 200, 3, 4, 5, 6, 7};
static const int8_t i8s[] = {0, -1, 127, -128, 5, 7, 8, 9, 10, 11, 12, 13, 14};
static const uint16_t u16s[] = {0, 1, 32767, 32768, 65535, 7, 8, 9, 10, 11, 12, 13, 14};
static const int16_t i16s[] = {0, -1, 32767, -32768, 5, 7, 8, 9, 10, 11, 12, 13, 14};
static const uint32_t u32s[] = {0, 1, 1U << 31, UINT32_MAX, 5, 7, 8, 9, 10, 11, 12, 13, 14};
static const int32_t i32s[] = {0, -1, INT32_MAX, INT32_MIN, 5, 7, 8, 9, 10, 11, 12, 13, 14};
static const int64_t i64s[] = {0, -1, INT64_MAX, INT64_MIN, 5, 7, 8, 9, 10, 11, 12, 13, 14};
static const float f32s[] = {0, -0.0F, 1e-45F, INFINITY, NAN, 7, 8, 9, 10, 11, 12, 13, 14};
static const double f64s[] = {0,  -0.0, 5e-324, (double)-INFINITY, (double)NAN, 7, 8, 9, 10, 11,
                              12, 13,   14};

#define ONE(name, dtype, elements, type)                                                           \
    {                                                                                              \
        {name, RECORD_NUMBERS, dtype, 0, {0}}, elements, 0, type                                   \
    }
#define MORE(name, dtype, elements, type)                                                          \
    {                                                                                              \
        {name, RECORD_NUMBERS, dtype, 2, {0, 2}}, elements, 2, type                                \
    }

static const column_case cases[] = {
    ONE("u8", SLUICE_U8, u8s, MINDRECORD_INT32),
    ONE("i16", SLUICE_I16, i16s, MINDRECORD_INT32),
    ONE("i32", SLUICE_I32, i32s, MINDRECORD_INT32),
    ONE("u32", SLUICE_U32, u32s, MINDRECORD_INT64),
    ONE("i64", SLUICE_I64, i64s, MINDRECORD_INT64),
    ONE("f32", SLUICE_F32, f32s, MINDRECORD_FLOAT32),
    ONE("f64", SLUICE_F64, f64s, MINDRECORD_FLOAT64),
    MORE("u8_more", SLUICE_U8, u8s, MINDRECORD_BYTES),
    MORE("i8_more", SLUICE_I8, i8s, MINDRECORD_INT32),
    MORE("u16_more", SLUICE_U16, u16s, MINDRECORD_INT32),
    MORE("i64_more", SLUICE_I64, i64s, MINDRECORD_INT64),
    MORE("f32_more", SLUICE_F32, f32s, MINDRECORD_FLOAT32),
    MORE("f64_more", SLUICE_F64, f64s, MINDRECORD_FLOAT64),
    {{"text", RECORD_TEXT, SLUICE_ENCODED, 0, {0}}, "a text\0and more", 0, MINDRECORD_STRING},
    {{"File", RECORD_BYTES, SLUICE_ENCODED, 0, {0}}, "some bytes", 0, MINDRECORD_BYTES},
};

/* The value of a column in row i. */
static record_value value_of(const column_case *column, uint64_t i)
{
    const size_t width = sluice_dtype_size(column->field.dtype);
    record_value value = {.kind = column->field.kind,
                          .dtype = column->field.dtype,
                          .count = column->per_row == 0 ? 1 : column->per_row * i,
                          .rank = column->field.rank};

    value.data = (const uint8_t *)column->elements + (width > 0 ? width * i : 0);
    value.size = width > 0 ? (size_t)value.count * width : 4 + i;
    if (value.rank > 0) {
        value.data = column->elements;
        value.shape[0] = i;
        value.shape[1] = column->per_row;
    }
    return value;
}

/* The bits of an element, extended with its sign. */
static uint64_t bits_of(const void *data, uint64_t i, sluice_dtype dtype)
{
    const size_t width = sluice_dtype_size(dtype);
    const bool is_signed = dtype == SLUICE_I8 || dtype == SLUICE_I16 || dtype == SLUICE_I32;
    uint64_t bits = 0;

    memcpy(&bits, (const uint8_t *)data + i * width, width);
    return is_signed ? (uint64_t)((int64_t)(bits << (64 - 8 * width)) >> (64 - 8 * width)) : bits;
}

static void check_value(const column_case *column, const record_value *want,
                        const record_value *got)
{
    if (column->type == MINDRECORD_STRING || column->type == MINDRECORD_BYTES) {
        T_EQ(got->kind, column->type == MINDRECORD_STRING ? RECORD_TEXT : RECORD_BYTES);
        T_EQ(got->size, want->size);
        T_TRUE(want->size == 0 || memcmp(got->data, want->data, want->size) == 0);
        return;
    }
    T_EQ(got->kind, RECORD_NUMBERS);
    T_EQ(got->count, want->count);
    T_EQ(got->rank, want->rank);
    for (uint32_t i = 0; i < want->rank; i++) {
        T_EQ(got->shape[i], want->shape[i]);
    }
    for (uint64_t i = 0; i < want->count; i++) {
        T_EQ(bits_of(got->data, i, got->dtype), bits_of(want->data, i, want->dtype));
    }
}

static void every_type_is_read_back(void)
{
    mindrecord_field fields[COUNT(cases)];
    const mindrecord_schema schema = {fields, COUNT(cases), "what \"it\" is", 1 << 14, 1 << 15};
    char columns[256] = "";
    char path[1000];
    char index[1000];
    mindrecord_writer *writer = NULL;
    mindrecord_file file;
    int fd;

    for (size_t k = 0; k < COUNT(cases); k++) {
        fields[k] = cases[k].field;
        strcat(strcat(columns, k > 0 ? " " : ""), fields[k].name);
    }
    T_OK(begin(&schema, path, index, &fd, &writer));
    for (uint64_t i = 0; i < ROWS; i++) {
        record_value values[COUNT(cases)];

        for (size_t k = 0; k < COUNT(cases); k++) {
            values[k] = value_of(&cases[k], i);
        }
        T_OK(mindrecord_writer_add(writer, values));
    }
    finish(writer, fd);
    T_OK(mindrecord_file_open(path, &file));
    T_EQ(file.index.count, ROWS);
    T_STR(file.header.description, "what \"it\" is");
    T_STR(file.header.files[0], "x");
    for (size_t k = 0; k < COUNT(cases); k++) {
        T_EQ(mindrecord_find_column(&file.header, fields[k].name)->type, cases[k].type);
    }
    T_EQ(mindrecord_find_column(&file.header, "File")->blob, 0); /* sorted by name, as bytes */
    for (uint64_t i = 0; i < ROWS; i++) {
        record_value values[COUNT(cases)];

        T_OK(mindrecord_file_read(&file, i, columns, values));
        for (size_t k = 0; k < COUNT(cases); k++) {
            const record_value want = value_of(&cases[k], i);

            check_value(&cases[k], &want, &values[k]);
        }
    }
    mindrecord_file_close(&file);
}

/* ---- pages and the index --------------------------------------------------------------------- */

/* A query of one row of integers. */
typedef struct query_result {
    int rows;
    char text[200];
} query_result;

static int note_row(void *user, int count, char **values, char **names)
{
    query_result *result = user;

    (void)names;
    result->rows++;
    result->text[0] = '\0';
    for (int i = 0; i < count; i++) {
        strcat(strcat(result->text, i > 0 ? " " : ""), values[i] != NULL ? values[i] : "NULL");
    }
    return 0;
}

static query_result query(const char *path, const char *sql)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_LAZY);
    __typeof__(&sqlite3_open_v2) open_db;
    __typeof__(&sqlite3_exec) exec_db;
    __typeof__(&sqlite3_close) close_db;
    query_result result = {0, ""};
    sqlite3 *db = NULL;

    T_TRUE(library != NULL);
    *(void **)&open_db = dlsym(library, "sqlite3_open_v2");
    *(void **)&exec_db = dlsym(library, "sqlite3_exec");
    *(void **)&close_db = dlsym(library, "sqlite3_close");
    T_EQ(open_db(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    T_EQ(exec_db(db, sql, note_row, &result, NULL), SQLITE_OK);
    T_EQ(close_db(db), SQLITE_OK);
    return result;
}

enum { MANY = 3000 };

/* Row i has 8 + 20 to 8 + 320 bytes of a text, and 0 to 200 bytes. */
static void make_row(uint64_t i, uint8_t *bytes, record_value *values)
{
    static int32_t label;

    label = (int32_t)i - 5;
    memset(bytes, 'a' + (int)(i % 20), 400);
    values[0] = (record_value){
        .kind = RECORD_NUMBERS, .dtype = SLUICE_I32, .count = 1, .data = &label, .size = 4};
    values[1] = (record_value){
        .kind = RECORD_TEXT, .count = 1, .data = bytes, .size = (size_t)(20 + i % 300)};
    values[2] = (record_value){
        .kind = RECORD_BYTES, .count = 1, .data = bytes, .size = (size_t)(i * 7 % 200)};
}

static const mindrecord_field many_fields[] = {
    {"label", RECORD_NUMBERS, SLUICE_I32, 0, {0}},
    {"text", RECORD_TEXT, SLUICE_ENCODED, 0, {0}},
    {"data", RECORD_BYTES, SLUICE_ENCODED, 0, {0}},
};
static const mindrecord_schema many_schema = {many_fields, 3, NULL, 1 << 14, 1 << 15};

static void write_many(char *path, char *index)
{
    mindrecord_writer *writer = NULL;
    int fd;

    T_OK(begin(&many_schema, path, index, &fd, &writer));
    for (uint64_t i = 0; i < MANY; i++) {
        record_value values[3];
        uint8_t bytes[400];

        make_row(i, bytes, values);
        T_OK(mindrecord_writer_add(writer, values));
    }
    finish(writer, fd);
}

static void rows_fill_pages(void)
{
    char path[1000];
    char index[1000];
    mindrecord_file file;
    size_t raw = 0;

    write_many(path, index);
    T_OK(mindrecord_file_open(path, &file));
    T_EQ(file.index.count, MANY);
    for (size_t i = 0; i < file.header.page_count; i++) {
        T_TRUE(file.header.pages[i].size <= 1 << 15);
        raw += file.header.pages[i].is_raw;
    }
    T_TRUE(raw > 10 && file.header.page_count - raw >= raw);
    for (uint64_t i = 0; i < MANY; i++) {
        record_value want[3];
        record_value got[3];
        uint8_t bytes[400];

        make_row(i, bytes, want);
        T_OK(mindrecord_file_read(&file, i, "label text data", got));
        T_EQ((int32_t)sli_get_u32(got[0].data), (int32_t)i - 5);
        for (int k = 1; k < 3; k++) {
            T_EQ(got[k].size, want[k].size);
            T_TRUE(want[k].size == 0 || memcmp(got[k].data, want[k].data, want[k].size) == 0);
        }
    }
    mindrecord_file_close(&file);
}

static void the_index_has_the_positions_of_the_rows(void)
{
    char path[1000];
    char index[1000];
    char want[200];
    query_result got;
    mindrecord_file file;

    write_many(path, index);
    T_OK(mindrecord_file_open(path, &file));
    got = query(index, "SELECT NAME FROM SHARD_NAME;");
    T_EQ(got.rows, 1);
    T_STR(got.text, "x");
    got = query(index, "SELECT ROW_ID, INC_0, label_0 FROM INDEXES ORDER BY ROW_ID;");
    T_EQ(got.rows, MANY);
    snprintf(want, sizeof(want), "%d 0 %d", MANY - 1, MANY - 6);
    T_STR(got.text, want);
    for (uint64_t i = 0; i < MANY; i += 271) {
        const record_range *ranges = &file.index.ranges[2 * i];
        char sql[300];

        snprintf(sql, sizeof(sql),
                 "SELECT 16384 + 32768 * PAGE_ID_RAW + PAGE_OFFSET_RAW + 8, "
                 "PAGE_OFFSET_RAW_END - PAGE_OFFSET_RAW - 8, "
                 "16384 + 32768 * PAGE_ID_BLOB + PAGE_OFFSET_BLOB + 8, "
                 "PAGE_OFFSET_BLOB_END - PAGE_OFFSET_BLOB - 8 FROM INDEXES WHERE ROW_ID = %d;",
                 (int)i);
        got = query(index, sql);
        snprintf(want, sizeof(want), "%llu %llu %llu %llu", (unsigned long long)ranges[0].offset,
                 (unsigned long long)ranges[0].size, (unsigned long long)ranges[1].offset,
                 (unsigned long long)ranges[1].size);
        T_STR(got.text, want);
    }
    mindrecord_file_close(&file);
}

static size_t read_all(const char *path, char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    T_TRUE(file != NULL);
    size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

static void the_same_rows_give_the_same_bytes(void)
{
    enum { MOST = 4 << 20 };
    char *bytes[2] = {malloc(MOST), malloc(MOST)};
    char path[2][1000];
    char index[2][1000];

    T_TRUE(bytes[0] != NULL && bytes[1] != NULL);
    for (int i = 0; i < 2; i++) {
        write_many(path[i], index[i]);
    }
    for (int k = 0; k < 2; k++) {
        const size_t size = read_all(k == 0 ? path[0] : index[0], bytes[0], MOST);

        T_TRUE(size > 100000 && size < MOST);
        T_EQ(read_all(k == 0 ? path[1] : index[1], bytes[1], MOST), size);
        T_EQ(memcmp(bytes[0], bytes[1], size), 0);
    }
    free(bytes[0]);
    free(bytes[1]);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void columns_that_cannot_be_kept_are_named(void)
{
    static const struct {
        mindrecord_field field;
        const char *words;
    } bad[] = {
        {{"count", RECORD_NUMBERS, SLUICE_U64, 0, {0}}, "the column count: it has no type for u64"},
        {{"half", RECORD_NUMBERS, SLUICE_F16, 1, {3}}, "the column half: it has no type for f16"},
        {{"a-b", RECORD_BYTES, SLUICE_ENCODED, 0, {0}}, "letters, digits and _"},
        {{"both", RECORD_NUMBERS, SLUICE_I32, 2, {0, 0}}, "at most one dimension"},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        const mindrecord_schema schema = {&bad[i].field, 1, NULL, 0, 0};
        mindrecord_writer *writer = NULL;
        char path[1000];
        char index[1000];
        int fd;

        T_STATUS(begin(&schema, path, index, &fd, &writer), SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        T_TRUE(writer == NULL);
        T_TRUE(access(index, F_OK) != 0);
        close(fd);
    }
}

static void values_that_do_not_fit_are_named(void)
{
    static const int32_t numbers[] = {1, 2, 3};
    static const mindrecord_field field = {"box", RECORD_NUMBERS, SLUICE_I32, 2, {0, 2}};
    const mindrecord_schema schema = {&field, 1, NULL, 1 << 14, 1 << 15};
    static const struct {
        record_value value;
        const char *words;
    } bad[] = {
        {{.kind = RECORD_MISSING}, "column box: its value is missing"},
        {{.kind = RECORD_BYTES, .count = 1}, "of another type"},
        {{.kind = RECORD_NUMBERS, .dtype = SLUICE_I64}, "of another type"},
        {{RECORD_NUMBERS, SLUICE_I32, 3, numbers, 12, 1, {3}}, "1 dimensions must be 2"},
        {{RECORD_NUMBERS, SLUICE_I32, 3, numbers, 12, 2, {1, 3}}, "dimension 2 is 3"},
        {{RECORD_NUMBERS, SLUICE_I32, 3, numbers, 12, 2, {1, 2}}, "3 numbers must be 2"},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        mindrecord_writer *writer = NULL;
        char path[1000];
        char index[1000];
        int fd;

        T_OK(begin(&schema, path, index, &fd, &writer));
        T_STATUS(mindrecord_writer_add(writer, &bad[i].value), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        mindrecord_writer_close(writer);
        close(fd);
    }
}

static void large_rows_and_bad_sizes_are_refused(void)
{
    static const uint8_t bytes[40000];
    static const mindrecord_field field = {"data", RECORD_BYTES, SLUICE_ENCODED, 0, {0}};
    const record_value value = {
        .kind = RECORD_BYTES, .count = 1, .data = bytes, .size = sizeof(bytes)};
    mindrecord_schema schema = {&field, 1, NULL, 1 << 14, 1 << 15};
    mindrecord_writer *writer = NULL;
    char path[1000];
    char index[1000];
    int fd;

    T_OK(begin(&schema, path, index, &fd, &writer));
    T_STATUS(mindrecord_writer_add(writer, &value), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "the column data has 40000 bytes; a row of MindRecord must "
                                    "have at most 32768 (the size of a "
                                    "page), and this one has 40008");
    mindrecord_writer_close(writer);
    close(fd);
    schema.page_size = 1000;
    T_STATUS(begin(&schema, path, index, &fd, &writer), SLUICE_E_INVALID);
    close(fd);
}

static void every_failure_of_memory_is_an_error(void)
{
    for (int64_t n = 0;; n += T_FAULT_STEP) {
        mindrecord_writer *writer = NULL;
        record_value values[3];
        uint8_t bytes[400];
        char path[1000];
        char index[1000];
        sluice_status st;
        int fd;

        make_row(7, bytes, values);
        sli_alloc_fail_after(n);
        st = begin(&many_schema, path, index, &fd, &writer);
        st = st == SLUICE_OK ? mindrecord_writer_add(writer, values) : st;
        st = st == SLUICE_OK ? mindrecord_writer_finish(writer, own_name, 1, 0) : st;
        sli_alloc_fail_after(-1);
        mindrecord_writer_close(writer);
        close(fd);
        if (st == SLUICE_OK) {
            T_TRUE(n > 5);
            return;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
}

#elif !defined(SLI_HAVE_SQLITE)

static void a_build_without_sqlite_says_so(void)
{
    T_STATUS(mindrecord_writer_check(), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "sqlite3");
}

#endif

const t_test mindrecord_writer_tests[] = {
#if defined(SLI_HAVE_SQLITE) && defined(SLI_HAVE_JANSSON)
    T_TEST(every_type_is_read_back),
    T_TEST(rows_fill_pages),
    T_TEST(the_index_has_the_positions_of_the_rows),
    T_TEST(the_same_rows_give_the_same_bytes),
    T_TEST(columns_that_cannot_be_kept_are_named),
    T_TEST(values_that_do_not_fit_are_named),
    T_TEST(large_rows_and_bad_sizes_are_refused),
    T_TEST(every_failure_of_memory_is_an_error),
#elif !defined(SLI_HAVE_SQLITE)
    T_TEST(a_build_without_sqlite_says_so),
#endif
    T_END,
};
