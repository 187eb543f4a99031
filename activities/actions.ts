import { actionJob } from '../src/integrations/actions/job.ts';
import { type PerformServices, performNext } from '../src/integrations/actions/perform-action.ts';
import type { DirectWork } from '../src/jobs/index.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { Log } from '../src/platform/observability/log.ts';
import type { ActionProgress } from '../src/temporal/contracts/integrations.ts';
import type { JobContext } from '../src/temporal/contracts/jobs.ts';
import { jobActivities } from './activity-context.ts';

interface ActionActivityServices extends PerformServices {
  database: Database;
  log: Log;
  startedActions: DirectWork<ActionProgress>;
}

export const createActionActivities = (services: ActionActivityServices) => {
  const { attempt, recordCancelled } = jobActivities(actionJob, services);
  const elsewhere: ActionProgress = { kind: 'elsewhere', ms: 1 };
  return {
    /** The result of the attempt that this process made when it created the action. A rejection is tried again. */
    async takeBegunAction({ id }: JobContext): Promise<ActionProgress> {
      return (await services.startedActions.find(id)) ?? elsewhere;
    },

    /** Calls the provider once and records its answer. */
    performAction: (ref: JobContext): Promise<ActionProgress> =>
      attempt(ref, (scope, { signal }) => performNext(services, scope, ref, signal)),

    recordActionCancelled: recordCancelled,
  };
};

export type ActionActivities = ReturnType<typeof createActionActivities>;
