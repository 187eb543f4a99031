import type { AnsweredMessage } from '../../../src/conversation/messages.ts';
import type { AppError } from '../../../src/platform/errors.ts';
import { e2, success } from '../../envelopes.ts';
import { replyRecord } from '../../schemas/conversation/replies.ts';
import type { StreamedEvent, WrittenEvent } from './reply-stream.ts';

/** How a surface writes replies. */
export interface ReplyForm {
  /** The body of an answer. */
  whole(message: AnsweredMessage): object;
  /** What one stream of a message writes of its events, which come in their order. */
  stream(messageId: string): (event: StreamedEvent) => WrittenEvent[];
}

const eventOf = (event: string, data: object): WrittenEvent[] => [{ event, data: JSON.stringify(data) }];

const errorData = (failure: AppError) => e2(failure, { requestId: '', code: failure.code, facts: failure.facts });

function write(event: StreamedEvent): WrittenEvent[] {
  switch (event.name) {
    case 'delta':
    case 'thought':
      return eventOf(event.name, { text: event.text });
    case 'tool_call':
    case 'tool_result':
      return eventOf(event.name, { index: event.index, ...event.call });
    case 'answered':
      return eventOf('reply', { ...replyRecord(event.message), creditsUsed: event.message.credits });
    case 'failed':
      return eventOf('error', errorData(event.failure));
  }
}

/** Replies as chat and agents write them. */
export const replyForm: ReplyForm = {
  whole: (message) => success(replyRecord(message)),
  stream: () => write,
};
