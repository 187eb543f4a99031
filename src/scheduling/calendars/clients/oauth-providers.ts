import type { OAuthProvider } from '../../../connections/index.ts';
import type { CalendarEnv } from '../settings.ts';

const microsoftLogin = 'https://login.microsoftonline.com';

/** The calendar services as OAuth providers. Undefined where the id or the secret of our client is not set. */
export const calendarProviders = (env: CalendarEnv) => ({ google: google(env), microsoft: microsoft(env) });

function google(env: CalendarEnv): OAuthProvider | undefined {
  const { GOOGLE_CALENDAR_CLIENT_ID: clientId, GOOGLE_CALENDAR_CLIENT_SECRET: clientSecret } = env;
  if (clientId === undefined || clientSecret === undefined) return undefined;
  return {
    id: 'google',
    clientId,
    clientSecret,
    pkce: true,
    clientAuth: 'body',
    authorizeUrl: env.GOOGLE_CALENDAR_AUTH_URL,
    tokenUrl: env.GOOGLE_CALENDAR_TOKEN_URL,
    revokeUrl: env.GOOGLE_CALENDAR_REVOKE_URL,
    revokesAccount: true,
    grantsInPart: true,
    scopes: ['https://www.googleapis.com/auth/calendar.events', 'https://www.googleapis.com/auth/calendar.readonly'],
    // Google returns a refresh token for `offline`; for a user who agreed before only if the user is asked again.
    authorizeParameters: { access_type: 'offline', prompt: 'consent' },
  };
}

function microsoft(env: CalendarEnv): OAuthProvider | undefined {
  const { MICROSOFT_CALENDAR_CLIENT_ID: clientId, MICROSOFT_CALENDAR_CLIENT_SECRET: clientSecret } = env;
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const login = `${microsoftLogin}/${env.MICROSOFT_CALENDAR_TENANT}/oauth2/v2.0`;
  return {
    id: 'microsoft',
    clientId,
    clientSecret,
    pkce: true,
    clientAuth: 'body',
    authorizeUrl: env.MICROSOFT_CALENDAR_AUTH_URL ?? `${login}/authorize`,
    tokenUrl: env.MICROSOFT_CALENDAR_TOKEN_URL ?? `${login}/token`,
    scopes: ['offline_access', 'https://graph.microsoft.com/Calendars.ReadWrite'],
    authorizeParameters: { response_mode: 'query' },
  };
}
