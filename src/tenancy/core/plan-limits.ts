import { type PlanName, planNames } from './plans.ts';

/** The published name of a limit that a request can reach, and the words for it in the refusal. */
interface LimitWindow {
  name: string;
  text: string;
}

/**
 * A feature's declaration of a number that plans include. It applies to each environment of an organization separately.
 */
interface PlanLimitDeclaration {
  plans: Readonly<Record<PlanName, number>>;
  /** The row of the published table; a number without one is not published. */
  label?: string;
  /** The place of that row in the table. Rows without one come last, in the order of the parts. */
  position?: number;
  /** What one unit of the published number is; 1 unless given. */
  unit?: number;
  /** Absent where the limit is on what exists and not on requests. */
  window?: LimitWindow;
  /** The smallest number that `PLAN_LIMITS` may set; 0 unless given. */
  min?: number;
  /** The largest one; 2,000,000,000 unless given. */
  max?: number;
  /** Whether the number may have a fraction. */
  isFraction?: boolean;
}

/** A number that every plan includes. `PLAN_LIMITS` replaces it at the start. */
export class PlanLimit {
  readonly declaration: PlanLimitDeclaration;
  /** A dot separates the name of a group and that of its member, as in `operationsPerMinute.tts`. */
  readonly name: string;
  readonly #numbers: Record<PlanName, number>;

  constructor(name: string, declaration: PlanLimitDeclaration) {
    this.name = name;
    this.declaration = declaration;
    this.#numbers = { ...declaration.plans };
  }

  get window(): LimitWindow | undefined {
    return this.declaration.window;
  }

  of(plan: PlanName): number {
    return this.#numbers[plan];
  }

  /** The number of every plan as JSON, for statements that find the plan themselves. */
  byPlan(): string {
    return JSON.stringify(Object.fromEntries(planNames.map((name) => [name, this.#numbers[name]])));
  }

  /** To be called once, before anything reads the number. */
  override(plan: PlanName, value: number): void {
    this.#numbers[plan] = value;
  }
}

const declared = new Map<string, PlanLimit>();

/** All limits that the loaded features declare, by name. */
export const declaredLimits = (): ReadonlyMap<string, PlanLimit> => declared;

/**
 * Declares the limits of a feature by name. Its part lists them.
 * @throws Error when another feature declares one of the names
 */
export function planLimits<Name extends string>(
  declarations: Readonly<Record<Name, PlanLimitDeclaration>>,
): Readonly<Record<Name, PlanLimit>> {
  const limits = Object.entries<PlanLimitDeclaration>(declarations).map(([name, declaration]) => {
    if (declared.has(name)) throw new Error(`Two features declare the limit ${name}.`);
    const limit = new PlanLimit(name, declaration);
    declared.set(name, limit);
    return [name, limit] as const;
  });
  return Object.fromEntries(limits) as Record<Name, PlanLimit>;
}

/** Numbers that replace those of plans: by plan, by limit, and for a group by its members. */
export type PlanOverrides = Partial<Record<PlanName, Record<string, number | Record<string, number> | undefined>>>;

/** Replaces numbers of plans. To be called once, before anything reads them. */
export function overridePlans(overrides: PlanOverrides): void {
  for (const plan of planNames) {
    for (const [name, value] of Object.entries(overrides[plan] ?? {})) {
      if (typeof value === 'number') declared.get(name)?.override(plan, value);
      else
        for (const [member, one] of Object.entries(value ?? {})) declared.get(`${name}.${member}`)?.override(plan, one);
    }
  }
}
