/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_passes.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "status_int.h"

sluice_status stream_passes_init(stream_passes *passes, const sli_plan *plan, uint64_t most)
{
    const sluice_dataset *dataset = plan->dataset;
    sluice_status st;

    *passes = (stream_passes){.plan = plan, .most = most, .length = UINT64_MAX};
    st = stream_order_create(dataset, plan->settings.seed, &passes->order);
    if (st != SLUICE_OK) {
        return st;
    }
    passes->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (passes->stop_fd < 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot create an eventfd for a stream");
        stream_order_destroy(passes->order);
        return st;
    }
    stream_hold_init(&passes->hold, dataset_source(dataset)->largest(dataset->source));
    return SLUICE_OK;
}

void stream_passes_free(stream_passes *passes)
{
    stream_order_destroy(passes->order);
    image_buffer_free(&passes->others.bytes);
    close(passes->stop_fd);
}

void stream_passes_stop(stream_passes *passes)
{
    stream_hold_stop(&passes->hold);
    eventfd_write(passes->stop_fd, 1);
}

void stream_passes_abandon(stream_passes *passes, bool abandoned)
{
    stream_hold_abandon(&passes->hold, abandoned);
}

/* ---- samples ------------------------------------------------------------------------------- */

static sluice_status next_sample(stream_passes *passes, stream_item *item)
{
    sluice_status st = stream_order_next(passes->order, item);

    passes->taken += st == SLUICE_OK;
    return st;
}

sluice_status stream_passes_take(stream_passes *passes, stream_item *item)
{
    sluice_status st = next_sample(passes, item);

    if (st == SLUICE_OK && !stream_hold_take(&passes->hold, item)) {
        stream_hold_give_back(&passes->hold, item);
        st = SLUICE_CLOSED;
    }
    return st;
}

sluice_status stream_passes_skip(stream_passes *passes)
{
    sluice_status st = next_sample(passes, &passes->others);

    stream_hold_give_back(&passes->hold, &passes->others);
    return st;
}

void stream_passes_done(stream_passes *passes, stream_item *item)
{
    stream_hold_give_back(&passes->hold, item);
}

void stream_passes_note_memory(const stream_passes *passes)
{
    plan_dealing *dealing = &passes->plan->details->dealing;
    _Atomic uint64_t *most = &dealing->stream_memory;
    const uint64_t bytes = stream_order_memory(passes->order);

    atomic_store_explicit(&dealing->stream_now, bytes, memory_order_relaxed);
    if (bytes > atomic_load_explicit(most, memory_order_relaxed)) {
        atomic_store_explicit(most, bytes, memory_order_relaxed);
    }
}

/* ---- passes -------------------------------------------------------------------------------- */

static bool may_begin(const stream_passes *passes)
{
    const sluice_dataset *dataset = passes->plan->dataset;

    return passes->ended == 0 || (!dataset_source(dataset)->once(dataset->source) &&
                                  (passes->most == 0 || passes->ended < passes->most));
}

sluice_status stream_passes_begin(stream_passes *passes)
{
    if (!may_begin(passes)) {
        return SLUICE_END_OF_DATA;
    }
    passes->number = passes->plan->begin.pass + passes->ended;
    passes->taken = 0;
    return stream_order_begin(passes->order,
                              &(stream_start){.pass = passes->number, .stop_fd = passes->stop_fd});
}

sluice_status stream_passes_end(stream_passes *passes)
{
    const uint64_t known = passes->length;

    stream_order_end(passes->order);
    passes->ended++;
    if (known != UINT64_MAX && known != passes->taken &&
        !dataset_source(passes->plan->dataset)->passes_vary) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "pass %llu of the stream has %llu samples, those before had %llu: the "
                        "shards have changed",
                        (unsigned long long)passes->number, (unsigned long long)passes->taken,
                        (unsigned long long)known);
    }
    passes->length = passes->taken;
    return SLUICE_OK;
}

void stream_passes_restart(stream_passes *passes)
{
    if (stream_passes_is_open(passes)) {
        stream_order_end(passes->order);
    }
    passes->ended = 0;
}
