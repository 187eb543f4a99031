import type { Foundation } from '../foundation.ts';
import { withoutSlash } from '../platform/core/base-url.ts';
import { inBatches } from '../platform/database/batches.ts';
import { sqlOn } from '../platform/database/sql.ts';
import { Egress } from '../platform/egress/egress.ts';
import { providerRules } from '../platform/egress/egress-destination.ts';
import { mailSettings } from '../platform/env.ts';
import { type Mailer, openMailer } from '../platform/mail.ts';
import type { Part } from '../platform/parts/part.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import { identityIds, invitationIds, memberIds, userIds } from './core/ids.ts';
import { hasPasskeys } from './core/passkeys.ts';
import { type AccountTimes, accountTimes } from './core/times.ts';
import { accountDeclarations } from './declarations.ts';
import { failPoint } from './fail-points.ts';
import { InvitationMails } from './invitation-mails.ts';
import { LateAuth } from './late-auth.ts';
import type { Oidc } from './oidc.ts';
import { openOidc } from './open-oidc.ts';
import { forgetUnproved } from './people.ts';
import { accountsSecret, SessionCookie } from './session-cookie.ts';
import { Sessions } from './sessions.ts';
import { accountSettings } from './settings.ts';
import { SignInLimits } from './sign-in-limits.ts';

export interface Accounts {
  sessions: Sessions;
  cookie: SessionCookie;
  times: AccountTimes;
  limits: SignInLimits;
  mailer: Mailer;
  invitationMails: InvitationMails;
  /** The key of invitations and cookies; undefined where the installation has none. */
  secret: string | undefined;
  /** Base URL of links, without a slash at its end. */
  baseUrl: string;
  /** The origin of the pages that may write with a session. */
  origin: string;
  mayAnybodySignUp: boolean;
  auth: LateAuth;
  /** Whether browsers make passkeys for the address of this installation. */
  hasPasskeys: boolean;
  /** Undefined where the environment names no provider. */
  oidc: Oidc | undefined;
  providerEgress: Egress;
  /** The namespace in Temporal's web UI, which shows every organization: for operators alone. */
  temporalUrlFor(email: string): string | null;
}

type OperatorSettings = { OPERATOR_EMAILS: string[]; TEMPORAL_UI_URL?: string | undefined; TEMPORAL_NAMESPACE: string };

function temporalUrls({ OPERATOR_EMAILS, TEMPORAL_UI_URL, TEMPORAL_NAMESPACE }: OperatorSettings) {
  if (TEMPORAL_UI_URL === undefined) return () => null;
  const operators = new Set(OPERATOR_EMAILS.map((email) => email.toLowerCase()));
  const url = `${withoutSlash(TEMPORAL_UI_URL)}/namespaces/${encodeURIComponent(TEMPORAL_NAMESPACE)}`;
  return (email: string) => (operators.has(email) ? url : null);
}

export interface AccountServices {
  accounts: Accounts;
}

/** People with their sessions, and the members and invitations of organizations. */
export const accounts: Part<Foundation & TenancyServices, AccountServices, typeof accountSettings.shape> = {
  ...accountDeclarations,
  settings: accountSettings,
  ids: [userIds, memberIds, invitationIds, identityIds],
  failPoints: failPoint.names,
  open({ env, log, database, background, openSessions, windowCounter }) {
    const { PUBLIC_URL: publicUrl, URL_SIGNING_KEY: signingKey, DATABASE_URL: databaseUrl } = env;
    const times = accountTimes(env.ACCOUNTS_TIME_SCALE);
    const secret = signingKey === undefined ? undefined : accountsSecret(signingKey);
    const cookie = new SessionCookie(publicUrl, secret);
    const sessions = new Sessions(database, background, times);
    openSessions.answeredBy((inUse) => sessions.areOpen(inUse));
    const mayAnybodySignUp = env.ACCOUNTS_SIGN_UP === 'open';
    const baseUrl = withoutSlash(publicUrl);
    const mailer = openMailer(mailSettings(env));
    // The operator chooses the address of a provider, as for other providers.
    const providerEgress = new Egress(providerRules(env));
    return {
      accounts: {
        sessions,
        cookie,
        times,
        secret,
        mayAnybodySignUp,
        limits: new SignInLimits(windowCounter, times),
        mailer,
        invitationMails: new InvitationMails({ database, mailer, log, secret, baseUrl }),
        baseUrl,
        providerEgress,
        hasPasskeys: hasPasskeys(new URL(publicUrl).hostname),
        oidc: openOidc(env, { secret, baseUrl, times, egress: providerEgress, log }),
        origin: new URL(publicUrl).origin,
        temporalUrlFor: temporalUrls(env),
        auth: new LateAuth({ databaseUrl, log, publicUrl, secret, cookie, times, mayAnybodySignUp }),
      },
    };
  },
  async close({ accounts: { mailer, auth, providerEgress } }) {
    mailer.close();
    await providerEgress.close();
    await auth.close();
  },
  sweeps: ({ database, accounts: { sessions, invitationMails, times } }) => [
    {
      name: 'mail invitations',
      everyMs: 60_000,
      run: () => invitationMails.mailDue(),
    },
    {
      name: 'remove old sessions, links and invitations',
      everyMs: 60_000,
      run: () => inBatches((limit) => sessions.forgetOld(limit)),
    },
    {
      name: 'remove accounts whose address was not proved',
      everyMs: 3_600_000,
      run: () => inBatches((limit) => forgetUnproved(sqlOn(database.pool), times.unprovedMs, limit)),
    },
  ],
};
