#!/bin/sh
# Creates or updates the schemas of Temporal's two databases. `setup-schema` would reset the version of an existing
# schema, so it runs only after `update-schema` has failed.
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
