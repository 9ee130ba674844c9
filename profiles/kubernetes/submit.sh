#!/bin/sh
# Submit a job script as a Kubernetes Job and print its name.
# Use: submit.sh IMAGE CLAIM:PATH CPUS MEM_MB MINUTES GPUS JOB_SCRIPT
set -eu
name=pretrace-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
kubectl create -f - > /dev/null <<JOB
{
  "apiVersion": "batch/v1",
  "kind": "Job",
  "metadata": {"name": "$name", "labels": {"app": "pretrace"}},
  "spec": {
    "backoffLimit": 0,
    "ttlSecondsAfterFinished": 86400,
    "template": {
      "spec": {
        "activeDeadlineSeconds": $(($5 * 60)),
        "restartPolicy": "Never",
        "containers": [
          {
            "name": "job",
            "image": "$1",
            "command": ["/bin/sh", "$7"],
            "workingDir": "$PWD",
            "resources": {
              "requests": {"cpu": "$3", "memory": "$4M"},
              "limits": {"memory": "$4M", "nvidia.com/gpu": "$6"}
            },
            "volumeMounts": [{"name": "project", "mountPath": "${2#*:}"}]
          }
        ],
        "volumes": [{"name": "project", "persistentVolumeClaim": {"claimName": "${2%%:*}"}}]
      }
    }
  }
}
JOB
echo "$name"
