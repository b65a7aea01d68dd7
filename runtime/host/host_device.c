/* SPDX-License-Identifier: Apache-2.0 */
#include "host_device.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/* Byte value of device memory before the first copy into it. */
enum { POISON = 0xA5 };

/* Reads an option of a host device into its field. */
static sluice_status read_option(const char *key, const char *value, host_device *device,
                                 sli_device_caps *caps, int64_t *copy)
{
    static const struct {
        const char *key;
        int64_t high;
    } known[] = {{"copy", 1},          {"node", 1023},
                 {"spin_us", 1000000}, {"latency_us", 10000000},
                 {"gbps", 100000},     {"fail_after", INT64_MAX}};
    int64_t number = 0;
    size_t i = 0;
    sluice_status st;

    while (i < sizeof(known) / sizeof(known[0]) && strcmp(key, known[i].key) != 0) {
        i++;
    }
    if (i == sizeof(known) / sizeof(known[0])) {
        return sli_fail(SLUICE_E_INVALID,
                        "device option %s is unknown; host takes copy, node, spin_us, latency_us, "
                        "gbps and fail_after",
                        key);
    }
    st = sli_uri_number(key, value, 0, known[i].high, &number);
    if (st != SLUICE_OK) {
        return st;
    }
    switch (i) {
    case 0:
        *copy = number;
        break;
    case 1:
        caps->node = (int32_t)number;
        break;
    case 2:
        caps->spin_ns = number * 1000;
        break;
    case 3:
        device->latency_ns = number * 1000;
        break;
    case 4:
        device->bytes_per_second = number * 1000000000;
        break;
    default:
        atomic_store_explicit(&device->good_copies, number, memory_order_relaxed);
        break;
    }
    return SLUICE_OK;
}

/* kDLCPU of dlpack.h. */
enum { DLPACK_CPU = 1 };

static sluice_status host_open(const sli_uri *uri, sli_device_caps *caps_out, void **state_out)
{
    host_device *device = sli_calloc(1, sizeof(*device));
    int64_t copy = 0;

    if (device == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "device host:%u", uri->ordinal);
    }
    atomic_store_explicit(&device->good_copies, -1, memory_order_relaxed);
    caps_out->spin_ns = -1;
    for (uint32_t i = 0; i < uri->option_count; i++) {
        sluice_status st =
            read_option(uri->options[i].key, uri->options[i].value, device, caps_out, &copy);

        if (st != SLUICE_OK) {
            sli_free(device);
            return st;
        }
    }
    caps_out->host_memory = copy == 0;
    caps_out->poison = copy != 0;
    caps_out->dlpack_type = DLPACK_CPU; /* device_id 0 for every ordinal */
    *state_out = device;
    return SLUICE_OK;
}

static void host_close(void *state)
{
    sli_free(state);
}

static sluice_status host_mem_alloc(void *state, size_t bytes, void **block_out)
{
    void *block = sli_aligned_alloc(256, bytes);

    (void)state;
    if (block == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "device memory, %zu bytes", bytes);
    }
    memset(block, POISON, bytes);
    *block_out = block;
    return SLUICE_OK;
}

static void host_mem_free(void *state, void *block, size_t bytes)
{
    (void)state;
    (void)bytes;
    sli_free(block);
}

const sli_backend sli_host_backend = {
    .kind = "host",
    .open = host_open,
    .close = host_close,
    .mem_alloc = host_mem_alloc,
    .mem_free = host_mem_free,
    .stream_open = host_stream_open,
    .stream_close = host_stream_close,
    .stream_copy = host_stream_copy,
    .stream_write = host_stream_write,
    .stream_call = host_stream_call,
    .stream_wait = host_stream_wait,
    .stream_status = host_stream_status,
    .stream_thread = host_stream_thread,
};
