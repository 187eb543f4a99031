import { Migration } from '@mikro-orm/migrations';

/** Operators find work by the correlation id of what caused it. Rows that are kept for a day need no index. */
export class Migration20261124070000_correlation_indexes extends Migration {
  override name = 'Migration20261124070000_correlation_indexes';

  override up(): void {
    for (const table of ['run', 'generation', 'booking', 'event']) {
      this.addSql(`create index ${table}_correlation_index on ${table} (correlation_id);`);
    }
  }
}
