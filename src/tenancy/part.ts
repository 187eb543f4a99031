import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Part } from '../platform/parts/part.ts';
import { AddressLimits } from './address-limits.ts';
import { forgetEndedKeys } from './administration/ended-keys.ts';
import { maxKeys } from './administration/own-keys.ts';
import { Authenticator } from './authenticate.ts';
import { keyIds, organizationIds } from './core/ids.ts';
import { overridePlans } from './core/plan-limits.ts';
import { tenancyDeclarations } from './declarations.ts';
import { ApiKey, MailDay, Organization, UsageCount, UsageMonth } from './entities.ts';
import { FailedAuthentications } from './failed-authentications.ts';
import { KeyChanges } from './key-changes.ts';
import { forgetOldMails } from './mails.ts';
import { MemoryOpenCounter } from './open-counter.ts';
import { OpenRequests } from './open-requests.ts';
import { OpenSessions } from './open-sessions.ts';
import { MemoryRateLimiter, type RateLimiter } from './rate-limiter.ts';
import { ReadSlots } from './read-slots.ts';
import type { RedisRateLimiter } from './redis-rate-limiter.ts';
import { tenancySettings } from './settings.ts';
import { TenantEnds } from './tenant-ends.ts';
import { BrowserToken } from './tokens/entities.ts';
import { forgetEndedTokens } from './tokens/forget-tokens.ts';
import { TokenAuthenticator } from './tokens/token-authenticator.ts';
import { forgetOldCounts } from './usage/usage-groups.ts';
import { forgetOldUsage } from './usage/usage-months.ts';
import { UseCounter } from './usage/use-counter.ts';
import { MemoryWindowCounter, type WindowCounter } from './windows/window-counter.ts';

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** The client of Redis is loaded only where there is one. */
async function countersInRedis(url: string, log: Log) {
  const [limiter, counter, windows] = await Promise.all([
    import('./redis-rate-limiter.ts'),
    import('./redis-open-counter.ts'),
    import('./windows/redis-window-counter.ts'),
  ]);
  const redisLimiter = new limiter.RedisRateLimiter(url, log);
  const { redis } = redisLimiter;
  return {
    redisLimiter,
    counter: new counter.RedisOpenCounter(redis),
    windowCounter: new windows.RedisWindowCounter(redis),
  };
}

export interface TenancyServices {
  authenticator: Authenticator;
  tokenAuthenticator: TokenAuthenticator;
  /** Counts the requests of each organization and environment. */
  limiter: RateLimiter;
  /** Undefined without Redis; limits are then counted per process. */
  redisLimiter: RedisRateLimiter | undefined;
  /** Counts requests with a window of their own, such as attempts to sign in. */
  windowCounter: WindowCounter;
  /** Counts failed authentications by network address. */
  failedAuthentications: FailedAuthentications;
  /** Counts requests without a proof, by network address. */
  addressLimits: AddressLimits;
  useCounter: UseCounter;
  readSlots: ReadSlots;
  openRequests: OpenRequests;
  openSessions: OpenSessions;
  tenantEnds: TenantEnds;
}

/** Organizations, their keys, limits and usage. */
export const tenancy: Part<Foundation, TenancyServices, typeof tenancySettings.shape> = {
  ...tenancyDeclarations,
  entities: [Organization, ApiKey, BrowserToken, UsageMonth, UsageCount, MailDay],
  rowBounds: {
    organization: { operatorsOnly: true },
    usage_count: { retention: { by: 'remove old counts of use', after: '400 days' } },
    usage_month: { retention: { by: 'remove old usage', after: '36 months' } },
    mail_day: { retention: { by: 'remove old counts of mails', after: '31 days' } },
    browser_token: { retention: { by: 'remove ended tokens', after: 'a day after their end' } },
    api_key: { max: { rows: maxKeys, of: 'organization' } },
  },
  settings: tenancySettings,
  ids: [organizationIds, keyIds],
  async open({ env, log, database, notifications, background, draining }) {
    if (env.PLAN_LIMITS) overridePlans(env.PLAN_LIMITS);
    const shared = env.REDIS_URL === undefined ? undefined : await countersInRedis(env.REDIS_URL, log);
    const redisLimiter = shared?.redisLimiter;
    const counter = shared?.counter ?? new MemoryOpenCounter();
    const changes = new KeyChanges(notifications);
    const openSessions = new OpenSessions();
    const windowCounter = shared?.windowCounter ?? new MemoryWindowCounter();
    return {
      authenticator: new Authenticator(database, changes, background),
      tokenAuthenticator: new TokenAuthenticator(database, changes, openSessions),
      limiter: redisLimiter ?? new MemoryRateLimiter(),
      redisLimiter,
      windowCounter,
      addressLimits: new AddressLimits(env.ADDRESS_RATE_MAX, windowCounter),
      failedAuthentications: new FailedAuthentications(),
      tenantEnds: new TenantEnds(),
      useCounter: new UseCounter(database, log),
      readSlots: new ReadSlots(),
      openSessions,
      openRequests: new OpenRequests({
        database,
        changes,
        counter,
        sessions: openSessions,
        draining: draining.signal,
      }),
    };
  },
  sweeps: ({ database }) => [
    {
      name: 'remove ended tokens',
      everyMs: hourMs,
      run: () => inBatches((limit) => forgetEndedTokens(database, limit)),
    },
    {
      name: 'remove keys that ended long ago',
      everyMs: 600_000,
      run: () => inBatches((limit) => forgetEndedKeys(database, limit)),
    },
    {
      name: 'remove old counts of use',
      everyMs: dayMs,
      run: () => inBatches((limit) => forgetOldCounts(database, limit)),
    },
    { name: 'remove old usage', everyMs: dayMs, run: () => inBatches((limit) => forgetOldUsage(database, limit)) },
    {
      name: 'remove old counts of mails',
      everyMs: dayMs,
      run: () => inBatches((limit) => forgetOldMails(database, limit)),
    },
  ],
  start({ redisLimiter, useCounter }) {
    redisLimiter?.start();
    useCounter.start();
  },
  async close({ redisLimiter, useCounter }) {
    await useCounter.stop();
    redisLimiter?.stop();
  },
};
