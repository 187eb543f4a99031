import { OpenAPIHono } from '@hono/zod-openapi';
import { type ApprovalPage, checkToken, findPage } from '../../../src/automation/approvals/approval-pages.ts';
import { respond } from '../../../src/automation/approvals/respond.ts';
import { maxCommentLength, readFields } from '../../../src/automation/core/approvals.ts';
import { AppError, invalid } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import { AddressLimiter } from '../../../src/tenancy/address-limiter.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { statusOf } from '../../envelopes.ts';
import { answerPage, asPage, formChecks, readForm, showError, typedText } from '../../pages/form-page.ts';
import { joined, problem } from '../../pages/html-page.ts';
import { answered, form, question } from './page-html.ts';

const requestsPerMinute = 30;
const maxFormBytes = 64 * 1024;
/** The form of a page has a field for each property, the action and the comment. */
const maxFields = 32;

/** A refusal of the sent form, after which the page is shown again. */
const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && (error.kind === 'validation_error' || error.kind === 'conflict');

function sentenceOf(error: AppError): string {
  const errors = (error.facts?.errors ?? []) as { path: string; message: string }[];
  return errors.length === 0 ? error.message : errors.map(({ path, message }) => `${path}: ${message}`).join(' ');
}

export function approvalPageRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const limiter = new AddressLimiter(requestsPerMinute, 60);
  const { database } = services;

  async function open(c: ApiContext): Promise<ApprovalPage> {
    const token = c.req.param('token')!;
    // Only what could be a token is remembered.
    checkToken(token);
    limiter.take(token);
    return findPage(database, token, c.get('correlationId'));
  }

  function show(c: ApiContext, { approval }: ApprovalPage, refusal?: AppError, given?: URLSearchParams) {
    const asked = question(approval);
    const path = `/a/${c.req.param('token')}`;
    if (approval.status !== 'pending') return answerPage(c, 'Decided', joined(answered(approval), asked));
    const shown = joined(asked, form(path, approval, given));
    if (!refusal) return answerPage(c, 'Your answer', shown);
    return answerPage(c, 'Your answer', joined(problem(sentenceOf(refusal)), shown), statusOf(refusal));
  }

  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  routes.use('/:token', asPage);

  routes.get('/:token', async (c) => show(c, await open(c)));
  routes.post('/:token', ...formChecks(maxFormBytes), async (c) => {
    const page = await open(c);
    const { scope, address, approval } = page;
    const fields = await readForm(c, maxFields);
    const action = approval.actions.find(({ id }) => id === fields.get('action'));
    const comment = typedText(fields, 'comment');
    const values =
      approval.form && !action?.skipForm ? readFields(approval.form, (name) => fields.get(`value.${name}`)) : {};
    try {
      if ([...comment].length > maxCommentLength) {
        throw invalid([{ path: 'comment', message: `Expected at most ${maxCommentLength} characters.` }]);
      }
      await respond(services, scope, approval.approvalId, {
        action: action?.id ?? '',
        values,
        comment: comment === '' ? null : comment,
        respondedBy: `email:${address}`,
        channel: 'mail',
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const now = await findPage(database, c.req.param('token')!, c.get('correlationId'));
      return show(c, now, error, fields);
    }
    return c.redirect(`/a/${c.req.param('token')}`, 303);
  });
  return routes;
}
