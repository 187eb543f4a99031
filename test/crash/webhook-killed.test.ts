import { expect, jest, test } from '@jest/globals';
import type { Script } from '../webhooks/receiver.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, withDeliveries } from './delivery-scene.ts';
import { findViolations } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// All at the same time, because most of it is waiting: for leases to end, and for Temporal to miss a dead worker.

/** A process that makes a delivery dies at the fail point, another one takes its place. */
interface Death {
  at: string;
  what: string;
  /** What the receiver answers: 200 unless given. */
  script?: Script;
  maxAttempts?: number;
  status?: 'dead_lettered';
  /** Attempts that are recorded in the end. */
  attempts: number;
  /** Requests that arrived without being recorded. */
  cutOff?: number;
}

const deaths: Death[] = [
  { at: 'delivery.leased', what: 'nothing was sent', attempts: 1 },
  { at: 'delivery.sent', what: 'it arrives twice', attempts: 1, cutOff: 1 },
  { at: 'delivery.recorded', what: 'a success stays one', attempts: 1 },
  { at: 'delivery.recorded', what: 'a failure is tried again', script: answers(500), attempts: 2 },
  {
    ...{ at: 'delivery.recorded', what: 'the last failure is parked', script: answers(500), maxAttempts: 1 },
    ...{ status: 'dead_lettered', attempts: 1 },
  },
  {
    ...{ at: 'delivery.recorded', what: 'a receiver that is gone hears nothing more', script: answers(410) },
    ...{ status: 'dead_lettered', attempts: 1 },
  },
  { at: 'delivery.followed', what: 'it has its workflow', script: answers(500), attempts: 2 },
  { at: 'retry.claimed', what: 'nothing was sent', script: answers(500), attempts: 2 },
  { at: 'retry.sent', what: 'it arrives twice', script: answers(500), attempts: 2, cutOff: 1 },
  { at: 'retry.recorded', what: 'a success stays one', script: answers(500), attempts: 2 },
  {
    ...{ at: 'retry.recorded', what: 'the last failure is parked', script: answers(500, 500), maxAttempts: 2 },
    ...{ status: 'dead_lettered', attempts: 2 },
  },
];

const everything = ['api', 'runs', 'webhooks'] as const;

test.concurrent.each(deaths)('killed at $at: $what', ({ at, script, attempts, cutOff = 0, ...death }) =>
  withDeliveries(async (scene) => {
    const { product, caller, requests } = scene;
    const { status = 'delivered', maxAttempts = 5 } = death;
    const doomed = await product.start([...everything], { FAIL_POINT: at });
    const { id } = await scene.subscribe(doomed.api, script, { maxAttempts });
    // Its answer may be lost with the process.
    await scene.sendTest(doomed.api, id).catch(() => {});
    await doomed.ended;
    const { api } = await product.start([...everything]);
    expect(await findDeliveryViolations({ ...scene, cutOff })).toEqual([]);
    const [delivery] = await scene.rows();
    expect(delivery).toMatchObject({ status, attempts });
    expect(requests()).toHaveLength(attempts + cutOff);
    if (status === 'delivered') return;

    // A dead letter waits for its replay, which begins a schedule of its own.
    await caller.at(api).patch(`/v1/webhooks/${id}`, { isActive: true });
    expect(await scene.replay(api, id, delivery!.id)).toBeLessThan(300);
    await scene.reaches(delivery!.id, 'delivered');
    expect(await findDeliveryViolations({ ...scene, cutOff })).toEqual([]);
    expect(requests()).toHaveLength(attempts + cutOff + 1);
  }),
);

test.concurrent('killed when an attempt was recorded and Temporal not told: the next one keeps its time', () =>
  withDeliveries(async (scene) => {
    const { product, receiver } = scene;
    // Longer than Temporal takes to miss the dead worker and to ask another one.
    const later = { status: 503, headers: { 'retry-after': '16' } };
    const doomed = await product.start([...everything], { FAIL_POINT: 'retry.recorded' });
    const { id, path } = await scene.subscribe(doomed.api, answers(500, later));
    await scene.sendTest(doomed.api, id);
    await doomed.ended;
    await product.start([...everything]);
    expect(await findDeliveryViolations(scene)).toEqual([]);
    const [, second, third] = receiver.to(path);
    expect(third!.at - second!.at).toBeGreaterThanOrEqual(16_000);
  }));

test.concurrent.each<string>(['run.committed', 'step.recorded'])(
  'killed at %s of a run: its start and its end arrive, one event each',
  (at) =>
    withDeliveries(async (scene) => {
      const { product, caller, requests } = scene;
      const doomed = await product.start([...everything], { FAIL_POINT: at });
      await scene.subscribe(doomed.api);
      const workflowId = await caller.createWorkflow(doomed.api, ['sandbox:slow=0.2 One']);
      await caller.execute(doomed.api, workflowId).catch(() => {});
      await doomed.ended;
      const { api } = await product.start([...everything]);
      expect(await findViolations({ product, caller, api })).toEqual([]);
      // What was on its way when the process died may arrive twice.
      expect(await findDeliveryViolations({ ...scene, cutOff: 1 })).toEqual([]);
      const types = new Set(requests().map(({ body }) => JSON.parse(body).type));
      expect([...types].sort()).toEqual(['workflow.run.completed', 'workflow.run.started']);
      expect(await scene.rows()).toHaveLength(2);
    }),
);
