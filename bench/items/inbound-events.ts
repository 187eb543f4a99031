import { createHmac, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { findIntegration } from '../../src/integrations/catalog.ts';
import type { InboundRequest } from '../../src/integrations/definition/inbound.ts';
import type { IntegrationClient } from '../../src/integrations/definition/integration.ts';
import { ClientStates } from '../../src/integrations/inbound/client-states.ts';
import { LiveConnections } from '../../src/integrations/inbound/connections-of-accounts.ts';
import { DispatchNotice } from '../../src/integrations/inbound/dispatch-notice.ts';
import { proveSender } from '../../src/integrations/inbound/prove.ts';
import { TriggerPublisher } from '../../src/integrations/inbound/publish-triggers.ts';
import { takeNotices } from '../../src/integrations/inbound/take-notices.ts';
import { createIntegrationWebhook } from '../../src/integrations/webhooks.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { interleave } from '../interleave.ts';
import { compare, type Finding, type Item } from '../item.ts';
import { ratePerSecond } from '../load.ts';
import { openOwnDatabase } from '../own-database.ts';

const baseline = 'bare pg, signature and INSERT';
const crowd = { concurrency: 32, rampMs: 200, windowMs: 2_000 };
const connections = 20;
const perRequest = 100;

const secret = 'a-secret-of-the-bench';
const url = 'http://127.0.0.1:3000/api/v1/integrations/hubspot/events';
const portal = '62515';

/** As narrow as an event can be: it is there once. */
const bareTable =
  'create schema bench; create table bench.event (id uuid primary key, key text unique, data jsonb not null)';
const insert = {
  name: 'insert',
  text: `insert into bench.event select uuidv7(), e ->> 'eventId', e from jsonb_array_elements($1::jsonb) e
         on conflict (key) do nothing`,
};

let lastId = 0;
const eventOf = () => ({
  eventId: ++lastId,
  subscriptionId: 12,
  portalId: Number(portal),
  appId: 7,
  occurredAt: Date.now(),
  attemptNumber: 0,
  subscriptionType: 'contact.creation',
  objectId: 1_000 + lastId,
  changeFlag: 'NEW',
  changeSource: 'CRM',
});

const signatureOf = (body: string, at: string) =>
  createHmac('sha256', secret).update(`POST${url}${body}${at}`).digest('base64');

function requestOf(events: number): InboundRequest {
  const [text, at] = [JSON.stringify(Array.from({ length: events }, eventOf)), String(Date.now())];
  const headers = { 'x-hubspot-signature-v3': signatureOf(text, at), 'x-hubspot-request-timestamp': at };
  return { headers, body: Buffer.from(text), url, query: new URLSearchParams(), json: JSON.parse(text) };
}

/** P29: events of a provider that one webhook listens to, without HTTP and without what follows from them. */
export const inboundEvents: Item = {
  name: 'P29',
  title: `events of a provider, alone and ${perRequest} in a request, ${crowd.concurrency} requests concurrent over ${connections} connections`,
  needs: 'stand',
  async run(stand, cleanup) {
    const { pool, database, close } = await openOwnDatabase(stand, cleanup, 'inbound', connections);
    await pool.query(bareTable);

    const integration = findIntegration('hubspot')!;
    const { id } = await createOrganization(database, { name: 'Bench', plan: 'enterprise' });
    const organizationId = organizationIds.parse(id)!;
    await pool.query(
      `insert into integration_connection (id, organization_id, environment, integration, account_id, account_name, details,
                                           status, connected_at)
       values ($1, $2, 'live', 'hubspot', $3, $3, '{}', 'connected', now())`,
      [newId(), organizationId, portal],
    );
    const sealer = new Sealer(`bench:${Buffer.alloc(32).toString('base64')}`);
    const services = {
      database,
      sealer,
      clientStates: new ClientStates('bench'),
      log: pino({ level: 'silent' }),
      integrations: {
        clients: new Map([['hubspot', { inboundSecret: secret } as IntegrationClient]]),
        accessEnded: async () => {},
      },
      listening: { changed: async () => {} },
      liveConnections: new LiveConnections(database),
      triggerPublisher: new TriggerPublisher(),
      webhookBrand: 'Service',
      egress: { checkDestination: () => undefined },
    };
    const dispatchNotice = new DispatchNotice({ database, log: services.log });
    const scope = new Scope(database, { organizationId, environment: 'live' }, 'bench');
    const hook = { event: 'contact_created', url: 'https://hooks.example.com/hubspot' };
    await createIntegrationWebhook(services as never, scope, integration, hook);

    const measure = async (what: string, events: number): Promise<Finding> => {
      const product = async () => {
        const request = requestOf(events);
        const proven = await proveSender(services as never, integration, integration.inbound!, request, Date.now());
        if (!proven?.notices) throw new Error('The request was not proven.');
        await takeNotices(
          { ...services, dispatchNotice },
          integration,
          { ...proven, notices: proven.notices },
          randomUUID(),
        );
      };
      const bare = async () => {
        const { headers, body } = requestOf(events);
        const text = body.toString();
        const signature = signatureOf(text, headers['x-hubspot-request-timestamp']!);
        if (signature !== headers['x-hubspot-signature-v3']) throw new Error('The signature is wrong.');
        await pool.query({ ...insert, values: [text] });
      };
      const side = (name: string, operation: () => Promise<unknown>) => ({
        name,
        warmUp: () => ratePerSecond(operation, { ...crowd, rampMs: 0 }),
        round: () => ratePerSecond(operation, crowd),
      });
      const measured = await interleave(stand.meter, 5, [side(baseline, bare), side('product', product)]);
      return compare('requests/s', what, measured, { [baseline]: { atLeast: 0.4 } });
    };
    const findings = [await measure('one event', 1), await measure(`${perRequest} events`, perRequest)];
    await close();
    return findings;
  },
};
