import { setTimeout as sleep } from 'node:timers/promises';
import { readPatiently } from '../../platform/database/database-errors.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { eventsOf } from '../core/run-events.ts';
import { isTerminal, type RunStatus } from '../core/run-status.ts';
import { filterParameters, type RangeName, ranges, residual } from '../run-search/ranges.ts';
import { findRunIds, planOf, type RunFilter, statementsOf } from '../run-search/search-runs.ts';
import { FlowEvents, isFlowRun } from '../runs/follow-flow.ts';
import { lookEveryMs, readUnlessGone, type SeenEvent } from '../runs/follow-run.ts';
import { getRun, type RunDetail } from '../runs/runs.ts';
import { StreamCursor } from './stream-cursor.ts';
import type { StreamReads } from './stream-reads.ts';

/** Open runs that a stream follows at the same time, the newest ones. */
const maxFollowed = 1_000;
/** The number of newest runs of the filter that a new stream searches for runs to follow. */
const maxScan = 10_000;
/** How often it looks for new runs. */
const findEveryMs = 1_000;
/** How much later than its time of creation a run may become visible. */
const createdWithinMs = 10_000;

/** An event of one of many runs, with the cursor that a client continues behind. */
type RunsEvent = SeenEvent & { cursor: string };

const findTime = statement({
  name: 'run.stream_time',
  row: { now: 'timestamptz' },
  text: 'select atelier_now() as now where :organizationId is not null and :environment is not null',
});

const findBy = statementsOf((name: RangeName) =>
  statement({
    name: `run.to_follow_by_${name}`,
    parameters: { ...filterParameters, since: 'timestamptz', limit: 'int' },
    row: { id: 'uuid' },
    text: `with candidates as materialized (${ranges[name]})
     select c.id from candidates c
       join run r on r.id = c.id
       join automation a on a.id = r.automation_id and a.deleted_at is null
      where ${residual} and (r.finished_at is null or r.finished_at >= :since)
      order by c.created_at desc, c.id desc limit :limit`,
  }),
);

const findMarks = statement({
  name: 'run.marks_of_many',
  parameters: { runIds: 'uuid[]' },
  row: { id: 'uuid', mark: 'text', version: 'text', status: typed<RunStatus>('text') },
  text: `select r.id, concat_ws(' ', r.status, r.finished_steps, r.current_step) as mark, r.xmin::text as version, r.status
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.organization_id = :organizationId and r.environment = :environment and r.id = any(:runIds)`,
});

type Mark = RowOf<typeof findMarks>;

interface Followed {
  mark: string | undefined;
  /** Absent until its first event, and for runs whose steps follow each other. */
  flow?: FlowEvents;
}

interface FollowOptions {
  reads: StreamReads;
  /** Called for a run that is no longer followed: it has ended, after its last event, or was deleted, which is no event. */
  left(runId: string): void;
  /** Ends the events. */
  stop: AbortSignal;
}

/** The events of all runs of a filter that one stream follows. */
class RunsReader {
  readonly #reads: StreamReads;
  readonly #scope: Scope;
  readonly #filter: RunFilter;
  readonly #cursor: StreamCursor;
  readonly #followed = new Map<string, Followed>();
  /** Runs that have ended, and when they are forgotten: until then they may be found as new ones. */
  readonly #ended = new Map<string, number>();
  readonly #left: (runId: string) => void;
  #foundAt = Number.NEGATIVE_INFINITY;
  #from: Date;

  constructor(
    { reads, left }: Pick<FollowOptions, 'reads' | 'left'>,
    scope: Scope,
    filter: RunFilter,
    cursor: StreamCursor,
    now: Date,
  ) {
    this.#reads = reads;
    this.#left = left;
    this.#scope = scope;
    this.#filter = filter;
    this.#cursor = cursor;
    this.#from = now;
  }

  #queued<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.#reads.run(this.#scope.tenant.organizationId, read);
  }

  /** Runs that have not ended, or not before the cursor. */
  async begin(): Promise<void> {
    const { name, values } = await planOf(this.#scope, this.#filter);
    const since = this.#cursor.since;
    const found = await this.#queued(() =>
      this.#scope.rows(findBy[name], { ...values, since, scan: maxScan, limit: maxFollowed }),
    );
    for (const { id } of found) this.#followed.set(id, { mark: undefined });
  }

  /** What happened since the last time. */
  async *read(): AsyncGenerator<RunsEvent> {
    await this.#findNew();
    if (this.#followed.size === 0) return;
    const runIds = [...this.#followed.keys()];
    const marks = await this.#queued(() => readPatiently(() => this.#scope.rows(findMarks, { runIds }), undefined));
    if (!marks) return;
    const byId = new Map(marks.map((one) => [one.id, one]));
    for (const id of runIds) {
      const found = byId.get(id);
      if (!found) {
        this.#followed.delete(id);
        this.#left(id);
      } else yield* this.#readRun(id, found);
    }
  }

  async *#readRun(id: string, { mark, version, status }: Mark): AsyncGenerator<RunsEvent> {
    const followed = this.#followed.get(id)!;
    const isNew = followed.mark === undefined;
    // The steps of a flow change without its mark, but not without its row.
    const isSame = followed.flow ? followed.flow.version === version : followed.mark === mark;
    if (isSame) return;
    if (isNew && status !== 'queued' && (await this.#isFlow(id))) {
      const run = await this.#readDetail(id);
      if (run === 'later') return;
      if (run === 'gone') return this.#leave(id);
      followed.flow = new FlowEvents(this.#scope, run, 0);
    }
    if (followed.flow) {
      if (yield* this.#counted(followed.flow.read())) this.#leave(id);
      followed.mark = mark;
      return;
    }
    if (status === 'queued') return;
    const run = await this.#readDetail(id);
    if (run === 'later') return;
    if (run === 'gone') return this.#leave(id);
    for (const event of eventsOf(run)) {
      const counted = this.#count({ ...event, run });
      if (counted) yield counted;
    }
    followed.mark = mark;
    if (isTerminal(run.status)) this.#leave(id);
  }

  #isFlow(id: string): Promise<boolean> {
    return this.#queued(() => readPatiently(() => isFlowRun(this.#scope, id), false));
  }

  #readDetail(id: string): Promise<RunDetail | 'later' | 'gone'> {
    return this.#queued(() => readUnlessGone(() => getRun(this.#scope, id)));
  }

  async *#counted(events: AsyncGenerator<SeenEvent, boolean>): AsyncGenerator<RunsEvent, boolean> {
    for (;;) {
      const next = await this.#queued(() => events.next());
      if (next.done) return next.value;
      const counted = this.#count(next.value);
      if (counted) yield counted;
    }
  }

  #count(event: SeenEvent): RunsEvent | undefined {
    const { run, id, at } = event;
    if (this.#cursor.has(run.id, id, at)) return undefined;
    return Object.assign(event, { cursor: this.#cursor.add(run.id, id, at) });
  }

  #leave(id: string): void {
    this.#followed.delete(id);
    this.#left(id);
    this.#ended.set(id, performance.now() + 2 * createdWithinMs);
  }

  async #findNew(): Promise<void> {
    const now = performance.now();
    if (now - this.#foundAt < findEveryMs || this.#followed.size >= maxFollowed) return;
    for (const [id, until] of this.#ended) if (until < now) this.#ended.delete(id);
    const from = new Date(this.#from.getTime() - createdWithinMs);
    const find = async () => {
      const time = (await this.#scope.one(findTime))!.now;
      const { ids } = await findRunIds(this.#scope, { ...this.#filter, from }, maxFollowed);
      return { time, ids };
    };
    const found = await this.#queued(() => readPatiently(find, undefined));
    if (!found) return;
    this.#foundAt = now;
    this.#from = found.time;
    for (const id of found.ids.toReversed()) {
      if (this.#followed.size >= maxFollowed) break;
      if (!this.#followed.has(id) && !this.#ended.has(id)) this.#followed.set(id, { mark: undefined });
    }
  }
}

/**
 * The events of all runs that match a filter, from now on or behind `lastEventId`, until `stop` is aborted. Of a run they
 * come in their order.
 * @throws AppError validation_error for an id that is none of this stream, or is more than an hour old
 */
export async function followRuns(
  scope: Scope,
  filter: RunFilter,
  lastEventId: string | undefined,
  { stop, ...options }: FollowOptions,
): Promise<AsyncGenerator<RunsEvent>> {
  const { now } = (await scope.one(findTime))!;
  const cursor =
    lastEventId === undefined ? StreamCursor.begin(now.getTime()) : StreamCursor.read(lastEventId, now.getTime());
  const reader = new RunsReader(options, scope, filter, cursor, now);
  await reader.begin();
  return (async function* () {
    while (!stop.aborted) {
      yield* reader.read();
      await sleep(lookEveryMs, undefined, { signal: stop }).catch(() => {});
    }
  })();
}
