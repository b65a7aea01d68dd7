/* SPDX-License-Identifier: Apache-2.0 */
/* The source voc: annotations, splits, classes, and wrong files. */
#include <sys/stat.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

#define SIZE "<size><width>40</width><height>30</height><depth>3</depth></size>"
#define CORNERS(a, b, c, d)                                                                        \
    "<bndbox><xmin>" #a "</xmin><ymin>" #b "</ymin><xmax>" #c "</xmax><ymax>" #d "</ymax></"       \
    "bndbox>"
#define OBJECT(name, inner) "<object><name>" name "</name>" inner "</object>"
#define XML(inner)          "<annotation>" inner "</annotation>"

static void add_xml(const char *folder, const char *name, const char *text)
{
    char path[64];

    snprintf(path, sizeof(path), "Annotations/%s.xml", name);
    write_list(folder, path, text);
}

/* A folder with the images a, b and c, of which a and b are in the split train. */
static const char *voc_folder(void)
{
    static const char *const folders[] = {"Annotations", "JPEGImages", "ImageSets",
                                          "ImageSets/Main"};
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        T_EQ(mkdir(t_path(folder, folders[i]), 0777), 0);
    }
    write_pair(folder, "JPEGImages/a.ppm", "m.pgm");
    write_pair(folder, "JPEGImages/b.ppm", "m.pgm");
    write_pair(folder, "JPEGImages/c.ppm", "m.pgm");
    write_list(folder, "ImageSets/Main/train.txt", "b\r\na\n\n");
    add_xml(folder, "a", XML(SIZE));
    add_xml(folder, "b", XML(SIZE OBJECT("dog", CORNERS(1, 1, 40, 30))));
    add_xml(folder, "c", XML(SIZE OBJECT("cat", CORNERS(1, 1, 4, 3))));
    return folder;
}

#ifdef SLI_HAVE_EXPAT

/* Corners count from 1 in the file; parts of objects and other elements are skipped. */
static void boxes_count_from_zero(void)
{
    static const float want[2][4] = {{0, 0, 40, 30}, {3.5F, 4, 20, 15}};
    const char *folder = voc_folder();
    engine_run run;
    sluice_dataset *dataset;

    add_xml(folder, "b",
            "<?xml version=\"1.0\"?>\n<annotation>\n<filename>../x.jpg</filename>" SIZE
            "<object><name> dog </name><pose>Left</pose><truncated>1</truncated>"
            "<part><name>head</name>" CORNERS(2, 2, 3, 3) "</part>" CORNERS(
                1, 1, 40,
                30) "<difficult>0</difficult></object>" OBJECT("R&amp;D",
                                                               CORNERS(4.5, 5, 20,
                                                                       15)) "</annotation>\n");
    dataset = parsedf("voc %s split=train max_boxes=3 | decode | batch 2", folder);
    T_STR(log_of_opening(dataset), "");
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
    T_EQ(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)), 0);
    T_EQ(memcmp(column_row(&run, "classes", 0), (const int32_t[]){2, 0, 0}, 12), 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 1), 0);
    T_EQ(*(const int64_t *)column_row(&run, "image_id", 1), 1);
    close_run(&run);
    T_STR(name_of(dataset, 0), "JPEGImages/b.ppm");
    check_class(dataset, 0, "R&D");
    check_class(dataset, 1, "cat");
    check_class(dataset, 2, "dog");
    sluice_dataset_destroy(dataset);
}

/* All splits have the same classes, also those whose images lack some. */
static void classes_are_those_of_all_annotations(void)
{
    static const struct {
        const char *args;
        uint64_t count;
        const char *classes[3];
    } sets[] = {
        {"split=train", 2, {"cat", "dog", NULL}},
        {"split=val", 1, {"cat", "dog", NULL}},
        {"", 3, {"cat", "dog", NULL}},
        {"split=train names=dog,bee,cat", 2, {"dog", "bee", "cat"}},
    };
    const char *folder = voc_folder();

    write_list(folder, "ImageSets/Main/val.txt", "c\n");
    add_xml(folder, ".hidden", XML(SIZE OBJECT("ape", CORNERS(1, 1, 2, 2))));
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        sluice_dataset *dataset = parsedf("voc %s %s | decode | batch 1", folder, sets[i].args);
        char *name = NULL;

        T_STR(log_of_opening(dataset), "");
        T_EQ(dataset_source(dataset)->count(dataset->source), sets[i].count);
        for (uint32_t k = 0; k < 3 && sets[i].classes[k] != NULL; k++) {
            check_class(dataset, k, sets[i].classes[k]);
        }
        T_STATUS(sluice_dataset_class_name(dataset, i == 3 ? 3 : 2, &name), SLUICE_E_INVALID);
        sluice_dataset_destroy(dataset);
    }
    write_list(folder, "classes.txt", "dog\ncat\n");
    {
        sluice_dataset *dataset = parsedf("voc %s split=train | decode | batch 1", folder);

        T_STR(log_of_opening(dataset), "");
        check_class(dataset, 0, "dog");
        sluice_dataset_destroy(dataset);
    }
}

static uint64_t names_hash(const char *folder, const char *args)
{
    sluice_dataset *dataset = parsedf("voc %s %s | decode | batch 1", folder, args);
    uint64_t hash;

    T_STR(log_of_opening(dataset), "");
    hash = dataset_source(dataset)->identity(dataset->source);
    sluice_dataset_destroy(dataset);
    return hash;
}

/* A run must not go on with other numbers of classes. */
static void names_are_part_of_the_identity(void)
{
    const char *folder = voc_folder();
    const uint64_t sorted = names_hash(folder, "");

    T_TRUE(sorted == names_hash(folder, "names=cat,dog"));
    T_TRUE(sorted != names_hash(folder, "names=dog,cat"));
    T_TRUE(sorted != names_hash(folder, "names=cat,dog,ewe"));
}

static void difficult_objects_are_dropped_or_kept(void)
{
    const char *folder = voc_folder();

    add_xml(folder, "b",
            XML(SIZE OBJECT("dog", CORNERS(1, 1, 4, 3) "<difficult>1</difficult>")
                    OBJECT("dog", CORNERS(1, 1, 40, 30) "<difficult>0</difficult>")));
    for (int keep = 0; keep < 2; keep++) {
        engine_run run;
        sluice_dataset *dataset = parsedf("voc %s split=train %s | take 1 | decode | batch 1",
                                          folder, keep == 1 ? "difficult=keep" : "");
        const char *said = log_of_opening(dataset);

        if (keep == 1) {
            T_STR(said, "");
        } else {
            T_CONTAINS(said, "1 objects are difficult and are dropped; difficult=keep keeps them");
        }
        open_own(&run, dataset, &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1 + keep);
        T_EQ(sli_layout_find(&run.layout, "difficult") >= 0, keep == 1);
        if (keep == 1) {
            T_EQ(memcmp(column_row(&run, "difficult", 0), "\1\0\0", 3), 0);
        }
        close_run(&run);
    }
}

/* Names of images with blanks, extensions in upper case, and blanks in names=. */
static void blanks_and_upper_case_are_read(void)
{
    const char *folder = voc_folder();
    sluice_dataset *dataset;
    engine_run run;

    write_pair(folder, "JPEGImages/my photo.PPM", "m.pgm");
    write_pair(folder, "JPEGImages/photo 1.ppm", "m.pgm");
    add_xml(folder, "my photo", XML(SIZE OBJECT("big dog", CORNERS(1, 1, 40, 30))));
    add_xml(folder, "photo 1", XML(SIZE));
    write_list(folder, "ImageSets/Main/blank.txt", "my photo\nphoto 1\nmy photo  -1\na 0\nb 2\n");
    dataset =
        parsedf("voc %s split=blank names='cat, big dog ,dog' | take 4 | decode | batch 4", folder);
    T_CONTAINS(log_of_opening(dataset), "blank.txt: 2 lines have a second column");
    T_STR(name_of(dataset, 0), "JPEGImages/my photo.PPM");
    T_STR(name_of(dataset, 1), "JPEGImages/photo 1.ppm");
    T_STR(name_of(dataset, 2), "JPEGImages/my photo.PPM");
    T_STR(name_of(dataset, 3), "JPEGImages/a.ppm");
    T_STR(name_of(dataset, 4), "JPEGImages/b 2.jpg");
    check_class(dataset, 1, "big dog");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    T_EQ(*(const int32_t *)column_row(&run, "classes", 0), 1);
    close_run(&run);
}

static void changed_boxes_are_said(void)
{
    const char *folder = voc_folder();
    sluice_dataset *dataset;
    const char *said;

    write_list(folder, "ImageSets/Main/dog_train.txt", "a -1\nb  1\n");
    add_xml(folder, "b",
            XML(SIZE
                "\n" OBJECT("dog", CORNERS(0, 1, 50, 30)) "\n" OBJECT("dog", CORNERS(5, 5, 4, 9))));
    dataset = parsedf("voc %s split=dog_train | decode | batch 1", folder);
    said = log_of_opening(dataset);
    T_CONTAINS(said, "ImageSets/Main/dog_train.txt: 2 lines have a second column");
    T_CONTAINS(said, "1 boxes that reach beyond their image are clipped to it, the first at "
                     "Annotations/b.xml:2");
    T_CONTAINS(said, "1 boxes without an area are dropped, the first at Annotations/b.xml:3");
    sluice_dataset_destroy(dataset);
}

static void wrong_annotations_are_bad_samples_with_file_and_line(void)
{
    static const struct {
        const char *xml; /* of image b; NULL: no file */
        const char *words;
    } bad[] = {
        {NULL, "Annotations/b.xml: cannot open"},
        {"", "Annotations/b.xml:1: this is not XML: no element found"},
        {"<annotation>\n<object>", "Annotations/b.xml:2: this is not XML: no element found"},
        {"<a/>", "Annotations/b.xml:1: the root element is a, and must be annotation"},
        {"<annotation>\n<object></object></annotation>",
         "Annotations/b.xml:2: an object has no name"},
        {XML(OBJECT("dog", "")), "an object has no xmin"},
        {XML(OBJECT("", CORNERS(1, 1, 2, 2))), "the name of an object is empty"},
        {XML(OBJECT("dog", CORNERS(1, 1, 2, x))), "ymax is 'x' and must be a number"},
        {XML(OBJECT("dog", CORNERS(1, 1, 2, nan))), "ymax is 'nan' and must be a number"},
        {XML(OBJECT("dog", CORNERS(1, 1, 2, 2) CORNERS(1, 1, 2, 2))),
         "a second bndbox of an object"},
        {XML(OBJECT("dog", CORNERS(1, 1, 2, 2) "<difficult>2</difficult>")),
         "difficult is '2' and must be 0 or 1"},
        {XML("<size><width>4.5</width></size>"), "width is 4.5 and must be a whole number"},
        {XML("<size><height>-1</height></size>"), "height is -1 and must be a whole number"},
        {XML(SIZE OBJECT("dog", CORNERS(9, 1, 2, 2))),
         "object[0]: the box, 8,0,2,2, must be x0,y0,x1,y1"},
        {XML(SIZE OBJECT("dog", CORNERS(50, 1, 60, 2))),
         "object[0]: the box, 49,0,60,2, is wholly outside its image of 40x30"},
        {XML(OBJECT("bee", CORNERS(1, 1, 2, 2))),
         "Annotations/b.xml:1: the class bee is not among the names of the classes"},
        {XML(OBJECT("dog", CORNERS(1, 1, 2, 2)) OBJECT("dog", CORNERS(1, 1, 3, 2))),
         "JPEGImages/b.ppm: this image has 2 boxes, more than max_boxes=1"},
        {"<!DOCTYPE annotation [<!ENTITY a \"dog\">]>\n" XML(OBJECT("&a;", CORNERS(1, 1, 2, 2))),
         "Annotations/b.xml:1: a document type (DOCTYPE) is not read"},
        {XML("<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>"
             "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>"
             "<a><a><a><a><a><a><a><a>"),
         "more than 64 nested elements"},
    };
    const char *folder = voc_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset;
        const char *said;

        if (bad[i].xml != NULL) {
            add_xml(folder, "b", bad[i].xml);
        } else {
            T_EQ(remove(t_path(folder, "Annotations/b.xml")), 0);
        }
        dataset =
            parsedf("voc %s split=train names=cat,dog max_boxes=1 | decode | batch 1", folder);
        said = log_of_opening(dataset);
        T_CONTAINS(said, "1 of 2 images are bad samples, the first: ");
        T_CONTAINS(said, bad[i].words);
        check_read_fails(dataset, 0,
                         i == 0    ? SLUICE_E_IO
                         : i == 17 ? SLUICE_E_UNSUPPORTED
                                   : SLUICE_E_CORRUPT,
                         bad[i].words);
        sluice_dataset_destroy(dataset);
    }
}

/* A file outside the split that cannot be read takes its classes with it, which is said. */
static void classes_of_files_that_cannot_be_read_are_not_known(void)
{
    const char *folder = voc_folder();
    sluice_dataset *dataset;
    const char *said;

    add_xml(folder, "c", "<annotation>");
    dataset = parsedf("voc %s split=train | decode | batch 1", folder);
    said = log_of_opening(dataset);
    T_CONTAINS(said, "the classes of 1 annotations are not known, since they cannot be read, the "
                     "first: Annotations/c.xml; names= gives the classes");
    check_class(dataset, 0, "dog");
    sluice_dataset_destroy(dataset);
}

static void check_refused_set(const char *folder, const char *args, sluice_status want,
                              const char *words)
{
    sluice_dataset *dataset = parsedf("voc %s %s | decode | batch 1", folder, args);
    char *text = NULL;

    T_STATUS(sluice_dataset_explain(dataset, &text), want);
    T_CONTAINS(sluice_last_error(), "voc: ");
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static void wrong_splits_are_errors(void)
{
    const char *folder = voc_folder();
    sluice_dataset *dataset = NULL;

    check_refused_set("/nonexistent", "split=train", SLUICE_E_IO, "/nonexistent: cannot open");
    check_refused_set(folder, "split=none", SLUICE_E_IO, "ImageSets/Main/none.txt: cannot open");
    write_list(folder, "ImageSets/Main/up.txt", "a\n../b\n");
    check_refused_set(folder, "split=up", SLUICE_E_CORRUPT,
                      "ImageSets/Main/up.txt:2: '../b' must be the name of an image");
    write_list(folder, "ImageSets/Main/root.txt", "/b\n");
    check_refused_set(folder, "split=root", SLUICE_E_CORRUPT, "'/b' must be the name of an image");
    write_list(folder, "ImageSets/Main/empty.txt", "\n");
    check_refused_set(folder, "split=empty", SLUICE_E_INVALID,
                      "ImageSets/Main/empty.txt has no images");
    check_refused_set(folder, "split=train names=a,,b", SLUICE_E_INVALID,
                      "names= must be names of classes with commas");
    check_refused_set(folder, "split=train names=a,b,a", SLUICE_E_INVALID,
                      "two classes have the name a");
    T_STATUS(sluice_dataset_parse("voc x split=../y | decode | batch 1", &dataset),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "split=../y must be the name of a split");
}

/* Masks of their own list of images; class numbers, and those of instances. */
static void masks_follow_the_image(void)
{
    static const char *const choices[] = {"semantic", "instance"};
    static const char *const folders[] = {"SegmentationClass", "SegmentationObject"};
    const char *folder = voc_folder();

    T_EQ(mkdir(t_path(folder, "ImageSets/Segmentation"), 0777), 0);
    write_list(folder, "ImageSets/Segmentation/train.txt", "c\n");
    for (int i = 0; i < 2; i++) {
        char path[64];
        engine_run run;
        const uint8_t *mask;

        T_EQ(mkdir(t_path(folder, folders[i]), 0777), 0);
        snprintf(path, sizeof(path), "%s/c.png: cannot open", folders[i]);
        open_own(&run,
                 parsedf("voc %s split=train masks=%s | decode | batch 1", folder, choices[i]),
                 &(run_options){.workers = 1});
        T_STATUS(next_batch(&run), SLUICE_E_IO);
        T_CONTAINS(sluice_last_error(), path);
        close_run(&run);
        /* a mask is told by its bytes, not by its name */
        snprintf(path, sizeof(path), "%s/c.png", folders[i]);
        write_pair(folder, "JPEGImages/c.ppm", path);
        open_own(&run,
                 parsedf("voc %s split=train masks=%s difficult=keep | decode | crop 3,4 5 6 | "
                         "random_horizontal_flip 1 | batch 1",
                         folder, choices[i]),
                 &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        mask = column_row(&run, "mask", 0);
        T_EQ(mask[0], class_of(9, 5));
        T_EQ(mask[2], class_of(7, 5));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 0);
        close_run(&run);
    }
}

#else

static void a_build_without_expat_says_so(void)
{
    sluice_dataset *dataset = parsedf("voc %s split=train | decode | batch 1", voc_folder());
    char *text = NULL;

    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "this build has no expat");
    sluice_dataset_destroy(dataset);
}

#endif

const t_test source_voc_tests[] = {
#ifdef SLI_HAVE_EXPAT
    T_TEST(boxes_count_from_zero),
    T_TEST(classes_are_those_of_all_annotations),
    T_TEST(names_are_part_of_the_identity),
    T_TEST(difficult_objects_are_dropped_or_kept),
    T_TEST(blanks_and_upper_case_are_read),
    T_TEST(changed_boxes_are_said),
    T_TEST(wrong_annotations_are_bad_samples_with_file_and_line),
    T_TEST(classes_of_files_that_cannot_be_read_are_not_known),
    T_TEST(wrong_splits_are_errors),
    T_TEST(masks_follow_the_image),
#else
    T_TEST(a_build_without_expat_says_so),
#endif
    T_END,
};
