import { OpenAPIHono } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { addressHeader, authPath } from '../../../src/accounts/core/paths.ts';
import type { SignedIn } from '../../../src/accounts/sessions.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { addressOf, headersFor, signedIn } from './begin-session.ts';
import { checkFormOrigin } from './own-forms.ts';

const maxBodyBytes = 64 * 1024;

/** What of better-auth is served. Members and invitations are written by our own operations, which the audit log records. */
const served = new Set([
  'POST /sign-in/email',
  'POST /sign-up/email',
  'POST /sign-out',
  'POST /change-password',
  'POST /update-user',
  'POST /two-factor/verify-totp',
  'POST /two-factor/verify-backup-code',
  'GET /passkey/generate-register-options',
  'POST /passkey/verify-registration',
  'GET /passkey/generate-authenticate-options',
  'POST /passkey/verify-authentication',
  'GET /passkey/list-user-passkeys',
  'POST /passkey/delete-passkey',
  'POST /passkey/update-passkey',
]);

/** The endpoints where a signed-in person proves the own password. */
const ofOwnPassword = new Set([
  '/change-password',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/get-totp-uri',
  '/two-factor/generate-backup-codes',
]);

const notFound = () => new AppError('not_found', 'Nothing exists at this path.');
const signInBody = z.object({ email: z.string() });

function emailOf(body: string): string {
  try {
    return signInBody.safeParse(JSON.parse(body)).data?.email ?? '';
  } catch {
    return '';
  }
}

/** The address of the account whose password a request proves; undefined if it proves none. */
function accountTried(path: string, body: string, person: SignedIn | undefined): string | undefined {
  if (path === '/sign-in/email') return emailOf(body);
  return ofOwnPassword.has(path) ? person?.email : undefined;
}

/** The part of better-auth that the console uses: JSON, for its own pages. */
export function betterAuthRoutes({ accounts }: Services): OpenAPIHono<ApiEnv> {
  const { cookie, limits, origin } = accounts;

  function requestFor(c: ApiContext, path: string, body: string | undefined, person: SignedIn | undefined): Request {
    // A session that was not used for too long is none, although better-auth would still know it.
    const hasEnded = !person && cookie.valueIn(c.req.header('cookie')) !== undefined;
    const headers = headersFor(c, { withCookies: !hasEnded });
    for (const name of ['content-type', 'origin', 'referer', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest']) {
      const value = c.req.header(name);
      if (value !== undefined) headers.set(name, value);
    }
    headers.set(addressHeader, c.get('clientAddress')());
    const { search } = new URL(c.req.url);
    const { method } = c.req;
    return new Request(`${origin}${authPath}${path}${search}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
  }

  const routes = new OpenAPIHono<ApiEnv>();
  const limited = bodyLimit({
    maxSize: maxBodyBytes,
    onError: () => {
      throw new AppError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`, {
        maxBytes: maxBodyBytes,
      });
    },
  });
  routes.on(['GET', 'POST'], '/*', limited, async (c) => {
    const path = c.req.path.slice(authPath.length);
    if (!served.has(`${c.req.method} ${path}`)) throw notFound();
    if (c.req.method === 'POST') checkFormOrigin(c, origin);
    const body = c.req.method === 'POST' ? await c.req.text() : undefined;
    const person = await signedIn(c, accounts);
    if (path === '/sign-up/email') await limits.countSignUp('account', addressOf(c));
    const account = accountTried(path, body ?? '', person);
    const succeeded = account === undefined ? undefined : await limits.beginPassword(account, addressOf(c));
    const auth = await accounts.auth.get();
    const answer = await auth.handler(requestFor(c, path, body, person));
    if (answer.ok) await succeeded?.();
    return answer;
  });
  return routes;
}
