#!/bin/sh
# What became of an SGE job: running, success or failed. A job that was killed leaves no other trace.
# Use: status.sh JOB_ID
if qstat -j "$1" > /dev/null 2>&1; then
    echo running
    exit
fi
ended=$(qacct -j "$1" 2> /dev/null) || { echo running; exit; } # accounting follows a moment later
if echo "$ended" | grep -q '^exit_status *0 *$' && echo "$ended" | grep -q '^failed *0 *$'; then
    echo success
else
    echo failed
fi
