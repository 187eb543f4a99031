import { createHash } from 'node:crypto';
import { clock } from '../clock.ts';
import { isJsonObject } from '../core/json-shapes.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { SealedPlace, Sealer } from '../security/crypto.ts';
import { removalOf } from './remove-rows.ts';
import { statement, type TenantSql } from './sql.ts';
import { typed } from './sql-types.ts';
import { readOutcome, writeOutcome } from './stored-outcome.ts';

/** An Idempotency-Key with the request that it is bound to. */
export interface IdempotencyClaim {
  method: string;
  /** The route with canonical ids: `/v1` is `/api/v1` and `wf_…` is its uuid. */
  path: string;
  key: string;
  /** What clients know the key as: `Idempotency-Key` unless given. */
  called?: string;
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
    isJsonObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

export const fingerprintOf = (body: unknown): Buffer =>
  createHash('sha256')
    .update(sortedJson(body ?? null))
    .digest();

/** A key as a row keeps it that may release it. */
export type ClaimedKey = Pick<IdempotencyClaim, 'method' | 'path' | 'key'>;

export const claimedKey = ({ method, path, key }: IdempotencyClaim): ClaimedKey => ({ method, path, key });

/** The name of the lock that its insertion takes. */
export const claimLock = ({ method, path, key }: ClaimedKey): string => `claim ${method} ${path} ${key}`;

/** For who sends a request again before the first one with its Idempotency-Key is answered. */
export const requestInProgress = () =>
  new AppError('idempotency_in_progress', 'The request with this Idempotency-Key is still in progress.');

/** For a repeated request whose first request created a resource that no longer exists. */
export const resourceDeleted = () =>
  new AppError('conflict', 'The resource created with this Idempotency-Key has been deleted.');

const keptHours = 24;

export interface Claimed {
  resourceId: string;
  fingerprint: Buffer;
  outcome: object | null;
}

const find = statement({
  name: 'idempotency.find',
  parameters: { method: 'text', path: 'text', key: 'text', keptHours: 'int' },
  row: { resourceId: 'uuid', fingerprint: 'bytea', outcome: typed<object | null>('json?') },
  text: `select resource_id as "resourceId", fingerprint, outcome from idempotency
    where organization_id = :organizationId and environment = :environment and method = :method and path = :path
      and key = :key
      and created_at > atelier_now() - make_interval(hours => :keptHours)`,
});

// Waits for a concurrent claim of the same key to commit or roll back; an outdated one is taken over.
const take = statement({
  name: 'idempotency.take',
  parameters: {
    method: 'text',
    path: 'text',
    key: 'text',
    keptHours: 'int',
    fingerprint: 'bytea',
    resourceId: 'uuid',
    stored: 'json?',
  },
  row: { claimed: 'boolean' },
  text: `insert into idempotency (organization_id, environment, method, path, key, fingerprint, resource_id, outcome,
    created_at)
   values (:organizationId, :environment, :method, :path, :key, :fingerprint, :resourceId, :stored, atelier_now())
   on conflict (organization_id, environment, method, path, key) do update
      set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, outcome = excluded.outcome,
          created_at = excluded.created_at
    where idempotency.created_at <= atelier_now() - make_interval(hours => :keptHours)
   returning true as claimed`,
});

const keepOutcome = statement({
  name: 'idempotency.keep_outcome',
  parameters: { method: 'text', path: 'text', key: 'text', outcome: 'json', resourceId: 'uuid?' },
  text: `update idempotency set outcome = :outcome, resource_id = coalesce(:resourceId, resource_id)
    where organization_id = :organizationId and environment = :environment and method = :method and path = :path
      and key = :key`,
});

/** The outcome of the key, if it has one. @throws AppError idempotency_key_reused */
export async function findClaim(sql: TenantSql, claim: IdempotencyClaim): Promise<Claimed | undefined> {
  const { method, path, key, called = 'Idempotency-Key', fingerprint } = claim;
  const found = await sql.one(find, { method, path, key, keptHours });
  if (found && !found.fingerprint.equals(fingerprint)) {
    throw new AppError('idempotency_key_reused', `This ${called} was used with another body.`);
  }
  return found;
}

/** The result of a transaction, and whether it is that of an earlier request with the same key. */
export interface Once<Outcome> {
  outcome: Outcome;
  replayed: boolean;
}

const shownAgainMs = 600_000;

/**
 * For an answer with a secret or of short use: it is given again for ten minutes only.
 * @throws AppError conflict
 */
export function requireRecent({ outcome, replayed }: Once<{ createdAt: Date }>): void {
  if (!replayed || outcome.createdAt.getTime() > clock.now() - shownAgainMs) return;
  throw new AppError('conflict', 'The answer to this Idempotency-Key is given again for ten minutes only.');
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
  table: 'idempotency',
  column: 'outcome',
  rowId,
  tenant,
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
  if (!(await tx.one(take, { method, path, key, keptHours, fingerprint, resourceId, stored }))) {
    return { outcome: await readClaimed<Outcome>(tx, claim, sealer), replayed: true };
  }
  const outcome = await work(tx);
  if (!known) {
    const kept = { outcome: store(tx, outcome, sealer), resourceId: uuidOf(outcome) ?? null };
    await tx.rows(keepOutcome, { method, path, key, ...kept });
  }
  return { outcome, replayed: false };
}

const columnsOf = (claims: readonly Pick<IdempotencyClaim, 'method' | 'path' | 'key'>[]) => ({
  methods: claims.map(({ method }) => method),
  paths: claims.map(({ path }) => path),
  keys: claims.map(({ key }) => key),
});

const release = statement({
  name: 'idempotency.release_resources',
  parameters: { methods: 'text[]', paths: 'text[]', keys: 'text[]', resourceIds: 'uuid[]' },
  text: `delete from idempotency i
    using unnest(:methods, :paths, :keys, :resourceIds) as c (method, path, key, resource_id)
    where i.organization_id = :organizationId and i.environment = :environment
      and (i.method, i.path, i.key) = (c.method, c.path, c.key)
      and i.resource_id = c.resource_id`,
});

/** A key, and the id of its outcome. */
type ClaimOf = ClaimedKey & { resourceId: string };

/** Releases the keys of these resources: their requests were refused, which does not use up a key. */
export async function releaseClaims(tx: TenantSql, claims: readonly ClaimOf[]): Promise<void> {
  if (claims.length === 0) return;
  await tx.rows(release, { ...columnsOf(claims), resourceIds: claims.map(({ resourceId }) => resourceId) });
}

export const releaseClaim = (tx: TenantSql, claim: Omit<ClaimOf, 'resourceId'>, resourceId: string): Promise<void> =>
  releaseClaims(tx, [{ ...claim, resourceId }]);

// In one order, so that transactions that take several wait for each other and never in a circle.
const takeAll = statement({
  name: 'idempotency.take_all',
  parameters: {
    methods: 'text[]',
    paths: 'text[]',
    keys: 'text[]',
    fingerprints: 'bytea[]',
    resourceIds: 'uuid[]',
    keptHours: 'int',
  },
  row: { n: 'int' },
  text: `with asked as (
     select c.* from unnest(:methods, :paths, :keys, :fingerprints, :resourceIds)
       with ordinality as c (method, path, key, fingerprint, resource_id, n)),
   taken as (
     insert into idempotency (organization_id, environment, method, path, key, fingerprint, resource_id, outcome,
       created_at)
     select :organizationId, :environment, method, path, key, fingerprint, resource_id, null, atelier_now()
       from asked
      order by method, path, key
     on conflict (organization_id, environment, method, path, key) do update
        set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, outcome = excluded.outcome,
            created_at = excluded.created_at
      where idempotency.created_at <= atelier_now() - make_interval(hours => :keptHours)
     returning method, path, key)
   select a.n::int as n from asked a join taken t on (t.method, t.path, t.key) = (a.method, a.path, a.key)`,
});

/**
 * Takes the keys of several requests for one transaction that performs all of them, after waiting for the holders of
 * taken keys. The same transaction must store the outcomes and release the keys of refused requests.
 * @param claims none twice, each with the id of what it is to stand for
 * @returns those that this transaction has; the others stand for something already
 */
export async function takeClaims<Claim extends IdempotencyClaim & { resourceId: string }>(
  tx: TenantSql,
  claims: readonly Claim[],
): Promise<Set<Claim>> {
  if (claims.length === 0) return new Set();
  const taken = await tx.rows(takeAll, {
    ...columnsOf(claims),
    fingerprints: claims.map(({ fingerprint }) => fingerprint),
    resourceIds: claims.map(({ resourceId }) => resourceId),
    keptHours,
  });
  return new Set(taken.map(({ n }) => claims[n - 1]!));
}

const keepAll = statement({
  name: 'idempotency.keep_outcomes',
  parameters: { methods: 'text[]', paths: 'text[]', keys: 'text[]', outcomes: 'text[]' },
  text: `update idempotency i set outcome = c.outcome::json
     from unnest(:methods, :paths, :keys, :outcomes) as c (method, path, key, outcome)
    where i.organization_id = :organizationId and i.environment = :environment
      and (i.method, i.path, i.key) = (c.method, c.path, c.key)`,
});

/** Stores the outcomes of keys that `takeClaims` took. */
export async function keepOutcomes(
  tx: TenantSql,
  outcomes: readonly { claim: IdempotencyClaim; outcome: object }[],
): Promise<void> {
  if (outcomes.length === 0) return;
  const texts = outcomes.map(({ outcome }) => writeOutcome(outcome));
  await tx.rows(keepAll, { ...columnsOf(outcomes.map(({ claim }) => claim)), outcomes: texts });
}

/** The outcome of a key that was taken before. @throws AppError idempotency_key_reused; conflict if it was removed */
export async function readClaimed<Outcome extends object>(
  tx: TenantSql,
  claim: IdempotencyClaim,
  sealer?: Sealer,
): Promise<Outcome> {
  const earlier = await findClaim(tx, claim);
  if (!earlier) throw resourceDeleted();
  return restore(earlier, tx, sealer) as Outcome;
}

/** Removes keys that are past their time. */
export const forgetOldClaims = removalOf({
  name: 'idempotency.forget',
  table: 'idempotency',
  where: `created_at <= atelier_statement_now() - make_interval(hours => ${keptHours}) order by created_at`,
});
