import type { OpenAPIHono } from '@hono/zod-openapi';
import { createMessage } from '../../../../src/conversation/create-message.ts';
import { messageJob } from '../../../../src/conversation/job.ts';
import { findMessage, type StoredMessage } from '../../../../src/conversation/messages.ts';
import type { MessageAbout } from '../../../../src/conversation/sealed-message.ts';
import { resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { checkScopes, requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { keysAlone } from '../../../middleware/keys-alone.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answerMessage, type MessageToAnswer } from '../../conversation/answer-message.ts';
import { readBody } from '../read-body.ts';
import { type WorkflowModels, workflowOf } from '../workflow-models.ts';
import { type Entry, readConversation } from './read-conversation.ts';
import { responseForm, responseIds, responseOf } from './response-form.ts';
import { aboutOf, entriesOf, type ResponseRequest, responseRequest } from './response-request.ts';
import { answerByWorkflow, findRunResponse, noResponse, notInBackground, shownRun } from './workflow-responses.ts';

const needed = { scopes: ['chat'] };

async function readRequest(c: ApiContext, services: Services, workflows: WorkflowModels, body: ResponseRequest) {
  const { input, instructions, text } = body;
  const entries: Entry[] =
    typeof input === 'string' ? [{ path: 'input', role: 'user', text: input }] : entriesOf(input);
  const tools = body.tool_choice === 'none' ? [] : (body.tools ?? []);
  const format = text?.format;
  return readConversation(services, c.get('scope'), workflows, {
    model: body.model,
    entries: instructions ? [{ path: 'instructions', role: 'system', text: instructions }, ...entries] : entries,
    path: 'input',
    temperature: body.temperature ?? undefined,
    maxTokens: body.max_output_tokens ?? undefined,
    tools: tools.map(({ name, description, parameters }) => ({
      name,
      description: description ?? '',
      inputSchema: parameters ?? { type: 'object', properties: {} },
    })),
    output: format?.type === 'json_schema' ? { path: 'text.format.schema', schema: format.schema } : undefined,
  });
}

/** Creates a message that its caller reads later. */
async function createLater(c: ApiContext, services: Services, asked: MessageToAnswer): Promise<Response> {
  const scope = c.get('scope');
  const { id: messageId, replayed } = await createMessage(services, scope, {
    id: newId(),
    plan: c.get('caller').plan,
    ...asked,
    waiter: services.messageEvents.channel,
    idempotency: readIdempotency(c),
  });
  const message = await findMessage(services.sealer, scope, messageId);
  if (!message) throw resourceDeleted();
  markReplayed(c, replayed);
  return c.json(responseOf(message, message.about ?? {}));
}

/** @throws AppError not_found */
async function findResponse(c: ApiContext, { sealer }: Services): Promise<StoredMessage & { about: MessageAbout }> {
  checkScopes(c.get('caller'), needed);
  const messageId = responseIds.parse(c.req.param('id')!);
  const message = messageId && (await findMessage(sealer, c.get('scope'), messageId));
  const about = message ? message.about : undefined;
  if (!message || !about) throw noResponse();
  return { ...message, about };
}

/** `/responses`: messages of ours, or runs of workflows, which can be read by their ids for 24 hours. */
export function responseRoutes(services: Services, workflows: WorkflowModels): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  const key = requireKey(services);
  routes.post('/responses', keysAlone, key, jsonBody(), async (c) => {
    const body = readBody(c, responseRequest);
    const { model, stream, background } = body;
    if (background && body.store === false) {
      throw invalid([{ path: 'store', message: 'A response in the background must be stored.' }]);
    }
    const workflowId = workflowOf(model);
    if (workflowId !== undefined) return answerByWorkflow(c, services, workflows, workflowId, body);
    checkScopes(c.get('caller'), needed);
    const about = aboutOf(body);
    const asked: MessageToAnswer = {
      kind: 'chat',
      model,
      streams: stream ?? false,
      request: await readRequest(c, services, workflows, body),
      form: responseForm(model, about),
      about: body.store === false ? undefined : about,
    };
    return background && !stream ? createLater(c, services, asked) : answerMessage(c, services, asked);
  });
  routes.get('/responses/:id', keysAlone, key, async (c) => {
    const run = await findRunResponse(c, workflows);
    if (run) return c.json(shownRun(run));
    const message = await findResponse(c, services);
    return c.json(responseOf(message, message.about));
  });
  routes.post('/responses/:id/cancel', keysAlone, key, async (c) => {
    const run = await findRunResponse(c, workflows);
    if (run) {
      if (!run.about.background) throw notInBackground();
      await workflows.cancel(c, services, run.runId);
      return c.json(shownRun((await findRunResponse(c, workflows))!));
    }
    const { id: messageId, about } = await findResponse(c, services);
    if (about.background !== true) throw notInBackground();
    await messageJob.cancel(services, c.get('scope'), messageId);
    return c.json(responseOf(await findResponse(c, services), about));
  });
  return routes;
}
