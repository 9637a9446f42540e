#!/usr/bin/env bash
# produce.sh BINARY RUNS_DIR OUT_DIR: everything that BINARY says of the runs in RUNS_DIR (STORE/runs/RUN below it), into
# OUT_DIR, which is made anew. Without side effects on RUNS_DIR. The same again gives the same bytes.
#
# OUT_DIR/RUN/                 one directory per run
#   status.txt                 the exit status of each command below
#   show.txt                   show --full, no terminal (COLUMNS=100)
#   brief.txt                  show on a terminal of 100 columns, NO_COLOR=1
#   show-tty100.txt            show --full on a terminal of 100 columns, NO_COLOR=1
#   show-colour.txt            the same in colours
#   show.json                  show --json
#   report.html, report.txt    report -o report.html --figures figures; the text of the page (htmltext.py)
#   figures/                   what --figures wrote: SVG and CSV, and the tables as CSV, LaTeX and Markdown
#   report-stdout.txt          what `report` said (the files that it wrote)
#   report-published.html/.txt report --published, of the studies (plans with [source])
#   published-figures/         what --figures wrote with --published
#   plan.txt                   run RUN/plan.toml --print-plan
#   *.err                      standard error, where there was any
# OUT_DIR/_pairs/NAME/         report of two runs together: report.html, report.txt, figures/, status.txt, ...
# OUT_DIR/_stores/STORE/       list runs, list runs --json
#
# Masked, and nothing else: the column `age` of `list runs`, which counts from now: AGE.
# Paths are relative (a symbolic link `runs` in a directory made for the purpose), so none of RUNS_DIR or OUT_DIR shows.
set -u
[ $# -eq 3 ] || { echo "usage: $0 BINARY RUNS_DIR OUT_DIR" >&2; exit 64; }
here=$(cd "$(dirname "$0")" && pwd)
bin=$(realpath "$1") && runs=$(realpath "$2") || exit 1
rm -rf "$3"; mkdir -p "$3"; out=$(realpath "$3")
export COLUMNS=100 LINES=40 TERM=xterm-256color LC_ALL=C.UTF-8 TZ=UTC
unset NO_COLOR LATIDO_STORE
# What earlier runs of this machine took is none of these.
XDG_DATA_HOME=$(realpath "$2")/none
export XDG_DATA_HOME
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
ln -s "$runs" "$work/runs"
cd "$work" || exit 1

# call DIR NAME COMMAND...: standard output to DIR/NAME, standard error beside it, the status noted
call() {
  local dir=$1 name=$2 status; shift 2
  "$@" >"$dir/$name" 2>"$dir/$name.err" </dev/null; status=$?
  echo "$name: $status" >>"$dir/status.txt"
  [ -s "$dir/$name.err" ] || rm -f "$dir/$name.err"
}
# page DIR NAME FIGURES RUN... [--published]: a report, its text and its figures
page() {
  local dir=$1 name=$2 figures=$3; shift 3
  rm -rf page.html figures
  call "$dir" "$name-stdout.txt" "$bin" report "$@" -o page.html --figures figures
  if [ -e page.html ]; then mv page.html "$dir/$name.html"; python3 "$here/htmltext.py" "$dir/$name.html" >"$dir/$name.txt"; fi
  if [ -e figures ]; then mv figures "$dir/$figures"; fi
}

for path in runs/*/runs/*/; do
  path=${path%/}; id=${path##*/}; dir=$out/$id; mkdir -p "$dir"
  call "$dir" show.txt "$bin" show --full "$path"
  call "$dir" show-tty100.txt env NO_COLOR=1 "$here/tty100.py" "$bin" show --full "$path"
  call "$dir" show-colour.txt "$here/tty100.py" "$bin" show --full "$path"
  call "$dir" brief.txt env NO_COLOR=1 "$here/tty100.py" "$bin" show "$path"
  call "$dir" show.json "$bin" show "$path" --json
  page "$dir" report figures "$path"
  if grep -q '^\[source\]' "$path/plan.toml"; then page "$dir" report-published published-figures "$path" --published; fi
  call "$dir" plan.txt "$bin" run "$path/plan.toml" --print-plan
done

# name, then the runs that are reported together
while read -r name ids; do
  paths=(); for id in $ids; do paths+=("$(ls -d runs/*/runs/"$id")"); done
  dir=$out/_pairs/$name; mkdir -p "$dir"
  page "$dir" report figures "${paths[@]}"
done <<PAIRS
two-plans 20261122T091936Z-wakeup-xqbk 20261122T091939Z-wakeup-ds72
one-plan-twice 20261122T093600Z-long-qqex 20261122T092320Z-long-wgv0
root-and-nobody 20261122T092320Z-long-wgv0 20261122T092925Z-long-9btv
PAIRS

for path in runs/*/; do
  path=${path%/}; dir=$out/_stores/${path##*/}; mkdir -p "$dir"
  call "$dir" list.txt "$bin" list runs --store "$path"
  sed -Ei 's/^([0-9]{8}T[^ ]+) +([0-9]+ (s|min|h|d)|-)  /\1  AGE  /; s/^run +age  /run  AGE  /' "$dir/list.txt"
  call "$dir" list.json "$bin" list runs --json --store "$path"
done
