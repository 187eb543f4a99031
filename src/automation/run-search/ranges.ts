import { runStates, runStatuses } from '../core/run-status.ts';
import { triggerTypes } from '../core/starts.ts';

/** The parameters of every statement that searches runs. A null parameter filters nothing. */
export const filterParameters = {
  workflowId: 'uuid?',
  workflowIds: 'uuid[]?',
  runIds: 'uuid[]?',
  statuses: 'text[]?',
  tags: 'text[]?',
  triggers: 'text[]?',
  parentRunId: 'uuid?',
  batchId: 'uuid?',
  version: 'int?',
  errorCode: 'text?',
  correlationId: 'text?',
  isTest: 'boolean',
  from: 'timestamptz',
  /** The entry before the range: a time and an id, in the order of the list. */
  beforeTime: 'text',
  beforeId: 'uuid',
  /** The same in the numbers of a workflow. */
  fromNumber: 'int',
  beforeNumber: 'int',
  /** How many runs of a range are looked at. */
  scan: 'int',
} as const;

const tenant = 'organization_id = :organizationId and environment = :environment';
const before = 'created_at >= :from and (created_at, id) < (:beforeTime::timestamptz, :beforeId)';
const inOrder = 'order by created_at desc, id desc limit :scan';

const oneRange = (where: string) => `
   select id, created_at from run where ${tenant} and ${where} and ${before} ${inOrder}`;

/**
 * The runs of one filter, newest first, from an index that has them in this order. Where that index begins with states, one
 * range of each state is merged. The planner has no other way to this order, whatever statistics say.
 */
export const ranges = {
  named: oneRange('id = any(:runIds)'),
  batch: oneRange('batch_id = :batchId and is_test = :isTest'),
  parent: oneRange('parent_run_id = :parentRunId and is_test = :isTest'),
  correlation: oneRange('correlation_id = :correlationId and is_test = :isTest'),
  error: oneRange('error_code = :errorCode and not is_test'),
  test: oneRange('is_test'),
  tag: `
   select run_id as id, created_at from run_tag
    where ${tenant} and tag = (:tags)[1] and created_at >= :from
      and (created_at, run_id) < (:beforeTime::timestamptz, :beforeId)
    order by created_at desc, run_id desc limit :scan`,
  version: `
   select k.id, k.created_at
     from automation a
     join definition d on d.automation_id = a.id and d.version = :version
    cross join lateral (
      select id, created_at from run
       where ${tenant} and definition_id = d.id and not is_test and ${before}
       ${inOrder}) k
    where a.organization_id = :organizationId and a.environment = :environment and a.deleted_at is null
      and (:workflowId is null or a.id = :workflowId)
    order by k.created_at desc, k.id desc limit :scan`,
  workflow: `
   select k.id, k.created_at
     from unnest(coalesce(:statuses, array[${runStates.sql(...runStatuses)}])) as s (status)
    cross join lateral (
      select id, created_at, number from run
       where ${tenant} and automation_id = :workflowId and (status, number) < (s.status, :beforeNumber)
         and (status, number) >= (s.status, :fromNumber)
       order by status desc, number desc limit :scan) k
    order by k.number desc limit :scan`,
  all: `
   select k.id, k.created_at
     from unnest(coalesce(:triggers, array[${triggerTypes.map((type) => `'${type}'`).join(', ')}])) as t (trigger_type)
    cross join unnest(coalesce(:statuses, array[${runStates.sql(...runStatuses)}])) as s (status)
    cross join lateral (
      select id, created_at from run
       where ${tenant} and not is_test and trigger_type = t.trigger_type and status = s.status and ${before}
       ${inOrder}) k
    order by k.created_at desc, k.id desc limit :scan`,
} as const;
export type RangeName = keyof typeof ranges;

/** The filters that a range does not have. */
export const residual = `
   ${tenant.replaceAll(/\b(organization_id|environment)\b(?= =)/g, 'r.$1')}
   and r.is_test = :isTest
   and (:workflowId is null or r.automation_id = :workflowId)
   and (:workflowIds is null or r.automation_id = any(:workflowIds))
   and (:runIds is null or r.id = any(:runIds))
   and (:statuses is null or r.status = any(:statuses))
   and (:triggers is null or r.trigger_type = any(:triggers))
   and (:parentRunId is null or r.parent_run_id = :parentRunId)
   and (:batchId is null or r.batch_id = :batchId)
   and (:version is null or (select d.version from definition d where d.id = r.definition_id) = :version)
   and (:errorCode is null or r.error_code = :errorCode)
   and (:correlationId is null or r.correlation_id = :correlationId)
   and (:tags is null or r.tags @> to_jsonb(:tags))
   and r.created_at >= :from
   and (r.created_at, r.id) < (:beforeTime::timestamptz, :beforeId)
   and (r.number >= :fromNumber or :workflowId is null) and (r.number < :beforeNumber or :workflowId is null)`;
