import { OpenAPIHono } from '@hono/zod-openapi';
import { oidcCallbackPath, oidcPath } from '../../../src/accounts/core/paths.ts';
import { OidcFailure } from '../../../src/accounts/oidc.ts';
import { type OidcRefusal, userOfIdentity } from '../../../src/accounts/oidc-identities.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { toOwnName } from '../../own-name.ts';
import { answerPage, asPage, showError } from '../../pages/form-page.ts';
import { requestLog } from '../../requests/request-log.ts';
import { enter, entryOf } from './begin-session.ts';
import { nextOf } from './next.ts';
import { PageCookie } from './page-cookie.ts';
import { providerFailed } from './page-html.ts';

const title = 'Sign in';

const refusals: Record<OidcRefusal, string> = {
  unproved_address: 'The provider has not proved your e-mail address.',
  no_account: 'No account here has your e-mail address. Ask for an invitation.',
};

/** Signing in at an OpenID provider: the way there, and the way back. */
export function oidcRoutes({ accounts, database, env }: Services): OpenAPIHono<ApiEnv> {
  const { oidc } = accounts;
  const routes = new OpenAPIHono<ApiEnv>();
  if (!oidc) return routes;
  const cookie = new PageCookie(accounts.cookie, 'oidc');
  const failed = (c: ApiContext, message: string, status: 400 | 403) =>
    answerPage(c, title, providerFailed(message), status);

  routes.onError(showError);
  const [begin, end] = [oidcPath, oidcCallbackPath].map((path) => path.slice('/api/auth'.length)) as [string, string];
  for (const path of [begin, end]) routes.use(path, asPage, toOwnName(env.PUBLIC_URL));
  routes.get(begin, async (c) => {
    const { state, cookie: value } = oidc.states.begin(nextOf(c));
    const url = await oidc.authorizeUrl(state);
    cookie.keep(c, value, oidc.states.lifeSeconds);
    return c.redirect(url, 302);
  });
  routes.get(end, async (c) => {
    const kept = oidc.states.read(cookie.valueIn(c));
    cookie.end(c);
    if (!kept) return failed(c, 'This sign-in was not begun in this browser, or it took too long.', 400);
    const { searchParams } = new URL(c.req.url);
    try {
      const identity = await oidc.identify(searchParams, kept.state);
      const found = await userOfIdentity(database, identity, entryOf(c, accounts));
      if ('refusal' in found) return failed(c, refusals[found.refusal], 403);
      return await enter(c, accounts, found.userId, kept.next);
    } catch (error) {
      if (!(error instanceof OidcFailure)) throw error;
      requestLog(c).warn({ err: error.cause }, 'an answer of the OpenID provider was refused');
      return failed(c, 'The provider did not sign you in.', 400);
    }
  });
  return routes;
}
