import { startChildProgram } from './child-program.ts';
import type { Cleanup } from './cleanup.ts';
import type { Stand } from './stand.ts';

/** The answer of a model, in Anthropic's form. */
export const text = 'A short answer.';
export const message = {
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'bench',
  stop_sequence: null,
};
export const usage = { input_tokens: 20, output_tokens: 5 };
export const wholeAnswer = JSON.stringify({
  ...message,
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  usage,
});

/** A provider that returns configured answers, at once unless a delay is configured. */
export interface LoopbackModel {
  answerWith(type: string, answer: string, afterMs?: number): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a provider at the address to which the product's live calls go. */
export async function startLoopbackModel(stand: Stand, cleanup: Cleanup): Promise<LoopbackModel> {
  const provider = await startChildProgram({
    program: 'bare-answer.ts',
    args: [String(stand.providerPort)],
    logFile: stand.file('provider.log'),
  });
  cleanup.add(() => provider.stop());
  stand.meter.watch('provider', provider.pid);
  return {
    answerWith: (type, answer, afterMs = 0) =>
      provider.ask({ status: 200, headers: { 'content-type': type }, text: answer, afterMs }),
    async stop() {
      stand.meter.unwatch('provider');
      await provider.stop();
    },
  };
}

/** The answer as the events of a stream. */
export const streamedAnswer = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');
