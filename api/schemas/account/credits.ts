import { z } from '@hono/zod-openapi';

const credits = (description: string) => z.number().int().min(0).openapi({ description });

export const creditBalanceSchema = z
  .object({
    balance: credits('Everything the organization has: `available` and `reserved` together.'),
    reserved: credits('Set aside for work that is going on. What it does not use comes back.'),
    available: credits('What new work can be paid with.'),
    monthlyGrant: credits('What the plan gives every month; 0 in the test environment, whose grant comes once.'),
    nextGrantAt: z.iso
      .datetime()
      .nullable()
      .openapi({ description: "When the plan's next grant comes and what is left of this one lapses." }),
  })
  .openapi('Credits');

export const creditBalanceExample = {
  balance: 4_812,
  reserved: 25,
  available: 4_787,
  monthlyGrant: 5_000,
  nextGrantAt: '2026-12-01T00:00:00.000Z',
};
