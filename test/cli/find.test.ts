import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { addCalendar } from '../scheduling/calendar-rows.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { until } from '../until.ts';
import { runCli } from './run-cli.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct('webhooks');
});
afterAll(() => product.close());

async function cli(...args: string[]) {
  const { exitCode, stdout, stderr } = await runCli([...args, '--json'], { DATABASE_URL: product.databaseUrl });
  return { exitCode, said: JSON.parse(stdout || stderr) };
}

const uuidIn = (id: string) => id.replace(/^[a-z]+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the command prints, and says so when it is wrong
type Found = any;

/** What a correlation id finds, once it is as it should be. */
const findUntil = (id: string, isAsItShould: (found: Found[]) => boolean): Promise<Found[]> =>
  until(`"find" prints what is expected of ${id}`, async () => {
    const { said } = await cli('find', id);
    return said.found && isAsItShould(said.found) && said.found;
  });

const ofKind = (kind: string, state: string) => (found: Found[]) =>
  found.some((one) => one.kind === kind && one.state === state);

/** The work of its transactions is done, and their entries are gone. */
const isDrained = (found: Found[]) => found.every(({ kind }) => kind !== 'outbox-entry');

const tenantFacts = () => ({ organization: product.tenant.organizationId, environment: 'test' });

test('a correlation id finds a run with its deliveries, and the id of each finds the same', async () => {
  const webhook = { name: 'Mine', url: 'http://127.0.0.1:9/', events: ['workflow.run.failed'] };
  expect((await product.api.post('/api/v1/webhooks', webhook)).status).toBe(201);
  const { id } = await makeWorkflow(product.api, 'sandbox:fail');
  const correlationId = randomUUID();
  await product.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, { 'x-correlation-id': correlationId });
  const found = await findUntil(
    correlationId,
    (all) => ofKind('run', 'failed')(all) && all.some(({ kind, reason }) => kind === 'delivery' && reason !== null),
  );
  const run = found.find(({ kind }) => kind === 'run');
  expect(run).toEqual({
    kind: 'run',
    id: expect.stringMatching(/^run_[0-9a-f]{32}$/),
    ...tenantFacts(),
    correlationId,
    workflowId: `run-${uuidIn(run.id)}`,
    state: 'failed',
    reason: expect.stringMatching(/^service_unavailable: /),
    entries: [],
  });
  const delivery = found.find(({ kind }) => kind === 'delivery');
  expect(delivery).toMatchObject({ ...tenantFacts(), correlationId, workflowId: `delivery-${uuidIn(delivery.id)}` });
  for (const name of [run.id, uuidIn(run.id), run.workflowId, delivery.id]) {
    const { exitCode, said } = await cli('find', name);
    expect(exitCode).toBe(0);
    const ids = said.found.map((one: Found) => one.id);
    expect(ids).toEqual(expect.arrayContaining([run.id, delivery.id]));
  }
  expect((await cli('delivery', 'show', delivery.id)).said).toMatchObject({ eventType: 'workflow.run.failed' });
  expect((await cli('run', 'show', run.id)).said).toMatchObject({ id: run.id, steps: expect.any(Array) });
});

test('a batch, an approval and a bulk action are found, and shown without what they ask', async () => {
  const { api } = product;
  const steps = [{ id: 'ask', type: 'approval', message: 'A secret question' }];
  const { id } = await makeWorkflow(api, { steps });
  const correlationId = randomUUID();
  const headers = { 'x-correlation-id': correlationId };
  const started = await api.post(`/api/v1/workflows/${id}/batch`, { items: [{ input: 'x' }] }, headers);
  expect(started.status).toBe(202);
  const found = await findUntil(correlationId, (all) => ofKind('approval', 'pending')(all) && isDrained(all));
  expect(found.map(({ kind }) => kind).toSorted()).toEqual(['approval', 'batch', 'run']);
  const [approval, batch, run] = ['approval', 'batch', 'run'].map((of) => found.find(({ kind }) => kind === of));
  expect(batch).toMatchObject({ ...tenantFacts(), id: started.body.data.batchId, state: 'processing' });
  const shown = (await cli('approval', 'show', approval.id)).said;
  expect(shown).toMatchObject({ step: 'ask', run: uuidIn(run.id), state: 'pending' });
  expect(JSON.stringify(shown)).not.toContain('secret');
  expect((await cli('batch', 'show', batch.id)).said).toMatchObject({ total: 1, skipped: 0, completedAt: null });

  const cancelled = await api.post('/api/v1/bulk-actions', { action: 'cancel', runIds: [run.id] });
  const { id: bulkActionId } = cancelled.body.data;
  const one = await findUntil(bulkActionId, (all) => ofKind('bulk-action', 'completed')(all) && isDrained(all));
  expect(one).toMatchObject([{ id: bulkActionId, ...tenantFacts() }]);
  expect((await cli('bulk-action', 'show', bulkActionId)).said).toMatchObject({ action: 'cancel', total: 1 });
});

describe('work that has credits', () => {
  const kinds = [
    ['generation', '/api/studio/generate', { prompt: 'A lighthouse' }, { prompt: 'sandbox:refuse A lighthouse' }],
    [
      'message',
      '/api/chat',
      { messages: [{ role: 'user', content: 'Hello.' }] },
      { messages: [{ role: 'user', content: 'sandbox:fail' }] },
    ],
    ['call', '/api/voice/tts', { text: 'Hello.' }, { text: 'sandbox:fail' }],
  ] as const;

  test.each(kinds)('is found as a %s, with its ledger entries, its state and why', async (kind, path, good, bad) => {
    for (const [body, state, steps] of [
      [good, 'completed', ['held', 'settled']],
      [bad, 'failed', ['held', 'voided']],
    ] as const) {
      const correlationId = randomUUID();
      await product.api.post(path, body, { 'x-correlation-id': correlationId });
      const found = await findUntil(correlationId, ofKind(kind, state));
      const one = found.find((candidate) => candidate.kind === kind);
      expect(one).toMatchObject({ ...tenantFacts(), correlationId });
      expect(one.reason).toEqual(state === 'failed' ? expect.stringMatching(/^[a-z_]+: \w/) : null);
      expect(one.entries.map(({ step }: { step: string }) => step)).toEqual(steps);
      const shown = (await cli(kind, 'show', one.id)).said;
      expect(shown).toMatchObject({ ...one, type: expect.any(String), finishedAt: expect.any(String) });
      expect(JSON.stringify(shown)).not.toMatch(/lighthouse|Hello/);
    }
  });

  test('is in the list of entries of its organization', async () => {
    const { organizationId: org } = product.tenant;
    await product.api.post('/api/voice/tts', { text: 'Hello.' });
    const { said } = await cli('credits', 'entries', '--org', org, '--env', 'test', '--limit', '2');
    expect(said.entries).toHaveLength(2);
    expect(said.entries[0]).toMatchObject({
      key: expect.stringMatching(/^voice:/),
      step: expect.any(String),
      operation: expect.any(String),
      createdAt: expect.any(String),
    });
    const unknown = await cli('credits', 'entries', '--org', 'org_00000000000000000000000000000000');
    expect(unknown).toMatchObject({ exitCode: 1, said: { error: { code: 'not_found' } } });
  });
});

test('an action and its integration are found, and shown without what they say', async () => {
  await connectInSandbox(product.api, product.process.api, 'slack');
  const correlationId = randomUUID();
  const message = { channel: 'C0123456789', text: 'sandbox:fail Secret' };
  const path = '/api/v1/integrations/slack/actions/send_message';
  await product.api.post(path, message, { 'x-correlation-id': correlationId });
  const found = await findUntil(correlationId, ofKind('action', 'failed'));
  const action = found.find(({ kind }) => kind === 'action');
  expect(action).toMatchObject({
    reason: expect.stringMatching(/^action_failed/),
    workflowId: expect.stringMatching(/^action-/),
  });
  const shown = (await cli('action', 'show', action.id)).said;
  expect(shown).toMatchObject({ integration: 'slack', action: 'send_message', attempts: expect.any(Number) });
  expect(JSON.stringify(shown)).not.toContain('Secret');
  const { rows } = await product.database.pool.query(
    'select id from integration_connection where organization_id = $1::uuid',
    [uuidIn(product.tenant.organizationId)],
  );
  const integration = (await cli('integration', 'show', rows[0].id)).said;
  expect(integration).toMatchObject({ state: 'connected', integration: 'slack', reason: null });
  expect(await findUntil(integration.workflowId, isDrained)).toMatchObject([{ id: integration.id }]);
});

test('a booking is found with its effects, and a calendar with its last error', async () => {
  const scene = sceneOf(product.api);
  const { id, host } = await scene.offer();
  const correlationId = randomUUID();
  const booked = await scene.book(id, '2036-06-11T09:00:00Z', {}, { 'x-correlation-id': correlationId });
  const booking = (await findUntil(correlationId, ofKind('booking', 'confirmed'))).find(
    ({ kind }) => kind === 'booking',
  );
  expect(booking.id).toBe(booked.body.data.id);
  const shown = (await cli('booking', 'show', booking.id)).said;
  expect(shown).toMatchObject({ ...booking, effects: expect.any(Array), host: uuidIn(host) });
  expect(JSON.stringify(shown)).not.toContain('grace@example.com');

  const calendar = await addCalendar(product.database, host);
  await scene.put(`calendars/${calendar}/sandbox`, { events: [], fault: 'unavailable' });
  await scene.request('POST', `calendars/${calendar}/sync`);
  const broken = await until('the calendar shows its error', async () => {
    const { said } = await cli('calendar', 'show', calendar);
    return said.reason !== null && said;
  });
  expect(broken).toMatchObject({ kind: 'calendar', workflowId: `calsync-${uuidIn(calendar)}` });
  // While the sync is tried again the calendar is still being read.
  expect(['syncing', 'error']).toContain(broken.state);
});

test('what is not there is an error', async () => {
  for (const args of [
    ['find', randomUUID()],
    ['find', 'nothing'],
    ['booking', 'show', randomUUID()],
    ['message', 'show', 'nothing'],
  ]) {
    expect(await cli(...args)).toMatchObject({ exitCode: 1, said: { error: { code: 'not_found' } } });
  }
});
