/* SPDX-License-Identifier: Apache-2.0 */
/* The backends of this build in the order in which `auto` tries them; the last, host, always
 * opens. */
#include "backend_int.h"

const sli_backend *const sli_backends[] = {
#if defined(SLI_HAVE_CUDA)
    &sli_cuda_backend,
#endif
    &sli_host_backend, NULL};
