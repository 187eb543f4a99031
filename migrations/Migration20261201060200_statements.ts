import { Migration } from '@mikro-orm/migrations';

/** Statements of the ledger are read newest first. */
export class Migration20261201060200_statements extends Migration {
  override name = 'Migration20261201060200_statements';

  override up(): void {
    this.addSql(
      'create index credit_entry_statement_index on credit_entry (organization_id, environment, created_at, key, phase);',
    );
  }
}
