import { z } from 'zod';
import { url } from '../platform/env-types.ts';
import { planLimitsVariable } from './plans/plan-limits.ts';

export const tenancySettings = {
  shape: {
    REDIS_URL: url.optional(),
    PLAN_LIMITS: planLimitsVariable.optional(),
    ADDRESS_RATE_MAX: z.coerce.number().int().min(0).optional(),
  },
};
