import { Atelier, type RunDetail } from '../../sdk/typescript/src/index.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { connectInSandbox, visit } from '../integrations/connect-in-sandbox.ts';
import { until } from '../until.ts';
import { formOf } from '../voice/voice.ts';

/** What callers do, each feature once. The client and bare HTTP do the same. */
export interface Tasks {
  createWorkflow(name: string, prompt: string): Promise<string>;
  run(workflowId: string, input: string): Promise<{ status: string; result: unknown }>;
  /** The events of a new run. */
  events(workflowId: string): Promise<string[]>;
  /** Input of all runs of a workflow, read in pages of two. */
  inputs(workflowId: string): Promise<unknown[]>;
  chat(text: string): Promise<string>;
  chatStream(text: string): Promise<{ text: string; content: string }>;
  agent(text: string): Promise<string>;
  image(prompt: string): Promise<string>;
  video(prompt: string): Promise<string>;
  speakAndTranscribe(text: string): Promise<{ bytes: number; text: string }>;
  book(name: string): Promise<{ slots: number; status: string }>;
  webhook(url: string): Promise<{ id: string; secret: string }>;
  testWebhook(id: string): Promise<void>;
  slack(text: string): Promise<unknown>;
  credits(): Promise<number>;
  /** Status, code and number of errors of a request that is refused. */
  refusal(): Promise<{ status: number | null; code: string | null; errors: number; id: boolean }>;
}

const day = { start: '2030-06-12', end: '2030-06-13' };
const eventType = { name: 'Call', duration: 30 };
const workflowOf = (name: string, prompt: string) => ({
  name,
  steps: [{ id: 'say', type: 'prompt' as const, prompt }],
});

export function tasksOfClient(baseUrl: string, apiKey: string): Tasks {
  const atelier = new Atelier({ baseUrl, apiKey });
  return {
    createWorkflow: async (name, prompt) => (await atelier.workflows.create(workflowOf(name, prompt))).id,
    async run(workflowId, input) {
      const run = await atelier.workflows.run(workflowId, { input });
      return { status: run!.status, result: run!.output?.result };
    },
    async events(workflowId) {
      const names: string[] = [];
      const started = await atelier.workflows.execute(workflowId, { input: 'Events', async: true });
      await atelier.runs.wait(started.runId!, { onEvent: ({ event }) => names.push(event) });
      return names;
    },
    async inputs(workflowId) {
      const found: unknown[] = [];
      for await (const run of atelier.runs.list({ workflowId, limit: 2 })) found.push((run as RunDetail).input?.input);
      return found;
    },
    chat: async (content) => (await atelier.chat.create({ messages: [{ role: 'user', content }] })).content,
    async chatStream(content) {
      const stream = atelier.chat.stream({ messages: [{ role: 'user', content }] });
      let text = '';
      for await (const { event, data } of stream) {
        if (event === 'delta') text += data.text;
        if (event === 'reply') return { text, content: data.content };
      }
      throw new Error('There was no reply.');
    },
    agent: async (message) => (await atelier.agents.chat({ message, systemPrompt: 'Be brief.' })).content,
    async image(prompt) {
      const image = await atelier.studio.images.generate({ prompt });
      return 'status' in image ? image.status : 'completed';
    },
    async video(prompt) {
      const { id } = await atelier.studio.videos.generate({ prompt });
      return (await atelier.studio.videos.wait(id)).status;
    },
    async speakAndTranscribe(text) {
      const speech = await atelier.voice.speak({ text });
      return { bytes: speech.size, text: (await atelier.voice.transcribe({ audio: speech })).text };
    },
    async book(name) {
      const { id: eventTypeId } = await atelier.scheduling.eventTypes.create(eventType);
      const { slots } = await atelier.scheduling.availability.get({ eventTypeId, ...day });
      const attendee = { name, email: 'grace@example.com' };
      const booking = await atelier.scheduling.bookings.create({ eventTypeId, start: slots[0]!.start, attendee });
      return { slots: slots.length, status: (booking as { status: string }).status };
    },
    async webhook(url) {
      const { id, secret } = await atelier.webhooks.create({ name: 'Client', url, events: ['test.webhook'] });
      return { id, secret: secret! };
    },
    testWebhook: async (id) => void (await atelier.webhooks.test(id)),
    async slack(text) {
      await consent((await atelier.integrations.connect('slack')).authUrl, baseUrl);
      return atelier.integrations.slack.sendMessage({ channel: 'C0123456789', text });
    },
    credits: async () => (await atelier.credits.get()).balance,
    async refusal() {
      const { status, code, requestId, errors } = await atelier.workflows.create({ name: '' }).then(
        () => Promise.reject(new Error('It was not refused.')),
        (error) => error,
      );
      return { status, code, errors: errors.length, id: typeof requestId === 'string' };
    },
  };
}

/** Grants the access that the sandbox asks for. */
async function consent(authUrl: string, api: string): Promise<void> {
  const sent = await visit(authUrl, api);
  await visit(sent.headers.get('location')!, api);
}

/** The events of a stream that has ended. */
const eventsIn = (text: string) =>
  text
    .split('\n\n')
    .map((block) => ({ event: /^event: (.*)$/m.exec(block)?.[1], data: /^data: (.*)$/m.exec(block)?.[1] }))
    .filter(({ event }) => event !== undefined);

export function tasksOverHttp(baseUrl: string, key: string): Tasks {
  const api: ApiClient = apiClient(baseUrl, key);
  const execute = async (id: string, body: object) => (await api.post(`/v1/workflows/${id}/execute`, body)).body.data;
  const chatBody = (content: string) => ({ messages: [{ role: 'user', content }] });
  return {
    createWorkflow: async (name, prompt) => (await api.post('/v1/workflows', workflowOf(name, prompt))).body.data.id,
    async run(workflowId, input) {
      const { runId } = await execute(workflowId, { input });
      const { status, output } = (await api.get(`/v1/runs/${runId}`)).body.data;
      return { status, result: output.result };
    },
    async events(workflowId) {
      const { runId } = await execute(workflowId, { input: 'Events' });
      return eventsIn((await api.get(`/v1/runs/${runId}/events`)).body).map(({ event }) => event!);
    },
    async inputs(workflowId) {
      const found: unknown[] = [];
      for (let offset = 0; ; offset += 2) {
        const { runs, pagination } = (await api.get(`/v1/runs?workflowId=${workflowId}&limit=2&offset=${offset}`)).body
          .data;
        found.push(...runs.map((run: RunDetail) => run.input?.input));
        if (!pagination.hasMore) return found;
      }
    },
    chat: async (content) => (await api.post('/api/chat', chatBody(content))).body.data.content,
    async chatStream(content) {
      const events = eventsIn((await api.post('/api/chat', { ...chatBody(content), stream: true })).body);
      const texts = events.filter(({ event }) => event === 'delta').map(({ data }) => JSON.parse(data!).text);
      return { text: texts.join(''), content: JSON.parse(events.at(-1)!.data!).content };
    },
    agent: async (message) =>
      (await api.post('/api/agents/chat', { message, systemPrompt: 'Be brief.' })).body.data.content,
    image: async (prompt) => (await api.post('/api/studio/generate', { prompt })).body.data.status ?? 'completed',
    async video(prompt) {
      const { id } = (await api.post('/api/studio/generate-video', { prompt })).body.data;
      return until('the video is made', async () => {
        const { status } = (await api.get(`/api/studio/generate-video?id=${id}`)).body.data;
        return status !== 'processing' && status;
      });
    },
    async speakAndTranscribe(text) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ text }) };
      const bytes = new Uint8Array(await (await fetch(new URL('/api/voice/tts', baseUrl), init)).arrayBuffer());
      const transcribed = await api.request('POST', '/api/voice/stt', formOf(bytes));
      return { bytes: bytes.length, text: transcribed.body.data.text };
    },
    async book(name) {
      const { id: eventTypeId } = (await api.post('/v1/scheduling/event-types', eventType)).body.data;
      const query = new URLSearchParams({ eventTypeId, ...day });
      const { slots } = (await api.get(`/v1/scheduling/availability?${query}`)).body.data;
      const body = { eventTypeId, start: slots[0].start, attendee: { name, email: 'grace@example.com' } };
      const booking = (await api.post('/v1/scheduling/bookings', body)).body.data;
      return { slots: slots.length, status: booking.status };
    },
    async webhook(url) {
      const { id, secret } = (await api.post('/v1/webhooks', { name: 'Http', url, events: ['test.webhook'] })).body
        .data;
      return { id, secret };
    },
    testWebhook: async (id) => void (await api.post(`/v1/webhooks/${id}/test`)),
    async slack(text) {
      await connectInSandbox(api, baseUrl, 'slack');
      const body = { channel: 'C0123456789', text };
      return (await api.post('/v1/integrations/slack/actions/send_message', body)).body.data;
    },
    credits: async () => (await api.get('/v1/credits')).body.data.balance,
    async refusal() {
      const { status, body } = await api.post('/v1/workflows', { name: '' });
      const { code, details, requestId } = body.error;
      return { status, code, errors: details.errors.length, id: typeof requestId === 'string' };
    },
  };
}
