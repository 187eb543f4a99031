import { createHmac, timingSafeEqual } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { Conformance } from '../openapi/conformance.ts';
import { until } from '../until.ts';
import type { Received } from './receiver.ts';
import { inA, type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

const everything = { events: ['*'] };
const header = ({ headers }: Received, name: string) => headers[name] as string;
const equal = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
const hmac = (secret: string, text: string) => `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`;

/** As the published interface describes verification: family A. */
function verifyA(request: Received, secret: string, name = 'x-service-signature'): boolean {
  const timestamp = header(request, 'x-service-timestamp');
  if (Math.abs(Date.now() - Date.parse(timestamp)) > 300_000) return false;
  return equal(header(request, name), hmac(secret, `${timestamp}.${request.body}`));
}

/** The same: family B. */
const verifyB = (request: Received, secret: string): boolean =>
  Math.abs(Date.now() / 1000 - Number(header(request, 'x-webhook-timestamp'))) <= 300 &&
  equal(header(request, 'x-webhook-signature'), hmac(secret, request.body));

const verifyStandard = ({ body, headers }: Received, secret: string) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

/** What the document says of the event that a request brings, and is not so. */
async function problemsOf(request: Received): Promise<string[]> {
  const document = (await scene.api.get('/openapi.json')).body;
  const { type } = JSON.parse(request.body);
  const place = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'];
  const problem = new Conformance(document).problemOf(JSON.parse(request.body), ...place);
  const headers: { name: string; required: boolean }[] = document.webhooks[type].post.parameters;
  const missing = headers
    .filter(({ name, required }) => required && !(name.toLowerCase() in request.headers))
    .map(({ name }) => name);
  return problem ? [problem, ...missing] : missing;
}

describe('events of runs', () => {
  test('arrive as published, and all three families of signatures hold', async () => {
    const { id, secret, path } = await scene.subscribe(everything);
    const { id: workflowId } = await makeWorkflow(scene.api, {
      name: 'Told',
      steps: [{ id: 'a', type: 'prompt', prompt: 'x' }],
    });
    const { body } = await scene.api.post(
      `/v1/workflows/${workflowId}/execute`,
      { inputs: {} },
      {
        ...inA,
        'x-correlation-id': 'order-4711',
      },
    );
    const { runId } = body.data;
    const requests = await scene.receiver.has(path, 2);
    for (const request of requests) expect(await problemsOf(request)).toEqual([]);
    const payloads = requests.map((request) => JSON.parse(request.body));
    const payloadOf = (type: string) => payloads.find((payload) => payload.type === type);
    const common = { id: runId, workflowId, workflowName: 'Told' };
    expect(payloadOf('workflow.run.started')).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      type: 'workflow.run.started',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { ...common, status: 'RUNNING', durationMs: 0, tokensUsed: 0 },
    });
    const run = (await scene.api.get(`/v1/runs/${runId}`, inA)).body.data;
    expect(payloadOf('workflow.run.completed').data).toEqual({
      ...common,
      status: 'COMPLETED',
      durationMs: run.durationMs,
      tokensUsed: run.tokensUsed,
    });
    expect(Object.keys(payloads[0])).toEqual(['id', 'type', 'createdAt', 'data']);
    expect(Object.keys(payloads[0].data)).toEqual([
      'id',
      'workflowId',
      'workflowName',
      'status',
      'durationMs',
      'tokensUsed',
    ]);
    for (const request of requests) {
      const payload = JSON.parse(request.body);
      expect(verifyA(request, secret)).toBe(true);
      expect(verifyB(request, secret)).toBe(true);
      expect(verifyStandard(request, secret)).toEqual(payload);
      expect(verifyA({ ...request, body: `${request.body} ` }, secret)).toBe(false);
      expect(request.headers).toMatchObject({
        'content-type': 'application/json',
        'x-service-event': payload.type,
        'x-service-idempotency-key': payload.id,
        'x-service-delivery': expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
        'x-webhook-id': payload.id,
        'webhook-id': payload.id,
        'x-correlation-id': 'order-4711',
      });
    }
    await until('both are recorded', async () => (await scene.deliveries(id, '&status=delivered')).length === 2);
    for (const delivery of await scene.deliveries(id)) {
      expect(delivery.correlationId).toBe('order-4711');
      const facts = { webhookId: webhookIds.parse(id), correlationId: 'order-4711', attempt: 1, statusCode: 200 };
      await until('the attempt is in the log', async () =>
        scene.process.log.find(
          ({ msg, deliveryId }) => msg === 'delivery attempted' && deliveryId === deliveryIds.parse(delivery.id),
        ),
      ).then((line) => expect(line).toMatchObject({ msg: 'delivery attempted', status: 'delivered', ...facts }));
    }
  });

  test.each([
    ['sandbox:fail', 'workflow.run.failed', 'FAILED'],
    ['{{input}}', 'workflow.run.completed', 'COMPLETED'],
  ])('%s ends with one %s and no other end', async (prompt, type, status) => {
    const { id, path } = await scene.subscribe(everything);
    const runId = await scene.run(prompt);
    const requests = await scene.receiver.has(path, 2);
    await until('both are recorded', async () => {
      const all = await scene.deliveries(id, '&status=delivered');
      return all.length === 2;
    });
    const payloads = requests.map(({ body }) => JSON.parse(body));
    expect(payloads.map((payload) => payload.type).sort()).toEqual([type, 'workflow.run.started'].sort());
    expect(payloads.find((payload) => payload.type === type).data).toMatchObject({ id: runId, status });
  });

  test('a cancelled run says so', async () => {
    const { path } = await scene.subscribe({ events: ['workflow.run.cancelled'] });
    const { id } = await makeWorkflow(scene.api, 'sandbox:slow=600');
    const { body } = await scene.api.post(`/v1/workflows/${id}/execute`, { inputs: {}, async: true }, inA);
    await scene.api.post(`/v1/runs/${body.data.runId}/cancel`);
    const [request] = await scene.receiver.has(path, 1);
    expect(JSON.parse(request!.body)).toMatchObject({
      type: 'workflow.run.cancelled',
      data: { id: body.data.runId, status: 'CANCELLED' },
    });
  });

  test('reach the subscribed webhooks, each once, and no others', async () => {
    const listening = await scene.subscribe();
    const everyone = await scene.subscribe(everything);
    const deaf = await scene.subscribe({ events: ['workflow.run.failed'] });
    const other = await scene.product.createTenant({ plan: 'enterprise' });
    const elsewhere = await apiClient(scene.process.api, other.testKey).post('/v1/webhooks', {
      name: 'Other',
      events: ['*'],
      url: scene.receiver.url('/other'),
    });
    expect(elsewhere.status).toBe(201);
    await scene.run();
    await scene.receiver.has(everyone.path, 2);
    await scene.reaches(listening.id, 'delivered');
    expect(scene.receiver.to(listening.path)).toHaveLength(1);
    expect(await scene.deliveries(deaf.id)).toEqual([]);
    expect(scene.receiver.to(deaf.path)).toEqual([]);
    expect(scene.receiver.to('/other')).toEqual([]);
    // A live key's subscriptions are another half of the organization.
    const live = apiClient(scene.process.api, scene.tenant.liveKey);
    expect((await live.get(`/v1/webhooks/${listening.id}/deliveries`)).status).toBe(404);
  });
});

describe('a test', () => {
  test('is sent to the one subscription, whatever it listens to', async () => {
    const { id, path, secret } = await scene.subscribe({ events: ['workflow.run.failed'] });
    const bystander = await scene.subscribe(everything);
    const answer = await scene.api.post(`/v1/webhooks/${id}/test`);
    expect(answer).toMatchObject({ status: 202, body: { data: { status: 'pending' } } });
    const [request] = await scene.receiver.has(path, 1);
    expect(JSON.parse(request!.body)).toMatchObject({
      type: 'test.webhook',
      data: { webhookId: id, message: expect.any(String) },
    });
    expect(header(request!, 'x-service-delivery')).toBe(answer.body.data.deliveryId);
    expect(verifyA(request!, secret)).toBe(true);
    await scene.reaches(id, 'delivered', 'test.webhook');
    expect(await scene.deliveries(bystander.id)).toEqual([]);
  });

  test('can be sent any number of times', async () => {
    const { id, path } = await scene.subscribe();
    for (let count = 0; count < 3; count++) await scene.api.post(`/v1/webhooks/${id}/test`);
    expect(new Set((await scene.receiver.has(path, 3)).map((one) => header(one, 'webhook-id'))).size).toBe(3);
  });
});

describe('a delivery', () => {
  test('shows the body that was sent, and is resent as a new one, any number of times', async () => {
    const { id, path } = await scene.subscribe();
    await scene.run();
    const { id: first, eventId } = await scene.reaches(id, 'delivered');
    const of = (deliveryId: string) => `/v1/webhooks/${id}/deliveries/${deliveryId}`;
    const resend = (deliveryId: string, key: string) =>
      scene.api.post(`${of(deliveryId)}/resend`, undefined, { 'idempotency-key': `${id} ${key}` });
    const answer = await resend(first, 'once');
    expect(answer).toMatchObject({ status: 202, body: { data: { status: 'pending' } } });
    const second = answer.body.data.deliveryId;
    expect((await resend(first, 'once')).body.data.deliveryId).toBe(second);
    await scene.receiver.has(path, 2);
    const third = (await resend(second, 'again')).body.data.deliveryId;
    const requests = await scene.receiver.has(path, 3);
    for (const { body } of requests) expect(body).toBe(requests[0]!.body);
    expect(new Set(requests.map((request) => header(request, 'webhook-id')))).toEqual(new Set([eventId]));
    const sent = requests.map((request) => header(request, 'x-service-delivery'));
    expect(sent).toEqual([first, second, third]);
    await until('all are delivered', async () => (await scene.deliveries(id, '&status=delivered')).length === 3);
    for (const delivery of sent) {
      const { data } = (await scene.api.get(of(delivery))).body;
      expect(data).toMatchObject({ eventId, attempts: 1, requestBody: requests[0]!.body });
    }
    const since = new Date(Date.now() - 3_600_000).toISOString();
    expect((await scene.api.post(`/v1/webhooks/${id}/recover`, { since })).body.data.queued).toBe(0);

    // A resent delivery is retried and dead-lettered like any other.
    scene.receiver.script(path, (nth) => ({ status: nth < 6 ? 503 : 200 }));
    await scene.api.patch(`/v1/webhooks/${id}`, { maxAttempts: 2 });
    const fourth = (await resend(third, 'once more')).body.data.deliveryId;
    expect(await scene.reaches(id, 'dead_lettered')).toMatchObject({ id: fourth, eventId, attempts: 2 });
    expect((await scene.api.post(`${of(fourth)}/replay`)).status).toBe(202);
    await until('it is delivered', async () => (await scene.api.get(of(fourth))).body.data.status === 'delivered');

    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: false });
    expect(await resend(first, 'while it is off')).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    });
  });
});

describe('secrets and headers', () => {
  test('after rotations the three newest secrets verify, each until its own day is over', async () => {
    const { id, path, secret: first } = await scene.subscribe();
    const rotate = async () => (await scene.api.post(`/v1/webhooks/${id}/rotate-secret`)).body.data.secret as string;
    const verifiesStandard = (request: Received, secret: string) => {
      try {
        return Boolean(verifyStandard(request, secret));
      } catch {
        return false;
      }
    };
    const requestNow = async (nth: number) => {
      await scene.api.post(`/v1/webhooks/${id}/test`);
      return (await scene.receiver.has(path, nth)).at(-1)!;
    };
    const secrets = [await rotate(), first];
    for (const nth of [1, 2, 3]) {
      const request = await requestNow(nth);
      const [current, previous] = secrets;
      expect(verifyA(request, current!)).toBe(true);
      expect(verifyA(request, previous!, 'x-service-signature-previous')).toBe(true);
      expect(header(request, 'x-webhook-signature-previous')).toBe(hmac(previous!, request.body));
      expect(secrets.map((secret) => verifiesStandard(request, secret))).toEqual(
        [true, true, true, false].slice(0, nth + 1),
      );
      expect(await problemsOf(request)).toEqual([]);
      if (nth < 3) secrets.unshift(await rotate());
    }
    const { pool } = scene.product.database;
    const expire = (column: string) =>
      pool.query(`update webhook_subscription set ${column} = clock_timestamp() where id = $1`, [webhookIds.parse(id)]);
    await expire('older_secret_expires_at');
    const later = await requestNow(4);
    expect(secrets.map((secret) => verifiesStandard(later, secret))).toEqual([true, true, false, false]);
    await expire('previous_secret_expires_at');
    const last = await requestNow(5);
    expect(secrets.map((secret) => verifiesStandard(last, secret))).toEqual([true, false, false, false]);
    expect(Object.keys(last.headers).filter((name) => name.endsWith('-previous'))).toEqual([]);
  });

  test('headers of its owner go with each request, in the case they were given', async () => {
    const { id, path } = await scene.subscribe({
      headers: { Authorization: 'Bearer theirs', 'X-Team-Tag': 'blue', 'X-Correlation-ID': 'theirs' },
    });
    await scene.api.post(`/v1/webhooks/${id}/test`);
    const [request] = await scene.receiver.has(path, 1);
    expect(request!.rawHeaders).toEqual(expect.arrayContaining(['Authorization', 'X-Team-Tag']));
    expect(header(request!, 'authorization')).toBe('Bearer theirs');
    expect(header(request!, 'x-correlation-id')).toBe('theirs');
  });
});

describe('the log', () => {
  test('keeps 16 KiB of an answer, as it came', async () => {
    const { id } = await scene.subscribe({}, () => ({
      status: 200,
      headers: { 'content-encoding': 'gzip' },
      body: Buffer.alloc(200_000, 'x'),
    }));
    await scene.api.post(`/v1/webhooks/${id}/test`);
    const delivery = await scene.reaches(id, 'delivered');
    expect(delivery).toMatchObject({ statusCode: 200, responseBodyTruncated: true, attempts: 1, retryCount: 0 });
    expect(delivery.responseBody).toBe('x'.repeat(16_384));
  });

  test('keeps what PostgreSQL can, of an answer of any bytes', async () => {
    const { id } = await scene.subscribe({}, () => ({ status: 200, body: Buffer.from([0, 255, 65]) }));
    await scene.api.post(`/v1/webhooks/${id}/test`);
    expect((await scene.reaches(id, 'delivered')).responseBody).toBe('\ufffd\ufffdA');
  });
});
