import { setTimeout as sleep } from 'node:timers/promises';
import type { Waiters } from '../../platform/concurrency/waiters.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { type FlowStepEvent, type FlowStepTimes, flowEventsAfter } from '../core/flow-events.ts';
import { endEvents } from '../core/run-events.ts';
import { isTerminal, type RunStatus, type StepStatus } from '../core/run-status.ts';
import { isFlow } from '../core/step-types.ts';
import type { Step } from '../core/steps.ts';
import { lookEveryMs, readUnlessGone, type SeenEvent } from './follow-run.ts';
import {
  getRun,
  type RunDetail,
  type StepResult,
  shownCalls,
  stepMembers,
  type WaitingFor,
  withDates,
} from './runs.ts';

const findSteps = statement({
  name: 'run.definition_steps',
  parameters: { runId: 'uuid' },
  row: { steps: typed<Step[]>('json') },
  text: `select d.steps from run r join definition d on d.id = r.definition_id
          where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

/** The steps that a run executes; none of a run that there is not. */
export const stepsOfRun = async (scope: Scope, runId: string): Promise<Step[]> =>
  (await scope.one(findSteps, { runId }))?.steps ?? [];

/** Whether steps of the run execute side by side: their events are read in another way. */
export const isFlowRun = async (scope: Scope, runId: string): Promise<boolean> =>
  isFlow(await stepsOfRun(scope, runId));

// Every record of a step also changes the row of its run: while that row is unchanged, no step is read.
const findStatus = statement({
  name: 'flow.status',
  parameters: { runId: 'uuid' },
  row: { status: typed<RunStatus>('text'), startedAt: 'timestamptz?', version: 'text' },
  text: `select r.status, r.started_at as "startedAt", r.xmin::text as version from run r join automation a on a.id = r.automation_id and a.deleted_at is null
          where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

// Steps that an earlier run executed have no attempts and no events.
const findTimes = statement({
  name: 'flow.step_times',
  parameters: { runId: 'uuid', after: 'timestamptz' },
  row: {
    position: 'int',
    path: 'text',
    status: typed<StepStatus>('text'),
    isContainer: 'boolean',
    didWait: 'boolean',
    startedAt: 'timestamptz',
    finishedAt: 'timestamptz?',
  },
  text: `
    select s.position, s.path, s.status, s.counts is not null as "isContainer", w.id is not null as "didWait",
           s.started_at as "startedAt", s.finished_at as "finishedAt"
      from run_step s left join run_wait w on w.run_id = s.run_id and w.path = s.path
     where s.organization_id = :organizationId and s.environment = :environment and s.run_id = :runId and s.path is not null
       and s.attempts > 0 and (s.started_at > :after or s.finished_at > :after)`,
});

type SeenStep = StepResult & { wait: Omit<WaitingFor, 'stepId' | 'path'> | null };

const findSeen = statement({
  name: 'flow.seen_steps',
  parameters: { runId: 'uuid', positions: 'int[]' },
  row: { steps: typed<{ position: number; step: SeenStep }[] | null>('json?') },
  text: `
    select (
      select json_agg(json_build_object('position', s.position, 'step', json_build_object(${stepMembers}, 'toolCalls', c.calls,
             'wait', case when w.id is not null then json_build_object('type', w.type, 'since', w.since, 'until', w.until,
               'approvalId', case when w.type = 'approval' then w.subject_id end,
               'runId', case when w.type = 'workflow' then w.subject_id end) end)))
        from (select *, sum(coalesce(output_bytes, 0)) over (order by coalesce(output_bytes, 0), position) as bytes_up_to
                from run_step where run_id = r.id and position = any(:positions)) s
        left join run_wait w on w.run_id = s.run_id and w.path = s.path
        left join (${shownCalls}) c on c.position = s.position) as steps
      from run r where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

/** Events whose steps are read together. */
const perRead = 100;
/** The shortest time between two looks: a flow changes more often than anybody reads. */
const pauseMs = 200;

const readTimes = (scope: Scope, runId: string, after: number): Promise<FlowStepTimes[]> =>
  scope.rows(findTimes, { runId, after: after === 0 ? '-infinity' : new Date(after) });

/** How many events a flow has that has ended. */
export async function countFlowEvents(scope: Scope, run: RunDetail): Promise<number> {
  const steps = flowEventsAfter(await readTimes(scope, run.id, 0), 0);
  return (run.startedAt ? 1 : 0) + steps.length + 1;
}

/** The events of a flow with their steps. */
async function* withSteps(scope: Scope, runId: string, events: readonly FlowStepEvent[]) {
  for (let at = 0; at < events.length; at += perRead) {
    const page = events.slice(at, at + perRead);
    const found = await readUnlessGone(() =>
      scope.one(findSeen, { runId, positions: [...new Set(page.map(({ position }) => position))] }),
    );
    if (found === 'gone' || found === 'later') return;
    const steps = new Map((found?.steps ?? []).map(({ position, step }) => [position, step]));
    const missing = page.findIndex(({ position }) => !steps.has(position));
    const present = missing === -1 ? page : page.slice(0, missing);
    for (const [index, { position, name, at: time }] of present.entries()) {
      const step = steps.get(position)!;
      yield { name, at: time, step: withDates(step), wait: step.wait, isFollowed: index + 1 < present.length };
    }
    if (present.length < page.length) return;
  }
}

/** Reads the events of a flow, each once. */
export class FlowEvents {
  readonly #scope: Scope;
  /** Without inputs and outputs, which a stream of many runs would hold for as long as it is open. */
  readonly #run: RunDetail;
  #version: string | undefined;
  /** The number of the event behind which to begin. */
  #after: number;
  #seenUpTo = 0;
  #count = 0;

  constructor(scope: Scope, run: RunDetail, after: number) {
    this.#scope = scope;
    this.#run = { ...run, input: null, output: null, stepResults: [] };
    this.#after = after;
  }

  /** The version of the run's row whose events have all been read; undefined where some could not be. */
  get version(): string | undefined {
    return this.#version;
  }

  /** The events since the last time. @returns whether the flow has ended, or was deleted */
  async *read(): AsyncGenerator<SeenEvent, boolean> {
    const run = this.#run;
    const scope = this.#scope;
    const head = await readUnlessGone(() => scope.one(findStatus, { runId: run.id }));
    if (head === undefined || head === 'gone') return true;
    if (head === 'later') return false;
    if (this.#version === head.version) return isTerminal(head.status) && (yield* this.#end());
    this.#version = undefined;
    const times = await readUnlessGone(() => readTimes(scope, run.id, this.#seenUpTo));
    if (times === 'gone') return true;
    if (times === 'later') return false;
    if (head.startedAt && this.#count === 0) {
      this.#count = 1;
      if (this.#after < 1) yield { id: 1, name: 'run.started', at: head.startedAt, run };
    }
    const events = flowEventsAfter(times, this.#seenUpTo);
    const skipped = Math.min(events.length, Math.max(0, this.#after - this.#count));
    this.#count += skipped;
    let sent = skipped;
    for await (const { wait, ...event } of withSteps(scope, run.id, events.slice(skipped))) {
      sent++;
      yield { id: ++this.#count, ...event, wait: wait ?? undefined, run };
    }
    if (sent < events.length) {
      // The others are read again when the database is back: a step's events of one time may be divided, and are not sent twice.
      this.#after = this.#count;
      this.#count = head.startedAt ? 1 : 0;
      this.#seenUpTo = 0;
      return false;
    }
    this.#seenUpTo = events.at(-1)?.at.getTime() ?? this.#seenUpTo;
    this.#version = head.version;
    return isTerminal(head.status) && (yield* this.#end());
  }

  async *#end(): AsyncGenerator<SeenEvent, boolean> {
    const ended = await readUnlessGone(() => getRun(this.#scope, this.#run.id));
    if (ended === 'gone') return true;
    if (ended === 'later') {
      this.#version = undefined;
      return false;
    }
    for (const event of endEvents(ended)) {
      if (++this.#count > this.#after) yield { id: this.#count, ...event, run: ended };
    }
    return true;
  }
}

/** As `followRun`, of a flow. */
export async function* followFlow(
  waiters: Waiters,
  scope: Scope,
  run: RunDetail,
  after: number,
  stop: AbortSignal,
): AsyncGenerator<SeenEvent> {
  const events = new FlowEvents(scope, run, after);
  const watch = waiters.watch(run.id);
  try {
    while (!stop.aborted) {
      if (yield* events.read()) return;
      await sleep(pauseMs, undefined, { signal: stop }).catch(() => {});
      await watch.changed(lookEveryMs, stop);
    }
  } finally {
    watch.close();
  }
}
