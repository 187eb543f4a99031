import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { until } from '../until.ts';
import { endOf, inB } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
let organizationId: string;
beforeAll(async () => {
  product = await sharedProduct();
  const tenant = await product.createTenant({ plan: 'enterprise' });
  api = apiClient(product.process.api, tenant.testKey);
  ({ organizationId } = tenant);
  await connectInSandbox(api, product.process.api, 'slack');
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };

interface Template {
  id: string;
  name: string;
  description: string;
  inputs: { name: string }[];
  example: { input?: unknown; variables?: Record<string, unknown> };
}
const templates = async (): Promise<Template[]> =>
  (await api.get('/api/v1/workflow-templates?limit=100', inA)).body.data.templates;

async function create(template: string, more: object = {}): Promise<string> {
  const { status, body } = await api.post('/api/v1/workflows', { template, ...more }, inA);
  expect([template, status, body.data?.warnings]).toEqual([template, 201, undefined]);
  return body.data.id;
}

/** Answers what a run asks. */
async function approve(runId: string): Promise<void> {
  const approvalId = await until('the run asks', async () => {
    const { approvals } = (await api.get('/api/v1/approvals?status=pending', inA)).body.data;
    return approvals.find((one: { runId: string }) => one.runId === runId)?.id;
  });
  const answer = { action: 'approve', values: { reason: 'It was late.' } };
  expect((await api.post(`/api/v1/approvals/${approvalId}/respond`, answer)).status).toBe(200);
}

/** A file that the sandbox's own speech is in. */
async function record(): Promise<string> {
  const steps = [{ id: 'say', type: 'speech', payload: { text: 'We meet on Monday.' } }];
  const { body } = await api.post('/api/v1/workflows', { name: 'Recording', steps }, inA);
  const { runId } = (await api.post(`/api/v1/workflows/${body.data.id}/execute`, { async: true }, inA)).body.data;
  return (await endOf(api, runId)).output.steps.say.url;
}

/** What has to happen beside a run for it to end, and what its example lacks. */
const beside: Record<string, (runId: string) => Promise<void>> = {
  'approved-refund': approve,
  'booking-follow-up': (runId) => api.post(`/api/v1/runs/${runId}/cancel`, {}, inA).then(() => {}),
};

test('the gallery has at least ten templates, each of which is executed with its example to its end', async () => {
  const all = await templates();
  expect(all.length).toBeGreaterThanOrEqual(10);
  const recordingUrl = await record();
  const ends = await Promise.all(
    all.map(async ({ id, example }) => {
      const workflowId = await create(id);
      const variables = id === 'call-notes' ? { recordingUrl } : example.variables;
      const given = { async: true, ...example, ...(variables && { variables }) };
      const { status, body } = await api.post(`/api/v1/workflows/${workflowId}/execute`, given, inA);
      expect([id, status]).toEqual([id, 200]);
      await beside[id]?.(body.data.runId);
      const { status: end, error, output } = await endOf(api, body.data.runId);
      return { id, end, error, output };
    }),
  );
  const ended = ends.map(({ id, end, error }) => [id, end, error]);
  const expected = all.map(({ id }) => [id, id === 'booking-follow-up' ? 'cancelled' : 'completed', undefined]);
  expect(ended).toEqual(expected);
  const outputOf = (id: string) => ends.find((one) => one.id === id)!.output.steps;
  expect(outputOf('approved-refund').post).toMatchObject({ channel: 'C0123456789' });
  expect(outputOf('podcast').sound.results.voice.output).toMatchObject({ format: 'mp3' });
  expect(outputOf('call-notes').transcript.text).toBe('We meet on Monday.');
});

test('a booking starts the follow-up, and its cancellation resumes it', async () => {
  const id = await create('booking-follow-up');
  const scene = sceneOf(api);
  const { id: eventTypeId } = await scene.offer({});
  const { body } = await scene.book(eventTypeId, '2041-06-12T09:00:00Z');
  const runId = await until('the booking starts a run that waits for its cancellation', async () => {
    const { runs } = (await api.get(`/api/v1/runs?workflowId=${id}`, inA)).body.data;
    return runs[0]?.waitingFor?.[0]?.type === 'event' && runs[0].id;
  });
  const cancelled = await scene.request('DELETE', `bookings/${body.data.id}`);
  expect([cancelled.status, cancelled.body.data?.status]).toEqual([200, 'cancelled']);
  const { status, output, triggeredBy } = await endOf(api, runId);
  expect([status, triggeredBy.type]).toEqual(['completed', 'event']);
  expect(output.steps.win_back).toContain('Grace');
});

test('a template brings its triggers and its schedule, which is paused, and takes a name', async () => {
  const id = await create('nightly-digest', { name: 'Our digest' });
  expect((await api.get(`/api/v1/workflows/${id}`, inA)).body.data.name).toBe('Our digest');
  const schedule = (await api.get(`/api/v1/workflows/${id}/schedule`)).body.data;
  expect(schedule).toMatchObject({ cron: '0 6 * * *', paused: true });
  const followUp = await create('booking-follow-up');
  const { triggers } = (await api.get(`/api/v1/workflows/${followUp}/triggers`)).body.data;
  expect(triggers).toMatchObject([{ event: 'booking.created' }]);
});

test('the gallery is a page in both dialects; a template that there is none of, or a body that says more, is refused', async () => {
  const [first, second] = await templates();
  const flat = (await api.get('/api/v1/workflow-templates?limit=1&offset=1', inB)).body.data;
  expect(flat).toEqual({ templates: [second], total: expect.any(Number), limit: 1, offset: 1 });
  const refused = async (body: object) => {
    const answer = await api.post('/api/v1/workflows', body, inA);
    return [answer.status, answer.body.error.details.errors.map(({ path }: { path: string }) => path)];
  };
  expect(await refused({ template: 'dance' })).toEqual([400, ['template']]);
  expect(await refused({ template: first!.id, steps: [] })).toEqual([400, expect.any(Array)]);
  expect(await refused({ steps: [] })).toEqual([400, ['name']]);
});

test.each([
  ['podcast', ['workflows:write', 'voice'], 'studio'],
  ['nightly-digest', ['workflows:write'], 'runs:execute'],
])('%s with the scopes %j needs %s too', async (template, scopes, required) => {
  const { key } = await createKey(product.database, { organizationId, environment: 'test', scopes });
  const { status, body } = await apiClient(product.process.api, key).post('/api/v1/workflows', { template }, inA);
  expect([status, body.error.details]).toEqual([403, { required }]);
});
