import { followConnection } from '../src/integrations/following/follow-connection.ts';
import { type FollowScheduleServices, followSchedule } from '../src/integrations/following/follow-schedule.ts';
import type { FollowServices } from '../src/integrations/following/followed.ts';
import { withoutSlash } from '../src/platform/core/base-url.ts';
import type { Database } from '../src/platform/database/database.ts';
import {
  type FollowIntegrationArgs,
  type FollowOutcome,
  followScheduleId,
} from '../src/temporal/contracts/followed-integrations.ts';
import { scopeOf, withHeartbeats } from './activity-context.ts';

const heartbeatMs = 2_000;

type FollowRef = Omit<FollowIntegrationArgs, 'policy'> & { requestMs: number };

interface FollowActivityServices extends Pick<FollowServices, 'integrations' | 'clientStates'>, FollowScheduleServices {
  database: Database;
  env: { PUBLIC_URL: string };
}

export const createFollowActivities = ({ database, env, ...services }: FollowActivityServices) => ({
  /** Asks the provider of a connection for events, and keeps its subscriptions alive. */
  async followConnection({ requestMs, ...ref }: FollowRef): Promise<FollowOutcome> {
    const scope = scopeOf(database, { ...ref, correlationId: followScheduleId(ref.connectionId) });
    const publicUrl = withoutSlash(env.PUBLIC_URL);
    const outcome = await withHeartbeats(heartbeatMs, (signal) =>
      followConnection({ ...services, publicUrl }, scope, ref.connectionId, { signal, requestMs }),
    );
    // Nothing more is due for it: its Schedule is removed.
    if ('stopped' in outcome && outcome.stopped === 'disconnected') {
      await followSchedule(services, scope, ref.connectionId, { run: false });
    }
    return outcome;
  },
});

export type FollowActivities = ReturnType<typeof createFollowActivities>;
