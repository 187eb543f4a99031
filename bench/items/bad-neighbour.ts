import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { formatId } from '../../src/studio/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { openArrivals } from '../arrivals.ts';
import type { Attack } from '../attack.ts';
import { attacks } from '../attacks.ts';
import { type ChildProgram, startChildProgram } from '../child-program.ts';
import type { Cleanup } from '../cleanup.ts';
import { insertRuns } from '../insert-runs.ts';
import type { Finding, Item, Verdict } from '../item.ts';
import { createNeighbour, liftLimits, type Neighbour } from '../neighbour.ts';
import { ProductClient } from '../product-client.ts';
import type { AttackerArgs } from '../programs/attacker.ts';
import { untilCounted, untilSettled } from '../settled.ts';
import type { Stand } from '../stand.ts';
import { median, percentile } from '../statistics.ts';
import { announceMany, subscribe } from '../webhook-subscriptions.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const quietMs = 3_000;
const rounds = 3;
const roundMs = 2_000;
/** Until the attack is in full swing. */
const rampMs = 1_000;
/** The time between attacks, after the effects of the previous one have ended. */
const restMs = 2_000;
/** So that one operation's work is over before the next. */
const pauseMs = 10;

/** What takes longer has failed. */
const limitMs = 20_000;

const filledRuns = 1_000_000;
const filledEvents = 2_000;

/** What another tenant does all the while, by name. */
type Operations = Record<'GET' | 'run' | 'delivery', () => Promise<unknown>>;
type Times = Record<keyof Operations, number[]> & { failures: number };
const names = ['GET', 'run', 'delivery'] as const;

/**
 * P22: the effect on a tenant of another tenant that attacks as hard as it can. The attacker has the limits of the
 * largest plan on sale, and spends its minute within the measured seconds.
 */
export const badNeighbour: Item = {
  name: 'P22',
  title: 'GET, synchronous run of one step and delivery, p95, beside a tenant that attacks, / the same without',
  needs: 'stand',
  async run(stand, cleanup, { attack: chosen = '' } = {}) {
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 2 });
    cleanup.add(() => (pool.ending ? undefined : pool.end()));
    const receiver = await openArrivals();
    cleanup.add(() => receiver.close());
    const blackHole = await startChildProgram({
      program: 'webhook-receiver.ts',
      args: [],
      logFile: stand.file('neighbour-receiver.log'),
    });
    cleanup.add(() => blackHole.stop());
    const webhook = await subscribe(stand.client, receiver.url);
    const workflow = await createWorkflowOfSteps(stand, 1);
    const operations: Operations = {
      GET: () => stand.client.get(`/api/v1/workflows/${workflow}`),
      run: () => executeToEnd(stand, workflow),
      async delivery() {
        const arrival = receiver.next();
        await announceMany(pool, [webhook], 1);
        await arrival;
      },
    };
    await measure(operations, quietMs);
    const findings: Finding[] = [];
    for (const attack of attacks.filter(({ name }) => name.includes(chosen))) {
      const quiet = await measure(operations, quietMs);
      const organizations: Neighbour[] = [];
      while (organizations.length < (attack.organizations ?? 1)) organizations.push(await createNeighbour(stand));
      const attacker = await startAttacker(stand, cleanup, attack, organizations, `${blackHole.ready.url}/hang`);
      const { ids } = await attacker.ask<{ ids: string[] }>({ order: 'prepare' });
      if (attack.fill === 'runs') {
        for (const id of ids) await insertRuns(stand, id, filledRuns);
        // The product counts them as they end, a thousand at a time.
        await untilCounted(pool);
      }
      await attacker.ask({ order: 'begin' });
      if (attack.fill === 'events')
        await announceMany(
          pool,
          ids.map((id) => webhookIds.parse(id)!),
          filledEvents,
        );
      await sleep(rampMs);
      const beside: Times[] = [];
      for (let round = 0; round < rounds; round++) beside.push(await measure(operations, roundMs));
      // It has spent them, and deletes what it created.
      for (const organization of organizations) await liftLimits(stand, organization);
      const { answers } = await attacker.ask<{ answers: Record<string, number> }>({ order: 'end' });
      await attacker.stop();
      for (const organization of organizations) await cancelVideos(pool, stand, organization);
      const finding = findingOf(attack, answers, quiet, beside);
      findings.push(finding);
      // It takes minutes, so it reports its progress.
      process.stderr.write(
        `${attack.name}: ${finding.verdicts.map(({ values }) => median(values).toFixed(1)).join(', ')}\n`,
      );
      // Remaining work would disturb the next attack, and is a finding like any other.
      const isSettled = await untilSettled(pool).then(
        () => true,
        () => false,
      );
      finding.verdicts.push({
        name: `${attack.name}: work left two minutes after it`,
        values: [isSettled ? 0 : 1],
        aim: { atMost: 0 },
      });
      await sleep(restMs);
    }
    return findings;
  },
};

/** Does each operation in turn until the time is over. @returns how long each took, in ms, and how many failed */
async function measure(operations: Operations, windowMs: number): Promise<Times> {
  const times: Times = { GET: [], run: [], delivery: [], failures: 0 };
  const until = performance.now() + windowMs;
  while (performance.now() < until) {
    for (const name of names) {
      const began = performance.now();
      const given = sleep(limitMs, 'late', { ref: false });
      const outcome = await Promise.race([operations[name]().catch(() => 'failed'), given]);
      if (outcome === 'failed' || outcome === 'late') times.failures++;
      times[name].push(performance.now() - began);
      await sleep(pauseMs);
    }
  }
  return times;
}

/** Videos of the sandbox are computed one after the other, for minutes, unless their organization cancels them. */
async function cancelVideos(pool: pg.Pool, { api }: Stand, { organizationId, key }: Neighbour): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from generation where organization_id = $1 and kind = 'video' and status = 'processing'`,
    [organizationIds.parse(organizationId)],
  );
  const client = new ProductClient(api, key);
  for (const { id } of rows) await client.send('POST', `/api/studio/generate-video/${formatId('video', id)}/cancel`);
  client.close();
}

async function startAttacker(
  stand: Stand,
  cleanup: Cleanup,
  { name }: Attack,
  organizations: readonly Neighbour[],
  hangingUrl: string,
): Promise<ChildProgram> {
  const keys = organizations.map(({ key }) => key);
  const args: AttackerArgs = { api: stand.api, keys, hangingUrl, attack: name };
  const attacker = await startChildProgram({
    program: 'attacker.ts',
    args: [JSON.stringify(args)],
    logFile: stand.file('attacker.log'),
  });
  cleanup.add(() => attacker.stop());
  return attacker;
}

function findingOf(attack: Attack, answers: Record<string, number>, quiet: Times, beside: Times[]): Finding {
  const p95 = (times: number[]) => percentile(times, 0.95);
  const of = (what: string) => `${attack.name}: ${what}`;
  const maxMs = Math.max(...beside.flatMap((times) => names.flatMap((name) => times[name])));
  const failures = beside.reduce((sum, times) => sum + times.failures, 0);
  const ratios: Verdict[] = names.map((name) => ({
    name: of(`${name}, p95: beside / quiet`),
    values: beside.map((times) => p95(times[name]) / p95(quiet[name])),
    aim: { atMost: 2 },
  }));
  return {
    rows: [
      ...names.flatMap((name) => [
        { name: of(`${name}, p95, quiet`), unit: 'ms', values: [p95(quiet[name])] },
        { name: of(`${name}, p95, beside`), unit: 'ms', values: beside.map((times) => p95(times[name])) },
      ]),
      ...Object.entries(answers).map(([status, count]) => ({
        name: of(`its requests answered ${status}`),
        unit: '',
        values: [count],
      })),
    ],
    verdicts: [
      ...ratios,
      { name: of('longest answer, ms'), values: [maxMs], aim: { atMost: 1_000 } },
      { name: of('failures'), values: [failures], aim: { atMost: 0 } },
    ],
  };
}
