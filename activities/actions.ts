import { breakOffAction, type Ending } from '../src/integrations/actions/end-action.ts';
import { type PerformServices, performNext } from '../src/integrations/actions/perform-action.ts';
import type { StartedActions } from '../src/integrations/actions/started-actions.ts';
import type { Database } from '../src/platform/database.ts';
import type { Log } from '../src/platform/log.ts';
import type { Waiters } from '../src/platform/waiters.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { ActionProgress } from '../src/temporal/contracts/integrations.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { failingUnexpected } from './unexpected-error.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

export type ActionRef = Ending & WorkContext;

export interface ActionActivityServices extends Omit<PerformServices, 'waiters'> {
  database: Database;
  log: Log;
  actionWaiters: Waiters;
  startedActions: StartedActions;
}

export const createActionActivities = ({ database, log, actionWaiters: waiters, ...rest }: ActionActivityServices) => {
  const services = { ...rest, waiters };
  const elsewhere: ActionProgress = { kind: 'elsewhere', ms: 1 };
  return {
    /** What came of the attempt that this process made when it created the action. A rejection is tried again. */
    async takeBegunAction({ actionId }: ActionRef): Promise<ActionProgress> {
      return (await services.startedActions.find(actionId)) ?? elsewhere;
    },

    /** Calls the provider once and records its answer. */
    async performAction(ref: ActionRef): Promise<ActionProgress> {
      const scope = scopeOf(database, ref);
      const job = {
        log,
        kind: 'action',
        facts: { actionId: ref.actionId },
        failureType: failureTypes.actionFailed,
        fail: () => breakOffAction(services, scope, ref, 'failed'),
      };
      return failingUnexpected(job, () =>
        withHeartbeats(heartbeatMs, (signal) => performNext(services, scope, ref, signal)),
      );
    },

    /** Ends the action, unless it has ended. What its provider was asked already may be done. */
    async recordActionCancelled(ref: ActionRef): Promise<void> {
      await breakOffAction(services, scopeOf(database, ref), ref, 'cancelled');
    },
  };
};

export type ActionActivities = ReturnType<typeof createActionActivities>;
