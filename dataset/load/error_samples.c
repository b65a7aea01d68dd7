/* SPDX-License-Identifier: Apache-2.0 */
#include "error_samples.h"

#include <stdio.h>
#include <string.h>

#include "log_int.h"

void error_samples_init(error_samples *errors)
{
    memset(errors, 0, sizeof(*errors));
    pthread_mutex_init(&errors->lock, NULL);
}

void error_samples_fini(error_samples *errors)
{
    pthread_mutex_destroy(&errors->lock);
}

static bool is_known(const error_samples *errors, uint64_t sample, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (errors->first[i].sample == sample) {
            return true;
        }
    }
    return false;
}

void error_samples_note(error_samples *errors, uint64_t sample, const char *name, const char *stage,
                        const char *text)
{
    uint32_t count;

    pthread_mutex_lock(&errors->lock);
    count = atomic_load_explicit(&errors->count, memory_order_relaxed);
    if (count < SLI_ERROR_SAMPLES && !is_known(errors, sample, count)) {
        sli_error_sample *entry = &errors->first[count];

        entry->sample = sample;
        snprintf(entry->stage, sizeof(entry->stage), "%s", stage);
        snprintf(entry->text, sizeof(entry->text), "%s", text);
        snprintf(entry->name, sizeof(entry->name), "%s", name);
        /* Pairs with the acquire load in sli_engine_errors_get(). */
        atomic_store_explicit(&errors->count, count + 1, memory_order_release);
        sli_log(SLUICE_LOG_INFO, "%s: sample %s: %s", entry->stage, entry->name, entry->text);
    }
    pthread_mutex_unlock(&errors->lock);
}
