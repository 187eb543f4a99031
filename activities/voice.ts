import { Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database.ts';
import type { Log } from '../src/platform/log.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import type { Waiters } from '../src/platform/waiters.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { VoiceCallEnd } from '../src/temporal/contracts/voice.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import type { VoiceCallError } from '../src/voice/core/status.ts';
import { type Ending, stopCall } from '../src/voice/end-call.ts';
import { type PerformServices, performCall } from '../src/voice/perform-call.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { failingUnexpected } from './unexpected-error.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

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
      const { attempt } = Context.current().info;
      const scope = scopeOf(database, ref);
      const job = {
        log,
        kind: 'voice call',
        facts: { callId: ref.callId },
        failureType: failureTypes.voiceCallFailed,
        fail: () => stopCall(services, scope, ref, unexpected),
      };
      return failingUnexpected(job, async () => {
        try {
          return await withHeartbeats(heartbeatMs, (signal) => performCall(services, scope, ref, { attempt, signal }));
        } catch (error) {
          throw error instanceof ProviderFailure ? retryableFailure(error) : error;
        }
      });
    },

    /** Records the call as cancelled, unless it has ended. */
    async recordVoiceCallCancelled(ref: VoiceCallRef): Promise<void> {
      await stopCall(services, scopeOf(database, ref), ref, null);
    },
  };
};

export type VoiceActivities = ReturnType<typeof createVoiceActivities>;
