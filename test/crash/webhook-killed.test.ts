import { expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import type { Reply } from '../webhooks/receiver.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, withDeliveries } from './delivery-scene.ts';
import { findViolations } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(300_000);

/** A process that makes a delivery dies at the fail point. The next one takes its place, and is to die elsewhere. */
interface Death {
  at: string;
  what: string;
  /** What the receiver answers before it answers 200. */
  replies?: (number | Reply)[];
  maxAttempts?: number;
  status?: 'dead_lettered';
  /** Attempts that are recorded in the end. */
  attempts: number;
  /** Requests that arrived without being recorded. */
  cutOff?: number;
  /** Whether no retries of others may have a workflow any more. */
  isQuiet?: boolean;
}

const later: Reply = { status: 503, headers: { 'retry-after': '5' } };
/** Far enough for a process on a busy machine to die before the next attempt is due. */
const muchLater: Reply = { status: 503, headers: { 'retry-after': '15' } };

// Each list has a product of its own, and both run at the same time. In this order no process dies of what it takes over from
// the one before: `retry.woken` is the first, because the retry of a delivery that was taken over late wakes its workflow again.
const deaths: Death[][] = [
  [
    { at: 'delivery.leased', what: 'nothing was sent', attempts: 1 },
    { at: 'retry.sent', what: 'it arrives twice', replies: [500], attempts: 2, cutOff: 1 },
    { at: 'delivery.sent', what: 'it arrives twice', attempts: 1, cutOff: 1 },
    { at: 'retry.recorded', what: 'a success stays one', replies: [500], attempts: 2 },
    { at: 'delivery.recorded', what: 'a success stays one', attempts: 1 },
    {
      at: 'retry.recorded',
      what: 'the last failure is parked',
      replies: [500, 500],
      maxAttempts: 2,
      status: 'dead_lettered',
      attempts: 2,
    },
  ],
  [
    { at: 'retry.woken', what: 'it has its workflow', replies: [muchLater], attempts: 2 },
    { at: 'delivery.recorded', what: 'a failure is tried again', replies: [500, later], attempts: 3 },
    {
      at: 'letter.parked',
      what: 'its workflow is started once',
      replies: [500],
      maxAttempts: 1,
      status: 'dead_lettered',
      attempts: 1,
    },
    {
      at: 'delivery.recorded',
      what: 'the first and last failure is parked',
      replies: [500],
      maxAttempts: 1,
      status: 'dead_lettered',
      attempts: 1,
    },
    {
      at: 'delivery.recorded',
      what: 'a receiver that is gone hears nothing more',
      replies: [410],
      status: 'dead_lettered',
      attempts: 1,
      isQuiet: true,
    },
    { at: 'retry.looked', what: 'it looks again', replies: [muchLater], attempts: 2 },
  ],
];

test.concurrent.each(deaths.map((ofOne) => ({ first: ofOne[0]!.at, ofOne })))(
  'killed at steps of an attempt and of what follows it, from $first on: nothing is lost, and nothing done twice',
  ({ ofOne }) =>
    withDeliveries(async (scene) => {
      const { api } = await scene.product.start(['api', 'runs']);
      const { product, caller, receiver } = scene;
      const { pool } = product.database;
      const fields = { events: ['workflow.run.failed'] };
      const sent: (Omit<Death, 'replies'> & { id: string; path: string; delivery: string })[] = [];
      /** Delivered, or parked. */
      const settled = async (delivery: string) => {
        const { rows } = await pool.query<{ status: string; isParked: boolean }>(
          `select status, coalesce(isfinite(parked_at), false) as "isParked" from delivery where id = $1`,
          [delivery],
        );
        return rows[0]?.status === 'delivered' || rows[0]?.isParked;
      };
      for (const { at, replies = [], maxAttempts = 5, isQuiet, ...death } of ofOne) {
        const doomed = await product.start(['webhooks'], { FAIL_POINT: at });
        const before = sent.at(-1);
        if (before) await until(`what died at ${before.at} is settled`, () => settled(before.delivery));
        const clocks = () => pool.query('select from retry_release');
        if (isQuiet) await until('no retries wait', async () => (await clocks()).rows.length === 0);
        const { id, path } = await scene.subscribe(api, answers(...replies), { ...fields, maxAttempts });
        sent.push({ ...death, at, id, path, delivery: await scene.sendTest(api, id) });
        await doomed.ended;
      }
      await product.start(['webhooks']);
      const cutOff = ofOne.reduce((sum, death) => sum + (death.cutOff ?? 0), 0);
      expect(await findDeliveryViolations({ ...scene, cutOff })).toEqual([]);
      const rows = await scene.rows();
      for (const { delivery, path, at, what, status = 'delivered', attempts, cutOff: lost = 0 } of sent) {
        const row = rows.find(({ id }) => id === delivery);
        const requests = receiver.to(path).length;
        expect({ at, what, status: row?.status, attempts: row?.attempts, requests }).toEqual({
          at,
          what,
          status,
          attempts,
          requests: attempts + lost,
        });
      }
      // A failure that was recorded before the death keeps the time of its next attempt.
      for (const { path } of sent.filter(({ attempts }) => attempts === 3)) {
        const [, second, third] = receiver.to(path);
        expect(third!.at - second!.at).toBeGreaterThanOrEqual(5_000);
      }

      // A dead letter waits for its replay, which begins a schedule of its own.
      const letters = sent.filter(({ status }) => status === 'dead_lettered');
      for (const { id, delivery } of letters) {
        await caller.at(api).patch(`/v1/webhooks/${id}`, { isActive: true });
        expect(await scene.replay(api, id, delivery)).toBeLessThan(300);
      }
      for (const { delivery } of letters) await scene.reaches(delivery, 'delivered');
      expect(await findDeliveryViolations({ ...scene, cutOff })).toEqual([]);
      for (const { path, attempts } of letters) expect(receiver.to(path)).toHaveLength(attempts + 1);
    }),
);

test.concurrent('killed at a step and at the start of a run: its start and its end arrive, one event each', () =>
  withDeliveries(async (own) => {
    const { product, caller, requests } = own;
    const everything = ['api', 'runs', 'webhooks'] as const;
    const first = await product.start([...everything], { FAIL_POINT: 'step.recorded' });
    await own.subscribe(first.api);
    const workflowId = await caller.createWorkflow(first.api, ['sandbox:slow=0.2 One']);
    await caller.execute(first.api, workflowId).catch(() => {});
    await first.ended;
    // It finishes that run, and dies of the next one.
    const second = await product.start([...everything], { FAIL_POINT: 'run.committed' });
    await caller.execute(second.api, workflowId).catch(() => {});
    await second.ended;
    const { api: last } = await product.start([...everything]);
    expect(await findViolations({ product, caller, api: last })).toEqual([]);
    // What was on its way when a process died may arrive twice.
    expect(await findDeliveryViolations({ ...own, cutOff: 2 })).toEqual([]);
    const { rows } = await product.database.pool.query('select count(*)::int as runs from run');
    const types = new Set(requests().map(({ body }) => JSON.parse(body).type));
    expect([...types].sort()).toEqual(['workflow.run.completed', 'workflow.run.started']);
    await until('each has its deliveries', async () => (await own.rows()).length === 2 * rows[0].runs);
  }));
