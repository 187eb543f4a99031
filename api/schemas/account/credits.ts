import { z } from '@hono/zod-openapi';

const credits = (description: string) => z.number().int().min(0).openapi({ description });

export const creditBalanceSchema = z
  .object({
    balance: credits('All credits: `available` plus `reserved`.'),
    reserved: credits('Credits set aside for work in progress. Unused ones are returned.'),
    available: credits('Credits available for new work.'),
    monthlyGrant: credits('Credits that the plan grants every month; 0 in the test environment, which gets one grant.'),
    nextGrantAt: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'When the next grant replaces the unused credits of the current one.' }),
  })
  .openapi('Credits');

export const creditBalanceExample = {
  balance: 4_812,
  reserved: 25,
  available: 4_787,
  monthlyGrant: 5_000,
  nextGrantAt: '2026-12-01T00:00:00.000Z',
};
