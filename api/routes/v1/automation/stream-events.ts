import { setTimeout as sleep } from 'node:timers/promises';
import { streamSSE } from 'hono/streaming';
import type { SeenEvent } from '../../../../src/automation/runs/follow-run.ts';
import type { StepDelta } from '../../../../src/automation/step-texts/delta-reader.ts';
import type { BoundedWork } from '../../../../src/platform/bounded-work/bounded-work.ts';
import type { OpenRequest } from '../../../../src/tenancy/open-requests.ts';
import type { ApiContext } from '../../../context.ts';
import type { AutomationDialect } from '../../../dialects/automation/dialect.ts';
import { automationDialect } from '../../../dialects/automation.ts';

/** Proxies close connections that are silent for longer than this. */
const pingEveryMs = 10_000;
/** How long a client waits before it reconnects. */
const comeBackAfterMs = 1_000;
/** How soon the validity of the key is checked again. */
const askAgainMs = 250;
/** The characters from which on events that were read together are written, and the next ones apart. */
const writtenTogether = 64 * 1024;

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

/** Events as they are sent, in texts of a bounded size. */
function writeEvents(dialect: AutomationDialect, events: readonly StreamedEvent[]): string[] {
  const texts = [''];
  for (const event of events) {
    if (texts.at(-1)!.length >= writtenTogether) texts.push('');
    const data = JSON.stringify(dialect.runEvent(event));
    texts[texts.length - 1] += `event: ${event.name}\ndata: ${data}\nid: ${event.cursor ?? event.id}\n\n`;
  }
  return texts;
}

/**
 * Answers with events as Server-Sent Events until they end. Closes `open` then. Events that were read together are written
 * together, because each write to a connection takes as long as ten events; and in turns with other large work of this
 * thread, because a run may have twenty thousand, and be asked for again and again.
 */
export function streamEvents(
  c: ApiContext,
  open: OpenRequest,
  work: BoundedWork,
  events: AsyncIterable<StreamedEvent | StepDelta>,
): Response {
  const dialect = automationDialect(c);
  const { tenantKey } = c.get('scope');
  // Prevents proxies from buffering the stream.
  c.header('X-Accel-Buffering', 'no');
  const answer = streamSSE(c, async (stream) => {
    stream.onAbort(() => open.close());
    const ping = setInterval(() => stream.write(': ping\n\n').catch(() => {}), pingEveryMs);
    let together: StreamedEvent[] = [];
    /** @returns whether the stream goes on */
    const write = async (): Promise<boolean> => {
      const written = together;
      together = [];
      if (written.length === 0) return true;
      const texts =
        written.length === 1
          ? writeEvents(dialect, written)
          : await work.inMainThread(tenantKey, () => writeEvents(dialect, written));
      for (const text of texts) {
        if (await isRefused(open)) return false;
        await stream.write(text);
      }
      return true;
    };
    try {
      await stream.write(`retry: ${comeBackAfterMs}\n\n`);
      for await (const event of events) {
        if (event.name !== 'step.delta') {
          together.push(event);
          if (!event.isFollowed && !(await write())) break;
        } else {
          if (!(await write()) || (await isRefused(open))) break;
          await stream.writeSSE({ event: event.name, data: JSON.stringify(dialect.stepDelta(event)) });
        }
      }
      await write();
    } finally {
      clearInterval(ping);
      open.close();
    }
  });
  // streamSSE set its own Cache-Control, which is weaker than that of every other answer behind a key.
  answer.headers.set('Cache-Control', 'no-store');
  return answer;
}
