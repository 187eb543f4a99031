import type { Page } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { runIds } from '../core/ids.ts';
import { runStates, type StepStatus } from '../core/run-status.ts';
import { runNotFound } from '../errors.ts';
import { live, type StepResult, shownCalls, skipped, stepMembers, withDates } from '../runs/runs.ts';

interface StepFilter {
  /** The dotted path of a step or container: the step itself, and those within it. */
  path?: string | undefined;
  statuses?: readonly StepStatus[] | undefined;
}

// A run has at most 10,000 rows of steps, which the index of its steps finds; only the rows of the page are read in
// full. Steps that an ended run never reached have positions after all others.
const findSteps = statement({
  name: 'run.steps',
  parameters: { runId: 'uuid', path: 'text?', statuses: 'text[]?', limit: 'int', offset: 'int' },
  row: {
    id: 'uuid',
    createdAt: 'timestamptz',
    finishedAt: 'timestamptz?',
    total: 'int',
    steps: typed<StepResult[]>('json'),
    unreached: typed<Pick<StepResult, 'stepId' | 'name'>[]>('json'),
  },
  text: `
    with r as (
      select r.* ${live} and r.id = :runId),
    entries as (
      select s.position as place, null as step_id, null as name from run_step s
       where s.run_id = (select id from r) and s.organization_id = :organizationId and s.environment = :environment
         and (:path is null or coalesce(s.path, s.step_id) = :path or starts_with(s.path, :path || '.'))
         and (:statuses is null or s.status = any(:statuses))
      union all
      select 1000000 + d.at, d.step ->> 'id', d.step ->> 'name'
        from r join definition on definition.id = r.definition_id
       cross join json_array_elements(definition.steps) with ordinality as d (step, at)
       where r.status in (${runStates.sql('completed', 'failed', 'cancelled')})
         and (:path is null or d.step ->> 'id' = :path)
         and (:statuses is null or 'skipped' = any(:statuses))
         and not exists (select from run_step s where s.run_id = r.id
                            and case when s.path is null then s.position = d.at - 1 else s.path = d.step ->> 'id' end)),
    page as (select * from entries order by place limit :limit offset :offset),
    shown as (
      select s.*, sum(coalesce(s.output_bytes, 0)) over (order by coalesce(s.output_bytes, 0), s.position) as bytes_up_to
        from page join run_step s on s.run_id = (select id from r) and s.position = page.place)
    select r.id, r.created_at as "createdAt", r.finished_at as "finishedAt", (select count(*)::int from entries) as total,
           coalesce((select json_agg(json_build_object(${stepMembers}, 'toolCalls', c.calls) order by s.position)
              from shown s left join (${shownCalls}) c on c.position = s.position), '[]') as steps,
           coalesce((select json_agg(json_build_object('stepId', step_id, 'name', name) order by place)
              from page where step_id is not null), '[]') as unreached
      from r`,
});

/** The steps of a run in the order of their start, then those that it never reached. `id` in either form. @throws AppError run_not_found */
export async function listSteps(
  scope: Scope,
  id: string,
  { path, statuses }: StepFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<Page<StepResult> & { runId: string }> {
  const runId = runIds.parse(id);
  const filter = { path: path ?? null, statuses: statuses ?? null };
  const found = runId && (await scope.one(findSteps, { runId, ...filter, limit, offset }));
  if (!found) throw runNotFound(id);
  const { steps, unreached, total } = found;
  const items = [...steps.map(withDates), ...unreached.map((step) => skipped(step, found))];
  return { runId, items, total, limit, offset };
}
