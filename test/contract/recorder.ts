import type { Answer } from '../api-client.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer of any shape is walked here
type Json = any;

/** Members whose values differ from run to run, by what stands in their place. */
const varying: Record<string, string> = {
  ...Object.fromEntries(['message', 'error', 'hint', 'problem'].map((name) => [name, '<words>'])),
  ...Object.fromEntries(
    ['version', 'commit', 'node', 'postgres', 'migration', 'temporal', 'lastFour'].map((name) => [name, '<text>']),
  ),
  ...Object.fromEntries(
    [
      'durationMs',
      'duration',
      'latencyMs',
      'latency',
      'uptimeSeconds',
      'depth',
      'oldestSeconds',
      'requests',
      'credits',
      'balance',
      'available',
      'reserved',
      'resetAt',
      'retryAfter',
      'tokens',
      'runs',
      'drained',
      'bytes',
      'count',
      'p50',
      'p75',
      'p95',
    ].map((name) => [name, '<number>']),
  ),
  last4: '<text>',
  ip: '<address>',
  nextCursor: '<cursor>',
};

/** Texts that differ from run to run, wherever they stand. The order counts. */
const patterns: [RegExp, string][] = [
  [/(?:whsec|trg)_[\w+/=-]+/g, '<secret>'],
  [/\b(wf|run|gen|vid|whk|dlv|evt|rcv|key|org|et|bkg|hst|rpt|blk|act)_[0-9a-f]{32}\b/g, '<$1 id>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>'],
  [/\b20\d\d-\d\d-\d\d\b/g, '<date>'],
  [/\/files\/[\w-]{43}\.(\w+)\?expires=\d+&signature=[\w-]{43}/g, '/files/<name>.$1?<signature>'],
  [/\/b\/[\w-]{22}(?=[/"]|$)/g, '/b/<token>'],
  // The slug of the second organization of a name ends in its id.
  [/\/book\/test\/contract(?:-[0-9a-f]{12})?(?=\/)/g, '/book/test/<slug>'],
  [/\bcontract(?:-[0-9a-f]{12})?(?=$|")/g, '<slug>'],
  // The state of a consent.
  [/(?<=^|state=)[\w-]{43}$/g, '<state>'],
  [/http:\/\/(?:localhost|127\.0\.0\.1):\d+/g, '<base>'],
];

const settledText = (text: string) =>
  text.length > 500
    ? '<long text>'
    : patterns.reduce((settled, [pattern, placeholder]) => settled.replaceAll(pattern, placeholder), text);

/** A value with a placeholder for everything that differs from run to run, members in alphabetical order. */
function settled(value: Json, name = ''): Json {
  const placeholder = varying[name];
  if (placeholder !== undefined && value !== null && typeof value !== 'object') return placeholder;
  if (typeof value === 'string') return settledText(value);
  if (Array.isArray(value)) return value.map((one) => settled(one));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([member, inner]) => [member, settled(inner, member)]));
}

/** An event stream is compared event by event; the comments that keep it alive are not part of it. */
function settledStream(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .map((line) => (line.startsWith('data: ') ? settled(JSON.parse(line.slice('data: '.length))) : line));
}

function settledBody({ headers, body }: Answer): unknown {
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return settledStream(body);
  return settled(body);
}

/** Headers that belong to the connection; how an answer is cut into pieces is not part of the interface. */
const ofConnection = ['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'];
/** Headers whose values are part of the interface, not only their names. */
const withValue = ['content-type', 'cache-control', 'allow', 'www-authenticate', 'idempotent-replayed'];
/** Headers that come together, by one word for all of them. A group of which one is missing is written out. */
const groups: Record<string, string[]> = {
  ids: ['x-correlation-id', 'x-request-id'],
  security: ['content-security-policy', 'referrer-policy', 'x-content-type-options', 'x-frame-options'],
  limits: ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
};

function settledHeaders(headers: Headers): string {
  const complete = Object.keys(groups).filter((group) => groups[group]!.every((name) => headers.has(name)));
  const inGroups = complete.flatMap((group) => groups[group]!);
  const others = [...headers.keys()].filter((name) => !ofConnection.includes(name) && !inGroups.includes(name));
  const shown = others.toSorted().map((name) => (withValue.includes(name) ? `${name}: ${headers.get(name)}` : name));
  return [...complete, ...shown].join(', ');
}

/** Answers under the names of what was asked, each as one line. */
export class Recorder {
  readonly #lines = new Map<string, string>();

  record(label: string, answer: Answer): void {
    if (this.#lines.has(label)) throw new Error(`Two answers are called "${label}".`);
    const { status, headers } = answer;
    this.#lines.set(label, `${status} (${settledHeaders(headers)}) ${JSON.stringify(settledBody(answer))}`);
  }

  lines(): string[] {
    return [...this.#lines].map(([label, line]) => `${label} -> ${line}`).toSorted();
  }
}
