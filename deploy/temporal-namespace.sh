#!/bin/sh
# Creates and configures the namespace, and ends when its search attributes can be used. Safe to run again.
set -eu
namespace=${TEMPORAL_NAMESPACE:-default}
attributes='OrgId ResourceId CorrelationId DeliveryStatus'

# A server needs some seconds to notice what was created: repeats a command for up to a minute, and shows its last failure.
repeat() {
  attempt=1
  until output=$("$@" 2>&1); do
    if [ "$attempt" -ge 60 ]; then
      echo "$*: $output" >&2
      exit 1
    fi
    attempt=$((attempt + 1))
    sleep 1
  done
}

has_attributes() {
  listed=$(temporal operator search-attribute list -n "$namespace") || { echo "$listed"; return 1; }
  for attribute in $attributes; do
    echo "$listed" | grep -qw "$attribute" || { echo "$attribute is missing"; return 1; }
  done
}

add_attributes() {
  has_attributes >/dev/null 2>&1 && return
  for attribute in $attributes; do
    # Fails for one that exists; whether all do is decided below.
    temporal operator search-attribute create -n "$namespace" --name "$attribute" --type Keyword || true
  done
  has_attributes
}

repeat temporal operator cluster health
temporal operator namespace describe -n "$namespace" >/dev/null 2>&1 ||
  temporal operator namespace create -n "$namespace" --retention 30d
repeat temporal operator namespace update -n "$namespace" --retention 30d
repeat add_attributes
