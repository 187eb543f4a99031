import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import type { ChatAnswer, ChatMessage, ChatModel, ChatRequest, ProviderRegistry } from '../providers/index.ts';
import type { MessagePolicy, MessageProgress } from '../temporal/contracts/conversation.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { countTokens } from '../tenancy/index.ts';
import { maxRounds } from '../tools/core/rounds.ts';
import { askRound, type DeclaredTool, type Round, type RoundAnswer, type Tools } from '../tools/index.ts';
import { completeMessage, contradicted } from './complete-message.ts';
import { type MessageError, messageStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import { type MessageJobServices, messageJob } from './job.ts';
import { messageUse } from './message-use.ts';
import { offerTools, ToolsUnavailable } from './offer-tools.ts';
import { executedIn, type OpenMessage, readAnswer } from './open-message.ts';
import { type AnsweredCalls, type Message, type MessageReply, sealedMessage } from './sealed-message.ts';

/** The provider of the published models. The registry refuses unknown names before a provider is chosen. */
export const chatProvider = 'GOOGLE';

export interface AskServices extends MessageJobServices {
  providers: Pick<ProviderRegistry, 'chatModel'>;
  tools: Tools;
}

export interface AskCall {
  /** From 1. */
  round: number;
  /** Whether the caller receives the text while it is written. */
  streams: boolean;
  /** From 1. */
  attempt: number;
  signal: AbortSignal;
}

const recordRound = statement({
  name: 'message.record_round',
  parameters: { messageId: 'uuid', round: 'smallint', content: 'text', tokens: 'bigint', channel: 'text?' },
  row: { kind: 'text', model: 'text', keyId: 'uuid?' },
  counts: ({ kind, model, keyId }, { tokens }) =>
    messageUse({ kind, model, keyId, tokens: Number(tokens), credits: 0 }),
  text: `with recorded as (
     insert into conversation_entry (message_id, round, position, organization_id, environment, attempts, content)
     select id, :round, 0, :organizationId, :environment, 1, :content from conversation_message
      where organization_id = :organizationId and environment = :environment and id = :messageId and status in (${messageStates.sql('processing')})
     on conflict do nothing
     returning message_id),
   counted as (${countTokens(':tokens', 'recorded')})
   select m.kind, m.model, m.key_id as "keyId", case when :channel is not null then pg_notify(:channel, :messageId::text) end
     from recorded join conversation_message m on m.id = message_id`,
});

const saveStreamedText = statement({
  name: 'message.save_streamed_text',
  parameters: { messageId: 'uuid', streamedText: 'text' },
  text: `update conversation_message set streamed_text = :streamedText
    where organization_id = :organizationId and environment = :environment and id = :messageId and status in (${messageStates.sql('processing')})`,
});

const timedOut: MessageError = { code: 'timeout', message: 'The model did not answer in time.' };
const emptyReply: MessageError = { code: 'provider_error', message: 'The model answered nothing.' };

/** A part of a conversation, as models are given it. */
function chatMessages(said: Message | AnsweredCalls): ChatMessage[] {
  if (said.role !== 'calls') return [{ role: said.role, text: said.content }];
  const { content, results } = said;
  return [
    { role: 'model', content },
    { role: 'tools', results },
  ];
}

const tokensOf = ({ inputTokens, outputTokens }: ChatAnswer) => inputTokens + outputTokens;

/** One call of the model of a message, with the data to record its answer. */
class ModelCall {
  readonly #services: AskServices;
  readonly #scope: Scope;
  readonly #ref: JobRef;
  readonly #open: OpenMessage;
  readonly #rounds: Round[];
  /** The text of a reply so far. */
  #written = '';

  constructor(services: AskServices, scope: Scope, ref: JobRef, open: OpenMessage, rounds: Round[]) {
    this.#services = services;
    this.#scope = scope;
    this.#ref = ref;
    this.#open = open;
    this.#rounds = rounds;
  }

  /** @throws ProviderFailure; ToolsUnavailable; the reason of `signal`; errors of the database */
  async ask({ streams, attempt, signal }: AskCall): Promise<MessageProgress> {
    const open = this.#open;
    const tools = await this.#offered(signal);
    const { request } = open;
    const { system, temperature, maxTokens, outputSchema, tools: ofCaller } = request;
    const said = request.messages.flatMap(chatMessages);
    const ask = async ({ messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>) => {
      const answer = await this.#model().reply(
        {
          provider: chatProvider,
          model: open.model,
          messages: [...said, ...messages],
          ...(system !== undefined && { system }),
          ...(temperature !== undefined && { temperature }),
          ...(maxTokens !== undefined && { maxTokens }),
          ...(outputSchema && { outputSchema }),
          ...(tools && { tools }),
        },
        {
          tenantKey: this.#scope.tenantKey,
          attempt,
          signal,
          ...(streams && { onDelta: (text: string) => this.#stream(attempt, text) }),
        },
      );
      failPoint('message.asked');
      return answer;
    };
    if (ofCaller) return this.#answer(await ask({ messages: [], tools: ofCaller }));
    const taken = await askRound(
      { rounds: this.#rounds, tools, mayCall: this.#rounds.length < maxRounds },
      ask,
      (round, answer, whole) => this.#record(round, answer, tokensOf(whole)),
    );
    if (!taken) return { kind: 'ended' };
    if ('calls' in taken) return { kind: 'calls', calls: taken.calls };
    return this.#answer(taken.answer);
  }

  /** Ends a message that has timed out: with the text so far, or as timed out. */
  async runOutOfTime(): Promise<MessageProgress> {
    const text = this.#written || (this.#rounds.at(-1)?.text ?? '');
    return text.trim() === '' ? this.fail(timedOut) : this.#reply({ content: text, truncated: true }, 0, timedOut);
  }

  /** Stores the part of an interrupted reply that a reader may have received, for the next attempt to continue from. */
  async saveStreamedText(): Promise<void> {
    const { id: messageId, waiter } = this.#ref;
    if (waiter === null || this.#written.length <= this.#open.streamedText.length) return;
    const { sealer } = this.#services;
    await this.#scope.rows(saveStreamedText, {
      messageId,
      streamedText: sealedMessage(sealer, this.#scope).sealStreamedText(messageId, this.#written),
    });
  }

  async fail(error: MessageError): Promise<MessageProgress> {
    await messageJob.stopWith(this.#services, this.#scope, this.#ref, error);
    return { kind: 'failed', code: error.code };
  }

  #model(): ChatModel {
    return this.#services.providers.chatModel(this.#scope.tenant.environment, chatProvider, this.#open.model);
  }

  async #offered(signal: AbortSignal): Promise<DeclaredTool[]> {
    if (!this.#open.hasTools) return [];
    return offerTools(this.#services, this.#scope, this.#ref, this.#open, signal);
  }

  #stream(attempt: number, text: string): void {
    const { id: messageId, waiter } = this.#ref;
    const at = this.#written.length;
    this.#written += text;
    if (waiter === null) return;
    this.#services.messageEvents.notifyDelta(messageId, waiter, this.#scope.tenant, { attempt, at, text });
  }

  /** @returns the answer that counts; undefined when the message has ended */
  async #record(round: number, answer: RoundAnswer, tokens: number): Promise<RoundAnswer | undefined> {
    const { id: messageId, waiter } = this.#ref;
    const place = { messageId, round, position: 0 };
    const columns = sealedMessage(this.#services.sealer, this.#scope);
    const content = columns.sealEntry(place, answer);
    const channel = this.#services.messageEvents.remoteChannel(waiter);
    const isRecorded = await this.#scope.one(recordRound, { messageId, round, content, tokens, channel });
    // Another attempt that counted as dead was faster: its answer counts.
    if (!isRecorded) return readAnswer(this.#scope, columns, place);
    failPoint('message.round_recorded');
    this.#services.messageEvents.notifyChange(messageId);
    return answer;
  }

  /** Ends the message with the last answer of its model. */
  #answer({ text: content, calls, content: ofProvider, truncated, ...tokens }: ChatAnswer): Promise<MessageProgress> {
    const { inputTokens: input, outputTokens: output } = tokens;
    const ended = {
      content,
      ...(truncated && { truncated }),
      // Several calls of the model are only counted together, for the organization.
      ...(this.#rounds.length === 0 && { usage: { input, output } }),
      ...(this.#open.request.tools && calls.length > 0 && { asked: { calls, content: ofProvider } }),
    };
    return this.#reply(ended, input + output, emptyReply);
  }

  /** Only a message in which tools were called may end without a text. */
  async #reply(
    ended: Omit<MessageReply, 'toolCalls'>,
    tokens: number,
    otherwise: MessageError,
  ): Promise<MessageProgress> {
    const { content, asked } = ended;
    // Text that was sent to the reader cannot be taken back.
    if (!content.startsWith(this.#open.streamedText)) return this.fail(contradicted);
    const toolCalls = executedIn(this.#rounds);
    if (content.trim() === '' && toolCalls.length === 0 && !asked) return this.fail(otherwise);
    const reply: MessageReply = { ...ended, toolCalls };
    await completeMessage(this.#services, this.#scope, this.#ref, { reply, tokens });
    return { kind: 'ended' };
  }
}

/** Aborted when the time of a message is over. */
export const messageDeadline = ({ deadlineMs }: MessagePolicy, { ageMs }: OpenMessage): AbortSignal =>
  AbortSignal.timeout(Math.max(0, Math.ceil(deadlineMs - ageMs)));

/** Whether the call may be repeated, and soon enough to be worth waiting. */
const mayRepeat = (failure: ProviderFailure, attempt: number, { retry, maximumRetryAfterMs }: MessagePolicy) =>
  failure.retryable && attempt < retry.maximumAttempts && (failure.retryAfterMs ?? 0) <= maximumRetryAfterMs;

/**
 * A failure with the time until the next attempt, which doubles with each attempt. A provider that requests more time
 * gets it. The first attempt may be that of the process that created the message, so Temporal's own intervals would
 * begin again.
 */
function withBackoff(failure: ProviderFailure, attempt: number, { retry }: MessagePolicy): ProviderFailure {
  const { kind, message, status, requestId } = failure;
  const doubled = Math.min(retry.initialIntervalMs * retry.backoff ** (attempt - 1), retry.maximumIntervalMs);
  return new ProviderFailure(kind, message, {
    retryable: true,
    retryAfterMs: Math.max(failure.retryAfterMs ?? 0, doubled),
    ...(status !== undefined && { status }),
    ...(requestId !== undefined && { requestId }),
  });
}

/**
 * Calls the model of an open message once, and records its answer: a round of calls of tools, or the reply with its charge.
 * @param rounds that are recorded
 * @throws ProviderFailure while another attempt may succeed; errors of the database; the reason of `signal`
 */
export async function askOpenMessage(
  services: AskServices,
  scope: Scope,
  ref: JobRef,
  { open, rounds }: { open: OpenMessage; rounds: Round[] },
  call: AskCall,
): Promise<MessageProgress> {
  const { messageEvents, messagePolicy } = services;
  const modelCall = new ModelCall(services, scope, ref, open, rounds);
  const limit = messageDeadline(messagePolicy, open);
  try {
    limit.throwIfAborted();
    return await modelCall.ask({ ...call, signal: AbortSignal.any([call.signal, limit]) });
  } catch (error) {
    call.signal.throwIfAborted();
    if (limit.aborted) return await modelCall.runOutOfTime();
    if (error instanceof ToolsUnavailable)
      return await modelCall.fail({ code: 'tools_unavailable', message: error.message });
    if (!(error instanceof ProviderFailure)) throw error;
    if (mayRepeat(error, call.attempt, messagePolicy)) {
      await modelCall.saveStreamedText();
      throw withBackoff(error, call.attempt, messagePolicy);
    }
    return await modelCall.fail({ code: 'provider_error', message: error.message });
  } finally {
    messageEvents.forget(ref.id);
  }
}
