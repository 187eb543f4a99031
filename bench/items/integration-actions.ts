import { interleave, type Side } from '../interleave.ts';
import { compare, type Finding, type Item } from '../item.ts';
import { type Operation, timeAlone } from '../load.ts';
import { startLoopbackModel } from '../loopback-model.ts';
import type { Stand } from '../stand.ts';

const bareCall = 'bare call';
const rounds = 5;
const alone = { count: 20 };
/** A provider at some distance. */
const farMs = 100;
const few = { count: 5 };

const message = { channel: 'C0123456789', text: 'The build is green.' };
const tokens = JSON.stringify({
  ok: true,
  access_token: 'xoxb-bench',
  token_type: 'bot',
  scope: 'chat:write',
  app_id: 'A1',
  bot_user_id: 'U1',
  team: { id: 'T1', name: 'Bench' },
});
const posted = JSON.stringify({ ok: true, channel: message.channel, ts: '1503435956.000247' });

/** Connects Slack as a consenting owner would: the provider returns the answer of the token endpoint from now on. */
async function connect({ api, liveClient }: Stand): Promise<void> {
  const { state } = await liveClient.post<{ state: string }>('/api/v1/integrations/slack/connect', {});
  const query = new URLSearchParams({ state, code: 'bench' });
  const answered = await fetch(`${api}/api/v1/integrations/callback?${query}`);
  if (!answered.ok) throw new Error(`The callback answered ${answered.status}: ${await answered.text()}`);
}

const side = (name: string, operation: Operation, calls: { count: number }): Side => {
  const measure = () => timeAlone(operation, calls);
  return { name, warmUp: measure, round: measure };
};

/** The ratio says little of a call that takes as long as its provider does: what counts is the difference. */
function overhead(finding: Finding, name: string, aim: { atMost: number }): Finding {
  const [bare, product] = finding.rows.map(({ values }) => values);
  const values = product!.map((ms, round) => ms - bare![round]!);
  return { ...finding, verdicts: [...finding.verdicts, { name: `${name}: ms on top of the call`, values, aim }] };
}

/** P21: what a durable action of an integration costs on top of its request to the provider. */
export const integrationActions: Item = {
  name: 'P21',
  title: "Slack's send_message with a live key on a loopback provider: p50 alone",
  needs: 'stand',
  async run(stand, cleanup) {
    const provider = await startLoopbackModel(stand, cleanup);
    await provider.answerWith('application/json', tokens);
    await connect(stand);
    const url = `http://127.0.0.1:${stand.providerPort}/api/chat.postMessage`;
    const headers = { authorization: 'Bearer xoxb-bench', 'content-type': 'application/json' };
    const call = async () => (await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })).json();
    const act = () => stand.liveClient.post('/api/v1/integrations/slack/actions/send_message', message);
    const findings: Finding[] = [];
    for (const [what, afterMs, count] of [
      ['p50 alone', 0, alone],
      [`a provider that takes ${farMs} ms`, farMs, few],
    ] as const) {
      await provider.answerWith('application/json', posted, afterMs);
      const sides = [side(bareCall, call, count), side('product', act, count)];
      const measured = await interleave(stand.meter, rounds, sides);
      findings.push(overhead(compare('ms', what, measured, {}), what, { atMost: 15 }));
    }
    await provider.stop();
    return findings;
  },
};
