#!/bin/sh
# What became of a PBS job: running, success or failed. PBS has to remember ended jobs (job_history_enable of the server).
# Use: status_pbs.sh JOB_ID
job=$(qstat -x -f "$1" 2> /dev/null) || { echo running; exit; } # the server may be busy
if ! echo "$job" | grep -q '^ *job_state = F *$'; then
    echo running
elif echo "$job" | grep -q '^ *Exit_status = 0 *$'; then
    echo success
else
    echo failed
fi
