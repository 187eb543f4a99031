import { newId } from '../ids.ts';
import { type ClaimOptions, type IdempotencyClaim, type Once, requestInProgress } from './idempotency.ts';
import type { Scope } from './scope.ts';
import { statement } from './sql.ts';

/** The outcome of an Idempotency-Key: work that is under way until it is done, or until its process must have died. */
interface Claimed<Result> {
  id: string;
  /** Unix milliseconds by which the work is over. */
  until: number;
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
  const isOver = found.until < Date.now();
  // The process that held it died. One of the callers that notice this takes it over.
  const mineInstead = { ...partsOf(claim), id: found.id, outcome: JSON.stringify(mine) };
  if (isOver && (await scope.one(replace, mineInstead))) return undefined;
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
  const mine = { id: newId(), until: Date.now() + limitMs };
  const found = await take<Result>(scope, claim, mine);
  if (found) return { outcome: found.result, replayed: true };
  try {
    const done = await work();
    await scope.rows(replace, { ...partsOf(claim), id: mine.id, outcome: JSON.stringify({ ...mine, done }) });
    return { outcome: done, replayed: false };
  } catch (error) {
    await scope.rows(release, { ...partsOf(claim), id: mine.id }).catch(() => {});
    throw error;
  }
}
