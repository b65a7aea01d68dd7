/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and layouts that programs were compiled with, on x86-64. A line that no longer holds
 * breaks them: new fields go to the end of a struct, new numbers to the end of an enum, and
 * what is here stays. A struct that grows changes its size here, and nothing else.
 */
#include <stddef.h>

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
#define STRUCT(type, size)                                                                         \
    {                                                                                              \
        "sizeof " #type, (long long)sizeof(type), size                                             \
    }
#define FIELD(type, field, offset)                                                                 \
    {                                                                                              \
#type "." #field, (long long)offsetof(type, field), offset                                 \
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
        NUMBER(SLUICE_PACK_KEPT_DAMAGED, 6),
        NUMBER(SLUICE_PACK_KEPT_INCOMPLETE, 7),
        NUMBER(SLUICE_PACK_KEPT_RANGE, 8),
        NUMBER(SLUICE_PACK_KEPT_HEADER, 9),
        NUMBER(SLUICE_PACK_KEPT_LARGE, 10),
        NUMBER(SLUICE_PACK_KEPT_GROWN, 11),
        NUMBER(SLUICE_PACK_KEPT_DIFFERENT, 12),
        NUMBER(SLUICE_PACK_LEFT_UNREADABLE, 13),
        NUMBER(SLUICE_PACK_LEFT_NO_IMAGE, 14),
        NUMBER(SLUICE_PACK_LEFT_UNDECODABLE, 15),
        NUMBER(SLUICE_MODE_AUTO, 0),
        NUMBER(SLUICE_MODE_DIRECT, 1),
        NUMBER(SLUICE_MODE_DATA, 2),
        NUMBER(SLUICE_MODE_GRAPH, 3),
        NUMBER(SLUICE_MODE_LOOP, 4),
        NUMBER(SLUICE_ON_ERROR_FAIL, 0),
        NUMBER(SLUICE_ON_ERROR_REPLACE, 1),
        NUMBER(SLUICE_ON_ERROR_ZERO, 2),
        NUMBER(SLUICE_MAX_RANK, 6),
        NUMBER(SLUICE_MAX_COLUMNS, 16),
        NUMBER(SLUICE_NAME_SIZE, 32),
        NUMBER(SLUICE_MAX_OUTPUTS, 16),
    };

    check(numbers, COUNT(numbers));
    T_TRUE(SLUICE_SEED_OF_RUN == UINT64_MAX);
    T_TRUE(SLUICE_OF_RUN == UINT32_MAX);
    T_TRUE(SLUICE_FOREVER == -1);
}

static void layouts_of_structs_stay(void)
{
#if defined(__x86_64__) && defined(__LP64__)
    static const pinned layouts[] = {
        STRUCT(sluice_column, 88),
        FIELD(sluice_column, name, 0),
        FIELD(sluice_column, dtype, 32),
        FIELD(sluice_column, rank, 36),
        FIELD(sluice_column, shape, 40),
        STRUCT(sluice_tensor, 88),
        FIELD(sluice_tensor, name, 0),
        FIELD(sluice_tensor, data, 8),
        FIELD(sluice_tensor, dtype, 16),
        FIELD(sluice_tensor, rank, 20),
        FIELD(sluice_tensor, shape, 24),
        FIELD(sluice_tensor, bytes, 80),
        STRUCT(sluice_ranks, 32),
        FIELD(sluice_ranks, struct_size, 0),
        FIELD(sluice_ranks, rank, 8),
        FIELD(sluice_ranks, world, 12),
        FIELD(sluice_ranks, local_rank, 16),
        FIELD(sluice_ranks, local_world, 20),
        FIELD(sluice_ranks, source, 24),
        STRUCT(sluice_topology_config, 48),
        FIELD(sluice_topology_config, struct_size, 0),
        FIELD(sluice_topology_config, synthetic, 8),
        FIELD(sluice_topology_config, xml, 16),
        FIELD(sluice_topology_config, device, 24),
        FIELD(sluice_topology_config, workers, 32),
        FIELD(sluice_topology_config, ranks, 36),
        FIELD(sluice_topology_config, json, 40),
        STRUCT(sluice_dataset_info, 1448),
        FIELD(sluice_dataset_info, struct_size, 0),
        FIELD(sluice_dataset_info, source_samples, 8),
        FIELD(sluice_dataset_info, samples, 16),
        FIELD(sluice_dataset_info, batches, 24),
        FIELD(sluice_dataset_info, batch_size, 32),
        FIELD(sluice_dataset_info, column_count, 36),
        FIELD(sluice_dataset_info, columns, 40),
        STRUCT(sluice_report_stats, 168),
        FIELD(sluice_report_stats, struct_size, 0),
        FIELD(sluice_report_stats, status, 8),
        FIELD(sluice_report_stats, steps, 16),
        FIELD(sluice_report_stats, epochs, 24),
        FIELD(sluice_report_stats, samples, 32),
        FIELD(sluice_report_stats, launches, 40),
        FIELD(sluice_report_stats, syncs, 48),
        FIELD(sluice_report_stats, yields, 56),
        FIELD(sluice_report_stats, replaced, 64),
        FIELD(sluice_report_stats, zeroed, 72),
        FIELD(sluice_report_stats, staging_bytes, 80),
        FIELD(sluice_report_stats, slot_bytes, 88),
        FIELD(sluice_report_stats, digest, 96),
        FIELD(sluice_report_stats, seconds, 104),
        FIELD(sluice_report_stats, data_wait_share, 112),
        FIELD(sluice_report_stats, nan_steps, 120),
        FIELD(sluice_report_stats, first_nan_step, 128),
        FIELD(sluice_report_stats, first_step, 136),
        FIELD(sluice_report_stats, checkpoints, 144),
        FIELD(sluice_report_stats, validations, 152),
        FIELD(sluice_report_stats, regrouped_batch_size, 160),
        FIELD(sluice_report_stats, regrouped_world, 164),
        STRUCT(sluice_step, 96),
        FIELD(sluice_step, struct_size, 0),
        FIELD(sluice_step, input_count, 8),
        FIELD(sluice_step, inputs, 16),
        FIELD(sluice_step, valid_rows, 24),
        FIELD(sluice_step, step, 32),
        FIELD(sluice_step, epoch, 40),
        FIELD(sluice_step, outputs, 48),
        FIELD(sluice_step, stream, 56),
        FIELD(sluice_step, learning_rate, 64),
        FIELD(sluice_step, random_key, 72),
        FIELD(sluice_step, micro, 80),
        FIELD(sluice_step, micro_batches, 88),
        STRUCT(sluice_model, 96),
        FIELD(sluice_model, struct_size, 0),
        FIELD(sluice_model, step, 8),
        FIELD(sluice_model, user, 16),
        FIELD(sluice_model, inputs, 24),
        FIELD(sluice_model, input_count, 32),
        FIELD(sluice_model, output_names, 40),
        FIELD(sluice_model, output_count, 48),
        FIELD(sluice_model, reads_valid_rows, 52),
        FIELD(sluice_model, reads_mask, 53),
        FIELD(sluice_model, save, 56),
        FIELD(sluice_model, load, 64),
        FIELD(sluice_model, eval, 72),
        FIELD(sluice_model, result_names, 80),
        FIELD(sluice_model, result_count, 88),
        STRUCT(sluice_step_record, 64),
        FIELD(sluice_step_record, step, 0),
        FIELD(sluice_step_record, epoch, 8),
        FIELD(sluice_step_record, pass, 16),
        FIELD(sluice_step_record, first_sample, 24),
        FIELD(sluice_step_record, valid_rows, 32),
        FIELD(sluice_step_record, digest, 40),
        FIELD(sluice_step_record, outputs, 48),
        FIELD(sluice_step_record, samples, 56),
        STRUCT(sluice_hook, 160),
        FIELD(sluice_hook, struct_size, 0),
        FIELD(sluice_hook, epoch, 8),
        FIELD(sluice_hook, epochs, 16),
        FIELD(sluice_hook, step, 24),
        FIELD(sluice_hook, last_step, 32),
        FIELD(sluice_hook, step_count, 40),
        FIELD(sluice_hook, records, 48),
        FIELD(sluice_hook, record_count, 56),
        FIELD(sluice_hook, batch_size, 64),
        FIELD(sluice_hook, output_count, 68),
        FIELD(sluice_hook, output_names, 72),
        FIELD(sluice_hook, seconds, 80),
        FIELD(sluice_hook, wait_seconds, 88),
        FIELD(sluice_hook, plan, 96),
        FIELD(sluice_hook, stop, 104),
        FIELD(sluice_hook, results, 112),
        FIELD(sluice_hook, result_names, 120),
        FIELD(sluice_hook, result_count, 128),
        FIELD(sluice_hook, result_samples, 136),
        FIELD(sluice_hook, micro_batches, 144),
        FIELD(sluice_hook, rank, 148),
        FIELD(sluice_hook, world, 152),
        STRUCT(sluice_callback, 72),
        FIELD(sluice_callback, train_begin, 0),
        FIELD(sluice_callback, epoch_begin, 8),
        FIELD(sluice_callback, step_begin, 16),
        FIELD(sluice_callback, records, 24),
        FIELD(sluice_callback, step_end, 32),
        FIELD(sluice_callback, epoch_end, 40),
        FIELD(sluice_callback, train_end, 48),
        FIELD(sluice_callback, user, 56),
        FIELD(sluice_callback, validation, 64),
        STRUCT(sluice_train_config, 312),
        FIELD(sluice_train_config, struct_size, 0),
        FIELD(sluice_train_config, epochs, 8),
        FIELD(sluice_train_config, dataset_sink_mode, 16),
        FIELD(sluice_train_config, sink_size, 24),
        FIELD(sluice_train_config, initial_epoch, 32),
        FIELD(sluice_train_config, max_steps, 40),
        FIELD(sluice_train_config, max_seconds, 48),
        FIELD(sluice_train_config, mode, 56),
        FIELD(sluice_train_config, output_capacity, 60),
        FIELD(sluice_train_config, callbacks, 64),
        FIELD(sluice_train_config, callback_count, 72),
        FIELD(sluice_train_config, stop, 80),
        FIELD(sluice_train_config, stall_warning_ms, 88),
        FIELD(sluice_train_config, stall_timeout_ms, 96),
        FIELD(sluice_train_config, workers, 104),
        FIELD(sluice_train_config, slots, 108),
        FIELD(sluice_train_config, memory_bytes, 112),
        FIELD(sluice_train_config, seed, 120),
        FIELD(sluice_train_config, rank, 128),
        FIELD(sluice_train_config, world, 132),
        FIELD(sluice_train_config, start_step, 136),
        FIELD(sluice_train_config, on_error, 144),
        FIELD(sluice_train_config, digest, 148),
        FIELD(sluice_train_config, record_samples, 149),
        FIELD(sluice_train_config, nan_guard, 152),
        FIELD(sluice_train_config, learning_rate, 160),
        FIELD(sluice_train_config, checkpoint, 192),
        FIELD(sluice_train_config, validation, 240),
        FIELD(sluice_train_config, micro_batches, 280),
        FIELD(sluice_train_config, agree, 288),
        FIELD(sluice_train_config, agree_user, 296),
        FIELD(sluice_train_config, check, 304),
        STRUCT(sluice_validating, 40),
        FIELD(sluice_validating, dataset, 0),
        FIELD(sluice_validating, every_steps, 8),
        FIELD(sluice_validating, every_epochs, 16),
        FIELD(sluice_validating, max_batches, 24),
        FIELD(sluice_validating, at_start, 32),
        FIELD(sluice_validating, at_end, 33),
        STRUCT(sluice_checkpointing, 48),
        FIELD(sluice_checkpointing, folder, 0),
        FIELD(sluice_checkpointing, every_steps, 8),
        FIELD(sluice_checkpointing, every_epochs, 16),
        FIELD(sluice_checkpointing, keep, 24),
        FIELD(sluice_checkpointing, resume, 28),
        FIELD(sluice_checkpointing, best, 32),
        FIELD(sluice_checkpointing, best_is_larger, 40),
        STRUCT(sluice_schedule, 32),
        FIELD(sluice_schedule, table, 0),
        FIELD(sluice_schedule, count, 8),
        FIELD(sluice_schedule, function, 16),
        FIELD(sluice_schedule, user, 24),
        STRUCT(sluice_channel_position, 40),
        FIELD(sluice_channel_position, struct_size, 0),
        FIELD(sluice_channel_position, batch, 8),
        FIELD(sluice_channel_position, pass, 16),
        FIELD(sluice_channel_position, samples, 24),
        FIELD(sluice_channel_position, seed, 32),
        STRUCT(sluice_channel_config, 88),
        FIELD(sluice_channel_config, struct_size, 0),
        FIELD(sluice_channel_config, first_batch, 8),
        FIELD(sluice_channel_config, batches, 16),
        FIELD(sluice_channel_config, seed, 24),
        FIELD(sluice_channel_config, rank, 32),
        FIELD(sluice_channel_config, world, 36),
        FIELD(sluice_channel_config, workers, 40),
        FIELD(sluice_channel_config, slots, 44),
        FIELD(sluice_channel_config, memory_bytes, 48),
        FIELD(sluice_channel_config, on_error, 56),
        FIELD(sluice_channel_config, end_of_pass, 60),
        FIELD(sluice_channel_config, inputs, 64),
        FIELD(sluice_channel_config, input_count, 72),
        FIELD(sluice_channel_config, held, 76),
        FIELD(sluice_channel_config, position, 80),
        STRUCT(sluice_channel_info, 1464),
        FIELD(sluice_channel_info, struct_size, 0),
        FIELD(sluice_channel_info, samples, 8),
        FIELD(sluice_channel_info, batches, 16),
        FIELD(sluice_channel_info, batch_size, 24),
        FIELD(sluice_channel_info, workers, 28),
        FIELD(sluice_channel_info, slots, 32),
        FIELD(sluice_channel_info, column_count, 36),
        FIELD(sluice_channel_info, staging_bytes, 40),
        FIELD(sluice_channel_info, slot_bytes, 48),
        FIELD(sluice_channel_info, columns, 56),
        STRUCT(sluice_batch, 56),
        FIELD(sluice_batch, struct_size, 0),
        FIELD(sluice_batch, number, 8),
        FIELD(sluice_batch, pass, 16),
        FIELD(sluice_batch, inputs, 24),
        FIELD(sluice_batch, input_count, 32),
        FIELD(sluice_batch, rows, 36),
        FIELD(sluice_batch, valid_rows, 40),
        FIELD(sluice_batch, samples, 48),
        STRUCT(sluice_channel_stats, 64),
        FIELD(sluice_channel_stats, struct_size, 0),
        FIELD(sluice_channel_stats, batches, 8),
        FIELD(sluice_channel_stats, samples, 16),
        FIELD(sluice_channel_stats, bytes_read, 24),
        FIELD(sluice_channel_stats, ready, 32),
        FIELD(sluice_channel_stats, replaced, 40),
        FIELD(sluice_channel_stats, zeroed, 48),
        FIELD(sluice_channel_stats, wait_seconds, 56),
        STRUCT(sluice_pack_stats, 272),
        FIELD(sluice_pack_stats, struct_size, 0),
        FIELD(sluice_pack_stats, samples, 8),
        FIELD(sluice_pack_stats, done, 16),
        FIELD(sluice_pack_stats, resumed, 24),
        FIELD(sluice_pack_stats, written, 32),
        FIELD(sluice_pack_stats, fates, 40),
        FIELD(sluice_pack_stats, bytes_in, 232),
        FIELD(sluice_pack_stats, bytes_out, 240),
        FIELD(sluice_pack_stats, tar_bytes, 248),
        FIELD(sluice_pack_stats, shards, 256),
        FIELD(sluice_pack_stats, complete, 260),
        FIELD(sluice_pack_stats, seconds, 264),
        STRUCT(sluice_pack_problem, 32),
        FIELD(sluice_pack_problem, position, 0),
        FIELD(sluice_pack_problem, fate, 8),
        FIELD(sluice_pack_problem, name, 16),
        FIELD(sluice_pack_problem, why, 24),
        STRUCT(sluice_pack_config, 112),
        FIELD(sluice_pack_config, struct_size, 0),
        FIELD(sluice_pack_config, dataset, 8),
        FIELD(sluice_pack_config, folder, 16),
        FIELD(sluice_pack_config, interval, 24),
        FIELD(sluice_pack_config, max_side, 28),
        FIELD(sluice_pack_config, quality, 32),
        FIELD(sluice_pack_config, subsampling, 36),
        FIELD(sluice_pack_config, raw, 40),
        FIELD(sluice_pack_config, verify, 41),
        FIELD(sluice_pack_config, leave_out_unreadable, 42),
        FIELD(sluice_pack_config, workers, 44),
        FIELD(sluice_pack_config, shard_bytes, 48),
        FIELD(sluice_pack_config, memory_bytes, 56),
        FIELD(sluice_pack_config, max_pixels, 64),
        FIELD(sluice_pack_config, seed, 72),
        FIELD(sluice_pack_config, stop, 80),
        FIELD(sluice_pack_config, progress, 88),
        FIELD(sluice_pack_config, problem, 96),
        FIELD(sluice_pack_config, user, 104),
        STRUCT(sluice_verify_stats, 72),
        FIELD(sluice_verify_stats, struct_size, 0),
        FIELD(sluice_verify_stats, samples, 8),
        FIELD(sluice_verify_stats, done, 16),
        FIELD(sluice_verify_stats, problems, 24),
        FIELD(sluice_verify_stats, checked, 32),
        FIELD(sluice_verify_stats, bytes, 40),
        FIELD(sluice_verify_stats, shards, 48),
        FIELD(sluice_verify_stats, is_pack, 52),
        FIELD(sluice_verify_stats, seconds, 56),
        FIELD(sluice_verify_stats, bad, 64),
        STRUCT(sluice_verify_config, 64),
        FIELD(sluice_verify_config, struct_size, 0),
        FIELD(sluice_verify_config, path, 8),
        FIELD(sluice_verify_config, workers, 16),
        FIELD(sluice_verify_config, max_pixels, 24),
        FIELD(sluice_verify_config, stop, 32),
        FIELD(sluice_verify_config, progress, 40),
        FIELD(sluice_verify_config, problem, 48),
        FIELD(sluice_verify_config, user, 56),
    };

    check(layouts, COUNT(layouts));
#else
    T_SKIP("layouts are written down for x86-64");
#endif
}

/* The init functions are the caller's own code: they write their struct's size and nothing past it.
 */
static void init_functions_write_the_callers_struct_alone(void)
{
    struct {
        sluice_train_config config;
        unsigned char after[16];
    } config;
    struct {
        sluice_model model;
        unsigned char after[16];
    } model;
    struct {
        sluice_topology_config topology;
        unsigned char after[16];
    } topology;
    struct {
        sluice_channel_config channel;
        unsigned char after[16];
    } channel;
    struct {
        sluice_pack_config pack;
        unsigned char after[16];
    } pack;
    struct {
        sluice_verify_config verify;
        unsigned char after[16];
    } verify;

    memset(&verify, 0xEE, sizeof(verify));
    memset(&pack, 0xEE, sizeof(pack));
    memset(&config, 0xEE, sizeof(config));
    memset(&model, 0xEE, sizeof(model));
    memset(&topology, 0xEE, sizeof(topology));
    memset(&channel, 0xEE, sizeof(channel));
    sluice_train_config_init(&config.config);
    sluice_model_init(&model.model);
    sluice_topology_config_init(&topology.topology);
    sluice_channel_config_init(&channel.channel);
    sluice_pack_config_init(&pack.pack);
    sluice_verify_config_init(&verify.verify);
    T_EQ(verify.verify.struct_size, sizeof(verify.verify));
    T_EQ(config.config.struct_size, sizeof(config.config));
    T_EQ(config.config.sink_size, -1);
    T_EQ(model.model.struct_size, sizeof(model.model));
    T_EQ(topology.topology.struct_size, sizeof(topology.topology));
    T_EQ(channel.channel.struct_size, sizeof(channel.channel));
    T_EQ(pack.pack.struct_size, sizeof(pack.pack));
    T_EQ(pack.pack.interval, 32);
    for (size_t i = 0; i < sizeof(config.after); i++) {
        T_EQ(config.after[i], 0xEE);
        T_EQ(model.after[i], 0xEE);
        T_EQ(topology.after[i], 0xEE);
        T_EQ(channel.after[i], 0xEE);
        T_EQ(pack.after[i], 0xEE);
        T_EQ(verify.after[i], 0xEE);
    }
}

const t_test abi_tests[] = {
    T_TEST(numbers_of_enums_stay),
    T_TEST(layouts_of_structs_stay),
    T_TEST(init_functions_write_the_callers_struct_alone),
    T_END,
};
