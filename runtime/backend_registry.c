/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of devices in this build. The first that opens is `auto`; host is last and always is.
 */
#include "backend_int.h"

const sli_backend *const sli_backends[] = {
#if defined(SLI_HAVE_CUDA)
    &sli_cuda_backend,
#endif
    &sli_host_backend, NULL};
