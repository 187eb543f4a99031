import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { buffersOf, rowOf } from '../../../bench/buffers.ts';
import { allWorkflows, sweepApprovalBlocks } from '../../../src/automation/approvals/approval-blocks.ts';
import { listApprovals } from '../../../src/automation/approvals/approval-list.ts';
import { type ApprovalStatus, approvalStates } from '../../../src/automation/core/approvals.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { Scope } from '../../../src/platform/database/scope.ts';
import { newId } from '../../../src/platform/ids.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../test-database.ts';

/*
 * Lists of a tenant with many approvals, where PostgreSQL has no statistics of them. Nothing runs but what the test does.
 */

let organizationId: string;
let other: string;
/** The first two have most approvals, the third few. */
const workflows = [newId(), newId(), newId()];
const runs = workflows.map(() => newId());
const ofOther = newId();

let testDatabase: TestDatabase;
let database: Database;
let owner: pg.Client;
let scope: Scope;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestDatabase(testDatabase.url);
  const create = async () =>
    organizationIds.parse((await createOrganization(database, { name: 'Many', plan: 'enterprise' })).id)!;
  [organizationId, other] = [await create(), await create()];
  scope = new Scope(database, { organizationId, environment: 'test' }, 'many');
  owner = new pg.Client({ connectionString: testDatabase.ownerUrl });
  await owner.connect();
  for (const table of ['approval', 'approval_block', 'approval_change', 'automation']) {
    await owner.query(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  const add = async (tenant: string, automationId: string, runId: string) => {
    const definition = newId();
    await ask(
      `insert into automation (id, organization_id, environment, name, state, definition_id, total_runs, created_at, updated_at)
       values ($1, $2, 'test', 'Many', 'active', $3, 1, now(), now())`,
      [automationId, tenant, definition],
    );
    await ask(
      `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                        finished_steps, total_steps, correlation_id, created_at, checked_at)
       values ($1, $2, 'test', $3, $4, 1, 'running', '1', '{}', 0, 0, 'many', now(), now())`,
      [runId, tenant, automationId, definition],
    );
  };
  // Definitions are not read.
  await ask('set session_replication_role = replica');
  for (const [nth, id] of workflows.entries()) await add(organizationId, id, runs[nth]!);
  await add(other, ofOther, ofOther);
  await ask('set session_replication_role = origin');
});
afterAll(async () => {
  await owner.end();
  await database.close();
  await testDatabase.drop();
});

const ask = async (text: string, values: unknown[] = []) => (await owner.query(text, values)).rows;

let seeded = 0;
/** How many workflows have most approvals. */
let large = 2;

/** Approvals of the past, one each second; every fifth is of another tenant. */
async function seed(count: number): Promise<void> {
  await ask(
    `insert into approval (id, organization_id, environment, run_id, path, step_id, automation_id, message, actions, approvers,
                           status, expires_at, correlation_id, created_at)
     select gen_random_uuid(), case when n % 5 = 0 then $1::uuid else $2::uuid end, 'test', run, 'step_' || n, 'ask', workflow,
            'Go on?', '[]', '[]',
            case when n % 97 = 0 then 'pending' when n % 11 = 0 then 'cancelled' when n % 1999 = 0 then 'expired' else 'answered' end,
            now(), 'many', timestamptz '2026-01-01' + n * interval '1 second'
       from generate_series($6::int + 1, $6::int + $5::int) n
      cross join lateral (select case when n % 5 = 0 then 4 when n % 1013 = 0 then 3 else 1 + n % $7::int end as nth) of
      cross join lateral (select ($3::uuid[])[nth] as run, ($4::uuid[])[nth] as workflow) named`,
    [other, organizationId, [...runs, ofOther], [...workflows, ofOther], count, seeded, large],
  );
  seeded += count;
}

interface Row {
  id: string;
  status: ApprovalStatus;
  workflow: string;
}

const read = (): Promise<Row[]> =>
  ask(
    `select a.id, a.status, a.automation_id as workflow from approval a join automation w on w.id = a.automation_id
      where a.organization_id = $1 and w.deleted_at is null order by a.created_at desc, a.id desc`,
    [organizationId],
  ) as Promise<Row[]>;

const filters = [undefined, ...workflows].flatMap((workflowId) =>
  [undefined, ...approvalStates.all].map((status) => ({ workflowId, status })),
);

let round = 0;

/** Every filter shows the right total and page: at the beginning, in the middle and at the end. */
async function expectLists(): Promise<void> {
  const rows = await read();
  for (const filter of filters) {
    const { status, workflowId } = filter;
    const expected = rows.filter(
      (row) => row.status === (status ?? row.status) && row.workflow === (workflowId ?? row.workflow),
    );
    const offset = Math.max(0, Math.floor((expected.length * (round++ % 9)) / 8) - 3);
    const { items, total } = await listApprovals(scope, filter, { limit: 10, offset });
    const ids = expected.slice(offset, offset + 10).map(({ id }) => id);
    const shown = { filter, offset, total, ids: items.map(({ approvalId }) => approvalId) };
    expect(shown).toEqual({ filter, offset, total: expected.length, ids });
  }
}

const noted = async () => (await ask('select count(*)::int as n from approval_change'))[0].n as number;
const blocks = async (automationId: string) =>
  (await ask('select ends_id from approval_block where automation_id = $1', [automationId])).length;

test('pages and totals are right for every filter while approvals come, are decided and are removed', async () => {
  await seed(8_000);
  await expectLists();
  expect(await sweepApprovalBlocks(database)).toBeGreaterThan(5);
  expect(await noted()).toBeLessThan(4_000);
  await expectLists();

  const some = `get_byte(uuid_send(id), 3)`;
  await ask(`update approval set status = 'answered' where status = 'pending' and ${some} < 128`);
  await ask(`delete from approval where status = 'answered' and ${some} between 128 and 160`);
  await seed(3_000);
  await expectLists();
  await sweepApprovalBlocks(database);
  expect(await ask('select from approval_change where is_late')).toEqual([]);
  await expectLists();

  // A workflow is deleted, and its rows are purged later, with its run.
  await ask('update automation set deleted_at = now() where id = $1', [workflows[1]]);
  await expectLists();
  await ask(`delete from approval where automation_id = $1 and ${some} < 100`, [workflows[1]]);
  await expectLists();
  await sweepApprovalBlocks(database);
  await expectLists();
  await ask('delete from run where id = $1', [runs[1]]);
  large = 1;
  await ask('delete from automation where id = $1', [workflows[1]]);
  await expectLists();
  await sweepApprovalBlocks(database);
  await expectLists();
  expect(await blocks(workflows[1]!)).toBe(0);

  // The oldest are removed, block by block.
  const before = await blocks(allWorkflows);
  await ask(`delete from approval where created_at < timestamptz '2026-01-01' + interval '6000 seconds'`);
  await sweepApprovalBlocks(database);
  await expectLists();
  expect(await blocks(allWorkflows)).toBeLessThan(before);
});

test('an approval whose transaction ends after that of a later one is counted once', async () => {
  const late = new pg.Client({ connectionString: testDatabase.ownerUrl });
  await late.connect();
  await late.query('begin');
  await late.query(
    `insert into approval (id, organization_id, environment, run_id, path, step_id, automation_id, message, actions, approvers,
                           status, expires_at, correlation_id, created_at)
     select gen_random_uuid(), organization_id, 'test', run_id, 'late_' || n, 'ask', automation_id, 'Go on?', '[]', '[]',
            'pending', now(), 'many', created_at + interval '1 millisecond'
       from (select * from approval where run_id = $1 order by created_at desc limit 1) a, generate_series(1, 400) n`,
    [runs[0]],
  );
  await seed(4_000);
  expect(await sweepApprovalBlocks(database)).toBeGreaterThan(1);
  await late.query('commit');
  await late.end();
  await expectLists();
  await ask(`update approval set status = 'cancelled' where path like 'late\\_%' and path < 'late_3'`);
  await expectLists();
  await sweepApprovalBlocks(database);
  await expectLists();
  await ask(`delete from approval where path like 'late\\_%' and path > 'late_2'`);
  await sweepApprovalBlocks(database);
  await seed(3_000);
  await sweepApprovalBlocks(database);
  await expectLists();
});

test('no change is lost while blocks are being counted', async () => {
  const { total } = await listApprovals(scope, {}, { limit: 1, offset: 0 });
  let isOver = false;
  const sweeping = [1, 2].map(async () => {
    while (!isOver) await sweepApprovalBlocks(database);
  });
  const totals = new Set<number>();
  const change = async (nth: number) => {
    for (let time = 0; time < 12; time++) {
      await database.pool.query(
        `update approval set status = $2 where id in (
           select id from approval where organization_id = $1 and get_byte(uuid_send(id), 7) % 4 = $3::int
            order by random() limit 60 for update skip locked)`,
        [organizationId, approvalStates.all[(nth + time) % 4], nth],
      );
      totals.add((await listApprovals(scope, {}, { limit: 1, offset: 0 })).total);
    }
  };
  await Promise.all([0, 1, 2, 3].map(change));
  isOver = true;
  await Promise.all(sweeping);
  expect([...totals]).toEqual([total]);
  await expectLists();
  await sweepApprovalBlocks(database);
  await expectLists();
});

const kinds = [
  ['', []],
  ['_of_status', ['answered']],
  ['_of_status', ['expired']],
  ['_of_workflow', [workflows[0]]],
  ['_of_workflow', [workflows[2]]],
  ['_of_workflow_and_status', [workflows[0], 'answered']],
  ['_of_workflow_and_status', [workflows[0], 'pending']],
] as const;

test('the largest page costs the same however many approvals there are, and wherever it is', async () => {
  await seed(40_000);
  await sweepApprovalBlocks(database);
  const marksOf = (kind: string, values: readonly unknown[], offset: number) => ({
    name: `approval.marks${kind}`,
    values: [...values, offset],
  });
  const tenant = [organizationId, 'test'] as const;
  const costly = async (parts: number[]) => {
    const found = [];
    for (const [kind, values] of kinds) {
      const total = Number((await rowOf(owner, tenant, marksOf(kind, values, 0))).total);
      for (const part of parts) {
        const marks = marksOf(kind, values, Math.floor(Math.max(0, total - 100) * part));
        const { upToAt, upToId, skip } = await rowOf(owner, tenant, marks);
        const page = { name: `approval.page${kind}`, values: [...values, upToAt, upToId, 100, skip] };
        const buffers = await buffersOf(owner, tenant, [marks, page]);
        if (buffers > 2_000) found.push({ kind, values, total, part, buffers });
      }
    }
    return found;
  };
  expect(await costly([0, 0.3, 0.7, 1])).toEqual([]);

  // As a million more leave it: a block for each 500, of all workflows and of each.
  await ask(
    `insert into approval_block (organization_id, environment, ends_at, ends_id, automation_id, pending, answered, expired, cancelled)
     select $1, 'test', timestamptz '2025-01-01' + n * interval '1 minute', gen_random_uuid(), series.id, 10, 200, 20, 20
       from generate_series(1, 2000) n, unnest($2::uuid[]) series (id)`,
    [organizationId, [allWorkflows, workflows[0], workflows[2]]],
  );
  expect(await costly([0, 0.01])).toEqual([]);
});
