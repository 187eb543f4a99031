import { newId } from '../ids.ts';
import { recordPatiently } from './database-errors.ts';
import { type ClaimOptions, type IdempotencyClaim, type Once, requestInProgress } from './idempotency.ts';
import type { Scope } from './scope.ts';
import { statement } from './sql.ts';

/** The outcome of an Idempotency-Key: work that is under way until it is done, or until its process must have died. */
interface Claimed<Result> {
  id: string;
  /** How long after its claim the work is over, by the clock of PostgreSQL: those of processes differ. */
  limitMs: number;
  done?: Result;
}

const ofKey = `organization_id = :organizationId and environment = :environment
  and method = :method and path = :path and key = :key`;

const replace = statement({
  name: 'idempotency.replace_outcome',
  parameters: { method: 'text', path: 'text', key: 'text', id: 'text', outcome: 'json' },
  row: { replaced: 'boolean' },
  text: `update idempotency set outcome = :outcome where ${ofKey} and outcome->>'id' = :id returning true as replaced`,
});

// What the version before claimed says nothing of its limit, which was that of the next caller.
const takeOver = statement({
  name: 'idempotency.take_over',
  parameters: { method: 'text', path: 'text', key: 'text', id: 'text', outcome: 'json', limitMs: 'float8' },
  row: { taken: 'boolean' },
  text: `update idempotency set outcome = :outcome, created_at = atelier_now()
    where ${ofKey} and outcome->>'id' = :id
      and created_at < atelier_now() - make_interval(secs => coalesce((outcome->>'limitMs')::float8, :limitMs) / 1000)
   returning true as taken`,
});

const release = statement({
  name: 'idempotency.release',
  parameters: { method: 'text', path: 'text', key: 'text', id: 'text' },
  text: `delete from idempotency where ${ofKey} and outcome->>'id' = :id`,
});

const partsOf = ({ method, path, key }: IdempotencyClaim) => ({ method, path, key });

/** Takes the key, or finds its outcome. @returns undefined if the caller must do the work */
async function take<Result>(
  scope: Scope,
  claim: IdempotencyClaim,
  mine: Claimed<Result>,
): Promise<{ result: Result } | undefined> {
  const options: ClaimOptions<Claimed<Result>> = { claim, outcome: mine };
  const { outcome: found, replayed } = await scope.transaction(async () => mine, options);
  if (!replayed) return undefined;
  if (found.done !== undefined) return { result: found.done };
  // If the process that held it died, one of the callers that notice this takes it over.
  const mineInstead = { ...partsOf(claim), id: found.id, outcome: JSON.stringify(mine), limitMs: mine.limitMs };
  if (await scope.one(takeOver, mineInstead)) return undefined;
  throw requestInProgress();
}

/**
 * Does work outside of a transaction, such as a call of a provider, once per Idempotency-Key. An exception is not kept:
 * another request with the key does the work again. So does a request after the process has died and `limitMs` is over.
 * @param work must return a value that survives JSON, and be over within `limitMs`
 * @throws AppError idempotency_in_progress while another request does it; idempotency_key_reused; and what `work` throws
 */
export async function onceOutside<Result extends object>(
  scope: Scope,
  { claim, limitMs }: { claim: IdempotencyClaim | undefined; limitMs: number },
  work: () => Promise<Result>,
): Promise<Once<Result>> {
  if (!claim) return { outcome: await work(), replayed: false };
  const mine = { id: newId(), limitMs };
  const found = await take<Result>(scope, claim, mine);
  if (found) return { outcome: found.result, replayed: true };
  let done: Result;
  try {
    done = await work();
  } catch (error) {
    await scope.rows(release, { ...partsOf(claim), id: mine.id }).catch(() => {});
    throw error;
  }
  // Once it is done the key is not released, whatever the record says: another request would do the work again.
  const outcome = JSON.stringify({ ...mine, done });
  await recordPatiently(() => scope.rows(replace, { ...partsOf(claim), id: mine.id, outcome }));
  return { outcome: done, replayed: false };
}
