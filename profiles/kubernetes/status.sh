#!/bin/sh
# What became of a Kubernetes Job: running, success or failed (a job that was deleted has failed).
# Use: status.sh JOB_NAME
set -u
ended=$(kubectl get job "$1" --ignore-not-found -o 'jsonpath=job/{.status.succeeded}/{.status.failed}') || { echo running; exit; }
case "$ended" in
    job//) echo running ;;
    job/1/*) echo success ;;
    *) echo failed ;;
esac
