import { describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { AuthExpired } from '../../src/connections/failures.ts';
import { IntegrationFailure } from '../../src/integrations/calls/failures.ts';
import type { ProviderRequest } from '../../src/integrations/calls/provider-call.ts';
import { findConnection } from '../../src/integrations/connections/find-connection.ts';
import { ClientStates } from '../../src/integrations/inbound/client-states.ts';
import { type FetchServices, fetchNext } from '../../src/integrations/inbound/fetch-events.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { EgressFailure } from '../../src/platform/egress/egress-failure.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { fetchEventsWorkflowId } from '../../src/temporal/contracts/integration-events.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { eventsScene, newAccount, readPayload } from './events-scene.ts';
import { providerEvents } from './provider-events.ts';

const { teams } = providerEvents;
const scene = eventsScene();

type Answer = () => unknown;
const messageOf = (id: string) => ({
  id,
  messageType: 'message',
  from: { user: { id: 'somebody' } },
  body: { contentType: 'html', content: `<p>message ${id}</p>` },
});

/** Events of Teams that wait for their data, and the fetcher of a provider with configured answers. */
async function waitingEvents(...ids: string[]) {
  const tenant = await scene.product.createTenant({ plan: 'enterprise' });
  const account = newAccount();
  const connectionId = await scene.connect('microsoft-teams', account, tenant);
  const live = apiClient(scene.process.api, tenant.liveKey);
  const hook = await scene.listen('microsoft-teams', 'message_received', live);
  const state = new ClientStates(secrets.URL_SIGNING_KEY).of(connectionId)!;
  const notices = ids.map((id) => teams.message(account, state, id));
  for (const events of [teams.notify(...notices), teams.notify(...notices)]) {
    expect(await scene.send('microsoft-teams', events)).toMatchObject({ status: 202 });
  }
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const scope = new Scope(scene.product.database, { organizationId, environment: 'live' }, 'test');
  const asked: string[] = [];
  const answers = new Map<string, Answer>();
  const request = async ({ path }: ProviderRequest) => {
    const id = path.split('/').at(-1)!;
    asked.push(id);
    return answers.get(id)?.() ?? messageOf(id);
  };
  const integrations = {
    findConnection,
    call: () => (work: (call: never) => unknown) => work({ account: { details: {} }, request } as never),
  };
  const services = {
    integrations,
    deliveries: { wake() {} },
    log: openLog('silent', 'test', { secrets: [] }),
  } as unknown as FetchServices;
  const waits = async () => {
    const { rows } = await scene.product.database.pool.query(
      'select 1 from integration_inbound_event where connection_id = $1 and reference is not null',
      [connectionId],
    );
    return rows.length;
  };
  return {
    connectionId,
    hook,
    asked,
    answers,
    waits,
    fetch: () =>
      fetchNext(
        services,
        scope,
        { integrationId: 'microsoft-teams', connectionId },
        {
          signal: new AbortController().signal,
          timeoutMs: 1_000,
        },
      ),
  };
}

/** Waits until the workflow of a connection has found that nothing can be fetched: it has no tokens. */
async function untilOver(connectionId: string): Promise<void> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const handle = new Client({ connection }).workflow.getHandle(fetchEventsWorkflowId(connectionId));
  await until('the workflow was started and is over', async () => {
    const status = await handle.describe().catch(() => undefined);
    return status?.status.name === 'COMPLETED';
  });
  await connection.close();
  const { pool } = scene.product.database;
  await until('the start is done, which may be written down after the workflow is over', async () => {
    const { rows } = await pool.query('select 1 from outbox where subject_id = $1', [connectionId]);
    return rows.length === 0;
  });
}

const fail = (kind: 'lost' | 'rate_limited' | 'action_failed', retryAfterSeconds?: number) => () => {
  throw new IntegrationFailure(kind, { retryAfterSeconds });
};

describe('an event that names only where its data are', () => {
  test('is kept once, fetched and delivered once', async () => {
    const { asked, fetch, hook, waits } = await waitingEvents('1', '2');
    expect(await waits()).toBe(2);
    expect(await fetch()).toEqual({ kind: 'again' });
    expect(await fetch()).toEqual({ kind: 'over' });
    expect(asked.toSorted()).toEqual(['1', '2']);
    const received = await scene.receiver.has(hook.path, 2);
    const texts = received.map((one) => readPayload(one, hook.secret).data.text).toSorted();
    expect(texts).toEqual(['message 1', 'message 2']);
  });

  test('is dropped where the provider has it no more, and asked for again where that may pass', async () => {
    const { answers, asked, fetch, hook, waits } = await waitingEvents('1', '2', '3');
    answers.set('1', fail('action_failed'));
    answers.set('2', fail('lost'));
    expect(await fetch()).toEqual({ kind: 'again' });
    expect(await waits()).toBe(1);
    expect(await fetch()).toEqual({ kind: 'pause', ms: 2_000, limited: false });
    answers.set('2', fail('rate_limited', 17));
    expect(await fetch()).toEqual({ kind: 'pause', ms: 17_000, limited: true });
    answers.set('2', () => {
      throw new TypeError('undefined is not a function');
    });
    expect(await fetch()).toEqual({ kind: 'pause', ms: 4_000, limited: false });
    answers.delete('2');
    expect(await fetch()).toEqual({ kind: 'again' });
    expect(asked).toHaveLength(7);
    const received = await scene.receiver.has(hook.path, 2);
    const texts = received.map((one) => readPayload(one, hook.secret).data.text).toSorted();
    expect(texts).toEqual(['message 2', 'message 3']);
  });

  test('waits where the provider cannot be reached, and does not hold up the others', async () => {
    const { answers, fetch, waits } = await waitingEvents('1', '2');
    answers.set('1', () => {
      const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      throw new IntegrationFailure('not_done', { cause: new EgressFailure('connect', undefined, { cause: refused }) });
    });
    expect(await fetch()).toEqual({ kind: 'again' });
    expect(await waits()).toBe(1);
    expect(await fetch()).toEqual({ kind: 'pause', ms: 2_000, limited: false });
  });

  test('is not asked for while the organization is deleted, and is after its restore', async () => {
    const { asked, connectionId, fetch } = await waitingEvents('1');
    await untilOver(connectionId);
    const mark = (deletedAt: string) =>
      scene.product.database.pool.query(
        `update organization set deleted_at = ${deletedAt}
          where id = (select organization_id from integration_connection where id = $1)`,
        [connectionId],
      );
    await mark('clock_timestamp()');
    expect(await fetch()).toMatchObject({ kind: 'pause', limited: false });
    expect(asked).toEqual([]);
    await mark('null');
    expect(await fetch()).toEqual({ kind: 'again' });
    expect(asked).toEqual(['1']);
  });

  test('is not asked for while the access has ended', async () => {
    const { answers, fetch, waits } = await waitingEvents('1');
    answers.set('1', () => {
      throw new AuthExpired();
    });
    expect(await fetch()).toEqual({ kind: 'over' });
    expect(await waits()).toBe(1);
  });

  test('starts the workflow of its connection, which ends when nothing waits', async () => {
    const { connectionId } = await waitingEvents('1');
    await untilOver(connectionId);
  });
});
