/* SPDX-License-Identifier: Apache-2.0 */
/* The source yolo with data.yaml: its keys, lists of images, key points, and wrong descriptions. */
#include <sys/stat.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

static void add_folder(const char *folder, const char *name)
{
    T_EQ(mkdir(t_path(folder, name), 0777), 0);
}

/* A folder with x/images/train/a.ppm, x/images/more/b.ppm and their labels. */
static const char *set_folder(void)
{
    static const char *const folders[] = {"x",
                                          "x/images",
                                          "x/images/train",
                                          "x/labels",
                                          "x/labels/train",
                                          "x/images/more",
                                          "x/labels/more"};
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        add_folder(folder, folders[i]);
    }
    write_pair(folder, "x/images/train/a.ppm", "m.pgm");
    write_pair(folder, "x/images/more/b.ppm", "m.pgm");
    write_list(folder, "x/labels/train/a.txt", "1 .5 .5 .5 .5\n");
    write_list(folder, "x/labels/more/b.txt", "0 .5 .5 1 1\n");
    return folder;
}

#ifdef SLI_HAVE_YAML

/* Opens a set; returns what was logged. */
/* As people write them: the same two images and classes of each. */
static void descriptions_name_images_and_classes(void)
{
    static const struct {
        const char *yaml;
        const char *args;
        const char *first; /* name of the first sample */
        int count;
    } sets[] = {
        {"# a set\npath: x  # its folder\ntrain: images/train\nval: images/more\ntest:\n\n"
         "names:\n  0: ant\n  1: 'bee'\ndownload: |\n  print('{}')\n",
         "split=train", "images/train/a.ppm", 1},
        {"path: ./x\ntrain: [./images/train/, images/more]\nnames: [ant, \"bee\"]\nnc: 2\n",
         "split=train", "images/train/a.ppm", 2},
        {"{path: x, val: images, names: {1: bee, 0: ant}}", "split=val", "images/more/b.ppm", 2},
        {"path: /nowhere\ntrain:\n- images/more\n- images/train\nnames:\n- ant\n- bee\n",
         "split=train root=%s/x", "images/more/b.ppm", 2},
        {"train: ../x/images/train\nnames: [ant, bee]\nroboflow:\n  a: [1, {b: c}]\n",
         "split=train", "x/images/train/a.ppm", 1},
        {"path: x\ntrain: all.txt\nnames: [ant, bee]\n", "split=train", "images/more/b.ppm", 2},
        {"train: list.txt\nnames: [ant, bee]\n", "split=train", "x/images/train/a.ppm", 1},
    };
    const char *folder = set_folder();

    write_list(folder, "x/all.txt", "\xEF\xBB\xBF./images/more/b.ppm\r\n\nimages/train/a.ppm");
    write_list(folder, "list.txt", "x/images/train/a.ppm \n");
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        sluice_dataset *dataset;
        char args[400];

        write_list(folder, "d.yaml", sets[i].yaml);
        snprintf(args, sizeof(args), "%s", sets[i].args);
        if (strstr(args, "root=") != NULL) {
            snprintf(args, sizeof(args), "split=train root=%s/x", folder);
        }
        dataset = parsedf("yolo %s/d.yaml %s | decode | batch 1", folder, args);
        T_STR(log_of_opening(dataset), "");
        T_STR(name_of(dataset, 0), sets[i].first);
        T_EQ(dataset_source(dataset)->count(dataset->source), sets[i].count);
        check_class(dataset, 0, "ant");
        check_class(dataset, 1, "bee");
        sluice_dataset_destroy(dataset);
    }
}

/* An absolute path is written out, so the image may be anywhere. */
static void lists_may_have_absolute_paths(void)
{
    const char *folder = set_folder();
    sluice_dataset *dataset;
    char line[400];

    snprintf(line, sizeof(line), "%s/x/images/more/b.ppm\n%s/x/notes.doc\n", folder, folder);
    add_folder(folder, "y");
    write_list(folder, "y/all.txt", line);
    write_list(folder, "d.yaml", "path: y\ntrain: all.txt\nnc: 3\n");
    dataset = parsedf("yolo %s/d.yaml split=train | decode | batch 1", folder);
    T_CONTAINS(log_of_opening(dataset), "left out: 1 .doc");
    line[strcspn(line, "\n")] = '\0';
    T_STR(name_of(dataset, 0), line);
    check_class(dataset, 2, "2");
    sluice_dataset_destroy(dataset);
}

/* With kpt_shape a line may have key points; they are not read, which is said. */
static void key_points_are_counted(void)
{
    static const float want[4] = {10, 7.5F, 30, 22.5F};
    const char *folder = set_folder();
    engine_run run;
    sluice_dataset *dataset;

    write_list(folder, "x/data.yaml", "kpt_shape: [2, 3]\nnames: [ant, bee]\n");
    write_list(folder, "x/labels/train/a.txt",
               "1 .5 .5 .5 .5 .1 .2 2 .3 .4 0\n0 .1 .1 .1 .1 .5 .5 .5\n");
    dataset = parsedf("yolo %s/x split=train | decode | batch 1", folder);
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, NULL, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "labels/train/a.txt:2: 8 numbers must be 5, class x y width "
                                    "height, or with the key points of kpt_shape 11");
    sluice_dataset_destroy(dataset);
    write_list(folder, "x/labels/train/a.txt", "1 .5 .5 .5 .5 .1 .2 2 .3 .4 0\n");
    dataset = parsedf("yolo %s/x split=train | decode | batch 1", folder);
    T_CONTAINS(log_of_opening(dataset),
               "1 lines have key points, which are not read, the first at labels/train/a.txt:1");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)), 0);
    close_run(&run);
}

static void wrong_descriptions_say_where(void)
{
    static const struct {
        const char *yaml;
        sluice_status status;
        const char *words;
    } bad[] = {
        {"", SLUICE_E_CORRUPT, "the file must be a map"},
        {"- a\n", SLUICE_E_CORRUPT, "line 1: the file must be a map"},
        {"path: x\n\ttrain: y\n", SLUICE_E_CORRUPT, "line 2: this is not YAML: "},
        {"path: x\nval: y\n", SLUICE_E_INVALID,
         "there are no images of train; keys with images are: val"},
        {"train:\n", SLUICE_E_INVALID, "there are no images of train; keys with images are: train"},
        {"train: {a: b}\n", SLUICE_E_CORRUPT, "line 1: train must be a text"},
        {"train: [a, [b]]\n", SLUICE_E_CORRUPT, "train must be a text"},
        {"val: &a x\ntrain: *a\n", SLUICE_E_CORRUPT, "line 2: train must be a text, not an alias"},
        {"train: \"a\\0b\"\n", SLUICE_E_CORRUPT, "train must be a text of 1 to 4095 bytes"},
        {"train: x\ntrain: y\n", SLUICE_E_CORRUPT, "line 2: a second train"},
        {"train: x\nnames: ant\n", SLUICE_E_CORRUPT, "line 2: names must be a list of names"},
        {"train: x\nnames: [a, '']\n", SLUICE_E_CORRUPT, "a name of a class must be a text"},
        {"train: x\nnames: {a: b}\n", SLUICE_E_CORRUPT, "a key of names is a and must be a whole"},
        {"train: x\nnames: {0: a, 0: b}\n", SLUICE_E_CORRUPT, "a second name of class 0, b"},
        {"train: x\nnames: {1: a}\n", SLUICE_E_CORRUPT, "names has no name of class 0"},
        {"train: x\nnames: {65536: a}\n", SLUICE_E_CORRUPT, "from 0 to 65535"},
        {"train: x\nnames: [a]\nnc: 2\n", SLUICE_E_CORRUPT, "nc is 2, and names has 1 names"},
        {"train: x\nnc: many\n", SLUICE_E_CORRUPT, "line 2: nc is many and must be a whole number"},
        {"train: x\nkpt_shape: 17\n", SLUICE_E_CORRUPT, "kpt_shape must be a list of 2 numbers"},
        {"train: x\nkpt_shape: [17, 3, 1]\n", SLUICE_E_CORRUPT, "kpt_shape must be a list of 2"},
        {"train: x\nkpt_shape: [17, 4]\n", SLUICE_E_CORRUPT,
         "the numbers of kpt_shape is 4 and must be a whole number from 2 to 3"},
        {"train: x\na: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n",
         SLUICE_E_CORRUPT, "more than 32 nested lists and maps"},
        {"train: x\n---\ntrain: y\n", SLUICE_E_CORRUPT, "a second document"},
        {"train: nothing\n", SLUICE_E_IO, "cannot open nothing, which must be a folder"},
        {"path: nowhere\ntrain: x\n", SLUICE_E_IO, "path: is nowhere, and there is no folder /"},
        {"train: x/labels\n", SLUICE_E_INVALID, "the folder x/labels has no files with extensions"},
        {"train: x/up.txt\n", SLUICE_E_CORRUPT,
         "x/up.txt:2: a/../../b.ppm must be in the folder of the list"},
        {"train: x/none.txt\n", SLUICE_E_INVALID, "the list x/none.txt has no images"},
    };
    const char *folder = set_folder();

    write_list(folder, "x/up.txt", "a/..b/c..ppm\na/../../b.ppm\n");
    write_list(folder, "x/none.txt", "\n");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset;
        char *text = NULL;

        write_list(folder, "d.yaml", bad[i].yaml);
        dataset = parsedf("yolo %s/d.yaml split=train | decode | batch 1", folder);
        T_STATUS(sluice_dataset_explain(dataset, &text), bad[i].status);
        T_CONTAINS(sluice_last_error(), "d.yaml: ");
        T_CONTAINS(sluice_last_error(), bad[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void arguments_must_fit_the_path(void)
{
    const char *folder = set_folder();
    sluice_dataset *dataset;
    char *text = NULL;

    write_list(folder, "d.yaml", "val: x\ntest: y\n");
    dataset = parsedf("yolo %s/d.yaml | decode | batch 1", folder);
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "split= must name the images to read; the set has val, test; `yolo ");
    T_CONTAINS(sluice_last_error(), "/d.yaml split=val` reads one of its splits");
    sluice_dataset_destroy(dataset);
    write_list(folder, "d.yaml", "mine: x\n");
    dataset = parsedf("yolo %s/d.yaml | decode | batch 1", folder);
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "/d.yaml; it has no key train, val, valid, validation or test");
    sluice_dataset_destroy(dataset);
    dataset = parsedf("yolo %s/x split=train root=y | decode | batch 1", folder);
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "root= needs a data.yaml");
    sluice_dataset_destroy(dataset);
    write_list(folder, "x/data.yaml", "names: [a\n");
    dataset = parsedf("yolo %s/x split=train | decode | batch 1", folder);
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "/x: data.yaml: line 2: this is not YAML");
    sluice_dataset_destroy(dataset);
}

#else

/* The names are in classes.txt then, or nowhere. */
static void a_build_without_libyaml_says_so(void)
{
    const char *folder = set_folder();
    sluice_dataset *dataset;
    char *text = NULL;
    const char *said;

    write_list(folder, "x/data.yaml", "names: [ant, bee]\n");
    dataset = parsedf("yolo %s/x split=train | decode | batch 1", folder);
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "this build has no libyaml");
    sluice_dataset_destroy(dataset);
    write_list(folder, "x/classes.txt", "ant\nbee\n");
    dataset = parsedf("yolo %s/x split=train | decode | batch 1", folder);
    said = log_of_opening(dataset);
    T_CONTAINS(said, "data.yaml is not read: this build has no libyaml");
    T_CONTAINS(said, "nothing else of data.yaml is used");
    sluice_dataset_destroy(dataset);
}

#endif

const t_test yolo_data_tests[] = {
#ifdef SLI_HAVE_YAML
    T_TEST(descriptions_name_images_and_classes),
    T_TEST(lists_may_have_absolute_paths),
    T_TEST(key_points_are_counted),
    T_TEST(wrong_descriptions_say_where),
    T_TEST(arguments_must_fit_the_path),
#else
    T_TEST(a_build_without_libyaml_says_so),
#endif
    T_END,
};
