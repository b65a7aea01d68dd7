/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables of the CUDA driver.
 *
 * CUDA_MODULE_LOADING selects when CUDA loads kernels. By default it loads each kernel at its first
 * launch, under a lock and possibly after all pending work of the device. A step that launches a
 * new kernel during a sink would stall there, and copies would stall, too. The driver reads the
 * variable once, at initialization, and has no equivalent call, so the variable must be set before
 * initialization.
 *
 * CUDA_DEVICE_MAX_CONNECTIONS is the number of hardware work queues that streams share. Streams in
 * the same queue are ordered with each other: a copy may then be queued after the kernel that waits
 * for that copy, and every sink yields.
 */
#include "cuda_environment.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "log_int.h"

static const char VARIABLE[] = "CUDA_MODULE_LOADING";
static const char CONNECTIONS[] = "CUDA_DEVICE_MAX_CONNECTIONS";

/* Streams of a run: one for steps, two for copies, one spare. */
enum { MIN_CONNECTIONS = 4 };

/* Serializes threads that open devices at the same time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool cuda_driver_is_loaded(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    if (driver != NULL) {
        dlclose(driver);
    }
    return driver != NULL;
}

void cuda_load_eagerly(bool (*driver_is_loaded)(void))
{
    pthread_mutex_lock(&lock);
    if (getenv(VARIABLE) == NULL && !driver_is_loaded() && setenv(VARIABLE, "EAGER", 0) == 0) {
        sli_log(SLUICE_LOG_INFO,
                "sets %s=EAGER, so that no kernel is loaded while a sink runs; set it yourself "
                "(LAZY is CUDA's default) and it is left alone",
                VARIABLE);
    }
    pthread_mutex_unlock(&lock);
}

void cuda_check_connections(void)
{
    const char *text = getenv(CONNECTIONS);
    char *end = NULL;
    const long count = text != NULL ? strtol(text, &end, 10) : 0;

    if (text != NULL && end != text && count > 0 && count < MIN_CONNECTIONS) {
        sli_log(SLUICE_LOG_WARN,
                "%s=%ld: copies may queue after kernels that wait for them, and every sink yields; "
                "unset it (CUDA's default is 8), or set %d or more",
                CONNECTIONS, count, MIN_CONNECTIONS);
    }
}
