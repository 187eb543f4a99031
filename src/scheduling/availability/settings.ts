import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { hostIds } from '../core/ids.ts';
import { type BookingLimits, noLimits } from '../core/rules.ts';
import { hostNotFound } from '../errors.ts';
import { keepNamedHosts } from '../hosts.ts';
import { checkHolidayCodes } from './holidays.ts';
import type { StoredBusinessHours } from './settings-records.ts';

const find = statement({
  name: 'scheduling_settings.find',
  row: { businessHours: typed<StoredBusinessHours | null>('json?'), limits: typed<BookingLimits | null>('json?') },
  text: `select business_hours as "businessHours", limits from scheduling_settings
    where organization_id = :organizationId and environment = :environment`,
});

const upsert = (column: 'business_hours' | 'limits') =>
  statement({
    name: `scheduling_settings.put_${column}`,
    parameters: { value: 'json' },
    text: `insert into scheduling_settings (organization_id, environment, ${column}, updated_at)
     values (:organizationId, :environment, :value, atelier_now())
     on conflict (organization_id, environment) do update
        set ${column} = excluded.${column}, updated_at = excluded.updated_at`,
  });
const putBusinessHoursStatement = upsert('business_hours');
const putLimitsStatement = upsert('limits');

/** Business hours without restrictions, for a tenant that set none. */
const noBusinessHours: StoredBusinessHours = { timezone: null, default: null, exceptions: [], holidays: [] };

/** What holds for all hosts. */
export async function findSettings(
  scope: Scope,
): Promise<{ businessHours: StoredBusinessHours; limits: BookingLimits }> {
  const found = await scope.one(find);
  return { businessHours: found?.businessHours ?? noBusinessHours, limits: found?.limits ?? noLimits };
}

const limitsOfHost = statement({
  name: 'host.limits',
  parameters: { hostId: 'uuid' },
  row: { id: 'uuid', limits: typed<BookingLimits | null>('json?') },
  text: `select id, limits from scheduling_host
    where organization_id = :organizationId and environment = :environment and id = :hostId and deleted_at is null`,
});

/** The limits of a host in addition to those of all hosts. @param id in either form. @throws AppError not_found */
export async function findHostLimits(scope: Scope, id: string): Promise<{ hostId: string; limits: BookingLimits }> {
  const hostId = hostIds.parse(id);
  const found = hostId && (await scope.one(limitsOfHost, { hostId }));
  if (!found) throw hostNotFound(id);
  return { hostId: found.id, limits: found.limits ?? noLimits };
}

async function put(tx: Transaction, of: typeof putLimitsStatement, action: string, value: object): Promise<void> {
  await tx.rows(of, { value: JSON.stringify(value) });
  await tx.audit({ action, subjectId: tx.tenant.organizationId });
}

/**
 * Replaces the business hours. Exceptions name hosts in either form.
 * @returns them as they are stored. @throws AppError validation_error with paths holidays.<i>, exceptions.<i>.hostId
 */
export async function putBusinessHours(scope: Scope, hours: StoredBusinessHours): Promise<StoredBusinessHours> {
  await checkHolidayCodes(hours.holidays);
  return scope.transaction(async (tx) => {
    const named = hours.exceptions.flatMap(({ hostId }, index) =>
      hostId === undefined ? [] : [{ hostId, path: `exceptions.${index}.hostId` }],
    );
    const known = await keepNamedHosts(tx, named);
    const exceptions = hours.exceptions.map((one) =>
      one.hostId === undefined ? one : { ...one, hostId: known.get(one.hostId) },
    );
    const stored = { ...hours, exceptions };
    await put(tx, putBusinessHoursStatement, 'business_hours.update', stored);
    return stored;
  });
}

/** Replaces the limits on bookings of all hosts. The caller has checked them. */
export const putLimits = (scope: Scope, limits: BookingLimits): Promise<void> =>
  scope.transaction((tx) => put(tx, putLimitsStatement, 'booking_limits.update', limits));

const putLimitsOfHost = statement({
  name: 'host.put_limits',
  parameters: { hostId: 'uuid', limits: 'json' },
  text: `update scheduling_host set limits = :limits, updated_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :hostId`,
});

/**
 * Replaces the limits on bookings of one host, which apply in addition to those of all hosts. The caller has checked
 * them.
 * @param id in either form. @returns its canonical id. @throws AppError validation_error with path hostId
 */
export const putHostLimits = (scope: Scope, id: string, limits: BookingLimits): Promise<string> =>
  scope.transaction(async (tx) => {
    const hostId = (await keepNamedHosts(tx, [{ hostId: id, path: 'hostId' }])).get(id)!;
    await tx.rows(putLimitsOfHost, { hostId, limits: JSON.stringify(limits) });
    await tx.audit({ action: 'host.update', subjectId: hostId, facts: { given: ['limits'] } });
    return hostId;
  });
