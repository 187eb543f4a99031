import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import { AddressLimiter } from './address-limiter.ts';
import { Authenticator } from './authenticate.ts';
import { keyIds, organizationIds } from './core/ids.ts';
import { ApiKey, Organization, UsageMonth } from './entities.ts';
import { KeyCache } from './key-cache.ts';
import { MemoryRateLimiter, type RateLimiter } from './rate-limiter.ts';
import { RedisRateLimiter } from './redis-rate-limiter.ts';
import { tenancySettings } from './settings.ts';
import { RequestCounter } from './usage.ts';

const failedAuthenticationsPerMinute = 100;

export interface TenancyServices {
  authenticator: Authenticator;
  /** Counts the requests of each organization and environment. */
  limiter: RateLimiter;
  /** Undefined without Redis; limits are then counted per process. */
  redisLimiter: RedisRateLimiter | undefined;
  /** Counts failed authentications by network address. */
  failedAuthentications: AddressLimiter;
  requestCounter: RequestCounter;
}

/** Organizations, their keys, limits and usage. */
export const tenancy: Part<Foundation, TenancyServices, typeof tenancySettings.shape> = {
  name: 'tenancy',
  entities: [Organization, ApiKey, UsageMonth],
  settings: tenancySettings,
  ids: [organizationIds, keyIds],
  auditActions: {
    'organization.create': organizationIds,
    'organization.update': organizationIds,
    'api_key.create': keyIds,
    'api_key.revoke': keyIds,
  },
  open({ env, log, database, notifications, background }) {
    const redisLimiter = env.REDIS_URL === undefined ? undefined : new RedisRateLimiter(env.REDIS_URL, log);
    return {
      authenticator: new Authenticator(database, new KeyCache(notifications), background),
      limiter: redisLimiter ?? new MemoryRateLimiter(),
      redisLimiter,
      failedAuthentications: new AddressLimiter(failedAuthenticationsPerMinute, 60),
      requestCounter: new RequestCounter(database, log),
    };
  },
  start({ redisLimiter, requestCounter }) {
    redisLimiter?.start();
    requestCounter.start();
  },
  async close({ redisLimiter, requestCounter }) {
    await requestCounter.stop();
    redisLimiter?.stop();
  },
};
