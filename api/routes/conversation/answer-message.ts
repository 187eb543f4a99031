import { createMessage } from '../../../src/conversation/create-message.ts';
import type { MessageKind } from '../../../src/conversation/entities.ts';
import { answerOf, findMessage, type StoredMessage } from '../../../src/conversation/messages.ts';
import { ReplyReader } from '../../../src/conversation/read-reply.ts';
import type { MessageAbout, MessageRequest } from '../../../src/conversation/sealed-message.ts';
import { requestInProgress, resourceDeleted } from '../../../src/platform/database/idempotency.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { Services } from '../../../src/services.ts';
import { lingerMs, notReady, refusalOf } from '../../await-job.ts';
import type { ApiContext } from '../../context.ts';
import { markReplayed, readIdempotency } from '../../idempotency.ts';
import type { ReplyForm } from './reply-form.ts';
import { streamReply } from './reply-stream.ts';

export interface MessageToAnswer {
  kind: MessageKind;
  model: string;
  request: MessageRequest;
  streams: boolean;
  form: ReplyForm;
  about?: MessageAbout | undefined;
}

function answerWhole(c: ApiContext, message: StoredMessage, form: ReplyForm): Response {
  const answered = answerOf(message);
  if (!answered) throw requestInProgress();
  c.header('X-Credits-Used', String(answered.credits));
  return c.json(form.whole(answered), 200);
}

const noToolsForTokens = () => new AppError('forbidden', 'Tokens cannot use mcpServers. Use a key on your server.');

/** Tools that cannot be listed are an error response; later failures are events of the stream. */
const isRefused = ({ status, error }: StoredMessage) => status === 'failed' && error?.code === 'tools_unavailable';

/**
 * Calls a model, and answers with its reply or the stream of it. Continues when its caller disconnects.
 * @throws AppError as `createMessage`; forbidden for tools asked for with a token; idempotency_in_progress; ai_provider_error; service_unavailable; rate_limit_exceeded when
 * too many requests are open, unauthorized when the key ends meanwhile
 */
export async function answerMessage(c: ApiContext, services: Services, asked: MessageToAnswer): Promise<Response> {
  const scope = c.get('scope');
  const { streams, form } = asked;
  if (c.get('caller').token && asked.request.servers.length > 0) throw noToolsForTokens();
  const open = await services.openRequests.open(c.get('caller'), streams ? 'eventStreams' : 'waitingRequests');
  const id = newId();
  let reader = new ReplyReader(services, scope, id);
  let isStreaming = false;
  try {
    const waiter = services.messageEvents.channel;
    const { id: messageId, replayed } = await createMessage(services, scope, {
      id,
      plan: c.get('caller').plan,
      ...asked,
      waiter,
      idempotency: readIdempotency(c),
    });
    if (replayed) {
      const earlier = await findMessage(services.sealer, scope, messageId);
      if (!earlier) throw resourceDeleted();
      if (earlier.status === 'processing') throw requestInProgress();
      markReplayed(c, true);
      if (!streams) return answerWhole(c, earlier, form);
      reader.close();
      reader = new ReplyReader(services, scope, messageId);
    } else {
      const limit = AbortSignal.timeout(services.messagePolicy.deadlineMs + lingerMs);
      const isFound = ({ hasBegun }: StoredMessage) => streams && hasBegun;
      const hasTools = asked.request.servers.length > 0;
      const message =
        streams && !hasTools ? undefined : await reader.find(isFound, AbortSignal.any([open.signal, limit]));
      const refusal = await refusalOf(open, 'reply');
      if (refusal) throw refusal;
      if (!streams || (message && isRefused(message))) {
        if (!message) throw notReady('reply');
        return answerWhole(c, message, form);
      }
    }
    isStreaming = true;
    return streamReply(c, services, { messageId, reader, open, write: form.stream(messageId) });
  } finally {
    if (!isStreaming) {
      reader.close();
      open.close();
    }
  }
}
