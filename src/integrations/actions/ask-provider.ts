import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuthExpired } from '../../connections/index.ts';
import { sortedJson } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { holdUntilReleased } from '../../platform/parts/holds.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ChangeRecorder } from '../calls/provider-http.ts';
import { findIntegration } from '../catalog.ts';
import type { Connected } from '../connections/find-connection.ts';
import type { ReportedFailure } from '../core/after-failure.ts';
import { readSandboxWords } from '../core/sandbox-words.ts';
import type { Action } from '../definition/integration.ts';
import type { Integrations } from '../integrations.ts';

/** An attempt at an action. */
export interface Asked {
  id: string;
  integration: string;
  action: string;
  /** The account that was connected when the action was requested. */
  accountId: string;
  /** As the caller sent it. */
  payload: unknown;
  /** This attempt, counted from 1. */
  attempts: number;
}

export type ProviderAnswer =
  /** JSON as text. */
  { kind: 'answer'; json: string } | { kind: 'failed'; failure: ReportedFailure } | { kind: 'not_connected' };

/** Answers are stored for their Idempotency-Keys; larger ones are not. */
const maxAnswerBytes = 1024 * 1024;

const failedWith = (kind: ReportedFailure['kind'], providerCode?: string): ProviderAnswer => ({
  kind: 'failed',
  failure: { kind, ...(providerCode !== undefined && { providerCode }) },
});

function answerOf(action: Action, given: unknown): ProviderAnswer {
  const read = action.answer.safeParse(given);
  // The provider accepted the request, and its answer cannot be read.
  if (!read.success) return failedWith('lost', 'unexpected_answer');
  const json = JSON.stringify(read.data);
  if (Buffer.byteLength(json) > maxAnswerBytes) {
    return failedWith(action.writes ? 'lost' : 'action_failed', 'answer_too_large');
  }
  return { kind: 'answer', json };
}

/** Answers depend only on the request. No request is sent. */
function sandboxAnswer(action: Action, { integration, action: name, payload }: Asked): ProviderAnswer {
  const seed = createHash('sha256')
    .update(`${integration}/${name} ${sortedJson(payload)}`)
    .digest('hex');
  return answerOf(action, action.sandbox(action.payload.parse(payload), seed));
}

async function askSandbox(action: Action, asked: Asked, signal: AbortSignal): Promise<ProviderAnswer> {
  const { slowSeconds, hold, failure } = readSandboxWords(asked.payload, asked.attempts);
  await holdUntilReleased(hold, signal);
  if (slowSeconds > 0) await sleep(slowSeconds * 1_000, undefined, { signal });
  return failure ? { kind: 'failed', failure } : sandboxAnswer(action, asked);
}

/** The attempt at which what may pass has passed. */
const lastAttempt = 5;

/** The answer of the sandbox to an action that is not stored. It does not wait. */
export function simulateAction(action: Action, asked: Omit<Asked, 'id' | 'accountId' | 'attempts'>): ProviderAnswer {
  const { failure } = readSandboxWords(asked.payload, lastAttempt);
  if (failure) return { kind: 'failed', failure };
  return sandboxAnswer(action, { ...asked, id: '', accountId: '', attempts: lastAttempt });
}

/** The meaning of an error from a provider call; undefined for an error of our own. */
function failureOf(error: unknown): ProviderAnswer | undefined {
  if (error instanceof AuthExpired) return failedWith('auth_expired');
  // The connection was removed, or the installation no longer has a client of the provider.
  if (error instanceof AppError && error.code === 'not_connected') return { kind: 'not_connected' };
  if (error instanceof IntegrationFailure) {
    const { kind, providerCode, retryAfterSeconds, errors } = error;
    return { kind: 'failed', failure: { kind, providerCode, retryAfterSeconds, errors } };
  }
  return undefined;
}

/** Whether the connection is still to the account of the request. */
const isSame = (connected: Connected | undefined, { accountId }: Asked): connected is Connected =>
  connected !== undefined && connected.account.id === accountId;

/**
 * Performs an action at its provider, once.
 * @param attemptMs limit of the attempt; an answer that comes later is lost
 * @param changes called for each request that may change something, before it is sent
 * @throws the reason of `signal`; errors of our own, such as the database's, before anything was sent
 */
export async function askProvider(
  integrations: Pick<Integrations, 'findConnection' | 'call' | 'authExpired'>,
  scope: Scope,
  asked: Asked,
  { signal, attemptMs, changes }: { signal: AbortSignal; attemptMs: number; changes: ChangeRecorder },
): Promise<ProviderAnswer> {
  const action = findIntegration(asked.integration)?.actions[asked.action];
  if (!action) return failedWith('action_failed', 'no_such_action');
  const connected = await integrations.findConnection(scope, asked.integration);
  if (!isSame(connected, asked)) return { kind: 'not_connected' };
  if (connected.status === 'auth_expired') return failedWith('auth_expired');
  const limit = AbortSignal.timeout(attemptMs);
  const either = AbortSignal.any([signal, limit]);
  let answer: ProviderAnswer;
  // Only a sent request may have been performed.
  let isSent = !action.writes || scope.tenant.environment === 'test';
  const recorded: ChangeRecorder = {
    async sending() {
      await changes.sending();
      either.throwIfAborted();
      isSent = true;
    },
    async refused() {
      await changes.refused();
      isSent = false;
    },
  };
  try {
    if (scope.tenant.environment === 'test') answer = await askSandbox(action, asked, either);
    else {
      const call = integrations.call(scope, connected, {
        idempotencyKey: asked.id,
        signal: either,
        timeoutMs: attemptMs,
        changes: recorded,
      });
      answer = answerOf(
        action,
        await call((provider) => action.perform(action.payload.parse(asked.payload), provider)),
      );
    }
  } catch (error) {
    signal.throwIfAborted();
    const failure = limit.aborted ? failedWith(isSent ? 'lost' : 'not_done', 'timeout') : failureOf(error);
    if (!failure) throw error;
    answer = failure;
  }
  if (answer.kind === 'failed' && answer.failure.kind === 'auth_expired')
    await integrations.authExpired(scope, connected);
  return answer;
}
