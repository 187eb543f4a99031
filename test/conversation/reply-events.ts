import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface ReplyEvent {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
  data: any;
}

export interface ReplyEvents {
  status: number;
  headers: Headers;
  /** Each as it comes; ends with the stream. */
  events: AsyncIterable<ReplyEvent>;
  /** All events until the stream ends. */
  all(): Promise<ReplyEvent[]>;
  /** What came that is no event. */
  comments: string[];
  hangUp(): void;
}

/** Where messages are sent to, and by whom. */
export interface Sender {
  api: string;
  key: string;
}

/** Sends a message whose reply is streamed, and reads it as a program does that is handed the events one by one. */
export async function streamReply(
  { api, key }: Sender,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<ReplyEvents> {
  const closing = new AbortController();
  const response = await fetch(new URL(path, api), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...body, stream: true }),
    signal: closing.signal,
  });
  const comments: string[] = [];
  const parsed = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment: (comment) => comments.push(comment) }));
  async function* read() {
    for await (const { event, data } of parsed) yield { name: event!, data: JSON.parse(data) };
  }
  const events = read();
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    async all() {
      const found: ReplyEvent[] = [];
      for await (const event of events) found.push(event);
      return found;
    },
    hangUp: () => closing.abort(),
  };
}

/** The text that deltas make. */
export const joined = (events: readonly ReplyEvent[]): string =>
  events.flatMap(({ name, data }) => (name === 'delta' ? [data.text] : [])).join('');
