import { streamSSE } from 'hono/streaming';
import { interruptMessage } from '../../../src/conversation/complete-message.ts';
import { messageFailed } from '../../../src/conversation/errors.ts';
import { type AnsweredMessage, answerOf, type StoredMessage } from '../../../src/conversation/messages.ts';
import type { ReplyEvent, ReplyReader } from '../../../src/conversation/read-reply.ts';
import { resourceDeleted } from '../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import type { ApiContext } from '../../context.ts';

/** Proxies close connections that are silent for longer than this. */
const pingEveryMs = 10_000;
/** For readers to take the end of a reply. */
const lingerMs = 60_000;

/** An event as it is written: of Server-Sent Events. */
export interface WrittenEvent {
  event?: string;
  data: string;
}

/** What readers of a message receive: its events, and at last the reply or the failure. */
export type StreamedEvent =
  | Exclude<ReplyEvent, { name: 'contradicted' | 'ended' }>
  | { name: 'answered'; message: AnsweredMessage }
  | { name: 'failed'; failure: AppError };

/** The last event of a stream. */
function lastEvent(message: StoredMessage | undefined): StreamedEvent {
  try {
    if (!message) throw resourceDeleted();
    return { name: 'answered', message: answerOf(message)! };
  } catch (failure) {
    if (failure instanceof AppError) return { name: 'failed', failure };
    throw failure;
  }
}

/** @throws SealError; errors of the database */
async function streamedEvent(
  services: Services,
  scope: Scope,
  messageId: string,
  event: ReplyEvent,
): Promise<StreamedEvent> {
  switch (event.name) {
    case 'contradicted':
      return { name: 'failed', failure: messageFailed(await interruptMessage(services, scope, messageId)) };
    case 'ended':
      return lastEvent(event.message);
    default:
      return event;
  }
}

/** The parts of a stream. It closes `reader` and `open` when it ends. */
export interface ReplyStream {
  messageId: string;
  reader: ReplyReader;
  open: OpenRequest;
  /** The written form of an event, in its order. */
  write(event: StreamedEvent): WrittenEvent[];
}

/**
 * Answers with the events of a message. When the client disconnects only its stream ends. A client that does not read is
 * disconnected at the deadline of the message.
 */
export function streamReply(
  c: ApiContext,
  services: Services,
  { messageId, reader, open, write }: ReplyStream,
): Response {
  const scope = c.get('scope');
  const close = () => {
    reader.close();
    open.close();
  };
  // Prevents proxies from buffering the stream.
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
        const written = write(await streamedEvent(services, scope, messageId, event));
        isWriting = true;
        for (const one of written) await stream.writeSSE(one);
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
