import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, type TypedSearchAttributes } from '@temporalio/common';
import { calendarIds } from '../../src/scheduling/core/ids.ts';
import { calendarScheduleId } from '../../src/temporal/contracts/calendars.ts';
import { searchAttributes } from '../../src/temporal/contracts/search-attributes.ts';
import type { Answer } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { addCalendar } from '../scheduling/calendar-rows.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';

let product: StartedProduct;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  product = await sharedProduct('webhooks');
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

/** The workflows that an operator finds in Temporal's list by a correlation id, once one of this type is among them. */
const foundIn = (type: string, correlationId: string) =>
  until(`Temporal lists a workflow ${type}`, async () => {
    for await (const found of temporal.workflow.list({
      query: `${searchAttributes.correlation} = '${correlationId}' AND WorkflowType = '${type}'`,
    }))
      return found;
    return undefined;
  });

const linesOf = (msg: string, facts: object) =>
  until(`a line says "${msg}"`, async () => {
    const lines = product.process.log.filter((line) => line.msg === msg);
    const found = lines.filter((line) => Object.entries(facts).every(([name, value]) => line[name] === value));
    return found.length > 0 && found;
  });

const uuidIn = (id: string) => id.replace(/^[a-z]+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

type Ask = (headers: Record<string, string>) => Promise<Answer>;

/** One of each kind of work that a request may cause: its workflow's type and how it is asked for. */
const kinds: [kind: string, type: string, prepare: () => Promise<Ask>][] = [
  [
    'a run',
    'executeRun',
    async () => {
      const { id } = await makeWorkflow(product.api);
      return (headers) => product.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, headers);
    },
  ],
  [
    'a generation',
    'makeGeneration',
    async () => (headers) => product.api.post('/api/studio/generate', { prompt: 'A lighthouse' }, headers),
  ],
  [
    'a message',
    'takeTurn',
    async () => (headers) =>
      product.api.post('/api/chat', { messages: [{ role: 'user', content: 'sandbox:slow=1 Hello' }] }, headers),
  ],
  [
    'a voice call',
    'performVoiceCall',
    async () => (headers) => product.api.post('/api/voice/tts', { text: 'Hello.' }, headers),
  ],
  [
    'an action',
    'performAction',
    async () => {
      await connectInSandbox(product.api, product.process.api, 'linkedin');
      const later = { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada-lovelace', delay: 1 };
      return (headers) => product.api.post('/api/v1/integrations/linkedin/actions/send_connection', later, headers);
    },
  ],
];

describe('the correlation id of a request', () => {
  test.each(kinds)('finds %s in Temporal and in the log, from its start to its end', async (_, type, prepare) => {
    const ask = await prepare();
    const correlationId = randomUUID();
    const { status } = await ask({ 'x-correlation-id': correlationId });
    expect(status).toBeLessThan(300);
    const { workflowId } = await foundIn(type, correlationId);
    const facts = { workflow: type, workflowId, correlationId };
    expect(await linesOf('workflow started', facts)).toHaveLength(1);
    const [ended] = await linesOf('workflow ended', facts);
    expect(ended).toMatchObject({ organizationId: uuidIn(product.tenant.organizationId) });
    expect(ended).not.toHaveProperty('failure');
  });

  test('finds work that failed, and its line says so', async () => {
    const correlationId = randomUUID();
    const ask = { prompt: 'sandbox:refuse' };
    await product.api.post('/api/studio/generate', ask, { 'x-correlation-id': correlationId });
    const [ended] = await linesOf('workflow ended', { workflow: 'makeGeneration', correlationId });
    expect(ended!.failure).toMatchObject({
      type: 'GenerationFailed',
      message: expect.stringMatching(/content_policy: The provider refused/),
    });
  });

  test('finds an action in the log that the process performs which took the request', async () => {
    await connectInSandbox(product.api, product.process.api, 'slack');
    const correlationId = randomUUID();
    const message = { channel: 'C0123456789', text: 'Hello' };
    const path = '/api/v1/integrations/slack/actions/send_message';
    await product.api.post(path, message, { 'x-correlation-id': correlationId });
    const [begun] = await linesOf('action begun', { correlationId });
    const { actionId } = begun!;
    const [attempted] = await linesOf('action attempted', { correlationId, actionId });
    expect(attempted!.end).toMatchObject({ kind: 'ended' });
  });

  test('finds a booking, whose workflow goes on until it is over', async () => {
    const scene = sceneOf(product.api);
    const { id } = await scene.offer();
    const correlationId = randomUUID();
    const headers = { 'x-correlation-id': correlationId };
    const booking = (await scene.book(id, '2036-06-11T09:00:00Z', {}, headers)).body.data;
    const { workflowId } = await foundIn('followBooking', correlationId);
    expect(workflowId).toBe(`booking-${uuidIn(booking.id)}`);
    await linesOf('workflow started', { workflowId, correlationId });
    await scene.request('DELETE', `bookings/${booking.id}`);
    await linesOf('workflow ended', { workflowId, correlationId });
  });

  test('finds the deliveries of what it caused in the log', async () => {
    const { body } = await product.api.post('/api/v1/webhooks', {
      name: 'Mine',
      url: 'http://127.0.0.1:9/',
      events: ['*'],
    });
    expect(body).toMatchObject({ success: true });
    const { id } = await makeWorkflow(product.api);
    const correlationId = randomUUID();
    await product.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, { 'x-correlation-id': correlationId });
    const [begun] = await linesOf('delivery begun', { correlationId });
    const { deliveryId } = begun!;
    await linesOf('delivery attempted', { correlationId, deliveryId });
  });
});

test('syncs of a calendar have the id of its Schedule as their correlation id', async () => {
  const { host } = await sceneOf(product.api).offer();
  const calendar = await addCalendar(product.database, host);
  await product.api.post(`/api/v1/scheduling/calendars/${calendar}/sync`);
  const correlationId = calendarScheduleId(calendarIds.parse(calendar)!);
  const { workflowId } = await foundIn('syncCalendar', correlationId);
  await linesOf('workflow started', { workflowId, correlationId });
  await linesOf('workflow ended', { workflowId, correlationId });
  // As Temporal describes it, which decides whether the Schedule is written again.
  const { action } = await temporal.schedule.getHandle(correlationId).describe();
  const attribute = defineSearchAttributeKey(searchAttributes.correlation, SearchAttributeType.KEYWORD);
  expect((action.typedSearchAttributes as TypedSearchAttributes).get(attribute)).toBe(correlationId);
});

test('a schedule that is changed keeps its id as the correlation id of its firings', async () => {
  const { id } = await makeWorkflow(product.api);
  const path = `/api/v1/workflows/${id}/schedule`;
  for (const cron of ['0 9 * * *', '0 10 * * *']) {
    expect((await product.api.request('PUT', path, { cron, timezone: 'UTC' })).status).toBe(200);
  }
  const scheduleId = `schedule-${uuidIn(id)}`;
  // Temporal may have it some time after the answer, where it was too busy.
  const { action } = await until('Temporal has the schedule', () =>
    temporal.schedule
      .getHandle(scheduleId)
      .describe()
      .catch(() => undefined),
  );
  expect(action.searchAttributes).toMatchObject({ [searchAttributes.correlation]: [scheduleId] });
});
