import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import type { Json } from '../openapi/document.ts';
import { envelope, post, request, taskSession, withTasks } from './clients.ts';
import { approve, greet, openMcpScene } from './scene.ts';

const scene = openMcpScene();
let api: ApiClient;
let base: string;
let key: string;
beforeAll(() => {
  ({ api, base, key } = scene);
});

describe('tasks', () => {
  const rpc = async (method: string, params: Json, meta?: Json, as = key) =>
    (await post(base, as, request(method, params, meta))).body;

  test('are the runs of a client that has the extension, from call to result', async () => {
    const { id } = await makeWorkflow(api, greet);
    const client = await scene.connected('2026-07-28');
    const session = taskSession(client, { api: base, key });
    try {
      const execution = await session.callTool('run_workflow', { workflowId: id, variables: { who: 'Ada' } });
      const { outcome } = await execution.settle();
      expect(outcome).toMatchObject({ status: 'completed', result: { structuredContent: { greeting: 'Hello Ada' } } });
    } finally {
      await session.close();
    }
  });

  test('ask the person of the client what an approval asks', async () => {
    const form = {
      type: 'object',
      properties: { amount: { type: 'number', minimum: 1, multipleOf: 1 }, note: { type: 'string' } },
    };
    const { id } = await makeWorkflow(api, approve(form, { approvers: ['ada@example.com'] }));
    const asked: Json[] = [];
    const client = await scene.connected('2026-07-28');
    const session = taskSession(client, {
      api: base,
      key,
      async onAsked({ params }) {
        asked.push(params);
        return { action: 'accept', content: { action: 'approve', amount: 5, comment: 'Fine' } };
      },
    });
    try {
      const execution = await session.callTool('run_workflow', { workflowId: id });
      const { outcome } = (await execution.settle()) as Json;
      expect(outcome.result.structuredContent).toMatchObject({
        action: 'approve',
        values: { amount: 5 },
        comment: 'Fine',
        channel: 'mcp',
        respondedBy: expect.stringMatching(/^key:/),
      });
    } finally {
      await session.close();
    }
    expect(asked).toEqual([
      {
        mode: 'form',
        message: 'Refund?',
        requestedSchema: {
          type: 'object',
          properties: {
            amount: { type: 'number', minimum: 1 },
            note: { type: 'string' },
            action: { type: 'string', title: 'Action', enum: ['approve', 'reject'], description: expect.any(String) },
            comment: { type: 'string', title: 'Comment', maxLength: 2000 },
          },
          required: ['action'],
        },
      },
    ]);
  });

  test('stay open when the person declines, and when the answer does not fit', async () => {
    const { id } = await makeWorkflow(
      api,
      approve({ type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }),
    );
    const { result: task } = await rpc('tools/call', { name: 'run_workflow', arguments: { workflowId: id } });
    expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 1000 });
    const { taskId } = task;
    const waiting = async () => {
      for (;;) {
        const { result } = await rpc('tasks/get', { taskId });
        if (result.status !== 'working') return result;
      }
    };
    const open = await waiting();
    expect(open).toMatchObject({ status: 'input_required', resultType: 'complete', taskId, createdAt: task.createdAt });
    const [approvalId] = Object.keys(open.inputRequests);
    expect(approvalId).toMatch(/^apr_/);
    const update = (response: Json, at = approvalId!) =>
      rpc('tasks/update', { taskId, inputResponses: { [at]: response } });
    expect((await update({ action: 'decline' })).result).toMatchObject({ resultType: 'complete' });
    expect((await update({ action: 'cancel' })).result).toMatchObject({ resultType: 'complete' });
    expect(
      (await update({ action: 'accept', content: { action: 'approve', amount: 5 } }, 'apr_other')).result,
    ).toBeDefined();
    for (const content of [
      undefined,
      {},
      { action: 'approve' },
      { action: 'approve', amount: 'much' },
      { action: 'other', amount: 5 },
    ]) {
      const { error } = await update({ action: 'accept', content });
      expect(error).toMatchObject({
        code: -32602,
        data: { code: 'validation_error', details: { errors: [{ path: expect.any(String) }] } },
      });
    }
    expect((await waiting()).status).toBe('input_required');
    expect((await update({ action: 'accept', content: { action: 'approve', amount: 5 } })).result).toBeDefined();
    // An answer that is late changes nothing.
    expect((await update({ action: 'accept', content: { action: 'reject', amount: 9 } })).error).toBeUndefined();
    const ended = await waiting();
    expect(ended).toMatchObject({ status: 'completed', result: { structuredContent: { values: { amount: 5 } } } });
  });

  test('are cancelled with their run, and complete with the error of a run that failed', async () => {
    const waiting = await makeWorkflow(api, { steps: [{ id: 'wait', type: 'wait', for: '2h' }] });
    const { result: task } = await rpc('tools/call', { name: 'run_workflow', arguments: { workflowId: waiting.id } });
    expect((await rpc('tasks/cancel', { taskId: task.taskId })).result).toMatchObject({ resultType: 'complete' });
    expect((await rpc('tasks/get', { taskId: task.taskId })).result.status).toBe('cancelled');
    expect((await api.get(`/api/v1/runs/${task.taskId}`)).body.data.status).toBe('CANCELLED');

    const failing = await makeWorkflow(api, { steps: [{ id: 'stop', type: 'fail', message: 'Not today' }] });
    const { body } = await api.post(`/api/v1/workflows/${failing.id}/execute`, {});
    const { result } = await rpc('tasks/get', { taskId: body.error.details.runId });
    expect(result).toMatchObject({
      status: 'completed',
      result: { isError: true, structuredContent: { message: 'Not today' } },
    });
  });

  test('are for clients that declare the extension, of their own organization and scopes', async () => {
    const { id } = await makeWorkflow(api, greet);
    const started = { name: 'run_workflow', arguments: { workflowId: id, variables: { who: 'Ada' } } };
    const { taskId } = (await rpc('tools/call', started)).result;
    expect((await rpc('tools/call', started, envelope())).result.structuredContent.greeting).toBe('Hello Ada');
    for (const method of ['tasks/get', 'tasks/cancel']) {
      expect((await rpc(method, { taskId }, envelope())).error.code).toBe(-32021);
      expect((await rpc(method, { taskId: 'none' })).error.code).toBe(-32602);
      const other = (await scene.product.createTenant()).testKey;
      expect((await rpc(method, { taskId }, withTasks, other)).error).toMatchObject({
        code: -32602,
        message: 'No run has this id.',
      });
    }
    const reader = await scene.keyWith('runs:read');
    expect((await rpc('tasks/get', { taskId }, withTasks, reader)).result.taskId).toBe(taskId);
    expect((await rpc('tasks/cancel', { taskId }, withTasks, reader)).error.data.code).toBe('forbidden');
    expect((await rpc('tasks/get', { taskId }, withTasks, await scene.keyWith('studio'))).error.data.code).toBe(
      'forbidden',
    );
  });

  test('are no method of the older revision', async () => {
    const { body } = await post(base, key, { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId: 'x' } });
    expect(body.error.code).toBe(-32601);
  });
});
