import type { WaitType } from '../core/waits.ts';

/** What an open step of a run waits for. */
export interface WaitingFor {
  type: Exclude<WaitType, 'job'>;
  stepId: string;
  /** The dotted path of a step within others; null for one of the run's own list. */
  path: string | null;
  since: string;
  /** When the wait ends by itself; null when it does not. */
  until: string | null;
  approvalId: string | null;
  runId: string | null;
}

/** Waits of one run that an answer shows; the earliest steps come first. */
const maxShown = 10;

const asJson = `json_build_object('type', type, 'stepId', step_id, 'path', case when path <> step_id then path end,
  'since', since, 'until', until, 'approvalId', case when type = 'approval' then subject_id end,
  'runId', case when type = 'workflow' then subject_id end)`;

// A run that waits has rows of its waits. The one whose slot was lent to its child, and is not free yet, has an outcome already.
const waits = `(
  select json_agg(${asJson})
    from (select case when w.state = 'open' then w.type else 'slot' end as type, w.step_id, w.path, w.since, w.subject_id,
                 case when w.state = 'open' then w.until end as until
            from run_wait w
           where w.run_id = r.id and w.type <> 'job' and (w.state = 'open' or r.slot = 'returning' and w.outcome is not null)
           order by w.path limit ${maxShown}) shown)`;

// Steps of a flow are recorded where they wait for slots; the step of another run is the next one of its list.
const noEnd = `'until', null, 'approvalId', null, 'runId', null`;
const slots = `(
  select coalesce(
    (select json_agg(json_build_object('type', 'slot', 'stepId', s.step ->> 'stepId',
              'path', case when s.step ->> 'path' <> s.step ->> 'stepId' then s.step ->> 'path' end, 'since', c.since, ${noEnd}) order by s.at)
       from json_array_elements(c.steps) with ordinality as s (step, at)),
    (select json_build_array(json_build_object('type', 'slot', 'stepId', d.steps -> r.finished_steps ->> 'id', 'path', null, 'since', c.since, ${noEnd}))
       from definition d where d.id = r.definition_id and d.steps -> r.finished_steps is not null))
    from calling_run c where c.run_id = r.id and c.leased_until is null)`;

/**
 * SQL: the waits of a run; null while any part of it is executed, or before it has begun. Rows are read only for
 * waiting runs.
 */
export const waitingForSql = `case when r.status = 'running'
  then case when r.waiting_since is not null then ${waits} else ${slots} end end`;

/** Steps of a run that are recorded as waiting for slots. */
export const maxShownWaits = maxShown;
