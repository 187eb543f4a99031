export const planNames = ['free', 'pro', 'team', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** Scopes that a plan does not include, even if a key has them. */
export const missingScopes: Readonly<Record<PlanName, readonly string[]>> = {
  free: [],
  pro: [],
  team: [],
  enterprise: [],
};

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);
