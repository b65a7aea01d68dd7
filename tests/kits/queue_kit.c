/* SPDX-License-Identifier: Apache-2.0 */
#include "queue_kit.h"

#include "alloc_int.h"
#include "testing.h"

const char *const backends[BACKENDS] = {"host:0", "host:0,copy=1", "host:0,copy=1,latency_us=300",
#if defined(SLI_FAKE_CUDA)
                                        "cuda:0"
#endif
};

/* ---- a device whose memory is counted -------------------------------------------------------- */

int64_t device_bytes;
int64_t registered_bytes;
int registrations;
bool refuse_registration;
static const sli_backend *real; /* what the counted device is made of */

static sluice_status counted_alloc(void *state, size_t bytes, void **block_out)
{
    sluice_status st = real->mem_alloc(state, bytes, block_out);

    device_bytes += st == SLUICE_OK ? (int64_t)bytes : 0;
    return st;
}

static void counted_free(void *state, void *block, size_t bytes)
{
    device_bytes -= (int64_t)bytes;
    real->mem_free(state, block, bytes);
}

static sluice_status counted_register(void *state, void *block, size_t bytes)
{
    if (refuse_registration) {
        return sli_fail(SLUICE_E_DEVICE, "no registration today");
    }
    if (real->mem_register != NULL) {
        T_OK(real->mem_register(state, block, bytes));
    }
    registrations++;
    registered_bytes += (int64_t)bytes;
    return SLUICE_OK;
}

static void counted_unregister(void *state, void *block, size_t bytes)
{
    if (real->mem_unregister != NULL) {
        real->mem_unregister(state, block, bytes);
    }
    registrations--;
    registered_bytes -= (int64_t)bytes;
}

/* ---- opening --------------------------------------------------------------------------------- */

void describe(fixture *f, const char *uri, bool converts)
{
    static sli_backend counted;
    const sluice_column columns[] = {
        {.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {HEIGHT, WIDTH, CHANNELS}},
        {.name = "label", .dtype = SLUICE_I32}};

    memset(f, 0, sizeof(*f));
    T_OK(sluice_device_open(uri, &f->device));
    f->device->caps.kernels = false; /* the test itself is GetNext, and reads device memory */
    real = f->device->backend;
    counted = *real;
    counted.mem_alloc = counted_alloc;
    counted.mem_free = counted_free;
    counted.mem_register = counted_register;
    counted.mem_unregister = counted_unregister;
    f->device->backend = &counted;
    T_OK(sli_layout_make(columns, 2, BATCH, &f->layout));
    f->conversion = (sli_conversion){.height = HEIGHT,
                                     .width = WIDTH,
                                     .channels = CHANNELS,
                                     .from = SLUICE_U8,
                                     .to = SLUICE_F16,
                                     .to_chw = true,
                                     .flip = true,
                                     .affine = true,
                                     .scale = {0.5F, 0.25F, 2},
                                     .bias = {1, 2, 3}};
    T_OK(sli_conversion_prepare(&f->conversion));
    f->config.device = f->device;
    f->config.layout = &f->layout;
    f->config.conversion = converts ? &f->conversion : NULL;
    f->config.slots = SLOTS;
    f->config.node = -1;
}

void open_queue(fixture *f, const char *uri, bool converts)
{
    describe(f, uri, converts);
    T_OK(sli_queue_create(&f->config, &f->queue));
    T_OK(sli_queue_start(f->queue, NULL));
}

int64_t open_without_memory(fixture *f)
{
    for (int64_t passes = 0;; passes++) {
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = sli_queue_create(&f->config, &f->queue);
        if (st == SLUICE_OK) {
            st = sli_queue_start(f->queue, NULL);
        }
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            return passes;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
        sli_queue_destroy(f->queue); /* made, and not started; or NULL */
        f->queue = NULL;
        T_EQ(device_bytes, 0);
        T_EQ(registrations, 0);
    }
}

void close_queue(fixture *f)
{
    sli_queue_destroy(f->queue);
    T_EQ(device_bytes, 0);
    T_EQ(registered_bytes, 0);
    T_EQ(registrations, 0);
    sluice_device_close(f->device);
}

uint64_t room(const fixture *f)
{
    return f->device->caps.host_memory ? SLOTS : 2 * SLOTS;
}

/* ---- batches --------------------------------------------------------------------------------- */

uint8_t byte_of(uint64_t seq, uint32_t row, size_t i)
{
    return (uint8_t)(seq * 31 + row * 7 + i);
}

void fill_row(const fixture *f, const sli_batch *batch, uint64_t seq, uint32_t row)
{
    const int32_t label = (int32_t)(seq * 100 + row);

    for (size_t i = 0; i < ROW_BYTES; i++) {
        batch->data[f->layout.offsets[0] + row * ROW_BYTES + i] = byte_of(seq, row, i);
    }
    memcpy(batch->data + f->layout.offsets[1] + row * sizeof(label), &label, sizeof(label));
    batch->row_flags[row] = (uint8_t)(row == 1 ? SLI_ROW_FLIP : row == 2 ? SLI_ROW_ZERO : 0);
    batch->samples[row] = seq * 1000 + row;
}

void acquire(const fixture *f, uint64_t seq, sli_batch *batch)
{
    memset(batch, 0, sizeof(*batch));
    T_OK(sli_queue_acquire(f->queue, seq, -1, batch));
}

void complete(const fixture *f, uint64_t seq, const sli_batch *batch)
{
    for (uint32_t row = 0; row < BATCH; row++) {
        fill_row(f, batch, seq, row);
        T_EQ(sli_queue_add_rows(f->queue, seq, 1), row == BATCH - 1);
    }
    memset(batch->header, 0, sizeof(*batch->header));
    batch->header->position = seq - 1;
    batch->header->pass = 7;
    batch->header->first_sample = batch->samples[0];
    batch->header->valid_rows = BATCH - 1;
    sli_queue_publish(f->queue, seq);
}

void produce(const fixture *f, uint64_t seq)
{
    sli_batch batch;

    acquire(f, seq, &batch);
    complete(f, seq, &batch);
}

void produce_end(const fixture *f, uint64_t seq)
{
    sli_batch batch;

    acquire(f, seq, &batch);
    sli_queue_publish_end(f->queue, seq);
}

void get_next(const fixture *f, uint64_t seq, sli_inputs *inputs)
{
    T_OK(sli_queue_wait(f->queue, seq, -1, false));
    T_OK(sli_queue_get_next(f->queue, seq, inputs));
}

void check_inputs(const fixture *f, uint64_t seq, const sli_inputs *inputs)
{
    const int32_t *labels = inputs->tensors[1].data;
    const uint8_t *images = inputs->tensors[0].data;
    const size_t bytes = inputs->tensors[0].bytes / BATCH;

    T_EQ(inputs->count, 2);
    T_EQ(inputs->header->seq, seq);
    T_EQ(inputs->header->position, seq - 1);
    T_EQ(inputs->header->pass, 7);
    T_EQ(inputs->header->first_sample, seq * 1000);
    T_EQ(inputs->header->valid_rows, BATCH - 1);
    for (uint32_t row = 0; row < BATCH; row++) {
        const uint8_t flags = (uint8_t)(row == 1 ? SLI_ROW_FLIP : row == 2 ? SLI_ROW_ZERO : 0);
        uint8_t written[ROW_BYTES];
        uint16_t want[ROW_BYTES];

        for (size_t i = 0; i < ROW_BYTES; i++) {
            written[i] = byte_of(seq, row, i);
        }
        sli_convert_image(&f->conversion, written, want, flags);
        T_EQ(labels[row], seq * 100 + row);
        T_EQ(inputs->samples[row], seq * 1000 + row);
        T_EQ(memcmp(images + row * bytes, f->config.conversion != NULL ? (void *)want : written,
                    bytes),
             0);
    }
}

void consume(const fixture *f, uint64_t seq)
{
    sli_inputs inputs;

    get_next(f, seq, &inputs);
    check_inputs(f, seq, &inputs);
    sli_queue_step_done(f->queue, seq);
}
