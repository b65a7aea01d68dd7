/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device on the fake of CUDA: opening it, its memory, and what is left when CUDA fails. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/sluice.h>

#include "alloc_int.h"
#include "cuda_kit.h"
#include "device_int.h"
#include "fake_cuda.h"
#include "testing.h"

static const fake_cuda_machine two_devices = {.devices = 2, .driver = CUDART_VERSION};

/* ---- opening --------------------------------------------------------------------------------- */

static void a_device_opens_and_says_what_it_is(void)
{
    sluice_device *device = NULL;

    fake_cuda_start(&two_devices);
    T_OK(sluice_device_open("cuda:1", &device));
    T_STR(sluice_device_name(device), "cuda:1");
    T_TRUE(!device->caps.host_memory && !device->caps.poison);
    T_EQ(device->caps.spin_ns, 500000);
    T_EQ(device->caps.node, -1);
    T_STR(device->caps.pci_bus_id, "0000:18:00.0");
    T_EQ(fake_cuda_count().contexts, 1);
    sluice_device_close(device);
    cuda_kit_nothing_is_live();
}

static void options_are_read_before_anything_is_asked_of_cuda(void)
{
    static const struct {
        const char *uri;
        const char *says;
    } bad[] = {{"cuda:0,colour=1",
                "colour is unknown; cuda takes spin_us, poll_us, node, transport, copy_streams and "
                "unroll"},
               {"cuda:0,copy=1", "copy is unknown"},
               {"cuda:0,spin_us=1000001", "0 to 1000000"},
               {"cuda:0,spin_us=x", "spin_us"},
               {"cuda:0,node=1024", "node"},
               {"cuda:0,copy_streams=3", "1 to 2"},
               {"cuda:0,poll_us=1000001", "0 to 1000000"},
               {"cuda:0,transport=shove", "transport=shove must be push or pull"}};
    sluice_device *device = NULL;

    fake_cuda_start(&two_devices);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        T_STATUS(sluice_device_open(bad[i].uri, &device), SLUICE_E_INVALID);
        CU_ASSERT_PTR_NULL(device);
        T_CONTAINS(sluice_last_error(), bad[i].says);
    }
    T_EQ(fake_cuda_calls(), 0);
    T_OK(sluice_device_open("cuda,spin_us=7,node=2", &device));
    T_EQ(device->caps.spin_ns, 7000);
    T_EQ(device->caps.node, 2);
    sluice_device_close(device);
}

static void a_device_that_cannot_be_used_is_not_opened(void)
{
    static const struct {
        fake_cuda_machine machine;
        sluice_status want;
        const char *says;
    } cases[] = {
        {{.prohibited = true}, SLUICE_E_NO_DEVICE, "(Fake GPU 1): its compute mode is Prohibited"},
        {{.prohibited = true}, SLUICE_E_NO_DEVICE, "nvidia-smi -i GPU -c DEFAULT"},
        {{.capability = 70},
         SLUICE_E_UNSUPPORTED,
         "device cuda:1 (Fake GPU 1): its compute capability is 7.0, and must be at least "},
        {{.capability = 70}, SLUICE_E_UNSUPPORTED, "-DSLUICE_CUDA_ARCHITECTURES=70"},
        {{.no_code = cudaErrorNoKernelImageForDevice},
         SLUICE_E_UNSUPPORTED,
         "device cuda:1 (Fake GPU 1): to load a kernel of this library: "},
        {{.no_code = cudaErrorNoKernelImageForDevice},
         SLUICE_E_UNSUPPORTED,
         "no code for this GPU"},
        {{.no_code = cudaErrorJitCompilerNotFound}, SLUICE_E_UNSUPPORTED, "ptxjitcompiler"},
        {{.no_code = cudaErrorUnsupportedPtxVersion}, SLUICE_E_UNSUPPORTED, "update the driver"},
        {{.no_code = cudaErrorJitCompilationDisabled},
         SLUICE_E_UNSUPPORTED,
         "CUDA_DISABLE_PTX_JIT"},
        {{.no_code = cudaErrorMpsConnectionFailed}, SLUICE_E_NO_DEVICE, "mps-control -d"},
        {{.no_code = cudaErrorMpsRpcFailure}, SLUICE_E_DEVICE, "MPS server is not ready"},
        {{.no_code = cudaErrorMpsServerNotReady}, SLUICE_E_NO_DEVICE, "MPS server is not ready"},
        {{.no_code = cudaErrorMpsMaxClientsReached}, SLUICE_E_NO_DEVICE, "fewer processes"},
        {{.no_code = cudaErrorMpsMaxConnectionsReached}, SLUICE_E_NO_DEVICE, "fewer processes"},
        {{.no_code = cudaErrorMpsClientTerminated}, SLUICE_E_DEVICE, "start the job again"},
        {{.no_code = cudaErrorDevicesUnavailable}, SLUICE_E_NO_DEVICE, "Exclusive_Process"},
        {{.no_code = cudaErrorSystemNotReady}, SLUICE_E_NO_DEVICE, "nvidia-fabricmanager"},
        {{.no_code = cudaErrorSystemDriverMismatch}, SLUICE_E_NO_DEVICE, "different versions"},
        {{.no_code = cudaErrorIllegalAddress}, SLUICE_E_DEVICE, "memory that is not this device's"},
        {{.no_code = cudaErrorMisalignedAddress}, SLUICE_E_DEVICE, "compute-sanitizer"},
        {{.no_code = cudaErrorECCUncorrectable}, SLUICE_E_DEVICE, "nvidia-smi -q -d ECC"},
        {{.no_code = cudaErrorNvlinkUncorrectable}, SLUICE_E_DEVICE, "nvidia-smi nvlink -e"},
        {{.no_code = cudaErrorUnknown}, SLUICE_E_DEVICE, "NVRM with an Xid"},
        {{.no_code = cudaErrorCompatNotSupportedOnDevice}, SLUICE_E_NO_DEVICE, "cuda-compat"},
    };
    sluice_device *device = NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_cuda_machine machine = cases[i].machine;

        machine.devices = two_devices.devices;
        machine.driver = two_devices.driver;
        fake_cuda_start(&machine);
        T_STATUS(sluice_device_open("cuda:1", &device), cases[i].want);
        CU_ASSERT_PTR_NULL(device);
        T_CONTAINS(sluice_last_error(), cases[i].says);
        cuda_kit_nothing_is_live();
    }
}

static void free_memory_is_the_devices(void)
{
    fake_cuda_machine machine = two_devices;
    sluice_device *device = NULL;
    uint64_t bytes = 0;

    machine.available = 12345678;
    fake_cuda_start(&machine);
    T_OK(sluice_device_open("cuda:1", &device));
    T_OK(sli_device_available(device, &bytes));
    T_EQ(bytes, 12345678);
    T_EQ(fake_cuda_count().pushed, 0);
    fake_cuda_fail_after(1, cudaErrorIllegalAddress);
    T_STATUS(sli_device_available(device, &bytes), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "device cuda:1: cudaMemGetInfo");
    fake_cuda_fail_after(-1, cudaSuccess);
    T_EQ(bytes, 12345678);
    T_EQ(fake_cuda_count().pushed, 0);
    sluice_device_close(device);
    cuda_kit_nothing_is_live();
}

static void a_watchdog_limits_how_long_is_polled(void)
{
    fake_cuda_machine machine = two_devices;
    sluice_device *device = NULL;

    fake_cuda_start(&machine);
    T_OK(sluice_device_open("cuda:0,spin_us=1000000", &device));
    T_EQ(device->caps.spin_ns, 1000000000);
    sluice_device_close(device);
    machine.watchdog = true;
    fake_cuda_start(&machine);
    T_OK(sluice_device_open("cuda:0,spin_us=1000000", &device));
    T_EQ(device->caps.spin_ns, 100000000);
    sluice_device_close(device);
    T_OK(sluice_device_open("cuda:0,spin_us=3", &device));
    T_EQ(device->caps.spin_ns, 3000);
    sluice_device_close(device);
}

static void transports_are_chosen_by_what_the_machine_has(void)
{
    static const struct {
        const char *uri;
        bool no_mem_ops;
        sluice_status want;
        bool pull;
    } cases[] = {
        {"cuda:0", false, SLUICE_OK, false},
        {"cuda:0,transport=push", false, SLUICE_OK, false},
        {"cuda:0,transport=pull", false, SLUICE_OK, true},
        {"cuda:0", true, SLUICE_OK, true},
        {"cuda:0,transport=push", true, SLUICE_E_UNSUPPORTED, false},
        {"cuda:0,transport=pull", true, SLUICE_OK, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_cuda_machine machine = two_devices;
        sluice_device *device = NULL;

        machine.no_mem_ops = cases[i].no_mem_ops;
        fake_cuda_start(&machine);
        T_STATUS(sluice_device_open(cases[i].uri, &device), cases[i].want);
        if (cases[i].want == SLUICE_OK) {
            T_TRUE(device->caps.kernels);
            T_EQ(device->caps.pull, cases[i].pull);
        } else {
            CU_ASSERT_PTR_NULL(device);
            T_CONTAINS(sluice_last_error(), "use transport=pull");
        }
        sluice_device_close(device);
        cuda_kit_nothing_is_live();
    }
}

static void what_is_missing_is_named(void)
{
    static const struct {
        fake_cuda_machine machine;
        const char *uri;
        sluice_status want;
        const char *says;
    } bad[] = {
        {{.devices = 1}, "cuda:0", SLUICE_E_NO_DEVICE, "no NVIDIA driver on this machine"},
        {{.devices = 1, .driver = 12020},
         "cuda:0",
         SLUICE_E_NO_DEVICE,
         "supports CUDA 12.2, and this build needs"},
        {{.driver = CUDART_VERSION}, "cuda:0", SLUICE_E_NO_DEVICE, "the driver sees no GPU"},
        {{.devices = 1, .driver = CUDART_VERSION},
         "cuda:1",
         SLUICE_E_NO_DEVICE,
         "there is 1 CUDA device, cuda:0"},
        {{.devices = 2, .driver = CUDART_VERSION},
         "cuda:5",
         SLUICE_E_NO_DEVICE,
         "there are 2 CUDA devices, cuda:0 to cuda:1"},
        {{.devices = 2, .driver = CUDART_VERSION, .missing = "cuCtxPushCurrent"},
         "cuda:0",
         SLUICE_E_DEVICE,
         "cuCtxPushCurrent of the driver: cudaErrorSymbolNotFound"},
    };
    sluice_device *device = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fake_cuda_start(&bad[i].machine);
        T_STATUS(sluice_device_open(bad[i].uri, &device), bad[i].want);
        CU_ASSERT_PTR_NULL(device);
        T_CONTAINS(sluice_last_error(), bad[i].says);
        T_EQ(cudaGetLastError(), cudaSuccess);
        cuda_kit_nothing_is_live();
    }
}

/* The device that this local rank opens, or what is wrong. */
static const char *local_device(const char *local, uint32_t devices)
{
    static char text[300];
    const fake_cuda_machine machine = {.devices = (int)devices, .driver = CUDART_VERSION};
    sluice_device *device = NULL;

    fake_cuda_start(&machine);
    setenv("SLUICE_LOCAL", local, 1);
    if (sluice_device_open("cuda:local,spin_us=7", &device) != SLUICE_OK) {
        CU_ASSERT_PTR_NULL(device);
        snprintf(text, sizeof(text), "%s", sluice_last_error());
    } else {
        snprintf(text, sizeof(text), "%s %d", sluice_device_name(device), device->caps.dlpack_id);
        T_EQ(device->caps.spin_ns, 7000);
        sluice_device_close(device);
    }
    unsetenv("SLUICE_LOCAL");
    cuda_kit_nothing_is_live();
    return text;
}

static void cuda_local_is_the_local_rank_modulo_the_devices(void)
{
    T_STR(local_device("", 2), "cuda:0 0"); /* alone */
    T_STR(local_device("0/3", 2), "cuda:0 0");
    T_STR(local_device("1/3", 2), "cuda:1 1");
    T_STR(local_device("2/3", 2), "cuda:0 0");
    T_STR(local_device("5/8", 1), "cuda:0 0"); /* a launcher showed one device to each rank */
    T_CONTAINS(local_device("1/3", 0), "device cuda:local: the driver sees no GPU");
    T_CONTAINS(local_device("3/3", 2), "SLUICE_LOCAL is \"3/3\", and must be R/W");
}

/* The first device would then be that of all ranks. */
static void cuda_local_needs_a_local_rank(void)
{
    fake_cuda_start(&two_devices);
    setenv("RANK", "1", 1);
    setenv("WORLD_SIZE", "2", 1);
    T_CONTAINS(local_device("", 2), "the local rank is not known: torchrun started 2 processes");
    T_STR(local_device("1/2", 2), "cuda:1 1");
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
}

static void auto_is_the_host_also_where_there_is_a_gpu(void)
{
    static const fake_cuda_machine no_driver;
    sluice_device *device = NULL;

    for (int i = 0; i < 2; i++) {
        fake_cuda_start(i == 0 ? &two_devices : &no_driver);
        T_OK(sluice_device_open("auto", &device));
        T_STR(sluice_device_name(device), "host:0");
        sluice_device_close(device);
        T_EQ(fake_cuda_calls(), 0);
    }
}

static void opening_survives_running_out_of_memory(void)
{
    sluice_device *device = NULL;
    int64_t passes = 0;

    fake_cuda_start(&two_devices);
    for (;; passes++) {
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = sluice_device_open("cuda:0", &device);
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            break;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
        cuda_kit_nothing_is_live();
    }
    T_TRUE(passes >= 2);
    sluice_device_close(device);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void the_host_cannot_read_device_memory(void)
{
    sluice_device *device = NULL;
    void *block = NULL;
    int status = 0;
    pid_t child;

    fake_cuda_start(&two_devices);
    T_OK(sluice_device_open("cuda:0", &device));
    T_OK(sli_device_alloc(device, 1000, &block));
    T_EQ((uintptr_t)block % 256, 0);
    child = fork();
    if (child == 0) {
        fclose(stderr);
        close(2);
        _exit(*(volatile unsigned char *)block == 0xA5 ? 0 : 0);
    }
    waitpid(child, &status, 0);
    T_TRUE(status != 0);
    sli_device_free(device, block, 1000);
    sluice_device_close(device);
    cuda_kit_nothing_is_live();
}

static void more_memory_than_there_is_is_refused(void)
{
    sluice_device *device = NULL;
    void *block = NULL;

    fake_cuda_start(&two_devices);
    T_OK(sluice_device_open("cuda:0", &device));
    T_STATUS(sli_device_alloc(device, (size_t)1 << 50, &block), SLUICE_E_NO_MEMORY);
    CU_ASSERT_PTR_NULL(block);
    T_CONTAINS(sluice_last_error(), "1125899906842624 bytes of device memory: cudaErrorMemory");
    T_EQ(cudaGetLastError(), cudaSuccess);
    sluice_device_close(device);
    cuda_kit_nothing_is_live();
}

static void host_memory_is_locked_and_given_free(void)
{
    fake_cuda_machine machine = two_devices;
    static char memory[8192];
    sluice_device *device = NULL;

    fake_cuda_start(&machine);
    T_OK(sluice_device_open("cuda:0", &device));
    T_OK(sli_device_register(device, memory, sizeof(memory)));
    T_EQ(fake_cuda_count().locked, 1);
    T_STATUS(sli_device_register(device, memory + 4096, 4096), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaErrorHostMemoryAlreadyRegistered");
    sli_device_unregister(device, memory, sizeof(memory));
    sluice_device_close(device);
    cuda_kit_nothing_is_live();

    machine.no_locking = true;
    fake_cuda_start(&machine);
    T_OK(sluice_device_open("cuda:0", &device));
    T_STATUS(sli_device_register(device, memory, sizeof(memory)), SLUICE_E_NO_MEMORY);
    T_CONTAINS(sluice_last_error(), "cannot lock 8192 bytes of host memory (ulimit -l ");
    sluice_device_close(device);
    cuda_kit_nothing_is_live();
}

/* ---- what the caller had --------------------------------------------------------------------- */

/* Uses everything of a device once; the first error. */
static sluice_status use_device(const char *uri)
{
    static char memory[4096];
    sluice_device *device = NULL;
    sli_stream stream = {0};
    sli_event wake = {0};
    uint64_t word = 0;
    void *block = NULL;
    sluice_status st = sluice_device_open(uri, &device);

    if (st != SLUICE_OK) {
        return st;
    }
    st = sli_device_register(device, memory, sizeof(memory));
    if (st != SLUICE_OK) {
        goto err_close;
    }
    st = sli_device_alloc(device, sizeof(memory), &block);
    if (st != SLUICE_OK) {
        goto err_unregister;
    }
    st = sli_stream_open(device, "test", SLI_STREAM_COPIES, NULL, 0, &stream);
    if (st != SLUICE_OK) {
        goto err_free;
    }
    st = sli_stream_copy(&stream, block, memory, sizeof(memory));
    if (st == SLUICE_OK) {
        st = sli_stream_write(&stream, &word, 1, &wake);
    }
    if (st == SLUICE_OK) {
        st = sli_stream_wait(&stream, -1);
    }
    T_TRUE((word == 1) == (st == SLUICE_OK));
    sli_stream_close(&stream);
err_free:
    sli_device_free(device, block, sizeof(memory));
err_unregister:
    sli_device_unregister(device, memory, sizeof(memory));
err_close:
    sluice_device_close(device);
    return st;
}

/* A thread that uses another device, or none, is on the same one afterwards. */
static void the_callers_context_is_current_afterwards(void)
{
    void *own;

    fake_cuda_start(&two_devices);
    CU_ASSERT_PTR_NULL(fake_cuda_current());
    T_OK(use_device("cuda:1"));
    CU_ASSERT_PTR_NULL(fake_cuda_current());
    fake_cuda_use(1);
    own = fake_cuda_current();
    T_OK(use_device("cuda:0"));
    CU_ASSERT_PTR_EQUAL(fake_cuda_current(), own);
    cuda_kit_nothing_is_live();
}

/* Every call of CUDA fails once: an error with its name, or a warning, and nothing stays behind. */
static void whichever_call_fails_nothing_stays_behind(void)
{
    int64_t good = 0;
    int64_t failed = 0;
    bool reached = true;

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (; reached; good++) {
        sluice_status st;

        fake_cuda_start(&two_devices);
        fake_cuda_slow_copies(500); /* what does not wait for them is seen */
        fake_cuda_fail_after(good, cudaErrorIllegalAddress);
        st = use_device("cuda:0");
        reached = fake_cuda_calls() > good;
        if (st != SLUICE_OK) {
            failed++;
            T_EQ(st, SLUICE_E_DEVICE);
            T_CONTAINS(sluice_last_error(), "device cuda:0");
            T_CONTAINS(sluice_last_error(), "cudaErrorIllegalAddress");
        }
        T_EQ(cudaGetLastError(), cudaSuccess);
        cuda_kit_nothing_is_live();
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_TRUE(failed > 80);
    T_TRUE(good > failed + 60);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct device_user {
    sli_thread thread;
    sluice_device *device;
    int ordinal;
    bool right;
} device_user;

static void take_and_give_back(void *arg)
{
    device_user *u = arg;

    u->right = true;
    for (int i = 0; i < 50; i++) {
        void *block = NULL;

        u->right = u->right && sli_device_alloc(u->device, 4096, &block) == SLUICE_OK &&
                   fake_cuda_device_of(block) == u->ordinal && fake_cuda_current() == NULL;
        sli_device_free(u->device, block, 4096);
    }
}

static void threads_use_two_devices_at_once(void)
{
    sluice_device *devices[2];
    device_user users[4];

    fake_cuda_start(&two_devices);
    T_OK(sluice_device_open("cuda:0", &devices[0]));
    T_OK(sluice_device_open("cuda:1", &devices[1]));
    for (int i = 0; i < 4; i++) {
        users[i].device = devices[i % 2];
        users[i].ordinal = i % 2;
        T_OK(sli_thread_start(&users[i].thread, "test", NULL, take_and_give_back, &users[i]));
    }
    for (int i = 0; i < 4; i++) {
        sli_thread_join(&users[i].thread);
        T_TRUE(users[i].right);
    }
    sluice_device_close(devices[0]);
    sluice_device_close(devices[1]);
    cuda_kit_nothing_is_live();
}

static void a_report_lists_all_devices(void)
{
    sluice_topology_config config;
    char *text = NULL;

    fake_cuda_start(&two_devices);
    sluice_topology_config_init(&config);
    config.devices = "cuda:all";
    T_OK(sluice_topology_report(&config, &text));
    T_CONTAINS(text, "  cuda:0        0000:17:00.0  ");
    T_CONTAINS(text, "  cuda:1        0000:18:00.0  ");
    T_CONTAINS(text, "plan of rank 1 of 2 for device cuda:1");
    sluice_string_free(text);
    text = NULL;
    config.devices = "cuda:1,cuda:2";
    T_STATUS(sluice_topology_report(&config, &text), SLUICE_E_NO_DEVICE);
    CU_ASSERT_PTR_NULL(text);
    cuda_kit_nothing_is_live();
}

const t_test cuda_device_tests[] = {
    T_TEST(a_device_opens_and_says_what_it_is),
    T_TEST(options_are_read_before_anything_is_asked_of_cuda),
    T_TEST(a_device_that_cannot_be_used_is_not_opened),
    T_TEST(free_memory_is_the_devices),
    T_TEST(a_watchdog_limits_how_long_is_polled),
    T_TEST(transports_are_chosen_by_what_the_machine_has),
    T_TEST(what_is_missing_is_named),
    T_TEST(cuda_local_is_the_local_rank_modulo_the_devices),
    T_TEST(cuda_local_needs_a_local_rank),
    T_TEST(auto_is_the_host_also_where_there_is_a_gpu),
    T_TEST(opening_survives_running_out_of_memory),
    T_TEST(the_host_cannot_read_device_memory),
    T_TEST(more_memory_than_there_is_is_refused),
    T_TEST(host_memory_is_locked_and_given_free),
    T_TEST(the_callers_context_is_current_afterwards),
    T_TEST(whichever_call_fails_nothing_stays_behind),
    T_TEST(threads_use_two_devices_at_once),
    T_TEST(a_report_lists_all_devices),
    T_END,
};
