import pg from 'pg';
import type { Stand } from './stand.ts';

/** Runs of a workflow as the product would have recorded them, without their steps. One in twenty failed. What a foreign key refers to is known to be there. */
export async function insertRuns(
  { databaseUrl }: Pick<Stand, 'databaseUrl'>,
  workflowId: string,
  count: number,
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    await client.query(
      `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                        output, error, tokens_used, duration_ms, finished_steps, total_steps, correlation_id,
                        created_at, started_at, finished_at)
       select uuidv7(), a.organization_id, a.environment, a.id, a.definition_id, n,
              case when n % 20 = 0 then 'failed' else 'completed' end, '"a text of some words"', '{}',
              case when n % 20 > 0 then '{"result": "an answer", "steps": {"step1": "an answer"}}'::json end,
              case when n % 20 = 0 then '{"code": "service_unavailable", "message": "It was away."}'::json end,
              12, 34, 1, 1, 'bench', now(), now(), now()
         from automation a, generate_series(1, $2::int) n where a.id = $1`,
      [workflowId, count],
    );
    await client.query('update automation set total_runs = $2 where id = $1', [workflowId, count]);
    await client.query('vacuum analyze run');
  } finally {
    await client.end();
  }
}
