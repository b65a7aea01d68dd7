/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that programs were compiled with: new ones go to the end of an enum, and what is here
 * stays. Init functions, by which programs and libraries of different versions agree on the size of
 * a struct. Layouts are compared by tests/test_struct_layout.sh.
 */
#include <sluice/sluice.h>

#include "testing.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
        NUMBER(SLUICE_PACK_FATES, 24),
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
        NUMBER(SLUICE_MAX_EDGES, 32),
        NUMBER(SLUICE_NAME_SIZE, 32),
        NUMBER(SLUICE_MAX_OUTPUTS, 16),
        NUMBER(SLUICE_POSITION_IDENTITY, 3072),
    };

    check(numbers, COUNT(numbers));
    T_TRUE(SLUICE_SEED_OF_RUN == UINT64_MAX);
    T_TRUE(SLUICE_OF_RUN == UINT32_MAX);
    T_TRUE(SLUICE_FOREVER == -1);
}

/* ---- init functions ---------------------------------------------------------------------------
 */

enum { MOST = 4096, FILLER = 0xEE };

/* A struct, its init function with a size, and the one for C. */
typedef struct sized {
    const char *name;
    size_t size;
    void (*init_size)(void *any, size_t size);
    void (*init)(void *any);
} sized;

#define SIZED(X)                                                                                   \
    X(callback, sluice_callback_init_size)                                                         \
    X(channel_config, sluice_channel_config_init_size)                                             \
    X(channel_info, sluice_channel_info_init_size)                                                 \
    X(channel_position, sluice_channel_position_init_size)                                         \
    X(channel_stats, sluice_channel_stats_init_size)                                               \
    X(checkpointing, sluice_checkpointing_init_size)                                               \
    X(dataset_info, sluice_dataset_info_init_size)                                                 \
    X(coco_config, sluice_coco_config_init_size)                                                   \
    X(decode_config, sluice_decode_config_init_size)                                               \
    X(device_map, sluice_device_map_init_size)                                                     \
    X(image_folder_config, sluice_image_folder_config_init_size)                                   \
    X(image_info, sluice_image_info_init_size)                                                     \
    X(letterbox_config, sluice_letterbox_config_init_size)                                         \
    X(llmc_position, sluice_llmc_position_init_size)                                               \
    X(model, sluice_model_init_size)                                                               \
    X(mosaic_config, sluice_mosaic_config_init_size)                                               \
    X(pack_config, sluice_pack_config_init_size)                                                   \
    X(pack_stats, sluice_pack_stats_init_size)                                                     \
    X(padding_config, sluice_padding_config_init_size)                                             \
    X(random_iou_crop_config, sluice_random_iou_crop_config_init_size)                             \
    X(random_resized_crop_config, sluice_random_resized_crop_config_init_size)                     \
    X(ranks, sluice_ranks_init_size)                                                               \
    X(report_stats, sluice_report_stats_init_size)                                                 \
    X(schedule, sluice_schedule_init_size)                                                         \
    X(tokens_config, sluice_tokens_config_init_size)                                               \
    X(topology_config, sluice_topology_config_init_size)                                           \
    X(train_config, sluice_train_config_init_size)                                                 \
    X(validating, sluice_validating_init_size)                                                     \
    X(verify_config, sluice_verify_config_init_size)                                               \
    X(verify_stats, sluice_verify_stats_init_size)                                                 \
    X(warp_config, sluice_warp_config_init_size)                                                   \
    X(webdataset_config, sluice_webdataset_config_init_size)

#define INIT_FUNCTIONS(name, init_size_function)                                                   \
    static void init_size_##name(void *any, size_t size)                                           \
    {                                                                                              \
        init_size_function((sluice_##name *)any, size);                                            \
    }                                                                                              \
    static void init_##name(void *any)                                                             \
    {                                                                                              \
        sluice_##name##_init((sluice_##name *)any);                                                \
    }
SIZED(INIT_FUNCTIONS)

#define SIZED_ROW(name, init_size_function)                                                        \
    {"sluice_" #name, sizeof(sluice_##name), init_size_##name, init_##name},
static const sized all_sized[] = {SIZED(SIZED_ROW)};

/* Counts the bytes that an init function has set in a block of the filler. */
static void check_written(const sized *s, const unsigned char *block, size_t size)
{
    size_t set = 0;
    size_t struct_size;

    memcpy(&struct_size, block, sizeof(struct_size));
    for (size_t i = 0; i < MOST; i++) {
        set += block[i] != FILLER;
    }
    if (struct_size != size || set != size) {
        T_FAIL_("%s_init_size() of %zu bytes has set %zu and struct_size %zu", s->name, size, set,
                struct_size);
    }
}

static void init_functions_write_the_callers_size_alone(void)
{
    for (size_t i = 0; i < COUNT(all_sized); i++) {
        const sized *s = &all_sized[i];
        const size_t sizes[] = {sizeof(size_t), s->size - 4, s->size, s->size + 24};
        _Alignas(16) unsigned char block[MOST];

        for (size_t k = 0; k < COUNT(sizes); k++) {
            memset(block, FILLER, sizeof(block));
            s->init_size(block, sizes[k]);
            check_written(s, block, sizes[k]);
        }
        memset(block, FILLER, sizeof(block));
        s->init(block);
        check_written(s, block, s->size);
        s->init_size(NULL, s->size);
    }
}

static void defaults_that_are_not_zero(void)
{
    sluice_train_config config;
    sluice_pack_config pack;

    sluice_train_config_init(&config);
    T_EQ(config.sink_size, -1);
    sluice_pack_config_init(&pack);
    T_EQ(pack.interval, 32);
}

const t_test abi_tests[] = {
    T_TEST(numbers_of_enums_stay),
    T_TEST(init_functions_write_the_callers_size_alone),
    T_TEST(defaults_that_are_not_zero),
    T_END,
};
