import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bearer, type Json, readBody, type WireAnswer, write } from './wire-server.ts';

/** An event in a fake calendar, in no provider's form. */
export interface FakeEvent {
  id: string;
  /** RFC 3339 in UTC; dates when `allDay` is true. */
  start: string;
  end: string;
  allDay?: boolean;
  free?: boolean;
  declined?: boolean;
  tentative?: boolean;
  cancelled?: boolean;
  /** Every day so many times. */
  repeat?: number;
  /** For an instance: the event that repeats. */
  series?: string;
  /** The timezone of whole days, in Outlook's words. */
  zone?: string;
  /** What was written over the API. */
  written?: Json;
}

/** What becomes of one request that is not as it should be. */
export type CalendarFault =
  | { fail: WireAnswer }
  /** Does the work and ends the connection: the answer is lost. */
  | 'lose the answer'
  /** Takes the request and says nothing for ever. */
  | 'silence'
  /** The page of some gateway, with status 200. */
  | 'page'
  /** A complete answer whose JSON ends in the middle. */
  | 'truncate';

export interface CalendarRequestSeen {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every provider
  body: any;
  status: number;
}

/** The events of one account, and what changed when. */
export class CalendarStore {
  readonly events = new Map<string, { event: FakeEvent; version: number }>();
  readonly removed = new Map<string, number>();
  version = 1;
  /** Changes before this are forgotten. */
  oldest = 0;
  perPage = 100;
  timezone = 'UTC';
  isGone = false;
  isRevoked = false;
  /** Milliseconds that the provider's own clock is ahead. */
  skewMs = 0;

  put(...events: FakeEvent[]): void {
    this.version++;
    for (const event of events) {
      this.events.set(event.id, { event, version: this.version });
      this.removed.delete(event.id);
    }
  }

  remove(...ids: string[]): void {
    this.version++;
    for (const id of ids) if (this.events.delete(id)) this.removed.set(id, this.version);
  }

  /** Makes all links and tokens that were given useless. */
  forget(): void {
    this.oldest = ++this.version;
  }

  /** In a stable order. @param since 0 for all there are */
  listed(since: number): { event: FakeEvent | undefined; id: string }[] {
    const changed = [...this.events.values()].filter(({ version }) => version > since);
    const gone = since === 0 ? [] : [...this.removed].filter(([, version]) => version > since);
    const all = [
      ...changed.map(({ event }) => ({ id: event.id, event })),
      ...gone.map(([id]) => ({ id, event: undefined })),
    ];
    return all.sort((one, other) => (one.id < other.id ? -1 : 1));
  }
}

/** The events that a repeating one stands for. */
export function occurrencesOf(event: FakeEvent): FakeEvent[] {
  const { repeat = 1, ...one } = event;
  const later = (text: string, days: number) => {
    const moved = new Date(Date.parse(text) + days * 86_400_000).toISOString();
    return event.allDay ? moved.slice(0, 10) : moved;
  };
  return Array.from({ length: repeat }, (_, day) => ({
    ...one,
    ...(repeat > 1 && { series: event.id }),
    id: repeat === 1 ? event.id : `${event.id}_${day}`,
    start: later(event.start, day),
    end: later(event.end, day),
  }));
}

/** Whether an event overlaps a window of RFC 3339. */
export const isWithin = ({ start, end }: FakeEvent, from: string, to: string): boolean =>
  Date.parse(start) < Date.parse(to) && Date.parse(end) > Date.parse(from);

/** Where a listing stands. */
export interface Place {
  since: number;
  until: number;
  offset: number;
  from: string;
  to: string;
}

/** Places as the opaque tokens of a provider. */
export const writePlace = (place: Place): string => Buffer.from(JSON.stringify(place)).toString('base64url');
export const readPlace = (text: string | null): Place | undefined => {
  try {
    return text === null ? undefined : JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
};

export const ok = (body: unknown, status = 200): WireAnswer => ({ status, body });
export const noContent: WireAnswer = { status: 204, body: undefined };

export interface CalendarRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every provider
  body: any;
}

export interface FakeCalendar extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  store: CalendarStore;
  journal: CalendarRequestSeen[];
  /** What becomes of the next requests, one after another. */
  next(...faults: CalendarFault[]): void;
  /** Whether an access token is taken; any is, unless this is set. */
  accepts: (token: string) => boolean;
  /** Forgets the events, the journal and the faults. */
  reset(): void;
  close(): Promise<void>;
}

/** A server on a free loopback port that answers for one account, in a provider's wire format. */
export async function startCalendarServer(
  answer: (fake: Pick<FakeCalendar, 'store' | 'origin'>, request: CalendarRequest) => WireAnswer,
  refused: WireAnswer,
): Promise<FakeCalendar> {
  const journal: CalendarRequestSeen[] = [];
  let faults: CalendarFault[] = [];

  function send(response: ServerResponse, made: WireAnswer): void {
    if (made.status === 204) response.writeHead(204, made.headers).end();
    else write(response, made);
  }

  async function act(fault: CalendarFault | undefined, work: () => WireAnswer, response: ServerResponse) {
    if (fault === undefined) return send(response, work());
    if (typeof fault === 'object') return send(response, fault.fail);
    if (fault === 'silence') return;
    if (fault === 'page') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>');
    const made = work();
    if (fault === 'lose the answer') return void response.destroy();
    const json = JSON.stringify(made.body);
    response.writeHead(made.status, { 'content-type': 'application/json' }).end(json.slice(0, json.length / 2));
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', fake.origin);
    const { method = '', headers } = request;
    const body = await readBody(request);
    const seen: CalendarRequestSeen = {
      method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
      body,
      status: 0,
    };
    journal.push(seen);
    const token = bearer(headers);
    const isKnown = token !== undefined && fake.accepts(token) && !fake.store.isRevoked;
    const work = () => (isKnown ? answer(fake, { method, url, headers, body }) : refused);
    response.on('close', () => {
      seen.status = response.statusCode;
    });
    try {
      await act(isKnown ? faults.shift() : undefined, work, response);
    } catch (error) {
      write(response, { status: 599, body: { error: String(error) } });
    }
  });
  server.listen(0, '127.0.0.1');
  // A test that fails before it closes its fakes still ends.
  server.unref();
  await once(server, 'listening');

  const fake: FakeCalendar = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    store: new CalendarStore(),
    journal,
    next: (...more) => void faults.push(...more),
    accepts: () => true,
    reset() {
      fake.store = new CalendarStore();
      fake.accepts = () => true;
      journal.length = 0;
      faults = [];
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
    [Symbol.asyncDispose]: () => fake.close(),
  };
  return fake;
}
