import { isJsonObject } from '../../platform/core/json-shapes.ts';
import { maxCommentLength } from './approvals.ts';
import { approvalIds } from './ids.ts';

/** An answer as an operator types it into Temporal's web UI. */
export interface OperatorAnswer {
  /** In either form. */
  approvalId: string;
  action: string;
  values?: Record<string, unknown> | null | undefined;
  comment?: string | null | undefined;
}

/** An approval that a run waits for, as far as an answer is checked without it. */
export interface OpenApproval {
  /** A UUID. */
  id: string;
  actions: { id: string; takesValues: boolean }[];
}

/** Approvals whose answers are signalled to a workflow. */
export const maxOpenApprovals = 50;
/** An answer is kept in the history of its workflow. */
export const maxAnswerBytes = 16 * 1024;

const members = ['approvalId', 'action', 'values', 'comment'];
function findShapeProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return 'Expected an object {"approvalId", "action", "values", "comment"}.';
  const unknown = Object.keys(given).find((name) => !members.includes(name));
  if (unknown !== undefined) return `Expected no member "${unknown}".`;
  const { approvalId, action, values, comment } = given;
  if (typeof approvalId !== 'string' || !approvalIds.parse(approvalId)) return 'approvalId: expected an id as apr_….';
  if (typeof action !== 'string') return 'action: expected the id of an action.';
  if (values !== undefined && values !== null && !isJsonObject(values)) return 'values: expected an object.';
  if (comment !== undefined && comment !== null && typeof comment !== 'string') return 'comment: expected a text.';
  if (typeof comment === 'string' && comment.length > maxCommentLength)
    return `comment: expected at most ${maxCommentLength} characters.`;
  // In UTF-16, which is close enough for a limit.
  if (JSON.stringify(given).length > maxAnswerBytes) return 'Expected at most 16 KiB.';
  return undefined;
}

/**
 * Why an answer cannot be accepted, as far as the workflow of the run knows.
 * @param open the approvals that the run waits for; undefined while others may begin
 */
export function findAnswerProblem(given: unknown, open: readonly OpenApproval[] | undefined): string | undefined {
  const problem = findShapeProblem(given);
  if (problem !== undefined || !open) return problem;
  const { approvalId, action: named, values } = given as OperatorAnswer;
  const approval = open.find(({ id }) => id === approvalIds.parse(approvalId));
  if (!approval)
    return 'The run does not wait for an approval with this id: the approval was answered, or belongs to another run.';
  const action = approval.actions.find(({ id }) => id === named);
  if (!action) return `action: expected one of ${approval.actions.map(({ id }) => id).join(', ')}.`;
  if (!action.takesValues && Object.keys(values ?? {}).length > 0) return 'values: this action takes no values.';
  return undefined;
}
