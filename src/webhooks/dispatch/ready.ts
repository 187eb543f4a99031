// Conditions of deliveries in SQL. Those of attempts repeat the conditions of partial indexes. The time is that of the
// statement: with a volatile one no index is used.

/** A delivery whose next attempt is its first, and need not wait for another. */
export const isFirst = "status = 'pending' and attempts = 0 and not is_held";

/** No process has its attempt. */
export const isFree = '(leased_until is null or leased_until < atelier_now())';

export const isDue = 'next_attempt_at <= atelier_statement_now()';
