import { defineEvent } from '../../platform/core/event-type.ts';
import { anyObject, listOf, object, oneOf, orNull, text, time, uuid } from '../../platform/core/json-schema.ts';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
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
const approvalChannels = ['api', 'console', 'mail', 'mcp', 'temporal', 'timeout'] as const;
export type ApprovalChannel = (typeof approvalChannels)[number];

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

export const maxCommentLength = 2_000;

/** The properties of a form, in their order. */
export const fieldsOf = (form: Record<string, unknown>): [string, Record<string, unknown>][] =>
  isJsonObject(form.properties)
    ? Object.entries(form.properties).filter((entry): entry is [string, Record<string, unknown>] =>
        isJsonObject(entry[1]),
      )
    : [];

/** Reads the values of the form from the fields of a page, by their types. Empty fields have no value. */
export function readFields(
  form: Record<string, unknown>,
  field: (name: string) => string | null,
): Record<string, unknown> {
  const read = fieldsOf(form).flatMap(([name, { type }]): [string, unknown][] => {
    const text = field(name);
    if (type === 'boolean') return [[name, text === 'true']];
    if (text === null || text === '') return [];
    if (type === 'string') return [[name, text]];
    // The schema refuses a value that is not a number.
    const value = Number(text);
    return [[name, text.trim() === '' || Number.isNaN(value) ? text : value]];
  });
  return Object.fromEntries(read);
}

/** The facts about an approval when one of its events is published. Ids are UUIDs. */
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

const action = object<ApprovalAction>(
  {
    id: text(),
    label: text(),
    skipForm: { type: 'boolean', description: 'Whether an answer with this action has no values.' },
  },
  ['skipForm'],
);

const response = object<ApprovalResponse>({
  action: text(),
  values: anyObject(),
  comment: orNull(text()),
  respondedBy: orNull(
    text('`key:<name or id>`, `email:<address>` or `operator`; null when a timeout took the action.'),
  ),
  respondedAt: time(),
  channel: oneOf(approvalChannels),
});

const exampleRequested: ApprovalFacts = {
  approvalId: '0199cccc-dddd-7eee-8fff-000011112222',
  runId: '0199bbbb-cccc-7ddd-8eee-ffff00001111',
  automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
  workflowName: 'Refund',
  stepId: 'ask',
  path: null,
  message: 'Refund 49.50 to Ada?',
  actions: [
    { id: 'approve', label: 'Approve' },
    { id: 'reject', label: 'Reject', skipForm: true },
  ],
  approvers: ['ada@example.com'],
  status: 'pending',
  expiresAt: '2026-11-26T09:30:00.000Z',
  createdAt: '2026-11-23T09:30:00.000Z',
  response: null,
};
const exampleResponse: ApprovalResponse = {
  action: 'approve',
  values: { amount: 49.5 },
  comment: null,
  respondedBy: 'key:Back office',
  respondedAt: '2026-11-23T10:00:00.000Z',
  channel: 'api',
};

const defineApprovalEvent = (type: string, description: string, example: Pick<ApprovalFacts, 'status' | 'response'>) =>
  defineEvent({
    type,
    description,
    since: '2026-11-23',
    data: approvalData,
    members: {
      id: text('The approval, as `apr_…`.'),
      runId: uuid(),
      workflowId: uuid(),
      workflowName: text(),
      stepId: text(),
      path: {
        type: ['array', 'null'],
        items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        description: 'Where the step stands inside containers; null for a step that stands in none.',
      },
      message: text(),
      actions: listOf(action),
      approvers: listOf(text()),
      status: oneOf([example.status]),
      expiresAt: time(),
      createdAt: time(),
      response: orNull(response),
    },
    example: { ...exampleRequested, ...example },
  });

export const approvalRequested = defineApprovalEvent('approval.requested', 'A run asks for an approval.', {
  status: 'pending',
  response: null,
});
export const approvalAnswered = defineApprovalEvent('approval.answered', 'An approval was answered.', {
  status: 'answered',
  response: exampleResponse,
});
export const approvalExpired = defineApprovalEvent('approval.expired', 'An approval was not answered in time.', {
  status: 'expired',
  response: null,
});
