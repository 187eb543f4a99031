import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { recordSteps } from '../../src/automation/runs/run-records.ts';
import { storeOutput } from '../../src/automation/steps/step-outputs.ts';
import { storable } from '../../src/automation/steps/storable.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { removeDueFiles } from '../../src/storage/sweep.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { openFiles } from '../storage/open-files.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
const folder = join(runningServers().folder, 'files');
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

interface Row {
  step: string;
  bytes: number;
  /** Whether the table has the output itself. */
  inTable: boolean;
  file: string | null;
  /** Whether the file is recorded and kept. */
  kept: boolean | null;
}

async function rowsOf(runId: string): Promise<Row[]> {
  const { rows } = await product.database.pool.query<Row>(
    `select s.step_id as step, s.output_bytes as bytes, s.output is not null as "inTable", s.output_file as file,
            case when f.name is not null then f.recorded_at is not null and f.remove_at is null end as kept
       from run_step s left join file f on f.name = s.output_file
      where s.run_id = $1 order by s.position`,
    [runIds.parse(runId)],
  );
  return rows;
}
const pathOf = (name: string) => join(folder, name.slice(0, 2), name);

async function execute(workflowId: string, input: unknown): Promise<string> {
  const answer = await api.post(`/v1/workflows/${workflowId}/execute`, { input }, { 'x-api-variant': 'A' });
  return answer.body.data?.runId ?? answer.body.error.details.runId;
}
const outputOf = async (runId: string, step: string) =>
  (await api.get(`/v1/runs/${runId}/outputs/${step}`)).body.data.output;

const transform = (id: string, expression: string) => ({ id, type: 'transform', expression });
const prompt = (id: string, text: string) => ({ id, type: 'prompt', prompt: text });

test('an output of more than 256 KiB is a file: later steps and retries read it, and it goes with its workflow', async () => {
  const input = '€'.repeat(50_000);
  // The third one is called in an activity, in which nothing of the first two is in memory.
  const steps = [
    transform('limit', 'input.substring(0, 87380) + "ab"'),
    transform('over', 'steps.limit.output + "!"'),
    prompt('fails', 'sandbox:slow=0.1 sandbox:fail {{steps.over.output}}'),
    transform('size', '{"over": size(steps.over.output), "end": steps.over.output.endsWith("ab!")}'),
  ];
  const { id } = await makeWorkflow(api, { steps });
  const whole = input.repeat(2).slice(0, 87_380);
  const failed = await execute(id, input.repeat(2));
  expect(await rowsOf(failed)).toEqual([
    { step: 'limit', bytes: 256 * 1024, inTable: true, file: null, kept: null },
    { step: 'over', bytes: 256 * 1024 + 1, inTable: false, file: expect.stringMatching(/^.{43}\.json$/), kept: true },
    { step: 'fails', bytes: null, inTable: false, file: null, kept: null },
  ]);
  expect(await outputOf(failed, 'over')).toBe(`${whole}ab!`);

  const mended = steps.map((step) => (step.id === 'fails' ? transform('fails', 'size(steps.over.output)') : step));
  expect((await api.patch(`/v1/workflows/${id}`, { steps: mended })).status).toBe(200);
  const retried = (await api.post(`/v1/runs/${failed}/retry`, { definition: 'current' })).body.data.runId;
  const detail = async () => (await api.get(`/v1/runs/${retried}`)).body.data;
  await until('the retry ends', async () => (await detail()).status === 'COMPLETED');
  const { output } = await detail();
  expect(output.result).toEqual({ over: 87_383, end: true });
  expect(output.steps.over).toEqual({ $ref: `/api/v1/runs/${retried}/outputs/over`, bytes: 256 * 1024 + 1 });
  const { file } = (await rowsOf(failed))[1]!;
  expect((await rowsOf(retried))[1]).toMatchObject({ file, kept: true });
  expect(await outputOf(retried, 'over')).toBe(`${whole}ab!`);
  expect(existsSync(pathOf(file!))).toBe(true);

  await api.delete(`/v1/workflows/${id}`);
  const storage = openFiles(product.database, folder);
  const isRecorded = async () =>
    (await product.database.pool.query('select from file where name = $1', [file])).rowCount === 1;
  // The product removes it at the same time, and its row after it.
  await until('the file is gone, and its row too', async () => {
    await removeDueFiles(storage, 1_000);
    return !existsSync(pathOf(file!)) && !(await isRecorded());
  });
  expect(await rowsOf(retried)).toEqual([]);
});

test('outputs of 16 MiB in all are passed on, to a retry too', async () => {
  const input = 'x'.repeat(1_000_000);
  const four = ['a', 'b', 'c', 'd'].map((id) => transform(id, '[input, input, input, input]'));
  const sizes = `[${four.map(({ id }) => `size(steps.${id}.output[3])`).join(', ')}]`;
  const steps = [...four, transform('sizes', sizes), prompt('called', 'sandbox:slow=0.1'), transform('again', sizes)];
  const { id } = await makeWorkflow(api, { steps });
  const runId = await execute(id, input);
  const expected = four.map(() => 1_000_000);
  const { output } = (await api.get(`/v1/runs/${runId}`)).body.data;
  expect([output.steps.sizes, output.result]).toEqual([expected, expected]);
  expect((await rowsOf(runId)).map(({ inTable }) => inTable)).toEqual([false, false, false, false, true, true, true]);
  expect(await outputOf(runId, 'b')).toEqual([input, input, input, input]);
  const retried = (await api.post(`/v1/runs/${runId}/retry`, { fromStep: 'sizes' })).body.data.runId;
  const detail = async () => (await api.get(`/v1/runs/${retried}`)).body.data;
  await until('the retry ends', async () => (await detail()).status === 'COMPLETED');
  expect((await detail()).output.result).toEqual(expected);
});

test('of two attempts at one step the first keeps its file, and what comes after the end keeps none', async () => {
  const { id } = await makeWorkflow(api, 'sandbox:slow=600 {{input}}');
  const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: 'x', async: true });
  const { runId } = body.data;
  const stepOf = async () => (await api.get(`/v1/runs/${runId}`, inB)).body.data.stepResults[0];
  await until('its model is called', async () => (await stepOf())?.status === 'running');

  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'large-outputs-test');
  const { files } = openFiles(product.database, folder);
  const uuid = runIds.parse(runId)!;
  const steps = [
    { id: 'say', type: 'prompt' },
    { id: 'later', type: 'prompt' },
  ] as const;
  const attempt = async (text: string) => {
    const output = storable(text.repeat(300_000))!;
    const file = await storeOutput(files, scope, uuid, output);
    const at = { startedAt: new Date(), finishedAt: new Date() };
    const end = {
      status: 'completed' as const,
      output: { bytes: output.bytes, file },
      warnings: [],
      warningsTotal: 0,
      ...at,
    };
    const records = [{ position: 0, step: steps[0], ...end }];
    return [file.name, await recordSteps(files, scope, { runId: uuid, steps, records, notify: null })] as const;
  };
  const [[first, recorded], [second, late]] = [await attempt('a'), await attempt('b')];
  expect([recorded, late]).toEqual([expect.objectContaining({ attempts: 1, files: [first] }), undefined]);
  await api.post(`/v1/runs/${runId}/cancel`);
  const [third, tooLate] = await attempt('c');
  expect(tooLate).toBeUndefined();
  expect(await outputOf(runId, 'say')).toBe('a'.repeat(300_000));
  const readable = await Promise.all([first, second, third].map((name) => files.find(name)));
  expect(readable.map((file) => file?.name)).toEqual([first, undefined, undefined]);
});
