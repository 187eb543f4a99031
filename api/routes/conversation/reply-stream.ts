import { streamSSE } from 'hono/streaming';
import { interruptMessage } from '../../../src/conversation/complete-message.ts';
import { messageFailed } from '../../../src/conversation/errors.ts';
import { answerOf, type StoredMessage } from '../../../src/conversation/messages.ts';
import type { ReplyEvent, ReplyReader } from '../../../src/conversation/read-reply.ts';
import { resourceDeleted } from '../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import type { ApiContext } from '../../context.ts';
import { e2 } from '../../envelopes.ts';
import { replyRecord } from '../../schemas/conversation/replies.ts';

/** Proxies close connections that are silent for longer than this. */
const pingEveryMs = 10_000;
/** For readers to take the end of a reply. */
const lingerMs = 60_000;

interface StreamEvent {
  event: string;
  data: object;
}

const errorEvent = (failure: AppError): StreamEvent => ({
  event: 'error',
  data: e2(failure, { requestId: '', code: failure.code, facts: failure.facts }),
});

/** The last event of a stream. */
function lastEvent(message: StoredMessage | undefined): StreamEvent {
  try {
    if (!message) throw resourceDeleted();
    const answered = answerOf(message)!;
    return { event: 'reply', data: { ...replyRecord(answered), creditsUsed: answered.credits } };
  } catch (failure) {
    if (failure instanceof AppError) return errorEvent(failure);
    throw failure;
  }
}

/** An event as it is written. @throws SealError; errors of the database */
async function streamEventOf(
  services: Services,
  scope: Scope,
  messageId: string,
  event: ReplyEvent,
): Promise<StreamEvent> {
  switch (event.name) {
    case 'delta':
    case 'thought':
      return { event: event.name, data: { text: event.text } };
    case 'tool_call':
    case 'tool_result':
      return { event: event.name, data: { index: event.index, ...event.call } };
    case 'contradicted':
      return errorEvent(messageFailed(await interruptMessage(services, scope, messageId)));
    case 'ended':
      return lastEvent(event.message);
  }
}

/** What a stream is made of. It closes `reader` and `open` when it ends. */
export interface ReplyStream {
  messageId: string;
  reader: ReplyReader;
  open: OpenRequest;
}

/**
 * Answers with the events of a message. When the client disconnects only its stream ends. A client that does not read is
 * disconnected at the deadline of the message.
 */
export function streamReply(c: ApiContext, services: Services, { messageId, reader, open }: ReplyStream): Response {
  const scope = c.get('scope');
  const close = () => {
    reader.close();
    open.close();
  };
  // Tells proxies not to buffer the stream.
  c.header('X-Accel-Buffering', 'no');
  const answer = streamSSE(c, async (stream) => {
    stream.onAbort(close);
    let isWriting = false;
    const ping = setInterval(() => {
      if (!isWriting) stream.write(': ping\n\n').catch(() => {});
    }, pingEveryMs);
    const disconnect = setTimeout(() => c.env.outgoing.destroy(), services.messagePolicy.deadlineMs + lingerMs);
    try {
      for await (const event of reader.events(open.signal)) {
        if (await open.refusal()) break;
        const { event: name, data } = await streamEventOf(services, scope, messageId, event);
        isWriting = true;
        await stream.writeSSE({ event: name, data: JSON.stringify(data) });
        isWriting = false;
      }
    } finally {
      clearInterval(ping);
      clearTimeout(disconnect);
      close();
    }
  });
  // streamSSE set its own Cache-Control, which is weaker than that of every other answer behind a key.
  answer.headers.set('Cache-Control', 'no-store');
  return answer;
}
