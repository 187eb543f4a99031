import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { type AppError, concurrencyLimitReached, unavailable } from '../platform/errors.ts';
import type { Caller } from './caller.ts';
import { tenancyLimits } from './core/limits.ts';
import type { KeyChanges } from './key-changes.ts';
import type { OpenCounter } from './open-counter.ts';
import type { OpenSessions, SessionInUse } from './open-sessions.ts';
import { subjectOf } from './rate-limiter.ts';
import { unauthorized } from './refusals.ts';
import { sessionOfToken } from './tokens/token-session.ts';

/**
 * Requests that stay open: event streams, and those that wait for their run. Each kind has its own limit in the plans.
 */
type OpenKind = 'eventStreams' | 'waitingRequests';

/** A key that has ended loses its open requests within this time, and the time of a query. */
const checkEveryMs = 500;
/** A timer may fire a little early. */
const toleranceMs = 50;

const findValid = systemStatement({
  name: 'api_key.still_valid',
  parameters: { keyIds: 'uuid[]' },
  row: { id: 'uuid', expiresAt: 'timestamptz?' },
  text: `select k.id, k.expires_at as "expiresAt" from api_key k
     join organization o on o.id = k.organization_id and o.deleted_at is null
    where k.id = any(:keyIds) and k.revoked_at is null`,
});

/** One open request. */
export interface OpenRequest {
  /** Aborted when the key or the session is no longer valid, the process drains, or the request is closed. */
  readonly signal: AbortSignal;
  /**
   * To be called before anything is sent: why the caller may no longer have it, or undefined. Costs a query only after a
   * change of the caller's organization, or while announcements may be missed.
   */
  refusal(): Promise<AppError | undefined>;
  /** Gives its place free. */
  close(): void;
}

class Held implements OpenRequest {
  readonly caller: Caller;
  readonly session: SessionInUse | undefined;
  readonly #ending = new AbortController();
  readonly #requests: OpenRequests;
  /** The generation of changes in which its key was last known to be valid. */
  checkedIn: number;
  /** When its key or token expires, in milliseconds since the epoch. A rotation of the key brings it forward. */
  expiresAt: number;
  /** When its session was last confirmed, by `performance.now()`. */
  checkedAt = performance.now();
  refused: AppError | undefined;

  constructor(requests: OpenRequests, caller: Caller) {
    this.#requests = requests;
    this.caller = caller;
    this.session = sessionInUse(caller);
    this.checkedIn = caller.generation;
    this.expiresAt = caller.expiresAt ?? Number.POSITIVE_INFINITY;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  end(refused?: AppError): void {
    this.refused ??= refused;
    this.#ending.abort();
  }

  /** Ends it if its key or token has expired. */
  checkEnd(): void {
    if (this.expiresAt <= clock.now()) this.end(unauthorized('expired_api_key'));
  }

  refusal(): Promise<AppError | undefined> {
    return this.#requests.refusalOf(this);
  }

  close(): void {
    this.end();
    this.#requests.release(this);
  }
}

/** The session on which an open request rests; undefined where that is a key. */
function sessionInUse({ session, token, organizationId }: Caller): SessionInUse | undefined {
  if (session) return { sessionId: session.id, organizationId, required: 'viewer' };
  return token?.session ? sessionOfToken(token.session, organizationId) : undefined;
}

interface OpenRequestsOptions {
  database: Database;
  changes: KeyChanges;
  sessions: OpenSessions;
  counter: OpenCounter;
  /** Aborted when the process begins to drain. */
  draining: AbortSignal;
}

/**
 * The open requests of this process. A key that is revoked or expires, or whose organization is deleted, loses its open
 * requests: when `announceKeyChange` has returned it receives nothing more, and its requests end within a second.
 */
export class OpenRequests {
  readonly #options: OpenRequestsOptions;
  readonly #held = new Map<Held, () => void>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(options: OpenRequestsOptions) {
    this.#options = options;
    options.changes.onChange(() => this.#check());
    options.draining.addEventListener('abort', () => {
      for (const one of this.#held.keys()) one.end();
    });
  }

  /** How many of this kind the caller's organization has open. */
  count(caller: Caller, kind: OpenKind): Promise<number> {
    return this.#options.counter.count(`${subjectOf(caller)}:${kind}`);
  }

  /** @throws AppError rate_limit_exceeded when the caller's organization has as many open as its plan includes */
  async open(caller: Caller, kind: OpenKind): Promise<OpenRequest> {
    const { [kind]: declared } = tenancyLimits;
    const limit = declared.of(caller.plan);
    const leave = await this.#options.counter.enter(`${subjectOf(caller)}:${kind}`, limit);
    if (!leave) throw concurrencyLimitReached(limit, declared.window);
    const one = new Held(this, caller);
    if (this.#options.draining.aborted) one.end();
    this.#held.set(one, leave);
    this.#timer ??= setInterval(() => this.#check(), checkEveryMs).unref();
    return one;
  }

  release(one: Held): void {
    this.#held.get(one)?.();
    this.#held.delete(one);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async refusalOf(one: Held): Promise<AppError | undefined> {
    try {
      if (this.#isDue(one)) await this.#checkAll([one]);
      return one.refused;
    } catch {
      return unavailable('The database');
    }
  }

  #isDue(one: Held): boolean {
    one.checkEnd();
    // Sessions are cached nowhere, so their end is announced nowhere: they are looked up as often as keys are without
    // announcements.
    if (one.session) return !one.refused && performance.now() - one.checkedAt >= checkEveryMs - toleranceMs;
    return !one.refused && !this.#options.changes.isCurrent(one.checkedIn, one.caller.organizationId);
  }

  /** Called at every change of a key and regularly: an announcement can be missed, and a failed query is repeated. */
  #check(): void {
    const due = [...this.#held.keys()].filter((one) => this.#isDue(one));
    if (due.length === 0 || this.#isChecking) return;
    this.#isChecking = true;
    this.#checkAll(due)
      .catch(() => {})
      .finally(() => {
        this.#isChecking = false;
      });
  }

  async #checkAll(due: readonly Held[]): Promise<void> {
    await Promise.all([
      this.#checkKeys(due.filter(({ caller }) => caller.keyId !== null)),
      this.#checkSessions(due.filter(({ session }) => session)),
    ]);
  }

  async #checkKeys(due: readonly Held[]): Promise<void> {
    if (due.length === 0) return;
    const { changes, database } = this.#options;
    const { generation } = changes;
    const keyIds = [...new Set(due.map(({ caller }) => caller.keyId!))];
    const found = await sqlOn(database.pool).rows(findValid, { keyIds });
    const ends = new Map(found.map(({ id, expiresAt }) => [id, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY]));
    for (const one of due) {
      const expiresAt = ends.get(one.caller.keyId!);
      if (expiresAt === undefined) {
        one.end(unauthorized('invalid_api_key'));
      } else {
        one.checkedIn = generation;
        one.expiresAt = Math.min(one.expiresAt, expiresAt);
        one.checkEnd();
      }
    }
  }

  async #checkSessions(due: readonly Held[]): Promise<void> {
    if (due.length === 0) return;
    const now = performance.now();
    const open = await this.#options.sessions.areOpen(due.map(({ session }) => session!));
    for (const [index, one] of due.entries()) {
      if (open[index]) one.checkedAt = now;
      else one.end(unauthorized(one.caller.token ? 'invalid_api_key' : 'missing_api_key'));
    }
  }
}
