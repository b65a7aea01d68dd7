/* SPDX-License-Identifier: Apache-2.0 */
/* .npz files: the source npy, and the directories of zip archives. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "npy_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "zip_kit.h"

static const double reals[6][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {1e300, -0.5}};
static const int16_t shorts[6] = {0, -1, 2, -32768, 32767, 5};

#ifdef SLI_HAVE_ZLIB
static const bool has_zlib = true;
#else
static const bool has_zlib = false;
#endif

static zip_kit *make(uint16_t method, bool is_zip64)
{
    zip_kit *zip = calloc(1, sizeof(*zip));

    T_TRUE(zip != NULL);
    zip->is_zip64 = is_zip64;
    zip_add_npy(zip, "x.npy", method, "<f8", "(6, 2)", reals, sizeof(reals));
    zip_add_npy(zip, "y.npy", method, "<i2", "(6,)", shorts, sizeof(shorts));
    return zip;
}

static const char *write(const char *folder, zip_kit *zip)
{
    const char *path = t_path(folder, "a.npz");

    zip_end(zip);
    t_write_file(path, zip->bytes, zip->size);
    return path;
}

static void check_members(const char *path)
{
    sluice_dataset *dataset = parsedf("npy %s | batch 1", path);
    double pair[2];
    int16_t number;

    for (uint64_t i = 0; i < 6; i++) {
        T_OK(sluice_dataset_get(dataset, i, 0, i, (void *const[]){pair, &number}, NULL));
        T_TRUE(memcmp(pair, reals[i], sizeof(pair)) == 0 && number == shorts[i]);
    }
    T_STR(name_of(dataset, 3), "x:3");
    sluice_dataset_destroy(dataset);
}

static void each_member_is_a_column(void)
{
    const char *folder = t_folder();

    for (int i = 0; i < 4; i++) {
        zip_kit *zip = make(i < 2 || !has_zlib ? 0 : 8, i % 2 != 0);

        check_members(write(folder, zip));
        free(zip);
    }
}

/* The archive of Keras has two sets, whose arrays have other lengths. */
static void members_are_chosen_and_named(void)
{
    const char *folder = t_folder();
    zip_kit *zip = make(0, false);
    sluice_dataset *dataset = NULL;
    const char *path;
    int16_t number;
    uint8_t byte;

    zip_add_npy(zip, "z.npy", 0, "|u1", "(3,)", "abc", 3);
    zip_add_npy(zip, "w", 0, "|u1", "(3,)", "def", 3);
    zip_add(zip, "sub/", 0, "", 0);
    zip_add(zip, "readme.txt", 0, "hello, world, hello", 19);
    path = write(folder, zip);
    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s members=x,y,z", path), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a.npz has 3 samples and x of ");
    T_CONTAINS(sluice_last_error(), "a.npz has 6; the first dimension of all must be the same");
    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s", path), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "member readme.txt: this is not a .npy file; members=A,B,...");
    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s members=x,q", path), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "has no member 'q'; it has x, y, z, w, sub/, readme.txt");
    T_OK(sluice_dataset_parsef(&dataset, "npy %s members=y.npy names=label | batch 1", path));
    T_OK(sluice_dataset_get(dataset, 1, 0, 1, (void *const[]){&number}, NULL));
    T_EQ(number, -1);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parsef(&dataset, "npy %s members=w,z | project z | batch 1", path));
    T_OK(sluice_dataset_get(dataset, 2, 0, 2, (void *const[]){&byte}, NULL));
    T_EQ(byte, 'c');
    sluice_dataset_destroy(dataset);
    npy_write(folder, "y.npy", "<i2", "(6,)", shorts, sizeof(shorts));
    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s members=y", t_path(folder, "y.npy")),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "members=y is for .npz files");
    free(zip);
}

/* Rows of all samples in one array, with their numbers; classes belong to the rows of another. */
static void ragged_members_have_a_length(void)
{
    static const int64_t lengths[4] = {2, 0, 3, 1};
    static const uint8_t classes[6] = {1, 2, 3, 4, 5, 6};
    const char *folder = t_folder();
    zip_kit *zip = make(0, false);
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data = {.bytes = NULL};
    double rows[3][2];
    uint8_t three[3];
    int32_t length;
    const char *path;

    zip_add_npy(zip, "x_length", 0, "<i8", "(4,)", lengths, sizeof(lengths));
    zip_add_npy(zip, "c", 0, "|u1", "(6,)", classes, sizeof(classes));
    path = write(folder, zip);
    dataset = parsedf("npy %s members=x,x_length,c ragged=x[3],c[3]@x | batch 1", path);
    T_OK(sluice_dataset_get(dataset, 2, 0, 2, (void *const[]){rows, &length, three}, NULL));
    T_TRUE(length == 3 && memcmp(rows, reals[2], sizeof(rows)) == 0);
    T_TRUE(three[0] == 3 && three[1] == 4 && three[2] == 5);
    T_OK(dataset_source(dataset)->read(dataset->source, 2, &io,
                                       (void *const[]){rows, &length, three}, &data));
    T_EQ(io.bytes_read, sizeof(rows) + sizeof(three)); /* all rows count */
    T_OK(sluice_dataset_get(dataset, 1, 0, 1, (void *const[]){rows, &length, three}, NULL));
    T_TRUE(length == 0 && rows[0][0] == 0 && three[0] == 0);
    T_OK(sluice_dataset_get(dataset, 3, 0, 3, (void *const[]){rows, &length, three}, NULL));
    T_TRUE(length == 1 && rows[0][0] == 1e300 && rows[1][0] == 0 && three[0] == 6 && three[2] == 0);
    sluice_dataset_destroy(dataset);
    dataset = parsedf("npy %s members=x,x_length ragged=x[2] | truncate x to=1 | batch 1", path);
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){rows, &length}, NULL));
    T_TRUE(length == 1 && rows[0][1] == 1);
    T_STATUS(sluice_dataset_get(dataset, 2, 0, 2, (void *const[]){rows, &length}, NULL),
             SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "x has 3 rows, and must have at most 2 by ragged=x[N]");
    sluice_dataset_destroy(dataset);
    free(zip);
}

static void bad_ragged_arrays_are_named(void)
{
    static const struct {
        const char *arguments;
        const char *words;
    } bad[] = {
        {"ragged=x", "ragged=x must be NAME[N], or NAME[N]@ROWS"},
        {"ragged=x[0]", "must be NAME[N]"},
        {"ragged=x[3", "must be NAME[N]"},
        {"ragged=x[3]y", "must be NAME[N]"},
        {"ragged=x[3]@", "must be NAME[N]"},
        {"ragged=[3]", "must be NAME[N]"},
        {"ragged=x[99999999999]", "must be NAME[N]"},
        {"ragged=x[9999999]", "and a sample of 67108864 bytes at most"},
        {"ragged=q[3]", "needs an array q, and none has this name"},
        {"ragged=y[3]", "needs an array y_length"},
        {"ragged=x[3],x[3]", "must be one array"},
        {"ragged=x_length[3]@x", "must be one array"},
        {"ragged=z[3]@x", "z has 2 rows, and must have 6, the sum of x_length"},
        {"ragged=z[3]", "z_length of sample 1 is -1, and must be 0 to 2147483647"},
        {"ragged=w[3]", "w_length must be one whole number for each sample"},
    };
    static const int8_t lengths[2] = {5, 1};
    static const int8_t negative[2] = {7, -1};
    const char *folder = t_folder();
    zip_kit *zip = make(0, false);
    const char *path;

    zip_add_npy(zip, "x_length", 0, "|i1", "(2,)", lengths, 2);
    zip_add_npy(zip, "z", 0, "|i1", "(2,)", lengths, 2);
    zip_add_npy(zip, "z_length", 0, "|i1", "(2,)", negative, 2);
    zip_add_npy(zip, "w", 0, "|i1", "(2,)", lengths, 2);
    zip_add_npy(zip, "w_length", 0, "<f2", "(2,)", reals, 4);
    path = write(folder, zip);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        char text[800];

        snprintf(text, sizeof(text), "npy %s %s", path, bad[i].arguments);
        T_TRUE(sluice_dataset_parse(text, &dataset) != SLUICE_OK);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
    free(zip);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void check_fails(const char *folder, const uint8_t *bytes, size_t size, sluice_status want,
                        const char *words)
{
    const int before = open_files();
    const char *path = t_path(folder, "a.npz");
    sluice_dataset *dataset = NULL;

    t_write_file(path, bytes, size);
    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s", path), want);
    CU_ASSERT_PTR_NULL(dataset);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(open_files(), before);
}

/* One byte of the archive, or of a member's record in the directory, is another one. */
static void bad_archives_are_named(void)
{
    static const struct {
        uint16_t method;
        int from_directory; /* offset from the directory, or from the end if it is negative */
        uint8_t value;
        sluice_status status;
        const char *words;
    } cases[] = {
        {0, 8, 1, SLUICE_E_UNSUPPORTED, "a.npz: member x: it is encrypted; members="},
        {0, 10, 14, SLUICE_E_UNSUPPORTED, "it is compressed by LZMA (method 14), and must be"},
        {0, 10, 77, SLUICE_E_UNSUPPORTED, "a method that is not known (method 77)"},
        {0, 24, 1, SLUICE_E_CORRUPT, "the lengths of a member cannot be"},
        {8, 27, 1, SLUICE_E_CORRUPT, "the lengths of a member cannot be"},
        {0, 44, 9, SLUICE_E_CORRUPT, "a member is not before its directory"},
        {0, 42, 9, SLUICE_E_CORRUPT, "a member does not begin where its directory says"},
        {0, 0, 9, SLUICE_E_CORRUPT, "a record of its directory is not one"},
        {0, 32, 200, SLUICE_E_CORRUPT, "its directory ends within a record"},
        {0, 46, 0, SLUICE_E_CORRUPT, "a name in its directory has a zero byte"},
        {0, -6, 1, SLUICE_E_CORRUPT, "its directory is not where its end record says"},
        {0, -10, 1, SLUICE_E_CORRUPT, "its directory is not where its end record says"},
        {0, -12, 1, SLUICE_E_UNSUPPORTED, "consists of several files"},
        {0, -1, 1, SLUICE_E_CORRUPT, "it has no directory at its end"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        zip_kit *zip = make(cases[i].method, false);
        const int at = cases[i].from_directory;

        zip_end(zip);
        zip->bytes[(at < 0 ? zip->size : zip->directory_at) + (size_t)at] = cases[i].value;
        check_fails(folder, zip->bytes, zip->size, cases[i].status, cases[i].words);
        free(zip);
    }
}

static void bad_members_are_named(void)
{
    const char *folder = t_folder();
    zip_kit *zip = make(0, false);

    zip_add_npy(zip, "o.npy", 0, "|O", "(6,)", "\x80\x04", 2);
    zip_end(zip);
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_UNSUPPORTED,
                "member o: its elements are Python objects (pickle), and must be numbers");
    memset(zip, 0, sizeof(*zip));
    zip_add_npy(zip, "n.npy", 0, "<i8", "()", reals, 8);
    zip_end(zip);
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_UNSUPPORTED, "member n: it is a single");
    memset(zip, 0, sizeof(*zip));
    zip_add_npy(zip, "s.npy", 0, "<f8", "(7, 2)", reals, sizeof(reals));
    zip_end(zip);
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_CORRUPT, "member s: it has ");
    if (has_zlib) {
        memset(zip, 0, sizeof(*zip));
        zip_add(zip, "e.npy", 8, "", 0);
        zip_end(zip);
        check_fails(folder, zip->bytes, zip->size, SLUICE_E_CORRUPT, "e: this is not a .npy file");
    }
    memset(zip, 0, sizeof(*zip));
    for (int i = 0; i < 17; i++) {
        const char name[] = {(char)('a' + i), '\0'};

        zip_add_npy(zip, name, 0, "<f8", "(6, 2)", reals, sizeof(reals));
    }
    zip_end(zip);
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_INVALID, "more than 16 arrays");
    memset(zip, 0, sizeof(*zip));
    zip_end(zip);
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_INVALID, "has no arrays");
    free(zip);
}

static void corrupt_compressed_members_are_named(void)
{
    const char *folder = t_folder();
    zip_kit *zip = make(8, false);

    if (!has_zlib) {
        write(folder, zip);
        check_fails(folder, zip->bytes, zip->size, SLUICE_E_UNSUPPORTED, "built without zlib");
        free(zip);
        T_SKIP("built without zlib");
        return;
    }
    zip_end(zip);
    zip->bytes[30 + 5 + 5 + 130]++; /* an element */
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_CORRUPT,
                "member x: cannot decompress it: "
                "its CRC differs");
    zip->bytes[30 + 5]++; /* the kind of the block */
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_CORRUPT, "cannot decompress it: ");
    zip->bytes[30 + 5]--;
    zip->bytes[zip->directory_at + 24]--; /* the length after decompression */
    check_fails(folder, zip->bytes, zip->size, SLUICE_E_CORRUPT, "more bytes than its directory");
    free(zip);
}

/* A truncated archive, and one with any byte changed, is read or refused. */
static void damaged_archives_do_no_harm(void)
{
    const char *folder = t_folder();
    zip_kit *zip = make(has_zlib ? 8 : 0, true);
    sluice_dataset *dataset = NULL;

    zip_end(zip);
    for (size_t i = 0; i < zip->size; i++) {
        const char *path = t_path(folder, "a.npz");

        if (i < 700 && i % 7 != 0) {
            continue;
        }
        t_write_file(path, zip->bytes, i);
        T_TRUE(sluice_dataset_parsef(&dataset, "npy %s", path) != SLUICE_OK);
        zip->bytes[i] ^= 0xFF;
        t_write_file(path, zip->bytes, zip->size);
        if (sluice_dataset_parsef(&dataset, "npy %s", path) == SLUICE_OK) {
            sluice_dataset_destroy(dataset);
        }
        zip->bytes[i] ^= 0xFF;
    }
    free(zip);
}

const t_test source_npz_tests[] = {
    T_TEST(each_member_is_a_column),
    T_TEST(members_are_chosen_and_named),
    T_TEST(ragged_members_have_a_length),
    T_TEST(bad_ragged_arrays_are_named),
    T_TEST(bad_archives_are_named),
    T_TEST(bad_members_are_named),
    T_TEST(corrupt_compressed_members_are_named),
    T_TEST(damaged_archives_do_no_harm),
    T_END,
};
