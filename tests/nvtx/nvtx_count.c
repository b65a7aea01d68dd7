/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for NVTX, as profilers have: loaded by NVTX_INJECTION64_PATH, it counts ranges by their
 * names, and when the process ends writes what it saw to the file that NVTX_COUNT names:
 * "domain NAME", "push NAME COUNT", "pops COUNT", "open COUNT" for pushes without a pop, and
 * "strays COUNT" for pops without a push, each in its thread.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64, NAME_SIZE = 80 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of these */
static char domain[NAME_SIZE] = "none";
static char names[NAMES][NAME_SIZE];
static long pushes[NAMES];
static long pops;
static long open_ranges;
static long strays;
static _Thread_local long depth;

static nvtxDomainHandle_t create(const char *name)
{
    pthread_mutex_lock(&lock);
    snprintf(domain, sizeof(domain), "%s", name);
    pthread_mutex_unlock(&lock);
    return (nvtxDomainHandle_t)(void *)domain;
}

static int push(nvtxDomainHandle_t handle, const nvtxEventAttributes_t *range)
{
    const char *name = (void *)handle == domain && range->messageType == NVTX_MESSAGE_TYPE_ASCII
                           ? range->message.ascii
                           : "?";
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < NAMES - 1 && names[i][0] != '\0' && strcmp(names[i], name) != 0) {
        i++;
    }
    snprintf(names[i], sizeof(names[i]), "%s", name);
    pushes[i]++;
    open_ranges++;
    pthread_mutex_unlock(&lock);
    return (int)depth++;
}

static int pop(nvtxDomainHandle_t handle)
{
    pthread_mutex_lock(&lock);
    if (depth == 0 || (void *)handle != domain) {
        strays++;
    } else {
        pops++;
        open_ranges--;
    }
    pthread_mutex_unlock(&lock);
    return depth > 0 ? (int)--depth : -1;
}

__attribute__((visibility("default"))) int NVTX_API
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (callbacks == NULL ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
        size <= NVTX_CBID_CORE2_DomainCreateA) {
        return 0;
    }
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("NVTX_COUNT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;

    if (file == NULL) {
        return;
    }
    fprintf(file, "domain %s\n", domain);
    for (size_t i = 0; i < NAMES && names[i][0] != '\0'; i++) {
        fprintf(file, "push %s %ld\n", names[i], pushes[i]);
    }
    fprintf(file, "pops %ld\nopen %ld\nstrays %ld\n", pops, open_ranges, strays);
    fclose(file);
}
