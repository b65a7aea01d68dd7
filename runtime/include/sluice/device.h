/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Devices: what a dataset is delivered to and a step runs on.
 */
#ifndef SLUICE_DEVICE_H
#define SLUICE_DEVICE_H

#include <sluice/status.h>

SLUICE_BEGIN_DECLS

/** An open device. */
typedef struct sluice_device sluice_device;

/**
 * Opens a device by name.
 *
 * `host:N` is the CPU as a device and is always there; N, 0 to 63, only tells several apart. Its
 * device memory is ordinary memory: batches are written where the step reads them. `cuda:N` is the
 * N-th CUDA device, as CUDA_VISIBLE_DEVICES numbers them, where the library was built with CUDA and
 * there is a driver. `auto` is `host:0`: a step is written for one kind of device. Options follow after commas, `host:0,copy=1`:
 *
 *   copy=1         device memory is a separate heap, filled by a copying thread and overwritten
 *                  with a pattern whenever a batch is given back: finds steps that keep pointers
 *   node=N         staging and slots lie on NUMA node N
 *   spin_us=T      GetNext polls for T microseconds, then yields to the host, as on a GPU; without
 *                  it GetNext sleeps until the batch is there, and never yields
 *   latency_us=T   every copy takes T microseconds longer (with copy=1)
 *   gbps=G         no copy is faster than G * 10^9 bytes a second (with copy=1)
 *   fail_after=K   the copy after K good ones fails (with copy=1): for tests of error paths
 *
 * `cuda:N` takes node and spin_us: 500 without it, and never more than 100000 where a watchdog ends
 * long kernels; and
 *
 *   transport=push  batches are copied into device memory ahead of the steps; the default, unless
 *                   the machine has no 64-bit stream memory operations (E_UNSUPPORTED where push is
 *                   asked for; the default is pull then)
 *   transport=pull  GetNext reads batches from page-locked host memory: no copies ahead, no device
 *                   memory for them, no calls of the driver for each
 *
 *   unroll=U        mode loop: U steps, 1 to 64 (1), in a turn of the loop, whose own cost they then
 *                   share; batches for all of them are waited for together. Worth trying where
 *                   steps take some ten microseconds; U up to slots, not with micro-batches
 *
 * The first `cuda:N` of a process sets the environment variable CUDA_MODULE_LOADING to EAGER, so that
 * CUDA loads kernels at its start and not in the midst of a sink. It does so only while the variable
 * is not set and CUDA's driver library is not in the process yet, and says so at level info; the
 * processes that this one starts inherit it. setenv() is not safe beside getenv() in other threads:
 * open the device before there are any, or set the variable yourself, to EAGER, or to LAZY, which is
 * CUDA's default; it is left alone then.
 *
 * @param uri         one of the above; NULL is `auto`
 * @param device_out  owned by the caller: goes back by sluice_device_close()
 *
 * Returns: E_INVALID the text makes no sense; E_NO_DEVICE there is no such device here, no driver
 *          for it, or this build cannot drive it; E_UNSUPPORTED it lacks what an option asks for;
 *          E_DEVICE it does not work; E_NO_MEMORY.
 * Threads: any; see above for the first `cuda:N`.
 */
SLUICE_API_CHECKED sluice_status sluice_device_open(const char *uri, sluice_device **device_out);

/** Closes a device that nothing uses any more. NULL is fine. */
SLUICE_API void sluice_device_close(sluice_device *device);

/** Returns "host:0"; the device's own, valid until it is closed. */
SLUICE_API const char *sluice_device_name(const sluice_device *device);

SLUICE_END_DECLS

#endif
