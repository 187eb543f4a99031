#!/bin/sh
# Brings the schemas of Temporal's two databases up to date. Setting up an existing schema would reset its version, so
# an update is tried first and a set-up done only where there is nothing to update.
set -eu
schema=/etc/temporal/schema/postgresql/v12

bring_up() {
  database=$1
  folder=$2
  tool="temporal-sql-tool --plugin postgres12 --ep $POSTGRES_HOST -p 5432 -u $POSTGRES_USER --db $database"
  if ! $tool update-schema -d "$schema/$folder/versioned"; then
    $tool create
    $tool setup-schema -v 0.0
    $tool update-schema -d "$schema/$folder/versioned"
  fi
}

bring_up temporal temporal
bring_up temporal_visibility visibility
