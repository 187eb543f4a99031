import { askModel } from '../src/conversation/ask-model.ts';
import type { AskServices } from '../src/conversation/ask-open-message.ts';
import { type CallRef, callTool } from '../src/conversation/call-tool.ts';
import { messageJob } from '../src/conversation/job.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { Log } from '../src/platform/observability/log.ts';
import type { MessageProgress } from '../src/temporal/contracts/conversation.ts';
import type { JobContext } from '../src/temporal/contracts/jobs.ts';
import { jobActivities } from './activity-context.ts';

interface MessageActivityServices extends AskServices {
  database: Database;
  log: Log;
}

export const createMessageActivities = (services: MessageActivityServices) => {
  const { attempt, recordCancelled } = jobActivities(messageJob, services);
  return {
    /** Calls the model once and records its answer, which may be the reply. Fails retryably while the provider may answer later. */
    askModel: ({
      round,
      streams,
      ...ref
    }: JobContext & { round: number; streams: boolean }): Promise<MessageProgress> =>
      attempt(ref, (scope, call) => askModel(services, scope, ref, { round, streams, ...call })),

    /** Executes one call of a tool and records its result. */
    callTool: ({ round, call, ...ref }: JobContext & CallRef): Promise<void> =>
      attempt(ref, (scope, { signal }) => callTool(services, scope, ref, { round, call }, signal)),

    recordTurnCancelled: recordCancelled,
  };
};

export type MessageActivities = ReturnType<typeof createMessageActivities>;
