/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline texts with values: by printf's conversions, and by {}. */
#include <math.h>
#include <string.h>

#include "alloc_int.h"
#include "comma_locale.h"
#include "dataset_kit.h"
#include "testing.h"

/* The dataset must describe itself as a text that contains `words`; it is freed. */
static void check_described(sluice_dataset *dataset, const char *words)
{
    char *text = NULL;

    T_OK(sluice_dataset_describe(dataset, &text));
    T_CONTAINS(text, words);
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

static void every_conversion_gives_its_value(void)
{
    sluice_dataset *dataset = NULL;
    const size_t take = 9;

    T_OK(sluice_dataset_parsef(&dataset, "synthetic %llu %d,%u,3 classes=%lu | shuffle seed=%lld",
                               50ULL, 8, 9U, 10UL, 7LL));
    T_OK(sluice_dataset_addf(dataset, "take %zu | skip %ld | resize %u filter=%s", take, 2L, 4U,
                             "area"));
    T_OK(sluice_dataset_addf(dataset, "color_jitter %g %g", 0.1, 1e-3));
    check_described(dataset, "seed=7");
}

static void numbers_are_written_in_no_locale(void)
{
    sluice_dataset *dataset = NULL;

    T_NEEDS(kit_comma_begin(), "this C library has no locale with a decimal comma");
    T_OK(sluice_dataset_parsef(&dataset, "synthetic | random_invert %g", 0.1));
    kit_comma_end();
    check_described(dataset, "random_invert p=0.1");
}

/* Numbers that need 17 digits come back as themselves. */
static void reals_keep_all_their_digits(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "synthetic | random_invert %g", 0.1 + 0.2));
    check_described(dataset, "0.30000000000000004");
}

/* Texts that would be something else if they were parsed. */
static const char *const hostile[] = {
    "a b",     "a|b", "a | resize 3", "it's",   "'",   "''",    "a\"b", "#no comment", "a # b",
    "${HOME}", "$",   "%s%n%d",       "a=b",    "(a)", ")",     "a\nb", "\\",          "{}",
    " ",       "\t",  "\xC3\xBC x",   "'a'\"'", ",",   "a:b,c",
};

static void texts_are_never_parsed(void)
{
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        const sluice_value value = {.type = SLUICE_VALUE_TEXT, .text = hostile[i]};
        sluice_dataset *by_format = NULL;
        sluice_dataset *by_values = NULL;
        sluice_dataset *by_args = NULL;
        char *texts[3] = {NULL};

        T_OK(sluice_dataset_parsef(&by_format, "image_folder %s|take 1", hostile[i]));
        T_OK(sluice_dataset_parse_values("image_folder dir={} | take 1", &value, 1, &by_values));
        T_OK(sluice_dataset_parse_args("image_folder ${D} | take 1", (const char *const[]){"D"},
                                       &hostile[i], 1, &by_args));
        T_OK(sluice_dataset_describe(by_format, &texts[0]));
        T_OK(sluice_dataset_describe(by_values, &texts[1]));
        T_OK(sluice_dataset_describe(by_args, &texts[2]));
        T_STR(texts[0], texts[2]);
        T_STR(texts[1], texts[2]);
        for (int k = 0; k < 3; k++) {
            sluice_string_free(texts[k]);
        }
        sluice_dataset_destroy(by_format);
        sluice_dataset_destroy(by_values);
        sluice_dataset_destroy(by_args);
    }
}

/* Each refusal names the value, and shows the text with a caret. */
static void refused_formats_say_why(void)
{
    const char *volatile none = NULL; /* unseen by the compiler, which would refuse it */
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parsef(&dataset, "image_folder '%s'", "a"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "value 1 (%s) must not be in quotes");
    T_CONTAINS(sluice_last_error(), "image_folder '%s'\n");
    T_STATUS(sluice_dataset_parsef(&dataset, "synthetic # %d\n", 1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must not be in a comment");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_folder %d%s", 1, "a"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "value 2 (%s) must be a whole argument");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_folder %s/train", "a"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "whole argument");
    T_STATUS(sluice_dataset_parsef(&dataset, "%s", "synthetic"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a text is neither a stage");
    T_STATUS(sluice_dataset_parsef(&dataset, "concat ( %s)", "synthetic"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a text is neither a stage");
    T_STATUS(sluice_dataset_parsef(&dataset, "synthetic | %s", "shuffle"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a text is neither a stage");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_folder %s", none), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "value 1 is NULL");
    T_STATUS(sluice_dataset_parsef(&dataset, "synthetic | random_invert %g", (double)NAN),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must be finite");
    T_STATUS(sluice_dataset_parsef(&dataset, "synthetic %d", -1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "synthetic -1\n"); /* the text with its values */
    T_TRUE(dataset == NULL);
}

/* Conversions that compilers know and that texts have no use for; the format is not a constant, so
 * that the compiler does not see it. */
static void other_conversions_are_refused(void)
{
    static const char *const formats[] = {"synthetic %x",   "synthetic %5d", "synthetic %.3f",
                                          "synthetic %c",   "synthetic %p",  "synthetic %n",
                                          "synthetic %hhd", "synthetic %",   "synthetic %*d"};
    sluice_dataset *dataset = NULL;

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const char *volatile format = formats[i];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
        T_STATUS(sluice_dataset_parsef(&dataset, format, 1), SLUICE_E_INVALID);
#pragma GCC diagnostic pop
        T_CONTAINS(sluice_last_error(), "a conversion must be %d, %u");
    }
}

static void values_and_braces_are_equally_many(void)
{
    const sluice_value two[] = {{.type = SLUICE_VALUE_INT, .number = 3},
                                {.type = SLUICE_VALUE_REAL, .real = 0.5}};
    const sluice_value unknown = {.type = (sluice_value_type)9};
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse_values("synthetic {} {}", two, 1, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "more {} than values (1)");
    T_STATUS(sluice_dataset_parse_values("synthetic {}", two, 2, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the text has 1 {} for 2 values");
    T_STATUS(sluice_dataset_parse_values("synthetic {}", &unknown, 1, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "type 9");
    T_STATUS(sluice_dataset_parse_values("synthetic", NULL, 1, &dataset), SLUICE_E_INVALID);
    T_OK(sluice_dataset_parse_values("image_folder d/{0..3} | take {}", two, 1, &dataset));
    T_OK(sluice_dataset_add_values(dataset, "repeat 2", NULL, 0));
    check_described(dataset, "d/{0..3}");
}

/* As after any call that adds: the first error stays. */
static void errors_of_values_are_sticky(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("synthetic", &dataset));
    T_STATUS(sluice_dataset_addf(dataset, "take '%d'", 3), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_add(dataset, "take 3"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must not be in quotes");
    T_STATUS(sluice_dataset_addf(NULL, "take 3"), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_add_values(NULL, "take 3", NULL, 0), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parsef(NULL, "synthetic"), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

/* A failed allocation is E_NO_MEMORY, wherever it is. */
static void memory_may_run_out(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;

    for (int64_t allowed = 0; st == SLUICE_E_NO_MEMORY; allowed++) {
        sluice_dataset *dataset = NULL;

        sli_alloc_fail_after(allowed);
        st = sluice_dataset_parsef(&dataset, "synthetic %d | image_size %s", 3, "no such stage");
        sli_alloc_fail_after(-1);
        T_TRUE(dataset == NULL);
    }
    T_TRUE(st == SLUICE_E_INVALID);
}

const t_test text_values_tests[] = {
    T_TEST(every_conversion_gives_its_value),
    T_TEST(numbers_are_written_in_no_locale),
    T_TEST(reals_keep_all_their_digits),
    T_TEST(texts_are_never_parsed),
    T_TEST(refused_formats_say_why),
    T_TEST(other_conversions_are_refused),
    T_TEST(values_and_braces_are_equally_many),
    T_TEST(errors_of_values_are_sticky),
    T_TEST(memory_may_run_out),
    T_END,
};
