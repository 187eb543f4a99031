// What other parts use of credits: reservations, which are settled or voided, and the ledger.

export { type LedgerEntry, ledgerEntriesOf } from './ledger-entries.ts';
export { reserveCredits, settleCredits, voidCredits } from './reservations.ts';
