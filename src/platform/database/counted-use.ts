import type { Tenant } from '../tenant.ts';

/** What use is counted by. Hours and days are counted of everything that is counted by kind. */
export type UseDimension = 'kind' | 'workflow' | 'model' | 'key' | 'error';

/** The counted dimension. */
export interface UseAmounts {
  requests?: number;
  runs?: number;
  failedRuns?: number;
  tokens?: number;
  credits?: number;
  /** Deliveries that succeeded. */
  deliveries?: number;
  /** Deliveries that were given up. */
  failedDeliveries?: number;
}

/** The use of one thing. */
export interface CountedUse extends UseAmounts {
  by: UseDimension;
  /** The name of the kind, model or error; the id of the workflow or key. */
  value: string;
}

/** Records the use that the committed statements of a process declare. */
export interface UseOfProcess {
  /** @param actor who asked, as the audit log names it */
  add(tenant: Tenant, actor: string, used: readonly CountedUse[]): void;
}
