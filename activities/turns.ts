import { Context } from '@temporalio/activity';
import { askModel } from '../src/conversation/ask-model.ts';
import { type CallRef, callTool } from '../src/conversation/call-tool.ts';
import type { TurnError } from '../src/conversation/core/status.ts';
import { type Ending, stopTurn } from '../src/conversation/end-turn.ts';
import type { AskServices } from '../src/conversation/question.ts';
import type { Database } from '../src/platform/database.ts';
import { databaseFailure } from '../src/platform/database-errors.ts';
import type { Log } from '../src/platform/log.ts';
import { ProviderFailure } from '../src/providers/ports.ts';
import type { TurnProgress } from '../src/temporal/contracts/conversation.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

export type TurnRef = Ending & WorkContext;

export interface TurnActivityServices extends AskServices {
  database: Database;
  log: Log;
}

/** Attempts after an unexpected error, which may be permanent. */
const unexpectedAttempts = 3;

const unexpected: TurnError = { code: 'provider_error', message: 'Something went wrong on our side.' };

export const createTurnActivities = ({ database, log, ...services }: TurnActivityServices) => ({
  /** Calls the model once and records its answer, which may be the reply. Fails retryably while the provider may answer later. */
  async askModel({ round, streams, ...ref }: TurnRef & { round: number; streams: boolean }): Promise<TurnProgress> {
    const { info, cancellationSignal } = Context.current();
    const { attempt, isLocal } = info;
    const scope = scopeOf(database, ref);
    try {
      return await withHeartbeats(heartbeatMs, (signal) =>
        askModel(services, scope, ref, { round, streams, attempt, signal }),
      );
    } catch (error) {
      if (error instanceof ProviderFailure) throw retryableFailure(error);
      const mayPass = databaseFailure(error) || cancellationSignal.aborted;
      if (mayPass || isLocal || attempt < unexpectedAttempts) throw error;
      log.error({ err: error, turnId: ref.turnId }, 'a message failed: asking its model keeps failing unexpectedly');
      await stopTurn(services, scope, ref, unexpected);
      return { kind: 'failed', code: unexpected.code };
    }
  },

  /** Executes one call of a tool and records its result. */
  async callTool({ round, call, ...ref }: TurnRef & CallRef): Promise<void> {
    return withHeartbeats(heartbeatMs, (signal) =>
      callTool(services, scopeOf(database, ref), ref, { round, call }, signal),
    );
  },

  /** Records the turn as cancelled, unless it has ended. */
  async recordTurnCancelled(ref: TurnRef): Promise<void> {
    await stopTurn(services, scopeOf(database, ref), ref, null);
  },
});

export type TurnActivities = ReturnType<typeof createTurnActivities>;
