#!/bin/sh
# Creates or updates the schemas of Temporal's two databases. Safe to run again: as of Temporal 1.31 `create` accepts a
# database that exists, and `setup-schema` does not reset the version of an existing schema.
set -eu
schema=/etc/temporal/schema/postgresql/v12

bring_up() {
  database=$1
  folder=$2
  tool="temporal-sql-tool --plugin postgres12 --ep $POSTGRES_HOST -p 5432 -u $POSTGRES_USER --db $database"
  $tool create
  $tool setup-schema -v 0.0
  $tool update-schema -d "$schema/$folder/versioned"
}

bring_up temporal temporal
bring_up temporal_visibility visibility
