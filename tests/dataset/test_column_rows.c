/* SPDX-License-Identifier: Apache-2.0 */
/* The stage column: arrays that have as many rows as the boxes or points follow them. */
#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "npy_kit.h"
#include "tar_kit.h"
#include "testing.h"

/* The only sample: center_crop 20 of its 40x30 image drops box 0. */
static const uint8_t photo[LIST_HEIGHT][LIST_WIDTH][3];
static const float boxes[2][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}};
static const int32_t classes[2] = {1, 2};
static const float points[2][2][2] = {{{0, 0}, {1, 1}}, {{12, 6}, {20, 15}}};
static const int32_t count = 2;

/* Room for the text of a source. */
enum { SMALL = 1200 };

#define FILES  "photo,b,b_length,c,p"
#define RAGGED "ragged=b[3],c[3]@b,p[3]@b"

static void write_arrays(const char *folder)
{
    npy_write(folder, "photo.npy", "|u1", "(1, 30, 40, 3)", photo, sizeof(photo));
    npy_write(folder, "b.npy", "<f4", "(2, 4)", boxes, sizeof(boxes));
    npy_write(folder, "b_length.npy", "<i4", "(1,)", &count, sizeof(count));
    npy_write(folder, "c.npy", "<i4", "(2,)", classes, sizeof(classes));
    npy_write(folder, "p.npy", "<f4", "(2, 2, 2)", points, sizeof(points));
    npy_write(folder, "q.npy", "<f4", "(2, 2)", points, sizeof(points) / 2);
    npy_write(folder, "padded.npy", "<f4", "(1, 2, 4)", boxes, sizeof(boxes));
}

/* "npy FOLDER/NAME.npy,... ARGUMENTS" of names with commas. Returns `text`. */
static const char *npy_text(const char *folder, const char *names, const char *arguments,
                            char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "npy ");

    for (const char *at = names; *at != '\0';) {
        const size_t length = strcspn(at, ",");

        used += (size_t)snprintf(text + used, size - used, "%s%s/%.*s.npy", at > names ? "," : "",
                                 folder, (int)length, at);
        at += length + (at[length] == ',');
    }
    snprintf(text + used, size - used, " %s", arguments);
    return text;
}

static void add_array(tar_maker *tar, const char *name, const char *head, const void *values,
                      size_t bytes)
{
    uint8_t file[8000];
    char dict[200];
    size_t size;

    snprintf(dict, sizeof(dict), "{'descr': %s, 'fortran_order': False, }", head);
    size = npy_head(1, dict, file);
    memcpy(file + size, values, bytes);
    tar_add(tar, name, '0', file, size + bytes);
}

static void write_shard(const char *folder)
{
    tar_maker tar = {0};

    add_array(&tar, "0.photo.npy", "'|u1', 'shape': (30, 40, 3)", photo, sizeof(photo));
    add_array(&tar, "0.b.npy", "'<f4', 'shape': (2, 4)", boxes, sizeof(boxes));
    add_array(&tar, "0.c.npy", "'<i4', 'shape': (2,)", classes, sizeof(classes));
    add_array(&tar, "0.p.npy", "'<f4', 'shape': (2, 2, 2)", points, sizeof(points));
    tar_write(&tar, t_path(folder, "a.tar"));
    tar_free(&tar);
}

/* Checks the classes of a dataset after a crop. */
static void check_classes(const char *source, const char *roles, const int32_t *want)
{
    engine_run run;

    open_own(&run,
             parsedf("%s | column photo image | %s | center_crop 20 | batch 1", source, roles),
             &one_worker);
    T_OK(next_batch(&run));
    if (memcmp(column_row(&run, "c", 0), want, 3 * sizeof(*want)) != 0) {
        CU_FAIL("classes differ");
        printf("%s | %s\n", source, roles);
    }
    close_run(&run);
}

/* Crops drop the classes together with the boxes, in whatever way these came to have as many. */
static void rows_are_dropped_with_their_boxes(void)
{
    static const int32_t kept[3] = {2};
    const char *folder = t_folder();
    char parts[2][SMALL];
    char text[5][2 * SMALL + 40];

    write_arrays(folder);
    write_shard(folder);
    npy_text(folder, FILES, RAGGED, text[0], SMALL);
    npy_text(folder, "photo,b,b_length,c", "names=photo,b,c_length,c ragged=c[3],b[3]@c", text[1],
             SMALL);
    snprintf(text[2], sizeof(text[2]), "concat (%.*s) (%.*s)", SMALL, text[0], SMALL, text[0]);
    npy_text(folder, "photo", "", parts[0], SMALL);
    npy_text(folder, "b,b_length,c", "ragged=b[3],c[3]@b", parts[1], SMALL);
    snprintf(text[3], sizeof(text[3]), "zip (%s) (%s)", parts[0], parts[1]);
    snprintf(text[4], sizeof(text[4]),
             "webdataset %s fields=photo:photo.npy,b:b.npy[3],c:c.npy[3]@b", folder);
    for (uint32_t i = 0; i < 5; i++) {
        check_classes(text[i], "column b boxes", kept);
        check_classes(text[i], "column b boxes | column c of=b", kept);
    }
    check_classes(text[0], "column b boxes | column b plain | column b boxes", kept);
}

/* role=plain keeps all rows, before the boxes and after them. */
static void plain_rows_stay(void)
{
    static const int32_t all[3] = {1, 2};
    const char *folder = t_folder();
    char text[SMALL];

    write_arrays(folder);
    npy_text(folder, FILES, RAGGED, text, sizeof(text));
    check_classes(text, "column b boxes | column c plain", all);
    check_classes(text, "column c plain | column b boxes", all);
}

static void points_of_boxes_follow(void)
{
    static const char *const roles[] = {"column p points", "column p points of=b"};
    static const float kept[3][2][2] = {{{2, 1}, {10, 10}}};
    const char *folder = t_folder();

    char text[SMALL];

    write_arrays(folder);
    npy_text(folder, FILES, RAGGED, text, sizeof(text));
    for (uint32_t i = 0; i < 2; i++) {
        engine_run run;

        open_own(&run,
                 parsedf("%s | column photo image | column b boxes | %s | center_crop 20 | batch 1",
                         text, roles[i]),
                 &one_worker);
        T_OK(next_batch(&run));
        T_EQ(memcmp(column_row(&run, "p", 0), kept, sizeof(kept)), 0);
        close_run(&run);
    }
}

/* Rows beside points are exchanged with them, and the points have the number of the rows. */
static void rows_are_exchanged_with_their_points(void)
{
    static const float flipped[3][2] = {{39, 1}, {40, 0}};
    static const int32_t exchanged[3] = {2, 1};
    const char *folder = t_folder();
    char text[SMALL];
    engine_run run;

    write_arrays(folder);
    npy_text(folder, "photo,b_length,c,q",
             "names=photo,q_length,c,q ragged=q[3],c[3]@q | column photo image | column q points | "
             "random_horizontal_flip 1 swap=0:1 | batch 1",
             text, sizeof(text));
    open_own(&run, parsed(text), &one_worker);
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "q", 0), flipped, sizeof(flipped)), 0);
    T_EQ(memcmp(column_row(&run, "c", 0), exchanged, sizeof(exchanged)), 0);
    close_run(&run);
}

/* cast leaves the zeros after the rows; one_hot, which has no length of them, does not. */
static void stages_note_what_follows_the_rows(void)
{
    static const char *const stages[] = {"cast c f32", "one_hot c 4"};
    const char *folder = t_folder();
    char text[SMALL];

    write_arrays(folder);
    npy_text(folder, FILES, RAGGED, text, sizeof(text));
    for (uint32_t i = 0; i < 2; i++) {
        sluice_dataset *dataset = parsedf("%s | %s", text, stages[i]);
        const stage_schema *schema = &dataset->schema;
        const uint32_t lengths = schema->infos[schema_find(schema, "b_length")].buffer;

        T_EQ(schema->infos[schema_find(schema, "c")].rows, i == 0 ? lengths + 1 : 0);
        sluice_dataset_destroy(dataset);
    }
}

static void rows_that_cannot_follow_are_refused(void)
{
    static const char *const bad[][3] = {
        {FILES, "ragged=b[3],c[4]@b | batch 1", "ragged=c[4] must be c[3], with the N of b"},
        {"photo,padded,b_length,c",
         "names=photo,b,b_length,c ragged=c[3]@b | column photo image | column b boxes",
         "b has 2, and c 3; make them equal, or put `column c role=plain` before it"},
        {FILES, RAGGED " | column photo image | column p points | column b boxes",
         "column b: its rows belong to p, so it cannot be role=boxes; put `column b role=plain` "
         "before this stage, or this stage before `column p`"},
        {"photo,b,b_length,q",
         "ragged=b[3],q[3]@b | column photo image | column b boxes | column q points",
         "it is f32 (3, 2) and must be f32 (N, K, 2), as its rows belong to boxes"},
    };
    const char *folder = t_folder();

    write_arrays(folder);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[SMALL];

        check_refused(npy_text(folder, bad[i][0], bad[i][1], text, sizeof(text)), bad[i][2]);
    }
}

const t_test column_rows_tests[] = {
    T_TEST(rows_are_dropped_with_their_boxes),
    T_TEST(plain_rows_stay),
    T_TEST(points_of_boxes_follow),
    T_TEST(rows_are_exchanged_with_their_points),
    T_TEST(stages_note_what_follows_the_rows),
    T_TEST(rows_that_cannot_follow_are_refused),
    T_END,
};
