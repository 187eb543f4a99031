import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';

// What an integrator writes who has the types that openapi-typescript makes of the document, and openapi-fetch. It is
// compiled in the strictest mode, so nothing here may need a cast. A @ts-expect-error that finds no error is an error.

declare const process: { argv: string[] };
const [, , baseUrl = '', key = ''] = process.argv;

type Schemas = components['schemas'];

const client = (variant: 'A' | 'B') =>
  createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}`, 'X-API-Variant': variant } });
const [a, b] = [client('A'), client('B')];

/** The data of an answer. @throws Error with the code and the id of a failed request, or the code alone */
function dataOf<Data>(answer: {
  data?: { data: Data };
  error?: Schemas['ErrorResponse'] | Schemas['AccessError'];
}): Data {
  if (answer.data) return answer.data.data;
  const { error } = answer;
  if (!error) throw new Error('The answer has no body.');
  throw new Error('success' in error ? `${error.error.code} ${error.error.requestId}` : error.error.code);
}

const definition: Schemas['NewWorkflow'] = {
  name: 'Generated',
  steps: [
    { id: 'say', type: 'prompt', prompt: 'Greet {{input}}.', temperature: 0.2 },
    { id: 'again', type: 'transform', expression: 'steps.say.output' },
  ],
};

// @ts-expect-error A workflow has a name.
const nameless: Schemas['NewWorkflow'] = { steps: [] };
// @ts-expect-error There is no such type of step.
const unknownStep: Schemas['WorkflowStepInput'] = { id: 'a', type: 'dance' };
// Events are plain texts: a client subscribes to types that are newer than itself.
const newerEvent: Schemas['NewWebhook']['events'] = ['workflow.run.exploded'];
// @ts-expect-error There is no such operation: each stands in the document once.
const other: keyof paths = '/v1/workflows';

async function inDialectA() {
  const idempotent = { params: { header: { 'Idempotency-Key': 'generated-client' } } };
  const created = dataOf(await a.POST('/api/v1/workflows', { ...idempotent, body: definition }));
  const path = { id: created.id };
  const run = dataOf(await a.POST('/api/v1/workflows/{id}/execute', { params: { path }, body: { input: 'Ada' } }));
  if (!('durationMs' in run)) throw new Error('The answer is not of dialect A.');
  const output: string | null = run.output;
  const detail = dataOf(await a.GET('/api/v1/runs/{id}', { params: { path: { id: run.runId } } }));
  // `status` tells the dialects apart, too.
  const result = detail.status === 'COMPLETED' ? detail.output?.result : undefined;
  const query = { status: 'completed', limit: 5 } as const;
  const runs = dataOf(await a.GET('/api/v1/workflows/{id}/runs', { params: { path, query } }));
  const total = 'pagination' in runs ? runs.pagination.total : runs.total;
  return { created: 'isActive' in created && created.isActive, status: run.status, same: output === result, total };
}

async function inDialectB() {
  const created = dataOf(await b.POST('/api/v1/workflows', { body: definition }));
  const params = { path: { id: created.id } };
  const body = { inputs: { name: 'Ada' }, async: false };
  const run = dataOf(await b.POST('/api/v1/workflows/{id}/execute', { params, body }));
  if (!('duration' in run)) throw new Error('The answer is not of dialect B.');
  const detail = dataOf(await b.GET('/api/v1/runs/{id}', { params: { path: { id: run.runId } } }));
  const steps = 'stepResults' in detail ? detail.stepResults.map(({ name }) => name) : [];
  return { created: 'status' in created && created.status, status: run.status, steps };
}

async function webhooks() {
  const events: Schemas['NewWebhook']['events'] = ['workflow.run.completed', '*'];
  const url = 'https://hooks.example.com/generated';
  const created = dataOf(await a.POST('/api/v1/webhooks', { body: { name: 'Generated', url, events } }));
  const path = { id: created.id };
  const deliveries = dataOf(
    await a.GET('/api/v1/webhooks/{id}/deliveries', { params: { path, query: { status: 'dead_lettered' } } }),
  );
  const removed = dataOf(await a.DELETE('/api/v1/webhooks/{id}', { params: { path } }));
  return { events: created.events, secret: created.secret?.slice(0, 6), deliveries: deliveries.deliveries, removed };
}

async function failures() {
  const { error, response } = await a.GET('/api/v1/workflows/{id}', { params: { path: { id: 'unknown' } } });
  const inB = await b.GET('/api/v1/health', { headers: { authorization: 'Bearer nonsense' } });
  const code = inB.error && !('success' in inB.error) ? inB.error.error.code : undefined;
  return { status: response.status, code: error && 'success' in error ? error.error.code : undefined, inB: code };
}

void [nameless, unknownStep, newerEvent, other];
const seen = { a: await inDialectA(), b: await inDialectB(), webhooks: await webhooks(), failures: await failures() };
console.log(JSON.stringify(seen));
