import { OpenAPIHono } from '@hono/zod-openapi';
import { hasPassword } from '../../../src/accounts/own-password.ts';
import { mayRenew, renewPassword } from '../../../src/accounts/password-renewals.ts';
import { passwordProblem } from '../../../src/accounts/passwords.ts';
import type { SignedIn } from '../../../src/accounts/sessions.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { answerPage, asPage, formChecks, showError } from '../../pages/form-page.ts';
import { joined, problem } from '../../pages/html-page.ts';
import { addressOf, headersFor, signedIn, takeCookies, toSignIn } from './begin-session.ts';
import { field, maxFormBytes, ownForm } from './own-forms.ts';
import { PageCookie } from './page-cookie.ts';
import { type PasswordProof, passwordForm, passwordIsSet } from './page-html.ts';

const title = 'Your password';

/** Where a signed-in person sets a first password, changes it, or replaces a forgotten one. */
export function passwordPage({ accounts, database, env }: Services): OpenAPIHono<ApiEnv> {
  const { limits, origin } = accounts;
  const renewal = new PageCookie(accounts.cookie, 'renewal');

  const refused = (c: ApiContext, message: string, asked: PasswordProof) =>
    answerPage(c, title, joined(problem(message), passwordForm(asked)), 400);
  /** What proves that the person may choose a password. */
  const proofOf = async (c: ApiContext, person: SignedIn): Promise<PasswordProof> => {
    if (!(await hasPassword(database, person.userId))) return 'none';
    return (await mayRenew(database, person, renewal.valueIn(c))) ? 'link' : 'password';
  };

  /** @returns whether the current password is right */
  const change = async (c: ApiContext, { email }: SignedIn, currentPassword: string, newPassword: string) => {
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    const body = { currentPassword, newPassword, revokeOtherSessions: true };
    const answer = await limits.checkPassword({ email, address: addressOf(c) }, () =>
      auth.api.changePassword({ body, headers, asResponse: true }),
    );
    if (!answer.ok) return false;
    takeCookies(c, answer);
    return true;
  };
  /** @returns whether there was none yet */
  const set = async (c: ApiContext, { userId }: SignedIn, newPassword: string) => {
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    try {
      return (await auth.api.setPassword({ body: { newPassword }, headers, asResponse: true })).ok;
    } catch (error) {
      // The database refuses the second of two at the same moment.
      if (await hasPassword(database, userId)) return false;
      throw error;
    }
  };

  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  routes.use('/password', asPage, toOwnName(env.PUBLIC_URL));
  routes.get('/password', async (c) => {
    const person = await signedIn(c, accounts);
    if (!person) return toSignIn(c);
    return answerPage(c, title, passwordForm(await proofOf(c, person)));
  });
  routes.post('/password', ...formChecks(maxFormBytes), async (c) => {
    const fields = await ownForm(c, origin);
    const person = await signedIn(c, accounts);
    if (!person) return toSignIn(c);
    const asked = await proofOf(c, person);
    const newPassword = field(fields, 'newPassword');
    const reason = passwordProblem(newPassword, person.email);
    if (reason !== undefined) return refused(c, reason, asked);
    if (asked === 'link') {
      const token = renewal.valueIn(c)!;
      if (!(await renewPassword(database, person, { token, newPassword }))) {
        return refused(c, 'The link was opened too long ago.', 'password');
      }
      renewal.end(c);
    } else if (asked === 'password') {
      const isChanged = await change(c, person, field(fields, 'currentPassword'), newPassword);
      if (!isChanged) return refused(c, 'The current password is not right.', asked);
    } else if (!(await set(c, person, newPassword))) {
      return refused(c, 'A password was set in the meantime.', 'password');
    }
    return answerPage(c, title, passwordIsSet(asked !== 'none'));
  });
  return routes;
}
