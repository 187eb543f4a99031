import type { StoredMessage } from '../../../../src/conversation/messages.ts';
import type { MessageAbout, MessageReply } from '../../../../src/conversation/sealed-message.ts';
import { defineId } from '../../../../src/platform/core/ids.ts';
import type { AppError } from '../../../../src/platform/errors.ts';
import type { ReplyForm } from '../../conversation/reply-form.ts';
import type { StreamedEvent, WrittenEvent } from '../../conversation/reply-stream.ts';
import type { RunAnswer } from '../workflow-models.ts';
import { createdOf } from './completion-form.ts';
import { argumentsOf, callIdOf } from './read-conversation.ts';

export const responseIds = defineId('resp');
/** Responses of workflows, which are runs. */
export const runResponseIds = defineId('resp_run');

/** The source of a response: a message, or a run of a workflow. */
export interface Answerer extends Pick<StoredMessage, 'id' | 'model' | 'reply' | 'finishedAt'> {
  status: StoredMessage['status'] | 'queued';
  error: { message: string } | null;
  /** How the id of a response is written; as that of a message unless given. */
  ids?: typeof responseIds;
}

const textItem = (id: string, text: string, status: string) => ({
  id: `msg_${id.replaceAll('-', '')}`,
  type: 'message',
  status,
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

function outputOf(id: string, { content, asked, truncated }: MessageReply): object[] {
  const calls = (asked?.calls ?? []).map((call, position) => ({
    id: `fc_${id.replaceAll('-', '')}_${position}`,
    type: 'function_call',
    status: 'completed',
    call_id: callIdOf(id, position),
    name: call.name,
    arguments: argumentsOf(call),
  }));
  return content === '' ? calls : [textItem(id, content, truncated ? 'incomplete' : 'completed'), ...calls];
}

const usageOf = ({ usage }: MessageReply) =>
  usage
    ? {
        input_tokens: usage.input,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: usage.output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: usage.input + usage.output,
      }
    : null;

const statuses = {
  queued: 'queued',
  processing: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const;

const inSeconds = (time: Date): number => Math.floor(time.getTime() / 1_000);

/** The members that Open Responses requires of every response, and that a request cannot change here. */
const fixed = {
  frequency_penalty: 0,
  max_tool_calls: null,
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  reasoning: null,
  service_tier: 'default',
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
};

/** The answer in the form of a response. */
export function responseOf(
  { id, model, status, reply, error, finishedAt, ids = responseIds }: Answerer,
  about: MessageAbout,
): object {
  return {
    ...fixed,
    ...about,
    id: ids.format(id),
    object: 'response',
    created_at: createdOf(id),
    completed_at: status === 'completed' && finishedAt ? inSeconds(finishedAt) : null,
    status: reply?.truncated ? 'incomplete' : statuses[status],
    error: error && { code: 'server_error', message: error.message },
    incomplete_details: reply?.truncated ? { reason: 'max_output_tokens' } : null,
    model,
    output: reply ? outputOf(id, reply) : [],
    usage: reply ? usageOf(reply) : null,
  };
}

/** Writes the events of one stream. Each has its number. */
class ResponseEvents {
  readonly #id: string;
  readonly #model: string;
  readonly #about: MessageAbout;
  readonly #ids: typeof responseIds;
  #number = 0;
  #hasBegun = false;
  #text = '';

  constructor(id: string, model: string, about: MessageAbout, ids: typeof responseIds) {
    this.#id = id;
    this.#model = model;
    this.#about = about;
    this.#ids = ids;
  }

  write(event: StreamedEvent): WrittenEvent[] {
    switch (event.name) {
      case 'delta':
        return this.#delta(event.text);
      case 'answered':
        return this.#answered(event.message);
      case 'failed':
        return [...this.#begin(), this.#failed(event.failure)];
      default:
        return [];
    }
  }

  /** All of a text that is there already. */
  writeWhole(text: string, finishedAt: Date | null): WrittenEvent[] {
    return [...this.#delta(text), ...this.#answered({ reply: { content: text, toolCalls: [] }, finishedAt })];
  }

  #event(type: string, data: object): WrittenEvent {
    return { event: type, data: JSON.stringify({ type, sequence_number: this.#number++, ...data }) };
  }

  #response(status: Answerer['status'], more: Partial<Answerer> = {}): { response: object } {
    const response = {
      id: this.#id,
      model: this.#model,
      ids: this.#ids,
      status,
      reply: undefined,
      error: null,
      finishedAt: null,
    };
    return { response: responseOf(Object.assign(response, more), this.#about) };
  }

  get #place() {
    return { item_id: `msg_${this.#id.replaceAll('-', '')}`, output_index: 0, content_index: 0 };
  }

  #begin(): WrittenEvent[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const response = this.#response('processing');
    return [this.#event('response.created', response), this.#event('response.in_progress', response)];
  }

  #delta(text: string): WrittenEvent[] {
    const written = this.#begin();
    if (this.#text === '') {
      const item = { ...textItem(this.#id, '', 'in_progress'), content: [] };
      const part = { type: 'output_text', text: '', annotations: [] };
      written.push(
        this.#event('response.output_item.added', { output_index: 0, item }),
        this.#event('response.content_part.added', { ...this.#place, part }),
      );
    }
    this.#text += text;
    return [...written, this.#event('response.output_text.delta', { ...this.#place, delta: text, logprobs: [] })];
  }

  #answered({ reply, finishedAt }: { reply: MessageReply; finishedAt: Date | null }): WrittenEvent[] {
    const written = this.#begin();
    for (const [index, item] of outputOf(this.#id, reply).entries()) {
      const place = { output_index: index };
      if ('arguments' in item && 'id' in item) {
        const call = { ...place, item_id: item.id };
        written.push(
          this.#event('response.output_item.added', {
            ...place,
            item: { ...item, arguments: '', status: 'in_progress' },
          }),
          this.#event('response.function_call_arguments.delta', { ...call, delta: item.arguments }),
          this.#event('response.function_call_arguments.done', { ...call, arguments: item.arguments }),
        );
      } else {
        const part = { type: 'output_text', text: this.#text, annotations: [] };
        written.push(
          this.#event('response.output_text.done', { ...this.#place, text: this.#text, logprobs: [] }),
          this.#event('response.content_part.done', { ...this.#place, part }),
        );
      }
      written.push(this.#event('response.output_item.done', { ...place, item }));
    }
    const last = reply.truncated ? 'response.incomplete' : 'response.completed';
    return [...written, this.#event(last, this.#response('completed', { reply, finishedAt }))];
  }

  #failed(failure: AppError): WrittenEvent {
    return this.#event('response.failed', this.#response('failed', { error: failure }));
  }
}

/** Replies as responses. */
export const responseForm = (model: string, about: MessageAbout): ReplyForm => ({
  whole: (message) => responseOf(message, about),
  stream(messageId) {
    const events = new ResponseEvents(messageId, model, about, responseIds);
    return (event) => events.write(event);
  },
});

/** The events of a response of a run, which has ended. */
export const runResponseEvents = (
  { runId, text, finishedAt }: RunAnswer,
  model: string,
  about: MessageAbout,
): WrittenEvent[] => new ResponseEvents(runId, model, about, runResponseIds).writeWhole(text, finishedAt);
