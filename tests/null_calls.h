/* SPDX-License-Identifier: Apache-2.0 */
/* What the program that null_calls.awk writes has: a function for each exported one. */
#ifndef SLUICE_NULL_CALLS_H
#define SLUICE_NULL_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/llmc.h>
#include <sluice/plugin.h>
#include <sluice/sluice.h>

/* An object of each opaque type, where the call needs one, and memory for everything else. */
typedef struct null_objects {
    sluice_device *sluice_device;
    sluice_dataset *sluice_dataset;
    sluice_reader *sluice_reader;
    sluice_channel *sluice_channel;
    sluice_report *sluice_report;
    sluice_stop *sluice_stop;
    sluice_llmc *sluice_llmc;
    sluice_sample *sluice_sample;
    sluice_host_batch *sluice_host_batch;
    sluice_builder *sluice_builder;
    uint64_t bytes[1024];
} null_objects;

typedef struct null_call {
    const char *name;
    const char *pointers; /* names of the arguments that are pointers */
    const char *context;  /* the opaque type that only a callback has, or "" */
    uint32_t count;       /* of pointers */
    bool has_status;
    /* Calls the function; bit i of `nulls`: pointer i is NULL. Returns its status, else 0. */
    int (*call)(const null_objects *objects, uint32_t nulls);
} null_call;

/* A model with a step, and settings for two steps of it. */
const sluice_model *null_model(void);
const sluice_train_config *null_train_config(void);

extern const null_call null_calls[]; /* ends with a zero entry */

#endif
