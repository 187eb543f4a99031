import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { runIds } from '../../../src/automation/core/ids.ts';
import { runWorkflowId } from '../../../src/temporal/contracts/automation.ts';
import { makeFlow } from '../../automation/make-flow.ts';
import { endOf } from '../../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { until } from '../../until.ts';

/** Events that the history of a Temporal workflow may have. */
const maxEvents = 2_000;

let product: StartedProduct;
let connection: Connection;
beforeAll(async () => {
  [product, connection] = await Promise.all([
    sharedProduct(),
    Connection.connect({ address: runningServers().temporalAddress }),
  ]);
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

async function execute(steps: Record<string, unknown>[]) {
  const { api } = product;
  const id = await makeFlow(product, api, steps);
  const { body } = await api.post(`/api/v1/workflows/${id}/execute`, { input: list, async: true });
  const { runId } = body.data;
  const run = await until(
    'the run ends',
    async () => {
      const { rows } = await product.database.pool.query('select finished_at from run where id = $1', [
        runIds.parse(runId),
      ]);
      return rows[0]?.finished_at ? endOf(api, runId) : undefined;
    },
    240_000,
  );
  const { pool } = product.database;
  const { rows } = await pool.query(
    `select count(*)::int as steps, max(attempts) as attempts from run_step
      where run_id = $1 and coalesce(error ->> 'code', '') <> 'too_many_steps'`,
    [runIds.parse(runId)],
  );
  const handle = new Client({ connection }).workflow.getHandle(runWorkflowId(runIds.parse(runId)!));
  const {
    historyLength,
    raw,
    runId: last,
  } = await until('its workflow has ended', async () => {
    const described = await handle.describe();
    return described.status.name !== 'RUNNING' && described;
  });
  return { run, ...rows[0], historyLength, isContinued: raw.workflowExecutionInfo?.firstRunId !== last };
}

const map = (id: string, items: string, step: object, more = {}) => ({
  id,
  type: 'map',
  items,
  steps: [step],
  ...more,
});
const compute = { id: 'size', type: 'transform', expression: 'index + 1' };
const list = Array.from({ length: 300 }, (_, index) => index);
const nested = (each: number) => [
  { id: 'some', type: 'transform', expression: `input.filter(one, one < ${each})` },
  map('rows', 'input.filter(one, one < 100)', map('cells', 'steps.some.output', compute)),
];

test('a map of maps executes as many steps as a run may, with a short history', async () => {
  const { run, steps, attempts, historyLength } = await execute(nested(98));
  expect([run.status, steps, attempts]).toEqual(['completed', 2 + 100 + 9_800, 1]);
  const rows = run.stepResults.find(({ stepId }: { stepId: string }) => stepId === 'rows');
  expect(rows.counts).toEqual({ total: 100, succeeded: 100, failed: 0 });
  expect(historyLength).toBeLessThan(maxEvents);
}, 300_000);

test('the step after the last that a run may execute fails', async () => {
  const { run, steps, historyLength } = await execute(nested(99));
  expect([run.status, run.error.code]).toEqual(['failed', 'too_many_steps']);
  expect(steps).toBeLessThanOrEqual(10_000);
  expect(historyLength).toBeLessThan(maxEvents);
}, 300_000);

test('a run that waits hundreds of times goes on in a further history, and waits once for each', async () => {
  const nap = { id: 'nap', type: 'wait', for: 0.01 };
  const { run, steps, attempts, historyLength, isContinued } = await execute([
    map('naps', 'input', nap, { concurrency: 1 }),
  ]);
  expect([run.status, steps, attempts, isContinued]).toEqual(['completed', 301, 1, true]);
  expect(historyLength).toBeLessThan(maxEvents);
}, 300_000);
