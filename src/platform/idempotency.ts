import { createHash } from 'node:crypto';
import { type EntityManager, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import type { SealedPlace, Sealer } from './crypto.ts';
import type { Database } from './database.ts';
import { IdempotencyRecord } from './entities.ts';
import { AppError } from './errors.ts';
import type { Scope } from './scope.ts';
import { sqlOn, statement } from './sql.ts';

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

/** JSON with sorted members and without spaces, so that equal bodies are equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    member && typeof member === 'object' && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

export const fingerprintOf = (body: unknown): Buffer =>
  createHash('sha256')
    .update(canonicalJson(body ?? null))
    .digest();

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
const claim = statement<{ claimed: boolean }>(
  'idempotency.claim',
  `insert into idempotency (organization_id, environment, method, path, key, fingerprint, resource_id, created_at)
   values ($1, $2, $3, $4, $5, $7, $8, clock_timestamp())
   on conflict (organization_id, environment, method, path, key) do update
      set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = excluded.created_at
    where idempotency.created_at <= clock_timestamp() - make_interval(hours => $6)
   returning true as claimed`,
);

/** What the key already stands for, if anything. @throws AppError idempotency_key_reused */
export async function findClaim(scope: Scope, claimed: IdempotencyClaim): Promise<Claimed | undefined> {
  const { method, path, key, fingerprint } = claimed;
  const found = await scope.one(find, method, path, key, keptHours);
  if (found && !found.fingerprint.equals(fingerprint)) {
    throw new AppError('idempotency_key_reused', 'This Idempotency-Key was used with another body.');
  }
  return found;
}

/** Binds the key to a resource, in the caller's transaction. @returns false when another request had it first. */
export async function takeClaim(scope: Scope, taken: IdempotencyClaim, resourceId: string): Promise<boolean> {
  const { method, path, key, fingerprint } = taken;
  return (await scope.one(claim, method, path, key, keptHours, fingerprint, resourceId)) !== undefined;
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

/** Forgets keys whose time is over, of all tenants. @returns how many; as many as `limit` means that there may be more */
export async function forgetOldClaims(database: Database, limit: number): Promise<number> {
  return (await sqlOn(database.pool).one(forget, [keptHours, limit]))!.count;
}

/** What a verb made, and whether an earlier request with the same key made it. */
export interface Once<Outcome> {
  outcome: Outcome;
  replayed: boolean;
}

/**
 * Runs a verb's transaction once per key: the effect and what it returned commit together, so that a crash leaves both or
 * neither. A request with the same key at the same time waits for the first one's commit and gets its outcome.
 * @param work must return an outcome that survives JSON
 * @throws AppError idempotency_key_reused, and whatever `work` throws
 */
export async function once<Outcome extends { id: string }>(
  scope: Scope,
  claimed: IdempotencyClaim | undefined,
  work: (em: EntityManager) => Promise<Outcome>,
): Promise<Once<Outcome>> {
  if (!claimed) return { outcome: await scope.em.transactional(work), replayed: false };
  const replay = async (): Promise<Once<Outcome> | undefined> => {
    const earlier = await findClaim(scope, claimed);
    return earlier && { outcome: earlier.outcome as Outcome, replayed: true };
  };
  const earlier = await replay();
  if (earlier) return earlier;
  try {
    const outcome = await scope.em.transactional(async (em) => {
      const { method, path, key, fingerprint } = claimed;
      const id = { ...scope.tenant, method, path, key };
      const outdated = new Date(Date.now() - keptHours * 3_600_000);
      await em.nativeDelete(IdempotencyRecord, { ...id, createdAt: { $lte: outdated } });
      const made = await work(em);
      em.persist(
        em.create(IdempotencyRecord, { ...id, fingerprint, resourceId: made.id, outcome: made, createdAt: new Date() }),
      );
      return made;
    });
    return { outcome, replayed: false };
  } catch (error) {
    const first = error instanceof UniqueConstraintViolationException ? await replay() : undefined;
    if (first) return first;
    throw error;
  }
}

interface SealedOutcome {
  id: string;
  /** Absent where nobody can ask for it again. */
  sealed?: string;
}

/**
 * The same for an outcome that holds secrets: what is kept for a repetition is sealed.
 * @throws SealError too
 */
export async function onceSealed<Outcome extends { id: string }>(
  scope: Scope,
  sealer: Sealer,
  claimed: IdempotencyClaim | undefined,
  work: (em: EntityManager) => Promise<Outcome>,
): Promise<Once<Outcome>> {
  const { tenant } = scope;
  const place = (rowId: string): SealedPlace => ({ table: 'idempotency', column: 'outcome', rowId, tenant });
  const made: Outcome[] = [];
  const { outcome, replayed } = await once<SealedOutcome>(scope, claimed, async (em) => {
    const one = await work(em);
    made.push(one);
    return { id: one.id, ...(claimed && { sealed: sealer.seal(JSON.stringify(one), place(one.id)) }) };
  });
  return { outcome: replayed ? JSON.parse(sealer.open(outcome.sealed!, place(outcome.id))) : made.at(-1)!, replayed };
}

const keepOutcome = statement(
  'idempotency.keep_outcome',
  `update idempotency set outcome = $6::jsonb
    where organization_id = $1 and environment = $2 and method = $3 and path = $4 and key = $5`,
);

/**
 * The same over named statements.
 * @param resourceId canonical uuid of what the request is about
 * @param work gets a scope that is bound to the transaction
 */
export async function onceInScope<Outcome extends object>(
  scope: Scope,
  claimed: IdempotencyClaim | undefined,
  resourceId: string,
  work: (scope: Scope) => Promise<Outcome>,
): Promise<Once<Outcome>> {
  if (!claimed) return { outcome: await scope.transaction(work), replayed: false };
  const earlier = await findClaim(scope, claimed);
  if (earlier) return { outcome: earlier.outcome as Outcome, replayed: true };
  const outcome = await scope.transaction(async (inside) => {
    if (!(await takeClaim(inside, claimed, resourceId))) return undefined;
    const made = await work(inside);
    const { method, path, key } = claimed;
    await inside.rows(keepOutcome, method, path, key, JSON.stringify(made));
    return made;
  });
  if (outcome) return { outcome, replayed: false };
  const first = await findClaim(scope, claimed);
  return { outcome: first!.outcome as Outcome, replayed: true };
}
