import type { BookingLimits } from './rules.ts';

interface Asked {
  startsAt: number;
  endsAt: number;
}

/** Why a time cannot be booked. Times are milliseconds since the epoch. */
export type Refusal =
  | (Asked & {
      code: 'notice_too_short';
      reason: 'past' | 'notice' /** The first whole minute that is allowed. */;
      earliest: number;
    })
  | (Asked & {
      code: 'too_far_advance';
      reason: 'advance' /** The last whole minute that is allowed. */;
      latest: number;
    })
  | (Asked & { code: 'blackout_period'; reason: 'blackout'; conflictsUntil: number })
  | (Asked & { code: 'outside_availability'; reason: 'closed' | 'exception' | 'holiday' | 'pattern' | 'inactive' })
  | (Asked & { code: 'slot_unavailable'; reason: 'booked' | 'calendar'; conflictsUntil: number })
  | (Asked & { code: 'buffer_conflict'; reason: 'buffer'; conflictsUntil: number })
  | LimitRefusal;

export interface LimitRefusal {
  code: 'booking_limit_reached';
  limit: keyof BookingLimits;
  max: number;
  /** Bookings there are already; of minGapMinutes the minutes there would be between the two. */
  current: number;
  /** The host's day (YYYY-MM-DD), ISO week (YYYY-Www) or month (YYYY-MM), where the limit is of one. */
  period?: string;
}

export type RefusalCode = Refusal['code'];

const instant = (at: number) => new Date(at).toISOString();

/** The published details: instants in UTC. They reveal nothing about the owner of the other booking. */
export function refusalDetails(refusal: Refusal): Record<string, string | number> {
  if (refusal.code === 'booking_limit_reached') {
    const { code: _, ...details } = refusal;
    return details;
  }
  return {
    start: instant(refusal.startsAt),
    end: instant(refusal.endsAt),
    reason: refusal.reason,
    ...('earliest' in refusal && { earliest: instant(refusal.earliest) }),
    ...('latest' in refusal && { latest: instant(refusal.latest) }),
    ...('conflictsUntil' in refusal && { conflictsUntil: instant(refusal.conflictsUntil) }),
  };
}
