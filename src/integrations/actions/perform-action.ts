import { databaseFailure } from '../../platform/database/database-errors.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { ActionProgress } from '../../temporal/contracts/integrations.ts';
import type { JobRef } from '../../temporal/contracts/jobs.ts';
import { isDeleted, isKept } from '../../tenancy/index.ts';
import type { ChangeRecorder } from '../calls/provider-http.ts';
import { afterFailure } from '../core/after-failure.ts';
import type { Integrations } from '../integrations.ts';
import { type Asked, askProvider } from './ask-provider.ts';
import { completeAction, type EndServices, failAction } from './end-action.ts';
import { failPoint } from './fail-points.ts';
import { actionJob, isOpen } from './job.ts';
import { findAction } from './request-action.ts';
import { actionContents } from './sealed-action.ts';

export interface PerformServices extends EndServices {
  integrations: Integrations;
}

/** An attempt that only this caller may make: its mark in the row is committed. */
export interface Attempt extends Asked {
  /** Before it, in milliseconds. */
  pausedMs: number;
}

const attempt = 'id, integration, action, account_id as "accountId", payload, attempts, paused_ms as "pausedMs"';

// An action without effects, or one that sent nothing, is taken over from a process that has died.
const mayBeAttempted = `(submitted_at is null or repeatable or unsent)
      and due_at > atelier_now() - make_interval(secs => :deadlineMs / 1000)`;

// Not before the end of a pause, whoever has waited for it. Actions of a deleted organization are not performed.
const take = statement({
  name: 'action.take',
  parameters: { id: 'uuid', deadlineMs: 'float8' },
  row: {
    id: 'uuid',
    integration: 'text',
    action: 'text',
    accountId: 'text',
    payload: 'text',
    attempts: 'smallint',
    pausedMs: 'int',
  },
  text: `update integration_action
      set status = 'processing', submitted_at = atelier_now(), begun_until = null, attempts = attempts + 1,
          unsent = true
    where organization_id = :organizationId and environment = :environment and id = :id and ${isOpen}
      and ${mayBeAttempted} and coalesce(begun_until < atelier_now(), true)
      and ${isKept('organization_id')}
   returning ${attempt}`,
});

const look = statement({
  name: 'action.look',
  parameters: { id: 'uuid', deadlineMs: 'float8' },
  row: { waitMs: 'float8?', isPaused: 'boolean', mayBeAttempted: 'boolean' },
  text: `select extract(epoch from begun_until - atelier_now())::float8 * 1000 as "waitMs",
      submitted_at is null as "isPaused", ${mayBeAttempted} as "mayBeAttempted"
    from integration_action
    where organization_id = :organizationId and environment = :environment and id = :id and ${isOpen}`,
});

const giveBack = statement({
  name: 'action.give_back',
  parameters: { id: 'uuid', pausedMs: 'int', attempts: 'smallint' },
  row: { id: 'uuid' },
  text: `update integration_action set submitted_at = null, paused_ms = paused_ms + :pausedMs, unsent = false,
      begun_until = atelier_now() + make_interval(secs => :pausedMs / 1000.0)
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
      and attempts = :attempts
   returning id`,
});

// Only the attempt that was taken last may send: one before it, which was thought to have died, finds that it is not.
const recordSending = statement({
  name: 'action.record_sending',
  parameters: { actionId: 'uuid', attempts: 'smallint' },
  row: { id: 'uuid' },
  text: `update integration_action set unsent = false
    where organization_id = :organizationId and environment = :environment and id = :actionId
      and status = 'processing' and attempts = :attempts
   returning id`,
});

const recordRefused = statement({
  name: 'action.record_refused',
  parameters: { actionId: 'uuid', attempts: 'smallint' },
  row: { id: 'uuid' },
  text: `update integration_action set unsent = true
    where organization_id = :organizationId and environment = :environment and id = :actionId
      and status = 'processing' and attempts = :attempts
   returning id`,
});

/** Another attempt has taken the place of this one, or the action has ended. */
class AttemptSuperseded extends Error {
  override name = 'AttemptSuperseded';
}

function recorderOf(scope: Scope, actionId: string, attempts: number): ChangeRecorder {
  const record = async (written: typeof recordSending) => {
    if (!(await scope.one(written, { actionId, attempts }))) throw new AttemptSuperseded();
  };
  return { sending: () => record(recordSending), refused: () => record(recordRefused) };
}

/** How often the result of another process is looked for. */
const lookAgainMs = 1_000;

async function failed(
  services: PerformServices,
  scope: Scope,
  ref: JobRef,
  failure: Parameters<typeof failAction>[3],
  attempts: number,
) {
  const { code } = failure;
  return (await failAction(services, scope, ref, failure, attempts))
    ? ({ kind: 'failed', code } satisfies ActionProgress)
    : ({ kind: 'ended' } satisfies ActionProgress);
}

/**
 * Makes the attempt, and records the result.
 * @returns `pause` when another one may follow
 * @throws the reason of `signal`; errors of our own
 */
export async function makeAttempt(
  services: PerformServices,
  scope: Scope,
  ref: JobRef,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<ActionProgress> {
  const { integrations, actionPolicy: policy } = services;
  const resume = (pausedMs: number) => scope.one(giveBack, { id: ref.id, pausedMs, attempts: attempt.attempts });
  failPoint('action.submitting');
  const changes = recorderOf(scope, ref.id, attempt.attempts);
  const asking = { signal, attemptMs: policy.attemptMs, changes };
  const answer = await askProvider(integrations, scope, attempt, asking).catch(async (error) => {
    if (error instanceof AttemptSuperseded) return undefined;
    // The database is used before anything is sent, and after a request that was refused.
    if (databaseFailure(error)) await resume(0).catch(() => {});
    throw error;
  });
  if (answer === undefined) return { kind: 'elsewhere', ms: lookAgainMs };
  failPoint('action.answered');
  switch (answer.kind) {
    case 'answer':
      await completeAction(services, scope, ref, answer.json);
      return { kind: 'ended' };
    case 'not_connected':
      return failed(services, scope, ref, { code: 'not_connected' }, attempt.attempts);
    case 'failed': {
      const repeatable = findAction(attempt.integration, attempt.action)?.writes === false;
      const next = afterFailure(answer.failure, { ...attempt, repeatable }, policy);
      if ('failure' in next) return failed(services, scope, ref, next.failure, attempt.attempts);
      const ms = Math.ceil(next.pauseMs);
      return (await resume(ms)) ? { kind: 'pause', ms } : { kind: 'ended' };
    }
  }
}

/**
 * Makes the next attempt at an action. The provider may perform any request: a mark in the row, committed before the
 * request, prevents a second one after a crash. The mark is removed if the provider certainly did nothing. Safe to
 * repeat: an action that has ended stays unchanged.
 * @param begins called with the number of the attempt, where there is one
 * @throws the reason of `signal`; errors of our own
 */
export async function performNext(
  services: PerformServices,
  scope: Scope,
  ref: JobRef,
  signal: AbortSignal,
  begins: (attempts: number) => void = () => {},
): Promise<ActionProgress> {
  const { id } = ref;
  const { deadlineMs } = services.actionPolicy;
  const taken = await scope.one(take, { id, deadlineMs });
  if (taken) {
    begins(taken.attempts);
    const payload = actionContents(services.sealer, scope).open(id, 'payload', taken.payload);
    return makeAttempt(services, scope, ref, { ...taken, payload }, signal);
  }
  const open = await scope.one(look, { id, deadlineMs });
  if (!open) return { kind: 'ended' };
  const { waitMs, isPaused } = open;
  if (waitMs !== null && waitMs > 0) {
    const ms = Math.ceil(waitMs);
    return isPaused ? { kind: 'pause', ms } : { kind: 'elsewhere', ms: Math.min(ms, lookAgainMs) };
  }
  // It would come too late when the organization is restored.
  if (await isDeleted(scope)) {
    await actionJob.stop(services, scope, ref, 'cancelled');
    return { kind: 'ended' };
  }
  // A lease or a pause has ended since the attempt was to be taken.
  if (open.mayBeAttempted) return { kind: 'elsewhere', ms: 1 };
  // The process that had it has died, or the deadline is over.
  const isBroken = await actionJob.stop(services, scope, ref, 'timeout');
  return isBroken ? { kind: 'failed', code: 'action_failed' } : { kind: 'ended' };
}
