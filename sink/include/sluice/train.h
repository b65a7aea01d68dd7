/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Training: `sluice_train()` brings a dataset to a device and runs the user's step on every batch,
 * in sinks of many steps for one launch, or one by one.
 */
#ifndef SLUICE_TRAIN_H
#define SLUICE_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sluice/dataset.h>
#include <sluice/device.h>
#include <sluice/model.h>
#include <sluice/ranks.h>
#include <sluice/report.h>
#include <sluice/stop.h>

SLUICE_BEGIN_DECLS

/** How steps are run. */
typedef enum sluice_mode {
    SLUICE_MODE_AUTO = 0,   /**< the fastest that is possible; direct without dataset_sink_mode */
    SLUICE_MODE_DIRECT = 1, /**< a launch and a wait for each step */
    SLUICE_MODE_DATA = 2,   /**< the step is called on the host, a wait for each sink */
    SLUICE_MODE_GRAPH = 3,  /**< a launch for each step, a wait for each sink */
    SLUICE_MODE_LOOP = 4    /**< one launch and one wait for each sink */
} sluice_mode;

/** Returns "auto", "direct", ...; "?" for any other number. Threads: any. */
SLUICE_API const char *sluice_mode_name(sluice_mode mode);

/** What to do when an output of a step is not finite. */
typedef enum sluice_nan_guard {
    SLUICE_NAN_STOP = 0,  /**< end the run after that step, with E_NAN and its number */
    SLUICE_NAN_COUNT = 1, /**< continue; the report has the number of such steps and the first */
    SLUICE_NAN_IGNORE = 2 /**< no check */
} sluice_nan_guard;

/**
 * The learning rate of each step of the whole training: a table, or a function, or neither. The
 * step reads it through sluice_step.learning_rate.
 */
typedef struct sluice_schedule {
    size_t struct_size; /**< bytes; set by sluice_schedule_init() */
    const float *table; /**< (count) rates; steps past its end use the last one. Borrowed */
    uint64_t count;     /**< entries of table; 0: none */
    float (*function)(uint64_t step, void *user); /**< instead of a table: of `step` alone; called
                                                       on any thread, ahead of the step */
    void *user;                                   /**< handed to function; borrowed */
} sluice_schedule;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_schedule_init(sluice_schedule *schedule)
{
    memset(schedule, 0, sizeof(*schedule));
    schedule->struct_size = sizeof(*schedule);
}

/**
 * Checkpoints: folders FOLDER/step-000000001200 with the files of model.save, the library's
 * `sluice_state` and `sluice_files` (text), and `DONE`, which is written when everything else is
 * synced to disk: after a kill at any moment the last complete checkpoint is usable. Sinks end
 * where a checkpoint is due. One more is written when a run ends, unless it ends with an error.
 * Several ranks share the folder.
 *
 * Where validation is due at the same step, model.save is also called before it, into
 * FOLDER/early-000000001200. The step- checkpoint replaces this one after validation and its hooks.
 * A run that resumes from an early- checkpoint validates first and calls the hooks validation and
 * epoch_end.
 */
typedef struct sluice_checkpointing {
    size_t struct_size;    /**< bytes; set by sluice_checkpointing_init() */
    const char *folder;    /**< NULL: none. Created if missing; its parent must exist. Borrowed */
    uint64_t every_steps;  /**< of the whole training; 0: see every_epochs */
    uint64_t every_epochs; /**< 0, with every_steps 0: only at the end */
    uint32_t keep;         /**< number of newest checkpoints to keep; 0 is 3 */
    bool resume; /**< resume from the newest checkpoint in the folder, if any; if false, a folder
                    with a checkpoint is E_INVALID */
    bool best_is_larger; /**< the largest value of `best` is the best, not the smallest */
    const char *best; /**< name of a result of validation: the checkpoint with the smallest value is
                         also kept, in FOLDER/best-000000001200; NULL: none. Borrowed */
    const char *allow; /**< arguments that may differ from those of the checkpoint that a run
                          resumes from, STAGE.ARGUMENT separated by commas, such as
                          "letterbox.size"; NULL: none. E_INVALID: the pipeline has no such
                          argument, it decides which samples a pass has, its value is never
                          compared, or `resume` is false. Borrowed */
} sluice_checkpointing;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_checkpointing_init(sluice_checkpointing *checkpoint)
{
    memset(checkpoint, 0, sizeof(*checkpoint));
    checkpoint->struct_size = sizeof(*checkpoint);
}

/** The record of a step that ran. */
typedef struct sluice_step_record {
    size_t struct_size;      /**< bytes; set by the library */
    uint64_t step;           /**< of the whole training, from 0 */
    uint64_t epoch;          /**< of the whole training, from 0 */
    uint64_t pass;           /**< of the dataset, from 0 */
    uint64_t first_sample;   /**< index of row 0's sample; UINT64_MAX: none */
    uint32_t valid_rows;     /**< rows with samples, of all micro-batches */
    uint64_t digest;         /**< of the batch, before config.device_maps; 0 unless
                                  config.digest */
    const float *outputs;    /**< (output_count) */
    const uint64_t *samples; /**< in the hook `records`: (micro_batches, batch_size) indices in the
                                  source, see sluice_dataset_sample_name(); UINT64_MAX for
                                  padding; NULL unless config.record_samples */
} sluice_step_record;

/** The arguments of a hook. */
typedef struct sluice_hook {
    size_t struct_size; /**< bytes; set by the library */
    uint64_t epoch;     /**< that begins, runs or ended; train_end: number of complete epochs */
    uint64_t epochs;    /**< of the whole training; 0 if max_steps or max_seconds ends it */
    uint64_t step; /**< step_end: the last step; train_end, epoch_end and validation: one past the
                      last step; otherwise the first step */
    uint64_t last_step;  /**< one past the last step of this run; UINT64_MAX if unknown */
    uint64_t step_count; /**< step_begin: steps that begin, 1 or a sink; *_end: steps that ran since
                            then; records: steps of this launch; 0 in epoch_end if an earlier run
                            has run the steps of the epoch */
    const void *records; /**< of the hooks step_end and records: see sluice_hook_record() */
    uint64_t record_count; /**< equals step_count; if more than 1 048 576 steps ran in a sink, the
                              hook step_end gets only the latest */
    uint32_t batch_size;   /**< rows of a batch */
    uint32_t output_count; /**< outputs of a step */
    const char *const *output_names; /**< (output_count) */
    double seconds;                  /**< *_end: since the *_begin; records: of the run so far */
    double wait_seconds;             /**< part of `seconds` in which steps waited for data */
    const char *plan;                /**< train_begin: the run in one line, memory included */
    bool stop;                       /**< a hook sets it to end the run at this boundary */
    const double *results;           /**< validation: (result_count), means over result_samples */
    const char *const *result_names; /**< validation, train_begin: (result_count) */
    uint32_t result_count;           /**< validation: number of results; train_begin: of those that
                                        validations will have, 0 without config.validation */
    uint32_t micro_batches;          /**< batches of a step */
    uint64_t result_samples;         /**< validation: samples that were evaluated, each once */
    uint32_t rank;                   /**< rank of this process, from 0 */
    uint32_t world;                  /**< number of ranks; rank 0 prints for all */
    uint64_t late_rank;  /**< the rank for which this one has waited longest in the run so far,
                            in agree at boundaries; UINT64_MAX: none */
    double late_seconds; /**< time waited for late_rank, in the run so far; 0: none */
} sluice_hook;

/**
 * Returns record `index`, below hook->record_count, in the order of the steps; NULL for another
 * index. Valid during the call of the hook.
 *
 * Threads: the one that called the hook.
 */
SLUICE_API const sluice_step_record *sluice_hook_record(const sluice_hook *hook, uint64_t index);

/**
 * Called on the thread that called sluice_train(). A negative status ends the run: sluice_train()
 * returns it, with the text of sluice_fail(). STOPPED has the effect of hook->stop; other positive
 * statuses count as OK.
 */
typedef sluice_status (*sluice_hook_fn)(sluice_hook *hook, void *user);

/**
 * A set of hooks. Order: train_begin, (epoch_begin, (step_begin, records*, step_end,
 * [validation])*, epoch_end)*, train_end; validation at_start comes before the first epoch_begin,
 * at_end after the last epoch_end. In direct and data mode step hooks are called for each step, in
 * graph and loop mode for each sink. `records` is called after each launch with the steps that it
 * ran: over a run it gets every step once, in order, in every mode. Hooks that are NULL are not
 * called.
 *
 * step_end and epoch_end are called if at least one step ran and no error ended the run; epoch_end
 * also by a run that resumes at the end of an epoch whose validation was not done (see
 * sluice_checkpointing). train_end is called whenever train_begin was. With several callbacks each
 * hook is called for all of them in order, also after one of them has failed; the run returns the
 * first error.
 */
typedef struct sluice_callback {
    size_t struct_size;         /**< bytes; set by sluice_callback_init() */
    void *user;                 /**< handed to each of the hooks; borrowed */
    sluice_hook_fn train_begin; /**< once, before anything runs */
    sluice_hook_fn epoch_begin; /**< before the first step of an epoch */
    sluice_hook_fn step_begin;  /**< before a step, or a sink */
    sluice_hook_fn records;     /**< after each launch, with its steps */
    sluice_hook_fn step_end;    /**< after a step, or a sink */
    sluice_hook_fn validation;  /**< after a validation, with its results */
    sluice_hook_fn epoch_end;   /**< after the last step of an epoch */
    sluice_hook_fn train_end;   /**< once, whenever train_begin was called */
} sluice_callback;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_callback_init(sluice_callback *callback)
{
    memset(callback, 0, sizeof(*callback));
    callback->struct_size = sizeof(*callback);
}

/**
 * Validation: model.eval on one pass of another dataset, between two sinks. Sinks end where a
 * validation is due. It has its own channel on the same device; every sample counts once, by
 * *valid_rows. With several ranks and config.agree the results are those of all ranks; without
 * config.agree, of this rank's share. The dataset is opened before the first step and checked like
 * the training's dataset: its columns against model.inputs, padding, memory.
 */
typedef struct sluice_validating {
    size_t struct_size;      /**< bytes; set by sluice_validating_init() */
    sluice_dataset *dataset; /**< NULL: none. Borrowed. Usually without shuffle and without
                                  drop_remainder */
    uint64_t every_steps;    /**< of the whole training; 0: see every_epochs */
    uint64_t every_epochs;   /**< 1 if all but dataset and max_batches are 0 */
    bool at_start;           /**< also before the first step of the run */
    bool at_end;          /**< also at the end of a run without an error, unless one just ended */
    uint64_t max_batches; /**< maximum number of batches of a validation; 0: a whole pass */
} sluice_validating;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_validating_init(sluice_validating *validation)
{
    memset(validation, 0, sizeof(*validation));
    validation->struct_size = sizeof(*validation);
}

/**
 * Max-allreduce of one integer over all ranks; collective: all ranks call it equally often, at the
 * same points. With MPI: MPI_Allreduce(&value, most_out, 1, MPI_INT64_T, MPI_MAX, communicator), on
 * a communicator of its own: a rank that fails calls it while the others may be in a collective of
 * their step. It must not block for ever when a rank is gone; sluice_fail() can name that rank.
 * Called on the thread of sluice_train(): at the beginning, after sinks (in direct and data mode,
 * steps), epochs and validations, around checkpoints, and at the end.
 *
 * A rank that fails makes its last calls of agree on a thread of the library, while sluice_train()
 * waits; see config.agree_timeout_ms. After the first of them all ranks call agree up to 36 times
 * more, to receive the text of the failure.
 *
 * Returns: a negative status ends the run with it.
 */
typedef sluice_status (*sluice_agree_fn)(int64_t value, int64_t *most_out, void *user);

/**
 * Ends all ranks when one has failed: with MPI, MPI_Abort(MPI_COMM_WORLD, 1). If it returns,
 * sluice_train() also returns, with the error. Called at most once for a run of several ranks, on
 * the thread of sluice_train() of the rank that fails: after the error was logged at level error
 * and the report was written to the file of SLUICE_REPORT, and before the last calls of agree.
 * `text` is the text of the error, valid until abort returns. Not called if all ranks end together,
 * without a failure or with the same one, nor for a failure of another rank (E_RANK).
 */
typedef void (*sluice_abort_fn)(sluice_status status, const char *text, void *user);

/** Settings of a run, initialized by sluice_train_config_init(). Zero is the default of each. */
typedef struct sluice_train_config {
    size_t struct_size;       /**< bytes; set by sluice_train_config_init() */
    uint64_t epochs;          /**< of the whole training; 0: until total_steps, max_steps or
                                   max_seconds */
    bool dataset_sink_mode;   /**< false: mode direct, and an epoch is a pass */
    int64_t sink_size;        /**< steps of an epoch in sink mode; 0 or -1: a pass */
    uint64_t initial_epoch;   /**< epochs done already */
    uint64_t max_steps;       /**< of this run; shortens the last sink. 0: no limit */
    double max_seconds;       /**< of this run. 0: no limit */
    sluice_mode mode;         /**< auto */
    uint32_t output_capacity; /**< steps of one launch, at most 1 048 576; 0 is 4096. A longer sink
                                   takes several launches */
    sluice_callback *const *callbacks; /**< (callback_count) pointers, to ready-made callbacks and
                                            to the caller's own; copied, `user` is borrowed */
    uint32_t callback_count;           /**< entries of callbacks */
    sluice_stop *stop;                 /**< NULL: no token */
    int64_t stall_warning_ms; /**< if no step ends for this time, a warning with diagnostics is
                                 logged; if a hook, save, load, or step in mode data does not return
                                 for this time, a warning that names it. 0 is 30 000 */
    int64_t stall_timeout_ms; /**< if no step ends for this time because data is missing, the run
                                 ends with E_STALLED, once the workers return from their samples; 0
                                 is 300 000. Both exclude time in which the process is suspended */

    uint32_t workers;      /**< threads that decode; 0: as many as cores and quota allow */
    uint32_t slots;        /**< batches in the device queue, 2 to 1024 (on host:N without copy,
                                which lends them to the step, from 3 on); 0: 16 rows or more
                                for each worker, at least 4 batches (3 large ones on host:N,
                                16 MiB or 64 on cuda:N), at most 1 GiB and a sixteenth of the
                                device's free memory, fewer where memory_bytes is less */
    uint64_t memory_bytes; /**< upper bound for staging, slots, outputs of device maps and the
                                samples of a stream; 0 is a quarter of what the process may use, for
                                staging and slots */
    uint64_t seed;         /**< of order and random transforms */
    uint32_t rank;         /**< rank of this process, if world is set */
    uint32_t world;        /**< number of processes that share each pass; 0: from the launcher, see
                              sluice_ranks_find() */
    uint64_t start_step; /**< steps done already, in addition to initial_epoch: the run begins like
                            a resumed run. Passes of unknown length are read from the first one on
                            to count them; the log says for how long */
    sluice_on_error on_error; /**< fail */
    bool digest;              /**< computes each step's digest; reads every byte once more */
    bool record_samples;      /**< stores each step's sample indices for hooks */
    bool check;               /**< before the run, compares its first steps in direct mode and in
                                   its own; see sluice_train() */
    bool independent_ranks;   /**< no rank waits for another one, in its step or elsewhere: without
                                   agree, a rank may then stop before the others. E_INVALID with
                                   agree */
    sluice_nan_guard nan_guard;             /**< stop */
    uint32_t micro_batches;                 /**< batches of a step (gradient accumulation); 0 is 1.
                                                 If an epoch is a pass, the batches after its last
                                                 whole step are dropped */
    const sluice_schedule *learning_rate;   /**< NULL: none, 0. Copied, the table is borrowed */
    const sluice_checkpointing *checkpoint; /**< NULL: none. Copied, texts are borrowed */
    const sluice_validating *validation;    /**< NULL: none. Copied */
    sluice_agree_fn agree; /**< for several ranks. Without it checkpoints and everything that may
                              stop one rank before the others are E_INVALID */
    void *agree_user;      /**< handed to agree; borrowed */
    uint64_t total_steps;  /**< of the whole training, over all its runs; shortens the last sink. A
                              resumed run that has done them has no steps. 0: no limit */
    uint32_t local_rank;  /**< rank of this process on its machine; must be 0 if local_world is 0 */
    uint32_t local_world; /**< number of ranks of this job on this machine; 0: local rank and world
                             are those of the launcher, see sluice_ranks_find(). The environment
                             variable SLUICE_LOCAL overrides both fields */
    sluice_abort_fn abort;    /**< ends all ranks when this one fails; NULL: none. Without it, ranks
                                   that wait for this one in a collective of their step wait for
                                   ever: the library cannot end them */
    void *abort_user;         /**< handed to abort; borrowed */
    int64_t agree_timeout_ms; /**< how long this rank, once it has failed, waits for the others to
                                 call agree; 0 or less: 60 000. If they do not, it logs a warning,
                                 and sluice_train() returns while a thread of it remains in agree:
                                 then agree_user must stay valid until the process ends */
    const char *cores; /**< the cores of this rank: "auto" (or NULL), its part of the machine if
                          several ranks run on it; "all", every core that the process may use;
                          or a list of CPUs, "0-7,16": this rank's part of these CPUs. Borrowed */
    const sluice_device_map *const *device_maps; /**< (device_map_count) pointers: user-defined
                                                      operators between GetNext and the step or
                                                      eval, in this order. Copied */
    uint64_t device_map_count;                   /**< entries of device_maps, at most 16 */
} sluice_train_config;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_train_config_init(sluice_train_config *config)
{
    memset(config, 0, sizeof(*config));
    config->struct_size = sizeof(*config);
}

/**
 * Trains a model on a dataset.
 *
 * With dataset_sink_mode and a positive sink_size an epoch is sink_size steps, and each epoch
 * continues in the data where the last one ended, over any number of passes. With sink_size 0 or
 * -1, or without sink mode, an epoch is a pass.
 *
 * With config.check, on a device that captures, the step is captured twice; a difference between
 * the two, such as a parameter of a kernel, is E_INVALID. Then model.save saves the model, as rank
 * 0 of 1, into a folder under TMPDIR that is removed afterwards. The steps of the first sink, at
 * most 16, run twice in direct mode and once, in one launch, in the mode of the run, each time
 * after model.load from that folder. Inputs and outputs must be equal bit for bit. Then the model
 * is loaded once more, and the run begins. The user's hooks are called in these runs too,
 * train_begin to train_end, with the same arguments. A hook's request to stop is ignored in
 * these runs; the hook gets the same steps again in the run itself. These runs write no checkpoints
 * and do not validate.
 *
 * Environment variables override config, with a warning: SLUICE_WORKERS, SLUICE_SLOTS,
 * SLUICE_MEMORY (bytes; 512M), SLUICE_CORES and, with dataset_sink_mode, SLUICE_MODE.
 * SLUICE_LOCAL, "R/W", overrides local_rank and local_world. If several ranks of the job run on
 * this machine, the first run or channel of each process waits for those of the others, at most
 * SLUICE_EXCHANGE_MS (5000) milliseconds, to divide the machine's cores; without them it goes on,
 * with a warning. SLUICE_REPORT is the path of a file for the report, which is written when the
 * run ends, also with an error: as JSON if the path ends in .json, else as text; "-" is stderr,
 * and %r is replaced by the rank. With several ranks and no %r the rank is appended, before .json.
 * An empty variable is not set. See the guide, Reference.
 *
 * @param device      borrowed for the run
 * @param model       copied
 * @param dataset     borrowed for the run
 * @param config      copied; what its fields call borrowed is borrowed for the run
 * @param report_out  NULL, or the report, owned by the caller: freed by sluice_report_destroy(). It
 *                    is also set when the run fails: to NULL if there is no memory for it
 *
 * Returns: OK all epochs or steps are done, or max_seconds are over; STOPPED on request of the
 *          token, a hook (such as early stopping) or the step; END_OF_DATA a stream ended before
 *          the last epoch, and the report has the number of epochs; E_NAN an output was not finite;
 *          E_STALLED no data arrived; E_RANK another rank failed, with its number, status and text;
 *          E_INVALID settings, including those of the environment, columns that do not match the
 *          model, ranks with different settings, a stop request on one of several ranks without
 *          config.agree, or a difference that config.check found; E_NO_MEMORY; else the first error
 *          of the pipeline (which names the stage and the sample) or the device, or the status that
 *          a hook, the step, eval, save, load or agree returned. Steps before an error are done and
 *          were passed to the hook `records`. All threads of the run have ended, but see
 *          config.agree_timeout_ms.
 *
 * Threads: any, while no thread changes the environment; several runs at once are independent.
 */
SLUICE_API_CHECKED sluice_status sluice_train(sluice_device *device, const sluice_model *model,
                                              sluice_dataset *dataset,
                                              const sluice_train_config *config,
                                              sluice_report **report_out);

/** @name Ready-made callbacks
 * Each makes a callback for config.callbacks, owned by the caller: freed by
 * sluice_callback_destroy() after the run. A callback serves one run at a time. With several ranks
 * only rank 0 prints and writes: its own steps and losses, and with config.agree the results of
 * validation of all ranks. Returns: E_INVALID file or callback_out is NULL; E_NO_MEMORY.
 * @{
 */

/**
 * Prints `epoch: 1 step: 100, loss is 0.523` after every `every` steps, counted from 1 at the start
 * of the training; other outputs follow. The file is borrowed.
 *
 * Returns: also E_INVALID every is 0.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_loss_monitor(FILE *file, uint64_t every,
                                                     sluice_callback **callback_out);

/**
 * Prints `epoch time: 1234.567 ms, per step time: 12.346 ms (data wait: 0.1 %)` after epochs.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_time_monitor(FILE *file, sluice_callback **callback_out);

/**
 * Prints `validation: step 400, loss 0.5231, accuracy 0.8430 (1000 samples)` after validations. A
 * run without config.validation ends with E_INVALID.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_validation_monitor(FILE *file,
                                                           sluice_callback **callback_out);

/**
 * Writes a line of JSON for each step, `{"step":12,"epoch":0,"pass":0,"samples":64,"outputs":
 * {"loss":0.52}}`, and for each validation, `{"validated":400,"samples":1000,"results":{...}}`. A
 * run that resumes at a step removes the lines from that step on, so each step has one line.
 * Numbers that are not finite are null.
 *
 * Returns: E_INVALID path or callback_out is NULL; E_NO_MEMORY. A file that cannot be opened or
 *          written ends the run with E_IO.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_json_log(const char *path, sluice_callback **callback_out);

/**
 * Ends a run, with STOPPED, when a value has not improved by more than min_delta for `patience`
 * times in a row (0 is 1). Each run counts from its beginning, also a resumed one.
 *
 * @param monitor  name of a result of validation, which counts after each validation; or, if the
 *                 run has no such result, of an output of the step, whose mean over the steps of an
 *                 epoch counts at its end. An output is that of this rank: config.agree stops the
 *                 other ranks at the same step
 *
 * Returns: E_INVALID monitor or callback_out is NULL; a run with neither a result nor an output of
 *          that name ends with E_INVALID before its first step; E_NO_MEMORY.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_early_stopping(const char *monitor, bool larger_is_better,
                                                       double min_delta, uint64_t patience,
                                                       sluice_callback **callback_out);

/**
 * Draws a progress bar with rates and the time that is left, on a terminal; prints nothing
 * elsewhere and with TERM=dumb.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_progress_bar(FILE *file, sluice_callback **callback_out);

/**
 * Frees a callback that one of the above made. NULL is fine.
 *
 * Threads: any, once no run uses the callback.
 */
SLUICE_API void sluice_callback_destroy(sluice_callback *callback);
/** @} */

SLUICE_END_DECLS

#endif
