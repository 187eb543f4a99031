import { z } from 'zod';
import { EnvError, type Variables } from '../../platform/env.ts';
import { declaredLimits, overridePlans, type PlanLimit, type PlanOverrides } from '../core/plan-limits.ts';
import { planNames } from '../core/plans.ts';

function numberOf({ declaration: { isFraction = false, min = 0, max = 2_000_000_000 } }: PlanLimit) {
  const number = isFraction ? z.number() : z.int('expected a whole number');
  return number.min(min).max(max).optional();
}

/** `{"free": {"workflows": 100, "operationsPerMinute": {"tts": 9}}}`, with the limits of all features. */
function overridesSchema() {
  const numbers: Record<string, z.ZodType> = {};
  const groups: Record<string, Record<string, z.ZodType>> = {};
  for (const limit of declaredLimits().values()) {
    const [name, member] = limit.name.split('.');
    if (member === undefined) numbers[name!] = numberOf(limit);
    else groups[name!] = { ...groups[name!], [member]: numberOf(limit) };
  }
  for (const [name, members] of Object.entries(groups)) numbers[name] = z.strictObject(members).optional();
  return z.strictObject(Object.fromEntries(planNames.map((name) => [name, z.strictObject(numbers).optional()])));
}

const describe = ({ path, message }: { path: PropertyKey[]; message: string }): string =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`;

/** `PLAN_LIMITS`: JSON such as `{"free": {"workflows": 100}}`. Numbers that it does not name keep their values. */
export const planLimitsVariable = z.string().transform((text, context): PlanOverrides => {
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
  const parsed = overridesSchema().safeParse(json);
  return parsed.success ? (parsed.data as PlanOverrides) : refuse(parsed.error.issues.map(describe).join('; '));
});

/** For commands, which read few variables. The parts must be loaded, which declare the limits. @throws EnvError */
export function applyPlanLimits({ PLAN_LIMITS: text }: Variables): void {
  if (!text) return;
  const parsed = planLimitsVariable.safeParse(text);
  if (!parsed.success) {
    throw new EnvError(`The environment is invalid:\n  PLAN_LIMITS: ${parsed.error.issues[0]!.message}`);
  }
  overridePlans(parsed.data);
}
