import { interleave, type Side } from '../interleave.ts';
import type { Item } from '../item.ts';
import { type Operation, timeAlone } from '../load.ts';
import { startLoopbackModel, streamedAnswer, text } from '../loopback-model.ts';

const rounds = 7;
const count = 20;

const side = (name: string, operation: Operation): Side => {
  const measure = () => timeAlone(operation, { count });
  return { name, warmUp: measure, round: measure };
};

/** P38: what the surface that speaks OpenAI's API costs on top of ours. */
export const firstDeltas: Item = {
  name: 'P38',
  title:
    'POST /openai/v1/chat/completions against POST /api/chat, on a loopback provider: time to the first delta, p50',
  needs: 'stand',
  async run(stand, cleanup) {
    const provider = await startLoopbackModel(stand, cleanup);
    await provider.answerWith('text/event-stream', streamedAnswer);
    const body = { model: 'claude-sonnet-5-5', messages: [{ role: 'user', content: 'Hello' }], stream: true };
    const { liveClient } = stand;
    const measured = await interleave(stand.meter, rounds, [
      side('/api/chat', () => liveClient.untilText('/api/chat', body, 'event: delta')),
      side('/openai/v1/chat/completions', () =>
        liveClient.untilText('/openai/v1/chat/completions', body, JSON.stringify({ content: text })),
      ),
    ]);
    await provider.stop();
    const [ours, theirs] = measured.series;
    const more = theirs!.values.map((value, round) => value - ours!.values[round]!);
    return [
      {
        rows: measured.series.map(({ name, values, cpuMs }) => ({ name: `p50, ${name}`, unit: 'ms', values, cpuMs })),
        verdicts: [{ name: 'ms more until the first delta', values: more, aim: { atMost: 2 } }],
        otherCores: measured.otherCores,
      },
    ];
  },
};
