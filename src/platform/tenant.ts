export type Environment = 'live' | 'test';

/** Whose data: an organization's live or test half. The two never meet. */
export interface Tenant {
  organizationId: string;
  environment: Environment;
}
