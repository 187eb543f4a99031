import type { NativeConnection } from '@temporalio/worker';
import type { Services } from '../src/services.ts';
import { type Queue, queues } from '../src/temporal/contracts/queues.ts';
import { type ActivityFactory, registerActivities } from './register-activities.ts';
import type { RoleContext, RunningRole, StartRole } from './running-role.ts';

interface Role {
  /** Polled by the role; the API has none. */
  queue?: Queue;
  /** Each loads a feature's activities on the queue. */
  activities?: (() => Promise<ActivityFactory>)[];
  load(): Promise<StartRole>;
}

/**
 * What one process may be: the API, or the worker of a queue. Several may share a process. Each is loaded only by the
 * processes that have it.
 */
export const roles = {
  api: { load: async () => (await import('./api.ts')).startApi },
  runs: {
    queue: queues.runs,
    activities: [
      async () => (await import('../activities/runs.ts')).createRunActivities,
      async () => (await import('../activities/flows.ts')).createFlowActivities,
      async () => (await import('../activities/bulk-actions.ts')).createBulkActionActivities,
      async () => (await import('../activities/purge.ts')).createPurgeActivities,
      async () => (await import('../activities/schedules.ts')).createScheduleActivities,
      async () => (await import('../activities/redrive.ts')).createRedriveActivities,
    ],
    load: async () => (await import('./runs.ts')).startRunsWorker,
  },
  generation: {
    queue: queues.generation,
    activities: [
      async () => (await import('../activities/generations.ts')).createGenerationActivities,
      async () => (await import('../activities/messages.ts')).createMessageActivities,
      async () => (await import('../activities/voice.ts')).createVoiceActivities,
      async () => (await import('../activities/step-tools.ts')).createStepToolActivities,
    ],
    load: async () => (await import('./generation.ts')).startGenerationWorker,
  },
  calendars: {
    queue: queues.calendars,
    activities: [
      async () => (await import('../activities/bookings.ts')).createBookingActivities,
      async () => (await import('../activities/calendars.ts')).createCalendarActivities,
    ],
    load: async () => (await import('./calendars.ts')).startCalendarsWorker,
  },
  integrations: {
    queue: queues.integrations,
    activities: [
      async () => (await import('../activities/actions.ts')).createActionActivities,
      async () => (await import('../activities/integration-events.ts')).createIntegrationEventActivities,
      async () => (await import('../activities/followed-integrations.ts')).createFollowActivities,
    ],
    load: async () => (await import('./integrations.ts')).startIntegrationsWorker,
  },
  webhooks: {
    queue: queues.webhooks,
    activities: [async () => (await import('../activities/webhooks.ts')).createWebhookActivities],
    load: async () => (await import('./webhooks.ts')).startWebhooksWorker,
  },
  housekeeping: {
    queue: queues.housekeeping,
    activities: [async () => (await import('../activities/housekeeping.ts')).createHousekeepingActivities],
    load: async () => (await import('./housekeeping.ts')).startHousekeeping,
  },
} satisfies Record<string, Role>;

export type RoleName = keyof typeof roles;

export const roleNames = Object.keys(roles) as RoleName[];

export const isRoleName = (text: string): text is RoleName => Object.hasOwn(roles, text);

interface StartedRoles {
  /** Where the API listens, in a process that has it. */
  apiPort?: number;
  failed: Promise<void>;
  /** Drains: first the API, so that no new work arrives, then the workers. */
  stop(): Promise<void>;
}

async function contextOf(role: Role, services: Services): Promise<Pick<RoleContext, 'queue' | 'activities'>> {
  if (!role.queue) return { queue: '', activities: {} };
  const queue = services.temporal.taskQueue(role.queue);
  const factories = await Promise.all((role.activities ?? []).map((load) => load()));
  return { queue, activities: registerActivities(queue, factories, services) };
}

/**
 * Starts the workers first, so that a run is executed as soon as the API is ready to start it. If a role cannot start,
 * those that have started are drained, and its own workers that poll. @throws Error why it cannot, or that `processStopping` is
 * aborted
 */
export async function startRoles(
  names: readonly RoleName[],
  services: Services,
  connection: NativeConnection,
  processStopping: AbortSignal,
): Promise<StartedRoles> {
  const start = async (name: RoleName): Promise<RunningRole> => {
    const role: Role = roles[name];
    const [startRole, context] = await Promise.all([role.load(), contextOf(role, services)]);
    const polling: (() => Promise<void>)[] = [];
    try {
      processStopping.throwIfAborted();
      const onPolling = (stop: () => Promise<void>) => void polling.push(stop);
      return await startRole({ ...context, services, connection, processStopping, onPolling });
    } catch (error) {
      await Promise.allSettled(polling.map((stop) => stop()));
      throw error;
    }
  };
  const workers: RunningRole[] = [];
  let api: RunningRole | undefined;
  const failed = Promise.withResolvers<void>();
  // A worker may fail while the next role starts, before anything awaits this.
  failed.promise.catch(() => {});
  const stop = async () => {
    await api?.stop();
    // One that failed cannot be stopped; the others drain all the same.
    for (const end of await Promise.allSettled(workers.map((worker) => worker.stop()))) {
      if (end.status === 'rejected') services.log.warn({ err: end.reason }, 'a worker did not stop in order');
    }
  };
  try {
    for (const name of roleNames) {
      if (name === 'api' || !names.includes(name)) continue;
      const worker = await start(name);
      workers.push(worker);
      worker.failed?.then(failed.resolve, failed.reject);
    }
    if (names.includes('api')) api = await start('api');
    processStopping.throwIfAborted();
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...(api?.port !== undefined && { apiPort: api.port }), failed: failed.promise, stop };
}
