import { OpenAPIHono } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { checkSessionCode, checkSignInCode, personAsked } from '../../../src/accounts/codes.ts';
import {
  addressHeader,
  authPath,
  challengeCookie,
  codeChecks,
  trustedDeviceCookie,
} from '../../../src/accounts/core/paths.ts';
import { changeSecondFactor } from '../../../src/accounts/second-factor.ts';
import type { SignedIn } from '../../../src/accounts/sessions.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { jsonType } from '../../middleware/json-body.ts';
import { addressOf, endOthersIfRenewed, headersFor, signedIn } from './begin-session.ts';
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
const codeBody = z.object({ code: z.string() });
const wrongCode = { code: 'INVALID_CODE', message: 'The code is not right, or it was used before.' };

function readBody<Body>(schema: z.ZodType<Body>, body: string): Body | undefined {
  try {
    return schema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** The address of the account whose password a request proves; undefined if it proves none. */
function accountTried(path: string, body: string, person: SignedIn | undefined): string | undefined {
  if (path === '/sign-in/email') return readBody(signInBody, body)?.email ?? '';
  return ofOwnPassword.has(path) ? person?.email : undefined;
}

/** What a request is, besides what it sends. */
interface Asked {
  path: string;
  body: string | undefined;
  person: SignedIn | undefined;
}

/** The part of better-auth that the console uses: JSON, for its own pages. */
export function betterAuthRoutes({ accounts, database }: Services): OpenAPIHono<ApiEnv> {
  const { cookie, limits, origin, times } = accounts;

  function requestFor(c: ApiContext, { path, body, person }: Asked, withChallenge: boolean): Request {
    const withCookies = (name: string) => {
      // A session that is none to us is none, although better-auth would still know it. No device is trusted.
      if (name === cookie.name) return person !== undefined;
      return !name.endsWith(trustedDeviceCookie) && (withChallenge || !name.endsWith(challengeCookie));
    };
    const headers = headersFor(c, { withCookies });
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

  /** Answers a request with a code: of the person of the session or, without one, of the sign-in that waits for it. */
  async function answerCode(c: ApiContext, asked: Asked): Promise<Response> {
    const auth = await accounts.auth.get();
    const code = readBody(codeBody, asked.body ?? '')?.code;
    const userId = asked.person?.userId ?? (await personAsked(database, cookie.challengeIn(c.req.header('cookie'))));
    if (userId === undefined || code === undefined) {
      // There is nothing to count: nobody is asked for a code, or the body has none that we can read.
      return auth.handler(requestFor(c, { path: asked.path, body: asked.body, person: undefined }, false));
    }
    const ask = () => auth.handler(requestFor(c, asked, true));
    // The code of a session confirms a factor that is being set up.
    const confirm = async () => {
      const answer = await checkSessionCode({ database, limits }, { userId, code }, ask);
      if (answer?.ok) await endOthersIfRenewed(answer, accounts, userId);
      return answer;
    };
    const answer = await (asked.person
      ? changeSecondFactor({ database, times }, userId, confirm)
      : checkSignInCode({ database, limits }, { userId, code }, ask));
    return answer ?? c.json(wrongCode, 401);
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
    // better-auth also reads forms at some paths. The account whose passwords are counted stands in the JSON.
    if (body && !jsonType.test(c.req.header('content-type') ?? '')) {
      throw new AppError('unsupported_media_type', 'Send the body as application/json.');
    }
    const person = await signedIn(c, accounts);
    const asked = { path, body, person };
    if (codeChecks.has(path)) return answerCode(c, asked);
    if (path === '/sign-up/email') await limits.countSignUp('account', addressOf(c));
    const account = accountTried(path, body ?? '', person);
    const auth = await accounts.auth.get();
    const ask = () => auth.handler(requestFor(c, asked, true));
    return account === undefined ? ask() : limits.checkPassword({ email: account, address: addressOf(c) }, ask);
  });
  return routes;
}
