import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface StreamedEvent {
  id: number;
  /** As it came; undefined for an event without one. */
  cursor: string | undefined;
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
  data: any;
}

export interface EventStream {
  status: number;
  contentType: string | null;
  /** Each as it comes; ends with the stream. */
  events: AsyncIterable<StreamedEvent>;
  /** What came that is no event. */
  comments: string[];
  close(): void;
}

/** Follows Server-Sent Events as a browser does, from `lastEventId` on. */
export async function followEvents(url: string, key: string, lastEventId?: number | string): Promise<EventStream> {
  const closing = new AbortController();
  const headers = {
    authorization: `Bearer ${key}`,
    ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
  };
  const response = await fetch(url, { headers, signal: closing.signal });
  const comments: string[] = [];
  const parsed = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onComment: (comment) => comments.push(comment) }));
  async function* read() {
    for await (const { id, event, data } of parsed)
      yield { id: Number(id), cursor: id, name: event!, data: JSON.parse(data) };
  }
  return {
    status: response.status,
    contentType: response.headers.get('content-type'),
    events: read(),
    comments,
    close: () => closing.abort(),
  };
}
