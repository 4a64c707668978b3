#!/bin/sh
# perf record deferred callchain tests
# SPDX-License-Identifier: GPL-2.0

set -e

err=0
perfdata=$(mktemp /tmp/__perf_test.perf.data.XXXXX)
log=$(mktemp /tmp/__perf_test.defer.log.XXXXX)
copy=$(mktemp /tmp/__perf_test.defer.copy.XXXXX)

cleanup() {
  rm -f "${perfdata}" "${perfdata}.old" "${log}" "${copy}" "${copy}.old"
  trap - EXIT TERM INT
}

trap 'cleanup; exit 1' EXIT TERM INT

# prints the number of user mode samples whose callchain has the caller of the workload's
# loop, and the number of all user mode samples; a sample taken while the kernel walks the
# stack starts with a kernel frame and has its user part already, so it does not count
count_samples() {
  perf script -i "${perfdata}" -F comm,event,ip,sym "$@" 2> /dev/null |
    awk '/cpu-clock/ { frame = 1; next }
      frame == 1 { frame = /^[[:space:]]*ffff/ ? 0 : 2; all += frame == 2; next }
      frame && /parent/ { found++; frame = 0 }
      END { print found + 0, all + 0 }'
}

# fails the test $1 unless 8 of 10 samples, and of at least 10, have the caller
have_user_frames() {
  # shellcheck disable=SC2046
  set -- "$1" $(count_samples)
  [ "$3" -lt 10 ] || [ "$2" -lt $(($3 * 8 / 10)) ] || return 0
  echo "$1 test [Failed $2 of $3 samples have user frames]"
  err=1
  return 1
}

test_merge() {
  echo "Deferred callchain merge test"

  if ! perf record --call-graph fp,defer -e cpu-clock -o "${perfdata}" -- \
    perf test -w leafloop 5 2> "${log}"
  then
    echo "Deferred callchain merge test [Failed record]"
    err=1
    return
  fi
  if grep -q "cannot defer callchains" "${log}"
  then
    echo "Deferred callchain merge test [Skipped missing kernel support]"
    err=2
    return
  fi
  have_user_frames "Deferred callchain merge" || return 0
  echo "Deferred callchain merge test [Success]"
}

test_no_merge() {
  echo "Deferred callchains apart test"

  # shellcheck disable=SC2046
  set -- $(count_samples --no-merge-callchains)
  if [ "$1" != 0 ]
  then
    echo "Deferred callchains apart test [Failed $1 of $2 samples have user frames]"
    err=1
    return
  fi
  if ! perf script -i "${perfdata}" --no-merge-callchains 2> /dev/null |
    grep -q "PERF_RECORD_CALLCHAIN_DEFERRED cookie: 0x[0-9a-f]*, frames: [1-9]"
  then
    echo "Deferred callchains apart test [Failed no record]"
    err=1
    return
  fi
  echo "Deferred callchains apart test [Success]"
}

test_report() {
  echo "Deferred callchain report test"

  if ! perf report -i "${perfdata}" --stdio -q --no-children -g caller 2> /dev/null |
    grep -q leaf
  then
    echo "Deferred callchain report test [Failed no callchain]"
    err=1
    return
  fi
  echo "Deferred callchain report test [Success]"
}

test_convert() {
  echo "Deferred callchain conversion test"

  if ! perf data convert -i "${perfdata}" --force --to-json "${copy}" > /dev/null 2>&1
  then
    echo "Deferred callchain conversion test [Failed convert]"
    err=1
    return
  fi
  set -- "$(grep -c '"symbol": "parent"' "${copy}")" "$(grep -c '"symbol": "leaf"' "${copy}")"
  if [ "$2" -lt 10 ] || [ "$1" -lt $(($2 * 8 / 10)) ]
  then
    echo "Deferred callchain conversion test [Failed $1 of $2 samples have user frames]"
    err=1
    return
  fi
  echo "Deferred callchain conversion test [Success]"
}

# copies have both records, and the maps of files that only deferred parts name
test_inject() {
  echo "Deferred callchain inject test"

  perf script -i "${perfdata}" --no-inline -F time,ip,sym,dso > "${log}" 2> /dev/null
  for option in "" "--build-ids" "--mmap2-buildids"
  do
    # shellcheck disable=SC2086
    if ! perf inject ${option} -i "${perfdata}" -o "${copy}" 2> /dev/null ||
      ! perf script -i "${copy}" --no-inline -F time,ip,sym,dso 2> /dev/null | cmp -s - "${log}"
    then
      echo "Deferred callchain inject test [Failed ${option} changes callchains]"
      err=1
      return
    fi
  done
  echo "Deferred callchain inject test [Success]"
}

# what one event has of its own counts for that one
test_events() {
  echo "Deferred callchains of some events test"

  if ! perf record --call-graph fp,defer -e cpu-clock/call-graph=no,name=none/ \
    -e cpu-clock/call-graph=fp,name=fp/ -e cpu-clock/max-stack=5,name=short/ \
    -o "${perfdata}" -- perf test -w leafloop 1 2> "${log}" ||
    [ "$(perf evlist -v -i "${perfdata}" | grep "defer_callchain: 1" | cut -d : -f 1)" != short ]
  then
    echo "Deferred callchains of some events test [Failed wrong events]"
    err=1
    return
  fi
  if ! perf record -e "cpu-clock/call-graph='fp,defer'/" -o "${perfdata}" -- \
    perf test -w leafloop 1 2> "${log}"
  then
    echo "Deferred callchains of some events test [Failed record]"
    err=1
    return
  fi
  have_user_frames "Deferred callchains of some events" || return 0
  if perf record --call-graph fp,deferred -o "${perfdata}" true > "${log}" 2>&1
  then
    echo "Deferred callchains of some events test [Failed a wrong word was accepted]"
    err=1
    return
  fi
  echo "Deferred callchains of some events test [Success]"
}

test_merge
if [ $err = 0 ]; then
  test_no_merge
fi
if [ $err = 0 ]; then
  test_report
fi
if [ $err = 0 ]; then
  test_convert
fi
if [ $err = 0 ]; then
  test_inject
fi
if [ $err = 0 ]; then
  test_events
fi

cleanup
exit $err
