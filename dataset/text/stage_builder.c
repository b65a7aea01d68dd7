/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "custom_batch.h"
#include "custom_map.h"
#include "custom_sample.h"
#include "named_stage.h"
#include "source_custom.h"
#include "status_int.h"
#include "struct_size_int.h"

struct sluice_builder {
    const named_stage *named;
    unsigned char *args;
    bool is_built;
};

/* ---- values ---------------------------------------------------------------------------------- */

static const char *const kind_names[] = {"INT", "FLOAT", "STRING", "BOOL", "PATH"};

static sluice_status no_parameter(const named_stage *named, const char *call, const char *name)
{
    char known[400] = "";

    for (uint32_t i = 0; i < named->of.parameter_count; i++) {
        const size_t used = strlen(known);

        snprintf(known + used, sizeof(known) - used, "%s%s %s", i > 0 ? ", " : "",
                 kind_names[named->kinds[i]], named->params[i].name);
    }
    return sli_fail(SLUICE_E_INVALID, "%s: %s has no such parameter %.40s; it has %s", call,
                    named->def.name, name, known[0] != '\0' ? known : "none");
}

/* Finds the value of a parameter by its name and type. */
static sluice_status find_value(const sluice_builder *builder, const char *call, const char *name,
                                param_type type, const void *value_out, const void **field_out)
{
    if (builder == NULL || name == NULL || value_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: builder, name or value_out is NULL", call);
    }
    for (uint32_t i = 0; i < builder->named->of.parameter_count; i++) {
        const stage_param *param = &builder->named->params[i];

        if (param->type == type && strcmp(param->name, name) == 0) {
            *field_out = builder->args + param->offset;
            return SLUICE_OK;
        }
    }
    return no_parameter(builder->named, call, name);
}

sluice_status sluice_builder_int(const sluice_builder *builder, const char *name,
                                 int64_t *value_out)
{
    const void *field = NULL;
    const sluice_status st =
        find_value(builder, "sluice_builder_int", name, PARAM_INT, value_out, &field);

    if (st == SLUICE_OK) {
        *value_out = *(const int64_t *)field;
    }
    return st;
}

sluice_status sluice_builder_float(const sluice_builder *builder, const char *name,
                                   double *value_out)
{
    const void *field = NULL;
    const sluice_status st =
        find_value(builder, "sluice_builder_float", name, PARAM_REAL, value_out, &field);

    if (st == SLUICE_OK) {
        *value_out = *(const double *)field;
    }
    return st;
}

sluice_status sluice_builder_string(const sluice_builder *builder, const char *name,
                                    const char **value_out)
{
    const void *field = NULL;
    const sluice_status st =
        find_value(builder, "sluice_builder_string", name, PARAM_TEXT, value_out, &field);

    if (st == SLUICE_OK) {
        *value_out = *(const char *const *)field;
    }
    return st;
}

sluice_status sluice_builder_bool(const sluice_builder *builder, const char *name,
                                  uint32_t *value_out)
{
    const void *field = NULL;
    const sluice_status st =
        find_value(builder, "sluice_builder_bool", name, PARAM_BOOL, value_out, &field);

    if (st == SLUICE_OK) {
        *value_out = *(const bool *)field;
    }
    return st;
}

/* ---- what is built --------------------------------------------------------------------------- */

static sluice_status check_build(const sluice_builder *builder, const char *call,
                                 sluice_stage_kind kind)
{
    static const char *const kinds[] = {"a source", "a map", "a filter", "a map of batches"};

    if (builder == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: builder is NULL", call);
    }
    if (builder->named->of.kind != kind) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s was registered as %s", call,
                        builder->named->def.name, kinds[builder->named->of.kind]);
    }
    return builder->is_built ? sli_fail(SLUICE_E_INVALID, "%s: %s was built already", call,
                                        builder->named->def.name)
                             : SLUICE_OK;
}

sluice_status sluice_builder_source(sluice_builder *builder, const sluice_source *source)
{
    static const char call[] = "sluice_builder_source";
    sluice_status st = check_build(builder, call, SLUICE_STAGE_SOURCE);
    custom_args *args;

    if (st != SLUICE_OK) {
        return st;
    }
    args = (custom_args *)(void *)builder->args;
    st = custom_source_make(source, builder->named->def.name, call, &args->made);
    if (st == SLUICE_OK) {
        custom_source_own(args->made);
        builder->is_built = true;
    }
    return st;
}

/* Stores a map or filter in the arguments; the stage then owns it. */
static void take_map(sluice_builder *builder, custom_map *map)
{
    ((map_args *)(void *)builder->args)->map = map;
    map->is_added = true;
    builder->is_built = true;
}

sluice_status sluice_builder_map(sluice_builder *builder, const sluice_map *map)
{
    static const char call[] = "sluice_builder_map";
    sluice_status st = check_build(builder, call, SLUICE_STAGE_MAP);
    custom_map *made = NULL;
    sluice_map own;

    if (st == SLUICE_OK) {
        st = sli_struct_read(&custom_map_struct, call, map, &own);
    }
    if (st == SLUICE_OK) {
        own.name = builder->named->def.name;
        st = custom_map_make(&own, call, &made);
    }
    if (st == SLUICE_OK) {
        take_map(builder, made);
    }
    return st;
}

sluice_status sluice_builder_filter(sluice_builder *builder, const sluice_filter *filter)
{
    static const char call[] = "sluice_builder_filter";
    sluice_status st = check_build(builder, call, SLUICE_STAGE_FILTER);
    custom_map *made = NULL;
    sluice_filter own;

    if (st == SLUICE_OK) {
        st = sli_struct_read(&custom_filter_struct, call, filter, &own);
    }
    if (st == SLUICE_OK) {
        own.name = builder->named->def.name;
        st = custom_filter_make(&own, call, &made);
    }
    if (st == SLUICE_OK) {
        take_map(builder, made);
    }
    return st;
}

sluice_status sluice_builder_map_batch(sluice_builder *builder, const sluice_map_batch *map)
{
    static const char call[] = "sluice_builder_map_batch";
    sluice_status st = check_build(builder, call, SLUICE_STAGE_MAP_BATCH);
    batch_map_args *args;
    sluice_map_batch own;

    if (st == SLUICE_OK) {
        st = sli_struct_read(&custom_batch_struct, call, map, &own);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    args = (batch_map_args *)(void *)builder->args;
    own.name = builder->named->def.name;
    st = custom_batch_make(&own, call, &args->map);
    if (st == SLUICE_OK) {
        args->map->is_added = true;
        builder->is_built = true;
    }
    return st;
}

sluice_status stage_builder_make(const stage_def *def, void *args)
{
    const named_stage *named = (const named_stage *)(const void *)def;
    const uint64_t version = ((const map_args *)args)->version;
    sluice_builder builder = {.named = named, .args = args};
    uint64_t before;
    sluice_status st;

    if (version != named->of.version) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: version=%llu is not the one of %s, which is %u; leave it out to use "
                        "that one",
                        def->name, (unsigned long long)version, named->origin, named->of.version);
    }
    before = sli_fail_count();
    st = custom_status(def->name, "build", before, named->of.build(&builder, named->of.user));
    return st == SLUICE_OK && !builder.is_built
               ? sli_fail(SLUICE_E_CALLBACK,
                          "%s: build() returned OK without a call of sluice_builder_source(), "
                          "_map(), _filter() or _map_batch()",
                          def->name)
               : st;
}
