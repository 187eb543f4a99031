import { Migration } from '@mikro-orm/migrations';

/** JSON that is shown is stored as text: `jsonb` sorts the members of objects, `json` keeps the order in which they came. */
const shown = {
  definition: ['steps', 'config', 'inputs'],
  run: ['input', 'variables', 'output', 'error'],
  run_step: ['output', 'error', 'models'],
  automation_schedule: ['input', 'variables'],
  scheduling_host: ['weekly_hours', 'limits'],
  scheduling_settings: ['business_hours', 'limits'],
  scheduling_event_type: ['locations', 'questions'],
  booking: ['location', 'responses', 'metadata'],
  event: ['facts'],
  idempotency: ['outcome'],
  tool_configuration: ['values'],
  integration_connection: ['details'],
};

export class Migration20261124090000_order_of_members extends Migration {
  override name = 'Migration20261124090000_order_of_members';

  override up(): void {
    for (const [table, columns] of Object.entries(shown)) {
      const changes = columns.map((column) => `alter column "${column}" type json using "${column}"::json`);
      this.addSql(`alter table ${table} ${changes.join(', ')};`);
    }
  }
}
