import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import type { ApiClient } from '../api-client.ts';
import { followEvents } from '../event-stream.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };

/** An object in an order that sorting by length, or by name, would change. */
const sent = '{"zulu":1,"a":{"y":[{"q":1,"b":2}],"x":null},"10":"ten","mm":true,"2":"two"}';
/** The same as JavaScript writes it: names that look like integers come first, in ascending order. */
const kept = '{"2":"two","10":"ten","zulu":1,"a":{"y":[{"q":1,"b":2}],"x":null},"mm":true}';
const object = JSON.parse(sent);

/** The text of a value shows the order of its members, which `toEqual` ignores. */
const textOf = (value: unknown) => JSON.stringify(value);

const transform = (id: string, expression: string) => ({ id, type: 'transform', expression });
const made = '{"zz": 1, "b": {"y": 1, "x": 2}, "20": true, "3": [{"q": 1, "c": 2}]}';
const madeKept = '{"3":[{"q":1,"c":2}],"20":true,"zz":1,"b":{"y":1,"x":2}}';
const steps = [
  transform('zebra', 'input'),
  transform('made', made),
  { id: 'ask', type: 'prompt', prompt: '<{{input}}|{{mine}}|{{steps.zebra.output}}|{{steps.made.output}}>' },
  transform('copy', '{"z": variables.mine, "a": steps.made.output, "all": steps}'),
];
const ids = steps.map(({ id }) => id);
const variables = `{"mine":${sent},"also":{"zz":1,"b":2}}`;
const variablesKept = `{"mine":${kept},"also":{"zz":1,"b":2}}`;
const body = (more = '') => `{"input":${sent},"variables":${variables}${more}}`;

async function execute(workflow: string, headers: Record<string, string>) {
  const answer = await api.post(`/v1/workflows/${workflow}/execute`, body(',"async":false'), headers);
  expect(answer.status).toBe(200);
  return answer.body.data;
}

const promptOf = (text: string) => text.slice(text.indexOf('<') + 1, text.lastIndexOf('>'));

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
function expectInOrder(outputs: any) {
  expect(Object.keys(outputs)).toEqual(ids);
  expect(textOf(outputs.zebra)).toBe(kept);
  expect(textOf(outputs.made)).toBe(madeKept);
  expect(promptOf(outputs.ask)).toBe(`${kept}|${kept}|${kept}|${madeKept}`);
  const { ask } = outputs;
  const all = `{"zebra":{"output":${kept}},"made":{"output":${madeKept}},"ask":{"output":${textOf(ask)}}}`;
  expect(textOf(outputs.copy)).toBe(`{"z":${kept},"a":${madeKept},"all":${all}}`);
}

describe('members of JSON keep their order', () => {
  test('in the answers of dialect A', async () => {
    const { id } = await makeWorkflow(api, { steps });
    const { runId, output } = await execute(id, inA);
    const run = (await api.get(`/v1/runs/${runId}`, inA)).body.data;
    const listed = (await api.get(`/v1/workflows/${id}/runs`, inA)).body.data.runs[0];
    for (const one of [run, listed]) {
      expect(textOf(one.input)).toBe(`{"input":${kept},"variables":${variablesKept}}`);
      expectInOrder(one.output.steps);
      expect(textOf(one.output.result)).toBe(output);
    }
    expectInOrder(
      Object.fromEntries(run.steps.map((step: { stepId: string; output: unknown }) => [step.stepId, step.output])),
    );
  });

  test('in the answers of dialect B', async () => {
    const { wf } = await makeWorkflow(api, { steps });
    const { runId, output } = await execute(wf, inB);
    const run = (await api.get(`/v1/runs/${runId}`, inB)).body.data;
    const listed = (await api.get(`/v1/workflows/${wf}/runs`, inB)).body.data.runs[0];
    for (const one of [output, run.output, listed.output]) expectInOrder(one.steps);
    expect(textOf(run.output.result)).toBe(textOf(output.result));
    expectInOrder(
      Object.fromEntries(
        run.stepResults.map((step: { stepId: string; output: unknown }) => [step.stepId, step.output]),
      ),
    );
  });

  test('in events, in what is read by itself, and in a retry', async () => {
    const { id } = await makeWorkflow(api, { steps });
    const { runId } = await execute(id, inA);
    const retried = await api.post(`/v1/runs/${runId}/retry`, { fromStep: 'made' }, inA);
    expect(retried.status).toBe(200);
    await endOf(api, retried.body.data.runId);
    for (const one of [runId, retried.body.data.runId]) {
      const stream = await followEvents(`${product.process.api}/v1/runs/${one}/events`, product.tenant.testKey);
      // A step whose result is copied has no event in the retry.
      const copied = (await api.get(`/v1/runs/${one}/outputs/zebra`)).body.data.output;
      const outputs: Record<string, unknown> = one === runId ? {} : { zebra: copied };
      for await (const { name, data } of stream.events) {
        if (name === 'step.completed') outputs[data.stepId] = data.output;
        if (name === 'run.completed') expectInOrder(data.output.steps);
      }
      expectInOrder(outputs);
      const input = (await api.get(`/v1/runs/${one}/input`)).body.data;
      expect([textOf(input.input), textOf(input.variables)]).toEqual([kept, variablesKept]);
      const { output } = (await api.get(`/v1/runs/${one}/outputs/made`)).body.data;
      expect(textOf(output)).toBe(madeKept);
    }
  });

  test('in outputs that are large, and in what is made of them', async () => {
    const large = [
      transform('z', `{"z": input, "text": variables.b, "a": variables.long}`),
      transform('b', '{"z": steps.z.output.z, "a": size(steps.z.output.a)}'),
      { id: 'a', type: 'prompt', prompt: '<{{steps.b.output}}>' },
    ];
    const { id } = await makeWorkflow(api, { steps: large });
    const long = 'x'.repeat(300_000);
    const given = `{"input":${sent},"variables":{"long":"${long}","b":${sent}}}`;
    const { runId } = (await api.post(`/v1/workflows/${id}/execute`, given, inA)).body.data;
    const { output } = (await api.get(`/v1/runs/${runId}/outputs/z`)).body.data;
    expect(textOf(output)).toBe(`{"z":${kept},"text":${kept},"a":"${long}"}`);
    const input = (await api.get(`/v1/runs/${runId}/input`)).body.data;
    expect(textOf(input.variables)).toBe(`{"long":"${long}","b":${kept}}`);
    const run = (await api.get(`/v1/runs/${runId}`, inA)).body.data;
    const listed = (await api.get(`/v1/workflows/${id}/runs`, inA)).body.data.runs[0];
    expect(textOf(run.input.input)).toBe(kept);
    for (const { output: shown } of [run, listed]) {
      expect(Object.keys(shown.steps)).toEqual(['z', 'b', 'a']);
      expect(textOf(shown.steps.b)).toBe(`{"z":${kept},"a":300000}`);
      expect(promptOf(shown.steps.a)).toBe(`{"z":${kept},"a":300000}`);
    }
  });

  test('in a run without steps, and in one that a secret starts', async () => {
    const { id } = await makeWorkflow(api, { steps: [] });
    expect((await execute(id, inA)).output).toBe(kept);
    const { body: started } = await api.post(`/v1/webhooks/${id}`, sent);
    const { output } = await endOf(api, started.data.runId);
    expect(textOf(output.result)).toBe(kept);
  });

  test('in the definition of a workflow, also where its creation is repeated', async () => {
    const input = { name: 'mine', type: 'object', required: false, default: object };
    const outputSchema = {
      type: 'object',
      properties: { zz: { type: 'integer' }, b: { type: 'string' } },
      required: ['b'],
    };
    const asked = { id: 'ask', type: 'prompt', prompt: '<{{mine}}>', outputSchema };
    const given = { name: 'Made', steps: [transform('z', 'variables.mine'), asked], config: object, inputs: [input] };
    const keyed = { ...inB, 'idempotency-key': 'order-of-members' };
    const created = await api.post('/v1/workflows', given, keyed);
    const again = await api.post('/v1/workflows', given, keyed);
    expect([created.status, again.status]).toEqual([201, 201]);
    expect(again.body.data.id).toBe(created.body.data.id);
    const shown = (await api.get(`/v1/workflows/${created.body.data.id}`, inB)).body.data;
    expect(textOf(shown.config)).toBe(kept);
    expect(textOf(shown.inputs[0].default)).toBe(kept);
    expect(textOf(shown.steps[1].outputSchema)).toBe(textOf(outputSchema));

    // The change of one part keeps the others as they are.
    const changed = await api.patch(`/v1/workflows/${created.body.data.id}`, { name: 'Renamed', inputs: [input] }, inB);
    expect(changed.status).toBe(200);
    const after = (await api.get(`/v1/workflows/${created.body.data.id}`, inB)).body.data;
    expect(textOf(after.config)).toBe(kept);
    expect(textOf(after.steps)).toBe(textOf(shown.steps));

    const executed = await api.post(`/v1/workflows/${shown.id}/execute`, { inputs: {}, async: false }, inB);
    const { output } = executed.body.data;
    expect(textOf(output.steps.z)).toBe(kept);
    expect(Object.keys(output.steps.ask)).toEqual(['zz', 'b']);
  });

  test('in the arguments of tools', async () => {
    const args = '{"entities":[{"observations":["x"],"name":"Ada","entityType":"person"}]}';
    const step = {
      id: 'ask',
      type: 'prompt',
      prompt: `sandbox:tool=memory_create_entities ${args}`,
      tools: ['memory'],
    };
    const { id } = await makeWorkflow(api, { steps: [step] });
    const { runId } = await execute(id, inA);
    const { stepResults } = await endOf(api, runId);
    expect(textOf(stepResults[0].toolCalls[0].args)).toBe(args);
  });

  test('in a schedule and in the runs that it starts', async () => {
    const { id } = await makeWorkflow(api, { steps });
    const path = `/v1/workflows/${id}/schedule`;
    // Due once a year: the run is the one that the test starts.
    const yearly = `{"cron":"30 3 1 2 *","timezone":"UTC","input":${sent},"variables":${variables}}`;
    const written = await api.request('PUT', path, yearly);
    expect(written.status).toBe(200);
    for (const { input, variables: shown } of [written.body.data, (await api.get(path)).body.data]) {
      expect([textOf(input), textOf(shown)]).toEqual([kept, variablesKept]);
    }
    const connection = await Connection.connect({ address: runningServers().temporalAddress });
    await new Client({ connection }).schedule.getHandle(`schedule-${id}`).trigger();
    await connection.close();
    const { output } = await until('the schedule starts a run', async () => {
      const [run] = (await api.get(`/v1/workflows/${id}/runs`, inB)).body.data.runs;
      return run?.status === 'completed' && run;
    });
    expectInOrder(output.steps);
  });
});
