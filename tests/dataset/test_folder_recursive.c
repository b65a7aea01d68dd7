/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder recursive=true: the files that torchvision's ImageFolder reads, in its order. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

/* Makes the folders of a path FOLDER/a/b/NAME, and the file, which holds its own name. */
static void make_file(const char *folder, const char *name)
{
    char path[400];

    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof(path), "%.*s", (int)(slash - name), name);
        (void)mkdir(t_path(folder, path), 0700);
    }
    t_write_file(t_path(folder, name), name, strlen(name));
}

static sluice_status open_folder(const char *folder, const char *arguments,
                                 sluice_dataset **dataset_out)
{
    char text[600];
    sluice_status st;

    snprintf(text, sizeof(text), "image_folder %s %s", folder, arguments);
    st = sluice_dataset_parse(text, dataset_out);
    return st == SLUICE_OK ? dataset_open(*dataset_out) : st;
}

/* As `for root, _, names in sorted(os.walk(class, followlinks=True))` and sorted(names) in Python
 * list them: files of a folder before those of the folders in it, "a b" before "a/b". */
static void the_order_is_that_of_torchvision(void)
{
    static const char *const names[] = {
        "c/b.jpg",     "c/z.jpg",         "c/.hidden/x.jpg", "c/a/z.jpg",     "c/a b/0.jpg",
        "c/a/b/c.jpg", "c/link/only.jpg", "c/z.jpg.d/y.bmp", "d/e/f/g/h.ppm",
    };
    const char *folder = t_folder();
    sample_io io = {.bytes_read = 0};
    sluice_dataset *dataset = NULL;

    make_file(folder, "c/z.jpg");
    make_file(folder, "c/b.jpg");
    make_file(folder, "c/a/b/c.jpg");
    make_file(folder, "c/a/z.jpg");
    make_file(folder, "c/a b/0.jpg");
    make_file(folder, "c/.hidden/x.jpg");
    make_file(folder, "c/z.jpg.d/y.bmp");
    make_file(folder, "d/e/f/g/h.ppm");
    make_file(folder, "d/e/f/g/notes.txt");
    T_EQ(mkdir(t_path(folder, ".aside"), 0700), 0);
    make_file(folder, ".aside/only.jpg");
    T_EQ(symlink("../.aside", t_path(folder, "c/link")), 0);
    kit_log_start(NULL, NULL);
    T_OK(open_folder(folder, "recursive=true", &dataset));
    T_CONTAINS(kit_log_stop(), "left out: 1 .txt (first d/e/f/g/notes.txt); it reads "
                               "DIR/CLASS/.../FILE with extensions=");
    T_EQ(dataset->source_count, sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sample_location location;
        sample_data data;
        int32_t label = -1;

        T_STR(name_of(dataset, i), names[i]);
        T_OK(read_sample(dataset, i, &io, &label, &data));
        T_EQ(label, names[i][0] - 'c');
        T_TRUE(dataset_source(dataset)->locate(dataset->source, i, &location));
        T_STR(location.path, names[i]);
    }
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

/* Without the argument nothing has changed, and the warning names it. */
static void folders_in_a_class_are_left_out_by_default(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    make_file(folder, "c/a.jpg");
    make_file(folder, "c/sub/b.jpg");
    kit_log_start(NULL, NULL);
    T_OK(open_folder(folder, "", &dataset));
    T_CONTAINS(kit_log_stop(), "1 folder (first c/sub)");
    T_EQ(dataset->source_count, 1);
    sluice_dataset_destroy(dataset);
    T_EQ(unlink(t_path(folder, "c/a.jpg")), 0);
    kit_log_start(NULL, NULL);
    T_STATUS(open_folder(folder, "", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(kit_log_stop(), "recursive=true reads folders in a class");
    T_CONTAINS(sluice_last_error(), "left out: 1 folder (first c/sub); try recursive=true");
    sluice_dataset_destroy(dataset);
}

static void a_link_to_a_folder_above_is_an_error(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    make_file(folder, "c/a/b/x.jpg");
    T_EQ(symlink("../../a", t_path(folder, "c/a/b/loop")), 0);
    T_STATUS(open_folder(folder, "recursive=true", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "/c/a/b/loop leads back to");
    sluice_dataset_destroy(dataset);
}

/* Folders beyond the limit are an error, not left out. Two folders may link to a third one. */
static void depth_is_bounded(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    char path[400] = "c";

    for (int i = 0; i < 64; i++) {
        strcat(path, "/d");
    }
    strcat(path, "/x.jpg");
    make_file(folder, path);
    T_EQ(symlink("d/d", t_path(folder, "c/e")), 0);
    T_OK(open_folder(folder, "recursive=true", &dataset));
    T_EQ(dataset->source_count, 2);
    sluice_dataset_destroy(dataset);
    strcpy(strrchr(path, '/'), "/d/x.jpg");
    make_file(folder, path);
    T_STATUS(open_folder(folder, "recursive=true", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "folders may be nested 64 deep below a class");
    sluice_dataset_destroy(dataset);
}

const t_test folder_recursive_tests[] = {
    T_TEST(the_order_is_that_of_torchvision),
    T_TEST(folders_in_a_class_are_left_out_by_default),
    T_TEST(a_link_to_a_folder_above_is_an_error),
    T_TEST(depth_is_bounded),
    T_END,
};
