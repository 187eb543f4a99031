import Anthropic from '@anthropic-ai/sdk';
import { startBareTemporal } from '../bare-temporal.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { type Operation, timeAlone } from '../load.ts';
import { startLoopbackModel, streamedAnswer, wholeAnswer } from '../loopback-model.ts';

const bareCall = 'bare call of the SDK';
const bareWorkflow = 'bare workflow, one ordinary activity';
const bareStream = 'bare stream of the SDK';
const rounds = 5;
const alone = { count: 20 };
const slowMs = 500;
const slowly = { count: 4 };

const asked = {
  model: 'claude-sonnet-5-5',
  max_tokens: 1_024,
  messages: [{ role: 'user' as const, content: 'Hello' }],
};

const side = (name: string, operation: Operation, calls = alone): Side => {
  const measure = () => timeAlone(operation, calls);
  return { name, warmUp: measure, round: measure };
};

/**
 * P17 and P18: the additional cost of a durable message with its charge over the call of a model, and over its first
 * words.
 */
export const chatTurns: Item = {
  name: 'P17',
  title: 'POST /api/chat with a live key on a loopback provider: p50 alone; P18: time to the first delta of its stream',
  needs: 'stand',
  async run(stand, cleanup) {
    const provider = await startLoopbackModel(stand, cleanup);
    const bare = await startBareTemporal(stand);
    cleanup.add(() => bare.close());
    const sdk = new Anthropic({ apiKey: 'bench', baseURL: `http://127.0.0.1:${stand.providerPort}`, maxRetries: 0 });

    await provider.answerWith('application/json', wholeAnswer);
    const { model, messages } = asked;
    const results = await interleave(stand.meter, rounds, [
      side(bareCall, () => sdk.messages.create(asked)),
      side(bareWorkflow, () => bare.execute('oneOrdinary')),
      side('product', () => stand.liveClient.post('/api/chat', { model, messages })),
    ]);

    // Long enough for the workflow to be started beside the call.
    await provider.answerWith('application/json', wholeAnswer, slowMs);
    const slowTurns = await interleave(stand.meter, 3, [
      side(bareCall, () => sdk.messages.create(asked), slowly),
      side('product', () => stand.liveClient.post('/api/chat', { model, messages }), slowly),
    ]);

    await provider.answerWith('text/event-stream', streamedAnswer);
    const firstDeltas = await interleave(stand.meter, rounds, [
      side(bareStream, async () => {
        for await (const event of sdk.messages.stream(asked)) if (event.type === 'content_block_delta') return;
      }),
      side('product', () => stand.liveClient.untilText('/api/chat', { model, messages, stream: true }, 'event: delta')),
    ]);
    await bare.close();
    await provider.stop();
    return [
      compare('ms', 'p50 alone', results, { [bareWorkflow]: { atMost: 0.8 } }),
      compare('ms', `a provider that takes ${slowMs} ms`, slowTurns, {}),
      compare('ms', 'first delta', firstDeltas, {}),
    ];
  },
};
