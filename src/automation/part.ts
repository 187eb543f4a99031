import type { Foundation } from '../foundation.ts';
import { Waiters } from '../platform/concurrency/waiters.ts';
import { mailSettings } from '../platform/env.ts';
import type { Part } from '../platform/parts/part.ts';
import type { ProviderServices } from '../providers/index.ts';
import type { StorageServices } from '../storage/index.ts';
import { defaultRunPolicy, type RunPolicy } from '../temporal/contracts/automation.ts';
import { scalePauses } from '../temporal/contracts/retry-profile.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import type { WebhookServices } from '../webhooks/index.ts';
import { sweepApprovalBlocks } from './approvals/approval-blocks.ts';
import { Approval, ApprovalBlock, ApprovalChange, ApprovalLink } from './approvals/entities.ts';
import { type ApprovalMail, openApprovalMail, remindApprovers, sendApprovalMail } from './approvals/mails.ts';
import { endDueBatches, removeOldBatches } from './batches/batches.ts';
import { automationTasks } from './bounded/bounded-tasks.ts';
import { removeOldBulkActions } from './bulk-actions/bulk-actions.ts';
import { cancelBulkActionWorkflow, startBulkAction, watchStoppedBulkActions } from './bulk-actions/bulk-workflows.ts';
import { BulkAction } from './bulk-actions/entities.ts';
import { reconcileBulkActions } from './bulk-actions/reconcile-bulk-actions.ts';
import { approvalStates } from './core/approvals.ts';
import { automationStateTable } from './core/automation-state.ts';
import { batchStates } from './core/batch-status.ts';
import { bulkActionStates } from './core/bulk-actions.ts';
import { approvalIds, batchIds, bulkActionIds, runIds, secretIds, workflowIds } from './core/ids.ts';
import { runStates, stepStates, type TerminalStatus } from './core/run-status.ts';
import { waitStates } from './core/waits.ts';
import { automationDeclarations } from './declarations.ts';
import { removeUnusedDefinitions } from './definitions/unused-definitions.ts';
import { endAutomations } from './end-tenant.ts';
import {
  Automation,
  AutomationSchedule,
  CallingRun,
  CallingTotal,
  Definition,
  Run,
  RunBatch,
  RunBlock,
  RunStep,
  RunStepCall,
  RunStepRound,
  RunTag,
} from './entities.ts';
import { automationErrors } from './errors.ts';
import { EventStart, EventTrigger, WorkflowEvent } from './events/entities.ts';
import { EventMatcher } from './events/event-matcher.ts';
import { eventsChannel } from './events/events-sql.ts';
import { forgetEvents } from './events/forget-events.ts';
import { lookBack } from './events/look-back.ts';
import { webhookFilters } from './events/webhook-filters.ts';
import { failPoint } from './fail-points.ts';
import { RunWait, WaitingTotal } from './flows/entities.ts';
import type { HttpSenders } from './flows/http/http-sender.ts';
import { openHttpSenders } from './flows/http/open-senders.ts';
import { runGauges } from './gauges.ts';
import { automationRowBounds } from './row-bounds.ts';
import { StreamReads } from './run-streams/stream-reads.ts';
import { ActiveRunLimiter } from './runs/active-run-limiter.ts';
import { cancelRunRow } from './runs/cancel-run.ts';
import { StartableCache } from './runs/create-run.ts';
import { startPurge } from './runs/purge.ts';
import { type EndedRun, reconcileRuns, watchStoppedRuns } from './runs/reconcile.ts';
import { removeOldRuns } from './runs/remove-runs.ts';
import { countRunBlocks } from './runs/run-blocks.ts';
import { cancelRunWorkflow, proceedRunWorkflow, type RunStart, startPendingRun } from './runs/run-workflows.ts';
import { restoreAutomationSchedules } from './schedules/restore-schedules.ts';
import { syncSchedule } from './schedules/schedule-sync.ts';
import { Secret } from './secrets/entities.ts';
import { admitNext } from './starts/admission.ts';
import { QueuedTotal } from './starts/entities.ts';
import { releaseWorkflow, workOffDueRuns } from './starts/release.ts';
import { StepTexts } from './step-texts/step-texts.ts';
import { forgetRounds } from './steps/tool-rounds.ts';

interface AutomationServices {
  activeRuns: ActiveRunLimiter;
  waiters: Waiters;
  startables: StartableCache;
  streamReads: StreamReads;
  stepTexts: StepTexts;
  runPolicy: RunPolicy;
  /** Send the requests of `http` steps. */
  httpSenders: HttpSenders;
  eventMatcher: EventMatcher;
  approvalMail: ApprovalMail;
  /** Counts a run that ended in this process. */
  countRunEnd(status: TerminalStatus): void;
}

/** The product's workflows, their runs and schedules. */
export const automation: Part<
  Foundation & StorageServices & TenancyServices & ProviderServices & WebhookServices,
  AutomationServices
> = {
  ...automationDeclarations,
  states: {
    'A workflow': automationStateTable,
    'A run': runStates,
    'A batch of runs': batchStates,
    'A bulk action': bulkActionStates,
    'A step of a run': stepStates,
    'A wait of a run': waitStates,
    'An approval': approvalStates,
  },
  entities: [
    Automation,
    Definition,
    Secret,
    Run,
    RunBlock,
    RunStep,
    RunStepRound,
    RunStepCall,
    AutomationSchedule,
    CallingRun,
    CallingTotal,
    RunWait,
    WaitingTotal,
    RunTag,
    QueuedTotal,
    RunBatch,
    BulkAction,
    Approval,
    ApprovalLink,
    ApprovalBlock,
    ApprovalChange,
    WorkflowEvent,
    EventTrigger,
    EventStart,
  ],
  rowBounds: automationRowBounds,
  ids: [workflowIds, runIds, secretIds, approvalIds, batchIds, bulkActionIds],
  errors: automationErrors,
  failPoints: failPoint.names,
  promptKinds: ['run.start', 'run.proceed', 'run.cancel', 'run.stop', 'concurrency.admit', 'workflow.release'],
  boundedTasks: automationTasks,
  open({
    boundedWork,
    database,
    deliveryPolicy,
    egress,
    env,
    eventFilters,
    metrics,
    notifications,
    sealer,
    tenantEnds,
  }) {
    tenantEnds.on(endAutomations);
    eventFilters.evaluateWith(webhookFilters(boundedWork));
    const waiters = new Waiters('run');
    notifications.on(waiters.channel, (runId) => waiters.notifyLocal(runId));
    const eventMatcher = new EventMatcher();
    notifications.on(eventsChannel, () => eventMatcher.wake());
    const count = metrics.counter({
      name: 'atelier_runs_ended_total',
      help: 'Runs that ended in this process.',
      labelNames: ['status'],
    });
    return {
      activeRuns: new ActiveRunLimiter(),
      waiters,
      startables: new StartableCache(),
      streamReads: new StreamReads(),
      stepTexts: new StepTexts(database, sealer, notifications),
      runPolicy: { ...defaultRunPolicy, modelCall: scalePauses(defaultRunPolicy.modelCall, env.ATTEMPT_TIME_SCALE) },
      httpSenders: openHttpSenders({ database, egress, hostRate: deliveryPolicy.hostRate }),
      eventMatcher,
      approvalMail: openApprovalMail(mailSettings(env), env.PUBLIC_URL),
      countRunEnd: (status) => count({ status }),
    };
  },
  close: ({ approvalMail }) => approvalMail.close(),
  outbox: (services) => ({
    'run.start': (scope, runId, start?: RunStart) => startPendingRun(services, scope, runId, start),
    'run.proceed': (_, runId) => proceedRunWorkflow(services.temporal, runId),
    'concurrency.admit': (scope, group) => admitNext(scope, group),
    'workflow.release': (scope, automationId) => releaseWorkflow(scope, automationId),
    'run.stop': async (scope, runId) => {
      if (!(await cancelRunRow(scope, runId))) return;
      services.waiters.notifyLocal(runId);
      services.countRunEnd('cancelled');
    },
    'step.cancel_job': (scope, jobId) => services.stepKinds.cancelJob(scope, jobId),
    'run.cancel': (_, runId) => cancelRunWorkflow(services.temporal, runId),
    'bulk_action.start': (scope, id) => startBulkAction(services, scope, id),
    'bulk_action.stop': (_, id) => cancelBulkActionWorkflow(services.temporal, id),
    'approval.mail': (scope, linkId) => sendApprovalMail(services, scope, linkId, false),
    'approval.remind': (scope, linkId) => sendApprovalMail(services, scope, linkId, true),
    'event.look_back': (scope, waitId) => lookBack(services, scope, waitId),
    'automation.purge': (scope, automationId) => startPurge(services.temporal, scope, automationId),
    'schedule.sync': async (scope, automationId) => void (await syncSchedule(services.temporal, scope, automationId)),
  }),
  sweeps({ database, temporal, log, waiters, countRunEnd }) {
    const notifyLocal = (ended: EndedRun[]): number => {
      for (const run of ended) {
        log.warn(run, 'ended a run whose Temporal workflow is closed');
        waiters.notifyLocal(run.runId);
        countRunEnd(run.status);
      }
      return ended.length;
    };
    const endStoppedRuns = watchStoppedRuns(database, temporal);
    return [
      {
        name: 'end runs whose Temporal workflow is closed',
        everyMs: 60_000,
        run: async () => notifyLocal(await reconcileRuns(database, temporal)),
      },
      {
        name: 'end runs that were terminated in Temporal',
        everyMs: 5_000,
        run: async () => notifyLocal(await endStoppedRuns()),
      },
      {
        name: 'abort bulk actions that were terminated in Temporal',
        everyMs: 5_000,
        run: watchStoppedBulkActions({ database, temporal, log }),
      },
      {
        name: 'go on with lost bulk actions and abort those whose Temporal workflow is closed',
        everyMs: 60_000,
        run: reconcileBulkActions({ database, temporal, log }),
      },
      {
        name: 'begin delayed runs and end those that expired',
        everyMs: 500,
        run: () => workOffDueRuns({ database, waiters, countRunEnd }),
      },
      {
        name: 'end batches whose runs have ended',
        everyMs: 1_000,
        run: () => endDueBatches(database, { waiters, countRunEnd }),
      },
      {
        name: 'restore schedules that were deleted in Temporal',
        everyMs: 60_000,
        run: async () => {
          const restored = await restoreAutomationSchedules(database, temporal);
          for (const schedule of restored) log.warn(schedule, 'restored a schedule that was deleted in Temporal');
          return restored.length;
        },
      },
      { name: 'remove tool rounds of ended steps', everyMs: 60_000, run: () => forgetRounds(database) },
      { name: 'remove batches after their retention', everyMs: 3_600_000, run: () => removeOldBatches(database) },
      {
        name: 'remove bulk actions after their retention',
        everyMs: 3_600_000,
        run: () => removeOldBulkActions(database),
      },
      { name: 'remove runs after their retention', everyMs: 3_600_000, run: () => removeOldRuns(database) },
      { name: 'remove unused workflow definitions', everyMs: 3_600_000, run: () => removeUnusedDefinitions(database) },
      { name: 'remind approvers', everyMs: 10_000, run: () => remindApprovers(database) },
      { name: 'count approvals in blocks', everyMs: 10_000, run: () => sweepApprovalBlocks(database) },
      { name: 'remove old events', everyMs: 60_000, run: () => forgetEvents(database) },
      { name: 'count ended runs in blocks', everyMs: 10_000, run: () => countRunBlocks(database) },
    ];
  },
  gauges: ({ observer }) => runGauges(observer),
};
