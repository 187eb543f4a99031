import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import { type DocumentedOperation, isOfPeople, type Json, pathOf, type ReadDocument } from '../openapi/document.ts';
import { sharedProduct } from '../product.ts';
import { readOperations } from '../walk/walked-operations.ts';
import { flowRules } from './flow-rules.ts';
import { integrationRules } from './integration-rules.ts';
import { messageRules } from './message-rules.ts';
import { schedulingParameters, schedulingRules, schedulingTargets } from './scheduling-rules.ts';
import { type Known, mutated, oneOf, valid, type WordedRule } from './schema-arbitrary.ts';
import { seed } from './seed.ts';
import { exclusiveParameters, startParameters, startRules } from './start-rules.ts';
import { stepRules } from './step-rules.ts';

// Every operation is asked many times, and others may use the machine too.
jest.setTimeout(300_000);

let product: Awaited<ReturnType<typeof sharedProduct>>;
let client: ApiClient;
let read: ReadDocument;
let workflowId: string;
let changedWorkflowId: string;
let webhookId: string;
let changedWebhookId: string;
let triggerSecret: string;
let runId: string;
let targets: Awaited<ReturnType<typeof schedulingTargets>>;
let imageUrl: string;

beforeAll(async () => {
  product = await sharedProduct();
  const { id } = await createOrganization(product.database, {
    name: 'Fuzz',
    plan: 'enterprise',
    rateMinute: 1_000_000,
  });
  client = apiClient(
    product.process.api,
    (await createKey(product.database, { organizationId: id, environment: 'test' })).key,
  );
  read = await readOperations(client);
  const workflow = async (name: string, steps: object[] = []) =>
    (await client.post('/api/v1/workflows', { name, steps })).body.data.id;
  const webhook = async (name: string) => {
    const body = { name, url: `https://${name}.example.com`, events: ['*'] };
    return (await client.post('/api/v1/webhooks', body)).body.data.id;
  };
  [workflowId, changedWorkflowId] = [await workflow('target'), await workflow('changed')];
  triggerSecret = (await client.post(`/api/v1/workflows/${workflowId}/webhook-secret`)).body.data.secret;
  [webhookId, changedWebhookId] = [await webhook('target'), await webhook('changed')];
  targets = await schedulingTargets(client);
  const failing = await workflow('failing', [{ id: 'summarize', type: 'prompt', prompt: 'sandbox:fail' }]);
  runId = (await client.post(`/api/v1/workflows/${failing}/execute`, {})).body.error.details.runId;
  imageUrl = (await client.post('/api/studio/generate', { prompt: 'A boat' })).body.data.url;
});
afterAll(() => product.close());

const runs = { numRuns: 40, seed, endOnFailure: false } as const;
/** Fewer where each request renders a file, speaks or asks a model. */
const runsOf = (path: string) => {
  if (/^\/api\/(studio|chat|agents)\b/.test(path)) return { ...runs, numRuns: 6 };
  return /^\/api\/voice\b/.test(path) ? { ...runs, numRuns: 15 } : runs;
};
/** A POST to the id alone starts a workflow. What is changed is not what others use. */
const things = () => [
  ...targets,
  { prefix: /^PATCH \S*\/workflows\/\{id\}$/, parameter: 'id', id: changedWorkflowId },
  { prefix: /^PATCH \S*\/webhooks\/\{id\}$/, parameter: 'id', id: changedWebhookId },
  { prefix: /\/webhook-secret$/, parameter: 'id', id: changedWorkflowId },
  { prefix: /^POST \S*\/v1\/webhooks\/\{id\}(\/\{secret\})?$/, parameter: 'id', id: workflowId },
  { prefix: /./, parameter: 'serverId', id: 'docker' },
  { prefix: /./, parameter: 'version', id: '1' },
  { prefix: /./, parameter: 'batchId', id: workflowId },
  { prefix: /./, parameter: 'keyId', id: workflowId },
  { prefix: /./, parameter: 'memberId', id: workflowId },
  { prefix: /./, parameter: 'identityId', id: workflowId },
  { prefix: /./, parameter: 'invitationId', id: workflowId },
  { prefix: /./, parameter: 'bulkActionId', id: workflowId },
  { prefix: /./, parameter: 'secretName', id: 'FUZZED' },
  { prefix: /./, parameter: 'approvalId', id: workflowId },
  { prefix: /./, parameter: 'integrationId', id: 'slack' },
  { prefix: /./, parameter: 'actionId', id: 'send_message' },
  { prefix: /./, parameter: 'event', id: 'mention' },
  { prefix: /./, parameter: 'type', id: 'studio.video.completed' },
  { prefix: /./, parameter: 'webhookId', id: webhookId },
  { prefix: /./, parameter: 'actionRunId', id: workflowId },
  { prefix: /./, parameter: 'secret', id: triggerSecret },
  { prefix: /\/webhooks\/\{id\}/, parameter: 'id', id: webhookId },
  { prefix: /\/webhooks\/\{id\}/, parameter: 'deliveryId', id: webhookId },
  { prefix: /\/runs\/\{id\}/, parameter: 'id', id: runId },
  { prefix: /\/runs\/\{id\}/, parameter: 'stepId', id: 'summarize' },
  { prefix: /./, parameter: 'name', id: `${'n'.repeat(43)}.png` },
  { prefix: /./, parameter: 'id', id: workflowId },
];

const firstOfEach = (member: string) => (values: fc.Arbitrary<unknown>) =>
  values.map((list) => [...new Map((list as Json[]).map((one) => [one[member], one])).values()]);

const urls = fc.nat().map((nat) => `https://hooks-${nat}.example.com/runs?of=${nat}`);
const headers = fc.dictionary(fc.stringMatching(/^X-Of-[a-z]{1,9}$/), fc.constantFrom('', 'a b', 'é'), { maxKeys: 4 });
const isWide = (image: unknown) => (image as Json).model === 'ideogram-v2' && (image as Json).aspectRatio === '21:9';
/** What every model makes. It fails in the sandbox, because hundreds of videos take their time. */
const ofAnyModel = (video: object) => ({
  ...video,
  prompt: `sandbox:fail ${(video as { prompt: string }).prompt}`.slice(0, 900),
  ...('aspectRatio' in video && { aspectRatio: '16:9' }),
  ...('duration' in video && { duration: 5 }),
});
const isOf = { string: 'x', number: 1.5, boolean: false, object: {}, array: [] };

/** The rules that no schema can say: the words of the document, where they stand, and requests that follow them. */
const inWords: WordedRule[] = [
  {
    at: ['NewSchedule.cron'],
    words: /in the range of its field, and the expression matches a day that exists/,
    follow: () => oneOf('0 9 * * 1-5', '*/5 0-3,7 1 JAN-mar/2 sun', '@hourly', '59 23 31 12 7', '5  4\t* * *'),
  },
  {
    at: ['NewSchedule.timezone'],
    words: /A name of the tz database/,
    follow: () => oneOf('UTC', 'Europe/Berlin', 'America/Port-au-Prince', 'Etc/GMT+12'),
  },
  {
    at: ['NewWebhook.url', 'WebhookChange.url'],
    words: /a public address and without a user name/,
    follow: () => urls,
  },
  {
    at: ['NewWebhook.headers', 'WebhookChange.headers'],
    words: /Names are compared without regard to case\. Headers of .* are refused/,
    follow: () => headers,
  },
  {
    at: ['DeliveryRecovery.since'],
    words: /in the past, at most as many days ago as the plan keeps/,
    follow: () => fc.nat({ max: 20 }).map((days) => new Date(Date.now() - days * 86_400_000).toISOString()),
  },
  {
    at: ['DeliveryRecovery.until'],
    words: /Not before `since`/,
    follow: () => fc.nat({ max: 20 }).map((days) => new Date(Date.now() + days * 86_400_000).toISOString()),
  },
  {
    at: ['WorkflowExecution.version', 'TestRun.version'],
    words: /A version that the workflow has/,
    follow: () => oneOf(1),
  },
  {
    at: ['WorkflowDocument'],
    words: /as `GET .*export` returns it/,
    follow: () =>
      oneOf(
        { atelier: 1, name: 'Imported' },
        { atelier: 1, name: 'Of steps', steps: [], triggers: [], schedule: null },
      ),
  },
  {
    at: ['RunRetry'],
    words: /`path` needs `fromStep`/,
    follow: () =>
      oneOf(
        { fromStep: 'summarize' },
        { fromStep: 'summarize', path: 'summarize', definition: 'current' },
        { fromStep: 'summarize', path: ['summarize'], definition: 'pinned' },
      ),
  },
  {
    at: ['NewWorkflow.steps', 'WorkflowChange.steps'],
    words: /Each has an id of its own/,
    follow: firstOfEach('id'),
  },
  {
    at: ['NewWorkflow.inputs', 'WorkflowChange.inputs'],
    words: /Each has a name of its own/,
    follow: firstOfEach('name'),
  },
  {
    at: ['InputDefinition'],
    words: /A value of the declared type/,
    follow: (inputs) =>
      inputs.map((input) => {
        const one = input as { type: keyof typeof isOf; default?: unknown };
        return 'default' in one ? { ...one, default: isOf[one.type] } : one;
      }),
  },
  {
    at: ['ImageRequest'],
    words: /ideogram-v2 1:1, 16:9, 9:16, 4:3, 3:2\./,
    follow: (images) =>
      images.map((image) => ({ ...(image as object), ...(isWide(image) && { aspectRatio: '16:9' }) })),
  },
  {
    at: ['UpscaleRequest.imageUrl', 'BackgroundRemovalRequest.imageUrl', 'VideoRequest.imageUrl'],
    words: /public address of a PNG, JPEG or WebP .* or the url of a file that was generated here/,
    follow: () => fc.constant(null).map(() => imageUrl),
  },
  {
    at: ['VideoRequest'],
    words: /At most 1000 characters for runway-gen3.*By model: runway-gen3 5 to 10/s,
    follow: (videos) => videos.map((video) => ofAnyModel(video as object)),
  },
  {
    at: ['MusicRequest'],
    words: /makes at most 30 seconds/,
    follow: (music) => music.map((one) => ({ ...(one as object), duration: 10 })),
  },
  {
    at: ['NewWebhook.events', 'WebhookChange.events'],
    words: /Event types\. `\*` subscribes to all/,
    follow: () => oneOf(['workflow.run.completed'], ['*'], ['test.webhook', 'booking.created']),
  },
  {
    at: ['NewEvent.name'],
    words: /Names that the platform publishes are refused/,
    follow: () => oneOf('order.paid', 'a', 'a.b_2.c.d.e'),
  },
  {
    at: ['NewEvent.id'],
    words: /with other content it is refused/,
    follow: () => fc.constant(null).map(() => randomUUID()),
  },
  {
    at: ['NewTrigger.filter'],
    words: /A CEL expression over `event` that must be true/,
    follow: () => oneOf('event.data.n > 1', 'true', null),
  },
  {
    at: ['NewWebhook.filter', 'WebhookChange.filter'],
    words: /A CEL expression over `event`, which is the whole body/,
    follow: () => oneOf('event.type == "booking.created"', 'true', null),
  },
  {
    at: ['NewTrigger.inputs'],
    words: /CEL expressions over `event` by name/,
    follow: () => oneOf({ n: 'event.data.n' }, {}, null),
  },
  {
    at: ['TestRun.mocks'],
    words: /Mocks by step id/,
    follow: () => fc.constant({}),
  },
  ...integrationRules,
  ...messageRules,
  ...stepRules,
  ...flowRules,
  ...startRules,
  ...schedulingRules,
];
const rules = Object.fromEntries(inWords.flatMap(({ at, follow }) => at.map((place) => [place, follow])));
const known = (): Known => ({ resolve: read.resolve, rules });

test('each rule that no schema can say stands in the document', () => {
  const { schemas } = read.document.components;
  const missing = inWords.flatMap(({ at, words }) =>
    at.flatMap((place) => {
      const [component, member] = place.split('.') as [string, string?];
      const schema = member ? schemas[component].properties[member] : schemas[component];
      return words.test(JSON.stringify(schema)) ? [] : [{ place, words, schema }];
    }),
  );
  expect(missing).toEqual([]);
});

/** A stream that never ends is no answer to wait for. */
const isEndless = ({ operation }: DocumentedOperation) => operation.operationId === 'streamRunsEvents';
/** What is the operator's needs another secret, and what is a person's a session. */
const isForCallers = (of: DocumentedOperation) =>
  !/^\/api\/(admin|cron)\//.test(of.path) && !isOfPeople(of) && !isEndless(of);
const bodyOf = ({ operation }: DocumentedOperation): Json => operation.requestBody?.content['application/json'];

/** Every operation that takes a body, with the schema of its body. */
const operations = () =>
  read.operations
    .filter((of) => isForCallers(of) && bodyOf(of))
    .map((of) => ({ method: of.method, path: pathOf(of, things()), schema: bodyOf(of).schema }));

/** Whether a request was refused for what it says, and not for the state that it met. */
const isRefused = ({ status, body }: Answer) =>
  [413, 415, 422].includes(status) || (status === 400 && body.error?.code !== 'workflow_inactive');

/** Where errors have no code, the error is its sentence. */
const wordsOf = ({ error }: Json): unknown => (typeof error === 'string' ? error : error?.message);

// Every answer is also held against the document by the client itself.
test('bodies that the document allows are accepted', async () => {
  for (const { method, path, schema } of operations()) {
    await fc.assert(
      fc.asyncProperty(valid(schema, known()), async (body) => {
        const answer = await client.request(method, path, body);
        expect({ method, path, isRefused: isRefused(answer) && answer.body }).toMatchObject({ isRefused: false });
        expect({ method, path, status: answer.status }).not.toMatchObject({ status: 500 });
        expect(answer.status).toBeLessThan(504);
      }),
      runsOf(path),
    );
  }
});

/** Chooses the dialect, names the request, or is a credential: not about what is asked. */
const aboutTheCaller = ['X-API-Variant', 'x-correlation-id', 'X-Webhook-Secret'];

/** Each is used for one request: with another body it is refused, and short ones are drawn twice. */
const idempotencyKey = 'Idempotency-Key';

test('parameters that the document allows are accepted', async () => {
  for (const of of read.operations.filter(isForCallers)) {
    const parameters = of.parameters.filter(
      (one) =>
        one.in !== 'path' &&
        !aboutTheCaller.includes(one.name) &&
        !exclusiveParameters.includes(`${of.operation.operationId}.${one.name}`),
    );
    // Forms are not made from their schemas.
    if (parameters.length === 0 || (of.operation.requestBody && !bodyOf(of))) continue;
    const bodies = bodyOf(of) ? valid(bodyOf(of).schema, known()) : fc.constant(undefined);
    const { operationId } = of.operation;
    const ruleOf = (name: string) =>
      name === 'version'
        ? fc.constant(1)
        : (schedulingParameters[`${operationId}.${name}`] ?? startParameters[`${operationId}.${name}`]);
    const shape: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(
      parameters.map(({ name, schema }) => [name, ruleOf(name) ?? valid(schema, known())]),
    );
    const requiredKeys: string[] = parameters.filter(({ required }) => required).map(({ name }) => name);
    await fc.assert(
      fc.asyncProperty(fc.record(shape, { requiredKeys }), bodies, async (given: Record<string, unknown>, body) => {
        const sentIn = (place: string) =>
          parameters
            .filter((one) => one.in === place && one.name in given)
            .map(({ name }) => [name, String(given[name])]);
        const query = new URLSearchParams(Object.fromEntries(sentIn('query')));
        const sent = Object.fromEntries(sentIn('header'));
        const key = sent[idempotencyKey];
        if (key !== undefined) sent[idempotencyKey] = `${key.slice(0, 200)}${randomUUID()}`;
        const answer = await client.request(of.method, `${pathOf(of, things())}?${query}`, body, sent);
        expect({ of: of.endpoint, isRefused: isRefused(answer) && answer.body }).toMatchObject({ isRefused: false });
        expect(answer.status).not.toBe(500);
      }),
      { ...runs, numRuns: Math.min(15, runsOf(of.path).numRuns) },
    );
  }
});

test('bodies with one thing wrong are taken or refused in words, and break nothing', async () => {
  for (const { method, path, schema } of operations()) {
    await fc.assert(
      fc.asyncProperty(valid(schema, known()).chain(mutated), async (body) => {
        const { status, body: answer } = await client.request(method, path, body);
        if (status === 400) expect(wordsOf(answer)).toEqual(expect.any(String));
        expect({ method, path, status }).not.toMatchObject({ status: 500 });
      }),
      runsOf(path),
    );
  }
});

test('any text at all as a body, an id or a query is answered and breaks nothing', async () => {
  const junk = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.json());
  const paths = ['/api/v1/workflows/', '/v1/runs/', '/api/v1/workflows?limit=', '/api/v1/workflows?status=', '/v1/'];
  await fc.assert(
    fc.asyncProperty(junk, fc.constantFrom(...paths), async (text, path) => {
      const asPath = await client.get(`${path}${encodeURIComponent(text.toWellFormed())}`);
      expect(asPath.status).toBeLessThan(500);
      const asBody = await client.post('/api/v1/workflows', text.toWellFormed() === '' ? '{}' : text.toWellFormed());
      expect(asBody.status).toBeLessThan(500);
    }),
    { ...runs, numRuns: 150 },
  );
});
