import { insertRuns } from '../insert-runs.ts';
import { interleave, type Side } from '../interleave.ts';
import { type Aim, compare, type Finding, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const runs = 1_000_000;
const firstPage = 'the first page';

/** P8: the duration of a page far behind the first, with the total that comes with every page. */
export const listRuns: Item = {
  name: 'P8',
  title: 'GET /api/v1/workflows/{id}/runs, 50 of 1,000,000 runs with their total, p50 alone',
  needs: 'stand',
  async run(stand) {
    const id = await createWorkflowOfSteps(stand, 1);
    await insertRuns(stand, id, runs);
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
