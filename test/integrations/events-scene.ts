import { createHmac, randomBytes, randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import type { Tenant } from '../product.ts';
import type { Received } from '../webhooks/receiver.ts';
import { type SharedWebhookScene, sharedWebhookScene } from '../webhooks/scene.ts';
import { addConnection } from './connection-rows.ts';
import type { SignedEvents } from './provider-events.ts';

const publicUrl = 'http://127.0.0.1:3000';
/** As providers know it. */
export const eventsUrl = (integration: string) => `${publicUrl}/api/v1/integrations/${integration}/events`;

/** Each from an address of its own: what an address gets wrong is limited. */
export const from = () => ({ 'x-forwarded-for': `198.51.${[...randomBytes(2)].join('.')}` });

/** A new provider account. HubSpot's ids are numbers, so it is an integer that a JSON number keeps. */
export const newAccount = () => String(randomInt(2 ** 48 - 1));

let paths = 0;

/** What a receiver writes after reading the interface. @returns the payload without its signature */
export function readPayload({ body, headers }: Received, secret: string) {
  const { signature, ...payload } = JSON.parse(body);
  const own = `sha256=${createHmac('sha256', secret).update(JSON.stringify(payload)).digest('hex')}`;
  expect(signature).toBe(own);
  expect(Object.keys(JSON.parse(body))).toEqual(['id', 'type', 'timestamp', 'integration', 'data', 'signature']);
  new Webhook(secret).verify(body, headers as Record<string, string>);
  const ofB = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  expect(headers['x-webhook-signature']).toBe(ofB);
  const ofA = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${body}`).digest('hex');
  expect(headers['x-service-signature']).toBe(`sha256=${ofA}`);
  return payload;
}

/** A product whose providers send events, and a receiver that listens to them. */
export interface EventsScene extends SharedWebhookScene {
  /** With the live key of the tenant. */
  live: ApiClient;
  /** Connects an account of a live tenant. @returns the id of the connection */
  connect(integration: string, accountId: string, of?: Tenant): Promise<string>;
  /** Creates a webhook of an integration, by default with the live key. */
  listen(integration: string, event: string, client?: ApiClient): Promise<{ path: string; id: string; secret: string }>;
  /** Sends what a provider would. */
  send(integration: string, events: SignedEvents): Promise<Answer>;
}

/** The scene of a file, which is there while its tests run. */
export function eventsScene(): EventsScene {
  const scene = {} as EventsScene;
  beforeAll(async () => {
    const shared = await sharedWebhookScene();
    const { process, product, tenant, receiver } = shared;
    const live = apiClient(process.api, tenant.liveKey);
    Object.assign(scene, shared, {
      live,
      connect: (integration: string, accountId: string, { organizationId } = tenant) =>
        addConnection(product.database, { organizationId, environment: 'live', integration, accountId }),
      async listen(integration: string, event: string, client = live) {
        const path = `/${integration}-${event}-${++paths}`;
        const answer = await client.post(`/v1/integrations/${integration}/webhooks`, {
          event,
          url: receiver.url(path),
        });
        if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
        const { id, secret } = answer.body.data;
        return { path, id, secret };
      },
      send: (integration: string, { body, headers }: SignedEvents) =>
        apiClient(process.api).post(`/api/v1/integrations/${integration}/events`, body, { ...from(), ...headers }),
    } satisfies Partial<EventsScene>);
  });
  afterAll(() => scene.close());
  return scene;
}
