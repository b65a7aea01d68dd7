/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Devices: where batches are delivered and steps run.
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
 * `host:N` is the CPU as a device and is always available; N, 0 to 63, only distinguishes several
 * host devices. Device memory is host memory: workers write batches where the step reads them.
 * `cuda:N` is CUDA device N in the order of CUDA_VISIBLE_DEVICES; it requires a build with CUDA and
 * a driver. `cuda:local` is `cuda:N` with N the local rank of sluice_ranks_find() modulo the number
 * of CUDA devices; the local rank of sluice_train_config is not used. `auto` is `host:0`, since a
 * step is written for one kind of device. Options follow the name after commas, `host:0,copy=1`:
 *
 *   copy=1         device memory is a separate heap, filled by a copy thread; a released batch is
 *                  overwritten with a pattern, to detect steps that keep pointers
 *   node=N         NUMA node of staging memory and slots; one that the machine does not have is
 *                  E_INVALID when a run or channel opens
 *   spin_us=T      GetNext polls for T microseconds, then yields to the host, as on a GPU; without
 *                  this option GetNext sleeps until the batch has arrived, and never yields
 *   latency_us=T   latency added to each copy, in microseconds (with copy=1)
 *   gbps=G         bandwidth limit of copies, in 10^9 bytes per second (with copy=1)
 *   fail_after=K   fault injection: the copy after K successful ones fails (with copy=1)
 *
 * Options of `cuda:N` are node, spin_us (default 500; at most 100000 if a watchdog ends long
 * kernels), and
 *
 *   transport=push  copies batches into device memory ahead of the steps. The default, unless
 *                   the device has no 64-bit stream memory operations: then the default is
 *                   pull, and an explicit push fails with E_UNSUPPORTED
 *   transport=pull  GetNext reads batches from page-locked host memory: no copies ahead of the
 *                   steps, no device memory for slots, no driver call for each batch
 *
 *   poll_us=N       microseconds for which a host thread polls the device before it blocks
 *                   (default 30)
 *   copy_streams=S  with push: CUDA streams that copies alternate between, 1 or 2 (default 2)
 *   unroll=U        mode loop: U steps, 1 to 64 (default 1), per iteration of the loop, to
 *                   amortize its cost; an iteration waits for all of its batches together. Useful
 *                   for steps of about ten microseconds. U is clamped to the number of slots; with
 *                   micro-batches it is 1
 *
 * The first `cuda:N` of a process sets the environment variable CUDA_MODULE_LOADING to EAGER, so
 * that CUDA loads kernels at initialization and not during a sink. It does so only if the
 * variable is not set and the driver library is not loaded, and logs it at level info. Child
 * processes inherit the variable. setenv() races with getenv() in other threads: open the device
 * before starting threads, or set the variable yourself to EAGER or to LAZY (CUDA's default).
 *
 * @param uri         a device name as above; NULL means `auto`
 * @param device_out  owned by the caller; close it by sluice_device_close()
 *
 * Returns: E_INVALID the name cannot be parsed, or the local rank of `cuda:local` is not known;
 *          E_NO_DEVICE the device does not exist, has no driver, or is not supported by this build;
 *          E_UNSUPPORTED the device lacks a feature that an option requires; E_DEVICE the device
 *          failed; E_NO_MEMORY.
 *
 * Threads: any; see above for the first `cuda:N`.
 */
SLUICE_API_CHECKED sluice_status sluice_device_open(const char *uri, sluice_device **device_out);

/**
 * Closes a device that is no longer in use. NULL is allowed.
 *
 * Threads: any, once no run, channel or other call uses the device.
 */
SLUICE_API void sluice_device_close(sluice_device *device);

/**
 * Returns the name, "host:0"; valid until the device is closed. NULL: "".
 *
 * Threads: any, while the device is open.
 */
SLUICE_API const char *sluice_device_name(const sluice_device *device);

SLUICE_END_DECLS

#endif
