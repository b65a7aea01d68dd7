/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar of long-running commands. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

enum { BAR_WIDTH = 24 };

static const double REDRAW_S = 0.1;

void cli_progress_begin(cli_progress *progress)
{
    const char *term = getenv("TERM"); /* TERM=dumb: no escape sequences */
    const bool is_dumb = term != NULL && strcmp(term, "dumb") == 0;

    *progress = (cli_progress){.is_terminal = isatty(STDERR_FILENO) == 1 && !is_dumb};
}

/* Truncates the line to the width of the terminal, since a line that wraps could not be erased. */
static void draw_line(const char *line)
{
    struct winsize window;
    int columns = 80;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        columns = window.ws_col;
    }
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    fflush(stderr);
}

void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t here, uint64_t all,
                       double seconds)
{
    const double rate = seconds > 0 ? (double)here / seconds : 0;
    const int filled = all > 0 ? (int)((double)done / (double)all * BAR_WIDTH) : 0;
    char bar[BAR_WIDTH + 1];
    char left[40] = "";
    char line[160];

    if (!progress->is_terminal ||
        (progress->is_shown && (done < all || all == 0) && seconds - progress->shown < REDRAW_S)) {
        return;
    }
    progress->is_shown = true;
    progress->shown = seconds;
    if (all == 0) { /* the number is unknown */
        snprintf(line, sizeof(line), "%" PRIu64 ", %.0f images/s", done, rate);
        draw_line(line);
        return;
    }
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = '\0';
    if (rate > 0) {
        snprintf(left, sizeof(left), ", %.0f s left", ceil((double)(all - done) / rate));
    }
    snprintf(line, sizeof(line), "[%s] %" PRIu64 "/%" PRIu64 "%s, %.0f images/s", bar, done, all,
             left, rate);
    draw_line(line);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->is_shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    progress->is_shown = false;
}
