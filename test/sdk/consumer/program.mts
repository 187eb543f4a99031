// A program of a user of the package.
import { Atelier, AtelierError, type RunDetail, ValidationError, Webhooks, type WebhookEvent } from 'atelier-client';

const [baseUrl = '', apiKey = ''] = process.argv.slice(2);
const atelier = new Atelier({ apiKey, baseUrl, timeoutMs: 30_000 });
const { id } = await atelier.workflows.create({ name: 'Greeting', steps: [{ id: 'greet', type: 'prompt', prompt: 'Greet {{input}}.' }] });
const run: RunDetail | null = await atelier.workflows.run(id, { input: 'Ada', tags: ['first'] });
const seen: string[] = [];
for await (const found of atelier.runs.list({ tag: 'first', limit: 1 })) seen.push(found.status);
const failure: unknown = await atelier.workflows.create({ name: '' }).catch((error: unknown) => error);
const errors = failure instanceof ValidationError ? failure.errors.map(({ path }) => path) : [];
export function react(event: WebhookEvent): string | undefined {
  // The type of the event decides what its data is.
  if (event.type === 'workflow.run.completed') return event.data.workflowName.toUpperCase();
  if (event.type === 'booking.created') return event.data.id;
  return undefined;
}
const forged = await Webhooks.verify('{}', {}, 'whsec_eA==').catch((error: unknown) => (error instanceof AtelierError ? error.code : null));
// @ts-expect-error: a status that runs do not have
if (run?.status === 'DONE') throw new Error();
// @ts-expect-error: a body without a name
atelier.workflows.create.length > 9 && (await atelier.workflows.create({}));
console.log(JSON.stringify({ status: run?.status, seen, errors, forged }));
