import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { AuditEntry } from '../database/entities.ts';
import { sortedJson } from '../database/idempotency.ts';
import { type Sql, sqlOn, systemStatement } from '../database/sql.ts';
import { type Declaration, typed, type ValuesFor } from '../database/sql-types.ts';
import { failPoint } from '../parts/fail-points.ts';
import type { Environment } from '../tenant.ts';

/** The actor of commands on the installation itself. */
export const operator = 'operator';

/** The request that caused an entry. */
export interface RequestOrigin {
  requestId: string;
  /** The client's address. */
  ip: string;
}

/** Who does something, and by which request. */
export interface AuditAuthor {
  /** The id of the key or the person of the request (`key_…`, `usr_…`), or `operator`. */
  actor: string;
  environment?: Environment;
  correlationId?: string;
  /** Absent for commands and for work that continues without its request. */
  origin?: RequestOrigin;
}

/** An act of a scope's actor on a resource of its tenant. */
export type TenantAuditRecord = Pick<AuditRecord, 'action' | 'subjectId' | 'facts'>;

export interface AuditRecord extends AuditAuthor {
  /** Canonical uuid. */
  organizationId: string;
  /** An action that a part declares. */
  action: string;
  /** Canonical uuid of the resource. */
  subjectId: string;
  /** Values that say what changed, of JSON; never a secret, and no text of a tenant's own. */
  facts?: Record<string, unknown>;
}

/** The rule of hashes: entries with a causing request hash it too. */
const hashVersions = { withoutOrigin: 2, withOrigin: 3 } as const;

/** Parameters of a statement with `auditSql`, which `auditValues` gives. */
export const auditParameters = {
  auditOrganizationId: 'uuid',
  auditFirstHash: 'bytea',
  auditEnvironment: 'text?',
  auditAction: 'text',
  auditSubjectId: 'uuid',
  auditActor: 'text',
  auditCorrelationId: 'text?',
  auditFacts: 'jsonb',
  auditRecordedAt: 'timestamptz',
  auditHash: 'bytea',
  auditHashVersion: 'smallint',
  auditRequestId: 'text?',
  auditIp: 'text?',
} as const satisfies Declaration;

/**
 * An expression that writes an entry, for a statement that performs the recorded act. One writer at a time per
 * organization, until the end of its transaction.
 */
export const auditSql = `append_audit(${Object.keys(auditParameters)
  .map((name) => `:${name}`)
  .join(', ')})`;

const append = systemStatement({ name: 'audit.append', parameters: auditParameters, text: `select ${auditSql}` });

const firstHash = Buffer.alloc(32);

const sha256 = (...parts: (string | Uint8Array)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

type Content = Omit<AuditEntry, 'number' | 'previousHash' | 'hash' | 'hashVersion'>;

/** The digest of an entry's whole content, in one form. */
function digestOf({ requestId, ip, ...content }: Content, version: number): Buffer {
  const origin = version === hashVersions.withOrigin ? { requestId, ip } : {};
  const plain = { ...content, recordedAt: content.recordedAt.toISOString(), ...origin };
  // Entries of version 1 were written before RFC 8785 was used.
  return sha256(version === 1 ? sortedJson(plain) : canonicalize({ ...plain, hashVersion: version })!);
}

/** The values of an entry that `auditSql` writes. */
export function auditValues(record: AuditRecord): ValuesFor<typeof auditParameters> {
  const { organizationId, action, subjectId, actor, facts = {} } = record;
  const { environment = null, correlationId = null } = record;
  const { requestId = null, ip = null } = record.origin ?? {};
  const recordedAt = clock.date();
  const whose = { organizationId, environment, action, subjectId, actor };
  const content = { ...whose, correlationId, facts, recordedAt, requestId, ip };
  const hashVersion = record.origin ? hashVersions.withOrigin : hashVersions.withoutOrigin;
  return {
    auditOrganizationId: organizationId,
    auditFirstHash: firstHash,
    auditEnvironment: environment,
    auditAction: action,
    auditSubjectId: subjectId,
    auditActor: actor,
    auditCorrelationId: correlationId,
    auditFacts: JSON.stringify(facts),
    auditRecordedAt: recordedAt.toISOString(),
    auditHash: digestOf(content, hashVersion),
    auditHashVersion: hashVersion,
    auditRequestId: requestId,
    auditIp: ip,
  };
}

/**
 * Writes an entry in the transaction that performs the recorded act: both exist, or neither. To be called last in it,
 * because other writers of the organization wait from here to its end.
 */
export async function recordAudit(sql: Sql, record: AuditRecord): Promise<void> {
  await sql.rows(append, auditValues(record));
  failPoint('audit.recorded');
}

const columns = `organization_id as "organizationId", number, environment, action, subject_id as "subjectId", actor,
  correlation_id as "correlationId", facts, recorded_at as "recordedAt", previous_hash as "previousHash", hash,
  hash_version as "hashVersion", request_id as "requestId", ip`;

const auditEntryColumns = {
  organizationId: 'uuid',
  number: 'int',
  environment: 'text?',
  action: 'text',
  subjectId: 'uuid',
  actor: 'text',
  correlationId: 'text?',
  facts: typed<Record<string, unknown>>('jsonb'),
  recordedAt: 'timestamptz',
  previousHash: 'bytea',
  hash: 'bytea',
  hashVersion: 'smallint',
  requestId: 'text?',
  ip: 'text?',
} as const;

const findLatest = systemStatement({
  name: 'audit.latest',
  parameters: { organizationId: 'uuid', limit: 'int' },
  row: auditEntryColumns,
  text: `select ${columns} from audit_log where organization_id = :organizationId order by number desc limit :limit`,
});

/** An organization's latest entries, newest first. `organizationId` is a canonical uuid. */
export const latestAudit = (database: Database, organizationId: string, limit: number): Promise<AuditEntry[]> =>
  sqlOn(database.pool).rows(findLatest, { organizationId, limit });

const findNext = systemStatement({
  name: 'audit.next',
  parameters: { organizationId: 'uuid', after: 'bigint', limit: 'int' },
  row: auditEntryColumns,
  text: `select ${columns} from audit_log where organization_id = :organizationId and number > :after order by number
    limit :limit`,
});

const pageSize = 1_000;
const beforeAll = -(2 ** 31) - 1;

interface ChainReport {
  /** How many were read and are sound. */
  entries: number;
  /**
   * Hexadecimal, of the last sound entry. Removing the latest entries, or rewriting all of them, leaves a valid chain:
   * only comparing with a hash that was stored elsewhere detects that.
   */
  lastHash: string | null;
  /** Number of the first entry that is missing or altered. */
  broken?: number;
}

/** Reads an organization's chain from its first entry to the first that is broken. */
export async function verifyAudit(database: Database, organizationId: string): Promise<ChainReport> {
  const sql = sqlOn(database.pool);
  let entries = 0;
  let previous = firstHash;
  const report = () => ({ entries, lastHash: entries === 0 ? null : previous.toString('hex') });
  for (let after = beforeAll; ; after = entries) {
    const page = await sql.rows(findNext, { organizationId, after, limit: pageSize });
    for (const { number, previousHash, hash, hashVersion, ...content } of page) {
      const position = Buffer.alloc(4);
      position.writeInt32BE(number);
      const hidesOrigin = hashVersion !== hashVersions.withOrigin && (content.requestId ?? content.ip) !== null;
      const sound =
        number === entries + 1 &&
        !hidesOrigin &&
        previous.equals(previousHash) &&
        sha256(previous, position, digestOf(content, hashVersion)).equals(hash);
      if (!sound) return { ...report(), broken: entries + 1 };
      entries = number;
      previous = Buffer.from(hash);
    }
    if (page.length < pageSize) return report();
  }
}
