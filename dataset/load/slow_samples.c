/* SPDX-License-Identifier: Apache-2.0 */
#include "slow_samples.h"

#include <string.h>

void slow_samples_init(slow_samples *slow)
{
    memset(slow, 0, sizeof(*slow));
    pthread_mutex_init(&slow->lock, NULL);
}

void slow_samples_fini(slow_samples *slow)
{
    pthread_mutex_destroy(&slow->lock);
}

/* The position of the same sample in the same stage; count: it is not listed. */
static uint32_t find(const sli_slow_samples *list, const sli_slow_sample *sample)
{
    uint32_t i = 0;

    while (i < list->count && (list->of[i].sample != sample->sample ||
                               strcmp(list->of[i].stage, sample->stage) != 0)) {
        i++;
    }
    return i;
}

void slow_samples_insert(sli_slow_samples *list, const sli_slow_sample *sample)
{
    uint32_t at = find(list, sample);

    if (at == list->count) {
        if (list->count == SLI_SLOW_SAMPLES) {
            at--; /* the last one is left out */
        } else {
            list->count++;
            list->of[at].ticks = 0;
        }
    }
    if (sample->ticks <= list->of[at].ticks) {
        return;
    }
    for (; at > 0 && list->of[at - 1].ticks < sample->ticks; at--) {
        list->of[at] = list->of[at - 1];
    }
    list->of[at] = *sample;
}

void slow_samples_add(slow_samples *slow, const sli_slow_sample *sample)
{
    pthread_mutex_lock(&slow->lock);
    slow_samples_insert(&slow->list, sample);
    if (slow->list.count == SLI_SLOW_SAMPLES) {
        slow->least = slow->list.of[SLI_SLOW_SAMPLES - 1].ticks;
    }
    pthread_mutex_unlock(&slow->lock);
}

void slow_samples_merge(slow_samples *slow, sli_slow_samples *list)
{
    pthread_mutex_lock(&slow->lock);
    for (uint32_t i = 0; i < slow->list.count; i++) {
        slow_samples_insert(list, &slow->list.of[i]);
    }
    pthread_mutex_unlock(&slow->lock);
}
