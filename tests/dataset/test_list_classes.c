/* SPDX-License-Identifier: Apache-2.0 */
/* image_list with names of classes, which are numbered by a vocabulary. */
#include <stdio.h>
#include <stdlib.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "source_kit.h"
#include "testing.h"

static const char animals[] = "label:class,x:f32\n"
                              "dog,1\ncat,2\n\"a, \"\"b\"\"\",3\ndog,4\n Cat ,5\n";

static sluice_status open_animals(const char *folder, const char *list, const char *arguments,
                                  sluice_dataset **dataset_out)
{
    char text[900];
    sluice_status st;

    write_list(folder, "list.csv", list);
    snprintf(text, sizeof(text), "image_list %s/list.csv %s", folder, arguments);
    st = sluice_dataset_parse(text, dataset_out);
    return st == SLUICE_OK ? dataset_open(*dataset_out) : st;
}

/* Reads the first column of a sample. */
static int32_t class_at(const sluice_dataset *dataset, uint64_t index)
{
    sample_io io = {.bytes_read = 0};
    int32_t label = -1;
    void *row[SLUICE_MAX_COLUMNS] = {&label};

    T_OK(dataset_source(dataset)->read_plain(dataset->source, index, &io, row));
    sample_io_free(&io);
    return label;
}

/* As image_folder numbers its classes. */
static void names_are_numbered_in_byte_order(void)
{
    static const int32_t want[] = {3, 2, 1, 3, 0};
    sluice_dataset *dataset = NULL;

    T_OK(open_animals(t_folder(), animals, "", &dataset));
    for (uint64_t i = 0; i < 5; i++) {
        T_EQ(class_at(dataset, i), want[i]);
    }
    check_class(dataset, 0, "Cat");
    check_class(dataset, 1, "a, \"b\"");
    check_class(dataset, 3, "dog");
    T_STATUS(sluice_dataset_class_name(dataset, 4, &(char *){NULL}), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

/* A name in a record that is bad otherwise must not shift the numbers of others. */
static void bad_records_add_no_classes(void)
{
    sluice_dataset *dataset = NULL;
    const char *folder = t_folder();

    T_OK(open_animals(folder, "label:class,x:f32\ndog,1\nbee,y\n,2\nant,3,4\n", "", &dataset));
    T_EQ(class_at(dataset, 0), 0);
    T_STATUS(sluice_dataset_class_name(dataset, 1, &(char *){NULL}), SLUICE_E_INVALID);
    check_read_fails(dataset, 2, SLUICE_E_CORRUPT, "4:1: the name of a class must not be empty");
    sluice_dataset_destroy(dataset);
}

static void a_file_of_names_numbers_them(void)
{
    static const char *const files[] = {"dog\r\n cat \r\nbee\r\n", "0\tdog\n1\tcat\n2\tbee",
                                        "dog\ncat\nbee\n\n \r\n",
                                        ("\xEF\xBB\xBF"
                                         "dog\ncat\nbee\n")};
    const char *folder = t_folder();
    char argument[400];

    snprintf(argument, sizeof(argument), "classes=%s/names.txt", folder);
    for (size_t i = 0; i < COUNT(files); i++) {
        sluice_dataset *dataset = NULL;

        write_list(folder, "names.txt", files[i]);
        T_OK(open_animals(folder, "x:f32,label:class\n1,dog\n2,cow\n3,cat\n", argument, &dataset));
        check_class(dataset, 0, "dog");
        check_class(dataset, 2, "bee");
        check_read_fails(dataset, 1, SLUICE_E_CORRUPT,
                         "3:3: 'cow' must be one of the 3 classes of");
        sluice_dataset_destroy(dataset);
    }
}

static void files_of_names_that_are_refused_say_where(void)
{
    static const refused_case bad[] = {
        {"", "names.txt: it must have the name of a class in each line"},
        {"a\n\nb\n", "names.txt:2: the name of a class must have 1 to 255 bytes"},
        {"a\nb\na\n", "names.txt:3: the class a is in line 1, too"},
        {"0\ta\n2\tb\n", "names.txt:2: the line must begin with 1 and a tab"},
    };
    const char *folder = t_folder();
    char argument[400];
    sluice_dataset *dataset = NULL;

    snprintf(argument, sizeof(argument), "classes=%s/names.txt", folder);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_list(folder, "names.txt", bad[i].text);
        T_STATUS(open_animals(folder, animals, argument, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        sluice_dataset_destroy(dataset);
        dataset = NULL;
    }
    t_write_file(t_path(folder, "names.txt"), "a\0b\n", 4);
    T_STATUS(open_animals(folder, animals, argument, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "it has a zero byte");
    T_STATUS(open_animals(folder, "label,x:f32\n1,2\n", argument, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "classes= is for a list with one column of kind class");
    T_STATUS(open_animals(folder, animals, "classes=/nonexistent", &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "classes=/nonexistent: cannot open");
    sluice_dataset_destroy(dataset);
}

/* Several classes of a sample, and those of boxes. */
static void classes_of_boxes_follow_them(void)
{
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run,
             list_dataset(folder,
                          "image\tb:boxes[3]\tc:class[3]@b\tt:class[2]\n"
                          "a.ppm\t0,0,4,30;10,5,30,25;36,0,40,3\tdog,cat,dog\tred\n"
                          "a.ppm\t\t\tred,\"blue\"\n",
                          "| decode | crop 30,30 | batch 2"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "c", 0), (const int32_t[]){1, 0, 0}, 12), 0);
    T_EQ(*(const int32_t *)column_row(&run, "b_length", 0), 2);
    T_EQ(*(const int32_t *)column_row(&run, "t_length", 1), 2);
    T_TRUE(is_zero(column_row(&run, "c", 1), 12));
    close_run(&run);
}

static uint64_t identity_of(const char *folder, const char *list)
{
    sluice_dataset *dataset = NULL;

    T_OK(open_animals(folder, list, "| batch 2", &dataset));
    return names_of_run(dataset);
}

/* Names of another column are no names of labels. */
static void numbers_in_label_have_no_names(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(open_animals(t_folder(), "k:class,label\ndog,1\ncat,0\n", "", &dataset));
    T_STATUS(sluice_dataset_class_name(dataset, 0, &(char *){NULL}), SLUICE_E_UNSUPPORTED);
    sluice_dataset_destroy(dataset);
}

/* A run is not resumed where a new class has shifted the numbers of others. */
static void names_are_part_of_the_identity_of_a_run(void)
{
    const char *folder = t_folder();
    const uint64_t first = identity_of(folder, "x:f32,label:class\n1,dog\n2,cat\n");

    T_TRUE(first == identity_of(folder, "x:f32,label:class\n1,dog\n7,cat\n"));
    T_TRUE(first != identity_of(folder, "x:f32,label:class\n1,dog\n2,bee\n"));
    T_TRUE(identity_of(folder, "x:f32,label\n1,1\n2,0\n") ==
           identity_of(folder, "x:f32,label\n1,0\n2,0\n"));
}

/* Every column of classes is numbered by its own list, also if labels are equal. */
static void lists_of_other_names_are_not_joined(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    char text[900];

    write_list(folder, "a.csv", "x:f32,tag:class\n1,cat\n2,dog\n");
    write_list(folder, "b.csv", "x:f32,tag:class\n1,dog\n2,zebra\n");
    write_list(folder, "c.csv", "x:f32,tag:class\n1,dog\n2,cat\n");
    snprintf(text, sizeof(text), "concat (image_list %s/a.csv) (image_list %s/b.csv)", folder,
             folder);
    T_OK(sluice_dataset_parse(text, &dataset));
    T_STATUS(dataset_open(dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "its classes have other names than those of part 1");
    T_CONTAINS(sluice_last_error(), "classes=FILE");
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "concat (image_list %s/a.csv) (image_list %s/c.csv)", folder,
             folder);
    T_OK(sluice_dataset_parse(text, &dataset));
    T_OK(dataset_open(dataset));
    sluice_dataset_destroy(dataset);
}

/* More names than the first table has room for. */
static void many_names_are_found(void)
{
    enum { NAMES = 5000 };
    char *list = malloc(NAMES * 16 + 100);
    size_t at = 0;
    sluice_dataset *dataset = NULL;

    T_TRUE(list != NULL);
    if (list == NULL) {
        return;
    }
    at += (size_t)sprintf(list, "label:class,x:f32\n");
    for (int i = 0; i < NAMES; i++) {
        at += (size_t)sprintf(list + at, "n%04d,1\n", i * 7 % NAMES);
    }
    T_OK(open_animals(t_folder(), list, "", &dataset));
    for (uint64_t i = 0; i < NAMES; i += 13) {
        T_EQ(class_at(dataset, i), i * 7 % NAMES);
    }
    sluice_dataset_destroy(dataset);
    free(list);
}

const t_test list_classes_tests[] = {
    T_TEST(names_are_numbered_in_byte_order),
    T_TEST(bad_records_add_no_classes),
    T_TEST(a_file_of_names_numbers_them),
    T_TEST(files_of_names_that_are_refused_say_where),
    T_TEST(classes_of_boxes_follow_them),
    T_TEST(numbers_in_label_have_no_names),
    T_TEST(names_are_part_of_the_identity_of_a_run),
    T_TEST(lists_of_other_names_are_not_joined),
    T_TEST(many_names_are_found),
    T_END,
};
