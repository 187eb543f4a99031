import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { admit, afterAttempt, type Breaker, closedBreaker, defaultBreakerPolicy } from './breaker.ts';

const { failuresToOpen, probeEveryMs } = defaultBreakerPolicy;
const start = Date.UTC(2026, 10, 21);

const failing = (times: number, now = start): Breaker => {
  let breaker = closedBreaker;
  for (let i = 0; i < times; i++) breaker = afterAttempt(breaker, false, now);
  return breaker;
};

describe('a breaker', () => {
  test('stays closed below ten failures in a row, and opens with the tenth', () => {
    expect(admit(failing(failuresToOpen - 1), start)).toMatchObject({ admitted: true });
    expect(admit(failing(failuresToOpen), start)).toEqual({ admitted: false, waitMs: probeEveryMs });
    expect(admit(failing(failuresToOpen), start + 10_000)).toEqual({ admitted: false, waitMs: probeEveryMs - 10_000 });
  });

  test('counts failures in a row alone', () => {
    const recovered = afterAttempt(failing(failuresToOpen - 1), true, start);
    expect(recovered).toEqual(closedBreaker);
    expect(afterAttempt(recovered, false, start)).toEqual({ failuresInARow: 1, nextProbeAt: null });
  });

  test('lets one probe through every 30 s, and closes when one succeeds', () => {
    const now = start + probeEveryMs;
    const probe = admit(failing(failuresToOpen), now);
    if (!probe.admitted) throw new Error('The probe was refused.');
    expect(admit(probe.breaker, now)).toEqual({ admitted: false, waitMs: probeEveryMs });
    const failed = afterAttempt(probe.breaker, false, now + 5_000);
    expect(admit(failed, now + 5_000)).toEqual({ admitted: false, waitMs: probeEveryMs - 5_000 });
    expect(admit(failed, now + probeEveryMs)).toMatchObject({ admitted: true });
    expect(afterAttempt(probe.breaker, true, now + 5_000)).toEqual(closedBreaker);
  });

  test('does not postpone the probe for attempts that were in flight when it opened', () => {
    const open = failing(failuresToOpen);
    expect(afterAttempt(open, false, start + 29_000).nextProbeAt).toBe(open.nextProbeAt);
  });

  test('admits at most one attempt in 30 s while all fail, whenever they arrive, and always a next one', () => {
    const arrivals = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(arrivals, (gaps) => {
        let [breaker, now] = [failing(failuresToOpen), start];
        const admitted: number[] = [];
        for (const gap of gaps) {
          now += gap;
          const admission = admit(breaker, now);
          if (admission.admitted) {
            admitted.push(now);
            breaker = afterAttempt(admission.breaker, false, now);
          } else {
            expect(admission.waitMs).toBeLessThanOrEqual(probeEveryMs);
            expect(admit(breaker, now + admission.waitMs).admitted).toBe(true);
          }
        }
        admitted.slice(1).forEach((at, i) => {
          expect(at - admitted[i]!).toBeGreaterThanOrEqual(probeEveryMs);
        });
      }),
    );
  });
});
