#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The contract of the tool: exit codes, what goes to stdout and what to stderr, one JSON object
# whatever happens, every option, signals. test_cli.sh BUILD_DIR; a line for each check, and last
# `cli: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_cli.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
title=cli
. "$here/shell_kit.sh"
sluice=$build/bin/sluice

out_empty() { [ ! -s "$tmp/out" ]; }
err_empty() { [ ! -s "$tmp/err" ]; }
same_lines() { cmp -s "$1" "$2"; }

[ -n "$python" ] || skip "what JSON says" "no python3"

# 20 batches of 5; endless ones.
small='synthetic samples=100 shape=8,8,3 | shuffle | random_horizontal_flip | batch 5'
endless='synthetic samples=1000000000000 shape=8,8,3 | batch 2'

# ---- commands, help, version ----------------------------------------------------------------------

expect "no command is an error of words" 2
check "... that is said on stderr" err_has 'the command is missing'
check "... alone" out_empty
expect "an unknown command is an error of words" 2 frobnicate
check "... that names it" err_has "no command 'frobnicate'"
expect "an unknown command with --json" 2 frobnicate --json
check "... says so in one object" json 'j["status"] == "E_INVALID" and "frobnicate" in j["error"]'
for option in help --help -h; do
    expect "sluice $option" 0 $option
    check "... lists the commands" out_has '^  bench '
    check "... on stdout alone" err_empty
done
expect "sluice --version" 0 --version
check "... tells version and options" out_has '^sluice [0-9]*\.[0-9]*\.[0-9]* (cuda .*)$'
cuda_is_off=$(grep -c 'cuda off' "$tmp/out")

for command in $("$sluice" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    run "$sluice" help "$command"
    check "help $command" [ "$code" -eq 0 ]
    check "... begins with its usage" out_has "^usage: sluice $command"
    cp "$tmp/out" "$tmp/page"
    for option in --help -h; do
        run "$sluice" "$command" $option
        check "$command $option is the same page" same_lines "$tmp/out" "$tmp/page"
    done
    # What a page lists is known to the command: it wants a value, or something else, but knows it.
    [ "$command" = help ] && continue
    for option in $(sed -n 's/^  \(--[a-z-]*\).*/\1/p' "$tmp/page"); do
        run "$sluice" "$command" "$option"
        if err_has 'unknown option'; then fail "$command knows $option"; else pass "$command knows $option"; fi
    done
done
for option in device mode sink-size epochs steps seconds workers slots memory seed rank world \
    start-step step-us on-error digest digests ids json; do
    run "$sluice" help bench
    check "help bench lists --$option" out_has "^  --$option "
done

run "$sluice" help stages
check "help stages" [ "$code" -eq 0 ]
cp "$tmp/out" "$tmp/stages"
for stage in $(sed -n 's/^\([a-z][a-z0-9_]*\).*/\1/p' "$tmp/stages"); do
    run "$sluice" help "$stage"
    check "help $stage" [ "$code" -eq 0 ]
    check "... is about it" out_has "^$stage"
    run "$sluice" help stages "$stage"
    check "help stages $stage" [ "$code" -eq 0 ]
done
expect "help for what is nothing is an error of words" 2 help shufle
check "... with the nearest name" err_has 'no command of that name, and no stage .*shuffle'
check "... on stderr alone" out_empty

# ---- the manual -----------------------------------------------------------------------------------

run "$sluice" help --man
check "help --man" [ "$code" -eq 0 ]
cp "$tmp/out" "$tmp/sluice.1"
check "docs/man/sluice.1 is what help --man prints (bin/sluice help --man >docs/man/sluice.1)" \
    same_lines "$tmp/sluice.1" "$here/../docs/man/sluice.1"
for section in NAME SYNOPSIS DESCRIPTION COMMANDS STAGES 'EXIT STATUS' ENVIRONMENT EXAMPLES; do
    check "the manual has $section" out_has "^.SH $section$"
done
run "$sluice" help --markdown
check "help --markdown" [ "$code" -eq 0 ]
cp "$tmp/out" "$tmp/stages.md"
check "docs/guide/stages.md is what help --markdown prints (bin/sluice help --markdown >docs/guide/stages.md)" \
    same_lines "$tmp/stages.md" "$here/../docs/guide/stages.md"
linted=""
if command -v groff >/dev/null; then
    linted=yes
    code=0
    groff -ww -Tutf8 -man -z "$tmp/sluice.1" >"$tmp/out" 2>"$tmp/err" || code=$?
    check "groff has no warning of it" err_empty
fi
if command -v mandoc >/dev/null; then
    linted=yes
    code=0
    mandoc -Tlint -W warning "$tmp/sluice.1" >"$tmp/out" 2>"$tmp/err" || code=$?
    check "mandoc has no warning of it" out_empty
fi
[ -n "$linted" ] || skip "the manual is good roff" "neither groff nor mandoc"

# ---- bytes ------------------------------------------------------------------------------------------

for bytes in 1099511627776 1073741824K 1048576M 1024G 1T; do
    expect "--memory $bytes is a number of bytes" 0 bench "$small" --memory $bytes
done

# ---- explain ----------------------------------------------------------------------------------------

expect "explain" 0 explain "$small"
check "... writes a stage on each line" out_has '^synthetic samples=100 '
check "... and out the defaults" out_has '^  | random_horizontal_flip p=0.5 offload=auto$'
check "... and tells the plan" out_has '^batches: 20 a pass of 5 rows'
check "... on stdout alone" err_empty
sed '/^$/q' "$tmp/out" >"$tmp/written"
expect "what it writes is a pipeline" 0 explain "$(cat "$tmp/written")"
sed '/^$/q' "$tmp/out" >"$tmp/again"
check "... the same" same_lines "$tmp/written" "$tmp/again"
expect "explain of nested stages" 0 explain \
    "synthetic 9 8,8,3 | random_apply 0.8 (random_order (random_invert) (random_equalize | rotate 5)) | batch 3"
check "... keeps them on the lines of their stage" out_has '^  | batch n=3'
check "... and writes no line for what is in parentheses" sh -c '! grep -q "^  | rotate" "$1"' - "$tmp/out"
expect "explain --json" 0 explain "$small" --json
check "... has it in one object" json 'j["samples"] == 100 and j["batches"] == 20 and "pass" in j["plan"] and j["pipeline"].startswith("synthetic")'
expect "explain --sample" 0 explain 'synthetic 8 20,30,3 | center_crop 8 | batch 2' --sample 3 --pass 2 --seed 5
check "... says what is drawn" out_has '^step 0: center_crop: 8x8 at (11, 6) of 30x20$'
expect "explain --sample --json" 0 explain 'synthetic 8 20,30,3 | center_crop 8 | batch 2' --sample 3 --json
check "... has the text" json 'j["sample"].startswith("sample 3 in pass 0: synthetic/3, 30x20")'
expect "explain --pass without --sample" 2 explain 'synthetic 8 20,30,3 | center_crop 8 | batch 2' --pass 2
expect "explain of what is no pipeline" 2 explain 'synthetic | nonsense | batch 5' --json
check "... says so in one object" json 'j["status"] == "E_INVALID" and "nonsense" in j["error"]'
expect "explain of a folder that is not there" 1 explain "image_folder $tmp/nowhere | decode | resize 8,8 | batch 5"
check "... names it" err_has nowhere
check "... on stderr alone" out_empty
expect "explain of nothing" 2 explain
mkdir -p "$tmp/it's | here/a" && "$sluice" synth "$tmp/odd" --classes 1 --per-class 5 --size 8 >/dev/null &&
    mv "$tmp/odd/train/"*/*.jpg "$tmp/it's | here/a"
expect "explain of a path with a quote, a bar and blanks" 0 \
    explain "image_folder \"$tmp/it's | here\" | decode | resize 8,8 | batch 1"
check "... does not break it" out_has "it'\"'\"'s | here' extensions"
check "... and breaks the stages" out_has '^  | decode '

# ---- classes ----------------------------------------------------------------------------------------

mkdir -p "$tmp/named/dog" "$tmp/named/cat" "$tmp/named/a b"
for class in dog cat "a b"; do cp "$tmp/it's | here/a/"*0.jpg "$tmp/named/$class"; done
printf '0\ta b\n1\tcat\n2\tdog\n' >"$tmp/names"
expect "classes of a folder" 0 classes "$tmp/named"
check "... by their labels" same_lines "$tmp/out" "$tmp/names"
expect "classes of a pipeline" 0 classes "image_folder $tmp/named | shuffle | decode | resize 8,8 | batch 2"
check "... are the same" same_lines "$tmp/out" "$tmp/names"
expect "classes --json" 0 classes "$tmp/named" --json
check "... has them in one object" json 'j["classes"] == ["a b", "cat", "dog"]'
printf 'label:class,x:f32\nemu,1\nbee,2\n' >"$tmp/named.csv"
printf 'label:class,x:f32\nemu,1\n' >"$tmp/fewer.csv"
expect "classes of a list with names" 0 classes "image_list $tmp/named.csv"
check "... are sorted" [ "$(cat "$tmp/out")" = "$(printf '0\tbee\n1\temu')" ]
cp "$tmp/out" "$tmp/named.txt"
expect "classes= reads what classes prints" 0 classes "image_list $tmp/fewer.csv classes=$tmp/named.txt"
check "... the same numbers" cmp "$tmp/out" "$tmp/named.txt"
expect "classes of what has no names" 1 classes "$small" --json
check "... says so in one object" json 'j["status"] == "E_UNSUPPORTED" and "has no names of classes" in j["error"]'
expect "classes of a folder that is not there" 2 classes "$tmp/nowhere"
check "... names it" err_has 'classes: there is no folder .*nowhere'
mkdir "$tmp/flat" && cp "$tmp/it's | here/a/"*.jpg "$tmp/flat"
expect "classes of a folder without class folders" 1 classes "$tmp/flat"
check "... names the source that reads it" err_has "image_list has no names of classes"
for command in bench show explain; do
    expect "$command of a folder" 2 "$command" "$tmp/flat"
    check "... has the pipeline to write" err_has \
        "$command: $tmp/flat is a path, and $command takes a pipeline, such as .image_list $tmp/flat | decode | resize 224,224 | batch 32.$"
    expect "$command of a list without images" 2 "$command" "$tmp/named.csv"
    check "... has the pipeline to write" err_has "such as .image_list $tmp/named.csv | batch 32.$"
done
mkdir "$tmp/a b" && cp "$tmp/flat/"*.jpg "$tmp/a b"
expect "explain of a path with blanks" 2 explain "$tmp/a b"
check "... has it in quotes" err_has "such as .image_list '$tmp/a b' | decode"
touch "$tmp/x.bin"
expect "explain of a path without all arguments" 2 explain "$tmp/x.bin"
check "... names them" err_has 'a path alone does not say all that tokens must know'
expect "classes of nothing" 2 classes

# ---- -f FILE, --arg NAME VALUE, -- --------------------------------------------------------------------

odd="$tmp/it's | # here"
mkdir -p "$odd" && cp -r "$tmp/named" "$odd/"
printf '# pictures\nimage_folder ${DIR}/named\n| decode | resize ${SIZE:-8,8}\n| batch 1\n' >"$tmp/a.pipe"
expect "-f FILE with --arg" 0 explain -f "$tmp/a.pipe" --arg DIR "$odd"
check "... takes a path with a quote, a bar and blanks as it is" out_has "it'\"'\"'s | # here/named' extensions"
check "... and the default of what is not given" out_has 'resize size=8,8 '
expect "--arg of a pipeline that is a word" 0 explain 'image_folder ${DIR}/named | decode | resize ${SIZE:-8,8} | batch 1' --arg SIZE 9 --arg DIR "$odd"
check "... comes before the default" out_has 'resize size=9 '
ends "a variable of the environment" 0 env DIR="$odd" "$sluice" explain -f "$tmp/a.pipe"
expect "bench -f" 0 bench --steps 1 --arg DIR "$odd" -f "$tmp/a.pipe"
expect "classes -f" 0 classes -f "$tmp/a.pipe" --arg DIR "$odd"
check "... has the names" same_lines "$tmp/out" "$tmp/names"
printf 'image_folder ${DIR}/named' >"$tmp/source.pipe"
expect "pack -f" 0 pack -f "$tmp/source.pipe" "$tmp/of-file" --arg DIR "$odd"
check "... packs into the one word" [ -e "$tmp/of-file/pack.json" ]
expect "... and says how to give a variable" 2 explain -f "$tmp/a.pipe" --json
check "... with the place" json '"a.pipe:2:14: ${DIR} has no value; give it as an argument (--arg DIR VALUE" in j["error"]'
printf 'synthetic |\n  tkae 3\n' >"$tmp/wrong.pipe"
expect "a wrong file" 2 explain -f "$tmp/wrong.pipe"
check "... is an error with line and column" err_has "wrong.pipe:2:3: no stage 'tkae'; nearest is take"
expect "an unknown name in --arg" 2 explain -f "$tmp/a.pipe" --arg DIR "$odd" --arg SIEZ 9
check "... is named, with those that there are" err_has 'argument SIEZ: the pipeline has no ${SIEZ}, it has ${DIR} ${SIZE}'
expect "--arg twice for a name" 2 explain -f "$tmp/a.pipe" --arg DIR "$odd" --arg DIR x
check "... is refused" err_has 'argument DIR is given twice'
for words in '--arg' '--arg DIR' '--arg=DIR x'; do
    # shellcheck disable=SC2086
    expect "explain $words" 2 explain -f "$tmp/a.pipe" $words
    check "... wants two words" err_has '--arg must have two words, NAME VALUE'
done
expect "--arg of a folder" 2 classes "$tmp/named" --arg DIR x
check "... has no use" err_has 'is a path, which has no ${DIR}'
for command in bench explain classes; do
    expect "$command of a pipeline and of a file" 2 $command "$small" -f "$tmp/a.pipe"
    check "... is refused" err_has '-f .*a.pipe is the pipeline, and so is .synthetic'
done
expect "pack of a word and of a file" 2 pack "$small" "$tmp/to" -f "$tmp/a.pipe"
expect "pack -f without DST" 2 pack -f "$tmp/a.pipe"
expect "-f without a file" 2 explain -f
check "... wants one" err_has 'explain: -f needs a value'
expect "-f of a file that is not there" 1 explain -f "$tmp/nowhere.pipe"
check "... names it" err_has 'nowhere.pipe'
mkfifo "$tmp/fifo"
head -c 1048577 /dev/zero | tr '\0' ' ' >"$tmp/large"
for file in "$tmp" "$tmp/fifo" "$tmp/large" "$build/bin/sluice" /dev/null; do
    expect "-f $(basename "$file") is no file of a pipeline" 2 explain -f "$file" --json
    check "... which is said in one object" json 'j["status"] == "E_INVALID"'
done
mkdir "$tmp/pipes"
mkfifo "$tmp/pipes/shard-000000.tar" "$tmp/pipes/pack.lock"
echo 1 >"$tmp/pipes/pack.txt"
for path in "$tmp/fifo" "$tmp/pipes"; do
    run timeout 60 "$sluice" verify "$path"
    check "verify of $(basename "$path") does not wait for a pipe" [ "$code" -eq 1 ]
done
check "... and names the shard that is one" out_has 'pipes/shard-000000.tar: this must be a regular file'
run timeout 60 "$sluice" verify "$tmp/fifo"
check "... and the pipe" err_has '/fifo must be a folder or a file'
expect "verify of a pipeline" 0 verify 'synthetic samples=7 | batch 4'
check "... reads all samples of its source" out_has ': 7 of 7 samples read; 0 problems$'
for word in --json -h; do
    expect "$word as the value of --arg" 2 explain 'image_folder ${A} |' --arg A $word
    check "... is no option" out_empty
    expect "$word behind --" 2 explain -- $word
    check "... is no option" out_empty
done
(cd "$tmp" && mkdir ./--named && cp -r named/* ./--named)
sluice_at=$(cd "$build" && pwd)/bin/sluice
(cd "$tmp" && "$sluice_at" classes -- --named) >"$tmp/out" 2>"$tmp/err"
check "a folder whose name begins with dashes can stand behind --" same_lines "$tmp/out" "$tmp/names"

# ---- columns of a terminal --------------------------------------------------------------------------

narrow() { ! LC_ALL=C.UTF-8 grep -n '.\{81\}' "$1"; }
for words in help 'help stages' topo 'topo --synthetic numa:2 --ranks 3' \
    $("$sluice" help | sed -n 's/^  \([a-z]*\) .*/\1,-h/p'); do
    # shellcheck disable=SC2086
    run "$sluice" $(echo "$words" | tr , ' ')
    check "sluice $words fits 80 columns" narrow "$tmp/out"
done
wide="synthetic samples=100 shape=64,64,3 | shuffle | random_resized_crop 32 | normalize imagenet | to_chw | batch 5"
for command in explain bench; do
    run "$sluice" $command "$wide"
    check "$command fits 80 columns" narrow "$tmp/out"
    check "... on stderr, too" narrow "$tmp/err"
done

# ---- topo -----------------------------------------------------------------------------------------

expect "topo" 0 topo
check "... tells of the machine" out_has '^machine '
check "... on stdout alone" err_empty
expect "topo --synthetic" 0 topo --synthetic 'numa:2 core:4 pu:1' --workers 3 --ranks 2
check "... plans for that machine" out_has '2 nodes'
expect "topo --json" 0 topo --json --synthetic 'numa:2 core:4 pu:1' --device host:0
if [ -n "$python" ]; then
    check "... is one object" "$python" -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert len(j["nodes"]) == 2 and len(j["plans"]) == 1 and "machine" in j and "notes" in j' "$tmp/out"
fi
expect "topo of a machine that makes no sense" 2 topo --synthetic 'numa:zwei' --json
check "... says so in one object" json 'j["status"] == "E_INVALID"'
expect "topo of a file that is not there" 1 topo --xml "$tmp/nothing.xml" --json
check "... says so in one object" json 'j["status"] == "E_IO" and "nothing.xml" in j["error"]'
expect "topo --ranks 0" 2 topo --ranks 0 --json
check "... says so in one object" json '"--ranks 0" in j["error"]'
expect "topo --workers 1025" 2 topo --workers 1025
expect "topo --emit" 0 topo --synthetic 'core:4 pu:1' --ranks 2 --emit srun
check "... prints a command" out_has '^srun --ntasks-per-node=2 --cpu-bind=mask_cpu:0x3,0xc ./train$'
expect "topo --emit of an unknown launcher" 2 topo --emit aprun
expect "topo with a word too many" 2 topo here
expect "topo of an unknown device" 2 topo --device tpu:0 --json
check "... says so in one object" json '"tpu:0" in j["error"]'

# ---- bench: what goes where ----------------------------------------------------------------------

expect "bench" 0 bench "$small"
check "... reports on stdout" out_has '^20 steps, 100 samples in '
check "... with the table" out_has '^stage  *sustains/s '
check "... and a verdict" out_has '^bottleneck: '
check "... tells its plan on stderr" err_has '^plan: 20 steps '
check "... only there" sh -c '! grep -q "^plan:" "$1"' - "$tmp/out"
check "... and draws no bar where there is no terminal" sh -c '! grep -q "steps/s, .*samples/s, data" "$1"' - "$tmp/err"
expect "bench --json" 0 bench "$small" --json
check "... prints one object" json 'j["steps"] == 20 and j["samples"] == 100 and j["status"] == "OK"'
ends "bench with stderr closed" 0 sh -c '"$@" 2>&-' - "$sluice" bench "$small" --json
check "... prints its object all the same" json 'j["steps"] == 20'

# ---- on a terminal --------------------------------------------------------------------------------

# on_terminal TERM ARGUMENTS...: what the tool writes to a terminal of that kind, in $tmp/out.
on_terminal() {
    term=$1
    shift
    env TERM="$term" "$python" -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$sluice" "$@" \
        </dev/null >"$tmp/out" 2>"$tmp/err"
}
escapes() { tr -cd '\033' <"$tmp/out" | wc -c; }

if [ -n "$python" ] && on_terminal xterm bench "$small" && out_has '^bottleneck: '; then
    check "bench draws a bar on a terminal" [ "$(escapes)" -gt 0 ]
    check "... that ends with all steps" out_has '20/20, 0 s left, epoch 1, data wait'
    check "... without the loss of an empty step" sh -c '! grep -q loss "$1"' - "$tmp/out"
    on_terminal dumb bench "$small"
    check "bench writes no escape sequences with TERM=dumb" [ "$(escapes)" -eq 0 ]
    on_terminal xterm synth "$tmp/drawn" --per-class 5
    check "synth draws a bar on a terminal" out_has '/50, [0-9]* s left, [0-9]* images/s'
    on_terminal dumb synth "$tmp/not-drawn" --per-class 5
    check "... and writes no escape sequences with TERM=dumb" [ "$(escapes)" -eq 0 ]
    on_terminal xterm verify "$tmp/drawn/test"
    check "verify draws a bar on a terminal" [ "$(escapes)" -gt 0 ]
    on_terminal dumb verify "$tmp/drawn/test"
    check "... and writes no escape sequences with TERM=dumb" [ "$(escapes)" -eq 0 ]
    rm -rf "$tmp/drawn" "$tmp/not-drawn"
else
    skip "a terminal" "no python3, or no pseudo terminal"
fi

# ---- bench: options -------------------------------------------------------------------------------

# good NAME EXPRESSION ARGUMENTS...: ends well, and its JSON is so.
good() {
    name=$1
    expression=$2
    shift 2
    run "$sluice" bench "$@" --json
    if [ "$code" -ne 0 ]; then fail "$name" "want exit 0"; return; fi
    if json "$expression"; then pass "$name"; else fail "$name" "$expression"; fi
}

# bad NAME TEXT ARGUMENTS...: an error of words, said on stderr and in one object.
bad() {
    name=$1
    text=$2
    shift 2
    run "$sluice" bench --json "$@"
    if [ "$code" -ne 2 ]; then fail "$name" "want exit 2"; return; fi
    if err_has "$text" && json 'j["status"] == "E_INVALID" and len(j["error"]) > 0'; then
        pass "$name"
    else
        fail "$name" "want '$text' on stderr and in one object"
    fi
}

good "--device host:0,copy=1" 'j["bytes_h2d"] > 0' "$small" --device host:0,copy=1
good "--device=host:3" 'j["environment"]["device"] == "host:3"' "$small" --device=host:3
for mode in auto direct data graph loop; do
    good "--mode $mode" "j['mode'] == ('loop' if '$mode' == 'auto' else '$mode') and j['steps'] == 21" \
        "$small" --mode $mode --sink-size 7 --epochs 3
done
good "--sink-size -1" 'j["steps"] == 40 and j["epochs"] == 2 and j["launches"] == 2' "$small" --sink-size -1 --epochs 2
good "--sink-size 7" 'j["steps"] == 7 and j["epochs"] == 1' "$small" --sink-size 7
good "--steps 33" 'j["steps"] == 33 and j["launches"] == 4' "$small" --sink-size 10 --steps 33
good "--seconds 0.05" 'j["status"] == "OK" and j["seconds"] >= 0.05' "$endless" --seconds 0.05
good "--workers 3" 'len([p for p in j["placement"] if p.get("thread", "").startswith("sluice/w/")]) == 3' "$small" --workers 3
good "--workers auto" 'j["steps"] == 20' "$small" --workers auto
good "--slots 9" 'j["queues"][-1]["capacity"] == 9' "$small" --slots 9
good "--memory 6K makes fewer slots" 'j["queues"][-1]["capacity"] == 3 and j["memory"]["slot_bytes"] <= 6144' \
    "$small" --memory 6K
good "--step-us 500" 'j["seconds"] >= 0.01' "$small" --step-us 500
good "--rank 1 --world 4" 'j["samples"] == 25 and j["steps"] == 5' "$small" --rank 1 --world 4
# What mpirun sets: each process is a rank of one job, unless options say otherwise.
launched() { # RANK WORLD ARGUMENTS...
    OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=$2
    export OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
    shift 2
    "$@"
    unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
}
launched 1 4 good "a rank of mpirun" 'j["samples"] == 25 and j["steps"] == 5' "$small"
launched 1 4 good "a rank of mpirun, with --world 1" 'j["samples"] == 100' "$small" --world 1
launched 0 2 good "--ids of rank 0" 'j["steps"] == 10' "$small" --ids "$tmp/ids-%r"
launched 1 2 good "--ids of rank 1" 'j["steps"] == 10' "$small" --ids "$tmp/ids-%r"
check "the ranks of mpirun share a pass" \
    [ "$(cut -d' ' -f2- "$tmp/ids-0" "$tmp/ids-1" | tr ' ' '\n' | sort -nu | wc -l)" -eq 100 ]
run launched 1 2 "$sluice" bench "$small"
check "a report of several ranks begins with the rank" grep -qx 'rank 1 of 2, process [0-9]* on .*' "$tmp/out"
check "... and only rank 0 prints the plan" sh -c '! grep -q plan: "$1"' sh "$tmp/err"
good "--start-step 15" 'j["steps"] == 5' "$small" --start-step 15
good "without --digest" 'j["digest"] is None' "$small"
good "--digest" 'len(j["digest"]) == 16 and int(j["digest"], 16) >= 0' "$small" --digest
digest=$(sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/' "$tmp/out")
expect "--digest without --json" 0 bench "$small" --digest
check "... is the same line of the report" grep -qx "digest $digest" "$tmp/out"
for policy in fail replace zero; do
    good "--on-error $policy" 'j["errors"]["failed"] == 0' "$small" --on-error $policy
done

bad "no pipeline" 'the pipeline is missing'
bad "two words" 'one word too many: .more.; put a pipeline, or a path with blanks, in quotes' "$small" more
bad "an unknown option" 'unknown option --frobnicate' "$small" --frobnicate 1
bad "an option without its value" '--steps needs a value' "$small" --steps
bad "a flag with a value" '--digest takes no value' "$small" --digest=1
bad "--device tpu:0" 'tpu:0' "$small" --device tpu:0
bad "--device host:0,colour=1" 'colour' "$small" --device host:0,colour=1
bad "--mode fast" 'must be one of auto direct data graph loop' "$small" --mode fast
bad "--on-error ignore" 'must be one of fail replace zero' "$small" --on-error ignore
for size in 0 -2 x 1.5 99999999999999999999; do bad "--sink-size $size" 'sink-size' "$small" --sink-size=$size; done
for count in 0 -1 x 1e3 ''; do
    bad "--epochs '$count'" 'epochs' "$small" --epochs=$count
    bad "--steps '$count'" 'steps' "$small" --steps=$count
    bad "--slots '$count'" 'slots' "$small" --slots=$count
    bad "--workers '$count'" 'workers' "$small" --workers=$count
done
for seconds in 0 -1 x nan inf; do bad "--seconds $seconds" 'seconds' "$small" --seconds $seconds; done
for bytes in 0 -1 x 5P 1KK K 99999999999999G; do bad "--memory $bytes" 'memory' "$small" --memory $bytes; done
bad "--slots 1" '2 to 1024' "$small" --slots 1
bad "--slots 1025" '2 to 1024' "$small" --slots 1025
bad "--slots 2 where slots are lent" 'slots=2 must be from 3 to 1024' "$small" --slots 2
bad "--workers 1025" '1 to 1024' "$small" --workers 1025
bad "--memory 100" 'more than the bound' "$small" --memory 100
bad "--seed x" 'seed' "$small" --seed x
bad "--rank 2 --world 2" 'rank' "$small" --rank 2 --world 2
bad "--world 0" 'world' "$small" --world 0
launched 1 2 bad "one file of two ranks" '--ids .* would be written by 2 ranks; put %r' "$small" --ids "$tmp/ids-all"
launched 1 2 good "--seconds of one of two ranks" 'j["steps"] > 0' "$small" --seconds 0.2
launched 2 2 bad "a rank beyond its world" 'OMPI_COMM_WORLD_RANK is 2' "$small"
bad "--start-step beyond the end" 'nothing left to do' "$small" --start-step 20
bad "--step-us 99999999999" 'step-us' "$small" --step-us 99999999999
for cuda in cuda cuda:0 cuda:7,transport=pull; do
    bad "--step-us on $cuda" "step-us .* a step of $cuda does not take; use --device host:0" "$small" --device $cuda --step-us 5
done
bad "--epochs and --steps" 'exclude each other' "$small" --epochs 1 --steps 1
bad "--epochs and --seconds" 'exclude each other' "$small" --epochs 1 --seconds 1
bad "--steps and --seconds" 'exclude each other' "$small" --seconds 1 --steps 1
bad "a pipeline that cannot be parsed" '\^' 'synthetic | shufle | batch 2'
check "... names the nearest stage" err_has 'shuffle'
bad "a pipeline without batch" 'no batch stage' 'synthetic'
bad "words that are no text" '\^' "$(printf '\377\301\n"\\')"

# ---- the world is wrong ---------------------------------------------------------------------------

expect "a folder that is not there" 1 bench "image_folder $tmp/nothing | decode | batch 2" --json
check "... says so in one object" json 'j["status"] == "E_IO" and "nothing" in j["error"]'
mkdir -p "$tmp/empty/class"
expect "a folder without images" 1 bench "image_folder $tmp/empty | decode | batch 2" --json
check "... says so in one object" json 'j["status"] == "E_INVALID" and j["error"].startswith("no valid data")'
mkdir -p "$tmp/broken/class"
echo 'no picture' >"$tmp/broken/class/1.jpg"
expect "a file that is no image" 1 bench "image_folder $tmp/broken | decode | resize 4,4 | batch 1" --json
check "... is named in one object" json '"1.jpg" in j["error"] and j["errors"]["failed"] <= 1'
expect "a pipe without bytes" 1 bench "webdataset - | decode | resize 4,4 | batch 1" --json </dev/null
check "... is called what it is" json '"standard input is empty" in j["error"]'
expect "a copy that fails" 1 bench "$small" --device host:0,copy=1,fail_after=5 --json
check "... ends with a whole report" json 'j["status"] == "E_DEVICE" and j["steps"] == 5'
expect "a device on which no steps run" 1 bench "$small" --device cuda:0 --json
if [ "$cuda_is_off" -eq 1 ]; then
    check "... says so in one object" json 'j["status"] == "E_NO_DEVICE" and "SLUICE_CUDA" in j["error"]'
else
    check "... says so in one object" json 'j["status"] in ("E_NO_DEVICE", "E_UNSUPPORTED") and "host:0" in j["error"]'
fi

# ---- files of --digests and --ids ---------------------------------------------------------------

digests="$tmp/digests"
for mode in direct data graph loop; do
    run "$sluice" bench "$small" --mode $mode --sink-size 7 --epochs 6 --seed 3 --workers 2 \
        --digests "$digests.$mode" --ids "$tmp/ids.$mode" --json
    check "--digests and --ids in mode $mode" [ "$code" -eq 0 ]
    check "... imply a digest of the run" json 'len(j["digest"]) == 16'
    check "... are the same in every mode" same_lines "$digests.$mode" "$digests.direct"
    check "... down to the samples" same_lines "$tmp/ids.$mode" "$tmp/ids.direct"
done
check "--digests has a line a step" [ "$(wc -l <"$digests.loop")" -eq 42 ]
check "... of step, epoch, pass, first sample, digest" \
    sh -c '! grep -qvE "^[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9a-f]{16}$" "$1"' - "$digests.loop"
check "... counted from 0 in epochs of a sink and passes of the data" \
    awk '$1 != NR - 1 || $2 != int((NR - 1) / 7) || $3 != int((NR - 1) / 20) {exit 1}' "$digests.loop"
check "--ids has the samples of each step" awk 'NF != 6 || $1 != NR - 1 {exit 1}' "$tmp/ids.loop"
head -n 20 "$tmp/ids.loop" | cut -d' ' -f2- | tr ' ' '\n' | sort -n >"$tmp/one_pass"
seq 0 99 >"$tmp/all_samples"
check "... each of them once a pass" same_lines "$tmp/one_pass" "$tmp/all_samples"
check "... the first being that of --digests" sh -c \
    '[ "$(cut -d" " -f2 "$1")" = "$(cut -d" " -f4 "$2")" ]' - "$tmp/ids.loop" "$digests.loop"
run "$sluice" bench "$small" --sink-size 7 --epochs 6 --seed 3 --start-step 17 --slots 7 --workers 1 \
    --device host:0,copy=1 --digests "$digests.resumed"
tail -n +18 "$digests.loop" >"$digests.rest"
check "a resumed run has the digests of the unbroken one" same_lines "$digests.resumed" "$digests.rest"
run "$sluice" bench "$small" --seed 4 --digests "$digests.other"
head -n 20 "$digests.loop" >"$digests.first"
check "another seed has other ones" sh -c '! cmp -s "$1" "$2"' - "$digests.other" "$digests.first"
printf '%s\n' 'synthetic samples=7 shape=4,4,3 | batch 2' >"$tmp/padded"
run "$sluice" bench "$(cat "$tmp/padded")" --ids "$tmp/ids.padded"
printf '0 0 1\n1 2 3\n2 4 5\n3 6\n' >"$tmp/ids.wanted"
check "rows that hold no sample have no number" same_lines "$tmp/ids.padded" "$tmp/ids.wanted"

# ---- what cannot be written ----------------------------------------------------------------------

expect "--digests where no file can be" 1 bench "$small" --digests "$tmp/no/such" --json
check "... says so in one object" json 'j["status"] == "E_IO" and "no/such" in j["error"]'
expect "--ids where no file can be" 1 bench "$small" --ids "$tmp/no/such" --json
check "... says so in one object" json 'j["status"] == "E_IO" and "no/such" in j["error"]'
if [ -e /dev/full ]; then
    for option in ids digests; do
        # A few lines wait in a buffer until the end; many do not.
        for steps in 2 2000; do
            expect "--$option on a full disk, $steps steps" 1 bench "$endless" --steps $steps --$option /dev/full --json
            check "... says so" err_has 'cannot write /dev/full: No space left'
            check "... in one object, too" json 'j["status"] == "E_IO"'
        done
    done
    for arguments in help --version 'help --man' topo 'topo --json'; do
        # shellcheck disable=SC2086
        "$sluice" $arguments >/dev/full 2>"$tmp/err"
        code=$?
        check "$arguments to a full disk" [ "$code" -eq 1 ]
        check "... says so" err_has 'cannot write to standard output: No space left'
    done
    for option in '' --json; do
        "$sluice" bench "$small" $option >/dev/full 2>"$tmp/err"
        code=$?
        check "bench $option to a full disk" [ "$code" -eq 1 ]
        check "... says so" err_has 'cannot write to standard output'
    done
else
    skip "a full disk" "no /dev/full"
fi
(ulimit -f 1; exec "$sluice" bench "$endless" --steps 2000 --ids "$tmp/limited" 2>"$tmp/err" >/dev/null)
code=$?
check "--ids beyond the limit of a file's size" [ "$code" -eq 1 ]
check "... says so" err_has 'cannot write .*limited: File too large'
for arguments in help --version topo; do
    "$sluice" $arguments >&- 2>"$tmp/err"
    code=$?
    check "$arguments to a closed stdout" [ "$code" -eq 1 ]
    check "... says so" err_has 'cannot write to standard output'
done
"$sluice" bench "$small" --json --ids "$tmp/ids.closed" >&- 2>"$tmp/err"
code=$?
check "bench to a closed stdout" [ "$code" -eq 1 ]
check "... does not write the report elsewhere" sh -c '[ "$(wc -l <"$1")" -eq 20 ]' - "$tmp/ids.closed"

# ---- signals --------------------------------------------------------------------------------------

# interrupt NAME SIGNAL CODE DELAY ARGUMENTS...: begins the run, waits until the tool catches
# signals and then so many seconds, and sends one. It has to end within two seconds.
interrupt() {
    name=$1
    signal=$2
    want=$3
    delay=$4
    shift 4
    "$sluice" "$@" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    caught=0
    while [ "$caught" -eq 0 ] && [ -e "/proc/$pid/status" ]; do
        # Until it is the tool, it is a shell.
        mask=$(awk '$1 == "Name:" {tool = $2 == "sluice"} $1 == "SigCgt:" && tool {print $2}' \
            "/proc/$pid/status" 2>/dev/null)
        caught=$((0x${mask:-0} & 0x4002 ? 1 : 0))
    done
    [ "$delay" = 0 ] || sleep "$delay"
    kill -s "$signal" "$pid" 2>/dev/null
    (sleep 2 && kill -s KILL "$pid") >/dev/null 2>&1 &
    dog=$!
    wait "$pid"
    code=$?
    kill "$dog" 2>/dev/null
    wait "$dog" 2>/dev/null
    if [ "$code" -ne "$want" ]; then fail "$name" "want exit $want"; return 1; fi
    pass "$name"
}

if [ -e /proc/self/status ]; then
    mkdir -p "$tmp/data"
    files=""
    "$sluice" synth "$tmp/data" --classes 2 --per-class 10 --size 32 >/dev/null 2>&1 &&
        files="image_folder $tmp/data/train | shuffle | decode | random_resized_crop 24 | normalize imagenet | to_chw | batch 4"
    [ -n "$files" ] || skip "signals to a run over files" "sluice synth makes none"
    n=0
    for delay in 0 0 0.002 0.007 0.02 0.05 0.13 0.4; do
        for mode in direct data graph loop; do
            n=$((n + 1))
            signal=INT want=130
            [ $((n % 2)) -eq 0 ] && signal=TERM want=143
            pipeline=$endless
            [ -n "$files" ] && [ $((n % 3)) -eq 0 ] && pipeline=$files
            device=host:0
            [ $((n % 5)) -eq 0 ] && device=host:0,copy=1
            [ $((n % 5)) -eq 1 ] && device=host:0,spin_us=50
            interrupt "SIG$signal after $delay s in mode $mode, $device" $signal $want $delay \
                bench "$pipeline" --mode $mode --device $device --epochs 1000000 --json &&
                check "... and one object" json \
                    "j['status'] == 'STOPPED' and j['batches_consumed'] == j['steps'] and j['mode'] == '$mode'"
        done
    done
    interrupt "SIGINT during a step of an hour" INT 130 0.05 \
        bench "$endless" --step-us 3600000000 --json &&
        check "... and one object" json 'j["status"] == "STOPPED"'
    # Who ends a job may send the signal to the process, and again to its group.
    timeout --preserve-status -s INT 0.4 "$sluice" bench "$endless" --json >"$tmp/out" 2>"$tmp/err"
    code=$?
    check "SIGINT by timeout" [ "$code" -eq 130 ]
    check "... and one object" json 'j["status"] == "STOPPED"'
    "$sluice" bench "synthetic 1000 7000,7000,3 | resize 3000,3000 | batch 1" --epochs 1000000 \
        --json >"$tmp/out" 2>"$tmp/err" & # which takes a while to stop
    pid=$!
    sleep 0.7
    for i in 1 2 3 4 5 6; do
        kill -s INT "$pid" 2>/dev/null
        sleep 0.01
    done
    wait "$pid"
    code=$?
    check "SIGINT six times at once" [ "$code" -eq 130 ]
    check "... is one" json 'j["status"] == "STOPPED"'
    interrupt "SIGTERM without --json" TERM 143 0.1 bench "$endless" --ids "$tmp/ids.stopped" &&
        check "... reports, too" out_has '^ended with stopped on request'
    check "... and has written whole lines" awk 'NF != 3 || $1 != NR - 1 {exit 1}' "$tmp/ids.stopped"
    check "... of every step" sh -c '[ "$(wc -l <"$1")" -eq "$(sed -n "s/ steps,.*//p" "$2")" ]' - \
        "$tmp/ids.stopped" "$tmp/out"
    "$sluice" bench "$endless" --epochs 1000000 --json >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    n=0
    until grep -q '^plan: ' "$tmp/err" || [ $n -ge 200 ]; do
        sleep 0.05
        n=$((n + 1))
    done
    sleep 0.2
    kill -s USR1 "$pid" 2>/dev/null
    n=0
    until grep -q '^bottleneck: ' "$tmp/err" || [ $n -ge 200 ]; do
        sleep 0.05
        n=$((n + 1))
    done
    check "SIGUSR1 prints the report so far" err_has '^time  *seconds'
    check "... on stderr, without an end" sh -c '! grep -q "^ended with" "$1"' - "$tmp/err"
    check "... and the run goes on" kill -s INT "$pid"
    wait "$pid"
    code=$?
    check "... until it is stopped" [ "$code" -eq 130 ]
    check "... with a report of its own" json 'j["status"] == "STOPPED"'
    # goes_on NAME COMMAND...: sends SIGUSR1 twice to a command without a report; SIGINT ends it.
    goes_on() {
        name=$1
        shift
        : >"$tmp/err"
        "$sluice" "$@" >"$tmp/out" 2>"$tmp/err" &
        pid=$!
        n=0
        caught=0 # SIGUSR1, and SIGINT, which the command itself catches later
        until [ "$caught" -eq 1 ] || [ $n -ge 200 ] || ! kill -0 "$pid" 2>/dev/null; do
            sleep 0.05
            n=$((n + 1))
            mask=$(awk '$1 == "Name:" {tool = $2 == "sluice"} $1 == "SigCgt:" && tool {print $2}' \
                "/proc/$pid/status" 2>/dev/null)
            caught=$(((0x${mask:-0} & 0x202) == 0x202))
        done
        kill -s USR1 "$pid" 2>/dev/null
        n=0
        until grep -q 'has no report' "$tmp/err" || [ $n -ge 200 ]; do
            sleep 0.05
            n=$((n + 1))
        done
        kill -s USR1 "$pid" 2>/dev/null
        sleep 0.1
        check "SIGUSR1: $name has no report, and says so once" [ \
            "$(grep -c "^sluice: SIGUSR1: $1 has no report to print, and goes on\$" "$tmp/err")" -eq 1 ]
        check "... and goes on" kill -s INT "$pid"
        wait "$pid"
        code=$?
        check "... until it is stopped" [ "$code" -eq 130 ]
    }
    goes_on synth synth "$tmp/signalled" --per-class 100000
    rm -rf "$tmp/signalled"
    large="synthetic 1000000 300,300,3"
    goes_on pack pack "$large" "$tmp/signalled"
    rm -rf "$tmp/signalled"
    goes_on inspect inspect "$large"
    goes_on show show "$large | batch 1" --steps 1000000 -o "$tmp/signalled"
    rm -f "$tmp/signalled"
else
    skip "signals" "no /proc to see when they are caught"
fi

finish
