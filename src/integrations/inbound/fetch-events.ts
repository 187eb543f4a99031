import { AuthExpired } from '../../connections/index.ts';
import { isDatabaseUnavailable } from '../../platform/database/database-errors.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { FetchEventsProgress } from '../../temporal/contracts/integration-events.ts';
import { isDeleted } from '../../tenancy/index.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderCall } from '../calls/provider-call.ts';
import { findIntegration } from '../catalog.ts';
import type { Connected } from '../connections/find-connection.ts';
import type { Integration } from '../definition/integration.ts';
import { failPoint } from '../fail-points.ts';
import type { Integrations } from '../integrations.ts';
import { publishFetchedEvent } from './publish-triggers.ts';

export interface FetchServices {
  integrations: Pick<Integrations, 'findConnection' | 'call'>;
  deliveries: { wake(): void };
  log: Log;
}

interface Waiting {
  digest: string;
  trigger: string;
  reference: Record<string, string>;
  tries: number;
}

const batchSize = 20;

// Failed fetches wait behind the others.
const findWaiting = statement({
  name: 'integration.waiting_events',
  parameters: { connectionId: 'uuid' },
  row: { digest: 'uuid', trigger: 'text', reference: typed<Record<string, string>>('jsonb'), tries: 'smallint' },
  text: `select digest, trigger, reference, tries from integration_inbound_event
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and reference is not null
    order by tries, received_at, digest limit ${batchSize}`,
});

const ofOne =
  'where organization_id = :organizationId and environment = :environment and connection_id = :connectionId and digest = :digest';
const drop = statement({
  name: 'integration.drop_event',
  parameters: { connectionId: 'uuid', digest: 'uuid' },
  text: `update integration_inbound_event set reference = null ${ofOne}`,
});
const countTry = statement({
  name: 'integration.count_try',
  parameters: { connectionId: 'uuid', digest: 'uuid' },
  text: `update integration_inbound_event set tries = least(tries + 1, 1000) ${ofOne}`,
});

/** Kinds of failures that may pass. An event that failed otherwise would always do so. */
const passing: readonly string[] = ['rate_limited', 'not_done', 'lost'];

/** @returns undefined for an event that is to be dropped @throws IntegrationFailure that may pass; what a call throws */
async function dataOf(integration: Integration, { trigger, reference }: Waiting, call: ProviderCall) {
  const { triggers, inbound } = integration;
  const declared = Object.hasOwn(triggers, trigger) ? triggers[trigger] : undefined;
  try {
    return declared?.data.safeParse(await inbound?.fetch?.(reference, call)).data;
  } catch (error) {
    if (error instanceof IntegrationFailure && !passing.includes(error.kind)) return undefined;
    throw error;
  }
}

const isOver = (error: unknown): boolean =>
  error instanceof AuthExpired || (error instanceof AppError && error.code === 'not_connected');

/** Seconds that a provider asks to wait where it does not say for how long. */
const usualWaitSeconds = 60;
/** How often it is looked whether a deleted organization was restored. */
const deletedLookMs = 300_000;

export interface FetchOptions {
  signal: AbortSignal;
  /** Time limit of each request. */
  timeoutMs: number;
}

/**
 * Fetches the data of the next waiting events of a connection, and publishes each in the statement that ends its wait.
 * Events of a removed connection, or without access, do not wait. Those of a deleted organization wait for its restore. A
 * failed fetch is repeated until the event is a day old.
 * @throws what PostgreSQL throws; the signal's reason
 */
export async function fetchNext(
  { integrations, deliveries, log }: FetchServices,
  scope: Scope,
  { integrationId, connectionId }: { integrationId: string; connectionId: string },
  { signal, timeoutMs }: FetchOptions,
): Promise<FetchEventsProgress> {
  const integration = findIntegration(integrationId);
  const connected: Connected | undefined = await integrations.findConnection(scope, integrationId);
  if (!integration || connected?.id !== connectionId) return { kind: 'over' };
  const waiting = await scope.rows(findWaiting, { connectionId });
  if (waiting.length > 0 && (await isDeleted(scope))) return { kind: 'pause', ms: deletedLookMs, limited: false };
  let ended = 0;
  let tries: number | undefined;
  for (const event of waiting) {
    const { digest, trigger } = event;
    try {
      const options = { idempotencyKey: digest, signal, timeoutMs };
      const data = await integrations.call(scope, connected, options)((call) => dataOf(integration, event, call));
      failPoint('inbound.fetched');
      if (data === undefined) await scope.rows(drop, { connectionId, digest });
      else await publishFetchedEvent(scope, { integration, connectionId }, { trigger, digest, data });
      deliveries.wake();
      ended++;
    } catch (error) {
      signal.throwIfAborted();
      if (isOver(error)) return { kind: 'over' };
      const isKnown = error instanceof IntegrationFailure;
      // A provider that cannot be reached has the same network codes as its cause, and fails only its event.
      if (!isKnown && isDatabaseUnavailable(error)) throw error;
      if (isKnown && error.kind === 'rate_limited') {
        return { kind: 'pause', ms: (error.retryAfterSeconds ?? usualWaitSeconds) * 1_000, limited: true };
      }
      if (!isKnown) log.error({ err: error, integrationId, connectionId }, 'the data of an event could not be fetched');
      await scope.rows(countTry, { connectionId, digest });
      tries = Math.min(tries ?? event.tries, event.tries);
    }
  }
  if (ended > 0 || waiting.length === 0) return { kind: waiting.length === 0 ? 'over' : 'again' };
  return { kind: 'pause', ms: 1_000 * 2 ** Math.min(tries!, 10), limited: false };
}
