import { z } from 'zod';
import { EnvError, type Variables } from '../platform/env.ts';
import {
  maxRetentionDays,
  overridePlans,
  type PlanName,
  type PlanNumber,
  type PlanOverrides,
  planNames,
  plans,
} from './core/plans.ts';

const count = z.int('expected a whole number').min(0).max(2_000_000_000);

/** Numbers that are no counts. Where 0 would stop an organization, the smallest is 1. */
const otherNumbers: Partial<Record<PlanNumber, z.ZodType<number>>> = {
  fairnessWeight: z.number().min(0.001).max(1_000),
  requestsPerMinute: count.min(1),
  requestsPerDay: count.min(1),
  callingRuns: count.min(1),
  retentionDays: count.min(1).max(maxRetentionDays),
  storageBytes: z.int('expected a whole number').min(0),
};

const numberNames = Object.entries(plans.free)
  .filter(([, value]) => typeof value === 'number')
  .map(([name]) => name as PlanNumber);

const override = z.strictObject({
  ...Object.fromEntries(numberNames.map((name) => [name, (otherNumbers[name] ?? count).optional()])),
  operationsPerMinute: z.strictObject({ tts: count.min(1).optional(), stt: count.min(1).optional() }).optional(),
});

const overrides = z.strictObject(
  Object.fromEntries(planNames.map((name) => [name, override.optional()])) as Record<
    PlanName,
    z.ZodOptional<typeof override>
  >,
);

const describe = ({ path, message }: { path: PropertyKey[]; message: string }): string =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`;

/** `PLAN_LIMITS`: JSON such as `{"free": {"workflows": 100}}`. Numbers that it does not name keep their values. */
export const planLimits = z.string().transform((text, context): PlanOverrides => {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return refuse('expected JSON such as {"free": {"workflows": 100}}');
  }
  const parsed = overrides.safeParse(json);
  return parsed.success ? (parsed.data as PlanOverrides) : refuse(parsed.error.issues.map(describe).join('; '));
});

/** For commands, which read few variables. @throws EnvError */
export function applyPlanLimits({ PLAN_LIMITS: text }: Variables): void {
  if (!text) return;
  const parsed = planLimits.safeParse(text);
  if (!parsed.success) {
    throw new EnvError(`The environment is invalid:\n  PLAN_LIMITS: ${parsed.error.issues[0]!.message}`);
  }
  overridePlans(parsed.data);
}
