/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

static sluice_dataset *folder_dataset(const char *folder, const char *extensions)
{
    sluice_dataset *dataset = NULL;

    if (extensions == NULL) {
        T_OK(sluice_dataset_parsef(&dataset, "image_folder %s", folder));
    } else {
        T_OK(sluice_dataset_parsef(&dataset, "image_folder %s %s", folder, extensions));
    }
    return dataset;
}

static sluice_dataset *open_folder(const char *folder)
{
    sluice_dataset *dataset = folder_dataset(folder, NULL);

    T_OK(dataset_open(dataset));
    return dataset;
}

/* The names, in order; each file holds its own name, and the label is that of its folder. */
static void check_files(const sluice_dataset *dataset, const char *const *names, size_t count)
{
    sample_io io = {.bytes_read = 0};
    size_t bytes = 0;

    T_EQ(dataset->source_count, count);
    for (size_t i = 0; i < count; i++) {
        sample_data data;
        int32_t label = -1;

        T_STR(name_of(dataset, i), names[i]);
        T_OK(read_sample(dataset, i, &io, &label, &data));
        T_EQ(data.size, strlen(names[i]));
        T_EQ(memcmp(data.bytes, names[i], data.size), 0);
        bytes += data.size;
        T_OK(read_sample(dataset, i, &io, NULL, &data));
        bytes += data.size;
    }
    T_EQ(io.bytes_read, bytes);
    sample_io_free(&io);
}

/* A file that holds its own name. */
static void make_file(const char *folder, const char *name)
{
    t_write_file(t_path(folder, name), name, strlen(name));
}

static void make_link(const char *folder, const char *name, const char *to)
{
    T_EQ(symlink(to, t_path(folder, name)), 0);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void classes_and_files_are_in_byte_order(void)
{
    static const char *const names[] = {
        "10/z.jpg",      "2/a.jpg",  "2/b.jpg", "B/B.jpg",       "B/a.jpg",
        "B/a0.jpg",      "a/10.jpg", "a/9.jpg", "a/a.b.jpg",     "a b/x y.jpg",
        "a\nb/x\ny.jpg", "b/1.jpg",  "é/é.jpg", "\xff/\xfe.jpg",
    };
    static const int32_t labels[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 5, 4, 6, 7, 8};
    enum { FILES = sizeof(names) / sizeof(names[0]) };
    const char *in_order[FILES];
    const char *folder = t_folder();
    sluice_dataset *dataset;

    for (size_t i = FILES; i-- > 0;) {
        make_file(folder, names[i]);
    }
    /* "a\nb" stands before "a b". */
    memcpy(in_order, names, sizeof(names));
    in_order[9] = names[10];
    in_order[10] = names[9];
    dataset = open_folder(folder);
    check_files(dataset, in_order, FILES);
    for (size_t i = 0; i < FILES; i++) {
        T_EQ(label_of(dataset, i), i == 9 ? 4 : i == 10 ? 5 : labels[i]);
    }
    sluice_dataset_destroy(dataset);
}

static void extensions_count_in_any_case(void)
{
#if !defined(SLI_HAVE_PNG)
    T_SKIP("the library has no PNG");
#endif
    static const char *const all[] = {"c/a.JPG", "c/b.jpg", "c/c.JpEg", "c/d.png", "c/e.x.PNG"};
    static const char *const others[] = {"c/a.jpgx",      "c/b.jp",        "c/c.tga", "c/jpg",
                                         "c/d.jpg.txt",   "c/e.jpg~",      "c/f.",    "c/.jpg",
                                         "c/.hidden.jpg", ".hidden/a.jpg", "c/JPG",   "c/g.@pg"};
    static const char *const own[] = {"c/g.@PG", "c/h.xYz"};
    const char *folder = t_folder();
    sluice_dataset *dataset;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        make_file(folder, all[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        make_file(folder, others[i]);
    }
    make_file(folder, own[0]);
    make_file(folder, own[1]);
    dataset = open_folder(folder);
    check_files(dataset, all, 5);
    sluice_dataset_destroy(dataset);
    /* Only letters have a case: '@' and '`' differ by its bit, too. */
    dataset = folder_dataset(folder, "XYZ,@pg");
    T_OK(dataset_open(dataset));
    T_EQ(dataset->source_count, 3);
    sluice_dataset_destroy(dataset);
    dataset = folder_dataset(folder, "`pg,XYZ");
    T_OK(dataset_open(dataset));
    check_files(dataset, &own[1], 1);
    sluice_dataset_destroy(dataset);
}

static void the_longest_names_are_read(void)
{
    char name[2 * NAME_MAX + 2];
    const char *names[] = {name};
    const char *folder = t_folder();
    sluice_dataset *dataset;

    memset(name, 'x', sizeof(name));
    name[NAME_MAX] = '/';
    strcpy(name + sizeof(name) - 5, ".jpg");
    make_file(folder, name);
    dataset = open_folder(folder);
    check_files(dataset, names, 1);
    sluice_dataset_destroy(dataset);
}

/* ---- what is no plain file ------------------------------------------------------------------- */

static void links_are_followed(void)
{
    static const char *const good[] = {"a/1.jpg", "b/1.jpg", "c/1.jpg"};
    const char *elsewhere = other_folder();
    const char *folder = t_folder();
    sluice_dataset *dataset;

    make_file(folder, "a/1.jpg");
    t_write_file(t_path(elsewhere, "real/1.jpg"), "b/1.jpg", 7);
    t_write_file(t_path(elsewhere, "picture"), "c/1.jpg", 7);
    make_link(folder, "b", t_path(elsewhere, "real"));
    mkdir(t_path(folder, "c"), 0755);
    make_link(folder, "c/1.jpg", t_path(elsewhere, "picture"));
    make_link(folder, "nowhere", "/no/such/folder");
    make_link(folder, "file.txt", t_path(elsewhere, "picture"));
    dataset = open_folder(folder);
    check_files(dataset, good, 3);
    T_EQ(label_of(dataset, 2), 2);
    sluice_dataset_destroy(dataset);
}

static void links_that_lead_nowhere_are_bad_samples(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    make_file(folder, "a/1.jpg");
    make_link(folder, "a/2.jpg", "nothing.jpg");
    make_link(folder, "a/3.jpg", "3.jpg");
    dataset = open_folder(folder);
    T_EQ(dataset->source_count, 3);
    check_read_fails(dataset, 1, SLUICE_E_IO, "cannot open: No such file");
    check_read_fails(dataset, 2, SLUICE_E_IO, "cannot open: ");
    T_EQ(label_of(dataset, 0), 0);
    sluice_dataset_destroy(dataset);
}

static void folders_named_like_images_are_left_out_with_a_warning(void)
{
    const char *folder = t_folder();
    const char *said;
    sluice_dataset *dataset;

    make_file(folder, "a/1.jpg");
    make_file(folder, "b/sub.jpg/2.jpg");
    kit_log_start(NULL, NULL);
    dataset = open_folder(folder);
    said = kit_log_stop();
    T_EQ(dataset->source_count, 1);
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
    T_CONTAINS(said, folder);
    T_CONTAINS(said, "1 folder (first b/sub.jpg)");
    sluice_dataset_destroy(dataset);

    /* A link to a folder is one, too, and so is a folder of any name. */
    make_link(folder, "a/link.png", "../b");
    make_file(folder, "a/plain/3.jpg");
    kit_log_start(NULL, NULL);
    dataset = open_folder(folder);
    said = kit_log_stop();
    T_EQ(dataset->source_count, 1);
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
    T_CONTAINS(said, "3 folders (first ");
    sluice_dataset_destroy(dataset);
}

static void a_fifo_is_a_bad_sample_and_holds_nobody(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    make_file(folder, "a/1.jpg");
    T_EQ(mkfifo(t_path(folder, "a/2.jpg"), 0600), 0);
    dataset = open_folder(folder);
    T_EQ(dataset->source_count, 2);
    check_read_fails(dataset, 1, SLUICE_E_IO, "this is a special file, and must be a regular file");
    sluice_dataset_destroy(dataset);
}

static void files_that_change_after_opening_are_read_as_they_are(void)
{
    const char *folder = t_folder();
    sample_io io = {.bytes_read = 0};
    sample_data data;
    sluice_dataset *dataset;

    make_file(folder, "a/1.jpg");
    make_file(folder, "a/2.jpg");
    make_file(folder, "a/3.jpg");
    make_file(folder, "a/4.jpg");
    dataset = open_folder(folder);
    T_EQ(unlink(t_path(folder, "a/1.jpg")), 0);
    t_write_file(t_path(folder, "a/2.jpg"), "longer than it was before", 25);
    t_write_file(t_path(folder, "a/3.jpg"), "", 0);
    T_EQ(unlink(t_path(folder, "a/4.jpg")), 0);
    T_EQ(mkdir(t_path(folder, "a/4.jpg"), 0700), 0);
    check_read_fails(dataset, 0, SLUICE_E_IO, "cannot open: No such file");
    T_OK(read_sample(dataset, 1, &io, NULL, &data));
    T_EQ(data.size, 25);
    T_OK(read_sample(dataset, 2, &io, NULL, &data));
    T_EQ(data.size, 0);
    T_TRUE(data.bytes != NULL);
    check_read_fails(dataset, 3, SLUICE_E_IO, "this is a folder, and must be a regular file");
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

/* A file of a terabyte that takes no room on the disk would take all of memory. */
static void a_giant_file_is_a_bad_sample(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    make_file(folder, "a/1.jpg");
    if (truncate(t_path(folder, "a/1.jpg"), (off_t)1 << 40) != 0) {
        T_SKIP("the file system has no sparse files of 1 TB");
    }
    dataset = open_folder(folder);
    check_read_fails(dataset, 0, SLUICE_E_IO, "must have at most 1073741824");
    sluice_dataset_destroy(dataset);
}

/* ---- what cannot be opened ------------------------------------------------------------------- */

static void check_open_fails(const char *folder, sluice_status want, const char *words)
{
    sluice_dataset *dataset = folder_dataset(folder, NULL);

    T_STATUS(dataset_open(dataset), want);
    T_CONTAINS(sluice_last_error(), words);
    T_CONTAINS(sluice_last_error(), folder);
    CU_ASSERT_PTR_NULL(dataset->source);
    sluice_dataset_destroy(dataset);
}

static void folders_without_images_are_refused(void)
{
    const char *folder = t_folder();

    check_open_fails(t_path(folder, "missing"), SLUICE_E_IO, "No such file or directory");
    check_open_fails("", SLUICE_E_IO, "No such file or directory");
    check_open_fails(folder, SLUICE_E_INVALID, "no valid data in the dataset");
    check_open_fails(folder, SLUICE_E_INVALID, "has no class folders in it");
    make_file(folder, "file.txt");
    check_open_fails(t_path(folder, "file.txt"), SLUICE_E_IO, "Not a directory");
    T_TRUE(strstr(sluice_last_error(), "images lie directly") == NULL);
    make_file(folder, "1.jpg");
    check_open_fails(folder, SLUICE_E_INVALID, "(images lie directly in it)");
    make_file(folder, "a/readme.txt");
    make_file(folder, "b/x.tga");
    check_open_fails(folder, SLUICE_E_INVALID, "the 2 class folders of image_folder");
    check_open_fails(folder, SLUICE_E_INVALID, "hold no files with extensions jpg,jpeg,jpe,jfif");
}

/* A class without files keeps its number. */
/* `image_folder my pictures`: the second word is taken as the extensions. */
static void a_path_without_its_quotes_is_noticed(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    make_file(folder, "my pictures/a/1.jpg");
    dataset = folder_dataset(t_path(folder, "my"), "pictures");
    T_STATUS(dataset_open(dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "put a path with blanks in quotes: image_folder '");
    T_CONTAINS(sluice_last_error(), "/my pictures'");
    sluice_dataset_destroy(dataset);
    dataset = folder_dataset(t_path(folder, "my"), "paintings");
    T_STATUS(dataset_open(dataset), SLUICE_E_IO);
    T_TRUE(strstr(sluice_last_error(), "quotes") == NULL);
    sluice_dataset_destroy(dataset);
}

static void empty_classes_are_counted(void)
{
    static const char *const names[] = {"b/1.jpg", "d/1.jpg", "d/2.jpg"};
    const char *folder = t_folder();
    sluice_dataset *dataset;

    for (const char *class = "a\0c\0e\0"; *class != '\0'; class += 2) {
        T_EQ(mkdir(t_path(folder, class), 0700), 0);
    }
    for (int i = 0; i < 3; i++) {
        make_file(folder, names[i]);
    }
    make_file(folder, "loose.jpg");
    dataset = open_folder(folder);
    check_files(dataset, names, 3);
    T_EQ(label_of(dataset, 0), 1);
    T_EQ(label_of(dataset, 1), 3);
    T_EQ(label_of(dataset, 2), 3);
    sluice_dataset_destroy(dataset);
}

static void what_may_not_be_read_is_said(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char up[1024];

    make_file(folder, "a/1.jpg");
    make_file(folder, "a/2.jpg");
    make_file(folder, "b/1.jpg");
    snprintf(up, sizeof(up), "%s/..", folder);
    T_EQ(chmod(up, 0755) | chmod(folder, 0755) | chmod(t_path(folder, "a"), 0755) |
             chmod(t_path(folder, "a/1.jpg"), 0644) | chmod(t_path(folder, "a/2.jpg"), 0) |
             chmod(t_path(folder, "b"), 0755),
         0);
    T_NEEDS(become_nobody(), "root cannot become anybody else here");
    dataset = open_folder(folder);
    T_EQ(label_of(dataset, 0), 0);
    check_read_fails(dataset, 1, SLUICE_E_IO, "cannot open: Permission denied");
    sluice_dataset_destroy(dataset);
    become_oneself();
    T_EQ(chmod(t_path(folder, "b"), 0), 0);
    T_TRUE(become_nobody());
    check_open_fails(folder, SLUICE_E_IO, "/b: Permission denied");
    become_oneself();
    T_EQ(chmod(folder, 0), 0);
    T_TRUE(become_nobody());
    check_open_fails(folder, SLUICE_E_IO, "Permission denied");
    become_oneself();
}

/* A dataset that could not be opened can be, once its files are there. */
static void opening_can_be_tried_again(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = folder_dataset(t_path(folder, "later"), NULL);

    T_STATUS(dataset_open(dataset), SLUICE_E_IO);
    make_file(folder, "later/a/1.jpg");
    T_OK(dataset_open(dataset));
    T_EQ(dataset->source_count, 1);
    sluice_dataset_destroy(dataset);
}

/* ---- size ------------------------------------------------------------------------------------ */

static void ten_thousand_files_cost_their_names_and_few_bytes(void)
{
    enum { CLASSES = 20, FILES = 500 };
    const char *folder = t_folder();
    const int before = open_files();
    uint64_t names = 0;
    sluice_dataset *dataset;

    for (int i = 0; i < CLASSES * FILES; i++) {
        char name[64];

        snprintf(name, sizeof(name), "class_%02d/%d.jpg", i / FILES, i * 7919 % 100003);
        t_write_file(t_path(folder, name), "", 0);
        names += strlen(name) - strlen("class_00/");
    }
    dataset = open_folder(folder);
    T_EQ(dataset->source_count, CLASSES * FILES);
    T_TRUE(dataset_source(dataset)->memory(dataset->source) <=
           names + (uint64_t)CLASSES * FILES * (1 + 8) + 2000);
    for (uint64_t i = 1; i < dataset->source_count; i++) {
        char last[64];

        snprintf(last, sizeof(last), "%s", name_of(dataset, i - 1));
        T_TRUE(strcmp(last, name_of(dataset, i)) < 0);
    }
    T_TRUE(open_files() <= before + 1);
    sluice_dataset_destroy(dataset);
    T_EQ(open_files(), before);
}

static void opening_survives_running_out_of_memory(void)
{
    const char *folder = t_folder();
    const int before = open_files();
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    for (int i = 0; i < 100; i++) {
        char name[64];

        snprintf(name, sizeof(name), "class_%d/image_%d.jpg", i % 20, i);
        make_file(folder, name);
    }
    for (; st != SLUICE_OK; passes++) {
        sluice_dataset *dataset = folder_dataset(folder, NULL);

        T_OK(sluice_dataset_add(dataset, "split train 0.9"));
        sli_alloc_fail_after(passes);
        st = dataset_open(dataset);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        sluice_dataset_destroy(dataset);
        T_EQ(open_files(), before);
    }
    T_TRUE(passes > 25);
}

const t_test source_image_folder_tests[] = {
    T_TEST(classes_and_files_are_in_byte_order),
    T_TEST(extensions_count_in_any_case),
    T_TEST(the_longest_names_are_read),
    T_TEST(links_are_followed),
    T_TEST(links_that_lead_nowhere_are_bad_samples),
    T_TEST(folders_named_like_images_are_left_out_with_a_warning),
    T_TEST(a_fifo_is_a_bad_sample_and_holds_nobody),
    T_TEST(files_that_change_after_opening_are_read_as_they_are),
    T_TEST(a_giant_file_is_a_bad_sample),
    T_TEST(folders_without_images_are_refused),
    T_TEST(a_path_without_its_quotes_is_noticed),
    T_TEST(empty_classes_are_counted),
    T_TEST(what_may_not_be_read_is_said),
    T_TEST(opening_can_be_tried_again),
    T_TEST(ten_thousand_files_cost_their_names_and_few_bytes),
    T_TEST(opening_survives_running_out_of_memory),
    T_END,
};
