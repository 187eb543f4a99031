import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { apiClient } from '../api-client.ts';
import { type JobScene, openJobScene } from '../jobs/job-scene.ts';
import { type JobUnderTest, jobs, type Kill } from '../jobs/jobs.ts';
import { runningServers } from '../servers.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';

// What holds for every kind of job. Far more time than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let scene: JobScene;
beforeAll(async () => {
  scene = await openJobScene();
});
afterAll(() => scene.close());

const keyOf = ({ isLive }: JobUnderTest) => (isLive ? scene.tenant.liveKey : scene.tenant.testKey);
const rowsOf = async (sql: string, ...values: unknown[]) => (await scene.product.database.pool.query(sql, values)).rows;

/** Credits and results of the tenant, and how often the provider was asked. */
async function stateOf(job: JobUnderTest) {
  const credits = await creditsOf(apiClient(scene.process().api, keyOf(job)));
  return { ...credits, ...(await job.results?.count(scene)), asked: job.asked(scene) };
}
type State = Awaited<ReturnType<typeof stateOf>> & Record<string, number>;

function afterKill({ price, results }: JobUnderTest, before: State, { status, asked = 0 }: Kill): State {
  const isDone = status === 200;
  const added = isDone ? Object.entries(results?.ofOne ?? {}) : [];
  return {
    ...before,
    ...Object.fromEntries(added.map(([name, count]) => [name, before[name]! + count])),
    balance: before.balance - (isDone ? price : 0),
    reserved: 0,
    asked: before.asked + asked,
  };
}

const isOpen = async ({ table }: JobUnderTest) =>
  (await rowsOf(`select from ${table} where status in ('scheduled', 'processing')`)).length > 0;

const named = jobs.map((job) => ({ ...job, job, name: job.contract.name }));

describe.each(named)('a $name', ({ job, name, kills }) => {
  test.each(kills)('killed at $at: ends once, is charged once, and its key has the answer $status', async (kill) => {
    const before = await stateOf(job);
    const [at, headers] = [`${name}.${kill.at}`, { 'idempotency-key': kill.at }];
    await scene.process().arm(at);
    await expect(job.request(scene, kill.at, headers)).rejects.toThrow();
    await scene.succeed();
    // Asked in the database: each request counts in the limit of the minute, and the job does not need its caller.
    await until('it has ended', async () => !(await isOpen(job)));
    const after = afterKill(job, before, kill);
    expect(await stateOf(job)).toEqual(after);
    const answer = await job.request(scene, kill.at, headers);
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([kill.status, 'true']);
    expect(answer.body).toMatchObject(job.answers(kill.status, kill.at));
    await until('nothing is owed', async () => (await rowsOf('select from outbox')).length === 0);
    expect(await stateOf(job)).toEqual(after);
  });
});

describe('under an operator', () => {
  // On a busy machine, a process that seems dead to Temporal for a moment loses an attempt.
  beforeAll(() => scene.restart());

  describe.each(named)('a $name', ({ job, table }) => {
    test.each(['cancelled', 'terminated'] as const)(
      'whose workflow an operator %s ends, and is not charged',
      async (by) => {
        const before = await stateOf(job);
        const answer = job.requestSlow(scene).catch(() => undefined);
        const connection = await Connection.connect({ address: runningServers().temporalAddress });
        const [{ id }] = (await until('it is under way', async () => {
          const rows = await rowsOf(`select id from ${table} where status in ('scheduled', 'processing')`);
          return rows.length > 0 && rows;
        })) as [{ id: string }];
        const handle = new Client({ connection }).workflow.getHandle(jobWorkflowId(job.contract, id));
        await until('its workflow calls the provider, or waits for it', async () => {
          const pending = (await handle.describe().catch(() => undefined))?.raw.pendingActivities ?? [];
          const details = await handle.query('__temporal_workflow_metadata').catch(() => undefined);
          return pending.length > 0 || /Waits|Will be performed/.test(JSON.stringify(details ?? ''));
        });
        // An operator who acts earlier races with the request to the provider.
        const asked = before.asked + job.slowAsks;
        await until('the provider is asked', async () => job.asked(scene) === asked);
        await (by === 'cancelled' ? handle.cancel() : handle.terminate());
        await until('it has ended', async () => !(await isOpen(job)));
        // With what was recorded as the reason, so that another end explains itself.
        const why = `coalesce(to_jsonb(r) -> 'error', to_jsonb(r) -> 'failure') as why`;
        const [ended] = await rowsOf(`select status, ${why} from ${table} r where id = $1`, id);
        expect(ended).toMatchObject({ status: job.stopped[by] });
        expect(await stateOf(job)).toEqual({ ...before, asked });
        await answer;
        await connection.close();
      },
    );
  });
});
