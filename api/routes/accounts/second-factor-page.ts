import { OpenAPIHono } from '@hono/zod-openapi';
import { checkSessionCode } from '../../../src/accounts/codes.ts';
import { secondFactorPath } from '../../../src/accounts/core/paths.ts';
import { hasPassword } from '../../../src/accounts/own-password.ts';
import { changeSecondFactor, hasSecondFactor } from '../../../src/accounts/second-factor.ts';
import type { SignedIn } from '../../../src/accounts/sessions.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { answerPage, asPage, formChecks, showError } from '../../pages/form-page.ts';
import { type Html, joined, problem } from '../../pages/html-page.ts';
import { addressOf, endOthersIfRenewed, headersFor, signedIn, takeCookies, toSignIn } from './begin-session.ts';
import { field, maxFormBytes, ownForm } from './own-forms.ts';
import { confirmForm, factorIsChanged, newBackupCodes, secondFactorForms, secondFactorSetup } from './page-html.ts';

const title = 'Your second factor';

/** The request of a form of the page, and its proof. */
interface Asked {
  person: SignedIn;
  hasPassword: boolean;
  password: string;
  code: string;
}

/** Where a person sets up a second factor, creates new backup codes and turns it off. */
export function secondFactorPage({ accounts, database, env }: Services): OpenAPIHono<ApiEnv> {
  const { limits, origin, times } = accounts;

  const stateOf = async ({ userId }: SignedIn) => {
    const [isOn, has] = await Promise.all([hasSecondFactor(database, userId), hasPassword(database, userId)]);
    return { isOn, hasPassword: has };
  };
  const refused = (c: ApiContext, message: string, forms: Html, status: 400 | 409 = 400) =>
    answerPage(c, title, joined(problem(message), forms), status);

  /** Checks a code of the session's person. The session is another one afterwards where it turns the factor on. */
  const isRight = async (c: ApiContext, { person: { userId }, code }: Asked): Promise<boolean> => {
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    const answer = await checkSessionCode({ database, limits }, { userId, code }, () =>
      auth.api.verifyTOTP({ body: { code }, headers, asResponse: true }),
    );
    if (!answer?.ok) return false;
    takeCookies(c, answer);
    await endOthersIfRenewed(answer, accounts, userId);
    return true;
  };
  /** A person without a password proves a code: better-auth would require neither. */
  const isProved = async (c: ApiContext, asked: Asked) => asked.hasPassword || isRight(c, asked);
  const passwordIn = ({ hasPassword: has, password }: Asked) => (has ? { password } : {});

  const begin = async (c: ApiContext, asked: Asked): Promise<Response | undefined> => {
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    const answer = await auth.api.enableTwoFactor({ body: passwordIn(asked), headers, asResponse: true });
    if (!answer.ok) return undefined;
    const { totpURI, backupCodes } = (await answer.json()) as { totpURI: string; backupCodes: string[] };
    const secret = new URL(totpURI).searchParams.get('secret')!;
    return answerPage(c, title, secondFactorSetup(secret, totpURI, backupCodes));
  };
  const makeCodes = async (c: ApiContext, asked: Asked): Promise<Response | undefined> => {
    if (!(await isProved(c, asked))) return undefined;
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    const answer = await auth.api.generateBackupCodes({ body: passwordIn(asked), headers, asResponse: true });
    if (!answer.ok) return undefined;
    const { backupCodes } = (await answer.json()) as { backupCodes: string[] };
    return answerPage(c, title, newBackupCodes(backupCodes));
  };
  const disable = async (c: ApiContext, asked: Asked): Promise<Response | undefined> => {
    if (!(await isProved(c, asked))) return undefined;
    const auth = await accounts.auth.get();
    const headers = headersFor(c, { withCookies: true });
    const answer = await auth.api.disableTwoFactor({ body: passwordIn(asked), headers, asResponse: true });
    if (!answer.ok) return undefined;
    takeCookies(c, answer);
    return answerPage(c, title, factorIsChanged(false));
  };
  const confirm = async (c: ApiContext, asked: Asked): Promise<Response | undefined> =>
    (await isRight(c, asked)) ? answerPage(c, title, factorIsChanged(true)) : undefined;

  /** By whether the factor is on: the request of an outdated page is answered with the current page. */
  const actions = {
    off: { begin, confirm },
    on: { codes: makeCodes, off: disable },
  };

  const answerForm = async (c: ApiContext, person: SignedIn, fields: URLSearchParams): Promise<Response> => {
    const state = await stateOf(person);
    const name = field(fields, 'action');
    const possible: Record<string, typeof begin> = state.isOn ? actions.on : actions.off;
    const act = Object.hasOwn(possible, name) ? possible[name] : undefined;
    if (!act && name === 'confirm') {
      // The key of this window may be another one.
      const message = 'The second factor is on already. Only the key that was confirmed works.';
      return refused(c, message, secondFactorForms(state), 409);
    }
    if (!act) return answerPage(c, title, secondFactorForms(state));
    const code = field(fields, 'code').replaceAll(' ', '');
    const asked = { person, hasPassword: state.hasPassword, password: field(fields, 'password'), code };
    // A session that was stolen is no way to guess passwords and codes.
    const tried = { email: person.email, address: addressOf(c) };
    const answer = await limits.checkPassword(tried, () => act(c, asked));
    if (answer) return answer;
    if (name === 'confirm') return refused(c, 'The code is not right, or too old.', confirmForm());
    return refused(c, 'The password or the code is not right.', secondFactorForms(state));
  };

  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  const path = secondFactorPath.slice(secondFactorPath.lastIndexOf('/'));
  routes.use(path, asPage, toOwnName(env.PUBLIC_URL));
  routes.get(path, async (c) => {
    const person = await signedIn(c, accounts);
    return person ? answerPage(c, title, secondFactorForms(await stateOf(person))) : toSignIn(c);
  });
  routes.post(path, ...formChecks(maxFormBytes), async (c) => {
    const fields = await ownForm(c, origin);
    const person = await signedIn(c, accounts);
    if (!person) return toSignIn(c);
    return changeSecondFactor({ database, times }, person.userId, () => answerForm(c, person, fields));
  });
  return routes;
}
