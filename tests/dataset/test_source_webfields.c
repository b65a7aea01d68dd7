/* SPDX-License-Identifier: Apache-2.0 */
/* webdataset with fields=: members of a sample as columns. */
#include <stdlib.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "npy_kit.h"
#include "order_kit.h"
#include "source_kit.h"
#include "tar_kit.h"
#include "testing.h"
#include "web_fields.h"

#define ALL "image:ppm,seg:pgm@mask,y:cls,v:npy,caption:txt[8]"

/* The bytes of an array f32 (2, 3) whose elements begin with `first`. */
static size_t npy_bytes(uint8_t *bytes, const char *shape, uint32_t elements, float first)
{
    char dict[200];
    size_t size;

    snprintf(dict, sizeof(dict), "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    size = npy_head(1, dict, bytes);
    for (uint32_t i = 0; i < elements; i++) {
        const float value = first + (float)i;

        memcpy(bytes + size, &value, sizeof(value));
        size += sizeof(value);
    }
    return size;
}

/* A sample with all fields; sample n has n in each. */
static void add_sample(tar_maker *tar, uint32_t n)
{
    uint8_t npy[1200];
    char name[40];
    char text[40];

    snprintf(name, sizeof(name), "s/%u.cls", n);
    snprintf(text, sizeof(text), " %u\n", n);
    tar_add_text(tar, name, text);
    snprintf(name, sizeof(name), "s/%u.ppm", n);
    snprintf(text, sizeof(text), "P6 2 1 255\n%c%c%c%c%c%c", (int)n + 1, (int)n + 2, (int)n + 3,
             (int)n + 4, (int)n + 5, (int)n + 6);
    tar_add(tar, name, '0', text, 17);
    snprintf(name, sizeof(name), "s/%u.PGM", n);
    snprintf(text, sizeof(text), "P5 2 1 255\n%c%c", (int)n + 1, (int)n + 2);
    tar_add(tar, name, '0', text, 13);
    snprintf(name, sizeof(name), "s/%u.npy", n);
    tar_add(tar, name, '0', npy, npy_bytes(npy, "(2, 3)", 6, (float)n));
    snprintf(name, sizeof(name), "s/%u.txt", n);
    snprintf(text, sizeof(text), "%.*s", (int)n % 9, "abcdefgh");
    tar_add_text(tar, name, text);
}

static const char *write_shard(const char *folder, const char *name, uint32_t first, uint32_t count)
{
    static char path[500];
    tar_maker tar = {0};

    for (uint32_t i = 0; i < count; i++) {
        add_sample(&tar, first + i);
    }
    snprintf(path, sizeof(path), "%s", t_path(folder, name));
    tar_write(&tar, path);
    tar_free(&tar);
    return path;
}

static void check_fails(const char *path, const char *arguments, sluice_status want,
                        const char *words)
{
    const int before = open_files();
    sluice_dataset *dataset = NULL;
    char text[900];

    snprintf(text, sizeof(text), "webdataset %s %s", path, arguments);
    T_STATUS(sluice_dataset_parse(text, &dataset), want);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(open_files(), before);
}

/* A row of every column. */
typedef struct sample_row_of {
    uint8_t image[6];
    uint8_t seg[2];
    int32_t y;
    float v[6];
    uint8_t caption[8];
    int32_t length;
} sample_row_of;

static sluice_status get(sluice_dataset *dataset, uint64_t index, sample_row_of *row)
{
    void *columns[] = {row->image, row->seg, &row->y, row->v, row->caption, &row->length};

    memset(row, 0xee, sizeof(*row));
    return sluice_dataset_get(dataset, 1, 0, index, columns, NULL);
}

static void check_row(const sample_row_of *row, uint32_t n)
{
    const uint32_t length = n % 9;

    for (uint32_t i = 0; i < 6; i++) {
        T_EQ(row->image[i], n + 1 + i);
        T_TRUE(row->v[i] == (float)(n + i));
    }
    T_TRUE(row->seg[0] == n + 1 && row->seg[1] == n + 2);
    T_EQ(row->y, n);
    T_EQ(row->length, length);
    T_EQ(memcmp(row->caption, "abcdefgh", length), 0);
    for (uint32_t i = length; i < 8; i++) {
        T_EQ(row->caption[i], 0);
    }
}

static void members_of_samples_are_columns(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sluice_dataset_info info;
    sample_row_of row;

    write_shard(folder, "a.tar", 0, 4);
    write_shard(folder, "b.tar", 4, 7);
    dataset = shards_dataset(folder, "fields=" ALL " | decode | batch 2");
    sluice_dataset_info_init(&info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.source_samples, 11);
    T_EQ(info.column_count, 6);
    T_STR(info.columns[0].name, "image");
    T_STR(info.columns[1].name, "seg");
    T_TRUE(info.columns[1].rank == 2 && info.columns[1].dtype == SLUICE_U8);
    T_TRUE(info.columns[2].rank == 0 && info.columns[2].dtype == SLUICE_I32);
    T_TRUE(info.columns[3].rank == 2 && info.columns[3].shape[1] == 3 &&
           info.columns[3].dtype == SLUICE_F32);
    T_TRUE(info.columns[4].rank == 1 && info.columns[4].shape[0] == 8);
    T_STR(info.columns[5].name, "caption_length");
    for (uint32_t n = 0; n < 11; n++) {
        T_OK(get(dataset, n, &row));
        check_row(&row, n);
    }
    T_STR(name_of(dataset, 4), "b.tar/s/4.ppm");
    sluice_dataset_destroy(dataset);
}

static void batches_are_those_of_one_worker(void)
{
    const char *path = write_shard(t_folder(), "a.tar", 0, 12);

    check_three_workers(shards_dataset(path, "fields=" ALL " cache=drop | shuffle | decode | "
                                             "random_horizontal_flip | batch 5"),
                        3);
}

/* No image, and columns that are not asked for are not there. */
static void samples_need_no_image(void)
{
    const char *path = write_shard(t_folder(), "a.tar", 0, 5);
    sluice_dataset *dataset = shards_dataset(path, "fields=v:npy,label:cls | balance | batch 1");
    float v[6];
    int32_t label;
    uint64_t sample;
    void *columns[] = {v, &label};

    for (uint64_t i = 0; i < 5; i++) {
        T_OK(sluice_dataset_get(dataset, 1, 0, i, columns, &sample));
        T_EQ(label, sample);
        T_TRUE(v[5] == (float)(sample + 5));
    }
    sluice_dataset_destroy(dataset);
}

static void samples_without_a_field_are_left_out(void)
{
    const char *folder = t_folder();
    tar_maker tar = {0};
    sluice_dataset *dataset;
    sample_row_of row;

    add_sample(&tar, 1);
    tar_add_texts(&tar, "s/2.cls=2 s/2.txt=ab README=x s/.hidden=y");
    add_sample(&tar, 3);
    tar_write(&tar, t_path(folder, "a.tar"));
    tar_free(&tar);
    kit_log_start(NULL, NULL);
    dataset = shards_dataset(folder, "fields=" ALL " | decode | batch 1");
    T_CONTAINS(kit_log_stop(), "1 samples without all fields are skipped, first a.tar/s/2");
    T_OK(get(dataset, 1, &row));
    check_row(&row, 3);
    sluice_dataset_destroy(dataset);
    check_fails(folder, "fields=x:zip[9] | batch 1", SLUICE_E_INVALID,
                "none of 3 samples in 1 shards has all of fields=x:zip[9], first a.tar/s/1");
}

/* Sample 0 is good; what is wrong with sample 1 is an error of it alone. */
static void check_bad_member(const char *name, const void *bytes, size_t size, const char *fields,
                             const char *words)
{
    const char *folder = t_folder();
    tar_maker tar = {0};
    sluice_dataset *dataset;
    uint64_t room[40];
    void *columns[] = {room, room + 20};

    add_sample(&tar, 0);
    tar_add(&tar, name, '0', bytes, size);
    tar_write(&tar, t_path(folder, "a.tar"));
    tar_free(&tar);
    dataset = shards_dataset(folder, fields);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), words);
    T_CONTAINS(sluice_last_error(), "a.tar");
    sluice_dataset_destroy(dataset);
}

static void bad_members_are_bad_samples(void)
{
    uint8_t npy[1200];

    check_bad_member("s/1.txt", "123456789", 9, "fields=t:txt[8] | batch 1",
                     "member .txt in the shard");
    check_bad_member("s/1.txt", "123456789", 9, "fields=t:txt[8] | batch 1",
                     "it has 9 bytes, and must have at most 8");
    check_bad_member("s/1.cls", "x", 1, "fields=y:cls | batch 1",
                     "the label must be a whole number of 32 bits");
    check_bad_member("s/1.cls", "2147483648", 10, "fields=y:cls | batch 1",
                     "the label must be a whole number");
    check_bad_member("s/1.cls", npy, 100, "fields=y:cls | batch 1",
                     "the label must be a whole number");
    check_bad_member(
        "s/1.npy", npy, npy_bytes(npy, "(3, 2)", 6, 0), "fields=v:npy | batch 1",
        "the array is f32 (3, 2), and must be f32 (2, 3), as that of the first sample");
    check_bad_member("s/1.npy", npy, npy_bytes(npy, "(6,)", 6, 0), "fields=v:npy | batch 1",
                     "the array is f32 (6), and must be f32 (2, 3)");
    check_bad_member("s/1.npy", npy, npy_bytes(npy, "(2, 3)", 6, 0) - 1, "fields=v:npy | batch 1",
                     "it has 151 bytes, and 152 by its header");
    check_bad_member("s/1.npy", "numpy", 5, "fields=v:npy | batch 1", "this is not a .npy file");
}

/* Writes a shard of arrays f32: two in each sample, a.npy and b.npy, with these dicts. */
static void write_arrays(const char *path, uint32_t samples, const char *const (*dicts)[2])
{
    tar_maker tar = {0};

    for (uint32_t i = 0; i < samples; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            uint8_t bytes[1200];
            char name[20];
            char dict[200];
            size_t size;

            snprintf(dict, sizeof(dict), "{'descr': '<f4', %s}", dicts[i][k]);
            size = npy_head(1, dict, bytes);
            for (uint32_t n = 0; n < 6; n++) {
                const float value = (float)(i * 10 + n);

                memcpy(bytes + size + n * sizeof(value), &value, sizeof(value));
            }
            size += strstr(dict, "()") != NULL ? 4 : strstr(dict, "(0,") != NULL ? 0 : 24;
            snprintf(name, sizeof(name), "%u.%c.npy", i, 'a' + (int)k);
            tar_add(&tar, name, '0', bytes, size);
        }
    }
    tar_write(&tar, path);
    tar_free(&tar);
}

static void numbers_and_fortran_order_are_read(void)
{
    static const char *const dicts[2][2] = {
        {"'fortran_order': False, 'shape': ()", "'fortran_order': True, 'shape': (2, 3)"},
        {"'fortran_order': True, 'shape': ()", "'fortran_order': False, 'shape': (2, 3)"},
    };
    static const float fortran[6] = {0, 2, 4, 1, 3, 5};
    const char *folder = t_folder();
    sluice_dataset_info info;
    sluice_dataset *dataset;
    float number;
    float array[6];
    void *columns[] = {&number, array};

    write_arrays(t_path(folder, "a.tar"), 2, dicts);
    dataset = shards_dataset(folder, "fields=n:a.npy,x:b.npy | batch 2");
    sluice_dataset_info_init(&info);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_TRUE(info.columns[0].rank == 0 && info.columns[0].dtype == SLUICE_F32);
    T_TRUE(info.columns[1].rank == 2 && info.columns[1].shape[1] == 3);
    for (uint32_t i = 0; i < 2; i++) {
        T_OK(sluice_dataset_get(dataset, 1, 0, i, columns, NULL));
        T_TRUE(number == (float)(10 * i));
        for (uint32_t n = 0; n < 6; n++) {
            T_TRUE(array[n] == (i == 0 ? fortran[n] : (float)(10 + n)));
        }
    }
    sluice_dataset_destroy(dataset);
}

/* NAME:npy[N]; the first sample, too, may have no rows. */
static void arrays_may_differ_in_their_rows(void)
{
    static const char *const dicts[3][2] = {
        {"'fortran_order': False, 'shape': (0, 2)", "'fortran_order': True, 'shape': (0, 3, 2)"},
        {"'fortran_order': True, 'shape': (3, 2)", "'fortran_order': False, 'shape': (1, 3, 2)"},
        {"'fortran_order': False, 'shape': (0, 2)", "'fortran_order': False, 'shape': (0, 3, 2)"},
    };
    static const float fortran[8] = {10, 13, 11, 14, 12, 15, 0, 0};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    float a[8];
    float b[6];
    int32_t lengths[2];
    void *columns[] = {a, &lengths[0], b, &lengths[1]};
    void *no_rows[] = {NULL, &lengths[0], NULL, NULL};

    write_arrays(t_path(folder, "a.tar"), 3, dicts);
    dataset = shards_dataset(folder, "fields=a:a.npy[4],b:b.npy[1] | batch 2");
    for (uint32_t i = 0; i < 3; i++) {
        memset(a, 0xee, sizeof(a));
        T_OK(sluice_dataset_get(dataset, 1, 0, i, columns, NULL));
        T_TRUE(lengths[0] == (i == 1 ? 3 : 0) && lengths[1] == (i == 1 ? 1 : 0));
        for (uint32_t n = 0; n < 8; n++) {
            T_TRUE(a[n] == (i == 1 ? fortran[n] : 0));
        }
        T_TRUE(b[5] == (i == 1 ? 15 : 0));
    }
    lengths[0] = -1;
    T_OK(sluice_dataset_get(dataset, 1, 0, 1, no_rows, NULL));
    T_EQ(lengths[0], 3);
    sluice_dataset_destroy(dataset);
    dataset = shards_dataset(folder, "fields=a:a.npy[2] | batch 2");
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(),
               "the array is f32 (3, 2), and must be f32 (0 to 2, 2) by [N] and");
    sluice_dataset_destroy(dataset);
    check_fails(folder, "fields=a:a.npy | batch 2", SLUICE_E_UNSUPPORTED,
                "NAME:FIELD[N] reads arrays of 0 to N rows");
    check_fails(folder, "fields=a:a.npy[67108864] | batch 2", SLUICE_E_UNSUPPORTED,
                "[N] must be at most 8388608");
}

/* NAME:npy[N]@ROWS, for what belongs to boxes: as many rows in each sample, and no length. */
/* The product of [N] and the bytes of a row of the second shape has more than 64 bits. */
static void rows_that_are_too_large_are_refused(void)
{
    static const struct {
        const char *shape;
        const char *fields;
        const char *words;
    } cases[] = {
        {"(0, 4194304)", "fields=v:npy[5]", "[N] must be at most 4"},
        {"(0, 288230376151711744)", "fields=v:npy[16]",
         "a row of it has 1152921504606846976 bytes, and must have at most 67108864"},
    };
    const char *path = t_path(t_folder(), "a.tar");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t npy[1200];
        tar_maker tar = {0};

        tar_add(&tar, "0.npy", '0', npy, npy_bytes(npy, cases[i].shape, 0, 0));
        tar_write(&tar, path);
        tar_free(&tar);
        check_fails(path, cases[i].fields, SLUICE_E_UNSUPPORTED, cases[i].words);
    }
}

static void arrays_may_have_the_rows_of_another_one(void)
{
    static const char *const dicts[3][2] = {
        {"'fortran_order': False, 'shape': (3, 2)", "'fortran_order': False, 'shape': (3, 2)"},
        {"'fortran_order': False, 'shape': (0, 2)", "'fortran_order': False, 'shape': (0, 2)"},
        {"'fortran_order': False, 'shape': (3, 2)", "'fortran_order': False, 'shape': (0, 2)"},
    };
    const char *folder = t_folder();
    sluice_dataset *dataset;
    float a[8];
    float b[8];
    int32_t length = -1;
    void *columns[] = {a, &length, b};

    write_arrays(t_path(folder, "a.tar"), 3, dicts);
    dataset = shards_dataset(folder, "fields=a:a.npy[4],b:b.npy[4]@a | batch 2");
    for (uint32_t i = 0; i < 2; i++) {
        T_OK(sluice_dataset_get(dataset, 1, 0, i, columns, NULL));
        T_TRUE(length == (i == 0 ? 3 : 0) && b[5] == (i == 0 ? 5 : 0) && b[6] == 0);
    }
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 2, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "member .b.npy in the shard");
    T_CONTAINS(sluice_last_error(), "it has 0 rows and must have 3, as a has");
    sluice_dataset_destroy(dataset);
}

static void members_that_are_there_twice_are_bad_samples(void)
{
    const char *folder = t_folder();
    tar_maker tar = {0};
    sluice_dataset *dataset;
    int32_t y;
    void *columns[] = {&y};

    tar_add_texts(&tar, "0.cls=5 1.cls=6 1.CLS=7");
    tar_write(&tar, t_path(folder, "a.tar"));
    tar_free(&tar);
    dataset = shards_dataset(folder, "fields=y:cls | batch 1");
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(y, 5);
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "it appears twice");
    sluice_dataset_destroy(dataset);
}

static void a_shard_that_is_cut_off_is_refused(void)
{
    const char *path = write_shard(t_folder(), "a.tar", 0, 3);
    sluice_dataset *dataset = shards_dataset(path, "fields=y:cls,t:txt[8] | batch 1");
    int32_t y;
    void *columns[] = {&y, NULL, NULL};

    T_EQ(truncate(path, 600), 0);
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 2, columns, NULL), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "was truncated since it was opened");
    sluice_dataset_destroy(dataset);
    T_EQ(truncate(path, 514), 0);
    check_fails(path, "fields=y:cls | batch 1", SLUICE_E_CORRUPT, "a.tar");
    check_fails("/nonexistent/a.tar", "fields=y:cls | batch 1", SLUICE_E_IO, "/nonexistent/a.tar");
}

static void bad_lists_of_fields_are_refused(void)
{
    static const struct {
        const char *fields;
        const char *words;
    } bad[] = {
        {"image", "'image' must be NAME:FIELD"},
        {":jpg", "must be NAME:FIELD"},
        {"a:", "must be NAME:FIELD"},
        {"a:jpg,", "'' must be NAME:FIELD"},
        {"a:.jpg", "must be NAME:FIELD"},
        {"a:b/jpg", "must be NAME:FIELD"},
        {"a:txt", "'a:txt' must be NAME:FIELD"},
        {"a:txt[0]", "must be NAME:FIELD"},
        {"a:txt[67108865]", "at most 67108864"},
        {"a:txt[99999999999999999999]", "must be NAME:FIELD"},
        {"a:txt[5", "must be NAME:FIELD"},
        {"a:txt[5]x", "must be NAME:FIELD"},
        {"a:npy[0]", "must be NAME:FIELD"},
        {"a:npy[5]x", "must be NAME:FIELD"},
        {"a:npy@mask", "must be NAME:FIELD"},
        {"a:a.npy[5],b:b.npy[4]@a", "'b:b.npy[4]@a' must be NAME:FIELD"},
        {"a:a.npy[5],b:b.npy[5]@c", "must be NAME:FIELD"},
        {"b:b.npy[5]@a,a:a.npy[5]", "must be NAME:FIELD"},
        {"a:a.npy,b:b.npy[5]@a", "must be NAME:FIELD"},
        {"a:a.npy[5],b:b.npy@a", "must be NAME:FIELD"},
        {"a:a.npy[5],b:b.npy[5]@a,c:c.npy[5]@b", "must be NAME:FIELD"},
        {"a:txt[5],b:b.npy[5]@a", "must be NAME:FIELD"},
        {"a:cls@mask", "must be NAME:FIELD"},
        {"a:png@boxes", "must be NAME:FIELD"},
        {"a:cls,b:CLS", "CLS is given twice"},
        {"a:cls,a:npy", "a"},
        {"a-b:cls", "a-b"},
        {"a:png@mask", "a mask needs an image"},
        {"a:a[1],b:b[1],c:c[1],d:d[1],e:e[1],f:f[1],g:g[1],h:h[1],i:i[1]", "more than 16 columns"},
        {"a123456789012345678901234567890:cls,b123456789012345678901234:txt[3]", "too long"},
    };
    const char *folder = t_folder();

    write_shard(folder, "a.tar", 0, 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[900];

        snprintf(text, sizeof(text), "webdataset %s fields=%s", folder, bad[i].fields);
        if (sluice_dataset_parse(text, &dataset) == SLUICE_OK) {
            T_FAIL_("%s is taken", text);
        }
        if (strstr(sluice_last_error(), bad[i].words) == NULL) {
            T_FAIL_("%s: %.900s", text, sluice_last_error());
        }
    }
}

static void fields_go_with_plain_shards_alone(void)
{
    const char *path = write_shard(t_folder(), "a.tar", 0, 1);

    check_fails(path, "fields=y:cls access=stream | batch 1", SLUICE_E_UNSUPPORTED,
                "fields= takes plain shards");
    check_fails("-", "fields=y:cls | batch 1", SLUICE_E_UNSUPPORTED, "fields= takes plain shards");
    check_fails(path, "fields=y:cls label=none | batch 1", SLUICE_E_INVALID,
                "fields= names all columns; leave image=, label= and index= out");
    check_fails(path, "fields=y:cls image=png | batch 1", SLUICE_E_INVALID,
                "fields= names all columns");
    check_fails(path, "fields=y:cls index=none | batch 1", SLUICE_E_INVALID,
                "fields= names all columns");
}

static void kinds_follow_from_what_fields_end_in(void)
{
    web_fields fields;

    T_OK(web_fields_parse("a:left.JPG,b:x.tar.gz[7],c:json[9],d:seg.png@mask,e:emb.npy", &fields));
    T_TRUE(fields.count == 5 && fields.column_count == 7);
    T_EQ(fields.fields[0].kind, WEB_IMAGE);
    T_STR(fields.fields[0].field, "left.JPG");
    T_TRUE(fields.fields[1].kind == WEB_BYTES && fields.fields[1].most == 7);
    T_TRUE(fields.fields[2].kind == WEB_BYTES && fields.fields[2].column == 3);
    T_TRUE(fields.fields[3].kind == WEB_MASK && fields.fields[3].column == 5);
    T_EQ(fields.fields[4].kind, WEB_ARRAY);
    T_EQ(web_fields_find(&fields, "LEFT.jpg"), 0);
    T_EQ(web_fields_find(&fields, "x.tar.gz"), 1);
    T_EQ(web_fields_find(&fields, "gz"), -1);
}

const t_test source_webfields_tests[] = {
    T_TEST(members_of_samples_are_columns),
    T_TEST(batches_are_those_of_one_worker),
    T_TEST(samples_need_no_image),
    T_TEST(samples_without_a_field_are_left_out),
    T_TEST(bad_members_are_bad_samples),
    T_TEST(numbers_and_fortran_order_are_read),
    T_TEST(arrays_may_differ_in_their_rows),
    T_TEST(rows_that_are_too_large_are_refused),
    T_TEST(arrays_may_have_the_rows_of_another_one),
    T_TEST(members_that_are_there_twice_are_bad_samples),
    T_TEST(a_shard_that_is_cut_off_is_refused),
    T_TEST(bad_lists_of_fields_are_refused),
    T_TEST(fields_go_with_plain_shards_alone),
    T_TEST(kinds_follow_from_what_fields_end_in),
    T_END,
};
