/* SPDX-License-Identifier: Apache-2.0 */
/* fields= of webdataset: roles of arrays, several extensions, and auto. */
#include <stdlib.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "log_kit.h"
#include "npy_kit.h"
#include "tar_kit.h"
#include "testing.h"

static const char image[] = "P6 2 1 255\n\1\2\3\4\5\6";

/* Adds an array of f32. */
static void add_array(tar_maker *tar, const char *name, const char *shape, const float *values,
                      uint32_t count)
{
    uint8_t bytes[1200];
    char dict[200];
    size_t size;

    snprintf(dict, sizeof(dict), "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    size = npy_head(1, dict, bytes);
    memcpy(bytes + size, values, count * sizeof(*values));
    tar_add(tar, name, '0', bytes, size + count * sizeof(*values));
}

/* Two samples: image, boxes, points of boxes and a text; the image of the second one has another
 * extension. Returns the shard. */
static const char *write_shard(const char *folder)
{
    static const float boxes[2][4] = {{0, 0, 1, 1}, {1, 0, 2, 1}};
    static const float points[2][2][2] = {{{0, 0}, {1, 1}}, {{1, 0}, {2, 1}}};
    static char path[500];
    tar_maker tar = {0};

    tar_add(&tar, "0.ppm", '0', image, sizeof(image) - 1);
    tar_add_text(&tar, "0.cls", "4");
    add_array(&tar, "0.b.npy", "(2, 4)", boxes[0], 8);
    add_array(&tar, "0.p.npy", "(2, 2, 2)", points[0][0], 8);
    tar_add_text(&tar, "0.txt", "hello");
    tar_add(&tar, "1.pnm", '0', image, sizeof(image) - 1);
    tar_add_text(&tar, "1.cls", "5");
    add_array(&tar, "1.b.npy", "(0, 4)", boxes[0], 0);
    add_array(&tar, "1.p.npy", "(0, 2, 2)", points[0][0], 0);
    tar_add_text(&tar, "1.txt", "");
    snprintf(path, sizeof(path), "%s", t_path(folder, "a.tar"));
    tar_write(&tar, path);
    tar_free(&tar);
    return path;
}

static void arrays_have_roles(void)
{
    const char *path = write_shard(t_folder());
    sluice_dataset *dataset = parsedf(
        "webdataset %s fields=image:ppm/pnm,b:boxes[3]=b.npy,p:points[3]@b/0:1=p.npy", path);
    const stage_schema *schema = &dataset->source_schema;
    engine_run run;

    T_EQ(schema->column_count, 4);
    T_EQ(schema->infos[1].role, ROLE_BOXES);
    T_EQ(schema->infos[1].length, 2);
    T_EQ(schema->infos[3].role, ROLE_POINTS);
    T_TRUE(schema->infos[3].is_tied);
    T_EQ(schema->infos[3].tied_to, 1);
    sluice_dataset_destroy(dataset);
    open_own(
        &run,
        parsedf("webdataset %s fields=image:ppm/pnm,b:boxes[3]=b.npy,p:points[3]@b/0:1=p.npy | "
                "decode | random_horizontal_flip 1 | batch 2",
                path),
        &one_worker);
    T_OK(next_batch(&run));
    T_EQ(memcmp(row_of(&run, 1, 0), (const float[]){1, 0, 2, 1, 0, 0, 1, 1}, 32), 0);
    T_EQ(memcmp(row_of(&run, 3, 0), (const float[]){1, 1, 2, 0, 0, 1, 1, 0}, 32), 0);
    T_EQ(*(const int32_t *)row_of(&run, 2, 0), 2);
    T_EQ(*(const int32_t *)row_of(&run, 2, 1), 0);
    close_run(&run);
}

static void wrong_roles_are_refused(void)
{
    static const refused_case cases[] = {
        {"image:ppm,b:boxes=b.npy", "must be NAME:FIELD"},
        {"image:ppm,b:circles[3]=b.npy", "must be NAME:FIELD"},
        {"image:ppm,b:boxes[3]=txt", "must be NAME:FIELD"},
        {"image:ppm,b:boxes[3]=b.npy[4]", "must be NAME:FIELD"},
        {"image:ppm,p:points[3]@b=p.npy", "must be NAME:FIELD"},
        {"image:ppm,b:boxes[3]=b.npy,p:points[3]@b/0:0=p.npy", "must be NAME:FIELD"},
        {"image:ppm,p:boxes[3]=p.npy", "p is f32 (3, 2, 2), and must be f32 (N, 4) for boxes"},
        {"image:ppm,b:points[3]=b.npy", "b is f32 (3, 4), and must be f32 (N, 2) or (N, K, 2)"},
        {"b:boxes[3]=b.npy", "b needs an image, which its boxes are of"},
        {"image:ppm/npy", "must be NAME:FIELD"},
        {"image:ppm/", "must be NAME:FIELD"},
        {"image:ppm/pnm,other:pnm", "pnm is given twice"},
        {"image:image=b.npy", "must be u8, u16 or f32 (height, width, channels)"},
    };
    const char *path = write_shard(t_folder());

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[900];

        snprintf(text, sizeof(text), "webdataset %s fields=%s", path, cases[i].text);
        check_refused(text, cases[i].words);
    }
}

static void auto_takes_the_members_of_the_first_sample(void)
{
    const char *path = write_shard(t_folder());
    sluice_dataset *dataset;
    const char *log;

    kit_log_start(NULL, NULL);
    dataset = parsedf("webdataset %s fields=auto", path);
    log = kit_log_stop();
    T_CONTAINS(log, "fields=auto is fields=image:jpg/jpeg/png/ppm,label:cls,b:b.npy,p:p.npy by the "
                    "sample 0; in no column: txt");
    T_CONTAINS(log, "1 samples without all fields are skipped");
    T_OK(dataset_open(dataset));
    T_EQ(dataset->source_count, 1);
    T_STR(dataset->source_schema.columns[2].name, "b");
    sluice_dataset_destroy(dataset);
}

static void auto_needs_a_member_that_is_a_column(void)
{
    const char *folder = t_folder();
    tar_maker tar = {0};
    char text[600];

    tar_add_text(&tar, "0.txt", "hello");
    tar_write(&tar, t_path(folder, "a.tar"));
    tar_free(&tar);
    snprintf(text, sizeof(text), "webdataset %s fields=auto", t_path(folder, "a.tar"));
    check_refused(text, "fields=auto finds no member that is an image, a label (cls) or an array "
                        "(npy) in the first sample 0; its members: txt");
}

const t_test web_roles_tests[] = {
    T_TEST(arrays_have_roles),
    T_TEST(wrong_roles_are_refused),
    T_TEST(auto_takes_the_members_of_the_first_sample),
    T_TEST(auto_needs_a_member_that_is_a_column),
    T_END,
};
