import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { sortedJson } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import type { OperatorAnswer } from '../core/approval-answer.ts';
import type { ApprovalResponse } from '../core/approvals.ts';
import { approvalNotFound, getApproval } from './approvals.ts';
import { respond } from './respond.ts';

export type OperatorOutcome = { response: ApprovalResponse } | { refused: string };

/** The sentence of a refusal, with the problem. */
function sentenceOf({ message, facts }: AppError): string {
  const { errors, respondedBy, respondedAt } = (facts ?? {}) as Record<string, unknown>;
  if (Array.isArray(errors)) return errors.map(({ path, message: why }) => `${path}: ${why}`).join(' ');
  return respondedAt ? `${message} ${respondedBy ?? 'A timeout'} decided at ${respondedAt}.` : message;
}

/**
 * Answers an approval of a run for an operator, who is not distinguished from other operators. The same answer again
 * returns the first one: its process may have died after the commit.
 */
export async function respondInTemporal(
  services: { boundedWork: BoundedWork },
  scope: Scope,
  runId: string,
  { approvalId, action, values, comment }: OperatorAnswer,
): Promise<OperatorOutcome> {
  const given = { action, values: values ?? {}, comment: comment ?? null };
  try {
    const before = await getApproval(scope, approvalId);
    if (before.runId !== runId) throw approvalNotFound(approvalId);
    const answer = { ...given, respondedBy: 'operator', channel: 'temporal' as const };
    const { response } = await respond(services, scope, approvalId, answer);
    return { response: response! };
  } catch (error) {
    if (!(error instanceof AppError) || ['internal_error', 'service_unavailable'].includes(error.kind)) throw error;
    const earlier = error.code === 'conflict' ? (await getApproval(scope, approvalId)).response : null;
    if (earlier?.channel === 'temporal' && isSame(earlier, given)) return { response: earlier };
    return { refused: sentenceOf(error) };
  }
}

const isSame = (response: ApprovalResponse, given: Pick<ApprovalResponse, 'action' | 'values' | 'comment'>): boolean =>
  response.action === given.action &&
  response.comment === given.comment &&
  sortedJson(response.values) === sortedJson(given.values);
