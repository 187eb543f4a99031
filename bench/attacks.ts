import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { fanOutOfSandboxEvents, forgeEvents, guessPages, pipelineUnreadScripts } from './attacks-from-outside.ts';
import {
  leaveTimesUnread,
  mapLargeLists,
  nameUnknownVariables,
  renderPicturesAndVideos,
  repeatOneKey,
  sendAwaitedEvents,
  startBatches,
} from './attacks-on-pools.ts';

const list = (length: number) => Array.from({ length }, (_, index) => index);
const transform = (expression: string, id = 't') => ({ id, type: 'transform', expression });
const asking = (outputSchema: object) => ({ id: 'p', type: 'prompt', prompt: 'Fill it in', outputSchema });
const pathOf = (workflowId: string, rest: string) => `/api/v1/workflows/${workflowId}/${rest}`;

/** Executes a workflow with this input again and again, and waits for each run. */
const executing =
  (steps: object[], input: unknown = null): Attack['prepare'] =>
  async ({ client, createWorkflow }) => {
    const id = await createWorkflow(steps);
    return { repeat: () => client.send('POST', pathOf(id, 'execute'), { input }) };
  };

const readingWorkflow: Attack['prepare'] = async ({ client, createWorkflow }) => {
  const id = await createWorkflow([transform('1')]);
  return { repeat: () => client.send('GET', `/api/v1/workflows/${id}`) };
};

/** Saves a workflow whose step has this schema again and again. */
const saving =
  (outputSchema: object): Attack['prepare'] =>
  async ({ client }) => {
    const workflow = { name: 'Attack', steps: [asking(outputSchema)] };
    return { repeat: () => client.send('POST', '/api/v1/workflows', workflow) };
  };

const properties = (count: number, schema: object) =>
  Object.fromEntries(list(count).map((index) => [`p${index}`, schema]));
const referring = {
  type: 'object',
  properties: properties(50, { $ref: '#/$defs/inner' }),
  $defs: { inner: { type: 'object', properties: properties(50, { type: 'string', maxLength: 100 }) } },
};
const branching = {
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries([
    ...list(20).map((at) => [`a${at}`, { anyOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] }]),
    ['a20', { type: 'string', pattern: '^none of the sandbox.s$' }],
  ]),
};
const nestedBinds = ['a', 'b', 'c', 'd', 'e', 'f'].reduceRight((inner, name, index, names) => {
  const from = index === 0 ? 'input' : names[index - 1];
  return `cel.bind(${name}, ${[from, from, from, from].join(' + ')}, ${inner})`;
}, 'size(f)');

const largeInput = 'x'.repeat(750_000);
const runsOfList = 100;

/** Each is one thing that a tenant can do, and what once stopped the service for others. */
export const attacks: readonly Attack[] = [
  // No attack: what the others are to be compared with. Whoever uses all that it may costs this much on the same machine.
  { name: 'runs of one step, one after the other', callers: 4, prepare: executing([transform('1')]) },
  { name: 'reads of one workflow', callers: 20, prepare: readingWorkflow },
  {
    name: 'expressions that loop twice over a text',
    callers: 4,
    prepare: executing([transform('cel.bind(l, input.split(""), l.all(x, l.all(y, y == "a")))')], 'a'.repeat(10_000)),
  },
  {
    name: 'expressions that scan a list in two loops',
    callers: 4,
    prepare: executing([transform('input.all(x, input.all(y, !(2000.5 in input)))')], list(1_000)),
  },
  {
    name: 'expressions that multiply a list',
    callers: 4,
    prepare: executing([transform(nestedBinds)], list(1_000)),
  },
  { name: 'schemas of 50 references to 50 properties', callers: 4, prepare: saving(referring) },
  {
    name: 'schemas of 60 long patterns',
    callers: 4,
    prepare: saving({
      type: 'object',
      properties: properties(60, { type: 'string', pattern: '^(\\pL{500}\\pN{400}){1}N' }),
    }),
  },
  {
    name: 'sandbox answers of 6,000 long texts',
    callers: 4,
    prepare: executing([asking({ type: 'array', minItems: 6_000, items: { type: 'string', minLength: 100_000 } })]),
  },
  {
    name: 'sandbox answers with a pattern that goes back and forth',
    callers: 4,
    prepare: executing([asking({ type: 'string', pattern: `^${'.?'.repeat(40)}y$` })]),
  },
  { name: 'answers checked against 20 levels of anyOf', callers: 4, prepare: executing([asking(branching)]) },
  {
    name: '130 runs that wait for a slow model',
    callers: 130,
    async prepare({ client, createWorkflow }) {
      const id = await createWorkflow([{ id: 's', type: 'prompt', prompt: 'sandbox:slow=45' }]);
      return { repeat: () => client.send('POST', pathOf(id, 'execute'), { input: 'x' }) };
    },
  },
  {
    name: 'lists of runs with inputs of 750 KB',
    callers: 20,
    async prepare({ client, createWorkflow }) {
      const id = await createWorkflow([transform('1')]);
      for (const _ of list(runsOfList)) await client.send('POST', pathOf(id, 'execute'), { input: largeInput });
      return { repeat: () => client.send('GET', pathOf(id, `runs?limit=${runsOfList}`)) };
    },
  },
  {
    name: 'runs of 20 steps that copy 4 MB',
    callers: 2,
    prepare: executing(
      list(20).map((step) => transform('[input, input, input, input]', `copy${step}`)),
      'x'.repeat(900_000),
    ),
  },
  {
    name: '12 trigger secrets',
    callers: 12,
    async prepare({ client, createWorkflow }) {
      const triggers: { id: string; secret: string }[] = [];
      for (const _ of list(12)) {
        const id = await createWorkflow([transform('1')]);
        triggers.push({ id, ...(await client.post<{ secret: string }>(pathOf(id, 'webhook-secret'), {})) });
      }
      return {
        repeat(caller) {
          const { id, secret } = triggers[caller % triggers.length]!;
          return client.send('POST', `/api/v1/webhooks/${id}`, {}, { 'x-webhook-secret': secret });
        },
      };
    },
  },
  {
    name: '25 schedules of every minute, at the minute',
    callers: 1,
    async prepare({ client, createWorkflow }) {
      const schedule = { cron: '* * * * *', timezone: 'UTC' };
      for (const _ of list(25))
        await client.send('PUT', pathOf(await createWorkflow([transform('1')]), 'schedule'), schedule);
      // The minute turns while it is measured.
      const minute = 60_000;
      await sleep((minute + 58_000 - (Date.now() % minute)) % minute);
      return { repeat: () => sleep(100) };
    },
  },
  {
    name: 'two organizations with receivers that do not answer',
    organizations: 2,
    callers: 1,
    fill: 'events',
    async prepare({ createWebhook, hangingUrl }) {
      const id = await createWebhook(hangingUrl);
      return { ids: id ? [id] : [], repeat: () => sleep(100) };
    },
  },
  {
    name: '100 webhooks of one host',
    callers: 2,
    async prepare({ client, createWorkflow, createWebhook, hangingUrl }) {
      for (const webhook of list(100)) await createWebhook(`${hangingUrl.replace('/hang', '/')}${webhook}`);
      const id = await createWorkflow([transform('1')]);
      return { repeat: () => client.send('POST', pathOf(id, 'execute'), { input: 'x' }) };
    },
  },
  { name: '200 events of a sandbox for 100 webhooks', callers: 5, prepare: fanOutOfSandboxEvents },
  { name: 'scripts that are asked for in one go and not read', callers: 3, prepare: pipelineUnreadScripts },
  { name: 'unsigned events of a megabyte', callers: 8, prepare: forgeEvents },
  { name: 'pages of bookings and approvals that are guessed', callers: 8, prepare: guessPages },
  { name: '40 connections that leave 640 lists of times unread', callers: 40, prepare: leaveTimesUnread },
  { name: '12 upscales and 12 videos at a time', callers: 24, prepare: renderPicturesAndVideos },
  { name: '50 requests with one Idempotency-Key', callers: 50, prepare: repeatOneKey },
  { name: 'prompts of 60,000 unknown variables', callers: 4, prepare: nameUnknownVariables },
  { name: 'batches of 1,000 runs', callers: 2, prepare: startBatches },
  { name: 'maps of 1,000 items', callers: 4, prepare: mapLargeLists },
  { name: 'events for a hundred waits that look at large inputs', callers: 4, prepare: sendAwaitedEvents },
  {
    name: '400 event streams',
    callers: 400,
    async prepare({ client, createWorkflow }) {
      const id = await createWorkflow([{ id: 's', type: 'prompt', prompt: 'sandbox:slow=600' }]);
      const { runId } = await client.post<{ runId: string }>(pathOf(id, 'execute'), { input: 'x', async: true });
      return { repeat: () => client.send('GET', `/api/v1/runs/${runId}/events`) };
    },
  },
  {
    name: '50 streams over a hundred runs that wait',
    callers: 50,
    async prepare({ client, createWorkflow }) {
      const id = await createWorkflow([{ id: 'nap', type: 'wait', for: 'P1D' }]);
      for (let run = 0; run < 100; run++)
        await client.post(pathOf(id, 'execute'), { input: 'x'.repeat(10_000), async: true });
      return { repeat: () => client.send('GET', `/api/v1/runs/events?workflowId=${id}`) };
    },
  },
  {
    name: 'the OpenAPI document, 54 a second',
    callers: 6,
    prepare: async ({ client }) => ({
      async repeat() {
        const [answer] = await Promise.all([client.send('GET', '/openapi.json'), sleep((6 * 1_000) / 54)]);
        return answer;
      },
    }),
  },
  {
    name: 'lists of a million runs, filtered by status',
    callers: 4,
    fill: 'runs',
    async prepare({ client, createWorkflow }) {
      const id = await createWorkflow([transform('1')]);
      let page = 0;
      const query = () => `runs?status=${page % 2 ? 'FAILED' : 'COMPLETED'}&limit=50&offset=${(page++ * 997) % 40_000}`;
      return { ids: [id], repeat: () => client.send('GET', pathOf(id, query())) };
    },
  },
];
