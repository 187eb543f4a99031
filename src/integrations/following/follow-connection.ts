import { AuthExpired } from '../../connections/index.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { FollowOutcome } from '../../temporal/contracts/followed-integrations.ts';
import { isDeleted } from '../../tenancy/index.ts';
import { isAwaited, listens } from '../../webhooks/index.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import { findIntegration } from '../catalog.ts';
import { findConnectionById } from '../connections/find-connection.ts';
import { triggerType } from '../trigger-events.ts';
import type { Followed, FollowServices } from './followed.ts';
import { pollConnection } from './poll-connection.ts';
import { keepPushed } from './push-connection.ts';

interface FollowOptions {
  signal: AbortSignal;
  /** Time limit of one request. */
  requestMs: number;
}

const findSubscribed = statement({
  name: 'integration.subscribed_type',
  parameters: { types: 'text[]' },
  row: { type: 'text' },
  text: `select k.type from unnest(:types) as k(type)
    where exists (select from webhook_subscription s
                   where s.organization_id = :organizationId and s.environment = :environment and s.deleted_at is null
                     and ${listens('s', 'k')})
       or ${isAwaited('k')}
    limit 1`,
});

const recordError = statement({
  name: 'integration.record_events_error',
  parameters: { id: 'uuid', error: 'text?' },
  text: `update integration_connection set events_error = :error
    where organization_id = :organizationId and environment = :environment and id = :id
      and events_error is distinct from :error`,
});

/**
 * Polls a provider for the events of a connected account, and renews the subscriptions through which the provider
 * pushes them. Without subscribed webhooks and waiting workflows it sends no requests, and events of that time are not
 * delivered later. Safe to repeat and to interrupt.
 * @returns the outcome; a failure of the provider is one too, because the next run comes anyway
 */
export async function followConnection(
  services: FollowServices,
  scope: Scope,
  connectionId: string,
  { signal, requestMs: timeoutMs }: FollowOptions,
): Promise<FollowOutcome> {
  const { integrations } = services;
  const connected = await findConnectionById(scope, connectionId);
  const integration = connected && findIntegration(connected.integrationId);
  if (!connected || !integration || (await isDeleted(scope))) return { stopped: 'disconnected' };
  if (connected.status !== 'connected') return { stopped: 'auth_expired' };
  const types = Object.keys(integration.triggers).map((trigger) => triggerType(integration, trigger));
  const isSubscribed = (await scope.one(findSubscribed, { types })) !== undefined;
  const use = integrations.call(scope, connected, { idempotencyKey: newId(), signal, timeoutMs });
  const followed: Followed = { scope, integration, connected, isSubscribed, use };
  try {
    const polled = integration.poll ? await pollConnection(followed, integration.poll) : 0;
    if (integration.push) await keepPushed(services, followed, integration.push);
    await scope.rows(recordError, { id: connectionId, error: null });
    return { published: polled, isSubscribed };
  } catch (error) {
    if (error instanceof AuthExpired) return { stopped: 'auth_expired' };
    if (error instanceof AppError && error.code === 'not_connected') return { stopped: 'disconnected' };
    if (!(error instanceof IntegrationFailure)) throw error;
    const failed = error.providerCode ?? error.kind;
    await scope.rows(recordError, { id: connectionId, error: failed });
    return { failed };
  }
}
