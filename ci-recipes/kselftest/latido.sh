#!/bin/sh
# A kernel selftest: KTAP on stdout, the rest on stderr, and the exit statuses of kselftest. WHAT is as after `latido run`.
# shellcheck disable=SC2086
latido=${LATIDO:-latido}
if ! command -v "$latido" >/dev/null; then
  printf 'KTAP version 1\n1..0 # SKIP no latido: put the static binary into PATH, or name it by LATIDO\n'
  exit 4
fi
$latido run ${WHAT:-wakeup -d 60s --load stress-cpu --limit 100us} --no-report -q --export ktap=-
case $? in
  0) exit 0 ;;
  # A run without a result is no pass, and kselftest has no status for it.
  *) exit 1 ;;
esac
