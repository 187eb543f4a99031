import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { type TemporalView, viewTemporal } from '../temporal-view.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let temporal: TemporalView;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  temporal = await viewTemporal();
});
afterAll(async () => {
  await temporal.close();
  await product.close();
});

const inA = { 'x-api-variant': 'A' };
const prompt = (id: string, text: string) => ({ id, type: 'prompt', prompt: text });
const start = async (steps: object[], body: object = {}): Promise<string> => {
  const { id } = await makeWorkflow(api, { steps });
  return (await api.post(`/v1/workflows/${id}/execute`, { ...body, async: true }, inA)).body.data.runId;
};
const detail = async (runId: string) => (await api.get(`/v1/runs/${runId}`, inB)).body.data;
const reaches = (runId: string, status: string) =>
  until(`the run is ${status}`, async () => {
    const run = await detail(runId);
    return run.status === status && run;
  });
const cancel = (runId: string) => api.post(`/v1/runs/${runId}/cancel`);
const called = (runId: string, stepId: string) =>
  product.process.log.filter((line) => line.msg === 'model called' && line.runId === runId && line.stepId === stepId);

const owed = async (runId: string) =>
  (await product.database.pool.query('select 1 from outbox where subject_id = $1', [runId])).rowCount;

describe('steps that call out', () => {
  const slow = (id: string, seconds: number) => prompt(id, `sandbox:slow=${seconds}`);
  const calls = (runId: string) => temporal.activitiesOf(runId);

  test('go on in one activity, with what lies between them, and its heartbeat says which is under way', async () => {
    const runId = await start([
      slow('first', 0.05),
      prompt('between', 'x'),
      slow('second', 0.05),
      { id: 'sum', type: 'transform', expression: 'size(steps.second.output)' },
      slow('third', 600),
    ]);
    await until('the last one is under way', async () => called(runId, 'third').length > 0);
    await until('the heartbeat names it', async () => {
      const details = (await temporal.heartbeatOf(runId)) as { stepId?: string } | undefined;
      return details?.stepId === 'third';
    });
    expect(await calls(runId)).toEqual(['callStep']);
    await cancel(runId);
    await until('Temporal has stopped it', async () => (await temporal.statusOf(runId)) === 'CANCELLED');
    expect((await detail(runId)).stepResults.map(({ status }: { status: string }) => status)).toEqual([
      ...Array.from({ length: 4 }, () => 'completed'),
      'cancelled',
    ]);
  });

  test('and fail are tried again from the step that failed, and a retried activity ends with its step', async () => {
    const overloaded = (id: string) => prompt(id, 'sandbox:overloaded');
    const runId = await start([slow('first', 0.05), overloaded('second'), overloaded('third'), slow('fourth', 0.05)]);
    const { stepResults } = await reaches(runId, 'completed');
    const attempts = stepResults.map(({ stepId, attempts }: { stepId: string; attempts: number }) => [
      stepId,
      attempts,
    ]);
    expect(Object.fromEntries(attempts)).toEqual({ first: 1, second: 3, third: 3, fourth: 1 });
    // A line of the log arrives after what it tells of.
    await until('its last call is logged', async () => called(runId, 'fourth').length > 0);
    expect(called(runId, 'first')).toHaveLength(1);
    expect(await calls(runId)).toEqual(['callStep', 'callStep', 'callStep']);
  });
});

describe('cancelling', () => {
  test('ends the run at once, stops what it does, and no step comes after', async () => {
    const runId = await start([prompt('a', 'x'), prompt('slow', 'sandbox:slow=600'), prompt('after', 'y')]);
    await until('the model is called', async () => called(runId, 'slow').length > 0);
    const answer = await cancel(runId);
    expect(answer).toMatchObject({ status: 200, body: { data: { id: runId, status: 'CANCELLED', output: null } } });
    const run = await detail(runId);
    expect(run.stepResults.map(({ status }: { status: string }) => status)).toEqual([
      'completed',
      'cancelled',
      'skipped',
    ]);
    expect(run.cancelledAt).toEqual(expect.any(String));
    await until('Temporal has stopped it', async () => (await temporal.statusOf(runId)) === 'CANCELLED');
    await until('the news is delivered', async () => (await owed(runId)) === 0);
    expect(called(runId, 'after')).toEqual([]);
    expect((await detail(runId)).status).toBe('cancelled');
  });

  test('is answered to every caller that waits for the end', async () => {
    const { id } = await makeWorkflow(api, { steps: [prompt('slow', 'sandbox:slow=600')] });
    const waiting = api.post(`/v1/workflows/${id}/execute`, { input: 'x' });
    const runId = await until('the run is there', async () => {
      const { runs } = (await api.get(`/v1/workflows/${id}/runs`)).body.data;
      return runs[0]?.status === 'RUNNING' && runs[0].id;
    });
    await cancel(runId);
    expect(await waiting).toMatchObject({
      status: 200,
      body: { data: { runId, status: 'CANCELLED', output: null } },
    });
  });

  test('leaves a run that has ended as it is, however often', async () => {
    const runId = await start([prompt('a', 'x')]);
    const before = await reaches(runId, 'completed');
    for (const answer of await Promise.all([cancel(runId), cancel(runId), cancel(runId)])) {
      expect(answer).toMatchObject({ status: 200, body: { data: { status: 'COMPLETED' } } });
    }
    expect(await detail(runId)).toEqual(before);
  });

  test('against runs that are ending ends each in one way', async () => {
    const { id } = await makeWorkflow(api, { steps: [prompt('a', 'sandbox:slow=0.05'), prompt('b', 'y')] });
    const runIds = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const { body } = await api.post(`/v1/workflows/${id}/execute`, { async: true }, inA);
        return body.data.runId as string;
      }),
    );
    const answers = await Promise.all(runIds.map(cancel));
    const first = answers.map(({ body }) => body.data.status);
    expect(first.filter((status) => !['CANCELLED', 'COMPLETED'].includes(status))).toEqual([]);
    await until('all workflows are over', async () => {
      const states = await Promise.all(runIds.map((runId) => temporal.statusOf(runId)));
      return !states.includes('RUNNING');
    });
    const then = await Promise.all(runIds.map(async (runId) => (await api.get(`/v1/runs/${runId}`)).body.data.status));
    expect(then).toEqual(first);
  });

  test('by an operator in Temporal cancels the run too', async () => {
    const runId = await start([prompt('slow', 'sandbox:slow=600')]);
    await until('the model is called', async () => called(runId, 'slow').length > 0);
    await temporal.cancel(runId);
    expect(await reaches(runId, 'cancelled')).toMatchObject({ stepResults: [{ status: 'cancelled' }] });
  });

  test('a run of another organization is not found', async () => {
    const runId = await start([prompt('slow', 'sandbox:slow=600')]);
    const stranger = apiClient(product.process.api, (await product.createTenant()).testKey);
    expect(await stranger.post(`/v1/runs/${runId}/cancel`)).toMatchObject({ status: 404 });
    expect(await stranger.post(`/v1/runs/${runId}/retry`)).toMatchObject({ status: 404 });
    expect(await stranger.get(`/v1/runs/${runId}/outputs/slow`)).toMatchObject({ status: 404 });
    expect(['queued', 'running']).toContain((await detail(runId)).status);
    await cancel(runId);
  });
});

test('a failed run shows the operator in Temporal which step failed and why', async () => {
  const { id, wf } = await makeWorkflow(api, {
    steps: [prompt('slow', 'sandbox:slow=0.1'), prompt('bad', 'sandbox:fail')],
  });
  const { body } = await api.post(`/v1/workflows/${id}/execute`, { async: true }, inA);
  const { runId } = body.data;
  await until('the workflow has failed', async () => (await temporal.statusOf(runId)) === 'FAILED');
  const { failure, summary, stepsNamed } = await temporal.failureOf(runId);
  expect(failure).toMatchObject({
    message:
      'Step bad failed: service_unavailable: A model, a tool server or the storage was not available after all attempts.',
    details: [{ runId, stepId: 'bad', code: 'service_unavailable' }],
  });
  expect(summary).toBe(`run_${runId.replaceAll('-', '')} of ${wf}`);
  expect(stepsNamed).toContain('slow');
});

describe('retrying', () => {
  const steps = [
    prompt('first', 'one {{input}}'),
    prompt('second', '{{word}}'),
    prompt('third', '<{{steps.first.output}}>'),
  ];
  const failing = () => start(steps, { input: 'x', variables: { word: 'sandbox:fail' } });

  test('begins where the run failed, with what was done before it', async () => {
    const failed = await failing();
    const before = await reaches(failed, 'failed');
    const answer = await api.post(`/v1/runs/${failed}/retry`, { fromStep: 'second' });
    expect(answer).toMatchObject({ status: 200, body: { data: { status: 'RUNNING' } } });
    const { runId } = answer.body.data;
    expect(runId).not.toBe(failed);
    const run = await reaches(runId, 'failed');
    expect(called(runId, 'first')).toEqual([]);
    expect(run.stepResults[0]).toMatchObject({ stepId: 'first', status: 'completed', attempts: 0 });
    expect(run.stepResults[0].output).toBe(before.stepResults[0].output);
    expect(run.error.stepId).toBe('second');
    expect(await detail(failed)).toEqual(before);
  });

  test('on the definition that it had, though the workflow has another', async () => {
    const { id } = await makeWorkflow(api, { steps });
    const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: 'x', variables: { word: 'fine' } });
    await api.patch(`/v1/workflows/${id}`, { steps: [prompt('other', 'x')] });
    const again = await api.post(`/v1/runs/${body.data.runId}/retry`, { fromStep: 'third' });
    const run = await reaches(again.body.data.runId, 'completed');
    expect(Object.keys(run.output.steps).sort()).toEqual(['first', 'second', 'third']);
    expect(run.output).toEqual((await detail(body.data.runId)).output);
    // The tokens of steps that were not executed again are not counted again.
    expect((await api.get(`/v1/runs/${again.body.data.runId}`)).body.data.tokensUsed).toBe(
      run.stepResults[2].tokensUsed,
    );
  });

  test('of a run that completed needs a step, and does the work from there again', async () => {
    const runId = await start([prompt('a', 'x')]);
    await reaches(runId, 'completed');
    for (const body of [undefined, {}, { definition: 'current' }]) {
      expect(await api.post(`/v1/runs/${runId}/retry`, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'validation_error', details: { errors: [{ path: 'fromStep' }] } } },
      });
    }
    const answer = await api.post(`/v1/runs/${runId}/retry`, { fromStep: 'a' });
    expect((await reaches(answer.body.data.runId, 'completed')).stepResults[0]).toMatchObject({ attempts: 1 });
  });

  test('on the current definition takes over what has the same id, wherever it stands now', async () => {
    const { id } = await makeWorkflow(api, { steps });
    const body = { input: 'x', variables: { word: 'sandbox:fail' }, async: true };
    const failed = (await api.post(`/v1/workflows/${id}/execute`, body, inA)).body.data.runId;
    const before = await reaches(failed, 'failed');
    const retry = (more: object) => api.post(`/v1/runs/${failed}/retry`, { definition: 'current', ...more });
    await api.patch(`/v1/workflows/${id}`, {
      steps: [steps[0], prompt('repaired', 'fine'), prompt('third', '<{{steps.first.output}}>')],
      inputs: [{ name: 'tone', type: 'string', required: false, default: 'kind' }],
    });
    expect(await retry({ fromStep: 'second' })).toMatchObject({ status: 400 });
    const { runId } = (await retry({})).body.data;
    const run = await reaches(runId, 'completed');
    expect(run.stepResults).toMatchObject([
      { stepId: 'first', attempts: 0, output: before.stepResults[0].output },
      { stepId: 'repaired', attempts: 1 },
      { stepId: 'third', attempts: 1 },
    ]);
    const asA = (await api.get(`/v1/runs/${runId}`)).body.data;
    expect(asA.input.variables).toEqual({ word: 'sandbox:fail', tone: 'kind' });

    const inputs = [{ name: 'needed', type: 'string', required: true }];
    await api.patch(`/v1/workflows/${id}`, { inputs });
    expect(await retry({})).toMatchObject({
      status: 400,
      body: { error: { details: { errors: [{ path: 'inputs.needed' }] } } },
    });
    // The pinned definition does not know of it.
    expect(await api.post(`/v1/runs/${failed}/retry`)).toMatchObject({ status: 200 });
  });

  test('is refused while the run goes on, for steps that are not there, and for steps behind an open one', async () => {
    const open = await start([prompt('slow', 'sandbox:slow=600')]);
    expect(await api.post(`/v1/runs/${open}/retry`, {})).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    });
    await cancel(open);
    const failed = await failing();
    await reaches(failed, 'failed');
    for (const fromStep of ['nothing', 'third']) {
      expect(await api.post(`/v1/runs/${failed}/retry`, { fromStep })).toMatchObject({
        status: 400,
        body: { error: { code: 'validation_error', details: { errors: [{ path: 'fromStep' }] } } },
      });
    }
  });

  test('with one Idempotency-Key is one run', async () => {
    const failed = await failing();
    await reaches(failed, 'failed');
    const headers = { 'idempotency-key': 'again' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.post(`/v1/runs/${failed}/retry`, { fromStep: 'second' }, headers)),
    );
    expect(new Set(answers.map(({ body }) => body.data.runId)).size).toBe(1);
    expect(answers.filter(({ headers: got }) => got.get('idempotent-replayed') !== 'true')).toHaveLength(1);
    expect(await api.post(`/v1/runs/${failed}/retry`, {}, headers)).toMatchObject({ status: 422 });
  });
});
