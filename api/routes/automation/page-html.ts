import { html } from 'hono/html';
import type { ApprovalView } from '../../../src/automation/approvals/views.ts';
import { fieldsOf, maxCommentLength } from '../../../src/automation/core/approvals.ts';
import type { Html } from '../../pages/html-page.ts';

/** The question, line by line. */
export const question = ({ workflowName, message, expiresAt, status }: ApprovalView) => html`
      <dl>
        <dt>Workflow</dt><dd>${workflowName}</dd>
        <dt>Question</dt>${message.split('\n').map((line) => html`<dd>${line}</dd>`)}
        ${status === 'pending' ? html`<dt>Until</dt><dd>${expiresAt}</dd>` : ''}
      </dl>`;

const ends = {
  pending: 'waits for an answer',
  answered: 'is answered',
  expired: 'has expired',
  cancelled: 'is cancelled',
} as const;

/** Who decided, and when. */
export function answered({ status, response, actions }: ApprovalView): Html {
  const label = actions.find(({ id }) => id === response?.action)?.label ?? response?.action;
  return html`
      <p>This question ${ends[status]}.</p>
      ${
        response
          ? html`<dl>
        <dt>Answer</dt><dd>${label}</dd>
        <dt>By</dt><dd>${response.respondedBy ?? 'no answer in time'}</dd>
        <dt>At</dt><dd>${response.respondedAt}</dd>
      </dl>`
          : ''
      }`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function field(
  [name, schema]: [string, Record<string, unknown>],
  required: ReadonlySet<unknown>,
  given?: string | null,
) {
  const label = textOf(schema.title) || name;
  const id = `value.${name}`;
  const value = given ?? (schema.default === undefined ? '' : String(schema.default));
  const hint = textOf(schema.description);
  const mark = required.has(name) ? ' *' : '';
  if (schema.type === 'boolean') {
    return html`<p><label><input type="checkbox" name="${id}" value="true"${value === 'true' ? html` checked` : ''}> ${label}</label>${hint}</p>`;
  }
  if (Array.isArray(schema.enum)) {
    const options = schema.enum.map(String);
    return html`<p><label for="${id}">${label}${mark}</label>
        <select id="${id}" name="${id}"><option value=""></option>${options.map(
          (one) => html`<option${one === value ? html` selected` : ''}>${one}</option>`,
        )}</select> ${hint}</p>`;
  }
  const kind = schema.type === 'string' ? 'text' : 'number';
  const step = schema.type === 'number' ? html` step="any"` : '';
  return html`<p><label for="${id}">${label}${mark}</label>
        <input id="${id}" name="${id}" type="${kind}"${step} value="${value}"> ${hint}</p>`;
}

/** @param given what was sent and refused */
export function form(path: string, { form: schema, actions }: ApprovalView, given?: URLSearchParams): Html {
  const required = new Set<unknown>(Array.isArray(schema?.required) ? schema.required : []);
  return html`
      <form method="post" action="${path}">
        ${schema ? fieldsOf(schema).map((one) => field(one, required, given?.get(`value.${one[0]}`))) : ''}
        <p><label for="comment">Comment (optional)</label>
        <textarea id="comment" name="comment" rows="3" maxlength="${maxCommentLength}">${given?.get('comment') ?? ''}</textarea></p>
        <p>${actions.map(({ id, label }) => html`<button type="submit" name="action" value="${id}">${label}</button> `)}</p>
      </form>`;
}
