import type { Egress } from '../platform/egress/egress.ts';
import { EnvError } from '../platform/env.ts';
import type { Log } from '../platform/observability/log.ts';
import { oidcCallbackPath } from './core/paths.ts';
import type { AccountTimes } from './core/times.ts';
import { Oidc } from './oidc.ts';

interface OidcSettings {
  OIDC_ISSUER?: string | undefined;
  OIDC_CLIENT_ID?: string | undefined;
  OIDC_CLIENT_SECRET?: string | undefined;
}

/** The provider at which people sign in, if the environment names one. @throws EnvError where a part of the settings is missing */
export function openOidc(
  { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret }: OidcSettings,
  of: { secret: string | undefined; baseUrl: string; times: AccountTimes } & { egress: Egress; log: Log },
): Oidc | undefined {
  const given = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    const missing = Object.entries(given).filter(([, value]) => value === undefined);
    throw new EnvError(`The environment is invalid:\n${missing.map(([name]) => `  ${name}: is not set`).join('\n')}`);
  }
  // There is no sign-in to an installation without a signing key.
  if (of.secret === undefined) return undefined;
  const { secret, baseUrl, times, egress, log } = of;
  const redirectUri = `${baseUrl}${oidcCallbackPath}`;
  return new Oidc({ issuer, clientId, clientSecret, redirectUri, secret, stateMs: times.secondStepMs, egress, log });
}
