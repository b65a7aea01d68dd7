/* SPDX-License-Identifier: Apache-2.0 */
#include "device_maps.h"

#include <string.h>

#include "alloc_int.h"
#include "device_int.h"
#include "nvtx_ranges_int.h"
#include "rng_int.h"
#include "struct_size_int.h"
#include "tensor_int.h"

static const sli_struct map_struct = SLI_STRUCT(sluice_device_map, output_count);

void sluice_device_map_init_size(sluice_device_map *map, size_t size)
{
    sli_struct_init(map, size);
}

/* ---- reading --------------------------------------------------------------------------------- */

static sluice_status check_output(const sluice_device_map *map, uint32_t index, uint32_t rows)
{
    const sluice_column *output = &map->outputs[index];
    size_t bytes;

    if (output->rank > SLUICE_MAX_RANK || output->name[0] == '\0' ||
        memchr(output->name, '\0', sizeof(output->name)) == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "device map %s: outputs[%u] is not a column: want a name of 1 to %d bytes "
                        "and at most %d dimensions",
                        map->name, index, SLUICE_NAME_SIZE - 1, SLUICE_MAX_RANK);
    }
    if (!sli_column_bytes(output, &bytes) || bytes == 0 || bytes > SIZE_MAX / rows) {
        return sli_fail(SLUICE_E_INVALID,
                        "device map %s: output %s: want an element type of batches and a shape "
                        "without 0, of less than 2^64 bytes a batch",
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

static sluice_status check_map(const sluice_device_map *map, uint32_t index)
{
    if (map->name == NULL || map->name[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "device_maps[%u].name is %s; give each map a name", index,
                        map->name == NULL ? "NULL" : "empty");
    }
    if (map->map == NULL) {
        return sli_fail(SLUICE_E_INVALID, "device map %s: map is NULL", map->name);
    }
    if (map->outputs == NULL || map->output_count == 0 || map->output_count > SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID, "device map %s: %llu outputs%s, want 1 to %d", map->name,
                        (unsigned long long)map->output_count,
                        map->outputs == NULL ? " and outputs is NULL" : "", SLUICE_MAX_COLUMNS);
    }
    return SLUICE_OK;
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
                        "device map %s: output %s would be column %d, want at most %d; drop "
                        "columns of the dataset that the step does not need",
                        map->name, output->name, SLUICE_MAX_COLUMNS + 1, SLUICE_MAX_COLUMNS);
    }
    m->columns[i] = *output;
    m->column_count += i == m->column_count;
    return SLUICE_OK;
}

static sluice_status read_map(device_maps *m, const sluice_device_map *from, uint32_t index)
{
    sluice_device_map *map = &m->maps[index];
    sluice_status st = SLUICE_OK;

    if (from == NULL) {
        return sli_fail(SLUICE_E_INVALID, "device_maps[%u] is NULL", index);
    }
    st = sli_struct_read(&map_struct, "sluice_train", from, map);
    if (st == SLUICE_OK) {
        st = check_map(map, index);
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < map->output_count; i++) {
        st = check_output(map, i, m->rows);
        if (st == SLUICE_OK) {
            st = add_column(m, map, &map->outputs[i]);
        }
    }
    m->output_count += st == SLUICE_OK ? (uint32_t)map->output_count : 0;
    return st;
}

sluice_status device_maps_read(const sluice_train_config *config, const sluice_column *dataset,
                               uint32_t dataset_count, uint32_t rows, device_maps *maps_out)
{
    device_maps *m = maps_out;
    sluice_status st = SLUICE_OK;

    *m = (device_maps){.rows = rows, .column_count = dataset_count};
    memcpy(m->columns, dataset, dataset_count * sizeof(m->columns[0]));
    if (config->device_map_count == 0) {
        return SLUICE_OK;
    }
    if (config->device_maps == NULL || config->device_map_count > DEVICE_MAPS_MOST) {
        return sli_fail(SLUICE_E_INVALID, "device_map_count is %llu%s, want at most %d",
                        (unsigned long long)config->device_map_count,
                        config->device_maps == NULL ? " and device_maps is NULL" : "",
                        DEVICE_MAPS_MOST);
    }
    m->maps = sli_calloc(config->device_map_count, sizeof(*m->maps));
    if (m->maps == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%llu device maps",
                        (unsigned long long)config->device_map_count);
    }
    for (; st == SLUICE_OK && m->count < config->device_map_count; m->count++) {
        st = read_map(m, config->device_maps[m->count], m->count);
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

/* ---- outputs --------------------------------------------------------------------------------- */

static sluice_status open_output(device_maps *m, const sluice_device_map *map,
                                 const sluice_column *column, sluice_tensor *tensor_out)
{
    size_t bytes = 0;
    void *data = NULL;
    sluice_status st;

    (void)sli_column_bytes(column, &bytes); /* checked by check_output() */
    bytes *= m->rows;
    st = sli_device_alloc(m->device, bytes, &data);
    if (st != SLUICE_OK) {
        return sli_fail(st, "device map %s: output %s of %zu bytes: %.600s", map->name,
                        column->name, bytes, sluice_last_error());
    }
    *tensor_out = (sluice_tensor){.name = column->name,
                                  .data = data,
                                  .dtype = column->dtype,
                                  .rank = column->rank + 1,
                                  .shape = {m->rows},
                                  .bytes = bytes};
    memcpy(tensor_out->shape + 1, column->shape, column->rank * sizeof(column->shape[0]));
    return SLUICE_OK;
}

sluice_status device_maps_open(device_maps *maps, sluice_device *device, const sluice_model *model)
{
    sluice_tensor *output;
    sluice_status st = SLUICE_OK;

    maps->device = device;
    maps->model = *model;
    maps->outputs = sli_calloc(maps->output_count, sizeof(*maps->outputs));
    maps->inputs = sli_calloc((size_t)maps->count * SLUICE_MAX_COLUMNS, sizeof(*maps->inputs));
    if (maps->outputs == NULL || maps->inputs == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "outputs of %u device maps", maps->count);
    }
    output = maps->outputs;
    for (uint32_t i = 0; i < maps->count; i++) {
        const sluice_device_map *map = &maps->maps[i];

        for (uint32_t k = 0; st == SLUICE_OK && k < map->output_count; k++) {
            st = open_output(maps, map, &map->outputs[k], output++);
        }
    }
    return st;
}

void device_maps_close(device_maps *maps)
{
    for (uint32_t i = 0; maps->outputs != NULL && i < maps->output_count; i++) {
        sli_device_free(maps->device, maps->outputs[i].data, maps->outputs[i].bytes);
    }
    sli_free(maps->outputs);
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
 * do not move then. Returns their number. device_maps_read() has checked that they have room. */
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

sluice_status device_maps_step(const sluice_step *step, void *user)
{
    const device_maps *m = user;
    const sluice_tensor *outputs = m->outputs;
    sluice_step view = *step;

    view.outputs = NULL;
    for (uint32_t i = 0; i < m->count; i++) {
        const sluice_device_map *map = &m->maps[i];
        /* Each map has an array of its own: work that the map enqueued may read its inputs. */
        sluice_tensor *after = m->inputs + (size_t)i * SLUICE_MAX_COLUMNS;
        const uint64_t failures = sli_fail_count();
        sluice_status st;

        sli_range_begin(map->name);
        st = map->map(&view, outputs, map->user);
        sli_range_end();
        if (st < 0) {
            return sli_fail_from(st, failures, "device map %s returned %s", map->name,
                                 sluice_status_name(st));
        }
        view.input_count = take_outputs(&view, outputs, (uint32_t)map->output_count, after);
        view.inputs = after;
        outputs += map->output_count;
    }
    view.outputs = step->outputs;
    return m->model.step(&view, m->model.user);
}
