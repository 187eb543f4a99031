import type { ConnectionServices } from '../connections/index.ts';
import type { Foundation } from '../foundation.ts';
import { DirectWork } from '../jobs/index.ts';
import type { Waiters } from '../platform/concurrency/waiters.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Part } from '../platform/parts/part.ts';
import { defaultFollowPolicy, type FollowPolicy } from '../temporal/contracts/followed-integrations.ts';
import { defaultFetchEventsPolicy, type FetchEventsPolicy } from '../temporal/contracts/integration-events.ts';
import { type ActionPolicy, type ActionProgress, defaultActionPolicy } from '../temporal/contracts/integrations.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import type { ToolServices } from '../tools/index.ts';
import type { WebhookServices } from '../webhooks/index.ts';
import { IntegrationAction } from './actions/action-entities.ts';
import { actionStep } from './actions/action-step.ts';
import { actionTools } from './actions/action-tools.ts';
import { actionJob } from './actions/job.ts';
import { findIntegration } from './catalog.ts';
import { integrationSettings, oauthProviders, openClients } from './connections/clients.ts';
import { integrationCallbackPath, integrationPurpose, sandboxAuthorizePath } from './connections/connect.ts';
import { accessExpired } from './connections/expired-access.ts';
import { actionStates } from './core/action-status.ts';
import { integrationStates } from './core/connection-status.ts';
import { actionRunIds, integrationConnectionIds } from './core/ids.ts';
import { integrationsDeclarations } from './declarations.ts';
import { endIntegrations } from './end-tenant.ts';
import { IntegrationConnection } from './entities.ts';
import { integrationErrors } from './errors.ts';
import { failPoint } from './fail-points.ts';
import { IntegrationPoll, IntegrationPush } from './following/event-source-entities.ts';
import { followSchedule, restoreFollowSchedules } from './following/follow-schedule.ts';
import { followKind, followListened } from './following/follow-work.ts';
import { integrationGauges } from './gauges.ts';
import { ClientStates } from './inbound/client-states.ts';
import { LiveConnections } from './inbound/connections-of-accounts.ts';
import { DispatchNotice } from './inbound/dispatch-notice.ts';
import { forgetInboundEvents } from './inbound/forget.ts';
import { InboundEvent } from './inbound/inbound-entities.ts';
import { TriggerPublisher } from './inbound/publish-triggers.ts';
import { startFetching } from './inbound/start-fetching.ts';
import { Integrations } from './integrations.ts';
import { integrationRowBounds } from './row-bounds.ts';

interface IntegrationServices {
  integrations: Integrations;
  actionWaiters: Waiters;
  actionPolicy: ActionPolicy;
  startedActions: DirectWork<ActionProgress>;
  /** Whether an integration has this id, connected or not. */
  isIntegration(id: string): boolean;
  clientStates: ClientStates;
  liveConnections: LiveConnections;
  triggerPublisher: TriggerPublisher;
  dispatchNotice: DispatchNotice;
  fetchEventsPolicy: FetchEventsPolicy;
  followPolicy: FollowPolicy;
}

const forgetBatchSize = 1_000;

/** Third-party tools that tenants connect: actions, and events that are delivered to webhooks. */
export const integrations: Part<
  Foundation & TenancyServices & ConnectionServices & ToolServices & WebhookServices,
  IntegrationServices
> = {
  ...integrationsDeclarations,
  states: { 'An action of an integration': actionStates, 'A connected integration': integrationStates },
  settings: integrationSettings,
  entities: [IntegrationConnection, IntegrationAction, InboundEvent, IntegrationPoll, IntegrationPush],
  rowBounds: integrationRowBounds,
  ids: [integrationConnectionIds, actionRunIds],
  errors: integrationErrors,
  failPoints: [...failPoint.names, ...actionJob.declarations.failPoints],
  promptKinds: actionJob.declarations.promptKinds,
  stepKinds: [actionStep],
  open(base) {
    const { env, connections, providerEgress, egress, notifications, listening, database, log, tenantEnds } = base;
    const clients = openClients({ ...env });
    connections.declare({
      name: integrationPurpose,
      callbackPath: integrationCallbackPath,
      providers: oauthProviders(clients),
      sandboxPath: sandboxAuthorizePath,
      onExpired: accessExpired,
    });
    listening.on(followListened);
    const services = {
      actionWaiters: actionJob.openWaiters(notifications),
      actionPolicy: defaultActionPolicy,
      startedActions: new DirectWork<ActionProgress>(),
      fetchEventsPolicy: defaultFetchEventsPolicy,
      followPolicy: defaultFollowPolicy,
      clientStates: new ClientStates(env.URL_SIGNING_KEY),
      liveConnections: new LiveConnections(database),
      triggerPublisher: new TriggerPublisher(),
      dispatchNotice: new DispatchNotice({ database, log }),
      isIntegration: (id: string) => findIntegration(id) !== undefined,
      integrations: new Integrations({
        connections,
        clients,
        egress: { named: providerEgress, guarded: egress },
      }),
    };
    tenantEnds.on((scope) =>
      endIntegrations({ connections, database, log, integrations: services.integrations }, scope),
    );
    base.tools.addSource(actionTools({ ...base, ...services }));
    return services;
  },
  outbox: (services) => ({
    ...actionJob.outbox(services),
    [followKind]: (scope, id) => followSchedule(services, scope, id, { run: true }),
    'integration.fetch_events': (scope, connectionId) => startFetching(services, scope, connectionId),
  }),
  gauges: ({ observer }) => integrationGauges(observer),
  sweeps: ({ database, temporal, followPolicy, ...services }) => [
    ...actionJob.sweeps({ ...services, database, temporal }),
    {
      name: 'restore schedules of integrations that were deleted in Temporal',
      everyMs: 60_000,
      run: async () => (await restoreFollowSchedules(database, { temporal, followPolicy })).length,
    },
    {
      name: 'forget inbound events',
      everyMs: 60_000,
      run: () => inBatches((limit) => forgetInboundEvents(database, limit), forgetBatchSize),
    },
  ],
};
