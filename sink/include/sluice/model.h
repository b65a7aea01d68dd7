/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The user's code of a training, which `sluice_train()` calls: the step, the model with its
 * functions, and device maps.
 */
#ifndef SLUICE_MODEL_H
#define SLUICE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

SLUICE_BEGIN_DECLS

/** Maximum number of outputs of a step. */
#define SLUICE_MAX_OUTPUTS 16

/**
 * The arguments of a step. Every value that changes from step to step is an address that the device
 * can read: a step that is captured once and replayed reads the new values through it. A step that
 * reads the value on the host during capture does not.
 */
typedef struct sluice_step {
    size_t struct_size;          /**< bytes; set by the library */
    uint32_t input_count;        /**< columns of the dataset, and those of device maps */
    uint32_t micro_batches;      /**< calls that make one step; the same for the whole run */
    const sluice_tensor *inputs; /**< in the dataset's column order, new columns of device maps
                                      after them; see sluice_step_input() */
    const uint32_t *valid_rows;  /**< rows [0, *valid_rows) hold samples, the rest is zero */
    const uint64_t *step;        /**< of the whole training, from 0 */
    const uint64_t *epoch;       /**< of the whole training, from 0 */
    float *outputs;              /**< (output_count) to be written; [0] is the loss */
    void *stream;                /**< to enqueue work on in this call, a cudaStream_t on a CUDA
                                      device: a separate stream during capture, else the
                                      run's; NULL on a host device */
    const float *learning_rate;  /**< of this step, by config.learning_rate; 0 without one */
    const uint64_t *random_key;  /**< a function of config.seed and the step: for dropout and
                                      similar uses, the same after a resume */
    const uint32_t *micro;       /**< index of this micro-batch in its step, from 0 */
} sluice_step;

/**
 * Returns the input of that name; NULL if the batch has no such column, with a warning in the log
 * the first time. model.inputs finds a wrong name before the first step.
 *
 * Threads: any, during the call of the step.
 */
SLUICE_API const sluice_tensor *sluice_step_input(const sluice_step *step, const char *name);

/**
 * The user's step: trains on one batch.
 *
 * With config.micro_batches it is called that many times for a step (gradient accumulation):
 * accumulate gradients from micro 0 on, and apply them in the last call. Outputs are zero at micro
 * 0 and keep what the calls write. A run that ends between two micro-batches has not done the step:
 * the next run begins it again.
 *
 * On a host device it is called for every batch, on the device's own thread (in mode `data` on the
 * thread that called sluice_train()). Inputs and their bytes are lent until it returns; their
 * addresses may differ from step to step.
 *
 * On a CUDA device it enqueues on step->stream, on the thread that called sluice_train() and with
 * the device's context current; all addresses are the device's, and the same for the whole run. In
 * modes `graph` and `loop` it is called once, captured, and replayed, whatever micro_batches are;
 * once more for config.check, and again where auto has to try. In the others it is called for every
 * batch. eval is called in the same way. The device is synchronized before the first step of a run.
 *
 * All of a step's work goes to step->stream. A captured step that enqueues nothing there, or that
 * uses the default stream, is E_INVALID: CUDA does not capture that work. While a step is captured,
 * CUDA refuses its device's default stream to every thread (cudaErrorStreamCaptureImplicit).
 *
 * Returns: OK; STOPPED ends the run after this step; a negative status ends it with that error,
 *          and with the text of sluice_fail().
 */
typedef sluice_status (*sluice_step_fn)(const sluice_step *step, void *user);

/**
 * Saves the model into files of its own choice in `folder`, or loads it from there. The folder
 * exists and, for save, is empty except for files of other ranks; the names `DONE`, `sluice_state`
 * and `sluice_files*` in it are the library's (E_INVALID). load may be called with another `world`
 * than save was, once size and checksum of every file are those that were saved. Save everything
 * that later steps depend on; the library saves its own state. Called between steps, on the thread
 * that called sluice_train().
 *
 * Returns: a negative status ends the run with it, and with the text of sluice_fail().
 */
typedef sluice_status (*sluice_state_fn)(void *user, const char *folder, uint32_t rank,
                                         uint32_t world);

/** The model and its functions, initialized by sluice_model_init(). */
typedef struct sluice_model {
    size_t struct_size;              /**< bytes; set by sluice_model_init() */
    sluice_step_fn step;             /**< no default */
    void *user;                      /**< handed to step; borrowed */
    const sluice_column *inputs;     /**< expected columns of one sample; NULL: unchecked */
    uint32_t input_count;            /**< entries in inputs */
    uint32_t output_count;           /**< 0 is 1; at most SLUICE_MAX_OUTPUTS */
    const char *const *output_names; /**< of outputs; NULL: one output, "loss". The progress bar
                                          shows the first one, unless its name is "" */
    bool reads_valid_rows;           /**< the step ignores rows past *valid_rows */
    bool reads_mask;                 /**< the step reads the column `mask` */
    uint32_t result_count;           /**< 0 is 1; at most SLUICE_MAX_OUTPUTS */
    sluice_state_fn save;            /**< NULL: no checkpoints */
    sluice_state_fn load;            /**< NULL: no resume */
    sluice_step_fn eval;             /**< evaluates a batch: outputs are sums over its samples;
                                          validation divides the total by the samples */
    const char *const *result_names; /**< of eval's outputs; NULL: one, "loss" */
} sluice_model;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_model_init(sluice_model *model)
{
    memset(model, 0, sizeof(*model));
    model->struct_size = sizeof(*model);
}

/**
 * A user-defined operator between GetNext and the step, or the loop of a channel (see
 * sluice_channel_get_next()): reads step->inputs and writes `outputs`. Called before each call of
 * the step or eval, on the same thread and in the same way: on a host device it reads and writes
 * the bytes during the call; on a CUDA device it enqueues kernels on step->stream, and is captured
 * with the step in modes `graph` and `loop`. The other fields of step are those of the call that
 * follows, but step->outputs is NULL. Seed random numbers by step->random_key, step->micro and the
 * row.
 *
 * outputs: (output_count) tensors (batch_size, ...) in the order of sluice_device_map.outputs, in
 * memory of the device that the library owns, at the same addresses for the whole run (of a channel
 * for each set of tensors). They count in config.memory_bytes. The map must write all rows, also
 * those from *valid_rows on: their bytes are unspecified before the call.
 *
 * Returns: a negative status ends the run with it, with the name of the map and the text of
 *          sluice_fail(). Other statuses count as OK.
 */
typedef sluice_status (*sluice_device_map_fn)(const sluice_step *step, const sluice_tensor *outputs,
                                              void *user);

/** A user-defined operator for device_maps of sluice_train_config and of sluice_channel_config,
 * initialized by sluice_device_map_init(). */
typedef struct sluice_device_map {
    size_t struct_size;           /**< bytes; set by sluice_device_map_init() */
    const char *name;             /**< for errors, reports, checkpoints and profilers; UTF-8
                                       without control characters; no default. Borrowed */
    uint64_t version;             /**< change it whenever the map computes something else: names
                                       and versions must be those of the checkpoint that a run
                                       resumes from and, with config.agree, those of all ranks. 0:
                                       none, a warning when a run resumes */
    sluice_device_map_fn map;     /**< no default */
    void *user;                   /**< handed to map; borrowed */
    const sluice_column *outputs; /**< (output_count) columns of one sample, inputs of later maps
                                       and of the step: each replaces the column of the same name,
                                       or comes after the other columns. Borrowed */
    uint64_t output_count;        /**< entries in outputs, 1 to 16 */
} sluice_device_map;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_device_map_init(sluice_device_map *map)
{
    memset(map, 0, sizeof(*map));
    map->struct_size = sizeof(*map);
}

SLUICE_END_DECLS

#endif
