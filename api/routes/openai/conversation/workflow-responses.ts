import { streamSSE } from 'hono/streaming';
import { AppError, invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext } from '../../../context.ts';
import { noInput, notOfWorkflows, type RunResponse, type WorkflowModels } from '../workflow-models.ts';
import { type Answerer, responseOf, runResponseEvents, runResponseIds } from './response-form.ts';
import { aboutOf, type Item, type ResponseRequest, textOf } from './response-request.ts';

export const noResponse = () => new AppError('not_found', 'No response has this id.');
export const notInBackground = () => invalid([{ path: 'id', message: 'The response is not made in the background.' }]);

/** The text of the last message of the user. */
function lastOfUser(items: readonly Item[]): string | undefined {
  const last = items.findLast((item) => 'role' in item && item.role === 'user');
  return last && 'content' in last ? textOf(last.content) : undefined;
}

/** The parts of a request without meaning for a workflow. */
const ofModels = ['instructions', 'temperature', 'max_output_tokens', 'tools'] as const;

/** The answer of a run, as a response. */
const answererOf = ({ runId: id, model, status, text, error, finishedAt }: RunResponse): Answerer => ({
  id,
  model,
  status,
  error,
  finishedAt,
  ids: runResponseIds,
  reply: text === undefined ? undefined : { content: text, toolCalls: [] },
});

/** A run as a response. */
export const shownRun = (run: RunResponse): object =>
  responseOf(answererOf(run), Object.assign(aboutOf({ model: run.model, input: '' }), run.about));

/** Answers by a run of a workflow. */
export async function answerByWorkflow(
  c: ApiContext,
  services: Services,
  workflows: WorkflowModels,
  workflowId: string,
  body: ResponseRequest,
): Promise<Response> {
  for (const name of ofModels) if (body[name] != null) throw notOfWorkflows(name);
  if (body.text?.format?.type === 'json_schema') throw notOfWorkflows('text.format');
  const { model } = body;
  const input = typeof body.input === 'string' ? body.input : lastOfUser(body.input);
  if (input === undefined) throw noInput('input');
  const metadata = body.metadata ?? {};
  const about = { background: body.background ?? false, metadata };
  const asked = { input, variables: metadata, about: body.store === false ? undefined : about };
  if (about.background && !body.stream) return c.json(shownRun(await workflows.start(c, services, workflowId, asked)));
  const run = await workflows.run(c, services, workflowId, asked);
  const shown = Object.assign(aboutOf(body), about);
  if (!body.stream) {
    return c.json(responseOf(answererOf({ ...run, model, status: 'completed', error: null, about }), shown));
  }
  const streamed = streamSSE(c, async (stream) => {
    for (const event of runResponseEvents(run, model, shown)) await stream.writeSSE(event);
  });
  streamed.headers.set('Cache-Control', 'no-store');
  return streamed;
}

/** The run of the id in the path; undefined if it is the id of a message. @throws AppError not_found */
export async function findRunResponse(c: ApiContext, workflows: WorkflowModels): Promise<RunResponse | undefined> {
  const given = c.req.param('id')!;
  if (!runResponseIds.matchesPrefix(given)) return;
  const runId = runResponseIds.parse(given);
  const run = runId && (await workflows.find(c, runId));
  if (!run) throw noResponse();
  return run;
}
