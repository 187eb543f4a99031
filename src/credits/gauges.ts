import { gaugeTimeoutMs } from '../platform/metrics.ts';
import type { Probe } from '../platform/probe.ts';
import { statement } from '../platform/sql.ts';

export interface LedgerCheckState {
  faults: number;
  ageSeconds: number;
}

const ledgerCheck = statement<LedgerCheckState>(
  'gauges.ledger_check',
  `select faults, extract(epoch from clock_timestamp() - checked_at)::float8 as "ageSeconds"
     from ledger_check where checked_at is not null`,
);

/** The last check of the ledger; empty before the first one. */
export const ledgerCheckState = (observer: Probe): Promise<LedgerCheckState[]> =>
  observer.rows(ledgerCheck, gaugeTimeoutMs);
