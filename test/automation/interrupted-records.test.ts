import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { QueryResultRow } from 'pg';
import { loadFlowWork } from '../../src/automation/flows/load-flow.ts';
import { type FlowWrite, recordFlowSteps } from '../../src/automation/flows/record-flow.ts';
import { Scope, type Transaction } from '../../src/platform/database/scope.ts';
import type { Statement, TenantArguments } from '../../src/platform/database/sql.ts';
import type { Files } from '../../src/storage/index.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { cutWaiting } from '../cut-waiting.ts';
import { type Hold, newHold } from '../hold.ts';
import { whileHeld } from '../hold-lock.ts';
import { openBoundedWork } from '../platform/open-bounded-work.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { endOf, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
let scope: Scope;
beforeAll(async () => {
  product = await sharedProduct();
  const tenant = await product.createTenant({ plan: 'enterprise' });
  api = apiClient(product.process.api, tenant.testKey);
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  scope = new Scope(product.database, { organizationId, environment: 'test' }, randomUUID());
});
afterAll(() => product.close());

const rowsOf = async (sql: string, ...values: unknown[]) => (await product.database.pool.query(sql, values)).rows;
const ask = (id: string, prompt: string) => ({ id, type: 'prompt', prompt });

async function start(steps: object[]): Promise<string> {
  const { id } = await makeWorkflow(api, { steps });
  const { body } = await api.post(
    `/api/v1/workflows/${id}/execute`,
    { input: null, async: true },
    { 'x-api-variant': 'A' },
  );
  return body.data.runId;
}

/** Whether all of these steps have this status. */
const areInStatus = async (runId: string, status: string, ...steps: string[]) => {
  const found = 'select from run_step where run_id = $1 and status = $2 and step_id = any($3)';
  return (await rowsOf(found, runId, status, steps)).length === steps.length;
};

/** Starts a run, and ends the session that records the end of the call of `ending`, while these of its steps call out. */
async function startInterrupted(steps: object[], calling: string[], ending: Hold): Promise<string> {
  const runId = await start(steps);
  await until('the steps call out', () => areInStatus(runId, 'running', ...calling));
  await whileHeld(product, `select from run where id = '${runId}' for update`, async (holder) => {
    await ending.release();
    await cutWaiting(holder);
  });
  return runId;
}

const attemptsOf = (runId: string) =>
  rowsOf('select step_id as id, attempts from run_step where run_id = $1 and attempts > 0 order by step_id', runId);

describe('an interruption of the database while something is recorded', () => {
  test('aborts no call of a flow that is under way', async () => {
    const [long, short] = [newHold(product.database), newHold(product.database)];
    const branches = [
      { id: 'left', steps: [ask('long', long.word)] },
      { id: 'right', steps: [ask('short', short.word), ask('then', 'x')] },
    ];
    const runId = await startInterrupted([{ id: 'both', type: 'parallel', branches }], ['long', 'short'], short);
    await until('the branch beside it has ended', () => areInStatus(runId, 'completed', 'short', 'then'));
    await long.release();
    expect((await endOf(api, runId)).status).toBe('completed');
    expect(await attemptsOf(runId)).toEqual([
      { id: 'both', attempts: 1 },
      { id: 'long', attempts: 1 },
      { id: 'short', attempts: 1 },
      { id: 'then', attempts: 1 },
    ]);
  });

  test('has no model called again in a run of steps one after another', async () => {
    const first = newHold(product.database);
    const runId = await startInterrupted([ask('first', first.word), ask('second', 'x')], ['first'], first);
    expect((await endOf(api, runId)).status).toBe('completed');
    expect(await attemptsOf(runId)).toEqual([
      { id: 'first', attempts: 1 },
      { id: 'second', attempts: 1 },
    ]);
  });

  test('counts a step of a flow once whose record was committed before the connection was lost', async () => {
    const runId = await start([{ id: 'waits', type: 'event', event: 'never' }]);
    const found = () => rowsOf('select fence, tokens_used as tokens from run where id = $1', runId);
    await until('it waits', async () => {
      const waiting = await rowsOf('select from run where id = $1 and waiting_since is not null', runId);
      return waiting.length > 0;
    });
    const [{ fence }] = await found();
    const step = { id: 'calls', type: 'prompt' } as const;
    const facts = { position: 1, path: 'calls', step, startedAt: new Date() };
    const write = { runId, waits: [], progress: { finished: 0, known: 2 }, isWaiting: false, notify: null };
    const begins = [{ ...facts, status: 'running' as const }];
    expect(await record({ ...write, fence, records: begins })).toMatchObject({
      begun: [{ position: 1, attempts: 1, rounds: 0 }],
    });
    const ends = [
      {
        ...facts,
        status: 'completed' as const,
        finishedAt: new Date(),
        warnings: [],
        warningsTotal: 0,
        tokensUsed: 5,
        output: { bytes: 1, json: '1' },
      },
    ];
    const alongside = { times: 0 };
    const inTransaction = async () => void alongside.times++;
    expect(await record({ ...write, fence: fence + 1, records: ends }, inTransaction)).toMatchObject({ begun: [] });
    expect(alongside.times).toBe(1);
    expect(await attemptsOf(runId)).toContainEqual({ id: 'calls', attempts: 1 });
    expect(await found()).toEqual([{ fence: fence + 2, tokens: 5 }]);
    // The run is taken over.
    expect(await loadFlowWork(scope, runId)).toBeDefined();
    expect(await record({ ...write, fence: fence + 2, records: begins })).toBeUndefined();
    await api.post(`/api/v1/runs/${runId}/cancel`);
  });
});

/** Loses the answer to its first transaction, once that is committed. */
class LosesAnswer extends Scope {
  #hasLost = false;

  override async rows<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: TenantArguments<Values>
  ): Promise<Row[]> {
    return this.#lose(await super.rows(of, ...values));
  }

  protected override async inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#lose(await super.inTransaction(work));
  }

  #lose<T>(answer: T): T {
    if (this.#hasLost) return answer;
    this.#hasLost = true;
    throw new Error('Connection terminated unexpectedly');
  }
}

async function record(write: FlowWrite, also?: () => Promise<void>) {
  const boundedWork = openBoundedWork();
  const losing = new LosesAnswer(product.database, scope.tenant, scope.correlationId);
  try {
    return await recordFlowSteps({ files: {} as Files, boundedWork }, losing, write, also);
  } finally {
    boundedWork.close();
  }
}
