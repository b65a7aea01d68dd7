/* SPDX-License-Identifier: Apache-2.0 */
/* Files that sources of images find by their names, and those that they leave out, with counts. */
#include <stdlib.h>
#include <sys/stat.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "image_extensions.h"
#include "left_out.h"
#include "list_kit.h"
#include "log_kit.h"
#include "plan_int.h"
#include "tar_kit.h"
#include "testing.h"

/* Four images, and files and a folder that are not read. */
static void fill_class(const char *folder, const char *class)
{
    static const char *const others[] = {"e.avif",    "f.AVIF",    "g.hif",        "plain",
                                         ".DS_Store", "Thumbs.db", "x.tar.sluice", "desktop.ini"};
    char path[300];

    T_EQ(mkdir(t_path(folder, class), 0700), 0);
    for (int i = 0; i < 4; i++) {
        static const char *const images[] = {"a.jpg", "b.JFIF", "c.ppm", "d.pnm"};

        snprintf(path, sizeof(path), "%s/%s", class, images[i]);
        if (i < 2) {
            make_jpeg(folder, path, 20, 16, 1);
        } else {
            write_pair(folder, path, "unused.pgm");
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", class, others[i]);
        write_list(folder, path, "x");
    }
    snprintf(path, sizeof(path), "%s/sub", class);
    T_EQ(mkdir(t_path(folder, path), 0700), 0);
}

static void check_counts(const char *text)
{
    T_CONTAINS(text, "2 .avif");
    T_CONTAINS(text, "1 .hif");
    T_CONTAINS(text, "1 without an extension");
    T_TRUE(strstr(text, "DS_Store") == NULL && strstr(text, ".sluice") == NULL);
    T_TRUE(strstr(text, ".db") == NULL && strstr(text, ".ini") == NULL);
}

/* Explains the pipeline, and returns what was logged. */
static const char *explain_logged(const char *text, uint64_t samples, char **explained_out)
{
    sluice_dataset *dataset;

    kit_log_start(NULL, NULL);
    dataset = parsed(text);
    T_OK(sluice_dataset_explain(dataset, explained_out));
    T_EQ(dataset->source_count, samples);
    sluice_dataset_destroy(dataset);
    return kit_log_stop();
}

static void class_folders_say_what_they_leave_out(void)
{
    const char *folder = t_folder();
    char text[600];
    char *explained = NULL;
    const char *log;

    T_EQ(mkdir(t_path(folder, "set"), 0700), 0);
    fill_class(folder, "set/c");
    write_list(folder, "set/readme.txt", "x");
    snprintf(text, sizeof(text), "image_folder %s/set | decode | resize 8,8 | batch 2", folder);
    log = explain_logged(text, 4, &explained);
    check_counts(log);
    T_CONTAINS(log, "/set: left out: ");
    T_CONTAINS(log, "1 .txt");
    T_CONTAINS(log, "1 folder (first c/sub); it reads DIR/CLASS/FILE with extensions=jpg,");
    check_counts(explained);
    T_CONTAINS(explained, "left out by image_folder: ");
    sluice_string_free(explained);
    snprintf(text, sizeof(text),
             "concat (image_folder %s/set) (image_folder %s/set extensions=hif,avif) | decode | "
             "resize 8,8 | batch 2",
             folder, folder);
    log = explain_logged(text, 7, &explained);
    check_counts(explained);
    T_CONTAINS(explained, "1 .ppm");
    sluice_string_free(explained);
}

static void folders_of_images_and_masks_say_what_they_leave_out(void)
{
    const char *folder = t_folder();
    char text[600];
    char *explained = NULL;
    const char *log;

    T_EQ(mkdir(t_path(folder, "masks"), 0700), 0);
    fill_class(folder, "photos");
    snprintf(text, sizeof(text), "image_list %s/photos | decode | resize 8,8 | batch 2", folder);
    log = explain_logged(text, 4, &explained);
    check_counts(log);
    T_CONTAINS(log, "1 folder (first sub); of a folder it reads the files directly in it");
    T_CONTAINS(explained, "left out by image_list: ");
    sluice_string_free(explained);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"masks/a.pgm", "masks/b.pgm", "masks/c.pgm",
                                            "masks/d.pgm"};

        write_list(folder, names[i], "P5 1 1 255\nx");
    }
    write_list(folder, "masks/colours.csv", "x");
    snprintf(text, sizeof(text),
             "image_list %s/photos masks=%s/masks | decode | resize 8,8 | batch 2", folder, folder);
    log = explain_logged(text, 4, &explained);
    T_CONTAINS(explained, "; of the masks 1 .csv (first colours.csv)");
    sluice_string_free(explained);
}

/* A run on files of the former default extensions can be resumed. */
static void further_extensions_do_not_change_an_identity(void)
{
    const char *folder = t_folder();
    sli_dataset_identity identities[2];

    T_EQ(mkdir(t_path(folder, "c"), 0700), 0);
    make_jpeg(folder, "c/a.jpg", 20, 16, 1);
    make_jpeg(folder, "c/b.jpg", 20, 16, 2);
    for (int i = 0; i < 2; i++) {
        sluice_dataset *dataset;
        sli_plan *plan;

        dataset = parsedf("image_folder %s%s | shuffle | decode | resize 8,8 | batch 2", folder,
                          i == 0 ? "" : " extensions=jpg,jpeg,png");
        T_OK(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan));
        T_OK(sli_plan_identity(plan, &identities[i]));
        sli_plan_close(plan);
        sluice_dataset_destroy(dataset);
    }
    T_EQ(identities[0].names, identities[1].names);
    T_STR(identities[0].stages, identities[1].stages);
    sli_dataset_identity_free(&identities[0]);
    sli_dataset_identity_free(&identities[1]);
}

static void kinds_are_bounded(void)
{
    left_out files = {.folders = 0};
    char text[LEFT_OUT_TEXT];

    T_TRUE(!left_out_print(&files, text, sizeof(text)));
    for (int i = 0; i < 1000; i++) {
        char name[300];

        snprintf(name, sizeof(name), "file.%d%0250d", i, 0);
        left_out_file(&files, "class", name);
        left_out_folder(&files, name, name);
    }
    T_TRUE(left_out_print(&files, text, sizeof(text)));
    T_CONTAINS(text, " others (first class/file.0000");
    T_CONTAINS(text, "1000 folders (first file.0000");
    T_TRUE(image_name_is_in("a.JPE", image_extensions) &&
           image_name_is_in("a.b.jfif", image_extensions));
    T_TRUE(!image_name_is_in(".jpg", image_extensions) &&
           !image_name_is_in("jpg", image_extensions));
    T_TRUE(!image_name_is_in("a.", image_extensions) &&
           !image_name_is_in("a.tga", image_extensions));
}

static void write_members(const char *folder, const char *name, const char *members, int numbered)
{
    tar_maker tar = {0};

    tar_add_texts(&tar, members);
    for (int i = 0; i < numbered; i++) {
        char member[60];

        snprintf(member, sizeof(member), "a.field-number-%02d", i);
        tar_add_text(&tar, member, "x");
    }
    tar_add_text(&tar, "a.jpg", "x");
    tar_write(&tar, t_path(folder, name));
}

/* Members of which no column is made, of all shards. */
static void shards_say_which_members_are_in_no_column(void)
{
    const char *folder = t_folder();
    char text[1200];
    char *explained = NULL;

    write_members(folder, "w.tar", "a.cls=1", 0);
    write_members(folder, "x.tar", "a.JSON=x a.cls=1 a.seg.png=x", 0);
    write_members(folder, "y.tar", "a.json=x a.cls=1 a.txt=x", 0);
    write_members(folder, "z.tar", "a.cls=1", 20);
    snprintf(text, sizeof(text),
             "webdataset %s/w.tar,%s/x.tar,%s/y.tar | decode | resize 8,8 | batch 1", folder,
             folder, folder);
    (void)explain_logged(text, 3, &explained);
    T_CONTAINS(explained, "left out by webdataset: members json,seg.png,txt (fields= reads any");
    sluice_string_free(explained);
    snprintf(text, sizeof(text),
             "webdataset %s/x.tar fields=image:jpg | decode | resize 8,8 | batch 1", folder);
    (void)explain_logged(text, 1, &explained);
    T_TRUE(strstr(explained, "left out by") == NULL);
    sluice_string_free(explained);
    /* More names than there is room for. */
    snprintf(text, sizeof(text), "webdataset %s/z.tar | decode | resize 8,8 | batch 1", folder);
    (void)explain_logged(text, 1, &explained);
    T_CONTAINS(explained, "members field-number-00,field-number-01,");
    T_CONTAINS(explained, ",... (fields= reads any members)");
    sluice_string_free(explained);
}

const t_test left_out_tests[] = {
    T_TEST(class_folders_say_what_they_leave_out),
    T_TEST(folders_of_images_and_masks_say_what_they_leave_out),
    T_TEST(further_extensions_do_not_change_an_identity),
    T_TEST(kinds_are_bounded),
    T_TEST(shards_say_which_members_are_in_no_column),
    T_END,
};
