# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# What shell tests share: a folder of the test's own, a line for each check, the counts at the end.
# Sourced, with the test's name in $title and, for what asks of a build, its folder in $build.
passed=0
failed=0
skipped=0
code=""
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: >"$tmp/out"
: >"$tmp/err"
: >"$tmp/log"
python=$(command -v python3) || python=""

pass() {
    passed=$((passed + 1))
    echo "ok   $1"
}

# fail NAME [WHY]
fail() {
    failed=$((failed + 1))
    echo "FAIL $1${2:+: $2}"
    evidence
}

# What is known of a failure: how the last command of run ended, what the last condition said.
evidence() {
    [ -z "$code" ] ||
        echo "     exit $code; stdout: $(head -c 500 "$tmp/out"); stderr: $(head -c 500 "$tmp/err")"
    tail -n 20 "$tmp/log" | cut -c 1-1000 | sed 's/^/     /'
}

# skip [WHAT] WHY
skip() {
    skipped=$((skipped + 1))
    echo "SKIP $title: $1${2:+: $2}"
}

# skip_rest [WHAT] WHY: and this is the end.
skip_rest() {
    skip "$@"
    finish
}

# The last line, and the end. Doing nothing is no success.
finish() {
    echo "$title: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
    exit
}

# check NAME CONDITION...: a command that says whether it holds; what it prints is in $tmp/log.
check() {
    name=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        pass "$name"
    else
        fail "$name" "$*"
        return 1
    fi
}

# run COMMAND...: then $code, $tmp/out and $tmp/err.
run() {
    : >"$tmp/log"
    "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
}

# ends NAME CODE COMMAND...: runs it, and checks how it ends.
ends() {
    name=$1
    want=$2
    shift 2
    run "$@"
    if [ "$code" -eq "$want" ]; then pass "$name"; else fail "$name" "want exit $want"; fi
}

# expect NAME CODE ARGUMENTS...: the same of the build's tool.
expect() {
    name=$1
    want=$2
    shift 2
    ends "$name" "$want" "$build/bin/sluice" "$@"
}

out_has() { grep -qe "$1" "$tmp/out"; }
err_has() { grep -qe "$1" "$tmp/err"; }

# json EXPRESSION: stdout is exactly one JSON object `j` of which the expression holds, or it cannot
# be told.
json() {
    [ -n "$python" ] || return 0
    "$python" -c 'import json, sys
text = open(sys.argv[1], encoding="utf-8").read()
j = json.loads(text)
assert isinstance(j, dict) and text.count("\n") == 1 and j["schema"] == 1
assert isinstance(j["status"], str) and (j["error"] is None) != j["status"].startswith("E_")
assert eval(sys.argv[2]), (sys.argv[2], j)' "$tmp/out" "$1"
}

# empty FILE: it is there and holds nothing; else it is shown.
empty() { [ -f "$1" ] && ! grep '' "$1"; }

# cached NAME: what CMake was told of it, or found, for the build.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

# install_build: installs the build into $prefix, its libraries into $lib, and sets the environment to use them.
install_build() {
    [ -z "$(cached SLUICE_SANITIZE)" ] ||
        skip_rest "everything" "a sanitized library is not what users install"
    prefix=$tmp/prefix
    check "it installs" cmake --install "$build" --prefix "$prefix" || finish
    lib=$(dirname "$(find "$prefix" -name libsluice.a)")
    export PKG_CONFIG_PATH="$lib/pkgconfig"
    export LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}
