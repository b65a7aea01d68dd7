/* SPDX-License-Identifier: Apache-2.0 */
/* image_list of JSON lines: keys as columns, bad lines, and what the arguments declare. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

#ifdef SLI_HAVE_JANSSON
static sluice_status open_lines(const char *folder, const char *lines, const char *arguments,
                                sluice_dataset **dataset_out)
{
    char text[900];
    sluice_status st;

    write_list(folder, "list.jsonl", lines);
    snprintf(text, sizeof(text), "image_list %s/list.jsonl %s", folder, arguments);
    st = sluice_dataset_parse(text, dataset_out);
    return st == SLUICE_OK ? dataset_open(*dataset_out) : st;
}

/* All kinds of fields; keys in any order, and in objects. */
static void values_are_those_of_a_list(void)
{
    const char *folder = t_folder();
    engine_run run;
    sluice_dataset *dataset = NULL;

    write_pair(folder, "a.ppm", "m.pgm");
    T_OK(open_lines(
        folder,
        "{\"file\": \"a.ppm\", \"meta\": {\"kind\": \"dog\", \"w\": 0.1}, \"ok\": true, \"m\": "
        "\"m.pgm\", \"b\": [[0, 0, 4, 30], [10, 5, 30, 25.5]], \"c\": [\"x\", \"y\"], \"v\": "
        "[1, 2.5], \"t\": \"say \\\"hi\\\"\\n\\u00e4\"}\r\n\r\n"
        "{\"t\": \"\", \"v\": [], \"c\": [], \"b\": [], \"m\": \"m.pgm\", \"ok\": 7, "
        "\"meta.kind\": \"cat\", \"meta\": {\"w\": -3}, \"file\": \"a.ppm\"}",
        "fields=image=file,label:class=meta.kind,w:f32=meta.w,ok:u8,m:mask,b:boxes[3],"
        "c:class[3]@b,v:f32[2],t:text[12] | decode | batch 2",
        &dataset));
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), 1);
    T_EQ(*(const int32_t *)column_row(&run, "label", 1), 0);
    T_TRUE(*(const float *)column_row(&run, "w", 0) == 0.1F);
    T_TRUE(*(const float *)column_row(&run, "w", 1) == -3.0F);
    T_EQ(*(const uint8_t *)column_row(&run, "ok", 0), 1);
    T_EQ(*(const uint8_t *)column_row(&run, "ok", 1), 7);
    T_EQ(memcmp(column_row(&run, "b", 0), (const float[]){0, 0, 4, 30, 10, 5, 30, 25.5F}, 32), 0);
    T_EQ(memcmp(column_row(&run, "c", 0), (const int32_t[]){0, 1, 0}, 12), 0);
    T_EQ(memcmp(column_row(&run, "v", 0), (const float[]){1, 2.5F}, 8), 0);
    T_EQ(memcmp(column_row(&run, "t", 0), "say \"hi\"\n\xC3\xA4\0", 12), 0);
    T_EQ(*(const int32_t *)column_row(&run, "t_length", 0), 11);
    T_EQ(*(const int32_t *)column_row(&run, "b_length", 1), 0);
    T_EQ(*(const int32_t *)column_row(&run, "v_length", 1), 0);
    T_STR(name_of(dataset, 1), "a.ppm");
    close_run(&run);
}

/* Such files come with data: a path may not reach what lies beside it, but an absolute one may. */
static void paths_stay_in_the_folder(void)
{
    const char *folder = t_folder();
    char lines[900];
    sluice_dataset *dataset = NULL;
    engine_run run;

    T_EQ(mkdir(t_path(folder, "set"), 0777), 0);
    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "set/a..ppm", "set/m.pgm");
    snprintf(lines, sizeof(lines),
             "{\"image\": \"a..ppm\"}\n{\"image\": \"%s/a.ppm\"}\n{\"image\": \"../a.ppm\"}",
             folder);
    T_OK(open_lines(t_path(folder, "set"), lines, "fields=image | decode | batch 1", &dataset));
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_OK(next_batch(&run));
    check_read_fails(
        dataset, 2, SLUICE_E_CORRUPT,
        "../a.ppm: a path of JSON lines must be without .., in the folder of the list");
    close_run(&run);
}

/* The line is that of the file, whose empty lines are counted. */
static void bad_lines_are_bad_samples(void)
{
    static const refused_case bad[] = {
        {"{\"x\": \"abc\"}", "3: x: 'abc' must be a number of type f32"},
        {"{\"y\": 1}", "3: x: there is no value"},
        {"{\"x\": null}", "3: x: there is no value"},
        {"{\"x\": [1]}", "3: x: it is a list, and must be one value"},
        {"{\"x\": {\"a\": 1}}", "3: x: it holds an object, and must hold numbers or strings"},
        {"{\"x\": 1", "3: not JSON: "},
        {"[1]", "3: the line must be an object, {...}"},
        {"{\"x\": 1, \"x\": 2}", "3: not JSON: duplicate"},
        {"{\"x\": NaN}", "3: not JSON: "},
        {"!", "3: not JSON: "},
    };
    const char *folder = t_folder();
    char text[400];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        snprintf(text, sizeof(text), "{\"x\": 1}\n\n%s\n{\"x\": 2}\n", bad[i].text);
        kit_log_start(NULL, NULL);
        T_OK(open_lines(folder, text, "fields=x:f32", &dataset));
        T_CONTAINS(kit_log_stop(), "1 of 3 records are bad samples");
        check_read_fails(dataset, 1, SLUICE_E_CORRUPT, bad[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void what_a_field_cannot_hold_is_bad(void)
{
    static const struct {
        const char *field;
        const char *value;
        const char *words;
    } bad[] = {
        {"x:text[4]", "7", "x: it is a number, and must be a string"},
        {"x:text[4]", "\"12345\"", "x: the text has more than 4 bytes"},
        {"x:text[4]", "\"\\u0000\"", "not JSON: "},
        {"x:class[2]", "[\"a,b\"]", "must have no comma"},
        {"x:f32[2]", "[1, 2, 3]", "x: the array has more than 2 numbers"},
        {"x:f32[2]", "[1, {}]", "it holds an object"},
        {"x:i32", "true", "x: it is true, and must be a number or a string; a column of type u8"},
        {"x:f32", "false", "x: it is false, and must be a number or a string"},
        {"x:i64[2]", "[1, true]", "x: it is true, and must be a number"},
        {"x:class", "true", "x: it is true, and must be a number or a string"},
        {"x:text[4]", "true", "x: it is true or false, and must be a string"},
        {"x:class[4]", "[[\"a\", \"b\"]]", "it holds lists, and must hold numbers or strings"},
        {"x:f32[2]", "[[]]", "it holds an empty list"},
        {"x:f32[2]", "[null]", "it holds null, and must hold numbers or strings"},
        {"x:f32[2]", "[\"\"]", "x: a string in a list must not be empty"},
        {"x:class[2]", "[\"a\", \"\"]", "x: a string in a list must not be empty"},
        {"image,x:points[4]", "[1, 2, [3, 4]]", "x: it holds lists beside other values"},
        {"image,x:boxes[4]", "[[1, 2], 3, 4]", "x: it holds lists beside other values"},
        {"x:i32", "1.5", "x: '1.5' must be a number of type i32"},
        {"x:i64", "9223372036854775808", "not JSON: "},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[200];
        char field[60];

        snprintf(text, sizeof(text), "{\"image\": \"a\", \"x\": %s}\n", bad[i].value);
        snprintf(field, sizeof(field), "fields=%s", bad[i].field);
        T_STATUS(open_lines(folder, text, field, &dataset), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        T_CONTAINS(sluice_last_error(), "list.jsonl:1: ");
        sluice_dataset_destroy(dataset);
    }
}

/* Image and label are found without fields=, and other keys are said to be left out. */
static void usual_keys_need_no_declaration(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    write_pair(folder, "a.ppm", "m.pgm");
    kit_log_start(NULL, NULL);
    T_OK(open_lines(folder, "{\"label\": 3, \"caption\": \"x\", \"image\": \"a.ppm\", \"w\": 1}\n",
                    "", &dataset));
    T_CONTAINS(kit_log_stop(), "left out: keys caption, w; fields= declares columns of them");
    T_EQ(label_of(dataset, 0), 3);
    T_STR(name_of(dataset, 0), "a.ppm");
    sluice_dataset_destroy(dataset);
}

static void declarations_that_do_not_fit_are_refused(void)
{
    static const struct {
        const char *fields;
        const char *words;
    } bad[] = {
        {"", "the first line has neither image nor label; fields= must declare the columns, such "
             "as image=file_name,label:class; its keys are x"},
        {"fields=x", "'x' must be a column"},
        {"fields=x:f32,", "a field must be image, label, or NAME:KIND, with =KEY"},
        {"fields=x:f32,x:i32", "two columns have the name x"},
        {"fields=x:boxes[2]", "which the boxes of column x must follow"},
    };
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        T_STATUS(open_lines(folder, "{\"x\": 1}\n", bad[i].fields, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        sluice_dataset_destroy(dataset);
        dataset = NULL;
    }
    T_STATUS(open_lines(folder, "\n\n", "fields=x:f32", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the list is empty");
    write_list(folder, "list.tsv", "x:f32\n1\n");
    T_STATUS(
        sluice_dataset_parsef(&dataset, "image_list %s fields=x:f32", t_path(folder, "list.tsv")),
        SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "fields= needs JSON lines");
    sluice_dataset_destroy(dataset);
}

/* A line beyond the limit is a bad sample, and so is one of a depth beyond the parser's. */
static void lines_and_depths_are_bounded(void)
{
    enum { SIZE = (1 << 20) + 100 };
    const char *folder = t_folder();
    char *text = malloc(SIZE + 100);
    sluice_dataset *dataset = NULL;

    T_TRUE(text != NULL);
    if (text == NULL) {
        return;
    }
    memset(text, ' ', SIZE);
    strcpy(text + SIZE, "{\"x\": 1}\n{\"x\": 2}\n");
    T_OK(open_lines(folder, text, "fields=x:f32", &dataset));
    check_read_fails(dataset, 0, SLUICE_E_CORRUPT, "1: the line has 1048684 bytes, and must have");
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    memcpy(text, "{\"x\": ", 6);
    memset(text + 6, '[', 10000);
    strcpy(text + 10006, "\n{\"x\": 2}\n");
    T_OK(open_lines(folder, text, "fields=x:f32", &dataset));
    check_read_fails(dataset, 0, SLUICE_E_CORRUPT, "1: not JSON: maximum parsing depth");
    sluice_dataset_destroy(dataset);
    free(text);
}

#else
static void a_build_without_jansson_says_so(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    write_list(folder, "list.jsonl", "{\"label\": 1}\n");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.jsonl")),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "this build has no jansson");
}
#endif

const t_test json_lines_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(values_are_those_of_a_list),
    T_TEST(paths_stay_in_the_folder),
    T_TEST(bad_lines_are_bad_samples),
    T_TEST(what_a_field_cannot_hold_is_bad),
    T_TEST(usual_keys_need_no_declaration),
    T_TEST(declarations_that_do_not_fit_are_refused),
    T_TEST(lines_and_depths_are_bounded),
#else
    T_TEST(a_build_without_jansson_says_so),
#endif
    T_END,
};
