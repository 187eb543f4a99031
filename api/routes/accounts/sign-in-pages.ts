import { OpenAPIHono } from '@hono/zod-openapi';
import { consolePath, linkPath } from '../../../src/accounts/core/paths.ts';
import { acceptInvitation, findInvitation } from '../../../src/accounts/invitations.ts';
import { createLink, findLink, isKnownEmail, redeemLink } from '../../../src/accounts/links.ts';
import { readEmail } from '../../../src/accounts/people.ts';
import { sqlOn } from '../../../src/platform/database/sql.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { answerPage, asPage, formChecks, showError } from '../../pages/form-page.ts';
import { type Html, joined, problem } from '../../pages/html-page.ts';
import { addressOf, beginSession, headersFor, takeCookies } from './begin-session.ts';
import { checkFormOrigin, field, maxFormBytes, ownForm } from './own-forms.ts';
import { codeForm, invitationForm, linkForm, linkIsDead, linkIsMailed, signInForms } from './page-html.ts';

/** Small pages on which people sign in: server-rendered, and without script. */
export function signInPages(services: Services): OpenAPIHono<ApiEnv> {
  const { accounts, database, background, env } = services;
  const { limits, times, mailer, baseUrl, origin } = accounts;

  const enter = async (c: ApiContext, userId: string) => {
    await beginSession(c, accounts, userId);
    return c.redirect(consolePath, 303);
  };
  const form = (c: ApiContext): Promise<URLSearchParams> => ownForm(c, origin);
  const refused = (c: ApiContext, message: string, forms: Html, status: 400 | 401 = 401) =>
    answerPage(c, 'Sign in', joined(problem(message), forms), status);

  /** After the answer: how long it takes says nothing about the account. */
  const mailLink = async (email: string): Promise<void> => {
    if (!accounts.mayAnybodySignUp && !(await isKnownEmail(database, email))) return;
    const { token } = await createLink(sqlOn(database.pool), email, times);
    await mailer.send({
      to: email,
      subject: 'Sign in to Atelier',
      text: [
        'Open this link and press the button to sign in. It works once, for a quarter of an hour.',
        '',
        `${baseUrl}${linkPath}/${token}`,
        '',
        'If you did not ask for it, ignore this mail.',
        '',
      ].join('\n'),
      about: `sign-in ${token}`,
    });
  };

  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  for (const path of ['/sign-in', '/two-factor', '/link', '/link/:token', '/invitations/:token']) {
    routes.use(path, asPage, toOwnName(env.PUBLIC_URL));
  }

  routes.get('/sign-in', (c) => answerPage(c, 'Sign in', signInForms('')));
  routes.post('/sign-in', ...formChecks(maxFormBytes), async (c) => {
    const fields = await form(c);
    const [email, password] = [field(fields, 'email'), field(fields, 'password')];
    const succeeded = limits.beginPassword(email, addressOf(c));
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: false });
    const answer = await auth.api.signInEmail({ body: { email, password }, headers, asResponse: true });
    if (!answer.ok) {
      const forms = signInForms(email);
      return refused(c, 'The address or the password is not right.', forms);
    }
    succeeded();
    takeCookies(c, answer);
    const { twoFactorRedirect } = (await answer.json()) as { twoFactorRedirect?: boolean };
    return twoFactorRedirect ? answerPage(c, 'Sign in', codeForm()) : c.redirect(consolePath, 303);
  });
  routes.post('/two-factor', ...formChecks(maxFormBytes), async (c) => {
    const code = field(await form(c), 'code').replaceAll(' ', '');
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    const answer = await auth.api.verifyTOTP({ body: { code }, headers, asResponse: true });
    if (!answer.ok) return refused(c, 'The code is not right, or too old.', codeForm());
    takeCookies(c, answer);
    return c.redirect(consolePath, 303);
  });

  routes.post('/link', ...formChecks(maxFormBytes), async (c) => {
    const email = readEmail(field(await form(c), 'email'));
    if (limits.mayMailLink(email, addressOf(c))) {
      background.runAfterAnswer('mail of a sign-in link', () => mailLink(email));
    }
    return answerPage(c, 'Sign in', linkIsMailed);
  });
  // Whatever fetches a link, a scanner of mails too, uses nothing up: only the form of its page does.
  routes.get('/link/:token', async (c) => {
    const email = await findLink(database, c.req.param('token'));
    if (email === undefined) return answerPage(c, 'Sign in', linkIsDead, 404);
    return answerPage(c, 'Sign in', linkForm(c.req.param('token'), email));
  });
  routes.post('/link/:token', ...formChecks(maxFormBytes), async (c) => {
    checkFormOrigin(c, origin);
    const userId = await redeemLink(database, c.req.param('token'));
    return userId === undefined ? answerPage(c, 'Sign in', linkIsDead, 404) : enter(c, userId);
  });

  routes.get('/invitations/:token', async (c) => {
    const invitation = await findInvitation(database, c.req.param('token'));
    if (!invitation) return answerPage(c, 'Invitation', linkIsDead, 404);
    return answerPage(c, 'Invitation', invitationForm(c.req.param('token'), invitation));
  });
  routes.post('/invitations/:token', ...formChecks(maxFormBytes), async (c) => {
    checkFormOrigin(c, origin);
    const userId = await acceptInvitation(database, c.req.param('token'));
    return userId === undefined ? answerPage(c, 'Invitation', linkIsDead, 404) : enter(c, userId);
  });
  return routes;
}
