import type pg from 'pg';

/** How many rows there are, of all organizations together. */
export interface Rows {
  organizations: number;
  webhooks: number;
  deliveriesOfWebhook: number;
  runs: number;
  /** Deliveries of the first webhook, and runs of the first workflow, beside those. */
  ofFirst: number;
  /** Entries of the outbox. */
  entries: number;
  /** Generations, voice calls, actions, bookings, each. */
  jobs: number;
}

/** The id of the first organization, webhook and workflow. */
export const firstId = '00000000-0000-7000-8000-000000000000';

const nth = (n: string, modulus: number) =>
  `('${firstId.slice(0, 24)}' || lpad(to_hex(${n} % ${modulus}), 12, '0'))::uuid`;

interface Column {
  name: string;
  type: string;
  length: number | null;
}

/** Some value of a column that nothing else is said about. */
function anyValue({ type, length }: Column): string {
  if (type === 'uuid') return 'uuidv7()';
  if (type === 'boolean') return 'false';
  if (type.startsWith('timestamp')) return `now() - make_interval(secs => n % 60)`;
  if (type === 'date') return 'current_date';
  if (type.startsWith('json')) return `'{}'::${type}`;
  if (type === 'bytea') return `'\\x00'`;
  if (type === 'ARRAY') return `'{}'`;
  if (type.startsWith('character') || type === 'text') return `left('x' || n, ${length ?? 40})`;
  return '0';
}

/** Inserts rows as SQL of their number `n` says; columns that must have a value and are not named get some. */
async function insert(client: pg.Client, table: string, count: number, given: Record<string, string>): Promise<void> {
  const { rows } = await client.query<Column & { required: boolean }>(
    `select column_name as name, data_type as type, character_maximum_length as length,
            is_nullable = 'NO' and column_default is null and is_identity = 'NO' and is_generated = 'NEVER' as required
       from information_schema.columns where table_schema = 'public' and table_name = $1`,
    [table],
  );
  const columns = rows.filter(({ name, required }) => required || name in given);
  const values = columns.map((column) => given[column.name] ?? anyValue(column));
  await client.query(
    `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
     select ${values.join(', ')} from generate_series(0, ${count - 1}) n on conflict do nothing`,
  );
}

/**
 * What the rows hold does not matter, only where they are found; and nothing analyzes them.
 * @param client of a superuser
 */
export async function prepareTables(client: pg.Client): Promise<void> {
  await client.query('set session_replication_role = replica');
  const { rows: checks } = await client.query<{ table: string; name: string }>(
    `select conrelid::regclass::text as table, conname as name from pg_constraint
      where contype = 'c' and connamespace = 'public'::regnamespace`,
  );
  for (const { table, name } of checks) await client.query(`alter table ${table} drop constraint ${name}`);
  const { rows: tables } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  for (const { name } of tables) await client.query(`alter table ${name} set (autovacuum_enabled = false)`);
}

/**
 * Fills tables that all tenants share as months of work leave them: some rows wait, none is due at once but first attempts of
 * deliveries and the entries of the outbox, most have ended, and nothing is over its retention.
 */
export async function insertManyRows(client: pg.Client, has: Rows): Promise<void> {
  const { organizations, webhooks, deliveriesOfWebhook, runs, ofFirst, entries, jobs } = has;
  const tenant = {
    organization_id: nth('n', organizations),
    environment: `case when n % 2 = 0 then 'test' else 'live' end`,
  };
  const add = (table: string, count: number, given: Record<string, string>) =>
    insert(client, table, count, { ...tenant, ...given });
  await add('organization', organizations, { id: nth('n', organizations), plan: `'enterprise'` });
  await add('webhook_subscription', webhooks, {
    id: nth('n', webhooks),
    url: `'https://hooks.example.com/' || n`,
    events: `'["*"]'`,
    is_active: 'true',
    max_attempts: '10',
    concurrency: '8',
    ordering: `case when n % 10 = 3 then 'subject' else 'none' end`,
  });
  await add('retry_release', webhooks, {
    subscription_id: nth('n', webhooks),
    released_until: `now() + interval '1 hour'`,
    looks_at: `now() + interval '1 hour'`,
  });
  const ofDelivery = { event_id: 'uuidv7()', event_type: `'workflow.run.completed'` };
  // A fifth waits for its first attempt, a fifth for a retry and a fifth for an operator.
  const state = `(n / ${webhooks}) % 5`;
  await add('delivery', webhooks * deliveriesOfWebhook, {
    ...ofDelivery,
    // Those of one webhook belong to one tenant.
    organization_id: nth(`(n % ${webhooks})`, organizations),
    environment: `case when (n % ${webhooks}) % 2 = 0 then 'test' else 'live' end`,
    subscription_id: nth('n', webhooks),
    status: `(array['pending', 'retrying', 'dead_lettered', 'delivered', 'delivered'])[1 + ${state}]`,
    attempts: `least(${state}, 1)`,
    next_attempt_at: `case ${state} when 0 then now() - interval '1 minute' when 1 then now() + interval '1 hour' end`,
    finished_at: `case when ${state} > 1 then now() end`,
    created_at: `now() - interval '10 minutes' - make_interval(secs => n / ${webhooks})`,
    // Every tenth webhook has some that wait for others about the same subject.
    subject: `case when n % ${webhooks} % 10 = 3 then 's' || n / ${webhooks} % 7 end`,
    is_held: `n % ${webhooks} % 10 = 3 and n / ${webhooks} % 10 < 2`,
  });
  await add('delivery', ofFirst, {
    ...ofDelivery,
    organization_id: `'${firstId}'`,
    environment: `'test'`,
    subscription_id: `'${firstId}'`,
    status: `case when n % 10 = 0 then 'dead_lettered' else 'delivered' end`,
    attempts: '1',
    finished_at: 'now()',
    parked_at: `'-infinity'`,
    created_at: `now() - interval '1 hour' - make_interval(secs => n)`,
  });
  const perWorkflow = runs / organizations;
  await add('automation', organizations, {
    id: nth('n', organizations),
    state: `'active'`,
    total_runs: '0',
  });
  await add('automation_schedule', organizations, {
    automation_id: nth('n', organizations),
    cron: `'*/5 * * * *'`,
    timezone: `'UTC'`,
    paused: 'n % 4 = 3',
  });
  // What a fill before this one left.
  await client.query(
    `update automation set total_runs = ${perWorkflow} + case when id = '${firstId}' then ${ofFirst} else 0 end`,
  );
  const ofRun = {
    status: `case when n % 100 = 0 and n > ${ofFirst} - 500 then 'running' when n % 10 = 1 then 'failed' else 'completed' end`,
    finished_at: 'now()',
    checked_at: 'now()',
  };
  await add('run', runs, {
    ...ofRun,
    automation_id: nth('n', organizations),
    definition_id: nth('n', organizations),
    number: `1 + n / ${organizations}`,
  });
  await add('run', ofFirst, {
    ...ofRun,
    organization_id: `'${firstId}'`,
    environment: `'test'`,
    automation_id: `'${firstId}'`,
    definition_id: `'${firstId}'`,
    number: `1 + ${perWorkflow} + n`,
  });
  await add('calling_run', runs / 2, { leased_until: `case when n % 2 = 0 then now() + interval '1 hour' end` });
  await add('calling_total', organizations, { held: '2', is_admitting: 'true' });
  await client.query('update calling_total set waiting = 1, held = 1000000');
  await add('outbox', entries, {
    kind: `'webhook.wake'`,
    subject_id: 'uuidv7()',
    available_at: `now() - make_interval(secs => n % 60)`,
    attempts: '0',
  });
  await add('generation', jobs, {
    number: `1 + n / ${organizations}`,
    kind: `'image'`,
    status: `case when n % 10 = 0 then 'processing' else 'completed' end`,
    finished_at: 'case when n % 10 > 0 then now() end',
  });
  await add('voice_call', jobs, {
    kind: `'tts'`,
    status: `case when n % 10 = 0 then 'processing' else 'failed' end`,
    request: `'{}'`,
  });
  await add('integration_action', jobs, {
    status: `case when n % 10 = 0 then 'scheduled' else 'failed' end`,
    payload: `'{}'`,
    due_at: `now() + interval '1 hour'`,
  });
  await add('booking', jobs, {
    host_id: nth('n', organizations),
    event_type_id: nth('n', organizations),
    status: `'confirmed'`,
    start_at: `now() + n * interval '1 hour'`,
    end_at: `now() + n * interval '1 hour' + interval '10 minutes'`,
    hold_start_at: `now() + n * interval '1 hour'`,
    hold_end_at: `now() + n * interval '1 hour' + interval '10 minutes'`,
  });
  await add('booking_effect', jobs, {
    status: `case when n % 10 = 0 then 'pending' else 'succeeded' end`,
    due_at: `now() + interval '1 hour'`,
  });
  await add('idempotency', jobs, { key: `'key-' || n`, outcome: `'{}'` });
  await add('file', jobs, { recorded_at: 'now()', bytes: '1', sha256: `'x'` });
  await add('audit_log', jobs, {});
}
