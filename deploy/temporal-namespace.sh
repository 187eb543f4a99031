#!/bin/sh
# Creates and configures the namespace. Safe to run again.
set -eu
until temporal operator cluster health >/dev/null 2>&1; do sleep 1; done
temporal operator namespace describe -n default >/dev/null 2>&1 ||
  temporal operator namespace create -n default --retention 30d
temporal operator namespace update -n default --retention 30d
for attribute in OrgId ResourceId DeliveryStatus RunStatus; do
  temporal operator search-attribute create -n default --name "$attribute" --type Keyword || true
done
