export const environments = ['live', 'test'] as const;
export type Environment = (typeof environments)[number];

/** The owner of data: an organization in one environment. Live and test data are never mixed. */
export interface Tenant {
  organizationId: string;
  environment: Environment;
}
