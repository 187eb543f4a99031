import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { clock } from '../../platform/clock.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError, invalid, unavailable } from '../../platform/errors.ts';
import { publishEvent } from '../../webhooks/index.ts';
import { checkForm } from '../bounded/bounded-tasks.ts';
import { type ApprovalChannel, type ApprovalResponse, approvalAnswered, approvalExpired } from '../core/approvals.ts';
import type { ApprovalStep } from '../core/step-types.ts';
import type { WaitOutcome } from '../core/waits.ts';
import { failPoint } from '../fail-points.ts';
import { resolveWait } from '../flows/waits.ts';
import { approvalNotFound, getApproval } from './approvals.ts';
import { type ApprovalView, factsOf } from './views.ts';

export interface Answer {
  action: string;
  values: Record<string, unknown>;
  comment: string | null;
  respondedBy: string;
  channel: ApprovalChannel;
}

const decide = statement({
  name: 'approval.decide',
  parameters: { id: 'uuid', status: 'text', response: 'text' },
  row: { id: 'uuid' },
  text: `
    update approval set status = :status, response = :response::json
     where organization_id = :organizationId and environment = :environment and id = :id and status = 'pending'
    returning id`,
});

const words = {
  pending: 'The approval waits for an answer.',
  answered: 'The approval is answered already.',
  expired: 'The approval has expired.',
  cancelled: 'The approval is cancelled.',
};

const decided = ({ status, response }: ApprovalView) => {
  const { respondedBy = null, respondedAt = null } = response ?? {};
  return new AppError('conflict', words[status], { status, respondedBy, respondedAt });
};

/** @throws AppError validation_error with the paths of what does not fit */
async function checkAnswer(work: BoundedWork, scope: Scope, view: ApprovalView, answer: Answer): Promise<void> {
  const action = view.actions.find(({ id }) => id === answer.action);
  if (!action) {
    const known = view.actions.map(({ id }) => id).join(', ');
    throw invalid([{ path: 'action', message: `Expected one of ${known}.` }]);
  }
  const { form } = view;
  if (action.skipForm || !form) {
    if (Object.keys(answer.values).length === 0) return;
    throw invalid([{ path: 'values', message: 'This action takes no values.' }]);
  }
  try {
    const problems = await work.run(checkForm, scope.tenantKey, { schema: form, values: answer.values });
    if (problems.length > 0) throw invalid(problems);
  } catch (error) {
    if (error instanceof WorkQueueFull) throw unavailable('Checking answers');
    if (error instanceof WorkTooCostly) {
      throw invalid([{ path: 'values', message: `Checking them is too costly: ${error.message}` }]);
    }
    throw error;
  }
}

/**
 * Answers an approval and has its run proceed. The first answer wins: one transaction decides.
 * @throws AppError not_found, conflict with who decided and when, validation_error
 */
export async function respond(
  { boundedWork }: { boundedWork: BoundedWork },
  scope: Scope,
  id: string,
  answer: Answer,
): Promise<ApprovalView> {
  const view = await getApproval(scope, id);
  if (view.status !== 'pending') throw decided(view);
  await checkAnswer(boundedWork, scope, view, answer);
  const { approvalId } = view;
  const response: ApprovalResponse = {
    action: answer.action,
    values: answer.values,
    comment: answer.comment,
    respondedBy: answer.respondedBy,
    respondedAt: clock.date().toISOString(),
    channel: answer.channel,
  };
  const answered = await scope.transaction(async (tx) => {
    // Who ends the wait decides.
    if (!(await resolveWait(tx, { subjectId: approvalId }, { output: response }))) return undefined;
    await tx.one(decide, { id: approvalId, status: 'answered', response: JSON.stringify(response) });
    const after = await getApproval(tx, approvalId);
    await publishEvent(tx, approvalAnswered, approvalId, factsOf(after));
    failPoint('approval.before-commit');
    return after;
  });
  if (answered) {
    failPoint('approval.answered');
    return answered;
  }
  const now = await getApproval(scope, approvalId);
  if (now.status === 'pending') throw approvalNotFound(id);
  throw decided(now);
}

/** Ends an approval at its timeout, with the action of its step, unless it has been answered. */
export async function expireApproval(
  tx: Transaction,
  { onTimeout = 'fail' }: ApprovalStep,
  approvalId: string,
): Promise<void> {
  const response: ApprovalResponse | null =
    onTimeout === 'fail'
      ? null
      : {
          action: onTimeout,
          values: {},
          comment: null,
          respondedBy: null,
          respondedAt: clock.date().toISOString(),
          channel: 'timeout',
        };
  const outcome: WaitOutcome = response
    ? { output: response }
    : { error: { code: 'approval_expired', message: 'The approval was not answered in time.' } };
  if (!(await resolveWait(tx, { subjectId: approvalId }, outcome))) return;
  await tx.one(decide, { id: approvalId, status: 'expired', response: JSON.stringify(response) });
  await publishEvent(tx, approvalExpired, approvalId, factsOf(await getApproval(tx, approvalId)));
}
