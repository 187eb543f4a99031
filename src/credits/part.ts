import type { Foundation } from '../foundation.ts';
import { memoize } from '../platform/concurrency/memoize.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Part } from '../platform/parts/part.ts';
import { checkLedger } from './audit.ts';
import { creditsDeclarations } from './declarations.ts';
import { CreditAccount, CreditEntry, CreditHold, LedgerCheck, LedgerSum } from './entities.ts';
import { expireReservations } from './expiry.ts';
import { ledgerCheckState } from './gauges.ts';

/** Credits: ledger, grants and reservations. */
export const credits: Part<Foundation, object> = {
  ...creditsDeclarations,
  entities: [CreditAccount, CreditEntry, CreditHold, LedgerCheck, LedgerSum],
  rowBounds: {
    credit_hold: { retention: { by: 'expire credit reservations', after: 'its expiry' } },
    ledger_sum: { max: { rows: 1, of: 'environment' } },
    credit_entry: { exempt: 'The ledger is never changed.' },
    credit_account: { max: { rows: 1, of: 'environment' } },
    ledger_check: { max: { rows: 1, of: 'installation' } },
  },
  open: () => ({}),
  sweeps: ({ database, log, draining: { signal } }) => [
    {
      name: 'expire credit reservations',
      everyMs: 60_000,
      run: () => inBatches((limit) => expireReservations(database, limit)),
    },
    {
      name: 'check the credit ledger',
      everyMs: 60_000,
      async run() {
        const { faults, unchecked } = (await checkLedger(database, { signal })) ?? { faults: [], unchecked: [] };
        if (faults.length > 0) log.error({ faults: faults.slice(0, 20) }, 'the credit ledger does not add up');
        for (const { error, ...tenant } of unchecked.slice(0, 20)) {
          log.error({ err: error, ...tenant }, 'the credit ledger of an organization could not be checked');
        }
        return faults.length;
      },
    },
  ],
  gauges({ observer }) {
    const read = memoize(5_000, () => ledgerCheckState(observer));
    return [
      {
        name: 'atelier_credit_ledger_faults',
        help: 'Faults found by the last hourly check of the credit ledger.',
        installationWide: true,
        read: async () => (await read()).map(({ faults }) => ({ value: faults })),
      },
      {
        name: 'atelier_credit_ledger_check_age_seconds',
        help: 'Time since the last check of the credit ledger.',
        installationWide: true,
        read: async () => (await read()).map(({ ageSeconds }) => ({ value: ageSeconds })),
      },
    ];
  },
};
