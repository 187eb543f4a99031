import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { untilTaken } from '../../api-client.ts';
import { endOf, makeWorkflow } from '../../automation/make-workflow.ts';
import { type StartedProduct, startProduct } from '../../product.ts';
import { until } from '../../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(420_000);

let product: StartedProduct;
beforeAll(async () => {
  product = await startProduct();
});
afterAll(() => product?.close());

const many = { runs: 24, steps: 16 };
const list = (length: number) => Array.from({ length }, (_, at) => at);

test('runs whose prompts repeat a large input execute each step once, however long they take together', async () => {
  const { api, process } = product;
  const prompt = '{{input}}'.repeat(10);
  const { id } = await makeWorkflow(api, {
    steps: list(many.steps).map((at) => ({ id: `p${at}`, type: 'prompt', prompt })),
  });
  const body = { input: 'A text that is repeated. '.repeat(8_000), async: true };
  const begin = (at: number) =>
    untilTaken('a run starts', () => {
      const headers = { 'x-api-variant': 'A', 'idempotency-key': `run-${at}` };
      return api.post(`/v1/workflows/${id}/execute`, body, headers);
    });
  const begun = await Promise.all(list(many.runs).map(begin));
  for (const { body } of begun) expect((await endOf(api, body.data.runId, 360_000)).status).toBe('completed');
  const calls = () => process.log.filter(({ msg }) => msg === 'model called');
  await until('the calls are logged', async () => calls().length >= many.runs * many.steps);
  const called = calls();
  // A call that was made again is shown with what went wrong before.
  const again = called.filter(({ attempt }) => Number(attempt) > 1);
  const warnings = process.log.filter(({ level }) => Number(level) >= 40);
  expect({ again, warnings: again.length > 0 ? warnings : [] }).toEqual({ again: [], warnings: [] });
  expect(called.length).toBe(many.runs * many.steps);
});
