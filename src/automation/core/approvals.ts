import { defineEvent } from '../../platform/core/event-type.ts';
import { defineStates } from '../../platform/core/states.ts';
import { approvalIds } from './ids.ts';
import type { StepPath } from './step-path.ts';
import type { ApprovalAction } from './step-types.ts';

export const approvalStates = defineStates(
  { table: 'approval', column: 'status' },
  {
    pending: { meaning: 'It waits for an answer.', initial: true, to: ['answered', 'expired', 'cancelled'] },
    answered: { meaning: 'A person or a program has answered.', to: [] },
    expired: { meaning: 'No answer came in time.', to: [] },
    cancelled: { meaning: 'Its step was stopped, or its run ended.', to: [] },
  },
);
export type ApprovalStatus = (typeof approvalStates.all)[number];

/** How an answer came. */
export type ApprovalChannel = 'api' | 'mail' | 'temporal' | 'timeout';

/** The answer of an approval, and the output of its step. */
export interface ApprovalResponse {
  action: string;
  values: Record<string, unknown>;
  comment: string | null;
  /** `key:<name or id>`, `email:<address>` or `operator`; null after a timeout. */
  respondedBy: string | null;
  /** ISO 8601. */
  respondedAt: string;
  channel: ApprovalChannel;
}

export const maxFormProperties = 16;
export const maxCommentLength = 2_000;

const scalarTypes: readonly unknown[] = ['string', 'number', 'integer', 'boolean'];
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The properties of a form, in their order. */
export const fieldsOf = (form: Record<string, unknown>): [string, Record<string, unknown>][] =>
  isRecord(form.properties)
    ? Object.entries(form.properties).filter((entry): entry is [string, Record<string, unknown>] => isRecord(entry[1]))
    : [];

/** Why a schema is no form, in words for its author; undefined when it is one: an object of a few scalars. */
export function findFormProblem(form: Record<string, unknown>): string | undefined {
  if (form.type !== 'object' || !isRecord(form.properties))
    return 'Expected the schema of an object with `properties`.';
  const names = Object.keys(form.properties);
  if (names.length > maxFormProperties) return `Expected at most ${maxFormProperties} properties.`;
  const wrong = names.find((name) => {
    const property = (form.properties as Record<string, unknown>)[name];
    return !isRecord(property) || !scalarTypes.includes(property.type);
  });
  if (wrong === undefined) return undefined;
  return `The property "${wrong}" has to be of the type string, number, integer or boolean.`;
}

/** What is read from the fields of a page, by the types of the form. Fields that are left empty have no value. */
export function readFields(
  form: Record<string, unknown>,
  field: (name: string) => string | null,
): Record<string, unknown> {
  const read = fieldsOf(form).flatMap(([name, { type }]): [string, unknown][] => {
    const text = field(name);
    if (type === 'boolean') return [[name, text === 'true']];
    if (text === null || text === '') return [];
    if (type === 'string') return [[name, text]];
    // What is no number is refused by the schema.
    const value = Number(text);
    return [[name, text.trim() === '' || Number.isNaN(value) ? text : value]];
  });
  return Object.fromEntries(read);
}

/** What is known of an approval when one of its events is published. Ids are UUIDs. */
export interface ApprovalFacts {
  approvalId: string;
  runId: string;
  automationId: string;
  workflowName: string;
  stepId: string;
  path: StepPath | null;
  message: string;
  actions: readonly ApprovalAction[];
  approvers: readonly string[];
  status: ApprovalStatus;
  expiresAt: string;
  createdAt: string;
  response: ApprovalResponse | null;
}

const approvalData = ({ approvalId, automationId, runId, ...rest }: ApprovalFacts) => ({
  id: approvalIds.format(approvalId),
  runId,
  workflowId: automationId,
  ...rest,
});

export const approvalRequested = defineEvent('approval.requested', approvalData);
export const approvalAnswered = defineEvent('approval.answered', approvalData);
export const approvalExpired = defineEvent('approval.expired', approvalData);
