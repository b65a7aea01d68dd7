/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qualifiers of functions that run on the CPU and on devices from one source: C for a C compiler,
 * C++ for nvcc.
 */
#ifndef SLUICE_DEVICE_FN_INT_H
#define SLUICE_DEVICE_FN_INT_H

#if defined(__CUDACC__)
#define SLI_DEVICE_FN __host__ __device__ static __forceinline__ /* callable on host and device */
#define SLI_KERNEL_FN __device__ static __forceinline__          /* part of a kernel */
#define SLI_UNROLL    _Pragma("unroll")                          /* keeps arrays in registers */
#define SLI_NO_UNROLL _Pragma("unroll 1")                        /* keeps code small */
#define SLI_UNROLL_2  _Pragma("unroll 2")
#else
#define SLI_DEVICE_FN static inline
#define SLI_KERNEL_FN static inline
#define SLI_UNROLL
#define SLI_NO_UNROLL
#define SLI_UNROLL_2
#endif

#endif
