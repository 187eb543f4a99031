import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { eventTypes } from '../../src/services.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { until } from '../until.ts';
import { problemOfEvent } from './event-schemas.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says, and says so when it is wrong
type Body = any;

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

describe('the catalogue', () => {
  test('has every type once, with a schema that its example fits', async () => {
    const { status, body } = await scene.api.get('/v1/webhook-events');
    expect(status).toBe(200);
    const events: Body[] = body.data.events;
    expect(events.map(({ type }) => type)).toEqual(eventTypes);
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    formats.default(ajv);
    for (const { type, description, schema, example, since, deprecated } of events) {
      expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
      expect([example.type, schema.properties.type.const]).toEqual([type, type]);
      const validate = ajv.compile(schema);
      expect([type, validate(example), ajv.errorsText(validate.errors)]).toEqual([type, true, 'No errors']);
      expect(problemOfEvent(JSON.stringify(example))).toBeUndefined();
      expect(validate({ ...example, type: 'another' })).toBe(false);
      expect(validate({ ...example, later: 'A member that a later version adds.' })).toBe(true);
      expect(description).toMatch(/^[A-Z].*\.$/);
      expect([since, deprecated]).toEqual([expect.stringMatching(/^2026-\d\d-\d\d$/), false]);
    }
  });

  test('returns one type, and 404 for another', async () => {
    const { body } = await scene.api.get('/v1/webhook-events');
    for (const entry of body.data.events) {
      expect((await scene.api.get(`/v1/webhook-events/${entry.type}`)).body.data).toEqual(entry);
    }
    const unknown = await scene.api.get('/v1/webhook-events/constructor');
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'not_found']);
  });

  test('needs the scope webhooks', async () => {
    const none = apiClient(scene.process.api, 'sk_test_nothing');
    expect((await none.get('/v1/webhook-events')).status).toBe(401);
  });

  test('is what the OpenAPI document says of webhooks', async () => {
    const { webhooks, components } = (await scene.api.get('/openapi.json')).body;
    const { body } = await scene.api.get('/v1/webhook-events');
    const names: string[] = [];
    for (const { type, schema, example } of body.data.events) {
      const content = webhooks[type].post.requestBody.content['application/json'];
      const name = content.schema.$ref.replace('#/components/schemas/', '');
      const { $schema: _, ...same } = schema;
      expect([content.example, components.schemas[name]]).toEqual([example, same]);
      names.push(name);
    }
    expect(new Set(names).size).toBe(eventTypes.length);
    const { oneOf, discriminator } = components.schemas.WebhookEvent;
    expect(oneOf.map(({ $ref }: Body) => $ref)).toEqual(Object.values(discriminator.mapping));
    expect(Object.keys(discriminator.mapping)).toEqual(eventTypes);
  });
});

describe('an example', () => {
  test('of every type is delivered to a webhook that subscribes to none of them', async () => {
    const { id, path } = await scene.subscribe({ events: ['booking.created'] });
    const { body } = await scene.api.get('/v1/webhook-events');
    for (const { type } of body.data.events) {
      const sent = await scene.api.post(`/v1/webhooks/${id}/send-example`, { type });
      expect([sent.status, sent.body.data]).toEqual([
        202,
        { deliveryId: expect.stringMatching(/^dlv_/), status: 'pending' },
      ]);
    }
    const received = await scene.receiver.has(path, eventTypes.length);
    for (const { type, example } of body.data.events) {
      const one = JSON.parse(received.find((request) => JSON.parse(request.body).type === type)!.body);
      expect(one).toEqual({ ...example, id: expect.stringMatching(/^evt_/), createdAt: expect.any(String) });
      expect('isTest' in one).toBe(false);
    }
    const deliveries = await scene.deliveries(id);
    expect(deliveries.map(({ isTest }: Body) => isTest)).toEqual(eventTypes.map(() => true));
  });

  test('is sent once for an Idempotency-Key, and to no other webhook, not even by recover', async () => {
    const other = await scene.subscribe({ events: ['*'] });
    const { id, path } = await scene.subscribe({ events: ['*'] });
    const since = new Date(Date.now() - 1_000).toISOString();
    const send = () =>
      scene.api.post(`/v1/webhooks/${id}/send-example`, { type: 'batch.completed' }, { 'idempotency-key': 'once' });
    const [first, again] = [await send(), await send()];
    expect(again.body.data).toEqual(first.body.data);
    await scene.receiver.has(path, 1);
    const recovered = await scene.api.post(`/v1/webhooks/${other.id}/recover`, { since });
    expect(recovered.body.data).toMatchObject({ queued: 0, complete: true });
    // An event that both get arrives after whatever was sent before.
    await scene.run();
    await until('both have the run', async () => [path, other.path].every((to) => completedRuns(to).length === 1));
    const types = (to: string) => scene.receiver.to(to).map(({ body }) => JSON.parse(body).type);
    expect(types(other.path)).not.toContain('batch.completed');
    expect(types(path).filter((type) => type === 'batch.completed')).toHaveLength(1);
  });

  test('starts no workflow', async () => {
    const { id } = await scene.subscribe();
    const workflow = await makeWorkflow(scene.api, 'x');
    const triggers = { triggers: [{ event: 'batch.completed' }] };
    expect((await scene.api.request('PUT', `/v1/workflows/${workflow.id}/triggers`, triggers)).status).toBe(200);
    const sent = await scene.api.post(`/v1/webhooks/${id}/send-example`, { type: 'batch.completed' });
    expect(sent.status).toBe(202);
    await scene.reaches(id, 'delivered', 'batch.completed');
    const runs = await scene.api.get(`/v1/runs?workflowId=${workflow.id}`);
    expect(runs.body.data.runs).toEqual([]);
  });

  test('of an unknown type is 400, to an inactive webhook 409, to that of another tenant 404', async () => {
    const { id } = await scene.subscribe();
    const unknown = await scene.api.post(`/v1/webhooks/${id}/send-example`, { type: 'booking.*' });
    expect([unknown.status, unknown.body.error.details.errors[0].path]).toEqual([400, 'type']);
    const stranger = await scene.product.createTenant();
    const foreign = apiClient(scene.process.api, stranger.testKey);
    const type = { type: 'batch.completed' };
    expect((await foreign.post(`/v1/webhooks/${id}/send-example`, type)).status).toBe(404);
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: false });
    const off = await scene.api.post(`/v1/webhooks/${id}/send-example`, type);
    expect([off.status, off.body.error.code]).toEqual([409, 'conflict']);
  });
});

const completedRuns = (to: string) =>
  scene.receiver.to(to).filter(({ body }) => JSON.parse(body).type === 'workflow.run.completed');
