import { createHash } from 'node:crypto';
import type { Scope } from './scope.ts';
import { statement } from './sql.ts';

/** An Idempotency-Key with what it is bound to. */
export interface IdempotencyClaim {
  method: string;
  /** The route with canonical ids: `/v1` is `/api/v1` and `wf_…` is its uuid. */
  path: string;
  key: string;
  /** SHA-256 of the body as canonical JSON. */
  fingerprint: Buffer;
}

export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

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

interface Claimed {
  resourceId: string;
  fingerprint: Buffer;
}

const find = statement<Claimed>(
  'idempotency.find',
  `select resource_id as "resourceId", fingerprint from idempotency
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

/** What the key already stands for, if anything. */
export function findClaim(scope: Scope, { method, path, key }: IdempotencyClaim): Promise<Claimed | undefined> {
  return scope.one(find, method, path, key, keptHours);
}

/** Binds the key to a resource, in the caller's transaction. @returns false when another request had it first. */
export async function takeClaim(scope: Scope, taken: IdempotencyClaim, resourceId: string): Promise<boolean> {
  const { method, path, key, fingerprint } = taken;
  return (await scope.one(claim, method, path, key, keptHours, fingerprint, resourceId)) !== undefined;
}
