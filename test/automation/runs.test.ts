import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const prompt = (id: string, text: string) => ({ id, type: 'prompt', prompt: text });
const execute = (id: string, body: object = {}, headers = {}) => api.post(`/v1/workflows/${id}/execute`, body, headers);
const runOf = async (id: string) => (await api.get(`/v1/runs/${id}`)).body.data;
const runInB = async (id: string) => (await api.get(`/v1/runs/${id}`, inB)).body.data;
const ended = (id: string) =>
  until('the run has ended', async () => {
    const run = await runInB(id);
    return !['queued', 'running'].includes(run.status) && run;
  });

describe('a run that goes well', () => {
  test('hands each step the output of those before it and results in the last one', async () => {
    const steps = [prompt('first', 'one {{input}}'), prompt('second', 'two <{{steps.first.output}}>')];
    const { id } = await makeWorkflow(api, { steps });
    const { status, body } = await execute(id, { input: 'x' });
    expect(status).toBe(200);
    const { output } = await runOf(body.data.runId);
    expect(output.steps.first).toMatch(/one x$/);
    expect(output.steps.second).toContain(`two <${output.steps.first}>`);
    expect(output.result).toBe(output.steps.second);
    expect(body.data.output).toBe(output.result);
  });

  test('a workflow without steps returns its input', async () => {
    const { id } = await makeWorkflow(api, { steps: [] });
    const input = { a: [1, 'two', null] };
    const { body } = await execute(id, { input });
    expect(body.data).toMatchObject({ status: 'COMPLETED', output: JSON.stringify(input), tokensUsed: 0 });
    expect((await runOf(body.data.runId)).output).toEqual({ result: input, steps: {} });
    const answerInB = await execute(id, { inputs: { b: 1 }, async: false });
    expect(answerInB.body.data.output).toEqual({ result: { b: 1 }, steps: {} });
    expect(await runInB(answerInB.body.data.runId)).toMatchObject({ progress: 100, stepResults: [] });
  });

  test('the same question has the same answer, another one another', async () => {
    const { id } = await makeWorkflow(api);
    const [first, again, other] = await Promise.all(['same', 'same', 'other'].map((input) => execute(id, { input })));
    expect(first!.body.data.output).toBe(again!.body.data.output);
    expect(first!.body.data.output).not.toBe(other!.body.data.output);
  });

  test('keeps twenty warnings of a step, and how many there were', async () => {
    const missing = Array.from({ length: 3_000 }, (_, index) => `{{missing${index}}}`).join('');
    const { id } = await makeWorkflow(api, {
      steps: [prompt('a', `${missing}{{${'n'.repeat(5_000)}}}`), prompt('b', 'x')],
    });
    const { body } = await execute(id);
    const { steps } = await runOf(body.data.runId);
    const names = Array.from({ length: 20 }, (_, index) => ({ code: 'unknown_variable', name: `missing${index}` }));
    expect(steps[0]).toMatchObject({ warnings: names, warningsTotal: 3_001 });
    expect(steps[1]).toMatchObject({ warnings: [], warningsTotal: 0 });
    expect((await runInB(body.data.runId)).stepResults[0]).toMatchObject({ warnings: names, warningsTotal: 3_001 });
    const retried = await api.post(`/v1/runs/${body.data.runId}/retry`, { fromStep: 'b' });
    const again = await until('the retry has ended', async () => {
      const run = await runOf(retried.body.data.runId);
      return run.status === 'COMPLETED' && run;
    });
    expect(again.steps[0]).toMatchObject({ warnings: names, warningsTotal: 3_001 });
  });

  test('time and tokens are what was measured', async () => {
    const steps = [prompt('a', 'sandbox:slow=1'), prompt('b', 'four')];
    const { id } = await makeWorkflow(api, { steps });
    const before = performance.now();
    const { body } = await execute(id);
    const elapsed = performance.now() - before;
    expect(body.data.durationMs).toBeGreaterThanOrEqual(1000);
    expect(body.data.durationMs).toBeLessThanOrEqual(elapsed);
    const run = await runInB(body.data.runId);
    const [slow, quick] = run.stepResults;
    expect(slow.duration).toBeGreaterThanOrEqual(1000);
    // Each step has its own time, and the run has that of both. They are rounded.
    expect(slow.duration + quick.duration).toBeLessThan(run.duration + 100);
    expect(body.data.tokensUsed).toBe(slow.tokensUsed + quick.tokensUsed);
    expect(quick.tokensUsed).toBeGreaterThan(0);
  });

  test('shows how far it is while it runs', async () => {
    const hold = newHold(product.database);
    const steps = [prompt('first', 'x'), prompt('second', hold.word), prompt('third', 'y'), prompt('last', 'z')];
    const { id, wf } = await makeWorkflow(api, { steps });
    const { runId } = (await execute(id, { async: true })).body.data;
    const underway = await until('the second step runs', async () => {
      const run = await runInB(runId);
      return run.currentStep === 'second' && run.stepResults[1]?.status === 'running' && run;
    });
    const inDialectA = (await api.get(`/v1/runs/${runId}`, { 'x-api-variant': 'A' })).body.data;
    expect(underway).toMatchObject({ status: 'running', progress: 25, workflowId: wf });
    expect(underway.stepResults.map(({ status }: { status: string }) => status)).toEqual(['completed', 'running']);
    expect(inDialectA).toMatchObject({ status: 'RUNNING', output: null, error: null, durationMs: null });
    await hold.release();
    const seen: number[] = [];
    await until('the run is complete', async () => {
      const { progress, status } = await runInB(runId);
      seen.push(progress);
      return status === 'completed';
    });
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(100);
  });
});

describe('a provider that behaves badly', () => {
  const failing = { steps: [prompt('good', 'fine'), prompt('bad', 'sandbox:fail'), prompt('never', 'x')] };

  test('fails the run, which A answers with 500 and why', async () => {
    const { id } = await makeWorkflow(api, failing);
    const { status, body } = await execute(id, { input: 'x' });
    expect(status).toBe(500);
    expect(body).toEqual({
      success: false,
      error: {
        code: 'ai_provider_error',
        message: expect.any(String),
        details: {
          runId: expect.any(String),
          stepId: 'bad',
          code: 'service_unavailable',
          message: body.error.message,
        },
        requestId: expect.any(String),
      },
    });
    const { runId, ...error } = body.error.details;
    const run = await runOf(runId);
    expect(run.steps).toMatchObject([
      { stepId: 'good', status: 'completed', error: null, output: expect.any(String) },
      { stepId: 'bad', status: 'failed', error, output: null, model: 'claude-sonnet-4-20250514' },
      { stepId: 'never', status: 'skipped', error: null, attempts: 0, durationMs: null },
    ]);
    const failed = { runId, stepId: 'bad', code: 'service_unavailable' };
    const line = await until('the failure is logged', async () =>
      product.process.log.find((line) => line.msg === 'run failed' && line.runId === runId),
    );
    expect(line).toMatchObject(failed);
    expect(run).toMatchObject({ status: 'FAILED', output: null, error: body.error.message, workflowId: id });
    expect(run.durationMs).toBeGreaterThanOrEqual(0);
  });

  test('B has its own code and id, and says which step failed', async () => {
    const { wf } = await makeWorkflow(api, failing);
    const { status, body } = await execute(wf, { inputs: {}, async: false });
    expect(status).toBe(500);
    expect(body).toMatchObject({ success: false, error: { code: 'AI_PROVIDER_ERROR' } });
    const { runId } = body.error.details;
    expect(runId).toMatch(/^run_/);
    const run = await runInB(runId);
    const error = { stepId: 'bad', message: body.error.message, code: 'service_unavailable' };
    expect(run).toMatchObject({ status: 'failed', error, failedAt: expect.any(String), progress: 33 });
    expect(run).not.toHaveProperty('completedAt');
    expect(run).not.toHaveProperty('output');
    expect(run.stepResults).toMatchObject([
      { stepId: 'good', status: 'completed' },
      { stepId: 'bad', status: 'failed', error },
      { stepId: 'never', name: 'never', status: 'skipped', attempts: 0, warnings: [] },
    ]);
    expect(run.stepResults).toHaveLength(3);
  });

  test('an asynchronous run fails without its start having failed', async () => {
    const { wf } = await makeWorkflow(api, failing);
    const started = await execute(wf, { inputs: {} });
    expect(started).toMatchObject({ status: 200, body: { data: { status: 'running' } } });
    expect(await ended(started.body.data.runId)).toMatchObject({ status: 'failed' });
  });

  test('one that is overloaded is asked again, and the run succeeds at the third attempt', async () => {
    const { id } = await makeWorkflow(api, { steps: [prompt('busy', 'sandbox:overloaded {{input}}')] });
    const { status, body } = await execute(id, { input: 'x' });
    expect(status).toBe(200);
    const run = await runInB(body.data.runId);
    expect(run.stepResults).toMatchObject([{ stepId: 'busy', status: 'completed', attempts: 3 }]);
  });
});

describe('waiting', () => {
  test('ends after SYNC_WAIT_SECONDS with 202, and the run goes on', async () => {
    const impatient = await product.serve({ SYNC_WAIT_SECONDS: '0.2' });
    const client = apiClient(impatient.api, product.tenant.testKey);
    const hold = newHold(product.database);
    const { id, wf } = await makeWorkflow(api, hold.word);
    const inDialectA = await client.post(`/v1/workflows/${id}/execute`, { input: 'x' });
    expect(inDialectA.status).toBe(202);
    expect(inDialectA.body.data).toEqual({ runId: expect.any(String), status: 'RUNNING' });
    const inDialectB = await client.post(`/v1/workflows/${wf}/execute`, { inputs: {}, async: false });
    expect(inDialectB).toMatchObject({ status: 202, body: { data: { status: 'running', workflowId: wf } } });
    await hold.release();
    for (const { body } of [inDialectA, inDialectB]) {
      expect(await ended(body.data.runId)).toMatchObject({ status: 'completed' });
    }
  });

  test('gets the end that another process caused', async () => {
    const apart = await product.serve();
    const client = apiClient(apart.api, product.tenant.testKey);
    const { id } = await makeWorkflow(api);
    expect(await client.post(`/v1/workflows/${id}/execute`, { input: 'x' })).toMatchObject({
      status: 200,
      body: { data: { status: 'COMPLETED' } },
    });
  });

  test('ends early with 202 when the process drains', async () => {
    const hold = newHold(product.database);
    const draining = await product.start(['api']);
    const client = apiClient(draining.api, product.tenant.testKey);
    const { id } = await makeWorkflow(api, hold.word);
    const waiting = client.post(`/v1/workflows/${id}/execute`, { input: 'x' });
    await until('the run is there', async () => (await api.get(`/v1/workflows/${id}/runs`)).body.data.runs.length > 0);
    const [answer, exitCode] = await Promise.all([waiting, draining.stop()]);
    expect(exitCode).toBe(0);
    expect(answer).toMatchObject({ status: 202, body: { data: { status: 'RUNNING' } } });
    await hold.release();
    expect(await ended(answer.body.data.runId)).toMatchObject({ status: 'completed' });
  });

  test('a caller that hangs up changes nothing', async () => {
    const hold = newHold(product.database);
    const { id } = await makeWorkflow(api, hold.word);
    const hangUp = new AbortController();
    const waiting = fetch(new URL(`/v1/workflows/${id}/execute`, product.process.api), {
      method: 'POST',
      headers: { authorization: `Bearer ${product.tenant.testKey}` },
      signal: hangUp.signal,
    });
    const run = await until('the run is there', async () => {
      const { body } = await api.get(`/v1/workflows/${id}/runs`);
      return body.data.runs[0];
    });
    hangUp.abort();
    await expect(waiting).rejects.toThrow();
    await hold.release();
    expect(await ended(run.id)).toMatchObject({ status: 'completed' });
  });
});

describe('what may run', () => {
  test.each([{ isActive: false }, { status: 'archived' }])(
    'a workflow that is %j does not, and no run is made',
    async (state) => {
      const { id, wf } = await makeWorkflow(api, state);
      expect(await execute(id, { input: 'x' })).toMatchObject({
        status: 400,
        body: { success: false, error: { code: 'workflow_inactive' } },
      });
      expect(await execute(wf, { inputs: {} })).toMatchObject({
        status: 400,
        body: { success: false, error: { code: 'workflow_disabled' } },
      });
      expect((await api.get(`/v1/workflows/${id}/runs`)).body.data).toMatchObject({
        runs: [],
        pagination: { total: 0 },
      });
      await api.patch(`/v1/workflows/${id}`, { isActive: true });
      expect(await execute(id, { input: 'x' })).toMatchObject({ status: 200 });
    },
  );

  test('a live key without a provider’s credentials is refused before a run exists', async () => {
    const live = apiClient(product.process.api, product.tenant.liveKey);
    const { id } = await makeWorkflow(live, {
      aiProvider: 'GOOGLE',
      steps: [{ ...prompt('a', 'x'), provider: 'OPENAI', model: 'gpt-4.1' }, prompt('b', 'y')],
    });
    const answer = await live.post(`/v1/workflows/${id}/execute`, { input: 'x' });
    expect(answer).toMatchObject({ status: 503, body: { success: false, error: { code: 'provider_not_configured' } } });
    // Waiting would not help.
    expect(answer.headers.has('retry-after')).toBe(false);
    expect(answer.body.error.details).toEqual({ provider: 'OPENAI' });
    expect((await live.get(`/v1/workflows/${id}`)).body.data.totalRuns).toBe(0);
    // The list of models says so beforehand; the sandbox answers for all of them.
    const availableTo = async (client: typeof live) =>
      new Set(
        (await client.get('/v1/models')).body.data.models.map((model: { available: boolean }) => model.available),
      );
    expect([await availableTo(live), await availableTo(product.api)]).toEqual([new Set([false]), new Set([true])]);
    const { rows } = await product.database.pool.query('select id from run where automation_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  test('a run keeps the definition that it started with, the next one has the new one', async () => {
    const steps = (word: string, pause: string) => [prompt('wait', pause), prompt('say', word)];
    const change = { aiModel: 'newer', steps: [...steps('after', 'quick'), prompt('more', 'z')], isActive: false };
    const hold = newHold(product.database);
    const { id } = await makeWorkflow(api, { steps: steps('before', hold.word) });
    const { runId } = (await execute(id, { async: true })).body.data;
    await until('the first step runs', async () => (await runInB(runId)).currentStep === 'wait');
    expect(await api.patch(`/v1/workflows/${id}`, change)).toMatchObject({ status: 200 });
    await hold.release();
    const old = await ended(runId);
    expect(old).toMatchObject({ status: 'completed', progress: 100 });
    expect(old.stepResults).toHaveLength(2);
    expect(old.output.result).toContain('before');
    expect(old.stepResults[1].model).toBe('claude-sonnet-4-20250514');
    await api.patch(`/v1/workflows/${id}`, { isActive: true });
    const next = await execute(id);
    const { output } = await runOf(next.body.data.runId);
    expect(Object.keys(output.steps).sort()).toEqual(['more', 'say', 'wait']);
    expect(output.steps.say).toMatch(/\[sandbox newer .*after$/);
  });
});

test.each(['nope', 'run_', 'run_12', 'wf_0199aaaabbbb7ccc8dddeeeeffff0000', '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000'])(
  'the run id %s is unknown, and named in the answer',
  async (id) => {
    expect(await api.get(`/v1/runs/${id}`, { 'x-api-variant': 'A' })).toMatchObject({
      status: 404,
      body: { success: false, error: { code: 'run_not_found', details: { runId: expect.any(String) } } },
    });
  },
);
