/* SPDX-License-Identifier: Apache-2.0 */
/* All checks, for the table in gpu_check.cu. */
#ifndef GPU_CHECKS_H
#define GPU_CHECKS_H

#include "gpu_kit.h"

/* check_graphs.cu */
gpu_check_fn check_conditional_default, check_conditional_upstream, check_conditional_reassigned,
    check_fork_join, check_globaltimer, check_mapped_words, check_stream_memory_operations;

/* check_train.cu */
gpu_check_fn check_modes, check_conversions, check_launches, check_sinks_of_one, check_wrap,
    check_micro_batches, check_unrolled, check_nan, check_loop, check_late_kernel, check_starved,
    check_patient, check_stop, check_stop_starved, check_trainer_sleeps, check_ptx;

/* check_content.cu */
gpu_check_fn check_content_brief, check_content_small, check_content_medium, check_content_large;

/* check_programs.cu */
gpu_check_fn check_memcheck, check_racecheck, check_synccheck, check_shared_library,
    check_device_warp, check_tool, check_train_nccl, check_kernel_bits, check_kernel_bits_memcheck,
    check_two_processes;

/* check_publish.cu */
gpu_check_fn check_publish_order;

/* check_calls.cu */
gpu_check_fn check_launches_counted;

/* check_rates.cu */
gpu_check_fn check_gather_rate, check_step_gaps, check_far_node;

/* check_figures.cu */
gpu_check_fn check_loop_steps, check_short_loop_steps, check_graph_steps, check_pull_steps,
    check_large_batches, check_copies_with_words, check_loop_turn;

/* check_channel.cu */
gpu_check_fn check_channel, check_capture_beside;

/* check_held.cu, check_refusals.cu, check_nvjpeg.cu */
gpu_check_fn check_held_maps, check_capture_refusals, check_nvjpeg;

/* check_convnet.cu */
gpu_check_fn check_convnet_step, check_convnet_captured;

#endif
