# SPDX-License-Identifier: Apache-2.0
# Copies its input, a line at a time, and writes the longest time between two lines, in whole seconds, to
# the file that is named.
use strict;
use warnings;

my ($file) = @ARGV;
my ($before, $longest) = (time, 0);
$| = 1;
while (<STDIN>) {
    my $now = time;
    $longest = $now - $before if $now - $before > $longest;
    $before = $now;
    print;
}
open(my $out, '>', $file) or die "$file: $!\n";
printf $out "%d\n", $longest;
