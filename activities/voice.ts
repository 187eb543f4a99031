import { Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database.ts';
import { databaseFailure } from '../src/platform/database-errors.ts';
import type { Log } from '../src/platform/log.ts';
import type { Waiters } from '../src/platform/waiters.ts';
import { ProviderFailure } from '../src/providers/ports.ts';
import type { VoiceCallEnd } from '../src/temporal/contracts/voice.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import type { VoiceCallError } from '../src/voice/core/status.ts';
import { type Ending, stopCall } from '../src/voice/end-call.ts';
import { type PerformServices, performCall } from '../src/voice/perform-call.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

/** Attempts after an unexpected error, which may be permanent. */
const unexpectedAttempts = 3;

const unexpected: VoiceCallError = { code: 'provider_error', message: 'Something went wrong on our side.' };

export type VoiceCallRef = Ending & WorkContext;

export interface VoiceActivityServices extends Omit<PerformServices, 'waiters'> {
  database: Database;
  log: Log;
  voiceWaiters: Waiters;
}

export const createVoiceActivities = ({ database, log, voiceWaiters: waiters, ...rest }: VoiceActivityServices) => {
  const services = { ...rest, waiters };
  return {
    /** Asks the provider once and records what it gave. Fails retryably while the provider may be asked again. */
    async performVoiceCall(ref: VoiceCallRef): Promise<VoiceCallEnd> {
      const { info, cancellationSignal } = Context.current();
      const { attempt } = info;
      const scope = scopeOf(database, ref);
      try {
        return await withHeartbeats(heartbeatMs, (signal) => performCall(services, scope, ref, { attempt, signal }));
      } catch (error) {
        if (error instanceof ProviderFailure) throw retryableFailure(error);
        if (databaseFailure(error) || cancellationSignal.aborted || attempt < unexpectedAttempts) throw error;
        log.error({ err: error, callId: ref.callId }, 'a voice call failed: it keeps failing unexpectedly');
        await stopCall(services, scope, ref, unexpected);
        return { kind: 'failed', code: unexpected.code };
      }
    },

    /** Records the call as cancelled, unless it has ended. */
    async recordVoiceCallCancelled(ref: VoiceCallRef): Promise<void> {
      await stopCall(services, scopeOf(database, ref), ref, null);
    },
  };
};

export type VoiceActivities = ReturnType<typeof createVoiceActivities>;
