/* SPDX-License-Identifier: Apache-2.0 */
/* Code of the user's that uses a second device where the library has made the first one current:
 * steps and device maps, on the fake of CUDA. */
#include <string.h>

#include "channel_kit.h"
#include "cuda_device_int.h"
#include "cuda_kit.h"
#include "device_int.h"
#include "device_map_kit.h"
#include "fake_kit.h"
#include "testing.h"

static const char small_pipeline[] = "synthetic samples=60 shape=8,16,3 | batch 6";

static void code_of_the_users_enters_anew(void)
{
    sluice_device *devices[2];
    void *user;

    fake_cuda_start(&channel_kit_machine);
    T_OK(sluice_device_open("cuda:0", &devices[0]));
    T_OK(sluice_device_open("cuda:1", &devices[1]));
    fake_cuda_use(1);
    user = fake_cuda_current();
    for (int i = 0; i < 2; i++) {
        const cuda_device *outer = devices[i]->state;
        const cuda_device *inner = devices[1 - i]->state;

        cuda_entry kept;

        T_OK(sli_cuda_enter(outer));
        T_OK(sli_cuda_begin_user(outer, &kept));
        T_TRUE(fake_cuda_current() == outer->context);
        T_OK(sli_cuda_enter_thread(inner));
        T_TRUE(fake_cuda_current() == inner->context);
        sli_cuda_leave_thread(inner);
        T_TRUE(fake_cuda_current() == outer->context);
        T_CUDA(cudaSetDevice(1 - i));
        T_OK(sli_cuda_enter(outer));
        T_TRUE(fake_cuda_current() == outer->context);
        sli_cuda_leave(outer);
        T_TRUE(fake_cuda_current() == inner->context);
        sli_cuda_end_user(outer, &kept);
        T_TRUE(fake_cuda_current() == outer->context);
        T_OK(sli_cuda_enter(outer));
        sli_cuda_leave(outer);
        sli_cuda_leave(outer);
        T_TRUE(fake_cuda_current() == user);
    }
    sluice_device_close(devices[0]);
    sluice_device_close(devices[1]);
    cuda_kit_nothing_is_live();
}

/* ---- steps ----------------------------------------------------------------------------------- */

static sluice_status step_that_leaves_another(const sluice_step *step, void *user)
{
    const sluice_status st = cuda_kit_step(step, user);

    return st != SLUICE_OK || cudaSetDevice(1) == cudaSuccess ? st : SLUICE_E_DEVICE;
}

static void a_step_may_leave_another_device_current(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};

    for (size_t i = 0; i < 4; i++) {
        kit k;

        fake_cuda_start(&channel_kit_machine);
        cuda_kit_init(&k);
        k.model.step = step_that_leaves_another;
        k.config.mode = modes[i];
        k.config.sink_size = 5;
        T_OK(kit_run(&k));
        T_TRUE(k.count > 0);
        kit_check(&k);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

/* ---- device maps ----------------------------------------------------------------------------- */

static channel_kit other;
static int maps_called;

/* Fetches a batch of a channel on cuda:1, opened by the first call. */
static sluice_status map_with_a_channel(const sluice_step *step, const sluice_tensor *outputs,
                                        void *user)
{
    sluice_status st = device_map_sum(step, outputs, user);

    if (maps_called++ == 0) {
        channel_kit_open(&other, "cuda:1,transport=push", small_pipeline, 8);
    }
    st = st == SLUICE_OK ? channel_kit_fetch(&other, NULL, NULL, 0) : st;
    return st != SLUICE_OK || cudaSetDevice(1) == cudaSuccess ? st : SLUICE_E_DEVICE;
}

static void a_device_map_may_use_a_second_device(void)
{
    for (int i = 0; i < CHANNEL_KIT_TRANSPORTS; i++) {
        sluice_device_map map;
        const sluice_device_map *maps[] = {&map};
        sluice_channel_config config;
        sluice_device *device = NULL;
        sluice_dataset *dataset = NULL;
        sluice_channel *channel = NULL;

        maps_called = 0;
        memset(&other, 0, sizeof(other));
        fake_cuda_start(&channel_kit_machine);
        device_map_init(&map, "second device", map_with_a_channel, &device_map_sum_column);
        sluice_channel_config_init(&config);
        config.device_maps = maps;
        config.device_map_count = 1;
        T_OK(sluice_device_open(channel_kit_transports[i], &device));
        T_OK(sluice_dataset_parse(small_pipeline, &dataset));
        T_OK(sluice_channel_open(device, dataset, &config, &channel));
        T_OK(sluice_channel_start(channel));
        for (int n = 0; n < 4; n++) {
            const sluice_batch *batch = NULL;

            T_OK(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch));
            T_EQ(fake_cuda_device_of(batch->inputs[0].data), 0);
            T_TRUE(fake_cuda_current() == NULL);
        }
        T_EQ(maps_called, 4);
        T_EQ(other.count, 4);
        channel_kit_check(&other, small_pipeline);
        channel_kit_close(&other);
        sluice_channel_close(channel);
        sluice_dataset_destroy(dataset);
        sluice_device_close(device);
        cuda_kit_nothing_is_live();
    }
}

const t_test cuda_contexts_tests[] = {
    T_TEST(code_of_the_users_enters_anew),
    T_TEST(a_step_may_leave_another_device_current),
    T_TEST(a_device_map_may_use_a_second_device),
    T_END,
};
