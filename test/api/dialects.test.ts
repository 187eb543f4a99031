import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
/** With a key whose own setting is B. */
let apiOfB: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  const { testKey } = await product.createTenant({ variant: 'B' });
  apiOfB = apiClient(product.process.api, testKey);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const fields = (value: object) => Object.keys(value).sort();
const sorted = (...names: string[]) => names.sort();
const path = '/api/v1/workflows';
const definition = {
  name: 'Both',
  description: 'd',
  steps: [{ id: 'say', type: 'prompt', name: 'Say it', prompt: '{{input}}' }],
  inputs: [{ name: 'who', type: 'string', required: false, description: 'whom' }],
};

const summary = ['id', 'name', 'description', 'totalRuns', 'createdAt', 'updatedAt'];
const change = ['id', 'name', 'description', 'aiModel', 'updatedAt'];
const detail = [...summary, 'aiModel', 'aiProvider', 'steps', 'config', 'version', 'isPaused'];
const runA = [
  'id',
  'status',
  'input',
  'output',
  'error',
  'tokensUsed',
  'durationMs',
  'createdAt',
  'triggeredBy',
  'version',
];
const runB = [
  'runId',
  'workflowId',
  'status',
  'progress',
  'currentStep',
  'startedAt',
  'duration',
  'triggeredBy',
  'version',
];

describe('dialect A', () => {
  test('shows workflows with exactly the published fields', async () => {
    const created = await api.post(path, definition, inA);
    expect(fields(created.body.data)).toEqual(sorted(...summary, 'isActive'));
    const { id } = created.body.data;
    expect(id).toMatch(uuid);
    expect(created.body.data.createdAt).toMatch(timestamp);
    const read = await api.get(`${path}/${id}`, inA);
    expect(fields(read.body.data)).toEqual(sorted(...detail, 'isActive'));
    expect(read.body.data.steps).toEqual(definition.steps);
    const listed = await api.get(path, inA);
    expect(fields(listed.body.data.workflows[0])).toEqual(sorted(...summary, 'isActive'));
    const changed = await api.patch(`${path}/${id}`, { isActive: false }, inA);
    expect(fields(changed.body.data)).toEqual(sorted(...change, 'isActive'));
    expect(changed.body.data.isActive).toBe(false);
  });

  test('shows runs with exactly the published fields', async () => {
    const { id } = await makeWorkflow(api, definition);
    const executed = await api.post(`${path}/${id}/execute`, { input: 'x', variables: { who: 'me' } }, inA);
    expect(executed.status).toBe(200);
    expect(fields(executed.body.data)).toEqual(sorted('runId', 'status', 'output', 'tokensUsed', 'durationMs'));
    const { runId, output, tokensUsed, durationMs } = executed.body.data;
    expect(runId).toMatch(uuid);
    const run = (await api.get(`/api/v1/runs/${runId}`, inA)).body.data;
    expect(fields(run)).toEqual(sorted(...runA, 'workflowId', 'workflowName', 'steps'));
    expect(run).toEqual({
      id: runId,
      version: 1,
      triggeredBy: { type: 'api' },
      status: 'COMPLETED',
      input: { input: 'x', variables: { who: 'me' } },
      output: { result: output, steps: { say: output } },
      error: null,
      tokensUsed,
      durationMs,
      createdAt: expect.stringMatching(timestamp),
      workflowId: id,
      workflowName: 'Both',
      steps: [
        {
          stepId: 'say',
          name: 'Say it',
          status: 'completed',
          attempts: 1,
          output,
          error: null,
          tokensUsed,
          provider: 'ANTHROPIC',
          model: 'claude-sonnet-4-20250514',
          durationMs: expect.any(Number),
          warnings: [],
          warningsTotal: 0,
        },
      ],
    });
    const listed = (await api.get(`${path}/${id}/runs`, inA)).body.data;
    const { workflowId: _, workflowName: __, steps: ___, ...ofList } = run;
    expect(listed).toEqual({ runs: [ofList], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } });
  });

  test('waits by default, and answers at once on request', async () => {
    const { id } = await makeWorkflow(api);
    const waited = await api.post(`${path}/${id}/execute`, { input: 'x' });
    expect(waited.body.data.status).toBe('COMPLETED');
    const started = await api.post(`${path}/${id}/execute`, { input: 'x', async: true }, inA);
    expect(started).toMatchObject({ status: 200 });
    expect(started.body.data).toEqual({ runId: expect.stringMatching(uuid), status: 'RUNNING' });
  });
});

describe('dialect B', () => {
  test('shows workflows with exactly the published fields', async () => {
    const created = await api.post(path, definition, inB);
    expect(fields(created.body.data)).toEqual(sorted(...summary, 'status'));
    const { id } = created.body.data;
    expect(id).toMatch(/^wf_[0-9a-f]{32}$/);
    expect(created.body.data.status).toBe('active');
    const read = await api.get(`${path}/${id}`);
    expect(fields(read.body.data)).toEqual(sorted(...detail, 'status', 'inputs', 'webhookUrl'));
    expect(read.body.data.steps).toEqual([{ ...definition.steps[0], type: 'ai_chat' }]);
    expect(read.body.data.inputs).toEqual(definition.inputs);
    expect(new URL(read.body.data.webhookUrl).pathname).toBe(`/api/v1/webhooks/${id}`);
    const listed = await api.get(path, inB);
    expect(fields(listed.body.data.workflows[0])).toEqual(sorted(...summary, 'status'));
    const changed = await api.patch(`${path}/${id}`, { status: 'archived' });
    expect(fields(changed.body.data)).toEqual(sorted(...change, 'status'));
    expect(changed.body.data.status).toBe('archived');
  });

  test('shows runs with exactly the published fields', async () => {
    const { wf } = await makeWorkflow(api, definition);
    const executed = await api.post(`${path}/${wf}/execute`, { inputs: { who: 'me' }, async: false });
    expect(executed.status).toBe(200);
    expect(fields(executed.body.data)).toEqual(sorted('runId', 'workflowId', 'status', 'duration', 'output'));
    const { runId, output, duration } = executed.body.data;
    expect(runId).toMatch(/^run_[0-9a-f]{32}$/);
    expect(output).toEqual({ result: expect.stringContaining('{"who":"me"}'), steps: { say: output.result } });
    const run = (await api.get(`/api/v1/runs/${runId}`)).body.data;
    expect(fields(run)).toEqual(sorted(...runB, 'completedAt', 'output', 'stepResults'));
    expect(run).toMatchObject({ runId, workflowId: wf, status: 'completed', progress: 100, duration, output });
    expect(run.startedAt <= run.completedAt).toBe(true);
    expect(run.stepResults).toEqual([
      {
        stepId: 'say',
        name: 'Say it',
        status: 'completed',
        duration: expect.any(Number),
        output: output.result,
        attempts: 1,
        provider: 'ANTHROPIC',
        model: 'claude-sonnet-4-20250514',
        tokensUsed: expect.any(Number),
        warnings: [],
        warningsTotal: 0,
      },
    ]);
    const { stepResults: _, ...ofList } = run;
    const listed = (await api.get(`${path}/${wf}/runs`)).body.data;
    expect(listed).toEqual({ runs: [ofList], total: 1, limit: 20, offset: 0 });
  });

  test('answers at once by default, and leaves out the times that are not known yet', async () => {
    const { wf } = await makeWorkflow(api, 'sandbox:slow=30');
    const started = await api.post(`${path}/${wf}/execute`, { inputs: {} });
    expect(started).toMatchObject({ status: 200 });
    const { runId } = started.body.data;
    expect(started.body.data).toEqual({
      runId: expect.stringMatching(/^run_/),
      workflowId: wf,
      status: 'running',
      message: expect.any(String),
    });
    const running = await until('the step is running', async () => {
      const { body } = await api.get(`/v1/runs/${runId}`);
      return body.data.status === 'running' && body.data;
    });
    expect(fields(running)).toEqual(
      sorted(
        'runId',
        'workflowId',
        'status',
        'progress',
        'currentStep',
        'startedAt',
        'stepResults',
        'triggeredBy',
        'version',
      ),
    );
    await api.delete(`/v1/workflows/${wf}`);
  });
});

describe('one workflow, two views', () => {
  test.each<[object, boolean, string]>([
    [{}, true, 'active'],
    [{ isActive: true }, true, 'active'],
    [{ isActive: false }, false, 'draft'],
    [{ status: 'active' }, true, 'active'],
    [{ status: 'draft' }, false, 'draft'],
    [{ status: 'ARCHIVED' }, false, 'archived'],
    [{ status: 'archived', isActive: true }, false, 'archived'],
  ])('%j reads as isActive %s and status %s, on create and on PATCH', async (state, isActive, status) => {
    const { id, wf } = await makeWorkflow(api, state);
    const other = await makeWorkflow(api);
    await api.patch(`${path}/${other.wf}`, state);
    for (const one of [{ id, wf }, other]) {
      expect((await api.get(`${path}/${one.id}`)).body.data.isActive).toBe(isActive);
      expect((await api.get(`${path}/${one.wf}`)).body.data.status).toBe(status);
    }
  });

  test.each(['prompt', 'ai_chat'])('a step of type %s is a prompt in A and an ai_chat in B', async (type) => {
    const { id, wf } = await makeWorkflow(api, { steps: [{ id: 'a', type }] });
    expect((await api.get(`${path}/${id}`)).body.data.steps).toEqual([{ id: 'a', type: 'prompt' }]);
    // In B every step has a name.
    expect((await api.get(`${path}/${wf}`)).body.data.steps).toEqual([{ id: 'a', name: 'a', type: 'ai_chat' }]);
  });

  test('ids of both forms in either case, and both prefixes of the path lead to the same', async () => {
    const { id, wf } = await makeWorkflow(api);
    const run = (await api.post(`${path}/${id}/execute`, {}, inA)).body.data.runId;
    for (const prefix of ['/api/v1', '/v1']) {
      for (const form of [id, id.toUpperCase(), wf, wf.toUpperCase()]) {
        expect((await api.get(`${prefix}/workflows/${form}`, inA)).body.data.id).toBe(id);
        expect((await api.get(`${prefix}/workflows/${form}/runs`, inA)).body.data.runs[0].id).toBe(run);
      }
      const prefixed = `run_${run.replaceAll('-', '')}`;
      for (const form of [run, run.toUpperCase(), prefixed, prefixed.toUpperCase()]) {
        expect((await api.get(`${prefix}/runs/${form}`, inA)).body.data.id).toBe(run);
      }
    }
  });
});

describe('which dialect answers', () => {
  const spokenBy = ({ data, error }: { data?: Record<string, unknown>; error?: { code: string } }) => {
    if (error) return error.code === error.code.toUpperCase() ? 'B' : 'A';
    return String(data!.id ?? data!.runId).includes('_') ? 'B' : 'A';
  };

  test('the header wins over a prefixed id, that over the key, and A is the default', async () => {
    const { id, wf } = await makeWorkflow(api);
    const ofB = await makeWorkflow(apiOfB);
    const speaks = async (client: ApiClient, form: string, headers = {}) =>
      spokenBy((await client.get(`/v1/workflows/${form}`, headers)).body);
    expect(await speaks(api, id)).toBe('A');
    expect(await speaks(api, wf)).toBe('B');
    expect(await speaks(api, wf.toUpperCase())).toBe('B');
    expect(await speaks(api, wf, inA)).toBe('A');
    expect(await speaks(api, id, inB)).toBe('B');
    expect(await speaks(apiOfB, ofB.id)).toBe('B');
    expect(await speaks(apiOfB, ofB.id, inA)).toBe('A');
    expect((await apiOfB.get('/v1/workflows')).body.data).toMatchObject({ total: 1, limit: 20 });
  });

  test.each<[object | undefined, string, string]>([
    [undefined, 'A', 'B'],
    [{}, 'A', 'B'],
    [{ input: 'x' }, 'A', 'A'],
    [{ variables: {} }, 'A', 'A'],
    [{ inputs: {} }, 'B', 'B'],
    [{ async: false }, 'A', 'B'],
    [{ input: 'x', async: false }, 'A', 'A'],
    [{ inputs: {}, input: 'x', async: true }, 'B', 'B'],
    [{ other: 1 }, 'A', 'B'],
  ])('on execute the body %j speaks: %s beside a key of A, %s beside a key of B', async (body, withA, withB) => {
    for (const [client, expected] of [
      [api, withA],
      [apiOfB, withB],
    ] as const) {
      const { id, wf } = await makeWorkflow(client);
      const speaks = async (form: string, headers = {}) =>
        spokenBy((await client.post(`/v1/workflows/${form}/execute`, body, headers)).body);
      expect(await speaks(id)).toBe(expected);
      expect(await speaks(wf)).toBe('B');
      expect(await speaks(id, inA)).toBe('A');
      expect(await speaks(id, inB)).toBe('B');
    }
  });

  test.each([undefined, {}, { async: false }, { other: 1 }])('in B the body %j lacks its inputs', async (body) => {
    const { wf } = await makeWorkflow(api);
    const answer = await api.post(`/v1/workflows/${wf}/execute`, body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(answer.body.error.details.errors).toEqual([{ path: 'inputs', message: 'Required.' }]);
  });

  test.each(['C', 'a', 'A,B', 'AB'])('the header X-API-Variant: %s is refused', async (variant) => {
    const answer = await api.get('/v1/workflows', { 'x-api-variant': variant });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
    expect(answer.body.error.details.errors[0].path).toBe('X-API-Variant');
  });

  test('outside of v1 the header means nothing', async () => {
    for (const variant of ['A', 'B', 'nonsense']) {
      const answer = await api.get('/api/studio/nothing', { 'x-api-variant': variant });
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
      expect((await api.get('/api/performance/vitals', { 'x-api-variant': variant })).status).toBe(200);
    }
  });

  test('what is answered before the body is read does not ask the body', async () => {
    const { id } = await makeWorkflow(api);
    const large = JSON.stringify({ inputs: { text: 'x'.repeat(1024 * 1024) } });
    expect(await api.post(`/v1/workflows/${id}/execute`, large)).toMatchObject({
      status: 413,
      body: { error: { code: 'payload_too_large' } },
    });
    const wrongType = { 'content-type': 'text/plain' };
    expect(await api.post(`/v1/workflows/${id}/execute`, '{"inputs":{}}', wrongType)).toMatchObject({
      status: 415,
      body: { error: { code: 'unsupported_media_type' } },
    });
    const noKey = await apiClient(product.process.api).post(`/v1/workflows/${id}/execute`, { inputs: {} });
    expect(noKey).toMatchObject({ status: 401, body: { success: false, error: { code: 'unauthorized' } } });
  });
});
