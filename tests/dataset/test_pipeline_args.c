/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of pipelines, and ${NAME} with defaults. */
#include <stdlib.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_PNG)
#define EXTENSIONS "jpg,jpeg,jpe,jfif,jif,png,bmp,gif,webp,tif,tiff,ppm,pgm,pbm,pnm"
#else
#define EXTENSIONS "jpg,jpeg,jpe,jfif,jif,bmp,gif,webp,tif,tiff,ppm,pgm,pbm,pnm"
#endif

#define REST " extensions=" EXTENSIONS " cache=keep recursive=false"

/* Parses with one argument. */
static sluice_status parse_one(const char *text, const char *name, const char *value,
                               sluice_dataset **dataset_out)
{
    return sluice_dataset_parse_args(text, &name, &value, 1, dataset_out);
}

static void check_one(const char *text, const char *name, const char *value, const char *want)
{
    sluice_dataset *dataset = NULL;

    T_OK(parse_one(text, name, value, &dataset));
    T_STR(described(dataset), want);
    sluice_dataset_destroy(dataset);
}

static void check_args_refused(const char *text, const char *const *names,
                               const char *const *values, size_t count, const char *words)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse_args(text, names, values, count, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
    CU_ASSERT_PTR_NULL(dataset);
}

static void check_one_refused(const char *text, const char *name, const char *value,
                              const char *words)
{
    check_args_refused(text, &name, &value, 1, words);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void a_value_is_one_word_whatever_it_holds(void)
{
    static const struct {
        const char *value;
        const char *described;
    } values[] = {
        {"a b", "'a b'"},
        {"it's \"x\"", "'it'\"'\"'s \"x\"'"},
        {"a | take 3", "'a | take 3'"},
        {"# no comment", "'# no comment'"},
        {"two\nlines", "'two\nlines'"},
        {"${HOME}", "'${HOME}'"},
        {"cache=drop", "'cache=drop'"},
        {"(x)", "'(x)'"},
        {"", "''"},
        {"\xff\x01", "'\xff\x01'"},
    };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char want[200];

        snprintf(want, sizeof(want), "image_folder dir=%s" REST, values[i].described);
        check_one("image_folder ${DIR}", "DIR", values[i].value, want);
        check_one("image_folder \"${DIR}\"", "DIR", values[i].value, want);
    }
    check_one("image_folder /data/${DIR}/x", "DIR", "a b", "image_folder dir='/data/a b/x'" REST);
    check_one("${A} 5", "A", "synthetic", "synthetic samples=5 shape=224,224,3 classes=10");
    check_one_refused("synthetic | ${A}", "A", "take 3 | skip 2", "no stage 'take 3 | skip 2'");
}

static void arguments_come_before_the_environment(void)
{
    static const char *const names[] = {"SLUICE_TEST_A", "B"};
    static const char *const values[] = {"given", "second"};
    sluice_dataset *dataset = NULL;

    setenv("SLUICE_TEST_A", "environment", 1);
    setenv("SLUICE_TEST_C", "c", 1);
    T_OK(sluice_dataset_parse_args("image_folder ${SLUICE_TEST_A}/${B}/${SLUICE_TEST_C}/${B}",
                                   names, values, 2, &dataset));
    T_STR(described(dataset), "image_folder dir=given/second/c/second" REST);
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    T_OK(sluice_dataset_parse_args("image_folder ${SLUICE_TEST_A}", NULL, NULL, 0, &dataset));
    T_STR(described(dataset), "image_folder dir=environment" REST);
    sluice_dataset_destroy(dataset);
    unsetenv("SLUICE_TEST_A");
    unsetenv("SLUICE_TEST_C");
}

static void arguments_that_the_text_does_not_use_are_refused(void)
{
    check_one_refused("image_folder ${DIR} | take ${N:-3}", "DRI", "x", "${DIR} has no value");
    setenv("SLUICE_TEST_DIR", "x", 1);
    check_one_refused("image_folder ${SLUICE_TEST_DIR} | take ${N:-3}", "DRI", "x",
                      "argument DRI: the pipeline has no ${DRI}, it has ${SLUICE_TEST_DIR} ${N}");
    unsetenv("SLUICE_TEST_DIR");
    check_one_refused("synthetic", "DIR", "x", "argument DIR: the pipeline has no ${DIR}; outside");
    check_one_refused("image_folder '${DIR}'", "DIR", "x", "the pipeline has no ${DIR}");
    check_one_refused("synthetic # ${DIR}", "DIR", "x", "the pipeline has no ${DIR}");
}

static void wrong_arguments_are_refused(void)
{
    static const char *const twice[] = {"A", "B", "A"};
    static const char *const three[] = {"x", "y", "x"};
    static const char *const null_in[] = {"A", NULL};
    static const char *const bad_names[] = {"", "a b", "1a", "a-b", "A}", "ä", "${A}"};
    const char *many[257];
    char name[200];
    sluice_dataset *dataset = NULL;

    check_args_refused("image_folder ${A}/${B}", twice, three, 3, "argument A is given twice");
    check_args_refused("image_folder ${A}", null_in, three, 2, "argument 1: its name is NULL");
    check_args_refused("image_folder ${A}/${B}", twice, null_in, 2,
                       "argument B: its value is NULL");
    check_args_refused("synthetic", NULL, three, 1, "names or values is NULL");
    check_args_refused("synthetic", twice, NULL, 1, "names or values is NULL");
    for (size_t i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++) {
        check_one_refused("synthetic", bad_names[i], "x", "must be a name of at most 127 letters");
    }
    for (size_t i = 0; i < 257; i++) {
        many[i] = "A";
    }
    check_args_refused("synthetic", many, many, 257,
                       "257 arguments of a pipeline; there must be at most 256");
    check_args_refused("synthetic", many, many, SIZE_MAX, "there must be at most 256");
    memset(name, 'a', sizeof(name));
    name[128] = '\0';
    check_one_refused("synthetic", name, "x", "must be a name of at most 127 letters");
    T_STATUS(sluice_dataset_parse_args(NULL, NULL, NULL, 0, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse_args("synthetic", NULL, NULL, 0, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse_file_args(NULL, NULL, NULL, 0, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse_file_args("x", NULL, NULL, 0, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse_file_args("x", NULL, NULL, 1, &dataset), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(dataset);
}

static void all_arguments_that_fit_are_taken(void)
{
    enum { MOST = 256 };
    static char names[MOST][8];
    static char text[MOST * 12 + 32] = "webdataset ";
    const char *pointers[MOST];
    sluice_dataset *dataset = NULL;

    for (int i = 0; i < MOST; i++) {
        snprintf(names[i], sizeof(names[i]), "V%d", i);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s${V%d}", i > 0 ? "," : "", i);
        pointers[i] = names[i];
    }
    T_OK(sluice_dataset_parse_args(text, pointers, pointers, MOST, &dataset));
    T_CONTAINS(described(dataset), "V0,V1,V2,");
    T_CONTAINS(described(dataset), ",V254,V255 ");
    sluice_dataset_destroy(dataset);
}

static void a_value_longer_than_a_word_is_refused(void)
{
    static char value[5001];

    memset(value, 'v', sizeof(value) - 1);
    check_one_refused("image_folder ${A}", "A", value, "a word of more than 4095 bytes");
}

/* ---- defaults -------------------------------------------------------------------------------- */

static void a_default_stands_for_what_is_unset_or_empty(void)
{
    static const char text[] = "image_folder ${DIR:-/data sets/a|b} | take ${N:-7}";
    sluice_dataset *dataset = parsed(text);

    T_STR(described(dataset), "image_folder dir='/data sets/a|b'" REST " | take n=7");
    sluice_dataset_destroy(dataset);
    check_one(text, "N", "8", "image_folder dir='/data sets/a|b'" REST " | take n=8");
    check_one(text, "DIR", "", "image_folder dir='/data sets/a|b'" REST " | take n=7");
    dataset = parsed("image_folder \"x${A:-' # }\"${B:-}y");
    T_STR(described(dataset), "image_folder dir='x'\"'\"' # y'" REST);
    sluice_dataset_destroy(dataset);
    dataset = parsed("image_folder ${A:-}");
    T_STR(described(dataset), "image_folder dir=''" REST);
    sluice_dataset_destroy(dataset);
    dataset = parsed("image_folder ${A:-:-b}");
    T_STR(described(dataset), "image_folder dir=:-b" REST);
    sluice_dataset_destroy(dataset);
}

static void wrong_defaults_are_refused(void)
{
    check_refused("image_folder ${A:-${B}}", "a default is plain text, without braces and dollar "
                                             "signs; nothing can be nested in it\n"
                                             "    image_folder ${A:-${B}}\n"
                                             "                 ^");
    check_refused("webdataset ${A:-x-{00..17}.tar}", "a default is plain text");
    check_refused("image_folder ${A:-$B}", "a default is plain text");
    check_refused("image_folder ${A:-x", "this ${NAME:-DEFAULT} has no closing brace");
    check_refused("image_folder ${A:x}", "must begin ${NAME} or ${NAME:-DEFAULT}");
    check_refused("image_folder ${A-x}", "must begin ${NAME} or ${NAME:-DEFAULT}");
    check_refused("image_folder ${:-x}", "must begin ${NAME} or ${NAME:-DEFAULT}");
    check_refused("image_folder ${A B}", "must begin ${NAME} or ${NAME:-DEFAULT}");
    check_refused("image_folder ${1}", "must begin ${NAME} or ${NAME:-DEFAULT}");
}

static void a_variable_without_a_value_says_how_to_give_it(void)
{
    check_refused("image_folder ${SLUICE_NO_SUCH}",
                  "${SLUICE_NO_SUCH} has no value; give it as an argument (--arg SLUICE_NO_SUCH "
                  "VALUE, sluice_dataset_parse_args()), set the environment variable "
                  "SLUICE_NO_SUCH, or write ${SLUICE_NO_SUCH:-DEFAULT}\n"
                  "    image_folder ${SLUICE_NO_SUCH}\n"
                  "                 ^");
}

/* ---- files ----------------------------------------------------------------------------------- */

static void files_take_arguments(void)
{
    static const char name[] = "DIR";
    static const char value[] = "my pictures";
    const char *const names[] = {name};
    const char *const values[] = {value};
    char path[400];
    char words[600];
    sluice_dataset *dataset = NULL;

    snprintf(path, sizeof(path), "%s", t_path(t_folder(), "train.pipe"));
    t_write_file(path, "image_folder ${DIR}\n| take 3\n", 29);
    T_OK(sluice_dataset_parse_file_args(path, names, values, 1, &dataset));
    T_STR(described(dataset), "image_folder dir='my pictures'" REST " | take n=3");
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    T_STATUS(sluice_dataset_parse_file_args(path, NULL, NULL, 0, &dataset), SLUICE_E_INVALID);
    snprintf(words, sizeof(words), "%s:1:14: ${DIR} has no value", path);
    T_CONTAINS(sluice_last_error(), words);
    t_write_file(path, "synthetic\n", 10);
    T_STATUS(sluice_dataset_parse_file_args(path, names, values, 1, &dataset), SLUICE_E_INVALID);
    snprintf(words, sizeof(words), "%s: argument DIR: the pipeline has no ${DIR}", path);
    T_CONTAINS(sluice_last_error(), words);
    CU_ASSERT_PTR_NULL(dataset);
}

const t_test pipeline_args_tests[] = {
    T_TEST(a_value_is_one_word_whatever_it_holds),
    T_TEST(arguments_come_before_the_environment),
    T_TEST(arguments_that_the_text_does_not_use_are_refused),
    T_TEST(wrong_arguments_are_refused),
    T_TEST(all_arguments_that_fit_are_taken),
    T_TEST(a_value_longer_than_a_word_is_refused),
    T_TEST(a_default_stands_for_what_is_unset_or_empty),
    T_TEST(wrong_defaults_are_refused),
    T_TEST(a_variable_without_a_value_says_how_to_give_it),
    T_TEST(files_take_arguments),
    T_END,
};
