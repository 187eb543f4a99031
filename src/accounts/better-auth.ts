import { passkey } from '@better-auth/passkey';
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { APIError, createAuthEndpoint, createAuthMiddleware, isAPIError } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { generateRandomString } from 'better-auth/crypto';
import { organization, twoFactor } from 'better-auth/plugins';
import type { Pool } from 'pg';
import { z } from 'zod';
import { clock } from '../platform/clock.ts';
import type { Log } from '../platform/observability/log.ts';
import { hasPasskeys } from './core/passkeys.ts';
import { addressHeader, challengeCookie, codeChecks } from './core/paths.ts';
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

/** Begins a session for a person whose identity our own code has verified. Not served: our pages call it. */
const sessionsOfOurs = (challengeMs: number) => ({
  id: 'atelier-sessions',
  endpoints: {
    beginSession: createAuthEndpoint(
      '/atelier/begin-session',
      { method: 'POST', metadata: { SERVER_ONLY: true }, body: z.object({ userId: z.uuid() }) },
      async (ctx) => {
        const { internalAdapter, secret } = ctx.context;
        const user = await internalAdapter.findUserById(ctx.body.userId);
        if (!user) throw new APIError('NOT_FOUND');
        if ((user as { twoFactorEnabled?: boolean | null }).twoFactorEnabled) {
          // The challenge of the plugin, which requests it only after passwords: its own pages end this one too.
          const identifier = `2fa-${generateRandomString(20)}`;
          const expiresAt = new Date(clock.now() + challengeMs);
          await internalAdapter.createVerificationValue({ value: user.id, identifier, expiresAt });
          await internalAdapter.createVerificationValue({
            value: '0',
            identifier: `2fa-attempts-${identifier}`,
            expiresAt,
          });
          const cookie = ctx.context.createAuthCookie(challengeCookie, { maxAge: secondsOf(challengeMs) });
          await ctx.setSignedCookie(cookie.name, identifier, secret, cookie.attributes);
          return ctx.json({ needsCode: true });
        }
        // Always a new one, without anything that the browser sent.
        const session = await internalAdapter.createSession(user.id);
        await setSessionCookie(ctx, { session, user });
        return ctx.json({ needsCode: false });
      },
    ),
  },
});

const secondsOf = (ms: number) => Math.max(1, Math.ceil(ms / 1000));

/** Passkeys of one person. */
const maxPasskeys = 20;

const unverifiedPerson = () =>
  new APIError('BAD_REQUEST', { message: 'The passkey must ask for your finger, face or PIN.', code: 'NOT_VERIFIED' });

/** A passkey is the only proof of a sign-in, so it must be two factors by itself. The plugin does not require that. */
const passkeys = (hostname: string, origin: string) =>
  passkey({
    rpID: hostname,
    rpName: 'Atelier',
    origin,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    registration: {
      async afterVerification({ ctx, verification, user }) {
        if (!verification.registrationInfo?.userVerified) throw unverifiedPerson();
        const where = [{ field: 'userId', value: user.id }];
        if ((await ctx.context.adapter.count({ model: 'passkey', where })) < maxPasskeys) return;
        const message = `A person has at most ${maxPasskeys} passkeys.`;
        throw new APIError('BAD_REQUEST', { message, code: 'TOO_MANY_PASSKEYS' });
      },
    },
    authentication: {
      async afterVerification({ verification }) {
        if (!verification.authenticationInfo.userVerified) throw unverifiedPerson();
      },
    },
  });

const given = z.object({
  newPassword: z.string().optional(),
  password: z.string().optional(),
  email: z.string().optional(),
});

/** The served paths that set a password, and its field. Our own page checks the passwords that it sets itself. */
const choosing: Record<string, 'password' | 'newPassword'> = {
  '/sign-up/email': 'password',
  '/change-password': 'newPassword',
};

/** Lists of members show a hundred names in one answer. */
const maxNameLength = 200;
const isStorable = (text: string) => !text.includes('\0');
/** The profile data of a person. */
const shown = z.object({
  name: z.string().max(maxNameLength).refine(isStorable).optional(),
  image: z.string().max(2_000).refine(isStorable).nullish(),
});
const naming = new Set(['/sign-up/email', '/update-user']);

const beforeEach = createAuthMiddleware(async (ctx) => {
  if (naming.has(ctx.path) && !shown.safeParse(ctx.body).success) {
    const message = `A name has at most ${maxNameLength} characters, and the address of a picture 2,000.`;
    throw new APIError('BAD_REQUEST', { message, code: 'NAME_REFUSED' });
  }
  // The device that it would trust needs no code for a month, whatever happens to the second factor.
  if (codeChecks.has(ctx.path)) return { context: { body: { ...ctx.body, trustDevice: false } } };
  const field = choosing[ctx.path];
  if (!field) return;
  const body = given.safeParse(ctx.body).data;
  const problem = passwordProblem(body?.[field] ?? '', body?.email);
  if (problem) throw new APIError('BAD_REQUEST', { message: problem, code: 'PASSWORD_REFUSED' });
  // Sessions that began with the earlier password end.
  if (ctx.path === '/change-password') return { context: { body: { ...ctx.body, revokeOtherSessions: true } } };
});

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
    onAPIError: {
      // Any error but a refusal is for whoever called better-auth: it would be answered with 500 and no body.
      onError(error) {
        if (!isAPIError(error)) throw error;
        if (error.statusCode >= 500) log.error({ message: error.message }, 'better-auth reports');
      },
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
      // It counts UTF-16 units, of which a character has up to two. Our own check counts characters, and precedes it.
      maxPasswordLength: 2 * maxPasswordLength,
      password: { hash: hashPassword, verify: ({ hash, password }) => verifyPassword(hash, password) },
    },
    // The lookup of sessions decides how long it lives without use.
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
      sessionsOfOurs(times.secondStepMs),
      organization({ allowUserToCreateOrganization: false }),
      // A person without a password proves a code instead, on our page.
      twoFactor({ issuer: 'Atelier', allowPasswordless: true, twoFactorCookieMaxAge: secondsOf(times.secondStepMs) }),
      ...(hasPasskeys(hostname) ? [passkeys(hostname, origin)] : []),
    ],
  } satisfies BetterAuthOptions;
};

/** better-auth with our tables, cookies and passwords. Loading it takes a tenth of a second: only who signs in needs it. */
export const openBetterAuth = (options: AuthOptions) => betterAuth(optionsOf(options));

export type Auth = ReturnType<typeof openBetterAuth>;
