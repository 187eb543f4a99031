import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FakeFile } from './media-files.ts';
import { type Received, readBody, type WireAnswer, write } from './wire-server.ts';

/** What becomes of one call that is not as it should be. */
export type Trouble =
  | { fail: WireAnswer }
  /** Does the work and ends the connection: the answer is lost. */
  | 'lose the answer'
  /** Takes the request and says nothing for ever. */
  | 'silence'
  /** Does the work, and answers with the page of some gateway. */
  | 'page';

/** What a finished job's file is. */
export type OutputWish =
  | 'good'
  | 'missing'
  /** The right type, and damaged within. */
  | 'broken'
  /** Half of it, as if that were all. */
  | 'cut'
  | 'empty'
  | 'another type'
  | 'page'
  | 'silence'
  /** Somewhere else: an address that is given in its place. */
  | { url: string };

/** What one job does. */
export interface JobWish {
  submit?: Trouble;
  /** From the submit until it is over; by default at once. Infinity: when `finish` is called. */
  takesMs?: number;
  /** It fails, in the words of the provider's dialect. */
  fail?: WireAnswer | string;
  output?: OutputWish;
  /** How often the finished job is read without any file in it, before its file is there. */
  withoutFile?: number;
  /** Whether its end is reported to the webhook, where one was given. */
  reports?: boolean;
}

export interface FakeJob {
  id: string;
  endpoint: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into the inputs of every model
  input: any;
  webhook: string | null;
  wish: JobWish;
  begun: number;
  state: 'working' | 'over' | 'cancelled';
}

/** A call, as a dialect reads it. */
export type MediaRoute =
  /** `refused`: what the provider would refuse. */
  | { kind: 'submit'; endpoint: string; webhook: string | null; refused?: WireAnswer | undefined }
  | { kind: 'status' | 'result' | 'cancel'; id: string }
  | { kind: 'open'; answer: WireAnswer };

/** One provider's wire format. */
export interface MediaDialect {
  keyOf(headers: IncomingHttpHeaders): string | undefined;
  notFound: WireAnswer;
  wrongKey: WireAnswer;
  newId(): string;
  route(method: string, url: URL, body: unknown): MediaRoute | undefined;
  accepted(job: FakeJob): WireAnswer;
  status(job: FakeJob, outputUrl: string): WireAnswer;
  result?(job: FakeJob, outputUrl: string): WireAnswer;
  cancelled(job: FakeJob): WireAnswer;
  makeFile(job: FakeJob): Promise<FakeFile>;
  report?(job: FakeJob, outputUrl: string): { headers: Record<string, string>; body: string };
}

export interface FakeMedia {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  apiKey: string;
  journal: Received[];
  /** In the order of their submits. Those that were refused are not among them. */
  jobs: FakeJob[];
  /** Where webhooks are sent instead, with their path: for addresses that this machine does not know. */
  hookOrigin: string | undefined;
  /** What the next jobs do, one after another; afterwards they succeed. */
  next(...wishes: JobWish[]): void;
  /** What the first job with this prompt does, whenever it comes. */
  meet(prompt: string, wish: JobWish): void;
  /** What becomes of the next calls about jobs that were submitted. */
  nextCalls(...troubles: Trouble[]): void;
  /** Ends a job that takes for ever. */
  finish(job: FakeJob): void;
  /** Sends the report of a job again. @returns the status of the answer */
  report(job: FakeJob): Promise<number>;
  reset(): void;
  close(): Promise<void>;
}

/** Whether this reading of a finished job names no file. */
export function readsWithoutFile({ wish }: FakeJob): boolean {
  const left = wish.withoutFile ?? 0;
  if (left > 0) wish.withoutFile = left - 1;
  return left > 0;
}

const page = '<html><body>Please wait</body></html>';

async function sendFile(response: ServerResponse, { type, bytes }: FakeFile, wish: OutputWish): Promise<void> {
  const send = (body: Buffer | string, contentType = type) => {
    response.writeHead(200, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }).end(body);
  };
  switch (wish) {
    case 'missing':
      return write(response, { status: 404, body: { detail: 'Not found' } });
    case 'silence':
      return;
    case 'empty':
      return send('');
    case 'page':
      return send(page, 'text/html');
    case 'another type':
      // Says that it is what it should be.
      return send('%PDF-1.7\n%âãÏÓ\n1 0 obj\n');
    case 'cut':
      return send(bytes.subarray(0, bytes.length / 2));
    case 'broken':
      return send(Buffer.concat([bytes.subarray(0, 32), Buffer.alloc(bytes.length - 32, 0x5a)]));
    default:
      return send(bytes);
  }
}

/** A server on a free loopback port that speaks `dialect`, behaves as configured, and records its requests. */
export async function startMediaServer(dialect: MediaDialect, apiKey: string): Promise<FakeMedia> {
  const journal: Received[] = [];
  const jobs: FakeJob[] = [];
  let wishes: JobWish[] = [];
  const met = new Map<string, JobWish>();
  let troubles: Trouble[] = [];
  let origin = '';
  const outputUrl = ({ id, wish: { output } }: FakeJob) =>
    typeof output === 'object' ? output.url : `${origin}/output/${id}`;

  async function report(job: FakeJob): Promise<number> {
    const { headers, body } = dialect.report!(job, outputUrl(job));
    const { pathname, search, origin: own } = new URL(job.webhook!);
    const url = (fake.hookOrigin ?? own) + pathname + search;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  }

  function finish(job: FakeJob): void {
    if (job.state !== 'working') return;
    job.state = 'over';
    // A client that has disconnected gets no answer.
    if (job.webhook !== null && dialect.report && job.wish.reports !== false) void report(job).catch(() => {});
  }

  function take(route: Extract<MediaRoute, { kind: 'submit' }>, input: unknown, wish: JobWish): FakeJob {
    const { endpoint, webhook } = route;
    const id = dialect.newId();
    const job: FakeJob = { id, endpoint, input, webhook, wish, begun: Date.now(), state: 'working' };
    jobs.push(job);
    const { takesMs = 0 } = wish;
    if (takesMs === 0) finish(job);
    else if (Number.isFinite(takesMs)) setTimeout(() => finish(job), takesMs).unref();
    return job;
  }

  function act(trouble: Trouble | undefined, received: Received, response: ServerResponse, work: () => WireAnswer) {
    if (typeof trouble === 'object') return write(response, trouble.fail);
    if (trouble === 'silence') return;
    received.worked = true;
    const answer = work();
    if (trouble === 'page') response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    else if (trouble === 'lose the answer') response.destroy();
    else write(response, answer);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const { method = '', headers } = request;
    const [, outputOf] = /^\/output\/([\w-]+)$/.exec(url.pathname) ?? [];
    const body = await readBody(request);
    const path = url.pathname + url.search;
    const received: Received = {
      at: Date.now(),
      method,
      path,
      headers,
      key: dialect.keyOf(headers),
      body,
      worked: false,
    };
    journal.push(received);
    response.on('close', () => {
      received.end ??= { at: Date.now(), by: response.writableFinished ? 'answer' : 'client' };
    });
    if (outputOf !== undefined) {
      const job = jobs.find(({ id }) => id === outputOf);
      if (!job) return write(response, dialect.notFound);
      return sendFile(response, await dialect.makeFile(job), job.wish.output ?? 'good');
    }
    const route = dialect.route(method, url, body);
    if (route?.kind === 'open') return write(response, route.answer);
    if (!route) return write(response, dialect.notFound);
    if (received.key !== apiKey) return write(response, dialect.wrongKey);
    if (route.kind === 'submit') {
      const prompt = String((body as { prompt?: unknown } | undefined)?.prompt);
      const wish = met.get(prompt) ?? wishes.shift() ?? {};
      met.delete(prompt);
      if (route.refused) return write(response, route.refused);
      return act(wish.submit, received, response, () => dialect.accepted(take(route, body, wish)));
    }
    const job = jobs.find(({ id }) => id === route.id);
    if (!job) return write(response, dialect.notFound);
    act(troubles.shift(), received, response, () => {
      if (route.kind === 'status') return dialect.status(job, outputUrl(job));
      if (route.kind === 'result') return dialect.result!(job, outputUrl(job));
      const answer = dialect.cancelled(job);
      if (job.state === 'working') job.state = 'cancelled';
      return answer;
    });
  }

  // A fake without an answer says so in its response, because an exception would not be seen.
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => write(response, { status: 599, body: { error: String(error) } }));
  });
  server.listen(0, '127.0.0.1');
  // A test that fails before it closes its fakes still ends.
  server.unref();
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const fake: FakeMedia = {
    origin,
    apiKey,
    journal,
    jobs,
    finish,
    report,
    hookOrigin: undefined,
    next: (...more) => wishes.push(...more),
    meet: (prompt, wish) => met.set(prompt, wish),
    nextCalls: (...more) => troubles.push(...more),
    reset() {
      journal.length = 0;
      jobs.length = 0;
      wishes = [];
      met.clear();
      troubles = [];
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return fake;
}
