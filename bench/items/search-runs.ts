import pg from 'pg';
import { type RunFilter, searchRuns } from '../../src/automation/run-search/search-runs.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { openProductDatabase } from '../../src/services.ts';
import type { Finding, Item } from '../item.ts';
import type { Stand } from '../stand.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const runs = 1_000_000;
const limit = 50;
const maxBuffers = 2_000;

interface Inserted {
  batchId: string;
  parentRunId: string;
  from: Date;
  to: Date;
}

/** Runs of two days, newest last. Each filter matches some: rare ones and common ones. */
async function insertRuns(client: pg.Client, workflowId: string): Promise<Inserted> {
  const [batchId, parentRunId] = [newId(), newId()];
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      output, error, tokens_used, duration_ms, finished_steps, total_steps, correlation_id, created_at,
                      started_at, finished_at, trigger_type, tags, batch_id, parent_run_id, error_code)
     select uuidv7(), a.organization_id, a.environment, a.id, a.definition_id, n,
            case when n % 20 = 0 then 'failed' else 'completed' end, '"a text"', '{}', '{"result": 1, "steps": {}}'::json,
            case when n % 20 = 0 then '{"code": "service_unavailable", "message": "It was away."}'::json end,
            12, 34, 1, 1, 'bench-' || n / 10, at, at, at,
            case when n % 5 = 0 then 'schedule' else 'api' end,
            case when n % 50 = 0 then '["night"]'::jsonb else '[]'::jsonb end,
            case when n % 500 = 0 then $2::uuid end, case when n % 700 = 0 then $3::uuid end,
            case when n % 20 = 0 then 'service_unavailable' end
       from automation a, generate_series(1, ${runs}) n, lateral (select now() - make_interval(secs => (${runs} - n) / 6.0) as at) t
      where a.id = $1`,
    [workflowId, batchId, parentRunId],
  );
  await client.query(
    `insert into run_tag (run_id, tag, organization_id, environment, created_at)
     select id, 'night', organization_id, environment, created_at from run where tags @> '["night"]'`,
  );
  await client.query('update automation set total_runs = $2 where id = $1', [workflowId, runs]);
  await client.query('vacuum analyze run');
  await client.query('vacuum analyze run_tag');
  const now = Date.now();
  return { batchId, parentRunId, from: new Date(now - 20 * 3_600_000), to: new Date(now - 10 * 3_600_000) };
}

interface Sent {
  text: string;
  values: unknown[];
}

/** The statements on runs that a search sends, with their values. */
async function statementsOf(scope: Scope, filter: RunFilter, offset: number): Promise<Sent[]> {
  const sent: Sent[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [of] = args as [{ name?: string; text: string; values: unknown[] }];
    if (of.name?.startsWith('run.')) sent.push(of);
    return Reflect.apply(query, this, args);
  } as typeof query;
  try {
    await searchRuns(scope, filter, { limit, offset });
  } finally {
    pg.Client.prototype.query = query;
  }
  return sent;
}

/** Buffers of 8 KiB that PostgreSQL reads for them, as the tenant. */
async function buffersOf(
  client: pg.Client,
  { organizationId, environment }: Scope['tenant'],
  sent: Sent[],
): Promise<number> {
  await client.query('begin');
  try {
    await client.query('set local role atelier_tenant');
    const settings = `select set_config('atelier.organization_id', $1, true), set_config('atelier.environment', $2, true)`;
    await client.query(settings, [organizationId, environment]);
    let buffers = 0;
    for (const { text, values } of sent) {
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
      const { Plan } = rows[0]['QUERY PLAN'][0];
      buffers += Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
    }
    return buffers;
  } finally {
    await client.query('rollback');
  }
}

async function measure(stand: Stand, client: pg.Client, workflowId: string): Promise<Finding> {
  const { batchId, parentRunId, from, to } = await insertRuns(client, workflowId);
  const database = await openProductDatabase(stand.databaseUrl, 4);
  const scope = new Scope(database, { organizationId: stand.organizationId, environment: 'test' }, 'bench');
  const filters: [string, RunFilter][] = [
    ['none', {}],
    ['workflowId', { workflowId }],
    ['status', { statuses: ['failed'] }],
    ['workflowId and status', { workflowId, statuses: ['failed', 'cancelled'] }],
    ['tag', { tags: ['night'] }],
    ['from and to', { from, to }],
    ['workflowId, from and to', { workflowId, from, to }],
    ['triggeredBy', { triggers: ['schedule'] }],
    ['parentRunId', { parentRunId }],
    ['batchId', { batchId }],
    ['version', { version: 1 }],
    ['errorCode', { errorCode: 'service_unavailable' }],
    ['correlationId', { correlationId: 'bench-7' }],
  ];
  const verdicts: Finding['verdicts'] = [];
  try {
    for (const [name, filter] of filters) {
      for (const offset of [0, 5_000]) {
        const buffers = await buffersOf(client, scope.tenant, await statementsOf(scope, filter, offset));
        verdicts.push({
          name: `${name}, from ${offset} on: buffers read`,
          values: [buffers],
          aim: { atMost: maxBuffers },
        });
      }
    }
  } finally {
    await database.close();
  }
  return { rows: [], verdicts };
}

/** P35: the rows that a page of the runs of all workflows and its total read, for any filter. */
export const searchRunsItem: Item = {
  name: 'P35',
  title: `GET /api/v1/runs, ${limit} of ${runs.toLocaleString('en-US')} runs with every filter, buffers of 8 KiB`,
  needs: 'stand',
  async run(stand) {
    const workflowId = await createWorkflowOfSteps(stand, 1);
    const client = new pg.Client({ connectionString: stand.databaseUrl });
    await client.connect();
    try {
      return [await measure(stand, client, workflowId)];
    } finally {
      await client.end();
    }
  },
};
