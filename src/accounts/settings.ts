import { z } from 'zod';

export const accountSettings = {
  shape: {
    ACCOUNTS_SIGN_UP: z.enum(['invitation', 'open']).default('invitation'),
    ACCOUNTS_TIME_SCALE: z.coerce.number().min(0.00001).max(1).optional(),
  },
  refusedInProduction: ['ACCOUNTS_TIME_SCALE'] as const,
};
