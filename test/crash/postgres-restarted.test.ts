import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Answer } from '../api-client.ts';
import type { LogLine } from '../product-process.ts';
import { until } from '../until.ts';
import { findViolations, modelCalls, openScene, type Scene } from './oracle.ts';
import { ownPostgres } from './own-servers.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let postgres: Awaited<ReturnType<typeof ownPostgres>>;
let scene: Scene;
beforeAll(async () => {
  postgres = await ownPostgres();
  scene = await openScene({ testDatabase: postgres.testDatabase });
});
afterAll(async () => {
  await scene.product.close();
  await postgres.close();
});

/** The limit of the local activities in workflows/execute-run.ts. */
const instantTries = 5;
const isLastInstantTry = ({ msg, temporal }: LogLine): boolean => {
  const { isLocal, attempt } = (temporal ?? {}) as { isLocal?: boolean; attempt?: number };
  return msg === 'Activity failed' && isLocal === true && attempt === instantTries;
};

/** Between two requests of one customer. */
const paceMs = 20;

test('PostgreSQL killed under load: no acknowledged run is lost, and the API recovers by itself', async () => {
  const { product, caller } = scene;
  const { api, ended, log } = await product.start(['api', 'runs']);
  const workflowId = await caller.createWorkflow(api, ['One {{input}}', 'sandbox:slow=1 Two', 'Three']);
  const done = new AbortController();
  const refused: Answer[] = [];
  const acceptedKeys: string[] = [];

  /** Repeats the request with the same key until it gets a run, like a careful client. */
  const insist = async (idempotencyKey: string | undefined) => {
    for (;;) {
      const answer = await caller.execute(api, workflowId, { ...(idempotencyKey && { idempotencyKey }) });
      if (answer.status === 200) return;
      refused.push(answer);
      await sleep(paceMs);
    }
  };
  const customer = async (key: () => string | undefined) => {
    while (!done.signal.aborted) {
      const idempotencyKey = key();
      await insist(idempotencyKey);
      if (idempotencyKey) acceptedKeys.push(idempotencyKey);
      await sleep(paceMs);
    }
  };
  // With a key a run is made in a transaction of several statements, without one in a single statement.
  const customers = Promise.all([...Array(4)].map((_, index) => customer(index % 2 ? randomUUID : () => undefined)));

  // These wait for their runs' ends right through the outage.
  const thinking = await caller.createWorkflow(api, ['sandbox:slow=4 Think', 'Say it']);
  const waited = Promise.all([1, 2, 3].map(() => caller.execute(api, thinking, { wait: true })));

  await until('runs are under way', async () => {
    const stepIds = modelCalls(product).map(({ stepId }) => stepId);
    return caller.acknowledged.size > 20 && stepIds.includes('step2');
  });
  // On a busy machine no run may be in an instant step when it is killed: then it is started, and killed once more.
  await until('instant steps are given up', async () => {
    const before = refused.length;
    // Acknowledged, and none of them far.
    await Promise.all([...Array(10)].map(() => caller.execute(api, workflowId)));
    await postgres.kill();
    await until('the API says that it cannot', async () => refused.length > before + 10);
    const read = () => caller.at(api).request('GET', `/api/v1/runs/${[...caller.acknowledged][0]}`);
    await until('nothing can be read', async () => (await read()).status === 503);
    // Long enough that runs which were in an instant step are on the way of the calls that take time.
    const isGivenUp = async () => log.some(isLastInstantTry);
    const isLong = await until('instant steps are given up', isGivenUp, 40_000).catch(() => false);
    await postgres.start();
    return isLong;
  });
  const before = caller.acknowledged.size;
  await until('runs are accepted again', async () => caller.acknowledged.size > before + 10);
  done.abort();
  await customers;
  for (const answer of await waited)
    expect(answer).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });

  for (const { status, headers, body } of refused) {
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(body).toMatchObject({
      success: false,
      error: { code: expect.stringMatching(/^[A-Z_]+$/), message: expect.any(String), requestId: expect.any(String) },
    });
  }
  expect(await findViolations({ product, caller, api })).toEqual([]);
  const { rows } = await product.database.pool.query('select count(*)::int as count from idempotency');
  expect(rows[0].count).toBe(acceptedKeys.length);
  expect(await Promise.race([ended.then(() => 'ended'), 'alive'])).toBe('alive');
});
