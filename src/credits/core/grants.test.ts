import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { planNames } from '../../tenancy/core/plans.ts';
import { currentGrant, isGrantDue, monthlyGrant, nextGrantAt, type Standing } from './grants.ts';

const live = (plan: Standing['plan'], ownGrant: number | null = null): Standing => ({
  environment: 'live',
  plan,
  ownGrant,
});
const testEnvironment: Standing = { environment: 'test', plan: 'pro', ownGrant: null };
const at = (time: string) => new Date(time);

describe('grants', () => {
  test.each([
    ['free', 100],
    ['pro', 1_000],
    ['team', 5_000],
    ['enterprise', 10_000],
  ] as const)('the plan %s gives %d credits a month', (plan, credits) => {
    expect(monthlyGrant(live(plan))).toBe(credits);
    expect(monthlyGrant({ ...live(plan), environment: 'test' })).toBe(0);
  });

  test('only an Enterprise organization has a number of its own, which may be zero', () => {
    expect(monthlyGrant(live('enterprise', 77_000))).toBe(77_000);
    expect(monthlyGrant(live('enterprise', 0))).toBe(0);
    expect(monthlyGrant(live('free', 77_000))).toBe(100);
  });

  test('months are UTC months', () => {
    expect(currentGrant(live('pro'), at('2026-11-30T23:59:59.999Z'))).toEqual({
      period: '2026-11',
      amount: 1_000,
      lasts: false,
    });
    expect(currentGrant(live('pro'), at('2026-12-01T00:00:00.000Z')).period).toBe('2026-12');
    expect(nextGrantAt('live', at('2026-12-31T23:59:59.999Z'))).toEqual(at('2027-01-01T00:00:00.000Z'));
    expect(nextGrantAt('live', at('2024-02-29T12:00:00.000Z'))).toEqual(at('2024-03-01T00:00:00.000Z'));
  });

  test('the test grant comes once and stays', () => {
    const grant = currentGrant(testEnvironment, at('2026-11-02T00:00:00.000Z'));
    expect(grant).toEqual({ period: 'once', amount: 10_000, lasts: true });
    expect(nextGrantAt('test', at('2026-11-02T00:00:00.000Z'))).toBeNull();
    expect(isGrantDue(undefined, testEnvironment, grant)).toBe(true);
    expect(isGrantDue({ plan: 'pro', period: 'once', periodGrant: 10_000 }, testEnvironment, grant)).toBe(false);
  });

  const times = fc.date({
    min: at('2000-01-01T00:00:00.000Z'),
    max: at('2100-01-01T00:00:00.000Z'),
    noInvalidDate: true,
  });
  const standings = fc.record({
    environment: fc.constantFrom('live' as const, 'test' as const),
    plan: fc.constantFrom(...planNames),
    ownGrant: fc.option(fc.nat(100_000)),
  });

  test('what was given is not due again: neither later in its period nor for a clock that is behind', () => {
    fc.assert(
      fc.property(standings, times, times, (standing, one, other) => {
        const [earlier, later] = one < other ? [one, other] : [other, one];
        const { period, amount } = currentGrant(standing, later);
        const given = { plan: standing.plan, period, periodGrant: amount };
        expect(isGrantDue(given, standing, currentGrant(standing, later))).toBe(false);
        expect(isGrantDue(given, standing, currentGrant(standing, earlier))).toBe(false);
      }),
    );
  });

  test('a grant is due from its month on, and an account is looked at again when the plan changes', () => {
    fc.assert(
      fc.property(times, fc.constantFrom(...planNames), fc.constantFrom(...planNames), (now, before, after) => {
        const { period, amount } = currentGrant(live(before), now);
        const given = { plan: before, period, periodGrant: amount };
        const next = nextGrantAt('live', now)!;
        const isDueAt = (time: Date) => isGrantDue(given, live(before), currentGrant(live(before), time));
        expect(isDueAt(next)).toBe(true);
        expect(isDueAt(new Date(next.getTime() - 1))).toBe(false);
        expect(isGrantDue(given, live(after), currentGrant(live(after), now))).toBe(before !== after);
      }),
    );
  });

  test('a larger number of its own is due at once, a smaller one is not', () => {
    const now = at('2026-11-15T00:00:00.000Z');
    const given = { plan: 'enterprise', period: '2026-11', periodGrant: 10_000 } as const;
    const isDue = (own: number) =>
      isGrantDue(given, live('enterprise', own), currentGrant(live('enterprise', own), now));
    expect([9_999, 10_000, 10_001].map(isDue)).toEqual([false, false, true]);
  });
});
