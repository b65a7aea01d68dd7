/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables of CUDA that opening a device sets, or warns of. */
#include <stdio.h>
#include <stdlib.h>

#include <sluice/sluice.h>

#include "cuda_environment.h"
#include "cuda_kit.h"
#include "fake_cuda.h"
#include "testing.h"

static const fake_cuda_machine two_devices = {.devices = 2, .driver = CUDART_VERSION};

static bool driver_loaded;

static bool driver_is_loaded(void)
{
    return driver_loaded;
}

static char told[300];

static void keep_told(sluice_log_level level, const char *message, void *user)
{
    (void)user;
    snprintf(told, sizeof(told), "%d %s", (int)level, message);
}

/* What the variable is, once it was to be set where it was `before`; "" when it is not set. */
static const char *set_loading(const char *before, bool loaded)
{
    const char *after;

    (void)unsetenv("CUDA_MODULE_LOADING");
    if (before != NULL) {
        (void)setenv("CUDA_MODULE_LOADING", before, 1);
    }
    driver_loaded = loaded;
    told[0] = '\0';
    sluice_log_set_level(SLUICE_LOG_INFO);
    sluice_log_set_callback(keep_told, NULL);
    cuda_load_eagerly(driver_is_loaded);
    sluice_log_set_callback(NULL, NULL);
    sluice_log_set_level(SLUICE_LOG_WARN);
    after = getenv("CUDA_MODULE_LOADING");
    return after != NULL ? after : "";
}

static void kernels_are_loaded_eagerly_unless_somebody_has_said_how(void)
{
    T_STR(set_loading(NULL, false), "EAGER");
    T_CONTAINS(told, "3 sets CUDA_MODULE_LOADING=EAGER");
    T_STR(set_loading("LAZY", false), "LAZY");
    T_STR(told, "");
    T_STR(set_loading("", false), "");
    T_TRUE(getenv("CUDA_MODULE_LOADING") != NULL);
    T_STR(set_loading("EAGER", false), "EAGER");
    T_STR(told, "");
    T_STR(set_loading(NULL, true), "");
    T_TRUE(getenv("CUDA_MODULE_LOADING") == NULL);
    T_STR(told, "");
}

/* What opening a device warns of where the variable is set so. */
static const char *open_with_connections(const char *value)
{
    sluice_device *device = NULL;

    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", value, 1);
    told[0] = '\0';
    fake_cuda_start(&two_devices);
    sluice_log_set_callback(keep_told, NULL);
    T_OK(sluice_device_open("cuda:0", &device));
    sluice_device_close(device);
    sluice_log_set_callback(NULL, NULL);
    (void)unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    return told;
}

static void too_few_connections_are_warned_of(void)
{
    T_CONTAINS(open_with_connections("1"), "2 CUDA_DEVICE_MAX_CONNECTIONS=1: copies may queue");
    T_CONTAINS(open_with_connections("3"), "set 4 or more");
    T_STR(open_with_connections("4"), "");
    T_STR(open_with_connections("32"), "");
    T_STR(open_with_connections("many"), "");
}

/* Opening does it, before CUDA is asked for anything. */
static void opening_has_kernels_loaded_eagerly(void)
{
    static const fake_cuda_machine no_driver;
    sluice_device *device = NULL;

    T_NEEDS(!cuda_driver_is_loaded(), "the driver's library is in this process");
    (void)unsetenv("CUDA_MODULE_LOADING");
    fake_cuda_start(&no_driver);
    T_STATUS(sluice_device_open("cuda:0,colour=1", &device), SLUICE_E_INVALID);
    T_STATUS(sluice_device_open("host:0,colour=1", &device), SLUICE_E_INVALID);
    T_TRUE(getenv("CUDA_MODULE_LOADING") == NULL);
    T_STATUS(sluice_device_open("cuda:0", &device), SLUICE_E_NO_DEVICE);
    T_STR(getenv("CUDA_MODULE_LOADING"), "EAGER");
    (void)setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    fake_cuda_start(&two_devices);
    T_OK(sluice_device_open("cuda:0", &device));
    T_STR(getenv("CUDA_MODULE_LOADING"), "LAZY");
    sluice_device_close(device);
}

const t_test cuda_environment_tests[] = {
    T_TEST(kernels_are_loaded_eagerly_unless_somebody_has_said_how),
    T_TEST(too_few_connections_are_warned_of),
    T_TEST(opening_has_kernels_loaded_eagerly),
    T_END,
};
