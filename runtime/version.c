/* SPDX-License-Identifier: Apache-2.0 */
/* Version and build options. */
#include <sluice/version.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

const char *sluice_version(void)
{
    return SLUICE_VERSION;
}

const char *sluice_build_options(void)
{
    return "cuda " SLI_BUILD_CUDA ", png " SLI_BUILD_PNG ", zlib " SLI_BUILD_ZLIB
           ", archive " SLI_BUILD_ARCHIVE ", jansson " SLI_BUILD_JANSSON ", yaml " SLI_BUILD_YAML
           ", expat " SLI_BUILD_EXPAT ", sqlite " SLI_BUILD_SQLITE ", modules " SLI_BUILD_MODULES
           ", kernels " SLI_BUILD_KERNELS ", sanitize " SLI_BUILD_SANITIZE ", " COMPILER;
}
