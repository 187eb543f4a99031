import { z } from 'zod';
import { withoutSlash } from '../../platform/core/base-url.ts';
import type { SettingsOf } from '../../platform/env.ts';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';

/** The clients of calendar services, their addresses, and how often calendars are read. */
export const calendarSettings = {
  shape: {
    GOOGLE_CALENDAR_CLIENT_ID: foreignKey.optional(),
    GOOGLE_CALENDAR_CLIENT_SECRET: foreignKey.optional(),
    GOOGLE_CALENDAR_BASE_URL: httpUrl.default('https://www.googleapis.com'),
    GOOGLE_CALENDAR_AUTH_URL: httpUrl.default('https://accounts.google.com/o/oauth2/v2/auth'),
    GOOGLE_CALENDAR_TOKEN_URL: httpUrl.default('https://oauth2.googleapis.com/token'),
    GOOGLE_CALENDAR_REVOKE_URL: httpUrl.default('https://oauth2.googleapis.com/revoke'),
    MICROSOFT_CALENDAR_CLIENT_ID: foreignKey.optional(),
    MICROSOFT_CALENDAR_CLIENT_SECRET: foreignKey.optional(),
    MICROSOFT_CALENDAR_TENANT: z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/, 'expected the id or the domain of a tenant, common, organizations or consumers')
      .default('common'),
    MICROSOFT_CALENDAR_BASE_URL: httpUrl.default('https://graph.microsoft.com/v1.0'),
    MICROSOFT_CALENDAR_AUTH_URL: httpUrl.optional(),
    MICROSOFT_CALENDAR_TOKEN_URL: httpUrl.optional(),
    CALENDAR_SYNC_SECONDS: z.coerce.number().int().min(60).max(86_400).default(900),
    CALENDAR_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(120).default(30),
    CALENDAR_TIME_SCALE: z.coerce.number().min(0.00001).max(1).optional(),
  },
  refusedInProduction: ['CALENDAR_TIME_SCALE'] as const,
};

export type CalendarEnv = SettingsOf<typeof calendarSettings.shape>;

/** Base addresses of the calendar services, without a slash at their ends. */
export const baseUrls = (env: CalendarEnv): { google: string; microsoft: string } => ({
  google: withoutSlash(env.GOOGLE_CALENDAR_BASE_URL),
  microsoft: withoutSlash(env.MICROSOFT_CALENDAR_BASE_URL),
});
