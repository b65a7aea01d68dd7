/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that programs were compiled with: new ones go to the end of an enum, and what is here
 * stays. Init functions, by which programs and libraries of different versions agree on the size of
 * a struct. Layouts are compared by tests/test_struct_layout.sh.
 */
#include <sluice/sluice.h>

#include "testing.h"

typedef struct pinned {
    const char *name;
    long long is;
    long long was;
} pinned;

#define NUMBER(name, number)                                                                       \
    {                                                                                              \
#name, name, number                                                                        \
    }
static void check(const pinned *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].is != all[i].was) {
            T_FAIL_("%s is %lld, was %lld", all[i].name, all[i].is, all[i].was);
        }
    }
}

static void numbers_of_enums_stay(void)
{
    static const pinned numbers[] = {
        NUMBER(SLUICE_OK, 0),
        NUMBER(SLUICE_END_OF_PASS, 1),
        NUMBER(SLUICE_END_OF_DATA, 2),
        NUMBER(SLUICE_TIMEOUT, 3),
        NUMBER(SLUICE_CLOSED, 4),
        NUMBER(SLUICE_STOPPED, 5),
        NUMBER(SLUICE_E_INVALID, -1),
        NUMBER(SLUICE_E_NO_MEMORY, -2),
        NUMBER(SLUICE_E_DEVICE, -3),
        NUMBER(SLUICE_E_NO_DEVICE, -4),
        NUMBER(SLUICE_E_IO, -5),
        NUMBER(SLUICE_E_CORRUPT, -6),
        NUMBER(SLUICE_E_UNSUPPORTED, -7),
        NUMBER(SLUICE_E_BUSY, -8),
        NUMBER(SLUICE_E_NAN, -9),
        NUMBER(SLUICE_E_STALLED, -10),
        NUMBER(SLUICE_E_CALLBACK, -11),
        NUMBER(SLUICE_E_RANK, -12),
        NUMBER(SLUICE_ENCODED, 0),
        NUMBER(SLUICE_U8, 1),
        NUMBER(SLUICE_I32, 2),
        NUMBER(SLUICE_F32, 3),
        NUMBER(SLUICE_F16, 4),
        NUMBER(SLUICE_BF16, 5),
        NUMBER(SLUICE_I64, 6),
        NUMBER(SLUICE_U16, 7),
        NUMBER(SLUICE_U32, 8),
        NUMBER(SLUICE_I8, 9),
        NUMBER(SLUICE_I16, 10),
        NUMBER(SLUICE_U64, 11),
        NUMBER(SLUICE_F64, 12),
        NUMBER(SLUICE_LOG_OFF, 0),
        NUMBER(SLUICE_LOG_ERROR, 1),
        NUMBER(SLUICE_LOG_WARN, 2),
        NUMBER(SLUICE_LOG_INFO, 3),
        NUMBER(SLUICE_LOG_DEBUG, 4),
        NUMBER(SLUICE_PACK_TRANSCODED, 0),
        NUMBER(SLUICE_PACK_ENCODED, 1),
        NUMBER(SLUICE_PACK_RAW, 2),
        NUMBER(SLUICE_PACK_KEPT_FORMAT, 3),
        NUMBER(SLUICE_PACK_KEPT_COMPONENTS, 4),
        NUMBER(SLUICE_PACK_KEPT_PRECISION, 5),
        NUMBER(SLUICE_PACK_KEPT_CORRUPT, 6),
        NUMBER(SLUICE_PACK_KEPT_INCOMPLETE, 7),
        NUMBER(SLUICE_PACK_KEPT_RANGE, 8),
        NUMBER(SLUICE_PACK_KEPT_HEADER, 9),
        NUMBER(SLUICE_PACK_KEPT_LARGE, 10),
        NUMBER(SLUICE_PACK_KEPT_GROWN, 11),
        NUMBER(SLUICE_PACK_KEPT_DIFFERENT, 12),
        NUMBER(SLUICE_PACK_LEFT_UNREADABLE, 13),
        NUMBER(SLUICE_PACK_LEFT_NO_IMAGE, 14),
        NUMBER(SLUICE_PACK_LEFT_UNDECODABLE, 15),
        NUMBER(SLUICE_PACK_LEFT_FAULT, 16),
        NUMBER(SLUICE_PACK_COPIED, 17),
        NUMBER(SLUICE_PACK_FATES, 24),
        NUMBER(SLUICE_PACK_SUBSAMPLING_AUTO, 0),
        NUMBER(SLUICE_PACK_SUBSAMPLING_420, 420),
        NUMBER(SLUICE_PACK_SUBSAMPLING_444, 444),
        NUMBER(SLUICE_LAUNCHER_NONE, 0),
        NUMBER(SLUICE_LAUNCHER_NUMACTL, 1),
        NUMBER(SLUICE_LAUNCHER_MPIRUN, 2),
        NUMBER(SLUICE_LAUNCHER_SRUN, 3),
        NUMBER(SLUICE_LAUNCHER_TORCHRUN, 4),
        NUMBER(SLUICE_MODE_AUTO, 0),
        NUMBER(SLUICE_MODE_DIRECT, 1),
        NUMBER(SLUICE_MODE_DATA, 2),
        NUMBER(SLUICE_MODE_GRAPH, 3),
        NUMBER(SLUICE_MODE_LOOP, 4),
        NUMBER(SLUICE_NAN_STOP, 0),
        NUMBER(SLUICE_NAN_COUNT, 1),
        NUMBER(SLUICE_NAN_IGNORE, 2),
        NUMBER(SLUICE_ON_ERROR_FAIL, 0),
        NUMBER(SLUICE_ON_ERROR_REPLACE, 1),
        NUMBER(SLUICE_ON_ERROR_ZERO, 2),
        NUMBER(SLUICE_MAX_RANK, 6),
        NUMBER(SLUICE_MAX_COLUMNS, 16),
        NUMBER(SLUICE_NAME_SIZE, 32),
        NUMBER(SLUICE_MAX_OUTPUTS, 16),
        NUMBER(SLUICE_POSITION_IDENTITY, 3072),
    };

    check(numbers, COUNT(numbers));
    T_TRUE(SLUICE_FOREVER == -1);
}

/* ---- init functions ---------------------------------------------------------------------------
 */

enum { MOST = 4096, FILLER = 0xEE };

/* A struct and its init function. */
typedef struct sized {
    const char *name;
    size_t size;
    void (*init)(void *any);
} sized;

#define SIZED(X)                                                                                   \
    X(callback)                                                                                    \
    X(channel_config)                                                                              \
    X(channel_info)                                                                                \
    X(channel_position)                                                                            \
    X(channel_stats)                                                                               \
    X(checkpointing)                                                                               \
    X(dataset_info)                                                                                \
    X(device_map)                                                                                  \
    X(filter)                                                                                      \
    X(findings)                                                                                    \
    X(image_info)                                                                                  \
    X(llmc_position)                                                                               \
    X(model)                                                                                       \
    X(pack_config)                                                                                 \
    X(pack_stats)                                                                                  \
    X(ranks)                                                                                       \
    X(report_stats)                                                                                \
    X(schedule)                                                                                    \
    X(stage)                                                                                       \
    X(topology_config)                                                                             \
    X(train_config)                                                                                \
    X(validating)                                                                                  \
    X(verify_config)                                                                               \
    X(verify_stats)

#define INIT_FUNCTION(name)                                                                        \
    static void init_##name(void *any)                                                             \
    {                                                                                              \
        sluice_##name##_init((sluice_##name *)any);                                                \
    }
SIZED(INIT_FUNCTION)

#define SIZED_ROW(name) {"sluice_" #name, sizeof(sluice_##name), init_##name},
static const sized all_sized[] = {SIZED(SIZED_ROW)};

/* All fields are zero but the first, and nothing behind the struct is written. Those
 * that also set column_size are left out. */
static void init_functions_clear_their_struct(void)
{
    for (size_t i = 0; i < COUNT(all_sized); i++) {
        const sized *s = &all_sized[i];
        _Alignas(16) unsigned char block[MOST];
        size_t struct_size;
        size_t set = 0;

        memset(block, FILLER, sizeof(block));
        s->init(block);
        memcpy(&struct_size, block, sizeof(struct_size));
        for (size_t at = sizeof(struct_size); at < MOST; at++) {
            set += block[at] != (at < s->size ? 0 : FILLER);
        }
        if (struct_size != s->size || set != 0) {
            T_FAIL_("%s_init() has set struct_size %zu and %zu bytes", s->name, struct_size, set);
        }
    }
}

/* The specs of columns are entries of arrays, so callers also say how large theirs are. */
static void init_functions_set_the_size_of_specs(void)
{
    sluice_source source;
    sluice_map map;
    sluice_map_batch batch_map;

    sluice_source_init(&source);
    sluice_map_init(&map);
    sluice_map_batch_init(&batch_map);
    T_EQ(source.struct_size, sizeof(source));
    T_EQ(map.struct_size, sizeof(map));
    T_EQ(batch_map.struct_size, sizeof(batch_map));
    T_EQ(source.column_size, sizeof(sluice_column_spec));
    T_EQ(map.column_size, sizeof(sluice_column_spec));
    T_EQ(batch_map.column_size, sizeof(sluice_column_spec));
}

const t_test abi_tests[] = {
    T_TEST(numbers_of_enums_stay),
    T_TEST(init_functions_clear_their_struct),
    T_TEST(init_functions_set_the_size_of_specs),
    T_END,
};
