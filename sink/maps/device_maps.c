/* SPDX-License-Identifier: Apache-2.0 */
#include "device_maps.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "callback_int.h"
#include "device_int.h"
#include "log_int.h"
#include "nvtx_ranges_int.h"
#include "printable_int.h"
#include "rng_int.h"
#include "struct_size_int.h"
#include "tensor_int.h"

/* The outputs begin at multiples of this, as GetNext's tensors do. */
enum { OUTPUT_ALIGNMENT = 256 };

static const sli_struct map_struct = SLI_STRUCT(sluice_device_map, output_count);

/* ---- reading --------------------------------------------------------------------------------- */

static sluice_status check_output(const sluice_device_map *map, uint32_t index)
{
    const sluice_column *output = &map->outputs[index];
    size_t bytes;

    if (output->rank > SLUICE_MAX_RANK || output->name[0] == '\0' ||
        memchr(output->name, '\0', sizeof(output->name)) == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "device map %s: outputs[%u] is not a column: it must have a name of 1 to "
                        "%d bytes and at most %d dimensions",
                        map->name, index, SLUICE_NAME_SIZE - 1, SLUICE_MAX_RANK);
    }
    if (!sli_column_bytes(output, &bytes) || bytes == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "device map %s: output %s must have an element type of batches, and a "
                        "shape without 0 and of less than 2^64 bytes",
                        map->name, output->name);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(map->outputs[i].name, output->name) == 0) {
            return sli_fail(SLUICE_E_INVALID, "device map %s: two outputs are named %s", map->name,
                            output->name);
        }
    }
    return SLUICE_OK;
}

static bool has_control(const char *name)
{
    size_t length = 1;

    for (; *name != '\0' && length > 0; name += length) {
        length = sli_utf8_length(name);
        if (length == 0 || sli_is_control(name, length)) {
            return true;
        }
    }
    return false;
}

static sluice_status check_map(const sluice_device_map *map, uint32_t index)
{
    sluice_status st = SLUICE_OK;

    if (map->name == NULL || map->name[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "device_maps[%u].name is %s; give each map a name", index,
                        map->name == NULL ? "NULL" : "empty");
    }
    if (has_control(map->name)) {
        return sli_fail(SLUICE_E_INVALID,
                        "device_maps[%u].name has a control character or is not UTF-8", index);
    }
    if (map->map == NULL) {
        return sli_fail(SLUICE_E_INVALID, "device map %s: map is NULL", map->name);
    }
    if (map->outputs == NULL || map->output_count == 0 || map->output_count > SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID, "device map %s: %llu outputs%s; there must be 1 to %d",
                        map->name, (unsigned long long)map->output_count,
                        map->outputs == NULL ? " and outputs is NULL" : "", SLUICE_MAX_COLUMNS);
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < map->output_count; i++) {
        st = check_output(map, i);
    }
    return st;
}

static sluice_status read_map(device_maps *m, const sluice_device_map *from, const char *call,
                              uint32_t index)
{
    sluice_device_map *map = &m->maps[index];
    sluice_status st;

    if (from == NULL) {
        return sli_fail(SLUICE_E_INVALID, "device_maps[%u] is NULL", index);
    }
    st = sli_struct_read(&map_struct, call, from, map);
    if (st == SLUICE_OK) {
        st = check_map(map, index);
    }
    m->output_count += st == SLUICE_OK ? (uint32_t)map->output_count : 0;
    return st;
}

sluice_status device_maps_read(const sluice_device_map *const *list, uint64_t count,
                               const char *call, device_maps *maps_out)
{
    device_maps *m = maps_out;
    sluice_status st = SLUICE_OK;

    *m = (device_maps){0};
    if (count == 0) {
        return SLUICE_OK;
    }
    if (list == NULL || count > DEVICE_MAPS_MOST) {
        return sli_fail(SLUICE_E_INVALID, "device_map_count is %llu%s; it must be at most %d",
                        (unsigned long long)count, list == NULL ? " and device_maps is NULL" : "",
                        DEVICE_MAPS_MOST);
    }
    m->maps = sli_calloc(count, sizeof(*m->maps));
    if (m->maps == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%llu device maps", (unsigned long long)count);
    }
    for (; st == SLUICE_OK && m->count < count; m->count++) {
        st = read_map(m, list[m->count], call, m->count);
    }
    return st;
}

/* Replaces the column of the output's name, or appends one. */
static sluice_status add_column(device_maps *m, const sluice_device_map *map,
                                const sluice_column *output)
{
    uint32_t i = 0;

    while (i < m->column_count && strcmp(m->columns[i].name, output->name) != 0) {
        i++;
    }
    if (i == SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID,
                        "device map %s: output %s would be column %d, and there must be at most "
                        "%d; drop columns of the dataset that the step does not need",
                        map->name, output->name, SLUICE_MAX_COLUMNS + 1, SLUICE_MAX_COLUMNS);
    }
    m->columns[i] = *output;
    m->column_count += i == m->column_count;
    return SLUICE_OK;
}

sluice_status device_maps_plan(device_maps *maps, const sluice_column *before, uint32_t count)
{
    sluice_status st = SLUICE_OK;

    memcpy(maps->columns, before, count * sizeof(maps->columns[0]));
    maps->column_count = count;
    for (uint32_t i = 0; i < maps->count; i++) {
        for (uint32_t k = 0; st == SLUICE_OK && k < maps->maps[i].output_count; k++) {
            st = add_column(maps, &maps->maps[i], &maps->maps[i].outputs[k]);
        }
    }
    return st;
}

uint64_t device_maps_identity(const device_maps *maps)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < maps->count; i++) {
        hash = sli_mix_in(hash, sli_hash_text(maps->maps[i].name));
        hash = sli_mix_in(hash, maps->maps[i].version);
    }
    return hash;
}

void device_maps_warn_unversioned(const device_maps *maps)
{
    for (uint32_t i = 0; i < maps->count; i++) {
        if (maps->maps[i].version == 0) {
            sli_log(SLUICE_LOG_WARN,
                    "device map %.100s has no version, so a resumed run cannot tell whether its "
                    "function has changed; set a version, and raise it with each change",
                    maps->maps[i].name);
        }
    }
}

void device_maps_print(const device_maps *maps, sli_text *text)
{
    for (uint32_t i = 0; i < maps->count; i++) {
        sli_text_add(text, "%s", i > 0 ? ", " : "");
        sli_text_add_json(text, maps->maps[i].name);
        sli_text_add(text, " version=%llu", (unsigned long long)maps->maps[i].version);
    }
}

const char *device_maps_names(const device_maps *maps, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < maps->count && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? ", " : "", maps->maps[i].name);
    }
    return text;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Bytes of an output of `rows` rows, padded to the alignment; UINT64_MAX if they overflow. */
static uint64_t output_bytes(const sluice_column *output, uint32_t rows)
{
    size_t row = 0;
    uint64_t bytes;

    (void)sli_column_bytes(output, &row); /* checked by check_output() */
    return __builtin_mul_overflow((uint64_t)row, rows, &bytes) ||
                   __builtin_add_overflow(bytes, OUTPUT_ALIGNMENT - 1, &bytes)
               ? UINT64_MAX
               : bytes / OUTPUT_ALIGNMENT * OUTPUT_ALIGNMENT;
}

uint64_t device_maps_bytes(const device_maps *maps, uint32_t rows, uint32_t sets)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < maps->count; i++) {
        for (uint32_t k = 0; k < maps->maps[i].output_count; k++) {
            if (__builtin_add_overflow(bytes, output_bytes(&maps->maps[i].outputs[k], rows),
                                       &bytes)) {
                return UINT64_MAX;
            }
        }
    }
    return __builtin_mul_overflow(bytes, sets, &bytes) ? UINT64_MAX : bytes;
}

/* Describes an output at *data, and advances that past it. */
static void describe_output(const device_maps *m, const sluice_column *column, uint8_t **data,
                            sluice_tensor *tensor_out)
{
    size_t row = 0;

    (void)sli_column_bytes(column, &row);
    *tensor_out = (sluice_tensor){.name = column->name,
                                  .data = *data,
                                  .dtype = column->dtype,
                                  .rank = column->rank + 1,
                                  .shape = {m->rows},
                                  .bytes = row * m->rows};
    memcpy(tensor_out->shape + 1, column->shape, column->rank * sizeof(column->shape[0]));
    *data += output_bytes(column, m->rows);
}

static void describe_set(const device_maps *m, uint8_t **data, sluice_tensor *tensor)
{
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t k = 0; k < m->maps[i].output_count; k++) {
            describe_output(m, &m->maps[i].outputs[k], data, tensor++);
        }
    }
}

sluice_status device_maps_open(device_maps *maps, sluice_device *device, uint32_t rows,
                               uint32_t sets)
{
    device_maps *m = maps;
    const uint64_t bytes = device_maps_bytes(m, rows, sets);
    uint8_t *data;
    sluice_status st;

    if (m->count == 0) {
        return SLUICE_OK;
    }
    m->device = device;
    m->rows = rows;
    m->sets = sets;
    m->tensors = sli_calloc((size_t)sets * m->output_count, sizeof(*m->tensors));
    m->inputs = sli_calloc((size_t)sets * m->count * SLUICE_MAX_COLUMNS, sizeof(*m->inputs));
    if (m->tensors == NULL || m->inputs == NULL || bytes > SIZE_MAX / 2) {
        return sli_fail(SLUICE_E_NO_MEMORY, "outputs of %u device maps", m->count);
    }
    st = sli_device_alloc(device, (size_t)bytes, &m->memory);
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "outputs of device maps, %llu bytes: %.600s",
                                (unsigned long long)bytes, sluice_last_error());
    }
    m->bytes = bytes;
    data = m->memory;
    for (uint32_t set = 0; set < sets; set++) {
        describe_set(m, &data, m->tensors + (size_t)set * m->output_count);
    }
    return SLUICE_OK;
}

void device_maps_close(device_maps *maps)
{
    if (maps->memory != NULL) {
        sli_device_free(maps->device, maps->memory, (size_t)maps->bytes);
    }
    sli_free(maps->tensors);
    sli_free(maps->inputs);
    sli_free(maps->maps);
    *maps = (device_maps){0};
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The column `name` among inputs, or count. */
static uint32_t find_input(const sluice_tensor *inputs, uint32_t count, const char *name)
{
    uint32_t at = 0;

    while (at < count && strcmp(inputs[at].name, name) != 0) {
        at++;
    }
    return at;
}

/* Writes the inputs after a map, of those before it, where they have moved. In the modes that call
 * the step for each batch, kernels of earlier steps may still read the array; the device's inputs
 * do not move then. Returns their number. device_maps_plan() has checked that they have room. */
static uint32_t take_outputs(const sluice_step *before, const sluice_tensor *outputs,
                             uint32_t output_count, sluice_tensor *inputs)
{
    sluice_tensor after[SLUICE_MAX_COLUMNS];
    uint32_t count = before->input_count;

    memcpy(after, before->inputs, count * sizeof(after[0]));
    for (uint32_t i = 0; i < output_count; i++) {
        const uint32_t at = find_input(after, count, outputs[i].name);

        after[at] = outputs[i];
        count += at == count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (inputs[i].data != after[i].data) {
            inputs[i] = after[i];
        }
    }
    return count;
}

/* The inputs after map `index` in this set. */
static sluice_tensor *inputs_after(const device_maps *m, uint32_t set, uint32_t index)
{
    return m->inputs + ((size_t)set * m->count + index) * SLUICE_MAX_COLUMNS;
}

const sluice_tensor *device_maps_inputs(const device_maps *maps, uint32_t set)
{
    return inputs_after(maps, set, maps->count - 1);
}

sluice_status device_maps_call(device_maps *maps, uint32_t set, sluice_step *view)
{
    const sluice_tensor *outputs = maps->tensors + (size_t)set * maps->output_count;
    float *const step_outputs = view->outputs;

    view->outputs = NULL;
    for (uint32_t i = 0; i < maps->count; i++) {
        const sluice_device_map *map = &maps->maps[i];
        /* Each map has an array of its own: work that the map enqueued may read its inputs. */
        sluice_tensor *after = inputs_after(maps, set, i);
        const uint64_t failures = sli_fail_count();
        sluice_status st;

        sli_range_begin(map->name);
        st = map->map(view, outputs, map->user);
        sli_range_end();
        st = sli_callback_status(st, failures, "device map %s", map->name);
        if (st < 0) {
            return st;
        }
        view->input_count = take_outputs(view, outputs, (uint32_t)map->output_count, after);
        view->inputs = after;
        outputs += map->output_count;
    }
    view->outputs = step_outputs;
    return SLUICE_OK;
}
