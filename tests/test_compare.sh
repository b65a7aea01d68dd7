#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sluice compare` and `sluice bench --runs`: what is compared, the verdict and the exit status, bad
# reports. test_compare.sh BUILD_DIR; a line for each check, and last `compare: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_compare.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=compare
. "$here/shell_kit.sh"
sluice=$build/bin/sluice
cd "$tmp" || exit 1

case $("$sluice" --version) in
*"jansson on"*) ;;
*)
    expect "compare without jansson is an error" 2 compare a.json b.json
    check "... that names the package" err_has 'libjansson-dev'
    expect "bench --runs without jansson is an error" 1 bench 'synthetic 8 8,8,3 | batch 4' --runs 2
    check "... that names the package" err_has 'libjansson-dev'
    skip_rest "reports" "built without jansson"
    ;;
esac

# report CPU [RATE] [P50] [DEVICE]: a report with these figures: s of CPU time for 1000 samples, samples/s, us.
report() {
    printf '{"schema":1,"status":"OK","error":null,"samples":1000,"samples_per_s":%s,"cpu_s_per_1000_samples":%s,"mode":"loop",' "${2:-500}" "$1"
    printf '"stages":[{"name":"read","sustained_samples_per_s":900,"p50_us":%s,"p99_us":9,"workers":2}],' "${3:-4}"
    printf '"environment":{"cpu":"test","device":"%s","versions":{"sluice":"0.2.0"}}}\n' "${4:-host:0}"
}
# side FOLDER CPU...: a report for each.
side() {
    mkdir -p "$1"
    folder=$1 number=0
    shift
    for cpu in "$@"; do
        number=$((number + 1))
        report "$cpu" >"$folder/$number.json"
    done
}
side old 1.00 1.01 0.99 1.02 0.98 1.03
side slow 1.10 1.11 1.09 1.12 1.08 1.13
side same 1.005 1.015 0.985 1.025 0.975 1.035

# ---- verdicts -----------------------------------------------------------------------------------------

expect "a slower side" 1 compare old slow
check "... is named, with the change, p and runs" out_has '^B is slower than A: +10.0 % CPU time a sample (p 0.0022, 6 and 6 runs)$'
check "... on stdout alone" [ ! -s err ]
check "... with its row" out_has '^  CPU us/sample  *1005  *1105  *1.100  *0.0022  slower$'
check "... and noise is marked" out_has '^  samples/s  *500.0  *500.0  *1.000  *1.000  ~$'
check "... and stages" sh -c 'grep -A 1 "^read$" out | grep -q "^  sustains/s "'
check "... within 80 columns" sh -c '! grep -q "^.\{81\}" out'
expect "a faster side" 0 compare slow old
check "... is named" out_has '^B is faster than A: -9.0 % CPU'
expect "noise" 0 compare old same
check "... is said" out_has '^no difference: noise explains [+-][0-9.]* % CPU time a sample (p 0.9'
check "... with the runs that would find 5 %" sh -c 'tr -s "\n " " " <out | grep -q "6 and 6 runs, which vary by 2.[0-9] %; about 6 runs a side would find 5 %)"'
side zero 0 0 0 0
expect "a side without CPU time" 0 compare zero old
check "... cannot be judged" out_has '^not judged: most runs of A took no CPU time$'
expect "a slowdown within the gate" 0 compare old slow --gate 15
check "... is said" out_has 'the gate allows'
expect "a slowdown beyond the gate" 1 compare old slow --gate 5
expect "--gate with too few runs is an error" 2 compare old/1.json slow/1.json --gate 5
check "... that says what to do" err_has '1 and 1 runs: .*4 a side or more'
expect "one run a side" 0 compare old/1.json slow/1.json
check "... cannot tell" out_has '^not judged: one run a side cannot tell a change from noise'
check "... and no row is judged" sh -c '! grep -q "  ~$\|slower$\|faster$" out && grep -q "  ?$" out'
side three 1 1 1
side twice 2 2 2
expect "three runs a side, one twice the other" 0 compare three twice
check "... cannot tell either" out_has '^not judged: so few runs'
expect "files with commas between" 1 compare old/1.json,old/2.json,old/3.json,old/4.json slow
check "... are one side" out_has '4 and 6 runs'
expect "a file twice on a side" 2 compare old/1.json,old/2.json,./old/1.json slow
check "... is an error" err_has './old/1.json is given twice for side A; give each file once'
expect "a file of a folder, and the folder" 2 compare old slow,slow/1.json
check "... is an error" err_has 'slow/1.json is given twice for side B'
expect "a file on both sides" 0 compare old old
cp old/1.json 'a,b.json'
expect "a file with a comma in its name" 0 compare a,b.json old/1.json
expect "standard input" 0 compare - old/1.json <old/1.json
if [ -n "$python" ]; then
    expect "--json" 1 compare old slow --json
    check "... is one object" json 'j["slower"] and j["judged"] and j["runs"] == [6, 6] and j["rows"][0]["measure"] == "cpu_us_per_sample" and abs(j["rows"][0]["ratio"] - 1.1) < 0.001 and j["rows"][0]["changed"]'
    check "... with stages" json '[r["measure"] for r in j["rows"] if r["stage"] == "read"] == ["sustained_samples_per_s", "p50_us", "p99_us"]'
fi

# ---- what differs --------------------------------------------------------------------------------------

report 1 500 4 cuda:0 >gpu.json
expect "reports of two devices are compared" 0 compare old/1.json gpu.json
check "... which is said" out_has '^differs: device: A host:0; B cuda:0$'
sed 's/"read"/"fetch"/' old/1.json >stages.json
expect "reports of two pipelines are compared" 0 compare old/1.json stages.json
check "... with stages of A alone" out_has 'only in A$'
check "... and of B alone" out_has 'only in B$'
sed 's/"p99_us"/"cpu_us_per_sample":3,"operations":[],"p99_us"/' old/1.json >two.json
expect "a report with more of its stages" 0 compare old/1.json two.json
check "... has CPU time of stages" out_has '^  CPU us/sample  *-  *3.000  *-  *-  only in B$'
sed 's/"stages":\[/&{"name":"first","p50_us":-0.0},/' two.json >more.json
expect "a report with more stages and figures" 0 compare old/1.json more.json
check "... has one block for each stage" [ "$(grep -c '^read$' out)" -eq 1 ]
check "... and -0 is 0" out_has '^  p50 us  *-  *0.000  *-  *-  only in B$'
sed 's/"read"/"\\u001b[31mred"/' old/1.json >red.json
expect "a name with an escape sequence" 0 compare old/1.json red.json
check "... is inert" sh -c '! grep -q "$(printf "\033")" out && grep -q "^.x1b.31mred$" out'

# ---- what is no report -----------------------------------------------------------------------------------

# refused NAME TEXT: the file `wrong.json` is an error of this text that names it.
refused() {
    expect "$1" 2 compare old/1.json wrong.json
    check "... is said, with the file" err_has "wrong.json.*$2"
    check "... alone" [ ! -s out ]
}
rm -f wrong.json
refused "a missing file" 'No such file'
: >wrong.json
refused "an empty file" 'is empty'
for bytes in 1 40 200 280; do
    head -c $bytes old/1.json >wrong.json
    refused "a report cut short after $bytes bytes" "cut short after byte $bytes"
done
sed 's/"samples_per_s":500/"samples_per_s":NaN/' old/1.json >wrong.json
refused "NaN" 'NaN'
sed 's/"samples_per_s":500/"samples_per_s":1e999/' old/1.json >wrong.json
refused "infinity" 'not valid JSON.*overflow'
sed 's/"samples_per_s":500/"samples_per_s":-1/' old/1.json >wrong.json
refused "a negative rate" '"samples_per_s" must be a number, not negative'
sed 's/"samples_per_s":500/"samples_per_s":1e308/' old/1.json >wrong.json
refused "a rate beyond all" 'samples_per_s is 1e308 and must be a number from 0 to'
sed 's/"p50_us":4/"p50_us":"4"/' old/1.json >wrong.json
refused "a text in place of a number" '"stages.p50_us" must be a number'
sed 's/"schema":1/"schema":7/' old/1.json >wrong.json
refused "another schema" '"schema" is 7, and must be 1:'
echo '{"a":1}' >wrong.json
refused "another object" '"schema" is missing: the file is not a report of a run'
echo '[1,2]' >wrong.json
refused "an array" '"schema" is missing: the file is not a report of a run'
echo 'stage sustains/s' >wrong.json
refused "a report as text" 'not valid JSON'
sed 's/"status":"OK","error":null/"status":"E_IO","error":"the disk is gone"/' old/1.json >wrong.json
refused "a run that failed" 'failed with E_IO (the disk is gone)'
sed 's/"samples":1000/"samples":0/' old/1.json >wrong.json
refused "a run without samples" 'samples is 0 and must be a number above 0'
sed 's/\("stages":\[\)\(.*\)\],"env/\1\2,\2],"env/' old/1.json >wrong.json
refused "two stages of a name" 'two stages of the name read'
awk 'BEGIN {for (i = 0; i < 100000; i++) printf "["}' >wrong.json
refused "deep nesting" 'not valid JSON'
mkdir none
expect "a folder without reports" 2 compare old none
check "... is said" err_has 'folder none has no file NAME.json'
cp old/1.json none && echo x >none/2.json
expect "a folder with another file" 2 compare old none
check "... names it" err_has 'none/2.json: the file is not valid JSON'
rm none/2.json && mkfifo none/2.json
expect "a folder with a pipe" 2 compare old none
check "... names it, and does not wait" err_has 'none/2.json is a device or a pipe; files NAME.json'
expect "no words" 2 compare
expect "one word" 2 compare old/1.json
check "... must have both sides" err_has 'has one side; give two\|runs is missing'
expect "a name that is empty" 2 compare old/1.json,,old/2.json slow
expect "a gate of letters" 2 compare old slow --gate much
if [ -n "$python" ]; then
    expect "an error with --json" 2 compare old nowhere --json
    check "... is in one object" json 'j["status"] == "E_IO" and "nowhere" in j["error"]'
fi

# ---- bench --runs and --compare ----------------------------------------------------------------------------

small='synthetic samples=400 shape=16,16,3 | shuffle | batch 5'
heavy='synthetic samples=400 shape=16,16,3 | shuffle | resize 256,256 | batch 5'
expect "bench --runs" 0 bench "$small" --runs 3
check "... prints medians" out_has '^3 runs$'
check "... between the lowest and the highest" out_has '^  samples/s  *[0-9]*  *[0-9]*  *[0-9]*$'
check "... and the plan once" [ "$(grep -c '^plan:' err)" -eq 1 ]
check "... and which run it is" err_has '^run 3 of 3$'
expect "bench --compare" 0 bench "$small" --compare "$heavy" --runs 4
check "... runs both pipelines in turn" sh -c 'grep "^run" err | sed -n 3p | grep -qx "run 2 of 4 of the pipeline"'
check "... names them" out_has '^A: synthetic samples=400 shape=16,16,3 | shuffle | batch 5$'
check "... and tells the slower one" out_has '^B is slower than A: .* (p 0.0286, 4 and 4 runs)$'
check "... within 80 columns" sh -c '! grep -q "^.\{81\}" out'
expect "bench --compare without --runs" 0 bench "$heavy" --compare "$small"
check "... has six runs a side" out_has '^B is faster than A: .*, 6 and 6 runs)$'
expect "bench --runs --json" 0 bench "$small" --runs 4 --json
cp out one.json
if [ -n "$python" ]; then
    check "... is one object with all runs" json 'len(j["runs"]) == 4 and j["runs"][0]["samples"] == 400 and j["pipeline"].startswith("synthetic") and "compared_runs" not in j'
fi
expect "bench --compare --json" 0 bench "$small" --compare "$heavy" --runs 4 --json
cp out both.json
if [ -n "$python" ]; then
    check "... has the runs of both" json 'len(j["runs"]) == 4 and len(j["compared_runs"]) == 4 and "resize" in j["compared_pipeline"]'
    check "... and CPU time of each run alone" json 'max(r["cpu_s_per_1000_samples"] for r in j["runs"]) < min(r["cpu_s_per_1000_samples"] for r in j["compared_runs"])'
fi
expect "compare reads a file with both sides" 1 compare both.json
check "... and says that the pipelines differ" out_has '^differs: pipeline: A synthetic'
expect "compare reads the runs of one" 0 compare one.json one.json
check "... all of them" out_has '4 and 4 runs'
expect "a file with both sides, and another one" 2 compare both.json one.json
check "... is an error" err_has 'both.json has both sides.*must be given alone'
expect "a file with one side alone" 2 compare one.json
check "... is an error" err_has 'one.json has one side; give two'
head -c 3000 both.json >wrong.json
refused "runs that are cut short" 'cut short'
echo '{"schema":1,"status":"STOPPED","error":null,"pipeline":"x","runs":[]}' >wrong.json
refused "no runs" 'runs is \[\] and must be an array of reports'
expect "--compare of what is no pipeline" 2 bench "$small" --compare 'synthetic 8 | shufle'
check "... is said before the first run" sh -c 'grep -q "compare.*shuffle" err && ! grep -q "^run 1" err'
expect "--runs 0" 2 bench "$small" --runs 0
check "... is out of range" err_has 'runs 0 must be from 1 to 1000'
expect "--runs with --digests" 2 bench "$small" --runs 2 --digests digests
check "... would write the file again" err_has '--digests would be written again by each run'
expect "--compare with --ids" 2 bench "$small" --compare "$heavy" --ids ids
expect "a run that fails" 1 bench "image_folder $tmp/nowhere | decode | resize 8,8 | batch 2" --runs 3 --json
check "... ends all runs" sh -c '! grep -q "^run 2" err'
if [ -n "$python" ]; then
    check "... with one object" json 'j["status"] != "OK" and "nowhere" in j["error"] and j["runs"] == []'
fi
failing() { run "$sluice" bench --plugin "$build/lib/failing_map.so" "$small" --runs 4 --compare "$@"; }
fails_at() { expect "run 3 of 5 fails $1" 1 bench --plugin "$build/lib/failing_map.so" 'synthetic samples=400 shape=16,16,3 | fail_after 1000 | batch 5' --runs 5 $2; }
fails_at "" ""
check "... which is said with its error" err_has 'fail_after: call 1001 fails'
check "... and with its number" err_has '^bench: run 3 of 5 failed and ends them all; 2 runs were complete$'
check "... and the table has those before it" out_has '^2 runs$'
fails_at "with --json" --json
if [ -n "$python" ]; then
    check "... and the object has those before it" json 'len(j["runs"]) == 2 and j["runs"][1]["samples"] == 400 and j["status"] != "OK" and "call 1001 fails" in j["error"]'
fi
cp out failed.json
expect "compare reads these runs" 0 compare failed.json one.json
check "... both of them" out_has '2 and 4 runs\|so few runs'
failing 'synthetic samples=400 shape=16,16,3 | fail_after 600 | batch 5'
check "a compared pipeline that fails in its second run" [ "$code" -eq 1 ]
check "... is compared by the runs before it" out_has '^A: synthetic'
check "... 2 and 1" err_has '^bench: run 2 of 4 of the compared pipeline failed and ends them all; 3 runs were complete$'
failing 'synthetic samples=400 shape=16,16,3 | fail_after 200 | batch 5'
check "a compared pipeline that fails in its first run" [ "$code" -eq 1 ]
check "... leaves the run of the other one" out_has '^1 runs$'
check "... which is said" out_has '^not compared: the compared pipeline has no complete run$'
endless='synthetic samples=1000000000000 shape=8,8,3 | batch 2'
run timeout -s INT 3 "$sluice" bench "$endless" --runs 9 --seconds 0.6
check "SIGINT ends the runs" [ "$code" -eq 124 ]
check "... with the table of complete ones" out_has '^[1-4] runs$'
run timeout -s INT 1 "$sluice" bench "$endless" --runs 2 --json
check "SIGINT in the first run" [ "$code" -eq 124 ]
if [ -n "$python" ]; then
    check "... leaves no run" json 'j["status"] == "STOPPED" and j["runs"] == []'
fi

finish
