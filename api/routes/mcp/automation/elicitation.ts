import type { ApprovalView } from '../../../../src/automation/approvals/views.ts';
import { fieldsOf, maxCommentLength } from '../../../../src/automation/core/approvals.ts';

/** The rules of a field that the form of an assistant can express. Other rules are checked in the answer. */
const fieldMembers = ['title', 'description', 'enum', 'default', 'minLength', 'maxLength', 'minimum', 'maximum'];
const formats: readonly unknown[] = ['email', 'uri', 'date', 'date-time'];

const shownField = (schema: Record<string, unknown>) => ({
  type: schema.type,
  ...Object.fromEntries(fieldMembers.filter((name) => name in schema).map((name) => [name, schema[name]])),
  ...(formats.includes(schema.format) && { format: schema.format }),
});

/** The questions to a person about an approval: the values of its form, one of its actions, and a comment. */
export function elicitationOf({ message, actions, form }: ApprovalView) {
  const fields = form ? fieldsOf(form) : [];
  const alwaysAsked = actions.some(({ skipForm }) => skipForm) ? [] : form?.required;
  const required = Array.isArray(alwaysAsked) ? alwaysAsked.filter((name) => typeof name === 'string') : [];
  const action = {
    type: 'string',
    title: 'Action',
    enum: actions.map(({ id }) => id),
    description: actions.map(({ id, label }) => `${id}: ${label}`).join('; '),
  };
  const comment = { type: 'string', title: 'Comment', maxLength: maxCommentLength };
  return {
    method: 'elicitation/create' as const,
    params: {
      mode: 'form' as const,
      message,
      requestedSchema: {
        type: 'object' as const,
        properties: {
          ...Object.fromEntries(fields.map(([name, schema]) => [name, shownField(schema)])),
          action,
          comment,
        },
        required: [...required, 'action'],
      },
    },
  };
}

/** An answer to `elicitationOf`. An action without values ignores values in the answer. */
export function answerOf({ actions, form }: ApprovalView, content: Record<string, unknown>) {
  const { action, comment, ...values } = content;
  const chosen = actions.find(({ id }) => id === action);
  return {
    action: String(action),
    values: chosen?.skipForm || !form ? {} : values,
    comment: typeof comment === 'string' && comment !== '' ? comment : null,
  };
}
