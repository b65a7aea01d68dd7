/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_lengths.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/* Passes [first, first + count), each with `samples` samples and `batches` batches. */
struct pass_run {
    uint64_t first;
    uint64_t count;
    uint64_t first_batch;
    uint64_t samples;
    uint64_t batches;
};

void pass_lengths_init(pass_lengths *lengths)
{
    memset(lengths, 0, sizeof(*lengths));
    pthread_mutex_init(&lengths->lock, NULL);
}

void pass_lengths_free(pass_lengths *lengths)
{
    pthread_mutex_destroy(&lengths->lock);
    sli_free(lengths->runs);
}

void pass_lengths_begin(pass_lengths *lengths, uint64_t done, bool counts)
{
    lengths->first = 0;
    lengths->done = done;
    lengths->counts = counts;
}

void pass_lengths_skip(pass_lengths *lengths, uint64_t number, uint64_t done)
{
    pthread_mutex_lock(&lengths->lock);
    if (number > lengths->first) { /* else passes are counted again after a rewind */
        lengths->first = number;
        lengths->done = done;
    }
    pthread_mutex_unlock(&lengths->lock);
}

uint64_t pass_lengths_done(pass_lengths *lengths, uint64_t number)
{
    uint64_t done;

    pthread_mutex_lock(&lengths->lock);
    done = number == lengths->first ? lengths->done : 0;
    pthread_mutex_unlock(&lengths->lock);
    return done;
}

/* Finds the entry of a pass. NULL: the pass has not ended. */
static const pass_run *find_pass(const pass_lengths *lengths, uint64_t number)
{
    for (size_t i = lengths->count; i-- > 0;) {
        const pass_run *run = &lengths->runs[i];

        if (number >= run->first) {
            return number - run->first < run->count ? run : NULL;
        }
    }
    return NULL;
}

static sluice_status append(pass_lengths *lengths, uint64_t number, uint64_t samples,
                            uint64_t batches)
{
    pass_run *last = lengths->count > 0 ? &lengths->runs[lengths->count - 1] : NULL;
    uint64_t first_batch = 0;
    pass_run *grown;

    if (last != NULL) {
        if (last->samples == samples && last->batches == batches) {
            last->count++;
            return SLUICE_OK;
        }
        first_batch = last->first_batch + last->count * last->batches;
    }
    grown = sli_grow(lengths->runs, &lengths->capacity, lengths->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the lengths of passes");
    }
    lengths->runs = grown;
    grown[lengths->count++] = (pass_run){number, 1, first_batch, samples, batches};
    return SLUICE_OK;
}

sluice_status pass_lengths_add(pass_lengths *lengths, uint64_t number, uint64_t samples,
                               uint64_t batches)
{
    const pass_run *known;
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&lengths->lock);
    known = find_pass(lengths, number);
    if (known == NULL) {
        st = append(lengths, number, samples, batches);
    } else if (known->samples != samples) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "a pass had %llu rows, and %llu when it was repeated: a stream, filters "
                      "and pack must do the same each time",
                      (unsigned long long)known->samples, (unsigned long long)samples);
    }
    pthread_mutex_unlock(&lengths->lock);
    return st;
}

collected_pass pass_lengths_find(pass_lengths *lengths, uint64_t batch)
{
    collected_pass pass = {0, 0, UINT64_MAX, 0};

    pthread_mutex_lock(&lengths->lock);
    for (size_t i = lengths->count; i-- > 0;) {
        const pass_run *run = &lengths->runs[i];

        if (batch < run->first_batch) {
            continue;
        }
        pass.number = run->batches > 0 ? (batch - run->first_batch) / run->batches : run->count;
        if (pass.number < run->count) {
            pass.samples = run->samples;
        } else {
            pass.number = run->count; /* after all passes that have ended */
        }
        pass.first_batch = run->first_batch + pass.number * run->batches;
        pass.number += run->first;
        break;
    }
    pass.done = pass.number == lengths->first ? lengths->done : 0;
    pthread_mutex_unlock(&lengths->lock);
    return pass;
}

uint64_t pass_lengths_end(pass_lengths *lengths, uint64_t number, uint64_t *samples_out)
{
    const pass_run *run;
    uint64_t end = UINT64_MAX;

    pthread_mutex_lock(&lengths->lock);
    run = find_pass(lengths, number);
    if (run != NULL) {
        end = run->first_batch + (number - run->first + 1) * run->batches;
        *samples_out = run->samples;
    }
    pthread_mutex_unlock(&lengths->lock);
    return end;
}
