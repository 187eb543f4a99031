import { limitUse } from '../../../../src/operations/limit-use.ts';
import { clock } from '../../../../src/platform/clock.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import { catalog, type Services } from '../../../../src/services.ts';
import { maxUsableKeys, usableKeys } from '../../../../src/tenancy/administration/own-keys.ts';
import type { Caller } from '../../../../src/tenancy/caller.ts';
import { subjectOf } from '../../../../src/tenancy/rate-limiter.ts';

interface ShownLimit {
  name: string;
  allowed: number;
  used: number | null;
  resetsAt?: string;
}

type CountServices = Pick<Services, 'limiter' | 'openRequests'>;

const minuteMs = 60_000;
const dayMs = 86_400_000;
const endOf = (ms: number): string => new Date((Math.floor(clock.now() / ms) + 1) * ms).toISOString();

/** Limits of requests of one operation. */
const operations = catalog.limits.map(({ name }) => name).filter((name) => name.startsWith('operationsPerMinute.'));

/** The limits that are counted in memory or in Redis. */
async function requestsInUse({ limiter, openRequests }: CountServices, caller: Caller) {
  const [counts, eventStreams, waitingRequests] = await Promise.all([
    limiter.counts(subjectOf(caller), operations),
    openRequests.count(caller, 'eventStreams'),
    openRequests.count(caller, 'waitingRequests'),
  ]);
  const { perMinute, perDay } = caller.limits;
  return new Map<string, Omit<ShownLimit, 'name' | 'allowed'> & { allowed?: number }>([
    ['requestsPerMinute', { allowed: perMinute, used: counts.minute, resetsAt: endOf(minuteMs) }],
    ['requestsPerDay', { allowed: perDay, used: counts.day, resetsAt: endOf(dayMs) }],
    ['eventStreams', { used: eventStreams }],
    ['waitingRequests', { used: waitingRequests }],
    ...operations.map((name, index) => [name, { used: counts.operations[index]!, resetsAt: endOf(minuteMs) }] as const),
  ]);
}

/** Every limit of the caller's plan, and how much of it its environment uses. */
export async function limitsInUse(services: CountServices, scope: Scope, caller: Caller): Promise<ShownLimit[]> {
  const ofPlan = new Map(catalog.limits.map((limit) => [limit.name, limit.of(caller.plan)]));
  const [ofRequests, ofRows, keys] = await Promise.all([
    requestsInUse(services, caller),
    limitUse(scope, (name) => ofPlan.get(name)!),
    usableKeys(scope),
  ]);
  const shown = catalog.limits.map(({ name }): ShownLimit => {
    const allowed = ofPlan.get(name)!;
    const counted = ofRequests.get(name);
    if (counted) return { name, ...counted, allowed: counted.allowed ?? allowed };
    const row = ofRows.get(name);
    const resetsAt = row?.resetsAt?.toISOString();
    return { name, allowed: row?.allowed ?? allowed, used: row?.used ?? null, ...(resetsAt && { resetsAt }) };
  });
  return [...shown, { name: 'keys', allowed: maxUsableKeys, used: keys }];
}
