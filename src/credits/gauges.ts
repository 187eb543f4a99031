import { systemStatement } from '../platform/database/sql.ts';
import { gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';

interface LedgerCheckState {
  faults: number;
  ageSeconds: number;
}

const ledgerCheck = systemStatement({
  name: 'gauges.ledger_check',
  row: { faults: 'int', ageSeconds: 'float8' },
  text: `select faults, extract(epoch from atelier_now() - checked_at)::float8 as "ageSeconds"
     from ledger_check where checked_at is not null`,
});

/** The last check of the ledger; empty before the first one. */
export const ledgerCheckState = (observer: Probe): Promise<LedgerCheckState[]> =>
  observer.rows(ledgerCheck, gaugeTimeoutMs);
