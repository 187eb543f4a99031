import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';

/** What a round sends. */
export interface SendRound {
  url: string;
  count: number;
  concurrency: number;
  body: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/** One signed POST over a connection that is kept; nothing is recorded anywhere. */
function send(url: string, body: string): Promise<void> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', 'secret').update(`${timestamp}.${body}`).digest('hex');
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-webhook-timestamp': timestamp,
      'x-webhook-signature': `sha256=${signature}`,
    };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', resolve);
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

process.on('message', async ({ url, count, concurrency, body }: SendRound) => {
  let left = count;
  const began = performance.now();
  const sender = async () => {
    while (left-- > 0) await send(url, body);
  };
  await Promise.all(Array.from({ length: concurrency }, sender));
  process.send?.({ value: (count * 1000) / (performance.now() - began), operations: count });
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
process.send?.({});
