import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cpuBetween } from '../cpu-meter.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Finding, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import { collectGarbage, memoryBelow } from '../memory.ts';
import { createNeighbour } from '../neighbour.ts';
import { ProductClient } from '../product-client.ts';
import { untilSettled } from '../settled.ts';
import type { Stand } from '../stand.ts';
import { percentile } from '../statistics.ts';

const workflows = 50;
const runsOfEach = 100;
const runs = workflows * runsOfEach;
/** Runs that are resumed, one after the other. */
const resumed = 100;
const restMs = 10_000;

const eventOf = (index: number) => `bench.waited_${index % workflows}`;

async function accept<Data>(client: ProductClient, path: string, body: unknown): Promise<Data> {
  const { status, text } = await client.send('POST', path, body);
  if (status !== 202) throw new Error(`${path} answered ${status}: ${text.slice(0, 300)}`);
  return JSON.parse(text).data;
}

/** In MB, of the product with its pools and without garbage, pages that processes share counted once. */
async function megabytesOf(pid: number): Promise<number> {
  await collectGarbage(pid);
  // What V8 freed goes back to the system a little later.
  await sleep(restMs);
  return memoryBelow(pid).reduce((sum, { proportional }) => sum + proportional, 0);
}

/** Cores that the idle product, PostgreSQL and Temporal use. */
async function coresAtRest({ meter }: Stand): Promise<Record<string, number>> {
  const from = meter.read();
  const begun = performance.now();
  await sleep(restMs);
  const cost = cpuBetween(from, meter.read());
  const ms = performance.now() - begun;
  return Object.fromEntries([...(cost?.byName ?? [])].map(([name, used]) => [name, used / ms]));
}

/** Starts the runs, with the numbers from 0 on as their inputs. @param stepsOf the steps of each workflow */
async function startRuns({ client }: Stand, name: string, stepsOf: (index: number) => object[]): Promise<void> {
  for (let index = 0; index < workflows; index++) {
    const { id } = await client.post<{ id: string }>('/api/v1/workflows', { name, steps: stepsOf(index) });
    const items = Array.from({ length: runsOfEach }, (_, at) => ({ input: at * workflows + index }));
    await accept(client, `/api/v1/workflows/${id}/batch`, { items });
  }
}

/** As many runs as will wait, which end: a process that has worked has more memory than one that has not. */
async function warmUp(stand: Stand): Promise<void> {
  const branch = (id: string) => ({ id, steps: [{ id: `of_${id}`, type: 'transform', expression: 'input' }] });
  await startRuns(stand, 'Ends', () => [{ id: 'both', type: 'parallel', branches: [branch('one'), branch('two')] }]);
  const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 1 });
  try {
    await untilSettled(pool);
  } finally {
    await pool.end();
  }
}

/** Starts runs that wait for an event of their own, and waits until all of them wait. @returns their ids by their inputs */
async function startWaiting(stand: Stand): Promise<Map<number, string>> {
  await startRuns(stand, 'Waits', (index) => [
    { id: 'paid', type: 'event', event: eventOf(index), match: 'event.data.n == input', timeout: 'P30D' },
  ]);
  const client = new pg.Client({ connectionString: stand.databaseUrl });
  await client.connect();
  try {
    const count = `select count(*)::int as waits from run_wait where event like 'bench.waited_%' and state = 'open'`;
    while ((await client.query(count)).rows[0].waits < runs) await sleep(500);
    const { rows } = await client.query(
      `select r.id, r.input::text as input from run r join run_wait w on w.run_id = r.id where w.event like 'bench.waited_%'`,
    );
    return new Map(rows.map(({ id, input }) => [Number(input), id]));
  } finally {
    await client.end();
  }
}

/** Cancels what waits: without it the next item would have all of these runs beside it. */
async function cancelAll({ client }: Stand): Promise<void> {
  const hour = 3_600_000;
  const filter = {
    status: ['RUNNING'],
    from: new Date(Date.now() - hour).toISOString(),
    to: new Date(Date.now() + hour).toISOString(),
  };
  await accept(client, '/api/v1/bulk-actions', { action: 'cancel', filter });
}

/** From an event to the end of the one run that waits for it, as a caller sees it. @param id of the run */
async function resume({ client }: Stand, n: number, id: string): Promise<number> {
  const begun = performance.now();
  const event = { name: eventOf(n), data: { n } };
  const { resumed: count } = await accept<{ resumed: number }>(client, '/api/v1/events', event);
  if (count !== 1) throw new Error(`The event resumed ${count} runs.`);
  while ((await client.get<{ status: string }>(`/api/v1/runs/${id}`)).status !== 'COMPLETED') await sleep(2);
  return performance.now() - begun;
}

/** P32: what runs that wait cost, and how soon one of them goes on. */
export const waitingRuns: Item = {
  name: 'P32',
  title: `${runs} runs that wait for events: cores at rest, memory, and from the event of one of them to its end`,
  needs: 'stand',
  async run(stand, cleanup) {
    cleanup.add(() => cancelAll(stand));
    await warmUp(stand);
    const before = { memory: await megabytesOf(stand.productPid), cores: await coresAtRest(stand) };
    const begun = performance.now();
    const ids = await startWaiting(stand);
    const startedIn = performance.now() - begun;
    const after = { memory: await megabytesOf(stand.productPid), cores: await coresAtRest(stand) };
    const times: number[] = [];
    for (let n = 0; n < resumed; n++) times.push(await resume(stand, n * 37, ids.get(n * 37)!));
    const sum = (cores: Record<string, number>) => Object.values(cores).reduce((total, one) => total + one, 0);
    const rowsOf = (what: string, cores: Record<string, number>) =>
      Object.entries(cores).map(([name, value]) => ({
        name: `cores at rest ${what}, ${name}`,
        unit: 'cores',
        values: [value],
      }));
    return [
      {
        rows: [
          { name: `until ${runs} runs waited`, unit: 'ms', values: [startedIn] },
          ...rowsOf('before', before.cores),
          ...rowsOf('while they wait', after.cores),
          { name: 'memory before', unit: 'MB', values: [before.memory] },
          { name: 'memory while they wait', unit: 'MB', values: [after.memory] },
          { name: 'from an event to the end of its run', unit: 'ms', values: times },
        ],
        verdicts: [
          {
            name: 'cores that the waiting runs use',
            values: [sum(after.cores) - sum(before.cores)],
            aim: { atMost: 0.05 },
          },
          { name: 'MB that the waiting runs take', values: [after.memory - before.memory], aim: { atMost: 30 } },
          {
            name: 'ms from an event to the end of its run, p95',
            values: [percentile(times, 0.95)],
            aim: { atMost: 100 },
          },
        ],
      },
    ];
  },
};

const otherWaits = 10_000;

/** Waits of a tenant for events of other names, as their runs would have recorded them. */
async function insertWaits({ databaseUrl }: Stand): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    await client.query(
      `insert into run_wait (id, run_id, path, organization_id, environment, type, step_id, since, until, event, match, state)
       select uuidv7(), uuidv7(), 'paid', o.id, 'test', 'event', 'paid', now(), now() + interval '30 days',
              'bench.other_' || n % 100, 'event.data.n == input', 'open'
         from organization o, generate_series(1, ${otherWaits}) n where o.name = 'Bench'`,
    );
    await client.query('vacuum analyze run_wait');
  } finally {
    await client.end();
  }
}

/** P33: what an event costs that nobody waits for. */
export const eventsBesideWaits: Item = {
  name: 'P33',
  title: `POST /api/v1/events beside ${otherWaits} waits for events of other names, p50 alone`,
  needs: 'stand',
  async run(stand): Promise<Finding[]> {
    await insertWaits(stand);
    const none = new ProductClient(stand.api, (await createNeighbour(stand, 'unlimited')).key);
    const side = (name: string, client: ProductClient): Side => {
      const send = () => accept(client, '/api/v1/events', { name: 'bench.unexpected', data: { n: 1 } });
      return { name, warmUp: () => timeAlone(send, { count: 30 }), round: () => timeAlone(send, { count: 60 }) };
    };
    const measured = await interleave(stand.meter, 5, [side('without waits', none), side('product', stand.client)]);
    none.close();
    return [compare('ms', 'an event', measured, { 'without waits': { atMost: 1.2 } })];
  },
};
