import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { isTerminal, type RunStatus } from '../../src/automation/core/run-status.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { openProduct, type Product, type ProductOptions } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { Caller } from './caller.ts';

/** A product whose runs are watched from the first one on, and its customer. */
export interface Scene {
  product: Product;
  caller: Caller;
}

/** Entry point of processes that are missed soon when they die. */
export const soonNoticed = fileURLToPath(new URL('./soon-noticed.ts', import.meta.url));

export async function openScene(options?: ProductOptions): Promise<Scene> {
  const product = await openProduct({ entryPoint: soonNoticed, ...options });
  await watchRuns(product);
  // A plan whose limits no crash test comes near.
  const tenant = await product.createTenant({ plan: 'enterprise' });
  return { product, caller: new Caller(tenant.testKey) };
}

/** A scene of one test's own, for tests that run at the same time. */
export async function withScene(act: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = await openScene();
  try {
    await act(scene);
  } finally {
    await scene.product.close();
  }
}

/** PostgreSQL itself keeps what happens to each run, so that a state that came and went is seen too. */
async function watchRuns({ ownerUrl }: Product): Promise<void> {
  // As the owner of the tables: the product's own roles may not change the schema.
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  await owner.query(`
    create table seen_change (run_id uuid, before text, after text);
    grant select on seen_change to public;
    create function see_change() returns trigger language plpgsql security definer as $$
      begin
        insert into seen_change values (new.id, case when tg_op = 'UPDATE' then old.status end, new.status);
        return new;
      end $$;
    create trigger see_change after insert or update on run for each row execute function see_change();`);
  await owner.end();
}

export interface Evidence {
  product: Product;
  caller: Caller;
  /** A process of the API that lives. */
  api: string;
  temporalAddress?: string;
  /** How long the runs may take to end. */
  withinMs?: number;
}

/**
 * Waits until everything has come to rest and then looks for whatever was lost or done twice.
 * @returns one line per finding
 */
export async function findViolations(evidence: Evidence): Promise<string[]> {
  const { product } = evidence;
  await atRest(evidence);
  return [
    ...(await findLostRuns(evidence)),
    ...(await findSecondEnds(product.database)),
    ...(await findGaps(product.database)),
    ...(await findWrongSteps(product.database)),
    ...(await findWrongFiles(product.database)),
    ...(await findNeedlessCalls(product)),
    ...(await findOpenWorkflows(evidence)),
  ];
}

/** Until every run has ended and the outbox is empty; says what is still open when that takes too long. */
async function atRest(evidence: Evidence): Promise<void> {
  const { product, withinMs = 120_000 } = evidence;
  const open = async () => {
    const { rows } = await product.database.pool.query(`
      select id, to_jsonb(run) as open from run where finished_at is null
      union all select id, to_jsonb(outbox) from outbox`);
    return rows;
  };
  await until('all runs end', async () => (await open()).length === 0, withinMs).catch(async (error: Error) => {
    const stuck = await open();
    const some = stuck.slice(0, 5);
    const known = await withWorkflows(evidence, (workflow) =>
      Promise.all(
        some.map(async ({ id }) => {
          const { status, raw } = await workflow.getHandle(runWorkflowId(id)).describe();
          return { id, workflow: status.name, activities: raw.pendingActivities, task: raw.pendingWorkflowTask };
        }),
      ),
    ).catch((reason) => [String(reason)]);
    const logs = product.processes.flatMap(({ pid, log }) => log.slice(-10).map((line) => ({ pid, ...line })));
    const found = [...some.map((row) => row.open), ...known, ...logs].map((line) => JSON.stringify(line));
    throw new Error([`${error.message}; ${stuck.length} rows are left`, ...found].join('\n'));
  });
}

async function withWorkflows<Found>(
  { temporalAddress }: Evidence,
  look: (workflow: Client['workflow']) => Promise<Found>,
): Promise<Found> {
  const connection = await Connection.connect({ address: temporalAddress ?? runningServers().temporalAddress });
  try {
    return await look(new Client({ connection }).workflow);
  } finally {
    await connection.close();
  }
}

/** Every run that an answer named is there, and over. */
async function findLostRuns({ caller, api }: Evidence): Promise<string[]> {
  const found: string[] = [];
  for (const runId of caller.acknowledged) {
    const { status, body } = await caller.read(api, runId);
    if (status !== 200) found.push(`run ${runId} was acknowledged and answers ${status}`);
    else if (!isTerminal(body.data.status)) found.push(`run ${runId} is ${body.data.status}`);
  }
  return found;
}

/** A run ends once, and nothing changes it afterwards. */
async function findSecondEnds({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(`
    select run_id as "runId", array_agg(coalesce(before, 'nothing') || ' to ' || after) as changes from seen_change
     group by run_id
    having count(*) filter (where before in ('completed', 'failed', 'cancelled')) > 0
        or count(*) filter (where after in ('completed', 'failed', 'cancelled')) <> 1`);
  return rows.map(({ runId, changes }) => `run ${runId} changed so: ${changes.join(', ')}`);
}

/** The runs of a workflow are numbered 1, 2, 3 … */
async function findGaps({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(`
    select a.id, a.total_runs as total, count(r.id)::int as count, coalesce(max(r.number), 0) as last
      from automation a left join run r on r.automation_id = a.id group by a.id
    having count(r.id) <> a.total_runs or coalesce(max(r.number), 0) <> a.total_runs`);
  return rows.map(
    ({ id, total, count, last }) => `workflow ${id} counts ${total} runs, has ${count}, the last is ${last}`,
  );
}

/** What a run says of itself is what its steps say; every one of them was attempted. */
async function findWrongSteps({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(`
    select r.id, r.status, r.finished_steps as finished, r.total_steps as total, r.tokens_used as tokens,
           s.completed, s.failed, s.rows, s.tokens as "stepTokens", s.unattempted
      from run r cross join lateral (
        select count(*)::int as rows, count(*) filter (where status = 'completed')::int as completed,
               count(*) filter (where status = 'failed')::int as failed, coalesce(sum(tokens_used), 0)::int as tokens,
               count(*) filter (where attempts < 1 or finished_at is null)::int as unattempted
          from run_step where run_id = r.id) s
     where r.finished_steps <> s.completed or r.tokens_used <> s.tokens or s.unattempted > 0
        or (r.status = 'completed' and (s.rows <> r.total_steps or s.completed <> r.total_steps))
        or (r.status = 'failed' and s.failed <> 1)`);
  return rows.map((row) => `run and steps disagree: ${JSON.stringify(row)}`);
}

/** Each large output has its file, and each file that is kept has its output. */
async function findWrongFiles({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(`
    select s.run_id, s.step_id, f.name
      from (select * from run_step where output_file is not null) s
      full join (select name from file where kind = 'output' and recorded_at is not null and remove_at is null) f
        on f.name = s.output_file
     where f.name is null or s.run_id is null`);
  return rows.map((row) => `outputs and files disagree: ${JSON.stringify(row)}`);
}

export interface ModelCall {
  runId: string;
  stepId: string;
  attempt: number;
  at: Date;
}

/** Every call of a model by any process, dead ones included, according to their logs. */
export const modelCalls = ({ processes }: Product): ModelCall[] =>
  processes.flatMap(({ log }) =>
    log
      .filter(({ msg }) => msg === 'model called')
      .map(({ runId, stepId, attempt, time }) => ({ runId, stepId, attempt, at: new Date(String(time)) }) as ModelCall),
  );

/** No model is called for a step that is recorded; the record counts the attempts; nothing was made up. Approvals ask people. */
async function findNeedlessCalls(product: Product): Promise<string[]> {
  const { rows } = await product.database.pool.query<{
    step: string;
    status: string;
    attempts: number;
    finishedAt: number | null;
  }>(`select run_id || ' ' || step_id as step, status, attempts,
      (extract(epoch from finished_at) * 1000)::float8 as "finishedAt" from run_step s
     where not exists (select from approval a where a.run_id = s.run_id and a.path = s.path)`);
  const calls = Map.groupBy(modelCalls(product), ({ runId, stepId }) => `${runId} ${stepId}`);
  return rows.flatMap(({ step, status, attempts, finishedAt }) => {
    const ofStep = calls.get(step) ?? [];
    const needless = ofStep.filter(({ at }) => finishedAt !== null && at.getTime() > finishedAt);
    const last = Math.max(0, ...ofStep.map(({ attempt }) => attempt));
    return [
      ...needless.map(
        ({ at }) => `step ${step} ended ${new Date(finishedAt!).toISOString()} and was called ${at.toISOString()}`,
      ),
      ...(status === 'completed' && last !== attempts ? [`step ${step}: attempt ${last}, recorded ${attempts}`] : []),
    ];
  });
}

const endedAs: Partial<Record<RunStatus, string>> = { completed: 'COMPLETED', failed: 'FAILED' };

/** Temporal knows of each run's end too. Asked again for a while: its own end comes after the record. */
async function findOpenWorkflows(evidence: Evidence): Promise<string[]> {
  const { product, withinMs = 120_000 } = evidence;
  const { rows } = await product.database.pool.query<{ id: string; status: RunStatus }>('select id, status from run');
  return withWorkflows(evidence, async (workflow) => {
    const stateOf = async (runId: string) => (await workflow.getHandle(runWorkflowId(runId)).describe()).status.name;
    const found: string[] = [];
    const deadline = performance.now() + withinMs;
    for (const { id, status } of rows) {
      const closed = async () => (await stateOf(id)) !== 'RUNNING';
      await until('the workflow ends', closed, Math.max(0, deadline - performance.now())).catch(() => {});
      const state = await stateOf(id);
      if (state !== endedAs[status]) found.push(`run ${id} is ${status} and its Temporal workflow ${state}`);
    }
    return found;
  });
}
