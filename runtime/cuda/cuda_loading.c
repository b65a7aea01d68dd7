/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When CUDA loads kernels. By default it loads each at its first launch, under a lock and possibly
 * behind all that the device has to do; a step of a user's that launches a new kernel in the midst
 * of a sink would stall there, and copies with it. The driver reads the variable once, when it is
 * initialised, so it is of use only before that, and nothing but the environment says it.
 */
#include "cuda_loading.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "log_int.h"

static const char VARIABLE[] = "CUDA_MODULE_LOADING";

/* Of two threads that open devices at once one sets it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool sli_cuda_driver_is_loaded(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    if (driver != NULL) {
        dlclose(driver);
    }
    return driver != NULL;
}

void sli_cuda_load_eagerly(bool (*driver_is_loaded)(void))
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
