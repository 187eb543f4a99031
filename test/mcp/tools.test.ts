import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { fixedTools } from '../../src/automation/core/mcp-tools.ts';
import type { ApiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import type { Json } from '../openapi/document.ts';
import { revisions } from './clients.ts';
import { approve, greet, openMcpScene } from './scene.ts';

const scene = openMcpScene();
let api: ApiClient;
let base: string;
beforeAll(() => {
  ({ api, base } = scene);
});

describe.each(revisions)('the official client in revision %s', (revision) => {
  let client: Client;
  const name = (of: string) => `${of}_${revision.replaceAll('-', '_')}`;
  beforeAll(async () => {
    client = await scene.connected(revision);
    await makeWorkflow(api, { ...greet, mcp: { enabled: true, name: name('greet') } });
  });
  const call = (tool: string, args: Record<string, unknown> = {}): Promise<Json> =>
    client.callTool({ name: tool, arguments: args });

  test('lists the fixed tools and the workflows, with what they take', async () => {
    const { tools } = await client.listTools();
    expect(tools.slice(0, fixedTools.length).map((tool) => tool.name)).toEqual([...fixedTools]);
    expect(tools.find((tool) => tool.name === name('greet'))).toMatchObject({
      title: 'Greet',
      description: 'Greets a person.',
      inputSchema: {
        type: 'object',
        properties: { who: { type: 'string', description: 'Whom to greet.' }, times: { type: 'number', default: 1 } },
        required: ['who'],
      },
    });
    const { inputSchema, annotations } = tools.find((tool) => tool.name === 'generate_image')!;
    expect(inputSchema).toMatchObject({ type: 'object', required: ['prompt'] });
    expect(inputSchema.properties).toHaveProperty('aspectRatio.description', expect.stringContaining('Default 1:1.'));
    expect(annotations).toMatchObject({ openWorldHint: true });
    expect(tools.find((tool) => tool.name === 'get_run')!.annotations).toEqual({ readOnlyHint: true });
    expect(tools.find((tool) => tool.name === 'respond_to_approval')!.annotations).toMatchObject({
      destructiveHint: true,
    });
  });

  test('calls a workflow and gets its output as text and as JSON', async () => {
    const result = await call(name('greet'), { who: 'Ada' });
    const greeting = { greeting: 'Hello Ada', times: 1 };
    expect(result.structuredContent).toEqual(greeting);
    expect(JSON.parse(result.content[0].text)).toEqual(greeting);
    expect(result.content[0]._meta).toBeUndefined();
  });

  test('gets the paths of wrong arguments', async () => {
    const result = await call(name('greet'), { times: 'many' });
    expect(result).toMatchObject({ isError: true, structuredContent: { code: 'validation_error' } });
    expect(result.content[0].text).toBe(
      'validation_error: The request is not valid.\nwho: This input is required.\ntimes: Expected number, got string.',
    );
    const fixed = await call('list_runs', { limit: 0, status: 'NONE' });
    expect(fixed.content[0].text).toContain('\nstatus: Expected a run status.');
    expect(fixed.content[0].text).toContain('\nlimit: ');
  });

  test('marks what a model wrote, and has its errors as results', async () => {
    await makeWorkflow(api, {
      name: 'Say',
      steps: [{ id: 'say', type: 'prompt', prompt: '{{input}}' }],
      mcp: { enabled: true, name: name('say') },
    });
    const said = await call(name('say'), { input: 'Good day' });
    expect(said.content[0]).toMatchObject({ type: 'text', _meta: { 'atelier/untrusted': true } });
    expect(said.structuredContent).toBeUndefined();
    const failed = await call(name('say'), { input: 'sandbox:fail' });
    expect(failed).toMatchObject({
      isError: true,
      structuredContent: { code: expect.any(String), details: { stepId: 'say' } },
    });
  });

  test('gets an output that has a schema as JSON, and the schema with the list', async () => {
    const outputSchema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };
    await makeWorkflow(api, {
      name: 'Colour',
      steps: [{ id: 'say', type: 'prompt', prompt: 'A colour', outputSchema }],
      mcp: { enabled: true, name: name('colour') },
    });
    // A client keeps a list for as long as it holds.
    const { tools } = await (await scene.connected(revision)).listTools();
    expect(tools.find((tool) => tool.name === name('colour'))!.outputSchema).toEqual(outputSchema);
    expect((await call(name('colour'))).structuredContent).toEqual({ colour: expect.any(String) });
  });

  test('starts any workflow, follows its run and cancels another', async () => {
    const { id } = await makeWorkflow(api, greet);
    expect((await call('list_workflows', { limit: 1 })).structuredContent.workflows[0].id).toBe(id);
    const ended = await call('run_workflow', { workflowId: id, variables: { who: 'Bob' } });
    expect(ended.structuredContent.greeting).toBe('Hello Bob');
    const runId = ended._meta['atelier/runId'];
    const { structuredContent: run } = await call('get_run', { runId });
    expect(run).toMatchObject({ id: runId, status: 'COMPLETED', workflowId: id });
    expect((await call('list_runs', { workflowId: id })).structuredContent.runs).toHaveLength(1);
    const waiting = await makeWorkflow(api, { steps: [{ id: 'wait', type: 'wait', for: '2h' }] });
    const going = await call('run_workflow', { workflowId: waiting.id });
    expect(going.structuredContent).toEqual({ runId: expect.any(String), status: 'RUNNING' });
    expect(going.content[0].text).toContain('the step wait waits (wait)');
    const cancelled = await call('cancel_run', { runId: going.structuredContent.runId });
    expect(cancelled.structuredContent.status).toBe('CANCELLED');
  });

  test('gets a run that reaches an approval at once, and answers it', async () => {
    const { id } = await makeWorkflow(
      api,
      approve({ type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }),
    );
    const {
      structuredContent: { runId },
    } = await call('run_workflow', { workflowId: id });
    const { approvals } = (await call('list_approvals')).structuredContent;
    const { id: approvalId } = approvals.find((one: Json) => one.runId === runId);
    const wrong = await call('respond_to_approval', { approvalId, action: 'approve' });
    expect(wrong.content[0].text).toContain('\nvalues.amount: ');
    const answered = await call('respond_to_approval', { approvalId, action: 'approve', values: { amount: 5 } });
    expect(answered.structuredContent).toMatchObject({
      status: 'answered',
      response: { channel: 'mcp', action: 'approve' },
    });
    const again = await call('respond_to_approval', { approvalId, action: 'approve', values: { amount: 5 } });
    expect(again).toMatchObject({ isError: true, structuredContent: { code: 'conflict' } });
  });

  test('does not answer for those whom an approval names', async () => {
    const { id } = await makeWorkflow(api, approve(undefined, { approvers: ['ada@example.com'] }));
    const {
      structuredContent: { runId },
    } = await call('run_workflow', { workflowId: id });
    const { approvals } = (await api.get('/api/v1/approvals?status=pending')).body.data;
    const { id: approvalId } = approvals.find((one: Json) => one.runId === runId);
    const refused = await call('respond_to_approval', { approvalId, action: 'approve' });
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'forbidden' } });
    expect((await api.get(`/api/v1/approvals/${approvalId}`)).body.data.status).toBe('pending');
  });

  test('makes an image and a speech as links, and transcribes the speech', async () => {
    const image = await call('generate_image', { prompt: 'A boat' });
    expect(image.content[0]).toMatchObject({
      type: 'resource_link',
      mimeType: expect.stringMatching(/^image\//),
      _meta: { 'atelier/untrusted': true },
    });
    expect((await fetch(image.content[0].uri.replace(/^https?:\/\/[^/]+/, base))).status).toBe(200);
    const speech = await call('speak', { text: 'Good day' });
    expect(speech.content[0]).toMatchObject({ type: 'resource_link', mimeType: 'audio/mpeg' });
    const transcribed = await call('transcribe', { url: speech.content[0].uri, language: 'en' });
    expect(transcribed.structuredContent).toMatchObject({ text: expect.any(String), duration: expect.any(Number) });
    expect(transcribed.content[0]._meta).toEqual({ 'atelier/untrusted': true });
    for (const url of [
      'http://127.0.0.1:1/',
      'http://169.254.169.254/latest/meta-data',
      'file:///etc/passwd',
      'nonsense',
    ]) {
      const refused = await call('transcribe', { url });
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'validation_error' } });
    }
  });

  test('finds times and books one', async () => {
    const { body } = await api.post('/api/v1/scheduling/event-types', { name: 'Call', duration: 30 });
    const eventTypeId = body.data.id;
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const found = await call('find_times', { eventTypeId, start: day(2), end: day(9) });
    const { start } = found.structuredContent.times[0];
    const attendee = { name: 'Ada', email: 'ada@example.com' };
    const booked = await call('book_time', { eventTypeId, start, attendee });
    expect(booked.structuredContent).toMatchObject({ eventTypeId, status: 'confirmed' });
    expect(await call('book_time', { eventTypeId, start, attendee })).toMatchObject({ isError: true });
  });

  test('gets the progress of a run', async () => {
    const { id } = await makeWorkflow(api, greet);
    const reported: string[] = [];
    await client.callTool(
      { name: 'run_workflow', arguments: { workflowId: id, variables: { who: 'Ada' } } },
      { onprogress: ({ message }) => reported.push(message!) },
    );
    expect(reported).toEqual(['run.started', 'step.started greet', 'step.completed greet', 'run.completed']);
  });

  test('is refused a tool that does not exist as a wrong request', async () => {
    await expect(call('no_such_tool')).rejects.toMatchObject({ code: -32602 });
  });

  test('sees only what its key may', async () => {
    const scoped = await scene.connected(revision, await scene.keyWith('runs:read', 'voice'));
    const { tools } = await scoped.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(['get_run', 'list_runs', 'list_approvals', 'speak', 'transcribe']);
    for (const refused of ['run_workflow', 'generate_image', name('greet')]) {
      const answer = await scoped.callTool({ name: refused, arguments: {} });
      expect(answer).toMatchObject({ isError: true, structuredContent: { code: 'forbidden' } });
    }
  });

  test('sees nothing of another organization, or of another environment', async () => {
    const { id } = await makeWorkflow(api, greet);
    const mine = await call('run_workflow', { workflowId: id, variables: { who: 'Ada' } });
    const runId = mine._meta['atelier/runId'];
    const strangers = [(await scene.product.createTenant()).testKey, scene.product.tenant.liveKey];
    for (const other of strangers) {
      const stranger = await scene.connected(revision, other);
      expect((await stranger.listTools()).tools).toHaveLength(fixedTools.length);
      const ask = (tool: string, args: Json): Promise<Json> => stranger.callTool({ name: tool, arguments: args });
      await expect(ask(name('greet'), { who: 'Eve' })).rejects.toMatchObject({ code: -32602 });
      expect((await ask('run_workflow', { workflowId: id })).structuredContent.code).toBe('workflow_not_found');
      expect((await ask('get_run', { runId })).structuredContent.code).toBe('run_not_found');
      expect((await ask('cancel_run', { runId })).structuredContent.code).toBe('run_not_found');
      expect((await ask('list_runs', {})).structuredContent.runs).toEqual([]);
      expect((await ask('list_approvals', {})).structuredContent.approvals).toEqual([]);
    }
  });
});
