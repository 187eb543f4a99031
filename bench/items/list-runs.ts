import pg from 'pg';
import { interleave, type Side } from '../interleave.ts';
import { type Aim, compare, type Finding, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import type { Stand } from '../stand.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const runs = 1_000_000;
const firstPage = 'the first page';

/** P8: how long a page takes that nobody pages to by hand, with the total that comes with every page. */
export const listRuns: Item = {
  name: 'P8',
  title: 'GET /api/v1/workflows/{id}/runs, 50 of 1,000,000 runs with their total, p50 alone',
  needs: 'stand',
  async run(stand) {
    const id = await createWorkflowOfSteps(stand, 1);
    await insertRuns(stand, id);
    const page = (offset: number, status: string) =>
      stand.client.get<{ runs: unknown[] }>(
        `/api/v1/workflows/${id}/runs?limit=50&offset=${offset}${status && `&status=${status}`}`,
      );
    const measure = async (
      what: string,
      offset: number,
      status: string,
      count: number,
      aim?: Aim,
    ): Promise<Finding> => {
      const side = (name: string, at: number): Side => ({
        name,
        warmUp: () => timeAlone(() => page(at, status), { count }),
        round: () => timeAlone(() => page(at, status), { count }),
      });
      const measured = await interleave(stand.meter, 5, [side(firstPage, 0), side(`from ${offset} on`, offset)]);
      return compare('ms', what, measured, aim ? { [firstPage]: aim } : {});
    };
    return [
      await measure('all', 950_000, '', 30, { atMost: 10 }),
      // One run in twenty failed.
      await measure('those that completed', 900_000, 'COMPLETED', 5),
      await measure('those that failed', 49_000, 'FAILED', 5),
    ];
  },
};

/** As the product would have recorded them, without their steps. What a foreign key refers to is known to be there. */
async function insertRuns({ databaseUrl }: Stand, workflowId: string): Promise<void> {
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
              case when n % 20 > 0 then '{"result": "an answer", "steps": {"step1": "an answer"}}'::jsonb end,
              case when n % 20 = 0 then '{"code": "service_unavailable", "message": "It was away."}'::jsonb end,
              12, 34, 1, 1, 'bench', now(), now(), now()
         from automation a, generate_series(1, ${runs}) n where a.id = $1`,
      [workflowId],
    );
    await client.query('update automation set total_runs = $2 where id = $1', [workflowId, runs]);
    await client.query('vacuum analyze run');
  } finally {
    await client.end();
  }
}
