import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import type { ProviderServices } from '../providers/part.ts';
import { defaultRunPolicy, type RunPolicy } from '../temporal/contracts/automation.ts';
import type { WebhookServices } from '../webhooks/part.ts';
import { automationTasks } from './bounded-tasks.ts';
import { runCancelled, runCompleted, runFailed, runStarted } from './core/events.ts';
import { runIds, workflowIds } from './core/ids.ts';
import type { TerminalStatus } from './core/run-status.ts';
import { Automation, AutomationSchedule, Definition, Run, RunStep } from './entities.ts';
import { automationErrors } from './errors.ts';
import { failPoint } from './fail-points.ts';
import { runGauges } from './gauges.ts';
import { startPurge } from './purge.ts';
import { reconcileRuns } from './reconcile.ts';
import { RunWaiters } from './run-waiters.ts';
import { cancelRunWorkflow } from './run-workflows.ts';
import { syncSchedule } from './schedule-sync.ts';
import { type RunStart, startPendingRun } from './start-run-workflow.ts';

export interface AutomationServices {
  waiters: RunWaiters;
  runPolicy: RunPolicy;
  /** Counts a run that ended in this process. */
  countRunEnd(status: TerminalStatus): void;
}

/** The product's workflows, their runs and schedules. */
export const automation: Part<Foundation & ProviderServices & WebhookServices, AutomationServices> = {
  name: 'automation',
  entities: [Automation, Definition, Run, RunStep, AutomationSchedule],
  ids: [workflowIds, runIds],
  errors: automationErrors,
  events: [runStarted, runCompleted, runFailed, runCancelled],
  auditActions: {
    'workflow.create': workflowIds,
    'workflow.update': workflowIds,
    'workflow.delete': workflowIds,
    'workflow.rotate_secret': workflowIds,
  },
  failPoints: failPoint.names,
  boundedTasks: automationTasks,
  open({ notifications, metrics }) {
    const waiters = new RunWaiters();
    notifications.on(waiters.channel, (runId) => waiters.tell(runId));
    const count = metrics.counter({
      name: 'atelier_runs_ended_total',
      help: 'Runs that ended in this process.',
      labelNames: ['status'],
    });
    return { waiters, runPolicy: defaultRunPolicy, countRunEnd: (status) => count({ status }) };
  },
  outbox: (services) => ({
    'run.start': (scope, runId, start?: RunStart) => startPendingRun(services, scope, runId, start),
    'run.cancel': (_, runId) => cancelRunWorkflow(services.temporal, runId),
    'automation.purge': (scope, automationId) => startPurge(services.temporal, scope, automationId),
    'schedule.sync': async (scope, automationId) => void (await syncSchedule(services.temporal, scope, automationId)),
  }),
  sweeps: ({ database, temporal, log, waiters, countRunEnd }) => [
    {
      name: 'end runs whose Temporal workflow is closed',
      everyMs: 60_000,
      async run() {
        const ended = await reconcileRuns(database, temporal);
        for (const run of ended) {
          log.warn(run, 'ended a run whose Temporal workflow is closed');
          waiters.tell(run.runId);
          countRunEnd(run.status);
        }
        return ended.length;
      },
    },
  ],
  gauges: ({ observer }) => runGauges(observer),
};
