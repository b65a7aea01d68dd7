/* SPDX-License-Identifier: Apache-2.0 */
/* The source coco: boxes and classes of COCO's JSON, and invalid files. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

#ifdef SLI_HAVE_JANSSON

/* Writes JSON, in which ' stands for ", to the file c.json. */
static void write_json(const char *folder, const char *text)
{
    const size_t size = strlen(text);
    char *json = malloc(size + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    for (size_t i = 0; i < size; i++) {
        json[i] = text[i] == '\'' ? '"' : text[i];
    }
    t_write_file(t_path(folder, "c.json"), json, size);
    free(json);
}

static sluice_dataset *coco_dataset(const char *folder, const char *json, const char *stages)
{
    char text[800];

    write_json(folder, json);
    snprintf(text, sizeof(text), "coco %s/c.json %s", folder, stages);
    return parsed(text);
}

#define IMAGES                                                                                     \
    "'images': [{'file_name': 'a.ppm', 'height': 30, 'width': 40, 'id': 70, 'x': {'y': [1, 2]}},"  \
    " {'id': -5, 'file_name': 'b.ppm', 'width': 40, 'height': 30},"                                \
    " {'id': 6, 'file_name': 'b.ppm'}]"
#define CATEGORIES                                                                                 \
    "'categories': [{'id': 9, 'name': 'caf\\u00e9'}, {'id': 1, 'name': 'dog', 'k': null}]"

/* The lists in any order; other members anywhere, with brackets and quotes in texts. */
static void columns_are_what_the_file_lists(void)
{
    static const float want[2][4] = {{10.5F, 5, 30, 25}, {0, 0, 4, 30}};
    const char *folder = t_folder();
    engine_run run;
    sluice_dataset *dataset;
    char *name = NULL;

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "b.ppm", "m.pgm");
    dataset = coco_dataset(
        folder,
        "{'info': {'text': ']}\\'\\\\'}, 'annotations': [{'segmentation': [[1, 2.5], []], 'id': 1, "
        "'image_id': 70, 'category_id': 9, 'bbox': [10.5, 5, 19.5, 2e1], 'iscrowd': 0},\n"
        "{'image_id': 6, 'category_id': 1, 'bbox': [1, 1, 1, 1], 'segmentation': {'counts': ']'}}, "
        "{'image_id': 70, 'category_id': 1, 'bbox': [0, 0, 4, 30], 'iscrowd': false}],\n" CATEGORIES
        ", " IMAGES "}\n",
        "max_boxes=2 | decode | batch 3");
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)), 0);
    T_EQ(memcmp(column_row(&run, "classes", 0), (const int32_t[]){1, 0}, 8), 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
    T_EQ(*(const int64_t *)column_row(&run, "image_id", 0), 70);
    T_TRUE(is_zero(column_row(&run, "boxes", 1), 32) && is_zero(column_row(&run, "classes", 1), 8));
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 1), 0);
    T_EQ(*(const int64_t *)column_row(&run, "image_id", 1), -5);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 2), 1);
    close_run(&run);
    T_STR(name_of(dataset, 1), "b.ppm");
    T_OK(sluice_dataset_class_name(dataset, 1, &name));
    T_STR(name, "caf\xC3\xA9");
    sluice_string_free(name);
    T_STATUS(sluice_dataset_class_name(dataset, 2, &name), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

#define BOX(image, category, box)                                                                  \
    "{'image_id': " #image ", 'category_id': " #category ", 'bbox': [" box "]"
#define THREE_BOXES                                                                                \
    BOX(70, 9, "0,0,4,30")                                                                         \
    "}," BOX(70, 1, "10,5,20,20") ", 'iscrowd': 1}," BOX(70, 9, "36,0,4,3") "}"

static void crowds_are_dropped_or_kept(void)
{
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    for (int keep = 0; keep < 2; keep++) {
        open_own(&run,
                 coco_dataset(folder, "{" IMAGES "," CATEGORIES ",'annotations':[" THREE_BOXES "]}",
                              keep == 1 ? "iscrowd=keep | take 1 | decode | batch 1"
                                        : "| take 1 | decode | batch 1"),
                 &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), keep == 1 ? 3 : 2);
        T_EQ(sli_layout_find(&run.layout, "iscrowd") >= 0, keep == 1);
        if (keep == 1) {
            T_EQ(memcmp(column_row(&run, "iscrowd", 0), "\0\1\0\0", 4), 0);
        }
        close_run(&run);
    }
}

/* The same boxes, classes and images as a list gives, through the same geometry. */
static void boxes_follow_as_those_of_a_list(void)
{
    static const char *const stages =
        "| take 1 | decode | random_crop 20,16 | random_horizontal_flip | batch 1";
    const char *folder = t_folder();
    uint32_t kept = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint64_t seed = 0; seed < 8; seed++) {
        engine_run runs[2];
        sluice_dataset *datasets[2];
        const void *columns[2][3];

        datasets[0] =
            coco_dataset(folder, "{" IMAGES "," CATEGORIES ",'annotations':[" THREE_BOXES "]}",
                         "max_boxes=3 iscrowd=keep | take 1 | decode | random_crop 20,16 | "
                         "random_horizontal_flip | batch 1");
        datasets[1] = list_dataset(folder,
                                   "image\tboxes:coco[3]\tclasses:i32[3]@boxes\n"
                                   "a.ppm\t0,0,4,30;10,5,20,20;36,0,4,3\t1,0,1\n",
                                   stages);
        for (int i = 0; i < 2; i++) {
            open_run(&runs[i], datasets[i],
                     &(run_options){.workers = 1, .settings = {.seed = seed}});
            T_OK(next_batch(&runs[i]));
            columns[i][0] = column_row(&runs[i], "boxes", 0);
            columns[i][1] = column_row(&runs[i], "classes", 0);
            columns[i][2] = column_row(&runs[i], "image", 0);
            kept += (uint32_t) * (const int32_t *)column_row(&runs[i], "boxes_length", 0);
        }
        T_EQ(memcmp(columns[0][0], columns[1][0], 48), 0);
        T_EQ(memcmp(columns[0][1], columns[1][1], 12), 0);
        T_EQ(memcmp(columns[0][2], columns[1][2], 20 * 16 * 3), 0);
        for (int i = 0; i < 2; i++) {
            close_run(&runs[i]);
            sluice_dataset_destroy(datasets[i]);
        }
    }
    T_TRUE(kept > 0 && kept < 48);
}

/* As dataframes, Windows programs and writers of other languages give them. */
static void other_forms_of_numbers_are_read(void)
{
    static const char *const forms[] = {
        "\xEF\xBB\xBF{'images':[{'id':7.0,'file_name':'a.ppm','width':40.0,'height':3e1}],"
        "'categories':[{'id':2.0,'name':'x'},{'id':1.0,'name':'y'}],'annotations':["
        "{'image_id':7.0,'category_id':2.0,'bbox':[0.0,0.0,4,30],'iscrowd':0.0},"
        "{'image_id':7,'category_id':1,'bbox':[0,0,4,30],'iscrowd':1.0}]}",
        "{'images':[{'id':'7','file_name':'a.ppm','width':null,'height':null}],"
        "'categories':[{'id':'2','name':'x'},{'id':'1','name':'y'}],'annotations':["
        "{'image_id':'7','category_id':'2','bbox':[0,0,4,30],'iscrowd':null,'area':null},"
        "{'image_id':'7','category_id':1,'bbox':[0,0,4,30],'iscrowd':true,'area':NaN}]}",
    };
    static const float want[4] = {0, 0, 4, 30};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 2; i++) {
        engine_run run;
        sluice_dataset *dataset = coco_dataset(folder, forms[i], "| decode | batch 1");

        kit_log_start(NULL, NULL);
        open_own(&run, dataset, &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
        T_EQ(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)), 0);
        T_EQ(*(const int32_t *)column_row(&run, "classes", 0), 1);
        T_EQ(*(const int64_t *)column_row(&run, "image_id", 0), 7);
        close_run(&run);
        if (i == 0) {
            T_STR(kit_log_stop(), "");
        } else {
            T_CONTAINS(kit_log_stop(), "c.json: 5 ids or other whole numbers are texts");
        }
    }
}

/* Boxes that reach beyond their image by rounding are clipped; empty ones are left out. */
static void rounded_and_empty_boxes_are_mended(void)
{
    static const float want[2][4] = {{0, 0, 40, 30}, {39, 29, 40, 30}};
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run,
             coco_dataset(folder,
                          "{" IMAGES "," CATEGORIES ",'annotations':[" //
                          BOX(70, 9, "-0.25,-1,40.5,32") "},"          //
                          BOX(70, 1, "3,4,0,9") "},"                   //
                          BOX(70, 1, "3,4,5,0") "},"                   //
                          BOX(70, 1, "40.5,3,0,4") "},"                //
                          BOX(70, 1, "39,29,1.5,1") "}]}",
                          "max_boxes=2 | take 1 | decode | batch 1"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
    T_EQ(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)), 0);
    close_run(&run);
}

/* Boxes of bad images are neither; and a box has the number that it has in the file. */
static void changed_boxes_of_bad_images_are_not_counted(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    const char *said;
    char *text = NULL;

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "b.ppm", "m.pgm");
    dataset = coco_dataset(folder,
                           "{" IMAGES "," CATEGORIES ",'annotations':[" //
                           BOX(70, 9, "-9,-1,40.5,32") "},"             //
                           BOX(70, 1, "3,4,0,9") "},"                   //
                           BOX(70, 1, "50,4,5,1") "},"                  //
                           BOX(-5, 1, "3,4,5,0") "},"                   //
                           BOX(-5, 1, "-9,4,15,5") "}]}",
                           "max_boxes=2 | decode | batch 1");
    kit_log_start(NULL, NULL);
    T_OK(sluice_dataset_explain(dataset, &text));
    said = kit_log_stop();
    T_CONTAINS(said, "annotations[2]: the box, 50,4,55,5, is wholly outside its image of 40x30");
    T_CONTAINS(said, "c.json: 1 boxes without an area are dropped, the first at byte");
    T_CONTAINS(said, "c.json: 1 boxes that reach beyond their image are clipped to it");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

/* As json.dump of Python writes them. */
static void boxes_that_are_not_finite_make_their_images_bad_samples(void)
{
    static const struct {
        const char *box;
        const char *words;
    } bad[] = {
        {"NaN,10,50,60", "annotations[1]: the box, nan,10,nan,70, must be x0,y0,x1,y1 with finite"},
        {" NaN , NaN,NaN,NaN", "annotations[1]: the box, nan,nan,nan,nan, must be"},
        {"1,2,Infinity,3", "annotations[1]: the box, 1,2,inf,5, must be"},
        {"-Infinity,2,3,4", "annotations[1]: the box, -inf,2,-inf,6, must be"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "b.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char json[1000];
        char *text = NULL;
        sluice_dataset *dataset;

        snprintf(
            json, sizeof(json),
            "{" IMAGES "," CATEGORIES ",'annotations':[" BOX(
                -5, 1,
                "3,4,5,6") ",'a':'NaN'},"
                           "{'image_id':70,'category_id':9,'x':'\\\\','area':NaN,'bbox':[%s]}]}",
            bad[i].box);
        dataset = coco_dataset(folder, json, "| decode | batch 1");
        kit_log_start(NULL, NULL);
        T_OK(sluice_dataset_explain(dataset, &text));
        T_CONTAINS(kit_log_stop(), bad[i].words);
        sluice_string_free(text);
        sluice_dataset_destroy(dataset);
    }
}

/* Checks that opening a file fails, with these words in the message. */
static void check_file_refused(const char *folder, const char *json, sluice_status want,
                               const char *words)
{
    sluice_dataset *dataset = coco_dataset(folder, json, "max_boxes=2 | decode | batch 1");
    char *text = NULL;

    T_STATUS(sluice_dataset_explain(dataset, &text), want);
    T_CONTAINS(sluice_last_error(), "c.json: ");
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

#define WITH_BOX(box)   "{" IMAGES "," CATEGORIES ",'annotations':[" box "]}"
#define WITH_IMAGE(one) "{'images':[" one "]," CATEGORIES ",'annotations':[]}"

#define ONE_IMAGE(box)                                                                             \
    "{'images':[{'id':1,'file_name':'a.ppm','width':40,'height':30}]," CATEGORIES                  \
    ",'annotations':[{'image_id':1,'category_id':9,'bbox':[" box "]}]}"

static void bad_files_say_where(void)
{
    static const struct {
        const char *json;
        const char *words;
    } bad[] = {
        {"", "byte 0, line 1: the file ends; '{' must follow"},
        {"[]", "byte 0, line 1: '[' must be '{'"},
        {"{}", "there is no list images"},
        {"{" IMAGES ",'annotations':[]}", "there is no list categories"},
        {"{\n'images':\n[3]", "byte 13, line 3: images[0]: '3' must be '{'"},
        {"{'images':[{'id':1", "byte 18, line 1: images[0]: the file ends"},
        {"{'x':[[1,2]", "the file ends within a value: it is truncated"},
        {"{'x':'a\\'", "the file ends within a value: it is truncated"},
        {"{'x' 3}", "byte 5, line 1: '3' must be ':'"},
        {"{'x':3 'y'", "byte 7, line 1: '\"' must be ',' or '}'"},
        {"{\x01", "byte 1, line 1: byte 0x01 must be '\"'"},
        {"{'x':}", "'}' must be a value"},
        {"{7:3}", "'7' must be '\"'"},
        {WITH_BOX("") " 3", "bytes follow the end of the object"},
        {"{" IMAGES "," IMAGES "}", "a second list images"},
        {WITH_IMAGE("{'file_name':'a'}"), "byte 11, line 1: images[0]: id is missing"},
        {WITH_IMAGE("{'id':'1x','file_name':'a'}"), "id is \"1x\" and must be a whole number"},
        {WITH_IMAGE("{'id':1.5,'file_name':'a'}"), "id is 1.5 and must be a whole number"},
        {WITH_IMAGE("{'id':1e300,'file_name':'a'}"), "id is 1e300 and must be"},
        {WITH_IMAGE("{'id':'007','file_name':'a'}"), "id is \"007\" and must be"},
        {WITH_IMAGE("{'id':'99999999999999999999','file_name':'a'}"), "id is \"99999"},
        {WITH_IMAGE("{'id':' 1','file_name':'a'}"), "id is \" 1\" and must be"},
        {WITH_IMAGE("{'id':'1\\u0001','file_name':'a'}"), "id is \"1\\u0001\" and must be"},
        {WITH_IMAGE("{'id':null,'file_name':'a'}"), "id is null and must be"},
        {WITH_IMAGE("{'id':true,'file_name':'a'}"), "id is true and must be"},
        {WITH_IMAGE("{'id':[1],'file_name':'a'}"), "id is [1] and must be"},
        {WITH_IMAGE("{'id':99999999999999999999,'file_name':'a'}"), "this is not JSON: too big"},
        {WITH_IMAGE("{'id':1,'file_name':''}"), "file_name is \"\" and must be a text"},
        {WITH_IMAGE("{'id':1,'file_name':'../a'}"),
         "images[0]: file_name is \"../a\" and must be a path without .., in the folder"},
        {WITH_IMAGE("{'id':1,'file_name':'a/../../b'}"), "file_name is \"a/../../b\" and must be"},
        {WITH_IMAGE("{'id':1,'file_name':'a\\u0000'}"), "this is not JSON: \\u0000"},
        {WITH_IMAGE("{'id':1,'id':2,'file_name':'a'}"), "a second id"},
        {WITH_IMAGE("{'id':1,'file_name':'a','width':0}"),
         "width is 0 and must be a whole number from 1 to"},
        {WITH_IMAGE("{'id':1,'file_name':'a','height':2147483648}"),
         "height is 2147483648 and must be"},
        {WITH_IMAGE("{'id':1,'file_name':'a','width':640.5}"), "width is 640.5 and must be"},
        {WITH_IMAGE("{'id':1,'file_name':'a'},\n{'id':1,'file_name':'b'}"),
         "byte 37, line 2: a second image with the id 1"},
        {"{" IMAGES ",'annotations':[],'categories':[{'id':1,'name':'a'},{'id':1,'name':'b'}]}",
         "a second category with the id 1"},
        {WITH_BOX(BOX(71, 9, "1,2,3,4") "}"), "no image has the id 71"},
        {WITH_BOX(BOX(70, 2, "1,2,3,4") "}"), "no category has the id 2"},
        {WITH_BOX("{'image_id':70,'category_id':9}"), "annotations[0]: bbox is missing"},
        {WITH_BOX(BOX(70, 9, "1,2,3") "}"), "bbox is [1,2,3] and must be a list of 4"},
        {WITH_BOX(BOX(70, 9, "1,2,3,'4'") "}"), "bbox is [1,2,3,\"4\"] and must be"},
        {WITH_BOX(BOX(70, 9, "1,2,3,'NaN'") "}"), "bbox is [1,2,3,\"NaN\"] and must be"},
        {WITH_BOX(BOX(70, 9, "1,2,3,NaNs") "}"), "this is not JSON"},
        {WITH_BOX(BOX(70, 9, "1,2,3,-NaN") "}"), "this is not JSON"},
        {WITH_BOX(BOX(70, 9, "1,2,3,NaN NaN") "}"), "this is not JSON"},
        {WITH_BOX(BOX(70, 9, "1,2,3,''") "}"), "bbox is [1,2,3,\"\"] and must be"},
        {WITH_BOX(BOX(70, 9, "1,2,NaN") "}"), "must be a list of 4 numbers"},
        {WITH_BOX(BOX(NaN, 9, "1,2,3,4") "}"),
         "annotations[0]: image_id has the value NaN, and must be finite"},
        {WITH_IMAGE("{'id':1,'file_name':'a','width':-Infinity}"),
         "images[0]: width has the value -Infinity, and must be finite"},
        {WITH_BOX(BOX(70, 9, "1,2,3,1e999") "}"), "this is not JSON: real number overflow"},
        {WITH_BOX(BOX(70, 9, "1,2,3,4") ",'iscrowd':2}"), "iscrowd is 2 and must be 0 or 1"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        check_file_refused(folder, bad[i].json, SLUICE_E_CORRUPT, bad[i].words);
    }
    check_file_refused(folder, WITH_IMAGE(""), SLUICE_E_INVALID, "no valid data");
    check_file_refused(folder, "\xFF\xFE{\x01", SLUICE_E_UNSUPPORTED,
                       "is UTF-16 and must be UTF-8");
    check_file_refused(folder, ONE_IMAGE("1e31,2,3,4"), SLUICE_E_CORRUPT, "must be x0,y0,x1,y1");
    check_file_refused(folder, ONE_IMAGE("1,2,3,-4"), SLUICE_E_CORRUPT,
                       "annotations[0]: the box, 1,2,4,-2, must be");
    check_file_refused(folder, ONE_IMAGE("41,2,3,4"), SLUICE_E_CORRUPT,
                       "all 1 images are bad; the first: byte ");
    check_file_refused(
        folder,
        ONE_IMAGE("1,2,3,4]},{'image_id':1,'category_id':9,'bbox':[1,2,3,4]},"
                  "{'image_id':1,'category_id':9,'bbox':[1,2,3,4"),
        SLUICE_E_CORRUPT,
        "this image has 3 boxes, more than max_boxes=2; all have room with max_boxes=3");
}

/* Appends text to a buffer that is large enough. */
static void append(char **at, const char *text)
{
    const size_t length = strlen(text);

    memcpy(*at, text, length);
    *at += length;
}

/* Appends `count` copies of a character. */
static void append_many(char **at, char c, size_t count)
{
    memset(*at, c, count);
    *at += count;
}

/*
 * A file of many windows: 20000 images, and a member of 3 MiB that is skipped. A name of more than
 * 1 MiB or deeply nested lists are errors.
 */
static void large_and_deep_files_are_read_in_parts(void)
{
    const char *folder = t_folder();
    char *json = malloc((size_t)8 << 20);
    char *at = json;
    char *name = NULL;
    sluice_dataset *dataset;

    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    append(&at, "{'x':'");
    append_many(&at, '[', (size_t)3 << 20);
    append(&at, "','annotations':[]," CATEGORIES ",'images':[");
    for (int i = 0; i < 20000; i++) {
        at += sprintf(at, "%s{'id':%d,'file_name':'%d.jpg','licence':'%080d'}", i > 0 ? ",\n" : "",
                      20000 - i, i, i);
    }
    append(&at, "]}");
    *at = '\0';
    dataset = coco_dataset(folder, json, "| decode | resize 8,8 | batch 1");
    T_OK(sluice_dataset_sample_name(dataset, 19999, &name));
    T_STR(name, "19999.jpg");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);

    at = json;
    append(&at, "{'images':[{'id':1,'file_name':'");
    append_many(&at, 'x', (size_t)2 << 20);
    append(&at, "'}]}");
    *at = '\0';
    check_file_refused(folder, json, SLUICE_E_UNSUPPORTED, "images[0]: a value of more than 1 MiB");

    at = json;
    append(&at, "{'images':[{'id':1,'file_name':'");
    append_many(&at, 'x', 5000);
    append(&at, "'}]}");
    *at = '\0';
    check_file_refused(folder, json, SLUICE_E_CORRUPT,
                       "file_name has 5000 bytes, and must have at most 4095");

    at = json;
    append(&at, "{'annotations':[{'bbox':");
    append_many(&at, '[', 3000);
    append_many(&at, ']', 3000);
    append(&at, "}]}");
    *at = '\0';
    check_file_refused(folder, json, SLUICE_E_CORRUPT, "this is not JSON: maximum parsing depth");
    free(json);
}

static void missing_files_are_named(void)
{
    const char *folder = t_folder();
    char *text = NULL;
    sluice_dataset *dataset;

    dataset = coco_dataset(folder, WITH_BOX(""), "| decode | batch 1");
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, NULL, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), ".ppm: cannot open");
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("coco /nonexistent/c.json | decode | batch 1", &dataset));
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "coco: /nonexistent/c.json: cannot open the folder");
    sluice_dataset_destroy(dataset);
}
#else
static void a_build_without_jansson_says_so(void)
{
    const char *folder = t_folder();
    char *explained = NULL;
    sluice_dataset *dataset;

    write_list(folder, "c.json", "{}");
    dataset = parsedf("coco %s/c.json | decode | batch 1", folder);
    T_STATUS(sluice_dataset_explain(dataset, &explained), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "this build has no jansson");
    sluice_dataset_destroy(dataset);
}
#endif

static void arguments_have_bounds(void)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse("coco x.json max_boxes=1048577", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "max_boxes");
    T_STATUS(sluice_dataset_parse("coco x.json iscrowd=maybe max_boxes=1048576", &dataset),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "drop");
    T_STATUS(sluice_dataset_parse("coco", &dataset), SLUICE_E_INVALID);
}

const t_test source_coco_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(columns_are_what_the_file_lists),
    T_TEST(crowds_are_dropped_or_kept),
    T_TEST(boxes_follow_as_those_of_a_list),
    T_TEST(other_forms_of_numbers_are_read),
    T_TEST(rounded_and_empty_boxes_are_mended),
    T_TEST(changed_boxes_of_bad_images_are_not_counted),
    T_TEST(boxes_that_are_not_finite_make_their_images_bad_samples),
    T_TEST(bad_files_say_where),
    T_TEST(large_and_deep_files_are_read_in_parts),
    T_TEST(missing_files_are_named),
#else
    T_TEST(a_build_without_jansson_says_so),
#endif
    T_TEST(arguments_have_bounds),
    T_END,
};
