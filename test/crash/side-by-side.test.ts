import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { findViolations, modelCalls, openScene, type Scene } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let scene: Scene;
let apis: ProductProcess[];
let workers: ProductProcess[];
beforeAll(async () => {
  scene = await openScene();
  const start = (role: 'api' | 'runs') => scene.product.start([role]);
  [apis, workers] = await Promise.all([
    Promise.all([start('api'), start('api')]),
    Promise.all([start('runs'), start('runs')]),
  ]);
});
afterAll(() => scene.product.close());

/**
 * Less than the two seconds after which a waiting request polls: an answer that comes sooner was announced. One is enough,
 * because a busy machine may take that long for the run itself.
 */
const announcedMs = 1_800;

test('a caller at either API gets the end from the process that caused it', async () => {
  const { product, caller } = scene;
  const workflowId = await caller.createWorkflow(apis[0]!.api, ['sandbox:slow=0.1 One', 'Two {{input}}']);
  const calledBy = ({ log }: ProductProcess) => log.filter(({ msg }) => msg === 'model called').length;
  const took: number[][] = apis.map(() => []);

  const areAnnounced = () => took.every((of) => Math.min(...of) < announcedMs);

  // One after the other at each API, until both workers have had some of it.
  await until('both workers work, and the end is announced at both', async () => {
    for (const [nth, { api }] of apis.entries()) {
      const before = performance.now();
      const answer = await caller.execute(api, workflowId, { input: took.flat().length, wait: true });
      took[nth]!.push(performance.now() - before);
      expect(answer).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
      expect(answer.body.data.output.result).toContain(`Two ${took.flat().length - 1}`);
    }
    return took.flat().length >= 6 && workers.every((worker) => calledBy(worker) > 0) && areAnnounced();
  });
  expect(apis.map(calledBy)).toEqual([0, 0]);
  expect(await findViolations({ product, caller, api: apis[1]!.api })).toEqual([]);
});

test('the same Idempotency-Key at both APIs at once makes one run', async () => {
  const { product, caller } = scene;
  const workflowId = await caller.createWorkflow(apis[0]!.api, ['sandbox:slow=0.3 One {{input}}']);
  const asked = [...apis, ...apis, ...apis].map(({ api }) =>
    caller.execute(api, workflowId, { wait: true, idempotencyKey: 'both-sides' }),
  );
  const answers = await Promise.all(asked);
  for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 200, body: answers[0]!.body });
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(5);
  expect(await findViolations({ product, caller, api: apis[0]!.api })).toEqual([]);
});

test('one of each may go: the others carry on', async () => {
  const { product, caller } = scene;
  const [lost, left] = apis as [ProductProcess, ProductProcess];
  const workflowId = await caller.createWorkflow(left.api, ['sandbox:slow=1 One', 'Two {{input}}']);
  const before = modelCalls(product).length;
  const waiting = Array.from({ length: 10 }, (_, input) => caller.execute(left.api, workflowId, { input, wait: true }));
  await until('the runs are under way', async () => modelCalls(product).length >= before + 10);
  await Promise.all([lost.kill(), workers[0]!.kill()]);
  for (const { status, body } of await Promise.all(waiting)) {
    expect({ status, body }).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  }
  expect(await findViolations({ product, caller, api: left.api })).toEqual([]);
});
