import { url } from '../platform/env-types.ts';

export const tenancySettings = { shape: { REDIS_URL: url.optional() } };
