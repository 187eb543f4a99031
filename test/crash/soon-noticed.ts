/**
 * Entry point of a product process whose death Temporal notices within five seconds instead of ten, and that waits six
 * seconds for what is under way when it is stopped, instead of ten. Nothing else is different.
 */
import { WorkflowClient } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { defaultFirstQuestionPolicy } from '../../src/conversation/first-questions.ts';
import { defaultRunPolicy } from '../../src/temporal/contracts/automation.ts';
import { defaultCalendarPolicy } from '../../src/temporal/contracts/calendars.ts';
import { defaultTurnPolicy } from '../../src/temporal/contracts/conversation.ts';
import { defaultBookingPolicy } from '../../src/temporal/contracts/scheduling.ts';
import { defaultGenerationPolicy } from '../../src/temporal/contracts/studio.ts';
import { defaultVoiceCallPolicy } from '../../src/temporal/contracts/voice.ts';

const heartbeatTimeoutMs = 5_000;
const policies = [
  ...[defaultRunPolicy.modelCall, defaultTurnPolicy, defaultBookingPolicy, defaultCalendarPolicy],
  defaultVoiceCallPolicy,
];
for (const policy of policies) policy.heartbeatTimeoutMs = heartbeatTimeoutMs;
defaultFirstQuestionPolicy.leaseMs = heartbeatTimeoutMs;
Object.assign(defaultGenerationPolicy, { heartbeatTimeoutMs, instantMs: 3_000 });

const { start } = WorkflowClient.prototype;
WorkflowClient.prototype.start = function startSoonNoticed(this: WorkflowClient, type, options) {
  return start.call(this, type, { ...options, workflowTaskTimeout: heartbeatTimeoutMs } as never);
} as typeof start;

const create = Worker.create.bind(Worker);
Worker.create = (options) =>
  create({
    ...options,
    // Several in the time within which one is missed.
    maxHeartbeatThrottleInterval: '1 second',
    // Of a task for a worker that has the workflow in memory, and is dead.
    stickyQueueScheduleToStartTimeout: '2 seconds',
    shutdownGraceTime: '6 seconds',
  });

await import('../../workers/main.ts');
