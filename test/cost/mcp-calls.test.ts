import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { post, request, withTasks } from '../mcp/clients.ts';
import { approve, greet } from '../mcp/scene.ts';
import type { DocumentedOperation, Json, ReadDocument } from '../openapi/document.ts';
import { until } from '../until.ts';
import { batchesOf, type Probe } from './cost-walk.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing } from './requests.ts';
import { excessiveBodies, largestBodies, longText, worstValues } from './worst-bodies.ts';

// Every tool, with arguments of a megabyte: far more than it takes alone, as others may use the machine too.
jest.setTimeout(600_000);

let product: MeasuredProduct;
let base: string;
let key: string;
let workflowId: string;
let runId: string;
let approvalId: string;
beforeAll(async () => {
  product = await startMeasured();
  base = product.process.api;
  key = product.testKey;
  ({ id: workflowId } = await makeWorkflow(product.api, { ...greet, mcp: { enabled: true, name: 'greet' } }));
  const { id } = await makeWorkflow(
    product.api,
    approve({ type: 'object', properties: { note: { type: 'string' } }, required: ['note'] }),
  );
  const called = request('tools/call', { name: 'run_workflow', arguments: { workflowId: id } });
  runId = (await post(base, key, called)).body.result.taskId;
  while (approvalId === undefined) {
    const { result } = (await post(base, key, request('tasks/get', { taskId: runId }))).body;
    approvalId = Object.keys(result.inputRequests ?? {})[0]!;
  }
});
afterAll(() => product.close());

/** A message as it is sent, with the headers that a client of the newest revision derives from it. */
function probe(method: string, name: string, body: string, subject?: string): Probe {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(subject !== undefined && { 'mcp-name': subject }),
  };
  const of = subject === undefined ? method : `${method} ${subject}`;
  return {
    input: { door: `POST /mcp ${of}`, name },
    send: () => exchange(base, { method: 'POST', path: '/mcp', body, headers, readsEvents: true }),
  };
}

const messageOf = (method: string, params: Json) => ({ jsonrpc: '2.0', id: 1, method, params });
const bytes = 950_000;
/** The message with this JSON text in place of `slot`. */
const withText = (message: Json, text: string) => JSON.stringify(message).replace('"slot"', () => text);

/** Arguments with which each tool does what it is for, or as much of it as there is here. */
const examples = (): Record<string, Json> => ({
  list_workflows: { limit: 100 },
  run_workflow: { workflowId, variables: { who: 'Ada' } },
  get_run: { runId },
  list_runs: { workflowId, limit: 100 },
  cancel_run: { runId: 'run_none' },
  list_approvals: { status: 'pending' },
  respond_to_approval: { approvalId, action: 'other', values: { note: 'Fine' } },
  generate_image: { prompt: 'A boat' },
  speak: { text: 'Hello' },
  transcribe: { url: 'https://files.example.com/a.mp3' },
  find_times: { eventTypeId: 'none', start: '2027-01-01T00:00:00Z', end: '2027-02-01T00:00:00Z' },
  book_time: {
    eventTypeId: 'none',
    start: '2027-01-01T00:00:00Z',
    attendee: { name: 'Ada', email: 'ada@example.com' },
  },
  greet: { who: 'Ada' },
});

/** The tool as the family of the worst bodies reads operations: its message, whose arguments have its schema. */
function asOperation(inputSchema: Json): { operation: DocumentedOperation; read: ReadDocument } {
  const params = { type: 'object', properties: { arguments: inputSchema } };
  const schema = { type: 'object', properties: { params } };
  const operation = { operation: { requestBody: { content: { 'application/json': { schema } } } } };
  const definitions = { ...inputSchema.$defs, ...inputSchema.definitions };
  const read = { resolve: (reference: string) => definitions[reference.split('/').at(-1)!] };
  return { operation: operation as DocumentedOperation, read: read as unknown as ReadDocument };
}

test('arguments of tools are as cheap as the table says', async () => {
  const { tools } = (await post(base, key, request('tools/list'))).body.result;
  const args = examples();
  expect(tools.map(({ name }: Json) => name)).toEqual(Object.keys(args));
  let accepted = 0;
  for (const some of batchesOf<[number, Json]>([...tools.entries()], 4)) {
    const probes = some.flatMap(([index, { name, inputSchema }]) => {
      const { operation, read } = asOperation(inputSchema);
      const call = messageOf('tools/call', { name, arguments: args[name], _meta: withTasks });
      const bodies = [...largestBodies(operation, call, read), ...excessiveBodies(operation, call, read, index)];
      return bodies.map((one) => probe('tools/call', one.name, one.body, name));
    });
    const outcomes = await product.walk.sendAll(probes);
    accepted += outcomes.filter(({ status }) => status === 200).length;
  }
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(base)).toBe(true);
  expect(accepted).toBeGreaterThan(20);
});

test('messages are as cheap as the table says, whatever is large in them', async () => {
  const places: [string, string, Json, string?][] = [
    ['tools/list', 'at the cursor', { cursor: 'slot', _meta: withTasks }],
    ['tools/list', 'at _meta', { _meta: { ...withTasks, more: 'slot' } }],
    ['tools/call', 'as the arguments', { name: 'greet', arguments: 'slot', _meta: withTasks }, 'greet'],
    ['tools/call', 'as the name', { name: 'slot', arguments: {}, _meta: withTasks }, 'greet'],
    ['tasks/get', 'as the task', { taskId: 'slot', _meta: withTasks }, runId],
    ['tasks/update', 'as the answers', { taskId: runId, inputResponses: 'slot', _meta: withTasks }, runId],
    [
      'tasks/update',
      'as a form',
      { taskId: runId, inputResponses: { [approvalId]: { action: 'accept', content: 'slot' } }, _meta: withTasks },
      runId,
    ],
    [
      'tasks/update',
      'as a value',
      {
        taskId: runId,
        inputResponses: { [approvalId]: { action: 'accept', content: { action: 'approve', note: 'slot', x: 'slot' } } },
        _meta: withTasks,
      },
      runId,
    ],
  ];
  for (const [method, place, params, subject] of places) {
    const probes = Object.entries(worstValues).map(([name, textOf]) =>
      probe(method, `${name} ${place}`, withText(messageOf(method, params), textOf(bytes)), subject),
    );
    await product.walk.sendAll(probes);
  }
  // A message of the older revision, and one that is of none.
  const plain = Object.entries(worstValues).flatMap(([name, textOf]) => [
    probe('tools/call', `${name} as the parameters`, withText(messageOf('tools/call', 'slot'), textOf(bytes))),
    probe('tools/call', `${name} as the id`, withText({ ...messageOf('tools/list', {}), id: 'slot' }, textOf(bytes))),
    probe('tools/call', `${name} as the message`, textOf(bytes)),
  ]);
  for (const some of batchesOf(plain, 12)) await product.walk.sendAll(some);
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(base)).toBe(true);
});

test('large runs and approvals are answered in at most 2 MiB, as JSON and as text', async () => {
  const input = '"'.repeat(120_000);
  const steps = Array.from({ length: 8 }, (_, index) => ({ id: `s${index}`, type: 'transform', expression: 'input' }));
  const { id } = await makeWorkflow(product.api, { name: 'Much', steps });
  let large = '';
  for (let time = 0; time < 4; time++) {
    const { body } = await product.api.post(`/api/v1/workflows/${id}/execute`, { input });
    large = body.data.runId;
  }
  const form = { type: 'object', properties: { note: { type: 'string', description: '"'.repeat(15_000) } } };
  const asking = await makeWorkflow(product.api, approve(form));
  for (let time = 0; time < 40; time++)
    await product.api.post(`/api/v1/workflows/${asking.id}/execute`, { input: 'x', async: true });
  await until('the approvals are open', async () => {
    const { body } = await product.api.get(`/api/v1/approvals?status=pending&workflowId=${asking.id}`);
    return body.data.pagination.total === 40;
  });
  const call = (name: string, args: Json) =>
    probe(
      'tools/call',
      'much',
      JSON.stringify(messageOf('tools/call', { name, arguments: args, _meta: withTasks })),
      name,
    );
  const outcomes = await product.walk.sendAll([
    call('get_run', { runId: large }),
    call('list_runs', { workflowId: id, limit: 100 }),
    call('list_approvals', {}),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(Math.max(outcomes[0]!.answerBytes!, outcomes[2]!.answerBytes!)).toBeGreaterThan(256 * 1024);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('lists of the largest tools are as cheap as the table says', async () => {
  // As large as a list shows them.
  const inputs = Array.from({ length: 20 }, (_, index) => ({
    name: `input_${index}`,
    type: 'string',
    required: false,
    description: longText(400),
  }));
  const outputSchema = { type: 'object', properties: { text: { type: 'string', description: 'd'.repeat(15_000) } } };
  const steps = [{ id: 'say', type: 'prompt', prompt: 'Say', outputSchema }];
  const { id } = await makeWorkflow(product.api, { name: 'Large', inputs, steps });
  const { rowCount } = await product.database.pool.query(
    `insert into automation (id, organization_id, environment, name, state, definition_id, total_runs, created_at, updated_at, tool_name)
     select gen_random_uuid(), organization_id, environment, name, state, definition_id, 0, created_at, updated_at,
            'tool_' || lpad(n::text, 3, '0')
       from automation, generate_series(1, 190) n where id = $1`,
    [id],
  );
  expect(rowCount).toBe(190);
  const list = (cursor?: string) =>
    JSON.stringify(messageOf('tools/list', { ...(cursor !== undefined && { cursor }), _meta: withTasks }));
  const [outcome] = await product.walk.sendAll([
    probe('tools/list', 'a page of the largest tools', list('greet')),
    probe('tools/list', 'the first page beside the largest tools', list()),
  ]);
  expect(outcome).toMatchObject({ status: 200 });
  expect(outcome!.answerBytes).toBeGreaterThan(256 * 1024);
  expect(product.walk.takeExcesses()).toEqual([]);
});
