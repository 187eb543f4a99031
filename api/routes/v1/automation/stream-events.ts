import { setTimeout as sleep } from 'node:timers/promises';
import { streamSSE } from 'hono/streaming';
import type { SeenEvent } from '../../../../src/automation/runs/follow-run.ts';
import type { StepDelta } from '../../../../src/automation/step-texts/delta-reader.ts';
import type { OpenRequest } from '../../../../src/tenancy/open-requests.ts';
import type { ApiContext } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';

/** Proxies close connections that are silent for longer than this. */
const pingEveryMs = 10_000;
/** How long a client waits before it reconnects. */
const comeBackAfterMs = 1_000;
/** How soon the validity of the key is checked again. */
const askAgainMs = 250;

/** An event with the id that a client continues after. */
export type StreamedEvent = SeenEvent & { cursor?: string };

/** The head of a stream, for HEAD requests. */
export function streamHead(c: ApiContext): Response {
  c.header('X-Accel-Buffering', 'no');
  return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
}

/** Whether a stream must end. While the database is unavailable this is not known, and the stream waits, as its events do. */
async function isRefused(open: OpenRequest): Promise<boolean> {
  for (;;) {
    const refusal = await open.refusal();
    if (refusal?.code !== 'service_unavailable') return refusal !== undefined;
    if (open.signal.aborted) return true;
    await sleep(askAgainMs, undefined, { signal: open.signal }).catch(() => {});
  }
}

/** Answers with events as Server-Sent Events until they end. Closes `open` then. */
export function streamEvents(
  c: ApiContext,
  open: OpenRequest,
  events: AsyncIterable<StreamedEvent | StepDelta>,
): Response {
  const dialect = automationDialect(c);
  // Prevents proxies from buffering the stream.
  c.header('X-Accel-Buffering', 'no');
  const answer = streamSSE(c, async (stream) => {
    stream.onAbort(() => open.close());
    const ping = setInterval(() => stream.write(': ping\n\n').catch(() => {}), pingEveryMs);
    try {
      await stream.write(`retry: ${comeBackAfterMs}\n\n`);
      for await (const event of events) {
        if (await isRefused(open)) break;
        if (event.name === 'step.delta') {
          await stream.writeSSE({ event: event.name, data: JSON.stringify(dialect.stepDelta(event)) });
        } else {
          const id = event.cursor ?? String(event.id);
          await stream.writeSSE({ id, event: event.name, data: JSON.stringify(dialect.runEvent(event)) });
        }
      }
    } finally {
      clearInterval(ping);
      open.close();
    }
  });
  // streamSSE set its own Cache-Control, which is weaker than that of every other answer behind a key.
  answer.headers.set('Cache-Control', 'no-store');
  return answer;
}
