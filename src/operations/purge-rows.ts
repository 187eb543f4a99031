import type { Database } from '../platform/database/database.ts';
import { type Sql, sqlOn, systemStatement } from '../platform/database/sql.ts';
import { failPoint } from './fail-points.ts';

/** Rows that one statement removes. */
const batchSize = 500;
/** How long one call goes on for an organization: others have their turn. */
const perCallMs = 5_000;

interface Table {
  name: string;
  /** The column that names the organization, or the row of the table above. */
  by?: string;
  /** Removed before the rows that they belong to. */
  children?: readonly Table[];
}

const of = (name: string, by: string, children?: readonly Table[]): Table => ({
  name,
  by,
  ...(children && { children }),
});

/** In the order of their removal: none is named by a row of a later one. */
export const tablesOfOrganizations: readonly Table[] = [
  {
    name: 'webhook_subscription',
    children: [
      of('delivery', 'subscription_id', [of('delivery_attempt', 'delivery_id')]),
      of('delivery_block_count', 'subscription_id'),
      of('delivery_block', 'subscription_id'),
      of('delivery_change', 'subscription_id'),
      of('attempt_hour', 'subscription_id'),
      of('attempt_minute', 'subscription_id'),
      of('retry_release', 'subscription_id'),
      of('recovery', 'subscription_id'),
      of('skipped_events', 'subscription_id'),
    ],
  },
  { name: 'event_start' },
  { name: 'workflow_event' },
  { name: 'event_fan_out' },
  { name: 'event_addressing' },
  { name: 'delivery_backlog' },
  { name: 'event' },
  { name: 'event_recording' },
  { name: 'generation' },
  { name: 'generation_block' },
  { name: 'generation_total' },
  { name: 'conversation_message', children: [of('conversation_entry', 'message_id')] },
  { name: 'voice_call' },
  { name: 'booking', children: [of('booking_effect', 'booking_id'), of('calendar_entry', 'booking_id')] },
  {
    name: 'calendar',
    children: [
      of('calendar_busy', 'calendar_id'),
      of('sandbox_calendar_event', 'calendar_id'),
      of('sandbox_calendar', 'calendar_id'),
    ],
  },
  { name: 'scheduling_event_type' },
  { name: 'recurring_pattern' },
  { name: 'blackout_period' },
  { name: 'scheduling_settings' },
  { name: 'scheduling_host' },
  {
    name: 'integration_connection',
    children: [
      of('integration_poll', 'connection_id'),
      of('integration_push', 'connection_id'),
      of('integration_inbound_event', 'connection_id'),
    ],
  },
  { name: 'integration_action' },
  { name: 'oauth_state' },
  { name: 'oauth_connection' },
  { name: 'allowed_redirect' },
  { name: 'tool_configuration' },
  { name: 'secret' },
  { name: 'bulk_action' },
  { name: 'calling_run' },
  { name: 'calling_total' },
  { name: 'waiting_total' },
  { name: 'queued_total' },
  { name: 'idempotency' },
  { name: 'outbox' },
  { name: 'credit_hold' },
  { name: 'credit_entry' },
  { name: 'credit_account' },
  { name: 'usage_month' },
  { name: 'usage_count' },
  { name: 'mail_day' },
  { name: 'notice' },
  { name: 'deprecated_use' },
  { name: 'storage_used' },
  { name: 'browser_token' },
  { name: 'api_key' },
  { name: 'audit_log' },
];

/** What goes with its workflow, before all others. */
export const tablesOfAutomations = [
  'automation',
  'definition',
  'run',
  'run_block',
  'run_step',
  'run_step_round',
  'run_step_call',
  'run_wait',
  'run_tag',
  'run_batch',
  'automation_schedule',
  'event_trigger',
  'approval',
  'approval_link',
] as const;

type Removal = (sql: Sql, owners: readonly string[]) => Promise<number>;

/** Removes a batch of rows, with all that belongs to them. */
function removalOf({ name, by = 'organization_id', children = [] }: Table): Removal {
  if (children.length === 0) {
    const remove = systemStatement({
      name: `purge.rows_of_${name}_by_${by}`,
      parameters: { owners: 'uuid[]' },
      row: { count: 'int' },
      text: `with gone as (
         delete from ${name} where ctid = any(array(select ctid from ${name} where ${by} = any(:owners) limit ${batchSize}))
         returning 1)
       select count(*)::int as count from gone`,
    });
    return async (sql, owners) => (await sql.one(remove, { owners }))!.count;
  }
  const find = systemStatement({
    name: `purge.${name}_ids`,
    parameters: { owners: 'uuid[]' },
    row: { id: 'uuid' },
    text: `select id from ${name} where ${by} = any(:owners) limit ${batchSize}`,
  });
  const remove = systemStatement({
    name: `purge.${name}`,
    parameters: { ids: 'uuid[]' },
    text: `delete from ${name} where id = any(:ids)`,
  });
  const removals = children.map(removalOf);
  return async (sql, owners) => {
    const ids = (await sql.rows(find, { owners })).map(({ id }) => id);
    if (ids.length === 0) return 0;
    for (const removal of removals) while ((await removal(sql, ids)) > 0);
    await sql.rows(remove, { ids });
    return ids.length;
  };
}

const removals = tablesOfOrganizations.map(removalOf);

// The sweep of the storage removes the files, and their rows after them.
const markFiles = systemStatement({
  name: 'purge.mark_files',
  parameters: { organizationId: 'uuid' },
  row: { count: 'int' },
  text: `with marked as (
     update file set remove_at = clock_timestamp()
      where name = any(array(select name from file
                              where organization_id = :organizationId and (remove_at is null
                                or remove_at > clock_timestamp())
                              limit ${batchSize}))
     returning 1)
   select count(*)::int as count from marked`,
});

const hasFiles = systemStatement({
  name: 'purge.has_files',
  parameters: { organizationId: 'uuid' },
  row: { found: 'boolean' },
  text: 'select exists (select from file where organization_id = :organizationId) as found',
});

const removeOrganization = systemStatement({
  name: 'purge.organization',
  parameters: { organizationId: 'uuid' },
  row: { id: 'uuid' },
  text: 'delete from organization where id = :organizationId and purging_at is not null returning id',
});

/** Has all files of an organization removed. @returns how many batches */
export async function markFilesOf(database: Database, organizationId: string): Promise<number> {
  let batches = 0;
  while ((await sqlOn(database.pool).one(markFiles, { organizationId }))!.count > 0) batches++;
  return batches;
}

/**
 * Removes rows of an organization, and the organization itself once nothing else is left.
 * @returns how many batches were removed
 */
export async function purgeRows(database: Database, organizationId: string): Promise<number> {
  const sql = sqlOn(database.pool);
  const end = performance.now() + perCallMs;
  let batches = 0;
  for (const removal of removals) {
    while ((await removal(sql, [organizationId])) > 0) {
      batches++;
      failPoint('organization.rows_removed');
      if (performance.now() > end) return batches;
    }
  }
  if ((await sql.one(hasFiles, { organizationId }))!.found) return batches;
  // The files that were removed since are no longer counted.
  for (const removal of removals) await removal(sql, [organizationId]);
  failPoint('organization.emptied');
  if (await sql.one(removeOrganization, { organizationId })) batches++;
  return batches;
}
