/** What an organization's plan allows. Operators edit this one table; limits are enforced where each is named. */
export interface Plan {
  /** Share of a worker's time when several organizations wait (Temporal's fairness weight, 0.001 to 1000). */
  fairnessWeight: number;
}

export const planNames = ['free', 'pro', 'team', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

export const plans: Record<PlanName, Plan> = {
  free: { fairnessWeight: 1 },
  pro: { fairnessWeight: 5 },
  team: { fairnessWeight: 10 },
  enterprise: { fairnessWeight: 50 },
};

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);
