import { z } from 'zod';
import { defaultBrand, isBrand } from './core/signing.ts';
import { defaultDeliveryPolicy } from './dispatch/delivery-policy.ts';

export const webhookSettings = {
  shape: {
    WEBHOOK_HEADER_BRAND: z
      .string()
      .refine(isBrand, 'expected a word of letters and digits other than Webhook')
      .default(defaultBrand),
    WEBHOOK_HOST_RATE: z.coerce.number().int().min(1).max(100_000).default(defaultDeliveryPolicy.hostRate),
    DELIVERY_TIME_SCALE: z.coerce.number().min(0.00001).max(1).optional(),
  },
  refusedInProduction: ['DELIVERY_TIME_SCALE'] as const,
};
