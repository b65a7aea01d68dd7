/* SPDX-License-Identifier: Apache-2.0 */
#include "error_samples.h"

#include <stdio.h>
#include <string.h>

#include "dataset_state.h"
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

static bool is_known(const error_samples *errors, uint64_t sample)
{
    for (uint32_t i = 0; i < errors->count; i++) {
        if (errors->first[i].sample == sample) {
            return true;
        }
    }
    return false;
}

void error_samples_note(error_samples *errors, const sluice_dataset *dataset, uint64_t sample,
                        const char *stage, const char *text)
{
    pthread_mutex_lock(&errors->lock);
    if (errors->count < SLI_ERROR_SAMPLES && !is_known(errors, sample)) {
        sli_error_sample *entry = &errors->first[errors->count++];

        entry->sample = sample;
        snprintf(entry->stage, sizeof(entry->stage), "%s", stage);
        snprintf(entry->text, sizeof(entry->text), "%s", text);
        dataset_source(dataset)->name(dataset->source, sample, entry->name, sizeof(entry->name));
        sli_log(SLUICE_LOG_INFO, "%s: sample %s: %s", entry->stage, entry->name, entry->text);
    }
    pthread_mutex_unlock(&errors->lock);
}
