import {
  type Admitted,
  admitAttempts,
  admitExempt,
  divideAttempts,
  fairShare,
  type SubscriptionLoad,
} from './admission.ts';
import type { BreakerPolicy } from './breaker.ts';

/** A subscription with deliveries that are due, by the kind of attempt. */
export interface DueSubscription {
  id: string;
  organizationId: string;
  /** The hostname of its URL, where its rate is limited. */
  host?: string | undefined;
  load: SubscriptionLoad;
  /** First attempts. */
  first: number;
  /** Retries that are due. */
  retries: number;
  /** Attempts of both kinds that ignore the breaker. */
  exempt: number;
}

/** The attempts that a subscription may begin. */
export interface Grant {
  subscription: DueSubscription;
  /** While the breaker is open, besides its probe. */
  exempt: number;
  first: number;
  retries: number;
  /** What to store before they are sent. */
  admitted: Admitted;
}

/** The places of a process for attempts. */
export interface Capacity {
  free: number;
  /** How many attempts of an organization are under way. */
  held(organizationId: string): number;
  /**
   * How many attempts each organization may begin now, if its rate is limited, and the organizations that may begin
   * none: see `Pace`.
   */
  maxStarts?(organizationId: string): number;
  spent?: readonly string[];
}

/** While an organization has had the attempts of its pace. */
export const rateWaitMs = 50;

/** Attempts by host and by organization. */
export type HostShares = Map<string, Map<string, number>>;

export interface Plan {
  grants: Grant[];
  /** After how long a rate limit or a busy receiver may allow more; undefined when nothing waits for that. */
  waitMs: number | undefined;
}

/**
 * Divides the free places among subscriptions, in the given order. None gets more than its breaker, its concurrency and its
 * rate allow, and no organization more than its share of the places and, where they are given, of the attempts to a host.
 * @param now ms since the epoch @param chance gives numbers in [0, 1)
 */
export function planDispatch(
  due: readonly DueSubscription[],
  capacity: Capacity,
  now: number,
  breaker: BreakerPolicy,
  chance: () => number,
  hosts?: HostShares,
): Plan {
  const grants: Grant[] = [];
  const taken = new Map<string, number>();
  let { free } = capacity;
  let waitMs: number | undefined;
  for (const subscription of due) {
    const { organizationId, load, retries } = subscription;
    // A closed breaker holds nothing back: all are attempted.
    const ignoring = load.breaker.nextProbeAt === null ? 0 : subscription.exempt;
    const first = Math.max(0, subscription.first - ignoring);
    const ofIts = taken.get(organizationId) ?? 0;
    const ofHost = subscription.host === undefined ? undefined : hosts?.get(subscription.host);
    const hostLeft = ofHost?.get(organizationId) ?? (ofHost ? 0 : Number.POSITIVE_INFINITY);
    const rateLeft = (capacity.maxStarts?.(organizationId) ?? Number.POSITIVE_INFINITY) - ofIts;
    const maxStarts = Math.max(0, Math.min(fairShare(free, capacity.held(organizationId) + ofIts), hostLeft, rateLeft));
    if (rateLeft <= 0) waitMs = Math.min(waitMs ?? rateWaitMs, rateWaitMs);
    const exempt = admitExempt(load, Math.min(maxStarts, ignoring), now);
    const left = { ...load, inFlight: load.inFlight + exempt.attempts, rateFreeAt: exempt.rateFreeAt };
    const others = admitAttempts(left, Math.min(maxStarts - exempt.attempts, first + retries), now, breaker);
    const attempts = exempt.attempts + others.attempts;
    if (attempts === 0) {
      const asked = first + retries > 0 ? others : exempt;
      if (free > 0 && ignoring + first + retries > 0) waitMs = Math.min(waitMs ?? asked.waitMs, asked.waitMs);
      continue;
    }
    free -= attempts;
    taken.set(organizationId, ofIts + attempts);
    ofHost?.set(organizationId, hostLeft - attempts);
    const share = divideAttempts(others.attempts, { first, retries }, chance());
    grants.push({ subscription, exempt: exempt.attempts, ...share, admitted: others });
  }
  return { grants, waitMs };
}
