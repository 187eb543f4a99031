import { flushCompileCache } from 'node:module';
import { reserveCredits, settleCredits } from '../../src/credits/reservations.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { openProductDatabase } from '../../src/services.ts';

/** What a spender says as it goes: a key, and how far its work has come. */
export type Said = [key: string, state: 'held' | 'settled'];

// Spends as a worker does, five pieces of work at a time, and says so after every step. With `only-reserve` it gets as
// far as that. It goes on until it is killed.
const [databaseUrl, organizationId, name, mode] = process.argv.slice(2);
const database = await openProductDatabase(databaseUrl!, 5);
// It will be killed, before which nothing would be kept.
flushCompileCache();
const scope = new Scope(database, { organizationId: organizationId!, environment: 'live' }, 'spender');
const say = (...said: Said) => process.send!(said);

async function work(key: string): Promise<void> {
  await reserveCredits(scope, { operation: 'chat', key, amount: 3, expiresInMs: 60_000 });
  say(key, 'held');
  if (mode === 'only-reserve') return;
  await settleCredits(scope, { key, amount: 2 });
  say(key, 'settled');
}

const worker = async (number: number) => {
  for (let round = 0; round === 0 || mode !== 'only-reserve'; round++) await work(`${name} ${number}.${round}`);
};
await Promise.all([1, 2, 3, 4, 5].map(worker));
setInterval(() => {}, 60_000);
