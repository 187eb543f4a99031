import { startChildProgram } from '../child-program.ts';
import { requestsPerSecond } from '../http-load.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const baseline = 'bare node:http with the same SELECT';
const load = { connections: 32, status: 200 };

/** P1: what routing, authentication, scoping and dialects cost on top of the one query that a read needs. */
export const readWorkflow: Item = {
  name: 'P1',
  title: 'GET /api/v1/workflows/{id}, 32 keep-alive connections',
  needs: 'stand',
  async run(stand, cleanup) {
    const id = await createWorkflowOfSteps(stand, 3);
    const bare = await startChildProgram({
      program: 'bare-http.ts',
      args: [stand.databaseUrl, stand.organizationId, String(stand.databasePoolSize)],
      logFile: stand.file('bare-http.log'),
    });
    cleanup.add(() => bare.stop());
    stand.meter.watch('bare', bare.pid);
    const side = (name: string, base: string): Side => {
      const target = {
        ...load,
        url: `${base}/api/v1/workflows/${id}`,
        headers: { authorization: `Bearer ${stand.key}` },
      };
      return {
        name,
        warmUp: () => requestsPerSecond({ ...target, seconds: 2 }),
        round: () => requestsPerSecond({ ...target, seconds: 2 }),
      };
    };
    const measured = await interleave(stand.meter, 7, [
      side(baseline, bare.ready.url as string),
      side('product', stand.api),
    ]);
    await bare.stop();
    stand.meter.unwatch('bare');
    return [compare('req/s', 'requests', measured, { [baseline]: { atLeast: 0.55 } })];
  },
};
