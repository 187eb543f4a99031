import { OpenAPIHono } from '@hono/zod-openapi';
import { checkSignInCode, personAsked } from '../../../src/accounts/codes.ts';
import { challengeCookie, linkPath } from '../../../src/accounts/core/paths.ts';
import { acceptInvitation, findInvitation } from '../../../src/accounts/invitations.ts';
import { createLink, findLink, isKnownEmail, redeemLink } from '../../../src/accounts/links.ts';
import { hasPassword } from '../../../src/accounts/own-password.ts';
import { createRenewal } from '../../../src/accounts/password-renewals.ts';
import { readEmail } from '../../../src/accounts/people.ts';
import { sqlOn } from '../../../src/platform/database/sql.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { allowScripts, answerPage, asPage, formChecks, showError } from '../../pages/form-page.ts';
import { type Html, joined, problem } from '../../pages/html-page.ts';
import { addressOf, enter, entryOf, headersFor, takeCookies } from './begin-session.ts';
import { nextOf, withNext } from './next.ts';
import { checkFormOrigin, field, maxFormBytes, ownForm } from './own-forms.ts';
import { PageCookie } from './page-cookie.ts';
import { codeForm, invitationForm, linkForm, linkIsDead, linkIsMailed, signInForms } from './page-html.ts';

/** Small pages on which people sign in: server-rendered, and without script. */
export function signInPages(services: Services): OpenAPIHono<ApiEnv> {
  const { accounts, database, background, env } = services;
  const { limits, times, mailer, baseUrl, origin } = accounts;
  const renewal = new PageCookie(accounts.cookie, 'renewal');

  const forms = (c: ApiContext, email = ''): Html => {
    const { hasPasskeys, oidc } = accounts;
    if (hasPasskeys) allowScripts(c);
    return signInForms(email, { next: nextOf(c), provider: oidc?.host, hasPasskeys });
  };
  const form = (c: ApiContext): Promise<URLSearchParams> => ownForm(c, origin);
  const refused = (c: ApiContext, message: string, content: Html) =>
    answerPage(c, 'Sign in', joined(problem(message), content), 401);

  /** After the answer, so that its duration reveals nothing about the account. */
  const mailLink = async (email: string, address: string, next: string): Promise<void> => {
    if (!(await isKnownEmail(database, email))) {
      if (!accounts.mayAnybodySignUp) return;
      await limits.countSignUp('link', address);
    }
    const { token } = await createLink(sqlOn(database.pool), email, times);
    await mailer.send({
      to: email,
      subject: 'Sign in to Atelier',
      text: [
        'Open this link and press the button to sign in. It works once, for a quarter of an hour.',
        '',
        `${baseUrl}${withNext(`${linkPath}/${token}`, next)}`,
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

  routes.get('/sign-in', (c) => answerPage(c, 'Sign in', forms(c)));
  routes.post('/sign-in', ...formChecks(maxFormBytes), async (c) => {
    const fields = await form(c);
    const [email, password] = [field(fields, 'email'), field(fields, 'password')];
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: false });
    const answer = await limits.checkPassword({ email, address: addressOf(c) }, () =>
      auth.api.signInEmail({ body: { email, password }, headers, asResponse: true }),
    );
    if (!answer.ok) return refused(c, 'The address or the password is not right.', forms(c, email));
    takeCookies(c, answer);
    const { twoFactorRedirect } = (await answer.json()) as { twoFactorRedirect?: boolean };
    const next = nextOf(c);
    return twoFactorRedirect ? answerPage(c, 'Sign in', codeForm(next)) : c.redirect(next, 303);
  });
  routes.post('/two-factor', ...formChecks(maxFormBytes), async (c) => {
    const code = field(await form(c), 'code').replaceAll(' ', '');
    const auth = await accounts.auth.get();
    // The challenge alone: a session that the browser has besides is no part of it.
    const asked = {
      body: { code },
      headers: headersFor(c, { withCookies: (name) => name.endsWith(challengeCookie) }),
      asResponse: true,
    } as const;
    const isOfApp = /^\d{6}$/.test(code);
    const userId = await personAsked(database, accounts.cookie.challengeIn(c.req.header('cookie')));
    const answer =
      userId === undefined
        ? undefined
        : await checkSignInCode({ database, limits }, { userId, code }, () =>
            isOfApp ? auth.api.verifyTOTP(asked) : auth.api.verifyBackupCode(asked),
          );
    if (!answer?.ok) return refused(c, 'The code is not right, or the sign-in took too long.', codeForm(nextOf(c)));
    takeCookies(c, answer);
    return c.redirect(nextOf(c), 303);
  });

  routes.post('/link', ...formChecks(maxFormBytes), async (c) => {
    const email = readEmail(field(await form(c), 'email'));
    const [address, next] = [addressOf(c), nextOf(c)];
    if (await limits.mayMailLink(email, address)) {
      background.runAfterAnswer('mail of a sign-in link', () => mailLink(email, address, next));
    }
    return answerPage(c, 'Sign in', linkIsMailed);
  });
  // Fetching a link, as mail scanners do, does not use it up: only the form of its page does.
  routes.get('/link/:token', async (c) => {
    const email = await findLink(database, c.req.param('token'));
    if (email === undefined) return answerPage(c, 'Sign in', linkIsDead, 404);
    return answerPage(c, 'Sign in', linkForm(c.req.param('token'), email, nextOf(c)));
  });
  routes.post('/link/:token', ...formChecks(maxFormBytes), async (c) => {
    checkFormOrigin(c, origin);
    const userId = await redeemLink(database, c.req.param('token'), entryOf(c, accounts));
    if (userId === undefined) return answerPage(c, 'Sign in', linkIsDead, 404);
    if (await hasPassword(database, userId)) {
      const seconds = Math.max(1, Math.ceil(times.linkMs / 1000));
      renewal.keep(c, await createRenewal(database, userId, times), seconds);
    }
    return enter(c, accounts, userId);
  });

  routes.get('/invitations/:token', async (c) => {
    const invitation = await findInvitation(database, c.req.param('token'));
    if (!invitation) return answerPage(c, 'Invitation', linkIsDead, 404);
    return answerPage(c, 'Invitation', invitationForm(c.req.param('token'), invitation));
  });
  routes.post('/invitations/:token', ...formChecks(maxFormBytes), async (c) => {
    checkFormOrigin(c, origin);
    const userId = await acceptInvitation(database, c.req.param('token'), entryOf(c, accounts).origin);
    return userId === undefined ? answerPage(c, 'Invitation', linkIsDead, 404) : enter(c, accounts, userId);
  });
  return routes;
}
