import { createHash } from 'node:crypto';
import type { SealedPlace, Sealer } from './crypto.ts';
import type { Database } from './database.ts';
import { AppError } from './errors.ts';
import { newId } from './ids.ts';
import { sqlOn, statement, type TenantSql } from './sql.ts';
import { readOutcome, writeOutcome } from './stored-outcome.ts';

/** An Idempotency-Key with what it is bound to. */
export interface IdempotencyClaim {
  method: string;
  /** The route with canonical ids: `/v1` is `/api/v1` and `wf_…` is its uuid. */
  path: string;
  key: string;
  /** SHA-256 of the body as canonical JSON. */
  fingerprint: Buffer;
}

export const idempotencyKeyPattern = /^[\x20-\x7e]{1,255}$/;

/**
 * JSON with sorted members, so that equal bodies are equal texts. Not RFC 8785: during a rollout two versions of the
 * product compare fingerprints of the same key, and another form would refuse a repeated request.
 */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    member && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

export const fingerprintOf = (body: unknown): Buffer =>
  createHash('sha256')
    .update(sortedJson(body ?? null))
    .digest();

/** For who sends a request again before the first one with its Idempotency-Key is answered. */
export const requestInProgress = () =>
  new AppError('idempotency_in_progress', 'The request with this Idempotency-Key is still in progress.');

const keptHours = 24;

export interface Claimed {
  resourceId: string;
  fingerprint: Buffer;
  outcome: object | null;
}

const find = statement<Claimed>(
  'idempotency.find',
  `select resource_id as "resourceId", fingerprint, outcome from idempotency
    where organization_id = $1 and environment = $2 and method = $3 and path = $4 and key = $5
      and created_at > clock_timestamp() - make_interval(hours => $6)`,
);

// Waits for a concurrent claim of the same key to commit or roll back; an outdated one is taken over.
const take = statement<{ claimed: boolean }>(
  'idempotency.take',
  `insert into idempotency (organization_id, environment, method, path, key, fingerprint, resource_id, outcome, created_at)
   values ($1, $2, $3, $4, $5, $7, $8, $9::jsonb, clock_timestamp())
   on conflict (organization_id, environment, method, path, key) do update
      set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, outcome = excluded.outcome,
          created_at = excluded.created_at
    where idempotency.created_at <= clock_timestamp() - make_interval(hours => $6)
   returning true as claimed`,
);

const keepOutcome = statement(
  'idempotency.keep_outcome',
  `update idempotency set outcome = $6::jsonb, resource_id = coalesce($7::uuid, resource_id)
    where organization_id = $1 and environment = $2 and method = $3 and path = $4 and key = $5`,
);

/** What the key already stands for, if anything. @throws AppError idempotency_key_reused */
export async function findClaim(sql: TenantSql, claim: IdempotencyClaim): Promise<Claimed | undefined> {
  const { method, path, key, fingerprint } = claim;
  const found = await sql.one(find, method, path, key, keptHours);
  if (found && !found.fingerprint.equals(fingerprint)) {
    throw new AppError('idempotency_key_reused', 'This Idempotency-Key was used with another body.');
  }
  return found;
}

/** What a transaction made, and whether an earlier request with the same key made it. */
export interface Once<Outcome> {
  outcome: Outcome;
  replayed: boolean;
}

export interface ClaimOptions<Outcome> {
  /** Undefined: the request has no key, and is done each time. */
  claim: IdempotencyClaim | undefined;
  /** Seals the stored outcome, which holds secrets. It must have an `id`. */
  sealer?: Sealer;
  /** The outcome where it is known beforehand, which spares a statement. It must have an `id`. */
  outcome?: Outcome;
}

const idOf = (outcome: object): string | undefined => ('id' in outcome ? String(outcome.id) : undefined);
const uuidOf = (outcome: object): string | undefined =>
  idOf(outcome)?.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)?.[0];

interface SealedOutcome {
  id: string;
  sealed: string;
}

const placeOf = ({ tenant }: TenantSql, rowId: string): SealedPlace => ({
  ...{ table: 'idempotency', column: 'outcome' },
  ...{ rowId, tenant },
});

function store(sql: TenantSql, outcome: object, sealer: Sealer | undefined): string {
  const text = writeOutcome(outcome);
  if (!sealer) return text;
  const id = idOf(outcome);
  if (id === undefined) throw new Error('An outcome that is sealed needs an id.');
  return JSON.stringify({ id, sealed: sealer.seal(text, placeOf(sql, id)) } satisfies SealedOutcome);
}

function restore({ outcome, resourceId }: Claimed, sql: TenantSql, sealer: Sealer | undefined): object {
  // A run's claim was stored without an outcome by the version before.
  if (outcome === null) return { id: resourceId };
  if (!sealer) return readOutcome(outcome);
  const { id, sealed } = outcome as SealedOutcome;
  return readOutcome(JSON.parse(sealer.open(sealed, placeOf(sql, id))));
}

/** Takes the key in this transaction and does the work; when it is taken, after waiting for its holder, reads the outcome. */
export async function once<Tx extends TenantSql, Outcome extends object>(
  tx: Tx,
  { claim, sealer, outcome: known }: ClaimOptions<Outcome>,
  work: (tx: Tx) => Promise<Outcome>,
): Promise<Once<Outcome>> {
  if (!claim) return { outcome: await work(tx), replayed: false };
  const { method, path, key, fingerprint } = claim;
  const resourceId = (known && uuidOf(known)) ?? newId();
  const stored = known ? store(tx, known, sealer) : null;
  if (!(await tx.one(take, method, path, key, keptHours, fingerprint, resourceId, stored))) {
    const earlier = await findClaim(tx, claim);
    if (!earlier) throw new AppError('conflict', 'What this Idempotency-Key made was deleted meanwhile.');
    return { outcome: restore(earlier, tx, sealer) as Outcome, replayed: true };
  }
  const outcome = await work(tx);
  if (!known) await tx.rows(keepOutcome, method, path, key, store(tx, outcome, sealer), uuidOf(outcome) ?? null);
  return { outcome, replayed: false };
}

const release = statement(
  'idempotency.release_resource',
  `delete from idempotency
    where organization_id = $1 and environment = $2 and method = $3 and path = $4 and key = $5 and resource_id = $6`,
);

/** Gives a key free that stands for this resource: its request turned out to be refused, which does not use a key up. */
export async function releaseClaim(
  tx: TenantSql,
  { method, path, key }: Pick<IdempotencyClaim, 'method' | 'path' | 'key'>,
  resourceId: string,
): Promise<void> {
  await tx.rows(release, method, path, key, resourceId);
}

const forget = statement<{ count: number }>(
  'idempotency.forget',
  `with outdated as (
     delete from idempotency where ctid = any(array(
       select ctid from idempotency
        where created_at <= clock_timestamp() - make_interval(hours => $1) order by created_at limit $2))
     returning 1)
   select count(*)::int as count from outdated`,
);

/** Deletes keys that are past their time, of all tenants. @returns how many; as many as `limit` means that there may be more */
export async function forgetOldClaims(database: Database, limit: number): Promise<number> {
  return (await sqlOn(database.pool).one(forget, [keptHours, limit]))!.count;
}
