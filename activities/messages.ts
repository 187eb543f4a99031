import { Context } from '@temporalio/activity';
import { askModel } from '../src/conversation/ask-model.ts';
import { type CallRef, callTool } from '../src/conversation/call-tool.ts';
import type { MessageError } from '../src/conversation/core/status.ts';
import { type Ending, stopMessage } from '../src/conversation/end-message.ts';
import type { AskServices } from '../src/conversation/question.ts';
import type { Database } from '../src/platform/database.ts';
import type { Log } from '../src/platform/log.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import type { MessageProgress } from '../src/temporal/contracts/conversation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { failingUnexpected } from './unexpected-error.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

export type MessageRef = Ending & WorkContext;

export interface MessageActivityServices extends AskServices {
  database: Database;
  log: Log;
}

const unexpected: MessageError = { code: 'provider_error', message: 'Something went wrong on our side.' };

export const createMessageActivities = ({ database, log, ...services }: MessageActivityServices) => {
  const failing = <Result>(ref: MessageRef, work: () => Promise<Result>) =>
    failingUnexpected(
      {
        log,
        kind: 'message',
        facts: { turnId: ref.turnId },
        failureType: failureTypes.messageFailed,
        fail: () => stopMessage(services, scopeOf(database, ref), ref, unexpected),
      },
      work,
    );
  return {
    /** Calls the model once and records its answer, which may be the reply. Fails retryably while the provider may answer later. */
    async askModel({
      round,
      streams,
      ...ref
    }: MessageRef & { round: number; streams: boolean }): Promise<MessageProgress> {
      const { attempt } = Context.current().info;
      return failing(ref, async () => {
        try {
          return await withHeartbeats(heartbeatMs, (signal) =>
            askModel(services, scopeOf(database, ref), ref, { round, streams, attempt, signal }),
          );
        } catch (error) {
          throw error instanceof ProviderFailure ? retryableFailure(error) : error;
        }
      });
    },

    /** Executes one call of a tool and records its result. */
    async callTool({ round, call, ...ref }: MessageRef & CallRef): Promise<void> {
      return failing(ref, () =>
        withHeartbeats(heartbeatMs, (signal) =>
          callTool(services, scopeOf(database, ref), ref, { round, call }, signal),
        ),
      );
    },

    /** Records the turn as cancelled, unless it has ended. */
    async recordTurnCancelled(ref: MessageRef): Promise<void> {
      await stopMessage(services, scopeOf(database, ref), ref, null);
    },
  };
};

export type MessageActivities = ReturnType<typeof createMessageActivities>;
