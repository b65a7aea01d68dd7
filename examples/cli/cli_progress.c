/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on a terminal, for commands that take long. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { BAR_WIDTH = 24 };

static const double REDRAW_S = 0.1;

void cli_progress_begin(cli_progress *progress)
{
    *progress = (cli_progress){.is_terminal = isatty(STDERR_FILENO) == 1};
}

void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t here, uint64_t all,
                       double seconds)
{
    const double rate = seconds > 0 ? (double)here / seconds : 0;
    const int filled = all > 0 ? (int)((double)done / (double)all * BAR_WIDTH) : 0;
    char bar[BAR_WIDTH + 1];

    if (!progress->is_terminal ||
        (progress->is_shown && (done < all || all == 0) && seconds - progress->shown < REDRAW_S)) {
        return;
    }
    progress->is_shown = true;
    progress->shown = seconds;
    if (all == 0) { /* nobody knows how many there are */
        fprintf(stderr, "\r%" PRIu64 ", %.0f images/s\033[K", done, rate);
        fflush(stderr);
        return;
    }
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %" PRIu64 "/%" PRIu64 ", %.0f images/s", bar, done, all, rate);
    if (rate > 0) {
        fprintf(stderr, ", %.0f s left", ceil((double)(all - done) / rate));
    }
    fprintf(stderr, "\033[K");
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->is_shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    progress->is_shown = false;
}
