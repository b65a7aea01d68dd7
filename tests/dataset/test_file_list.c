/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "shard_kit.h"
#include "source_kit.h"
#include "testing.h"

static void shards_are_named_in_many_ways(void)
{
    static const struct {
        const char *text;
        const char *names;
    } ways[] = {
        {"webdataset @", "s-08 s-09 s-10 s-11"},
        {"webdataset @/s-08.tar", "s-08"},
        {"webdataset @/*.tar", "s-08 s-09 s-10 s-11"},
        {"webdataset @/*", "s-08 s-09 s-10 s-11"},
        {"webdataset @/s-0?.tar", "s-08 s-09"},
        {"webdataset '@/s-[01][91].tar'", "s-09 s-11"},
        {"webdataset @/s-{09..10}.tar", "s-09 s-10"},
        {"webdataset @/s-{8..9}.tar", NULL},
        {"webdataset @/s-{10..11}.tar", "s-10 s-11"},
        {"webdataset @/s-{0..1}{0..1}.tar", NULL},
        {"webdataset @/s-{1..1}{0..1}.tar", "s-10 s-11"},
        {"webdataset @/s-{0..1}*.tar", "s-08 s-09 s-10 s-11"},
        {"webdataset @/s-{011..011}.tar", NULL},
    };
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    for (int i = 8; i < 12; i++) {
        char name[40];

        snprintf(name, sizeof(name), "s-%02d.tar", i);
        make_web_shard(t_path(folder, name), "x", 1);
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        char got[200] = "";
        sluice_dataset *dataset;

        if (ways[i].names == NULL) {
            check_web_fails(ways[i].text, folder, SLUICE_E_IO, "cannot open the file");
            continue;
        }
        dataset = open_web(ways[i].text, folder);
        for (uint64_t k = 0; k < dataset->source_count; k++) {
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.4s", k > 0 ? " " : "",
                     name_of(dataset, k));
        }
        T_STR(got, ways[i].names);
        sluice_dataset_destroy(dataset);
    }
}

static void lists_and_strange_names_are_taken_as_they_are(void)
{
    char folder[300];
    sluice_dataset *dataset;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_web_shard(t_path(folder, "a,b.tar"), "comma", 1);
    make_web_shard(t_path(folder, "x{1..2}.tar"), "brace", 1);
    make_web_shard(t_path(folder, "y[1].tar"), "class", 1);
    make_web_shard(t_path(folder, "c.tar"), "plain", 1);
    dataset = open_web("webdataset '@/a,b.tar'", folder);
    check_web_sample(dataset, 0, "a,b.tar/000.jpg", "comma-0", 0);
    sluice_dataset_destroy(dataset);
    dataset = open_web("webdataset @/x{1..2}.tar,@/y[1].tar,@/c.tar", folder);
    T_EQ(dataset->source_count, 3);
    check_web_sample(dataset, 0, "x{1..2}.tar/000.jpg", "brace-0", 0);
    check_web_sample(dataset, 1, "y[1].tar/000.jpg", "class-0", 0);
    check_web_sample(dataset, 2, "c.tar/000.jpg", "plain-0", 0);
    sluice_dataset_destroy(dataset);
}

static void lists_that_make_no_sense_are_refused(void)
{
    static const struct {
        const char *text;
        sluice_status st;
        const char *words;
    } wrong[] = {
        {"webdataset @/none*.tar", SLUICE_E_INVALID, "no file matches"},
        {"webdataset @/none.tar", SLUICE_E_IO, "none.tar: No such file"},
        {"webdataset @", SLUICE_E_INVALID, "has no *.tar in it"},
        {"webdataset @/{3..1}.tar", SLUICE_E_INVALID, "ends before it begins"},
        {"webdataset @/{1..}.tar", SLUICE_E_INVALID, "it must be a range such as"},
        {"webdataset @/{..1}.tar", SLUICE_E_INVALID, "it must be a range such as"},
        {"webdataset @/{1}.tar", SLUICE_E_INVALID, "it must be a range such as"},
        {"webdataset @/{a..b}.tar", SLUICE_E_INVALID, "it must be a range such as"},
        {"webdataset @/{1..2.tar", SLUICE_E_INVALID, "a '{' has no '}'"},
        {"webdataset @/1..2}.tar", SLUICE_E_INVALID, "a '}' has no '{'"},
        {"webdataset @/}1..2{.tar", SLUICE_E_INVALID, "a '{' has no '}'"},
        {"webdataset @/{1}..2.tar", SLUICE_E_INVALID, "it must be a range such as"},
        {"webdataset @/{0..99999999999999999999}.tar", SLUICE_E_INVALID,
         "it must be a range such as"},
        {"webdataset @/{0..1000000}.tar", SLUICE_E_INVALID, "longer than a million"},
        {"webdataset @/{0..1}{0..1}{0..1}{0..1}{0..1}.tar", SLUICE_E_INVALID, "too many ranges"},
        {"webdataset @/a.tar,,b.tar", SLUICE_E_INVALID, "a name in the list of files is empty"},
        {"webdataset 'pipe:cat x.tar'", SLUICE_E_UNSUPPORTED, "no commands are run"},
        {"webdataset /dev/null", SLUICE_E_UNSUPPORTED, "neither a file nor a folder nor a fifo"},
    };
    const char *folder = t_file("sub");

    T_EQ(mkdir(folder, 0755), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        check_web_fails(wrong[i].text, folder, wrong[i].st, wrong[i].words);
    }
}

const t_test file_list_tests[] = {
    T_TEST(shards_are_named_in_many_ways),
    T_TEST(lists_and_strange_names_are_taken_as_they_are),
    T_TEST(lists_that_make_no_sense_are_refused),
    T_END,
};
