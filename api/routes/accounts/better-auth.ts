import { OpenAPIHono } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { addressHeader, authPath } from '../../../src/accounts/core/paths.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { addressOf, headersFor } from './begin-session.ts';

const maxBodyBytes = 64 * 1024;

/** What of better-auth is served. Members and invitations are written by our own operations, which the audit log records. */
const served = new Set([
  'POST /sign-in/email',
  'POST /sign-up/email',
  'POST /sign-out',
  'POST /change-password',
  'POST /update-user',
  'POST /two-factor/enable',
  'POST /two-factor/disable',
  'POST /two-factor/get-totp-uri',
  'POST /two-factor/verify-totp',
  'POST /two-factor/verify-backup-code',
  'POST /two-factor/generate-backup-codes',
  'GET /passkey/generate-register-options',
  'POST /passkey/verify-registration',
  'GET /passkey/generate-authenticate-options',
  'POST /passkey/verify-authentication',
  'GET /passkey/list-user-passkeys',
  'POST /passkey/delete-passkey',
  'POST /passkey/update-passkey',
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

/** The part of better-auth that the console uses: JSON, for its own pages. */
export function betterAuthRoutes({ accounts }: Services): OpenAPIHono<ApiEnv> {
  const { sessions, cookie, limits, origin } = accounts;

  /** A session that was not used for too long is none, although better-auth would still know it. */
  async function hasEnded(c: ApiContext): Promise<boolean> {
    const value = cookie.valueIn(c.req.header('cookie'));
    const token = value === undefined ? undefined : cookie.tokenOf(value);
    return value !== undefined && (token === undefined || !(await sessions.find(token)));
  }

  async function requestFor(c: ApiContext, path: string, body: string | undefined): Promise<Request> {
    const headers = headersFor(c, { withCookies: !(await hasEnded(c)) });
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
    const body = c.req.method === 'POST' ? await c.req.text() : undefined;
    const isPassword = path === '/sign-in/email';
    const succeeded = isPassword ? limits.beginPassword(emailOf(body ?? ''), addressOf(c)) : undefined;
    const auth = await accounts.auth.get();
    const answer = await auth.handler(await requestFor(c, path, body));
    if (answer.ok) succeeded?.();
    return answer;
  });
  return routes;
}
