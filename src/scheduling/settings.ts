import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { type BookingLimits, noLimits } from './core/rules.ts';
import { checkHolidayCodes } from './holidays.ts';
import type { StoredBusinessHours } from './settings-records.ts';

interface Settings {
  businessHours: StoredBusinessHours | null;
  limits: BookingLimits | null;
}

const find = statement<Settings>(
  'scheduling_settings.find',
  `select business_hours as "businessHours", limits from scheduling_settings
    where organization_id = $1 and environment = $2`,
);

const upsert = (column: 'business_hours' | 'limits') =>
  statement(
    `scheduling_settings.put_${column}`,
    `insert into scheduling_settings (organization_id, environment, ${column}, updated_at)
     values ($1::uuid, $2::text, $3::jsonb, clock_timestamp())
     on conflict (organization_id, environment) do update
        set ${column} = excluded.${column}, updated_at = excluded.updated_at`,
  );
const putBusinessHoursStatement = upsert('business_hours');
const putLimitsStatement = upsert('limits');

/** Business hours that restrict nothing: those of a tenant that set none. */
export const noBusinessHours: StoredBusinessHours = { timezone: null, default: null, exceptions: [], holidays: [] };

/** What holds for all hosts. */
export async function findSettings(
  scope: Scope,
): Promise<{ businessHours: StoredBusinessHours; limits: BookingLimits }> {
  const found = await scope.one(find);
  return { businessHours: found?.businessHours ?? noBusinessHours, limits: found?.limits ?? noLimits };
}

async function put(tx: Transaction, of: typeof putLimitsStatement, action: string, value: object): Promise<void> {
  await tx.rows(of, JSON.stringify(value));
  await tx.audit({ action, subjectId: tx.tenant.organizationId });
}

/** Replaces the business hours. @throws AppError validation_error with paths holidays.<i> */
export async function putBusinessHours(scope: Scope, hours: StoredBusinessHours): Promise<void> {
  await checkHolidayCodes(hours.holidays);
  await scope.transaction((tx) => put(tx, putBusinessHoursStatement, 'business_hours.update', hours));
}

/** Replaces the limits on bookings. The caller has checked them. */
export const putLimits = (scope: Scope, limits: BookingLimits): Promise<void> =>
  scope.transaction((tx) => put(tx, putLimitsStatement, 'booking_limits.update', limits));

/** Audit actions on settings name the organization. */
export const settingsIds = organizationIds;
