import type { NativeConnection } from '@temporalio/worker';
import { startApiServer } from '../api/server.ts';
import type { Services } from '../src/services.ts';
import type { RunningRole } from './running-role.ts';
import { startRunsWorker } from './runs.ts';
import { startWebhooksWorker } from './webhooks.ts';

/** What one process may be: the API, or the worker of a queue. Several may share a process. */
export const roleNames = ['api', 'runs', 'webhooks'] as const;
export type RoleName = (typeof roleNames)[number];

export const isRoleName = (text: string): text is RoleName => (roleNames as readonly string[]).includes(text);

export interface StartedRoles {
  /** Where the API listens, in a process that has it. */
  apiPort?: number;
  failed: Promise<void>;
  /** Drains: first the API, so that nothing new arrives, then the workers. */
  stop(): Promise<void>;
}

/** Starts the workers first: when the API says that it is ready, a run that it starts is taken up. */
export async function startRoles(
  names: readonly RoleName[],
  services: Services,
  connection: NativeConnection,
): Promise<StartedRoles> {
  const running: RunningRole[] = [];
  if (names.includes('runs')) running.push(await startRunsWorker(services, connection));
  if (names.includes('webhooks')) running.push(await startWebhooksWorker(services, connection));
  const api = names.includes('api') ? await startApiServer(services) : undefined;
  return {
    ...(api && { apiPort: api.port }),
    failed: Promise.race(running.flatMap(({ failed }) => (failed ? [failed] : []))),
    async stop() {
      await api?.stop();
      await Promise.all(running.map((role) => role.stop()));
    },
  };
}
