import { createHash } from 'node:crypto';
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { canonicalJson } from './idempotency.ts';
import { type Sql, statement } from './sql.ts';
import type { Environment } from './tenant.ts';

/**
 * What was done to an organization's things, and by whom. PostgreSQL refuses to change or remove an entry; each carries
 * the hash of the one before it, so that a gap or a change made behind PostgreSQL's back shows.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  properties: {
    organizationId: p.uuid().primary(),
    /** 1, 2, 3 … within the organization, without gaps. */
    number: p.integer().primary(),
    /** Null for what concerns both halves of the organization. */
    environment: p.string().length(4).nullable(),
    action: p.string().length(40),
    subjectId: p.uuid(),
    actor: p.string().length(64),
    correlationId: p.string().length(128).nullable(),
    facts: p.json<Record<string, unknown>>(),
    recordedAt: p.datetime(),
    previousHash: p.blob(),
    hash: p.blob(),
  },
});
export type AuditEntry = InferEntity<typeof AuditEntry>;

export type AuditAction =
  | 'organization.create'
  | 'organization.update'
  | 'api_key.create'
  | 'api_key.revoke'
  | 'workflow.delete'
  | 'credits.grant';

export interface AuditRecord {
  /** Canonical uuid. */
  organizationId: string;
  environment?: Environment;
  action: AuditAction;
  /** Canonical uuid of what it was done to. */
  subjectId: string;
  /** The id of the key that asked; `operator` for commands on the installation itself. */
  actor: string;
  correlationId?: string;
  /** Values that say what changed; never a secret. */
  facts?: Record<string, unknown>;
}

interface Link {
  number: number;
  hash: Buffer;
}

// One writer at a time for each organization; the lock ends with the transaction.
const takeTurn = statement('audit.turn', "select pg_advisory_xact_lock(hashtextextended('audit ' || $1::text, 0))");
const findLast = statement<Link>(
  'audit.last',
  'select number, hash from audit_log where organization_id = $1::uuid order by number desc limit 1',
);
const append = statement(
  'audit.append',
  `insert into audit_log (organization_id, number, environment, action, subject_id, actor, correlation_id, facts,
                          recorded_at, previous_hash, hash)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
);

/** The transaction that an entity manager is in. Parameters must stand in the order of their numbers. */
const sqlOfManager = (em: EntityManager): Pick<Sql, 'rows'> => ({
  rows: ({ text }, values = []) => em.execute(text.replaceAll(/\$\d+/g, '?'), values),
});

const firstHash = Buffer.alloc(32);

/** Everything an entry says, in one order, with the hash of the one before. */
function hashOf(entry: Omit<AuditEntry, 'hash'>): Buffer {
  const said = {
    organizationId: entry.organizationId,
    number: entry.number,
    environment: entry.environment,
    action: entry.action,
    subjectId: entry.subjectId,
    actor: entry.actor,
    correlationId: entry.correlationId,
    facts: entry.facts,
    recordedAt: entry.recordedAt.toISOString(),
    previousHash: Buffer.from(entry.previousHash).toString('hex'),
  };
  return createHash('sha256').update(canonicalJson(said)).digest();
}

/** Writes an entry in the transaction that does what it records: both are there, or neither is. */
export async function recordAudit(transaction: Sql | EntityManager, record: AuditRecord): Promise<void> {
  const sql = 'rows' in transaction ? transaction : sqlOfManager(transaction);
  const { organizationId, environment, action, subjectId, actor, correlationId, facts = {} } = record;
  await sql.rows(takeTurn, [organizationId]);
  const [last] = await sql.rows(findLast, [organizationId]);
  const entry = {
    ...{ organizationId, action, subjectId, actor, facts },
    environment: environment ?? null,
    correlationId: correlationId ?? null,
    number: (last?.number ?? 0) + 1,
    recordedAt: new Date(),
    previousHash: last?.hash ?? firstHash,
  };
  await sql.rows(append, [
    ...[organizationId, entry.number, entry.environment, action, subjectId, actor, entry.correlationId],
    ...[JSON.stringify(facts), entry.recordedAt.toISOString(), entry.previousHash, hashOf(entry)],
  ]);
}

/**
 * Reads an organization's chain from its first entry.
 * @returns the number of the first entry that is missing or not what was written, or undefined when the chain is whole
 */
export async function findBrokenLink(em: EntityManager, organizationId: string): Promise<number | undefined> {
  const entries = await em.find(AuditEntry, { organizationId }, { orderBy: { number: 'asc' } });
  let previous: Buffer = firstHash;
  for (const [index, entry] of entries.entries()) {
    const sound = entry.number === index + 1 && previous.equals(entry.previousHash) && hashOf(entry).equals(entry.hash);
    if (!sound) return index + 1;
    previous = Buffer.from(entry.hash);
  }
  return undefined;
}
