import { passkey } from '@better-auth/passkey';
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { APIError, createAuthEndpoint, createAuthMiddleware } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { organization, twoFactor } from 'better-auth/plugins';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Log } from '../platform/observability/log.ts';
import { addressHeader } from './core/paths.ts';
import type { AccountTimes } from './core/times.ts';
import { hashPassword, maxPasswordLength, minPasswordLength, passwordProblem, verifyPassword } from './passwords.ts';
import type { SessionCookie } from './session-cookie.ts';

export interface AuthOptions {
  /** Connections in the role `auth`. */
  pool: Pool;
  log: Log;
  publicUrl: string;
  secret: string;
  cookie: SessionCookie;
  times: AccountTimes;
  mayAnybodySignUp: boolean;
}

/** Begins a session for a person who has proved who they are in a way of ours. Not served: our pages call it. */
const sessionsOfOurs = {
  id: 'atelier-sessions',
  endpoints: {
    beginSession: createAuthEndpoint(
      '/atelier/begin-session',
      { method: 'POST', metadata: { SERVER_ONLY: true }, body: z.object({ userId: z.uuid() }) },
      async (ctx) => {
        const { internalAdapter } = ctx.context;
        const user = await internalAdapter.findUserById(ctx.body.userId);
        if (!user) throw new APIError('NOT_FOUND');
        // Always a new one: what a browser brought along is no part of it.
        const session = await internalAdapter.createSession(user.id);
        await setSessionCookie(ctx, { session, user });
        return ctx.json({ userId: user.id });
      },
    ),
  },
};

const given = z.object({
  newPassword: z.string().optional(),
  password: z.string().optional(),
  email: z.string().optional(),
});

/** The served paths where a password is chosen, and the field that has it. Our page checks what is chosen there itself. */
const choosing: Record<string, 'password' | 'newPassword'> = {
  '/sign-up/email': 'password',
  '/change-password': 'newPassword',
};

const beforeEach = createAuthMiddleware(async (ctx) => {
  const field = choosing[ctx.path];
  if (!field) return;
  const body = given.safeParse(ctx.body).data;
  const problem = passwordProblem(body?.[field] ?? '', body?.email);
  if (problem) throw new APIError('BAD_REQUEST', { message: problem, code: 'PASSWORD_REFUSED' });
  // Whoever knew the password before is signed out.
  if (ctx.path === '/change-password') return { context: { body: { ...ctx.body, revokeOtherSessions: true } } };
});

/** Passkeys belong to a name: browsers make none for an address. */
const hasPasskeys = (hostname: string) => !/^[\d.]+$|^\[/.test(hostname);

const optionsOf = ({ pool, log, publicUrl, secret, cookie, times, mayAnybodySignUp }: AuthOptions) => {
  const { origin, hostname } = new URL(publicUrl);
  const ofCookies = { secure: cookie.isSecure, sameSite: 'lax', httpOnly: true, path: '/' } as const;
  return {
    appName: 'Atelier',
    baseURL: origin,
    basePath: '/api/auth',
    secret,
    telemetry: { enabled: false },
    trustedOrigins: [origin],
    database: pool,
    logger: {
      level: 'warn',
      log: (level, message) => log[level === 'error' ? 'error' : 'warn']({ message }, 'better-auth reports'),
    },
    // Ours count by address and by account.
    rateLimit: { enabled: false },
    emailAndPassword: {
      enabled: true,
      disableSignUp: !mayAnybodySignUp,
      // The first one-time link proves the address.
      requireEmailVerification: true,
      autoSignIn: false,
      minPasswordLength,
      maxPasswordLength,
      password: { hash: hashPassword, verify: ({ hash, password }) => verifyPassword(hash, password) },
    },
    // How long it goes on without use is decided where sessions are looked up.
    session: { expiresIn: times.sessionMaxMs / 1000, disableSessionRefresh: true, cookieCache: { enabled: false } },
    advanced: {
      database: { generateId: 'uuid' },
      // The prefixes of names are ours.
      useSecureCookies: false,
      cookiePrefix: cookie.isSecure ? '__Host-atelier' : 'atelier',
      cookies: { session_token: { name: cookie.name, attributes: ofCookies } },
      defaultCookieAttributes: ofCookies,
      ipAddress: { ipAddressHeaders: [addressHeader] },
    },
    hooks: { before: beforeEach },
    plugins: [
      sessionsOfOurs,
      organization({ allowUserToCreateOrganization: false }),
      twoFactor({ issuer: 'Atelier' }),
      ...(hasPasskeys(hostname) ? [passkey({ rpID: hostname, rpName: 'Atelier', origin })] : []),
    ],
  } satisfies BetterAuthOptions;
};

/** better-auth with our tables, cookies and passwords. Loading it takes a tenth of a second: only who signs in needs it. */
export const openBetterAuth = (options: AuthOptions) => betterAuth(optionsOf(options));

export type Auth = ReturnType<typeof openBetterAuth>;
