# SPDX-License-Identifier: Apache-2.0
# The circles of a graph: its strongly connected components of two nodes or more. Reads a line
# `FROM TO [WHY]` for each edge; prints `circle: NODE NODE ...` for each circle, and behind it, indented,
# its edges with up to three reasons each.
$1 != $2 {
    node[$1]
    node[$2]
    if (!(($1, $2) in edges)) {
        to[$1] = to[$1] " " $2
    }
    if ($3 != "" && ++edges[$1, $2] <= 3) {
        why[$1, $2] = why[$1, $2] " " $3
    }
    edges[$1, $2] += 0
}

# What can be reached from a node: reached[start, node].
function visit(start, from, n, i, next_nodes) {
    n = split(to[from], next_nodes, " ")
    for (i = 1; i <= n; i++) {
        if (!((start, next_nodes[i]) in reached)) {
            reached[start, next_nodes[i]]
            visit(start, next_nodes[i])
        }
    }
}

END {
    for (a in node) {
        visit(a, a)
    }
    for (a in node) {
        if (!((a, a) in reached) || a in shown) {
            continue
        }
        count = 0
        line = ""
        for (b in node) {
            if ((a, b) in reached && (b, a) in reached) {
                shown[b]
                members[++count] = b
                line = line " " b
            }
        }
        print "circle:" line
        for (i = 1; i <= count; i++) {
            for (j = 1; j <= count; j++) {
                if ((members[i], members[j]) in edges) {
                    print "    " members[i] " needs " members[j] ":" why[members[i], members[j]]
                }
            }
        }
    }
}
