import { expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { findViolations, modelCalls, withScene } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

test.concurrent('the API stopped while 50 runs are queued: all of them end, none twice', () =>
  withScene(async ({ product, caller }) => {
    const first = await product.start(['api']);
    const workflowId = await caller.createWorkflow(first.api, ['One', 'sandbox:slow=0.3 Two', 'Three {{input}}']);
    // Ten at a time, which a busy machine takes too.
    for (let sent = 0; sent < 50; sent += 10) {
      const executing = Array.from({ length: 10 }, (_, index) =>
        caller.execute(first.api, workflowId, { input: sent + index }),
      );
      for (const { status } of await Promise.all(executing)) expect(status).toBe(200);
    }
    expect(await first.stop()).toBe(0);
    expect(modelCalls(product)).toEqual([]);

    const { api } = await product.start(['api', 'runs']);
    expect(caller.acknowledged.size).toBe(50);
    expect(await findViolations({ product, caller, api })).toEqual([]);
    expect(modelCalls(product)).toHaveLength(150);
  }));

test.concurrent('stopped while callers wait: each is told of its run, none is cut off', () =>
  withScene(async ({ product, caller }) => {
    const first = await product.start(['api', 'runs']);
    const workflowId = await caller.createWorkflow(first.api, ['sandbox:slow=3 One', 'Two {{input}}']);
    const waiting = Array.from({ length: 10 }, (_, index) =>
      caller.execute(first.api, workflowId, { input: index, wait: true }),
    );
    await until('the runs are under way', async () => modelCalls(product).length === 10);
    const stopped = first.stop();
    for (const { status, body } of await Promise.all(waiting)) {
      expect({ status, body }).toMatchObject({ status: 202, body: { data: { status: 'running' } } });
    }
    // The worker lets the steps that are under way end.
    expect(await stopped).toBe(0);
    await expect(caller.execute(first.api, workflowId)).rejects.toThrow();

    const { api } = await product.start(['api', 'runs']);
    expect(caller.acknowledged.size).toBe(10);
    expect(await findViolations({ product, caller, api })).toEqual([]);
    expect(modelCalls(product)).toHaveLength(20);
  }));

test.concurrent('a step that takes longer than a worker has for draining is made anew by the next one', () =>
  withScene(async ({ product, caller }) => {
    const first = await product.start(['api', 'runs']);
    const workflowId = await caller.createWorkflow(first.api, ['sandbox:slow=13 One']);
    await caller.execute(first.api, workflowId);
    await until('the step is under way', async () => modelCalls(product).length === 1);
    expect(await first.stop()).toBe(0);

    const { api } = await product.start(['api', 'runs']);
    expect(await findViolations({ product, caller, api })).toEqual([]);
    const [runId] = caller.acknowledged;
    expect((await caller.read(api, runId!)).body.data).toMatchObject({
      status: 'completed',
      stepResults: [{ stepId: 'step1', attempts: 2 }],
    });
  }));
