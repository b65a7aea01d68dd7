/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc_int.h"
#include "conversion_ops.h"
#include "geometry_ops.h"
#include "layout_int.h"
#include "stage_kinds.h"
#include "stage_names.h"
#include "stage_table.h"
#include "status_int.h"
#include "testing.h"

/* A stage with an argument of every type. */
typedef struct all_args {
    const char *text;
    uint64_t count;
    uint64_t bytes;
    double real;
    bool flag;
    param_size size;
    param_reals reals;
    param_shape shape;
    param_edges edges;
    uint32_t choice;
    sluice_dtype dtype;
    uint64_t seed;
    uint32_t rank;
} all_args;

static int checks;

static sluice_status count_check(void *args)
{
    (void)args;
    checks++;
    return SLUICE_OK;
}

static const char *const choices[] = {"red", "green", NULL};

static const stage_param params[] = {
    PARAM_(all_args, text, PARAM_TEXT, "some words", 0, 0, NULL, ""),
    PARAM_(all_args, count, PARAM_COUNT, "5", 2, 10, NULL, ""),
    PARAM_(all_args, bytes, PARAM_BYTES, "256M", 0, 0, NULL, ""),
    PARAM_(all_args, real, PARAM_REAL, "0.5", -1, 1, NULL, ""),
    PARAM_(all_args, flag, PARAM_BOOL, "true", 0, 0, NULL, ""),
    PARAM_(all_args, size, PARAM_SIZE, "3,4", 2, 9, NULL, ""),
    PARAM_(all_args, reals, PARAM_REALS, "1,2.5", 0, 0, NULL, ""),
    PARAM_(all_args, shape, PARAM_SHAPE, "1,2,3", 0, 0, NULL, ""),
    PARAM_(all_args, edges, PARAM_EDGES, "4,8", 0, 0, NULL, ""),
    PARAM_(all_args, choice, PARAM_CHOICE, "green", 0, 0, choices, ""),
    PARAM_(all_args, dtype, PARAM_DTYPE, "f16", 0, 0, NULL, ""),
    PARAM_(all_args, seed, PARAM_SEED, "run", 0, 0, NULL, ""),
    PARAM_(all_args, rank, PARAM_RANK, "none", 0, 0, NULL, ""),
};

static const stage_def def = {
    .name = "all",
    STAGE_PARAMS(params),
    .args_size = sizeof(all_args),
    .check = count_check,
};

/* Room as a dataset's stage has it, and more: this stage has more arguments than any real one. */
typedef union args_room {
    all_args all;
    unsigned char bytes[STAGE_ARGS_SIZE + 128];
} args_room;

static const stage_param *param(const char *name)
{
    const stage_param *found = params;

    while (strcmp(found->name, name) != 0) {
        found++;
    }
    return found;
}

static sluice_status set(args_room *room, const char *name, const char *text)
{
    return stage_arg_parse(&def, param(name), text, room);
}

static void check_print(args_room *room, const char *want)
{
    sli_text text = {0};

    stage_args_print(&def, room, &text);
    T_STR(text.data, want);
    sli_text_free(&text);
}

static void defaults(args_room *room)
{
    memset(room, 0, sizeof(*room));
    T_OK(stage_args_default(&def, room));
}

static void defaults_are_read_from_the_table(void)
{
    args_room room;

    defaults(&room);
    T_STR(room.all.text, "some words");
    T_EQ(room.all.count, 5);
    T_EQ(room.all.bytes, 256 << 20);
    T_NEAR(room.all.real, 0.5, 0);
    T_TRUE(room.all.flag);
    T_EQ(room.all.size.height, 3);
    T_EQ(room.all.size.width, 4);
    T_EQ(room.all.reals.count, 2);
    T_NEAR(room.all.reals.values[1], 2.5, 0);
    T_EQ(room.all.shape.rank, 3);
    T_EQ(room.all.shape.dims[2], 3);
    T_EQ(room.all.edges.count, 2);
    T_EQ(room.all.edges.values[1], 8);
    T_EQ(room.all.choice, 1);
    T_EQ(room.all.dtype, SLUICE_F16);
    T_TRUE(room.all.seed == PARAM_SEED_RUN);
    T_TRUE(room.all.rank == PARAM_RANK_NONE);
    check_print(&room,
                " text='some words' count=5 bytes=256M real=0.5 flag=true size=3,4 "
                "reals=1,2.5 shape=1,2,3 edges=4,8 choice=green dtype=f16 seed=run rank=none");
    stage_args_free(&def, &room);
    CU_ASSERT_PTR_NULL(room.all.text);
}

static void arguments_are_set_one_by_one(void)
{
    args_room room;

    defaults(&room);
    T_OK(set(&room, "text", "a"));
    T_OK(set(&room, "text", "b"));
    T_OK(set(&room, "count", "18446744073709551615"));
    T_OK(set(&room, "bytes", "1025"));
    T_OK(set(&room, "real", "-1e-3"));
    T_OK(set(&room, "flag", "false"));
    T_OK(set(&room, "size", "7"));
    T_OK(set(&room, "reals", "name"));
    T_OK(set(&room, "shape", "9"));
    T_OK(set(&room, "choice", "red"));
    T_OK(set(&room, "dtype", "u8"));
    T_OK(set(&room, "seed", "0"));
    T_OK(set(&room, "rank", "0"));
    check_print(&room, " text=b count=18446744073709551615 bytes=1025 real=-0.001 "
                       "flag=false size=7 "
                       "reals=name shape=9 edges=4,8 choice=red dtype=u8 seed=0 rank=0");
    T_OK(set(&room, "reals", ""));
    T_OK(set(&room, "rank", "run"));
    check_print(&room, " text=b count=18446744073709551615 bytes=1025 real=-0.001 "
                       "flag=false size=7 "
                       "shape=9 edges=4,8 choice=red dtype=u8 seed=0 rank=run");
    stage_args_free(&def, &room);
}

static void bytes_are_printed_by_the_largest_unit(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
        const char *printed;
    } good[] = {{"0", 0, "0"},
                {"1023", 1023, "1023"},
                {"1024", 1024, "1K"},
                {"2048K", 2097152, "2M"},
                {"3G", UINT64_C(3221225472), "3G"},
                {"1024T", UINT64_C(1) << 50, "1024T"},
                {"1025M", UINT64_C(1025) << 20, "1025M"},
                {"17179869183G", UINT64_C(17179869183) << 30, "17179869183G"}};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        args_room room;
        sli_text text = {0};
        char want[60];

        defaults(&room);
        T_OK(set(&room, "bytes", good[i].text));
        T_TRUE(room.all.bytes == good[i].bytes);
        stage_args_print(&def, &room, &text);
        snprintf(want, sizeof(want), " bytes=%s real=", good[i].printed);
        T_CONTAINS(text.data, want);
        sli_text_free(&text);
        stage_args_free(&def, &room);
    }
}

static void wrong_values_are_refused_with_what_is_wanted(void)
{
    static const struct {
        const char *name;
        const char *text;
        const char *says;
    } bad[] = {
        {"count", "", "all: count= must be a whole number"},
        {"count", " 1", "a whole number"},
        {"count", "1 ", "a whole number"},
        {"bytes", "", "all: bytes= must be bytes, such as 256M"},
        {"bytes", "M", "must be bytes, such as 256M"},
        {"bytes", "1m", "must be bytes, such as 256M"},
        {"bytes", "1MB", "must be bytes, such as 256M"},
        {"bytes", "-1", "must be bytes, such as 256M"},
        {"bytes", "1.5G", "must be bytes, such as 256M"},
        {"bytes", "18446744073709551616", "must be bytes, such as 256M"},
        {"bytes", "18014398509481984K", "must be bytes, such as 256M"},
        {"bytes", "16777216T", "must be bytes, such as 256M"},
        {"real", "", "a number"},
        {"real", "x", "a number"},
        {"real", "1,5", "a number"},
        {"flag", "True", "true or false"},
        {"flag", "1", "true or false"},
        {"size", "", "HEIGHT or HEIGHT,WIDTH"},
        {"size", "4294967296", "HEIGHT or HEIGHT,WIDTH"},
        {"size", "1,4294967296", "HEIGHT or HEIGHT,WIDTH"},
        {"reals", "1,,2", "numbers with commas"},
        {"reals", "1,2,3,4,5", "numbers with commas"},
        {"reals", "1,2,", "numbers with commas"},
        {"reals", "a_name_of_16_byt", "numbers with commas"},
        {"reals", "1,nan", "numbers with commas"},
        {"shape", "", "whole numbers with commas"},
        {"shape", "1,-1", "whole numbers with commas"},
        {"edges", "", "whole numbers with commas, at most 32"},
        {"edges",
         "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
         "33",
         "whole numbers with commas, at most 32"},
        {"choice", "blue", "must be one of red green"},
        {"choice", "", "must be one of red green"},
        {"dtype", "encoded", "must be u8"},
        {"seed", "-1", "a whole number or run"},
        {"rank", "4294967294", "a whole number, run or none"},
        {"rank", "4294967295", "a whole number, run or none"},
    };
    args_room room;

    defaults(&room);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        T_STATUS(set(&room, bad[i].name, bad[i].text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad[i].says);
    }
    stage_args_free(&def, &room);
}

static void bounds_are_inclusive(void)
{
    static const struct {
        const char *name;
        const char *text;
        bool good;
    } values[] = {
        {"count", "2", true},     {"count", "1", false}, {"count", "10", true},
        {"count", "11", false},   {"real", "-1", true},  {"real", "-1.0000000000000002", false},
        {"real", "1", true},      {"real", "2", false},  {"size", "2", true},
        {"size", "1", false},     {"size", "9,9", true}, {"size", "9,10", false},
        {"size", "10,9", false},  {"size", "9", true},   {"shape", "0", true},
        {"reals", "1e300", true},
    };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        args_room room;
        sluice_status st;

        defaults(&room);
        T_OK(set(&room, values[i].name, values[i].text));
        checks = 0;
        st = stage_args_check(&def, &room);
        if ((st == SLUICE_OK) != values[i].good) {
            T_FAIL_("%s=%s is %s", values[i].name, values[i].text, sluice_status_name(st));
        }
        T_EQ(checks, values[i].good);
        stage_args_free(&def, &room);
    }
}

/* What no text can say, a call can. */
static void numbers_that_are_none_are_outside_of_all_bounds(void)
{
    args_room room;

    defaults(&room);
    room.all.real = (double)NAN;
    T_STATUS(stage_args_check(&def, &room), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "all: real=nan must be from -1 to 1");
    room.all.real = (double)INFINITY;
    T_STATUS(stage_args_check(&def, &room), SLUICE_E_INVALID);
    room.all.real = 0;
    T_OK(stage_args_check(&def, &room));
    room.all.reals.values[1] = (double)NAN;
    T_STATUS(stage_args_check(&def, &room), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "all: reals=nan must be a finite number");
    room.all.reals.count = 1;
    T_OK(stage_args_check(&def, &room));
    stage_args_free(&def, &room);
    T_STATUS(stage_args_check(&def, &room), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "all: text is missing");
}

static void long_values_are_cut_in_messages(void)
{
    char text[2000];
    args_room room;

    defaults(&room);
    memset(text, '7', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    T_STATUS(set(&room, "count", text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "777... must be a whole number");
    stage_args_free(&def, &room);
}

static void defaults_survive_running_out_of_memory(void)
{
    args_room room;

    sli_alloc_fail_after(0);
    T_STATUS(stage_args_default(&def, &room), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(-1);
    CU_ASSERT_PTR_NULL(room.all.text);
    defaults(&room);
    sli_alloc_fail_after(0);
    T_STATUS(set(&room, "text", "x"), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(-1);
    stage_args_free(&def, &room);
}

static bool has_param(const stage_def *stage, const char *name)
{
    for (uint32_t i = 0; i < stage->param_count; i++) {
        if (strcmp(stage->params[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The tables of the real stages hold what the parser and the printer rely on. */
static void tables_of_stages_are_sound(void)
{
    for (size_t i = 0; stage_table[i] != NULL; i++) {
        const stage_def *stage = stage_table[i];

        T_TRUE(stage->args_size <= STAGE_ARGS_SIZE);
        T_TRUE(stage->param_count < 64);
        T_TRUE(strlen(stage->summary) > 0 && strlen(stage->gives) > 0);
        T_TRUE(stage_find(stage_table, stage->name) == stage);
        for (uint32_t k = 0; k < stage->param_count; k++) {
            const stage_param *p = &stage->params[k];

            T_TRUE(p->offset < stage->args_size && strlen(p->name) < 64);
            T_EQ(p->type == PARAM_CHOICE, p->choices != NULL);
            for (uint32_t j = 0; j < k; j++) {
                T_TRUE(strcmp(p->name, stage->params[j].name) != 0);
                /* Those that must be given come first, so that they can be by position. */
                T_TRUE(p->default_text != NULL || stage->params[j].default_text == NULL);
            }
        }
        /* A vertical flip runs on the workers always. */
        if (stage->kind == STAGE_CONVERSION &&
            (stage->flip == NULL || stage->flip->row_flag != SLI_ROW_FLIP_LINES)) {
            T_TRUE(has_param(stage, "offload"));
        }
        if (stage->selects) {
            T_STR(stage->params[stage->param_count - 1].name, "columns");
        }
    }
    CU_ASSERT_PTR_NULL(stage_find(stage_table, "no such"));
}

static int count_draws(const geometry_ops *ops)
{
    return (ops->draw != NULL) + (ops->draw_of_boxes != NULL) + (ops->views != NULL) +
           (ops->tiles != NULL) + (ops->branches != NULL);
}

static void check_operations(const stage_def *stage)
{
    const stage_kind kind = stage->kind;

    T_EQ(stage->source != NULL, kind == STAGE_SOURCE);
    T_EQ(stage->geometry != NULL, kind == STAGE_GEOMETRY);
    T_EQ(stage->color != NULL, kind == STAGE_COLOR);
    T_EQ(stage->conversion != NULL, kind == STAGE_CONVERSION);
    T_EQ(stage->map != NULL, kind == STAGE_MAP);
    T_EQ(stage->array != NULL, kind == STAGE_ARRAY || stage->batch != NULL);
    T_TRUE(stage->batch == NULL || kind == STAGE_BATCH_MAP);
    T_TRUE(stage->flip == NULL || kind == STAGE_CONVERSION || kind == STAGE_GEOMETRY);
    T_TRUE(stage->geometry == NULL || count_draws(stage->geometry) == 1);
}

/* A stage has the operations of its kind and no others, and one way to draw geometry. */
static void stages_have_the_operations_of_their_kind(void)
{
    for (size_t i = 0; stage_table_with_calls[i] != NULL; i++) {
        const stage_def *stage = stage_table_with_calls[i];

        check_operations(stage);
        if (stage_before_geometry(stage) != NULL) {
            check_operations(stage_before_geometry(stage));
        }
        if (stage_when_converted(stage) != NULL) {
            check_operations(stage_when_converted(stage));
        }
    }
}

const t_test stage_args_tests[] = {
    T_TEST(defaults_are_read_from_the_table),
    T_TEST(arguments_are_set_one_by_one),
    T_TEST(bytes_are_printed_by_the_largest_unit),
    T_TEST(wrong_values_are_refused_with_what_is_wanted),
    T_TEST(bounds_are_inclusive),
    T_TEST(numbers_that_are_none_are_outside_of_all_bounds),
    T_TEST(long_values_are_cut_in_messages),
    T_TEST(defaults_survive_running_out_of_memory),
    T_TEST(tables_of_stages_are_sound),
    T_TEST(stages_have_the_operations_of_their_kind),
    T_END,
};
