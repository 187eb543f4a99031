import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import type { Page } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { diffDefinitions } from '../bounded/bounded-tasks.ts';
import { isSameJson } from '../core/definition-changes.ts';
import { definitionOf } from '../core/definition-fields.ts';
import { workflowIds } from '../core/ids.ts';
import type { DefinitionFields } from '../definitions/automations.ts';
import { Definition } from '../entities.ts';
import { workflowNotFound } from '../errors.ts';

/** Maximum versions of a workflow that are listed and kept, the newest ones. Runs keep the version that they pin. */
export const maxVersions = 1_000;

interface VersionSummary {
  version: number;
  createdAt: Date;
  /** Who saved it, as the audit log names them; null before version 0.3. */
  createdBy: string | null;
  /** Dotted paths that differ from the version before. */
  changes: string[];
  isCurrent: boolean;
}

export interface VersionDetail {
  version: number;
  createdAt: Date;
  createdBy: string | null;
  definition: DefinitionFields;
}

const versionNotFound = (version: number) =>
  new AppError('not_found', 'The workflow has no such version.', { version });

const findCurrent = statement({
  name: 'definition.current_version',
  parameters: { automationId: 'uuid' },
  row: { version: 'int' },
  text: `select d.version from automation a join definition d on d.id = a.definition_id
          where a.organization_id = :organizationId and a.environment = :environment and a.id = :automationId
            and a.deleted_at is null`,
});

const listPage = statement({
  name: 'definition.versions',
  parameters: { automationId: 'uuid', current: 'int', limit: 'int', offset: 'int' },
  row: {
    version: 'int',
    createdAt: 'timestamptz',
    createdBy: 'text?',
    changes: typed<string[] | null>('jsonb?'),
  },
  text: `select version, created_at as "createdAt", created_by as "createdBy", changes
           from definition
          where organization_id = :organizationId and environment = :environment and automation_id = :automationId
            and version > :current - ${maxVersions}
          order by version desc limit :limit offset :offset`,
});

const countVersions = statement({
  name: 'definition.count_versions',
  parameters: { automationId: 'uuid', current: 'int' },
  row: { total: 'int' },
  text: `select count(*)::int as total from definition
          where organization_id = :organizationId and environment = :environment and automation_id = :automationId
            and version > :current - ${maxVersions}`,
});

/** @throws AppError workflow_not_found */
async function currentOf(scope: Scope, id: string): Promise<{ automationId: string; current: number }> {
  const automationId = workflowIds.parse(id);
  const found = automationId && (await scope.one(findCurrent, { automationId }));
  if (!found) throw workflowNotFound(id);
  return { automationId, current: found.version };
}

/** Newest first. @throws AppError workflow_not_found */
export async function listVersions(
  scope: Scope,
  id: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<Page<VersionSummary>> {
  const { automationId, current } = await currentOf(scope, id);
  const [rows, counted] = await Promise.all([
    scope.rows(listPage, { automationId, current, limit, offset }),
    scope.one(countVersions, { automationId, current }),
  ]);
  const items = rows.map(({ version, createdAt, createdBy, changes }) => {
    return { version, createdAt, createdBy, changes: changes ?? [], isCurrent: version === current };
  });
  return { items, total: counted!.total, limit, offset };
}

/** One version of a workflow, the current one unless another is named. @throws AppError workflow_not_found; not_found */
export async function getVersion(scope: Scope, id: string, named?: number): Promise<VersionDetail> {
  const { automationId, current } = await currentOf(scope, id);
  const version = named ?? current;
  const found = await scope.read((em) => em.findOne(Definition, { automationId, version }));
  if (!found) throw versionNotFound(version);
  const { createdAt, createdBy = null } = found;
  return { version, createdAt, createdBy, definition: definitionOf(found) as unknown as DefinitionFields };
}

/** An operation of RFC 6902. */
export type PatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string }
  | { op: 'move' | 'copy'; from: string; path: string };

/**
 * The operations that turn one definition into the other. Where they are large, or finding few of them takes long, each member
 * that differs is replaced.
 */
export async function diffOf(work: BoundedWork, scope: Scope, from: object, to: object): Promise<PatchOperation[]> {
  const found = await work.run(diffDefinitions, scope.tenantKey, { from, to }).catch((error: unknown) => {
    if (error instanceof WorkTooCostly) return null;
    throw error;
  });
  if (found) return found as PatchOperation[];
  const before = new Map<string, unknown>(Object.entries(from));
  return Object.entries(to)
    .filter(([name, value]) => !isSameJson(before.get(name), value))
    .map(([name, value]) => ({ op: 'replace', path: `/${name}`, value }));
}
