import { z } from 'zod';
import { httpUrl, list } from '../platform/env-types.ts';

export const accountSettings = {
  shape: {
    ACCOUNTS_SIGN_UP: z.enum(['invitation', 'open']).default('invitation'),
    OIDC_ISSUER: httpUrl.optional(),
    OIDC_CLIENT_ID: z.string().min(1).optional(),
    OIDC_CLIENT_SECRET: z.string().min(1).optional(),
    OPERATOR_EMAILS: list.prefault(''),
    TEMPORAL_UI_URL: httpUrl.optional(),
    ACCOUNTS_TIME_SCALE: z.coerce.number().min(0.00001).max(1).optional(),
  },
  refusedInProduction: ['ACCOUNTS_TIME_SCALE'] as const,
};
