import { expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { makeWorkflow } from '../automation/make-workflow.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { findViolations, type Scene, withScene } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

async function withTemporal(act: (temporal: Client, scene: Scene) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  try {
    await withScene((scene) => act(new Client({ connection }), scene));
  } finally {
    await connection.close();
  }
}

const yearly = { cron: '30 3 1 2 *', timezone: 'UTC' };

/** A workflow, and what its customer sees of its schedule through a process. */
async function makeScheduled({ caller }: Scene, { api }: ProductProcess) {
  const { id } = await makeWorkflow(caller.at(api));
  const path = `/v1/workflows/${id}/schedule`;
  return {
    id,
    put: (at: string, body: object) => caller.at(at).request('PUT', path, body),
    get: (at: string) => caller.at(at).get(path),
    remove: (at: string) => caller.at(at).delete(path),
    runs: async (at: string) => (await caller.at(at).get(`/v1/workflows/${id}/runs`)).body.data.runs,
  };
}

const stateOf = (temporal: Client, id: string) =>
  temporal.schedule
    .getHandle(`schedule-${id}`)
    .describe()
    .then(
      ({ state }) => (state.paused ? 'paused' : 'active'),
      () => 'none',
    );

test.concurrent('killed before Temporal heard of it: the drain tells it the last state', () =>
  withTemporal(async (temporal, scene) => {
    const { product } = scene;
    const first = await product.start(['api']);
    const schedule = await makeScheduled(scene, first);

    /** Dies with this request, after its commit. */
    const dieDuring = async (request: (at: string) => Promise<unknown>) => {
      const doomed = await product.start(['api'], { FAIL_POINT: 'schedule.committed' });
      await expect(request(doomed.api)).rejects.toThrow();
      await doomed.ended;
    };
    await dieDuring((at) => schedule.put(at, yearly));
    await dieDuring((at) => schedule.put(at, { ...yearly, paused: true }));
    expect(await stateOf(temporal, schedule.id)).toBe('none');
    // It is there, and so are its times, whatever Temporal knows.
    const { data } = (await schedule.get(first.api)).body;
    expect(data).toMatchObject({ ...yearly, paused: true });
    expect(data.nextRunTimes).toHaveLength(5);

    const worker = await product.start(['runs']);
    await until('the drain made it', async () => (await stateOf(temporal, schedule.id)) === 'paused');
    expect((await schedule.get(first.api)).body.data).toEqual(data);

    await worker.stop();
    await dieDuring(schedule.remove);
    expect(await stateOf(temporal, schedule.id)).toBe('paused');
    await product.start(['runs']);
    await until('the drain removed it', async () => (await stateOf(temporal, schedule.id)) === 'none');
  }));

test.concurrent('killed while it starts the run that is due: another process goes on, and there is one run', () =>
  withTemporal(async (temporal, scene) => {
    const { product, caller } = scene;
    const { api } = await product.start(['api']);
    const doomed = await product.start(['runs'], { FAIL_POINT: 'run.committed' });
    const schedule = await makeScheduled(scene, { api } as ProductProcess);
    await schedule.put(api, { ...yearly, input: 'x' });
    await temporal.schedule.getHandle(`schedule-${schedule.id}`).trigger();
    await doomed.ended;
    expect(await schedule.runs(api)).toHaveLength(1);

    await product.start(['runs']);
    await until('the firing has ended', async () => (await schedule.get(api)).body.data.lastRunAt !== null, 60_000);
    expect(await findViolations({ product, caller, api })).toEqual([]);
    const [run, ...more] = await schedule.runs(api);
    expect(more).toEqual([]);
    expect(run.status).toBe('COMPLETED');
  }));
