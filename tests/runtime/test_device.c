/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "device_int.h"
#include "testing.h"

static void devices_open_by_name(void)
{
    static const char *const good[] = {
        "auto",          "host:0",        "host",
        "host:3,copy=1", "host:0,node=0", "host:0,copy=1,latency_us=5,gbps=10,fail_after=3"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        sluice_device *device = NULL;

        T_OK(sluice_device_open(good[i], &device));
        T_EQ(strncmp(sluice_device_name(device), "host:", 5), 0);
        sluice_device_close(device);
    }
    sluice_device_close(NULL);
}

static void wrong_names_are_refused(void)
{
    static const struct {
        const char *uri;
        sluice_status want;
        const char *says;
    } bad[] = {
        {"tpu:0", SLUICE_E_INVALID, "auto, host:N, cuda:N or cuda:local"},
        {"", SLUICE_E_INVALID, "auto, host:N, cuda:N or cuda:local"},
        {"host:x", SLUICE_E_INVALID, "0 to 63"},
        {"host:64", SLUICE_E_INVALID, "0 to 63"},
        {"host:local", SLUICE_E_INVALID, "device host:local must be host:N"},
        {"auto:local", SLUICE_E_INVALID, "device host:local must be host:N"},
        {"host:locals", SLUICE_E_INVALID, "0 to 63"},
        {"tpu:local", SLUICE_E_INVALID, "auto, host:N, cuda:N or cuda:local"},
        {"host:-1", SLUICE_E_INVALID, "0 to 63"},
        {"host:0,copy", SLUICE_E_INVALID, "key=value"},
        {"host:0,=1", SLUICE_E_INVALID, "key=value"},
        {"host:0,copy=2", SLUICE_E_INVALID, "copy"},
        {"host:0,colour=1", SLUICE_E_INVALID, "colour is unknown"},
        {"host:0,gbps=1e3", SLUICE_E_INVALID, "gbps"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_device *device = NULL;

        T_STATUS(sluice_device_open(bad[i].uri, &device), bad[i].want);
        CU_ASSERT_PTR_NULL(device);
        T_CONTAINS(sluice_last_error(), bad[i].says);
    }
}

/* Whatever the build and the machine have, who asks for a CUDA device learns what is missing. */
static void a_cuda_device_opens_or_says_what_is_missing(void)
{
    sluice_device *device = NULL;
    const sluice_status st = sluice_device_open("cuda:0", &device);

    if (st == SLUICE_OK) {
        T_STR(sluice_device_name(device), "cuda:0");
        sluice_device_close(device);
        return;
    }
    T_EQ(st, SLUICE_E_NO_DEVICE);
    CU_ASSERT_PTR_NULL(device);
    T_CONTAINS(sluice_last_error(), "device cuda:0: ");
    T_CONTAINS(sluice_last_error(), "use host:0");
}

static void free_memory_of_a_host_device_is_the_hosts(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1"};

    for (size_t i = 0; i < 2; i++) {
        sluice_device *device = NULL;
        uint64_t bytes = 0;

        T_OK(sluice_device_open(devices[i], &device));
        T_OK(sli_device_available(device, &bytes));
        T_TRUE(bytes == UINT64_MAX);
        sluice_device_close(device);
    }
}

static void what_devices_can_do_follows_the_options(void)
{
    sluice_device *device = NULL;

    T_OK(sluice_device_open("host:0", &device));
    T_TRUE(device->caps.host_memory && !device->caps.poison && device->caps.spin_ns < 0);
    sluice_device_close(device);
    T_OK(sluice_device_open("host:0,copy=1,spin_us=7,node=2", &device));
    T_TRUE(!device->caps.host_memory && device->caps.poison);
    T_EQ(device->caps.spin_ns, 7000);
    T_EQ(device->caps.node, 2);
    sluice_device_close(device);
}

static void device_memory_starts_poisoned(void)
{
    sluice_device *device = NULL;
    void *block = NULL;

    T_OK(sluice_device_open("host:0,copy=1", &device));
    T_OK(sli_device_alloc(device, 1000, &block));
    T_EQ(((unsigned char *)block)[999], 0xA5);
    T_EQ((uintptr_t)block % 256, 0);
    sli_device_free(device, block, 1000);
    sluice_device_close(device);
}

static void add_one(void *arg)
{
    ++*(int *)arg;
}

static void streams_do_things_in_order(void)
{
    sluice_device *device = NULL;
    sli_stream stream = {0};
    sli_event wake = {0};
    uint64_t word = 0;
    char to[4] = "";
    int calls = 0;

    T_OK(sluice_device_open("host:0,copy=1,latency_us=2000", &device));
    T_OK(sli_stream_open(device, "test", SLI_STREAM_STEPS, NULL, 0, &stream));
    T_OK(sli_stream_copy(&stream, to, "abc", 4));
    T_OK(sli_stream_write(&stream, &word, 7, &wake));
    for (int i = 0; i < 1000; i++) {
        T_OK(sli_stream_call(&stream, add_one, &calls));
    }
    T_OK(sli_stream_wait(&stream, -1));
    T_STR(to, "abc");
    T_EQ(word, 7);
    T_EQ(calls, 1000);
    sli_stream_close(&stream);
    sli_stream_close(&stream);
    sluice_device_close(device);
}

static void hold(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg)) {
        usleep(100);
    }
}

static void waiting_for_a_busy_stream_times_out(void)
{
    sluice_device *device = NULL;
    sli_stream stream = {0};
    _Atomic bool go_on = false;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sli_stream_open(device, "test", SLI_STREAM_STEPS, NULL, 0, &stream));
    T_OK(sli_stream_call(&stream, hold, &go_on));
    T_STATUS(sli_stream_wait(&stream, 1000000), SLUICE_TIMEOUT);
    atomic_store(&go_on, true);
    T_OK(sli_stream_wait(&stream, -1));
    sli_stream_close(&stream);
    sluice_device_close(device);
}

/* What follows a failed copy must not look as if it had arrived. */
static void a_failed_copy_stops_the_stream(void)
{
    sluice_device *device = NULL;
    sli_stream stream = {0};
    sli_event wake = {0};
    uint64_t word = 0;
    char to[4] = "";

    T_OK(sluice_device_open("host:0,copy=1,fail_after=1", &device));
    T_OK(sli_stream_open(device, "test", SLI_STREAM_STEPS, NULL, 0, &stream));
    T_OK(sli_stream_copy(&stream, to, "ab", 3));
    T_OK(sli_stream_write(&stream, &word, 1, &wake));
    T_OK(sli_stream_copy(&stream, to, "cd", 3));
    T_OK(sli_stream_write(&stream, &word, 2, &wake));
    T_STATUS(sli_stream_wait(&stream, -1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "fail_after");
    T_STATUS(sli_stream_status(&stream), SLUICE_E_DEVICE);
    T_EQ(word, 1);
    T_STR(to, "ab");
    T_EQ(atomic_load(&wake.epoch), 2);
    sli_stream_close(&stream);
    sluice_device_close(device);
}

static void a_device_of_the_parent_is_refused_in_a_child(void)
{
    sluice_device *device = NULL;
    int status = 0;
    pid_t child;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sli_device_check(device, "test"));
    child = fork();
    if (child == 0) {
        _exit(sli_device_check(device, "test") == SLUICE_E_INVALID ? 0 : 1);
    }
    waitpid(child, &status, 0);
    T_EQ(WEXITSTATUS(status), 0);
    T_STATUS(sli_device_check(NULL, "test"), SLUICE_E_INVALID);
    sluice_device_close(device);
}

static void opening_survives_running_out_of_memory(void)
{
    sluice_device *device = NULL;
    int64_t passes = 0;

    for (;; passes++) {
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = sluice_device_open("host:0", &device);
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            break;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
    T_TRUE(passes > 0);
    sluice_device_close(device);
}

const t_test device_tests[] = {
    T_TEST(devices_open_by_name),
    T_TEST(wrong_names_are_refused),
    T_TEST(a_cuda_device_opens_or_says_what_is_missing),
    T_TEST(free_memory_of_a_host_device_is_the_hosts),
    T_TEST(what_devices_can_do_follows_the_options),
    T_TEST(device_memory_starts_poisoned),
    T_TEST(streams_do_things_in_order),
    T_TEST(waiting_for_a_busy_stream_times_out),
    T_TEST(a_failed_copy_stops_the_stream),
    T_TEST(a_device_of_the_parent_is_refused_in_a_child),
    T_TEST(opening_survives_running_out_of_memory),
    T_END,
};
