import { WorkflowClient } from '@temporalio/client';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { defaultDirectWorkPolicy } from '../../src/jobs/index.ts';
import { defaultRunPolicy } from '../../src/temporal/contracts/automation.ts';
import { defaultCalendarPolicy } from '../../src/temporal/contracts/calendars.ts';
import { defaultMessagePolicy } from '../../src/temporal/contracts/conversation.ts';
import { defaultFollowPolicy } from '../../src/temporal/contracts/followed-integrations.ts';
import { defaultFetchEventsPolicy } from '../../src/temporal/contracts/integration-events.ts';
import { defaultActionPolicy } from '../../src/temporal/contracts/integrations.ts';
import { defaultBookingPolicy } from '../../src/temporal/contracts/scheduling.ts';
import { defaultGenerationPolicy } from '../../src/temporal/contracts/studio.ts';
import { defaultVoiceCallPolicy } from '../../src/temporal/contracts/voice.ts';

const policies = [
  defaultRunPolicy.modelCall,
  defaultMessagePolicy,
  defaultBookingPolicy,
  defaultCalendarPolicy,
  defaultVoiceCallPolicy,
  defaultActionPolicy,
  defaultFollowPolicy,
  defaultFetchEventsPolicy,
];

/**
 * Lets Temporal notice the death of this process within so many milliseconds instead of ten seconds, and lets a worker that
 * is stopped wait six seconds for what is under way instead of ten. To be called before the product is loaded. Nothing else
 * is different.
 */
export function noticeWithin(ms: number): void {
  for (const policy of policies) policy.heartbeatTimeoutMs = ms;
  Object.assign(defaultDirectWorkPolicy, { leaseMs: ms, renewEveryMs: ms / 3 });
  Object.assign(defaultGenerationPolicy, { heartbeatTimeoutMs: ms, instantMs: 3_000 });
  Object.assign(defaultActionPolicy, { attemptMs: 3_000, graceMs: 1_000 });

  const { start } = WorkflowClient.prototype;
  WorkflowClient.prototype.start = function startSoonNoticed(this: WorkflowClient, type, options) {
    return start.call(this, type, { ...options, workflowTaskTimeout: ms } as never);
  } as typeof start;

  createWorkersWith({
    // Several in the time within which one is missed.
    maxHeartbeatThrottleInterval: ms / 5,
    // How long a task waits for a worker that has the workflow in memory and is dead.
    stickyQueueScheduleToStartTimeout: ms / 2.5,
    shutdownGraceTime: '6 seconds',
  });
}

/**
 * Lets a worker that is stopped wait three seconds for what is under way instead of ten. To be called before the product is
 * loaded. Nothing else is different.
 */
export const stopSoon = (): void => createWorkersWith({ shutdownGraceTime: '3 seconds' });

function createWorkersWith(instead: Partial<WorkerOptions>): void {
  const create = Worker.create.bind(Worker);
  Worker.create = (options) => create({ ...options, ...instead });
}
