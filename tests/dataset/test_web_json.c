/* SPDX-License-Identifier: Apache-2.0 */
/* webdataset: columns at paths of a JSON member. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "source_kit.h"
#include "tar_kit.h"
#include "testing.h"

#ifdef SLI_HAVE_JANSSON
/* A shard of samples 0, 1, ... with these JSON members and a number. */
static const char *write_objects(const char *folder, const char *const *objects, uint32_t count)
{
    static char path[500];
    tar_maker tar = {0};

    for (uint32_t i = 0; i < count; i++) {
        char name[40];
        char number[20];

        snprintf(name, sizeof(name), "s/%u.cls", i);
        snprintf(number, sizeof(number), "%u", i);
        tar_add_text(&tar, name, number);
        snprintf(name, sizeof(name), i % 2 == 0 ? "s/%u.json" : "s/%u.JSON", i);
        tar_add_text(&tar, name, objects[i]);
    }
    snprintf(path, sizeof(path), "%s", t_path(folder, "a.tar"));
    tar_write(&tar, path);
    tar_free(&tar);
    return path;
}

/* All kinds, texts of several lines, elements of lists, and members in two positions of fields=. */
static void values_are_those_of_a_list(void)
{
    static const char *const objects[] = {
        "{\"kind\": \"dog\",\n \"meta\": {\"n\": -7, \"w\": 0.5, \"ok\": true},\n"
        " \"c\": [\"x\", \"y\"],\n"
        " \"list\": [{\"v\": [1, 2.5]}, {\"v\": [3]}], \"t\": \"say \\\"hi\\\"\\n\\u00e4\"}\n",
        "{\"kind\": \"cat\", \"meta\": {\"n\": 9, \"w\": 2, \"ok\": 7}, \"c\": [],"
        " \"list\": [{\"v\": []}, {\"v\": [8, 9]}], \"t\": \"\"}",
    };
    sluice_dataset *dataset = shards_dataset(
        write_objects(t_folder(), objects, 2),
        "fields=label:class=json.kind,number:cls,n:json.meta.n,w:f32=json.meta.w,ok:u8=json.meta."
        "ok,"
        "c:class[3]=json.c,v:f32[2]=json.list.1.v,t:text[12]=json.t | batch 2");
    engine_run run;

    check_class(dataset, 0, "cat");
    check_class(dataset, 1, "dog");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), 1);
    T_EQ(*(const int32_t *)column_row(&run, "label", 1), 0);
    T_EQ(*(const int32_t *)column_row(&run, "number", 1), 1);
    T_EQ(*(const int32_t *)column_row(&run, "n", 0), -7);
    T_TRUE(*(const float *)column_row(&run, "w", 0) == 0.5F);
    T_EQ(*(const uint8_t *)column_row(&run, "ok", 0), 1);
    T_EQ(*(const uint8_t *)column_row(&run, "ok", 1), 7);
    T_EQ(memcmp(column_row(&run, "c", 0), (const int32_t[]){0, 1, 0}, 12), 0);
    T_EQ(memcmp(column_row(&run, "v", 0), (const float[]){3, 0}, 8), 0);
    T_EQ(memcmp(column_row(&run, "v", 1), (const float[]){8, 9}, 8), 0);
    T_EQ(*(const int32_t *)column_row(&run, "v_length", 0), 1);
    T_EQ(memcmp(column_row(&run, "t", 0), "say \"hi\"\n\xC3\xA4\0", 12), 0);
    close_run(&run);
}

/* Boxes and what is tied to them follow the image, also as columns of JSON after others. */
static void boxes_follow_the_image(void)
{
    const char *folder = t_folder();
    char path[500];
    tar_maker tar = {0};
    sluice_dataset *dataset;
    engine_run run;

    tar_add(&tar, "0.ppm", '0', "P6 4 2 255\n012345678901234567890123", 35);
    tar_add_text(&tar, "0.json", "{\"b\": [[0, 0, 1, 1], [1, 0, 3, 2]], \"c\": [5, 6]}");
    snprintf(path, sizeof(path), "%s", t_path(folder, "a.tar"));
    tar_write(&tar, path);
    tar_free(&tar);
    dataset = shards_dataset(path, "fields=b:coco[2]=json.b,c:i32[2]@b=json.c,image:ppm | decode | "
                                   "crop 2,3 top=0 left=1 | batch 1");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "b_length", 0), 1);
    T_EQ(memcmp(column_row(&run, "b", 0), (const float[]){0, 0, 3, 2, 0, 0, 0, 0}, 32), 0);
    T_EQ(*(const int32_t *)column_row(&run, "c", 0), 6);
    close_run(&run);
}

static void bad_values_are_bad_samples(void)
{
    static const struct {
        const char *object;
        const char *words;
    } bad[] = {
        {"", "not JSON"},
        {"{\"a\": {\"b\": 1}", "not JSON"},
        {"[1]", "it must be an object, {...}"},
        {"{\"a\": 1, \"a\": 2}", "not JSON: duplicate object key"},
        {"{}", "a.b: there is no value"},
        {"{\"a\": {}}", "a.b: there is no value"},
        {"{\"a\": {\"b\": null}}", "a.b: there is no value"},
        {"{\"a\": 7}", "a.b: there is no value"},
        {"{\"a\": [1, 2]}", "a.b: there is no value"},
        {"{\"a\": {\"b\": true}}", "a.b: it is true, and must be a number or a string"},
        {"{\"a\": {\"b\": [1]}}", "a.b: it is a list, and must be one value"},
        {"{\"a\": {\"b\": {}}}", "a.b: it holds an object"},
        {"{\"a\": {\"b\": \"x\"}}", "a.b: "},
        {"{\"a\": {\"b\": 1.5}}", "a.b: "},
        {"{\"a\": {\"b\": 2147483648}}", "a.b: "},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *objects[] = {"{\"a\": {\"b\": 3}}", bad[i].object};
        sluice_dataset *dataset =
            shards_dataset(write_objects(folder, objects, 2), "fields=x:json.a.b,y:cls | batch 1");
        int32_t values[2] = {0, 0};
        void *columns[] = {&values[0], &values[1]};

        T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
        T_EQ(values[0], 3);
        T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        T_CONTAINS(sluice_last_error(), "member .json in the shard ");
        T_CONTAINS(sluice_last_error(), "a.tar");
        sluice_dataset_destroy(dataset);
    }
}

/* Limits of size and depth. */
static void hostile_objects_are_bad_samples(void)
{
    enum { LARGE = (1 << 20) + 1, DEEP = 100000 };
    char *large = malloc(LARGE + 1);
    char *deep = malloc(DEEP + 1);
    const char *objects[] = {"{\"a\": 1}", large, deep};
    sluice_dataset *dataset;
    int32_t value;
    void *columns[] = {&value};

    memset(large, ' ', LARGE);
    memcpy(large, "{}", 2);
    large[LARGE] = '\0';
    memset(deep, '[', DEEP);
    memcpy(deep, "{\"a\":", 5);
    deep[DEEP] = '\0';
    dataset = shards_dataset(write_objects(t_folder(), objects, 3), "fields=x:json.a | batch 1");
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "it has 1048577 bytes, and must have at most 1048576");
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 2, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "not JSON: maximum parsing depth reached");
    sluice_dataset_destroy(dataset);
    free(large);
    free(deep);
}

/* Classes are numbered by all good samples, or by a file. */
static void classes_have_numbers(void)
{
    static const char *const objects[] = {"{\"k\": \"b\"}", "{\"k\": true}", "{\"k\": \"c\"}",
                                          "{\"k\": \"a\"}"};
    const char *folder = t_folder();
    const char *path = write_objects(folder, objects, 4);
    char arguments[600];
    sluice_dataset *dataset = shards_dataset(path, "fields=k:class=json.k | batch 1");
    int32_t value;
    void *columns[] = {&value};

    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(value, 1);
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    check_class(dataset, 2, "c");
    sluice_dataset_destroy(dataset);
    write_list(folder, "classes.txt", "c\nb\n");
    snprintf(arguments, sizeof(arguments), "fields=k:class=json.k classes=%s/classes.txt | batch 1",
             folder);
    dataset = shards_dataset(path, arguments);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(value, 1);
    T_OK(sluice_dataset_get(dataset, 1, 0, 2, columns, NULL));
    T_EQ(value, 0);
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 3, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "k: ");
    sluice_dataset_destroy(dataset);
}

/* The classes of a dataset are those of the column label, in whichever place of fields= it is. */
static void classes_are_those_of_label(void)
{
    static const struct {
        const char *fields;
        const char *first; /* NULL: label has numbers, and there are no names */
    } cases[] = {
        {"k:class=json.k,label:cls", NULL},      {"label:cls,k:class=json.k", NULL},
        {"k:class=json.k,label:json.n", NULL},   {"k:class=json.k,label:class=json.m", "m0"},
        {"k:class=json.k,m:class=json.m", "k0"},
    };
    static const char *const objects[] = {"{\"k\": \"k0\", \"m\": \"m0\", \"n\": 1}"};
    const char *path = write_objects(t_folder(), objects, 1);

    for (size_t i = 0; i < COUNT(cases); i++) {
        sluice_dataset *dataset =
            parsedf("webdataset %s fields=%s | batch 1", path, cases[i].fields);
        char *name = NULL;

        if (cases[i].first != NULL) {
            check_class(dataset, 0, cases[i].first);
        } else {
            T_STATUS(sluice_dataset_class_name(dataset, 0, &name), SLUICE_E_UNSUPPORTED);
        }
        sluice_dataset_destroy(dataset);
    }
}

/* Without a good sample there are no classes: the error is that of the values. */
static void only_bad_samples_are_an_error(void)
{
    static const char *const objects[] = {"{\"k\": [\"a\", \"\"]}", "{\"k\": [\"a\", null]}"};
    sluice_dataset *dataset = NULL;
    char text[600];

    snprintf(text, sizeof(text), "webdataset %s fields=k:class[4]=json.k | batch 1",
             write_objects(t_folder(), objects, 2));
    T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "a.tar: k: it holds null, and must hold numbers or strings");
}

/* Other names are other numbers: a run is not resumed with them. */
static void names_are_part_of_the_identity(void)
{
    const char *folder = t_folder();
    uint64_t names[3];

    for (int i = 0; i < 3; i++) {
        const char *objects[] = {"{\"k\": \"b\"}", i == 1 ? "{\"k\": \"a\"}" : "{\"k\": \"c\"}"};

        names[i] = names_of_run(
            shards_dataset(write_objects(folder, objects, 2), "fields=k:class=json.k | batch 1"));
    }
    T_TRUE(names[0] != names[1]);
    T_EQ(names[0], names[2]);
}

/* A list and JSON members that name the same classes give them the same numbers. */
static void classes_are_those_of_a_list_beside_them(void)
{
    static const char *const objects[] = {"{\"k\": \"a\", \"n\": 1}", "{\"k\": \"b\", \"n\": 2}"};
    const char *folder = t_folder();
    const char *path = write_objects(folder, objects, 2);
    sluice_dataset *dataset;
    int32_t values[2];
    void *columns[] = {&values[0], &values[1]};

    write_list(folder, "l.tsv", "label:class\tn:i32\nb\t7\na\t8\n");
    dataset = parsedf("concat (image_list %s/l.tsv) "
                      "(webdataset %s fields=label:class=json.k,n:json.n) | batch 1",
                      folder, path);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_TRUE(values[0] == 1 && values[1] == 7);
    T_OK(sluice_dataset_get(dataset, 1, 0, 3, columns, NULL));
    T_TRUE(values[0] == 1 && values[1] == 2);
    sluice_dataset_destroy(dataset);
}

static void bad_declarations_are_refused(void)
{
    static const struct {
        const char *fields;
        const char *words;
    } bad[] = {
        {"fields=x:json", "'x:json' must be NAME:FIELD"},
        {"fields=x:json.", "'x:json.' must be NAME:FIELD"},
        {"fields=x:f32=json", "must be NAME:FIELD"},
        {"fields=x:f32=a.b", "must be NAME:FIELD"},
        {"fields=x:f32=.json.a", "must be NAME:FIELD"},
        {"fields=x:f32=a/b.json.a", "must be NAME:FIELD"},
        {"fields=x:what=json.a", "must be a column"},
        {"fields=x:image=json.a", "images and masks must be members of the sample"},
        {"fields=x:mask=json.a", "images and masks must be members of the sample"},
        {"fields=j:json[9],x:json.a", "json is given twice"},
        {"fields=x:json.a,j:JSON[9]", "JSON is given twice"},
        {"fields=x:json.a,x:json.b", "two columns have the name x"},
        {"fields=b:boxes[2]=json.a", "the boxes or points of b need an image"},
        {"fields=p:points[2]=json.a,y:cls", "the boxes or points of p need an image"},
        {"fields=c:i32[2]@b=json.a", "there is no column b of boxes"},
        {"fields=x:f32[2]=json.a,y:f32[2]=json.b,z:f32[2]=json.c,a:f32[2]=json.d,b:f32[2]=json.e,"
         "c:f32[2]=json.f,d:f32[2]=json.g,e:f32[2]=json.h,f:json.i",
         "more than 16 columns"},
        {"fields=x:json.a classes=c.txt", "classes= is for one column of kind class"},
        {"fields=x:class=json.a,y:class=json.b classes=c.txt", "and there are 2"},
        {"classes=c.txt", "classes= is for a column of kind class in fields="},
        {"fields=x:class=json.a classes=/nonexistent", "/nonexistent"},
    };
    static const char *const objects[] = {"{\"a\": 1}"};
    const char *path = write_objects(t_folder(), objects, 1);
    const int before = open_files();

    for (size_t i = 0; i < COUNT(bad); i++) {
        sluice_dataset *dataset = NULL;
        char text[900];

        snprintf(text, sizeof(text), "webdataset %s %s", path, bad[i].fields);
        if (sluice_dataset_parse(text, &dataset) == SLUICE_OK ||
            strstr(sluice_last_error(), bad[i].words) == NULL) {
            T_FAIL_("%s: %.900s", text, sluice_last_error());
        }
    }
    T_EQ(open_files(), before);
}

/* Two members, one of a longer name, and bytes of a member whose name only begins as a path. */
static void members_are_told_apart(void)
{
    const char *folder = t_folder();
    char path[500];
    tar_maker tar = {0};
    sluice_dataset *dataset;
    int32_t values[3];
    uint8_t bytes[4];
    void *columns[] = {&values[0], &values[1], bytes, &values[2]};

    tar_add_text(&tar, "0.json", "{\"a\": 1}");
    tar_add_text(&tar, "0.info.json", "{\"a\": 2}");
    tar_add_text(&tar, "0.json.a", "xyz");
    snprintf(path, sizeof(path), "%s", t_path(folder, "a.tar"));
    tar_write(&tar, path);
    tar_free(&tar);
    dataset = shards_dataset(path, "fields=x:json.a,y:info.json.a,z:json.a[4] | batch 1");
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_EQ(values[0], 1);
    T_EQ(values[1], 2);
    T_EQ(values[2], 3);
    T_EQ(memcmp(bytes, "xyz", 4), 0);
    sluice_dataset_destroy(dataset);
}
#else
static void it_says_that_it_needs_jansson(void)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse("webdataset a.tar fields=label:json.a.b", &dataset),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "this build has no jansson to read JSON");
}
#endif

const t_test web_json_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(values_are_those_of_a_list),
    T_TEST(boxes_follow_the_image),
    T_TEST(bad_values_are_bad_samples),
    T_TEST(hostile_objects_are_bad_samples),
    T_TEST(classes_have_numbers),
    T_TEST(classes_are_those_of_label),
    T_TEST(only_bad_samples_are_an_error),
    T_TEST(names_are_part_of_the_identity),
    T_TEST(classes_are_those_of_a_list_beside_them),
    T_TEST(bad_declarations_are_refused),
    T_TEST(members_are_told_apart),
#else
    T_TEST(it_says_that_it_needs_jansson),
#endif
    T_END,
};
