import { Migration } from '@mikro-orm/migrations';
import { aboveUncounted, countStoredBytes } from './storage-triggers.ts';

/** What is kept of a message that can be read again by its id. Others are kept for repeated requests alone. */
const bytesOf = (row: string) =>
  `case when ${row}.about is null then 0 else ${aboveUncounted(
    `octet_length(${row}.about) + coalesce(octet_length(${row}.reply), 0)`,
  )} end`;

/** Responses that can be read again count as storage. */
export class Migration20261201064800_stored_responses extends Migration {
  override name = 'Migration20261201064800_stored_responses';

  override up(): void {
    for (const sql of [
      ...countStoredBytes('conversation_message', bytesOf),
      // Those that exist are uncounted when they are removed. Nothing writes the table until the commit.
      `select add_storage_used(m.organization_id, m.environment, sum(${bytesOf('m')})::bigint)
         from conversation_message m where m.about is not null
        group by m.organization_id, m.environment having sum(${bytesOf('m')}) > 0;`,
    ]) {
      this.addSql(sql);
    }
  }
}
