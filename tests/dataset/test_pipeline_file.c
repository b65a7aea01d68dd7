/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_dataset_parse_file(). */
#include <stdlib.h>
#include <sys/stat.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "testing.h"

#define SYNTHETIC "synthetic samples=12 shape=2,2,3 classes=5"

static char path[400];

/* Writes the file at `path`. */
static void write_pipeline(const char *text)
{
    snprintf(path, sizeof(path), "%s", t_path(t_folder(), "train.pipe"));
    t_write_file(path, text, strlen(text));
}

static void check_file(const char *text, const char *want)
{
    sluice_dataset *dataset = NULL;

    write_pipeline(text);
    T_OK(sluice_dataset_parse_file(path, &dataset));
    T_STR(described(dataset), want);
    sluice_dataset_destroy(dataset);
}

static void check_file_refused(sluice_status want, const char *words)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse_file(path, &dataset), want);
    T_CONTAINS(sluice_last_error(), path);
    T_CONTAINS(sluice_last_error(), words);
    CU_ASSERT_PTR_NULL(dataset);
}

static void a_file_is_read_as_its_text(void)
{
    check_file(SYNTHETIC, SYNTHETIC);
    check_file("# the source\n" SYNTHETIC "   # five classes\n| take 7\n\t| skip 2\n",
               SYNTHETIC " | take n=7 | skip n=2");
    check_file(SYNTHETIC "\r\n| take 7\r\n", SYNTHETIC " | take n=7");
    check_file("\xEF\xBB\xBF" SYNTHETIC, SYNTHETIC);
}

static void errors_name_file_line_and_column(void)
{
    char words[600];

    write_pipeline("# comment\n" SYNTHETIC "\n| tkae 7\n| skip 2\n");
    snprintf(words, sizeof(words),
             "%s:3:3: no stage 'tkae'; nearest is take; `sluice help stages` lists them\n"
             "    | tkae 7\n"
             "      ^",
             path);
    check_file_refused(SLUICE_E_INVALID, words);
    write_pipeline(SYNTHETIC "\n| take\n\n\n");
    check_file_refused(SLUICE_E_INVALID, ":2:7: take: n is missing");
    write_pipeline("\xEF\xBB\xBF\tsynthetic | tkae 3"); /* a tab is one column */
    check_file_refused(SLUICE_E_INVALID, ":1:14: no stage 'tkae'");
    write_pipeline("image_folder 'Größe 図' | tkae 3"); /* so is a character of several bytes */
    check_file_refused(SLUICE_E_INVALID, ":1:26: no stage 'tkae'");
    write_pipeline("");
    check_file_refused(SLUICE_E_INVALID, ":1:1: the name of a source must be here");
}

static void files_that_hold_no_text_are_refused(void)
{
    char *large = malloc((1 << 20) + 1);

    snprintf(path, sizeof(path), "%s", t_folder());
    check_file_refused(SLUICE_E_INVALID, "not a regular file; it must be a text of stages");
    strcat(path, "/missing");
    check_file_refused(SLUICE_E_IO, "No such file");
    T_EQ(mkfifo(path, 0600), 0); /* without a writer, which open() would wait for */
    check_file_refused(SLUICE_E_INVALID, "not a regular file; it must be a text of stages");
    T_EQ(remove(path), 0);
    t_write_file(path, SYNTHETIC "\0| take 7", sizeof(SYNTHETIC "\0| take 7") - 1);
    check_file_refused(SLUICE_E_INVALID, "has a zero byte; it must be a text of stages");
    t_write_file(path, "\x89PNG\r\n\x1a\n", 8); /* binary, without a zero byte so far */
    check_file_refused(SLUICE_E_INVALID, ":1:1: no stage '\\x89PNG'");
    T_TRUE(large != NULL);
    memset(large, ' ', (1 << 20) + 1);
    memcpy(large, SYNTHETIC, strlen(SYNTHETIC));
    t_write_file(path, large, (1 << 20) + 1);
    check_file_refused(SLUICE_E_INVALID, "larger than 1048576 bytes; it must be a text");
    large[1 << 20] = '\0';
    check_file(large, SYNTHETIC);
    free(large);
}

static void wrong_arguments_are_refused(void)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse_file(NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse_file("x", NULL), SLUICE_E_INVALID);
}

static void running_out_of_memory_is_an_error(void)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    write_pipeline(SYNTHETIC);
    for (; st == SLUICE_E_NO_MEMORY && passes < 100; passes++) {
        sli_alloc_fail_after(passes);
        st = sluice_dataset_parse_file(path, &dataset);
        sli_alloc_fail_after(-1);
    }
    T_OK(st);
    T_TRUE(passes > 2);
    sluice_dataset_destroy(dataset);
}

const t_test pipeline_file_tests[] = {
    T_TEST(a_file_is_read_as_its_text),          T_TEST(errors_name_file_line_and_column),
    T_TEST(files_that_hold_no_text_are_refused), T_TEST(wrong_arguments_are_refused),
    T_TEST(running_out_of_memory_is_an_error),   T_END,
};
