import type { QueryResultRow } from 'pg';
import { type EnqueuedBy, type Statement, statement, systemStatement } from '../database/sql.ts';
import type { Tenant } from '../tenant.ts';

/** Work that a transaction enqueued. */
export interface Enqueued extends EnqueuedBy {
  kind: string;
  /** Arguments in memory, which spare the direct attempt after the commit a read. */
  hint?: unknown;
}

/** The entries of a committed transaction, and their scope. */
export interface Committed {
  tenant: Tenant;
  correlationId: string;
  actor: string;
  entries: Enqueued[];
}

/** How a process attempts the entries of its transactions. */
export interface OutboxOfProcess {
  /** Kinds that the process has handlers for. */
  readonly kinds: readonly string[];
  /** Called after each commit that enqueued work. */
  afterCommit(committed: Committed): Promise<unknown> | undefined;
  /** @throws Error for a kind that no part of the product declares */
  requireKind(kind: string): void;
}

/**
 * The process that commits attempts the work at once; the drain takes an entry over only after this time, when that
 * process may have died.
 */
export const directGraceMs = 5_000;

interface Source {
  /** Expressions of columns of `from`, and of parameters. */
  subject: string;
  correlation: string;
  from: string;
  /** Due at once, but not attempted after the commit. For statements that enqueue many entries. */
  due?: 'now';
}

const enqueuedKinds = new Set<string>();

/** Kinds that statements of this process enqueue. */
export const kindsInStatements = (): ReadonlySet<string> => enqueuedKinds;

/**
 * An INSERT that enqueues work of the statement's tenant for each row of `from`: a CTE of the statement that the work follows
 * from. The caller appends what happens to an entry that is there already, and declares the kind in `enqueues`.
 */
export function enqueueSql(kind: string, { subject, correlation, from, due }: Source): string {
  enqueuedKinds.add(kind);
  return `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
   select uuidv7(), :organizationId, :environment, '${kind}', ${subject}, ${correlation}::text, 0, atelier_now(),
          atelier_now() + make_interval(secs => ${due === 'now' ? 0 : directGraceMs / 1000})
     from ${from}`;
}

/**
 * The end of `enqueueSql` with the alias `outbox`: a later entry replaces a waiting one, because one attempt serves
 * both. A drain that holds the earlier one then deletes nothing.
 */
export const replacingEarlier = `on conflict (kind, subject_id) do update
     set id = excluded.id, correlation_id = excluded.correlation_id, attempts = 0, last_error = null,
         created_at = excluded.created_at, available_at = excluded.available_at`;

export const enqueue = statement({
  name: 'outbox.enqueue',
  parameters: { kind: 'text', subjectId: 'uuid', correlationId: 'text' },
  row: { id: 'uuid' },
  text: `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
   values (uuidv7(), :organizationId, :environment, :kind, :subjectId, :correlationId, 0, atelier_now(),
           atelier_now() + make_interval(secs => ${directGraceMs / 1000}))
   ${replacingEarlier}
   returning id`,
  // The transaction notes the entry itself.
  enqueues: 'drain',
});

/** The entries of a statement, from its rows. */
export function enqueuedBy<Row extends QueryResultRow>({ enqueues }: Statement<Row, unknown>, rows: Row[]): Enqueued[] {
  if (!enqueues || enqueues === 'drain') return [];
  return Object.entries(enqueues).flatMap(([kind, subjectOf]) =>
    rows.flatMap((row) => {
      const subject = subjectOf(row);
      return subject ? [{ kind, ...subject }] : [];
    }),
  );
}

/** Makes entries due at once, in a process that cannot do their work itself. */
export const releaseToDrain = systemStatement({
  name: 'outbox.release',
  parameters: { organizationId: 'uuid', environment: 'text', kinds: 'text[]', subjectIds: 'uuid[]' },
  text: `update outbox set available_at = least(available_at, atelier_now())
    where organization_id = :organizationId and environment = :environment
      and kind = any(:kinds) and subject_id = any(:subjectIds)`,
});
